"""The delay of recorded torque against motion, of either sign, common to all joints or one joint's own.

Recorded torque y_j(t) = tau_j(t - d_j).  With torque read later by the current d,

    y_j(t + d_j) = W_j beta - delta_j d(W_j beta)/dt + e_j,

one linear fit gives beta and delta; d grows by delta, torque is read anew (Gauss-Newton).  Standard deviations allow for serial
correlation of the residuals.

A joint that turns round sticks for a while and its friction changes late, which looks like a delay of some ms on joints ruled by
friction.  So columns and torque are smoothed by a Gaussian of finite length, and rows within its reach of a reversal are left out.
Noise that went through the controller looks like a lead; it is kept out by a low cut-off, a third of the frequency at which the
position drowns in its noise (`inertica.preprocessing.edge`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from inertica.arrays import Array, Mask
from inertica.estimators.covariance import Influences, combination_covariance
from inertica.estimators.observe import Observations
from inertica.identifiability.base import BaseModel
from inertica.logs.log import Log
from inertica.preprocessing.decimate import widened
from inertica.preprocessing.filters import Butterworth
from inertica.preprocessing.gaussian import CompactGaussian
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.layout import Parameters
from inertica.threads import one_thread

STEPS = 4
"""Most times that torque is read anew."""

STRIDE = 0.25
"""Part of a period of the cut-off by which one step may move a delay; beyond, the rate no longer stands for a shift."""

PHASE = 0.15
"""Standard deviation, in radians at the cut-off, above which a delay is not told: neither the linear fit nor its error holds then."""

LEFT = 0.004
"""Radians at the cut-off that friction at reversals and noise in the loop leave as a systematic error of a delay."""

AGREE = 1e-3
"""Chance that joints with one delay are taken for different ones."""

STICK = 0.2
"""Times rms speed / rms acceleration of a joint around a reversal in which it may stick; a thirtieth of the period of a sine."""

SLOW = 0.05
"""Part of its rms velocity below which a joint is about to turn round."""

SETTLED = 2.0
"""Periods of the cut-off left out at both ends of a record."""

ARRIVED = 1e-6
"""Periods of the cut-off by which a step may still move a delay that is known to the last digit."""

FINE = 30.0
"""Samples of the columns in a period of the cut-off; torque keeps all its samples."""

DEPENDENT = 3.5
"""Rows, one standard deviation of the Gaussian apart, that hold as much as one independent row (sum of their correlations)."""

FEWEST = 4.0
"""Degrees of freedom below which nothing is said of a joint."""

JUMPING = frozenset({"coulomb", "stribeck"})
"""Kinds of parameters whose columns jump when a joint turns round."""


@dataclass(frozen=True, eq=False)
class _Record:
    """Smoothed rows of one log.

    Args:
        W, rate: per joint (M, k_j) columns and their time derivatives.
        known: (M, n) torque of fixed parameters.
        use: (M, n) rows that count.
        tau: (N, n) torque at its own rate.
        smoother: for that torque.
        rows: (M,) samples of it about which rows are smoothed.
    """

    W: tuple[Array, ...]
    rate: tuple[Array, ...]
    known: Array
    use: Mask
    tau: Array
    smoother: CompactGaussian
    rows: NDArray[np.intp]

    def torque(self, delay: Array) -> Array:
        """(M, n) smoothed torque read later by the delay of each joint, less that of fixed parameters."""
        read = np.empty(self.known.shape)
        for d in np.unique(delay):
            those = delay == d
            read[:, those] = self.smoother.smooth(self.tau[:, those], self.rows, float(d))
        return read - self.known


@dataclass(frozen=True, eq=False)
class DelayEstimate:
    """Delays in s with their covariance (n, n); positive when torque was recorded later than motion."""

    values: Array
    covariance: Array

    @property
    def sd(self) -> Array:
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))


class DelayFit:
    """Logs smoothed at one cut-off, ready to be fitted with delays.

    Args:
        base: base parameters with the friction that is assumed.
        prior: values of fixed parameters.
        logs: with positions and torques.
        cutoff: of columns and torque in Hz; positions keep twice that.  Velocity is always taken from positions: a recorded one
            may be late itself.
    """

    def __init__(self, base: BaseModel, prior: Parameters, logs: Sequence[Log], cutoff: float) -> None:
        self.base, self.cutoff, self.n = base, cutoff, base.layout.robot.n
        # twice the cut-off leaves the columns' band untouched; a quarter of the rate keeps clear of Nyquist
        position = min(2.0 * cutoff, 0.25 * min(log.rate for log in logs))
        recipe = Recipe(filter=Butterworth(position), standstill=None)
        motions = tuple(prepare(log, recipe) for log in logs)
        self.system = Observations(base, motions, prior)
        self.columns = self.system.columns
        with one_thread():
            self.records = [self._record(motion, position) for motion in motions]
            self._grams = [self._gram(j) for j in range(self.n)]

    @property
    def most_sd(self) -> float:
        """Standard deviation in s above which a delay is not told."""
        return PHASE / (2.0 * np.pi * self.cutoff)

    @cached_property
    def _counts(self) -> Array:
        """(n,) rows of every joint."""
        return np.asarray(np.sum([np.count_nonzero(record.use, axis=0) for record in self.records], axis=0))

    @cached_property
    def freedom(self) -> Array:
        """(n,) independent rows of every joint, less its share of the parameters; a motion that repeats has those of one period:
        what a wrong model misses comes back with it.
        """
        shares = [period or 1.0 for period in self.system.periods]
        rows = np.sum([share * np.count_nonzero(r.use, axis=0) for r, share in zip(self.records, shares, strict=True)], axis=0)
        share = np.array([len(c) for c in self.columns]) / max(1, sum(len(c) for c in self.columns)) * self.base.rank
        return np.asarray(rows / DEPENDENT - share)

    def together(self, start: Array) -> DelayEstimate:
        """One shift for all joints, from a start that may differ from joint to joint."""
        estimate = self._estimate(start, np.ones((self.n, 1)))
        # a joint with fewer rows than parameters takes part with both: rows that parameters use up tell no delay
        freedom = float(self.freedom[self._counts > 0].sum())
        return self._widened(estimate, np.full(self.n, _few(freedom)))

    def each(self, start: Array) -> DelayEstimate:
        """One delay for every joint that has rows enough; the variance of others is infinite."""
        factor = np.array([_few(freedom) for freedom in self.freedom])
        estimate = self._estimate(start, np.eye(self.n)[:, np.isfinite(factor)])
        return self._widened(estimate, factor)

    def _widened(self, estimate: DelayEstimate, factor: Array) -> DelayEstimate:
        """With standard deviations multiplied by (n,) factors, an infinite one for what is unknown, and the systematic error."""
        finite = np.where(np.isfinite(factor), factor, 0.0)
        # systematic error in radians at the cut-off, as variance in s^2
        left = (LEFT / (2.0 * np.pi * self.cutoff)) ** 2
        unknown = np.where(np.isfinite(factor), left, np.inf)
        return DelayEstimate(estimate.values, estimate.covariance * np.outer(finite, finite) + np.diag(unknown))

    def _estimate(self, start: Array, shares: Array) -> DelayEstimate:
        """Delays start + shares x; a joint without a share stays where it is."""
        if not shares.size:
            return DelayEstimate(np.array(start, float), np.zeros((self.n, self.n)))
        d, most, farthest = np.array(start, float), STRIDE / self.cutoff, 0.75 * SETTLED / self.cutoff
        C = np.zeros((shares.shape[1], shares.shape[1]))
        with one_thread():
            for _ in range(STEPS):
                delta, C = self._step(d, shares)
                before = d
                # a longer step would leave the range in which the derivative stands for the shift
                d = np.clip(d + shares @ np.clip(delta, -most, most), -farthest, farthest)
                if np.all(np.abs(d - before) <= 0.1 * np.sqrt(np.diag(shares @ C @ shares.T)) + ARRIVED / self.cutoff):
                    break
        return DelayEstimate(d, shares @ C @ shares.T)

    def _record(self, motion: Motion, position: float) -> _Record:
        thin = max(1, int(motion.rate / (FINE * self.cutoff)))
        rate = motion.rate / thin
        W, less = self.system.block(motion, slice(0, None, thin))
        smoother, native = CompactGaussian(self.cutoff, rate), CompactGaussian(self.cutoff, motion.rate)
        # one row per standard deviation of the Gaussian: closer rows add no information
        rows = np.arange(smoother.half + 1, len(less) - smoother.half - 1, max(1, int(smoother.sigma)))
        reach = smoother.half + np.ceil(rate * (0.5 / position + _sticking(motion))).astype(int)
        use = ~self._near_reversal(W, motion.dq[::thin], reach)
        use &= ~widened(motion.spoiled, native.half)[::thin, None]
        # filters have not settled at the ends of a record
        ends = int(np.ceil(SETTLED / self.cutoff * rate))
        use[:ends] = use[len(use) - ends :] = False
        known = smoother.smooth(motion.tau[::thin] - less, rows) if len(self.base.fixed) else np.zeros((len(rows), self.n))
        return _Record(
            tuple(smoother.smooth(w, rows) for w in W), tuple(smoother.slope(w, rows) for w in W),
            known, use[rows], np.asarray(motion.tau), native, rows * thin,
        )  # fmt: skip

    def _near_reversal(self, W: Sequence[Array], dq: Array, reach: NDArray[np.intp]) -> Mask:
        """(N, n) within (n,) samples of an instant at which the joint, or a motor that acts on it, turns round or hardly moves."""
        kinds = [parameter.kind for parameter in self.base.layout.parameters]
        out = np.abs(dq) < SLOW * np.sqrt(np.mean(dq**2, axis=0))
        out[1:] |= np.sign(dq[1:]) != np.sign(dq[:-1])
        for j, columns in enumerate(self.columns):
            for i, c in enumerate(columns):
                if kinds[int(self.base.retained[c])] in JUMPING:
                    s = np.sign(W[j][:, i])
                    out[1:, j] |= s[1:] != s[:-1]
        return np.column_stack([widened(turns, int(samples)) for turns, samples in zip(out.T, reach, strict=True)])

    def _gram(self, j: int) -> Array:
        return np.asarray(sum(W.T @ (W * r.use[:, j, None]) for r in self.records for W in (r.W[j],)))

    def _parameters(self, torques: Sequence[Array]) -> tuple[Array, Array]:
        """Base parameters, and (n,) sizes of the residuals by which joints are weighted, with torques as they are read now."""
        projected = [
            sum(r.W[j].T @ (y[:, j] * r.use[:, j]) for r, y in zip(self.records, torques, strict=True)) for j in range(self.n)
        ]
        sizes = [np.concatenate([y[r.use[:, j], j] for r, y in zip(self.records, torques, strict=True)]) for j in range(self.n)]
        sigma = np.array([_size(y, 1.0) for y in sizes])
        for _ in range(3):
            G, g = np.zeros((self.base.rank, self.base.rank)), np.zeros(self.base.rank)
            for j, c in enumerate(self.columns):
                G[np.ix_(c, c)] += self._grams[j] / sigma[j] ** 2
                g[c] += projected[j] / sigma[j] ** 2
            beta = _inverse(G) @ g
            for j, c in enumerate(self.columns):
                left = [(y[:, j] - r.W[j] @ beta[c])[r.use[:, j]] for r, y in zip(self.records, torques, strict=True)]
                sigma[j] = max(_size(np.concatenate(left), sigma[j]), 1e-6 * _size(sizes[j], 1.0))
        return beta, sigma

    def _step(self, d: Array, shares: Array) -> tuple[Array, Array]:
        """(e,) changes of delays along `shares` (n, e) and their covariance: one linear fit of parameters and delays together."""
        torques = [record.torque(d) for record in self.records]
        beta, sigma = self._parameters(torques)
        b, extra = self.base.rank, shares.shape[1]
        size = b + extra
        G, g, scaled = np.zeros((size, size)), np.zeros(size), []
        for record, y in zip(self.records, torques, strict=True):
            A = []
            for j, c in enumerate(self.columns):
                rate = (record.rate[j] @ beta[c])[:, None]
                rows = np.hstack([record.W[j], -rate * shares[j]]) * (record.use[:, j, None] / sigma[j])
                where = np.concatenate([c, np.arange(b, size)])
                G[np.ix_(where, where)] += rows.T @ rows
                g[where] += rows.T @ (y[:, j] / sigma[j])
                A.append((rows, where))
            scaled.append((A, y / sigma * record.use, record.use))
        spread = _inverse(G)
        x = spread @ g
        influences = []
        for (A, y, use), period in zip(scaled, self.system.periods, strict=True):
            residual = np.column_stack([y[:, j] - rows @ x[where] for j, (rows, where) in enumerate(A)])
            influences.append(Influences([rows @ spread[where, b:] for rows, where in A], residual, use, period))
        return x[b:], combination_covariance(influences, size)


@dataclass(frozen=True, eq=False)
class FoundDelays:
    """What the logs say of delays.

    Args:
        each: of every joint on its own.
        level, error: the delay that all joints share, those apart left out, and its standard deviation.
        known: (n,) joints whose own delay is known well enough to be compared.
        apart: (n,) joints whose own delay differs from what the others share.
        most_sd: standard deviation above which a delay is not told.
    """

    each: DelayEstimate
    level: float
    error: float
    known: Mask
    apart: Mask
    most_sd: float

    @property
    def level_known(self) -> bool:
        return self.error < self.most_sd


def find_delays(fit: DelayFit, start: float) -> FoundDelays:
    """One delay for all joints, and joints that differ from it: the furthest leaves until the others agree (chi-square test)."""
    from scipy.special import chdtri  # scipy.stats takes half a second to load

    common = fit.together(np.full(fit.n, start))
    each = fit.each(common.values)
    sd = each.sd
    known, apart = sd < fit.most_sd, np.zeros(fit.n, bool)
    weight = np.where(known, 1.0 / np.where(known, sd, 1.0) ** 2, 0.0)
    level, error = float(common.values[0]), float(common.sd[0])
    while np.count_nonzero(known & ~apart) > 1:
        keep = known & ~apart
        middle = float(weight[keep] @ each.values[keep] / weight[keep].sum())
        z = np.where(keep, np.abs(each.values - middle) / np.where(known, sd, 1.0), 0.0)
        if z @ z <= chdtri(np.count_nonzero(keep) - 1, AGREE):
            break
        apart[int(np.argmax(z))] = True
    if apart.any():  # the common fit held them as well
        keep = known & ~apart
        level, error = float(weight[keep] @ each.values[keep] / weight[keep].sum()), float(weight[keep].sum() ** -0.5)
    return FoundDelays(each, level, error, known, apart, fit.most_sd)


def _sticking(motion: Motion) -> Array:
    """(n,) s before and after a reversal in which each joint may stick."""
    speed, acceleration = (np.sqrt(np.mean(x**2, axis=0)) for x in (motion.dq, motion.ddq))
    return STICK * np.divide(speed, acceleration, out=np.zeros_like(speed), where=acceleration > 0.0)


def _few(freedom: float) -> float:
    """Factor on a standard deviation that few independent rows told: normal quantiles then hold as Student's would."""

    return float(stdtrit(freedom, 1.0 - 0.5 * AGREE) / ndtri(1.0 - 0.5 * AGREE)) if freedom >= FEWEST else np.inf


def _inverse(G: Array) -> Array:
    """Inverse of a normal matrix; directions that the rows do not hold are left at zero."""
    scale = np.sqrt(np.maximum(np.diag(G), 1e-300))
    return np.asarray(np.linalg.pinv(G / np.outer(scale, scale), rcond=1e-11, hermitian=True) / np.outer(scale, scale))


def _size(values: Array, otherwise: float) -> float:
    """Median size, as a standard deviation of normal errors; few large ones do not count."""
    return max(1.4826 * float(np.median(np.abs(values))), 1e-100) if len(values) else otherwise
