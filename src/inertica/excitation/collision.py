"""Self-collision, floor and surroundings: distances between all links, each with the shapes that `robot.outline` has for it.

Which pairs count.  All of two links, and of a moving link with the floor, the walls of a box and every obstacle, but for

* neighbours: two links that one joint connects; of built capsules, also those with sliding joints besides, as in a quill that runs
  through the arm of a SCARA;
* pairs of links that touch by construction: nearer than the clearance in each of `POSES` poses drawn over the joint ranges;
* links with one joint more between them that come nearer than the clearance in these poses, but never than half of it: they pass each
  other closely by construction, as the links of a compact wrist do, and nothing that the joints do makes them touch;
* links that stand on or in something: nearer to it than the clearance in each of these poses, and always equally near.

Built capsules are only about as thick as the links, and meet at the joints.  A pair of them that touches in most poses counts with
thinner capsules, or without the part of the outer link (else of the inner one) that is next to the other: the first of `LESSER` that
are apart in at least half of the poses; it is left out when none are.

The pairs left out are listed.  Between two instants a distance changes by no more than the joints' speeds allow (`reaches`), so that a
grid of times shows where a motion has to be looked at more closely.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inertica.errors import InputError
from inertica.excitation.distance import clearances
from inertica.excitation.kinematics import Frames, frames
from inertica.excitation.pairs import LESSER, POSES, STILL, Pair, between, drawn_poses, meeting_point, neighbours, without
from inertica.excitation.solids import Obstacle, Plane, World
from inertica.excitation.trajectory import Array, Samples
from inertica.robot.description import Description
from inertica.robot.model import Robot, Vector
from inertica.robot.outline import BASE, Outlines, arm_size, outlines

CLEARANCE, ROUGH = 0.02, 0.05
"""Lengths of the arm kept free between bodies when not stated otherwise; where the shape of one is built, a guess at the link."""

FAR = 3.0
"""Clearances beyond the greatest of them from which a distance counts as far: it is not computed more exactly."""

UNIT = 2.0
"""Greatest clearances that count as one in the excess."""

COARSE = 200
"""Poses of a motion that are looked at first: what is further apart than their closest need not be known exactly."""


@dataclass(frozen=True)
class Approach:
    """How near two bodies come: which, when, and where their nearest points are."""

    distance: float
    first: str
    second: str
    time: float
    points: tuple[Vector, Vector]

    def __str__(self) -> str:
        return f"{self.first} and {self.second}: {1e3 * self.distance:.0f} mm at {self.time:.3f} s"


@dataclass(frozen=True, eq=False)
class Collisions:
    """The distance between bodies that could meet stays above `clearance`.

    The excess is the clearance minus the distance, in units of `unit`, one column per pair of bodies; distances of bodies inside each
    other are negative.

    Args:
        description: the robot.
        obstacles: fixed surroundings.
        clearance: metres kept free; 0 for a share of the arm's length.
        rough: the same where a shape is built.
        packages: folders that `package://` refers to.
        unit: metres that count as one in the excess; twice the greatest clearance when not given.
        planes: floor and walls.
        shapes: of the links; those of `outlines(description)` when not given.
    """

    description: Description
    obstacles: tuple[Obstacle, ...] = ()
    clearance: float = 0.0
    rough: float = 0.0
    packages: Sequence[str | Path] = ()
    unit: float | None = None
    planes: tuple[Plane, ...] = ()
    shapes: Outlines | None = None

    def __post_init__(self) -> None:
        length = arm_size(self.description)
        for name, share in (("clearance", CLEARANCE), ("rough", ROUGH)):
            if not getattr(self, name):
                object.__setattr__(self, name, share * length)

    @cached_property
    def outlines(self) -> Outlines:
        return outlines(self.description, self.packages) if self.shapes is None else self.shapes

    @property
    def _unit(self) -> float:
        return self.unit or UNIT * max(self.clearance, self.rough)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f"nearness of {pair.label}" for pair in self.pairs)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Those whose distance is kept."""
        return self._chosen[0]

    @property
    def touching(self) -> tuple[Pair, ...]:
        """Those left out because they touch by construction; neighbours are not listed."""
        return self._chosen[1]

    def distances(self, q: Array, far: float | None = None) -> Array:
        """(M, pairs) at poses (M, n); those beyond `far`, the greatest clearance and `FAR` when not given, are given as that."""
        return self._measured(self.pairs, q, far=far)[0]

    @cached_property
    def kept(self) -> Array:
        """(pairs,) m kept free."""
        return np.array([self._room(pair) for pair in self.pairs])

    def excess(self, motion: Samples) -> Array:
        return (self.kept - self.distances(motion.q)) / self._unit

    def free(self, q: Array) -> bool:
        """Whether all bodies keep their distance at all poses (M, n)."""
        return bool((self.distances(q) >= self.kept).all())

    def gradient(self, motion: Samples, weights: Array) -> Samples:
        out = Samples(*(np.zeros_like(x) for x in motion))
        at = np.flatnonzero(weights.any(axis=1))
        if at.size:
            placed = frames(self.description.robot, motion.q[at])
            _, near, other, normal = self._measured(self.pairs, motion.q[at], placed)
            for k, pair in enumerate(self.pairs):
                rows = np.flatnonzero(weights[at, k])
                if rows.size:
                    rate = _rate(placed, rows, pair.first, near[rows, k], normal[rows, k])
                    if pair.second is not None:
                        rate = _rate(placed, rows, pair.second, other[rows, k], normal[rows, k]) - rate
                    else:
                        rate = -rate
                    out.q[at[rows]] -= weights[at[rows], k, None] / self._unit * rate
        return out

    def closest(self, q: Array) -> tuple[float, str, str]:
        """Smallest distance at one pose (n,), and the two bodies."""
        approach = self.approach(np.asarray(q, float)[None], np.zeros(1))
        return approach.distance, approach.first, approach.second

    def approach(self, q: Array, t: Array) -> Approach:
        """The closest approach of a motion (M, n) at times (M,)."""
        if not self.pairs:
            raise InputError("no two bodies of the model could collide")
        some = self._measured(self.pairs, q[:: max(1, len(q) // COARSE)], far=np.inf)[0]
        d, near, other, _ = self._measured(self.pairs, q, far=float(some.min()) + 1e-9)
        m, k = np.unravel_index(int(np.argmin(d)), d.shape)
        a, b = ((float(x), float(y), float(z)) for x, y, z in (near[m, k], other[m, k]))
        return Approach(float(d[m, k]), *self.pairs[k].names, float(t[m]), (a, b))

    def doubtful(self, motion: Samples, t: Array, d: Array) -> NDArray[np.bool_]:
        """(M - 1,) whether bodies could come nearer than they may between two instants, by the joints' speeds there.

        Args:
            motion, t: states (M, n) and times (M,).
            d: (M, pairs) their distances.

        A distance changes by at most sum_i |dq_i| reach_i per second, `reaches`; the speed inside an interval is taken as the greater
        of its ends and what the accelerations there add.
        """
        dt = np.diff(t)[:, None]
        speed = np.maximum(abs(motion.dq[:-1]), abs(motion.dq[1:])) + dt * np.maximum(abs(motion.ddq[:-1]), abs(motion.ddq[1:]))
        least = 0.5 * (d[:-1] + d[1:] - dt * (speed @ self.reaches.T))
        return np.asarray((least < self.kept).any(axis=1))

    @cached_property
    def reaches(self) -> Array:
        """(pairs, n) m: by how much a pair's distance can change per radian (or metre) of each joint."""
        robot = self.description.robot
        out = np.zeros((len(self.pairs), robot.n))
        for k, pair in enumerate(self.pairs):
            first, second = (
                _max_lever_arms(robot, j, self._bounds[j]) for j in (pair.first, BASE if pair.second is None else pair.second)
            )
            shared = (first > 0.0) & (second > 0.0)  # joints that carry both do not change their distance
            out[k] = np.where(shared, 0.0, first + second)
        return out

    @cached_property
    def _bounds(self) -> dict[int, float]:
        """Radius of a ball about each link's frame that holds its shapes."""
        out = {BASE: 0.0}
        for outline in self.outlines.links:
            far = [float(np.linalg.norm(p, axis=1).max()) + r for p, r in (s.core() for s in outline.solids)]
            out[outline.link] = max(far, default=0.0)
        return out

    @cached_property
    def _chosen(self) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
        possible = self._possible()
        if not possible:
            return (), ()
        poses = drawn_poses(self.description, POSES, np.random.default_rng(0))
        placed = frames(self.description.robot, poses)
        plain = self._with()
        d = self._measured(possible, poses, placed, world=plain)[0]
        checked, unchecked = list[Pair](), list[Pair]()
        for k, pair in enumerate(possible):
            room = self._room(pair)
            if pair.second is None:
                constant = None if np.ptp(d[:, k]) < STILL * self.clearance and d[:, k].max() < room else pair
            elif all(self._built[j] > 0.0 for j in (pair.first, pair.second)):
                constant = self._lesser(pair, poses, placed)
            elif 0.5 * room <= d[:, k].min() < room and len(between(self.description.robot, pair.first, pair.second)) == 2:
                continue
            else:
                constant = pair if d[:, k].max() >= room else None
            if constant is None:
                unchecked.append(pair)
            else:
                checked.append(constant)
        return tuple(checked), tuple(unchecked)

    def _lesser(self, pair: Pair, poses: Array, placed: Frames) -> Pair | None:
        """A pair of built capsules as it counts, from random poses and the frames there; None when it touches by construction."""
        assert pair.second is not None
        both, room = self._built[pair.first] + self._built[pair.second], self._room(pair)
        whole = tuple(next(o.solids for o in self.outlines.links if o.link == j) for j in (pair.first, pair.second))
        links = (pair.first, pair.second)
        for cut, share in LESSER:
            solids = None
            if cut:
                meeting = meeting_point(placed, (links[cut - 1], whole[cut - 1]), (links[2 - cut], whole[2 - cut]))
                rest = without(whole[cut - 1], meeting, share * both + 2.0 * room)
                if not rest:
                    continue
                solids = (rest, whole[1]) if cut == 1 else (whole[0], rest)
            tried = replace(pair, thinned=(1.0 - share) * both, solids=solids)
            d = self._measured([tried], poses, placed, world=self._with([tried]))[0]
            if np.mean(d >= room) >= 0.5:
                return tried
        return None

    def _room(self, pair: Pair) -> float:
        """m that a pair keeps free."""
        built = any(self._built.get(j, 0.0) > 0.0 for j in (pair.first, pair.second) if j is not None)
        return self.rough if built else self.clearance

    @cached_property
    def _built(self) -> dict[int, float]:
        """Radius of the capsules of links whose shapes are built; zero of others."""
        return {o.link: o.solids[0].size[0] if o.origin == "built" and o.solids else 0.0 for o in self.outlines.links}

    def _possible(self) -> tuple[Pair, ...]:
        """All pairs but neighbours."""
        robot, links = self.description.robot, [o for o in self.outlines.links if o.solids]
        out = []
        for i, a in enumerate(links):
            for b in links[i + 1 :]:
                if not neighbours(robot, a, b):
                    out.append(Pair(a.link, b.link, (a.name, b.name)))
        surroundings = [*(p.name for p in self.planes), *(o.name for o in self.obstacles)]
        return (*out, *(Pair(a.link, None, (a.name, name)) for a in links if a.link != BASE for name in surroundings))

    def _measured(
        self, pairs: Sequence[Pair], q: Array, placed: Frames | None = None, far: float | None = None, world: World | None = None
    ) -> tuple[Array, Array, Array, Array]:
        """Distances (M, k) of pairs, nearest points and directions (M, k, 3)."""
        at = frames(self.description.robot, q) if placed is None else placed
        M, n = q.shape
        R, p = np.empty((M, n + 1, 3, 3)), np.zeros((M, n + 1, 3))  # the base comes last, so that it is body -1
        R[:, :n], R[:, n], p[:, :n] = at.rotation, np.eye(3), at.origin
        limit = max(self.clearance, self.rough) + FAR * self.clearance if far is None else far
        thinned = np.array([pair.thinned for pair in pairs])
        d, (near, other, normal) = np.empty((M, len(pairs))), np.empty((3, M, len(pairs), 3))
        w = self._world if world is None else world
        between, against = w.columns(pairs)
        clearances(
            R, p, w.points, w.starts, w.radius, w.body, w.centre, w.size, between, w.planes, against, w.directions, limit,
            d, near, other, normal,
        )  # fmt: skip
        return np.minimum(d + thinned, limit), near, other, normal

    def _with(self, pairs: Sequence[Pair] = ()) -> World:
        return World.of(self.description.robot.n, self.outlines, self.obstacles, self.planes, pairs)

    @cached_property
    def _world(self) -> World:
        return self._with(self.pairs)


def _max_lever_arms(robot: Robot, link: int, bound: float) -> Array:
    """(n,) furthest that a point of a link can be from each joint that carries it; one for sliding joints."""
    out = np.zeros(robot.n)
    if link == BASE:
        return out
    length = bound
    for i in robot.ancestors(link):
        joint = robot.joints[i]
        length += float(np.linalg.norm(joint.arm))
        out[i] = 1.0 if joint.prismatic else length
        if joint.prismatic:
            length += max((abs(x) for x in (robot.limits.lower[i], robot.limits.upper[i])), default=0.0)
        length += float(np.linalg.norm(joint.position))
    return out


def _rate(placed: Frames, rows: NDArray[np.intp], link: int, point: Array, direction: Array) -> Array:
    """(M, n) speed of a link's points along directions, per unit of joint speed."""
    if link == BASE:
        return np.zeros((len(rows), placed.robot.n))
    part = Frames(placed.robot, *(x[rows] for x in (placed.rotation, placed.origin, placed.axis, placed.pivot)))
    return np.asarray(np.einsum("mdj,md->mj", part.jacobian(link, point), direction))
