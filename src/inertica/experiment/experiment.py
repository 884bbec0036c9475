"""An experiment in simulation: trajectory -> closed loop -> noisy, imperfect log that also knows the truth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.dynamics.engine import Engine
from inertica.dynamics.noise import NORMAL
from inertica.dynamics.simulate import INTEGRATORS, Noise, Simulation
from inertica.errors import InerticaError, InputError, nearest
from inertica.excitation.trajectory import Trajectory
from inertica.experiment.loop import ControlLoop
from inertica.experiment.run import LoopRun
from inertica.experiment.sensors import Sensors, played, quantised, with_outliers
from inertica.experiment.track import Track
from inertica.experiment.truth import true_parameters
from inertica.identifiability.base import base_model
from inertica.identifiability.base import engine as base_engine
from inertica.logs.log import Log, Origin
from inertica.robot.description import Description
from inertica.robot.layout import Parameters

WHOLE = 1e-12
"""Part of a period by which it may differ from a whole number of control steps: rounding."""

RUNS_AT_ONCE = 64
"""Runs simulated together; recordings at control rate of more would not fit the memory of a small machine."""


@dataclass(frozen=True)
class Experiment:
    """A robot, its loop and its sensors, ready to run.

    Args:
        description: the robot as users describe it.
        loop: its control loop.
        truth: parameters of the simulated robot; their layout may have other friction than the description's.
        noise: standard deviations of position (felt by the loop) and torque (recorded); None for none.
        sensors: further imperfections of the recording.
        integrator: euler, rk2 or rk4, one step per control period, or `variable`.
        threads: runs computed at the same time; all cores when not given.
    """

    description: Description
    loop: ControlLoop
    truth: Parameters
    noise: Noise | None = None
    sensors: Sensors = field(default_factory=Sensors)
    integrator: str = "rk4"
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.integrator not in INTEGRATORS:
            raise InputError(f"unknown integrator '{self.integrator}'; {nearest(self.integrator, INTEGRATORS)}")

    @classmethod
    def of(
        cls,
        description: Description,
        *,
        friction: str | None = None,
        noise: str | Noise | None = None,
        distribution: str = NORMAL,
        sensors: Sensors | None = None,
        integrator: str = "rk4",
        threads: int | None = None,
    ) -> Experiment:
        """The experiment a description implies.

        Args:
            description: the robot.
            friction: of the simulated robot, see `truth.FRICTIONS`; its own when not given.
            noise: one of its noise presets by name, or a preset as `noise_preset` reads it; no noise when not given.
            distribution: of the noise: normal, uniform or laplace, with the preset's standard deviations.
            sensors: further imperfections; by default only the sample rate the description states.
            integrator: euler, rk2, rk4 or variable.
            threads: runs computed at the same time.
        """
        stated = description.reference.get("sampling", {})
        rate = stated.get("rate") if isinstance(stated, dict) else None
        loop = ControlLoop.of(description)
        default_sensors = Sensors(rate=float(rate) if rate and float(rate) <= loop.rate else None)
        default_sensors = replace(default_sensors, **description.sensors)
        if noise is None and distribution != NORMAL:
            raise InputError(f"a distribution of noise ({distribution}) needs a noise preset")
        preset = noise_preset(description, noise) if isinstance(noise, str) else noise
        if preset is not None and distribution != NORMAL:
            preset = replace(preset, distribution=distribution)
        return cls(
            description, loop, true_parameters(description, friction), preset, sensors or default_sensors, integrator, threads
        )

    @cached_property
    def engine(self) -> Engine:
        """Dynamics of the simulated robot."""
        layout = self.truth.layout
        simple = not layout.memory
        return base_engine(base_model(layout), self.threads) if simple else Engine(layout, threads=self.threads)

    def reference(self, trajectory: Trajectory, duration: float | None = None) -> dict[str, Array]:
        """What the controller follows, at control rate; inside the limits."""
        n = self.description.robot.n
        if trajectory.n != n:
            raise InputError(f"the trajectory moves {trajectory.n} joints, {self.description.name} has {n}")
        length = trajectory.period if duration is None else duration
        steps = round(length * self.loop.rate)
        period = self._steps_per_period(trajectory)
        repeats = period is not None and steps > period  # then one period is worked out, feed-forward included
        samples = trajectory(np.arange(period if repeats and period else steps + 1) * self.loop.dt)
        out = self.loop.followed(samples)
        return {name: x[np.arange(steps + 1) % len(x)] for name, x in out.items()} if repeats else out

    def _steps_per_period(self, trajectory: Trajectory) -> int | None:
        """Control steps after which the reference repeats; None when it does not, or repeats between steps."""
        steps = trajectory.period * self.loop.rate
        return round(steps) if trajectory.periodic and abs(steps - round(steps)) < WHOLE * steps else None

    def run(
        self, trajectory: Trajectory, *, runs: int = 1, seed: int = 0, first_run: int = 0, duration: float | None = None
    ) -> list[Log]:
        """Logs of several repetitions; run k of a seed is the same whatever else is run beside it."""
        return list(self.iterate(trajectory, runs=runs, seed=seed, first_run=first_run, duration=duration))

    def iterate(
        self, trajectory: Trajectory, *, runs: int = 1, seed: int = 0, first_run: int = 0, duration: float | None = None
    ) -> Iterator[Log]:
        """The same, one log after the other while the next runs are still to be computed."""
        reference = self.reference(trajectory, duration)
        steps = len(reference["q"])
        for start in range(first_run, first_run + runs, RUNS_AT_ONCE):
            numbers = np.arange(start, min(start + RUNS_AT_ONCE, first_run + runs))
            draws = [np.random.default_rng([seed, int(k), 0x5E5]) for k in numbers]
            taken = [self.sensors.steps(self.loop.rate, steps, rng) for rng in draws]
            recorded = self._recorded_steps(taken, steps)
            simulation = self.simulate(reference, numbers, seed, recorded)
            for i, rng in enumerate(draws):
                if not simulation.stable[i]:
                    name = self.description.name
                    raise InerticaError(
                        f"run {numbers[i]} of {name} became unstable; check the gains, or use a higher control rate"
                    )
                yield self._log(simulation, i, recorded, taken[i], reference, rng)

    def simulate(self, reference: dict[str, Array], runs: NDArray[np.int64], seed: int, keep: NDArray[np.int64]) -> Simulation:
        """The closed loop, at the recorded control steps."""
        noise = None if self.noise is None else replace(self.noise, seed=seed)
        run = LoopRun(self.loop, self.engine, self.truth.shapes, self.integrator, noise is not None)
        values = np.tile(self.truth.values, (len(runs), 1))
        return run.simulate(values, Track.between(reference, self.loop.dt, keep), noise=noise, runs=runs)

    def _recorded_steps(self, taken: list[NDArray[np.int64]], steps: int) -> NDArray[np.int64]:
        """Control steps that some log needs: those at which it samples, and those its delayed torques come from."""
        lags = np.unique(self.sensors.lags(self.description.robot.n, self.loop.rate))
        wanted = np.zeros(steps, bool)
        for rows in taken:
            for lag in lags:
                wanted[np.maximum(rows - lag, 0)] = True
            wanted[rows] = True
        return np.flatnonzero(wanted)

    def _log(
        self,
        run: Simulation,
        i: int,
        recorded: NDArray[np.int64],
        taken: NDArray[np.int64],
        reference: dict[str, Array],
        rng: np.random.Generator,
    ) -> Log:
        sensors, n = self.sensors, self.description.robot.n
        rows = np.searchsorted(recorded, taken)
        late = np.searchsorted(recorded, np.maximum(taken[:, None] - sensors.lags(n, self.loop.rate), 0))
        tau = np.take_along_axis(run.tau_measured[i], late, axis=0)
        if sensors.hysteresis:  # of the sensor, so before its noise
            felt = np.take_along_axis(run.tau[i], late, axis=0)
            tau = tau - felt + played(felt, sensors.hysteresis * np.ptp(felt, axis=0))
        if np.any(sensors.torque_offset):
            tau = tau + np.asarray(sensors.torque_offset, float)
        if sensors.outliers:
            tau = with_outliers(tau, sensors.outliers, sensors.outlier_size, rng)
        signals = {"q": quantised(run.q_measured[i][rows], sensors.position_step)}
        if sensors.velocity is not None:
            signals["dq"] = run.dq[i][rows] + sensors.velocity * rng.standard_normal((len(rows), n))
        signals["qr"] = reference["q"][taken]
        if sensors.current:
            gain = np.ones(n) if self.loop.drive_gains is None else self.loop.drive_gains
            signals["i"] = quantised(tau / gain, sensors.torque_step)
        else:
            signals["tau"] = quantised(tau, sensors.torque_step)
        truth = {name: getattr(run, name)[i][rows] for name in ("q", "dq", "ddq", "tau")}
        notes = (f"simulated with {self.truth.origin}, {self.integrator}, control rate {self.loop.rate:g} Hz",)
        joints = self.description.robot.joint_names
        return Log.from_arrays(taken * self.loop.dt, signals, joints, Origin(format="simulation"), truth, notes)


def noise_preset(description: Description, name: str, *, radians: bool = False) -> Noise:
    """A named noise preset of a robot.

    The survey prints position noise in radians, its toolbox reads the same digits as degrees; the degrees are what its results
    fit, and what presets mean unless `radians` asks for the printed unit.
    """
    presets = description.noise
    if name not in presets:
        hint = nearest(name, presets) if presets else "it states none"
        raise InputError(f"{description.name} has no noise preset '{name}'; {hint}")
    preset = presets[name]
    if radians and "q_deg" not in preset:
        raise InputError(f"the noise preset '{name}' of {description.name} is not printed in two units")
    return Noise(q=preset["q_deg"] if radians else preset["q"], tau=preset.get("tau", 0.0))
