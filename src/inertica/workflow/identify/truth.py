"""A result held against values that are known: those of a simulation, of a data sheet, of another identification."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from inertica.errors import InputError
from inertica.identifiability.labels import DETERMINED, INTERVAL
from inertica.robot.description import Description
from inertica.robot.layout import Parameters
from inertica.robot.load import load
from inertica.workflow.identify.result import Result

SURE = 5.0
"""Percent; base parameters with a smaller relative standard deviation should be near the truth."""


@dataclass(frozen=True)
class TruthCheck:
    """One parameter beside its known value.

    Args:
        name: of a base or a standard parameter.
        found: by the result.
        low, high: its 95 % interval.
        known: the true value.
        std: of `found`; NaN for standard parameters, whose intervals need not be symmetric.
    """

    name: str
    found: float
    low: float
    high: float
    known: float
    std: float = np.nan

    @property
    def error(self) -> float:
        """Relative; infinite where the known value is zero."""
        return self.found / self.known - 1.0 if self.known else np.inf * np.sign(self.found)

    @property
    def covered(self) -> bool:
        """Whether the interval holds the known value, but for rounding."""
        room = 1e-9 * max(abs(self.known), abs(self.found))
        return self.low - room <= self.known <= self.high + room


@dataclass(frozen=True)
class AgainstTruth:
    """A result beside known values.

    Args:
        base: base parameters whose every part is known.
        determined: standard parameters that the result calls determined and that are known.
        unknown: parameters of the result that the known values do not have.
        missing: known values other than zero that the result has no parameter for.
    """

    base: tuple[TruthCheck, ...]
    determined: tuple[TruthCheck, ...]
    unknown: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def sure(self) -> tuple[TruthCheck, ...]:
        """Base parameters with a relative standard deviation below `SURE` percent and a known value that is not zero."""
        return tuple(h for h in self.base if h.known and 100.0 * h.std < SURE * abs(h.found))

    @property
    def covered(self) -> tuple[int, int]:
        """How many intervals of base parameters hold the known value, and of how many."""
        finite = [h for h in self.base if np.isfinite(h.std)]
        return sum(h.covered for h in finite), len(finite)


def against_truth(result: Result | str | Path, robot: str | Path | Description | Parameters) -> AgainstTruth:
    """Hold a result against known values.

    Args:
        result: or its folder.
        robot: catalog name, model file, card, a description or parameters, whose values are the truth.

    Examples:
        >>> compared = ia.against_truth("result", "card.yaml")
    """
    record = result if isinstance(result, Result) else Result.load(result)
    if isinstance(robot, (str, Path)):
        robot = load(robot)
    known = robot if isinstance(robot, Parameters) else robot.prior
    layout = record.parameters.layout
    if known.layout.robot.n != layout.robot.n:
        raise InputError(f"{known.layout.robot.name} has {known.layout.robot.n} joints, the robot of the result {layout.robot.n}")
    names = set(known.layout.names)
    unknown = tuple(name for name in layout.names if name not in names)
    values = known.on(layout).values
    base, estimate = record.estimate.base, record.estimate
    blind = np.isin(layout.names, unknown)
    whole = ~np.any(np.abs(base.T[:, blind]) > 0.0, axis=1)
    beta = base.beta(values)
    rows = [
        TruthCheck(base.names[k], float(b), float(b - INTERVAL * s), float(b + INTERVAL * s), float(beta[k]), float(s))
        for k, (b, s) in enumerate(zip(estimate.beta, estimate.std, strict=True))
        if whole[k]
    ]
    single = [
        TruthCheck(
            name,
            float(record.parameters.values[k]),
            float(record.intervals[k, 0]),
            float(record.intervals[k, 1]),
            float(values[k]),
        )
        for k, name in enumerate(layout.names)
        if record.labels[name] == DETERMINED and name in names
    ]
    true_values = zip(known.layout.names, known.values, strict=True)
    return AgainstTruth(
        tuple(rows), tuple(single), unknown, tuple(name for name, v in true_values if name not in layout.names and v != 0.0)
    )
