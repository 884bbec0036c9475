"""Robots for strangers.py: URDFs of collections that others keep, scaled to other sizes, and one generated; a true robot near each.

The collections are wheels, read without being installed, from the folder in INERTICA_URDF_WHEELS:

    pip download --no-deps --dest FOLDER example-robot-data pybullet
"""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin
from lxml import etree
from numpy.typing import NDArray

from inertica.benchmark.plain import pinocchio_model

Array = NDArray[np.float64]

WHEELS = os.environ.get("INERTICA_URDF_WHEELS", "")

SPREAD = 0.15
"""Standard deviation of the entries of E in the true pseudo-inertia L (1+E)(1+E)' L', as in trust_experiments.py."""

BODY = ("M", "MX", "MY", "MZ", "XX", "XY", "YY", "XZ", "YZ", "ZZ")
"""Symbols of a link's parameters in the order in which Pinocchio has them; both state inertias about the joint frame."""

SPEED = 3.0
"""rad/s of a joint whose file states none, or one that no drive reaches, and at most; slides: a sixth of it in m/s."""

FASTEST = 20.0
"""rad/s above which a stated speed limit is a placeholder."""

REACH = 1.3
"""rad to either side of the middle that a joint moves at most."""


@dataclass(frozen=True)
class Stranger:
    """A robot of a collection.

    Args:
        name: in reports.
        wheel: the beginning of the wheel's file name; empty for the generated one.
        member: end of the URDF's path in it.
        scale: factor of all lengths; masses go with its cube.
        held: joints that do not move.
    """

    name: str
    wheel: str
    member: str
    scale: float = 1.0
    held: tuple[str, ...] = ()

    def urdf(self) -> bytes | None:
        """Text of the model file; None where its collection is missing."""
        if not self.wheel:
            return scara_urdf()
        for path in sorted(Path(WHEELS).glob(f"{self.wheel}*.whl")) if WHEELS else ():
            with zipfile.ZipFile(path) as collection:
                member = next((m for m in collection.namelist() if m.endswith(self.member)), None)
                if member is not None:
                    return with_held_joints(scaled(collection.read(member), self.scale), self.held)
        return None


STRANGERS = (
    Stranger("double_pendulum", "example_robot_data", "urdf/double_pendulum.urdf"),
    Stranger("ur5", "example_robot_data", "/ur5_robot.urdf"),
    Stranger("scara", "", ""),
    Stranger("iiwa", "pybullet", "kuka_iiwa/model.urdf"),
    Stranger("so101", "example_robot_data", "/so101.urdf"),
    Stranger("ur10_x3", "example_robot_data", "/ur10_robot.urdf", scale=3.0),
    Stranger("kinova", "example_robot_data", "/kinova.urdf"),
    Stranger("cartpole", "pybullet", "data/cartpole.urdf"),
    Stranger("xarm7", "example_robot_data", "/xarm7.urdf"),
    Stranger("finger", "example_robot_data", "/finger_edu.urdf"),
    Stranger("z1", "example_robot_data", "/z1.urdf"),
    Stranger("talos_arm", "example_robot_data", "/talos_left_arm.urdf", held=("gripper_left_joint",)),
)
"""From 0.3 kg to 0.8 t, two to seven joints, two of them with a slide."""


def scaled(text: bytes, factor: float) -> bytes:
    """A URDF of the same density, with all lengths times a factor; speeds as pendulums have them."""
    if factor == 1.0:
        return text
    robot = etree.fromstring(text)
    for origin in robot.iter("origin"):
        _multiply(origin, "xyz", factor)
    for mass in robot.iter("mass"):
        _multiply(mass, "value", factor**3)
    for inertia in robot.iter("inertia"):
        for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"):
            _multiply(inertia, name, factor**5)
    for limit in robot.iter("limit"):
        _multiply(limit, "velocity", factor**-0.5)
        _multiply(limit, "effort", factor**4)
    return bytes(etree.tostring(robot))


def with_held_joints(text: bytes, names: tuple[str, ...]) -> bytes:
    robot = etree.fromstring(text)
    for joint in robot.findall("joint"):
        if joint.get("name") in names:
            joint.set("type", "fixed")
    return bytes(etree.tostring(robot))


def with_wrong_lengths(text: bytes, factors: Array) -> bytes:
    """A URDF whose joints sit elsewhere: the way from each joint to the one before it times a factor of its own."""
    robot = etree.fromstring(text)
    moving = [j for j in robot.findall("joint") if j.get("type") != "fixed"]
    for k, joint in enumerate(moving):
        origin = joint.find("origin")
        if origin is not None:
            _multiply(origin, "xyz", float(factors[k % len(factors)]))
    return bytes(etree.tostring(robot))


def _multiply(element: etree._Element, name: str, factor: float) -> None:
    if (value := element.get(name)) is not None:
        element.set(name, " ".join(f"{factor * float(x):.9g}" for x in value.split()))


def scara_urdf() -> bytes:
    """Two links that turn, a vertical slide that turns about itself: of rods, 12 kg in all."""
    links = (  # joint type, axis, origin of the joint, mass, centre of mass, diagonal of the inertia
        ("revolute", "0 0 1", "0 0 0.35", 5.2, "0.16 0.01 0.03", (0.02, 0.09, 0.1)),
        ("revolute", "0 0 1", "0.325 0 0.05", 4.4, "0.13 0 0.04", (0.016, 0.06, 0.07)),
        ("prismatic", "0 0 -1", "0.275 0 0.1", 1.6, "0 0 0.05", (0.012, 0.012, 0.002)),
        ("revolute", "0 0 -1", "0 0 0", 0.8, "0.012 0.008 -0.1", (0.001, 0.001, 0.0008)),
    )
    parts = ['<robot name="scara"><link name="base"/>']
    for k, (kind, axis, origin, mass, centre, (x, y, z)) in enumerate(links):
        low, high, speed = (-0.15, 0.15, 0.8) if kind == "prismatic" else (-2.2, 2.2, 4.0)
        parts.append(
            f'<joint name="j{k + 1}" type="{kind}"><parent link="{f"link{k}" if k else "base"}"/><child link="link{k + 1}"/>'
            f'<origin xyz="{origin}"/><axis xyz="{axis}"/>'
            f'<limit lower="{low}" upper="{high}" velocity="{speed}" effort="100"/></joint>'
            f'<link name="link{k + 1}"><inertial><origin xyz="{centre}"/><mass value="{mass}"/>'
            f'<inertia ixx="{x}" ixy="0" ixz="0" iyy="{y}" iyz="0" izz="{z}"/></inertial></link>'
        )
    return "".join([*parts, "</robot>"]).encode()


class TrueRobot:
    """A robot as it is: the file's geometry with bodies drawn around the file's."""

    def __init__(self, path: Path, rng: np.random.Generator) -> None:
        self.model = pinocchio_model(path)
        self.n = self.model.nv
        for k in range(1, self.model.njoints):
            self.model.inertias[k] = drawn_body(self.model.inertias[k], rng)
        self.data = self.model.createData()
        self.slides = np.array(["JointModelP" in j.shortname() for j in list(self.model.joints)[1:]])

    @property
    def values(self) -> dict[str, float]:
        """Parameters of the links by the names that results have."""
        bodies = (self.model.inertias[k + 1].toDynamicParameters() for k in range(self.n))
        return {f"{s}{k + 1}": float(v) for k, body in enumerate(bodies) for s, v in zip(BODY, body, strict=True)}

    def lean(self, angle: float, direction: float) -> None:
        """Tilt the base by an angle about a horizontal axis."""
        axis = np.array([np.cos(direction), np.sin(direction), 0.0])
        self.model.gravity.linear = pin.exp3(angle * axis).T @ self.model.gravity.linear

    def torque(self, q: Array, dq: Array, ddq: Array) -> Array:
        """(N, n) of the rigid links."""
        return np.array([pin.rnea(self.model, self.data, *row) for row in zip(q, dq, ddq, strict=True)])

    def inertia(self, q: Array) -> Array:
        """(n,) mean diagonal of the mass matrix."""
        return np.mean([np.diag(pin.crba(self.model, self.data, row)) for row in q], axis=0)

    @property
    def ranges(self) -> tuple[Array, Array]:
        """(n,) middle and half width of where the joints move."""
        low, high = np.array(self.model.lowerPositionLimit), np.array(self.model.upperPositionLimit)
        known = np.isfinite(low) & np.isfinite(high) & (high > low)
        low, high = np.where(known, low, -np.pi), np.where(known, high, np.pi)
        half = np.minimum(0.4 * (high - low), np.where(self.slides, 0.4, REACH))
        return np.where(high - low > 2.0 * np.pi - 0.1, 0.0, (low + high) / 2.0), half

    @property
    def speeds(self) -> Array:
        """(n,) that the drives reach."""
        stated = np.array(self.model.velocityLimit)
        believable = np.isfinite(stated) & (stated > 0.0) & (stated < FASTEST)
        return np.where(believable, np.minimum(stated, SPEED), np.where(self.slides, SPEED / 6.0, SPEED))


def drawn_body(body: pin.Inertia, rng: np.random.Generator) -> pin.Inertia:
    """A body that can exist, off by tens of percent in its own metric."""
    J = pin.PseudoInertia.FromInertia(body).toMatrix()
    size, vectors = np.linalg.eigh((J + J.T) / 2.0)
    L = vectors * np.sqrt(np.maximum(size, 1e-9 * size[-1]))  # files have points and rods
    A = L @ (np.eye(4) + SPREAD * rng.standard_normal((4, 4)))
    return pin.PseudoInertia.FromMatrix(A @ A.T).toInertia()
