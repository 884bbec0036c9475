"""`Hypothesis`: a way in which the columns of a log may differ from what the model takes them for.

Each says how to undo it: which column to read instead, with which factor, which zero and which unit of time.  All of these act on a
prepared motion as they would on the raw log, because filters and differences are linear.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.robot.model import Robot, Vector

KINDS = ("joint signs", "joint order", "encoder zeros", "units", "mount")

SIDEWAYS, HANGING = "sideways", "hanging"

GAINS = (0.001, 0.01, 0.1, 10.0, 100.0, 1000.0)
"""Factors of one joint's torque that are tried: units, and gears that were forgotten or counted twice."""

GAIN_PRICE = 20.0
"""What any factor of any single joint has to be better by, besides: weak joints take most factors."""

UNITS = {0.001: "mN m instead of N m", 1000.0: "kN m instead of N m"}
"""Factors that bring a torque to N m -> what it was recorded in."""


@dataclass(frozen=True)
class Hypothesis:
    """What may be wrong with a log, and how to undo it.

    Args:
        kind: one of `KINDS`.
        text: what it says, as the end of "it looks as if ...".
        joints: 0-based joints it is about; empty for all.
        columns: (n,) the position to read as joint j's; None for as they are.
        torques: (n,) the torque to read as joint j's.
        turn: (n,) factors of the positions after that.
        zero: (n,) added to the positions after that, rad.
        gain: (n,) factors of the torques after that.
        gravity: free fall in the base frame; None for the model's.
        single: a factor of one joint's torque, which a tool or a link that the model has wrong explains as well.
        advice: what to do about it.
        price: added to its score, since it is the less likely the more of its kind there are.
    """

    kind: str
    text: str
    joints: tuple[int, ...] = ()
    columns: tuple[int, ...] | None = None
    torques: tuple[int, ...] | None = None
    turn: tuple[float, ...] | None = None
    zero: tuple[float, ...] | None = None
    gain: tuple[float, ...] | None = None
    gravity: Vector | None = None
    single: bool = False
    advice: str = ""
    price: float = 0.0

    @property
    def rescaled(self) -> tuple[int, ...]:
        """Joints whose positions it takes for ones in another unit."""
        return tuple(j for j, factor in enumerate(self.turn or ()) if abs(factor) != 1.0)

    @property
    def of_torques(self) -> bool:
        """Whether the motion is as recorded, and gravity as the model has it."""
        return self.columns is None and self.turn is None and self.zero is None and self.gravity is None

    def position(self, q: Array) -> Array:
        """Positions (N, n) as they would be without the fault."""
        out = self.velocity(q)
        return out if self.zero is None else out + np.array(self.zero)

    def velocity(self, dq: Array) -> Array:
        """Velocities or accelerations (N, n) without the fault."""
        out = dq if self.columns is None else dq[:, list(self.columns)]
        return out if self.turn is None else out * np.array(self.turn)

    def torque(self, tau: Array) -> Array:
        out = tau if self.torques is None else tau[:, list(self.torques)]
        return out if self.gain is None else out * np.array(self.gain)


AS_RECORDED = Hypothesis("as recorded", "the log is what it says")


def hypotheses(robot: Robot, moving: NDArray[np.bool_]) -> Iterator[Hypothesis]:
    """All that are tried; a joint that does not move has no sign and no zero of its own to tell.

    Args:
        robot: whose log it should be.
        moving: (n,) joints that move.
    """
    yield from _signs(robot, moving)
    yield from _orders(robot)
    yield from _zeros(robot, moving)
    yield from _units(robot)
    yield from _mounts(robot)


def _signs(robot: Robot, moving: NDArray[np.bool_]) -> Iterator[Hypothesis]:
    n, everything = robot.n, robot.independent
    for j in everything:
        one, name = _one(n, j, -1.0), f"joint {j + 1}"
        yield Hypothesis(
            "joint signs", f"the torque of {name} counts the other way round", (j,), gain=one,
            advice=f"change the sign of the torque of {name}",
        )  # fmt: skip
        if moving[j]:
            yield Hypothesis(
                "joint signs", f"the position of {name} counts the other way round", (j,), turn=one,
                advice=f"change the sign of the position of {name}",
            )  # fmt: skip
            yield Hypothesis(
                "joint signs", f"position and torque of {name} count the other way round", (j,), turn=one, gain=one,
                advice=f"change the sign of position and torque of {name}, or turn its axis about in the model",
            )  # fmt: skip
    if len(everything) > 1:
        yield Hypothesis(
            "joint signs", "all torques count the other way round", everything, gain=_driven(robot, -1.0),
            advice="change the sign of the torques (they may be those of the load on the drive)",
        )  # fmt: skip


def _orders(robot: Robot) -> Iterator[Hypothesis]:
    everything = robot.independent
    for a, b in combinations(everything, 2):
        order = list(range(robot.n))
        order[a], order[b] = b, a
        yield from _order(tuple(order), (a, b), f"{a + 1} and {b + 1} are swapped")
    if len(everything) > 3:
        order = list(range(robot.n))
        for a, b in zip(everything, reversed(everything), strict=True):
            order[a] = b
        yield from _order(tuple(order), everything, f"1 to {len(everything)} come in reverse order")


def _order(order: tuple[int, ...], joints: tuple[int, ...], words: str) -> Iterator[Hypothesis]:
    fix = "name them in the card's columns:, or put joints: in the order of the log"
    yield Hypothesis("joint order", f"position columns {words}", joints, columns=order, advice=fix)
    yield Hypothesis("joint order", f"torque columns {words}", joints, torques=order, advice=fix)
    yield Hypothesis(
        "joint order", f"columns {words}, positions and torques alike", joints, columns=order, torques=order, advice=fix
    )


def _zeros(robot: Robot, moving: NDArray[np.bool_]) -> Iterator[Hypothesis]:
    for j in robot.independent:
        if robot.joints[j].prismatic:
            continue
        for quarter, words in ((1, "90 degrees too low"), (-1, "90 degrees too high"), (2, "180 degrees off")):
            zero = [0.0] * robot.n
            zero[j] = quarter * math.pi / 2
            yield Hypothesis(
                "encoder zeros", f"the position of joint {j + 1} reads {words}", (j,), zero=tuple(zero),
                advice=f"the encoder's zero is not that of the model: add {90 * quarter} degrees to the position of joint {j + 1}",
            )  # fmt: skip


def _units(robot: Robot) -> Iterator[Hypothesis]:
    n, everything = robot.n, robot.independent
    slides = tuple(j for j in everything if robot.joints[j].prismatic)
    turns = tuple(1.0 if j in slides or j not in everything else math.pi / 180.0 for j in range(n))
    if any(t != 1.0 for t in turns):
        yield Hypothesis(
            "units", "positions are in degrees", everything, turn=turns,
            advice="state the unit in the name of the columns (q1_deg), or convert them to rad",
        )  # fmt: skip
    if slides:
        shifts = tuple(1e-3 if j in slides else 1.0 for j in range(n))
        yield Hypothesis(
            "units", "positions of sliding joints are in mm", slides, turn=shifts,
            advice=f"state the unit in the name of the columns (q{slides[0] + 1}_mm), or convert them to m",
        )  # fmt: skip
    if slides and len(slides) < len(everything):
        yield Hypothesis(
            "units", "positions are in degrees, of sliding joints in mm", everything,
            turn=tuple(t * x for t, x in zip(turns, shifts, strict=True)),
            advice="state the units in the names of the columns (q1_deg, q2_mm), or convert them to rad and m",
        )  # fmt: skip
    for factor, words in UNITS.items():
        yield Hypothesis(
            "units", f"torques are in {words}", everything, gain=_driven(robot, factor),
            advice=f"multiply the torques by {factor:g}, or state their unit",
        )  # fmt: skip
    for j in everything if len(everything) > 1 else ():
        for factor in GAINS:
            yield Hypothesis(
                "units", f"the torque of joint {j + 1} is {_times(factor)}", (j,), gain=_one(n, j, factor), single=True,
                advice=f"check unit, gear ratio and torque constant of joint {j + 1}", price=GAIN_PRICE,
            )  # fmt: skip


def _mounts(robot: Robot) -> Iterator[Hypothesis]:
    size = float(np.linalg.norm(robot.gravity))
    if size == 0.0 or robot.floating:  # the orientation of a floating base is measured
        return
    stated = np.array(robot.gravity) / size
    for k, name in enumerate("xyz"):
        for sign in (1.0, -1.0):
            axis = np.zeros(3)
            axis[k] = sign
            if axis @ stated > 0.99:
                continue
            mount = HANGING if axis @ stated < -0.99 else SIDEWAYS
            x, y, z = (float(v) for v in size * axis)
            yield Hypothesis(
                "mount", f"the robot is mounted {mount}: gravity along {'+' if sign > 0 else '-'}{name} of its base", (),
                gravity=(x, y, z), advice=f"state it in the card: gravity: [{x:g}, {y:g}, {z:g}]",
            )  # fmt: skip


def _times(factor: float) -> str:
    return f"{1 / factor:g} times too large" if factor < 1.0 else f"{factor:g} times too small"


def _driven(robot: Robot, factor: float) -> tuple[float, ...]:
    """A factor on the torques of all joints that have drives."""
    return tuple(factor if j < robot.driven else 1.0 for j in range(robot.n))


def _one(n: int, j: int, factor: float) -> tuple[float, ...]:
    return tuple(factor if k == j else 1.0 for k in range(n))
