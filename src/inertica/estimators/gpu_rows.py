"""Rows of motions that lie on a graphics card: built, decimated and reduced to R factors there.

Only what remains of them comes back: triangles, torques, and rows themselves when somebody looks at them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.dynamics.kernels import Target
from inertica.dynamics.resident import DeviceMemory, MemorySpace, Resident
from inertica.dynamics.triangle import column_factors
from inertica.preprocessing.motion import Motion

Known = Sequence[tuple[int, int, int]]
"""(joint, parameter, entry) of parameters whose values are fixed."""


def memory_of(motion: Motion, target: Target) -> DeviceMemory | None:
    """Where a motion is decimated: where it lies, or where the target computes; None for the processor, or without decimation."""
    if motion.decimator.ratio == 1 or motion.recipe.regressor != "torque":
        return None
    return MemorySpace.of(motion.q, motion.dq, motion.ddq).memory or target.memory


def resident(motion: Motion, memory: DeviceMemory) -> Motion:
    """The motion with its signals there."""
    place = MemorySpace(memory)
    signals = {name: place.resident(place.to_device(getattr(motion, name))) for name in ("q", "dq", "ddq")}
    return replace(motion, **signals)


def gpu_decimated(
    motion: Motion, chunks: Iterable[tuple[slice, Array]], entries: Sequence[Sequence[int]], tau: Array, known: Known,
    values: Array, remaining: NDArray[np.intp],
) -> tuple[tuple[Array, ...], Array]:  # fmt: skip
    """Rows of every joint (M, k), resident, and torques (M, n).

    Args:
        motion: that lies elsewhere.
        chunks: entries of its regressor (E, m) of some samples, in order.
        entries: of every joint.
        tau: (N, n) of the same samples, which is not written to.
        known: fixed parameters, whose share of the torque is taken off.
        values: (P,) of theirs.
        remaining: samples that decimation leaves.
    """
    place = MemorySpace.of(motion.q, motion.dq, motion.ddq)
    assert place.memory is not None
    xp, chosen, parts = place.xp, np.concatenate(entries).astype(np.intp), []
    for where, chunk in chunks:
        device_chunk, torque = place.to_device(chunk), place.to_device(np.array(tau[where])).T.copy()
        for joint, k, e in known:
            torque[joint] -= float(values[k]) * device_chunk[e]
        parts.append(xp.concatenate([device_chunk[place.to_device(chosen)], torque]))
    rows = motion.decimator.decimate_on_device(xp.concatenate(parts, axis=1).T, place.memory, remaining)
    ends = np.cumsum([len(joint_entries) for joint_entries in entries])
    W = tuple(
        Resident.signal(place.memory, rows[:, end - len(joint_entries) : end])
        for joint_entries, end in zip(entries, ends, strict=True)
    )
    return W, np.ascontiguousarray(place.to_host(rows[:, ends[-1] :]))


def gpu_factors(W: Sequence[Array], y: Array, weight: Array) -> list[Array]:
    """R factors (k + 1, k + 1) of [W y] of every joint, rows times their weight.

    Args:
        W: per joint (m, k), resident.
        y: (m, n).
        weight: (m, n).
    """
    place = MemorySpace.of(*W)
    right, scale = place.to_device(np.ascontiguousarray(y.T)), place.to_device(np.ascontiguousarray(weight.T))
    columns = [place.xp.concatenate([place.to_device(W_j).T, right[j : j + 1]]) * scale[j] for j, W_j in enumerate(W)]
    return [np.triu(R) for R in column_factors(place, columns)]


def gpu_products(Z: Array, W: Array, y: Array, use: NDArray[np.bool_]) -> Array:
    """[Z'Z, Z'W, Z'y] over the rows in use, Z resident."""
    place = MemorySpace.of(Z)
    instruments: Any = place.to_device(Z)
    right = place.xp.concatenate([instruments, place.to_device(W), place.to_device(np.ascontiguousarray(y))[:, None]], axis=1)
    left = (instruments * place.to_device(use.astype(float))[:, None]).T
    return place.in_library_thread(lambda: place.to_host(left @ right))
