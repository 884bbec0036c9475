"""Logs of robots with closed loops: positions of joints that nobody measured, from the others, and efforts where they count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from inertica.arrays import Array, Mask
from inertica.errors import FileError
from inertica.logs.channels import ChannelSelection, select
from inertica.logs.readers.options import ColumnMap
from inertica.logs.readers.table import Table
from inertica.robot.description import Description
from inertica.robot.loops import complete, follow, gap, project
from inertica.robot.model import Limits, Robot

_PATHS = (("q", "dq"), ("qr", "dqr"))
"""Positions and their rates, which dependent joints have as well."""


def select_recorded(
    table: Table, names: Sequence[str], stated: ColumnMap, description: Description
) -> tuple[ChannelSelection, tuple[int, ...]]:
    """The columns of a file, and the joints that they belong to: all of the robot's own, or only the independent ones.

    A file that numbers its joints and has as many as there are independent ones counts those.
    """
    robot = description.robot
    independent, everything = robot.independent, tuple(range(robot.driven))
    few = [names[j] for j in independent] if len(names) == robot.driven else list(names)
    counts = {len(columns) for columns in stated.values() if not isinstance(columns, str)}
    if len(names) == robot.driven and len(independent) not in counts:
        whole = select(table, names, stated, description.source.movable)
        rows = whole.signals.values()
        complete_rows = all(row[j] is not None for row in rows for j in independent)
        if not robot.dependent or (complete_rows and any(row[j] is not None for row in rows for j in robot.dependent)):
            return whole, everything
    return select(table, few, stated, description.source.movable), independent


def limits_of(robot: Robot, joints: Sequence[int]) -> Limits:
    """The limits of some joints."""
    names = ("lower", "upper", "velocity", "acceleration", "torque")
    return Limits(**{name: tuple(getattr(robot.limits, name)[j] for j in joints) for name in names})


def closed_signals(
    table: Table, robot: Robot, t: Array, signals: Mapping[str, Array], recorded: Mapping[str, Array]
) -> tuple[dict[str, Array], list[str]]:
    """Signals (N, driven) of a robot with closed loops, and what was done.

    Args:
        table: of the file.
        robot: with its loops.
        t: (N,) clock.
        signals: of the independent joints, on their side of the gears.
        recorded: of all joints, as far as the file has them.

    Raises:
        FileError: loops do not close at recorded positions.
    """
    ind, dep = list(robot.independent), list(robot.dependent)
    out: dict[str, Array] = {}
    for symbol, values in signals.items():
        out[symbol] = np.full((len(values), robot.driven), np.nan)
        out[symbol][:, ind] = values
        if symbol in recorded and symbol in ("q", "tau"):
            out[symbol][:, dep] = recorded[symbol][:, dep]
    names = ", ".join(robot.joint_names[j] for j in dep)
    notes = [f"{names} follow from the other joints, which close the loops of {robot.name}"]
    for position, rate in _PATHS:
        if position not in out:
            continue
        before, whole = out[position], np.zeros((len(t), robot.n))
        whole[:, : robot.driven] = before
        whole, done = follow(robot, whole)
        _check_closed(table, robot, t, whole, done, np.asarray(np.isfinite(before[:, ind]).all(axis=1)))
        if position == "q":
            notes += _difference(robot, before[:, dep], whole[:, dep])
        out[position] = whole[:, : robot.driven]
        rates = np.zeros(whole.shape)
        if rate in out:
            rates[:, : robot.driven] = np.where(np.isfinite(out[rate]), out[rate], 0.0)
            out[rate][:, dep] = complete(robot, whole[done], rates[done], rates[done])[1][:, dep] if done.all() else np.nan
    if "tau" in out and "q" in out:
        out["tau"] = _projected(robot, out["q"], out["tau"])
    return out, notes


def _check_closed(table: Table, robot: Robot, t: Array, q: Array, done: Mask, usable: Mask) -> None:
    lost = np.flatnonzero(usable & ~done)
    if not len(lost):
        return
    row = int(lost[0])
    words, size = gap(robot, q[row])
    where = ", ".join(f"{robot.joint_names[j]} = {q[row, j]:.4g}" for j in robot.independent)
    raise FileError(
        table.path,
        f"the loop '{words}' cannot close at {len(lost)} of {len(q)} samples, the first at t = {t[row]:.6g} s ({where}), where "
        f"{size:.3g} stays open; check frames and lengths of the loops, signs and zeros of the columns",
    )


def _difference(robot: Robot, recorded: Array, closed: Array) -> list[str]:
    """A word on dependent joints that were recorded as well."""
    known = np.isfinite(recorded).all(axis=0)
    if not known.any():
        return []
    off = np.sqrt(np.mean((recorded - closed)[:, known] ** 2, axis=0))
    worst = int(np.argmax(off))
    name = robot.joint_names[np.array(robot.dependent)[known][worst]]
    return [
        f"recorded positions of joints that follow differ by up to {off[worst]:.2g} rms ({name}) from those that close the loops"
    ]


def _projected(robot: Robot, q: Array, tau: Array) -> Array:
    """Efforts of dependent joints, where recorded, as those of the independent ones; their own rows say nothing more."""
    dep = list(robot.dependent)
    out = np.array(tau)
    if np.isfinite(tau[:, dep]).any() and np.nanmax(np.abs(tau[:, dep])) > 0.0:
        whole = np.zeros((2, len(q), robot.n))
        whole[0, :, : robot.driven], whole[1, :, : robot.driven] = np.where(np.isfinite(q), q, 0.0), tau
        whole[1, :, dep] = np.where(np.isfinite(whole[1, :, dep]), whole[1, :, dep], 0.0)
        out = project(robot, whole[0], whole[1])[:, : robot.driven]
    out[:, dep] = 0.0
    return out
