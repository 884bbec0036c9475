"""The robot without its controller: the measured torque drives the model over short horizons, each begun at the measured state."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from inertica.dynamics.laws import Law, TorqueDriven
from inertica.errors import InputError
from inertica.estimators.closed_loop.loop_simulation import LoopSimulator
from inertica.experiment.loop import ControlLoop
from inertica.experiment.track import Track
from inertica.preprocessing.resample import interpolant


class OpenLoop(ControlLoop):
    """No controller at all: a given torque drives the robot."""

    def __post_init__(self) -> None:
        """There are no gains to check."""

    @property
    def compiled_law(self) -> Law:
        return TorqueDriven()


class OpenLoopSimulator(LoopSimulator):
    """Like `LoopSimulator`, driven by the measured torque.

    Args:
        closed: simulator of the problem's loop.
        horizon: s after which the simulation starts anew from the measured state.
    """

    def __init__(self, closed: LoopSimulator, horizon: float) -> None:
        if not horizon > 0.0:
            raise InputError(f"the horizon should be greater than zero, not {horizon:g} s")
        self.problem, self.tracks, self.horizon = closed.problem, closed.tracks, horizon
        self.run = replace(closed.run, loop=OpenLoop("none", closed.loop.rate, difference_velocity=False))

    def stretches(self, k: int) -> list[Track]:
        """One for every horizon."""
        motion = self.problem.motions[k]
        each, samples = max(1, round(self.loop.rate * motion.dt)), max(2, round(self.horizon / motion.dt))
        dt, torque = motion.dt / each, interpolant(motion.t, motion.tau, "linear")  # `each` steps of integration per sample
        out = []
        for first in range(0, len(motion), samples):
            count = min(samples, len(motion) - first)
            at = motion.t[first] + dt * np.arange((count - 1) * each + 1)
            driven, start = {"tau": torque(np.minimum(at, motion.t[-1]))}, (motion.q[first], motion.dq[first])
            out.append(Track.between(driven, dt, each * np.arange(count), start=start))
        return out
