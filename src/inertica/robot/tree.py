"""The kinematic tree of a model file, with fixed joints and everything, and its reduction to a `Robot`.

Readers of URDF and MJCF produce a `Tree`; `reduce` selects a part of it, freezes and merges what does not move, and keeps a
record of what went where, so that writers can put values back.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from inertica.arrays import Array
from inertica.errors import FileError, InputError, ModelWarning, nearest
from inertica.robot import inertia
from inertica.robot.closures import Frame, Meeting, Relation
from inertica.robot.floating import on_floating_base
from inertica.robot.formula import Formula
from inertica.robot.loops import with_loops
from inertica.robot.model import (
    EARTH,
    FREE,
    IDENTITY,
    ORIGIN,
    Joint,
    Limits,
    Matrix,
    Robot,
    Vector,
    cartesian_lengths,
    matrix,
    squared_up,
    vector,
)

MOVABLE = ("revolute", "prismatic")
DRIVE = ("armature", "damping", "friction", "stiffness", "springref")
CUT = "a file holds a tree: leave out the joint that closes the loop and state what it joins in a card (loops: [connect: [A, B]])"
FREEZE = "to identify the rest of the robot, leave this joint out: list the joints that you want in a robot card (joints: [...])"


@dataclass(frozen=True)
class TreeJoint:
    """A joint as the file has it.

    Args:
        name: unique in the tree.
        parent, child: names of links.
        kind: revolute, prismatic or fixed.
        rotation, position, axis, arm: as in `model.Joint`.
        lower, upper, velocity, torque: limits, infinite where the file states none.
        armature, damping, friction, stiffness: prior values of Ia, Fv, Fc, Ks.
        springref: coordinate at which the spring is at rest.
        line: in the file.
        unsupported: what keeps this joint from moving in a `Robot` (a ball joint, say), with advice; frozen it does no harm.
        follows: the joint whose motion it repeats (<mimic>, equality of joints); empty where it is held at `ratio[0]`.
        ratio: its coordinate as a polynomial in that joint's, from the constant on.
        passive: the file has drives, but none on this joint.
        continuous: the file says that it turns without end.
        free: the child moves freely.
    """

    name: str
    parent: str
    child: str
    kind: str = "fixed"
    rotation: Matrix = IDENTITY
    position: Vector = ORIGIN
    axis: Vector = (0.0, 0.0, 1.0)
    arm: Vector = ORIGIN
    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    torque: float = math.inf
    armature: float = 0.0
    damping: float = 0.0
    friction: float = 0.0
    stiffness: float = 0.0
    springref: float = 0.0
    line: int | None = None
    unsupported: str | None = None
    follows: str | None = None
    ratio: tuple[float, ...] = (0.0, 1.0)
    passive: bool = False
    continuous: bool = False
    free: bool = False

    @property
    def movable(self) -> bool:
        return self.kind in MOVABLE or self.unsupported is not None

    def stating(self, values: Mapping[str, float]) -> TreeJoint:
        """The joint with some of its limits and prior values."""
        return replace(self, **cast(Any, dict(values)))


@dataclass(frozen=True)
class Tree:
    """What a model file says about kinematics and inertia.

    Args:
        name: of the robot.
        format: URDF or MJCF, for messages.
        path: the file.
        base: link that does not move.
        joints: in the order of the file.
        sliding: those of them that slide.
        inertials: link -> ten parameters in the link frame; links that are absent have none.
        gravity: in the frame of `base`.
        closures: loops beyond the tree.
        massless: links that exist only between two joints of one body and rightly have no mass.
        notes: remarks of the reader, one sentence each.
        link_lines: link -> line in the file, for messages.
    """

    name: str
    format: str
    path: Path
    base: str
    joints: tuple[TreeJoint, ...]
    inertials: Mapping[str, Array] = field(default_factory=dict)
    gravity: Vector = EARTH
    closures: tuple[TreeClosure, ...] = ()
    massless: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    link_lines: Mapping[str, int | None] = field(default_factory=dict)

    @property
    def links(self) -> tuple[str, ...]:
        return (self.base, *(j.child for j in self.joints))

    def ten(self, link: str) -> Array:
        """The ten parameters of a link in its own frame, zero when the file gives none."""
        return np.array(self.inertials.get(link, np.zeros(10)))


@dataclass(frozen=True)
class Placed:
    """A source link inside a robot link: the pose of its frame there."""

    link: str
    rotation: Matrix = IDENTITY
    position: Vector = ORIGIN

    def of(self, other: Placed) -> Placed:
        """Pose of `other`, given in this link's frame, in the robot link's frame."""
        R, p = compose(self.rotation, self.position, other.rotation, other.position)
        return Placed(other.link, R, p)


@dataclass(frozen=True)
class TreeClosure:
    """Frames of two links that coincide, or only their origins (`turning`), besides what the tree's joints say."""

    first: Placed
    second: Placed
    turning: bool
    line: int | None = None


@dataclass(frozen=True)
class Reduced:
    """A robot cut out of a tree, with the values the file has for it.

    Args:
        robot: movable joints only.
        tens: (n, 10) inertial parameters per link, fixed parts merged.
        armature, damping, friction, stiffness: (n,) prior Ia, Fv, Fc, Ks.
        springref: (n,) coordinates at which springs are at rest.
        merged: per robot link the source links it consists of; the first is the link itself; none between world and floating base.
        base: source links that do not move.
        notes: remarks, one sentence each.
        movable: all joints of the tree that move, those that were not selected among them, in the order of the file.
    """

    robot: Robot
    tens: Array
    armature: Array
    damping: Array
    friction: Array
    stiffness: Array
    springref: Array
    merged: tuple[tuple[Placed, ...], ...]
    base: tuple[Placed, ...] = ()
    notes: tuple[str, ...] = ()
    movable: tuple[str, ...] = ()
    sliding: tuple[str, ...] = ()


def reduce(
    tree: Tree,
    root: str | None = None,
    tip: str | None = None,
    joints: Sequence[str] | None = None,
    gravity: ArrayLike | None = None,
    floating: bool | None = None,
) -> Reduced:
    """The robot of a tree.

    Args:
        tree: from `read_urdf` or `read_mjcf`.
        root: link that becomes the base; what it does not carry is left out.  Gravity is turned into its frame (at zero).
        tip: only joints on the path from root to this link move.
        joints: only these move, in this order.
        gravity: in the frame of the root, in place of the file's.
        floating: whether the root moves freely; by default where it is a body with a free joint that carries all others.

    Joints that do not move are frozen at zero and their links merged; so are grippers, see `_without_grippers`.
    """
    if root is None and (body := _free_body(tree)) is not None:
        root, floating = body, floating is not False
    root = tree.base if root is None else _known_link(tree, root)
    carried = _carried_by(tree, root)
    moving = _moving(tree, carried, root, tip, joints)
    bodies, moving_joints = _merge(tree, root, carried, moving)
    index = {joint.name: i for i, (joint, _) in enumerate(moving_joints)}
    built = [_robot_joint(i, joint, at, index) for i, (joint, at) in enumerate(moving_joints)]
    source = [joint for joint, _ in moving_joints]
    down = tree.gravity if root == tree.base or floating else _gravity_at(tree, root)
    robot = Robot(tree.name, tuple(built), vector(gravity) if gravity is not None else down, _limits(source), root)
    merged: tuple[tuple[Placed, ...], ...] = tuple(bodies[joint.child] for joint in source)
    base = bodies[root]
    if floating:
        robot, merged, base = on_floating_base(robot), (*merged, *((),) * (FREE - 1), base), ()
    robot = _with_loops(tree, robot, source, [*enumerate(merged), (-1, base)])
    tens = np.array([_total(tree, places) for places in merged]).reshape(-1, 10)
    _warn_massless(tree, source, tens[: len(source)])
    priors = {what: np.array([getattr(j, what) for j in source] + [0.0] * (robot.n - robot.driven)) for what in DRIVE}
    movable = tuple(joint.name for joint in tree.joints if joint.movable and not joint.free)
    sliding = tuple(joint.name for joint in tree.joints if joint.kind == "prismatic")
    return Reduced(robot, tens, merged=merged, base=base, notes=tree.notes, movable=movable, sliding=sliding, **priors)


def checked(tree: Tree) -> Tree:
    """The tree itself, when it is one: names unique, one root, no link with two parents, no loop."""
    by_child: dict[str, TreeJoint] = {}
    seen: set[str] = set()
    for joint in tree.joints:
        if joint.name in seen:
            raise FileError(tree.path, f"two joints are called '{joint.name}'; rename one", joint.line, joint=joint.name)
        seen.add(joint.name)
        if joint.child in by_child:
            other = by_child[joint.child].name
            problem = f"link '{joint.child}' has two parents, joints '{other}' and '{joint.name}'; {CUT}"
            raise FileError(tree.path, problem, joint.line, joint=joint.name)
        by_child[joint.child] = joint
    reached = {tree.base, *(joint.child for joint in _carried_by(tree, tree.base))}
    for joint in tree.joints:
        if joint.child not in reached:
            raise FileError(
                tree.path, f"joint '{joint.name}' is part of a closed loop of joints; {CUT}", joint.line, joint=joint.name
            )
    return tree


def compose(
    rotation: ArrayLike, position: ArrayLike, inner_rotation: ArrayLike, inner_position: ArrayLike
) -> tuple[Matrix, Vector]:
    """One pose after another, with structural zeros kept."""
    R = np.asarray(rotation, float)
    p = np.asarray(position, float) + R @ np.asarray(inner_position, float)
    # cancellation leaves 1e-17 m where the geometry has none, and a length where the robot has none
    return matrix(squared_up(R @ np.asarray(inner_rotation, float))), vector(np.where(np.abs(p) < 1e-12, 0.0, p))


def snapped_rotation(rotation: ArrayLike) -> tuple[Matrix, bool]:
    """A rotation squared up, and whether that moved it by more than rounding."""
    R = squared_up(rotation)
    return matrix(R), bool(np.abs(R - np.asarray(rotation)).max() > 1e-10)


def unit_axis(axis: ArrayLike) -> tuple[Vector, bool]:
    """A unit vector, exactly along a coordinate axis when within 1e-5 of it, and whether that moved it by more than rounding."""
    a = np.asarray(axis, float) / np.linalg.norm(axis)
    near = np.where(np.abs(a) < 1e-5, 0.0, a)
    near /= np.linalg.norm(near)
    return vector(near), bool(np.abs(near - a).max() > 1e-10)


def _free_body(tree: Tree) -> str | None:
    """The body with a free joint that carries every joint that turns or slides; none where that is not one and the same."""
    free = [joint.child for joint in tree.joints if joint.free]
    if len(free) != 1:
        return None
    movable = {joint.name for joint in tree.joints if joint.movable and not joint.free}
    return free[0] if movable and movable <= {joint.name for joint in _carried_by(tree, free[0])} else None


def _known_link(tree: Tree, link: str) -> str:
    if link not in tree.links:
        raise InputError(f"{tree.format} has no link '{link}'; {nearest(link, tree.links)}")
    return link


def _carried_by(tree: Tree, root: str) -> list[TreeJoint]:
    """Joints below a link: parents first, otherwise in the order of the file."""
    waiting = list(tree.joints)
    reached, out = {root}, list[TreeJoint]()
    while True:
        ready = next((joint for joint in waiting if joint.parent in reached), None)
        if ready is None:
            return out
        waiting.remove(ready)
        reached.add(ready.child)
        out.append(ready)


def _moving(tree: Tree, carried: Sequence[TreeJoint], root: str, tip: str | None, names: Sequence[str] | None) -> dict[str, int]:
    """The joints that stay movable, with their place in the robot."""
    free = [j for j in carried if j.movable]
    if tip is not None:
        path = _path(tree, carried, root, _known_link(tree, tip))
        free = [j for j in free if j.name in path]
    if names is None:
        free = _without_grippers(tree, carried, free)
    else:
        free = [_named(tree, free, name) for name in names]
        twice = [n for n in names if list(names).count(n) > 1]
        if twice:
            raise InputError(f"joint '{twice[0]}' is listed twice", joint=twice[0])
    for joint in free:
        if joint.unsupported:
            raise FileError(tree.path, joint.unsupported, joint.line, joint=joint.name)
    if not free:
        raise InputError(f"no joint of {tree.path.name} moves in what was selected; a robot needs at least one")
    return {joint.name: i for i, joint in enumerate(free)}


def _without_grippers(tree: Tree, carried: Sequence[TreeJoint], free: Sequence[TreeJoint]) -> list[TreeJoint]:
    """The joints without those that move together (<mimic>) and carry nothing that moves by itself: fingers, rigid at zero."""
    fingers = {name for joint in free if joint.follows is not None for name in (joint.name, joint.follows)}
    below = {joint.name: _carried_by(tree, joint.child) for joint in free if joint.name in fingers}
    others = {joint.name for joint in free if joint.name not in fingers}
    if not fingers or not others or any(j.name in others for joints in below.values() for j in joints):
        return list(free)
    names = ", ".join(f"'{joint.name}'" for joint in free if joint.name in fingers)
    message = (
        f"{tree.path.name}: joints {names} move together (<mimic>) and carry no other joint; they are taken for a gripper that "
        "rests at zero and are no joints of the robot (joints: in a robot card states others)"
    )
    warnings.warn(ModelWarning(message), stacklevel=5)
    return [joint for joint in free if joint.name in others]


def _path(tree: Tree, carried: Sequence[TreeJoint], root: str, tip: str) -> set[str]:
    above = {joint.child: joint for joint in carried}
    path, link = set[str](), tip
    while link != root:
        if link not in above:
            raise InputError(f"link '{tip}' is not carried by link '{root}' in {tree.path.name}; choose a tip below the root")
        path.add(above[link].name)
        link = above[link].parent
    return path


def _named(tree: Tree, free: Sequence[TreeJoint], name: str) -> TreeJoint:
    for joint in free:
        if joint.name == name:
            return joint
    known = {joint.name: joint for joint in tree.joints}
    if name not in known:
        all_names = ", ".join(joint.name for joint in tree.joints if joint.movable)
        raise InputError(f"{tree.format} has no joint '{name}'; its joints are {all_names}")
    if not known[name].movable:
        raise InputError(
            f"joint '{name}' of {tree.path.name} is fixed and cannot be listed among the joints that move", joint=name
        )
    raise InputError(f"joint '{name}' of {tree.path.name} is not on the part that root and tip select", joint=name)


def _merge(
    tree: Tree, root: str, carried: Sequence[TreeJoint], moving: Mapping[str, int]
) -> tuple[dict[str, tuple[Placed, ...]], list[tuple[TreeJoint, tuple[Placed, str | None]]]]:
    """Source links per body, by the name of the body's first link; and the moving joints in order, each with where it sits."""
    place = {root: (Placed(root), root)}  # link -> its pose in a body, the body's first link
    bodies: dict[str, list[Placed]] = {root: [place[root][0]]}
    carrier: dict[str, str | None] = {root: None}  # body's first link -> the moving joint that carries it
    moving_joints: dict[str, tuple[TreeJoint, tuple[Placed, str | None]]] = {}
    for joint in carried:
        pose, body = place[joint.parent]
        if joint.name in moving:
            moving_joints[joint.name] = (joint, (pose, carrier[body]))
            place[joint.child] = (Placed(joint.child), joint.child)
            bodies[joint.child], carrier[joint.child] = [], joint.name
        else:
            place[joint.child] = (pose.of(Placed(joint.child, *_zero_pose(joint))), body)
        at, body = place[joint.child]
        bodies[body].append(at)
    return {body: tuple(places) for body, places in bodies.items()}, [moving_joints[name] for name in moving]


def _zero_pose(joint: TreeJoint) -> tuple[Matrix, Vector]:
    """Pose of the child's frame in the parent's with the joint at zero."""
    return compose(IDENTITY, joint.position, joint.rotation, np.array(joint.rotation) @ joint.arm)


def _robot_joint(i: int, joint: TreeJoint, at: tuple[Placed, str | None], index: Mapping[str, int]) -> Joint:
    pose, carrier = at
    parent = -1 if carrier is None else index[carrier]
    if parent >= i:
        raise InputError(
            f"joint '{joint.name}' is listed before joint '{carrier}', which carries it; list parents first", joint=joint.name
        )
    R, p = compose(pose.rotation, pose.position, joint.rotation, joint.position)
    return Joint(
        joint.name,
        joint.child,
        parent,
        rotation=R,
        position=p,
        axis=joint.axis,
        prismatic=joint.kind == "prismatic",
        arm=joint.arm,
        lengths=cartesian_lengths(i + 1, p),
    )


def _limits(joints: Sequence[TreeJoint]) -> Limits:
    def each(what: str) -> tuple[float, ...]:
        return tuple(float(getattr(joint, what)) for joint in joints)

    return replace(Limits.none(len(joints)), **{what: each(what) for what in ("lower", "upper", "velocity", "torque")})


def _gravity_at(tree: Tree, root: str) -> Vector:
    R = np.eye(3)
    above = {joint.child: joint for joint in tree.joints}
    link = root
    while link != tree.base:
        R = np.array(above[link].rotation) @ R
        link = above[link].parent
    return vector(squared_up(R).T @ tree.gravity)


def _total(tree: Tree, places: Sequence[Placed]) -> Array:
    """Ten parameters of a body: those of its links, seen from its frame."""
    tens = [np.zeros(10)] + [
        tree.ten(p.link) if p.rotation == IDENTITY and p.position == ORIGIN else in_frame(tree.ten(p.link), p) for p in places
    ]
    return np.sum(tens, axis=0)


def in_frame(ten: ArrayLike, place: Placed) -> Array:
    """The ten parameters of a link, seen from the body it is placed in."""
    return inertia.change_frame(ten, place.rotation, place.position)


def _with_loops(tree: Tree, robot: Robot, source: Sequence[TreeJoint], bodies: Sequence[tuple[int, Sequence[Placed]]]) -> Robot:
    """The robot with the loops of the file; those inside of one body are closed anyway."""
    home = {place.link: (link, place) for link, places in bodies for place in places}
    closures: list[Relation | Meeting] = [
        _relation(tree, robot, k, joint) for k, joint in enumerate(source) if joint.follows is not None
    ]
    line = next((joint.line for joint in source if joint.follows is not None), None)
    for closure in tree.closures:
        ends = [(end, home.get(end.link)) for end in (closure.first, closure.second)]
        first, second = (
            Frame(link[0], *compose(link[1].rotation, link[1].position, end.rotation, end.position), end.link)
            for end, link in ends
            if link is not None
        ) if all(link is not None for _, link in ends) else (None, None)  # fmt: skip
        if first is not None and second is not None and first.link != second.link:
            closures.append(Meeting(first, second, closure.turning))
            line = closure.line
    if not closures:
        return robot
    try:
        return with_loops(robot, closures, likely=[k for k, joint in enumerate(source) if joint.passive])
    except InputError as error:
        raise FileError(tree.path, f"{error}; {FREEZE}", line) from None


def _relation(tree: Tree, robot: Robot, k: int, joint: TreeJoint) -> Relation:
    if joint.follows and joint.follows not in robot.joint_names:
        problem = f"joint '{joint.name}' follows '{joint.follows}', which is not among the joints that move; add it, or {FREEZE}"
        raise FileError(tree.path, problem, joint.line, joint=joint.name)
    leader = f"q{robot.joint_names.index(joint.follows) + 1}" if joint.follows else ""
    powers = ["", f"*{leader}", *(f"*{leader}**{p}" for p in range(2, len(joint.ratio)))]
    parts = [f"{c!r}{power}" for c, power in zip(joint.ratio, powers, strict=False) if c]
    return Relation(k, Formula(" + ".join(parts).replace("+ -", "- ") or "0", robot.driven))


def _warn_massless(tree: Tree, joints: Sequence[TreeJoint], tens: Array) -> None:
    massless = [
        (joint, ten[9]) for joint, ten in zip(joints, tens, strict=True) if ten[9] <= 0 and joint.child not in tree.massless
    ]
    if len(massless) > 1 and all(mass == 0 for _, mass in massless):
        names = ", ".join(f"'{joint.child}'" for joint, _ in massless)
        which = "every link that moves" if len(massless) == len(joints) else f"each of the links {names}"
        warnings.warn(ModelWarning(f"{tree.path.name}: {which} has mass 0"), stacklevel=3)
        return
    for joint, mass in massless:
        message = f"{tree.path.name}: link '{joint.child}', moved by joint '{joint.name}', has mass {mass:g}"
        warnings.warn(ModelWarning(message), stacklevel=3)
