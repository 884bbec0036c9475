"""From a spec to units of work: independent of each other, in a fixed order, each with an id that follows from its content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from inertica.campaign.spec import LoopRow, NoiseRow, Spec, digest
from inertica.estimators.base import Capability, Estimator, Need
from inertica.estimators.options import with_options
from inertica.estimators.registry import method


@dataclass(frozen=True)
class Cell:
    """One set of conditions of the experiment; what is simulated once for all methods.

    Args:
        robot: catalog name or file.
        loop, noise: rows of the spec.
        distribution: of the noise.
        quantise: resolution of recorded positions in rad.
    """

    robot: str
    loop: LoopRow
    noise: NoiseRow
    distribution: str
    quantise: float

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Cell:
        return cls(**{**document, "loop": LoopRow.of(document["loop"]), "noise": NoiseRow(**document["noise"])})


@dataclass(frozen=True)
class Unit:
    """Some runs of a cell: they are simulated side by side, and every method of the spec is fitted to each.

    Args:
        id: from the content.
        cell: conditions.
        runs: their numbers.
    """

    id: str
    cell: Cell
    runs: tuple[int, ...]

    def document(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Unit:
        return cls(document["id"], Cell.of(document["cell"]), tuple(document["runs"]))


def cells(spec: Spec) -> list[Cell]:
    """In the order of the spec's axes."""
    return [Cell(*axes) for axes in product(spec.robots, spec.loops, spec.noise, spec.distributions, spec.quantise)]


def plan(spec: Spec) -> list[Unit]:
    """All units; the same spec gives the same list.

    First runs of all conditions come first, so that a campaign that was ended early has seen every condition alike.
    """
    shared = spec.document()
    for axis in ("name", "about", "robots", "loops", "noise", "distributions", "quantise", "runs", "block"):
        del shared[axis]
    all_cells, out = cells(spec), []
    for first in range(0, spec.runs, spec.block):
        runs = tuple(range(first, min(first + spec.block, spec.runs)))
        out += [Unit(digest({"cell": asdict(cell), "runs": runs, "spec": shared}), cell, runs) for cell in all_cells]
    return out


def depends_on_start(estimator: Estimator) -> bool:
    """Whether another start vector may change what a method finds: it starts from the prior, is drawn to it, or needs it."""
    start_matters = {Capability.STARTS, Capability.PULLED}
    return Need.PRIOR in estimator.needs or bool(estimator.capabilities & start_matters)


def fits(spec: Spec) -> int:
    """Estimates of the whole campaign."""
    per_run = 0
    for entry in spec.methods:
        starts = max(spec.starts, 1) if depends_on_start(with_options(method(entry.method), entry.options)) else 1
        per_run += starts * len(entry.filters)
    return sum(len(spec.ratios(cell.robot)) for cell in cells(spec)) * spec.runs * per_run
