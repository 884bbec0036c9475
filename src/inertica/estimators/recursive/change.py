"""A load picked up or dropped, seen in what the model of the unloaded robot does not explain.

A point mass on the last link moves the base parameters along one direction d, so that it changes row k of the fit by a_k = W_k d;
where on the axis of the last joint it sits is not known, so that several places are tried.  With the residuals e_k of the model so
far, the log-likelihood that such a load is there (or is gone) against that nothing changed grows by

    l_k = (+- a_k' S^-1 e_k - a_k' S^-1 a_k / 2) / c,

S the variances of the joints' residuals and c by how much more the sum of a'S^-1 e varies than if residuals were independent.  Sums
that start anew whenever they fall below zero (CUSUM, Page 1954) reach h in one of exp(h) excursions at most while nothing changes,
which sets the threshold: h = log(excursions between false alarms, of all sums together).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.errors import InputError
from inertica.estimators.covariance import long_run
from inertica.identifiability.base import BaseModel
from inertica.robot import inertia

Array = NDArray[np.float64]

SHARE = 0.05
"""Load that is looked for, as a share of the arm's mass."""

HOURS = 1.0
"""Motion between false alarms, on average at least."""

CALM = 0.5
"""s over which residuals may be correlated."""

MARGIN = 1.1
"""Factor on the variance of the score, for residuals that are not quite what the calibration saw."""

MOST = 1.0
"""What one joint adds in one row at most: friction at a reversal errs for a few rows, a load is there in all of them."""

EXCURSION = 0.2
"""s that a sum takes to rise and fall again while nothing changes."""

PLACES = (0.0, 0.1, -0.1)
"""m from the origin of the last link along the axis of its joint: where loads are taken to be."""

SIGNS = (1.0, -1.0)

SETTLE = 2.0
"""s after an alarm in which the size of the load is found before the watch goes on."""


@dataclass(frozen=True)
class Change:
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


def load_direction(base: BaseModel, mass: float, position: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
    """(b,) change of the base parameters by a point mass on the last link.

    Args:
        base: the robot.
        mass: in kg.
        position: of the mass in the frame of the last link, in m.
    """
    chi = np.zeros(base.layout.size)
    chi[base.layout.link(base.layout.robot.n - 1)] = inertia.from_com(mass, position, np.zeros((3, 3)))
    return base.beta(chi)


def load_directions(base: BaseModel, mass: float) -> Array:
    """(d, b) the same at several places on the axis of the last joint."""
    axis = np.asarray(base.layout.robot.joints[-1].axis, float)
    return np.array([load_direction(base, mass, along * axis) for along in PLACES])


@dataclass
class _Settling:
    """A load whose size is being found: until when, at which place, and the sums that give it."""

    end: float
    place: int
    score: float = 0.0
    size: float = 0.0


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
        if len(rows) < 20:
            raise InputError(
                f"calibrating a watch for loads needs 20 rows or more, and there are {len(rows)}; let the robot move longer"
            )
        e = np.where(use, rows[:, :, -1] - rows[:, :, :-1] @ beta, 0.0)
        sigma = np.sqrt(np.sum(e**2, axis=0) / np.maximum(use.sum(axis=0) - len(beta) / e.shape[1], 1.0))
        lags = min(max(2, round(CALM * rate)), len(rows) // 4)
        inflation = least
        for direction in np.atleast_2d(directions):
            a = np.where(use, rows[:, :, :-1] @ direction, 0.0)
            spread = long_run(np.sum(a * e / sigma**2, axis=1)[:, None], lags)[0, 0]
            inflation = max(inflation, float(spread) / float(np.sum(a**2 / sigma**2)))
        return cls(beta, sigma, MARGIN * inflation)


class LoadWatch:
    """CUSUMs for loads: for every place one for picking up and one for dropping.

    Args:
        calibration: what is normal.
        directions: (d, b) of a load of `mass` at several places.
        mass: of the load that is looked for, in kg.
        hours: of motion between false alarms.
    """

    def __init__(self, calibration: Calibration, directions: Array, mass: float, hours: float = HOURS) -> None:
        self.calibration, self.directions, self.mass = calibration, np.atleast_2d(directions), mass
        self.beta = np.array(calibration.beta)
        places = len(self.directions)
        self.threshold = float(np.log(2.0 * places * 3600.0 * hours / EXCURSION))
        self.sums, self.began = np.zeros((2, places)), np.zeros((2, places))
        self._moments = np.zeros((2, 2, places))  # sums of a'e and a'a since each sum began to grow
        self._settling: _Settling | None = None

    def update(self, time: float, rows: Array, use: NDArray[np.bool_]) -> Change | None:
        """One set of rows (r, b+1); a change when it is flagged.

        For some time after an alarm the size of the load is found, which the model then carries.
        """
        W, y, sigma = rows[:, :-1], rows[:, -1], self.calibration.sigma
        a = np.where(use, self.directions @ W.T, 0.0) / sigma
        e = np.where(use, y - W @ self.beta, 0.0) / sigma
        if self._settling is not None:
            self._settle(time, a, e, self._settling)
            return None
        push, cost = a * e / self.calibration.inflation, 0.5 * a**2 / self.calibration.inflation
        steps = np.stack([np.clip(sign * push - cost, -MOST, MOST).sum(axis=1) for sign in SIGNS])
        self.sums += steps
        fallen = self.sums <= 0.0
        self._moments[0] += a @ e
        self._moments[1] += np.sum(a**2, axis=1)
        self.sums[fallen], self.began[fallen], self._moments[:, fallen] = 0.0, time, 0.0
        k, place = np.unravel_index(int(np.argmax(self.sums)), self.sums.shape)
        if self.sums[k, place] < self.threshold:
            return None
        mass = self.mass * self._moments[0, k, place] / self._moments[1, k, place]
        found = Change(time, float(self.began[k, place]), float(mass), "picked up" if k == 0 else "dropped")
        self.sums[:], self._moments[:] = 0.0, 0.0
        self._settling = _Settling(time + SETTLE, int(place))
        return found

    def _settle(self, time: float, a: Array, e: Array, now: _Settling) -> None:
        """The size of the load, from all rows for some time after the alarm."""
        now.score += float(a[now.place] @ e)
        now.size += float(a[now.place] @ a[now.place])
        if time >= now.end:
            if now.size > 0.0:
                self.beta += now.score / now.size * self.directions[now.place]
            self._settling = None

    def follow(self, calibration: Calibration) -> None:
        """Residuals from a model that has learned more, unless the size of a load is being found."""
        if self._settling is None:
            self.calibration, self.beta = calibration, np.array(calibration.beta)

    def run(self, times: Sequence[float] | Array, rows: Array, use: NDArray[np.bool_]) -> list[Change]:
        """Many sets of rows, (K, r, b+1)."""
        found = (self.update(float(t), w, u) for t, w, u in zip(times, rows, use, strict=True))
        return [change for change in found if change is not None]
