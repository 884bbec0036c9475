"""Direction of gravity in the base frame: two angles beside the parameters, by separable least squares.

Torques are affine in gravity (see `dynamics.weight`) and linear in the standard parameters chi,

    tau = A(g) chi,    A(g) = Y + sum_k (g_k - g_0k) G_k,    |g| = |g_0|.

One R factor of [Y Gx Gy Gz tau] serves every direction: A(g) is a combination of its columns, so that a direction costs one small
solve whatever the length of the record.  All standard parameters are unknowns, not the base parameters of some direction: which
parameters act depends on the direction.

Angles theta along two tangents t_1, t_2 of the sphere are found by Gauss-Newton steps with chi eliminated (Kaufman): tau is regressed
on

    A(g),    D_1 chi, D_2 chi,    D_1 N, D_2 N,       D_k = |g| sum_i t_ki G_i,   N the null space of A(g).

The last columns belong to parameters that only another direction reveals (first moments about a vertical first axis).  Without them
a test of the angles would trust the model file's values there.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import svd
from scipy.stats import chi2

from inertica.dynamics.weight import Weight
from inertica.errors import InputError
from inertica.estimators.base import Problem
from inertica.estimators.consistent import Consistent
from inertica.estimators.covariance import correlation_time, scores_of
from inertica.estimators.observe import Rows, System
from inertica.logs.motion import Motion
from inertica.physical.cone import Program, SolveError
from inertica.physical.fit import Fit
from inertica.physical.scales import Reference
from inertica.threads import one_thread

Array = NDArray[np.float64]

BLOCKS = 5
"""Parts of the data of which one is left out at a time."""

FEWEST_ROWS = 20
"""Rows of the joint with most of them below which nothing is tested."""

ROUNDING = 1e-9
"""Columns below this share of the largest are rounding; scaled to unit length they would become regressors."""

RESOLVED, SPANNED = 1e-8, 1e-7
"""Singular values below these shares of the largest belong to the null space of A, and to no column of the regression."""

LONGEST = 0.5
"""rad; the longest Gauss-Newton step."""


class MountSystem(System):
    """Rows of [Y Gx Gy Gz] in all standard parameters: columns 0 .. P - 1 are those of Y, then those of G axis by axis.

    Args:
        problem: with the robot under the gravity of its description; fixed parameters are columns like the others.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        layout = self.base.layout
        self.weight = Weight(layout, threads=problem.engine.threads)
        pulls = self.weight.pulls
        self.heavy = np.array(sorted({k for _, k, _ in pulls}), np.intp)
        place = {int(k): i for i, k in enumerate(self.heavy)}
        self.entries = [[e for e, (i, _) in enumerate(problem.engine.entries) if i == j] for j in range(self.n)]
        self.slopes = [[e for e, (i, _, _) in enumerate(pulls) if i == j] for j in range(self.n)]
        self.width = layout.size + 3 * len(self.heavy)
        self._known = []
        for j in range(self.n):
            own = [problem.engine.entries[e][1] for e in self.entries[j]]
            turned = [layout.size + pulls[e][2] * len(self.heavy) + place[pulls[e][1]] for e in self.slopes[j]]
            self.columns[j] = np.array([*own, *turned], np.intp)

    def block(self, motion: Motion, where: slice) -> tuple[tuple[Array, ...], Array]:
        W, tau = super().block(motion, where)
        G = self.weight.slopes(motion.q[where])
        return tuple(np.hstack([w, G[:, e]]) for w, e in zip(W, self.slopes, strict=True)), tau


@dataclass(frozen=True, eq=False)
class Fitted:
    """Least squares at one direction.

    Args:
        chi: (P,) the solution nearest the prior.
        squares: of the residual.
        null: (P, k) null space of A(g), fixed parameters left out.
        rank: of A(g).
    """

    chi: Array
    squares: float
    null: Array
    rank: int


@dataclass(frozen=True, eq=False)
class Step:
    """One Gauss-Newton step, as combinations of the columns [Y G].

    Args:
        angles: (2,) rad along the tangents.
        tangents: (2, 3).
        alone: (width, 2) what of the two slopes no other column explains.
        full: (width,) the whole model after the step.
        spread: (2, 2) inverse of the squares of `alone`.
        rank: columns of the regression that count.
    """

    angles: Array
    tangents: Array
    alone: Array
    full: Array
    spread: Array
    rank: int


@dataclass(frozen=True, eq=False)
class Tilt:
    """The squares of a set of data as a function of the direction of gravity.

    Args:
        R: (m, width + 1) factor of [Y G tau], rows of about unit variance.
        heavy: indices of the parameters that gravity acts through.
        file: (3,) gravity of Y.
        prior: (P,) values that undetermined parameters keep.
        free: (P,) False for fixed parameters.
    """

    R: Array
    heavy: NDArray[np.intp]
    file: Array
    prior: Array
    free: NDArray[np.bool_]

    @property
    def size(self) -> int:
        return len(self.prior)

    @property
    def strength(self) -> float:
        """|g|."""
        return float(np.linalg.norm(self.file))

    def without(self, fixed: NDArray[np.bool_]) -> Tilt:
        """The same with some more parameters held at their prior value."""
        return replace(self, free=self.free & ~fixed)

    def combined(self, chi: Array, pull: Array) -> Array:
        """(width, ...) the columns of [Y G] in chi times Y, plus those of sum_i pull_i G_i."""
        pulled = np.multiply.outer(pull, chi[self.heavy]).reshape(3 * len(self.heavy), *chi.shape[1:])
        return np.concatenate([chi, pulled])

    def at(self, g: ArrayLike) -> Array:
        """(m, P) A(g)."""
        A = self.R[:, : self.size].copy()
        self._add(A, np.asarray(g, float) - self.file)
        return A

    def _add(self, A: Array, pull: Array) -> None:
        k = len(self.heavy)
        for i in range(3):
            A[:, self.heavy] += pull[i] * self.R[:, self.size + i * k : self.size + (i + 1) * k]

    def solve(self, g: ArrayLike) -> Fitted:
        A = self.at(g)
        z = self.R[:, -1] - A @ self.prior
        B = A[:, self.free]
        s = np.linalg.norm(B, axis=0)
        s = np.maximum(s, ROUNDING * max(float(s.max(initial=0.0)), 1e-300))
        T = np.asarray(np.linalg.qr(np.column_stack([B / s, z]), mode="r"))
        U, e, Vt = _svd(T[:, :-1], whole=True)
        ok = np.zeros(len(Vt), bool)
        ok[: len(e)] = e > RESOLVED * e[0] if len(e) and e[0] > 0.0 else False
        size = int(ok.sum())
        x = Vt[:size].T @ ((U[:, :size].T @ T[:, -1]) / e[:size])
        chi = self.prior.copy()
        chi[self.free] += x / s
        null = np.zeros((self.size, len(Vt) - size))
        null[self.free] = (Vt[size:] / s).T
        null /= np.maximum(np.abs(null).max(axis=0, initial=0.0), 1e-300)
        rest = self.R[:, -1] - A @ chi
        return Fitted(chi, float(rest @ rest), null, size)

    def error(self, g: ArrayLike, chi: Array) -> float:
        """Squares of these data with given parameters."""
        rest = self.R[:, -1] - self.at(g) @ chi
        return float(rest @ rest)

    def step(self, g: Array) -> Step | None:
        """From g; None where no slope is left that other columns do not explain."""
        found, t = self.solve(g), tangents(g)
        slopes = [self._slope(found.chi, self.strength * v) for v in t]
        unknown = np.eye(self.size)[:, self.free]
        others = [self.combined(unknown, np.asarray(g, float) - self.file)]
        others += [self._slope(found.null, self.strength * v) for v in t]
        E, X = np.hstack(others), np.column_stack(slopes)
        core, z = self.R[:, :-1], self.R[:, -1]
        known = self.combined(np.where(self.free, 0.0, self.prior), np.asarray(g, float) - self.file)
        z = z - core @ known
        B, S = core @ E, core @ X
        s = np.linalg.norm(B, axis=0)
        use = s > ROUNDING * s.max(initial=0.0)
        if not use.any():
            return None
        E, B = E[:, use] / s[use], B[:, use] / s[use]
        U, e, Vt = _svd(B)
        keep = e > SPANNED * e[0]
        U, inverse = U[:, keep], E @ (Vt[keep].T / e[keep])
        left = S - U @ (U.T @ S)
        if np.any(np.linalg.norm(left, axis=0) <= 1e-6 * np.linalg.norm(S, axis=0)):
            return None
        H = left.T @ left
        if np.linalg.cond(H) > 1e12:
            return None
        spread = np.asarray(np.linalg.inv(H), float)
        angles = spread @ (left.T @ z)
        alone = X - inverse @ (U.T @ S)
        full = known + X @ angles + inverse @ (U.T @ (z - S @ angles))
        return Step(angles, t, alone, full, spread, int(keep.sum()) + 2)

    def _slope(self, chi: Array, pull: Array) -> Array:
        """Like `combined` without Y."""
        out = self.combined(chi, pull)
        out[: self.size] = 0.0
        return out

    def newton(self, g: Array, steps: int = 8, close: float = 1e-4) -> tuple[Array, float]:
        """The nearest minimum over directions, and its squares."""
        squares = self.solve(g).squares
        for _ in range(steps):
            step = self.step(g)
            if step is None:
                break
            angles = step.angles * min(1.0, LONGEST / max(float(np.linalg.norm(step.angles)), 1e-300))
            while True:
                there = turned(g, angles, step.tangents)
                now = self.solve(there).squares
                if now <= squares or np.linalg.norm(angles) < close:
                    break
                angles = 0.5 * angles
            if now > squares:
                break
            g, squares = there, now
            if np.linalg.norm(angles) < close:
                break
        return g, squares

    def consistent_squares(self, g: ArrayLike, program: Program, noise: float) -> float:
        """Squares at g of the best parameters a real robot can have.

        Raises:
            SolveError: they were not found.
        """
        strategy, fit = Consistent(), Fit(self.at(g), self.R[:, -1], np.eye(self.size), noise)
        return strategy.solve(program, fit, strategy.prior.penalty(program.reference, fit)).squares


class MountData:
    """The data of a problem as factors, block by block and joint by joint.

    Args:
        problem: with offsets among its parameters; a constant torque must not be taken for a lean.
        doubtful: names of parameters that are there for the lean alone; the description says they are zero.
    """

    def __init__(self, problem: Problem, doubtful: Collection[str] = ()) -> None:
        self.problem = problem
        layout = problem.base.layout
        self.doubtful = np.array([name in doubtful for name in layout.names])
        self.system = MountSystem(problem)
        self.file = np.array(layout.robot.gravity)
        self.free = np.array([not p.fixed for p in layout.parameters])
        self.prior = np.zeros(layout.size) if problem.prior is None else np.array(problem.prior.values)
        with one_thread():
            self.factors, self.counts = _block_factors(self.system)
        if self.counts.sum(axis=0).max() < FEWEST_ROWS:
            raise InputError("there are too few usable samples to test how the robot is mounted")

    @property
    def rows(self) -> float:
        """Rows of all joints."""
        return float(self.counts.sum())

    @cached_property
    def _joints(self) -> list[Array]:
        """R of every joint over all blocks."""
        return [_triangle([block[j] for block in self.factors]) for j in range(self.system.n)]

    def tilt(self, weights: Array, blocks: Sequence[int] | None = None) -> Tilt:
        """All joints, each weighted by 1 / sigma_j, of some blocks or of all."""
        n = self.system.n
        parts = [self._joints] if blocks is None else [self.factors[b] for b in blocks]
        stacked = [self._spread(part[j], j) * weights[j] for part in parts for j in range(n)]
        return Tilt(_triangle(stacked), self.system.heavy, self.file, self.prior, self.free)

    def _spread(self, R: Array, j: int) -> Array:
        """A joint's factor on all columns."""
        out = np.zeros((len(R), self.system.width + 1))
        out[:, self.system.columns[j]] = R[:, :-1]
        out[:, -1] = R[:, -1]
        return out

    def weights(self, g: ArrayLike, rounds: int = 2) -> Array:
        """(n,) 1 / sigma_j from the fit at a direction."""
        size = np.array([np.linalg.norm(R[:, -1]) for R in self._joints])
        w = np.sqrt(self.counts.sum(axis=0)) / np.maximum(size, 1e-300)
        for _ in range(rounds):
            chi = self.tilt(w).solve(g).chi
            left = np.array([np.sqrt(self._joint(j).error(g, chi)) for j in range(self.system.n)])
            w = np.sqrt(self.counts.sum(axis=0)) / np.maximum(left, 1e-9 * np.maximum(size, 1e-300))
        return w

    def _joint(self, j: int) -> Tilt:
        return Tilt(self._spread(self._joints[j], j), self.system.heavy, self.file, self.prior, self.free)

    def left_out(self, weights: Array, g: Array, steps: int = 0) -> tuple[float, float]:
        """Squares of data left out, block by block, and of their torque.

        Args:
            weights: (n,) 1 / sigma_j.
            g: direction.
            steps: Gauss-Newton steps by which the direction follows the data of each fit; 0 holds it.
        """
        error = size = 0.0
        blocks = range(len(self.factors))
        for b in blocks:
            rest = self.tilt(weights, [i for i in blocks if i != b])
            here = rest.newton(g, steps)[0] if steps else g
            part = self.tilt(weights, [b])
            error += part.error(here, rest.solve(here).chi)
            size += float(part.R[:, -1] @ part.R[:, -1])
        return error, size


@dataclass(frozen=True, eq=False)
class LeanTest:
    """Two angles away from a direction, in one step from it, and whether they are more than noise.

    Args:
        angles: (2,) degrees along the tangents.
        tangents: (2, 3) unit vectors of the base frame.
        covariance: (2, 2) degrees squared, serial correlation of the residuals accounted for.
        p: probability of angles like these when there are none.
        correlation: correlation time of the residuals in rows, median over joints.
    """

    angles: Array
    tangents: Array
    covariance: Array
    p: float
    correlation: float

    @property
    def sd(self) -> float:
        """Degrees, of both angles together."""
        return float(np.sqrt(np.trace(self.covariance)))


def lean_test(data: MountData, tilt: Tilt, weights: Array, g: Array) -> LeanTest | None:
    """Wald test of the two angles from g; None where the motion says nothing about them.

    The covariance is that of `covariance.py`, of what of the two slopes no other column explains.
    """
    with one_thread():
        step = tilt.step(g)
        if step is None:
            return None
        slopes = _Slopes(data.system, step)
        scores = scores_of(slopes, step.angles, weights, step.rank)
        C = scores.through(step.spread)
        if not np.isfinite(C).all() or np.linalg.cond(C) > 1e12:
            return None
        statistic = float(step.angles @ np.linalg.solve(C, step.angles))
        residual = [r * rows.use for rows, r in slopes.residuals(step.angles)]
        times = [correlation_time(column[:, None]) for column in np.concatenate(residual).T]
    degrees = np.degrees(step.angles)
    return LeanTest(degrees, step.tangents, np.degrees(np.degrees(C)), float(chi2.sf(statistic, 2)), float(np.median(times)))


class _Slopes(System):
    """The rows of a step: what of the two slopes nothing else explains, and the torque that is left to them."""

    def __init__(self, system: MountSystem, step: Step) -> None:
        super().__init__(system.problem)
        own = system.columns
        rows = []
        for part in system.rows():
            W = tuple(w @ step.alone[c] for w, c in zip(part.W, own, strict=True))
            left = part.y - np.column_stack([w @ step.full[c] for w, c in zip(part.W, own, strict=True)])
            rows.append(Rows(part.motion, W, left + np.column_stack([w @ step.angles for w in W]), part.use))
        self._kept_rows = rows
        self.columns = [np.arange(2)] * self.n


@dataclass(frozen=True)
class Signs:
    """g against -g.

    Args:
        gain: by how much -g lowers the squares, in variances of a row and correlation times of the residuals; negative: it raises
            them.
        consistent: whether the squares are those of parameters a real robot can have.
    """

    gain: float
    consistent: bool


def compare_signs(data: MountData, tilt: Tilt, g: Array, correlation: float, clear: float) -> Signs:
    """Gravity upwards instead of downwards: the same statics with all masses negative, told by accelerations and real bodies only.

    Args:
        data: the rows.
        tilt: their squares.
        g: direction.
        correlation: time of the residuals in rows.
        clear: gain from which the comparison without constraints suffices to keep g.
    """
    own = tilt.without(data.doubtful)
    here, there = own.solve(g), own.solve(-g)
    noise = max(min(here.squares, there.squares) / max(data.rows - max(here.rank, there.rank), 1.0), 1e-300)
    gain = (here.squares - there.squares) / noise / correlation
    if gain < -clear:
        return Signs(gain, False)
    layout = data.problem.base.layout
    held = frozenset(n for n, out in zip(layout.names, data.doubtful, strict=True) if out)
    program = Program(Reference.of(replace(layout, fixed=layout.fixed | held), data.prior), Consistent().constraints)
    try:
        ours, theirs = (own.consistent_squares(x, program, noise) for x in (g, -g))
    except SolveError:
        return Signs(gain, False)
    return Signs((ours - theirs) / noise / correlation, True)


def tangents(g: ArrayLike) -> Array:
    """(2, 3) unit vectors normal to g: x and y of the base when g is vertical."""
    d = np.asarray(g, float) / np.linalg.norm(g)
    first = np.eye(3)[0] if abs(d[0]) <= abs(d[1]) or abs(d[2]) > 0.9 else np.eye(3)[1]
    a = first - (first @ d) * d
    a /= np.linalg.norm(a)
    b = np.cross(d, a)
    return np.array([a, b if b[int(np.argmax(np.abs(b)))] > 0.0 else -b])


def turned(g: ArrayLike, angles: Array, along: Array) -> Array:
    """Gravity turned by angles (2,) in rad along tangents (2, 3)."""
    v = angles @ along
    size, a = float(np.linalg.norm(g)), float(np.linalg.norm(v))
    return np.asarray(np.cos(a) * np.asarray(g, float) + (size * np.sin(a) / a * v if a > 0.0 else 0.0))


def between(a: ArrayLike, b: ArrayLike) -> float:
    """Angle between two directions in degrees."""
    x, y = (np.asarray(v, float) / np.linalg.norm(v) for v in (a, b))
    return float(np.degrees(np.arctan2(np.linalg.norm(np.cross(x, y)), x @ y)))


def sphere(count: int) -> Array:
    """(count, 3) directions spread evenly (golden spiral)."""
    k = np.arange(count) + 0.5
    height, around = 1.0 - 2.0 * k / count, np.pi * (1.0 + 5.0**0.5) * k
    level = np.sqrt(1.0 - height**2)
    return np.column_stack([level * np.cos(around), level * np.sin(around), height])


def _block_factors(system: MountSystem) -> tuple[list[list[Array]], Array]:
    """R of [W y] of every block and joint, and (blocks, n) the rows of each; blocks are stretches of time over all records."""
    lengths = [len(m.decimator.kept(len(m))) for m in system.problem.motions]
    first = [sum(lengths[:k]) for k in range(len(lengths))]
    widths = [len(c) + 1 for c in system.columns]
    R = [[np.zeros((0, width)) for width in widths] for _ in range(BLOCKS)]
    counts = np.zeros((BLOCKS, system.n))
    for rows in system.rows():
        block = (first[rows.motion] + np.arange(len(rows.use))) * BLOCKS // sum(lengths)
        first[rows.motion] += len(rows.use)
        for b in np.unique(block):
            for j, W in enumerate(rows.W):
                take = (block == b) & rows.use[:, j]
                counts[b, j] += np.count_nonzero(take)
                R[b][j] = _triangle([R[b][j], np.column_stack([W[take], rows.y[take, j]])])
    return R, counts


def _svd(A: Array, whole: bool = False) -> tuple[Array, Array, Array]:
    """U, s, V'; the fast algorithm does not always converge on nearly dependent columns."""
    try:
        U, s, Vt = svd(A, full_matrices=whole)
    except np.linalg.LinAlgError:
        U, s, Vt = svd(A, full_matrices=whole, lapack_driver="gesvd")
    return U, s, Vt


def _triangle(parts: Sequence[Array]) -> Array:
    return np.asarray(np.linalg.qr(np.vstack(parts), mode="r"))
