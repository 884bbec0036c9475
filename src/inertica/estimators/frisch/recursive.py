"""`Bbrf`: the bounding box recursive Frisch scheme, a box that shrinks while rows come in (Frisch paper, section 3.4)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from inertica.arrays import Array
from inertica.errors import InputError
from inertica.estimators.frisch.scheme import window_boxes

BLOCK = 512
"""Windows whose boxes are worked out at a time."""


class Bbrf:
    """Intersection of the boxes of all windows of consecutive rows [W, -tau] that have passed.

        l_j(k) = max(l_j(k-1), min_j(Sigma_k)),   u_j(k) = min(u_j(k-1), max_j(Sigma_k)),

    Sigma_k the sum of x x' over the last `window` rows, updated by the row that comes and the row that goes.  A window whose box
    would leave some l_j > u_j changes nothing (the authors' rule).  Bounds only ever tighten; that the true values stay inside is
    an assumption that noise breaks often (see docs/methods/frisch.md).

    Args:
        parameters: p.
        window: rows in a window.
        lower, upper: (p,) what is known beforehand, such as signs; unbounded when not given.
        stride: rows between windows that count.
    """

    def __init__(
        self, parameters: int, window: int, lower: ArrayLike | None = None, upper: ArrayLike | None = None, stride: int = 1
    ) -> None:
        if window <= parameters:
            raise InputError(f"a window of {window} rows cannot determine {parameters} parameters; make it longer")
        if stride < 1:
            raise InputError(f"windows should be at least one row apart, not {stride}")
        self.window, self.stride = window, stride
        self.lower = np.full(parameters, -np.inf) if lower is None else np.array(lower, float)
        self.upper = np.full(parameters, np.inf) if upper is None else np.array(upper, float)
        self.rows = self.windows = self.refused = 0
        self._last = np.zeros((window, parameters + 1))  # a ring: row number r is at r modulo window
        self._sum = np.zeros((parameters + 1, parameters + 1))

    def update(self, row: ArrayLike) -> None:
        """One more row [W_k, -tau_k], (p + 1,)."""
        self.extend(np.asarray(row, float)[None])

    def extend(self, rows: ArrayLike) -> None:
        """Many rows (m, p + 1), with the same outcome as one after the other."""
        X = np.asarray(rows, float)
        if X.ndim != 2 or X.shape[1] != len(self._sum):
            raise InputError(f"rows have the shape {X.shape}, expected (m, {len(self._sum)})")
        for first in range(0, len(X), BLOCK):
            for grams in self._sums(X[first : first + BLOCK]):
                self._narrow(*window_boxes(grams))

    def _sums(self, X: Array) -> Iterator[Array]:
        """Sigma of the windows that end with these rows; once per turn of the ring it is summed afresh, against rounding."""
        while len(X):
            part = X[: self.window - self.rows % self.window]
            X = X[len(part) :]
            place = self.rows % self.window + np.arange(len(part))
            old = self._last[place]
            change = part[:, :, None] * part[:, None, :] - old[:, :, None] * old[:, None, :]
            grams = self._sum + np.cumsum(change, axis=0)
            self._last[place] = part
            number = self.rows + 2 + np.arange(len(part)) - self.window  # of the window that ends with a row, from 1
            self.rows += len(part)
            self._sum = self._last.T @ self._last if self.rows % self.window == 0 else grams[-1]
            yield grams[(number >= 1) & ((number - 1) % self.stride == 0)]

    def _narrow(self, lower: Array, upper: Array) -> None:
        """Goes from one window that changes the bounds to the next; those between change nothing."""
        self.windows += len(lower)
        start = 0
        while start < len(lower):
            l, u = np.maximum(self.lower, lower[start:]), np.minimum(self.upper, upper[start:])
            good = (l <= u).all(axis=1)
            narrower = good & ((l > self.lower) | (u < self.upper)).any(axis=1)
            changed = np.flatnonzero(narrower)
            if not len(changed):
                self.refused += int(np.count_nonzero(~good))
                return
            k = int(changed[0])
            self.refused += int(np.count_nonzero(~good[:k]))
            self.lower, self.upper = l[k], u[k]
            start += k + 1
