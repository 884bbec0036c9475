"""A studio that listens, in a thread, for tests in a browser."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from inertica.studio.start import Started


@contextmanager
def served(started: Started) -> Iterator[str]:
    """The address, while it is served."""
    thread = threading.Thread(target=started.server.run, kwargs={"sockets": [started.listening]}, daemon=True)
    thread.start()
    end = time.monotonic() + 30.0
    while not started.server.started:
        assert time.monotonic() < end, "the studio does not start"
        time.sleep(0.02)
    try:
        yield started.address
    finally:
        started.server.should_exit = True
        thread.join(timeout=20.0)
        assert not thread.is_alive()
