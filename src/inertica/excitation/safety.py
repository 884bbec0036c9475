"""What keeps a designed motion from doing harm: limits that must be there, a floor, a start pose with room around it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from inertica.errors import InerticaError, InputError
from inertica.excitation.collision import Collisions
from inertica.excitation.kinematics import frames
from inertica.excitation.pairs import drawn_poses
from inertica.excitation.solids import Obstacle, Plane
from inertica.excitation.trajectory import Array
from inertica.robot.description import Description
from inertica.robot.formats.table import source_tree
from inertica.robot.model import Robot
from inertica.robot.outline import Outlines, arm_length, capsule, outlines

AUTO, NONE = "auto", "none"
FLOOR_BELOW = 0.05
"""The base frame stands on the floor when the first joint that can lower a link is higher than this share of the arm's length."""

LIFTING = 0.02
"""sin of the angle to the vertical from which a joint's axis can lower a link."""

TRIES = 4000
"""Poses among which one to start from is looked for."""

ROOM, LEAST_ROOM = 2.5, 0.05
"""Clearances beyond the clearance that a start pose should have all around, where there is one, and must have."""


def surroundings(
    description: Description, floor: float | str | None = AUTO, box: Sequence[float] | None = None,
    obstacles: Sequence[Obstacle] = (), clearance: float | None = None, load: tuple[int, Array, float] | None = None,
    packages: Sequence[str | Path] = (),
) -> Collisions:  # fmt: skip
    """The robot with everything it must not touch.

    Args:
        description: the robot.
        floor: height in m that every link stays above; `auto` is `usual_floor`, `none` (or None) has no floor.
        box: x, y, z of the lowest and of the highest corner of a box of the base frame that every link stays inside; may be infinite.
        obstacles: boxes, spheres, cylinders.
        clearance: m kept free; 2 % of the arm's length, and 5 % where a shape is built, when not given.
        load: link (0-based), position of the centre in its frame and radius of a ball that is carried.
        packages: folders in which `package://` is looked for.
    """
    if clearance is not None and not clearance > 0.0:
        raise InputError(f"the clearance should be a number of metres greater than zero, not {clearance:g}")
    height = usual_floor(description) if floor == AUTO else None if floor is None or floor == NONE else float(floor)
    planes = [] if height is None else [Plane(upwards(description.robot), height, "floor")]
    planes += _walls(box) if box is not None else []
    shapes = outlines(description, packages)
    if load is not None:
        shapes = _carrying(shapes, *load)
    stated = clearance or 0.0
    return Collisions(description, _named(obstacles), stated, stated, packages, planes=tuple(planes), shapes=shapes)


def upwards(robot: Robot) -> tuple[float, float, float]:
    """Against gravity in the base frame; z without gravity."""
    g = np.array(robot.gravity)
    x, y, z = (float(v) for v in (-g / np.linalg.norm(g) if g.any() else (0.0, 0.0, 1.0)))
    return x, y, z


def usual_floor(description: Description) -> float | None:
    """0, the plane of the base frame, for a robot that stands upright on it; None where that cannot be told from the model.

    That is so when the first joint whose axis is not vertical lies well above the base frame; an arm whose first axis lies in that
    plane stands on something that the model does not have.
    """
    robot = description.robot
    if not robot.upright:
        return None
    at = frames(robot, np.array(description.home or np.zeros(robot.n))[None])
    lifting = [j for j in range(robot.n) if math.hypot(*at.axis[0, j, :2]) > LIFTING]
    heights = at.pivot[0, lifting[:1] or slice(None), 2]
    return 0.0 if float(heights.min()) > FLOOR_BELOW * arm_length(robot) else None


def require_limits(description: Description) -> None:
    """Refuses a model whose joints have no limits of position (but for continuous joints of a URDF) or velocity.

    Raises:
        InputError: with the lines that a card needs.
    """
    robot, limits = description.robot, description.robot.limits
    turning = _continuous(description)
    place = [j.name for j, a, b in zip(robot.joints, limits.lower, limits.upper, strict=True)
             if not math.isfinite(b - a) and j.name not in turning]  # fmt: skip
    speed = [j.name for j, v in zip(robot.joints, limits.velocity, strict=True) if not math.isfinite(v)]
    if not place and not speed:
        return
    missing = {**({"position": place} if place else {}), **({"velocity": speed} if speed else {})}
    sentence = "; ".join(f"no {what} limits for {', '.join(names)}" for what, names in missing.items())
    keys = (("lower", "upper") if place else ()) + (("velocity",) if speed else ())
    lines = ", ".join(f"{key}: [{', '.join(_shown(v) for v in getattr(limits, key))}]" for key in keys)
    where = description.source.card or description.source.path
    head = "" if description.source.card else f"model: {description.source.path.name}, "
    raise InputError(
        f"{where.name}: a safe motion cannot be designed, the model has {sentence}; write a card with the lines  {head}"
        f"limits: {{{lines}}}  with a number for every '?' (rad, rad/s; m, m/s)"
    )


def safe_start(description: Description, bodies: Collisions) -> Array:
    """(n,) a pose to start from: the middle pose where that has room, else one as near to it with as much room as there is.

    Raises:
        InerticaError: in no pose that was tried do all bodies keep their distance; says which are in the way.
    """
    wish = middle_pose(description)
    if not bodies.pairs:
        return wish
    wanted, least = ROOM * bodies.clearance, LEAST_ROOM * bodies.clearance
    if (bodies.distances(wish[None]) - bodies.kept).min() >= wanted:
        return wish
    rng = np.random.default_rng(0)
    anywhere = drawn_poses(description, TRIES, rng)
    share = np.linspace(0.02, 1.0, TRIES)[:, None]  # near the middle pose first, then further away
    limits = description.robot.limits
    spans = np.subtract(limits.upper, limits.lower)
    inset = np.where(np.isfinite(spans), 0.15 * spans, 0.0)
    low, high = np.array(limits.lower) + inset, np.array(limits.upper) - inset
    poses = np.clip(np.vstack([wish, wish + share * (anywhere - wish), anywhere]), low, high)
    d = bodies.distances(poses) - bodies.kept
    room = d.min(axis=1)
    if room.max() < least:
        way = int(np.argmax((d < least).mean(axis=0)))
        count = int((d[:, way] < least).sum())
        raise InerticaError(
            f"no trajectory inside the limits: no pose to start from was found, in none of {len(poses)} do all bodies keep their "
            f"distance; {bodies.pairs[way].label} are too close in {count} of them: change the floor, the "
            "obstacles or less clearance, or state the links' shapes in a card (shapes:)"
        )
    size = np.where(np.isfinite(spans), spans, 2.0 * np.pi)
    away = np.abs((poses - wish) / size).max(axis=1)
    short = np.minimum(room / least - 1.0, 0.0)
    return np.asarray(poses[int(np.argmax(np.minimum(room, wanted) / wanted - 0.3 * away + short))])


def middle_pose(description: Description) -> Array:
    """(n,) the home pose, moved off the ends of the joint ranges by at least a quarter of them."""
    limits, home = description.robot.limits, np.array(description.home or np.zeros(description.robot.n))
    low, high = np.array(limits.lower), np.array(limits.upper)
    bounded = np.isfinite(high - low)
    with np.errstate(invalid="ignore"):
        return np.where(bounded, np.clip(home, low + 0.25 * (high - low), high - 0.25 * (high - low)), home)


def _continuous(description: Description) -> set[str]:
    """Joints that the model file says to turn without end."""
    tree = source_tree(description.source)
    return set() if tree is None else {joint.name for joint in tree.joints if joint.continuous}


def _walls(box: Sequence[float]) -> list[Plane]:
    if len(box) != 6 or not all(a < b for a, b in zip(box[:3], box[3:], strict=True)):
        raise InputError("a box has six numbers, x,y,z of its lowest and of its highest corner, the second above the first")
    out = []
    for k, axis in enumerate("xyz"):
        for sign, level in ((1.0, box[k]), (-1.0, -box[3 + k])):
            if math.isfinite(level):
                unit = [0.0, 0.0, 0.0]
                unit[k] = sign
                out.append(Plane((unit[0], unit[1], unit[2]), float(level), f"wall at {axis} = {sign * level:g}"))
    return out


def _named(obstacles: Sequence[Obstacle]) -> tuple[Obstacle, ...]:
    """With names that tell them apart."""
    return tuple(replace(o, name=f"{o.kind} {k + 1}") if o.name == "obstacle" else o for k, o in enumerate(obstacles))


def _carrying(shapes: Outlines, link: int, centre: Array, radius: float) -> Outlines:
    ball = capsule(centre, centre, radius)
    return replace(shapes, links=tuple(replace(o, solids=(*o.solids, ball)) if o.link == link else o for o in shapes.links))


def _shown(value: float) -> str:
    return f"{value:g}" if math.isfinite(value) else "?"
