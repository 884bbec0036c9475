"""An independent look at motions: Pinocchio's kinematics, Coal's shapes, every millisecond; and a seven-joint arm with meshes.

Nothing here uses the shapes, kinematics or distances of the package.
"""

from __future__ import annotations

import struct
from pathlib import Path

import coal
import numpy as np
import pinocchio as pin

POSES = 400


class Referee:
    """Whether bodies meet along a motion.  Pairs of links that are no neighbours and do not meet in all of many random poses.

    Args:
        model: Pinocchio's.
        geometry: shapes of its links.
        limits: (2, n) joint ranges, for the random poses.
        floor: height of a floor, None for none.
        never: pairs of joints whose links cannot meet on the real robot, whatever their shapes here do.
    """

    def __init__(
        self, model, geometry, limits, floor: float | None = 0.0, never: frozenset[tuple[int, int]] = frozenset()
    ) -> None:
        self.model, self.geometry, self.floor = model, geometry, None
        own = geometry.ngeoms
        if floor is not None:
            box = pin.GeometryObject("floor", 0, pin.SE3(np.eye(3), np.array([0, 0, floor - 0.5])), coal.Box(20, 20, 1))
            self.floor = geometry.addGeometryObject(box)
        for i in range(own):
            for k in range(i + 1, own):
                a, b = (geometry.geometryObjects[x].parentJoint for x in (i, k))
                if a != b and model.parents[a] != b and model.parents[b] != a and (a, b) not in never:
                    geometry.addCollisionPair(pin.CollisionPair(i, k))
            if self.floor is not None and geometry.geometryObjects[i].parentJoint > 1:  # the first link turns about the vertical
                geometry.addCollisionPair(pin.CollisionPair(i, self.floor))
        self.data = model.createData()
        rng = np.random.default_rng(12345)
        hits = np.array([self._hits(q) for q in rng.uniform(*limits, (POSES, model.nq))])
        objects = geometry.geometryObjects
        always: dict[tuple[int, int], bool] = {}  # by link: a link of two shapes meets another when one of them does
        names = [
            (objects[p.first].parentJoint, objects[p.second].parentJoint if p.second != self.floor else -1)
            for p in geometry.collisionPairs
        ]
        for pair in set(names):
            always[pair] = bool(hits[:, [n == pair for n in names]].any(axis=1).all())
        for p, name in zip(list(geometry.collisionPairs), names, strict=True):
            if always[name]:
                geometry.removeCollisionPair(p)
        self.always = sorted(pair for pair, met in always.items() if met)

    def _hits(self, q):
        data = pin.GeometryData(self.geometry)
        pin.computeCollisions(self.model, self.data, self.geometry, data, q, False)
        return [r.isCollision() for r in data.collisionResults]

    def collisions(self, trajectory, rate: float = 1000.0) -> list[tuple[float, str]]:
        """Times, 1 ms apart, at which bodies meet, and which."""
        t = np.arange(0.0, trajectory.period + 0.5 / rate, 1.0 / rate)
        data, objects, out = pin.GeometryData(self.geometry), self.geometry.geometryObjects, []
        for time, q in zip(t, trajectory(t).q, strict=True):
            if pin.computeCollisions(self.model, self.data, self.geometry, data, q, True):
                pair = next(
                    p for p, r in zip(self.geometry.collisionPairs, data.collisionResults, strict=True) if r.isCollision()
                )
                out.append((float(time), f"{objects[pair.first].name} {objects[pair.second].name}"))
        return out


def rod(model, geometry, joint: int, start, end, radius: float, kind=coal.Cylinder) -> None:
    """A cylinder or capsule between two points of a link."""
    a, b = np.asarray(start, float), np.asarray(end, float)
    length = float(np.linalg.norm(b - a))
    shape = coal.Sphere(radius) if length == 0.0 else kind(radius, length)
    R = np.eye(3) if length == 0.0 else pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), b - a).toRotationMatrix()
    name = f"link{joint}_{geometry.ngeoms}"
    geometry.addGeometryObject(pin.GeometryObject(name, joint, pin.SE3(R, 0.5 * (a + b)), shape))


def of_dh(alpha, a, d, theta, base=(0.0, 0.0, 0.0)):
    """A chain of turning joints in Khalil's convention."""
    model = pin.Model()
    parent = 0
    for k, (al, ak, dk, th) in enumerate(zip(alpha, a, d, theta, strict=True)):
        place = pin.SE3(pin.utils.rotate("x", al), np.array([ak, 0.0, 0.0]))
        place = place * pin.SE3(pin.utils.rotate("z", th), np.array([0.0, 0.0, dk]))
        if k == 0:
            place = pin.SE3(np.eye(3), np.array(base)) * place
        parent = model.addJoint(parent, pin.JointModelRZ(), place, f"j{k + 1}")
    return model


def tx40(limits) -> Referee:
    """Staubli TX40 with cylinders of about its outer dimensions."""
    h = np.pi / 2
    model = of_dh([0, -h, 0, h, -h, h], [0, 0, 0.225, 0, 0, 0], [0, 0, 0.035, 0.225, 0, 0], [0, -h, h, 0, 0, np.pi], (0, 0, 0.32))
    geometry = pin.GeometryModel()
    for joint, start, end, radius in (
        (0, (0, 0, 0), (0, 0, 0.22), 0.08),
        (1, (0, 0, -0.05), (0, 0, 0.05), 0.07),
        (2, (0, 0, 0.035), (0.225, 0, 0.035), 0.055),
        (3, (0, 0, 0), (0, -0.14, 0), 0.055),
        (4, (0, 0, -0.08), (0, 0, 0), 0.045),
        (5, (0, 0, 0), (0, 0, 0), 0.045),
        (6, (0, 0, 0), (0, 0, 0.065), 0.025),
    ):
        rod(model, geometry, joint, start, end, radius)
    return Referee(model, geometry, limits)


def panda7(limits) -> Referee:
    """Franka Panda with the capsules that its maker publishes for self-collision (franka_description, franka_arm.xacro)."""
    h = np.pi / 2
    table = ([0, -h, h, h, -h, h, h], [0, 0, 0, 0.0825, -0.0825, 0, 0.088], [0.333, 0, 0.316, 0, 0.384, 0, 0], [0] * 7)
    model, geometry, s = of_dh(*table), pin.GeometryModel(), np.sqrt(0.5)
    for joint, start, end, radius in (
        (0, (-0.09, 0, 0.06), (-0.06, 0, 0.06), 0.06),
        (1, (0, 0, -0.333), (0, 0, -0.05), 0.06),
        (2, (0, 0, -0.06), (0, 0, 0.06), 0.06),
        (3, (0, 0, -0.22), (0, 0, -0.07), 0.06),
        (4, (0, 0, -0.06), (0, 0, 0.06), 0.06),
        (5, (0, 0, -0.31), (0, 0, -0.21), 0.06),
        (5, (0, 0.08, -0.2), (0, 0.08, -0.06), 0.025),
        (6, (0, 0, -0.07), (0, 0, 0.01), 0.05),
        (7, (0, 0, -0.06), (0, 0, 0.08), 0.04),
        (7, (0.055 * s, 0.055 * s, 0.082), (0.065 * s, 0.065 * s, 0.082), 0.03),
    ):
        rod(model, geometry, joint, start, end, radius, coal.Capsule)
    # the robot's public semantic description calls 1-3 and 3-5 never colliding, Drake filters 5-7
    return Referee(model, geometry, limits, never=frozenset({(1, 3), (3, 5), (5, 7)}))


def ur10e(urdf: Path, limits) -> Referee:
    """UR10e with cylinders of about its tubes and joints, laid along the axes as the robot is built."""
    model, geometry = pin.buildModelFromUrdf(str(urdf)), pin.GeometryModel()
    for joint, start, end, radius in (
        (0, (0, 0, 0), (0, 0, 0.1), 0.09),
        (1, (0, 0, -0.06), (0, 0, 0.06), 0.075),
        (1, (0, 0, 0), (0, 0.176, 0), 0.07),
        (2, (0, 0, 0), (0, 0, 0.613), 0.065),
        (2, (0, 0, 0.613), (0, -0.137, 0.613), 0.06),
        (3, (0, 0, 0), (0, 0, 0.571), 0.055),
        (4, (0, 0, 0), (0, 0.135, 0), 0.05),
        (5, (0, 0, 0), (0, 0, 0.12), 0.05),
        (6, (0, 0, 0), (0, 0.1, 0), 0.045),
    ):
        rod(model, geometry, joint, start, end, radius)
    return Referee(model, geometry, limits)


# A seven-joint arm of boxes: (joint offset in the parent, axis, boxes as centre and sides)
ARM = (
    ((0, 0, 0.30), "0 0 1", [((0, 0, 0.02), (0.12, 0.12, 0.14))]),
    ((0, 0, 0.10), "0 1 0", [((0, 0.0, 0.14), (0.10, 0.10, 0.30))]),
    ((0, 0, 0.30), "0 0 1", [((0, 0, 0.06), (0.09, 0.09, 0.10)), ((0.05, 0, 0.06), (0.14, 0.06, 0.06))]),
    ((0.06, 0, 0.10), "0 1 0", [((-0.03, 0, 0.12), (0.08, 0.08, 0.24)), ((0.0, 0, 0.03), (0.12, 0.06, 0.06))]),
    ((-0.06, 0, 0.26), "0 0 1", [((0, 0, 0.05), (0.08, 0.08, 0.12))]),
    ((0, 0, 0.12), "0 1 0", [((0, 0, 0.05), (0.07, 0.07, 0.12))]),
    ((0, 0, 0.12), "0 0 1", [((0, 0, 0.03), (0.06, 0.06, 0.08)), ((0.05, 0, 0.05), (0.08, 0.03, 0.03))]),
)
BASE = [((0, 0, 0.125), (0.16, 0.16, 0.25))]
HEAVY = 1200.0
"""kg/m^3"""


def write_stl(path: Path, boxes) -> None:
    """Boxes as one binary STL; that of two boxes is no convex body."""
    faces = []
    for centre, sides in boxes:
        c = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]) * sides + centre
        for quad in ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)):
            faces += [c[[quad[0], quad[1], quad[2]]], c[[quad[0], quad[2], quad[3]]]]
    body = b"".join(struct.pack("<12fH", 0, 0, 0, *np.ravel(f), 0) for f in faces)
    path.write_bytes(b"\0" * 80 + struct.pack("<I", len(faces)) + body)


def write_arm(folder: Path, meshes: bool) -> Path:
    """The arm as a URDF, with meshes beside it or without any shape."""

    def link(name: str, boxes) -> str:
        masses = [HEAVY * np.prod(sides) for _, sides in boxes]
        total, com = sum(masses), np.average([c for c, _ in boxes], axis=0, weights=masses)
        inertia = sum(
            m * (np.diag([s[1] ** 2 + s[2] ** 2, s[0] ** 2 + s[2] ** 2, s[0] ** 2 + s[1] ** 2]) / 12.0
                 + (r := np.array(c) - com) @ r * np.eye(3) - np.outer(r, r))
            for m, (c, s) in zip(masses, boxes, strict=True)
        )  # fmt: skip
        six = "".join(f' i{a}{b}="{inertia["xyz".index(a), "xyz".index(b)]}"' for a, b in ("xx", "xy", "xz", "yy", "yz", "zz"))
        shape = ""
        if meshes:
            write_stl(folder / f"{name}.stl", boxes)
            shape = f'<collision><geometry><mesh filename="{name}.stl"/></geometry></collision>'
        xyz = " ".join(str(x) for x in com)
        return (
            f'<link name="{name}"><inertial><origin xyz="{xyz}"/><mass value="{total}"/><inertia{six}/></inertial>{shape}</link>'
        )

    text = '<robot name="seven">' + link("base", BASE)
    for k, (at, axis, boxes) in enumerate(ARM, 1):
        text += link(f"l{k}", boxes)
        parent, xyz = f"l{k - 1}" if k > 1 else "base", " ".join(str(x) for x in at)
        text += (
            f'<joint name="j{k}" type="revolute"><parent link="{parent}"/><child link="l{k}"/><origin xyz="{xyz}"/>'
            f'<axis xyz="{axis}"/><limit lower="-2.8" upper="2.8" velocity="2.5" effort="200"/></joint>'
        )
    path = folder / f"seven_{'meshes' if meshes else 'bare'}.urdf"
    path.write_text(text + "</robot>")
    return path


def seven(urdf: Path, meshes: bool, limits) -> Referee:
    """The arm with its meshes as Coal reads them, or with the boxes themselves."""
    model = pin.buildModelFromUrdf(str(urdf))
    if meshes:
        geometry = pin.buildGeomFromUrdf(model, str(urdf), pin.GeometryType.COLLISION, package_dirs=[str(urdf.parent)])
        return Referee(model, geometry, limits)
    geometry = pin.GeometryModel()
    for joint, boxes in enumerate([BASE, *(boxes for _, _, boxes in ARM)]):
        for centre, sides in boxes:
            place = pin.SE3(np.eye(3), np.array(centre, float))
            geometry.addGeometryObject(pin.GeometryObject(f"l{joint}_{geometry.ngeoms}", joint, place, coal.Box(*sides)))
    return Referee(model, geometry, limits)
