"""Which two bodies of a robot count when collisions are looked for, and how much of built capsules does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inertica.excitation.kinematics import Frames
from inertica.excitation.trajectory import Array
from inertica.robot.description import Description
from inertica.robot.model import Robot
from inertica.robot.outline import BASE, Outline, capsule
from inertica.robot.shapes import Solid

POSES = 1000
"""Random poses by which pairs that touch by construction are told."""

SOME = 100
"""Of these poses, those by which the place is found where two links meet."""

LESSER = ((0, 1.0), (0, 0.75), (0, 0.5), (2, 1.0), (2, 0.75), (2, 0.5), (1, 1.0), (1, 0.75), (1, 0.5), (0, 0.25))
"""What is tried of built capsules: which of the two is cut (none, first, second), and the share of the radii that counts."""

STILL = 0.05
"""Share of the clearance by which a link's distance from its surroundings varies at most when it does not move towards them."""

OPEN = np.pi
"""Range assumed of joints without limits when poses are drawn."""


@dataclass(frozen=True, eq=False)
class Pair:
    """Two bodies that could meet.

    Args:
        first, second: links (0-based, -1 the base); second is None for planes and obstacles.
        names: of both.
        thinned: m by which the radii of both, built capsules, are less than those of `outlines`, together.
        solids: of both where one of them is cut; those of `outlines` when None.
    """

    first: int
    second: int | None
    names: tuple[str, str]
    thinned: float = 0.0
    solids: tuple[tuple[Solid, ...], tuple[Solid, ...]] | None = None

    @property
    def label(self) -> str:
        return " and ".join(self.names)


def drawn_poses(description: Description, count: int, rng: np.random.Generator) -> Array:
    """(count, n) poses over the joint ranges, the home pose first."""
    limits = description.robot.limits
    low, high = np.array(limits.lower), np.array(limits.upper)
    home = np.array(description.home or np.zeros(description.robot.n))
    low, high = np.where(np.isfinite(low), low, home - OPEN), np.where(np.isfinite(high), high, home + OPEN)
    return np.vstack([home, rng.uniform(low, high, (count - 1, len(home)))])


def between(robot: Robot, near: int, far: int) -> tuple[int, ...]:
    """Joints from a link out to another one that it carries; none when it does not carry it."""
    out, j = list[int](), far
    while j not in (near, BASE):
        out.append(j)
        j = robot.joints[j].parent
    return tuple(out) if j == near else ()


def neighbours(robot: Robot, near: Outline, far: Outline) -> bool:
    """Whether one joint connects two links, the first nearer to the base; of built shapes, besides sliding joints."""
    joints = between(robot, near.link, far.link)
    turning = [i for i in joints if not robot.joints[i].prismatic]
    return len(joints) == 1 or (near.origin == far.origin == "built" and len(turning) <= 1 and len(turning) < len(joints))


def meeting_point(placed: Frames, of: tuple[int, Sequence[Solid]], to: tuple[int, Sequence[Solid]]) -> Array:
    """(3,) the point of a link's capsule axes that is nearest to another's, on average over poses, in the link's frame."""
    along = np.linspace(0.0, 1.0, 21)[:, None]
    points, other = (np.vstack([p[0] + along * (p[-1] - p[0]) for p, _ in (s.core() for s in solids)]) for _, solids in (of, to))
    near, far = (
        x[None] if link == BASE else placed.origin[:SOME, link, None] + np.einsum("mij,kj->mki", placed.rotation[:SOME, link], x)
        for (link, _), x in ((of, points), (to, other))
    )
    away = np.linalg.norm(near[:, :, None] - far[:, None], axis=3)
    return np.asarray(points[int(np.argmin(away.min(axis=2).mean(axis=0)))])


def without(solids: Sequence[Solid], point: Array, radius: float) -> tuple[Solid, ...]:
    """Capsules without what of their axes is within a radius of a point."""
    out = []
    for solid in solids:
        ends, thick = solid.core()
        a, b = ends[0], ends[-1]
        along, away = b - a, a - point
        square, half, rest = float(along @ along), float(along @ away), float(away @ away) - radius**2
        inside = half**2 - square * rest
        if square == 0.0 or inside <= 0.0:
            out += [solid] if rest > 0.0 else []
            continue
        first, last = (-half - np.sqrt(inside)) / square, (-half + np.sqrt(inside)) / square
        out += [capsule(a, a + min(first, 1.0) * along, thick)] if first > 0.0 else []
        out += [capsule(a + max(last, 0.0) * along, b, thick)] if last < 1.0 else []
    return tuple(out)
