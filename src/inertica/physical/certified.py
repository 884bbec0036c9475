"""The point of a cone set nearest to a given one, with a proof of how near: no status word of a solver is taken on trust.

    min |M (x - x_u)|^2    such that    F x + f in K

With y = M (x - x_u), G = F M^-1 and s = F x + f, any lambda of the dual cone bounds the minimum from below, so that for feasible x

    gap = |y - G' lambda / 2|^2 + lambda' s   >=   |y|^2 - min   >=   |y - y*|^2     (strong convexity),

both terms of which are sums of nothing negative.  Every combination c'x is therefore within sqrt(gap) of |M^-T c|, its own standard
deviation when rows have unit variance.  Three ways to a point, in the order in which they are tried until one is proven good enough:

    residuals    Clarabel in the unknowns y, in which what data know exactly drops out of the constraints by itself
    directions   Clarabel in singular directions of M; those about which data and prior say little keep their natural size
    barrier      Newton's method on the logarithmic barrier from a point inside: strictly feasible throughout

Clarabel's points are pulled towards a point well inside as far as needed to be feasible.  Any lambda of the dual cone proves any
point, so every point is judged by the multipliers of the ways before it too: where Clarabel ends with exact multipliers and a poor
point, the barrier's point is proven by them.  The best of what was tried is the result, with its gap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cho_factor, cho_solve, svd

from inertica.arrays import Array
from inertica.physical.conesets import Accuracy, Barrier, ConeSet, clarabel, settings_of
from inertica.physical.triangular import back_substituted

GOOD = 1e-4
"""Gap, in noise variances, that needs no further way: a hundredth of a standard deviation."""

STEPS = 400
"""Newton steps of the barrier method at most."""

_SHRINK = 0.1
"""Factor on the barrier's weight from one stage to the next."""


@dataclass(frozen=True, eq=False)
class Nearest:
    """A feasible point and how good it is.

    Args:
        x: (k,).
        gap: |M (x - x*)|^2 is not larger, x* the exact solution.
        iterations: of all ways that were tried.
        way: that led here.
    """

    x: Array
    gap: float
    iterations: int
    way: str


def certified(M: Array, x_u: Array, cones: ConeSet, inside: Array, accuracy: Accuracy, good: float) -> Nearest:
    """The nearest point of a set that has a point strictly inside.

    Args:
        M: (k, k) upper triangular, invertible.
        x_u: (k,) the minimum without constraints.
        cones: the set.
        inside: (k,) strictly inside.
        accuracy: of Clarabel.
        good: gap that is good enough; in the squares of M.
    """
    task = _Task(M, x_u, cones, inside)
    best, iterations = Nearest(inside, np.inf, 0, "inside"), 0
    # cheapest first; a later way is only started when no earlier one is proven good enough
    for way in (task.by_residuals(accuracy), task.by_directions(accuracy), task.by_barrier(good)):
        for attempt in way:
            iterations += attempt.iterations
            if attempt.gap < best.gap:
                best = attempt
        if best.gap <= good:
            break
    return Nearest(best.x, best.gap, iterations, best.way)


class _Task:
    """One problem, and the ways to solve it."""

    def __init__(self, M: Array, x_u: Array, cones: ConeSet, inside: Array) -> None:
        self.M, self.x_u, self.cones, self.inside = M, x_u, cones, inside
        self.h = cones.value(x_u)
        self.factor = cones.row_factors(self.h)
        self.duals: list[Array] = []
        """Multipliers of Clarabel's ways so far."""

    def by_residuals(self, accuracy: Accuracy) -> Iterator[Nearest]:
        # F M^-1 by substitution: an inverse of a badly conditioned M would lose the digits that the gap is to prove
        G = back_substituted(self.M, self.cones.F.T, transposed=True).T
        settings = settings_of(accuracy)
        # Clarabel minimises y'P y / 2, so that P = 2 stands for |y|^2
        result = self._clarabel(G, np.full(len(self.x_u), 2.0), settings)
        if result is not None:
            y, multipliers, iterations = result
            yield self._proven(self.x_u + back_substituted(self.M, y), multipliers, iterations, "residuals")

    def by_directions(self, accuracy: Accuracy) -> Iterator[Nearest]:
        _, s, Vt = self._directions()
        # directions with s > 1 in unit noise get size one; those that data and prior say less about keep their natural size
        scales = np.maximum(s, 1.0)
        result = self._clarabel(self.cones.F @ (Vt.T / scales), 2.0 * (s / scales) ** 2, settings_of(accuracy))
        if result is not None:
            v, multipliers, iterations = result
            yield self._proven(self.x_u + Vt.T @ (v / scales), multipliers, iterations, "directions")

    def by_barrier(self, good: float) -> Iterator[Nearest]:
        """Stages of falling weight; the last is within `good`, or where rounding ends the descent."""
        _, s, Vt = self._directions()
        # bounded below, so that the barrier's second derivatives stay finite along directions that nothing determines
        scales = np.maximum(s, 1e-3 * max(float(s[-1]), 1.0))
        B, D = Vt.T / scales, (s / scales) ** 2
        barrier = Barrier(self.cones)
        v, steps = scales * (Vt @ (self.inside - self.x_u)), 0
        weight = max(float(D @ v**2), 1e-12) / barrier.parameter
        while steps < STEPS:
            v, used = _centred(v, weight, D, B, self.x_u, barrier)
            steps += used
            x = self.x_u + B @ v
            slack = self.cones.value(x)
            multipliers = weight * self.cones.multipliers(slack)
            if self.cones.depth(slack) <= 0.0 or not np.isfinite(multipliers).all():  # on the boundary, to rounding
                return
            gap = self.least_gap(x, multipliers)
            yield Nearest(x, gap, used, "barrier")
            if gap <= good or weight < 1e-14 * max(float(D @ v**2), 1.0):
                return
            # the duality gap of a centred point is weight times the barrier parameter, so it falls by the same factor
            weight *= _SHRINK

    def gap(self, x: Array, multipliers: Array) -> float:
        """The bound of the module's first lines, with the best multiple of the multipliers."""
        y, s = self.M @ (x - self.x_u), self.cones.value(x)
        q = 0.5 * back_substituted(self.M, self.cones.F.T @ multipliers, transposed=True)
        along, size = float(multipliers @ s), float(q @ q)
        # least of |y - k q|^2 + k along over k >= 0
        k = max((float(q @ y) - 0.5 * along) / size, 0.0) if size > 0.0 else 0.0
        miss = y - k * q
        return float(miss @ miss + k * max(along, 0.0))

    def least_gap(self, x: Array, multipliers: Array) -> float:
        """The lowest bound that these multipliers or those of an earlier way prove."""
        return min(self.gap(x, each) for each in (multipliers, *self.duals))

    def _proven(self, x: Array, multipliers: Array, iterations: int, way: str) -> Nearest:
        if not (np.isfinite(x).all() and np.isfinite(multipliers).all()):
            return Nearest(self.inside, np.inf, iterations, way)
        x = pulled(self.cones, x, self.inside)
        dual = self.cones.in_dual(multipliers)
        gap = self.least_gap(x, dual)
        self.duals.append(dual)
        return Nearest(x, gap, iterations, way)

    def _clarabel(self, rows: Array, P: Array, settings: clarabel.DefaultSettings) -> tuple[Array, Array, int] | None:
        """Variables, multipliers of F x + f up to a factor, iterations."""
        rows = self.factor[:, None] * rows
        size = float(np.linalg.norm(rows))
        if not np.isfinite(size) or size == 0.0 or not np.isfinite(self.h).all():
            return None
        A, b, q = _sparse(-rows / size), self.factor * self.h, np.zeros(len(P))
        answer = clarabel.DefaultSolver(_diagonal(P), q, A, b, self.cones.cones, settings).solve()
        return np.array(answer.x) / size, self.factor * np.array(answer.z), int(answer.iterations)

    def _directions(self) -> tuple[Array, Array, Array]:
        U, s, Vt = svd(self.M, lapack_driver="gesvd")  # which converges where the other driver does not
        return U, np.maximum(s, 1e-300), Vt


def _sparse(A: Array) -> sp.csc_matrix:
    """Without the detours of a general constructor, which take as long as a part of the solve."""
    columns, rows = np.nonzero(A.T)
    first = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=A.shape[1]))])
    out = sp.csc_matrix((A[rows, columns], rows.astype(np.int32), first.astype(np.int32)), shape=A.shape, copy=False)
    out.has_canonical_format = True  # rows ascend in every column, each once; the solver asks
    return out


def _diagonal(P: Array) -> sp.csc_matrix:
    k = len(P)
    out = sp.csc_matrix((P, np.arange(k, dtype=np.int32), np.arange(k + 1, dtype=np.int32)), shape=(k, k), copy=False)
    out.has_canonical_format = True
    return out


def pulled(cones: ConeSet, x: Array, inside: Array) -> Array:
    """x, or the point nearest to it on the way to `inside` that lies in the set."""
    a, b = cones.value(x), cones.value(inside)
    if cones.depth(a) >= 0.0:
        return x
    # depth is concave, so that a share of the way which is sure to be enough follows from both ends
    outside, enough = -cones.depth(a), cones.depth(b)
    low, high = 0.0, outside / (outside + enough) if np.isfinite(outside) and enough > 0.0 else 1.0
    while high - low > 1e-3 * high and high > 1e-15:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if cones.depth((1.0 - middle) * a + middle * b) >= 0.0 else (middle, high)
    while True:  # rounding of x itself may still miss by a hair
        inner = np.asarray((1.0 - high) * x + high * inside)
        if high >= 1.0 or cones.depth(cones.value(inner)) >= 0.0:
            return inner
        high = min(2.0 * high, 1.0)


def _centred(v: Array, weight: float, D: Array, B: Array, origin: Array, barrier: Barrier) -> tuple[Array, int]:
    """Damped Newton on D v^2 + weight * barrier until close to its minimum; the point and the steps it took."""

    def total(at: Array) -> float:
        return float(D @ at**2) + weight * barrier.value(origin + B @ at)

    value = total(v)
    for step in range(1, 31):
        gx, Hx = barrier.derivatives(origin + B @ v)
        with np.errstate(over="ignore", invalid="ignore"):  # at the boundary; `newton_step` answers with NaN and the stage ends
            g = 2.0 * D * v + weight * (B.T @ gx)
            H = weight * (B.T @ Hx @ B)
        H[np.diag_indices(len(v))] += 2.0 * D
        p = newton_step(g, H)
        decrement = -float(g @ p)
        if not np.isfinite(decrement):
            return v, step
        length, trial = descent(total, v, p, value, decrement)
        if length == 0.0:
            return v, step
        v, value = v + length * p, trial
        if decrement <= 0.2 * weight:
            return v, step
    return v, 30


def descent(total, x: Array, direction: Array, value: float, decrement: float) -> tuple[float, float]:  # type: ignore[no-untyped-def]
    """Step length that lowers the value enough, and the value there; 0 when there is none."""
    length = 1.0
    while length > 1e-12:
        trial = total(x + length * direction)
        # Armijo's condition with a tenth of the predicted decrease
        if trial <= value - 0.1 * length * decrement:
            return length, trial
        length *= 0.5
    return 0.0, value


def newton_step(g: Array, H: Array) -> Array:
    """-H^-1 g in unit-diagonal scaling; where H is not positive definite, with a little more on the diagonal."""
    # parameters differ by many orders of magnitude (kg against kg m^2); unit diagonals make one ridge right for all
    d = 1.0 / np.sqrt(np.maximum(np.diag(H), 1e-300))
    with np.errstate(over="ignore", invalid="ignore"):  # at the edge of the cones; what is not finite is no step
        scaled, ridge = H * np.outer(d, d), 0.0
    if not np.isfinite(scaled).all():
        return np.full(len(g), np.nan)
    while True:
        try:
            factor = cho_factor(scaled + ridge * np.eye(len(d)), check_finite=False)
            return np.asarray(-d * cho_solve(factor, d * g, check_finite=False))
        except LinAlgError:
            ridge = max(10.0 * ridge, 1e-14)
