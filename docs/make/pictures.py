"""Every picture of the documents: those of methods from the campaign tables that ship with the package, the others by their commands.

usage: python docs/make/pictures.py [NAME...]      draws the pictures of COMMANDS again, all of them or some; `make docs` calls it
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from inertica.campaign.stored import stored

ROOT = Path(__file__).parents[2]
METHODS = ROOT / "docs" / "methods"

COMMANDS: dict[str, tuple[str, ...]] = {
    "online.svg": ("benchmarks/online.py", "none", "--picture", "{file}"),
    "filters.png": ("benchmarks/filters.py", "--figure", "{file}"),
    "neural.svg": ("benchmarks/neural.py", "--runs", "1", "--picture", "{file}"),
    "frisch.png": ("-m", "inertica.cli.main", "reproduce", "frisch", "--figures", "{folder}", "--quiet"),
}
"""Picture of docs/methods -> words behind `python` that draw it."""

ROOMS = ("robot", "motion", "data", "identify", "trust", "export")
TOUR = (*(f"{room}.png" for room in ROOMS), "dark.png", "motion.webp")
"""Pictures of docs/studio, by studio.py."""

REPORT = ("summary.png", "friction.png", "consistency.png", "dark.png")
"""Pictures of docs/report, by report.py."""

DRAWN = {"frisch.png": "figure_3_bounds_right_model.png"}
"""Pictures that come out under another name, in {folder}."""

PANELS = (
    ("TX40, motion as measured", {"robot": "tx40", "filter": "none", "decimate": "1"}),
    ("TX40, Butterworth 50 Hz", {"robot": "tx40", "filter": "butterworth", "decimate": "1"}),
    ("RV-2SQ, motion as measured", {"robot": "rv2sq", "filter": "none", "decimate": "1"}),
)


@dataclass(frozen=True)
class Line:
    """A line of a shipped table: where it belongs, the mean relative error of the parameters in percent, and fits behind it."""

    campaign: str
    place: tuple[tuple[str, str], ...]
    noise: str
    method: str
    error: float
    fits: int

    def inside(self, panel: dict[str, str]) -> bool:
        return all((key, value) in self.place for key, value in panel.items())


@cache
def lines() -> tuple[Line, ...]:
    """Lines of shipped tables that have a place in a panel, with a known loop and an estimate; of several the one with most fits."""
    out: dict[tuple[object, ...], Line] = {}
    for found in stored():
        at, fits = found.line.place, found.line.rows[0]
        if at.loop == "known" and at.distribution == "normal" and fits:
            place = (("robot", at.robot), ("filter", at.filter), ("decimate", str(at.decimate)))
            line = Line(found.campaign, place, at.noise, at.method, 100.0 * found.d_par, fits)
            key = place, at.noise, at.method
            if any(line.inside(panel) for _, panel in PANELS) and (key not in out or fits > out[key].fits):
                out[key] = line
    return tuple(out.values())


def measured(names: Sequence[str]) -> tuple[bytes, str] | None:
    """The picture of methods among all others as SVG, and its caption; None where no table has any of them."""
    own = [line for line in lines() if line.method in names]
    if not own:
        return None
    from matplotlib.figure import Figure
    from matplotlib.style import context

    noises = sorted({line.noise for line in own})
    with context(str(resources.files("inertica.report").joinpath("paper.mplstyle"))):
        figure = Figure(figsize=(7.16, 2.4), layout="constrained")
        axes = figure.subplots(1, len(PANELS), sharey=True)
        for axis, (title, panel) in zip(axes, PANELS, strict=True):
            there = [line for line in lines() if line.inside(panel)]
            for name in dict.fromkeys(line.method for line in there):
                _draw(axis, [line for line in there if line.method == name], noises, name if name in names else None)
            axis.set(title=title, xlabel="noise of the survey's Table 1", yscale="log")
            axis.set_xticks(range(len(noises)), [noise.removeprefix("row ") for noise in noises])
        axes[0].set_ylabel("error of the parameters (%)")
        for axis in axes:
            if axis.get_legend_handles_labels()[0]:
                axis.legend()
        out = io.BytesIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue(), caption(own)


def _draw(axis: object, members: Sequence[Line], noises: Sequence[str], name: str | None) -> None:
    at = {line.noise: line.error for line in members}
    x = [k for k, noise in enumerate(noises) if noise in at]
    y = [at[noises[k]] for k in x]
    if name is None:
        axis.plot(x, y, color="0.82", linewidth=0.6, zorder=1)  # type: ignore[attr-defined]
    else:
        axis.plot(x, y, marker="o", label=name, zorder=2)  # type: ignore[attr-defined]


def caption(own: Sequence[Line]) -> str:
    named = [f"`{name}`" for name in sorted({line.campaign for line in own})]
    tables = f"{'table' if len(named) == 1 else 'tables'} {', '.join(named)}"
    fits = sorted({line.fits for line in own})
    counts = f"{fits[0]}" if len(fits) == 1 else f"{fits[0]} to {fits[-1]}"
    rough = " Few runs show orders of magnitude, not ranks." if fits[0] < 20 else ""
    return (
        f"Error of the base parameters, \\|beta - true\\| / \\|true\\|, over noise, beside other methods (grey): "
        f"{tables}, shipped with the package, {counts} fits a point.{rough}"
    )


def drawn() -> set[Path]:
    """Every picture file that `make docs` writes into docs/."""
    by_folder = {METHODS: COMMANDS, METHODS.parent / "studio": TOUR, METHODS.parent / "report": REPORT}
    return {folder / name for folder, names in by_folder.items() for name in names}


def draw(name: str) -> None:
    """One picture by its command."""
    with tempfile.TemporaryDirectory() as folder:
        words = [word.format(file=METHODS / name, folder=folder) for word in COMMANDS[name]]
        print(f"{name}: python {' '.join(words)}", flush=True)
        subprocess.run([sys.executable, *words], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
        if name in DRAWN:
            (METHODS / name).write_bytes((Path(folder) / DRAWN[name]).read_bytes())


if __name__ == "__main__":
    for chosen in sys.argv[1:] or COMMANDS:
        draw(chosen)
