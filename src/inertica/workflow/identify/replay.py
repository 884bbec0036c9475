"""Logs as motions for a result: prepared where the position was recorded, simulated where it was not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from inertica.errors import InerticaError
from inertica.estimators.base import Estimate, Problem
from inertica.estimators.closed_loop.loop_simulation import replayed
from inertica.estimators.closed_loop.torque_only import torque_only
from inertica.excitation.trajectory import Trajectory
from inertica.experiment.loop import ControlLoop
from inertica.logs.log import Log
from inertica.preprocessing.edge import usual_cutoff
from inertica.preprocessing.filters import Butterworth, Unfiltered
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.other_rate import for_logs
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description

SIMULATED = "no position was recorded; the motion is that of the control loop simulated with the identified parameters"


def prediction_motion(
    description: Description, estimate: Estimate, recipe: Recipe, log: Log, reference: Trajectory | None = None
) -> Motion:
    """A log as the motion that predictions are made from.

    Args:
        description: of the robot, with its loop when the log has no position.
        estimate: what the loop is simulated with.
        recipe: of the identification.
        log: with or without position.
        reference: what the controller followed; the log's own columns when not given.
    """
    log = driven_log(log, estimate)
    return measured_motion(recipe, log) if "q" in log.signals else _simulated(description, estimate, recipe, log, reference)


def measured_motion(recipe: Recipe, log: Log) -> Motion:
    """A log with position, prepared; where the recipe has no filter, as that of logs without position, by a wide one."""
    velocity = recipe.velocity if log.dq is not None else "differences"
    chosen = Butterworth(usual_cutoff([log])) if isinstance(recipe.filter, Unfiltered) else recipe.filter
    return prepare(log, replace(for_logs(replace(recipe, filter=chosen), [log]), velocity=velocity))


def driven_log(log: Log, estimate: Estimate) -> Log:
    """The log with torques by the drive gains that were estimated with the parameters, where its torques come from currents."""
    factors = None if estimate.loop is None else estimate.loop.drive
    if factors is None or "i" not in log.signals:
        return log
    ratios = ", ".join(f"{x:.4g}" for x in factors)
    words = f"torques from currents were multiplied by the estimated drive gains over the stated ones: {ratios}"
    return replace(log, signals={**log.signals, "tau": log.need("tau") * factors}, notes=(*log.notes, words))


def own_reference(references: Sequence[Trajectory], k: int, predicted: Log | None = None) -> Trajectory | None:
    """What the controller followed in the k-th log, validation logs counted after the others; None when the log must say it.

    Args:
        references: one for all logs or one for each.
        k: which log.
        predicted: the log itself, when it was not fitted; its own reference columns come before a trajectory stated for all.
    """
    if predicted is not None and "qr" in predicted.signals:
        return None
    if len(references) == 1:
        return references[0]
    return references[k] if k < len(references) else None


def is_simulated(motion: Motion) -> bool:
    """Whether the motion stands for a position that was not recorded."""
    return "q" not in motion.log.signals


def _simulated(description: Description, estimate: Estimate, recipe: Recipe, log: Log, reference: Trajectory | None) -> Motion:
    motion = torque_only(log, recipe, reference)
    references = () if reference is None else (reference,)
    problem = Problem(estimate.base, (motion,), description.prior, ControlLoop.of(description), references=references)
    try:
        (simulated,) = replayed(problem, _simulable(estimate), loop_gains(estimate))
    except InerticaError as error:
        raise InerticaError(
            f"{error} ({estimate.method}: {estimate.stop_reason}); try another start, or check the loop"
        ) from None
    return replace(simulated, done={**simulated.done, "position": SIMULATED})


def _simulable(estimate: Estimate) -> NDArray[np.float64]:
    """(b,) what the loop is simulated with: the estimate, or the point next to it at which the loop is stable."""
    if estimate.loop is None or estimate.loop.stable_at is None:
        return estimate.beta
    return estimate.loop.stable_at


def loop_gains(estimate: Estimate) -> dict[str, NDArray[np.float64]]:
    """Gains of the loop that were estimated or re-tuned, name -> (n,)."""
    return {} if estimate.loop is None else dict(estimate.loop.gains)
