"""The same minimum as `logdet` finds, where its quick way does not arrive: a path that is followed in small steps.

    min |A chi - z|^2 + prior(chi)    such that    F chi + f in K

Data that contradict the prior by many standard deviations send Newton's method from the prior straight to the boundary of the
cone, along which it creeps, and there its matrices lose their digits.  So the path begins where the prior is as heavy as the data
and ends where it has its own weight; constraints are kept by a logarithmic barrier whose weight goes to zero.  Each step is that
of Newton's method, solved as a least-squares problem (prior and barrier are squares to second order), which does not square
the condition number.  All points on the way are strictly feasible.

The gap at the end is proven as in `certified`.  One Newton step p on from x, the multipliers of the barrier make the slope of the
Lagrangian -H p, H the curvature of data and prior, while they stay in the dual cone (p within the Dikin ellipsoid).  What is left to
the minimum of the Lagrangian is then a (-t - log(1 - t)), t^2 = p'Hp / a, with a the least weight of the prior's logarithms:
divided by it the cost is self-concordant.  The Riemannian distance is not convex; there the bound holds near the solution.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr, solve_triangular

from inertica.arrays import Array
from inertica.physical.cone import Program
from inertica.physical.conesets import Barrier, ConeSet
from inertica.physical.conflict import HELD
from inertica.physical.fit import Fit
from inertica.physical.priors import ConePenalty

_SHRINK = 0.2
"""Factor on the weights from one stage to the next."""

_STEPS = 40
"""Of one stage at most."""

_CENTRED = 0.05
"""Squared decrement, in units of the least weight, at which the next stage begins."""


@dataclass(frozen=True, eq=False)
class End:
    """Where a path ends.

    Args:
        x: (k,) strictly feasible, scaled free variables.
        gap: bound on what the cost is above its least.
        steps: taken.
    """

    x: Array
    gap: float
    steps: int


def followed(program: Program, fit: Fit, penalty: ConePenalty, start: Array, good: float) -> End:
    """The end of the path from a strictly feasible point.

    Args:
        program, fit, penalty: the problem.
        start: (k,) scaled free variables, inside constraints and prior.
        good: gap that is good enough.
    """
    return _Path(program, fit, penalty).run(start, good)


@dataclass(frozen=True, eq=False)
class _Step:
    """Of Newton's method: the step in x, its decrement, and what the gap needs."""

    p: Array
    decrement: float
    smooth: float  # p'Hp of data and prior
    reach: float  # p'Hp of the barrier alone
    slope: float  # of the barrier along p


class _Path:
    def __init__(self, program: Program, fit: Fit, penalty: ConePenalty) -> None:
        self.program, self.penalty = program, penalty
        self.A = fit.A[:, program.free] * program.scale
        known = np.where(program.reference.free, 0.0, program.reference.values)
        self.z = fit.z - fit.A @ known
        self.cones = ConeSet.of_blocks([b for b in program.ordered if b.cone != "zero"], program.reference)
        self.barrier = Barrier(self.cones)
        self.N = program.plane.N
        self.light = penalty.factor * float(np.min(penalty.weight, initial=1.0))

    def run(self, x: Array, good: float) -> End:
        if not np.isfinite(self.barrier.value(x)):  # statements that leave no room are loosened by a hair
            self.barrier = Barrier(self.cones.loosened(HELD))
        miss = self.A @ x - self.z
        heavy = max(float(miss @ miss) / max(4.0 * self.light * max(len(self.penalty.where), 1), 1e-300), 1.0)
        steps, weight = 0, self.light
        while heavy > 1.0:
            x, used, _ = self._centred(x, heavy, heavy * self.light)
            steps, heavy = steps + used, max(_SHRINK * heavy, 1.0)
        best = End(x, np.inf, 0)
        while True:
            x, used, step = self._centred(x, 1.0, weight)
            steps += used
            gap = self._gap(step, weight)
            if gap <= best.gap or not np.isfinite(best.gap):
                best = End(x, gap, steps)
            if gap <= good or weight * max(self.barrier.parameter, 1) <= 1e-3 * good:
                return End(best.x, best.gap, steps)
            weight *= _SHRINK

    def _centred(self, x: Array, heavy: float, weight: float) -> tuple[Array, int, _Step]:
        """Steps until the decrement is small; the point, their number, and the next step."""
        least = 2.0 * min(heavy * self.light, 0.5 * weight) if self.barrier.parameter else 2.0 * heavy * self.light
        step = self._step(x, heavy, weight)
        for count in range(_STEPS):
            size = float(np.sqrt(max(step.decrement, 0.0) / least))
            if size * size <= _CENTRED * 1e-4:
                return x, count, step
            trial = self._moved(x, step, size, heavy, weight)
            if trial is None:
                return x, count, step
            after = self._step(trial, heavy, weight)
            if size < 0.1 and after.decrement >= step.decrement:  # rounding
                return x, count, step
            x, step = trial, after
        return x, _STEPS, step

    def _moved(self, x: Array, step: _Step, size: float, heavy: float, weight: float) -> Array | None:
        """As far along the step as the cost falls; where it is too flat to tell, as far as theory allows."""
        value = self._value(x, heavy, weight)
        length, sure = 1.0, 1.0 if size < 0.3 else 1.0 / (1.0 + size)
        while length > 1e-12:
            at = x + length * step.p
            trial_value = self._value(at, heavy, weight)
            if trial_value <= value - 0.1 * length * step.decrement or (length <= sure and np.isfinite(trial_value)):
                return np.asarray(at)
            length = 0.5 * length if length > 2.0 * sure or length <= sure else sure
        return None

    def _value(self, x: Array, heavy: float, weight: float) -> float:
        miss = self.A @ x - self.z
        barrier = self.barrier.value(x)
        if not np.isfinite(barrier):
            return np.inf
        return float(miss @ miss) + heavy * self.penalty.value(self.program.chi(x)) + weight * barrier

    def _step(self, x: Array, heavy: float, weight: float) -> _Step:
        pulls, pull = self.penalty.local_squares(self.program.chi(x))
        pulls = np.sqrt(heavy) * pulls[:, self.program.free] * self.program.scale
        walls, wall = self.barrier.local_squares(x)
        smooth, root = np.vstack([self.A, pulls]), np.sqrt(weight)
        right = np.concatenate([self.A @ x - self.z, np.sqrt(heavy) * pull, root * wall])
        p = self.N @ _least_squares(np.vstack([smooth, root * walls]) @ self.N, -right)
        across, along = smooth @ p, walls @ p
        decrement = 2.0 * float(across @ across) + 2.0 * weight * float(along @ along)  # = -g'p for the exact step
        return _Step(p, decrement, 2.0 * float(across @ across), 2.0 * float(along @ along), 2.0 * float(wall @ along))

    def _gap(self, step: _Step, weight: float) -> float:
        if step.reach >= 1.0 or not np.isfinite(step.smooth):
            return np.inf
        slacks = weight * (self.barrier.parameter + step.slope)
        if self.penalty.riemannian:
            return 0.5 * step.smooth + slacks
        a = 2.0 * max(self.light, 1e-300)
        t = np.sqrt(step.smooth / a)
        return float(a * (-t - np.log1p(-t)) + slacks) if t < 1.0 else np.inf


def _least_squares(rows: Array, right: Array) -> Array:
    """min |rows p - right| with heavy and light rows side by side: heavy ones first, columns of one length, pivoting."""
    order = np.argsort(-np.abs(rows).max(axis=1), kind="stable")
    with np.errstate(over="ignore"):  # at a matrix singular to rounding a norm is infinite; such a column stays where it is
        norms = np.linalg.norm(rows, axis=0)
    norms[norms == 0.0] = 1.0
    Q, R, pivots = qr((rows / norms)[order], mode="economic", pivoting=True, check_finite=False)
    keep = np.abs(np.diag(R)) > 1e-15 * abs(R[0, 0])
    k = int(np.count_nonzero(keep))
    out = np.zeros(rows.shape[1])
    out[pivots[:k]] = solve_triangular(R[:k, :k], (Q.T @ right[order])[:k], check_finite=False)
    return out / norms
