"""Newton's method for priors that are not quadratic: entropic and Riemannian distances on the cone of pseudo-inertias.

    min |A chi - z|^2 + prior(chi)    such that    F chi + f in K

The priors are finite only strictly inside the cone, so most solutions meet no constraint at all; they are then found by damped
Newton steps alone.  What the prior does not keep (margins, boxes, bounds) is added as a logarithmic barrier whose weight is lowered
until the duality gap (barrier parameter times weight) is below the accuracy.  Equations are eliminated.  All steps are
of the size of the parameter vector, whatever the length of the record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular

from inertica.physical.cone import Metric, Outcome, Program, SolveError
from inertica.physical.constraints import Block, slack
from inertica.physical.fit import Fit
from inertica.physical.interior import deepest
from inertica.physical.priors import ConePenalty, Euclidean, Penalty
from inertica.physical.pseudo import side, smat
from inertica.threads import one_thread

Array = NDArray[np.float64]

_SHRINK = 0.05
"""Factor on the barrier's weight from one stage to the next."""


@dataclass(frozen=True)
class NewtonAccuracy:
    """When Newton's method stops.

    Args:
        gap: duality gap relative to the objective.
        decrement: squared Newton decrement relative to the objective; about twice what a further step would gain.
        steps: limit of all Newton steps together.
    """

    gap: float = 1e-9
    decrement: float = 1e-11
    steps: int = 500


class Barrier:
    """-log of the distance to the boundary of inequality blocks, in scaled free variables x.

    Linear blocks are taken together, semidefinite ones of the same size as one batch.
    """

    def __init__(self, blocks: list[Block], program: Program) -> None:
        known = np.where(program.reference.free, 0.0, program.reference.values)

        def rows(block: Block) -> tuple[Array, Array]:
            return block.F[:, program.free] * program.scale, block.value(known)

        k = len(program.scale)
        linear = [rows(b) for b in blocks if b.cone == "nonnegative"]
        self.F = np.vstack([F for F, _ in linear] or [np.zeros((0, k))])
        self.f = np.concatenate([f for _, f in linear] or [np.zeros(0)])
        self.second = [rows(b) for b in blocks if b.cone == "second order"]
        self.matrices = []
        for size in sorted({len(b.f) for b in blocks if b.cone == "semidefinite"}):
            same = [rows(b) for b in blocks if b.cone == "semidefinite" and len(b.f) == size]
            maps = [smat(F.T) for F, _ in same]  # (k, d, d) each
            columns = [np.flatnonzero(np.abs(m).max(axis=(1, 2))) for m in maps]
            width = max(len(c) for c in columns)
            padded = [np.concatenate([c, np.setdiff1d(np.arange(k), c)[: width - len(c)]]) for c in columns]
            self.matrices.append(
                (
                    np.array(padded),
                    np.array([m[c] for m, c in zip(maps, padded, strict=True)]),
                    np.array([smat(f) for _, f in same]),
                )
            )
        d = [len(block.f) for block in blocks if block.cone == "semidefinite"]
        self.parameter = len(self.f) + 2 * len(self.second) + sum(side(m) for m in d)

    def value(self, x: Array) -> float:
        s = self.F @ x + self.f
        if s.size and s.min() <= 0.0:
            return np.inf
        out = -float(np.log(s).sum())
        for F, f in self.second:
            v = F @ x + f
            inside = v[0] ** 2 - v[1:] @ v[1:]
            if v[0] <= 0.0 or inside <= 0.0:
                return np.inf
            out -= float(np.log(inside))
        for columns, maps, constant in self.matrices:
            J = np.einsum("ik,ikab->iab", x[columns], maps) + constant
            e = np.linalg.eigvalsh(J)
            if e.min() <= 0.0:
                return np.inf
            out -= float(np.log(e).sum())
        return out

    def derivatives(self, x: Array) -> tuple[Array, Array]:
        """Gradient and Hessian."""
        s = self.F @ x + self.f
        scaled = self.F / s[:, None]
        g, H = -scaled.sum(axis=0), scaled.T @ scaled
        for F, f in self.second:
            v = F @ x + f
            mirrored = np.concatenate([v[:1], -v[1:]])
            inside = float(v @ mirrored)
            slope = F.T @ mirrored
            flipped = F * np.concatenate([[1.0], -np.ones(len(v) - 1)])[:, None]
            g -= 2.0 * slope / inside
            H += 4.0 * np.outer(slope, slope) / inside**2 - 2.0 * F.T @ flipped / inside
        for columns, maps, constant in self.matrices:
            J = np.einsum("ik,ikab->iab", x[columns], maps) + constant
            root = np.linalg.inv(np.linalg.cholesky(J))
            turned = np.einsum("iab,ikbc,idc->ikad", root, maps, root, optimize=True)
            slopes = np.einsum("ikaa->ik", turned)
            flat = turned.reshape(*turned.shape[:2], -1)
            curves = flat @ flat.transpose(0, 2, 1)
            for c, slope, curve in zip(columns, slopes, curves, strict=True):
                g[c] -= slope
                H[np.ix_(c, c)] += curve
        return g, H


def newton_solve(program: Program, fit: Fit, penalty: Penalty, accuracy: NewtonAccuracy | None = None) -> Outcome:
    """The minimum of data and prior within the constraints.

    Raises:
        SolveError: Newton's method did not reach its accuracy.
        InfeasibleError: the constraints contradict each other.
    """
    with one_thread():
        return _Newton(program, fit, penalty, accuracy or NewtonAccuracy()).run()


class _Newton:
    """Works in coordinates y of `_Chart`, in which data and prior are of order one."""

    def __init__(self, program: Program, fit: Fit, penalty: Penalty, accuracy: NewtonAccuracy) -> None:
        self.program, self.fit, self.penalty, self.accuracy = program, fit, penalty, accuracy
        self.chart = _Chart.of(program, fit)
        A = fit.A[:, program.free] * program.scale
        known = np.where(program.reference.free, 0.0, program.reference.values)
        self.miss = A @ self.chart.origin - (fit.z - fit.A @ known)
        self.seen = A @ self.chart.B
        self.gram = 2.0 * self.seen.T @ self.seen
        self.steps = 0

    def run(self) -> Outcome:
        inequalities = [b for b in self.program.blocks if b.cone != "zero"]
        start = self._start()
        y = self._minimise(self.chart.inverse(start), None, 0.0)
        chi = self._chi(y)
        if any(slack(b, chi) <= 0.0 for b in inequalities):
            barrier = Barrier(inequalities, self.program)
            inside = start if np.isfinite(barrier.value(start)) else deepest(self.program, start)
            chi = self._chi(self._constrained(self.chart.inverse(inside), barrier))
        squares = self.fit.squares(chi)
        objective = squares + self.penalty.value(chi)
        active = self.program.active(chi)
        return Outcome(chi, objective, squares, self._free_squares(), active, self.steps, "converged", "newton")

    def _constrained(self, y: Array, barrier: Barrier) -> Array:
        """Follow the central path from a strictly feasible point until the gap is small."""
        weight = max(self._smooth(y), 1e-300) / barrier.parameter
        if isinstance(
            self.penalty, ConePenalty
        ):  # a heavier barrier would win over the logarithms of the prior and blow bodies up
            weight = min(weight, self.penalty.factor)
        while True:
            y = self._minimise(y, barrier, weight)
            if weight * barrier.parameter <= self.accuracy.gap * max(self._smooth(y), 1e-300):
                return y
            weight *= _SHRINK

    def _minimise(self, y: Array, barrier: Barrier | None, weight: float) -> Array:
        """Damped Newton on the smooth objective plus weight times barrier."""

        def total(at: Array) -> float:
            smooth = self._smooth(at)
            return smooth if barrier is None or not np.isfinite(smooth) else smooth + weight * barrier.value(self.chart.x(at))

        value = total(y)
        while True:
            self.steps += 1
            step, g = self._step(y, barrier, weight)
            decrement = float(-g @ step)
            if decrement <= self.accuracy.decrement * max(abs(self._smooth(y)), 1e-300):
                return y
            length, trial = _descent(total, y, step, value, decrement)
            if length == 0.0 and decrement <= 1e-7 * max(abs(value), 1e-300):
                return y  # rounding hides any further descent
            if length == 0.0 or self.steps >= self.accuracy.steps:
                raise SolveError(
                    f"{self.program.reference.layout.robot.name}: Newton's method has not converged after {self.steps} steps, so "
                    "there is no result; use a stronger prior"
                )
            y, value = y + length * step, trial

    def _chi(self, y: Array) -> Array:
        return self.program.chi(self.chart.x(y))

    def _smooth(self, y: Array) -> float:
        miss = self.seen @ y + self.miss
        return float(miss @ miss) + self.penalty.value(self._chi(y))

    def _step(self, y: Array, barrier: Barrier | None, weight: float) -> tuple[Array, Array]:
        """Newton step and gradient; with the exact second derivatives of the prior where all together curve upwards."""
        free, scale, B = self.program.free, self.program.scale, self.chart.B
        chi, units = self._chi(y), np.outer(scale, scale)
        g, Hb = self.penalty.gradient(chi)[free] * scale, np.zeros((len(scale),) * 2)
        if barrier is not None:
            gb, Hb = barrier.derivatives(self.chart.x(y))
            g, Hb = g + weight * gb, weight * Hb
        slope = B.T @ g + 2.0 * self.seen.T @ (self.seen @ y + self.miss)

        def curved(H: Array) -> Array:
            return np.asarray(B.T @ (H[np.ix_(free, free)] * units + Hb) @ B + self.gram)

        if isinstance(self.penalty, ConePenalty) and self.penalty.riemannian:
            step = _newton_step(slope, curved(self.penalty.exact_hessian(chi)), definite=True)
            if step is not None:
                return step, slope
        step = _newton_step(slope, curved(self.penalty.hessian(chi)))
        assert step is not None
        return step, slope

    def _start(self) -> Array:
        """The prior in scaled variables; a point inside the constraints near it when it breaks an equation or its own domain."""
        values = self.penalty.origin if isinstance(self.penalty, ConePenalty) else self.program.reference.values
        x = values[self.program.free] / self.program.scale
        on_equations = _equation_miss(self.program, x) <= 1e-9
        return x if on_equations and np.isfinite(self.penalty.value(self.program.chi(x))) else deepest(self.program, x)

    def _free_squares(self) -> float:
        """Squares of the data at their own minimum."""
        y = np.linalg.lstsq(self.seen, -self.miss, rcond=1e-12)[0]
        miss = self.seen @ y + self.miss
        return float(miss @ miss)


@dataclass(frozen=True, eq=False)
class _Chart:
    """x = origin + B y: points that keep the equations, y scaled to change data and prior by about one.

    What the data know to many digits would otherwise drown, in H = A'A + ..., what only the prior decides; and with the origin at
    the minimum of data and a Euclidean prior, residuals are not differences of large numbers.
    """

    origin: Array
    B: Array
    back: Array

    @classmethod
    def of(cls, program: Program, fit: Fit) -> _Chart:
        metric = Metric.of(program, fit, Euclidean(1.0).penalty(program.reference, fit))
        B = solve_triangular(metric.M, np.eye(len(metric.M)))
        equations = [b for b in program.blocks if b.cone == "zero"]
        if not equations:
            return cls(metric.x, B, metric.M)
        E = np.vstack([b.F[:, program.free] for b in equations]) * program.scale @ B
        miss = np.concatenate([b.value(program.chi(metric.x)) for b in equations])
        U, s, Vt = np.linalg.svd(E)
        rank = int(np.count_nonzero(s > 1e-10 * s[0]))
        moved = metric.x - B @ (Vt[:rank].T @ ((U.T @ miss)[:rank] / s[:rank]))
        return cls(moved, B @ Vt[rank:].T, Vt[rank:] @ metric.M)

    def x(self, y: Array) -> Array:
        return np.asarray(self.origin + self.B @ y)

    def inverse(self, x: Array) -> Array:
        return np.asarray(self.back @ (x - self.origin))


def _descent(total: Callable[[Array], float], x: Array, direction: Array, value: float, decrement: float) -> tuple[float, float]:
    """Step length that lowers the value enough, and the value there; 0 when there is none."""
    length = 1.0
    while length > 1e-12:
        trial = total(x + length * direction)
        if trial <= value - 0.1 * length * decrement:
            return length, trial
        length *= 0.5
    return 0.0, value


def _newton_step(g: Array, H: Array, definite: bool = False) -> Array | None:
    """-H^-1 g in unit-diagonal scaling; where H is not positive definite None if so asked, else with a little more on the diagonal."""
    if definite and np.diag(H).min() <= 0.0:
        return None
    d = 1.0 / np.sqrt(np.maximum(np.diag(H), 1e-300))
    scaled = H * np.outer(d, d)
    ridge = 0.0
    while True:
        try:
            factor = cho_factor(scaled + ridge * np.eye(len(d)), check_finite=False)
            return np.asarray(-d * cho_solve(factor, d * g, check_finite=False))
        except LinAlgError:
            if definite:
                return None
            ridge = max(10.0 * ridge, 1e-14)


def _equation_miss(program: Program, x: Array) -> float:
    chi = program.chi(x)
    return max((-slack(b, chi) for b in program.blocks if b.cone == "zero"), default=0.0)
