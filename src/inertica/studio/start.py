"""`open_studio`: a project, a port, a token, and a server until it is ended."""

from __future__ import annotations

import secrets
import socket
import warnings
import webbrowser
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from inertica.errors import InerticaError, InputError, MissingDependencyError, ModelWarning
from inertica.robot.files import catalog, check_exists
from inertica.studio.guard import Guard, is_loopback
from inertica.studio.project import Project

if TYPE_CHECKING:
    import uvicorn

FOLDER = "inertica-project"
"""Project folder when none is named."""


@dataclass(frozen=True)
class Started:
    """A studio that is ready to run.

    Args:
        project: what it serves.
        address: with the token, for the browser.
        warning: what to know of its address; empty on loopback.
        server: runs until it is ended.
        listening: the socket it listens on.
    """

    project: Project
    address: str
    warning: str
    server: uvicorn.Server
    listening: socket.socket

    def run(self, browser: bool = True, opened: Callable[[str], object] = webbrowser.open) -> None:
        """Serve until Ctrl-C."""
        if browser:
            opened(self.address)
        self.server.run(sockets=[self.listening])


def prepare(folder: str | Path, robot: str | Path | None = None, logs: Sequence[str | Path] = ()) -> Project:
    """A project folder with a robot and logs that the command line names; files outside of it become links."""
    project = Project(Path(folder))
    if robot is not None:
        if str(robot) in catalog():
            project.choose_robot(str(robot))
        else:
            check_exists(str(robot), Path(robot))
            project.choose_robot(project.link(robot))
    for log in logs:
        if not Path(log).exists():
            raise InputError(f"{log}: there is no such log")
        project.add_log(project.link(log))
    return project


def start(
    folder: str | Path = FOLDER, robot: str | Path | None = None, logs: Sequence[str | Path] = (), *, port: int = 0,
    host: str = "127.0.0.1",
) -> Started:  # fmt: skip
    """Make everything ready.

    Args:
        folder: of the project; made when it is not there.
        robot: catalog name, model file or card; the project's own when not given.
        logs: further ones.
        port: 0 takes a free one.
        host: what to listen on; other than loopback warns.
    """
    try:
        import starlette  # noqa: F401
        import uvicorn
    except ImportError:
        raise MissingDependencyError("starlette and uvicorn", "the studio", "studio") from None
    from inertica.studio.idle import impatient
    from inertica.studio.server import Studio

    project = prepare(folder, robot, logs)
    listening = _listen(host, port)
    number = int(listening.getsockname()[1])
    guard = Guard(secrets.token_urlsafe(24), number, host)
    config = uvicorn.Config(
        Studio(project, guard).app,
        log_level="warning",
        http=impatient(),
        ws_max_size=65_536,
        timeout_graceful_shutdown=2,
        server_header=False,
    )
    shown = "127.0.0.1" if host in ("0.0.0.0", "::") else host
    place = f"[{shown}]" if ":" in shown else shown
    warning = ""
    if not is_loopback(host):
        warning = (
            f"the studio listens on {host}: other machines can reach it, and whoever has the token can read and change the "
            "project; the connection is not encrypted"
        )
    return Started(project, f"http://{place}:{number}/?token={guard.token}", warning, uvicorn.Server(config), listening)


def open_studio(
    robot: str | Path | None = None, logs: Sequence[str | Path] = (), *, project: str | Path = FOLDER, port: int = 0,
    host: str = "127.0.0.1", browser: bool = True,
) -> None:  # fmt: skip
    """Open the studio in the browser and serve it until Ctrl-C.

    Args:
        robot: catalog name, model file or card; the project's own when not given.
        logs: logs to add to the project; they stay where they are.
        project: folder of the project, made when it is not there.
        port: a free one by default.
        host: what to listen on.
        browser: open the address; it is printed either way.

    Examples:
        Serves until Ctrl-C:

        >>> ia.open_studio("card.yaml", ["run1.csv.gz"], project="project")  # doctest: +SKIP
    """
    started = start(project, robot, logs, port=port, host=host)
    if started.warning:
        warnings.warn(ModelWarning(started.warning), stacklevel=2)
    print(f"inertica studio: {started.address}")
    started.run(browser)


def _listen(host: str, port: int) -> socket.socket:
    if not 0 <= port <= 65535:
        raise InputError(f"a port is a number from 0 to 65535, not {port}")
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(64)  # from now on nobody else has the port
    except OSError as error:
        raise InerticaError(f"cannot listen on {host}, port {port} ({error.strerror}); choose another --port or --host") from None
    return listener
