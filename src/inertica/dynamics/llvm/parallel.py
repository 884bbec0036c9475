"""Pieces of work side by side."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")


def for_all(pieces: Sequence[T], work: Callable[[T], None], threads: int) -> None:
    """Do the work for every piece; compiled code lets other threads run."""
    if len(pieces) == 1 or threads == 1:
        for piece in pieces:
            work(piece)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, pieces))


def in_order(pieces: Iterable[T], work: Callable[[T, int], U], threads: int) -> Iterator[U]:
    """What the work makes of every piece, in their order; at most as many are under way as there are threads.

    Args:
        pieces: as they come.
        work: takes a piece and the number of its place, 0 to `threads` - 1; no two at a time have the same place.
        threads: at the same time.
    """
    coming = iter(pieces)
    begun = list(islice(coming, 2))
    if len(begun) < 2 or threads == 1:
        yield from (work(piece, 0) for piece in chain(begun, coming))
        return
    with ThreadPoolExecutor(threads) as pool:
        running: deque[Future[U]] = deque()
        for k, piece in enumerate(chain(begun, coming)):
            if len(running) == threads:
                yield running.popleft().result()
            running.append(pool.submit(work, piece, k % threads))
        while running:
            yield running.popleft().result()
