"""Logs of commands and positions as records for the fit; logs that no fit can use are refused, each with the reason."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inertica.arrays import Array
from inertica.checks.seen import refuse_sizes, refuse_spikes
from inertica.errors import InputError
from inertica.estimators.actuators.record import Record
from inertica.logs.log import Log

GAP = 20.0
"""Sampling intervals without a sample after which the simulation begins anew: what was commanded meanwhile is not known."""

FEWEST = 50
"""Samples of a stretch."""

STILL = 1e-3
"""Share of the largest motion of all joints of a kind up to which a joint counts as held."""

PUSHED = 0.1
"""Share of the largest motion up to which a joint without commands may give way to what the others do to it."""

DRIFT = 2.0
"""Sampling intervals, beside the lag itself, by which the lag of the positions may change along a log."""


def records(log: Log, load: Array | None = None) -> list[Record]:
    """The stretches of a log between long gaps.

    Args:
        log: of all joints.
        load: (10 n,) what was fixed to the links meanwhile adds to their parameters.
    """
    name = str(log.origin)
    refuse_sizes(log)
    refuse_spikes(log, "q", "qr")
    q, command = _signals(log)
    usable = ~log.mask & np.isfinite(log.t)
    if np.count_nonzero(usable) < FEWEST:
        raise InputError(f"{name} has {np.count_nonzero(usable)} usable samples; {FEWEST} are the least to find actuators from")
    t, q = log.t[usable], q[usable]
    commands = {"q": _held(command[usable])}
    for name_of_target, signal in (("dqr", "dq"), ("taur", "tau")):
        target = log.signals.get(name_of_target)
        if target is not None and np.isfinite(target).any(axis=0).all():
            commands[signal] = _held(target[usable])
    ends = np.flatnonzero(np.diff(t) > GAP * np.median(np.diff(t))) + 1
    out = []
    for part in np.split(np.arange(len(t)), ends):
        if len(part) >= FEWEST:
            use = np.isfinite(q[part])
            stretch = {s: u[part] for s, u in commands.items()}
            out.append(Record(name, t[part], np.where(use, q[part], 0.0), use, stretch, load=load))
    if not out:
        raise InputError(f"{name} has no stretch of {FEWEST} samples without a gap of {GAP:g} sampling intervals")
    return out


def check(records: Sequence[Record], names: Sequence[str]) -> tuple[int, ...]:
    """The joints that move under their commands; columns that cannot be right are refused.

    Args:
        found: records of all logs.
        names: of the joints.
    """
    travel = np.max([np.ptp(r.q, axis=0) for r in records], axis=0)
    commanded = np.max([np.ptp(r.commands["q"], axis=0) for r in records], axis=0)
    if not np.any(commanded > 0.0):
        raise InputError(
            f"{records[0].name}: the commands never change, so nothing of the actuators shows; record steps or sines of every joint"
        )
    small_q, small_u = STILL * travel.max(), STILL * commanded.max()
    for j, name in enumerate(names):
        still, constant = travel[j] <= small_q, commanded[j] <= small_u
        if still and not constant:
            raise InputError(
                f"{records[0].name}: the position of joint {j + 1} ({name}) is constant while its command moves by "
                f"{commanded[j]:.3g}; is the column of another signal, or was the drive off?",
                joint=name,
            )
        if constant and travel[j] > PUSHED * travel.max():
            raise InputError(
                f"{records[0].name}: the command of joint {j + 1} ({name}) is constant while the joint moves by {travel[j]:.3g}; name "
                'the column of its position targets in the card: columns: {qr: "NAME_{}"}',
                joint=name,
            )
    for record in records:
        _check_clocks(record, names)
    return tuple(int(j) for j in np.flatnonzero(commanded > small_u))


def _signals(log: Log) -> tuple[Array, Array]:
    name = str(log.origin)
    if "qr" not in log.signals:
        have = ", ".join(log.signals)
        raise InputError(
            f"{name} has no commands (position targets qr), only {have}; `actuators` needs what every joint was told to do: name the "
            'columns in the card: columns: {qr: "NAME_{}"}, or log them beside the positions'
        )
    q, command = np.array(log.need("q")), np.array(log.signals["qr"])
    for j, joint in enumerate(log.joints):
        for what, values in (("position", q), ("command", command)):
            if not np.isfinite(values[:, j]).any():
                raise InputError(f"{name} has no {what} of joint {j + 1} ({joint})", joint=joint)
    return q, command


def _held(command: Array) -> Array:
    """A command where it is missing is the last one before, the first one at the beginning."""
    out = command.copy()
    for column in out.T:
        known = np.flatnonzero(np.isfinite(column))
        at = np.clip(np.searchsorted(known, np.arange(len(column)), "right") - 1, 0, None)
        column[:] = column[known[at]]
    return out


PARTS = 6
"""Stretches of a log whose lags are compared."""

SURE = 4.0
"""Standard errors by which the lag must change."""


def _check_clocks(record: Record, names: Sequence[str]) -> None:
    """Refuses a log in which positions lag behind commands by more and more.

    A servo's own lag changes with the frequencies that are commanded; a change that may as well be theirs accuses no clock, unless
    positions come before their commands.
    """
    stretches = np.array_split(np.arange(len(record.t)), PARTS)
    lags, rates = list[list[float]](), list[list[float]]()
    for j in range(len(names)):
        command = record.commands["q"][:, j]
        parts = [_lag(command[part], record.q[part, j]) for part in stretches]
        known = [lag for lag in parts if lag is not None]
        if len(known) == PARTS:
            lags.append(known)
            rates.append([float(np.std(np.diff(command[part])) / np.std(command[part])) for part in stretches])
    if not lags:
        return
    middle, rate = np.median(lags, axis=0), np.median(rates, axis=0)
    X = np.column_stack([np.ones(PARTS), np.arange(PARTS) - (PARTS - 1) / 2, rate - rate.mean()])
    slope = (np.linalg.pinv(X) @ middle)[1]
    rest = middle - X @ (np.linalg.pinv(X) @ middle)
    error = np.sqrt(rest @ rest / (PARTS - X.shape[1]) * np.linalg.pinv(X.T @ X)[1, 1])
    drift = float(slope * PARTS)
    sure = abs(slope) > SURE * error or np.min(middle) < -DRIFT
    if abs(drift) > DRIFT + abs(np.median(middle)) and sure:
        whole = record.t[-1] - record.t[0]
        raise InputError(
            f"{record.name}: positions lag behind commands by {abs(drift) * record.period:.3g} s "
            f"{'more' if drift > 0 else 'less'} at the end of the {whole:.3g} s than at their beginning: the two have different "
            "clocks; bring both to one clock before the fit"
        )


def _lag(command: Array, position: Array) -> float | None:
    """Samples by which a position lags behind its command; None where the stretch does not tell."""
    u, q = command - command.mean(), position - position.mean()
    if not (np.any(u) and np.any(q)):
        return None
    size = 2 * len(u)
    correlation = np.fft.irfft(np.fft.rfft(q, size) * np.conj(np.fft.rfft(u, size)), size)
    half = len(u) // 4
    lags = np.arange(-half, half + 1)
    values = correlation[lags % size]
    best = int(np.argmax(values))
    if values[best] < 0.8 * np.linalg.norm(u) * np.linalg.norm(q) or best in (0, len(lags) - 1):
        return None
    a, b, c = values[best - 1 : best + 2]
    return float(lags[best] + 0.5 * (a - c) / (a - 2.0 * b + c))
