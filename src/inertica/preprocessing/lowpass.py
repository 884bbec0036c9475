"""Recursive low-pass filters: Butterworth and Chebyshev designs, and zero-phase runs over many columns.

The same filters as `scipy.signal`'s butter, cheby1 and sosfiltfilt; importing that package would take longer than identifying a
robot, and eight columns at a time run several times faster.
"""

from __future__ import annotations

import os
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.dynamics.llvm.parallel import for_all
from inertica.dynamics.resident import DeviceMemory
from inertica.dynamics.sections import COLUMNS, coefficients, run_sections, scan_of
from inertica.errors import InputError

FORGOTTEN = 1e-13
"""What is left of the start of a run when it counts as forgotten; rounding errors of steep filters are as large."""

LONG = 5000
"""Samples of a record from which on threads take its columns."""


@dataclass(frozen=True, eq=False)
class LowPass:
    """A digital low-pass with all zeros at half the sampling rate.

    Args:
        poles: (order,) in the z plane.
        gain: factor in front of (z + 1)^order / prod(z - pole).
    """

    poles: NDArray[np.complex128]
    gain: float

    @property
    def order(self) -> int:
        return len(self.poles)

    @property
    def memory(self) -> int:
        """Samples after which a run has forgotten how it began, to the digits that rounding leaves."""
        return int(np.ceil(np.log(FORGOTTEN) / np.log(np.abs(self.poles).max())))

    @property
    def polynomials(self) -> tuple[Array, Array]:
        """Numerator and denominator, highest power first."""
        numerator = self.gain * np.poly(-np.ones(self.order))
        return np.asarray(numerator, float), np.real(np.poly(self.poles)).astype(float)

    @property
    def sections(self) -> Array:
        """(S, 6) second-order sections b0 b1 b2 1 a1 a2, sharpest resonance last."""
        upper = self.poles[self.poles.imag > 1e-12]
        upper = upper[np.argsort(np.abs(upper))]
        real = self.poles[np.abs(self.poles.imag) <= 1e-12].real
        first = [[1.0, 1.0, 0.0, 1.0, -float(p), 0.0] for p in real]
        sos = np.array([*first, *([1.0, 2.0, 1.0, 1.0, -2.0 * p.real, abs(p) ** 2] for p in upper)])
        sos[0, :3] *= self.gain
        return sos


def butterworth(order: int, edge: float) -> LowPass:
    """Maximally flat; `edge` is where 3 dB are lost, in parts of half the sampling rate."""
    return _digital(-np.exp(1j * _angles(order)), 1.0, edge)


def chebyshev(order: int, ripple: float, edge: float) -> LowPass:
    """Chebyshev of the first kind with `ripple` dB in the pass band, which ends at `edge` in parts of half the sampling rate."""
    epsilon = np.sqrt(10.0 ** (0.1 * ripple) - 1.0)
    poles = -np.sinh(np.arcsinh(1.0 / epsilon) / order + 1j * _angles(order))
    gain = float(np.prod(-poles).real)
    return _digital(poles, gain if order % 2 else gain / np.sqrt(1.0 + epsilon**2), edge)


def filtered(design: LowPass, pad: int, values: Array) -> Array:
    """(N, k) run forward and backward.

    Both ends are continued by point reflection over `pad` samples, and the filter starts as if the first value had always been there.
    """
    columns = Columns(len(values), values.shape[1], pad)
    columns.put(slice(0, len(values)), values.T)
    return columns.filtered(design)


class Columns:
    """Columns of a record as the filter runs over them, in groups side by side, for those who write them chunk by chunk.

    Args:
        samples, count: of the record, and of its columns.
        pad: samples by which it is continued at both ends.
    """

    def __init__(self, samples: int, count: int, pad: int) -> None:
        self.samples, self.count, self.pad = samples, count, pad
        self.groups = np.zeros((-(-count // COLUMNS), samples + 2 * pad, COLUMNS))

    def shortened(self, samples: int) -> Columns:
        """The same memory for a record of fewer samples."""
        other = copy(self)
        other.samples, other.groups = samples, self.groups[:, : samples + 2 * self.pad]
        return other

    def put(self, where: slice, values: Array) -> None:
        """Values (count, m) of some samples."""
        m, full = values.shape[1], self.count // COLUMNS
        place = self.groups[:, self.pad + where.start : self.pad + where.start + m]
        place[:full] = values[: full * COLUMNS].reshape(full, COLUMNS, m).transpose(0, 2, 1)
        for rows in place[full:]:
            rows[:, : self.count - full * COLUMNS] = values[full * COLUMNS :].T

    def filtered(self, design: LowPass, remaining: NDArray[np.intp] | slice = slice(None)) -> Array:
        """(M, count) filtered values at the samples that remain; what was put there is lost."""
        sos, pad = design.sections, self.pad
        settled, out = _settled(sos)[:, :, None], np.empty((len(np.arange(self.samples)[remaining]), self.count))

        def run(g: int) -> None:
            rows, where = self.groups[g], slice(g * COLUMNS, (g + 1) * COLUMNS)
            inside = rows[pad : pad + self.samples]
            rows[:pad] = 2.0 * inside[0] - inside[1 : pad + 1][::-1]
            rows[pad + self.samples :] = 2.0 * inside[-1] - inside[::-1][1 : pad + 1]
            run_sections(sos, rows, settled * rows[0])
            run_sections(sos, rows, settled * rows[-1], backward=True)
            out[:, where] = inside[remaining, : out[:, where].shape[1]]

        for_all(range(len(self.groups)), run, 1 if self.samples < LONG else os.cpu_count() or 1)
        return out


def filtered_on_device(design: LowPass, pad: int, values: Any, memory: DeviceMemory) -> Any:
    """`filtered` for values (N, k) that lie elsewhere, by an array there."""
    xp, sos = memory.arrays, design.sections
    rows = xp.concatenate([2.0 * values[:1] - values[pad:0:-1], values, 2.0 * values[-1:] - values[-2 : -pad - 2 : -1]])
    settled, recursion = xp.asarray(_settled(sos).reshape(-1, 1)), scan_of(memory, len(sos))
    for backward in (False, True):
        recursion(rows, settled * rows[-1 if backward else 0], coefficients(sos), backward)
    return rows[pad : pad + len(values)]


def _angles(order: int) -> Array:
    return np.asarray(np.pi * np.arange(1 - order, order, 2) / (2 * order))


def _digital(poles: NDArray[np.complex128], gain: float, edge: float) -> LowPass:
    """Bilinear transformation of an analogue low-pass with pass band 1, prewarped."""
    if not 0.0 < edge < 1.0:
        raise InputError(f"the edge of a digital filter lies between 0 and half the sampling rate, not at {edge:g} times that")
    warped = 4.0 * np.tan(0.5 * np.pi * edge)
    p = warped * poles
    return LowPass((4.0 + p) / (4.0 - p), float(gain * warped ** len(p) * np.real(1.0 / np.prod(4.0 - p))))


def _settled(sos: Array) -> Array:
    """(S, 2) states of the sections after an endless input of 1."""
    out, level = np.empty((len(sos), 2)), 1.0
    for s, (b0, b1, b2, _, a1, a2) in enumerate(sos):
        gain = (b0 + b1 + b2) / (1.0 + a1 + a2)
        z1 = b2 - a2 * gain
        out[s] = level * (b1 - a1 * gain + z1), level * z1
        level *= gain
    return out
