"""Start of the search: with a position servo the command error is a torque in units of kp, and its balance is linear.

    kp (command(t - delay) - q - zero) - kd dq = rigid torque + armature ddq + viscous dq + coulomb sign(dq)

Divided by kp this has the command error, which is known best, on the left, and 1/kp as the coefficient of the rigid torque.  All
signals pass the same low-pass filter; the delay is the one with the smallest residual.  Filters are cheap and none suits all logs:
every cut-off gives a start of its own, and simulation decides between them.

A delay and a damping both let positions lag, and with noisy derivatives the regression prefers the damping: a local minimum of the
output error, too, that no descent leaves.  So some starts share the whole lag between the two in fixed proportions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.signal import butter, sosfiltfilt

from inertica.arrays import Array
from inertica.dynamics import recursions
from inertica.estimators.actuators.record import Grid, Hold, Record, delayed
from inertica.estimators.actuators.values import ActuatorValues
from inertica.robot.model import Robot

CUTOFFS = (0.5, 0.25, 0.12, 0.06)
"""Cut-offs that are tried, in parts of the Nyquist frequency."""

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Of the lag of a position behind its command that further starts take for a delay."""

DELAY_STEP, MOST_DELAYS = 0.25, 80
"""Delays that are tried lie this part of a sampling interval apart, further where there would be too many."""


@dataclass(frozen=True, eq=False)
class _Smooth:
    """Filtered motion of one record on an even clock."""

    q: Array
    dq: Array
    ddq: Array
    rigid: Array
    inertia: Array
    inside: NDArray[np.bool_]


def starts(
    robot: Robot, links: Array, records: Sequence[Record], stated: ActuatorValues, known: frozenset[tuple[str, int]], hold: Hold
) -> list[ActuatorValues]:
    """Values to begin with: one set per cut-off, and one per share of the lag that may be a delay.

    Args:
        robot: joints that influence each other.
        links: (10 n,) parameters of their links.
        records: of these joints.
        stated: values of what is known; the rest is replaced.
        known: (quantity, joint) of them.
        hold: of commands between samples.
    """
    even = [_even(record) for record in records]
    searched = [_at_cutoff(robot, links, even, stated, known, hold, share, None) for share in CUTOFFS]
    if all(("delay", j) in known for j in range(robot.n)):
        return searched
    return searched + [_at_cutoff(robot, links, even, stated, known, hold, CUTOFFS[1], late) for late in SHARES]


def rigid_torque(robot: Robot, links: Array, q: Array, dq: Array, ddq: Array) -> Array:
    """(N, n) torque of links alone."""
    at = recursions.poses(robot, list(q.T))
    inertia = links.reshape(-1, 10).tolist()
    tau = recursions.inverse_dynamics(at, list(dq.T), list(ddq.T), inertia, robot.gravity)
    return np.stack([np.broadcast_to(x, len(q)) for x in tau], axis=1)


def link_inertia(robot: Robot, links: Array, q: Array) -> Array:
    """(N, n) diagonal of the inertia matrix of links alone."""
    inertia = links.reshape(-1, 10).tolist()
    M = recursions.mass_matrix(recursions.poses(robot, list(q.T)), inertia)
    return np.stack([np.broadcast_to(M[j][j], len(q)) for j in range(robot.n)], axis=1)


def _even(record: Record) -> Record:
    """The record on an even clock, without gaps."""
    t = record.t[0] + record.period * np.arange(int((record.t[-1] - record.t[0]) / record.period) + 1)
    q = np.empty((len(t), record.q.shape[1]))
    for j, use in enumerate(record.use.T):
        q[:, j] = np.interp(t, record.t[use], record.q[use, j])
    before = np.searchsorted(record.t, t, "right") - 1
    commands = {s: u[before] for s, u in record.commands.items()}
    return replace(record, t=t, q=q, use=np.ones(q.shape, bool), commands=commands)


def _at_cutoff(
    robot: Robot, links: Array, records: Sequence[Record], stated: ActuatorValues, known: frozenset[tuple[str, int]],
    hold: Hold, share: float, late: float | None,
) -> ActuatorValues:  # fmt: skip
    """Values by regression at one cut-off; `late` is the share of the lag that is a delay, None for what leaves least."""
    sos = butter(2, share, output="sos")
    smooth = [_smooth(robot, links, record, sos, share) for record in records]
    values = stated
    for j in range(robot.n):
        values = _joint(j, records, smooth, values, known, hold, sos, late)
    return values


def _smooth(robot: Robot, links: Array, record: Record, sos: Array, share: float) -> _Smooth:
    q = _filtered(record.q, sos)
    dq = np.gradient(q, record.period, axis=0)
    ddq = np.gradient(dq, record.period, axis=0)
    edge = min(int(np.ceil(3.0 / share)), len(q) // 4)
    inside = np.zeros(len(q), bool)
    # ends are left out as far as the filter rings there
    inside[edge : len(q) - edge] = True
    links = record.loaded(links)
    return _Smooth(q, dq, ddq, rigid_torque(robot, links, q, dq, ddq), link_inertia(robot, links, q), inside)


def _filtered(x: Array, sos: Array) -> Array:
    return np.asarray(sosfiltfilt(sos, x, axis=0, padlen=min(len(x) - 1, 30)))


def _joint(
    j: int, records: Sequence[Record], smooth: Sequence[_Smooth], stated: ActuatorValues, known: frozenset[tuple[str, int]],
    hold: Hold, sos: Array, late: float | None,
) -> ActuatorValues:  # fmt: skip
    """The values of one joint by regression, everything else as stated."""
    period = float(np.median([record.period for record in records]))
    delays = np.array([stated.delay[j]]) if ("delay", j) in known else _delays(records, j, period, late)
    commands = [_delayed(_filtered(_command(record, j, hold), sos), delays / record.period) for record in records]
    error = np.concatenate([(u - s.q[:, j : j + 1])[s.inside] for u, s in zip(commands, smooth, strict=True)])
    dq, ddq, rigid, inertia = (
        np.concatenate([getattr(s, name)[s.inside, j] for s in smooth]) for name in ("dq", "ddq", "rigid", "inertia")
    )
    kp = float(stated.kp[j]) if ("kp", j) in known else 0.0
    kd = float(stated.kd[j]) if ("kd", j) in known else 0.0
    one = np.ones(len(dq))
    columns = [one, dq, ddq, np.sign(dq)]
    if kp > 0.0:
        error = error - ((rigid + kd * dq) / kp)[:, None]
    else:
        columns.append(rigid)
    W = np.stack(columns, axis=1)
    size = np.linalg.norm(W, axis=0)
    # unit columns, so that the rank is judged alike for radians and N m
    W = W / np.where(size > 0.0, size, 1.0)
    solution = np.linalg.lstsq(W, error, rcond=None)[0]
    best = int(np.argmin(np.linalg.norm(error - W @ solution, axis=0)))
    # zero may have either sign, nothing else can be negative
    both = np.column_stack([-W[:, 0], W])
    # NNLS has no free variables: one that may have either sign enters twice, once negated
    x, _ = nnls(both, error[:, best])
    x = np.append(x[1] - x[0], x[2:]) / np.where(size > 0.0, size, 1.0)
    mean_inertia = float(np.mean(inertia))
    if kp == 0.0:
        kp = _stiffness(x, mean_inertia, W, error[:, best], size)
    floor = 1e-3 * mean_inertia if mean_inertia > 0.0 else 1e-3 * kp * period**2
    damping = max(kp * x[1], 1e-3 * kp * period)
    values = {
        "armature": max(kp * x[2], floor),
        "coulomb": max(kp * x[3], 1e-3 * kp * float(np.std(error[:, best])) + 1e-9 * kp),
        "delay": float(delays[best]),
        "zero": x[0],
        "kp": kp,
        "kd": damping if ("viscous", j) in known else 0.5 * damping,
        "viscous": damping if ("kd", j) in known else 0.5 * damping,
    }
    changes = {}
    for name, value in values.items():
        if (name, j) not in known:
            changes[name] = np.where(np.arange(stated.n) == j, value, getattr(stated, name))
    return stated.changed(**changes)


def _stiffness(x: Array, inertia: float, W: Array, error: Array, size: Array) -> float:
    """kp from the coefficient 1/kp of the rigid torque; where that says nothing, such that armature and links are alike."""
    if x[4] > 0.0 and x[4] * size[4] > 1e-2 * np.linalg.norm(error):
        return float(1.0 / x[4])
    y, _ = nnls(np.column_stack([-W[:, 0], W[:, :4]]), error)
    per_kp = y[3] / size[2] if size[2] > 0.0 else 0.0
    return float(2.0 * inertia / per_kp) if per_kp > 0.0 and inertia > 0.0 else 1.0


def _command(record: Record, j: int, hold: Hold) -> Array:
    """(N,) mean of a command around every sample."""
    grid = Grid(record.t[0] - 0.5 * record.period, record.period, len(record.t), *_nothing())
    return delayed(record.joints((j,)), "q", np.zeros(1), grid, hold)[0][:, 0]


def _delayed(u: Array, samples: Array) -> Array:
    """(N, delays) a filtered command, late by numbers of samples."""
    at = np.arange(len(u))
    return np.stack([np.interp(at - late, at, u) for late in samples], axis=1)


def _nothing() -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
    return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)


def _delays(records: Sequence[Record], j: int, period: float, late: float | None) -> Array:
    """Delays to try: the position cannot follow the command later than their correlation says, a sample is left for noise."""
    lag = _lag(records, j)
    if late is not None:
        return np.array([late * period * lag])
    return period * np.arange(-1.0, lag + 2.0, max(DELAY_STEP, (lag + 3.0) / MOST_DELAYS))


def _lag(records: Sequence[Record], j: int) -> int:
    """Samples by which a position lags behind its command, at most a quarter of the shortest record.

    Correlations of all records are added: those in which the joint hardly moves say as little as they can.
    """
    most = max(1, min(len(record.t) for record in records) // 4)
    total = np.zeros(most)
    for record in records:
        u, q = (x - x.mean() for x in (record.commands["q"][:, j], record.q[:, j]))
        size = 2 * len(u)
        total += np.fft.irfft(np.fft.rfft(q, size) * np.conj(np.fft.rfft(u, size)), size)[:most]
    return int(np.argmax(total))
