"""Long work in processes of its own: progress comes back, it can be cancelled, and its end, whatever it is, is a message."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from inertica.errors import InerticaError, InputError
from inertica.interrupts import deaf_to_interrupts
from inertica.studio.confined import disk_fault
from inertica.studio.fields import error_document

RUNNING, DONE, FAILED, CANCELLED = "running", "done", "failed", "cancelled"
LINES = 400
"""Lines of progress kept of a job."""

MAX_RUNNING = 2
"""Jobs that run at the same time."""

WORK = ".work"
"""Folder of the project in which jobs prepare what they leave behind."""


@dataclass
class Job:
    """One piece of work.

    Args:
        number: 1, 2, ... of this start of the studio.
        room, name: which.
        arguments: of its function.
        state: running, done, failed or cancelled.
        lines: progress, with seconds since the start.
        answer: what it found.
        error: the sentence of a failure.
        place: the field of the page that settles it, where there is one.
    """

    number: int
    room: str
    name: str
    arguments: dict[str, Any]
    state: str = RUNNING
    lines: list[tuple[float, str]] = field(default_factory=list)
    answer: Any = None
    error: str = ""
    place: dict[str, str] | None = None
    started: float = field(default_factory=time.time)
    ended: float | None = None

    def document(self) -> dict[str, Any]:
        names = ("number", "room", "name", "state", "lines", "answer", "error", "started", "ended")
        return {name: getattr(self, name) for name in names} | {"field": self.place}


class Jobs:
    """The jobs of a project.

    Args:
        folder: of the project.
        changed: called from any thread whenever a job has something new to say.
        remember: called with a room and the choices that a job of it leaves (`remember` in its answer): the process that serves
            pages is the only one that writes the project's state.
    """

    def __init__(
        self,
        folder: Path,
        changed: Callable[[], None],
        remember: Callable[[str, dict[str, Any]], None] = lambda room, values: None,
    ) -> None:
        self.folder, self.changed, self.remember = folder, changed, remember
        self._context = multiprocessing.get_context("spawn")
        self._lock = threading.Lock()
        self._all: list[Job] = []
        self._processes: dict[int, BaseProcess] = {}
        self._spare: tuple[BaseProcess, Connection] | None = None
        self._ready = False
        shutil.rmtree(folder / WORK, ignore_errors=True)  # of a start that was ended

    @property
    def all(self) -> list[Job]:
        with self._lock:
            return list(self._all)

    def start(
        self, room: str, name: str, arguments: dict[str, Any], new_name: Callable[[Collection[str]], str] | None = None
    ) -> Job:
        """Start a job.

        Args:
            room, name: which.
            arguments: of its function.
            new_name: of a job that leaves something under a new name: chooses it (`name` of the arguments), none of those that jobs
                of its kind will use which are still running.

        Raises:
            InputError: as many as may run are running.
        """
        with self._lock:
            if sum(job.state == RUNNING for job in self._all) >= MAX_RUNNING:
                raise InputError(f"{MAX_RUNNING} jobs are running already; wait for one of them, or cancel it")
            if new_name is not None:
                alike = (job for job in self._all if job.state == RUNNING and (job.room, job.name) == (room, name))
                arguments = {**arguments, "name": new_name({job.arguments["name"] for job in alike})}
            job = Job(len(self._all) + 1, room, name, arguments)
            self._all.append(job)
            process, ours = self._taken()
            self._processes[job.number] = process
        threading.Thread(target=self._follow, args=(job, process, ours), daemon=True).start()
        self.changed()
        return job

    def warm(self) -> None:
        """From now on have a worker ready that has imported everything, so that jobs start at once."""
        with self._lock:
            self._ready = True
            if self._spare is None:
                self._spare = self._new()

    def _taken(self) -> tuple[BaseProcess, Connection]:
        worker, self._spare = self._spare, None
        return worker if worker is not None and worker[0].is_alive() else self._new()

    def _new(self) -> tuple[BaseProcess, Connection]:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_work, args=(theirs,), daemon=True, name="inertica studio worker")
        with deaf_to_interrupts():
            process.start()
        theirs.close()
        return process, ours

    def cancel(self, number: int) -> Job:
        """End a job; one that has ended stays as it is."""
        with self._lock:
            job = next((j for j in self._all if j.number == number), None)
            if job is None:
                raise InputError(f"there is no job {number}")
            if job.state == RUNNING:
                job.state, job.ended = CANCELLED, time.time()
                self._processes[number].terminate()
        self.changed()
        return job

    def close(self) -> None:
        """End everything."""
        self._ready = False
        for job in self.all:
            if job.state == RUNNING:
                self.cancel(job.number)
        with self._lock:
            spare, self._spare = self._spare, None
        if spare is not None:
            spare[1].close()
            spare[0].terminate()
        for process in [*self._processes.values(), *([spare[0]] if spare else [])]:
            process.join(timeout=5.0)

    def _follow(self, job: Job, process: BaseProcess, pipe: Connection) -> None:
        try:
            pipe.send((str(self.folder), job.number, job.room, job.name, job.arguments))
            while job.state == RUNNING:
                self._heard(job, *pipe.recv())
        except (EOFError, OSError):  # the worker has ended
            process.join(timeout=10.0)
            with self._lock:
                if job.state == RUNNING:
                    job.state, job.ended, job.error = FAILED, time.time(), _crash(process.exitcode)
        process.join()
        pipe.close()
        if self._ready:
            self.warm()
        shutil.rmtree(self.folder / WORK / str(job.number), ignore_errors=True)
        self.changed()

    def _heard(self, job: Job, kind: str, message: Any) -> None:
        lines = [str(message)] if kind == "line" else []
        if kind == "done" and (left := message.pop("remember", None)):
            try:
                self.remember(job.room, left)
            except InerticaError as error:  # a full disk: what the job found is there all the same
                lines = [f"the choices of this job cannot be kept: {error}"]
        with self._lock:
            if job.state != RUNNING:
                return
            stamped = [(round(time.time() - job.started, 2), line) for line in lines]
            job.lines = [*job.lines, *stamped][-LINES:]
            if kind != "line":
                job.state, job.ended = (DONE if kind == "done" else FAILED), time.time()
                if kind == "done":
                    job.answer = message
                else:
                    job.error, job.place = message["error"], message.get("field")
        self.changed()


def _crash(code: int | None) -> str:
    """What is said of a worker that ended without an answer."""
    how = (
        f"was ended by signal {-code}, perhaps for want of memory"
        if code is not None and code < 0
        else f"met an error inside inertica (exit code {code}; the terminal of the studio shows it)"
    )
    return f"the process that did the work {how}; the project is as it was before, and the work can be started again"


def _work(pipe: Connection) -> None:
    """The worker: one job, then the end."""
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    from inertica.studio.arguments import Arguments
    from inertica.studio.project import Project
    from inertica.studio.rooms import ROOMS

    try:
        folder, number, room, name, arguments = pipe.recv()
    except (EOFError, KeyboardInterrupt):  # the studio has ended
        return
    work = Path(folder) / WORK / str(number)
    try:
        work.mkdir(parents=True, exist_ok=True)
        answer = ROOMS[room].jobs[name](Project(Path(folder)), Arguments(arguments), lambda line: pipe.send(("line", line)), work)
        pipe.send(("done", answer))
    except InerticaError as error:
        pipe.send(("failed", error_document(error)))
    except OSError as error:
        if (sentence := disk_fault(error)) is None:
            raise
        pipe.send(("failed", {"error": sentence}))
