"""Where the frames of a robot are, on batches of positions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inertica.dynamics.recursions import Pose, poses
from inertica.excitation.trajectory import Array
from inertica.robot.model import Robot

_UNITS = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


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


def frames(robot: Robot, q: Array) -> Frames:
    """All link frames at positions q (N, n)."""
    N = len(q)
    R, origin, axis, pivot = np.empty((N, robot.n, 3, 3)), *np.empty((3, N, robot.n, 3))
    for i, pose in enumerate(poses(robot, list(q.T))):
        joint = pose.joint
        up = R[:, joint.parent] if joint.parent >= 0 else np.broadcast_to(np.eye(3), (N, 3, 3))
        at = origin[:, joint.parent] if joint.parent >= 0 else np.zeros(3)
        R[:, i] = up @ _turned(pose, N)
        pivot[:, i] = at + np.einsum("nij,nj->ni", up, _column(pose.point(), N))
        axis[:, i] = R[:, i] @ np.array(joint.axis)
        origin[:, i] = pivot[:, i] + R[:, i] @ np.array(joint.arm)
    return Frames(robot, R, origin, axis, pivot)


def _turned(pose: Pose, N: int) -> Array:
    """(N, 3, 3) parent <- child."""
    return np.stack([_column(pose.to_parent(unit), N) for unit in _UNITS], axis=2)


def _column(v: object, N: int) -> Array:
    return np.stack([np.broadcast_to(x, (N,)) for x in v], axis=1).astype(float)  # type: ignore[attr-defined]
