"""Forward selection of columns in a linear model with coloured residuals: add what is significant and worth it, nothing else.

With A the columns in use and r the residual, one more column c of joint j has the part x that A does not explain, the amplitude
a = x'r / x'x, and

    z    = a x'x / sqrt(LRV(sum_j x_jt r1_jt)),   r1 = r - a x          (a Wald test that survives coloured residuals)
    gain = a^2 x'x / r_j'r_j                                            (share of the joint's squared error)

The long-run variance is taken of residuals *with* the column: a missing one makes residuals long-correlated and hides itself.
All but z comes from one Gram matrix, so that many shapes of a law cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.estimators.covariance import Phases, correlation_time, lags_for, long_run
from inertica.estimators.observe import Observations, Rows
from inertica.preprocessing.periods import part_counts, shared_parts
from inertica.threads import one_thread

COLLINEAR = 1e-4
"""A column of which less than this share (squared) is its own says nothing of its own."""

RESOLVED = 0.999
"""Share of its unit vector that a column keeps where no combination of others makes it up; 0.5 when there is a copy of it."""

MOST_ROWS = 20_000
"""Instants that a selection looks at; of longer records blocks spread over them."""

PARTS, WHOLE_MOTIONS = 10, 3
"""Stretches that are left out in turn; motions from which on each is left out whole instead."""

RIDGE = 1e-6
"""Of the squares of unit columns in fits that leave a part out, which may lack what the others determine."""

_BLOCK = 500  # instants that stay together, so that serial correlation remains visible


@dataclass(frozen=True)
class Gain:
    """What one more column would bring: its amplitude, the test's z, and its share of the joint's squared error.

    `testable` is False where other columns make it up, so that the rows say nothing of it alone.
    """

    amplitude: float
    z: float
    share: float
    testable: bool = True


class ForwardSelection:
    """Rows of a problem as one weighted system to which single joints' columns can be added.

    Args:
        system: the columns that are always in use.
        sigma: (n,) standard deviation of each joint's residual.
    """

    def __init__(self, system: Observations, sigma: Array) -> None:
        self.n, self.b = system.n, system.base.rank
        self.lengths, self.periods = system.lengths, system.periods
        self._phases = [Phases.of(rows, period) for rows, period in zip(self.lengths, self.periods, strict=True)]
        rows = list(system.rows())
        self.keep = representative(rows)
        self.use = [r.use & k[:, None] for r, k in zip(rows, self.keep, strict=True)]
        self.motions = [r.motion for r in rows]
        self.weights = 1.0 / sigma
        with one_thread():
            self._rigid, self._y, self._at = [], [], []
            for j in range(self.n):
                X = np.zeros((sum(int(u[:, j].sum()) for u in self.use), self.b))
                X[:, system.columns[j]] = np.concatenate([r.W[j][u[:, j]] for r, u in zip(rows, self.use, strict=True)])
                self._rigid.append(X * self.weights[j])
                y = np.concatenate([r.y[u[:, j], j] for r, u in zip(rows, self.use, strict=True)])
                self._y.append(y * self.weights[j])
                self._at.append(self._instants(j))
            self.G = np.asarray(sum(X.T @ X for X in self._rigid))
            self.g = np.asarray(sum(X.T @ y for X, y in zip(self._rigid, self._y, strict=True)))
        self.joint: list[int] = []
        self._columns: list[Array] = []
        self._last: _Fit | None = None
        self.lags = 1

    def add(self, joint: int, blocks: Iterable[Array]) -> int:
        """Offer a column of one joint; its number from then on.

        Args:
            joint: 0-based.
            blocks: the column on every block of the system's rows, decimated like them.
        """
        c = np.concatenate([x[u[:, joint]] for x, u in zip(blocks, self.use, strict=True)]) * self.weights[joint]
        with one_thread():
            with_rigid = self._rigid[joint].T @ c
            same = [float(x @ c) if k == joint else 0.0 for k, x in zip(self.joint, self._columns, strict=True)]
            row = np.concatenate([with_rigid, same])
            self.G = np.block([[self.G, row[:, None]], [row[None, :], np.array([[float(c @ c)]])]])
            self.g = np.append(self.g, float(c @ self._y[joint]))
        self.joint.append(joint)
        self._columns.append(c)
        return len(self.joint) - 1

    def away(self, samples: Sequence[NDArray[np.bool_]]) -> ForwardSelection:
        """The same columns on fewer rows.

        Args:
            kept: (m, n) of every block, True for rows that remain.
        """
        other = copy(self)
        other.use = [u & k for u, k in zip(self.use, samples, strict=True)]
        stays = [np.concatenate([k[u[:, j], j] for u, k in zip(self.use, samples, strict=True)]) for j in range(self.n)]
        other._rigid = [X[s] for X, s in zip(self._rigid, stays, strict=True)]
        other._y = [y[s] for y, s in zip(self._y, stays, strict=True)]
        other._at = [at[s] for at, s in zip(self._at, stays, strict=True)]
        other._columns = [c[stays[j]] for j, c in zip(self.joint, self._columns, strict=True)]
        other.joint = list(self.joint)
        whole = np.zeros((len(self.G), len(self.G)))
        products = np.zeros(len(self.G))
        with one_thread():
            for j in range(self.n):
                columns = [k for k, at in enumerate(other.joint) if at == j]
                X = np.column_stack([other._rigid[j], *(other._columns[k] for k in columns)])
                at = np.concatenate([np.arange(self.b), self.b + np.asarray(columns, np.intp)]).astype(np.intp)
                whole[np.ix_(at, at)] += X.T @ X
                products[at] += X.T @ other._y[j]
        other.G, other.g, other._last = whole, products, None
        return other

    def settle_colour(self, chosen: Sequence[int]) -> None:
        """Take the residuals' correlation from the fit of a rich model."""
        residual = self._series(self.residual(chosen))
        sums = self._over_periods(residual)
        self.lags = lags_for(len(sums), np.array([correlation_time(r[:, None]) for r in sums.T]))

    def amplitudes(self, chosen: Sequence[int]) -> Array:
        """Of the chosen columns in their common fit."""
        return self._values(chosen)[self.b :]

    def rigid(self, chosen: Sequence[int]) -> Array:
        """(b,) the parameters that are always in use, in the fit with the chosen columns."""
        return self._values(chosen)[: self.b]

    def squares(self, chosen: Sequence[int]) -> Array:
        """(n,) squared errors of the joints."""
        return np.array([float(r @ r) for r in self.residual(chosen)])

    def residual(self, chosen: Sequence[int]) -> list[Array]:
        """Weighted residuals, joint by joint."""
        return self._residual(self._fit(chosen))

    def quick(self, chosen: Sequence[int], extra: Sequence[int]) -> list[tuple[float, float]]:
        """Amplitude and squared error explained of each further column; (0, 0) for one that has nothing of its own."""
        fit, more = self._fit(chosen), self._places(extra)[self.b :]
        with one_thread():
            across = self.G[np.ix_(fit.places, more)]
            # squared length of what the columns in use leave of each further one (Schur complement)
            xx = np.diag(self.G)[more] - np.sum(across * (fit.inverse @ across), axis=0)
            xr = self.g[more] - across.T @ fit.x
        independent = xx > COLLINEAR * np.diag(self.G)[more]
        return [(float(b / a), float(b * b / a)) if good else (0.0, 0.0) for a, b, good in zip(xx, xr, independent, strict=True)]

    def gain(self, chosen: Sequence[int], extra: int) -> Gain:
        """What one more column brings, tested."""
        return self.gains([*chosen, extra], [extra])[0]

    def gains(self, chosen: Sequence[int], among: Sequence[int]) -> list[Gain]:
        """What each of some of the chosen columns brings beside the others, tested."""
        fit = self._fit(chosen)
        at = np.searchsorted(fit.places, self.b + np.asarray(among, np.intp))
        xx = np.array([fit.unexplained_square(int(place)) for place in at])
        squares = np.diag(self.G)[self.b + np.asarray(among, np.intp)]
        usable = np.flatnonzero(xx > COLLINEAR * squares)
        out = [Gain(0.0, 0.0, 0.0, testable=bool(square == 0.0)) for square in squares]
        if not len(usable):
            return out
        after = self._residual(fit)
        with one_thread():
            directions = self._combined(fit.places, xx[usable] * fit.inverse[:, at[usable]])  # x, for r - r1 = a x
        scores = np.zeros((len(self._series_index), len(usable)))
        for k, (direction, rest) in enumerate(zip(directions, after, strict=True)):
            scores[self._at[k]] += direction * rest[:, None]
        freedom = sum(len(r) for r in after)
        # residuals are smaller than errors by the fitted parameters
        larger = freedom / max(freedom - self.b - len(chosen), 1)
        for i, column in enumerate(usable.tolist()):
            j, a = self.joint[among[column]], float(fit.x[at[column]])
            S = larger * float(long_run(self._over_periods(scores[:, [i]]), self.lags)[0, 0])
            before = after[j] + a * directions[j][:, i]
            z, share = a * xx[column] / np.sqrt(max(S, 1e-300)), a * a * xx[column] / max(float(before @ before), 1e-300)
            out[column] = Gain(a, float(z), float(share))
        return out

    def left_out(self, *choices: Sequence[int]) -> tuple[list[Array], Array]:
        """(K,) squared errors with each of some choices of columns on parts that were left out in turn, and the parts' squares.

        Parts are whole motions where there are at least three, so that what all motions have in common (their starts) is not taken
        for confirmed by its own repetition within one of them; else parts of them all (`shared_parts`).
        """
        columns = list(dict.fromkeys(k for chosen in choices for k in chosen))
        parts, size = self._parts, self.b + len(columns)
        G, g, yy = np.zeros((parts.max() + 1, size, size)), np.zeros((parts.max() + 1, size)), np.zeros(parts.max() + 1)
        with one_thread():
            for j in range(self.n):
                joint_columns = [i for i, k in enumerate(columns) if self.joint[k] == j]
                X = np.column_stack([self._rigid[j], *(self._columns[columns[i]] for i in joint_columns)])
                at = np.concatenate([np.arange(self.b), self.b + np.asarray(joint_columns, np.intp)]).astype(np.intp)
                for part in range(len(yy)):
                    rows = parts[self._at[j]] == part
                    A, y = X[rows], self._y[j][rows]
                    G[part][np.ix_(at, at)] += A.T @ A
                    g[part][at] += A.T @ y
                    yy[part] += float(y @ y)
            errors = []
            for chosen in choices:
                at = np.concatenate([np.arange(self.b), self.b + np.array([columns.index(k) for k in chosen], np.intp)]).astype(
                    np.intp
                )
                errors.append(_left_out_errors(G[:, at[:, None], at], g[:, at], yy))
        return errors, yy

    @cached_property
    def _parts(self) -> NDArray[np.intp]:
        """(instants,) to which part each belongs when parts are left out in turn."""
        motions = np.concatenate([np.full(len(u), m) for m, u in zip(self.motions, self.use, strict=True)])
        if len(np.unique(motions)) >= WHOLE_MOTIONS:
            return motions
        return np.concatenate(shared_parts(self.lengths, self.periods, part_counts(self.lengths, PARTS)))

    def _over_periods(self, series: Array) -> Array:
        """Series (instants, k) summed over the periods of motions that repeat: what comes back with them is told once (`Phases`)."""
        if all(phases is None for phases in self._phases):
            return series
        parts, motions = [], np.concatenate([np.full(len(u), m) for m, u in zip(self.motions, self.use, strict=True)])
        for number, phases in enumerate(self._phases):
            rows = series[motions == number]
            parts.append(rows if phases is None else phases.sums(rows))
        return np.concatenate(parts)

    @property
    def _series_index(self) -> range:
        return range(sum(len(u) for u in self.use))

    def _instants(self, j: int) -> NDArray[np.intp]:
        return np.flatnonzero(np.concatenate([u[:, j] for u in self.use]))

    def _series(self, residual: Sequence[Array]) -> Array:
        """(instants, n) residuals, zero where a joint has no row."""
        out = np.zeros((len(self._series_index), self.n))
        for j, r in enumerate(residual):
            out[self._at[j], j] = r
        return out

    def _places(self, chosen: Sequence[int]) -> NDArray[np.intp]:
        return np.concatenate([np.arange(self.b), self.b + np.asarray(chosen, np.intp)]).astype(np.intp)

    def _fit(self, chosen: Sequence[int]) -> _Fit:
        """With the chosen columns; the last one is kept, since a choice is looked at in several ways."""
        places = np.sort(self._places(chosen))
        if self._last is None or not np.array_equal(self._last.places, places):
            with one_thread():
                self._last = _Fit.of(places, self.G[np.ix_(places, places)], self.g[places])
        return self._last

    def _values(self, chosen: Sequence[int]) -> Array:
        """(b + c,) the parameters always in use, and amplitudes in the order of the chosen columns."""
        fit = self._fit(chosen)
        return fit.x[np.searchsorted(fit.places, self._places(chosen))]

    def _residual(self, fit: _Fit) -> list[Array]:
        return [y - part for y, part in zip(self._y, self._combined(fit.places, fit.x), strict=True)]

    def _combined(self, places: NDArray[np.intp], factors: Array) -> list[Array]:
        """The columns at some places times factors (one or several of each), joint by joint."""
        out = [X @ factors[: self.b] for X in self._rigid]
        for k, a in zip(places[self.b :] - self.b, factors[self.b :], strict=True):
            out[self.joint[k]] += np.multiply.outer(self._columns[k], a)
        return out


@dataclass(frozen=True, eq=False)
class _Fit:
    """Least squares with the columns at some places.

    Args:
        places: (c,) ascending.
        inverse: (c, c) of the columns' products.
        x: (c,) solution.
        resolved: (c,) 1 where a column's amplitude is the only one that fits, less where others make it up.
    """

    places: NDArray[np.intp]
    inverse: Array
    x: Array
    resolved: Array

    @classmethod
    def of(cls, places: NDArray[np.intp], G: Array, g: Array) -> _Fit:
        # unit columns: the cut-off of the pseudo-inverse is then a statement about directions, not about units
        scale = np.sqrt(np.maximum(np.diag(G), 1e-300))
        unit = G / np.outer(scale, scale)
        inverse = np.linalg.pinv(unit, rcond=1e-11, hermitian=True)
        resolved = np.sum(inverse * unit, axis=0)  # diagonal of the projector on directions that are not cut off
        return cls(places, inverse / np.outer(scale, scale), inverse @ (g / scale) / scale, resolved)

    def unexplained_square(self, at: int) -> float:
        """Squared length of the part of a column that the others do not explain."""
        return float(1.0 / self.inverse[at, at]) if self.resolved[at] > RESOLVED else 0.0


def _left_out_errors(G: Array, g: Array, yy: Array) -> Array:
    """(K,) squared errors on each part of the fit to all others, from products (K, p, p), (K, p) and squares (K,) of the parts."""
    whole, products, out = G.sum(axis=0), g.sum(axis=0), np.empty(len(yy))
    for part in range(len(yy)):
        rest = whole - G[part]
        scale = np.sqrt(np.maximum(np.diag(rest), 1e-300))
        unit = rest / np.outer(scale, scale) + RIDGE * np.eye(len(scale))
        x = np.linalg.solve(unit, (products - g[part]) / scale) / scale
        out[part] = max(float(yy[part] - 2.0 * x @ g[part] + x @ G[part] @ x), 0.0)
    return out


def representative(rows: Sequence[Rows]) -> list[NDArray[np.bool_]]:
    """Which instants of every block take part: all, or blocks of a long record spread evenly over it."""
    total = sum(len(r.y) for r in rows)
    every = max(1, -(-total // MOST_ROWS))
    out, start = [], 0
    for r in rows:
        at = start + np.arange(len(r.y))
        out.append((at // _BLOCK) % every == 0)
        start += len(r.y)
    return out
