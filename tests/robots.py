"""Robots for tests: random trees of all kinds of joints, with terms."""

from __future__ import annotations

import numpy as np

from inertica.robot.drives import Armature, Coupling
from inertica.robot.friction import Coulomb, Offset, Stribeck, Viscous
from inertica.robot.layout import Layout
from inertica.robot.model import Joint, Length, Robot, cartesian_lengths, matrix, rotation_x, rotation_y, rotation_z, vector
from inertica.robot.terms import RigidBody, Term

RIGHT_ANGLES = np.array([-1, 0, 1, 2]) * np.pi / 2


def random_layout(seed: int, joints: int | None = None) -> Layout:
    """A serial or branched robot of revolute and prismatic joints with random axes and placements, drives and friction.

    About half of the robots have right angles and zero offsets throughout, where grouping is richest.
    """
    rng = np.random.default_rng(seed)
    n = joints or int(rng.integers(1, 7))
    regular = bool(rng.random() < 0.5)
    branched = bool(rng.random() < 0.4)
    chain = tuple(_random_joint(rng, i, regular, branched) for i in range(n))
    gravity = vector([0, 0, -9.81] if rng.random() < 0.7 else rng.normal(size=3) * rng.integers(0, 2))
    robot = Robot(f"random{seed}", chain, gravity)
    terms = [term for i in range(n) for term in _random_terms(rng, i)]
    if n > 2 and rng.random() < 0.3:
        terms.append(Coupling(motor=n - 1, joints=(n - 2, n - 1)))
    payloads = (RigidBody(n - 1, "p", matrix(rotation_x(0.3)), (0.0, 0.1, 0.2)),) if rng.random() < 0.3 else ()
    return Layout(robot, tuple(terms), payloads)


def random_chi(layout: Layout, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=layout.size)


def _random_joint(rng: np.random.Generator, i: int, regular: bool, branched: bool) -> Joint:
    angles = rng.choice(RIGHT_ANGLES, size=3) if regular else rng.uniform(-np.pi, np.pi, size=3)
    rotation = rotation_z(angles[0]) @ rotation_y(angles[1]) @ rotation_x(angles[2])
    position = vector(np.round(rng.uniform(-0.5, 0.5, size=3), 3) * (rng.random(3) < (0.5 if regular else 1.0)))
    oblique = rng.normal(size=3)
    axis = (
        np.eye(3)[rng.integers(3)] * rng.choice([-1, 1]) if regular or rng.random() < 0.5 else oblique / np.linalg.norm(oblique)
    )
    lengths = cartesian_lengths(i + 1, position)
    arm = 0.0
    if rng.random() < 0.2:
        arm = float(np.round(rng.uniform(0.1, 0.4), 3))
        lengths += (Length(f"l{i + 1}", arm, (1.0, 0.0, 0.0), of="arm"),)
    return Joint(
        name=f"joint{i + 1}",
        link=f"link{i + 1}",
        parent=int(rng.integers(-1, i)) if branched and i else i - 1,
        rotation=matrix(rotation),
        position=position,
        axis=vector(axis),
        prismatic=bool(rng.random() < 0.25),
        arm=(arm, 0.0, 0.0),
        lengths=lengths,
    )


def _random_terms(rng: np.random.Generator, i: int) -> list[Term]:
    choices: list[Term] = [Armature(i), Viscous(i), Coulomb(i) if rng.random() < 0.5 else Stribeck(i, vs=0.02), Offset(i)]
    return [term for term in choices if rng.random() < 0.6]
