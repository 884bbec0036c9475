"""Where a load is fixed: a frame of the model file that rides on a link, a pose that was given, or the last link's own frame."""

from __future__ import annotations

from dataclasses import dataclass

from inertica.errors import InputError, nearest
from inertica.robot.description import Description
from inertica.robot.formats.table import source_part, source_tree
from inertica.robot.model import matrix, rotation_x, rotation_y, rotation_z, vector
from inertica.robot.terms import RigidBody
from inertica.robot.tree import Placed

USUAL = ("tool0", "flange")
"""Frames that model files have for tools, the first that is there is taken."""

SUFFIX = "p"


@dataclass(frozen=True)
class Flange:
    """A pose on a link, as the body of a load, and how people call it."""

    body: RigidBody
    name: str


def flange(description: Description, where: str | tuple[float, ...] | None = None) -> Flange:
    """The frame in which a load is stated.

    Args:
        description: the robot.
        where: a link of the model file that does not move against a link of the robot; x, y, z in m and, if wanted, roll, pitch, yaw
            in rad, in the frame of the last link; or None: the card's `payload:`, a frame called tool0 or flange, or the last link.
    """
    last = description.robot.n - 1
    if isinstance(where, tuple):
        return Flange(_posed(last, where), f"a given pose on {description.robot.joints[last].link}")
    if where is None and description.layout.payloads:
        payload = description.layout.payloads[0]
        return Flange(payload, f"the card's payload pose on {description.robot.joints[payload.link].link}")
    frames = {place.link: (j, place) for j, places in enumerate(frames_of(description)) for place in places}
    if where is None:
        where = next((name for name in USUAL if name in frames), description.robot.joints[last].link)
    if where not in frames:
        raise InputError(f"{description.name} has no frame '{where}' that rides on a link; {nearest(where, frames)}")
    link, place = frames[where]
    return Flange(RigidBody(link, SUFFIX, place.rotation, place.position), where)


def name_or_pose(word: str) -> str | tuple[float, ...]:
    """The name of a frame, or numbers that state a pose."""
    try:
        return tuple(float(part) for part in word.split(",")) if "," in word else word
    except ValueError:
        return word


def _posed(link: int, pose: tuple[float, ...]) -> RigidBody:
    if len(pose) not in (3, 6):
        raise InputError(f"a pose is x,y,z in m, or x,y,z,roll,pitch,yaw with angles in rad; {len(pose)} numbers were given")
    roll, pitch, yaw = pose[3:] or (0.0, 0.0, 0.0)
    return RigidBody(link, SUFFIX, matrix(rotation_z(yaw) @ rotation_y(pitch) @ rotation_x(roll)), vector(pose[:3]))


def base_frames(description: Description) -> tuple[Placed, ...]:
    """Frames of the model file that ride on the base, its own first."""
    tree = source_tree(description.source)
    return (Placed(description.robot.base),) if tree is None else source_part(description.source, tree).base


def frames_of(description: Description) -> tuple[tuple[Placed, ...], ...]:
    """Per link the frames of the model file that ride on it, its own first."""
    tree = source_tree(description.source)
    if tree is None:
        return tuple((Placed(joint.link),) for joint in description.robot.joints)
    return source_part(description.source, tree).merged
