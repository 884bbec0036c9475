"""`inertica.identify` with all defaults on the logs of a benchmark, and what its masses are beside others."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from bench import say

import inertica as ia
from inertica.checks.gate import CheckError

TOTAL_MASS, LINK_MASS = 2.0, 3.0
"""Factors by which the mass of the robot and of a link may differ from the model's."""


@dataclass(frozen=True)
class Ours:
    """What `inertica.identify` did with a split.

    Args:
        result: the fit, forced where it was refused; None where even that failed.
        refusal: why it was refused; empty when it was not.
        seconds: of the identification that gave the result.
    """

    result: ia.Result | None
    refusal: str
    seconds: float

    @property
    def masses(self) -> Masses | None:
        """Beside the model's."""
        return None if self.result is None else Masses.of(self.result.parameters, self.result.description.prior)


@dataclass(frozen=True)
class Masses:
    """Total mass over that of a reference, and the largest factor, up or down, by which a link's differs from the reference's."""

    total: float
    worst_link: float

    @classmethod
    def of(cls, parameters: ia.Parameters, reference: Mapping[str, float] | ia.Parameters) -> Masses:
        names = [p.name for p in parameters.layout.parameters if p.kind == "mass"]
        found, expected = (np.array([x[name] for name in names]) for x in (parameters, reference))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.abs(found[expected > 0.0] / expected[expected > 0.0])
            return cls(float(found.sum() / expected.sum()), float(np.max(np.maximum(ratio, 1.0 / ratio), initial=1.0)))

    @property
    def plausible(self) -> bool:
        return 1.0 / TOTAL_MASS <= self.total <= TOTAL_MASS and self.worst_link <= LINK_MASS


def identified(robot: Path, logs: Sequence[str]) -> Ours:
    """All defaults; forced only after a refusal, which is kept."""
    refusal, result = "", None
    start = time.perf_counter()
    try:
        result = ia.identify(robot, logs)
    except ia.InerticaError as error:
        refusal = str(error)
        say(f"  refused: {refusal}")
        start = time.perf_counter()
        if isinstance(error, CheckError):  # nothing else can be forced
            result = forced(robot, logs)
    return Ours(result, refusal, time.perf_counter() - start)


def forced(robot: Path, logs: Sequence[str]) -> ia.Result | None:
    try:
        return ia.identify(robot, logs, force=True)
    except ia.InerticaError as error:
        say(f"  not even by force: {error}")
        return None
