"""Where units are computed: in this process, in processes of this machine, or on a Dask cluster.  The rows are the same.

An engine takes tasks and yields outcomes as they come; a unit that raises, or whose worker dies, comes back as an error.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Any, Protocol

from inertica.campaign.plan import Unit
from inertica.campaign.work import execute
from inertica.errors import InputError
from inertica.interrupts import deaf_to_interrupts, ending_with
from inertica.logs.readers.guard import package

_ENDED = "the process that computed it was ended from outside, mostly because memory ran out; fewer --workers need less"
_CARD_FULL = "; the graphics card has no memory left, fewer --workers need less"
_NO_MEMORY = ("ALLOC_FAILED", "cudaErrorMemoryAllocation", "OutOfMemoryError")
"""What the card's libraries say then."""


@dataclass(frozen=True)
class UnitOutcome:
    """Of one unit: its rows, or what went wrong.

    Args:
        unit: which one.
        content: a Parquet file.
        error: one line.
        lost: the worker died; that says nothing about the unit.
    """

    unit: Unit
    content: bytes | None = None
    error: str = ""
    lost: bool = False


class CampaignEngine(Protocol):
    """Computes units."""

    @property
    def workers(self) -> int: ...

    @property
    def device(self) -> str:
        """What simulations are computed on."""

    def outcomes(self, spec: Mapping[str, Any], units: Sequence[Unit], code: str) -> Iterator[UnitOutcome]:
        """Every unit once, in any order."""


@dataclass(frozen=True)
class InProcess:
    """One unit after the other, here.

    Args:
        device: what simulations are computed on: cpu, cuda, or auto.
    """

    device: str = "cpu"

    @property
    def workers(self) -> int:
        return 1

    def outcomes(self, spec: Mapping[str, Any], units: Sequence[Unit], code: str) -> Iterator[UnitOutcome]:
        for unit in units:
            try:
                content = execute(spec, unit.document(), code, self.device)
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:  # of any kind, as those that come from other processes
                yield UnitOutcome(unit, error=_words(error))
            else:
                yield UnitOutcome(unit, content)


@dataclass(frozen=True)
class Processes:
    """Processes of this machine.

    Args:
        count: of them; all cores by default.
        device: what simulations are computed on: cpu, cuda, or auto.
    """

    count: int = 0
    device: str = "cpu"

    def __post_init__(self) -> None:
        if self.count < 0:
            raise InputError(f"the number of workers should be positive, not {self.count}")

    @property
    def workers(self) -> int:
        return self.count or len(os.sched_getaffinity(0))

    def outcomes(self, spec: Mapping[str, Any], units: Sequence[Unit], code: str) -> Iterator[UnitOutcome]:
        """Few units are in flight at a time, so that a worker that dies takes few with it; the others then go to new workers."""
        waiting = list(reversed(units))
        while waiting:
            spawn, begin = get_context("spawn"), partial(begin_worker, os.getpid(), self.workers)
            with ProcessPoolExecutor(self.workers, mp_context=spawn, initializer=begin) as pool, ending_with():
                flying: dict[Future[bytes], Unit] = {}
                broken = False
                while (waiting and not broken) or flying:
                    while waiting and not broken and len(flying) < 2 * self.workers:
                        unit = waiting.pop()
                        try:
                            with deaf_to_interrupts():  # workers begin here
                                flying[pool.submit(execute, spec, unit.document(), code, self.device)] = unit
                        except BrokenProcessPool:
                            waiting.append(unit)
                            broken = True
                    for done in wait(flying, return_when=FIRST_COMPLETED).done:
                        outcome = _outcome(flying.pop(done), done)
                        broken = broken or outcome.lost
                        yield outcome


@dataclass(frozen=True)
class Dask:
    """A Dask cluster.

    Args:
        address: of its scheduler, `tcp://host:port`; None starts workers on this machine.
        local: how many then.
        device: what simulations are computed on: cpu, cuda, or auto.
    """

    address: str | None = None
    local: int = 2
    device: str = "cpu"

    @property
    def workers(self) -> int:
        return self.local if self.address is None else 0

    def outcomes(self, spec: Mapping[str, Any], units: Sequence[Unit], code: str) -> Iterator[UnitOutcome]:
        distributed = package("distributed", "a Dask cluster", "dask")
        cluster = None
        if self.address is None:
            with deaf_to_interrupts():
                cluster = distributed.LocalCluster(self.local, threads_per_worker=1, processes=True, dashboard_address=None)
        try:
            try:
                client = distributed.Client(cluster or self.address, timeout=30)
            except (OSError, TimeoutError) as error:
                raise InputError(f"no Dask scheduler answers at {self.address} ({error})") from None
            with client:
                yield from self._with(distributed, client, units, partial(_sent, dict(spec), code, self.device))
        finally:
            if cluster is not None:
                cluster.close()

    @staticmethod
    def _with(
        distributed: Any, client: Any, units: Sequence[Unit], work: Callable[[Mapping[str, Any]], bytes]
    ) -> Iterator[UnitOutcome]:
        """`work` has the spec in it, which goes with every unit, so that no worker that dies takes it along."""
        documents = [unit.document() for unit in units]
        keys = [f"unit-{unit.id}" for unit in units]
        futures = client.map(work, documents, key=keys, pure=False, batch_size=1000)
        flying = dict(zip(futures, units, strict=True))
        for batch in distributed.as_completed(futures, with_results=True, raise_errors=False).batches():
            for future, result in batch:
                unit = flying.pop(future)
                if future.status == "finished":
                    yield UnitOutcome(unit, result)
                else:
                    error = future.exception()
                    lost = isinstance(error, distributed.scheduler.KilledWorker | distributed.client.FutureCancelledError)
                    yield UnitOutcome(unit, error=_ENDED if lost else _words(error), lost=lost)
                future.release()


def _sent(spec: Mapping[str, Any], code: str, device: str, unit: Mapping[str, Any]) -> bytes:
    return execute(spec, unit, code, device)


def _outcome(unit: Unit, future: Future[bytes]) -> UnitOutcome:
    error = future.exception()
    if error is None:
        return UnitOutcome(unit, future.result())
    if isinstance(error, BrokenProcessPool):
        return UnitOutcome(unit, error=_ENDED, lost=True)
    return UnitOutcome(unit, error=_words(error))


def _words(error: BaseException | None) -> str:
    message = " ".join(str(error).split())
    description = f"{type(error).__name__}: {message}" if message else type(error).__name__
    return description + _CARD_FULL if any(word in description for word in _NO_MEMORY) else description


def begin_worker(parent: int, workers: int) -> None:
    """A worker has one core and its share of a graphics card, and ends when the process that began it is gone, however and whenever.

    Args:
        parent: the number of that process; the system does not tell it any more when it is gone before this is called.
        workers: that share the card.
    """
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    os.environ.setdefault("CUPY_GPU_MEMORY_LIMIT", f"{90 / workers:.2f}%")  # what CuPy keeps in reserve, others cannot have
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
