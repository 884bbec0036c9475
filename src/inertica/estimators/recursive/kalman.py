"""Compiled Kalman filters on z = (dq, q, beta): predict with the robot's transition, correct with measured positions.

    extended:      F = dz'/dz,  P' = F P F' + Q
    sigma points:  z +- h L_i with L L' = P give pairs z'_i+, z'_i- beside the centre z'_0,
                   e_i = z'_i+ - z'_i-,  c_i = z'_i+ + z'_i- - 2 z'_0,  mean z'_0 + sum c_i / (2 h^2),
                   P' = sum e_i e_i' / (4 h^2) + curve sum c_i c_i' + offset m m' + Q,   m = sum c_i / (2 h^2)

The unscented filter is h = alpha sqrt(d + kappa), curve = 1 / (4 h^2), offset = beta - alpha^2: its usual weights, summed up,
without the cancellation of a large negative weight.  Central differences are any h, curve = (h^2 - 1) / (4 h^4), offset = 0.
Pairs of points between which the model is not what two derivatives say of it (dry friction jumps, an inertia comes near zero or
below) are replaced by the exact derivative: with them as they are, the filter is a map that magnifies differences of rounding
tenfold every few samples (`sigma.find_bent`).  Parameters do not move, so only the 2n rows of the state are worked out.
Points lie along the columns of the lower triangular factor of P with the state first, so that points of the parameters do not move
the state.  Square-root forms keep a factor with the parameters first (`roots`).  P or its factor may be in single precision; z is
in double precision.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from inertica.compiled import njit
from inertica.estimators.recursive.drive import move_points, move_rates
from inertica.estimators.recursive.factors import (
    OPTIONS,
    SUMS,
    add_outer,
    add_rank_one,
    cholesky,
    innovation_factor,
    outer,
    predicted_covariance,
    product,
    subtract_outer,
    through,
    triangular,
)
from inertica.estimators.recursive.roots import (
    correct_root,
    cross_root,
    predict_root,
    product_root,
    root_covariance,
    state_first,
    turned,
)  # fmt: skip
from inertica.estimators.recursive.sigma import find_bent, sigma_covariance, sigma_rows, spread, straighten


class Work(NamedTuple):
    """Work arrays of one pass, allocated once.

    Args:
        low, gain: (n, n) factor of the innovation's covariance, and (d, n) P H' low^-T.
        wide, last, turns, extra, both: of square-root forms.
        factor: (d, d) of the covariance, from which points are spread.
        W: (2n, n) what torque noise adds to the state.
        A, X: (2n, d) covariance of the next state with the present z, and (2n, 2n) of the next state.
        F, x: (2n, d) derivative of the next state, and the next state.
        Z, Y: sigma points, and where they go.
        bent, D, slope: of pairs of points that are replaced by a derivative.
        state: (2n,) variances added to the state in this step.
        shift: (2n,) what the noise of the measured torque does to the state.
    """

    low: Any
    gain: Any
    wide: Any
    last: Any
    turns: Any
    extra: Any
    both: Any
    factor: Any
    W: Any
    A: Any
    X: Any
    F: Any
    x: Any
    Z: Any
    Y: Any
    bent: Any
    D: Any
    slope: Any
    state: Any
    shift: Any


@njit(**OPTIONS)
def _workspace(root: bool, points: Any, P: Any, n: int) -> Work:
    d, states = P.shape[0], 2 * n
    count = 2 * d + 1 if points.h > 0.0 else 1
    return Work(
        np.zeros((n, n), P.dtype),
        np.zeros((d, n), P.dtype),
        np.zeros((2 * d - states + 1 if root else 1, d), P.dtype),
        np.zeros((states, d + states), P.dtype),
        np.zeros((2, d - states, states), P.dtype),
        np.zeros((states, d + states + n), P.dtype),
        np.zeros((states, states + n), P.dtype),
        P.copy(),
        np.zeros((states, n)),
        np.zeros((states, d), P.dtype),
        np.zeros((states, states), P.dtype),
        np.zeros((states, d)),
        np.zeros(states),
        np.zeros((count, d)),
        np.zeros((count, states)),
        np.zeros(d, np.bool_),
        np.zeros((d, d)),
        np.zeros((d, states)),
        np.zeros(states),
        np.zeros(states),
    )


@njit(**OPTIONS)
def run(root: bool, points: Any, process: Any, y: Any, used: Any, belief: Any, noise: Any, stored: Any) -> int:
    """One pass over a record; returns the sample at which the filter broke down, or -1.

    Args:
        root: P is a factor L', P = L L' with the parameters first.
        points: of the sigma-point filter; h = 0 for the extended one.
        process: the transition from sample to sample.
        y: (N, n) measured positions.
        used: (N,) which of them count.
        belief: of the first sample before its correction; of the last one after it on return.
        noise: variances.
        stored: what is recorded.
    """
    N = y.shape[0]
    # allocated once for the pass, not in every step
    work = _workspace(root, points, belief.P, y.shape[1])
    for k in range(N):
        if used[k] and not _correct(root, belief, y[k], noise.measurement, work, stored, k):
            return k
        if k % stored.every == 0:
            _record(root, belief.z, belief.P, stored, k // stored.every)
        if stored.P.shape[0] > 0:
            for i in range(belief.z.shape[0]):
                stored.all[k, i] = belief.z[i]
            _covariance(root, belief.P, work.x.shape[0], stored.P[k])
        # the last sample is corrected and not predicted from, so that estimates end at the end of the record
        if k < N - 1 and not _predict(root, points, process, k, belief, noise, work, stored):
            return k
    return -1


@njit(**OPTIONS)
def _correct(root: bool, belief: Any, y: Any, R: Any, work: Any, stored: Any, k: int) -> bool:
    """Condition on the measured positions of sample k; False where the innovation's covariance is not positive."""
    if root:
        return bool(correct_root(belief.z, belief.P, y, R, work.wide, stored, k))
    return bool(_correct_covariance(belief.z, belief.P, y, R, work.low, work.gain, stored, k))


@njit(**OPTIONS)
def _predict(root: bool, points: Any, process: Any, k: int, belief: Any, noise: Any, work: Any, stored: Any) -> bool:
    """From sample k to the next; False where the covariance is not positive or the state is not finite."""
    z, P, x, smoothed = belief.z, belief.P, work.x, stored.P.shape[0] > 0
    if points.h > 0.0:
        if not _move_points(root, points, process, k, belief, noise, work):
            return False
        noise_now(noise, z, work.Y[0], work.state)
    else:
        steps = process.steps
        # state and its exact derivative advance in one pass; differences of the transition would lose half the digits
        move_rates(process.rates, process.drive, steps[k], steps[k + 1], z, belief.memory, work.shift, x, work.F)
        noise_now(noise, z, x, work.state)
    driven = fill_torque_noise(noise, k, work.W)
    if root:
        _predict_factor(points, driven, belief, work)
        if smoothed:
            cross_root(work.A, P, stored.cross[k])
        predict_root(P, work.A, work.extra, belief.added, work.wide, work.last)
        if points.h > 0.0 and points.offset > 0.0:
            _add_offset(points, P, work)
    else:
        if points.h > 0.0:
            sigma_covariance(points, work.Y, work.factor, work.A, work.X, x)
        else:
            # parameters stay where they are, so that only the 2n rows of the state change: F P instead of the whole of F P F'
            product(work.F, P, work.A)
            outer(work.A, work.F, work.X)
        if smoothed:
            for i in range(work.A.shape[0]):
                for j in range(work.A.shape[1]):
                    stored.cross[k, i, j] = work.A[i, j]
        predicted_covariance(P, work.A, work.X, work.state, belief.added)
        if driven:
            add_outer(P, work.W)
    for i in range(x.shape[0]):
        z[i] = x[i]
        if not np.isfinite(x[i]):
            return False
    if smoothed:
        for i in range(x.shape[0]):
            stored.before[k, i] = x[i]
        _covariance(root, P, x.shape[0], stored.ahead[k])
    for i in range(belief.added.shape[0]):
        # parameter noise anneals: large steps while little is known, down to the floor that keeps the filter awake
        belief.added[i] = max(noise.shrink * belief.added[i], noise.floor[i])
    return True


@njit(**OPTIONS)
def _move_points(root: bool, points: Any, process: Any, k: int, belief: Any, noise: Any, work: Any) -> bool:
    """Sigma points, and where the transition takes them; False where the covariance has no factor."""
    z, P, steps = belief.z, belief.P, process.steps
    if root:
        state_first(P, work.wide[: z.shape[0]], work.factor, work.turns)
    elif not cholesky(P, work.factor):
        return False
    before = belief.memory.copy()
    spread(points.h, z, work.factor, work.Z)
    move_points(process.s, process.drive, steps[k], steps[k + 1], z, work.Z, belief.memory, work.shift, work.Y)
    if find_bent(noise.reach, noise.slow, work.Y, points.h, work.bent):
        straighten(
            process.rates, process.drive, steps[k], steps[k + 1], work.bent, points.h, z, work.factor, before, work.D, work.slope,
            work.Y,
        )  # fmt: skip
    return True


@njit(**OPTIONS)
def _predict_factor(points: Any, driven: bool, belief: Any, work: Any) -> None:
    """Rows A of the predicted state in terms of the present factor, and rows `extra` of what noise adds."""
    state, W, both, extra = work.state, work.W, work.both, work.extra
    if points.h > 0.0:
        sigma_rows(points, work.Y, state, W, extra, work.A, work.x)
        turned(work.A, work.turns, work.wide)
        return
    product_root(work.F, belief.P, work.A)
    states = state.shape[0]
    for i in range(states):
        for j in range(states):
            both[i, j] = np.sqrt(state[i]) if i == j else 0.0
        for j in range(W.shape[1]):
            both[i, states + j] = W[i, j]
    if driven:  # a square factor of diag(state) + W W'
        triangular(both)
    for i in range(states):
        for j in range(states):
            extra[i, j] = both[i, j]


@njit(**OPTIONS)
def _add_offset(points: Any, P: Any, work: Any) -> None:
    """The term offset m m' of the unscented covariance, m the shift of the mean by curvature."""
    states, d = work.x.shape[0], P.shape[0]
    for i in range(states):
        work.gain[i, 0] = np.sqrt(points.offset) * (work.x[i] - work.Y[0, i])
    add_rank_one(P[d - states :, d - states :].T, work.gain[:states, 0])


@njit(**OPTIONS)
def noise_now(noise: Any, before: Any, after: Any, state: Any) -> None:
    """Variances of the state for a step from one velocity to another."""
    for i in range(state.shape[0]):
        state[i] = noise.state[i]
    for j in range(noise.slow.shape[0]):
        # within such a step dry friction changes sign at an instant that the samples do not show
        if abs(before[j]) < noise.slow[j] or before[j] * after[j] < 0.0:
            for i in range(state.shape[0]):
                state[i] += noise.jump[i, j]


@njit(**OPTIONS)
def fill_torque_noise(noise: Any, k: int, W: Any) -> bool:
    """W (2n, n): what the noise of the torques adds to the state behind sample k; False where none is stated."""
    K = noise.torque.shape[0]
    if K == 0:
        return False
    row = noise.torque[min((noise.behind + k) // noise.thinned, K - 1)]
    for i in range(W.shape[0]):
        for j in range(W.shape[1]):
            W[i, j] = row[i, j]
    return True


@njit(**SUMS)
def _correct_covariance(z: Any, P: Any, y: Any, R: Any, low: Any, gain: Any, stored: Any, at: int) -> bool:
    """P - W W' with W = P H' low^-T, low low' = H P H' + R."""
    n = y.shape[0]
    if not innovation_factor(P, R, np.zeros((n, n), P.dtype), low):
        return False
    # W = P H' low^-T; positions are entries n .. 2n of z
    through(P[:, n : 2 * n], low, gain)
    _move(z, y, low, gain, stored, at)
    subtract_outer(P, gain)
    return True


@njit(**OPTIONS)
def _move(z: Any, y: Any, low: Any, gain: Any, stored: Any, at: int) -> None:
    """z + gain low^-1 (y - q)"""
    n, d = y.shape[0], z.shape[0]
    white = np.zeros(n)
    square, size = 0.0, n * np.log(2.0 * np.pi)
    for i in range(n):
        total = y[i] - z[n + i]
        for j in range(i):
            total -= low[i, j] * white[j]
        # forward substitution: low^-1 (y - q) is white with unit variance when the assumed variances are right
        white[i] = total / low[i, i]
        stored.innovation[at, i] = white[i]
        square += white[i] * white[i]
        size += 2.0 * np.log(low[i, i])
    stored.score[at, 0] = square
    stored.score[at, 1] = square + size
    for k in range(d):
        for i in range(n):
            z[k] += gain[k, i] * white[i]


@njit(**OPTIONS)
def _record(root: bool, z: Any, P: Any, stored: Any, row: int) -> None:
    d = z.shape[0]
    states = 2 * stored.innovation.shape[1]
    for i in range(d):
        stored.z[row, i] = z[i]
        if root:
            stored.std[row, i] = np.sqrt(root_covariance(P, (i - states) % d, (i - states) % d))
        else:
            # rounding may leave a hair below zero on the diagonal of what the data know best
            stored.std[row, i] = np.sqrt(max(P[i, i], 0.0))


@njit(**OPTIONS)
def _covariance(root: bool, P: Any, states: int, out: Any) -> None:
    """Of as many leading entries of z as `out` has."""
    d = P.shape[0]
    for i in range(out.shape[0]):
        for j in range(out.shape[0]):
            if root:
                out[i, j] = root_covariance(P, (i - states) % d, (j - states) % d)
            else:
                out[i, j] = P[i, j]
