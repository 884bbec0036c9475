"""A method that is not in the package: one file, and one line that registers it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from inertica.estimators.base import Capability, Estimate, Need, Problem
from inertica.estimators.linear.least_squares import MEASURED, observed, weighted_fit
from inertica.estimators.solve import Unconstrained


@dataclass(frozen=True)
class ByTorque:
    """min sum_j |W_j beta - y_j|^2 / |y_j|^2: every joint counts by the size of its torque.

    Args:
        hac: covariance that accounts for serial correlation of the residuals.
    """

    hac: bool = True

    name: ClassVar[str] = "by-torque"
    needs: ClassVar[frozenset[Need]] = MEASURED
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.COVARIANCE})

    def estimate(self, problem: Problem, rng: np.random.Generator | None = None) -> Estimate:
        system = observed(self, problem)
        size = np.array([f.size for f in system.factors]) / np.sqrt(system.counts)
        return weighted_fit(self, problem, Unconstrained(), size)
