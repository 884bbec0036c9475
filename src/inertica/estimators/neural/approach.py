"""What the neural estimators share: rows in memory, when they stop, how far from least squares they end."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.dynamics.tsqr import Stacked
from inertica.estimators.base import Estimate, Estimator, Problem
from inertica.estimators.evidence import ScaledSvd, Solution
from inertica.estimators.linear.least_squares import observed
from inertica.estimators.observe import Observations
from inertica.estimators.solve import FitErrors, Unconstrained, estimated

FAR = 1e-3
"""Share of the torque by which predictions may differ from those of least squares without a warning."""

SETTLED = "every column of W is orthogonal to the residual"


@dataclass(frozen=True, eq=False)
class Packed:
    """Rows of all joints side by side, for updates by single samples in any order.

    Args:
        W: (N, K); zero where a joint's row does not count.
        y: (N, n) torque less what fixed parameters explain.
        first: (n + 1,) where the columns of each joint begin in W.
        columns: (K,) positions in beta.
    """

    W: Array
    y: Array
    first: NDArray[np.int64]
    columns: NDArray[np.int64]

    @classmethod
    def of(cls, system: Observations) -> Packed:
        """Once for all starts that see the same rows."""
        if system not in _PACKED:
            _PACKED[system] = cls._of(system)
        return _PACKED[system]

    @classmethod
    def _of(cls, system: Observations) -> Packed:
        W, y = [], []
        for rows in system.rows():
            some = rows.use.any(axis=1)
            W.append(np.hstack([w * use[:, None] for w, use in zip(rows.W, rows.use.T, strict=True)])[some])
            y.append((rows.y * rows.use)[some])
        first = np.concatenate([[0], np.cumsum([len(c) for c in system.columns])])
        return cls(np.concatenate(W), np.concatenate(y), first.astype(np.int64), np.concatenate(system.columns).astype(np.int64))


_PACKED: WeakKeyDictionary[Observations, Packed] = WeakKeyDictionary()
"""Of observations that somebody still has."""


@dataclass(frozen=True, eq=False)
class Goal:
    """Least squares, which the method approaches.

    Args:
        problem, system: what is fitted.
        stacked: R, z and rest of all rows, unweighted.
        least: (b,) its solution.
        torque: norm of all torques.
        small: (b,) gradients that count as zero: every column of W is orthogonal to the residual up to that part of |W_k| |y|.
        samples: of which some joint's row counts.
        begun: when the method began.
    """

    problem: Problem
    system: Observations
    stacked: Stacked
    least: Array
    torque: float
    small: Array
    samples: int
    begun: float
    path: list[tuple[int, float]] = field(default_factory=list)

    @classmethod
    def of(cls, method: Estimator, problem: Problem, tolerance: float) -> Goal:
        begun, system = time.perf_counter(), observed(method, problem)
        stacked = system.stacked()
        torque = max(float(np.hypot(np.linalg.norm(stacked.z), stacked.rest)), 1e-300)
        small = tolerance * torque * np.linalg.norm(stacked.R, axis=0)
        count = sum(int(np.count_nonzero(rows.use.any(axis=1))) for rows in system.rows())
        return cls(problem, system, stacked, Unconstrained()(stacked, problem).beta, torque, small, count, begun)

    @cached_property
    def normal_equations(self) -> tuple[Array, Array]:
        """W'W and W'y, all that an iteration with all rows needs."""
        return self.stacked.R.T @ self.stacked.R, self.stacked.R.T @ self.stacked.z

    @property
    def piece(self) -> int:
        """Steps of a method with all rows between two looks at its way."""
        return max(self.samples // 100, 1)

    @property
    def steepest(self) -> float:
        """Largest eigenvalue of W'W."""
        return float(np.linalg.norm(self.stacked.R, 2) ** 2)

    def reached(self, beta: Array) -> bool:
        G, c = self.normal_equations
        return bool(np.all(np.abs(c - G @ beta) <= self.small))

    def look(self, steps: int, beta: Array) -> float:
        """|W (beta - beta_ols)| / |y| after these steps, written down."""
        self.path.append((steps, float(np.linalg.norm(self.stacked.R @ (beta - self.least))) / self.torque))
        return self.path[-1][1]

    def estimate(
        self, name: str, beta: Array, met: bool, settings: Mapping[str, object], warnings: tuple[str, ...] = ()
    ) -> Estimate:
        """What was found, with the distance left to least squares.

        No covariance is stated: how an iteration that was ended varies with the noise is not what least squares would say.
        """
        steps, left = self.path[-1]
        if left > FAR:
            warning = (
                f"its torques are still {100 * left:.2g} % of the torque away from those of least squares, which it approaches"
            )
            warnings = (*warnings, f"{warning}; `ols` gives that limit at once")
        b = len(beta)
        solution = Solution(beta, np.zeros((b, b)), ScaledSvd.of(self.stacked.R).condition, np.eye(b), warnings=warnings)
        errors = FitErrors(self.system.residual_sigmas(beta), None)
        estimate = estimated(name, self.problem, solution, errors, self.begun, settings=settings)
        history = {"steps": tuple(float(k) for k, _ in self.path), "left": tuple(x for _, x in self.path)}
        return replace(
            estimate,
            iterations=steps,
            history=history,
            stop_reason=SETTLED if met else f"{steps} steps, the most that were allowed",
        )
