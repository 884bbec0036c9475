"""Samples near a reversal, where the filtered motion and the recorded torque disagree about the moment friction changes its sign.

At a reversal the acceleration jumps by 2 Fc / I.  The position filter smooths that jump but neither torque nor the sign of the
velocity, so that rows within a fraction of the filter's period of it belong to no one instant.  Fits leave them out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from inertica.preprocessing.decimate import widened
from inertica.preprocessing.motion import Motion

Reversals = Sequence[tuple[int, Mapping[int, float]]]


def near_reversal(motion: Motion, others: Reversals = ()) -> NDArray[np.bool_]:
    """(N, n) samples within the recipe's `reversal` of a change of sign of the velocity, or of rest, joint by joint.

    Args:
        motion: with the recipe that says how near; none at all when it says nothing.
        others: (joint, {joint: factor}) further sums of velocities at whose change of sign the torque on a joint jumps.
    """
    reach = motion.recipe.reversal
    if reach is None:
        return np.zeros(motion.dq.shape, bool)
    rates = [(j, motion.dq[:, j]) for j in range(motion.n)]
    rates += [(j, sum((c * motion.dq[:, k] for k, c in row.items()), np.zeros(len(motion)))) for j, row in others]
    near = np.array(motion.resting.T)
    for j, rate in rates:
        way = np.sign(rate)
        turning = way[1:] != way[:-1]
        near[j, :-1] |= turning
        near[j, 1:] |= turning
    samples = int(np.ceil(reach / motion.dt))
    return np.column_stack([widened(x, samples) for x in near])
