"""Identification while the robot moves: `OnlineFit.update(sample)` in a control loop, `estimate` whenever it is wanted.

An update takes no memory and no iteration: filters, regressor rows and the rotation of rows into triangular factors are compiled
loops on arrays that are there from the start.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.arrays import Array
from inertica.dynamics.single import single
from inertica.dynamics.tsqr import Stacked
from inertica.errors import InputError
from inertica.estimators.evidence import Evidence, ScaledSvd, Scores
from inertica.estimators.joint_noise import own_sigmas
from inertica.estimators.recursive.online import Moment, check_forgetting, together
from inertica.estimators.recursive.stream_state import SAMPLES, Counts, sizes, state_views
from inertica.identifiability.base import BaseModel
from inertica.preprocessing.recipe import Regressor
from inertica.robot.layout import Parameters

CUTOFF = 60.0
"""Hz: of the low-pass H that motion and torque share."""

BANDWIDTH = 10.0
"""Hz: of the low-pass G on rows of momentum and power; five rows are taken in a period of it."""

ORDER = 3
"""Of G.  Order 1 lets through so much noise of the velocity that the fit is biased by it."""

PATIENCE = 0.05
"""s of rest after which a joint's friction means nothing until it moves again."""

FADED = 0.02
"""Part of a jump that H and G have left when rows of a joint that has rested or reversed take part again."""

MORE = 1.2
"""Rows of every joint over its columns from which weighted fits state how well they know anything."""

CHUNK = 4096
"""Samples of a record that are worked on together."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What is measured at one instant; (n,) each.

    Args:
        q: positions.
        tau: joint torques.
        dq: velocities, where they are measured; from the positions when not given.
        ddq: accelerations, for rows of torque only.
    """

    q: Array
    tau: Array
    dq: Array | None = None
    ddq: Array | None = None


@dataclass(frozen=True, eq=False)
class OnlineEstimate:
    """What is known after some samples.

    Args:
        beta: (b,) base parameters; the prior's, or zero, where the data do not determine them yet.
        std: (b,) their standard deviations, infinite where they are not determined; they hold for torque noise that is white, of which
            G makes neighbouring rows alike, and for noise that the residuals show to last up to half a second (`serial`).
        sigma: (r,) standard deviation of the residual of each joint's rows (of the power).
        rows: samples whose rows took part.
        complete: whether all parameters are determined.
    """

    beta: Array
    std: Array
    sigma: Array
    rows: int
    complete: bool


@dataclass(frozen=True)
class RowOptions:
    """Filters and rate of rows.

    Args:
        cutoff: of the low-pass that motion and torque share, in Hz; at most a fifth of the rate of the samples.
        bandwidth: of the low-pass on rows of momentum and power, in Hz.
        order: of that low-pass.
        every: samples per row; a fifth of a period of the bandwidth by default, 1 for rows of torque.
        reversals: whether rows of a joint that has just reversed take part; filters make of friction that jumps something else than
            the model does of filtered motion.
    """

    cutoff: float = CUTOFF
    bandwidth: float = BANDWIDTH
    order: int = ORDER
    every: int | None = None
    reversals: bool = False


class RowStream:
    """Measured samples to rows of a fit.

    Args:
        base: the robot.
        rate: of the samples in Hz.
        regressor: momentum (the default) and power take no acceleration; rows of torque need one, and are not filtered.
        options: filters and rate of the rows.
        prior: values of fixed and nonlinear parameters.
        still: (n,) velocities in rad/s below which a joint rests.
        velocity: whether samples have a measured velocity.
    """

    def __init__(
        self, base: BaseModel, rate: float, regressor: Regressor = "momentum", options: RowOptions | None = None, *,
        prior: Parameters | None = None, still: ArrayLike = 0.0, velocity: bool = False,
    ) -> None:  # fmt: skip
        options = options or RowOptions()
        if not rate > 0.0:
            raise InputError(f"the rate of the samples should be greater than zero, not {rate:g} Hz")
        self.base, self.rate, self.regressor, n = base, rate, regressor, base.layout.robot.n
        shapes = None if prior is None else prior.shapes
        self._single = single(base.engine, regressor, shapes)
        self.filtered = self._single.stored
        self.velocity = velocity or not self.filtered
        # bilinear transforms of low-pass filters are accurate well below the sample rate only
        bandwidth, order = min(options.bandwidth, 0.05 * rate), options.order
        self.every = options.every or (max(1, round(0.2 * rate / bandwidth)) if self.filtered else 1)
        self.count = 1 if regressor == "power" else n
        place = {int(k): i for i, k in enumerate(base.retained)}
        entries = self._single.entries
        known = np.zeros(base.layout.size)
        if len(base.fixed):
            if prior is None:
                raise InputError("fixed parameters take their values from the prior, and no prior was given")
            known[base.fixed] = prior.values[base.fixed]
        smooth, derived = sections(min(options.cutoff, 0.2 * rate), rate) if self.filtered else (np.zeros(5), np.zeros(5))
        # each of the `order` equal parts of G is wider, so that the product is down by 3 dB at the bandwidth
        a = 2.0 * np.pi * bandwidth / np.sqrt(2.0 ** (1.0 / order) - 1.0)
        leak = np.array([2.0 * rate - a, a, 2.0 * rate * a]) / (2.0 * rate + a)
        response = _response(smooth, leak, order, rate / bandwidth) if self.filtered else np.ones(1)
        self.inflation = _inflation(response, self.every)
        faded = max(1, 1 + int(np.flatnonzero(np.abs(1.0 - np.cumsum(response)) > FADED).max(initial=0)))
        parts = n, self.count, len(entries), order
        length, integers = sizes(*parts)
        self._numbers, self._integers = np.zeros(length), np.zeros(integers, np.int64)
        at_q, at_dq, at_ddq, at_out = (int(place) for place in self._single.places)
        counts = Counts(
            at_q, at_dq, at_ddq, at_out, self.every, round(PATIENCE * rate), settling=faded, turning=0 if options.reversals else faded,
            filtered=self.filtered, power=regressor == "power", measured_velocity=self.velocity, entries=len(entries),
            order=order, samples=0,
        )  # fmt: skip
        self._counts = np.array(counts, np.int64)
        state = self._state = state_views(self._numbers, self._integers, *parts)
        state.smooth[:], state.rate[:], state.leak[:] = smooth, derived, leak
        state.still[:], state.known[:] = np.asarray(still, float), [known[k] for _, k in entries]
        state.row[:], state.column[:] = [i for i, _ in entries], [place.get(k, -1) for _, k in entries]
        size, capacity = base.rank + 1, CHUNK // self.every + 2
        self._out, self._use = np.zeros((capacity, self.count, size)), np.zeros((capacity, self.count), bool)
        self._taken = np.zeros(capacity, np.int64)
        self._one = {name: np.zeros((1, n)) for name in ("q", "dq", "ddq", "tau")}
        self._zero = np.zeros((CHUNK, n))

    def restart(self) -> None:
        """Forget all samples: filters begin at rest again."""
        s = self._state
        for part in (s.zq, s.zd, s.zt, s.levels, s.columns, s.stored, s.flow, s.resting, s.blocked, s.direction):
            part[:] = 0
        self._counts[SAMPLES] = 0

    def columns(self, row: int) -> NDArray[np.intp]:
        """Base parameters that the rows of a joint contain."""
        s = self._state
        return np.unique(s.column[(s.row == row) & (s.column >= 0)]).astype(np.intp)

    @property
    def samples(self) -> int:
        """Number of samples taken so far."""
        return int(self._counts[SAMPLES])

    def push(self, sample: Sample) -> tuple[Array, NDArray[np.bool_]]:
        """Rows (K, r, b+1) [w y] that a sample completes, K = 0 or 1, and which take part; views that the next call overwrites."""
        one = self._one
        one["q"][0], one["tau"][0] = sample.q, sample.tau
        if self.velocity:
            one["dq"][0] = self._measured(sample.dq, "velocities")
        if not self.filtered:
            one["ddq"][0] = self._measured(sample.ddq, "accelerations")
        filled = self._pass(one["q"], one["dq"], one["ddq"], one["tau"])
        return self._out[:filled], self._use[:filled]

    def push_many(
        self, q: Array, tau: Array, dq: Array | None = None, ddq: Array | None = None
    ) -> tuple[Array, NDArray[np.bool_], NDArray[np.int64]]:
        """The same of many samples, (N, n) each: new arrays of rows, which take part, and the index of each row's sample."""
        rows, use, taken = [], [], []
        for first in range(0, len(q), CHUNK):
            part = slice(first, first + CHUNK)
            zero = self._zero[: len(q[part])]
            filled = self._pass(
                np.ascontiguousarray(q[part]),
                np.ascontiguousarray(self._measured(dq, "velocities")[part]) if self.velocity else zero,
                zero if self.filtered else np.ascontiguousarray(self._measured(ddq, "accelerations")[part]),
                np.ascontiguousarray(tau[part]),
            )
            rows.append(self._out[:filled].copy())
            use.append(self._use[:filled].copy())
            taken.append(first + self._taken[:filled])
        return np.concatenate(rows), np.concatenate(use), np.concatenate(taken)

    def _pass(self, q: Array, dq: Array, ddq: Array, tau: Array) -> int:
        kernel, state = self._single, (self._numbers, self._integers, self._counts)
        return int(self._loop(kernel.address, kernel.work, *state, q, dq, ddq, tau, self._out, self._use, self._taken))

    @cached_property
    def _loop(self):  # type: ignore[no-untyped-def]
        from inertica.estimators.recursive.stream import stream  # its compiler takes long to import

        return stream

    def _measured(self, values: Array | None, what: str) -> Array:
        if values is None:
            raise InputError(f"rows of {self.regressor} need measured {what} in every sample; rows of momentum do without")
        return values


class OnlineFit:
    """Recursive least squares in a control loop.

    Args:
        stream: samples to rows.
        forgetting, directional: as for `inertica.estimators.recursive.online.Rls`, per row taken.
        weighted: joints by the standard deviations of their own fits (`rwls`); else all alike (`rls`).
        prior: what holds where the data do not determine anything yet.
    """

    def __init__(
        self, stream: RowStream, forgetting: float = 1.0, directional: bool = False, weighted: bool = True,
        prior: Parameters | None = None,
    ) -> None:  # fmt: skip
        from inertica.estimators.recursive import givens, serial  # their compiler takes long to import

        check_forgetting(forgetting)
        self.stream, self.base, self.forgetting, self.directional = stream, stream.base, forgetting, directional
        r, b = stream.count, stream.base.rank
        self._group = np.arange(r) if weighted else np.zeros(r, np.int64)
        groups = r if weighted else 1
        self._F, self._weight, self._room = np.zeros((groups, b + 1, b + 1)), np.zeros(groups), np.zeros(b)
        self._start = np.zeros(b) if prior is None else stream.base.beta(prior.values)
        self._into, self._solved, self.rows = givens, np.array(self._start), 0
        self._serial, self._sums = serial, np.zeros((r, 6))
        self._length = max(2, round(serial.SECONDS * stream.rate / stream.every))
        self._fading = serial.fading(forgetting, self._length)
        self._felt = [stream.columns(j) for j in range(r)]

    def update(self, sample: Sample) -> bool:
        """One sample in; whether it completed a row."""
        rows, use = self.stream.push(sample)
        if len(rows):
            self.absorb(rows[0], use[0])
        return len(rows) > 0

    def absorb(self, rows: Array, use: NDArray[np.bool_]) -> None:
        """Rows (r, b+1) of one sample, used up."""
        self._into.sample_in(self._F, self._weight, self._group, rows, use, self.forgetting, self.directional, self._room)
        self._serial.residuals_in(rows, use, self._length, self._fading, self._sums)
        self.rows += 1

    def reset(self, keep: float = 0.0) -> None:
        """Forget all but a share of what is known, as after a change of the robot."""
        self._F *= np.sqrt(keep)
        self._weight *= keep
        self._sums[:, :3] = 0.0
        self._sums[:, 3:] *= keep

    @property
    def beta(self) -> Array:
        """(b,) of unweighted fits by substitution, without a new array; as it was last while data do not determine everything."""
        if len(self._F) > 1:
            return self.estimate.beta
        self._into.solve_into(self._F[0], self._solved)
        return self._solved

    def noise_known(self, times: float) -> bool:
        """Whether every factor has had so many times more rows than it has columns."""
        felt = [len(c) for c in self._felt] if len(self._F) > 1 else [self.base.rank]
        return bool(np.all(self._weight >= times * np.array(felt)))

    def weighed(self) -> tuple[Array, Stacked]:
        """(r,) standard deviations of the rows of each joint, and all rows as one R; those of weighted fits in units of them."""
        moment = Moment(0.0, self._F, self._weight)
        if len(self._F) == 1:
            return np.full(self.stream.count, moment.sigma), Stacked.of(self._F[0])
        sigma = own_sigmas(moment.joints(self._felt), self._weight)
        return sigma, together(self._F, 1.0 / sigma)

    @property
    def evidence(self) -> Evidence:
        """All rows as one R with what their likeness in time makes of its covariance; of a fit that weighs its joints."""
        sigma, stacked = self.weighed()
        scores = self._scores(sigma)
        return Evidence(stacked.R, stacked.z, Scores(scores, scores), rest=stacked.rest)

    @property
    def estimate(self) -> OnlineEstimate:
        r, b = self.stream.count, self.base.rank
        if not np.all(self._weight > 0.0):
            return OnlineEstimate(np.array(self._start), np.full(b, np.inf), np.full(r, np.nan), self.rows, False)
        sigma, stacked = self.weighed()
        svd = ScaledSvd.of(stacked.R)
        beta = self._start + svd.solve(stacked.z - stacked.R @ self._start)
        std = np.sqrt(np.maximum(self._variance(svd.half, sigma), 0.0))
        # a parameter with any part along a direction that is not determined is not determined
        std[np.abs(svd.unresolved).max(axis=1, initial=0.0) > 1e-6] = np.inf
        well_determined = len(self._F) == 1 or self.noise_known(
            MORE
        )  # as many rows as columns have no residual, and seem to have no noise
        return OnlineEstimate(
            beta, std if well_determined else np.full(b, np.inf), sigma, self.rows, well_determined and bool(svd.known.all())
        )

    @property
    def longer(self) -> Array:
        """(r,) factor on the variance of each joint's rows that their likeness in time makes, see `serial`."""
        return self._serial.longer(self._sums, self.stream.inflation, len(self._F) == 1)

    def _variance(self, half: Array, sigma: Array) -> Array:
        """(b,) diagonal of C S C, C = half half' that of independent rows."""
        if len(self._F) == 1:
            return np.asarray(self.longer[0] * sigma[0] ** 2 * np.sum(half**2, axis=1))
        C = half @ half.T
        return np.asarray(np.einsum("ij,jk,ki->i", C, self._scores(sigma), C))

    def _scores(self, sigma: Array) -> Array:
        """(b, b) S = sum of c_j W_j' W_j / sigma_j^2."""
        parts = [c * F[:-1, :-1].T @ F[:-1, :-1] / s**2 for c, F, s in zip(self.longer, self._F, sigma, strict=True)]
        return np.asarray(np.sum(parts, axis=0))


def sections(cutoff: float, rate: float) -> tuple[Array, Array]:
    """b0 b1 b2 a1 a2 of a Butterworth low-pass of order 2 and of its derivative, by the bilinear transformation.

    Both have the same poles: (w^2) and (w^2 s) over s^2 + sqrt(2) w s + w^2, s = c (z - 1) / (z + 1), w prewarped.
    """
    c = 2.0 * rate
    w = c * np.tan(np.pi * cutoff / rate)
    # common denominator of both sections after s = c (z - 1) / (z + 1)
    d0 = c * c + np.sqrt(2.0) * w * c + w * w
    a1, a2 = 2.0 * (w * w - c * c) / d0, (c * c - np.sqrt(2.0) * w * c + w * w) / d0
    g = w * w / d0
    return np.array([g, 2.0 * g, g, a1, a2]), np.array([g * c, 0.0, -g * c, a1, a2])


def _response(smooth: Array, leak: Array, order: int, period: float) -> Array:
    """What H and G make of one sample, for ten periods of the bandwidth of G, after which nothing is left."""
    # even length for the real transform
    size = round(10.0 * period) + 2
    back = np.exp(-2j * np.pi * np.arange(size // 2 + 1) / size)
    H = (smooth[0] + smooth[1] * back + smooth[2] * back**2) / (1.0 + smooth[3] * back + smooth[4] * back**2)
    return np.asarray(np.fft.irfft(H * (leak[1] * (1.0 + back) / (1.0 - leak[0] * back)) ** order, size))


def _inflation(response: Array, every: int) -> float:
    """Variance of the mean of rows of white noise over that of independent ones."""
    # autocovariance of the filtered noise at the lags between rows, from lag zero on
    alike = np.correlate(response, response, "full")[len(response) - 1 :: every]
    return float((2.0 * alike.sum() - alike[0]) / alike[0])
