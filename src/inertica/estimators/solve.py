"""Linear solves as strategies: how a method turns R beta = z into an estimate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from inertica.estimators.base import Capability, Problem
from inertica.estimators.observe import Stacked
from inertica.threads import one_thread

if TYPE_CHECKING:
    from inertica.estimators.consistent.strategy import Settled

Array = NDArray[np.float64]

RESOLVED = 1e-9
"""Singular values of the unit-column observation matrix below this share of the largest count as zero: rounding, not data."""


@dataclass(frozen=True, eq=False)
class ScaledSvd:
    """R / scale = U diag(s) Vt with unit columns, and which directions are data rather than rounding.

    Args:
        scale: (b,) norms of the columns; 1 for those that are zero.
        known: (b,) directions whose singular value counts.
    """

    U: Array
    s: Array
    Vt: Array
    scale: Array
    known: NDArray[np.bool_]

    @classmethod
    def of(cls, R: Array, resolved: float = RESOLVED) -> ScaledSvd:
        scale = np.linalg.norm(R, axis=0)
        scale[scale == 0.0] = 1.0
        with one_thread():
            U, s, Vt = np.linalg.svd(R / scale)
        return cls(U, s, Vt, scale, s > resolved * s[0] if s[0] > 0.0 else np.zeros(len(s), bool))

    @property
    def half(self) -> Array:
        """(b, k) with (R'R)^-1 = half half' on the directions that are known."""
        return np.asarray(self.Vt[self.known].T / self.s[self.known] / self.scale[:, None])

    @property
    def condition(self) -> float:
        """Over the directions that are known."""
        return float(self.s[self.known][0] / self.s[self.known][-1]) if self.known.any() else np.inf

    @property
    def unresolved(self) -> Array:
        """(b, k) directions, in scaled columns, that the data say nothing about."""
        return np.asarray(self.Vt[~self.known].T)


@dataclass(frozen=True, eq=False)
class Solution:
    """Outcome of a linear solve.

    Args:
        beta: (b,).
        spread: (b, b) with covariance of beta = spread when the rows have unit variance: (R'R)^-1 on the resolved directions.
        condition: of R with unit-norm columns, over the resolved directions.
        unresolved: (b, k) directions (in scaled columns) the data say nothing about.
        chi: (P,) when the strategy yields standard parameters.
        warnings: one sentence each.
        bread: (b, b) change of beta per change of R'z; the same as `spread` unless something besides the data acts on beta.
        settings: choices of the strategy that shaped the numbers, for the record.
        strategy: the consistent strategy that made it, with the strength it used; None when nothing but data acted on beta.
    """

    beta: Array
    spread: Array
    condition: float
    unresolved: Array
    chi: Array | None = None
    warnings: tuple[str, ...] = ()
    bread: Array | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    strategy: Settled | None = None

    @property
    def sensitivity(self) -> Array:
        """`bread`, or `spread` where they are the same."""
        return self.spread if self.bread is None else self.bread


class LinearSolve(Protocol):
    """Solves the weighted problem min |R beta - z|; rows are expected to have unit variance when `spread` is used."""

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What it adds to those of the method that uses it."""
        return frozenset()

    def named(self, kind: str) -> str:
        """Name of a kind of method that uses it: wls -> pc-wls."""
        return kind

    def prepared(self, problem: Problem) -> Callable[[Stacked, Problem], Solution]:
        """Itself with what it needs to know of a problem, for methods that solve several times."""
        return self

    def __call__(self, system: Stacked, problem: Problem) -> Solution: ...


class Composed:
    """A method that leaves its linear problems to a strategy `solve`, which has a part in its name and in what it can do."""

    solve: LinearSolve
    kind: ClassVar[str]
    own: ClassVar[frozenset[Capability]]

    @property
    def name(self) -> str:
        return self.solve.named(self.kind)

    @property
    def capabilities(self) -> frozenset[Capability]:
        return self.own | self.solve.capabilities


@dataclass(frozen=True)
class Unconstrained(LinearSolve):
    """Plain least squares by SVD of the column-scaled R.

    Directions the data do not resolve keep the prior's value (zero without a prior) instead of noise.
    """

    resolved: float = RESOLVED

    def __call__(self, system: Stacked, problem: Problem) -> Solution:
        svd = ScaledSvd.of(system.R, self.resolved)
        known, s = svd.known, svd.s
        before = np.zeros(len(s)) if problem.prior is None else problem.prior_beta
        step = svd.Vt[known].T @ ((svd.U.T @ (system.z - system.R @ before))[known] / s[known])
        warnings: tuple[str, ...] = ()
        if not known.all():
            count = int(np.count_nonzero(~known))
            warnings = (
                f"{count} of {len(s)} combinations of parameters are not determined by these data; there the prior's values hold",
            )
        half = svd.half
        return Solution(before + step / svd.scale, half @ half.T, svd.condition, svd.unresolved, None, warnings)


@dataclass(frozen=True)
class Ridge(LinearSolve):
    """min |R beta - z|^2 + strength |D (beta - beta_0)|^2, D the column norms of R: a pull towards the prior, scale-free.

    Args:
        strength: weight of the pull relative to the data; 1e-4 moves well-determined parameters by about 0.01 %.
    """

    strength: float = 1e-4

    @property
    def capabilities(self) -> frozenset[Capability]:
        return frozenset({Capability.PULLED})

    def named(self, kind: str) -> str:
        return f"{kind}+ridge"

    def __call__(self, system: Stacked, problem: Problem) -> Solution:
        svd = ScaledSvd.of(system.R)
        U, s, Vt, scale = svd.U, svd.s, svd.Vt, svd.scale
        before = np.zeros(len(scale)) if problem.prior is None else problem.prior_beta
        damped = s / (s**2 + self.strength)
        step = Vt.T @ (damped * (U.T @ (system.z - system.R @ before)))
        half = Vt.T * damped / scale[:, None]
        bread = (Vt.T / (s**2 + self.strength)) @ Vt / np.outer(scale, scale)
        condition = float(s[0] / s[-1]) if s[-1] > 0.0 else np.inf
        return Solution(before + step / scale, half @ half.T, condition, np.zeros((len(scale), 0)), bread=bread)
