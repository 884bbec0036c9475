"""Connections that ask for nothing are closed: a socket that is opened and left, or headers that never end, would stay for good."""

from __future__ import annotations

import asyncio
from typing import Any

IDLE = 30.0
"""Seconds in which the headers of a request should have arrived; between two requests uvicorn waits five by itself."""


def impatient(idle: float = IDLE) -> type[asyncio.Protocol]:
    """The HTTP protocol of uvicorn that closes connections without a complete request.

    Args:
        idle: seconds from the first byte, or the opening, to the end of the headers.
    """
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    class Impatient(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
        deadline: asyncio.TimerHandle | None = None
        upgraded = False

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            self._rest()
            super().connection_lost(exc)

        def handle_websocket_upgrade(self, *arguments: Any) -> None:
            """From now on another protocol has the connection, with pings of its own."""
            self.upgraded = True
            super().handle_websocket_upgrade(*arguments)

        def _busy(self) -> bool:
            return self.upgraded or (self.cycle is not None and not self.cycle.response_complete)

        def _watch(self) -> None:
            if self._busy():
                self._rest()
            elif self.deadline is None:  # not moved by further bytes: drop by drop is too slow as well
                self.deadline = self.loop.call_later(idle, self._end)

        def _rest(self) -> None:
            if self.deadline is not None:
                self.deadline.cancel()
                self.deadline = None

        def _end(self) -> None:
            self.deadline = None
            if not self._busy() and not self.transport.is_closing():
                self.transport.close()

    return Impatient
