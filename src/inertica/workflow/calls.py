"""Jobs of the command line that are one call each: `check`, `simulate`, `dynamics_at`, `reduce`, `watch`, `examine`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from inertica.checks.findings import Quality
from inertica.checks.gate import checked
from inertica.checks.seen import seen
from inertica.documents import plain
from inertica.dynamics.parts import Parts, parts
from inertica.errors import InputError
from inertica.estimators.base import Estimate, Problem
from inertica.estimators.recursive.change import LoadChange
from inertica.estimators.registry import method as method_named
from inertica.excitation.default_motion import default_motion
from inertica.excitation.files import shipped_or_file
from inertica.excitation.trajectory import Trajectory
from inertica.experiment import Experiment, noise_preset
from inertica.experiment.tuned import tuned
from inertica.identifiability.states import States
from inertica.identifiability.svd_reduction import SvdReduction, reduced_by_svd
from inertica.logs.log import Log
from inertica.logs.read import read_log
from inertica.logs.simulated import marked
from inertica.options import merged
from inertica.preprocessing.edge import usual_cutoff
from inertica.preprocessing.filters import Butterworth
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description
from inertica.robot.floating import require_fixed_base
from inertica.robot.loops import require_tree
from inertica.robot.plain import assumed_friction
from inertica.robot.settings import read_loop
from inertica.robot.yamlfile import parse_yaml
from inertica.workflow.doctor import examination
from inertica.workflow.identify.choice import Choice
from inertica.workflow.identify.inputs import LogLike, described
from inertica.workflow.identify.result import RESULT, Result
from inertica.workflow.identify.start_values import start_values
from inertica.workflow.simulate_options import SimulateOptions
from inertica.workflow.watch import Snapshot, WatchSettings, log_blocks, watched

RobotLike = str | Path | Description


def check(robot: RobotLike, logs: Sequence[LogLike]) -> Quality:
    """Quality of logs, what they can determine, and whether they are what they say; see docs/check.md.

    Args:
        robot: catalog name, model file, card, or a description.
        logs: files, with `@t0:t1` slices, or logs.

    Examples:
        >>> quality = ia.check("card.yaml", ["run1.csv.gz"])
        >>> quality.verdict in ("good", "note")
        True
    """
    description = described(robot)
    return checked(description, [recorded(log, description) for log in logs])


@dataclass(frozen=True)
class Rehearsal:
    """A simulated experiment, what the robot follows in it and, of a motion that was designed for it, how near bodies come."""

    experiment: Experiment
    trajectory: Trajectory
    options: SimulateOptions
    note: str = ""

    def logs(self) -> Iterator[Log]:
        """One log after the other, each with noise of its own."""
        runs, seed, duration = self.options.runs, self.options.seed, self.options.duration
        if runs < 1:
            raise InputError(f"the number of runs should be at least 1, not {runs}")
        runs_made = self.experiment.iterate(self.trajectory, runs=runs, seed=seed, duration=duration)
        return (marked(log, self.experiment.description) for log in runs_made)


def rehearsal(
    robot: RobotLike,
    trajectory: str | Path | Trajectory | None,
    options: SimulateOptions,
    progress: Callable[[str], None] | None = None,
) -> Rehearsal:
    """A closed-loop experiment, ready to be simulated.

    Args:
        robot: catalog name, model file, card, or a description, with a control loop.
        trajectory: or its file, or the name of one shipped for the robot; by default its own, or one designed quickly.
        options: of the simulation.
        progress: receives one line per step of a design.
    """
    description, loop, noise = described(robot), options.loop, options.noise
    require_fixed_base(description.robot, "the simulation of a control loop")
    require_tree(description.robot, "the simulation of a control loop")
    if isinstance(loop, str) and ":" not in loop:
        raise InputError(
            f"the loop '{loop}' is no mapping; state it as in a card, such as '{{law: pd, kp: 100, kd: 10, rate: 1000}}'"
        )
    if loop is not None:
        text = loop if isinstance(loop, str) else json.dumps({key: plain(value) for key, value in loop.items()})
        description = replace(description, loop=read_loop(parse_yaml(text, "loop"), description.robot.n))
    if description.loop is not None:
        description = replace(description, loop=tuned(description, description.loop))
    if options.position_noise is not None or options.torque_noise is not None:
        name, stated = noise or "given", {"q": options.position_noise, "tau": options.torque_noise}
        parts = (
            {"q": 0.0, "tau": 0.0} | dict(description.noise.get(name, {})) | {k: v for k, v in stated.items() if v is not None}
        )
        _check_noise(parts, description.robot.n)
        description, noise = replace(description, noise={**description.noise, name: parts}), name
    preset = None if noise is None else noise_preset(description, noise, radians=options.radians)
    plainly = Experiment.of(description, friction=options.friction, noise=preset, distribution=options.distribution)
    note = ""
    if trajectory is None:
        designed = default_motion(description, say=progress or (lambda _: None))
        trajectory, note = designed.trajectory, designed.note
    reference = shipped_or_file(description.name, trajectory) if isinstance(trajectory, (str, Path)) else trajectory
    sensors = replace(plainly.sensors, **options.sensed)
    return Rehearsal(replace(plainly, sensors=sensors, integrator=options.integrator), reference, options, note)


def _check_noise(parts: Mapping[str, Any], n: int) -> None:
    for what in ("q", "tau"):
        values = np.atleast_1d(np.asarray(parts[what], float))
        if len(values) not in (1, n) or not np.all(values >= 0.0) or not np.isfinite(values).all():
            raise InputError(f"noise is a standard deviation that is not negative, one for all or one for each of {n} joints")


def simulate(
    robot: RobotLike, trajectory: str | Path | Trajectory | None = None, options: SimulateOptions | None = None, **stated: Any
) -> list[Log]:
    """Noisy logs of a robot in its control loop, one per run.

    Args:
        robot, trajectory: as for `rehearsal`.
        options: of the simulation.
        stated: single options by name, see `SimulateOptions`.

    Examples:
        >>> (log,) = ia.simulate("scara2", duration=2.0, noise="standard")
        >>> log.need("tau").shape[1]
        2
    """
    return list(rehearsal(robot, trajectory, merged(SimulateOptions, options, stated)).logs())


def dynamics_at(
    robot: RobotLike | Result, q: Sequence[float], dq: Sequence[float] | None = None, ddq: Sequence[float] | None = None
) -> Parts:
    """Inertia matrix, Coriolis matrix, gravity and friction of a model or a result at one state.

    Args:
        robot: catalog name, model file, card, a description, a result or its folder.
        q, dq, ddq: one value per joint; velocities and accelerations are zero when not given.

    Examples:
        >>> parts = ia.dynamics_at("scara2", [0.1, 0.2])
        >>> parts.M.shape
        (2, 2)
    """
    if isinstance(robot, (str, Path)) and Path(robot, RESULT).is_file():
        robot = Result.load(robot)
    return parts(robot.parameters if isinstance(robot, Result) else described(robot).prior, q, dq, ddq)


@dataclass(frozen=True)
class Reduced:
    """Base parameters that a motion determines, their estimate, and where starts and priors came from if a log was simulated."""

    reduction: SvdReduction
    estimate: Estimate
    choices: tuple[Choice, ...] = ()


def reduce(
    robot: RobotLike, logs: Sequence[LogLike], *, method: str = "frisch", cutoff: float | None = None, alpha: float = 1.0,
    alpha_det: float = 1.0, prior: Literal["truth"] | None = None,
) -> Reduced:  # fmt: skip
    """Reduce the parameters to those a motion can determine, by singular values, and estimate them (Frisch paper, section 3.1).

    Args:
        robot: catalog name, model file, card, or a description.
        logs: the first decides what is identifiable, the others are for the estimate; a single one is used for both.
        method: of the estimate.
        cutoff: of the filter of positions in Hz; twenty times the band of the motion, at most a fifth of the rate, by default.
        alpha, alpha_det: weights of the condition number and of the inverse determinant.
        prior: `truth` to start a fit of a log that was simulated with this very model from its values; 15 % off them when not given.

    Examples:
        >>> found = ia.reduce("card.yaml", ["run1.csv.gz"], method="ols", cutoff=10.0)
    """
    estimator = method_named(method)
    if cutoff is not None and not cutoff > 0.0:
        raise InputError(f"the cut-off should be a positive number of Hz, not {cutoff:g}")
    if min(alpha, alpha_det) < 0.0 or alpha + alpha_det == 0.0:
        raise InputError("alpha and alpha_det should not be negative, and not both zero")
    stated = described(robot)
    read = [seen(log, stated) for log in logs]
    description, notes = start_values(stated, read, prior)
    recipe = Recipe(filter=Butterworth(cutoff=cutoff or usual_cutoff(read)))
    motions: list[Motion] = [prepare(log, recipe) for log in read]
    first = motions[0]
    use = ~first.mask
    states = States.of(description.layout, first.q[use], first.dq[use], first.ddq[use])
    reduction = reduced_by_svd(description.layout, states=states, alpha1=alpha, alpha2=alpha_det)
    return Reduced(
        reduction, estimator.estimate(Problem(reduction.base, tuple(motions[1:] or motions), description.prior)), notes
    )


def watch(
    robot: RobotLike, log: LogLike, *, every: float = 1.0, prior: Literal["truth"] | None = None, **settings: Any
) -> Iterator[Snapshot | LoadChange]:
    """Parameters while the samples of a log come, and changes of the load when they are flagged.

    Args:
        robot: catalog name, model file, card, or a description.
        log: file or log.
        every: s between snapshots.
        prior: as for `reduce`.
        settings: fields of `WatchSettings`.

    Examples:
        >>> snapshots = list(ia.watch("card.yaml", "run1.csv.gz", every=2.0))
    """
    stated = assumed_friction(described(robot))
    read = seen(log, stated)
    description, _ = start_values(stated, [read], prior)
    return watched(description, log_blocks(read), WatchSettings(**settings), every)


def examine(robot: RobotLike, seconds: float = 5.0) -> dict[str, Any]:
    """What this installation has, whether it computes rightly, and how fast.

    Args:
        robot: that the self-test simulates.
        seconds: for the self-test of each device, at most about this long.

    Examples:
        >>> found = ia.examine("scara2", seconds=0.2)
    """
    return examination(described(robot), seconds)


def recorded(log: LogLike, description: Description) -> Log:
    return log if isinstance(log, Log) else read_log(log, description)
