"""Acceleration limits of a robot, and what is assumed for joints that state none.

Of joint j two limits are known even so, and the smaller one counts.  What its drive can do, alone and in its worst pose:

    a_torque = (torque limit - largest torque at rest - largest friction) / largest M_jj,

with gravity (and springs) over the joint's range, friction up to the velocity limit, and drive inertia in M_jj.  And what is usual
for a machine of its size: the velocity limit is reached from rest in no less time than a pendulum as long as the longest link takes
from the horizontal to the lowest point, a quarter of its swing,

    a_velocity = velocity limit / (pi/2 sqrt(length / gravity)).

Both follow any change of the units of length, mass and time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from inertica.dynamics.engine import Engine
from inertica.excitation.pairs import drawn_poses
from inertica.excitation.trajectory import Array
from inertica.robot.description import Description
from inertica.robot.layout import Parameters
from inertica.robot.natural import longest_link

POSES = 2000
"""Poses over the joint ranges among which the worst one for gravity and inertia is looked for."""

FRICTION_POSES = 100
"""Of these, those at which friction is looked at: only friction that depends on load changes with the pose."""

SPEEDS = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
"""Shares of the velocity limit at which friction is looked at: Stribeck friction is largest at small speeds."""

QUARTER_SWING = 0.5 * math.pi
"""Of a pendulum, in units of sqrt(length / gravity)."""


ROUNDING = 1e-9
"""Share of the torque limit below which a torque is rounding and counts as none."""


class LimitOrigin(Enum):
    """Where an acceleration limit comes from."""

    STATED = "stated"
    TORQUE = "torque"
    VELOCITY = "velocity"


@dataclass(frozen=True)
class AccelerationLimit:
    """The acceleration limit of one joint with what it was taken from.

    Args:
        joint: its name.
        value: rad/s^2 (m/s^2).
        unit: of the value.
        origin: stated by the model or card, or what an assumed one follows from.
        torque_limit: N m (N); infinite where none is stated.
        rest_torque: N m (N), largest torque that gravity and springs ask for.
        friction: N m (N), largest up to the velocity limit, as far as the model knows it.
        inertia: kg m^2 (kg), largest, drive inertia included; 0 where the model has no masses.
        velocity_limit: rad/s (m/s).
        time: s from rest to the velocity limit at least.
    """

    joint: str
    value: float
    unit: str
    origin: LimitOrigin
    torque_limit: float = math.inf
    rest_torque: float = 0.0
    friction: float = 0.0
    inertia: float = 0.0
    velocity_limit: float = math.inf
    time: float = 0.0

    @property
    def assumed(self) -> bool:
        return self.origin is not LimitOrigin.STATED

    @property
    def torque_left(self) -> float:
        """N m (N) for accelerating in the worst pose; negative where the torque limit does not hold the arm there."""
        return self.torque_limit - self.rest_torque - self.friction


def acceleration_limits(description: Description, engine: Engine) -> tuple[AccelerationLimit, ...]:
    """The limit of every joint: stated, or assumed as this module says.

    Args:
        description: the robot with what is known of its masses, drives and friction; velocity limits are finite.
        engine: of its layout.
    """
    robot, limits = description.robot, description.robot.limits
    loads, times = _largest_loads(description, engine), _rise_times(description)
    out = []
    for k, joint in enumerate(robot.joints):
        rest, friction, inertia = (float(x) for x in loads[:, k])
        limit = AccelerationLimit(
            joint.name, limits.acceleration[k], f"{joint.unit}/s^2", LimitOrigin.STATED, limits.torque[k], rest, friction, inertia,
            limits.velocity[k], float(times[k]),
        )  # fmt: skip
        out.append(limit if math.isfinite(limit.value) else _assumed(limit))
    return tuple(out)


def _assumed(limit: AccelerationLimit) -> AccelerationLimit:
    by_velocity = limit.velocity_limit / limit.time
    # without inertia, or where the limit does not even hold the arm, torque says nothing of accelerations
    by_torque = limit.torque_left / limit.inertia if limit.inertia > 0.0 and limit.torque_left > 0.0 else math.inf
    if by_torque < by_velocity:
        return replace(limit, value=by_torque, origin=LimitOrigin.TORQUE)
    return replace(limit, value=by_velocity, origin=LimitOrigin.VELOCITY)


def _largest_loads(description: Description, engine: Engine) -> Array:
    """(3, n) largest torque at rest, friction and inertia of every joint over its range."""
    robot, known = description.robot, description.prior
    stated = all(math.isfinite(limit) for limit in robot.limits.acceleration)
    if stated or not any(math.isfinite(limit) for limit in robot.limits.torque):
        return np.zeros((3, robot.n))  # nobody asks, or there is nothing to compare torques with
    poses = drawn_poses(description, POSES, np.random.default_rng(0))
    still = np.zeros_like(poses)
    rest = engine.bias_forces(poses, still, known)
    inertia = np.diagonal(engine.mass_matrix(poses, known), axis1=1, axis2=2)
    friction = np.zeros(robot.n)
    few = poses[:FRICTION_POSES]
    for k, limit in enumerate(robot.limits.velocity):
        for share in (*SPEEDS, *(-s for s in SPEEDS)):
            moving = np.zeros_like(few)
            moving[:, k] = share * limit
            # M_jj does not depend on q_j: a joint that moves alone feels friction and nothing else of its own speed
            extra = engine.bias_forces(few, moving, known)[:, k] - rest[:FRICTION_POSES, k]
            friction[k] = max(friction[k], float(np.abs(extra).max()))
    loads = np.array([np.abs(rest).max(axis=0), friction])
    loads[loads < ROUNDING * np.array(robot.limits.torque)] = 0.0
    return np.vstack([loads, inertia.max(axis=0)])


def _rise_times(description: Description) -> Array:
    """(n,) s from rest to the velocity limit at least.

    Without gravity, or for a robot without lengths, the time in which a joint at its velocity limit turns one radian, or slides
    the longest link's length or, without one, its range.
    """
    robot, limits = description.robot, description.robot.limits
    length, gravity = longest_link(robot), float(np.linalg.norm(robot.gravity))
    if length > 0.0 and gravity > 0.0:
        return np.full(robot.n, QUARTER_SWING * math.sqrt(length / gravity))
    ranges = np.subtract(limits.upper, limits.lower)
    ways = [(length or ranges[k]) if joint.prismatic else 1.0 for k, joint in enumerate(robot.joints)]
    return np.array(ways) / np.array(limits.velocity)


def with_accelerations(description: Description, limits: Sequence[AccelerationLimit]) -> Description:
    """The same robot with these acceleration limits."""
    stated = replace(description.robot.limits, acceleration=tuple(limit.value for limit in limits))
    robot = replace(description.robot, limits=stated)
    layout = replace(description.layout, robot=robot)
    prior = Parameters(layout, description.prior.values, description.prior.shapes, description.prior.origin)
    return replace(description, robot=robot, layout=layout, prior=prior)


def assumption(description: Description, limits: Sequence[AccelerationLimit]) -> str:
    """The sentences that say which acceleration limits are assumed, from what, and how to state them; empty when none is."""
    assumed = [limit for limit in limits if limit.assumed]
    if not assumed:
        return ""
    where = description.source.card or description.source.path
    shown = ", ".join("?" if limit.assumed else f"{limit.value:g}" for limit in limits)
    head = "" if description.source.card else f"model: {description.source.path.name}, "
    efforts = {joint.name: joint.effort_unit for joint in description.robot.joints}
    alike: dict[str, list[str]] = {}
    for limit in assumed:
        alike.setdefault(_reason(limit, efforts[limit.joint]), []).append(limit.joint)
    reasons = [f"{', '.join(joints)} {reason}" for reason, joints in alike.items()]
    return (
        f"{where.name}: NO ACCELERATION LIMITS are stated, the motion rests on assumed ones: "
        f"{'; '.join(reasons)}. State those of the robot in a card "
        f"({head}limits: {{acceleration: [{shown}]}}), and run the motion slowly first "
        "(`excite` writes one four times as slow: slow 4)"
    )


def _reason(limit: AccelerationLimit, effort: str) -> str:
    value = f"{limit.value:.3g} {limit.unit}"
    if limit.origin is LimitOrigin.TORQUE:
        friction = f"and {limit.friction:.3g} of friction" if limit.friction > 0.0 else "(friction is not known)"
        inertia = "kg" if effort == "N" else "kg m^2"
        return (
            f"{value} (torque limit {limit.torque_limit:.3g} {effort} less {limit.rest_torque:.3g} at rest {friction}, "
            f"over {limit.inertia:.3g} {inertia})"
        )
    speed = f"{limit.velocity_limit:.3g} {limit.unit.removesuffix('^2')}"
    weak = limit.torque_left <= 0.0
    doubt = f"; its torque limit of {limit.torque_limit:.3g} {effort} does not hold the arm in every pose" if weak else ""
    return f"{value} ({speed} in no less than {limit.time:.3g} s{doubt})"
