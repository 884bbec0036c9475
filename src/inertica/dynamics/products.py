"""Products of the rows of two motions, joint by joint: Z'Z, Z'W and Z'y, all that instrumental variables need of them.

Rows pass by chunk by chunk while they are in the cache, and are never stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inertica.dynamics.kernels import Array, SampleFunction
from inertica.dynamics.model import Model
from inertica.dynamics.resident import MemorySpace
from inertica.threads import one_thread

Motion = tuple[Array, Array, Array]


@dataclass(frozen=True, eq=False)
class MotionPair:
    """Two motions of the same samples.

    Args:
        measured: (q, dq, ddq) of W, (N, n) each.
        simulated: of Z.
        tau: (N, n) y.
        weights: (N, n) 0 leaves a row out, 1 takes it.
    """

    measured: Motion
    simulated: Motion
    tau: Array
    weights: Array


class InstrumentProducts:
    """Products of rows of pairs of motions.

    Args:
        model: the robot.
        kernel: of its regressor, the entries that are not zero by structure.
        entries: of every joint, those of its columns.
        shapes: values of the nonlinear parameters.
    """

    def __init__(self, model: Model, kernel: SampleFunction, entries: Sequence[NDArray[np.intp]], shapes: Array) -> None:
        self.model, self.kernel, self.entries, self.shapes = model, kernel, entries, shapes

    def __call__(self, pair: MotionPair) -> list[Array]:
        """(k, 2 k + 1) of every joint: [Z'Z, Z'W, Z'y]; computed on the device that holds the simulated motion."""
        place = MemorySpace.of(*pair.simulated)
        return place.in_library_thread(lambda: self._products(pair, place))

    def _products(self, pair: MotionPair, place: MemorySpace) -> list[Array]:
        xp, measured = place.xp, tuple(place.resident(place.to_device(x)) for x in pair.measured)
        out = [xp.zeros((len(e), 2 * len(e) + 1)) for e in self.entries]
        entries = [place.to_device(e) for e in self.entries]
        with one_thread():
            for (part, z), (_, w) in zip(self._chunks(pair.simulated), self._chunks(measured), strict=True):
                weights, tau = (place.to_device(x[part]).T for x in (pair.weights, pair.tau))
                simulated_entries, measured_entries = place.to_device(z), place.to_device(w)
                for j, (columns, total) in enumerate(zip(entries, out, strict=True)):
                    k = len(columns)
                    Z = simulated_entries[columns]
                    right = xp.empty((2 * k + 1, Z.shape[1]))
                    right[:k], right[k : 2 * k], right[2 * k] = Z, measured_entries[columns], tau[j]
                    # weights are 0 or 1, so that weighting one side weighs the product
                    Z *= weights[j]
                    total += Z @ right.T
        return [place.to_host(total) for total in out]

    def _chunks(self, motion: Motion) -> Iterator[tuple[slice, Array]]:
        signals = self.model.motion(q=motion[0], dq=motion[1], ddq=motion[2])
        return self.kernel.chunks({**signals, "shapes": self.shapes})
