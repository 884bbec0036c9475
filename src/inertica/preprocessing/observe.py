"""Rows of a motion: what least squares needs, of decimated or undecimated columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.dynamics.engine import Engine
from inertica.preprocessing.motion import Motion

Array = NDArray[np.float64]


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
