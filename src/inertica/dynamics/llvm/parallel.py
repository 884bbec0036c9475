"""Pieces of work side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def for_all(pieces: Sequence[T], work: Callable[[T], None], threads: int) -> None:
    """Do the work for every piece; compiled code lets other threads run."""
    if len(pieces) == 1 or threads == 1:
        for piece in pieces:
            work(piece)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, pieces))
