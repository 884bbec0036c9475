"""Recursive filters as compiled steps: second-order sections run over eight columns at once.

Each section is the transposed direct form II,

    y = b0 x + z0,   z0' = b1 x - a1 y + z1,   z1' = b2 x - a2 y.
"""

from __future__ import annotations

from functools import cache
from weakref import WeakKeyDictionary

from inertica.dynamics.kernels import Array, Kernel, Reference, ScanFunction, Symbols, traced
from inertica.dynamics.resident import DeviceMemory
from inertica.dynamics.targets import target_for
from inertica.dynamics.trace import Symbol

_DEVICE_SCANS: WeakKeyDictionary[DeviceMemory, dict[int, ScanFunction]] = WeakKeyDictionary()

COLUMNS = 8
"""Columns that are filtered together."""


def run_sections(sos: Array, rows: Array, state: Array, backward: bool = False) -> None:
    """Filter rows in place.

    Args:
        sos: (S, 6) sections as b0 b1 b2 1 a1 a2.
        rows: (N, 8) contiguous; every column is a signal.
        state: (S, 2, 8) z0 and z1 of every section before the first row; holds those after the last one on return.
        backward: from the last row to the first.
    """
    assert state.shape == (len(sos), 2, COLUMNS)
    _recursion(len(sos))(rows, state, coefficients(sos), backward)


def coefficients(sos: Array) -> Array:
    """Of all sections, as the recursion takes them."""
    return sos[:, [0, 1, 2, 4, 5]].ravel()


@cache
def _recursion(sections: int) -> ScanFunction:
    return target_for("cpu", 1).scan(kernel(sections), COLUMNS)


def scan_of(memory: DeviceMemory, sections: int) -> ScanFunction:
    """The recursion for arrays in the memory of a device, compiled once."""
    scans = _DEVICE_SCANS.setdefault(memory, {})
    if sections not in scans:
        scans[sections] = memory.scan(kernel(sections))
    return scans[sections]


def kernel(sections: int) -> Kernel:
    """One row through all sections."""

    def step(x: Symbols) -> dict[str, list[Symbol]]:
        (signal,), after = x["row"], []
        for s in range(sections):
            b0, b1, b2, a1, a2 = x["coefficients"][5 * s : 5 * s + 5]
            z0, z1 = x["state"][2 * s : 2 * s + 2]
            y = b0 * signal + z0
            after += [b1 * signal - a1 * y + z1, b2 * signal - a2 * y]
            signal = y
        return {"row": [signal], "state": after}

    return traced("sections", {"row": 1, "state": 2 * sections, "coefficients": Reference(5 * sections)}, step)
