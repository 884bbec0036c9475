"""What dry friction leaves open when a joint reverses: at which instant of a step of integration it did.

Friction jumps by 2 Fc at a reversal, and an integrator that finds it a step late errs by the jump of the acceleration times the
step.  With precise encoders that is far more than what the noise of the torque does in a sample, and a filter that does not
know of it takes it for wrong parameters, at every reversal and all the time while a joint rests.  A filter driven by measured
torques errs longer than a step: their noise decides which way a joint that all but rests is thought to go, until positions tell.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inertica.arrays import Array
from inertica.estimators.base import Problem
from inertica.estimators.recursive.records import Record
from inertica.robot.loops import require_tree

POSES = 20
"""At which the jump is looked at."""

SHARE = 0.01
"""Of a joint's velocity, at which friction is taken on both sides."""


DOUBT = 0.003
"""s for which a measured torque leaves open which way a joint goes that all but rests."""


def reversal_jumps(problem: Problem, records: Sequence[Record], beta: Array, doubt: float = DOUBT) -> Array:
    """(n, n) by how much a step of integration changes velocities more or less at a reversal, a column for each joint that reverses.

    Joints are coupled: where a heavy joint reverses, a light one behind it is thrown more than the heavy one.  Medians over poses.

    Args:
        problem: motions and model.
        records: of the filter, which tell its steps.
        beta: parameters.
        doubt: s for which it is open which way a joint goes; at least a step of integration.
    """
    chi, shapes = problem.fixed_values.copy(), None if problem.prior is None else problem.prior.shapes
    n = problem.base.layout.robot.n
    chi[problem.base.retained] = beta
    require_tree(problem.base.layout.robot, "a filter of positions")
    jumps = []
    for motion, record in zip(problem.motions, records, strict=True):
        step = float(record.t[1] - record.t[0]) / max(1, int(record.steps[1] - record.steps[0]))
        step = max(step, doubt)
        rows = np.linspace(0, len(motion) - 1, POSES).astype(int)
        small = SHARE * np.sqrt(np.mean(motion.dq**2, axis=0))
        q, still = motion.q[rows], np.zeros((len(rows), n))
        # accelerations by torques at rest: a jump of one joint's friction moves all of them
        ease = np.linalg.inv(problem.engine.mass_matrix(q, chi, shapes))
        one, other = (problem.engine.inverse_dynamics(q, still + v, still, chi, shapes) for v in (small, -small))
        jumps.append(step * np.median(np.abs(ease * (one - other)[:, None, :]), axis=0))
    return np.asarray(np.max(jumps, axis=0))
