"""Masses, centres and inertias from a CAD export moved into the link frames of another model of the same robot, with a check.

Two models of one arm place their link frames differently, but a link is the same body: with the frames of both known at one pose, the
ten parameters of a link change frame by one rigid displacement (Huygens-Steiner; Jaco2 paper, the step behind its CAD column).  That
displacement holds at every pose exactly when all joint axes of the two models coincide at that one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from inertica.arrays import Array
from inertica.dynamics.engine import Engine
from inertica.dynamics.equations import Equations
from inertica.errors import InputError
from inertica.excitation.kinematics import Frames, frames
from inertica.robot import inertia
from inertica.robot.cad_table import Part, read_parts
from inertica.robot.description import Description
from inertica.robot.formats.urdf_file import rpy_matrix
from inertica.robot.layout import Layout, Parameters
from inertica.robot.load import load
from inertica.robot.model import Robot
from inertica.robot.natural import longest_link

TOLERANCE = 3e-3
"""rad, and lengths of the longest link, by which joint axes of the two models may differ: files print three digits."""

EXACT = 1e-6
"""Relative difference of torques up to which two models count as the same."""

STATES = 64

DUST = 1e-14
"""Entries of a link below this share of its largest are rounding of zeros."""

Pose = tuple[Array, Array]
"""Rotation and position of a frame in another."""


@dataclass(frozen=True)
class Imported:
    """Values in their new frames.

    Args:
        parameters: of the model, with the links' inertial values replaced and everything else kept.
        description: the model.
        mass: of all links in kg.
        difference: largest difference of torques of rigid links between the two models over random motions, relative to the
            largest; None for a table, which has no joints.
        notes: one sentence each: what was found, what is doubtful.
    """

    parameters: Parameters
    description: Description
    mass: float
    difference: float | None
    notes: tuple[str, ...]


def import_cad(
    model: str | Path | Description,
    source: str | Path | Description,
    *,
    pose: ArrayLike | None = None,
    base: Sequence[float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    positive_products: bool = False,
    tolerance: float = TOLERANCE,
) -> Imported:
    """Move inertial values into the frames of a model.

    Args:
        model: DH file, or any other robot, whose frames are asked for.
        source: another model of the same robot (URDF, MJCF, card, catalog name), or a CSV table of parts, see `read_parts`.
        pose: joint coordinates of the model at which the other one is at its zero, or the table was drawn; zero by default.
        base: x, y, z, roll, pitch, yaw of the other's base in the model's.
        positive_products: products of inertia in the table are integrals of x y, not their negatives.
        tolerance: rad, and lengths of the longest link, by which joint axes may differ.

    Examples:
        >>> found = ia.import_cad("arm_dh.yaml", "parts.csv")
        >>> ia.save_model(found.description, found.parameters, "arm_cad.yaml")
        ()
    """
    description = model if isinstance(model, Description) else load(model)
    at = np.zeros(description.robot.n) if pose is None else np.asarray(pose, float)
    if at.shape != (description.robot.n,):
        raise InputError(f"the pose has {at.size} joint coordinates; {description.name} has {description.robot.n} joints")
    if len(base) != 6:
        raise InputError(f"the base is x y z roll pitch yaw, six numbers, not {len(base)}")
    placed = rpy_matrix(np.array(base[3:], float)), np.array(base[:3], float)
    if isinstance(source, (str, Path)) and Path(source).suffix.lower() == ".csv":
        return _from_table(description, read_parts(source, description.robot, positive_products), at, placed)
    other = source if isinstance(source, Description) else load(source)
    return _from_model(description, other, at, placed, tolerance)


def _from_table(description: Description, parts: Sequence[Part], pose: Array, placed: Pose) -> Imported:
    robot = description.robot
    seen = frames(robot, pose[None])
    tens, whole = np.zeros((robot.n, 10)), np.zeros(10)
    for part in parts:
        in_link = inertia.change_frame(part.ten, part.rotation, part.position)
        at_link = _pose(seen, part.link)
        in_base = inertia.change_frame(in_link, *(placed if part.in_base else at_link))
        tens[part.link] += inertia.change_frame(in_base, *_inverse(at_link)) if part.in_base else in_link
        whole += in_base
    body = inertia.to_com(whole)
    centre = " ".join(f"{x + 0.0:.4g}" for x in np.round(body.com, 12))
    notes = [f"{len(parts)} parts weigh {body.mass:.6g} kg, their centre of mass lies at {centre} m of the base in that pose"]
    return _imported(description, tens, None, notes)


def _from_model(description: Description, other: Description, pose: Array, placed: Pose, tolerance: float) -> Imported:
    robot, name = description.robot, other.source.path.name
    _check_structure(robot, other.robot, name)
    links = np.array(Equations(other.layout).link_inertia(list(other.prior.values)), float)
    if not links.any():
        raise InputError(f"{name} gives no inertial values; name a file that has masses")
    ours, seen = frames(robot, pose[None]), _moved(frames(other.robot, np.zeros((1, robot.n))), placed)
    signs = _same_axes(ours, seen, tolerance, name)
    tens = np.empty((robot.n, 10))
    for j in range(robot.n):
        R, p = _inverse(_pose(ours, j))
        S, s = _pose(seen, j)
        tens[j] = inertia.change_frame(links[j], R @ S, R @ s + p)
    notes = [f"{joint.name} turns the other way in {name}" for joint, sign in zip(robot.joints, signs, strict=True) if sign < 0]
    difference = _torques_apart(robot, tens, other.robot.with_gravity(placed[0].T @ robot.gravity), links, pose, signs)
    if not difference <= EXACT:
        notes.append(
            f"the torques of rigid links differ from those of {name} by {difference:.1e} of the largest: the two models have slightly "
            "different lengths or angles"
        )
    return _imported(description, tens, difference, notes)


def _imported(description: Description, tens: Array, difference: float | None, notes: list[str]) -> Imported:
    """Puts the links' values beside what the model says of drives and friction, and says what is doubtful."""
    robot, values = description.robot, description.prior.values.copy()
    for j in robot.links:
        values[description.layout.link(j)] = np.where(np.abs(tens[j]) < DUST * np.abs(tens[j]).max(), 0.0, tens[j])
    parameters = description.prior.with_values(values, origin="CAD")
    empty = [robot.joints[j].link for j in robot.links if not tens[j].any()]
    if empty:
        notes.append(f"there are no values for {', '.join(empty)}; they are zero")
    if bad := [name for name in parameters.inconsistent_links() if name not in empty]:
        notes.append(
            f"no real body has the values of {', '.join(bad)}; look at the signs of products of inertia and where inertias are taken "
            "(about the centre of mass, or the frame's origin)"
        )
    return Imported(parameters, description, float(tens[:, 9].sum()), difference, tuple(notes))


def _check_structure(robot: Robot, other: Robot, name: str) -> None:
    if robot.n != other.n:
        raise InputError(
            f"{robot.name} has {robot.n} joints and {name} {other.n}; write a card that lists those of the robot (joints: [...])"
        )
    for mine, theirs in zip(robot.joints, other.joints, strict=True):
        if mine.prismatic != theirs.prismatic or mine.parent != theirs.parent:
            raise InputError(
                f"joint {mine.name} of {robot.name} and joint {theirs.name} of {name} are not the same: one slides and one turns, "
                "or they sit on different links; bring the joints into the same order with a card (joints: [...])",
                joint=mine.name,
            )


def _same_axes(ours: Frames, theirs: Frames, tolerance: float, name: str) -> Array:
    """(n,) 1 where a joint of the two models counts in the same direction and -1 where not; refuses axes that do not coincide."""
    signs, length = np.ones(ours.robot.n), longest_link(ours.robot) or 1.0
    for j, joint in enumerate(ours.robot.joints):
        a, b = ours.axis[0, j], theirs.axis[0, j]
        signs[j] = 1.0 if a @ b >= 0.0 else -1.0
        angle = float(np.arctan2(np.linalg.norm(np.cross(a, b)), abs(a @ b)))
        between = theirs.pivot[0, j] - ours.pivot[0, j]
        apart = 0.0 if joint.prismatic else float(np.linalg.norm(between - (between @ a) * a))
        if angle > tolerance or apart > tolerance * length:
            raise InputError(
                f"the axis of {joint.name} lies {1e3 * apart:.3g} mm and {np.degrees(angle):.3g} deg from that of "
                f"{theirs.robot.joints[j].name} in {name}, the first that differs; state the coordinates of {ours.robot.name} at "
                "which the other is at its zero (pose), where its base is (base), or correct the DH table",
                joint=joint.name,
            )
    return signs


def _torques_apart(robot: Robot, tens: Array, other: Robot, links: Array, pose: Array, signs: Array) -> float:
    """Largest difference of torques of rigid links, relative to the largest torque: the check that both are the same robot."""
    rng = np.random.default_rng(7)
    q, dq, ddq = (rng.uniform(-size, size, (STATES, robot.n)) for size in (np.pi, 2.0, 10.0))
    ours = Engine(Layout(robot)).inverse_dynamics(q, dq, ddq, tens.ravel())
    theirs = signs * Engine(Layout(other)).inverse_dynamics(signs * (q - pose), signs * dq, signs * ddq, links.ravel())
    return float(np.abs(ours - theirs).max() / max(np.abs(theirs).max(), 1e-300))


def _pose(seen: Frames, j: int) -> Pose:
    """base <- link"""
    return seen.rotation[0, j], seen.origin[0, j]


def _inverse(pose: Pose) -> Pose:
    R, p = pose
    return R.T, -R.T @ p


def _moved(seen: Frames, placed: Pose) -> Frames:
    """The same with its base placed elsewhere."""
    R, p = placed
    return Frames(seen.robot, R @ seen.rotation, seen.origin @ R.T + p, seen.axis @ R.T, seen.pivot @ R.T + p)
