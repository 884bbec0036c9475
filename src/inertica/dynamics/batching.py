"""Batched simulation: closed-loop simulations that several concurrent fits request, computed together as lanes of one batch.

A fit that simulates one parameter vector at a time leaves most lanes of the processor idle, and nearly all of a GPU.  `run_batched`
runs many fits concurrently and hands each one a `BatchClient`.  A fit that requests a simulation from its client blocks until all
running fits have requested one or ended; then all requests are simulated in one batch and every fit goes on.  Fits that start from
the same parameters share the first simulation.  A lane does not depend on the lanes beside it, so every fit returns the same bits
as when it runs alone.

Fits are ordinary functions, each in a thread of its own; at most `workers` of the threads compute at the same time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, fields, replace
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from inertica.dynamics import simulate as direct
from inertica.dynamics.kernels import Array
from inertica.dynamics.model import Model
from inertica.dynamics.simulate import RunOptions, Simulation
from inertica.errors import InerticaError

T = TypeVar("T")

MAX_CACHED = 64
"""First simulations that are cached for fits that start alike; each takes some megabytes."""


@dataclass(frozen=True)
class Duration:
    """How long a computation took.

    Args:
        wall: seconds of wall-clock time.
        cpu: seconds of processor time.
    """

    wall: float = 0.0
    cpu: float = 0.0

    def __add__(self, other: Duration) -> Duration:
        return Duration(self.wall + other.wall, self.cpu + other.cpu)

    def scaled(self, share: float) -> Duration:
        return Duration(share * self.wall, share * self.cpu)


class BatchClient:
    """Where one of the concurrent fits requests its simulations; `run_batched` gives every fit its own."""

    def __init__(self, request: Callable[[_Request], Simulation]) -> None:
        self._request = request

    def simulate(
        self, model: Model, chi: ArrayLike, reference: Mapping[str, ArrayLike], gains: Mapping[str, ArrayLike], dt: float,
        **options: Any,
    ) -> Simulation:  # fmt: skip
        """As `inertica.dynamics.simulate.simulate`; blocks until the batch with this request has been computed.

        Runs with sensor noise, and those that record every k-th step, are simulated at once and alone.
        """
        if options.get("noise") is not None or isinstance(options.get("keep", 1), int):
            return direct.simulate(model, chi, reference, gains, dt, RunOptions(**options))
        rows = np.atleast_2d(np.asarray(chi, float))
        lanes = {f"gain {name}": np.asarray(values, float) for name, values in gains.items()}
        shapes = options.pop("shapes", getattr(chi, "shapes", None))
        if shapes is not None:
            lanes["shapes"] = np.asarray(shapes, float)
        lanes |= {f"start {k}": np.asarray(x, float) for k, x in enumerate(options.pop("start", None) or ())}
        keep = np.asarray(options.pop("keep"), np.int64)
        return self._request(_Request(model, rows, dict(reference), lanes, dt, keep, options))


def run_batched(
    fits: Iterable[Callable[[BatchClient], T]], max_concurrent: int, workers: int = 1, max_bytes: float = np.inf
) -> Iterator[tuple[int, T, Duration]]:
    """Run fits concurrently: (number, return value, time taken) of every fit, in the order in which they end.

    Args:
        fits: functions of their client; an exception that one raises is raised here.
        max_concurrent: fits that are started and not ended at any time; memory grows with it.
        workers: fits that compute at the same time while they are not blocked.
        max_bytes: that the signals of one batch may take; requests beyond it wait for the next batch.
    """
    remaining, events, cache = enumerate(fits), SimpleQueue[_FitThread[T]](), _InitialStateCache()
    blocked: dict[int, _FitThread[T]] = {}
    running: set[_FitThread[T]] = set()
    with ThreadPoolExecutor(max_concurrent) as pool:
        try:
            while True:
                new = [
                    _FitThread(k, fit, events)
                    for _, (k, fit) in zip(range(max_concurrent - len(blocked)), remaining, strict=False)
                ]
                ready: list[tuple[_FitThread[T], Any]] = [(thread.start(pool), None) for thread in new]
                if blocked and not ready:
                    threads = _within_bytes([blocked[number] for number in sorted(blocked)], max_bytes)
                    ready = list(zip(threads, _simulate_batch(threads, cache), strict=True))
                    for thread in threads:
                        del blocked[thread.number]
                if not ready:
                    return
                while ready or running:
                    while ready and len(running) < workers:
                        thread, answer = ready.pop(0)
                        running.add(thread)
                        thread.answers.put(answer)
                    thread = events.get()
                    running.remove(thread)
                    if thread.request is not None:
                        blocked[thread.number] = thread
                    else:
                        yield thread.number, thread.future.result(), thread.duration
        finally:
            # also when the caller stops iterating: a thread that waits for an answer would keep the pool from closing
            for thread in [*blocked.values(), *running, *(thread for thread, _ in ready)]:
                thread.answers.put(_CancelledError())


class _CancelledError(BaseException):
    """Raised in a blocked fit whose result is no longer wanted; not an `Exception`, so that no handler of a fit catches it."""


class _FitThread(Generic[T]):
    """A fit in its thread.

    Args:
        number: of the fit.
        fit: the function to run.
        events: where the thread announces that it is blocked or has ended.
    """

    future: Future[T]

    def __init__(self, number: int, fit: Callable[[BatchClient], T], events: SimpleQueue[_FitThread[T]]) -> None:
        self.number, self.fit, self.events = number, fit, events
        self.answers: SimpleQueue[Any] = SimpleQueue()
        self.request: _Request | None = None
        self.at_first_request = True
        self.duration, self._since = Duration(), Duration()

    def start(self, pool: ThreadPoolExecutor) -> _FitThread[T]:
        """Submit the fit to the pool, where it waits for its first answer; the future holds its return value or exception."""
        self.future = pool.submit(self._run)
        self.future.add_done_callback(lambda _: self.events.put(self))
        return self

    def _run(self) -> T:
        self._wait()
        try:
            return self.fit(BatchClient(self._ask))
        finally:
            self._add_time()

    def _ask(self, request: _Request) -> Simulation:
        """Announce the request and block until it is answered."""
        self.request = request
        self._add_time()
        self.events.put(self)
        answer: Simulation = self._wait()
        return answer

    def _add_time(self) -> None:
        self.duration += Duration(time.perf_counter() - self._since.wall, time.thread_time() - self._since.cpu)

    def _wait(self) -> Any:
        answer = self.answers.get()
        self.at_first_request, self.request = self.at_first_request and self.request is None, None
        self._since = Duration(time.perf_counter(), time.thread_time())
        if isinstance(answer, BaseException):
            raise answer
        return answer


@dataclass(frozen=True, eq=False)
class _Request:
    """Requested runs, without noise.

    Args:
        model, dt: as for `simulate`.
        chi: (B, P).
        reference: name -> (T, n).
        lanes: gains, shapes and start by name: (k,), or (B, k).
        keep: (K,) steps to record.
        options: further options of `simulate`; requests with different ones are never batched.
    """

    model: Model
    chi: Array
    reference: Mapping[str, ArrayLike]
    lanes: Mapping[str, Array]
    dt: float
    keep: Any
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Number of lanes."""
        return max(len(self.chi), *(len(x) for x in self.lanes.values() if x.ndim == 2), 1)

    @property
    def bytes(self) -> int:
        """Size of the recorded signals: position, velocity, acceleration and torque of every joint."""
        return 8 * self.size * len(self.keep) * 4 * self.model.layout.robot.n

    def compatible(self, other: _Request) -> bool:
        """Whether both can be lanes of one batch."""
        same = self.model is other.model and self.dt == other.dt and self.options == other.options
        return same and self.lanes.keys() == other.lanes.keys() and _equal(self.reference, other.reference)

    def equals(self, other: _Request) -> bool:
        """Whether both request the same runs."""
        same = self.compatible(other) and np.array_equal(self.chi, other.chi) and np.array_equal(self.keep, other.keep)
        return same and _equal(self.lanes, other.lanes)

    def simulated(self, requests: Sequence[_Request]) -> list[Simulation]:
        """The simulations of compatible requests, this one among them, computed as one batch."""
        counts = [request.size for request in requests]
        keep = _union([request.keep for request in requests])
        chi = np.concatenate([np.broadcast_to(r.chi, (n, r.chi.shape[1])) for r, n in zip(requests, counts, strict=True)])
        lanes = {name: _joined([r.lanes[name] for r in requests], counts) for name in self.lanes}
        gains = {name.removeprefix("gain "): x for name, x in lanes.items() if name.startswith("gain ")}
        start = (lanes["start 0"], lanes["start 1"]) if "start 0" in lanes else None
        batch = direct.simulate(
            self.model, chi, self.reference, gains, self.dt,
            RunOptions(shapes=lanes.get("shapes"), start=start, keep=keep, **self.options),
        )  # fmt: skip
        ends = np.cumsum(counts)
        return [_lanes(batch, slice(e - n, e), r.keep) for e, n, r in zip(ends, counts, requests, strict=True)]


def _within_bytes(threads: Sequence[_FitThread[T]], max_bytes: float) -> list[_FitThread[T]]:
    """The first threads whose requests together stay within `max_bytes`, at least one."""
    sizes = np.cumsum([thread.request.bytes for thread in threads if thread.request is not None])
    return list(threads[: max(1, int(np.searchsorted(sizes, max_bytes, "right")))])


class _InitialStateCache:
    """First simulations of fits: several methods, and fits to several records, simulate the same start first."""

    def __init__(self) -> None:
        self._entries: dict[bytes, list[tuple[_Request, Simulation, Duration]]] = {}
        self._count = 0

    def find(self, request: _Request) -> tuple[Simulation, Duration] | None:
        """The simulation of an equal request, and how long it took."""
        for other, simulation, duration in self._entries.get(request.chi.tobytes(), ()):
            if other.equals(request):
                return simulation, duration
        return None

    def add(self, request: _Request, simulation: Simulation, duration: Duration) -> None:
        """Cache a single run; not those whose signals stay in GPU memory, and none when the cache is full."""
        signals = {f.name: getattr(simulation, f.name) for f in fields(simulation) if f.name != "steps"}
        if request.size != 1 or self._count >= MAX_CACHED or not all(isinstance(x, np.ndarray) for x in signals.values()):
            return
        copies = {name: x.copy() for name, x in signals.items()}  # a view would keep the arrays of the whole batch in memory
        for signal in copies.values():
            signal.setflags(write=False)
        self._entries.setdefault(request.chi.tobytes(), []).append((request, replace(simulation, **copies), duration))
        self._count += 1


def _simulate_batch(threads: Sequence[_FitThread[Any]], cache: _InitialStateCache) -> list[Any]:
    """The simulation that every thread requested, or the error of its batch; compatible requests are one batch."""
    out: dict[int, Any] = {}
    groups: list[list[_FitThread[Any]]] = []
    for thread in threads:
        assert thread.request is not None
        if thread.at_first_request and (cached := cache.find(thread.request)) is not None:
            out[thread.number], duration = cached
            thread.duration += duration  # a fit's time does not depend on which of several simulated the start
            continue
        group = next((group for group in groups if group[0].request.compatible(thread.request)), None)  # type: ignore[union-attr]
        groups.append([thread]) if group is None else group.append(thread)
    for group in groups:
        requests = [thread.request for thread in group if thread.request is not None]
        begun = Duration(time.perf_counter(), time.process_time())
        try:
            answers: Sequence[Any] = requests[0].simulated(requests)
        except InerticaError as error:  # raised in every fit of the batch, from its own call
            answers = [error] * len(group)
        duration = Duration(time.perf_counter() - begun.wall, time.process_time() - begun.cpu)
        lanes = np.array([request.size for request in requests], float)
        for thread, answer, request, share in zip(group, answers, requests, lanes / lanes.sum(), strict=True):
            thread.duration += duration.scaled(float(share))
            out[thread.number] = answer
            if thread.at_first_request and isinstance(answer, Simulation):
                cache.add(request, answer, duration.scaled(float(share)))
    return [out[thread.number] for thread in threads]


def _equal(a: Mapping[str, ArrayLike], b: Mapping[str, ArrayLike]) -> bool:
    return a.keys() == b.keys() and all(a[k] is b[k] or np.array_equal(a[k], b[k]) for k in a)


def _union(steps: Sequence[Any]) -> Any:
    """Ascending steps that are in any of the lists."""
    if all(np.array_equal(steps[0], other) for other in steps[1:]):
        return steps[0]
    wanted = np.zeros(max(int(each[-1]) + 1 for each in steps if len(each)), bool)
    for each in steps:
        wanted[each] = True
    return np.flatnonzero(wanted)


def _joined(values: Sequence[Array], counts: Sequence[int]) -> Array:
    """One row for all runs where all are equal, otherwise one row per run."""
    if all(x.ndim < 2 and np.array_equal(x, values[0]) for x in values):
        return values[0]
    width = max(x.shape[-1] if x.ndim else 1 for x in values)
    return np.concatenate([np.broadcast_to(x, (n, width)) for x, n in zip(values, counts, strict=True)])


def _lanes(batch: Simulation, runs: slice, keep: Any) -> Simulation:
    """Some runs of a batch at the steps that their fit wants; views where these steps lie next to each other."""
    rows: Any = slice(None)
    if len(keep) != len(batch.steps):
        first = int(np.searchsorted(batch.steps, keep[0])) if len(keep) else 0
        rows = slice(first, first + len(keep))
        if not np.array_equal(batch.steps[rows], keep):
            rows = np.searchsorted(batch.steps, keep)
    signals = {f.name: getattr(batch, f.name)[runs][:, rows] for f in fields(batch) if f.name != "steps"}
    return replace(batch, steps=keep, **signals)
