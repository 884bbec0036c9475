"""How well a model predicts torque: relative residuals on the raw and on the filtered signal, and the papers' own figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.documents import Derived
from inertica.estimators.covariance import autocorrelation
from inertica.identifiability.labels import INTERVAL

PIECE = 1 << 14
"""Samples whose differences are squared at a time: they stay in the cache."""


@dataclass(frozen=True, eq=False)
class Squares:
    """Sums of squares of differences and of torques, in this order, over what counts.

    Args:
        joints: (2, n) over the samples.
        samples: (2, N) over the joints, forces of sliding joints as torques.
        values: (n,) how many count.
        used: (N,) samples of which some value counts.
    """

    joints: Array
    samples: Array
    values: Array
    used: NDArray[np.bool_]

    @classmethod
    def of(cls, tau: Array, predicted: Array, use: NDArray[np.bool_] | None = None, lever: Array | None = None) -> Squares:
        """Of torques (N, n); values that are not finite on either side do not count, nor those that are not in use.

        Args:
            tau, predicted: (N, n).
            use: (N, n) values that count; all by default.
            lever: (n,) that forces of sliding joints become torques by, see `robot.natural.levers`; ones by default.
        """
        N, n = tau.shape
        joints, samples, values, used = np.zeros((2, n)), np.empty((2, N)), np.zeros(n), np.ones(N, bool)
        every = np.ones(n)  # products with ones are the quickest sums of narrow arrays
        weights = every if lever is None else lever**2
        for first in range(0, N, PIECE):
            part = slice(first, first + PIECE)
            both = np.stack([tau[part] - predicted[part], tau[part]])
            counts = np.isfinite(both[0]) if use is None else use[part] & np.isfinite(both[0])
            along = np.ones(len(counts))
            if counts.all():
                values += len(counts)
            else:
                np.copyto(both, 0.0, where=~counts)
                values += along @ counts.astype(float)
                used[part] = counts.astype(float) @ every > 0.0
            both *= both
            joints += along @ both
            samples[:, part] = both @ weights
        return cls(joints, samples, values, used)


@dataclass(frozen=True)
class Relative:
    """|tau - tau_hat| / |tau| per joint and over all joints, for which forces of sliding joints count as torques (`levers`)."""

    per_joint: tuple[float, ...]
    all: float

    @classmethod
    def of(cls, tau: Array, predicted: Array, lever: Array | None = None) -> Relative:
        """From (N, n) torques and (n,) levers; samples that are not finite on either side do not count."""
        return cls._of(Squares.of(tau, predicted, lever=lever))

    @classmethod
    def _of(cls, squares: Squares) -> Relative:
        (error, size), (missed, all_of_it) = squares.joints, squares.samples.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return cls(tuple(float(x) for x in np.sqrt(error / size)), float(np.sqrt(missed / all_of_it)))


@dataclass(frozen=True)
class Moving:
    """Prediction of one data set while joints move, torque and prediction low-passed alike.

    Args:
        error: (n,) rms of the difference at samples where that joint moves; NaN for a joint that does not.
        torque: (n,) rms of the torque there.
        noise: (n,) standard deviation of white noise on the torque after the same low-pass, from fourth differences.
        blocks: |difference| / |torque| over all joints in contiguous stretches of the moving data, in order.
    """

    error: tuple[float, ...]
    torque: tuple[float, ...]
    noise: tuple[float, ...]
    blocks: tuple[float, ...] = ()

    @classmethod
    def of(
        cls, tau: Array, predicted: Array, use: NDArray[np.bool_], noise: Array, blocks: int = 5, lever: Array | None = None
    ) -> Moving:
        """From (N, n) low-passed torques, which values count, (n,) noise and levers."""
        squares = Squares.of(tau, predicted, use, lever)
        with np.errstate(divide="ignore", invalid="ignore"):
            rms = [np.where(squares.values > 0, np.sqrt(x / squares.values), np.nan) for x in squares.joints]
            rows = np.array_split(np.flatnonzero(squares.used), blocks)
            error, size = squares.samples
            shares = [float(np.sqrt(error[r].sum() / size[r].sum())) for r in rows if len(r)]
        return cls(tuple(map(float, rms[0])), tuple(map(float, rms[1])), tuple(map(float, noise)), tuple(shares))

    @property
    def all(self) -> float:
        """|difference| / |torque| over all joints."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.sqrt(np.nansum(np.square(self.error))) / np.sqrt(np.nansum(np.square(self.torque))))


@dataclass(frozen=True)
class TorqueShares:
    """What the torque of every joint consists of, as recorded; tells joints that carry load from those of which friction is all.

    Args:
        torque: (n,) rms of the torque, N m or N.
        load: (n,) rms of what friction and offsets of the model do not explain, white noise taken out.
        noise: (n,) standard deviation of white noise on the torque, from fourth differences.
    """

    torque: tuple[float, ...]
    load: tuple[float, ...]
    noise: tuple[float, ...]

    @classmethod
    def of(cls, tau: Array, friction: Array, noise: Array) -> TorqueShares:
        """From (N, n) torques as recorded, (N, n) friction and offsets at the same samples, and (n,) noise."""
        squares = Squares.of(tau, friction)
        with np.errstate(divide="ignore", invalid="ignore"):
            rest, torque = squares.joints / squares.values
        load = np.sqrt(np.maximum(rest - noise**2, 0.0))
        return cls(*(tuple(map(float, x)) for x in (np.sqrt(torque), load, noise)))

    def noise_share(self, lever: Array | None = None) -> float:
        """|noise| / |torque| over all joints, with (n,) levers of sliding ones: what no model could predict."""
        weights = 1.0 if lever is None else lever
        size = float(np.nansum(np.square(weights * np.array(self.torque))))
        return float(np.sqrt(np.nansum(np.square(weights * np.array(self.noise))) / size)) if size > 0.0 else 0.0


@dataclass(frozen=True)
class Residual(Derived):
    """Prediction of one data set.

    Args:
        raw: against the unfiltered measured torque, every finite sample.
        filtered: torque and prediction low-passed alike.
        s: sqrt(SSE) / N of the raw residual, N the number of values (Jaco2 paper).
        per_sample: mean over samples of |tau_k - tau_hat_k| / |tau_k|, the prediction on the measured motion.
        samples: number of samples.
        d_q: mean of |q_k - q_sim,k| / |q_k| with the loop simulated (survey, eq. 69); None when the loop is not known.
        moving: the low-passed prediction while joints move, in absolute numbers; None when it was not looked at.
        d_tau: as `per_sample`, the prediction on the desired motion (survey, eq. 70); None when the log has no reference.
        shares: what the torque of every joint consists of; None when it was not looked at.
    """

    raw: Relative
    filtered: Relative
    s: float
    per_sample: float
    samples: int
    d_q: float | None = None
    moving: Moving | None = None
    d_tau: float | None = None
    shares: TorqueShares | None = None

    DERIVED: ClassVar[Mapping[str, str]] = {"s_r": "s_r"}

    @property
    def s_r(self) -> float:
        """sqrt(SSE) / |tau| (Jaco2 paper); the same as raw.all."""
        return self.raw.all


def residual(
    tau: Array, predicted: Array, tau_filtered: Array, predicted_filtered: Array, lever: Array | None = None
) -> Residual:
    """Figures of merit of one data set, all arrays (N, n); values that are not finite on either side do not count.

    Args:
        tau, predicted: as recorded.
        tau_filtered, predicted_filtered: low-passed alike.
        lever: (n,) that forces of sliding joints become torques by, see `robot.natural.levers`; ones by default.
    """
    squares = Squares.of(tau, predicted, lever=lever)
    missed, size = np.sqrt(squares.samples)
    known = size > 0.0
    per_sample = float(np.mean(missed[known] / size[known])) if known.any() else float("nan")
    return Residual(
        Relative._of(squares),
        Relative.of(tau_filtered, predicted_filtered, lever),
        float(np.linalg.norm(missed) / tau.size),
        per_sample,
        len(tau),
    )


@dataclass(frozen=True)
class Whiteness:
    """Whether residuals look like white noise, per joint.

    Args:
        autocorrelation: (n, lags + 1).
        outside: (n,) share of lags outside the 95 % band of white noise; about 0.05 for white residuals.
        normal_p: (n,) p-value of a Kolmogorov-Smirnov test against the normal distribution.
    """

    autocorrelation: Array
    outside: tuple[float, ...]
    normal_p: tuple[float, ...]

    @classmethod
    def of(cls, error: Array, lags: int = 20) -> Whiteness:
        rho = np.array([autocorrelation(r, lags) for r in error.T])
        band = INTERVAL / np.sqrt(len(error))
        outside = tuple(float(x) for x in np.mean(np.abs(rho[:, 1:]) > band, axis=1))
        scaled = (error - error.mean(axis=0)) / np.maximum(error.std(axis=0), 1e-300)
        return cls(rho, outside, tuple(_normal_p(r) for r in scaled.T))


def _normal_p(scaled: Array) -> float:
    """p-value of the Kolmogorov-Smirnov test against the standard normal distribution, by its limit for many samples."""
    from scipy.special import kolmogorov, ndtr

    N = len(scaled)
    F = ndtr(np.sort(scaled))
    distance = max(float(np.max(np.arange(1, N + 1) / N - F)), float(np.max(F - np.arange(N) / N)))
    return float(kolmogorov(np.sqrt(N) * distance))
