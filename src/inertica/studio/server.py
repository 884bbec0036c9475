"""The server: from requests to rooms and back.  It knows addresses, not robots; what may be asked for is in `rooms`.

GET  /?token=...                 takes the token into a cookie, then the page
GET  /static/...                 the page's own files
GET  /api/state                  rooms, their state, jobs
GET  /api/ROOM                   what a room shows
POST /api/ROOM/ACTION            a quick call, JSON in and out
POST /api/ROOM/start/JOB         long work; answers the job
GET  /api/ROOM/series/NAME       a long series, thinned, binary (see `series.packed`)
POST /api/jobs/NUMBER/cancel
POST /api/project            open another project beside this one, or make one
POST /api/upload?folder=&name=   a file into model/ or logs/; the body is the file
GET  /api/mesh/NUMBER            a mesh of the loaded model
GET  /files/PATH                 a file of the project
WS   /ws                         `{"type": "changed"}` whenever something is new
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from inertica.documents import plain
from inertica.errors import InerticaError
from inertica.robot.formats.table import model_suffixes
from inertica.studio import series
from inertica.studio.arguments import Arguments
from inertica.studio.confined import Refused, disk_fault, inside, plain_name
from inertica.studio.fields import error_document, in_page_words
from inertica.studio.guard import POLICY, REPORT_POLICY, Guard
from inertica.studio.idle import IDLE
from inertica.studio.jobs import RUNNING, Jobs
from inertica.studio.project import STATE, Project
from inertica.studio.room import Room
from inertica.studio.rooms import ROOMS
from inertica.studio.visuals import MESHES, mesh_files, mesh_path
from inertica.writing import whole_file

STATIC = Path(__file__).parent / "static"
UPLOAD = 512 * 2**20
"""Largest file that can be dropped, in bytes."""

BODY = 2**20
"""Largest JSON body."""

MESSAGE = 4096
"""Largest message of a socket."""

PROJECTS = 200
"""Projects beside the present one that are listed."""

WARM_UP_DELAY = 4.0
"""Seconds after the start when a worker is made ready: the first page comes first."""

KINDS = {"model": (*sorted(model_suffixes()), *MESHES),
         "logs": (".csv", ".gz", ".tsv", ".txt", ".parquet", ".npz", ".mat", ".bag", ".db3", ".mcap")}  # fmt: skip
"""Folders that files can be dropped into, and their suffixes."""


class Studio:
    """One project, served.

    Args:
        project: what is served.
        guard: who may ask.
        upload: largest file that can be dropped, in bytes.
        warm: have a worker ready before the first job.
    """

    def __init__(self, project: Project, guard: Guard, upload: int = UPLOAD, warm: bool = True) -> None:
        self.guard, self.upload, self.warm = guard, upload, warm
        self._take(project)
        self._pages: set[asyncio.Queue[str]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    def _take(self, project: Project) -> None:
        self.project = project
        self.jobs = Jobs(project.folder, self._changed, lambda room, values: project.choose(room, **values))
        project.changed = self._changed

    def open(self, name: str, new: bool) -> None:
        """Serve another project: a folder beside that of the present one.

        Raises:
            Refused: work is running, or there is no such project, or already one.
        """
        folder = self.project.folder.parent / plain_name(name)
        if any(job.state == RUNNING for job in self.jobs.all):
            raise Refused("work is running; wait for it, or cancel it, before you open another project", 409)
        if new and folder.exists():
            raise Refused(f"there is a folder '{name}' already; choose another name", 409)
        if not new and not (folder / STATE).is_file():
            raise Refused(f"there is no project '{name}' beside this one", 404)
        project = Project(folder)
        if new:
            project.update()
        self.jobs.close()
        self._take(project)
        if self.warm:
            self.jobs.warm()
        self._changed()

    @property
    def app(self) -> ASGIApp:
        routes = [
            Route("/", self._page),
            Route("/api/state", self._state),
            Route("/api/project", self._project, methods=["POST"]),
            Route("/api/upload", self._upload, methods=["POST"]),
            Route("/api/mesh/{number:int}", self._mesh),
            Route("/api/jobs/{number:int}/cancel", self._cancel, methods=["POST"]),
            Route("/api/{room}", self._view),
            Route("/api/{room}/series/{name}", self._series),
            Route("/api/{room}/start/{name}", self._start, methods=["POST"]),
            Route("/api/{room}/{name}", self._action, methods=["POST"]),
            Route("/files/{path:path}", self._file),
            WebSocketRoute("/ws", self._socket),
            Mount("/static", StaticFiles(directory=STATIC)),
        ]
        faults = {Refused: _said, InerticaError: _said, OSError: _said_of_disk, ClientDisconnect: _gone}
        inner = Starlette(routes=routes, lifespan=self._life, exception_handlers=faults)
        return _Guarded(inner, self.guard)

    @contextlib.asynccontextmanager
    async def _life(self, app: Starlette) -> AsyncIterator[None]:
        self._loop = asyncio.get_running_loop()
        ready = self._loop.call_later(WARM_UP_DELAY, self._loop.run_in_executor, None, self.jobs.warm) if self.warm else None
        yield
        if ready is not None:
            ready.cancel()
        self._loop = None
        await run_in_threadpool(self.jobs.close)

    # --- pages ---------------------------------------------------------------------------------------------------------------

    async def _page(self, request: Request) -> Response:
        if "token" in request.query_params:  # the guard has let it through: it is the right one
            answer: Response = RedirectResponse("/", status_code=303)
            answer.set_cookie(self.guard.cookie, self.guard.token, httponly=True, samesite="strict", path="/")
            return answer
        return HTMLResponse((STATIC / "index.html").read_text(encoding="utf-8"))

    async def _state(self, request: Request) -> Response:
        return _json(await run_in_threadpool(self.state))

    def state(self) -> dict[str, Any]:
        """The rail and the jobs."""
        rooms = []
        for room in ROOMS.values():
            try:
                kind, words = room.state(self.project)
            except InerticaError as error:
                kind, words = "attention", str(error)
            rooms.append(
                {"name": room.name, "title": room.title, "about": room.about, "state": kind, "words": words, "extra": room.extra}
            )
        robot = self.project.has_robot
        beside = sorted(p.parent.name for p in self.project.folder.parent.glob(f"*/{STATE}"))
        return {
            "projects": beside[:PROJECTS],
            "project": self.project.folder.name, "folder": str(self.project.folder), "rooms": rooms, "robot": robot,
            "problems": self.project.problems,
            "stamp": self.project.card.stat().st_mtime_ns if robot else 0,
            "jobs": [job.document() for job in self.jobs.all[-20:]],
        }  # fmt: skip

    async def _view(self, request: Request) -> Response:
        room = _room(request)
        arguments = Arguments(dict(request.query_params))
        return _json(await run_in_threadpool(room.view, self.project, arguments))

    async def _action(self, request: Request) -> Response:
        room, name = _room(request), request.path_params["name"]
        if name not in room.actions:
            raise Refused(f"the room {room.title} cannot '{name}'", 404)
        arguments = Arguments(await _object(request))
        return _json(await run_in_threadpool(room.actions[name], self.project, arguments))

    async def _start(self, request: Request) -> Response:
        room, name = _room(request), request.path_params["name"]
        if name not in room.jobs:
            raise Refused(f"the room {room.title} has no work '{name}'", 404)
        arguments = await _object(request)
        named = None
        if name in room.names:
            named = lambda taken: self.project.new_name(*room.names[name], arguments.get("name"), taken)  # noqa: E731
        job = await run_in_threadpool(self.jobs.start, room.name, name, arguments, named)
        return _json(job.document())

    async def _project(self, request: Request) -> Response:
        arguments = Arguments(await _object(request))
        await run_in_threadpool(self.open, arguments.text("name"), arguments.flag("new"))
        return _json({"project": self.project.folder.name})

    async def _cancel(self, request: Request) -> Response:
        return _json((await run_in_threadpool(self.jobs.cancel, request.path_params["number"])).document())

    async def _series(self, request: Request) -> Response:
        room, name = _room(request), request.path_params["name"]
        if name not in room.series:
            raise Refused(f"the room {room.title} has no series '{name}'", 404)
        words: dict[str, Any] = dict(request.query_params)
        numbers = {key: _number(words.pop(key)) for key in ("from", "to", "width", "log_number", "joint") if key in words}
        if "log_number" in numbers:
            words["log"] = numbers["log_number"]
        words |= {"joint": numbers["joint"]} if "joint" in numbers else {}

        def work() -> bytes:
            long_series = room.series[name](self.project, Arguments(words))
            start, end = numbers.get("from", -float("inf")), numbers.get("to", float("inf"))
            return series.packed(*long_series.window(start, end, int(numbers.get("width", 1500))))

        return Response(await run_in_threadpool(work), media_type="application/octet-stream")

    async def _mesh(self, request: Request) -> Response:
        names = await run_in_threadpool(mesh_files, self.project.description)
        number = request.path_params["number"]
        path = (
            mesh_path(self.project.description.source.path, names[number], self.project.folder) if number < len(names) else None
        )
        if path is None:
            raise Refused("there is no such mesh", 404)
        return FileResponse(path, media_type="application/octet-stream")

    async def _file(self, request: Request) -> Response:
        path = inside(self.project.folder, request.path_params["path"])
        if not path.is_file() or any(part.startswith(".") for part in path.relative_to(self.project.folder).parts):
            raise Refused("there is no such file in the project", 404)
        download_name = None if path.suffix == ".html" else path.name
        answer = FileResponse(path, filename=download_name)
        answer.headers["content-security-policy"] = REPORT_POLICY
        return answer

    async def _upload(self, request: Request) -> Response:
        folder, name = request.query_params.get("folder", ""), plain_name(request.query_params.get("name", ""))
        if folder not in KINDS:
            raise Refused("files go into model or logs", 400)
        if Path(name).suffix.lower() not in KINDS[folder]:
            raise Refused(f"'{name}' is none of the files that go there: {', '.join(KINDS[folder])}", 415)
        if int(_number(request.headers.get("content-length", "0"))) > self.upload:
            raise Refused(_too_large(self.upload), 413)
        target = inside(self.project.folder, Path(folder) / name)
        with whole_file(target) as temporary, temporary.open("wb") as file:
            size = 0
            async for chunk in _chunks(request):
                size += len(chunk)
                if size > self.upload:
                    raise Refused(_too_large(self.upload), 413)
                file.write(chunk)
        self._changed()
        return _json({"file": f"{folder}/{name}", "size": size})

    # --- news ----------------------------------------------------------------------------------------------------------------

    def _changed(self) -> None:
        """From any thread: tell every page."""
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # it has just ended
                loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        for page in self._pages:
            if page.empty():
                page.put_nowait("changed")

    async def _socket(self, socket: WebSocket) -> None:
        await socket.accept()
        news: asyncio.Queue[str] = asyncio.Queue()
        self._pages.add(news)
        sender = asyncio.create_task(_send_news(socket, news))
        try:
            while await _answered(socket):
                pass
        except WebSocketDisconnect:
            pass
        finally:
            self._pages.discard(news)
            sender.cancel()


async def _send_news(socket: WebSocket, news: asyncio.Queue[str]) -> None:
    while True:
        kind = await news.get()
        await socket.send_json({"type": kind})
        await asyncio.sleep(0.1)  # a burst of changes is one change


async def _answered(socket: WebSocket) -> bool:
    """One message of a page; only `{"type": "ping"}` is known, anything else ends the connection with a status."""
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        return False
    text = message.get("text")
    if text is None or len(text) > MESSAGE:
        await socket.close(1003 if text is None else 1009, "messages are short JSON texts")
        return False
    try:
        body = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        body = None
    if not isinstance(body, dict) or body.get("type") != "ping":
        await socket.close(1008, "this message is not known")
        return False
    await socket.send_json({"type": "pong"})
    return True


class _Guarded:
    """Nothing reaches the application that the guard does not let through."""

    def __init__(self, inner: Starlette, guard: Guard) -> None:
        self.inner, self.guard = inner, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self.inner(scope, receive, send)
        headers = Headers(scope=scope)
        cookies = _cookies(headers.get("cookie", ""))
        method = "WS" if scope["type"] == "websocket" else scope["method"]
        try:
            self.guard.check_host(headers.get("host", ""))
            if not self._arrives(scope):
                self.guard.check(method, headers, cookies)
        except Refused as refused:
            if scope["type"] == "websocket":
                await receive()
                return await send({"type": "websocket.close", "code": 1008, "reason": str(refused)})
            return await _plain_answer(refused)(scope, receive, send)
        return await self.inner(scope, receive, _with_policy(send) if scope["type"] == "http" else send)

    def _arrives(self, scope: Scope) -> bool:
        """Somebody who opens the address with the token in it."""
        if scope["type"] != "http" or scope["path"] != "/" or scope["method"] not in ("GET", "HEAD"):
            return False
        token = Request(scope).query_params.get("token")
        return token is not None and self.guard.is_token(token)


def _with_policy(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.setdefault("content-security-policy", POLICY)
            headers.setdefault("cache-control", "no-store")
            headers["x-content-type-options"] = "nosniff"
            headers["referrer-policy"] = "no-referrer"
            headers["cross-origin-resource-policy"] = "same-origin"
        await send(message)

    return sending


def _cookies(header: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in header.split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs}


def _plain_answer(refused: Refused) -> Response:
    return Response(f"{refused}\n", refused.status, media_type="text/plain", headers={"connection": "close"})


def _said(request: Request, error: Exception) -> Response:
    """An error as its sentence; of a file that the disk refused, what the disk says."""
    if isinstance(error.__cause__, OSError) and (sentence := disk_fault(error.__cause__)) is not None:
        return JSONResponse({"error": sentence}, 507)
    body = error_document(error) if isinstance(error, InerticaError) else {"error": str(error)}
    return JSONResponse(body, error.status if isinstance(error, Refused) else 422)


def _said_of_disk(request: Request, error: Exception) -> Response:
    """What a full or read-only disk says, as a sentence; other faults of the system are ours."""
    sentence = disk_fault(error) if isinstance(error, OSError) else None
    if sentence is None:
        raise error
    return JSONResponse({"error": sentence}, 507)


def _gone(request: Request, error: Exception) -> Response:
    """Nobody reads this: the page was closed while it sent something."""
    return Response(status_code=400)


async def _chunks(request: Request) -> AsyncIterator[bytes]:
    """The body of a request, as long as it keeps coming."""
    stream = aiter(request.stream())
    while True:
        try:
            async with asyncio.timeout(IDLE):
                chunk = await anext(stream)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise Refused(f"nothing came for {IDLE:g} s; send it again", 408) from None
        yield chunk


def _json(value: object) -> Response:
    return Response(json.dumps(in_page_words(plain(value)), ensure_ascii=False), media_type="application/json")


def _room(request: Request) -> Room:
    name = request.path_params["room"]
    if name not in ROOMS:
        raise Refused(f"there is no room '{name}'", 404)
    return ROOMS[name]


async def _object(request: Request) -> dict[str, Any]:
    """The JSON object of a request; its type is required, so that no form of another site can send one."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise Refused("the body should be JSON (Content-Type: application/json)", 415)
    body = b""
    async for chunk in _chunks(request):
        body += chunk
        if len(body) > BODY:
            raise Refused(_too_large(BODY), 413)
    try:
        value = json.loads(body or b"{}")
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
        raise Refused("the body is no JSON", 400) from None
    if not isinstance(value, dict):
        raise Refused("the body should be a JSON object", 400)
    return value


def _number(word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        raise Refused(f"'{word[:40]}' is no number", 400) from None
    if value != value:
        raise Refused("a number is missing", 400)
    return value


def _too_large(limit: int) -> str:
    return f"more than {limit / 2**20:g} MB cannot be taken; name the file on the command line instead, it is then read in place"
