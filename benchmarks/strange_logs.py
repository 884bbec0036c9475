"""Logs for strangers.py: a scenario by number, the robot's torque by Pinocchio along its motion, and what a recorder makes of both.

motion      Fourier series from 0.07 to 2 Hz, sines at one frequency, or from point to point with stops; 8, 30 or 60 s
friction    plain (viscous and Coulomb), Stribeck, load-dependent, with an offset, or viscous that falls off with speed; the sign is
            rounded over 0.2 to 5 % of the joint's speed; drive inertia in half of the robots
model error one of ERRORS: what the user's model file does not say, or says wrongly
recorder    one or two of DEFECTS, besides white noise of torque and position
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.signal import butter, lfilter, sosfilt
from strange_robots import STRANGERS, Stranger, TrueRobot, with_wrong_lengths

from inertica.benchmark.plain import Recorded

Array = NDArray[np.float64]

ERRORS = ("none", "lengths", "spring", "hose", "lean", "drift")
MOTIONS = ("fourier", "fourier", "sines", "points")
FRICTION = ("plain", "stribeck", "load", "offset", "curved")
DEFECTS = ("repeats", "jitter", "coloured", "encoder", "late_velocity", "current", "slow_torque")
DURATIONS, RATES = (8.0, 8.0, 30.0, 30.0, 60.0), (100.0, 200.0, 250.0, 500.0, 1000.0)

MOST_ROWS = 30_000
"""Rows of a log at most; longer ones take the next lower rate."""

LEAN = np.deg2rad(1.5)
CLOCK = 10.0
"""s that a recorder's clock shows when a motion begins."""

RISE = 1.0
"""s in which half of the motions start from rest."""


@dataclass(frozen=True)
class Scenario:
    """What is simulated, by number and seed.

    Args:
        number, seed: where the random numbers come from.
        robot: of `STRANGERS`.
        error: of `ERRORS`.
        motion, band: of `MOTIONS`, with its highest frequency in Hz.
        duration, rate: of each of the two logs, in s and Hz.
        friction: of `FRICTION`.
        bristles: friction keeps its side where a joint stops.
        motor_side: torque holds drive inertia.
        noise: standard deviation of white torque noise, relative to the joint's typical torque.
        defects: of `DEFECTS`.
    """

    number: int
    seed: int
    robot: Stranger
    error: str
    motion: str
    band: float
    duration: float
    rate: float
    friction: str
    bristles: bool
    motor_side: bool
    noise: float
    defects: tuple[str, ...]

    @classmethod
    def drawn(cls, number: int, seed: int) -> Scenario:
        """Robots take turns, and so do model errors with each robot; the rest is drawn."""
        rng = np.random.default_rng([seed, number])
        robot = STRANGERS[number % len(STRANGERS)]
        error = ERRORS[(number + number // len(STRANGERS)) % len(ERRORS)]
        motion = str(rng.choice(MOTIONS))
        band = float(np.exp(rng.uniform(np.log(0.3), np.log(2.0)))) / np.sqrt(robot.scale)
        duration = float(rng.choice(DURATIONS))
        rate = float(rng.choice([r for r in RATES if r * duration <= MOST_ROWS]))
        defects = tuple(str(d) for d in rng.choice(DEFECTS, size=rng.integers(1, 3), replace=False))
        noise = float(np.exp(rng.uniform(np.log(0.003), np.log(0.08))))
        friction = str(rng.choice(FRICTION))
        bristles, motor_side = (bool(x) for x in rng.random(2) < 0.5)
        more = (friction, bristles, motor_side, noise, defects)
        return cls(number, seed, robot, error, motion, band, duration, rate, *more)

    def without_error(self, motion: str) -> Scenario:
        """The same robot and recorder with another motion, a model without error and friction without memory."""
        return replace(self, motion=motion, error="none", bristles=False)

    @property
    def modelled(self) -> bool:
        """Whether links, drives and friction without memory are all there is."""
        return self.error == "none" and not self.bristles

    @property
    def description(self) -> str:
        of_motion = f"{self.motion} to {self.band:.2g} Hz, {self.duration:.0f} s at {self.rate:.0f} Hz"
        side = f"{'bristles, ' if self.bristles else ''}{'motor' if self.motor_side else 'joint'} side"
        return (
            f"{self.number} {self.robot.name}: {self.error}; {of_motion}; {self.friction}, {side}; "
            f"{', '.join(self.defects)}, noise {100 * self.noise:.1f} %"
        )


@dataclass(frozen=True)
class RecordedLog:
    """A log as a file for inertica, as rows for the plain pipeline, and its torque without sensor and recorder."""

    path: Path
    recorded: Recorded
    clean: Array


@dataclass(frozen=True)
class Simulated:
    """A scenario on disk: the model file of the user, a card where torque is a current, the log to fit and the one to predict.

    `truth` has the parameters that the model structure can hold.
    """

    model: Path
    card: Path
    fit: RecordedLog
    test: RecordedLog
    truth: dict[str, float]


def simulate(scenario: Scenario, folder: Path) -> Simulated | None:
    """None where the robot's collection is missing."""
    text = scenario.robot.urdf()
    if text is None:
        return None
    rng = np.random.default_rng([scenario.seed, scenario.number, 1])
    model = folder / f"{scenario.robot.name}.urdf"
    model.write_bytes(text)
    robot = TrueRobot(model, rng)
    if scenario.error == "lengths":
        model.write_bytes(with_wrong_lengths(text, 1.0 + rng.uniform(0.01, 0.03, robot.n) * rng.choice([-1.0, 1.0], robot.n)))
    if scenario.error == "lean":
        robot.lean(LEAN, rng.uniform(0.0, 2.0 * np.pi))
    motions = [Motion.drawn(scenario, robot, rng) for _ in range(2)]
    fine = np.arange(0.0, scenario.duration, 1.0 / scenario.rate)
    drive = Drives.drawn(scenario, robot, motions[0].states(fine), rng)
    recorder = Recorder.drawn(scenario, robot, drive, rng)
    logs = []
    for name, motion in zip(("fit", "test"), motions, strict=True):
        states = motion.states(fine)
        logs.append(recorder.log(folder / f"{name}.csv", fine, states, drive.torque(fine, *states), rng))
    card = model
    if "current" in scenario.defects:
        card = folder / "card.yaml"
        card.write_text(
            f"model: {model}\ntorque: {{from: current, gain: {[float(g) for g in recorder.gains]}}}\n", encoding="utf-8"
        )
    return Simulated(model, card, logs[0], logs[1], robot.values | drive.values)


@dataclass(frozen=True)
class Motion:
    """Sums of sines with optional rise from rest, or poses with stops between them: smooth functions of time."""

    middle: Array
    size: Array
    frequency: Array
    phase: Array
    rise: bool
    poses: Array
    knots: Array

    @classmethod
    def drawn(cls, scenario: Scenario, robot: TrueRobot, rng: np.random.Generator) -> Motion:
        n, (middle, half) = robot.n, robot.ranges
        speed = rng.uniform(0.5, 0.9) * robot.speeds
        none = np.zeros((0, n))
        if scenario.motion == "points":
            poses = middle + half * rng.uniform(-1.0, 1.0, (int(scenario.duration) + 3, n))
            ways = np.max(1.875 * np.abs(np.diff(poses, axis=0)) / speed, axis=1)
            stops = rng.uniform(0.3, 1.0, len(ways))
            knots = np.cumsum(np.ravel(np.column_stack([stops, ways])))
            return cls(middle, none, none, none, False, poses, knots)
        if scenario.motion == "sines":
            common = np.random.default_rng([scenario.seed, scenario.number, 2]).uniform(0.3, 1.0) * scenario.band
            frequency = np.full((1, n), common * rng.uniform(0.9, 1.1))
            share = np.ones((1, n))
        else:
            lowest = rng.uniform(0.07, 0.12)
            frequency = lowest * np.unique(np.round(np.geomspace(1.0, max(scenario.band / lowest, 2.0), 6)))[:, None] * np.ones(n)
            share = rng.uniform(0.3, 1.0, frequency.shape) / frequency**0.5
        phase = rng.uniform(0.0, 2.0 * np.pi, frequency.shape)
        rates = 2.0 * np.pi * frequency
        bounds = [half / share.sum(axis=0), speed / (rates * share).sum(axis=0), 5.0 * speed / (rates**2 * share).sum(axis=0)]
        slack = 0.3 * (half - np.minimum.reduce(bounds) * share.sum(axis=0))
        return cls(
            middle + slack * rng.uniform(-1.0, 1.0, n), np.minimum.reduce(bounds) * share, frequency, phase,
            bool(rng.random() < 0.5), none, np.zeros(0),
        )  # fmt: skip

    def states(self, t: Array) -> tuple[Array, Array, Array]:
        """q, dq, ddq (N, n)."""
        if len(self.knots):
            return self._stops(t)
        rates = 2.0 * np.pi * self.frequency
        angle = rates * t[:, None, None] + self.phase
        x = np.sum(self.size * np.sin(angle), axis=1)
        dx = np.sum(self.size * rates * np.cos(angle), axis=1)
        ddx = -np.sum(self.size * rates**2 * np.sin(angle), axis=1)
        if not self.rise:
            return self.middle + x, dx, ddx
        s, ds, dds = (v[:, None] for v in smooth_step(t / RISE))
        ds, dds = ds / RISE, dds / RISE**2
        return self.middle + s * x, ds * x + s * dx, dds * x + 2.0 * ds * dx + s * ddx

    def _stops(self, t: Array) -> tuple[Array, Array, Array]:
        starts, ends = self.knots[0::2], self.knots[1::2]
        k = np.clip(np.searchsorted(starts, t, side="right") - 1, 0, len(starts) - 1)
        length = (ends - starts)[k][:, None]
        s, ds, dds = (v[:, None] for v in smooth_step((t - starts[k]) / length[:, 0]))
        way = self.poses[k + 1] - self.poses[k]
        return self.poses[k] + s * way, ds * way / length, dds * way / length**2


def smooth_step(x: Array) -> tuple[Array, Array, Array]:
    """From 0 to 1 with least jerk, and its derivatives."""
    x = np.clip(x, 0.0, 1.0)
    return x**3 * (10.0 - 15.0 * x + 6.0 * x**2), 30.0 * x**2 * (1.0 - x) ** 2, 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x)


@dataclass(frozen=True)
class Drives:
    """Torque of the robot with its drives, friction, and what the user's model does not know.

    Args:
        scale: (n,) typical torque of each joint on the motion of the fit.
        width, way: (n,) of the rounded sign: speed, and how far the joint moves until friction has changed sides; no way, no memory.
        stribeck_speed: (n,) of the Stribeck peak.
    """

    scenario: Scenario
    robot: TrueRobot
    scale: Array
    speed: Array
    armature: Array
    viscous: Array
    coulomb: Array
    offset: Array
    stribeck: Array
    load: Array
    width: Array
    way: Array
    stribeck_speed: Array
    error_size: Array
    error_phase: Array

    @classmethod
    def drawn(cls, scenario: Scenario, robot: TrueRobot, states: tuple[Array, Array, Array], rng: np.random.Generator) -> Drives:
        n = robot.n
        some = slice(None, None, max(1, len(states[0]) // 1000))
        rigid = robot.torque(*(x[some] for x in states))
        speed = np.abs(states[1]).max(axis=0)
        size = np.sqrt(np.mean(rigid**2, axis=0))
        scale = np.maximum(size, 0.03 * size.max())
        coulomb = rng.uniform(0.05, 0.3, n) * scale
        off, peak, load = (
            rng.uniform(0.1, 0.3, n) * rng.choice([-1.0, 1.0], n),
            rng.uniform(0.2, 0.6, n),
            rng.uniform(0.03, 0.12, n),
        )
        kind = scenario.friction
        inertia = robot.inertia(states[0][some][::10])
        return cls(
            scenario, robot, scale, speed,
            armature=rng.uniform(0.2, 1.0, n) * inertia * scenario.motor_side,
            viscous=rng.uniform(0.3, 1.5, n) * coulomb / speed,
            coulomb=coulomb,
            offset=off * coulomb * (kind == "offset"),
            stribeck=peak * coulomb * (kind == "stribeck"),
            load=load * (kind == "load"),
            width=np.exp(rng.uniform(np.log(0.002), np.log(0.05))) * speed,
            way=np.exp(rng.uniform(np.log(0.001), np.log(0.01), n)) * robot.ranges[1] * scenario.bristles,
            stribeck_speed=rng.uniform(0.05, 0.15, n) * speed,
            error_size=rng.uniform(0.5, 1.0, n),
            error_phase=rng.uniform(0.0, 2.0 * np.pi, n),
        )  # fmt: skip

    @property
    def values(self) -> dict[str, float]:
        """By the names that results have; those of friction only where the law is one of viscous, Coulomb and offset."""
        named = {"Ia": self.armature}
        if self.scenario.friction in ("plain", "offset"):
            named |= {"Fv": self.viscous, "Fc": self.coulomb, "off": self.offset}
        return {f"{symbol}{j + 1}": float(x) for symbol, values in named.items() for j, x in enumerate(values)}

    def torque(self, t: Array, q: Array, dq: Array, ddq: Array) -> Array:
        rigid = self.robot.torque(q, dq, ddq)
        sign = self._sign(t, dq)
        level = self.coulomb + self.stribeck * np.exp(-((dq / self.stribeck_speed) ** 2)) + self.load * np.abs(rigid)
        viscous = self.viscous * dq
        if self.scenario.friction == "curved":
            viscous = self.viscous * self.speed * np.sign(dq) * np.abs(dq / self.speed) ** 0.6
        return rigid + self.armature * ddq + viscous + level * sign + self.offset + self._unknown(t, q)

    def _sign(self, t: Array, dq: Array) -> Array:
        """(N, n) of -1 to 1: the rounded sign, followed over the way that bristles take."""
        target = np.tanh(dq / self.width)
        if not self.scenario.bristles:
            return target
        share = -np.expm1(-np.abs(dq) * (t[1] - t[0]) / self.way)
        out = target.copy()
        for k in range(1, len(t)):
            out[k] = out[k - 1] + share[k] * (target[k] - out[k - 1])
        return out

    def _unknown(self, t: Array, q: Array) -> Array:
        """(N, n) of the scenario's model error, where it is a torque."""
        out, n = np.zeros_like(q), q.shape[1]
        middle, half = self.robot.ranges
        if self.scenario.error == "spring":  # on joint 2, or on the only one that there is
            j = min(1, n - 1)
            out[:, j] = 0.6 * self.error_size[j] * self.scale[j] * ((q[:, j] - middle[j]) / half[j] - np.sin(self.error_phase[j]))
        if self.scenario.error == "hose":
            j = n - 1
            x = (q[:, j] - middle[j]) / half[j]
            out[:, j] = 0.3 * self.error_size[j] * self.scale[j] * np.sin(2.0 * x + self.error_phase[j])
        if self.scenario.error == "drift":
            out += 0.05 * self.error_size * self.scale * np.sin(np.pi * t[:, None] / self.scenario.duration + self.error_phase)
        return out


@dataclass(frozen=True)
class Recorder:
    """What becomes of states and torque on the way to the file."""

    scenario: Scenario
    steps: Array
    """(n,) of the encoders; zero without."""
    repeats: float
    jitter: float
    velocity_noise: Array
    """(n,) within 10 Hz, of positions whose noise falls with frequency."""
    position_noise: Array
    torque_noise: Array
    gains: Array
    current_step: Array
    late: float
    cutoff: float

    @classmethod
    def drawn(cls, scenario: Scenario, robot: TrueRobot, drives: Drives, rng: np.random.Generator) -> Recorder:
        n, has = robot.n, {d: d in scenario.defects for d in DEFECTS}
        turn = np.where(robot.slides, 1.0, 2.0 * np.pi)
        gains = np.round(drives.scale / rng.uniform(0.5, 3.0, n), 6) + 1e-6
        return cls(
            scenario,
            steps=turn / 2.0 ** rng.integers(12, 17) * has["encoder"],
            repeats=float(rng.uniform(0.01, 0.15)) * has["repeats"],
            jitter=float(rng.uniform(0.03, 0.15)) * has["jitter"],
            velocity_noise=rng.uniform(0.003, 0.01) * drives.speed * has["coloured"],
            position_noise=np.exp(rng.uniform(np.log(1e-6), np.log(3e-5))) * turn,
            torque_noise=scenario.noise * drives.scale,
            gains=gains if has["current"] else np.ones(n),
            current_step=drives.scale / gains / 2.0 ** rng.integers(5, 9) * has["current"],
            late=float(rng.uniform(0.002, 0.01)) * has["late_velocity"],
            cutoff=float(rng.uniform(30.0, 60.0)) * has["slow_torque"],
        )  # fmt: skip

    def log(self, path: Path, t: Array, states: tuple[Array, Array, Array], tau: Array, rng: np.random.Generator) -> RecordedLog:
        q, dq, _ = states
        rate, n = self.scenario.rate, q.shape[1]
        clean = tau
        if self.cutoff and self.cutoff < 0.45 * rate:
            tau = tau[0] + sosfilt(butter(1, self.cutoff, fs=rate, output="sos"), tau - tau[0], axis=0)
        tau = tau + self.torque_noise * rng.standard_normal(tau.shape)
        if self.current_step.any():
            tau = self.gains * self.current_step * np.round(tau / self.gains / self.current_step)
        q = q + self.position_noise * rng.standard_normal(q.shape) + self._coloured(q.shape, rng)
        if self.steps.any():
            q = self.steps * np.round(q / self.steps)
        t = t + np.clip(self.jitter * rng.standard_normal(len(t)), -0.45, 0.45) / rate if self.jitter else t
        fresh = np.where(rng.random(len(t)) < self.repeats, 0, np.arange(len(t)))
        last = np.maximum.accumulate(fresh)
        columns: dict[str, Array] = {f"q{j + 1}": q[last, j] for j in range(n)}
        if self.late:
            late = np.column_stack([np.interp(t - self.late, t, x) for x in dq.T])
            columns |= {f"dq{j + 1}": late[last, j] for j in range(n)}
        columns |= {f"{'i' if self.current_step.any() else 'tau'}{j + 1}": (tau / self.gains)[last, j] for j in range(n)}
        t = t + CLOCK
        rows = np.column_stack([t, *columns.values()])
        np.savetxt(path, rows, delimiter=",", header=",".join(["t", *columns]), comments="", fmt="%.9g")
        return RecordedLog(path, Recorded(t, q[last], tau[last]), clean)

    def _coloured(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        """White velocity noise, integrated; what is slower than 0.3 Hz leaks away."""
        rate = self.scenario.rate
        step = self.velocity_noise * np.sqrt(rate / 20.0) / rate * rng.standard_normal(shape)
        return np.asarray(lfilter([1.0], [1.0, -np.exp(-2.0 * np.pi * 0.3 / rate)], step, axis=0))
