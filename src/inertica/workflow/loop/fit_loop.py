"""The control loop of a robot from its log: structure, gains, bandwidth and damping of every joint.

A diagonal law ties torque, reference and measured motion together at every instant,

    pd:          tau = kp (qr - q) + kd (dqr - dq)
    cascade:     tau = kv (kp (qr - q) - dq)
    cascade-pi:  tau = kv (e + ki * integral of e), e = kp (qr - q) - dq
    computed-torque:  M^-1 (tau - h) - ddqr = kp (qr - q) + kd (dqr - dq), M and h by the card's values

of which all but the third are linear in their gains, and all stay what they are when all signals pass the same filter
(`loop_rows.py`).
A controller that differentiates positions sees the velocity of half a period ago, which adds kd (or kv) times this lag times ddq; ddq
and a constant get coefficients of their own.  Position noise enters the right-hand side, so the gains are found with instruments that
have none: the reference and the torque the prior model needs along it (two-stage least squares).  Without recorded torque the prior
model's torque of the measured motion takes its place; bandwidth and damping do not depend on its scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from inertica.arrays import Array
from inertica.checks.seen import seen
from inertica.dynamics.engine import Engine
from inertica.errors import InputError
from inertica.excitation.trajectory import Trajectory
from inertica.experiment.loop import ControlLoop
from inertica.preprocessing.edge import usual_cutoff
from inertica.robot.control import LAWS
from inertica.robot.description import Description
from inertica.robot.layout import Parameters
from inertica.robot.loops import require_tree
from inertica.workflow.identify.inputs import LogLike, described, read_one
from inertica.workflow.loop.loop_rows import Fitted, Signals, fitted

POOR = 0.2
"""Relative residual above which a joint's law is none of those known."""

SHOWN = 5.0
"""Standard deviations by which ki must differ from zero on some joint before a law that integrates is taken unasked, and kp on all
before one with a model of the robot in it is: by itself that model explains the torque under whatever law."""


@dataclass(frozen=True)
class JointLoop:
    """One joint's loop.

    Args:
        joint: its name.
        gains: name -> value, joint side.
        std: of the gains, for noise in the log that is correlated in time; not for a law of another form.
        wn: natural frequency in rad/s.
        zeta: damping.
        residual: |tau - law| / |tau| after the filter; of a law that commands accelerations the same of what these are beyond the
            reference's.
    """

    joint: str
    gains: dict[str, float]
    std: dict[str, float]
    wn: float
    zeta: float
    residual: float


@dataclass(frozen=True)
class LoopFit:
    """What was found.

    Args:
        law: a name of `robot.control.LAWS`.
        rate: control rate in Hz, stated or that of the log.
        joints: one entry each.
        residuals: law -> relative residual over all joints, for every law that was tried.
        source: of the torque: recorded, or the prior model's.
        warnings: one sentence each.
        model: values with which the controller computes, if it does.
    """

    law: str
    rate: float
    joints: tuple[JointLoop, ...]
    residuals: dict[str, float]
    source: str
    warnings: tuple[str, ...]
    model: Parameters | None = None

    @property
    def loop(self) -> ControlLoop:
        usual = {name: np.full(len(self.joints), value) for name, value in LAWS[self.law].usual}
        gains = {name: np.array([j.gains[name] for j in self.joints]) for name in self.joints[0].gains}
        return ControlLoop(self.law, self.rate, usual | gains, model=self.model)

    def card(self) -> dict[str, object]:
        """The `loop:` section of a robot card."""
        gains = {name: [float(f"{j.gains[name]:.6g}") for j in self.joints] for name in self.joints[0].gains}
        return {"law": self.law, "rate": self.rate, **gains}


def fit_loop(
    robot: str | Path | Description,
    logs: Sequence[LogLike],
    *,
    rate: float | None = None,
    law: str | None = None,
    cutoff: float | None = None,
    references: Sequence[Trajectory] = (),
) -> LoopFit:
    """Find the loop that fits logs best.

    Args:
        robot: catalog name, model file, card, or a description, with prior values.
        logs: files or logs, with measured position and reference; with torque if possible.
        rate: control rate in Hz; the rate of the logs when not given.
        law: pd, cascade, cascade-pi or computed-torque; whichever fits better when not given, the last two where the log shows their
            gains.
        cutoff: of the filter that all signals pass; twenty times the band of the motion, at most a fifth of the rate, by default.
        references: trajectories, one for all logs or one each; the logs' columns when not given.

    Examples:
        >>> found = ia.fit_loop("card.yaml", ["run1.csv.gz"])
    """
    description = described(robot)
    require_tree(description.robot, "the fit of a control law")
    recorded = [seen(read_one(log, description)) for log in logs]
    known = [name for name, one in LAWS.items() if one.fitted]
    if law is not None and law not in known:
        raise InputError(f"unknown law '{law}' to fit; valid are: {', '.join(known)}")
    if len(references) not in (0, 1, len(logs)):
        raise InputError(f"{len(references)} reference trajectories for {len(logs)} logs; state one, or one each")
    by_log = [references[min(k, len(references) - 1)] if references else None for k in range(len(logs))]
    parts = [Signals(description, log, cutoff or usual_cutoff(recorded), r) for log, r in zip(recorded, by_log, strict=True)]
    used = rate or float(np.mean([p.motion.rate for p in parts]))
    if law is None and parts[0].source != "recorded":
        # the model's own torque cannot tell whether the controller computes it
        known = [name for name in known if not LAWS[name].commands_acceleration]
    fits = {name: [fitted(name, parts, j, used) for j in range(description.robot.n)] for name in ([law] if law else known)}
    size = np.linalg.norm(np.concatenate([p.tau[p.use] for p in parts]), axis=0)
    residuals = {
        name: float(np.linalg.norm([f[2] * s for f, s in zip(of_law, size, strict=True)]) / np.linalg.norm(size))
        for name, of_law in fits.items()
    }
    best = min((name for name in fits if law or _shown(name, fits[name])), key=lambda name: residuals[name])
    J = _inertia(description, parts)
    joints = tuple(
        _joint(best, name, *fit, J[j]) for j, (name, fit) in enumerate(zip(recorded[0].joints, fits[best], strict=True))
    )
    warnings = _warnings(joints, rate, parts, residuals)
    return LoopFit(best, used, joints, residuals, parts[0].source, warnings, description.controller_values)


def _shown(law: str, joints: Sequence[Fitted]) -> bool:
    """Whether the log shows what sets a law apart: its integral, without which it is another law, or gains beside its model."""
    if LAWS[law].commands_acceleration:
        return all(values[0] > SHOWN * std[0] for values, std, _ in joints)
    return not LAWS[law].integrated or any(values[2] > SHOWN * std[2] for values, std, _ in joints)


def _joint(law: str, name: str, values: Array, std: Array, residual: float, J: float) -> JointLoop:
    kind = LAWS[law]
    gains = kind.gains_of((float(values[0]), float(std[0])), (float(values[1]), float(std[1])))
    if kind.integrated:
        gains[kind.integrated] = (float(values[2]), float(std[2]))
    first_gains = {k: g[0] for k, g in gains.items()}
    stiffness, damping = (float(x) for x in kind.stiffness_damping({k: np.asarray(v) for k, v in first_gains.items()}))
    J = 1.0 if kind.commands_acceleration else J
    wn = float(np.sqrt(max(stiffness, 0.0) / J))
    zeta = damping / (2.0 * wn * J) if wn > 0.0 else float("nan")
    return JointLoop(name, first_gains, {k: g[1] for k, g in gains.items()}, wn, zeta, residual)


def _inertia(description: Description, parts: Sequence[Signals]) -> Array:
    """(n,) largest inertia about every joint along the motion (DIDIM paper, eq. 51)."""
    q = np.concatenate([p.qr[:: max(1, len(p.qr) // 300)] for p in parts])
    M = Engine(description.layout, threads=1).mass_matrix(q, description.prior)
    return np.asarray(np.max(np.diagonal(M, axis1=1, axis2=2), axis=0))


def _warnings(
    joints: Sequence[JointLoop], rate: float | None, parts: Sequence[Signals], residuals: dict[str, float]
) -> tuple[str, ...]:
    out = []
    poor = [f"{k + 1} ({100 * j.residual:.0f} %)" for k, j in enumerate(joints) if j.residual > POOR]
    if poor:
        out.append(
            f"none of the laws explains the torque of joint {', '.join(poor)}; is there feed-forward, or a delay in the log?"
        )
    negative = [str(k + 1) for k, j in enumerate(joints) if min(j.gains.values()) <= 0.0]
    if negative:
        out.append(
            f"the gains found for joint {', '.join(negative)} are not positive; the log does not show this loop well enough"
        )
    plain = [r for name, r in residuals.items() if not LAWS[name].integrated]
    if len(plain) > 1 and min(residuals.values()) > 0.8 * max(plain):
        out.append("all laws fit about equally well; the log does not tell the structure")
    if rate is None:
        out.append("the control rate is taken to be that of the log; state it if the controller runs faster")
    if parts[0].source != "recorded":
        out.append("without recorded torque the gains rest on the prior model; bandwidth and damping do not depend on its scale")
    return tuple(out)
