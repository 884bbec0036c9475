"""Tables of campaigns that were computed for this version and ship with it, for advice and documents: numbers, not prose.

`results/*.csv` are what `inertica campaign tables --format csv` printed, with one column more: the state of the program that computed
a line.  `results/claims.csv` is what `inertica reproduce survey` found on them.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources

from inertica.campaign.summary import FIGURES, Line, RowKey
from inertica.errors import InputError, nearest

FOLDER, CLAIMS = "results", "claims.csv"
READINGS = ("survey-toolbox", "survey-toolbox-quick", "survey-radians")
"""Campaigns with another sign of friction, or unit of noise, than the one that their conditions' names stand for elsewhere."""

UNITS = ".units.txt"
"""Behind a campaign's name: the units that its table holds."""

UNSTATED = "not stated"
"""State of lines that `campaign tables` printed and nobody marked."""


def percent(share: float) -> str:
    """Two digits, no exponent."""
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.2g} %"


@dataclass(frozen=True)
class Stored:
    """One line of a shipped table.

    Args:
        campaign: its name.
        line: of the table.
        state: of the program that computed it.
    """

    campaign: str
    line: Line
    state: str

    @property
    def method(self) -> str:
        return self.line.place.method

    @property
    def noise(self) -> str:
        return self.line.place.noise

    @property
    def rows(self) -> int:
        """That counted."""
        return self.line.rows[0]

    @property
    def d_par(self) -> float:
        """|beta - true| / |true|, mean over its rows."""
        return self.line.mean["d_par"]

    @property
    def condition(self) -> str:
        """Robot, noise, and what else is not usual."""
        place = self.line.place
        more = [f"decimation {place.decimate}"] if place.decimate > 1 else []
        more += [place.loop] if place.loop != "known" else []
        return ", ".join([place.robot, place.noise, *more])

    @property
    def sentence(self) -> str:
        place = self.line.place
        behind = "" if place.filter == "none" else f" behind a {place.filter} filter"
        thinned = f", decimation {place.decimate}" if place.decimate > 1 else ""
        where = f"campaign {self.campaign}, {place.robot}, noise {place.noise}{thinned}, {self.line.rows[0]} fits"
        return f"{place.method}{behind}: parameters off by {percent(self.d_par)} ({where})"


@dataclass(frozen=True)
class StoredClaim:
    """A claim of the survey as it was found.

    Args:
        name, published: of the claim.
        ours: what was measured.
        verdict: with the settings that the survey prints.
        toolbox: with the smooth sign of friction that its toolbox has.
    """

    name: str
    published: str
    ours: str
    verdict: str
    toolbox: str = "not tested"

    @property
    def depends_on_reading(self) -> bool:
        """Whether it holds in most conditions with one reading and in less than half of them with the other."""
        shares = [_share(self.verdict), _share(self.toolbox)]
        return None not in shares and (shares[0] > 0.5) != (shares[1] > 0.5)  # type: ignore[operator]


@cache
def stored() -> tuple[Stored, ...]:
    """All lines of all shipped tables."""
    out: list[Stored] = []
    for file in sorted(resources.files("inertica.campaign").joinpath(FOLDER).iterdir(), key=lambda f: f.name):
        if file.name.endswith(".csv") and file.name != CLAIMS:
            rows = csv.DictReader(file.read_text(encoding="utf-8").splitlines())
            out += [Stored(file.name.removesuffix(".csv"), _line(row), row.get("state") or UNSTATED) for row in rows]
    return tuple(out)


def units_of(campaign: str) -> frozenset[str]:
    """Units whose rows are in a shipped table, where that is recorded: what need not be computed to continue it."""
    file = resources.files("inertica.campaign").joinpath(FOLDER, campaign + UNITS)
    return frozenset(file.read_text(encoding="utf-8").split()) if file.is_file() else frozenset()


@cache
def claims() -> tuple[StoredClaim, ...]:
    """The survey's claims with their verdicts."""
    text = resources.files("inertica.campaign").joinpath(FOLDER, CLAIMS).read_text(encoding="utf-8")
    return tuple(StoredClaim(**row) for row in csv.DictReader(text.splitlines()))


def figures_of(method: str) -> list[Stored]:
    """Every shipped line of a method, under its name (`didim`) or its label (`ols_f`: behind the Butterworth filter)."""
    rows = [x for x in stored() if method in (x.line.place.method, x.line.place.label)]
    if not rows:
        names = sorted({x.line.place.method for x in stored()})
        raise InputError(f"no shipped campaign has the method '{method}'; {nearest(method, names)}")
    return rows


def measured(method: str, *, noise: str = "row 1", decimate: int = 1, filtered: bool = False) -> Stored | None:
    """What the campaign with most fits found for a method; None where none has it, or where it gave no estimate.

    Of several robots the one that comes first in the tables.
    """
    wanted = ("known", method, noise, decimate, "butterworth" if filtered else "none")
    places = [(x, x.line.place) for x in stored() if x.campaign not in READINGS]
    matches = [x for x, p in places if (p.loop, p.method, p.noise, p.decimate, p.filter) == wanted]
    most = max(
        (x for x in matches if x.line.place.robot == matches[0].line.place.robot), key=lambda x: x.line.rows[1], default=None
    )
    return most if most is not None and most.rows else None


def lines_of(names: Iterable[str]) -> list[Line]:
    """Lines of some campaigns, like those of their stores; of lines of one place the one with most fits."""
    largest: dict[RowKey, Line] = {}
    for line in (x.line for name in names for x in stored() if x.campaign == name):
        if line.place not in largest or line.rows[1] > largest[line.place].rows[1]:
            largest[line.place] = line
    return list(largest.values())


def _share(verdict: str) -> float | None:
    """`holds in 13 of 15` -> 0.87; None where nothing was tested."""
    words = verdict.split()
    return float(words[2]) / float(words[4]) if words[:2] == ["holds", "in"] else None


def _line(row: dict[str, str]) -> Line:
    place = RowKey(row["robot"], row["loop"], row["noise"], row["distribution"], float(row["quantise"]), int(row["decimate"]),
                  row["filter"], row["method"])  # fmt: skip
    mean, sd = ({name: float(row[f"{name}_{kind}"]) for name in FIGURES} for kind in ("mean", "sd"))
    counted = int(row["counted"]), int(row["rows"])
    convergence, coverage, margin = (float(row[name]) for name in ("convergence", "coverage", "margin"))
    return Line(place, mean, sd, counted, convergence, coverage, margin, int(row["rank"]), row["failure"])
