"""Tables of campaigns that were computed for this version and ship with it, for advice and documents: numbers, not prose."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib import resources

FOLDER = "results"


@dataclass(frozen=True)
class Stored:
    """One line of a shipped table.

    Args:
        campaign: its name.
        robot, noise, decimate, filter, method: where it belongs.
        d_par, d_tau: means over its rows.
        rows: how many counted.
    """

    campaign: str
    robot: str
    noise: str
    decimate: int
    filter: str
    method: str
    d_par: float
    d_tau: float
    rows: int

    @property
    def sentence(self) -> str:
        behind = "" if self.filter == "none" else f" behind a {self.filter} filter"
        thinned = f", decimation {self.decimate}" if self.decimate > 1 else ""
        where = f"campaign {self.campaign}, {self.robot}, noise {self.noise}{thinned}, {self.rows} fits"
        return f"{self.method}{behind}: parameters off by {100 * self.d_par:.2g} % ({where})"


@cache
def stored() -> tuple[Stored, ...]:
    """All lines of all shipped tables."""
    out: list[Stored] = []
    for file in sorted(resources.files("inertica.campaign").joinpath(FOLDER).iterdir(), key=lambda f: f.name):
        if file.name.endswith(".csv"):
            for row in csv.DictReader(file.read_text(encoding="utf-8").splitlines()):
                words = (row["robot"], row["noise"], int(row["decimate"]), row["filter"], row["method"])
                d_par, d_tau = (float(row[f"{name}_mean"]) for name in ("d_par", "d_tau"))
                if row["loop"] == "known":
                    out.append(Stored(file.name.removesuffix(".csv"), *words, d_par, d_tau, int(row["counted"])))
    return tuple(out)


def measured(method: str, *, noise: str = "row 1", decimate: int = 1, filtered: bool = False) -> Stored | None:
    """What a campaign found for a method; None where none has it."""
    wanted = "butterworth" if filtered else "none"
    for line in stored():
        if (line.method, line.noise, line.decimate, line.filter) == (method, noise, decimate, wanted):
            return line
    return None
