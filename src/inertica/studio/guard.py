"""Who may talk to the studio: a Host that is ours, an Origin that is ours, and the token of this start.

The token comes once in the address that the command line prints; from then on a cookie holds it that scripts cannot read and other
sites do not send.  Programs may send it as the header `X-Inertica-Token`.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass

from inertica.studio.confined import Refused

HEADER = "x-inertica-token"
SAFE = ("GET", "HEAD")

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'; "
    "font-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
"""Content-Security-Policy of the page: nothing from elsewhere, no scripts in texts."""

REPORT_POLICY = (
    "sandbox allow-scripts allow-popups; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
)
"""Of files of the project: a report runs its own script, but not as part of the studio."""


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Guard:
    """What is let through.

    Args:
        token: of this start.
        port: on which the studio listens.
        host: what it listens on; other than loopback, its own name counts, too, and any address for 0.0.0.0.
    """

    token: str
    port: int
    host: str = "127.0.0.1"

    @property
    def cookie(self) -> str:
        """Name of the cookie; studios on other ports have others."""
        return f"inertica-studio-{self.port}"

    def check_host(self, host: str) -> None:
        """Refuse names that are not ours: another site's name that leads to this machine."""
        if host not in self._names() and not (self.host in ("0.0.0.0", "::") and _is_address(host, self.port)):
            raise Refused("this address does not belong to the studio", 421)

    def check_origin(self, origin: str | None, host: str, needed: bool) -> None:
        """Refuse pages of other sites."""
        if origin is None and not needed:
            return
        if origin != f"http://{host}":
            raise Refused("requests come from the studio's own page only", 403)

    def check_token(self, cookies: Mapping[str, str], headers: Mapping[str, str]) -> bool:
        """Whether the token came as a header; refused when there is none that fits."""
        token = headers.get(HEADER)
        if token is not None:
            if not self.is_token(token):
                raise Refused("the token is wrong", 403)
            return True
        if not self.is_token(cookies.get(self.cookie, "")):
            raise Refused("open the address that the command line printed; it holds the token", 403)
        return False

    def is_token(self, word: str) -> bool:
        return hmac.compare_digest(word.encode(), self.token.encode())

    def check(self, method: str, headers: Mapping[str, str], cookies: Mapping[str, str]) -> None:
        """Everything, for requests and sockets (`method` WS)."""
        host = headers.get("host", "")
        self.check_host(host)
        by_header = self.check_token(cookies, headers)
        self.check_origin(headers.get("origin"), host, needed=method not in SAFE and not by_header)

    def _names(self) -> set[str]:
        names = {"127.0.0.1", "localhost", "[::1]"} if is_loopback(self.host) or self.host in ("0.0.0.0", "::") else set()
        host = f"[{self.host}]" if ":" in self.host else self.host
        return {f"{name}:{self.port}" for name in (*names, host)}


def _is_address(host: str, port: int) -> bool:
    name, _, number = host.rpartition(":")
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return number == str(port)
