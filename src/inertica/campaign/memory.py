"""Memory of a process that computes units: what one fit leaves is there for the next."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

TRIM, TOP, MAPPED, MAPS, ARENAS = -1, -2, -3, -4, -8
"""Numbers of glibc's settings: what stays at the top, what is taken at a time, from which size on memory is mapped, how many pieces
may be mapped, arenas."""

RELAXED_THRESHOLDS = (50_000, 20, 100)
"""Thresholds of Python's garbage collector while many fits run: cyclic garbage is small next to the arrays, looking for it is not."""


@cache
def keep_memory(most: int = 512 << 20) -> None:
    """Freed memory stays with the process, up to so many bytes at its top.

    Signals of simulations are some megabytes each; given back and asked for anew they are cleared page by page every time, which takes
    longer than much of what is computed from them.  Does nothing where the C library is not glibc.
    """
    if sys.platform != "linux":
        return
    setting = getattr(ctypes.CDLL(None), "mallopt", None)
    if setting is not None:
        for name, value in ((MAPPED, 32 << 20), (MAPS, 0), (TRIM, most), (TOP, 16 << 20), (ARENAS, 1)):
            setting(name, value)


@contextmanager
def relaxed_gc() -> Iterator[None]:
    """Raise Python's garbage-collection thresholds while many fits run.

    Results of fits are freed by their reference counts as soon as nothing refers to them; searching all objects for cycles after every
    few hundred new ones finds hardly anything.
    """
    before = gc.get_threshold()
    gc.set_threshold(*RELAXED_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
