"""Memory of a process that computes units: what one fit leaves is there for the next."""

from __future__ import annotations

import ctypes
import sys
from functools import cache

TRIM, TOP, MAPPED, ARENAS = -1, -2, -3, -8
"""Numbers of glibc's settings: what stays at the top, what is taken at a time, from which size on memory is mapped, arenas."""


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
        for name, value in ((MAPPED, 32 << 20), (TRIM, most), (TOP, 16 << 20), (ARENAS, 1)):
            setting(name, value)
