"""A plain weighted least-squares fit of the base parameters, to judge logs by; not an estimate to keep.

Positions are low-passed at twice the motion's bandwidth, torque and regressor columns at the bandwidth itself, decimated together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from inertica.dynamics.engine import Engine
from inertica.identifiability.base import BaseModel
from inertica.logs.log import Log
from inertica.preprocessing.bandwidth import bandwidth
from inertica.preprocessing.decimate import EDGE
from inertica.preprocessing.filters import Butterworth, Unfiltered, default_cutoff
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.observe import decimated_mask, joint_rows
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.layout import Parameters

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

FINEST = 0.13
"""Part of the sampling rate that the low-pass may reach: ratio 3, so that reading between samples does not act as a filter."""

ROWS_PER_PARAMETER = 2.0

SETTLED, MOST_UNSETTLED = 7.0, 0.12
"""Periods of the cut-off after which the ends of a record are forgotten, and the part of it that this may cost at each end."""


@dataclass(frozen=True, eq=False)
class JointRows:
    """Decimated rows of one joint: (M, k) regressors of the base parameters it feels, and (M,) torque less what is known."""

    columns: tuple[int, ...]
    W: Array
    y: Array


@dataclass(frozen=True, eq=False)
class Observed:
    """A log as the plain fit sees it."""

    log: Log
    motion: Motion
    joints: tuple[JointRows, ...]
    use: Mask

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


def suggested_cutoff(log: Log, parameters: int) -> float:
    """Low-pass for torque and regressor columns in Hz: the motion's bandwidth, more for short logs with too few rows."""
    motion = prepare(log, Recipe(filter=Unfiltered(), standstill=None, border=0))
    enough = ROWS_PER_PARAMETER * parameters / (2.5 * max(len(motion) * motion.dt, 1e-9))
    wide = max(bandwidth(motion.q, motion.dt).cutoff, enough)
    return float(min(wide, FINEST * motion.rate, default_cutoff(motion.rate)))


def observed(engine: Engine, log: Log, base: BaseModel, prior: Parameters, cutoff: float) -> Observed:
    """Rows of a log under a low-pass of `cutoff` Hz."""
    rate = 1.0 / float(np.median(np.diff(log.t[~log.mask])))
    motion = prepare(log, Recipe(filter=Butterworth(min(2.0 * cutoff, default_cutoff(rate))), decimate=cutoff))
    kept, fixed = [int(k) for k in base.kept], [int(k) for k in base.fixed]
    place = {k: i for i, k in enumerate(kept)}
    joints = []
    for _, columns, W, y in joint_rows(engine, motion, [*kept, *fixed], prior.shapes):
        own = [i for i, k in enumerate(columns) if k in place]
        known = [i for i, k in enumerate(columns) if k not in place]
        rest = y - W[:, known] @ prior.values[[columns[i] for i in known]]
        joints.append(JointRows(tuple(place[columns[i]] for i in own), W[:, own], rest))
    return Observed(log, motion, tuple(joints), ~decimated_mask(motion))


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
    weights, blocks, parts = np.ones(n), [], np.zeros((n, b))
    with threadpool_limits(1):
        for j in range(n):
            W = np.vstack([o.joints[j].W[o.use] for o in logs])
            y = np.concatenate([o.joints[j].y[o.use] for o in logs])
            own = y - _projected(W, y)
            freedom = max(len(y) - W.shape[1], 1)
            # floored: a torque without any error would take all the weight
            sigma = max(float(np.linalg.norm(own) / np.sqrt(freedom)), 1e-6 * float(np.sqrt(np.mean(y**2))), 1e-12)
            weights[j] = 1.0 / (sigma * np.sqrt(_memory(own)))
            block = np.zeros((len(y), b + 1))
            block[:, list(logs[0].joints[j].columns)] = W
            block[:, -1] = y
            parts[j] = np.linalg.norm(block[:, :-1], axis=0) / max(float(np.linalg.norm(y)), 1e-300)
            blocks.append(np.asarray(np.linalg.qr(block, mode="r")))
        R = np.asarray(np.linalg.qr(np.vstack([w * block for w, block in zip(weights, blocks, strict=True)]), mode="r"))
        plain = np.asarray(np.linalg.qr(np.vstack(blocks), mode="r"))
    z = np.zeros(b)
    z[: min(len(R), b)] = R[:b, b]
    beta, sd = _solved(_square(R, b), z)
    finite = np.isfinite(sd)
    effect = np.where(finite, parts.max(axis=0) * (np.abs(beta) + 2.0 * np.where(finite, sd, 0.0)), np.inf)
    errors = tuple(_errors(o, beta) for o in logs)
    torque = [np.column_stack([rows.y for rows in o.joints]) for o in logs]
    left = np.array([np.sum(e[o.use] ** 2, axis=0) for e, o in zip(errors, logs, strict=True)]).sum(axis=0)
    whole = np.array([np.sum(y[o.use] ** 2, axis=0) for y, o in zip(torque, logs, strict=True)]).sum(axis=0)
    relative = np.sqrt(left / np.where(whole > 0.0, whole, 1.0))
    overall = float(np.sqrt(left.sum() / max(float(whole.sum()), 1e-300)))
    return PlainFit(_square(R, b), _square(plain, b), beta, sd, effect, relative, overall, errors)


def _errors(o: Observed, beta: Array) -> Array:
    return np.column_stack([rows.y - rows.W @ beta[list(rows.columns)] for rows in o.joints])


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


def _solved(R: Array, z: Array) -> tuple[Array, Array]:
    """Solution and standard deviations for unit noise; directions that the rows do not hold at all are left at zero."""
    size = np.linalg.norm(R, axis=0)
    scale = np.where(size > 0.0, size, 1.0)
    U, s, Vt = np.linalg.svd(R / scale)
    good = s > 1e-10 * max(float(s[0]), 1e-300)
    x = Vt.T[:, good] @ ((U.T[good] @ z) / s[good])
    variance = np.sum((Vt.T[:, good] / s[good]) ** 2, axis=1)
    lost = np.any(np.abs(Vt.T[:, ~good]) > 1e-6, axis=1) if not good.all() else np.zeros(len(s), bool)
    sd = np.where(lost | (size == 0.0), np.inf, np.sqrt(variance) / scale)
    return x / scale, sd


def _square(R: Array, b: int) -> Array:
    out = np.zeros((b, b))
    rows = min(len(R), b)
    out[:rows] = R[:rows, :b]
    return out


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
