"""Ctrl-C: the process that the user started ends the others, which say nothing of it; where it would get lost, it waits."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import active_children, resource_tracker
from types import FrameType


@contextmanager
def interrupts_at_the_end() -> Iterator[None]:
    """Ctrl-C within the block is raised at its end: libraries that call back from C swallow exceptions."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[tuple[int, FrameType | None]] = []
    before = signal.signal(signal.SIGINT, lambda *_arguments: arrived.append(_arguments))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)
        if arrived and callable(before):
            before(*arrived[0])


@contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """Processes that begin within the block never get Ctrl-C, not even while they import; here it waits until the end."""
    with interrupts_at_the_end():
        if not hasattr(signal, "pthread_sigmask"):  # Windows
            yield
            return
        resource_tracker.ensure_running()  # starting it with the first process would unblock the signal
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # which new processes and threads take over
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def ending_with() -> Iterator[None]:
    """When the block ends with an error or an interrupt, the processes begun in it end, too, whatever they were at."""
    others = set(active_children())
    try:
        yield
    except BaseException:
        for process in set(active_children()) - others:
            process.terminate()
        raise
