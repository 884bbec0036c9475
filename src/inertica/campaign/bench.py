"""The test bench of one cell: robot, base parameters, starts, experiments, and the figures of merit on the validation trajectory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from inertica.arrays import Array
from inertica.campaign.checked import simulated_robot, trajectory_of, with_model_friction
from inertica.campaign.plan import Cell
from inertica.campaign.spec import Spec
from inertica.dynamics.simulate import Noise
from inertica.dynamics.targets import target_for
from inertica.estimators.base import NoiseLevels
from inertica.excitation.cached import CachedTrajectory
from inertica.excitation.trajectory import Trajectory
from inertica.experiment.experiment import Experiment, noise_preset
from inertica.experiment.loop import ControlLoop
from inertica.experiment.run import LoopRun
from inertica.experiment.track import Track
from inertica.identifiability.base import BaseModel, base_model
from inertica.logs.log import Log
from inertica.physical.distort import distorted
from inertica.preprocessing.filters import named_filter
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description
from inertica.robot.layout import Parameters
from inertica.validation.survey import mean_ratio

VALIDATION = 1_000_003
"""Added to the seed for the noise of validation logs."""

JUDGED = 8
"""Estimates simulated on the validation trajectory at a time: what fills the lanes, so that signals lie where the last ones lay."""

STARTS = 0x57A27
"""Marks the random numbers of start vectors."""


@dataclass(frozen=True, eq=False)
class Bench:
    """What all units of a cell share.

    Args:
        spec, cell: the conditions.
        description: the robot as it is identified.
        base: its base parameters.
        experiment: the simulated robot.
        loop: as methods simulate it.
        starts: prior values that methods may start from; the first one is the prior of methods that need none.
        trajectories: identification and validation.
    """

    spec: Spec
    cell: Cell
    description: Description
    base: BaseModel
    experiment: Experiment
    loop: ControlLoop
    starts: tuple[Parameters, ...]
    trajectories: tuple[Trajectory, Trajectory]

    @property
    def truth(self) -> Array:
        """(b,) base parameters of the simulated robot, as far as the model has them."""
        return self.base.beta(self.description.prior.values)

    def logs(self, runs: Sequence[int], validation: bool = False) -> list[Log]:
        """Runs side by side; a run's log does not depend on what is simulated beside it."""
        seed = self.spec.seed + VALIDATION * validation
        trajectory = self.trajectories[validation]
        return self.experiment.run(trajectory, runs=len(runs), seed=seed, first_run=runs[0], duration=self.spec.duration)

    def motion(self, log: Log, filter_name: str, ratio: int) -> Motion:
        """As the survey prepares it: positions filtered, differentiated, borders cut, rows decimated; no sample is left out."""
        cutoff = None if filter_name == "none" else self.spec.cutoff
        chosen = named_filter(filter_name, cutoff, log.rate)
        return prepare(log, Recipe(filter=chosen, ratio=ratio, border=self.spec.border, standstill=None))

    def levels(self, motion: Motion) -> NoiseLevels:
        """Errors of the prepared signals, which only a simulation knows (survey, section 9.3.2)."""
        use, low = ~motion.mask, motion.decimator.filtered if motion.decimator.ratio > 1 else np.asarray
        sd = {
            name: np.asarray(low(getattr(motion, name) - motion.log.truth[name])[use].std(axis=0))
            for name in ("q", "dq", "ddq", "tau")
        }
        return NoiseLevels(**sd, source="known from the simulation")

    def figures(self, betas: Array, log: Log) -> tuple[Array, Array]:
        """d_q and d_tau (survey, eqs. 69, 70) of estimates (M, b) on a validation log; infinite where the loop is unstable."""
        base, loop = self.base, self.loop
        chi = np.array([base.chi(beta, self._free) for beta in betas])
        reference = self._followed
        keep = np.clip(np.rint(log.t * loop.rate).astype(np.int64), 0, len(reference["q"]) - 1)
        q, tau, desired = log.need("q"), log.need("tau"), self.trajectories[1](log.t)
        steps = np.arange(len(keep))
        track = Track(reference, loop.dt, keep, steps, steps, np.zeros(len(keep)))
        simulated = LoopRun(loop, base.engine, noisy=self.experiment.noise is not None)
        d_q: list[float] = []
        lanes = max(JUDGED, base.engine.target.parallel_runs)
        for first in range(0, len(chi), lanes):
            run = simulated.simulate(chi[first : first + lanes], track)
            d_q += [mean_ratio(q, q_run) if fine else np.inf for q_run, fine in zip(run.q, run.stable, strict=True)]
        torques = (base.engine.inverse_dynamics(desired.q, desired.dq, desired.ddq, x) for x in chi)
        return np.array(d_q), np.array([mean_ratio(tau, simulated) for simulated in torques])

    @cached_property
    def _followed(self) -> dict[str, Array]:
        """Of the validation trajectory, at the control steps; not to be written to, so that tables made of it are kept."""
        reference = {name: np.array(x) for name, x in self.experiment.reference(self.trajectories[1], self.spec.duration).items()}
        for signal in reference.values():
            signal.setflags(write=False)
        return reference

    @property
    def _free(self) -> Array:
        """(P,) zero but for parameters that are fixed; torques do not depend on the others once beta is given."""
        out = np.zeros(self.base.layout.size)
        out[self.base.fixed] = self.description.prior.values[self.base.fixed]
        return out


@lru_cache(maxsize=8)
def _robot(name: str, laws: tuple[str, ...] | None, width: float | None, device: str) -> tuple[Description, BaseModel]:
    description = with_model_friction(simulated_robot(name, width), laws)
    return description, base_model(description.layout).computed(1, target_for(device, 1))


def bench(spec: Spec, cell: Cell, device: str = "cpu") -> Bench:
    """Ready for the units of a cell; the device is that of what methods and judgements simulate."""
    plain = simulated_robot(cell.robot, spec.sign_width)
    description, base = _robot(cell.robot, spec.model_friction, spec.sign_width, device)
    experiment = Experiment.of(plain, friction=spec.data_friction, integrator=spec.integrator, threads=1)
    stated_loop = experiment.loop
    sensors = replace(experiment.sensors, position_step=cell.quantise)
    experiment = replace(experiment, loop=scaled(stated_loop, cell.loop.data), noise=_noise(plain, cell), sensors=sensors)
    names = [distorted(description.prior, np.random.default_rng([spec.seed, STARTS, k]), spec.share) for k in range(spec.starts)]
    pair = (CachedTrajectory(trajectory_of(plain, spec.identification)), CachedTrajectory(trajectory_of(plain, spec.validation)))
    starts = tuple(names) or (description.prior,)
    return Bench(spec, cell, description, base, experiment, scaled(stated_loop, cell.loop.model), starts, pair)


def scaled(loop: ControlLoop, factors: Mapping[str, float | tuple[float, ...]]) -> ControlLoop:
    """The loop with gains multiplied."""
    return loop.with_gains(**{name: np.asarray(by) * loop.gains[name] for name, by in factors.items()}) if factors else loop


def _noise(description: Description, cell: Cell) -> Noise | None:
    row = cell.noise
    if row.preset == "none" or (row.preset is None and row.q == 0.0 and row.tau == 0.0):
        return None
    made = Noise(row.q, row.tau) if row.preset is None else noise_preset(description, row.preset)
    return replace(made, distribution=cell.distribution)
