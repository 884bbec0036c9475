"""Constants of friction laws that enter nonlinearly, found by variable projection: a search over few shapes, least squares inside.

With shapes s (a Stribeck velocity and exponent, the stiffness of bristles) the rows are linear in all else,

    y = A beta + C(s) a + noise,

A being the columns of everything but the laws in question.  A is projected out once; for every s the amplitudes a follow from what it
leaves of C(s), and log s moves by damped Gauss-Newton steps with a eliminated (Kaufman): the slope along log s_k is what A and C leave
of (dC / d log s_k) a.  Covariances are of residuals correlated in time.  A shape that the rows do not tell keeps its stated value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from inertica.arrays import Array
from inertica.estimators.covariance import correlation_time, lags_for, long_run
from inertica.estimators.observe import Observations
from inertica.estimators.structure.selection import representative
from inertica.identifiability.labels import INTERVAL
from inertica.threads import one_thread

STEPS = 40
"""Gauss-Newton steps at most."""

SWEEPS = 2
"""Times that the grid is gone through for every law, with Gauss-Newton steps of all after each: one law hides another's minimum."""

GRID = 9
"""Values of a law's first shape between its bounds that are tried for a start."""

UNDETERMINED_STD = 0.5
"""Standard deviation of a shape's logarithm from which the rows do not tell it: an interval of a factor of seven."""

LONGEST = 0.7
"""Most that a logarithm changes in one step."""

INDEPENDENT = 1e-10
"""Share of a column below which others explain it."""

FINE, COARSE = 1e-9, 1e-3
"""Change of a logarithm below which steps end: of the last search, and of those that find where it begins."""

SLOPE = 1e-4
"""Step of the logarithm for slopes of columns."""


@dataclass(frozen=True)
class ShapedColumns:
    """The columns of one joint that depend on shapes.

    Args:
        joint: 0-based.
        names: of the shapes.
        start: their stated values, greater than zero.
        lower, upper: within which they are sought.
        parameters: names of the amplitudes, one per column.
        columns: shapes -> (rows, k), on the rows of all motions one after the other, masked ones included.
    """

    joint: int
    names: tuple[str, ...]
    start: Array
    lower: Array
    upper: Array
    parameters: tuple[str, ...]
    columns: Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class FoundShapes:
    """What the rows say of shapes.

    Args:
        values: name -> value; the stated one where the rows do not tell it.
        std: name -> standard deviation of the logarithm; infinite for those.
        amplitudes: name -> value in the same fit.
        amplitude_std: name -> its standard deviation, uncertain shapes included.
        spread: parameter -> standard deviation that the uncertain shapes add to it; base parameters and amplitudes.
        gain: share of the squared error, in units of the noise, that other shapes than the stated ones explain.
        sigmas: (n,) root mean square residual of every joint.
        names: shapes, then amplitudes.
        covariance: of the logarithms of the shapes and of the amplitudes, in that order; zero for shapes that are as stated.
        beta: parameters of the fixed columns in the same fit.
    """

    values: Mapping[str, float]
    std: Mapping[str, float]
    amplitudes: Mapping[str, float]
    amplitude_std: Mapping[str, float]
    spread: Mapping[str, float]
    gain: float
    sigmas: Array
    names: tuple[str, ...]
    covariance: Array
    beta: Array

    @property
    def told(self) -> tuple[str, ...]:
        return tuple(name for name, std in self.std.items() if np.isfinite(std))

    def interval(self, name: str) -> tuple[float, float]:
        """95 %, of the logarithm."""
        factor = float(np.exp(INTERVAL * self.std[name]))
        return self.values[name] / factor, self.values[name] * factor


@dataclass(frozen=True, eq=False)
class _Point:
    """Least squares for some shapes: amplitudes, residual, an orthogonal basis of the projected columns and their triangle."""

    a: Array
    r: Array
    Q: Array
    R: Array

    @property
    def squares(self) -> float:
        return float(self.r @ self.r)


def found_shapes(
    system: Observations, laws: Sequence[ShapedColumns], sigma: Array, start: Mapping[str, float] | None = None
) -> FoundShapes:
    """Shapes that fit the rows best.

    Args:
        system: rows with the columns of everything else.
        laws: whose shapes are sought.
        sigma: (n,) standard deviation of each joint's residual, a first guess; the second pass weighs with what the first one left.
        start: shapes from which no grid is needed, such as those of a neighbouring model; a grid by default.
    """
    with one_thread():
        first = ShapeSearch(system, laws, sigma)
        x, free = first.start, np.ones(first.size, bool)
        if start is not None:
            known = np.array([np.log(start[name]) if name in start else x[k] for k, name in enumerate(first.names)])
            x = first.settled(np.clip(known, first.lower, first.upper), free, COARSE)
        for _ in range(SWEEPS if start is None else 0):
            x = first.settled(first.swept(x), free, COARSE)
        search = ShapeSearch(system, laws, first.sigmas(x))
        return search.run(x)


class ShapeSearch:
    """Rows of a problem with the fixed columns projected out.

    Args:
        system, laws, sigma: see `found_shapes`.
    """

    def __init__(self, system: Observations, laws: Sequence[ShapedColumns], sigma: Array) -> None:
        self.laws, self.sigma, self.base_names = tuple(laws), sigma, system.base.names
        rows = list(system.rows())
        use = np.concatenate([r.use & k[:, None] for r, k in zip(rows, representative(rows), strict=True)])
        self.at = [np.flatnonzero(u) for u in use.T]
        self.instants = len(use)
        edges = np.concatenate([[0], np.cumsum([len(at) for at in self.at])])
        self.rows = [slice(a, b) for a, b in pairwise(edges)]
        A, y = np.zeros((int(edges[-1]), system.base.rank)), np.zeros(int(edges[-1]))
        for j, (where, at) in enumerate(zip(self.rows, self.at, strict=True)):
            A[where, system.columns[j]] = np.concatenate([r.W[j] for r in rows])[at] / sigma[j]
            y[where] = np.concatenate([r.y[:, j] for r in rows])[at] / sigma[j]
        self.scale = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
        Q, R, order = qr(A / self.scale, mode="economic", pivoting=True)
        rank = int(np.count_nonzero(np.abs(np.diag(R)) > INDEPENDENT * abs(R[0, 0]))) if R.size else 0
        self.Q, self.R, self.order = Q[:, :rank], R[:rank, :rank], order[:rank]
        self.whole, self.y, self.b = y, y - self.Q @ (self.Q.T @ y), system.base.rank
        self.places = np.cumsum([0, *(len(law.names) for law in laws)])
        self.names = tuple(name for law in laws for name in law.names)
        self.start = np.log(np.concatenate([law.start for law in laws]))
        self.lower, self.upper = (np.log(np.concatenate([getattr(law, end) for law in laws])) for end in ("lower", "upper"))
        self.size = len(self.names)
        self._last: dict[int, tuple[Array, Array]] = {}

    def run(self, x: Array) -> FoundShapes:
        """From logarithms x of the shapes."""
        free = np.ones(self.size, bool)
        while True:
            x = self.settled(x, free)
            std, cov, raw = self._judged(x, free)
            edge = free & ((x < self.lower + 1e-6) | (x > self.upper - 1e-6))
            lost = np.flatnonzero(free & (edge | ~(std < UNDETERMINED_STD)))
            if not len(lost):
                return self._found(x, free, std, cov, raw)
            # exponents go before speeds: of two shapes that the rows tell together only, a law is used to the speed
            worst = max(lost, key=lambda k: (bool(edge[k]), self._pending(int(k)), float(np.nan_to_num(std[k], posinf=1e300))))
            free[worst], x[worst] = False, self.start[worst]

    def swept(self, x: Array) -> Array:
        """The same shapes, or others that fit better, law by law: from every low point of a grid, later shapes as stated, a law's own
        shapes settle with those of the others held."""
        x = x.copy()
        for k, law in enumerate(self.laws):
            block = self._own(k)
            if not law.names:
                continue
            line = np.linspace(self.lower[block.start], self.upper[block.start], GRID + 2)[1:-1]
            tried = [self._with(x, block, np.concatenate([[value], self.start[block][1:]])) for value in line]
            squares = np.array([self._point(trial).squares for trial in tried])
            around = np.concatenate([[np.inf], squares, [np.inf]])
            low = [t for t, s, a, b in zip(tried, squares, around[:-2], around[2:], strict=True) if s <= a and s <= b]
            free = self._with(np.zeros(self.size, bool), block, np.ones(len(law.names), bool))
            settled = [self.settled(start, free, COARSE) for start in (x, *low)]
            x = min(settled, key=lambda point: self._point(point).squares)
        return x

    @staticmethod
    def _with(x: NDArray[Any], where: slice, values: NDArray[Any]) -> NDArray[Any]:
        out = x.copy()
        out[where] = values
        return out

    def settled(self, x: Array, free: NDArray[np.bool_], tolerance: float = FINE) -> Array:
        """Gauss-Newton steps of the free logarithms, damped where they would not help, inside the bounds."""
        x, damping = x.copy(), 0.0
        point = self._point(x)
        for _ in range(STEPS if free.any() else 0):
            J = self._slopes(x, point, free)[0]
            length = np.maximum(np.linalg.norm(J, axis=0), 1e-300)
            for _ in range(12):
                H = (J / length).T @ (J / length) + damping * np.eye(J.shape[1])
                step = np.linalg.lstsq(H, (J / length).T @ point.r, rcond=1e-12)[0] / length
                trial = x.copy()
                trial[free] = np.clip(x[free] + np.clip(step, -LONGEST, LONGEST), self.lower[free], self.upper[free])
                after = self._point(trial)
                if after.squares <= point.squares:
                    break
                damping = max(4.0 * damping, 1e-3)
            else:
                return x
            change = float(np.abs(trial - x).max())
            x, point, damping = trial, after, 0.25 * damping if damping > 1e-6 else 0.0
            if change < tolerance:
                break
        return x

    def sigmas(self, x: Array) -> Array:
        """(n,) root mean square residuals, unweighted."""
        r = self._point(x).r
        size = [np.sqrt(np.mean(r[where] ** 2)) if where.stop > where.start else 1.0 for where in self.rows]
        return self.sigma * np.maximum(size, 1e-9 * max(size))

    def _pending(self, k: int) -> bool:
        return k not in self.places

    def _columns(self, law: ShapedColumns, x: Array) -> Array:
        """(m_j, k) weighted, on the rows of its joint."""
        return law.columns(np.exp(x))[self.at[law.joint]] / self.sigma[law.joint]

    def _projected(self, joint: int, c: Array) -> Array:
        """(N, k) what the fixed columns leave of columns of one joint."""
        out = -self.Q @ (self.Q[self.rows[joint]].T @ c)
        out[self.rows[joint]] += c
        return out

    def _law(self, k: int, x: Array) -> Array:
        """(N, k) the columns of a law, projected; the last ones are kept, since mostly one law changes at a time."""
        known = self._last.get(k)
        if known is None or not np.array_equal(known[0], x):
            law = self.laws[k]
            known = self._last[k] = x.copy(), self._projected(law.joint, self._columns(law, x))
        return known[1]

    def _own(self, k: int) -> slice:
        return slice(int(self.places[k]), int(self.places[k + 1]))

    def _point(self, x: Array) -> _Point:
        C = np.column_stack([self._law(k, x[self._own(k)]) for k in range(len(self.laws))])
        length = np.maximum(np.linalg.norm(C, axis=0), 1e-300)
        Q, R = np.linalg.qr(C / length)
        z = Q.T @ self.y
        a = np.linalg.lstsq(R, z, rcond=INDEPENDENT)[0]
        return _Point(a / length, self.y - Q @ (R @ a), Q, R * length)

    def _slopes(self, x: Array, point: _Point, free: NDArray[np.bool_]) -> tuple[Array, Array]:
        """(N, s) what all linear columns leave of the slopes along the free logarithms, and what the fixed ones leave of them."""
        out, done = [], 0
        for k, law in enumerate(self.laws):
            a = point.a[done : done + len(law.parameters)]
            done += len(a)
            values = x[self._own(k)]
            for step in SLOPE * np.eye(len(values))[free[self._own(k)]]:
                slope = (self._columns(law, values + step) - self._columns(law, values - step)) @ a / (2.0 * SLOPE)
                out.append(self._projected(law.joint, slope[:, None])[:, 0])
        raw = np.column_stack(out) if out else np.zeros((len(self.y), 0))
        return raw - point.Q @ (point.Q.T @ raw), raw

    def _judged(self, x: Array, free: NDArray[np.bool_]) -> tuple[Array, Array, Array]:
        """(s,) standard deviations of all logarithms, the covariance of the free ones, and their raw slopes."""
        point = self._point(x)
        J, raw = self._slopes(x, point, free)
        std = np.full(self.size, np.inf)
        length = np.linalg.norm(J, axis=0)
        if not free.any():
            return std, np.zeros((0, 0)), raw
        seen = length > 0.0
        H = np.linalg.pinv((J / np.where(seen, length, 1.0)).T @ (J / np.where(seen, length, 1.0)), hermitian=True, rcond=1e-12)
        H = H / np.outer(np.where(seen, length, 1.0), np.where(seen, length, 1.0))
        series, score = np.zeros((self.instants, len(self.rows))), np.zeros((self.instants, J.shape[1]))
        for j, (where, at) in enumerate(zip(self.rows, self.at, strict=True)):
            series[at, j] = point.r[where]
            np.add.at(score, at, J[where] * point.r[where, None])
        lags = lags_for(self.instants, np.array([correlation_time(r[:, None]) for r in series.T]))
        freedom = len(self.y) / max(len(self.y) - self.b - len(point.a) - self.size, 1)
        cov = H @ np.asarray(long_run(score, lags)) @ H * freedom
        # few rows tell a shape (slow ones, reversals): what their own scatter says is held against that of all residuals
        longest = max(correlation_time(point.r[where][:, None]) for where in self.rows)
        plain = np.diag(H) * longest * point.squares / len(self.y) * freedom
        white_std = np.sqrt(np.maximum(np.diag(cov), 0.0))
        wider = np.sqrt(np.maximum(plain, white_std**2)) / np.maximum(white_std, 1e-300)
        cov, white_std = wider[:, None] * cov * wider, white_std * wider
        std[free] = np.where(seen, white_std, np.inf)
        return std, cov, raw

    def _found(self, x: Array, free: NDArray[np.bool_], std: Array, cov: Array, raw: Array) -> FoundShapes:
        point = self._point(x)
        before = self._point(self.start).squares
        names = [name for law in self.laws for name in law.parameters]
        da: Array = np.asarray(-np.linalg.lstsq(point.R, point.Q.T @ raw, rcond=INDEPENDENT)[0], float)
        C = [self._columns(law, x[self._own(k)]) for k, law in enumerate(self.laws)]
        db = self._followed(C, da, x, free, point)
        rates = dict(zip([*self.base_names, *names], np.vstack([db, da]), strict=True))
        spread = {name: float(np.sqrt(max(rate @ cov @ rate, 0.0))) for name, rate in rates.items()} if free.any() else {}
        inverse = np.linalg.pinv(point.R)
        longest = max(correlation_time(point.r[where][:, None]) for where in self.rows)
        covariance = inverse @ inverse.T * longest * point.squares / max(len(self.y) - self.b - len(point.a), 1)
        whole = np.zeros((self.size + len(names), self.size + len(names)))
        determined, last = np.flatnonzero(free), slice(self.size, None)
        whole[np.ix_(determined, determined)] = cov
        whole[last, determined], whole[determined, last] = da @ cov, (da @ cov).T
        whole[last, last] = covariance + da @ cov @ da.T
        return FoundShapes(
            dict(zip(self.names, np.exp(x).tolist(), strict=True)),
            dict(zip(self.names, std.tolist(), strict=True)),
            dict(zip(names, point.a.tolist(), strict=True)),
            {name: float(s) for name, s in zip(names, np.sqrt(np.diag(whole)[last]), strict=True)},
            spread,
            1.0 - point.squares / max(before, 1e-300),
            self.sigmas(x),
            (*self.names, *names),
            whole,
            self._fixed(C, point.a),
        )

    def _fixed(self, C: Sequence[Array], a: Array) -> Array:
        """(b,) parameters of the fixed columns for these amplitudes."""
        left, done = self.whole.copy(), 0
        for law, values in zip(self.laws, C, strict=True):
            left[self.rows[law.joint]] -= values @ a[done : done + values.shape[1]]
            done += values.shape[1]
        out = np.zeros(self.b)
        out[self.order] = solve_triangular(self.R, self.Q.T @ left)
        return out / self.scale

    def _followed(self, C: Sequence[Array], da: Array, x: Array, free: NDArray[np.bool_], point: _Point) -> Array:
        """(b, s) how the fixed columns' parameters follow the shapes, amplitudes following, too."""
        pull, done, k_all = np.zeros((len(self.y), int(np.count_nonzero(free)))), 0, 0
        position = np.cumsum(free) - 1
        for k, law in enumerate(self.laws):
            a, change = point.a[done : done + len(law.parameters)], da[done : done + len(law.parameters)]
            done += len(a)
            pull[self.rows[law.joint]] += C[k] @ change
            values = x[self._own(k)]
            for step in SLOPE * np.eye(len(values)):
                if free[k_all]:
                    slope = (self._columns(law, values + step) - self._columns(law, values - step)) @ a / (2.0 * SLOPE)
                    pull[self.rows[law.joint], position[k_all]] += slope
                k_all += 1
        out = np.zeros((self.b, pull.shape[1]))
        out[self.order] = -solve_triangular(self.R, self.Q.T @ pull)
        return out / self.scale[:, None]
