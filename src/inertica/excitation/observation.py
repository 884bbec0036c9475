"""The observation matrix of candidate motions, and how a criterion on it pulls on positions, velocities and accelerations.

A criterion C(W) with G = dC/dW gives dC/dq = sum over joints i and columns k of G[i, k] dY[i, k]/dq.  For one joint i that is the
derivative of the torque tau_i = Y[i, :] chi with chi = G[i, :], so the engine's torque derivatives are all that is needed.  Sharp
signs of friction count as constant: their jumps are met by exact evaluation, not by gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from inertica.dynamics.engine import Engine
from inertica.dynamics.resident import MemorySpace
from inertica.dynamics.triangle import stacked_factor
from inertica.errors import InputError
from inertica.excitation.trajectory import Array, Samples


@dataclass(frozen=True, eq=False)
class Observation:
    """Rows of the regressor in chosen columns, on batches of motions.

    Args:
        engine: the robot.
        columns: parameters (indices into the layout) whose columns form W: kept ones for base parameters.
        weights: per joint factor on the rows, for instance 1/sigma of the torque noise; all one when not given.
        scale: factor on all rows, for instance sqrt(samples per grid point).
        earlier: (k, columns) rows known from earlier logs, stacked below W; see `stacked_factors`.
    """

    engine: Engine
    columns: tuple[int, ...]
    weights: tuple[float, ...] | None = None
    scale: float = 1.0
    earlier: Array | None = None
    _buffer: dict[int, Array] = field(default_factory=dict, repr=False)

    @cached_property
    def _rows(self) -> Array:
        w = np.ones(self.engine.n) if self.weights is None else np.asarray(self.weights, float)
        if w.shape != (self.engine.n,) or not np.all(w > 0.0):
            raise InputError(f"weights should be {self.engine.n} positive numbers, one per joint")
        return self.scale * w

    @cached_property
    def _entries(self) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        """Which of the engine's entries are wanted, their joints and their columns of W."""
        place = {c: i for i, c in enumerate(self.columns)}
        entries = [(e, i, place[k]) for e, (i, k) in enumerate(self.engine.entries) if k in place]
        which, joints, columns = (np.array(x, np.intp) for x in zip(*entries, strict=True))
        return which, joints, columns

    def matrix(self, motion: Samples) -> Array:
        """(M, n, columns) of M states; the array is reused by the next call with as many states."""
        which, joints, columns = self._entries
        values = self.engine.regressor_entries(*motion)
        W = self._buffer.get(len(values))
        if W is None:
            self._buffer.clear()
            W = self._buffer[len(values)] = np.zeros((len(values), self.engine.n, len(self.columns)))
        W[:, joints, columns] = values[:, which] * self._rows[joints]
        return W

    def stacked(self, motion: Samples) -> Array:
        """(rows, columns): W of one motion above the rows already given; a new array."""
        W = self.matrix(motion).reshape(-1, len(self.columns))
        return W.copy() if self.earlier is None else np.vstack([W, self.earlier])

    def grams(self, motion: Samples, candidates: int) -> Array:
        """(B, columns, columns): W'W of B motions of equal length that follow each other, the given rows included."""
        memory = self.engine.target.memory
        if memory is None:
            W = self.matrix(motion).reshape(candidates, -1, len(self.columns))
            grams = np.matmul(W.transpose(0, 2, 1), W)
        else:
            grams = self._grams_there(motion, candidates, MemorySpace(memory))
        if self.earlier is not None:
            # information of earlier logs adds up with that of the new motion
            grams += self.earlier.T @ self.earlier
        return grams

    def _grams_there(self, motion: Samples, candidates: int, place: MemorySpace) -> Array:
        """Where the target computes; rows stay there."""
        which, joints, columns = self._entries
        device_motion = [place.resident(place.to_device(np.ascontiguousarray(x))) for x in motion]
        xp, size = place.xp, len(self.columns)
        parts = [place.to_device(chunk)[place.to_device(which)] for _, chunk in self.engine.regressor_chunks(*device_motion)]
        values = xp.concatenate(parts, axis=1) * place.to_device(self._rows[joints])[:, None]
        W = xp.zeros((values.shape[1], self.engine.n * size))
        W[:, place.to_device(joints * size + columns)] = values.T
        W = W.reshape(candidates, -1, size)
        return place.to_host(xp.matmul(W.transpose(0, 2, 1), W))

    def gradient(self, motion: Samples, G: Array) -> Samples:
        """Gradients with respect to q, dq, ddq (M, n) of a criterion whose gradient with respect to W is G (M, n, columns)."""
        M, n, _ = G.shape
        chi = np.zeros((M, n, self.engine.layout.size))
        # d(sum G.W) = d(torque) with the weights G in the place of the parameters: one pass of torque derivatives
        chi[:, :, list(self.columns)] = G * self._rows[:, None]
        q, dq, ddq = (np.repeat(x, n, axis=0) for x in motion)
        derivatives = self.engine.torque_derivatives(q, dq, ddq, chi.reshape(M * n, -1))
        joints = np.arange(n)
        return Samples(*(d.reshape(M, n, n, n)[:, joints, joints].sum(axis=1) for d in derivatives))


def stacked_factors(factors: Sequence[Array], columns: int) -> Array | None:
    """R factors of earlier logs as one: R with R'R the sum of their information."""
    for R in factors:
        if np.ndim(R) != 2 or np.shape(R)[1] != columns:
            raise InputError(f"a given factor has shape {np.shape(R)}; expected {columns} columns, the base parameters")
    return stacked_factor(*factors) if factors else None
