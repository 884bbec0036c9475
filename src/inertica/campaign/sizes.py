"""How much of the survey's Monte Carlo study the shipped tables hold: fits per experiment and method beside the full size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from inertica.campaign.plan import cells, depends_on_start
from inertica.campaign.specfile import read_spec
from inertica.campaign.stored import lines_of
from inertica.campaign.summary import Line, RowKey
from inertica.estimators.options import with_options
from inertica.estimators.registry import method
from inertica.robot.load import load

STUDY = "survey"
LARGE = (
    "survey-tx40", "survey-no-kalman", "survey-equations", "survey-output-error", "survey-regularised",
    "survey-kalman", "mcs-tx40-1-1",
)  # fmt: skip
QUICK = ("survey-quick",)
"""Campaigns of the study's conditions, settings and methods: of some with many runs and starts, of all with few."""


@dataclass(frozen=True)
class Size:
    """Fits of one method in one experiment.

    Args:
        experiment: such as tx40-1 row 1.
        method: as tables label it.
        fits: in the shipped table with most.
        full: noise realisations times start vectors, where the start matters to the method.
    """

    experiment: str
    method: str
    fits: int
    full: int

    def document(self) -> dict[str, object]:
        return asdict(self)


def sizes(lines: Sequence[Line] | None = None) -> list[Size]:
    """Every method of every experiment of the survey; of lines of one place the one with most fits.

    Args:
        lines: of tables; the shipped ones when not given.
    """
    spec = read_spec(STUDY)
    stored = {line.place: line.rows[1] for line in (lines_of((*QUICK, *LARGE)) if lines is None else lines)}
    out = []
    for cell in cells(spec):
        robot = load(cell.robot).name
        for ratio in spec.ratios(cell.robot):
            for entry in spec.methods:
                starts = max(spec.starts, 1) if depends_on_start(with_options(method(entry.method), entry.options)) else 1
                for name in entry.filters:
                    place = RowKey(
                        robot, cell.loop.name, cell.noise.name, cell.distribution, cell.quantise, ratio, name, entry.label
                    )
                    experiment = f"{robot}-{ratio} {cell.noise.name}"
                    out.append(Size(experiment, place.label, stored.get(place, 0), spec.runs * starts))
    return out


def share(sizes: Sequence[Size]) -> float:
    """Of all fits of the full study."""
    return sum(min(x.fits, x.full) for x in sizes) / sum(x.full for x in sizes)
