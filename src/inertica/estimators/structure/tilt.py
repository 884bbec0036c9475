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

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import svd

from inertica.arrays import Array
from inertica.estimators.consistent.strategy import Consistent
from inertica.physical.cone import Program
from inertica.physical.fit import Fit

ROUNDING = 1e-9
"""Columns below this share of the largest are rounding; scaled to unit length they would become regressors."""

RESOLVED, SPANNED = 1e-8, 1e-7
"""Singular values below these shares of the largest belong to the null space of A, and to no column of the regression."""

LONGEST = 0.5
"""rad; the longest Gauss-Newton step."""


@dataclass(frozen=True, eq=False)
class GravityFit:
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
class GravityStep:
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

    def solve(self, g: ArrayLike) -> GravityFit:
        A = self.at(g)
        z = self.R[:, -1] - A @ self.prior
        B = A[:, self.free]
        s = np.linalg.norm(B, axis=0)
        s = np.maximum(s, ROUNDING * max(float(s.max(initial=0.0)), 1e-300))
        # unit columns: parameters in kg and kg m^2 differ by orders of magnitude, and ranks must not follow the units
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
        return GravityFit(chi, float(rest @ rest), null, size)

    def error(self, g: ArrayLike, chi: Array) -> float:
        """Squares of these data with given parameters."""
        rest = self.R[:, -1] - self.at(g) @ chi
        return float(rest @ rest)

    def step(self, g: Array) -> GravityStep | None:
        """From g; None where no slope is left that other columns do not explain."""
        fit, t = self.solve(g), tangents(g)
        slopes = [self._slope(fit.chi, self.strength * v) for v in t]
        unknown = np.eye(self.size)[:, self.free]
        others = [self.combined(unknown, np.asarray(g, float) - self.file)]
        others += [self._slope(fit.null, self.strength * v) for v in t]
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
        # Frisch and Waugh: what of the slopes no other column explains carries all that the data say of the angles
        left = S - U @ (U.T @ S)
        # what remains is rounding of the projection
        if np.any(np.linalg.norm(left, axis=0) <= 1e-6 * np.linalg.norm(S, axis=0)):
            return None
        H = left.T @ left
        if np.linalg.cond(H) > 1e12:
            return None
        spread = np.asarray(np.linalg.inv(H), float)
        angles = spread @ (left.T @ z)
        alone = X - inverse @ (U.T @ S)
        full = known + X @ angles + inverse @ (U.T @ (z - S @ angles))
        return GravityStep(angles, t, alone, full, spread, int(keep.sum()) + 2)

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
            # slopes hold near g only
            angles = step.angles * min(1.0, LONGEST / max(float(np.linalg.norm(step.angles)), 1e-300))
            while True:
                trial_gravity = turned(g, angles, step.tangents)
                now = self.solve(trial_gravity).squares
                if now <= squares or np.linalg.norm(angles) < close:
                    break
                angles = 0.5 * angles
            if now > squares:
                break
            g, squares = trial_gravity, now
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


def tangents(g: ArrayLike) -> Array:
    """(2, 3) unit vectors normal to g: x and y of the base when g is vertical."""
    d = np.asarray(g, float) / np.linalg.norm(g)
    # an axis well away from g, so that its projection keeps its length
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
    # arccos of the product would lose half the digits of small angles
    return float(np.degrees(np.arctan2(np.linalg.norm(np.cross(x, y)), x @ y)))


def sphere(count: int) -> Array:
    """(count, 3) directions spread evenly (golden spiral)."""
    k = np.arange(count) + 0.5
    height, around = 1.0 - 2.0 * k / count, np.pi * (1.0 + 5.0**0.5) * k
    level = np.sqrt(1.0 - height**2)
    return np.column_stack([level * np.cos(around), level * np.sin(around), height])


def _svd(A: Array, whole: bool = False) -> tuple[Array, Array, Array]:
    """U, s, V'; the fast algorithm does not always converge on nearly dependent columns."""
    try:
        U, s, Vt = svd(A, full_matrices=whole)
    except np.linalg.LinAlgError:
        U, s, Vt = svd(A, full_matrices=whole, lapack_driver="gesvd")
    return U, s, Vt
