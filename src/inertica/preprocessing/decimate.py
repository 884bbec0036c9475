"""Parallel decimation: torque and every regressor column low-passed and thinned out together.

As MATLAB's `decimate`, which the papers use (survey, section 8.3; DIDIM paper, section II): Chebyshev filter of the first kind, order
8, ripple 0.05 dB, cut-off 0.8 / n_d of half the rate, forward and backward, then one sample in n_d.  The model is linear in its
parameters, so tau = W beta holds after the operation as it did before.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.dynamics.llvm.parallel import in_order
from inertica.dynamics.resident import DeviceMemory
from inertica.errors import InputError
from inertica.preprocessing.lowpass import Columns, LowPass, chebyshev, filtered, filtered_on_device

ORDER, RIPPLE, EDGE = 8, 0.05, 0.8
INACCURATE = 1e-6
"""dB by which the gain at the cut-off may miss the ripple, MATLAB's criterion for a design that has lost its digits."""

_SPOILED = "columns to decimate have values that are not finite, which would spread over all samples"

Piece = tuple[int, Iterable[tuple[slice, Array]], NDArray[np.intp]]

PIECE = 1 << 16
"""Samples of a long record whose columns are built and decimated at a time, or as many as the filter remembers."""


def decimation_ratio(rate: float, frequency: float, rounding: Literal["round", "floor"] = "round") -> int:
    """n_d = round(0.8 (rate / 2) / frequency); the survey prints floor, its toolbox rounds (half away from zero).

    Args:
        rate: sampling rate in Hz.
        frequency: what the papers call the decimation frequency, about the bandwidth that remains, in Hz.
        rounding: round or floor.
    """
    if not (frequency > 0.0 and rate > 0.0):
        raise InputError(f"the decimation frequency should be greater than zero, not {frequency:g} Hz")
    exact = EDGE * (rate / 2.0) / frequency
    ratio = int(np.floor(exact + (0.5 if rounding == "round" else 0.0)))
    if ratio < 1:
        raise InputError(
            f"a record sampled at {rate:.4g} Hz cannot be decimated to {frequency:g} Hz, the ratio would be 0; "
            f"choose a frequency of {EDGE * rate:.4g} Hz or less, or no decimation"
        )
    return ratio


@dataclass(frozen=True)
class Decimator:
    """Low-pass and keep one sample in `ratio`; ratio 1 passes everything through untouched.

    Args:
        ratio: n_d.
        keep: `last`: the last sample of the record is kept, as MATLAB does; `first`: the first one, as SciPy does.
        order: of one pass; lowered when the design is inaccurate, see `design`.
        ripple: in the pass band, dB.
        cuts: samples at which a new stretch of the record begins, behind a break of the clock: nothing is carried across.
    """

    ratio: int = 1
    keep: Literal["last", "first"] = "last"
    order: int = ORDER
    ripple: float = RIPPLE
    cuts: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.ratio < 1:
            raise InputError(f"the decimation ratio should be 1 or more, not {self.ratio}")
        if self.keep not in ("last", "first"):
            raise InputError(f"decimation keeps the 'last' or the 'first' sample, not '{self.keep}'")

    @classmethod
    def to(cls, rate: float, frequency: float, keep: Literal["last", "first"] = "last") -> Decimator:
        """For a record sampled at `rate`, down to a bandwidth of about `frequency`; both in Hz."""
        return cls(decimation_ratio(rate, frequency), keep)

    @cached_property
    def design(self) -> LowPass:
        """One pass of the filter, with the order in use.

        MATLAB lowers the order until the gain at the cut-off is right in the polynomial form; sections would stay accurate, but
        the same filter as the papers' is wanted.
        """
        edge, order = EDGE / self.ratio, self.order
        while order > 1 and _gain_error(order, self.ripple, edge) > INACCURATE:
            order -= 1
        return chebyshev(order, self.ripple, edge)

    def kept(self, samples: int) -> NDArray[np.intp]:
        """Which samples of a record remain."""
        first = (samples - 1) % self.ratio if self.keep == "last" else 0
        return np.arange(first, samples, self.ratio)

    @property
    def uncut(self) -> Decimator:
        """The same for other records."""
        return replace(self, cuts=()) if self.cuts else self

    def filtered(self, columns: Array) -> Array:
        """(N, k) low-passed at the full rate."""
        if self.ratio == 1:
            return np.asarray(columns, float)
        values = _finite(np.asarray(columns, float))
        parts = [
            filtered(self.design, self._pad(len(values[stretch])), values[stretch]) for stretch in self._stretches(len(values))
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _stretches(self, samples: int) -> list[slice]:
        """Parts of a record that are filtered each by itself; what is too short for that stays with the part before it."""
        least, starts = 3 * self.design.order if self.ratio > 1 else 0, [0]
        for cut in self.cuts:
            if cut - starts[-1] > least:
                starts.append(cut)
        if samples - starts[-1] <= least:
            starts = starts[:-1] or starts
        return [slice(a, b) for a, b in pairwise([*starts, samples])]

    def _kept_of_stretches(self, samples: int) -> list[tuple[slice, NDArray[np.intp]]]:
        """The same with the samples of each that remain, counted from where it begins."""
        rows = self.kept(samples)
        return [
            (stretch, rows[(rows >= stretch.start) & (rows < stretch.stop)] - stretch.start)
            for stretch in self._stretches(samples)
        ]

    def pieces(self, samples: int) -> Iterator[tuple[slice, NDArray[np.intp]]]:
        """Stretches of a long record to decimate one after the other: which samples, and which of those remain.

        Stretches overlap by what the filter remembers, so that together they give what the whole record would.
        """
        rows = self.kept(samples)
        halo = self.design.memory if self.ratio > 1 else 0
        size = max(PIECE, 2 * halo)
        for stretch in self._stretches(samples):
            edges = (
                range(stretch.start, stretch.stop, size) if stretch.stop - stretch.start > size + 2 * halo else (stretch.start,)
            )
            for start in edges:
                stop = min(start + size, stretch.stop) if len(edges) > 1 else stretch.stop
                first, last = max(stretch.start, start - halo), min(stretch.stop, stop + halo)
                inside = rows[(rows >= start) & (rows < stop)]
                if len(inside):
                    yield slice(first, last), inside - first

    def decimate(self, columns: Array, remaining: NDArray[np.intp] | None = None) -> Array:
        """(N, k) -> (M, k): every column low-passed and thinned out in the same way.

        Args:
            columns: of a record, or of one of its `pieces`.
            remaining: samples that remain of a piece.
        """
        values = np.asarray(columns, float)
        if values.ndim != 2:
            raise InputError(f"columns to decimate have the shape (N, k), not {values.shape}")
        if remaining is not None:
            return next(self.decimated(values.shape[1], [(len(values), [(slice(0, len(values)), values.T)], remaining)]))
        stretches = [(values[stretch].T, rows) for stretch, rows in self._kept_of_stretches(len(values))]
        pieces = [(x.shape[1], [(slice(0, x.shape[1]), x)], rows) for x, rows in stretches]
        parts = list(self.decimated(values.shape[1], pieces))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def decimate_on_device(self, values: Any, memory: DeviceMemory, remaining: NDArray[np.intp] | None = None) -> Any:
        """`decimate` for columns (N, k) that lie elsewhere, by an array there."""
        if remaining is None and len(parts := self._kept_of_stretches(len(values))) > 1:
            return memory.arrays.concatenate([self.decimate_on_device(values[stretch], memory, rows) for stretch, rows in parts])
        rows = self.kept(len(values)) if remaining is None else remaining
        low = filtered_on_device(self.design, self._pad(len(values)), values, memory) if self.ratio > 1 else values
        decimated = low[memory.arrays.asarray(rows)]
        if not bool(memory.arrays.isfinite(decimated).all()):
            raise InputError(_SPOILED)
        return decimated

    def decimated(self, count: int, pieces: Iterable[Piece]) -> Iterator[Array]:
        """(N, k) -> (M, k), piece by piece, of columns that come chunk by chunk, and are never there as such.

        Args:
            count: k.
            pieces: samples N, chunks (which samples, and the columns (k, m) there), and samples that remain.
        """
        buffers: dict[int, Columns] = {}

        def low_passed(piece: Piece, place: int) -> Array:
            samples, chunks, remaining = piece
            if place not in buffers or buffers[place].samples < samples:  # touching fresh memory takes as long as filtering
                buffers[place] = Columns(samples, count, self._pad(samples))
            buffer = buffers[place].shortened(samples)
            for where, values in chunks:
                buffer.put(where, values)
            return _finite(buffer.filtered(self.design, remaining))

        if self.ratio == 1:
            yield from (_as_they_are(count, *piece) for piece in pieces)
        else:
            yield from in_order(pieces, low_passed, os.cpu_count() or 1)

    def _pad(self, samples: int) -> int:
        """Samples by which MATLAB's filtfilt continues a record by point reflection."""
        pad = 3 * self.design.order
        if samples <= pad:
            raise InputError(f"decimation needs more than {pad} samples; this record has {samples}")
        return pad

    def mask(self, mask: NDArray[np.bool_], spoiled: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
        """(M,) masks of the decimated samples: their own, and those of wrong samples within two kept ones on either side.

        Args:
            mask: (N,) samples not to be used.
            spoiled: (N,) samples whose values are wrong, which the low-pass spreads.
        """
        out = np.array(mask, bool)
        if spoiled is not None and self.ratio > 1:
            out |= widened(spoiled, 2 * self.ratio)
        return out[self.kept(len(out))]

    def sentence(self, rate: float) -> str:
        if self.ratio == 1:
            return "no decimation"
        return (
            f"torque and regressor columns are decimated together by {self.ratio} to {rate / self.ratio:.4g} Hz (Chebyshev I of "
            f"order {self.design.order}, {self.ripple:g} dB, cut-off {EDGE * rate / 2.0 / self.ratio:.4g} Hz, forward and backward, "
            f"the {self.keep} sample kept)"
        )


def _as_they_are(count: int, samples: int, chunks: Iterable[tuple[slice, Array]], remaining: NDArray[np.intp]) -> Array:
    """(M, k) columns of a piece that is not low-passed, each in one piece of memory, as it came."""
    out = np.empty((count, samples))
    for where, values in chunks:
        out[:, where] = values
    return (out[:, remaining] if len(remaining) < samples else out).T


def widened(mask: NDArray[np.bool_], reach: int) -> NDArray[np.bool_]:
    """The mask with `reach` more samples on either side of every masked one."""
    count, N = np.zeros(len(mask) + 1, np.int32), len(mask)
    np.cumsum(mask, out=count[1:])
    until = np.full(N, count[-1])  # masked ones up to the last sample within reach
    until[: max(N - reach, 0)] = count[reach + 1 :]
    until[reach:] -= count[: max(N - reach, 0)]
    return np.asarray(until > 0)


def _finite(values: Array) -> Array:
    if not np.isfinite(values).all():
        raise InputError(_SPOILED)
    return values


def _gain_error(order: int, ripple: float, edge: float) -> float:
    """dB by which the polynomial form misses -ripple at the edge of its pass band."""
    b, a = chebyshev(order, ripple, edge).polynomials
    z = np.exp(-1j * np.pi * edge * np.arange(order + 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = 20.0 * np.log10(np.abs(b @ z / (a @ z)))
    return float(abs(gain + ripple)) if np.isfinite(gain) else np.inf
