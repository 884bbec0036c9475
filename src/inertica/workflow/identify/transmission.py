"""What lies between motor and link, joint by joint: stiffness, damping, friction before the spring, and backlash.

Logs with positions on both sides (`q` of the motor, `ql` of the link) show it (`estimators.structure.compliance`); without the second
one nothing of it can be told from a rigid model's residuals, and that is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from inertica.arrays import Array
from inertica.documents import infinite
from inertica.estimators.structure.compliance import (
    COULOMB,
    DAMPER,
    GAP,
    INERTIA,
    SPRING,
    VISCOUS,
    Bend,
    DriveRows,
    fitted_bend,
)
from inertica.identifiability.base import BaseModel
from inertica.identifiability.labels import DETERMINED, INTERVAL, RELATIVE_WIDTH, UNIDENTIFIABLE, WEAK
from inertica.preprocessing.filters import differentiated
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.resample import interpolant
from inertica.robot.layout import Parameters
from inertica.workflow.identify.prediction import engine_of, predicted_torque

FOLLOWS = 0.5
"""Part of the motion that the difference of both sides may have; beyond it the link's position is none of this joint."""

NO_LINK_SIDE = (
    "no position of the link's side (ql1..) was recorded, and what a rigid model leaves cannot tell a spring from other errors"
)


@dataclass(frozen=True)
class Quantity:
    """A number with its 95 % interval, whose upper end may be infinite, and what may be believed of it."""

    value: float = field(metadata=infinite())
    interval: tuple[float, float] = field(metadata=infinite())
    label: str
    unit: str = ""


@dataclass(frozen=True)
class JointTransmission:
    """Between motor and link of one joint.

    Args:
        joint: its name.
        number: from 1.
        stiffness: of the spring.
        damping: beside the spring; None where the logs do not show it.
        motor_inertia: before the spring, seen from the joint; this and the next None where the spring may be rigid.
        motor_coulomb: Coulomb friction before the spring; what the bend loses at reversals, hysteresis of the gear included.
        motor_share: part of the joint's Coulomb friction that is before the spring; infinite where the fit has none.
        lag: s, growth of the bend with velocity: ql read later than q, less viscous friction before the spring over the stiffness.
        backlash: gap; None where no gap shows.
        explained: share of the variance of q - ql explained on data left out.
        plain: the same of torque and direction of motion alone.
        resonance: Hz, of the motor against a link at rest.
    """

    joint: str
    number: int
    stiffness: Quantity
    damping: Quantity | None
    motor_inertia: Quantity | None
    motor_coulomb: Quantity | None
    motor_share: float = field(metadata=infinite())
    lag: Quantity
    backlash: Quantity | None
    explained: float
    plain: float
    resonance: float = field(metadata=infinite())


@dataclass(frozen=True)
class Transmission:
    """What the logs say of all joints.

    Args:
        joints: those with a link-side position.
        not_testable: joint -> why nothing can be told of it.
    """

    joints: tuple[JointTransmission, ...] = ()
    not_testable: dict[str, str] = field(default_factory=dict)


def transmission(parameters: Parameters, base: BaseModel, motions: Sequence[Motion]) -> Transmission:
    """Joints between whose motor and link something gives way.

    Args:
        parameters: what was identified.
        base: whose compiled dynamics are used where they fit.
        motions: of logs, some of them with `ql`.
    """
    robot = parameters.layout.robot
    joints, reasons = list[JointTransmission](), dict[str, str]()
    both = [motion for motion in motions if "ql" in motion.log.signals and motion.variances is None]
    torques = [_torques(parameters, base, motion) for motion in both]
    for j, joint in enumerate(robot.joints[: robot.driven]):
        seen = [k for k, motion in enumerate(both) if np.isfinite(motion.log.need("ql")[:, j]).any()]
        if not seen:
            reasons[joint.name] = NO_LINK_SIDE
            continue
        rows = [_rows(both[k], torques[k], j) for k in seen]
        if not all(_follows(both[k], j) for k in seen):
            reasons[joint.name] = "the link's side (ql) does not follow the motor's (q)"
        elif (bend := fitted_bend(rows)) is None:
            reasons[joint.name] = "too few rows show motion of it"
        else:
            joints.append(_joint(parameters, j, bend))
    return Transmission(tuple(joints), reasons)


def _joint(parameters: Parameters, j: int, bend: Bend) -> JointTransmission:
    joint = parameters.layout.robot.joints[j]
    unit, effort = joint.unit, joint.effort_unit
    stiffness = _stiffness(bend, f"{effort}/{unit}")
    inertia = _over_spring(bend, INERTIA, "kg" if joint.prismatic else "kg m^2")
    coulomb = _over_spring(bend, COULOMB, effort)
    friction = next((parameters[p.name] for p in parameters.layout.parameters if p.joint == j and p.kind == "coulomb"), 0.0)
    share = coulomb.value / friction if coulomb is not None and friction > 0.0 else np.inf
    return JointTransmission(
        joint.name, j + 1, stiffness, _over_spring(bend, DAMPER, f"{effort} s/{unit}") if DAMPER in bend.terms else None,
        inertia, coulomb, share, _plain(bend, VISCOUS, -1.0, "s"),
        _plain(bend, GAP, 2.0, unit) if GAP in bend.terms else None, bend.explained, bend.plain,
        float(np.sqrt(stiffness.value / inertia.value) / (2.0 * np.pi)) if inertia is not None and inertia.value > 0.0 else np.inf,
    )  # fmt: skip


def _stiffness(bend: Bend, unit: str) -> Quantity:
    """The inverse of what the spring gives way; without an end where it may not give way at all."""
    soft, spread = bend.value(SPRING), INTERVAL * bend.std(SPRING)
    if soft <= 0.0:
        return Quantity(np.inf, (1.0 / (soft + spread) if soft + spread > 0.0 else 0.0, np.inf), UNIDENTIFIABLE, unit)
    ends = (1.0 / (soft + spread), 1.0 / (soft - spread) if soft > spread else np.inf)
    return Quantity(1.0 / soft, ends, _label(1.0 / soft, ends), unit)


def _over_spring(bend: Bend, name: str, unit: str) -> Quantity | None:
    """A coefficient over that of the spring, with the covariance of both; None where the spring may be rigid."""
    soft = bend.value(SPRING)
    if soft <= INTERVAL * bend.std(SPRING):
        return None
    value = bend.value(name) / soft
    one, other = bend.terms.index(name), bend.terms.index(SPRING)
    C = bend.covariance
    variance = (C[one, one] - 2.0 * value * C[one, other] + value**2 * C[other, other]) / soft**2
    spread = INTERVAL * float(np.sqrt(max(variance, 0.0)))
    ends = (value - spread, value + spread)
    return Quantity(value, ends, _label(value, ends), unit)


def _plain(bend: Bend, name: str, factor: float, unit: str) -> Quantity:
    value, spread = factor * bend.value(name), abs(factor) * INTERVAL * bend.std(name)
    ends = (value - spread, value + spread)
    return Quantity(value, ends, _label(value, ends), unit)


def _label(value: float, ends: tuple[float, float]) -> str:
    """As of parameters: determined where half of the interval is less than so much of the value."""
    if not np.isfinite(ends).all():
        return UNIDENTIFIABLE
    return DETERMINED if 0.5 * (ends[1] - ends[0]) < RELATIVE_WIDTH * abs(value) else WEAK


def _follows(motion: Motion, j: int) -> bool:
    """Whether the link's side moves with the motor's but for a part of the motion."""
    q, ql = motion.log.need("q")[:, j], motion.log.need("ql")[:, j]
    use = ~motion.log.mask & np.isfinite(q) & np.isfinite(ql)
    return bool(use.any() and np.std((q - ql)[use]) < FOLLOWS * np.std(q[use]))


def _torques(parameters: Parameters, base: BaseModel, motion: Motion) -> tuple[Array, Array]:
    """(N, n) each: of the model, and of its links and drives without friction."""
    layout, engine = parameters.layout, engine_of(parameters, base)
    rigid = np.array([p.kind in ("inertia", "first_moment", "mass", "armature") for p in layout.parameters])
    links = parameters.with_values(np.where(rigid, parameters.values, 0.0))
    return predicted_torque(parameters, motion, engine), engine.inverse_dynamics(motion.q, motion.dq, motion.ddq, links)


def _rows(motion: Motion, torques: tuple[Array, Array], j: int) -> DriveRows:
    """Signals of one joint through the filter of the fit."""
    low, dt, log = motion.recipe.filter, motion.dt, motion.log
    difference = log.need("q")[:, j] - log.need("ql")[:, j]
    use = ~log.mask & np.isfinite(log.t) & np.isfinite(difference)
    curve = interpolant(log.running[use], difference[use], motion.recipe.interpolation)
    bend = low.kinematics(np.array(curve(motion.t))[:, None], dt)
    tau = np.where(np.isfinite(motion.tau[:, j]), motion.tau[:, j], 0.0)
    columns = np.column_stack([tau, torques[0][:, j], torques[1][:, j], np.sign(motion.dq[:, j])])
    tau, model, rigid, direction = low.smoothed(columns, dt).T
    return DriveRows(
        bend.q[:, 0], tau, model, rigid, motion.dq[:, j], motion.ddq[:, j], direction, bend.dq[:, 0],
        differentiated(model[:, None], dt)[:, 0], ~motion.mask & ~motion.resting[:, j],
        low.reach(dt), motion.period,
    )  # fmt: skip
