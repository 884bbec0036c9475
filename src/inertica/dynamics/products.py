"""Products of the rows of two motions, joint by joint: Z'Z, Z'W and Z'y, all that instrumental variables need of them.

Rows pass by chunk by chunk while they are in the cache, and are never stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from inertica.dynamics.kernels import Array, SampleFunction
from inertica.dynamics.model import Model
from inertica.dynamics.sums import Motion, Pair
from inertica.threads import one_thread


class Instruments:
    """Products of rows of pairs of motions.

    Args:
        model: the robot.
        kernel: of its regressor, the entries that are not zero by structure.
        entries: of every joint, those of its columns.
        shapes: values of the nonlinear parameters.
    """

    def __init__(self, model: Model, kernel: SampleFunction, entries: Sequence[NDArray[np.intp]], shapes: Array) -> None:
        self.model, self.kernel, self.entries, self.shapes = model, kernel, entries, shapes
        if hasattr(kernel, "crossed"):
            self.many = self._many

    def __call__(self, pair: Pair) -> list[Array]:
        """(k, 2 k + 1) of every joint: [Z'Z, Z'W, Z'y]."""
        out = [np.zeros((len(e), 2 * len(e) + 1)) for e in self.entries]
        with one_thread():
            for (part, z), (_, w) in zip(self._chunks(pair.simulated), self._chunks(pair.measured), strict=True):
                weights, tau = pair.weights[part].T, pair.tau[part].T
                for j, (own, total) in enumerate(zip(self.entries, out, strict=True)):
                    k = len(own)
                    Z = z[own]
                    right = np.empty((2 * k + 1, Z.shape[1]))
                    right[:k], right[k : 2 * k], right[2 * k] = Z, w[own], tau[j]
                    Z *= weights[j]
                    total += Z @ right.T
        return out

    def _many(self, given: Sequence[tuple[Pair]]) -> list[list[Array]]:
        """Of many pairs, where the kernel's target takes them at once."""
        pairs = [pair for (pair,) in given]
        found: list[list[Array]] = self.kernel.crossed(pairs, self.entries, self.shapes)  # type: ignore[attr-defined]
        return found

    def _chunks(self, motion: Motion) -> Iterator[tuple[slice, Array]]:
        given = self.model.motion(q=motion[0], dq=motion[1], ddq=motion[2])
        return self.kernel.chunks({**given, "shapes": self.shapes})
