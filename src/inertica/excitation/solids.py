"""The bodies that could meet as plain arrays: robot links, obstacles and planes as the compiled distances take them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inertica.errors import InputError
from inertica.excitation.distance import hull_distance
from inertica.excitation.pairs import Pair
from inertica.excitation.trajectory import Array
from inertica.robot.model import Vector
from inertica.robot.outline import BASE, Outlines
from inertica.robot.shapes import Solid, round_points

CORNERS = 60
"""A solid with more corners is replaced by a hull of about as many with a radius around it that encloses it."""


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

    def __post_init__(self) -> None:
        counts = {"box": 3, "sphere": 1, "cylinder": 2}
        if self.kind not in counts:
            raise InputError(f"an obstacle cannot be a '{self.kind}'; use {', '.join(counts)}")
        if len(self.size) != counts[self.kind] or not min(self.size) > 0.0:
            raise InputError(f"a {self.kind} has {counts[self.kind]} positive sizes, got {self.size}")

    @property
    def solid(self) -> Solid:
        return Solid(self.kind, self.size, np.eye(3), np.array(self.position, float))


@dataclass(frozen=True)
class Plane:
    """normal . p >= level in the base frame: a floor, or a wall.

    Args:
        normal: unit vector to the free side.
        level: in m.
        name: for messages.
    """

    normal: Vector
    level: float
    name: str = "floor"


@dataclass(frozen=True, eq=False)
class World:
    """All solids as the compiled loop wants them; obstacles are solids of the base with a name of their own."""

    points: Array
    starts: NDArray[np.int64]
    radius: Array
    body: NDArray[np.int64]
    centre: Array
    size: Array
    planes: Array
    directions: Array
    of_link: dict[int, list[int]]
    of_name: dict[str, list[int]]
    of_plane: dict[str, list[int]]
    of_pair: dict[tuple[str, str], tuple[list[int], list[int]]]

    @classmethod
    def of(
        cls, n: int, shapes: Outlines, obstacles: Sequence[Obstacle], planes: Sequence[Plane], pairs: Sequence[Pair] = ()
    ) -> World:
        """Everything there is.

        Args:
            n: joints of the robot; its base is body n.
            shapes: of its links.
            obstacles, planes: around it.
            pairs: those with solids of their own are there beside the others.
        """
        cores, body = list[tuple[Array, float]](), list[int]()
        of_link, of_name, of_plane = dict[int, list[int]](), dict[str, list[int]](), dict[str, list[int]]()
        for outline in shapes.links:
            for solid in outline.solids:
                of_link.setdefault(outline.link, []).append(len(cores))
                cores.append(_simple(*solid.core()))
                body.append(n if outline.link == BASE else outline.link)
        for obstacle in obstacles:
            of_name.setdefault(obstacle.name, []).append(len(cores))
            cores.append(obstacle.solid.core())
            body.append(n)
        of_pair = dict[tuple[str, str], tuple[list[int], list[int]]]()
        for pair in (p for p in pairs if p.solids is not None and p.second is not None):
            assert pair.solids is not None and pair.second is not None
            both = list[list[int]]()
            for link, solids in zip((pair.first, pair.second), pair.solids, strict=True):
                both.append(list(range(len(cores), len(cores) + len(solids))))
                cores += [solid.core() for solid in solids]
                body += [n if link == BASE else link] * len(solids)
            of_pair[pair.names] = (both[0], both[1])
        for k, plane in enumerate(planes):
            of_plane.setdefault(plane.name, []).append(k)
        points = np.vstack([p for p, _ in cores]) if cores else np.zeros((0, 3))
        centre = np.array([0.5 * (p.min(axis=0) + p.max(axis=0)) for p, _ in cores]).reshape(-1, 3)
        size = np.array([np.linalg.norm(p - c, axis=1).max() + r for (p, r), c in zip(cores, centre, strict=True)])
        walls = np.array([[*p.normal, p.level] for p in planes], float).reshape(-1, 4)
        starts = np.cumsum([0, *(len(p) for p, _ in cores)])
        radius = np.array([r for _, r in cores])
        return cls(
            points, starts, radius, np.array(body, np.int64), centre, size, walls, round_points(42), of_link, of_name, of_plane,
            of_pair,
        )  # fmt: skip

    def columns(self, pairs: Sequence[Pair]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pairs of solids, and of solids and planes, each with the column it counts in."""
        between, against = list[tuple[int, int, int]](), list[tuple[int, int, int]]()
        for k, pair in enumerate(pairs):
            firsts = self.of_link[pair.first]
            others = self.of_link[pair.second] if pair.second is not None else self.of_name.get(pair.names[1], [])
            if pair.solids is not None:
                firsts, others = self.of_pair[pair.names]
            between += [(s, t, k) for s in firsts for t in others]
            if pair.second is None:
                against += [(s, t, k) for s in self.of_link[pair.first] for t in self.of_plane.get(pair.names[1], [])]
        return np.array(between, np.int64).reshape(-1, 3), np.array(against, np.int64).reshape(-1, 3)


def _simple(points: Array, radius: float) -> tuple[Array, float]:
    """A hull with few corners and a radius around it that encloses the hull of many."""
    if len(points) <= CORNERS:
        return points, radius
    take = np.unique((points @ round_points(CORNERS).T).argmax(axis=0))
    few = np.ascontiguousarray(points[take])
    work, ends, a, b = np.empty((11, 4)), np.empty((4, 2), np.int64), np.empty(3), np.empty(3)
    off = [hull_distance(points, i, i + 1, few, 0, len(few), np.inf, work, ends, a, b) for i in range(len(points))]
    return few, radius + max(off)
