"""A base that moves freely: six joints without drives between the world and the base of a tree.

    world - x - y - z - yaw - pitch - roll - base

Their coordinates are the base's position in the world and the angles of R = Rz(yaw) Ry(pitch) Rx(roll); their efforts are the force of
the surroundings on the base along the axes of the world, and its moment about the axes of the three turns.  Torques then follow
from the same recursions as those of every other joint, and whatever works on joints works on a floating base.

Only the twist and the specific force of the base enter the torques, never its place or heading.  `in_base_frame` uses that: at
coordinates of zero the axes are those of the base itself, so that efforts are the wrench in the base's own frame, whatever its
orientation.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.errors import InputError
from inertica.robot.model import FREE, Joint, Limits, Robot

Array = NDArray[np.float64]

AXES = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))

JOINTS = ("base_x", "base_y", "base_z", "base_yaw", "base_pitch", "base_roll")
"""Names of the joints of a floating base, in their order."""

WORLD = "world"


def on_floating_base(robot: Robot) -> Robot:
    """The robot with its base on six joints of its own, which follow the others."""
    n = robot.n
    if taken := set(JOINTS) & set(robot.joint_names):
        raise InputError(f"{robot.name}: the name {min(taken)} is that of a joint of the floating base; rename the robot's joint")
    on_base = tuple(replace(joint, parent=n + FREE - 1) if joint.parent < 0 else joint for joint in robot.joints)
    turning = zip(JOINTS, (*AXES, *AXES[::-1]), strict=True)
    free = tuple(
        Joint(name, robot.base if k == FREE - 1 else name, n + k - 1 if k else -1, axis=axis, prismatic=k < 3)
        for k, (name, axis) in enumerate(turning)
    )
    limits, none = robot.limits, Limits.none(FREE)
    names = ("lower", "upper", "velocity", "acceleration", "torque")
    both = Limits(**{name: (*getattr(limits, name), *getattr(none, name)) for name in names})
    return replace(robot, joints=(*on_base, *free), limits=both, base=WORLD, floating=True)


def require_fixed_base(robot: Robot, purpose: str) -> None:
    """Refuse a floating base where nothing holds it."""
    if robot.floating:
        link = robot.joints[-1].link
        raise InputError(
            f"{robot.name}: {purpose} is for robots whose base is fixed, and {link} floats; hold it in a robot card with "
            f"`base: fixed` and `root: {link}`"
        )


def in_base_frame(w: ArrayLike, dw: ArrayLike, force: ArrayLike, gravity: ArrayLike) -> tuple[Array, Array, Array]:
    """(N, 6) coordinates, rates and accelerations of the base joints at which a base moves like this, efforts being its own wrench.

    Args:
        w, dw: (N, 3) rad/s, rad/s^2, angular velocity and its rate, in the frame of the base.
        force: (N, 3) m/s^2, specific force of the base's origin (acceleration minus gravity), in the frame of the base.
        gravity: of the robot.

    The coordinates are zero throughout: they fit a sample and no path.
    """
    w, dw, force = (np.asarray(x, float) for x in (w, dw, force))
    wx, wy, wz = w.T
    turning = dw - np.stack([-wy * wz, wx * wz, -wx * wy], axis=-1)
    zero = np.zeros_like(w)
    rates = np.concatenate([zero, w[:, ::-1]], axis=1)
    return np.zeros((len(w), FREE)), rates, np.concatenate([force + np.asarray(gravity, float), turning[:, ::-1]], axis=1)


def rotation(angles: ArrayLike) -> Array:
    """(N, 3, 3) world <- base for angles (N, 3) yaw, pitch, roll."""
    yaw, pitch, roll = np.asarray(angles, float).T
    (cz, cy, cx), (sz, sy, sx) = (f(np.stack([yaw, pitch, roll])) for f in (np.cos, np.sin))
    rows = (
        (cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx),
        (sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx),
        (-sy, cy * sx, cy * cx),
    )
    return np.moveaxis(np.array(rows), -1, 0)


def angles(R: ArrayLike) -> Array:
    """(N, 3) yaw, pitch, roll of rotations (N, 3, 3) world <- base, without jumps of a whole turn."""
    R = np.asarray(R, float)
    yaw, roll = np.arctan2(R[:, 1, 0], R[:, 0, 0]), np.arctan2(R[:, 2, 1], R[:, 2, 2])
    pitch = np.arctan2(-R[:, 2, 0], np.hypot(R[:, 2, 1], R[:, 2, 2]))
    return np.stack([np.unwrap(yaw, period=2.0 * math.pi), pitch, np.unwrap(roll, period=2.0 * math.pi)], axis=-1)
