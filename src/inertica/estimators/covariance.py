"""Covariances of weighted least squares: the textbook formula, and one that survives coloured residuals.

Filtering and decimation make residuals of neighbouring samples alike; the textbook formula then promises too much.  With A =
(R'R)^-1 and the rows W_jk and residuals r_jk of joint j at sample k, both divided by the joint's sigma,

    C = A S A,   S = sum_j sum_l gamma_j(l) sum_k W_jk' W_j,k+l,

gamma_j the autocovariance of the joint's residuals, cut off where it is lost in its own noise (flat-top window of Politis): all
samples help to estimate it, so it holds for short records, too.  It takes the residuals' size to be the same throughout and the
joints to be independent.  A heteroscedasticity- and autocorrelation-consistent estimate (Newey and West) does not,

    S = sum_{|l| < L} k(l / L) sum_k g_k g_{k+l}',   g_k = sum_j W_jk' r_jk,   k the Parzen kernel,

but is noisy and too small when few independent samples are left.  So the first is taken, and a parameter's standard deviation is
raised to that of the second where that one is larger.  Both are corrected for the freedom that the fit takes from the residuals,
counted in independent samples.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

from inertica.arrays import Array
from inertica.estimators.evidence import Scores
from inertica.estimators.observe import Observations
from inertica.preprocessing.periods import part_labels
from inertica.threads import one_thread

MOST_LAGS = 4096
FINE = 24
"""Steps into which a bandwidth is divided."""

FEWEST_PLACES = 8
"""Rows of a period from which what returns with it is told from noise."""

QUIET = 5
"""Autocorrelations in a row that must be lost in noise before a correlation counts as over."""


def hac(system: Observations, beta: Array, spread: Array, joint_weights: Array) -> Array:
    """(b, b) covariance of beta with serially correlated residuals.

    Args:
        system: the rows; weights on single rows count as those of an M-estimator (row factor squared times residual is the score).
        beta: the estimate.
        spread: (R'R)^-1 of the weighted problem.
        joint_weights: (n,) 1 / sigma_j as used in the fit.
    """
    return scores_of(system, beta, joint_weights).through(spread)


def scores_of(
    system: Observations, beta: Array, joint_weights: Array, parameters: int | None = None, fitted_to: Observations | None = None
) -> Scores:
    """The filling of `hac`, which does not depend on how the system was solved.

    Args:
        system, beta, joint_weights: as there.
        parameters: how many were fitted, when the system shows only some of them.
        fitted_to: rows whose residuals count, where they are not those of the system (instruments).
    """
    b = len(beta)
    fitted = b if parameters is None else parameters
    with one_thread():
        residual_records = system.records(beta) if fitted_to is None else fitted_to.records_without_rows(beta)
        records = [(r * joint_weights * use, use) for r, use in residual_records]
        if system.weights is not None:
            # w^2 r is the score of an M-estimator; rows below carry one more w through the factors
            records = [(r * w**2, use) for (r, use), w in zip(records, system.weights, strict=True)]
        colour = [colours(r, use, fitted) for r, use in records]
        times = [correlation_times(r) for r, _ in records]
        phases = [Phases.of(len(r), period) for (r, _), period in zip(records, system.periods, strict=True)]
        lags = [
            lags_for(len(r), times_of) if phase is None else phase.lags(r)
            for (r, _), times_of, phase in zip(records, times, phases, strict=True)
        ]
        freedom = [
            _freedom(times_of if phase is None else phase.times(r), use, fitted)
            for (r, use), times_of, phase in zip(records, times, phases, strict=True)
        ]
        stationary, robust = np.zeros((b, b)), np.zeros((b, b))
        for rows in system.rows():
            r, use = (x[rows.where] for x in records[rows.motion])
            # joints are summed before the long-run sum, so that correlation between joints counts, too
            scores = np.zeros((b, len(r)))  # time runs along rows, which lie in one piece
            for j, (W, columns) in enumerate(zip(rows.W, system.columns, strict=True)):
                scaled = _scored(W.T, joint_weights[j] * use[:, j], np.ascontiguousarray(r[:, j]), columns, scores)
                stationary[np.ix_(columns, columns)] += colour[rows.motion][j].between(scaled.T)
            phase = phases[rows.motion]
            series = scores.T if phase is None else phase.sums(scores.T, rows.where)
            robust += freedom[rows.motion] * long_run(series, lags[rows.motion])
    return Scores(stationary, robust)


def score_covariance(blocks: Iterable[tuple[int, Array, Array]], parameters: int) -> Array:
    """(b, b) S of scores that a method worked out itself.

    Args:
        blocks: motion, scores (m, b) and residuals (m, n), zero where masked; these tell how scores are correlated in time.
        parameters: how many were fitted.
    """
    parts: dict[int, list[tuple[Array, Array]]] = {}
    for motion, scores, residual in blocks:
        parts.setdefault(motion, []).append((scores, residual))
    S = np.zeros((0, 0))
    with one_thread():
        for group in parts.values():
            scores, residual = (np.concatenate(x) for x in zip(*group, strict=True))
            times = correlation_times(residual)
            block = _freedom(times, residual != 0.0, parameters) * long_run(scores, lags_for(len(residual), times))
            S = block if not S.size else S + block
    return S


@dataclass(frozen=True, eq=False)
class Influences:
    """What residuals of one motion do to e linear combinations of them, sum_j V_j' r_j.

    Args:
        V: (m, e) of every joint.
        residual: (m, n) scaled residuals, zero where masked.
        use: (m, n) which of them take part.
        period: of the motion as a share of its rows; None where it does not repeat.
    """

    V: Sequence[Array]
    residual: Array
    use: NDArray[np.bool_]
    period: float | None = None


def combination_covariance(motions: Iterable[Influences], parameters: int) -> Array:
    """(e, e) covariance of linear combinations of the residuals of all motions; the larger of both estimates.

    Args:
        motions: independent of each other.
        parameters: how many were fitted.
    """
    stationary = robust = np.zeros((0, 0))
    with one_thread():
        for of in motions:
            phases, residual = Phases.of(len(of.residual), of.period), of.residual
            times = correlation_times(residual) if phases is None else phases.times(residual)
            lags = lags_for(len(residual), times) if phases is None else phases.lags(residual)
            scores = np.sum([v * residual[:, j, None] for j, v in enumerate(of.V)], axis=0)
            series = scores if phases is None else phases.sums(scores)
            block = _freedom(times, of.use, parameters) * long_run(series, lags)
            even = np.sum([c.between(v) for c, v in zip(colours(residual, of.use, parameters), of.V, strict=True)], axis=0)
            stationary, robust = (stationary + even, robust + block) if robust.size else (even, block)
        return Scores(stationary, robust).larger


def long_run(scores: Array, lags: int) -> Array:
    """Kernel-weighted sum of the autocovariances of scores (m, b) up to `lags`.

    Where many lags count, neighbouring samples are summed first: within a small part of the bandwidth the kernel is flat.
    """
    # a 24th of the bandwidth: the Parzen kernel changes by less than 1 % over it
    together = max(1, lags // FINE)
    if together > 1:
        scores = np.add.reduceat(scores, np.arange(0, len(scores), together), axis=0)
        lags = -(-lags // together)
    series = np.ascontiguousarray(scores.T)
    before, kernel = np.zeros_like(series), np.array([parzen(lag / lags) for lag in range(1, min(lags, len(scores) - 1))])
    _add_lagged(series, kernel, before)
    # half of lag zero, since the transposed sum is added below
    before += 0.5 * series
    half = series @ before.T
    return np.asarray(half + half.T)


def _scored(rows: Array, factor: Array, residual: Array, columns: NDArray[np.intp], scores: Array) -> Array:
    """Rows (k, m) times factors (m,); that times residuals is added to the scores (b, m) of these columns.

    By a compiled loop where its compiler is there already, since a simulation has asked for it; numbers are the same.
    """
    if "numba" not in sys.modules:
        scaled = rows * factor
        scores[columns] += scaled * residual
        return np.asarray(scaled)
    from inertica.estimators.loops import add_scores

    contiguous, scaled = np.ascontiguousarray(rows), np.empty(rows.shape)
    add_scores(contiguous, factor, residual, columns, scaled, scores)
    return scaled


def _add_lagged(series: Array, kernel: Array, out: Array) -> None:
    """out[:, t] += sum over lags l = 1, 2, ... of kernel[l - 1] series[:, t - l]; likewise."""
    if "numba" in sys.modules:
        from inertica.estimators.loops import add_lagged

        add_lagged(series, kernel, out)
        return
    for signal, into in zip(series, out, strict=True):
        for lag, weight in enumerate(kernel, 1):
            into[lag:] += weight * signal[:-lag]


@dataclass(frozen=True, eq=False)
class Colour:
    """Autocovariance of one joint's residuals at lags 0, 1, ..., windowed."""

    gamma: Array

    def between(self, W: Array) -> Array:
        """(k, k) sum_l gamma(l) sum_k W_k' W_{k+l} of rows W (m, k)."""
        lags = min(len(self.gamma), len(W))
        if lags == 1:
            return self.gamma[0] * (W.T @ W)
        V = self.coloured(W.T)
        return np.asarray(V @ V.T)

    def coloured(self, rows: Array) -> Array:
        """Rows (k, m) turned so that their products are the covariances of what they make of such residuals: (k, M)."""
        m = rows.shape[1]
        lags = min(len(self.gamma), m)
        if lags == 1:
            return np.sqrt(self.gamma[0]) * rows
        # zero-padded by the lags, so that the circular convolution does not wrap round
        size = next_fast_len(m + lags, real=True)
        around = np.zeros(size)
        around[:lags] = self.gamma[:lags]
        around[size - lags + 1 :] = self.gamma[1:lags][::-1]
        power = np.maximum(rfft(around).real, 0.0)  # a window with sharp edges may dip below zero
        power[1 : (size + 1) // 2] *= 2.0  # frequencies that have a negative partner
        V = rfft(np.ascontiguousarray(rows), size, axis=1)
        V *= np.sqrt(power / size)
        return V.view(np.float64)  # real and imaginary parts side by side


def colours(residual: Array, use: NDArray[np.bool_], parameters: int) -> list[Colour]:
    """Colour of each joint's residuals, corrected for the freedom the fit has taken."""
    out: list[Colour] = []
    pairs: dict[bytes, Array] = {}
    for products, used in zip(_products(residual.T), use.T, strict=True):
        if (key := used.tobytes()) not in pairs:  # mostly the same for all joints
            pairs[key] = _pairs(used)
        gamma = products / pairs[key]
        lags = correlated_lags(gamma / gamma[0] if gamma[0] > 0.0 else gamma, int(np.count_nonzero(used)))
        window = np.clip(2.0 - np.arange(2 * lags) / max(lags, 1), 0.0, 1.0) if lags else np.ones(1)
        gamma = gamma[: len(window)] * window[: len(gamma)]
        time = max(1.0, float(2.0 * gamma.sum() / gamma[0] - 1.0)) if gamma[0] > 0.0 else 1.0
        out.append(Colour(_left(np.count_nonzero(used) / time, parameters / residual.shape[1]) * gamma))
    return out


def _freedom(times: Array, use: NDArray[np.bool_], parameters: int) -> float:
    """By how much the squares of errors exceed those of residuals, on average over the joints."""
    return _left(np.count_nonzero(use, axis=0).mean() / float(np.mean(times)), parameters / use.shape[1])


def correlation_times(residual: Array) -> Array:
    """(n,) correlation time of every joint."""
    return np.array([_time(rho) for rho in _autocorrelations(residual.T)])


def _left(samples: float, lost: float) -> float:
    # at most a factor 4: with fewer independent samples than that the correction itself is noise
    return samples / max(samples - lost, 0.25 * samples, 1e-300)


@dataclass(frozen=True, eq=False)
class Phases:
    """Rows of a motion that repeats, by their place in the period.

    What a wrong model misses comes back with the motion.  Autocovariances up to some lag do not see that; sums over the periods at
    each place do, and of noise that is independent from one period to the next they are as large as it.

    Args:
        labels: (m,) place of every row.
        count: of places.
    """

    labels: NDArray[np.intp]
    count: int

    @classmethod
    def of(cls, rows: int, period: float | None) -> Phases | None:
        """As many places as a period has rows; None without a period of several rows."""
        count = 0 if period is None else int(period * rows)
        return None if count < FEWEST_PLACES else cls(part_labels(rows, count, period), count)

    def sums(self, values: Array, where: slice = slice(None)) -> Array:
        """(count, k) of values (m, k) over the periods.

        Args:
            where: the rows that the values are of.
        """
        out = np.zeros((self.count, values.shape[1]))
        np.add.at(out, self.labels[where], values)
        return out

    def lags(self, residual: Array) -> int:
        """For `long_run` of such sums."""
        return lags_for(self.count, correlation_times(self.sums(residual)))

    def times(self, residual: Array) -> Array:
        """(n,) by how much the variance of a sum of residuals (m, n) exceeds that of as many independent ones."""
        sums, squares = self.sums(residual), np.sum(residual**2, axis=0)
        share = np.divide(np.sum(sums**2, axis=0), squares, out=np.ones(len(squares)), where=squares > 0.0)
        return np.maximum(correlation_times(residual), share * correlation_times(sums))


def residual_times(system: Observations, beta: Array) -> Array:
    """(n,) correlation time of every joint's residuals in samples, mean over the motions; what returns every period is correlated."""
    times = []
    for (residual, use), period in zip(system.records_without_rows(beta), system.periods, strict=True):
        r = residual * use
        phases = Phases.of(len(r), period)
        times.append(correlation_times(r) if phases is None else phases.times(r))
    return np.asarray(np.mean(times, axis=0))


def lags_for(N: int, times: Array) -> int:
    """Lags to include: several times the longest correlation time, at least the rate-optimal share of the sample size."""
    # N^(1/5) is the rate that balances bias and variance of the Parzen kernel; four correlation times keep the bias small
    return int(np.clip(np.ceil(max(4.0 * times.max(), 1.3 * N ** (1 / 5))), 1, min(MOST_LAGS, max(N // 4, 1))))


def correlation_time(residual: Array) -> float:
    """Integrated autocorrelation time in samples, 1 for white noise, largest over the joints (initial positive sequence)."""
    return max((_time(rho) for rho in _autocorrelations(residual.T)), default=1.0)


def _time(rho: Array) -> float:
    """The same of one joint, from its autocorrelation."""
    # sums of neighbouring lags are positive for a reversible chain (Geyer); the first that is not ends the sum
    pairs = rho[1:-1:2] + rho[2::2] if len(rho) > 3 else np.zeros(0)
    ends = np.flatnonzero(pairs <= 0.0)
    last = 2 * int(ends[0]) if len(ends) else 2 * len(pairs)
    return max(1.0, 1.0 + 2.0 * float(rho[1 : 1 + last].sum()))


def correlated_lags(rho: Array, samples: int) -> int:
    """The last lag at which an autocorrelation of so many samples is more than noise; 0 for white noise (Politis' rule)."""
    # twice the standard deviation of an autocorrelation of white noise, with Politis' logarithmic allowance for many lags
    noise = 2.0 * np.sqrt(np.log10(max(samples, 10)) / max(samples, 10))
    loud = np.flatnonzero(np.abs(rho[1 : MOST_LAGS + 1]) >= noise) + 1
    previous = np.concatenate([[0], loud])
    gaps = np.flatnonzero(np.diff(np.append(previous, len(rho) + QUIET)) > QUIET)
    return int(min(previous[gaps[0]], MOST_LAGS // 2))


def autocovariance(r: Array, use: NDArray[np.bool_]) -> Array:
    """Mean of r_k r_{k+l} at lags 0, 1, ... up to half the record, over pairs of which both take part; r is zero elsewhere."""
    return np.asarray(_products(r) / _pairs(use))


def _pairs(use: NDArray[np.bool_]) -> Array:
    """How many pairs of samples take part at each lag up to half the record, at least one."""
    if use.all():
        return np.arange(len(use), len(use) - _half(len(use)), -1.0)
    return np.maximum(np.rint(_products(use.astype(float))), 1.0)


def _products(r: Array) -> Array:
    """Sum of r_k r_{k+l} at lags 0, 1, ... up to half the record, of one series (N,) or of several (k, N)."""
    size = next_fast_len(2 * r.shape[-1], real=True)
    return np.asarray(irfft(np.abs(rfft(r, size)) ** 2, size)[..., : _half(r.shape[-1])])


def _half(samples: int) -> int:
    return max(1, min(samples // 2, MOST_LAGS))


def autocorrelation(r: Array, lags: int | None = None) -> Array:
    """Autocorrelation at lags 0, 1, ...; 1 at lag 0."""
    return _autocorrelations(r[None], lags)[0]


def _autocorrelations(rows: Array, lags: int | None = None) -> Array:
    """The same of several series (k, N), which are transformed together."""
    N = rows.shape[1]
    lags = min(N - 1, lags or N // 2)
    # transforms twice as long as the record, so that products do not wrap round
    centred = rows - rows.mean(axis=1, keepdims=True)
    size = next_fast_len(2 * N)
    power = irfft(np.abs(rfft(centred, size)) ** 2, size)[:, : lags + 1]
    still = power[:, :1] <= 0.0
    return np.where(still, np.eye(1, power.shape[1]), power / np.where(still, 1.0, power[:, :1]))


def parzen(x: float) -> float:
    """A kernel that keeps S positive semidefinite."""
    return 1.0 - 6.0 * x**2 + 6.0 * x**3 if x <= 0.5 else 2.0 * (1.0 - x) ** 3
