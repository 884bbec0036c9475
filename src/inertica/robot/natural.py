"""`NaturalUnits`: mass, length and time of the robot at hand, so that no threshold or prior size is a number in SI units.

A robot of a tenth of the size and a thousandth of the mass has other kilograms and metres but the same shape; in its own units both
are the same robot.  The unit of length is the longest distance from joint to joint, that of mass the heaviest link of the prior, that
of time sqrt(length / gravity): a pendulum of that length swings in 2 pi of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.robot import inertia
from inertica.robot.layout import Layout
from inertica.robot.model import Robot
from inertica.robot.units import dimensions

STILL = 1e-3
"""rad, or lengths of the longest link on sliding joints; a joint whose position stays within this does not move."""


@dataclass(frozen=True)
class NaturalUnits:
    """Units of one robot: kg, m and s."""

    mass: float
    length: float
    time: float

    @classmethod
    def of(cls, layout: Layout, values: ArrayLike) -> NaturalUnits:
        """Of a robot and prior values of its parameters; what neither says counts as one SI unit."""
        chi = np.asarray(values, float)
        bodies = [chi[where] for _, where in layout.bodies]
        heaviest = max(bodies, key=lambda ten: float(ten[9]), default=np.zeros(10))
        length = longest_link(layout.robot) or _gyration(heaviest) or 1.0
        return cls(float(heaviest[9]) if heaviest[9] > 0.0 else 1.0, length, _time(layout.robot, length))

    def size(self, unit: str) -> float:
        """SI value of one natural unit of what is measured in `unit`, such as "N m s/rad"."""
        return float(np.prod(np.array([self.mass, self.length, self.time]) ** np.array(dimensions(unit), float)))


def longest_link(robot: Robot) -> float:
    """m, the longest distance from a joint to the one before it; of the first joint to the base where there is no other, else 0."""
    between = [float(np.linalg.norm(joint.position)) for joint in robot.joints if joint.parent >= 0]
    arms = [float(np.linalg.norm(joint.arm)) for joint in robot.joints]
    first = [float(np.linalg.norm(joint.position)) for joint in robot.joints]
    return max([*between, *arms], default=0.0) or max(first, default=0.0)


def levers(robot: Robot) -> NDArray[np.float64]:
    """(n,) m by which efforts are multiplied before joints are compared: one on torques, the longest link on forces of sliding joints.

    Sums of squares over joints of both kinds would otherwise depend on whether lengths are stated in metres or in millimetres.  Zero
    on the joints of a floating base: what is predicted well or badly are the torques of drives.
    """
    out = _radii(robot)
    out[robot.driven :] = 0.0
    return out


def _radii(robot: Robot) -> NDArray[np.float64]:
    """(n,) m that a unit of each coordinate moves: one radian at one metre, the longest link on sliding joints."""
    length = longest_link(robot) or 1.0
    return np.array([length if joint.prismatic else 1.0 for joint in robot.joints])


def speeds(robot: Robot) -> NDArray[np.float64]:
    """(n,) rad/s or m/s, a radian or a length of the longest link in the natural time of the robot."""
    return _radii(robot) / _time(robot, longest_link(robot) or 1.0)


def standstill(robot: Robot) -> NDArray[np.float64]:
    """(n,) ranges of positions, rad or m, within which joints count as standing still."""
    return STILL * _radii(robot)


def _gyration(ten: np.ndarray) -> float:
    """m, the radius of gyration of a body about its frame; 0 without mass."""
    spread = 0.5 * float(np.trace(inertia.matrix(ten)))
    return float(np.sqrt(spread / ten[9])) if ten[9] > 0.0 and spread > 0.0 else 0.0


def _time(robot: Robot, length: float) -> float:
    """s, of a pendulum of a length; without gravity that of a radian (metre) at the velocity limit, one second without a limit."""
    if gravity := float(np.linalg.norm(robot.gravity)):
        return float(np.sqrt(length / gravity))
    limits = np.abs(np.asarray(robot.limits.velocity, float))
    known = limits[np.isfinite(limits) & (limits > 0.0)]
    return float(1.0 / np.median(known)) if len(known) else 1.0
