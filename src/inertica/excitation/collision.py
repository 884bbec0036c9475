"""Self-collision and collision with the surroundings, for URDF models that have collision geometry (Pinocchio and Coal)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from inertica.errors import FileError, InputError, MissingDependencyError
from inertica.excitation.trajectory import Array, Samples
from inertica.robot.description import Description
from inertica.robot.model import Vector


@dataclass(frozen=True)
class Obstacle:
    """A box, sphere or cylinder (along z) fixed in the base frame.

    Args:
        kind: box, sphere or cylinder.
        size: full side lengths; radius; radius and length.
        position: of its centre.
        name: for messages.
    """

    kind: str
    size: tuple[float, ...]
    position: Vector
    name: str = "obstacle"


@dataclass(frozen=True, eq=False)
class Collisions:
    """The distance between bodies that could meet stays above `clearance`.

    Pairs are the links of the model that are not neighbours and do not touch at the home pose, and every moving link with every
    obstacle.  The excess is the clearance minus the smallest distance, in units of `unit`; distances of bodies inside each other
    are negative.

    Args:
        description: of a URDF with collision elements.
        obstacles: fixed surroundings.
        clearance: metres kept free.
        packages: folders that `package://` refers to.
        unit: metres that count as one in the excess.
    """

    description: Description
    obstacles: tuple[Obstacle, ...] = ()
    clearance: float = 0.01
    packages: Sequence[str | Path] = ()
    unit: float = 0.1

    @property
    def labels(self) -> tuple[str, ...]:
        return ("distance between bodies",)

    def excess(self, motion: Samples) -> Array:
        distances = np.array([self._world.closest(q)[0] for q in motion.q])
        return (self.clearance - distances)[:, None] / self.unit

    def gradient(self, motion: Samples, weights: Array) -> Samples:
        out = Samples(*(np.zeros_like(x) for x in motion))
        for m in np.flatnonzero(weights.any(axis=1)):
            out.q[m] = -weights[m, 0] / self.unit * self._world.gradient(motion.q[m])
        return out

    def closest(self, q: Array) -> tuple[float, str, str]:
        """Smallest distance at one pose (n,), and the two bodies."""
        distance, k = self._world.closest(np.asarray(q, float))
        first, second = self._world.names(k)
        return distance, first, second

    @cached_property
    def _world(self) -> _World:
        return _World(self)


class _World:
    """Pinocchio's model and geometry, with our joint order."""

    def __init__(self, of: Collisions) -> None:
        pin = _pinocchio()
        description = of.description
        source = description.source
        if source.format != "urdf":
            raise InputError(f"{description.name}: collisions need a URDF with collision elements; this model is {source.format}")
        folders = [str(source.path.parent), *(str(p) for p in of.packages)]
        try:
            self.model = pin.buildModelFromUrdf(str(source.path))
            self.geometry = pin.buildGeomFromUrdf(self.model, str(source.path), pin.GeometryType.COLLISION, package_dirs=folders)
        except (ValueError, RuntimeError) as error:
            raise FileError(source.path, f"Pinocchio cannot read the geometry ({str(error).splitlines()[0]})") from None
        if not self.geometry.ngeoms:
            raise FileError(source.path, "the model has no collision elements; add them or leave collisions out")
        self.pin = pin
        self.index = [self._coordinate(name) for name in description.robot.joint_names]
        self.neutral = pin.neutral(self.model)
        own = self.geometry.ngeoms
        for obstacle in of.obstacles:
            self.geometry.addGeometryObject(_geometry(pin, obstacle))
        self._add_pairs(own, np.array(description.home or np.zeros(description.robot.n)))

    def _coordinate(self, name: str) -> tuple[int, int, int]:
        """Where a joint's coordinate and velocity stand in Pinocchio's vectors, and how many numbers the coordinate takes."""
        if not self.model.existJointName(name):
            raise InputError(f"the URDF has no joint '{name}'")
        joint = self.model.joints[self.model.getJointId(name)]
        return joint.idx_q, joint.idx_v, joint.nq

    def _add_pairs(self, own: int, home: Array) -> None:
        """Links against links further away than neighbours, and against obstacles; what touches at home is no collision."""
        pin, objects = self.pin, self.geometry.geometryObjects
        for i in range(own):
            for k in range(i + 1, len(objects)):
                a, b = objects[i].parentJoint, objects[k].parentJoint
                neighbours = a == b or self.model.parents[a] == b or self.model.parents[b] == a
                if (k >= own and a != 0) or (k < own and not neighbours):
                    self.geometry.addCollisionPair(pin.CollisionPair(i, k))
        self._renew()
        if not len(self.geometry.collisionPairs):
            raise InputError("no two bodies of the model could collide")
        self._place(home)
        touching = [k for k in range(len(self.geometry.collisionPairs)) if self.data_g.distanceResults[k].min_distance <= 0.0]
        within = [self.geometry.collisionPairs[k] for k in touching if self.geometry.collisionPairs[k].second < own]
        for pair in within:
            self.geometry.removeCollisionPair(pair)
        self._renew()

    def _renew(self) -> None:
        self.data, self.data_g = self.model.createData(), self.pin.GeometryData(self.geometry)

    def _place(self, q: Array) -> None:
        self.at = self.neutral.copy()
        for (i, _, size), x in zip(self.index, q, strict=True):
            self.at[i : i + size] = x if size == 1 else (np.cos(x), np.sin(x))
        self.pin.computeDistances(self.model, self.data, self.geometry, self.data_g, self.at)

    def closest(self, q: Array) -> tuple[float, int]:
        self._place(q)
        distances = [r.min_distance for r in self.data_g.distanceResults]
        k = int(np.argmin(distances))
        return float(distances[k]), k

    def names(self, pair: int) -> tuple[str, str]:
        both = self.geometry.collisionPairs[pair]
        objects = self.geometry.geometryObjects
        return str(objects[both.first].name), str(objects[both.second].name)

    def gradient(self, q: Array) -> Array:
        """d distance / d q: how fast the two nearest points separate, from the velocities of the bodies they belong to."""
        distance, k = self.closest(q)
        result, pair = self.data_g.distanceResults[k], self.geometry.collisionPairs[k]
        first, second = np.array(result.getNearestPoint1()), np.array(result.getNearestPoint2())
        between = (second - first) * (1.0 if distance >= 0.0 else -1.0)
        length = np.linalg.norm(between)
        direction = between / length if length > 1e-9 else np.array(result.normal)
        self.pin.computeJointJacobians(self.model, self.data, self.at)
        objects = self.geometry.geometryObjects
        rate = self._rate(objects[pair.second].parentJoint, second) - self._rate(objects[pair.first].parentJoint, first)
        return np.array([(direction @ rate)[v] for _, v, _ in self.index])

    def _rate(self, joint: int, point: Array) -> Array:
        """(3, nv) velocity of a point of a body."""
        if joint == 0:
            return np.zeros((3, self.model.nv))
        frame = self.pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        J = self.pin.getJointJacobian(self.model, self.data, joint, frame)
        arm = point - self.data.oMi[joint].translation
        return np.asarray(J[:3] + np.cross(J[3:].T, arm).T)


def _pinocchio() -> Any:
    try:
        import pinocchio
    except ImportError:
        raise MissingDependencyError("pin", "checking collisions", "pinocchio") from None
    return pinocchio


def _geometry(pin: Any, obstacle: Obstacle) -> Any:
    import coal

    makers = {"box": (coal.Box, 3), "sphere": (coal.Sphere, 1), "cylinder": (coal.Cylinder, 2)}
    if obstacle.kind not in makers:
        raise InputError(f"an obstacle cannot be a '{obstacle.kind}'; use {', '.join(makers)}")
    make, count = makers[obstacle.kind]
    if len(obstacle.size) != count or min(obstacle.size) <= 0.0:
        raise InputError(f"a {obstacle.kind} has {count} positive sizes, got {obstacle.size}")
    place = pin.SE3(np.eye(3), np.array(obstacle.position, float))
    return pin.GeometryObject(obstacle.name, 0, place, make(*obstacle.size))
