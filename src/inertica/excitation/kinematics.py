"""Where the frames of a robot are, on batches of positions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from inertica.excitation.trajectory import Array
from inertica.robot.model import Robot


@dataclass(frozen=True, eq=False)
class Frames:
    """Link frames in the base frame, for N positions.

    Args:
        robot: whose.
        rotation: (N, n, 3, 3) base <- link.
        origin: (N, n, 3) of the link frames.
        axis: (N, n, 3) of the joints.
        pivot: (N, n, 3) a point of each joint's axis.
    """

    robot: Robot
    rotation: Array
    origin: Array
    axis: Array
    pivot: Array

    def point(self, frame: int, offset: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Array:
        """(N, 3) a point fixed to a link, given in its coordinates."""
        return self.origin[:, frame] + self.rotation[:, frame] @ np.asarray(offset, float)

    def jacobian(self, frame: int, point: Array) -> Array:
        """(N, 3, n) velocity of a point (N, 3) of a link per unit joint velocity."""
        J = np.zeros((len(point), 3, self.robot.n))
        for i in self.robot.ancestors(frame % self.robot.n if frame < 0 else frame):
            a = self.axis[:, i]
            J[:, :, i] = a if self.robot.joints[i].prismatic else np.cross(a, point - self.pivot[:, i])
        return J

    def efforts(self, frame: int, point: Array, force: Array, moment: Array) -> Array:
        """(N, n) what a force at a point (N, 3) of a link and a moment on it do to every joint; all in the base frame."""
        tau = np.zeros((len(point), self.robot.n))
        for i in self.robot.ancestors(frame):
            slides = self.robot.joints[i].prismatic
            felt = force if slides else moment + np.cross(point - self.pivot[:, i], force)
            tau[:, i] = np.einsum("kd,kd->k", self.axis[:, i], felt)
        return tau


def frames(robot: Robot, q: Array) -> Frames:
    """All link frames at positions q (N, n)."""
    from inertica.excitation.forward import forward  # imports Numba

    if robot.floating:  # the base first, as the compiled loop goes
        order, back = list(robot.order), np.argsort(robot.order)
        place = {i: k for k, i in enumerate(order)} | {-1: -1}
        outward = tuple(replace(robot.joints[i], parent=place[robot.joints[i].parent]) for i in order)
        outward_frames = frames(replace(robot, joints=outward, floating=False), q[:, order])
        return Frames(
            robot,
            *(x[:, back] for x in (outward_frames.rotation, outward_frames.origin, outward_frames.axis, outward_frames.pivot)),
        )
    joints, N = robot.joints, len(q)
    R, origin, axis, pivot = np.empty((N, robot.n, 3, 3)), *np.empty((3, N, robot.n, 3))
    parent, prismatic = np.array([j.parent for j in joints]), np.array([j.prismatic for j in joints])
    turned, at, along, arm = (np.array([getattr(j, what) for j in joints]) for what in ("rotation", "position", "axis", "arm"))
    forward(np.ascontiguousarray(q, float), parent, prismatic, turned, at, along, arm, R, origin, axis, pivot)
    return Frames(robot, R, origin, axis, pivot)
