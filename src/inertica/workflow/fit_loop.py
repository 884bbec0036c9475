"""The control loop of a robot from its log: structure, gains, bandwidth and damping of every joint.

A diagonal law ties torque, reference and measured motion together at every instant,

    pd:       tau = kp (qr - q) + kd (dqr - dq)
    cascade:  tau = kv (kp (qr - q) - dq)

which is linear in its gains and stays so when all signals pass the same filter.  A controller that differentiates positions sees the
velocity of half a period ago, which adds kd (or kv) times this lag times ddq; ddq and a constant get coefficients of their own.
Position noise enters the right-hand side, so the gains are found with instruments that have none: the reference and the torque the
prior model needs along it (two-stage least squares).  Without recorded torque the prior model's torque of the measured motion takes
its place; bandwidth and damping do not depend on its scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inertica.dynamics.engine import Engine
from inertica.errors import InputError
from inertica.estimators.covariance import correlation_time
from inertica.excitation.trajectory import Trajectory
from inertica.experiment.loop import ControlLoop
from inertica.logs.log import Log
from inertica.logs.read import read_log
from inertica.preprocessing.filters import Butterworth, Filter, differentiated
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.preprocessing.resample import interpolant
from inertica.robot.control import LAWS
from inertica.robot.description import Description
from inertica.robot.load import load
from inertica.threads import one_thread
from inertica.workflow.inputs import LogLike

Array = NDArray[np.float64]

POOR = 0.2
"""Relative residual above which a joint's law is neither of the two."""


@dataclass(frozen=True)
class JointLoop:
    """One joint's loop.

    Args:
        joint: its name.
        gains: name -> value, joint side.
        std: of the gains, for noise in the log that is correlated in time; not for a law of another form.
        wn: natural frequency in rad/s.
        zeta: damping.
        residual: |tau - law| / |tau| after the filter.
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
        law: pd or cascade.
        rate: control rate in Hz, stated or that of the log.
        joints: one entry each.
        residuals: law -> relative residual over all joints, for both laws.
        source: of the torque: recorded, or the prior model's.
        warnings: one sentence each.
    """

    law: str
    rate: float
    joints: tuple[JointLoop, ...]
    residuals: dict[str, float]
    source: str
    warnings: tuple[str, ...]

    @property
    def loop(self) -> ControlLoop:
        gains = {name: np.array([j.gains[name] for j in self.joints]) for name in LAWS[self.law].gains}
        return ControlLoop(self.law, self.rate, gains)

    def card(self) -> dict[str, object]:
        """The `loop:` section of a robot card."""
        gains = {name: [float(f"{j.gains[name]:.6g}") for j in self.joints] for name in LAWS[self.law].gains}
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
        law: pd or cascade; whichever fits better when not given.
        cutoff: of the filter that all signals pass; 50 Hz, less for slow logs, by default.
        references: trajectories, one for all logs or one each; the logs' columns when not given.
    """
    description = robot if isinstance(robot, Description) else load(robot)
    recorded = [log if isinstance(log, Log) else read_log(log, description) for log in logs]
    known = [name for name, one in LAWS.items() if one.fitted]
    if law is not None and law not in known:
        raise InputError(f"unknown law '{law}' to fit; valid are: {', '.join(known)}")
    if len(references) not in (0, 1, len(logs)):
        raise InputError(f"{len(references)} reference trajectories for {len(logs)} logs; state one, or one each")
    own = [references[min(k, len(references) - 1)] if references else None for k in range(len(logs))]
    parts = [_Signals(description, log, cutoff, r) for log, r in zip(recorded, own, strict=True)]
    fits = {name: [_fitted(name, parts, j) for j in range(description.robot.n)] for name in ([law] if law else known)}
    size = np.linalg.norm(np.concatenate([p.tau[p.use] for p in parts]), axis=0)
    residuals = {
        name: float(np.linalg.norm([f[2] * s for f, s in zip(found, size, strict=True)]) / np.linalg.norm(size))
        for name, found in fits.items()
    }
    best = min(residuals, key=lambda name: residuals[name])
    J = _inertia(description, parts)
    joints = tuple(
        _joint(best, name, *fit, J[j]) for j, (name, fit) in enumerate(zip(recorded[0].joints, fits[best], strict=True))
    )
    found_rate = rate or float(np.mean([p.motion.rate for p in parts]))
    return LoopFit(best, found_rate, joints, residuals, parts[0].source, _warnings(joints, rate, parts, residuals))


class _Signals:
    """Signals of one log, all through the same filter, and the instruments."""

    def __init__(self, description: Description, log: Log, cutoff: float | None, reference: Trajectory | None) -> None:
        log.need("q")
        self.source = "recorded" if "tau" in log.signals else "prior model"
        recipe = Recipe(filter=Butterworth(cutoff=cutoff) if cutoff else Butterworth(), standstill=None)
        if self.source == "recorded":
            self.motion = prepare(log, recipe)
        else:  # a torque to go through the same preparation, replaced below
            blank = {**log.signals, "tau": np.zeros(log.need("q").shape)}
            self.motion = prepare(Log.from_arrays(log.t, blank, log.joints, log.origin), recipe)
        engine, prior, m = Engine(description.layout, threads=1), description.prior, self.motion
        chosen, dt = m.recipe.filter, m.dt
        qr = _reference(m, log, reference)
        dqr = differentiated(qr, dt)
        ddqr = differentiated(dqr, dt)
        needed = engine.inverse_dynamics(qr, dqr, ddqr, prior)
        tau = m.tau if self.source == "recorded" else engine.inverse_dynamics(m.q, m.dq, m.ddq, prior)
        self.tau = chosen.smoothed(np.array(tau), dt)
        self.e, self.dqr = self._low(chosen, qr) - m.q, self._low(chosen, dqr)
        self.dq, self.ddq, self.qr = m.dq, m.ddq, qr
        instruments = (needed, differentiated(needed, dt), dqr, ddqr, differentiated(ddqr, dt))
        self.instruments = np.stack([self._low(chosen, x) for x in instruments], axis=2)
        self.use = ~m.mask

    def _low(self, chosen: Filter, x: Array) -> Array:
        return chosen.smoothed(np.array(x), self.motion.dt)

    def columns(self, law: str, j: int) -> Array:
        """(N, 4) position error, velocity (error), acceleration for the lag of the velocity, constant."""
        rate = self.dqr[:, j] - self.dq[:, j] if "dq" in LAWS[law].references else -self.dq[:, j]
        return np.column_stack([self.e[:, j], rate, self.ddq[:, j], np.ones(len(rate))])[self.use]


def _reference(motion: Motion, log: Log, trajectory: Trajectory | None) -> Array:
    """(N, n) reference positions on the clock of the motion."""
    if trajectory is not None:
        return np.asarray(trajectory(motion.t).q)
    qr = log.need("qr")
    use = ~log.mask & np.isfinite(log.t) & np.isfinite(qr).all(axis=1)
    if np.count_nonzero(use) < 4:
        raise InputError(f"{log.origin} has fewer than four samples of the reference")
    return np.asarray(interpolant(log.t[use], qr[use], "cubic")(motion.t))


def _fitted(law: str, parts: Sequence[_Signals], j: int) -> tuple[Array, Array, float]:
    """(kp e-coefficient, rate coefficient), their standard deviations and the relative residual of one joint."""
    X = np.concatenate([p.columns(law, j) for p in parts])
    y = np.concatenate([p.tau[p.use, j] for p in parts])
    Z = np.concatenate([np.column_stack([p.instruments[p.use, j], np.ones(int(p.use.sum()))]) for p in parts])
    with one_thread():
        Q, _ = np.linalg.qr(Z / np.maximum(np.linalg.norm(Z, axis=0), 1e-300))
        P = Q.T @ X
        scale = np.maximum(np.linalg.norm(P, axis=0), 1e-300)
        solution = np.linalg.lstsq(P / scale, Q.T @ y, rcond=1e-10)[0] / scale
        r = y - X @ solution
        spread = np.linalg.pinv((P / scale).T @ (P / scale)) / np.outer(scale, scale)
    variance = float(r @ r) / max(len(r) - 4, 1) * correlation_time(r[:, None])
    std = np.sqrt(np.maximum(np.diag(spread) * variance, 0.0))
    return solution[:2], std[:2], float(np.linalg.norm(r)) / max(float(np.linalg.norm(y)), 1e-300)


def _joint(law: str, name: str, values: Array, std: Array, residual: float, J: float) -> JointLoop:
    stiffness, damping = float(values[0]), float(values[1])
    wn = float(np.sqrt(max(stiffness, 0.0) / J))
    zeta = damping / (2.0 * wn * J) if wn > 0.0 else float("nan")
    gains = LAWS[law].gains_of((stiffness, float(std[0])), (damping, float(std[1])))
    return JointLoop(name, {k: g[0] for k, g in gains.items()}, {k: g[1] for k, g in gains.items()}, wn, zeta, residual)


def _inertia(description: Description, parts: Sequence[_Signals]) -> Array:
    """(n,) largest inertia about every joint along the motion (DIDIM paper, eq. 51)."""
    q = np.concatenate([p.qr[:: max(1, len(p.qr) // 300)] for p in parts])
    M = Engine(description.layout, threads=1).mass_matrix(q, description.prior)
    return np.asarray(np.max(np.diagonal(M, axis1=1, axis2=2), axis=0))


def _warnings(
    joints: Sequence[JointLoop], rate: float | None, parts: Sequence[_Signals], residuals: dict[str, float]
) -> tuple[str, ...]:
    out = []
    poor = [f"{k + 1} ({100 * j.residual:.0f} %)" for k, j in enumerate(joints) if j.residual > POOR]
    if poor:
        out.append(f"neither law explains the torque of joint {', '.join(poor)}; is there feed-forward, or a delay in the log?")
    negative = [str(k + 1) for k, j in enumerate(joints) if min(j.gains.values()) <= 0.0]
    if negative:
        out.append(
            f"the gains found for joint {', '.join(negative)} are not positive; the log does not show this loop well enough"
        )
    if len(residuals) == 2 and min(residuals.values()) > 0.8 * max(residuals.values()):
        out.append("both laws fit about equally well; the log does not tell the structure")
    if rate is None:
        out.append("the control rate is taken to be that of the log; state it if the controller runs faster")
    if parts[0].source != "recorded":
        out.append("without recorded torque the gains rest on the prior model; bandwidth and damping do not depend on its scale")
    return tuple(out)
