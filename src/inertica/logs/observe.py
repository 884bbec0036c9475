"""R factors of a motion: what least squares needs, of decimated or undecimated columns, masks applied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from inertica.dynamics.engine import Engine
from inertica.dynamics.tsqr import Factors, JointFactor
from inertica.errors import InputError
from inertica.logs.motion import Motion

Array = NDArray[np.float64]


def factors(
    engine: Engine,
    motion: Motion,
    columns: Sequence[int] | None = None,
    *,
    shapes: ArrayLike | None = None,
    resting: bool = False,
) -> Factors:
    """R factors per joint of the observation matrix and torque of a motion, decimated when the motion says so.

    Args:
        engine: the robot.
        motion: with its masks and its decimator.
        columns: parameters (indices into the layout); all that have an effect by default.
        shapes: values of nonlinear parameters.
        resting: leave out, joint by joint, samples at which that joint rests.
    """
    if motion.n != engine.n:
        raise InputError(f"the motion has {motion.n} joints, {engine.layout.robot.name} has {engine.n}")
    if motion.decimator.ratio > 1:
        return decimated_factors(engine, motion, columns, shapes=shapes, resting=resting)
    weights = motion.weights(resting=resting)
    return engine.factors(motion.q, motion.dq, motion.ddq, motion.tau, columns, shapes=shapes, weights=weights)


def decimated_factors(
    engine: Engine,
    motion: Motion,
    columns: Sequence[int] | None = None,
    *,
    shapes: ArrayLike | None = None,
    resting: bool = False,
) -> Factors:
    """The same with every column and the torque low-passed and thinned out together; one joint's columns in memory at a time."""
    mask = decimated_mask(motion)
    joints, most = [], 0
    with threadpool_limits(1):
        for joint, chosen, W, y in joint_rows(engine, motion, columns, shapes):
            use = ~mask
            if resting:
                use = use & ~motion.resting[motion.decimator.kept(len(motion)), joint]
            R = np.asarray(np.linalg.qr(np.column_stack([W[use], y[use]]), mode="r"))
            k = len(chosen)
            square = np.zeros((k + 1, k + 1))
            square[: len(R)] = R
            joints.append(JointFactor(chosen, square[:k, :k], square[:k, k], abs(float(square[k, k]))))
            most = max(most, int(np.count_nonzero(use)))
    return Factors(tuple(joints), engine.layout.size, most)


def decimated_mask(motion: Motion) -> NDArray[np.bool_]:
    """(M,) samples not to be used, on the decimated clock."""
    return motion.decimator.mask(motion.mask, motion.spoiled)


def joint_rows(
    engine: Engine, motion: Motion, columns: Sequence[int] | None = None, shapes: ArrayLike | None = None
) -> Iterator[tuple[int, tuple[int, ...], Array, Array]]:
    """Joint by joint: its number, the parameters it feels, its decimated rows (M, k) and torque (M,), masked samples included.

    The regressor is computed anew for each joint, which is cheap; its columns at the full rate are not kept, which they would
    not fit for long logs.
    """
    wanted = set(range(engine.layout.size) if columns is None else columns)
    for joint in range(engine.n):
        entries = [(e, k) for e, (i, k) in enumerate(engine.entries) if i == joint and k in wanted]
        which = [e for e, _ in entries]
        parts = []
        for piece, remaining in motion.decimator.pieces(len(motion)):
            q, dq, ddq, tau = (x[piece] for x in (motion.q, motion.dq, motion.ddq, motion.tau))
            W = np.empty((len(q), len(entries) + 1))
            for where, values in engine.regressor_chunks(q, dq, ddq, shapes):
                W[where, :-1] = values[which].T
            W[:, -1] = tau[:, joint]
            parts.append(motion.decimator.decimate(W, remaining))
        rows = np.concatenate(parts)
        yield joint, tuple(k for _, k in entries), rows[:, :-1], rows[:, -1]
