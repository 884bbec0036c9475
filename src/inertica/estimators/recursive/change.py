"""A load picked up or dropped, seen in what the model of the unloaded robot does not explain.

A body on the last link changes row k of the fit by A_k theta (`loads`).  With the residuals e_k of the model so far, sums of A'e
and A'A in units of the residuals' variances,

    s = sum w_k A_k' S^-1 e_k / c,   I = sum w_k A_k' S^-1 A_k / c,

S the variances of the joints' residuals and c by how much more such a sum varies than if residuals were independent, tell how
likely it is that a load came (or went) at some instant, whatever its place, against that nothing changed.  Instants are tried
every `APART` for the last `LONGEST`; rows in which a joint errs by more than `FAR` standard deviations, as friction does at a
reversal, count less (w < 1).  The ratio of likelihoods of one instant ever reaches exp(h) by chance in one of exp(h) cases at
most, which sets the threshold: h = log(instants between false alarms, for loads that come and loads that go), neighbouring ones
counted as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.errors import InputError
from inertica.estimators.covariance import long_run
from inertica.estimators.recursive.loads import Loads, ratios

SHARE = 0.05
"""Load that is looked for, as a share of the arm's mass."""

HOURS = 1.0
"""Motion between false alarms, on average at least."""

CALM = 0.5
"""s over which residuals may be correlated."""

FEWEST_ROWS = 20
"""Rows of calm motion that tell what is normal."""

MARGIN = 1.1
"""Factor on the variance of the score, for residuals that are not quite what the calibration saw."""

FAR = 3.0
"""Standard deviations beyond which a residual counts less: friction at a reversal errs for a few rows, a load in all of them."""

APART, LONGEST = 0.05, 2.0
"""s between instants at which a load may have come, and since the earliest of them."""

TOGETHER = 0.2
"""s within which instants are so much alike that they count as one when false alarms are."""

AFTER = 0.15
"""s of rows that an alarm rests on at least: low-passes pass a change on little by little, and tell its size and sign late."""

SIGNS = (1.0, -1.0)

SETTLE = 2.0
"""s after an alarm in which the size of the load is found before the watch goes on."""


@dataclass(frozen=True)
class LoadChange:
    """A load that came or went.

    Args:
        time: when it was flagged, in s.
        since: when the sum that gave the alarm began to grow.
        mass: of the point mass that explains the residuals since then, in kg; negative when it was dropped.
        kind: picked up or dropped.
    """

    time: float
    since: float
    mass: float
    kind: Literal["picked up", "dropped"]


@dataclass(frozen=True, eq=False)
class Calibration:
    """What rows without any change have shown.

    Args:
        beta: (b,) the model.
        sigma: (r,) standard deviations of the residuals.
        inflation: c, times a margin.  A fit makes the sum of the scores of its own rows zero, so that these seem to vary less than
            scores of rows to come; what the filter does to white noise is the least.
    """

    beta: Array
    sigma: Array
    inflation: float

    @classmethod
    def of(
        cls, rows: Array, use: NDArray[np.bool_], beta: Array, directions: Array, rate: float, least: float = 1.0
    ) -> Calibration:
        """From rows of calm motion.

        Args:
            rows: (K, r, b+1) as `RowStream` gives them.
            use: (K, r).
            beta: the model.
            directions: (d, b) of loads.
            rate: rows per s.
            least: c of white noise in the torque, see `RowStream.inflation`.
        """
        if len(rows) < FEWEST_ROWS:
            raise InputError(
                f"calibrating a watch for loads needs {FEWEST_ROWS} rows or more, and there are {len(rows)}; let the robot move longer"
            )
        e = np.where(use, rows[:, :, -1] - rows[:, :, :-1] @ beta, 0.0)
        sigma = np.sqrt(np.sum(e**2, axis=0) / np.maximum(use.sum(axis=0) - len(beta) / e.shape[1], 1.0))
        lags = min(max(2, round(CALM * rate)), len(rows) // 4)
        inflation = least
        for direction in np.atleast_2d(directions):
            a = np.where(use, rows[:, :, :-1] @ direction, 0.0)
            # variance of the score with its serial correlation, over what white residuals would have
            spread = long_run(np.sum(a * e / sigma**2, axis=1)[:, None], lags)[0, 0]
            inflation = max(inflation, float(spread) / float(np.sum(a**2 / sigma**2)))
        return cls(beta, sigma, MARGIN * inflation)


class LoadWatch:
    """Likelihood of loads that come and go.

    Args:
        calibration: what is normal.
        loads: that are looked for.
        rate: rows per s.
        hours: of motion between false alarms.
    """

    def __init__(self, calibration: Calibration, loads: Loads, rate: float, hours: float = HOURS) -> None:
        self.calibration, self.loads = calibration, loads
        self.beta = np.array(calibration.beta)
        self._every = max(1, round(APART * rate))
        count = max(2, round(LONGEST * rate / self._every))
        # union bound: a likelihood ratio exceeds e^h with probability e^-h at each of so many instants, for either sign
        self.threshold = float(np.log(2.0 * 3600.0 * hours / TOGETHER))
        self.sums = np.zeros((2, 1))
        self._parts, self._best = np.zeros((2, len(loads.means))), np.zeros((2, 3))
        self._s, self._I, self._began = np.zeros((count, 10)), np.zeros((count, 10, 10)), np.zeros(count)
        self._now_s, self._now_I = np.zeros(10), np.zeros((10, 10))
        self._rows, self._settled = 0, -np.inf

    def update(self, time: float, rows: Array, use: NDArray[np.bool_]) -> LoadChange | None:
        """One set of rows (r, b+1); a change when it is flagged.

        For some time after an alarm the body of the load is found, which the model then carries.
        """
        W, y, sigma = rows[:, :-1], rows[:, -1], self.calibration.sigma
        if self._rows % self._every == 0:
            place = (self._rows // self._every) % len(self._s)
            self._s[place], self._I[place], self._began[place] = self._now_s, self._now_I, time
        self._rows += 1
        A = np.where(use[:, None], W @ self.loads.bodies, 0.0) / sigma[:, None]
        e = np.where(use, y - W @ self.beta, 0.0) / sigma
        # Huber's weights; divided by c, as if rows that are alike within their correlation were fewer
        A_w = A * (np.minimum(1.0, FAR / np.maximum(np.abs(e), FAR)) / self.calibration.inflation)[:, None]
        self._now_s += A_w.T @ e
        self._now_I += A_w.T @ A
        if time < self._settled:
            return None
        if np.isfinite(self._settled):
            self._settle()
        count = min(-(-self._rows // self._every), len(self._s))
        loads = self.loads
        ratios(
            self._s, self._I, count, self._now_s, self._now_I, loads.means, loads.spreads, loads.ranks, self._parts, self._best
        )
        self.sums[:, 0] = np.maximum(self._best[:, 0], 0.0)
        k = int(np.argmax(self._best[:, 0]))
        if self._best[k, 0] < self.threshold:
            return None
        at, part = int(self._best[k, 1]), int(self._best[k, 2])
        if time - self._began[at] < AFTER:
            return None
        body = loads.body(self._now_s - self._s[at], self._now_I - self._I[at], part, SIGNS[k])
        change = LoadChange(time, float(self._began[at]), float(body[9]), "picked up" if k == 0 else "dropped")
        self._again()
        self._settled, self._sign = time + SETTLE, SIGNS[k]
        return change

    def _again(self) -> None:
        """As if the rows had begun now."""
        self._rows, self.sums[:], self._now_s[:], self._now_I[:] = 0, 0.0, 0.0, 0.0

    def _settle(self) -> None:
        """The body of the load, from all rows for some time after the alarm."""
        bodies = [self.loads.body(self._now_s, self._now_I, int(part), self._sign) for part in np.flatnonzero(self.loads.ranks)]
        # logarithm of the likelihood, but for a constant
        fits = [self._now_s @ x - 0.5 * x @ self._now_I @ x for x in bodies]
        self.beta += self.loads.bodies @ bodies[int(np.argmax(fits))]
        self._settled = -np.inf
        self._again()

    def follow(self, calibration: Calibration) -> None:
        """Residuals from a model that has learned more, unless the size of a load is being found."""
        if not np.isfinite(self._settled):
            self.calibration, self.beta = calibration, np.array(calibration.beta)

    def run(self, times: Sequence[float] | Array, rows: Array, use: NDArray[np.bool_]) -> list[LoadChange]:
        """Many sets of rows, (K, r, b+1)."""
        changes = (self.update(float(t), w, u) for t, w, u in zip(times, rows, use, strict=True))
        return [change for change in changes if change is not None]
