"""d_q of the survey: how far a closed-loop simulation with the identified parameters stays from the recorded motion."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from inertica.arrays import Array
from inertica.dynamics.engine import Engine
from inertica.excitation.sampled import Sampled
from inertica.experiment.experiment import Experiment
from inertica.experiment.loop import ControlLoop
from inertica.experiment.run import LoopRun
from inertica.experiment.track import Track
from inertica.logs.log import Log
from inertica.robot.description import Description
from inertica.robot.layout import Parameters
from inertica.validation.survey import mean_ratio


def position_error(
    description: Description, parameters: Parameters, log: Log, gains: Mapping[str, Array] | None = None
) -> float | None:
    """d_q (survey, eq. 69): mean over samples of |q_k - q_sim,k| / |q_k|; None without a loop or without a reference in the log.

    Samples near q = 0 do not count, see `validation.survey`.  The loop runs without noise along the log's own
    reference, its velocity a difference of positions unless it is stated otherwise, as on the robot; an unstable simulation gives
    infinity.

    Args:
        description: with the loop.
        parameters: to simulate with.
        log: with position and reference.
        gains: name -> (n,), those of the loop that were estimated or re-tuned.
    """
    if description.loop is None or "qr" not in log.signals:
        return None
    use = ~log.mask & np.isfinite(log.need("qr")).all(axis=1) & np.isfinite(log.need("q")).all(axis=1)
    t, qr, q = log.running[use], log.need("qr")[use], log.need("q")[use]
    if len(t) < 4:
        return None
    loop = ControlLoop.of(description)
    reference = Experiment(description, loop, parameters).reference(Sampled(t - t[0], qr, interpolation="quintic"))
    steps = np.clip(np.rint((t - t[0]) * loop.rate).astype(np.int64), 0, len(reference["q"]) - 1)
    track = Track.between(reference, loop.dt, steps, start=(q[0], reference["dq"][0]))
    run = LoopRun(loop, Engine(parameters.layout), parameters.shapes).simulate(parameters.values, track, gains)
    if not run.stable.all():
        return float("inf")
    error = mean_ratio(q, track.sampled(run.q)[0])
    return None if np.isnan(error) else error
