"""A plain weighted least-squares fit of the base parameters, to judge logs by; not an estimate to keep.

Torque and regressor columns are low-passed at a multiple of the band of the positions and decimated together, positions at twice that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array, Mask
from inertica.dynamics.triangle import stacked_factor
from inertica.dynamics.tsqr import Factors, JointFactor, Stacked
from inertica.estimators.evidence import ScaledSvd
from inertica.estimators.observe import Observations
from inertica.identifiability.base import BaseModel
from inertica.logs.log import Log
from inertica.preprocessing.bandwidth import ABOVE_NOISE, position_band
from inertica.preprocessing.decimate import EDGE
from inertica.preprocessing.filters import PART_OF_RATE, Butterworth, Unfiltered
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.layout import Parameters
from inertica.robot.model import Robot
from inertica.robot.natural import longest_link
from inertica.threads import one_thread

FINEST = 0.13
"""Part of the sampling rate that the low-pass may reach: ratio 3, so that reading between samples does not act as a filter."""

BANDS = 6.0
"""Bands of the positions that torque and regressor columns keep: they hold products of velocities and sines of the angles."""

ROWS_PER_PARAMETER = 2.0
"""Rows that a low-pass should leave for each parameter, where the recorder's rate allows it."""

ROW_RATE = 2.0 / EDGE
"""Rows per period of the low-pass."""

MOVES = 0.01
"""Part of the largest movement of any joint below which a joint counts as standing still."""

FEWEST_VALUES = 20
"""Values that a position has to take where it moves."""

SETTLED, MOST_UNSETTLED = 7.0, 0.12
"""Periods of the cut-off after which the ends of a record are forgotten, and the part of it that this may cost at each end."""


@dataclass(frozen=True, eq=False)
class Movement:
    """What the positions of a log say of its motion.

    Args:
        moving: (n,) joints that move.
        band: Hz, below which 99 % of the energy of every moving joint's position lies; 0 when none moves.
        periods: of a moving joint's band that the log holds, the median of these joints; 0 when none moves.
        rate: of the samples, Hz.
        duration: s.
    """

    moving: Mask
    band: float
    periods: float
    rate: float
    duration: float

    def cutoff(self, parameters: int) -> float:
        """Low-pass for torque and regressor columns, Hz: `BANDS` bands, more for short logs with too few rows."""
        enough = ROWS_PER_PARAMETER * parameters / (ROW_RATE * self.duration)
        return float(min(max(BANDS * self.band, enough), FINEST * self.rate))


@dataclass(frozen=True, eq=False)
class Observed:
    """A log as the plain fit sees it."""

    log: Log
    movement: Movement
    motion: Motion
    rows_of: Observations

    @property
    def use(self) -> Mask:
        """(M,) rows that count."""
        return ~self.motion.decimated_mask

    @cached_property
    def joints(self) -> tuple[tuple[Array, ...], Array]:
        """Per joint (M, k) regressors of the base parameters that it feels, and (M, n) torques less what is known."""
        (rows,) = self.rows_of.by_motion()
        return rows

    def in_use(self, j: int) -> tuple[Array, Array]:
        """Rows of a joint that count, and their torque."""
        W, y = self.joints
        return W[j][self.use], y[self.use, j]

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """Samples of the motion that remain after decimation."""
        return self.motion.decimator.kept(len(self.motion))

    @property
    def t(self) -> Array:
        return self.motion.t[self.rows]

    @cached_property
    def settled(self) -> Mask:
        """Rows that count and lie far from the ends, where a low-pass and a shift of time do not commute."""
        t = self.t
        cutoff = 0.5 * EDGE * self.motion.rate / self.motion.decimator.ratio
        away = min(SETTLED / cutoff, MOST_UNSETTLED * float(t[-1] - t[0]))
        return np.asarray(self.use & (t >= t[0] + away) & (t <= t[-1] - away))

    def reduced(self, columns: Array) -> Array:
        """Other columns (N, k) on the motion's clock, low-passed and thinned out like the regressors."""
        return self.motion.decimator.decimate(columns)


def movement(log: Log, robot: Robot) -> Movement:
    """Which joints of a log move, and how fast that changes."""
    motion = prepare(log, Recipe(filter=Unfiltered(), standstill=None, border=0))
    # a slide counts by the angle at which the longest link would reach as far
    arm = longest_link(robot) or 1.0
    lever = np.array([arm if joint.prismatic else 1.0 for joint in robot.joints])
    span = np.ptp(motion.q, axis=0)
    values = np.array([len(np.unique(x[~log.mask])) for x in log.need("q").T])
    large = (span > MOVES * lever * np.max(span / lever)) & (span > ABOVE_NOISE * log.position_noise)
    moving = large & (values > FEWEST_VALUES)
    bands = position_band(motion.q, motion.dt)[moving]
    duration = max(len(motion), 1) * motion.dt
    periods = duration * float(np.median(bands)) if len(bands) else 0.0
    return Movement(moving, float(bands.max(initial=0.0)), periods, motion.rate, duration)


def observed(log: Log, base: BaseModel, prior: Parameters, cutoff: float | None = None) -> Observed:
    """Rows of a log under a low-pass of `cutoff` Hz; that of its own movement when none is given."""
    seen = movement(log, base.layout.robot)
    cutoff = seen.cutoff(base.rank) if cutoff is None else cutoff
    motion = prepare(log, Recipe(filter=Butterworth(min(2.0 * cutoff, PART_OF_RATE * seen.rate)), decimate=cutoff))
    return Observed(log, seen, motion, Observations(base, (motion,), prior))


def joint_rows(logs: Sequence[Observed], j: int) -> tuple[Array, Array]:
    """Rows of a joint that count, over all logs, and their torque."""
    parts = [o.in_use(j) for o in logs]
    return np.vstack([W for W, _ in parts]), np.concatenate([y for _, y in parts])


@dataclass(frozen=True, eq=False)
class PlainFit:
    """What all logs together say.

    Args:
        R: (b, b) of all rows, each joint's rows divided by its residual.
        unweighted: (b, b) of all rows as they are.
        beta: (b,) estimate.
        sd: (b,) its standard deviations, the colour of residuals allowed for; infinite for what the logs do not excite.
        effect: (b,) largest part that beta plus two standard deviations could have of any joint's torque.
        residual: (n,) relative residual of each joint.
        overall: relative residual of all joints.
        errors: per log (M, n) residual torques on the decimated clock.
    """

    R: Array
    unweighted: Array
    beta: Array
    sd: Array
    effect: Array
    residual: Array
    overall: float
    errors: tuple[Array, ...]


def plain_fit(logs: Sequence[Observed], base: BaseModel) -> PlainFit:
    """Least squares on all logs, joints weighted by the residual that each has on its own."""
    n, b = logs[0].motion.n, base.rank
    weights, factors, parts = np.ones(n), [], np.zeros((n, b))
    with one_thread():
        for j in range(n):
            W, y = joint_rows(logs, j)
            outside = y - _projected(W, y)
            freedom = max(len(y) - W.shape[1], 1)
            # floored: a torque without any error would take all the weight
            sigma = max(float(np.linalg.norm(outside) / np.sqrt(freedom)), 1e-6 * float(np.sqrt(np.mean(y**2)))) or 1.0
            weights[j] = 1.0 / (sigma * np.sqrt(_memory(outside)))
            columns = logs[0].rows_of.columns[j]
            parts[j, columns] = np.linalg.norm(W, axis=0) / max(float(np.linalg.norm(y)), 1e-300)
            factors.append(JointFactor.of(stacked_factor(np.column_stack([W, y])), columns))
    all_factors = Factors(tuple(factors), b, np.zeros(n))
    weighted, plain = all_factors.stacked(weights=weights), all_factors.stacked()
    beta, sd = _solved(weighted)
    finite = np.isfinite(sd)
    effect = np.where(finite, parts.max(axis=0) * (np.abs(beta) + 2.0 * np.where(finite, sd, 0.0)), np.inf)
    errors = tuple(o.rows_of.records(beta)[0][0] for o in logs)
    left, whole = np.array([f.misfit(beta) ** 2 for f in factors]), np.array([f.size**2 for f in factors])
    relative = np.sqrt(left / np.where(whole > 0.0, whole, 1.0))
    overall = float(np.sqrt(left.sum() / max(float(whole.sum()), 1e-300)))
    return PlainFit(weighted.R, plain.R, beta, sd, effect, relative, overall, errors)


def _projected(W: Array, y: Array) -> Array:
    size = np.linalg.norm(W, axis=0)
    scaled = W[:, size > 0.0] / size[size > 0.0]
    return np.asarray(scaled @ np.linalg.lstsq(scaled, y, rcond=1e-10)[0])


def _memory(r: Array) -> float:
    """Rows per independent row: 1 + 2 sum of the autocorrelations of residuals up to their first zero."""
    if len(r) < 20 or not np.any(r):
        return 1.0
    x = r - r.mean()
    lags = min(len(x) // 4, 50)
    rho = np.array([x[k:] @ x[: len(x) - k] for k in range(lags)]) / (x @ x)
    end = int(np.argmax(rho < 0.0)) if np.any(rho < 0.0) else lags
    return float(1.0 + 2.0 * rho[1:end].sum())


def _solved(system: Stacked) -> tuple[Array, Array]:
    """Solution and standard deviations for unit noise; directions that the rows do not hold at all are left at zero."""
    svd = ScaledSvd.of(system.R, 1e-10)
    lost = np.any(np.abs(svd.unresolved) > 1e-6, axis=1) | ~np.any(system.R, axis=0)
    return svd.solve(system.z), np.where(lost, np.inf, np.linalg.norm(svd.half, axis=1))


def solve_with(W: Array, y: Array, extra: Array) -> tuple[float, float]:
    """Residual sums of squares of y fitted by W, and by W with extra columns; corrected for the number of columns."""
    without = y - _projected(W, y)
    both = np.hstack([W, extra])
    with_extra = y - _projected(both, y)
    k = W.shape[1]
    return (
        float(without @ without / max(len(y) - k, 1)),
        float(with_extra @ with_extra / max(len(y) - both.shape[1], 1)),
    )
