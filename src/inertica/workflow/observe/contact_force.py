"""The force, and the moment, at a point of a link that external torques of the joints stand for.

    tau_ext = J' F,        F = (J W J')^-1 J W tau_ext,        W = 1 / rms^2 of the residual without contact

J is the Jacobian of the point.  Directions that no joint feels in a pose (a singular one, or fewer joints than unknowns) are not
determined: such samples have no value and an infinite standard deviation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inertica.arrays import Array
from inertica.errors import InputError
from inertica.excitation.kinematics import frames
from inertica.robot.model import Robot

SINGULAR = 1e-6
"""Smallest over largest singular value of a Jacobian in units of its joints' noise below which a direction is not felt."""


@dataclass(frozen=True)
class ContactPoint:
    """Where the robot is touched.

    Args:
        link: 0-based.
        place: of the point in the link's frame, m.
        moment: whether a moment acts, too; else a force alone.
    """

    link: int
    place: tuple[float, float, float] = (0.0, 0.0, 0.0)
    moment: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return ("fx", "fy", "fz", "tx", "ty", "tz")[: 6 if self.moment else 3]


def contact_point(robot: Robot, word: str, moment: bool) -> ContactPoint:
    """`LINK` or `LINK:x,y,z`: a joint's name or number, 1-based, whose link it is, and a point in its frame."""
    name, _, place = word.partition(":")
    names, numbers = robot.joint_names, [str(j + 1) for j in range(robot.n)]
    if name not in (*names, *numbers):
        raise InputError(f"'{name}' is no joint; its link is named by one of {', '.join(names)} or 1 to {robot.n}")
    try:
        x, y, z = (float(part) for part in place.split(",")) if place else (0.0, 0.0, 0.0)
        finite = bool(np.isfinite((x, y, z)).all())
    except ValueError:
        finite = False
    if not finite:
        raise InputError(f"a point of a link is LINK:x,y,z in m, not '{word}'")
    return ContactPoint(names.index(name) if name in names else numbers.index(name), (x, y, z), moment)


def contact_force(robot: Robot, point: ContactPoint, q: Array, torque: Array, rms: Array) -> tuple[Array, Array]:
    """(N, 3 or 6) force and moment in the base frame, N and N m, and their standard deviations.

    Args:
        robot: geometry.
        point: of contact.
        q: (N, n) positions.
        torque: (N, n) external torques.
        rms: (n,) of them without contact.
    """
    at = frames(robot, q)
    J = at.jacobian(point.link, at.point(point.link, point.place))
    if point.moment:
        turning = np.zeros_like(J)
        for i in robot.ancestors(point.link):
            if not robot.joints[i].prismatic:
                turning[:, :, i] = at.axis[:, i]
        J = np.concatenate([J, turning], axis=1)
    scaled = np.swapaxes(J, 1, 2) / rms[:, None]  # (N, n, m): noise of each row is 1
    columns = np.linalg.norm(scaled, axis=1, keepdims=True)  # forces and moments have different units
    U, s, Vt = np.linalg.svd(scaled / np.where(columns > 0.0, columns, 1.0), full_matrices=False)
    felt = s.shape[1] == J.shape[1]
    determined = (s[:, -1] > SINGULAR * s[:, 0]) & felt
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = np.swapaxes(Vt, 1, 2) / s[:, None, :] / np.swapaxes(columns, 1, 2)
        force = np.einsum("tij,tkj,tk->ti", inverse, U, torque / rms)
        std = np.linalg.norm(inverse, axis=2)
    return np.where(determined[:, None], force, np.nan), np.where(determined[:, None], std, np.inf)
