"""A tour without input: shows a built-in robot in short, then moves it under its own controller
in simulation and says how well it tracks, with and without sensor noise, and how long it took.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from inertica.cli.console import Answer, number, progress, table
from inertica.dynamics.engine import Engine
from inertica.dynamics.laws import PD
from inertica.dynamics.simulate import Noise, Simulation
from inertica.errors import InerticaError, InputError
from inertica.identifiability.base import BaseModel, base_model
from inertica.identifiability.compiled import engine
from inertica.robot.description import Description
from inertica.robot.load import load
from inertica.robot.model import Robot

if TYPE_CHECKING:
    from rich.console import RenderableType

Array = NDArray[np.float64]

EXAMPLES = """\
inertica demo
inertica demo --robot arm.yaml --json
"""

ROBOT = "tx40"
DURATION = 10.0
HARMONICS = 5
SHARE = 0.7
"""How much of the limits the reference uses."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--robot", metavar="ROBOT", default=ROBOT, help="built-in name or file with a pd loop (default: %(default)s)"
    )


def run(arguments: argparse.Namespace) -> Answer:
    robot = load(arguments.robot)
    dt = 1.0 / _rate(robot)
    seconds: dict[str, float] = {}
    start = time.perf_counter()
    with progress(f"finding the base parameters of {robot.name}"):
        base = base_model(robot.layout)
        compiled = engine(base)
    seconds["model"] = time.perf_counter() - start
    reference = multi_harmonic(robot.robot, robot.home, DURATION, dt)
    preset, noise = _noise(robot)
    runs: dict[str, Tracking] = {}
    for name, disturbance in (("without_noise", None), ("with_noise", noise)):
        if name == "with_noise" and disturbance is None:
            continue
        with progress(f"simulating {DURATION:g} s of {robot.name} {name.replace('_', ' ')}"):
            runs[name] = _tracked(compiled, robot, reference, dt, disturbance)
    seconds["compile"] = sum(r.compile_time for r in runs.values())
    seconds["simulate"] = sum(r.time for r in runs.values())
    tour = Tour(robot, base, dt, preset, runs, seconds)
    return Answer(tour.document(), tour.text)


@dataclass(frozen=True)
class Tracking:
    """How far the simulated robot was from its reference: (n,) each, and what it cost in seconds."""

    rms: Array
    max: Array
    compile_time: float
    time: float

    @property
    def pace(self) -> float:
        """Simulated seconds per second."""
        return DURATION / self.time


@dataclass(frozen=True)
class Tour:
    """What the demo found, as a document and as text."""

    robot: Description
    base: BaseModel
    dt: float
    preset: str | None
    runs: Mapping[str, Tracking]
    seconds: Mapping[str, float]

    def document(self) -> dict[str, object]:
        return {
            "name": self.robot.name,
            "joints": self.robot.robot.n,
            "parameter_count": self.robot.layout.size,
            "base_count": self.base.rank,
            "duration": DURATION,
            "rate": 1.0 / self.dt,
            "noise": self.preset,
            "tracking": {
                name: {"rms": run.rms, "max": run.max, "time": run.time, "simulated_seconds_per_second": run.pace}
                for name, run in self.runs.items()
            },
            "time": self.seconds,
        }

    def text(self) -> Iterator[RenderableType]:
        from rich.text import Text

        robot, runs = self.robot, self.runs
        counts = f"{robot.robot.n} joints, {robot.layout.size} standard and {self.base.rank} base parameters"
        yield Text(f"{robot.name}: {counts}", "bold")
        yield f"inertica show {robot.name} tells which they are and how they group.\n"
        columns = [f"{what} {name.replace('_', ' ')}" for name in runs for what in ("rms", "max")]
        rows = []
        for j, joint in enumerate(robot.robot.joints):
            values = [1e3 * float(getattr(run, what)[j]) for run in runs.values() for what in ("rms", "max")]
            rows.append([joint.name, *(number(v, 3) for v in values), f"m{joint.unit}"])
        title = f"tracking error over {DURATION:g} s at {1.0 / self.dt:g} Hz under the file's controller"
        yield table(title, ("joint", *columns, "unit"), rows, right=columns)
        if self.preset:
            yield f"noise: preset '{self.preset}' of the file; the controller then sees differences of noisy positions\n"
        times = [["base model", _seconds(self.seconds["model"])], ["simulation kernels", _seconds(self.seconds["compile"])]]
        times += [
            [
                f"{DURATION:g} s {name.replace('_', ' ')}",
                f"{_seconds(run.time)}, {number(run.pace, 3)} simulated seconds per second",
            ]
            for name, run in runs.items()
        ]
        yield table("time (kernels are kept on disk, so the next start is faster)", ("what", "took"), times)


def multi_harmonic(robot: Robot, home: tuple[float, ...], duration: float, dt: float, seed: int = 1) -> dict[str, Array]:
    """A periodic reference within the limits that starts and ends at rest: q, dq, ddq, each (steps, n).

        q_j(t) = c_j + sum_k a_jk sin(k w t) + b_jk (cos(k w t) - 1),   w = 2 pi / duration

    with sum_k k a_jk = 0 and sum_k k^2 b_jk = 0, so that velocity and acceleration vanish at both ends.  Joints without limits
    move about one radian (or 0.1 m) at most at 1 rad/s (0.1 m/s).
    """
    rng = np.random.default_rng(seed)
    t = np.arange(round(duration / dt)) * dt
    k = np.arange(1, HARMONICS + 1)
    w = 2.0 * np.pi / duration
    phase = np.outer(t, k * w)
    sin, cos = np.sin(phase), np.cos(phase)
    out = {name: np.empty((len(t), robot.n)) for name in ("q", "dq", "ddq")}
    for j in range(robot.n):
        a = _without(rng.normal(size=HARMONICS) / k, k)
        b = _without(rng.normal(size=HARMONICS) / k, k**2)
        shape = (
            sin @ a + (cos - 1.0) @ b,
            cos @ (k * w * a) - sin @ (k * w * b),
            -(sin @ ((k * w) ** 2 * a)) - cos @ ((k * w) ** 2 * b),
        )
        centre, scale = _fitted(robot, j, home[j] if home else None, shape)
        for name, signal, shift in zip(out, shape, (centre, 0.0, 0.0), strict=True):
            out[name][:, j] = shift + scale * signal
    return out


def _without(values: Array, direction: NDArray[np.int64]) -> Array:
    return values - direction * (values @ direction) / (direction @ direction)


def _fitted(robot: Robot, j: int, home: float | None, shape: tuple[Array, Array, Array]) -> tuple[float, float]:
    """Start and scale that put the shape into the limits of joint j: around home, or the middle where that is not allowed."""
    limits, reach = robot.limits, 0.1 if robot.joints[j].prismatic else 1.0
    q, dq, ddq = shape
    middle = 0.5 * (q.min() + q.max())
    half = 0.5 * (q.max() - q.min())
    lower, upper = limits.lower[j], limits.upper[j]
    centre = home if home is not None and lower < home < upper else _middle(lower, upper)
    room = min(reach if not np.isfinite(x) else x for x in (upper - centre, centre - lower))
    room, fast = min(room, np.pi), limits.velocity[j] if np.isfinite(limits.velocity[j]) else reach
    scale = SHARE * min(room / half, fast / np.abs(dq).max(), limits.acceleration[j] / np.abs(ddq).max())
    return float(centre - scale * middle), float(scale)


def _middle(lower: float, upper: float) -> float:
    if np.isfinite(lower) and np.isfinite(upper):
        return 0.5 * (lower + upper)
    return lower + 1.0 if np.isfinite(lower) else upper - 1.0 if np.isfinite(upper) else 0.0


def _tracked(compiled: Engine, robot: Description, reference: Mapping[str, Array], dt: float, noise: Noise | None) -> Tracking:
    loop = robot.loop or {}
    gains = {key: loop[key] for key in PD.gains}
    moments = [time.perf_counter()]
    for steps in (2, len(reference["q"])):  # the first, short one brings the kernels
        given = {name: signal[:steps] for name, signal in reference.items()}
        result: Simulation = compiled.simulate(robot.prior, given, gains, dt, noise=noise)
        moments.append(time.perf_counter())
    if not result.stable.all():
        raise InerticaError(
            f"the simulation of {robot.name} did not stay finite; its gains do not fit its rate of {1.0 / dt:g} Hz"
        )
    error = reference["q"] - result.q[0]
    rms, largest = np.sqrt(np.mean(error**2, axis=0)), np.abs(error).max(axis=0)
    return Tracking(rms, largest, moments[1] - moments[0], moments[2] - moments[1])


def _rate(robot: Description) -> float:
    loop = robot.loop
    if loop is None:
        raise InputError(f"{robot.name} states no control loop; the demo needs one with law pd, rate, kp and kd")
    if loop["law"] != "pd":
        raise InputError(f"{robot.name} has a loop with the law '{loop['law']}'; the demo simulates pd")
    missing = [key for key in ("rate", *PD.gains) if key not in loop]
    if missing:
        raise InputError(f"the loop of {robot.name} lacks '{missing[0]}', which the demo needs")
    return float(loop["rate"])


def _noise(robot: Description) -> tuple[str | None, Noise | None]:
    """The preset `standard`, or the first; none when the file has none."""
    if not robot.noise:
        return None, None
    name = "standard" if "standard" in robot.noise else next(iter(robot.noise))
    preset: Mapping[str, Any] = robot.noise[name]
    return name, Noise(q=preset.get("q", 0.0), tau=preset.get("tau", 0.0))


def _seconds(value: float) -> str:
    return f"{1e3 * value:.3g} ms" if value < 1.0 else f"{value:.3g} s"
