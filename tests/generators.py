"""Random robots for property tests: serial and branched, revolute and prismatic, any axis and placement."""

from __future__ import annotations

import numpy as np

from inertica.robot import inertia
from inertica.robot.drives import Armature, Coupling
from inertica.robot.friction import Coulomb, DirectionalCoulomb, Offset, Stribeck, Viscous
from inertica.robot.layout import Layout, Parameters
from inertica.robot.model import Joint, Robot, matrix, rotation_x, rotation_z, vector
from inertica.robot.terms import Counterbalance, RigidBody, Spring, Term, UserTerm
from inertica.scalars import cos

COORDINATE_AXES = np.vstack([np.eye(3), -np.eye(3)])


def random_robot(seed: int, n: int | None = None, *, arms: bool = True) -> Robot:
    """A tree of 1 to 8 joints; every second robot has right angles and coordinate axes, as real ones do."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9)) if n is None else n
    square, branched = seed % 2 == 0, seed % 3 == 0
    joints = []
    for i in range(n):
        # a new branch starts from an ancestor of the last joint: Pinocchio's composite bodies need subtrees without gaps
        path = _path(joints) if branched else [i - 1]
        parent = int(rng.choice(path))
        if square:
            axis = COORDINATE_AXES[rng.integers(6)]
            rotation = rotation_x(rng.integers(4) * np.pi / 2) @ rotation_z(rng.integers(4) * np.pi / 2)
            position = rng.normal(size=3) * (rng.random(3) < 0.5)
        else:
            axis, rotation, position = _unit(rng), _rotation(rng), rng.normal(size=3) * 0.5
        arm = rng.normal(size=3) * 0.2 if arms and seed % 5 == 0 else np.zeros(3)
        joints.append(
            Joint(
                f"j{i + 1}",
                f"l{i + 1}",
                parent,
                matrix(rotation),
                vector(position),
                vector(axis),
                bool(rng.random() < 0.25),
                vector(arm),
            )
        )
    return Robot(f"random{seed}", tuple(joints), vector(rng.normal(size=3) * 6))


def random_tens(rng: np.random.Generator, n: int) -> np.ndarray:
    """(n, 10) parameters of bodies that could exist."""
    out = []
    for _ in range(n):
        mass, com, spread = rng.uniform(0.5, 8.0), rng.normal(size=3) * 0.1, rng.uniform(0.05, 0.2, 3)
        R = _rotation(rng)
        second = mass * R @ np.diag(spread**2) @ R.T
        out.append(inertia.from_com(mass, com, np.trace(second) * np.eye(3) - second))
    return np.array(out)


def rich_layout(robot: Robot) -> Layout:
    """A layout that mixes all linear terms over the joints, with a coupling, a payload and a user's own column."""
    terms: list[Term] = []
    for i in range(robot.n):
        terms += [
            Armature(i),
            Viscous(i),
            (Coulomb(i), DirectionalCoulomb(i, width=0.1), Stribeck(i, vs=0.4, es=1.5), Coulomb(i, width=0.2))[i % 4],
        ]
        if i % 2:
            terms.append(Offset(i))
    terms.append(Spring(0, rest=0.3))
    terms.append(Counterbalance(robot.n - 1))
    if robot.n > 1:
        terms.append(Coupling(robot.n - 1, (robot.n - 2, robot.n - 1), (1.0, -0.7)))
    terms.append(UserTerm("user", lambda x: {0: cos(x.q[0]) * x.dq[0]}))
    payload = RigidBody(robot.n - 1, "p", matrix(rotation_x(0.4)), (0.1, -0.2, 0.05))
    return Layout(robot, tuple(terms), (payload,))


def random_parameters(layout: Layout, seed: int) -> Parameters:
    """Physically possible values: links that can exist, positive drives and friction."""
    rng = np.random.default_rng(seed)
    values = rng.uniform(0.1, 1.0, layout.size)
    for _, where in layout.bodies:
        values[where] = random_tens(rng, 1)[0]
    for name in layout.names:
        if name.startswith(("Iam", "Fcm", "Fvm")):
            values[layout.index(name)] *= 0.05  # the coupled motor's share is inside Ia of its joints
    return Parameters(layout, values)


def states(seed: int, count: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.uniform(-3, 3, (count, n)), rng.normal(size=(count, n)), 3 * rng.normal(size=(count, n))


def _path(joints: list[Joint]) -> list[int]:
    """The last joint, those that carry it, and the base."""
    path = [len(joints) - 1]
    while path[-1] >= 0:
        path.append(joints[path[-1]].parent)
    return path


def _unit(rng: np.random.Generator) -> np.ndarray:
    v = rng.normal(size=3)
    return v / np.linalg.norm(v)


def _rotation(rng: np.random.Generator) -> np.ndarray:
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return Q * np.sign(np.linalg.det(Q))
