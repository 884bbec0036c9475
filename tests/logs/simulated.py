"""Closed-loop logs of a built-in robot, with imperfections added afterwards."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.interpolate import CubicSpline

from inertica.dynamics.engine import Engine
from inertica.dynamics.simulate import Noise
from inertica.logs.log import Log
from inertica.robot.load import load

DT = 2e-4
KEEP = 10


def reference(seed: int, seconds: float, amplitude: float = 1.0) -> dict[str, np.ndarray]:
    """Five harmonics of 0.2 Hz per joint with random phases, started smoothly."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(seconds / DT) + 1)[:, None] * DT
    q, dq = np.zeros((len(t), 6)), np.zeros((len(t), 6))
    for k in range(1, 6):
        w = 2 * np.pi * 0.2 * k
        a, phase = amplitude * rng.uniform(0.2, 0.5, 6) / k**0.5, rng.uniform(0, 2 * np.pi, 6)
        q += a * np.sin(w * t + phase)
        dq += a * w * np.cos(w * t + phase)
    return {"q": q, "dq": dq}


@cache
def clean(seed: int = 0, seconds: float = 10.0, amplitude: float = 1.0, noisy: bool = True, coulomb: bool = True) -> Log:
    """A log at 500 Hz: position noise of 1e-3 degrees, torque noise of 0.05 N m; Coulomb friction can be switched off."""
    robot = load("tx40")
    chi = robot.prior if coulomb else robot.prior.replaced({f"Fc{j + 1}": 0.0 for j in range(6)})
    gains = {name: np.array(robot.loop[name], float) for name in ("kp", "kd")}
    noise = Noise(q=1.7453e-5, tau=0.05, seed=seed) if noisy else None
    run = Engine(robot.layout).simulate(chi, reference(seed, seconds, amplitude), gains, DT, noise=noise, keep=KEEP)
    t = run.steps * DT
    truth = {name: getattr(run, name)[0] for name in ("q", "dq", "ddq", "tau")}
    return Log.from_arrays(t, {"q": run.q_measured[0], "tau": run.tau_measured[0]}, robot.robot.joint_names, truth=truth)


def changed(log: Log, **signals: np.ndarray) -> Log:
    return Log.from_arrays(log.t, {**log.signals, **signals}, log.joints)


def delayed(log: Log, seconds: np.ndarray) -> Log:
    """Torque recorded later by these times, joint by joint; the true one is shifted and the noise stays white."""
    exact = log.truth["tau"]
    noise = log.tau - exact
    late = np.column_stack([CubicSpline(log.t, x)(np.maximum(log.t - d, 0.0)) for x, d in zip(exact.T, seconds, strict=True)])
    return changed(log, tau=late + noise)
