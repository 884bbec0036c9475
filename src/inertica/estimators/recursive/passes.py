"""Passes of a filter over the records of a problem, and what they leave: estimate, covariance, history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from inertica.arrays import Array
from inertica.dynamics.transition import Transition
from inertica.errors import InerticaError, InputError
from inertica.estimators.base import History
from inertica.estimators.covariance import correlation_time
from inertica.estimators.recursive import filter_state
from inertica.estimators.recursive.records import Record
from inertica.estimators.recursive.tuning import Variances

BEYOND = 100.0
"""Times the motion of a record, farther than which no point of a filter goes."""

ROWS = 400
"""Of a history."""

LEAST = 100
"""Innovations whose correlation can be told."""

MOST = 2e9
"""Bytes that a smoother may keep."""


@dataclass(frozen=True, eq=False)
class FilterHistory(History):
    """A filter over time, with (K,) normalised innovations squared."""

    nis: Array


@dataclass(frozen=True, eq=False)
class FilterPass:
    """What a filter found.

    Args:
        beta: (p,) parameters.
        covariance: (p, p)
        score: minus twice the logarithm of the likelihood of the innovations.
        nis: mean normalised innovation squared, per joint; one for variances that are right.
        broke: s into the record at which the filter broke down; None when it did not.
        history: of the last pass.
        correlation: integrated correlation time of the innovations in samples; one for variances and a model that are right.
        states: per record (N, 2n), smoothed or empty.
    """

    beta: Array
    covariance: Array
    score: float
    nis: float
    broke: float | None
    history: FilterHistory
    correlation: float = 1.0
    states: tuple[Array, ...] = ()

    def widened(self) -> FilterPass:
        """With a covariance that allows for innovations larger than predicted, and not independent of each other.

        What lasts moves parameters: counted is the power of innovations at low frequencies, beside the one that was predicted.
        """
        factor = max(self.nis * self.correlation, 1.0)
        history = replace(self.history, std=np.sqrt(factor) * self.history.std)
        return replace(self, covariance=factor * self.covariance, history=history)


def joined(parts: Sequence[FilterPass]) -> FilterPass:
    """Records one after the other: the last estimate, the history of all."""
    histories, end = [], 0.0
    for part in parts:
        h = part.history
        histories.append(replace(h, t=h.t + end))
        end = float(histories[-1].t[-1]) if len(h.t) else end
    whole = FilterHistory(*(np.concatenate([getattr(h, name) for h in histories]) for name in ("t", "beta", "std", "nis")))
    last = parts[-1]
    score, nis = float(np.sum([p.score for p in parts])), float(np.mean([p.nis for p in parts]))
    correlation = max(p.correlation for p in parts)
    return replace(
        last, score=score, nis=nis, correlation=correlation, history=whole, states=tuple(s for p in parts for s in p.states)
    )


def kalman(
    kind: str, shape: tuple[float, float, float], transition: Transition, records: Sequence[Record], beta: Array, v: Variances,
    smooth: bool = False, dtype: type = np.float64,
) -> FilterPass:  # fmt: skip
    """One pass of a Kalman filter.

    Args:
        kind: ekf, ukf, cdkf, or one of these with `sr` in front.
        shape: alpha, beta, kappa of the unscented filter; h in the first place for central differences.
        transition: from sample to sample.
        records: in order.
        beta: (p,) to begin with.
        v: variances.
        smooth: run the smoother over each record.
        dtype: of covariances.
    """
    from inertica.dynamics.llvm.stepping import stepper  # imports Numba
    from inertica.estimators.recursive import kalman as compiled

    root, plain = kind.startswith("sr"), kind.removeprefix("sr")
    rates, _code = stepper(transition, True)
    s, _plain_code = (rates, _code) if plain == "ekf" else stepper(transition, False)
    n, d = transition.n, transition.size
    points = filter_state.Points(*weights(plain, shape, d))
    first: Any = np.diag(np.sqrt(np.roll(v.first, -2 * n)) if root else v.first).astype(
        dtype
    )  # factors have the parameters first
    P: Any = first.copy()
    begun = np.array(beta, float)
    parts: list[FilterPass] = []
    for record in records:
        N, every = len(record.t), max(1, -(-len(record.t) // ROWS))
        noise = noises(v, record, records)
        stored = arrays(N, n, d, every, smooth)
        z = np.concatenate([record.start, beta])
        memory = np.zeros(n * len(transition.memory))
        with np.errstate(all="ignore"):
            process = filter_state.Process(s, rates, driven(record, begun), record.steps)
            belief = filter_state.Belief(z, P, np.array(noise.parameter), memory)
            at = compiled.run(root, points, process, record.q, record.used, belief, noise, stored)
        done = N if at < 0 else at
        if at < 0:
            beta = z[2 * n :].copy()
        elif not done:
            P = first
        states: tuple[Array, ...] = ()
        if smooth and at < 0:
            states = (_smoothed(stored, noise, record.t, every)[:, : 2 * n],)
        wide, b = np.asarray(P, float), d - 2 * n
        C = wide[:b, :b].T @ wide[:b, :b] if root else wide[2 * n :, 2 * n :]
        parts.append(replace(passed(record, stored, done, every, C, beta, 2 * n, at), states=states))
        if at >= 0:
            break
        P = first.copy()  # another record begins anew, but for what is known of the parameters
        where = slice(None, b) if root else slice(2 * n, None)
        P[where, where] = wide[where, where]
    return joined(parts)


def driven(record: Record, start: Array) -> Any:
    """Tables of a record as compiled loops take them (`drive.Drive`), for a pass that begins with such parameters."""
    from inertica.estimators.recursive.drive import Drive

    return Drive(record.table, record.calm, start)


def noises(v: Variances, record: Record, records: Sequence[Record]) -> Any:
    """Variances of one of the records as compiled loops take them (`filter_state.FilterNoise`)."""
    step, n = float(records[0].t[1] - records[0].t[0]), len(v.measurement)
    torque = np.zeros((0, 2 * n, n))
    if v.drive is not None and len(record.ease):
        # change of velocity over a step by the torque noise: M^-1 times its standard deviation times dt
        velocity = step * record.ease * np.sqrt(v.drive)
        torque = np.concatenate([velocity, 0.5 * step * velocity], axis=1)
    jump = np.zeros((n, n)) if v.jump is None else v.jump
    # variances: jump of the velocity, and half a step of it for the position
    twice, slow = np.concatenate([jump**2, (0.5 * step * jump) ** 2]), np.diag(jump).copy()
    return filter_state.FilterNoise(
        v.state, v.parameter.copy(), v.shrink, v.floor, v.measurement, reach(records), twice, slow,
        torque, record.thinned, record.behind,
    )  # fmt: skip


def reach(records: Sequence[Record]) -> Array:
    """(2n,) velocities and positions a hundred times beyond what records show."""
    pace = np.max([np.abs(np.diff(r.q, axis=0)).max(axis=0) / (r.t[1] - r.t[0]) for r in records], axis=0)
    way = np.max([np.ptp(r.q, axis=0) for r in records], axis=0)
    return np.asarray(BEYOND * np.concatenate([np.maximum(pace, 1e-3 * pace.max()), np.maximum(way, 1e-3 * way.max())]))


def weights(kind: str, shape: tuple[float, float, float], d: int) -> tuple[float, float, float]:
    """h, curve and offset of `filter_state.Points`."""
    if kind == "ekf":
        return 0.0, 0.0, 0.0
    if kind == "cdkf":
        h = shape[0]
        if h < 1.0:
            raise InputError(f"the interval h of central differences should be at least 1, not {h:g}")
        return h, (h**2 - 1.0) / (4.0 * h**4), 0.0
    alpha, beta, kappa = shape
    if not (alpha > 0.0 and beta >= alpha**2 and d + kappa > 0.0):
        raise InputError(
            f"an unscented filter needs alpha > 0, beta >= alpha^2 and kappa > -{d}, not {alpha:g}, {beta:g}, {kappa:g}"
        )
    h = alpha * float(np.sqrt(d + kappa))
    return h, 1.0 / (4.0 * h**2), beta - alpha**2


def arrays(N: int, n: int, d: int, every: int, smooth: bool = False) -> Any:
    """What a pass over N samples fills (`filter_state.PassRecord`)."""
    if smooth and 8.0 * N * d * (d + 2 * n + 1) > MOST:
        raise InputError(
            f"a smoother keeps the covariance of every sample, too much for {N} samples and {d} unknowns; cut or decimate the log"
        )
    M, K = N if smooth else 0, -(-N // every)
    return filter_state.PassRecord(
        np.zeros((N, n)), np.zeros((N, 2)), every, np.zeros((K, d)), np.zeros((K, d)), np.zeros((M, d, d)),
        np.zeros((M, 2 * n, d)), np.zeros((M, 2 * n, 2 * n)), np.zeros((M, 2 * n)), np.zeros((M, d)),
    )  # fmt: skip


def _smoothed(stored: Any, noise: Any, t: Array, every: int) -> Array:
    """(N, d) estimates given all measurements, which also take the place of those in the history."""
    from inertica.estimators.recursive.smoother import smooth

    q = [np.array(noise.parameter)]
    for _ in range(len(stored.all) - 1):
        q.append(np.maximum(noise.shrink * q[-1], noise.floor))
    at = smooth(stored, np.array(q))
    if at >= 0:
        raise InerticaError(
            f"the smoother ended at {t[at]:.4g} s, where the filter's covariance is not positive any more; "
            "use a square-root form (sr..), other variances (preset, tune), or no smoother"
        )
    stored.z[:], stored.std[:] = stored.all[::every], np.sqrt(np.maximum(np.diagonal(stored.P[::every], axis1=1, axis2=2), 0.0))
    return np.array(stored.all)


def passed(record: Record, stored: Any, done: int, every: int, C: Array, beta: Array, states: int, at: int) -> FilterPass:
    """The outcome of a pass over one record.

    Args:
        record: over which.
        stored: what the pass recorded, parameters behind so many `states`.
        done: samples it went through.
        every: samples between rows of the history.
        C: (p, p) covariance of the parameters.
        beta: (p,) parameters.
        states: columns of the state.
        at: sample at which the filter broke down, or -1.
    """
    # what the filter knew at its last recorded row, not the numbers it broke down with
    if at >= 0 and done:  # what it had found at the last row of its history
        row = (done - 1) // every
        beta, C = stored.z[row, states:], np.diag(stored.std[row, states:] ** 2)
    rows, scores = -(-done // every), stored.score[:done][record.used[:done]]
    nis = np.array([np.mean(x) for x in np.array_split(stored.score[:done, 0], rows)]) if rows else np.zeros(0)
    history = FilterHistory(
        record.t[:done:every] - record.t[0], stored.z[:rows, states:].copy(), stored.std[:rows, states:].copy(), nis
    )
    mean = float(np.mean(scores[:, 0]) / stored.innovation.shape[1]) if len(scores) else float("nan")
    broke = None if at < 0 else float(record.t[at] - record.t[0])
    score, left = float(np.sum(scores[:, 1])) if at < 0 else float("inf"), stored.innovation[:done][record.used[:done]]
    correlation = correlation_time(left) if len(left) > 2 * LEAST else 1.0
    return FilterPass(beta.copy(), 0.5 * (C + C.T), score, mean, broke, history, correlation)
