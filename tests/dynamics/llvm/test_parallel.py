"""Pieces of work side by side come back in their order."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from inertica.dynamics.llvm.parallel import in_order


@pytest.mark.parametrize(("count", "threads"), [(0, 2), (1, 2), (7, 1), (7, 2), (7, 3)])
def test_in_order(count: int, threads: int) -> None:
    def work(piece: int, place: int) -> int:
        time.sleep(0.002 * (count - piece))  # the first ones take longest
        return piece**2

    assert list(in_order(range(count), work, threads)) == [k**2 for k in range(count)]


def test_no_two_at_a_time_share_a_place() -> None:
    busy, lock = set(), threading.Lock()

    def work(piece: int, place: int) -> int:
        with lock:
            assert place not in busy
            busy.add(place)
        time.sleep(0.001 * (piece % 3))
        with lock:
            busy.remove(place)
        return place

    assert list(in_order(range(12), work, 3)) == [k % 3 for k in range(12)]


def test_no_piece_is_asked_for_before_there_is_room() -> None:
    asked: list[int] = []

    def pieces() -> Iterator[int]:
        for k in range(6):
            asked.append(k)
            yield k

    results = in_order(pieces(), lambda piece, place: piece, 2)
    assert next(results) == 0
    assert max(asked) <= 2


def test_a_failure_is_the_callers() -> None:
    def work(piece: int, place: int) -> int:
        if piece == 3:
            raise ValueError("the third")
        return piece

    with pytest.raises(ValueError, match="the third"):
        list(in_order(range(6), work, 2))
