"""What the report draws: measured and predicted torque of every log, residuals as fits see them, friction laws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inertica.arrays import Array
from inertica.preprocessing.motion import Motion
from inertica.report.figures import thinned
from inertica.workflow.identify.prediction import friction_only, predicted_torque
from inertica.workflow.identify.replay import is_simulated
from inertica.workflow.identify.result import Motions, Result

POSES = 40
"""Of a log, at which friction that depends on the load is worked out."""


@dataclass(frozen=True, eq=False)
class Record:
    """One log and what the model makes of it.

    Args:
        name: of the data set it belongs to.
        source: the file.
        motion: the log prepared.
        predicted: (N, n) torque on the motion's clock.
        smooth, smooth_predicted: (N, n) measured and predicted torque after the decimation filter.
        q, dq, residual, friction: (M, n) decimated, samples that fits use only; friction is the model's own share.
    """

    name: str
    source: str
    motion: Motion
    predicted: Array
    smooth: Array
    smooth_predicted: Array
    q: Array
    dq: Array
    residual: Array
    friction: Array

    @property
    def simulated(self) -> bool:
        """Whether no position was recorded, so that the motion is a simulated one."""
        return is_simulated(self.motion)

    @property
    def step(self) -> float:
        """Seconds between decimated samples."""
        return self.motion.dt * self.motion.decimator.ratio


def records(result: Result, motions: Motions) -> list[Record]:
    """Every log of every data set."""
    return [record(result, name, motion) for name, several in motions.items() for motion in several]


def record(result: Result, name: str, motion: Motion) -> Record:
    engine = result.estimate.base.engine
    predicted = predicted_torque(result.predictor, motion, result.predictor_engine, result.standstill)
    friction = predicted_torque(friction_only(result.parameters), motion, engine, result.standstill)
    n, d = motion.n, motion.decimator
    smooth = np.hstack([np.where(motion.unmeasured, 0.0, motion.tau_low), d.filtered(predicted)])
    rows = d.kept(len(motion))
    use = ~d.mask(motion.mask, motion.spoiled)
    slow_friction = d.decimate(friction)[use]
    # a joint whose torque was not recorded has no residual; figures need numbers
    error = np.where(motion.unmeasured, 0.0, smooth[:, :n] - smooth[:, n:])[rows][use]
    return Record(
        name, str(motion.log.origin), motion, predicted, smooth[:, :n], smooth[:, n:],
        motion.q[rows][use], motion.dq[rows][use], error, slow_friction,
    )  # fmt: skip


@dataclass(frozen=True)
class FrictionCurves:
    """Friction torque of every joint over its velocity.

    Args:
        dq: (K, n) velocities, dense around zero.
        low, high: (K, n) least and largest torque over the poses of the log; the same where friction does not depend on the load.
    """

    dq: Array
    low: Array
    high: Array

    @property
    def law(self) -> Array:
        """(K, n) between both."""
        return 0.5 * (self.low + self.high)

    def varies(self, j: int) -> bool:
        """Whether the friction of a joint depends on the pose."""
        return bool((self.high[:, j] - self.low[:, j]).max() > 1e-6 * np.abs(self.high[:, j]).max())


def friction_curves(result: Result, reach: Array, q: Array) -> FrictionCurves:
    """Friction up to the velocities `reach`, at poses (M, n) of a log: what rests on a joint may count."""
    share = np.linspace(-1.0, 1.0, 240) ** 3
    dq = share[:, None] * reach
    only, engine = friction_only(result.parameters), result.estimate.base.engine

    def friction(q: Array, dq: Array, ddq: Array) -> Array:
        return np.asarray(engine.inverse_dynamics(q, dq, ddq, only))

    def at(pose: Array) -> Array:
        return result.standstill.torque(friction, np.broadcast_to(pose, dq.shape).copy(), dq, dq, np.zeros_like(dq))

    torques = np.array([at(pose) for pose in q[thinned(len(q), POSES)]])
    return FrictionCurves(dq, torques.min(axis=0), torques.max(axis=0))
