"""Newton's method for priors that are not quadratic: entropic and Riemannian distances on the cone of pseudo-inertias.

    min |A chi - z|^2 + prior(chi)    such that    F chi + f in K

The priors are finite only strictly inside the cone, so most solutions meet no constraint at all; they are then found by damped
Newton steps alone.  What the prior does not keep (margins, boxes, bounds) is added as a logarithmic barrier whose weight is lowered
until the duality gap (barrier parameter times weight) is below the accuracy.  Equations are eliminated.  All steps are
of the size of the parameter vector, whatever the length of the record.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular
from scipy.linalg.blas import dtrmm

from inertica.arrays import Array
from inertica.dynamics.arrays import is_large
from inertica.physical.certified import GOOD, descent, newton_step
from inertica.physical.cone import ConeSolution, Metric, Program
from inertica.physical.conesets import Barrier, ConeSet
from inertica.physical.conflict import HELD
from inertica.physical.constraints import RealBody, Signs, slack
from inertica.physical.fit import Fit
from inertica.physical.path import followed
from inertica.physical.priors import ConePenalty, Euclidean, Penalty
from inertica.threads import one_thread

_SHRINK = 0.05
"""Factor on the barrier's weight from one stage to the next."""


Coupled = tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]
"""Rows and columns of a matrix that are not zero, row by row, and where rows begin."""

_DIRECT = 40
"""Newton steps at most, of one stage; what takes longer is left to `path`."""


@dataclass(frozen=True)
class NewtonAccuracy:
    """When Newton's method stops.

    Args:
        gap: duality gap relative to the objective.
        decrement: squared Newton decrement relative to the objective; about twice what a further step would gain.
        steps: limit of all Newton steps together.
        good: proven gap, in noise variances, that needs no slower way.
    """

    gap: float = 1e-9
    decrement: float = 1e-11
    steps: int = 800
    good: float = GOOD


def newton_solve(program: Program, fit: Fit, penalty: Penalty, accuracy: NewtonAccuracy | None = None) -> ConeSolution:
    """The minimum of data and prior within the constraints: the best strictly feasible point that was reached, with its gap.

    Raises:
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
        # fixed parameters explain a part of z; only the free ones move
        known = np.where(program.reference.free, 0.0, program.reference.values)
        self.miss = A @ self.chart.origin - (fit.z - fit.A @ known)
        self.seen = A @ self.chart.B
        # constant during the iteration; in the chart's coordinates it is close to the identity, so forming it costs no digits
        self.gram = 2.0 * self.seen.T @ self.seen
        large = is_large(program.reference.layout.robot)
        self.coupled = _coupled(program, penalty) if large and isinstance(penalty, ConePenalty) else None
        self.steps = 0

    def run(self) -> ConeSolution:
        start = self._start()
        y = self._minimise(self.chart.inverse(start), None, 0.0, _DIRECT)
        x, gap = self.chart.x(y), self._gap(y, None)
        inside = start
        if any(slack(b, self.program.chi(x)) <= 0.0 for b in self.program.blocks if b.cone != "zero"):
            cones = ConeSet.of_blocks([b for b in self.program.ordered if b.cone != "zero"], self.program.reference)
            barrier = Barrier(cones)
            inside = start if np.isfinite(barrier.value(start)) else self._inside(start)
            if not np.isfinite(barrier.value(inside)):  # statements that leave no room are loosened by a hair
                barrier = Barrier(cones.loosened(HELD))
            y, gap = self._constrained(self.chart.inverse(inside), barrier)
            x = self.chart.x(y)
        if not gap <= self.accuracy.good * self.fit.noise and isinstance(self.penalty, ConePenalty):
            # the careful way: slower, but it arrives where the Riemannian cost is not convex or a barrier is steep
            end = followed(self.program, self.fit, self.penalty, inside, self.accuracy.good * self.fit.noise)
            self.steps += end.steps
            x, gap = (end.x, end.gap) if end.gap < gap else (x, gap)
        chi = self.program.chi(x)
        squares = self.fit.squares(chi)
        objective = squares + self.penalty.value(chi)
        active, noise = self.program.active(chi), max(self.fit.noise, 1e-300)
        return ConeSolution(chi, objective, squares, self._free_squares(), active, self.steps, "newton", "newton", gap / noise)

    def _constrained(self, y: Array, barrier: Barrier) -> tuple[Array, float]:
        """Follow the central path from a strictly feasible point until the gap is small; the best point and its gap."""
        # the duality gap begins at the size of the cost itself
        weight = max(self._smooth(y), 1e-300) / barrier.parameter
        if isinstance(
            self.penalty, ConePenalty
        ):  # a heavier barrier would win over the logarithms of the prior and blow bodies up
            weight = min(weight, self.penalty.factor)
        best, least, bound = y, np.inf, -np.inf  # point of the least cost, and what the cost cannot be below
        while True:
            before = self.steps
            y = self._minimise(y, barrier, weight, _DIRECT)
            cost = self._smooth(y)
            best, least = (y, cost) if cost < least else (best, least)
            # every centred point gives a lower bound of the least cost; the best of them is kept
            bound = max(bound, cost - self._gap(y, barrier, weight))
            small = weight * barrier.parameter <= self.accuracy.gap * max(cost, 1e-300)
            if small or self.steps - before >= _DIRECT or self.steps >= self.accuracy.steps:
                return best, max(least - bound, 1e-16 * abs(least))
            weight *= _SHRINK

    def _minimise(self, y: Array, barrier: Barrier | None, weight: float, most: int) -> Array:
        """Damped Newton on the smooth objective plus weight times barrier, until it converges or nothing descends any more."""

        def total(at: Array) -> float:
            smooth = self._smooth(at)
            return smooth if barrier is None or not np.isfinite(smooth) else smooth + weight * barrier.value(self.chart.x(at))

        value, last = total(y), self.steps + most
        while self.steps < min(self.accuracy.steps, last):
            self.steps += 1
            step, g = self._step(y, barrier, weight)
            decrement = float(-g @ step)
            if not decrement > self.accuracy.decrement * max(abs(self._smooth(y)), 1e-300):
                return y
            length, trial = descent(total, y, step, value, decrement)
            if length == 0.0:
                return y
            y, value = y + length * step, trial
        return y

    def _gap(self, y: Array, barrier: Barrier | None, weight: float = 0.0) -> float:
        """Bound on how far the cost at y is above its least value within the constraints; see `path`."""
        step, g = self._step(y, barrier, weight)
        smooth, slacks = max(float(-g @ step), 0.0), 0.0
        if barrier is not None:
            dx = self.chart.B @ step
            gb, Hb = barrier.derivatives(self.chart.x(y))
            reach = float(dx @ Hb @ dx)
            if not reach < 1.0:
                return np.inf
            smooth, slacks = max(smooth - weight * reach, 0.0), weight * (barrier.parameter + float(gb @ dx))
        if not isinstance(self.penalty, ConePenalty) or self.penalty.riemannian:
            return 0.5 * smooth + slacks
        # -log det is self-concordant: with decrement t the distance to the minimum is at most a (-t - log(1 - t))
        a = 2.0 * max(self.penalty.factor * float(np.min(self.penalty.weight, initial=1.0)), 1e-300)
        t = np.sqrt(smooth / a)
        return float(a * (-t - np.log1p(-t))) + slacks if t < 1.0 else np.inf

    def _chi(self, y: Array) -> Array:
        return self.program.chi(self.chart.x(y))

    def _squares(self, y: Array) -> float:
        miss = self.seen @ y + self.miss
        return float(miss @ miss)

    def _smooth(self, y: Array) -> float:
        return self._squares(y) + self.penalty.value(self._chi(y))

    def _step(self, y: Array, barrier: Barrier | None, weight: float) -> tuple[Array, Array]:
        """Newton step and gradient; with the exact second derivatives of the prior where all together curve upwards."""
        free, scale, B = self.program.free, self.program.scale, self.chart.B
        chi, units = self._chi(y), np.outer(scale, scale)
        if isinstance(self.penalty, ConePenalty):
            (gradient,), (hessian,) = self.penalty.derivatives(chi[None])
        else:
            gradient, hessian = self.penalty.gradient(chi), self.penalty.hessian(chi)
        g, Hb = gradient[free] * scale, np.zeros((len(scale),) * 2)
        if barrier is not None:
            gb, Hb = barrier.derivatives(self.chart.x(y))
            g, Hb = g + weight * gb, weight * Hb
        slope = B.T @ g + 2.0 * self.seen.T @ (self.seen @ y + self.miss)

        def curved(H: Array) -> Array:
            return self.chart.congruent(H[np.ix_(free, free)] * units + Hb, self.coupled) + self.gram

        if isinstance(self.penalty, ConePenalty) and self.penalty.riemannian:
            step = _definite_step(slope, curved(self.penalty.exact_hessian(chi)))
            if step is not None:
                return step, slope
        return newton_step(slope, curved(hessian)), slope

    def _start(self) -> Array:
        """The prior in scaled variables; a point inside the constraints near it when it breaks an equation or its own domain."""
        values = self.penalty.origin if isinstance(self.penalty, ConePenalty) else self.program.reference.values
        # scaled variables: all of order one
        x = values[self.program.free] / self.program.scale
        on_equations = _equation_miss(self.program, x) <= 1e-9
        return x if on_equations and np.isfinite(self.penalty.value(self.program.chi(x))) else self._inside(x)

    def _inside(self, x: Array) -> Array:
        """A point inside the constraints near x, and where the prior has a value."""
        deepest = self.program.deepest(x)
        if np.isfinite(self.penalty.value(self.program.chi(deepest))):
            return deepest
        bodies = Program(self.program.reference, (*self.program.constraints, RealBody(), Signs()))  # not among the constraints
        return bodies.deepest(x)

    def _free_squares(self) -> float:
        """Squares of the data at their own minimum."""
        # rcond drops directions that only rounding determines
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
        # equations that repeat each other count once
        rank = int(np.count_nonzero(s > 1e-10 * s[0]))
        on_plane = metric.x - B @ (Vt[:rank].T @ ((U.T @ miss)[:rank] / s[:rank]))
        return cls(on_plane, B @ Vt[rank:].T, Vt[rank:] @ metric.M)

    def x(self, y: Array) -> Array:
        return np.asarray(self.origin + self.B @ y)

    def congruent(self, H: Array, coupled: Coupled | None) -> Array:
        """B' H B; H as the sparse matrix it is where one is stated, and B as a triangle where there are no equations."""
        if coupled is None:
            return np.asarray(self.B.T @ H @ self.B)
        rows, columns, ends = coupled
        product = sp.csr_matrix((H[rows, columns], columns, ends), H.shape) @ self.B
        if len(self.B) != self.B.shape[1]:
            return np.asarray(self.B.T @ product)
        return np.asarray(dtrmm(1.0, self.B.T, np.asfortranarray(product), lower=1))

    def inverse(self, x: Array) -> Array:
        return np.asarray(self.back @ (x - self.origin))


def _coupled(program: Program, penalty: ConePenalty) -> Coupled:
    """Pairs of free parameters that prior or constraints look at together: those of a body, and what is stated about several."""
    together = np.eye(program.reference.layout.size, dtype=bool)
    for where in penalty.where:
        together[np.ix_(where, where)] = True
    for block in program.blocks:
        columns = np.any(block.F != 0.0, axis=0)
        together |= np.outer(columns, columns)
    rows, columns = np.nonzero(together[np.ix_(program.free, program.free)])
    return rows, columns, np.searchsorted(rows, np.arange(len(program.free) + 1))


def _definite_step(g: Array, H: Array) -> Array | None:
    """-H^-1 g in unit-diagonal scaling; None where H is not positive definite."""
    # the exact Hessian of the Riemannian distance may curve downwards far from the prior; the caller then takes Gauss-Newton's
    if not np.diag(H).min() > 0.0:
        return None
    d = 1.0 / np.sqrt(np.diag(H))
    try:
        factor = cho_factor(H * np.outer(d, d), check_finite=False)
    except LinAlgError:
        return None
    return np.asarray(-d * cho_solve(factor, d * g, check_finite=False))


def _equation_miss(program: Program, x: Array) -> float:
    chi = program.chi(x)
    return max((-slack(b, chi) for b in program.blocks if b.cone == "zero"), default=0.0)
