"""Simulations of several fits as lanes of one batch: each fit waits where it simulates until all others wait, too.

An iteration that simulates one parameter vector at a time leaves most lanes of the processor empty, and nearly all of a graphics card.
Fits that know nothing of each other are begun side by side; whoever asks for a simulation is held until everybody asks, then all
are simulated at once and everybody goes on to the next question, or ends, by its own criterion.  What several begin with alike is
simulated once.  A lane does not depend on what is computed beside it, so the numbers are those of the fits one by one, bit for bit.

A fit is a plain function that knows nothing of this.  It runs in a thread of its own, but only where it does not wait, and only as
many at a time as are allowed to.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field, fields, replace
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from inertica.dynamics import simulate as plain
from inertica.dynamics.kernels import Array
from inertica.dynamics.model import Model
from inertica.dynamics.simulate import Simulation
from inertica.errors import InerticaError

T = TypeVar("T")

BEGINNINGS = 64
"""Simulations that fits begin with which are kept, some megabytes each."""

_TURN: ContextVar[_Turn | None] = ContextVar("turn", default=None)
"""The fit that is being computed here, when others are beside it."""


@dataclass(frozen=True)
class Spent:
    """Time that a fit took.

    Args:
        seconds: of the clock.
        cpu: of the processor.
    """

    seconds: float = 0.0
    cpu: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.seconds + other.seconds, self.cpu + other.cpu)

    def share(self, part: float) -> Spent:
        return Spent(part * self.seconds, part * self.cpu)


def simulate(
    model: Model, chi: ArrayLike, reference: Mapping[str, ArrayLike], gains: Mapping[str, ArrayLike], dt: float, **options: Any
) -> Simulation:
    """`inertica.dynamics.simulate.simulate`, together with others where there are others; runs with noise are not gathered."""
    turn = _TURN.get()
    if turn is None or options.get("noise") is not None or isinstance(options.get("keep", 1), int):
        return plain.simulate(model, chi, reference, gains, dt, **options)
    rows = np.atleast_2d(np.asarray(chi, float))
    lanes = {f"gain {name}": np.asarray(values, float) for name, values in gains.items()}
    shapes = options.pop("shapes", getattr(chi, "shapes", None))
    if shapes is not None:
        lanes["shapes"] = np.asarray(shapes, float)
    lanes |= {f"start {k}": np.asarray(x, float) for k, x in enumerate(options.pop("start", None) or ())}
    keep = np.asarray(options.pop("keep"), np.int64)
    found: Simulation = turn.ask(_Runs(model, rows, dict(reference), lanes, dt, keep, options))
    return found


def side_by_side(
    fits: Iterable[Callable[[], T]], at_once: int, abreast: int = 1, room: float = np.inf
) -> Iterator[tuple[int, T, Spent]]:
    """Every fit's number, what it returns and the time it took, in the order in which they end.

    Args:
        fits: called without arguments; what one raises is raised here.
        at_once: begun and not ended at any time; memory grows with it.
        abreast: computing at the same time while they do not wait.
        room: bytes that the signals of one batch may take; whoever finds none waits for the next batch.
    """
    waiting, said, begun_with = enumerate(fits), SimpleQueue[_Turn[T]](), _Beginnings()
    asking: dict[int, _Turn[T]] = {}
    busy: set[_Turn[T]] = set()
    with ThreadPoolExecutor(at_once) as pool:
        try:
            while True:
                begun = [_Turn(k, fit, said) for _, (k, fit) in zip(range(at_once - len(asking)), waiting, strict=False)]
                ready: list[tuple[_Turn[T], Any]] = [(turn.begin(pool), None) for turn in begun]
                if asking and not ready:
                    turns = _with_room([asking[number] for number in sorted(asking)], room)
                    ready = list(zip(turns, _answers(turns, begun_with), strict=True))
                    for turn in turns:
                        del asking[turn.number]
                if not ready:
                    return
                while ready or busy:
                    while ready and len(busy) < abreast:
                        turn, answer = ready.pop(0)
                        busy.add(turn)
                        turn.answer.put(answer)
                    turn = said.get()
                    busy.remove(turn)
                    if turn.asked is not None:
                        asking[turn.number] = turn
                    else:
                        yield turn.number, turn.future.result(), turn.spent
        finally:
            for turn in [*asking.values(), *busy, *(turn for turn, _ in ready)]:
                turn.answer.put(_Ended())


class _Ended(BaseException):
    """Raised in a fit that waits for an answer nobody wants any more."""


class _Turn(Generic[T]):
    """A fit in its thread.

    Args:
        number: of the fit.
        fit: what is computed.
        said: where it says that it waits, or has ended.
    """

    future: Future[T]

    def __init__(self, number: int, fit: Callable[[], T], said: SimpleQueue[_Turn[T]]) -> None:
        self.number, self.fit, self.said = number, fit, said
        self.answer: SimpleQueue[Any] = SimpleQueue()
        self.asked: _Runs | None = None
        self.begins = True
        self.spent, self._since = Spent(), Spent()

    def begin(self, pool: ThreadPoolExecutor) -> _Turn[T]:
        """In a thread of the pool, where it waits for its turn; the future tells what it came to, whatever that is."""
        self.future = pool.submit(copy_context().run, self._run)
        self.future.add_done_callback(lambda _: self.said.put(self))
        return self

    def _run(self) -> T:
        _TURN.set(self)
        self._answered()
        try:
            return self.fit()
        finally:
            self._count()

    def ask(self, request: _Runs) -> Any:
        """The answer to a request, when all others ask, too."""
        self.asked = request
        self._count()
        self.said.put(self)
        return self._answered()

    def _count(self) -> None:
        self.spent += Spent(time.perf_counter() - self._since.seconds, time.thread_time() - self._since.cpu)

    def _answered(self) -> Any:
        answer = self.answer.get()
        self.begins, self.asked = self.begins and self.asked is None, None
        self._since = Spent(time.perf_counter(), time.thread_time())
        if isinstance(answer, BaseException):
            raise answer
        return answer


@dataclass(frozen=True, eq=False)
class _Runs:
    """A request for runs without noise.

    Args:
        model, dt: as for `simulate`.
        chi: (B, P).
        reference: name -> (T, n).
        lanes: gains, shapes and start by name: (k,), or (B, k).
        keep: (K,) steps to record.
        options: what else there is to say; compared as it is.
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
        """Lanes."""
        return max(len(self.chi), *(len(x) for x in self.lanes.values() if x.ndim == 2), 1)

    @property
    def bytes(self) -> int:
        """Of what is recorded: position, velocity, acceleration and torque of every joint."""
        return 8 * self.size * len(self.keep) * 4 * self.model.layout.robot.n

    def joins(self, other: _Runs) -> bool:
        """Whether both can be lanes of one batch."""
        same = self.model is other.model and self.dt == other.dt and self.options == other.options
        return same and self.lanes.keys() == other.lanes.keys() and _equal(self.reference, other.reference)

    def equals(self, other: _Runs) -> bool:
        """Whether both ask for the same runs."""
        same = self.joins(other) and np.array_equal(self.chi, other.chi) and np.array_equal(self.keep, other.keep)
        return same and _equal(self.lanes, other.lanes)

    def answered(self, others: Sequence[_Runs]) -> list[Simulation]:
        """Each of these requests, which join this one."""
        counts = [request.size for request in others]
        keep = _union([request.keep for request in others])
        chi = np.concatenate([np.broadcast_to(r.chi, (n, r.chi.shape[1])) for r, n in zip(others, counts, strict=True)])
        lanes = {name: _joined([r.lanes[name] for r in others], counts) for name in self.lanes}
        gains = {name.removeprefix("gain "): x for name, x in lanes.items() if name.startswith("gain ")}
        start = (lanes["start 0"], lanes["start 1"]) if "start 0" in lanes else None
        found = plain.simulate(
            self.model, chi, self.reference, gains, self.dt,
            shapes=lanes.get("shapes"), start=start, keep=keep, **self.options,
        )  # fmt: skip
        ends = np.cumsum(counts)
        return [_lanes(found, slice(e - n, e), r.keep) for e, n, r in zip(ends, counts, others, strict=True)]


def _with_room(turns: Sequence[_Turn[T]], room: float) -> list[_Turn[T]]:
    """The first of those who ask, as many as find room, one at least."""
    taken = np.cumsum([turn.asked.bytes for turn in turns if turn.asked is not None])
    return list(turns[: max(1, int(np.searchsorted(taken, room, "right")))])


class _Beginnings:
    """What fits begin with: several methods, and fits to several records, simulate the same start first."""

    def __init__(self) -> None:
        self._known: dict[bytes, list[tuple[_Runs, Simulation, Spent]]] = {}
        self._count = 0

    def find(self, request: _Runs) -> tuple[Simulation, Spent] | None:
        """The answer to an equal request, and what it took."""
        for other, found, took in self._known.get(request.chi.tobytes(), ()):
            if other.equals(request):
                return found, took
        return None

    def keep(self, request: _Runs, found: Simulation, took: Spent) -> None:
        """A single run, unless it stays on a card or there are many already."""
        signals = {f.name: getattr(found, f.name) for f in fields(found) if f.name != "steps"}
        if request.size != 1 or self._count >= BEGINNINGS or not all(isinstance(x, np.ndarray) for x in signals.values()):
            return
        own = {name: x.copy() for name, x in signals.items()}  # less than the batch they are part of
        for signal in own.values():
            signal.setflags(write=False)
        self._known.setdefault(request.chi.tobytes(), []).append((request, replace(found, **own), took))
        self._count += 1


def _answers(turns: Sequence[_Turn[Any]], beginnings: _Beginnings) -> list[Any]:
    """Of every request, those that go together in one batch; an error for all whose batch failed."""
    out: dict[int, Any] = {}
    groups: list[list[_Turn[Any]]] = []
    for turn in turns:
        assert turn.asked is not None
        if turn.begins and (known := beginnings.find(turn.asked)) is not None:
            out[turn.number], took = known
            turn.spent += took  # as if it had been alone
            continue
        own = next((group for group in groups if group[0].asked.joins(turn.asked)), None)  # type: ignore[union-attr]
        groups.append([turn]) if own is None else own.append(turn)
    for group in groups:
        requests = [turn.asked for turn in group if turn.asked is not None]
        begun = Spent(time.perf_counter(), time.process_time())
        try:
            found: Sequence[Any] = requests[0].answered(requests)
        except InerticaError as error:  # every fit of the batch gets it where it asked
            found = [error] * len(group)
        took = Spent(time.perf_counter() - begun.seconds, time.process_time() - begun.cpu)
        lanes = np.array([request.size for request in requests], float)
        for turn, answer, request, part in zip(group, found, requests, lanes / lanes.sum(), strict=True):
            turn.spent += took.share(float(part))
            out[turn.number] = answer
            if turn.begins and isinstance(answer, Simulation):
                beginnings.keep(request, answer, took.share(float(part)))
    return [out[turn.number] for turn in turns]


def _equal(a: Mapping[str, ArrayLike], b: Mapping[str, ArrayLike]) -> bool:
    return a.keys() == b.keys() and all(a[k] is b[k] or np.array_equal(a[k], b[k]) for k in a)


def _union(steps: Sequence[Any]) -> Any:
    """All steps that somebody records, ascending."""
    if all(np.array_equal(steps[0], own) for own in steps[1:]):
        return steps[0]
    wanted = np.zeros(max(int(own[-1]) + 1 for own in steps if len(own)), bool)
    for own in steps:
        wanted[own] = True
    return np.flatnonzero(wanted)


def _joined(values: Sequence[Array], counts: Sequence[int]) -> Array:
    """One row for all where all are the same, otherwise one per run."""
    if all(x.ndim < 2 and np.array_equal(x, values[0]) for x in values):
        return values[0]
    width = max(x.shape[-1] if x.ndim else 1 for x in values)
    return np.concatenate([np.broadcast_to(x, (n, width)) for x, n in zip(values, counts, strict=True)])


def _lanes(found: Simulation, which: slice, keep: Any) -> Simulation:
    rows: Any = slice(None)
    if len(keep) != len(found.steps):
        first = int(np.searchsorted(found.steps, keep[0])) if len(keep) else 0
        rows = slice(first, first + len(keep))
        if not np.array_equal(found.steps[rows], keep):
            rows = np.searchsorted(found.steps, keep)
    signals = {f.name: getattr(found, f.name)[which][:, rows] for f in fields(found) if f.name != "steps"}
    return replace(found, steps=keep, **signals)
