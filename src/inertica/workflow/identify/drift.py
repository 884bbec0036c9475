"""Friction that changes along a log: with the temperature of the drive where it was recorded (`temp1..`), else with time.

Viscous and Coulomb friction of a drive change by tens of percent while it warms up.  What a fit with constant friction leaves of
the torque then follows direction or velocity times a slow signal x,

    tau_j = ... + Fc (1 + a x + b x^2) sign(dq) + Fv (1 + c x + d x^2) dq,

x being the temperature, or the time since the log began, over the range that it went through, and zero in its mean.  A term is
claimed where it is as significant and explains as much as a piece of friction must, where friction with it brakes all along, and where
stretches of the data that were left out are predicted better with it beyond doubt; x^2 only beside x, and only of a recorded
temperature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from inertica.arrays import Array
from inertica.estimators.base import Problem
from inertica.estimators.structure.selection import ForwardSelection, Gain
from inertica.guard import Comparison, compare
from inertica.identifiability.labels import INTERVAL
from inertica.preprocessing.motion import Motion

SURE = 3.3
"""Standard deviations by which a term must differ from zero, as for a piece of friction."""

WORTHWHILE = 0.02
"""Share of a joint's squared error that a term must explain, as of a piece of friction."""

FEWEST = 0.5
"""Part of the samples of a joint that must have a temperature for it to be used."""


class By(Enum):
    """What friction changes with."""

    TEMPERATURE = "temperature"
    TIME = "time"


@dataclass(frozen=True)
class FrictionChange:
    """One kind of friction of one joint.

    Args:
        joint: its name.
        number: from 1.
        friction: coulomb or viscous.
        by: temperature, or time where none was recorded.
        change: from the lowest to the highest x, over the mean friction; with the 95 % interval.
        interval: of it.
        curvature: the same of x^2; None where it does not show.
        low, high: of x, in °C or s.
        mean: at which friction is the one of the parameters, in °C or s.
        compared: predictions of data left out with the term and without it.
    """

    joint: str
    number: int
    friction: str
    by: By
    change: float
    interval: tuple[float, float]
    curvature: float | None
    low: float
    high: float
    mean: float
    compared: Comparison


@dataclass(frozen=True)
class Drift:
    """What was found: changes, and joints of which temperature or time were looked at."""

    changes: tuple[FrictionChange, ...] = ()
    looked_at: tuple[str, ...] = field(default=())


@dataclass(frozen=True, eq=False)
class _Slow:
    """x of one joint: (N,) for every motion, zero in the mean and one from end to end, and what it stands for."""

    by: By
    values: tuple[Array, ...]
    low: float
    high: float
    mean: float


def friction_drift(problem: Problem, values: Array) -> Drift:
    """Which friction changes along the logs of a problem, and by how much.

    Args:
        problem: rows of torques, with the friction that was chosen.
        values: (P,) standard parameters that were found.
    """
    layout, motions = problem.base.layout, problem.motions
    places = {(p.joint, p.kind): k for k, p in enumerate(layout.parameters) if p.kind in ("coulomb", "viscous")}
    joints = sorted({j for j, _ in places if j is not None and j < layout.robot.driven})
    if not joints:
        return Drift()
    system = problem.observations
    selection, offered = ForwardSelection(system, system.sigmas), dict[tuple[int, str, int], int]()
    slow = {j: _slow(motions, j) for j in joints}
    for j in joints:
        for kind in ("coulomb", "viscous"):
            if (j, kind) in places:
                for power in (1, 2) if slow[j].by is By.TEMPERATURE else (1,):
                    offered[j, kind, power] = _offer(selection, motions, slow[j], (j, kind, power))
    selection.settle_colour(list(offered.values()))
    chosen = _chosen(selection, offered)
    names = layout.robot.joint_names
    changes = []
    for (j, kind, power), k in chosen.items():
        if power == 2:
            continue
        rest = [other for other in chosen.values() if other != k]
        gain, size = selection.gain(rest, k), float(values[places[j, kind]])
        # friction that pushed at one end would be something else
        if not size > abs(gain.amplitude) * max(float(np.abs(x).max()) for x in slow[j].values):
            continue
        spread = INTERVAL * abs(gain.amplitude / gain.z) / size
        bent = chosen.get((j, kind, 2))
        x, change = slow[j], gain.amplitude / size
        curvature = (
            None if bent is None else float(selection.gain([c for c in chosen.values() if c != bent], bent).amplitude / size)
        )
        changes.append(
            FrictionChange(
                names[j], j + 1, kind, x.by, change, (change - spread, change + spread), curvature, x.low, x.high, x.mean,
                _compared(selection, [*rest, k], rest),
            )
        )  # fmt: skip
    return Drift(tuple(changes), tuple(names[j] for j in joints))


def _chosen(selection: ForwardSelection, offered: dict[tuple[int, str, int], int]) -> dict[tuple[int, str, int], int]:
    """Forward over all joints, the most significant term first, until none is sure any more."""
    chosen, refused = dict[tuple[int, str, int], int](), set[tuple[int, str, int]]()
    while True:
        used = list(chosen.values())
        trials: dict[tuple[int, str, int], Gain] = {
            key: selection.gain(used, k)
            for key, k in offered.items()
            if key not in chosen and key not in refused and (key[2] == 1 or (key[0], key[1], 1) in chosen)
        }
        if not trials:
            return chosen
        best = max(trials, key=lambda key: abs(trials[key].z))
        if abs(trials[best].z) <= SURE:
            return chosen
        if trials[best].share > WORTHWHILE and _compared(selection, [*used, offered[best]], used).significantly_better:
            chosen[best] = offered[best]
        else:
            refused.add(best)


def _compared(selection: ForwardSelection, chosen: Sequence[int], without: Sequence[int]) -> Comparison:
    (errors, others), sizes = selection.left_out(chosen, without)
    return compare(errors, others, sizes)


def _offer(selection: ForwardSelection, motions: Sequence[Motion], slow: _Slow, term: tuple[int, str, int]) -> int:
    """Adds a term's column, decimated like the rows."""
    j, kind, power = term
    columns = []
    for motion, x in zip(motions, slow.values, strict=True):
        dq = motion.dq[:, j]
        column = (np.sign(dq) if kind == "coulomb" else dq) * x**power
        columns.append(motion.decimator.decimate(column[:, None])[:, 0])
    whole, blocks, start = np.concatenate(columns), [], 0
    for use in selection.use:
        blocks.append(whole[start : start + len(use)])
        start += len(use)
    return selection.add(j, blocks)


def _slow(motions: Sequence[Motion], j: int) -> _Slow:
    """Temperature of a joint where every log has it for most samples and it changes, else time since each log began."""
    recorded = [_temperature(motion, j) for motion in motions]
    if all(x is not None for x in recorded):
        known = [x for x in recorded if x is not None]
        if np.ptp(np.concatenate(known)) > 0.0:
            return _scaled(By.TEMPERATURE, known)
    return _scaled(By.TIME, [motion.t - motion.t[0] for motion in motions])


def _scaled(by: By, values: Sequence[Array]) -> _Slow:
    every = np.concatenate(values)
    low, high, mean = float(every.min()), float(every.max()), float(every.mean())
    return _Slow(by, tuple((x - mean) / (high - low) for x in values), low, high, mean)


def _temperature(motion: Motion, j: int) -> Array | None:
    """(N,) on the motion's clock; None where it was not recorded."""
    recorded = motion.log.signals.get("temp")
    if recorded is None:
        return None
    good = np.isfinite(recorded[:, j]) & np.isfinite(motion.log.t)
    if np.count_nonzero(good) < FEWEST * len(good):
        return None
    return np.interp(motion.t, motion.log.running[good], recorded[good, j])
