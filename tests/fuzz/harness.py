"""Doubtful inputs, one after the other: each ends in a result, a sentence with exit code 2, or warnings; anything else is kept."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from fuzz.mutations import mutated
from inertica.errors import InputError

READ, WARNED, REFUSED, BAD = "read", "read with warnings", "refused", "BAD"
SECONDS = 20.0
"""Most processor time of one input; it may last ten times as long on a machine with other work."""

MEMORY = 1500
"""MB by which one input may raise the most memory that the process ever had."""


@dataclass(frozen=True)
class Subject:
    """A reader with sound input.

    Args:
        name: of the reader.
        make: writes sound files into an empty folder.
        read: reads them as a user's command would; returns what it left out or found doubtful.
        spared: files that are not damaged.
        cost: how long one input takes beside others; the long form gives shares accordingly.
    """

    name: str
    make: Callable[[Path], object]
    read: Callable[[Path], Sequence[str]]
    spared: tuple[str, ...] = ()
    cost: float = 1.0


@dataclass(frozen=True)
class Outcome:
    """What became of an input.

    Args:
        kind: read, read with warnings, refused or BAD.
        words: of the sentence, or of what went wrong.
        trace: where.
    """

    kind: str
    words: str = ""
    trace: str = ""


class TooLongError(BaseException):
    """No reader may swallow it."""


@dataclass
class Bench:
    """A subject with its sound files, ready to be damaged over and over.

    Args:
        subject: which.
        folder: an own one; what is read lies in `folder/input`.
    """

    subject: Subject
    folder: Path
    sound: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.subject.make(self._clean())
        files = sorted(p for p in self.input.rglob("*") if p.is_file())
        self.sound = {str(p.relative_to(self.input)): p.read_bytes() for p in files}

    @property
    def input(self) -> Path:
        return self.folder / "input"

    def _clean(self) -> Path:
        shutil.rmtree(self.input, ignore_errors=True)
        self.input.mkdir(parents=True)
        return self.input

    def lay_out(self, seed: int) -> None:
        """The damaged input of a seed."""
        draw = random.Random(f"{self.subject.name} {seed}")
        folder = self._clean()
        for name, content in self.sound.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        names = (
            [name for name in self.sound if not name.endswith(self.subject.spared)] if self.subject.spared else list(self.sound)
        )
        for name in draw.sample(names, k=min(len(names), draw.choice([1, 1, 1, 2]))):
            if len(self.sound) > 1 and draw.random() < 0.03:
                (folder / name).unlink()
            else:
                (folder / name).write_bytes(mutated(name, self.sound[name], draw))

    def outcome(self, seed: int, seconds: float = SECONDS) -> Outcome:
        """Damage and read once."""
        self.lay_out(seed)
        return self.read(seconds)

    def read(self, seconds: float = SECONDS) -> Outcome:
        before = _most_memory()
        try:
            with warnings.catch_warnings(), limited(seconds):
                warnings.simplefilter("ignore")
                said = self.subject.read(self.input)
        except InputError as error:
            words = str(error)
            found = Outcome(REFUSED, words) if words.strip() and "Traceback" not in words else Outcome(BAD, "an empty sentence")
        except TooLongError:
            found = Outcome(BAD, f"longer than {seconds:g} s", traceback.format_exc())
        except Exception as error:
            found = Outcome(BAD, f"{type(error).__name__}: {error}"[:300], traceback.format_exc())
        else:
            found = Outcome(WARNED if said else READ, "; ".join(said)[:300])
        if (grown := _most_memory() - before) > MEMORY:
            found = Outcome(BAD, f"{grown:.0f} MB of memory ({found.kind}: {found.words[:100]})")
        return found


def _most_memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Ends what takes more processor time, or waits ten times as long."""

    def end(number: int, frame: FrameType | None) -> None:
        raise TooLongError

    clocks = {signal.ITIMER_PROF: (signal.SIGPROF, seconds), signal.ITIMER_REAL: (signal.SIGALRM, 10.0 * seconds)}
    before = {number: signal.signal(number, end) for number, _ in clocks.values()}
    for clock, (_, most) in clocks.items():
        signal.setitimer(clock, most)
    try:
        yield
    finally:
        for clock in clocks:
            signal.setitimer(clock, 0.0)
        for number, handler in before.items():
            signal.signal(number, handler)


def reproducer(subject: str, seed: int) -> str:
    """A command that does it again."""
    return f"PYTHONPATH=tests python -m fuzz.long --only {subject} --seed {seed}"


def told(counts: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """A table of outcomes by subject."""
    kinds = (READ, WARNED, REFUSED, BAD)
    yield f"{'':16}" + "".join(f"{kind:>20}" for kind in kinds) + f"{'inputs':>10}"
    for name, own in counts.items():
        yield f"{name:16}" + "".join(f"{own.get(kind, 0):20}" for kind in kinds) + f"{sum(own.values()):10}"
    sums = {kind: sum(own.get(kind, 0) for own in counts.values()) for kind in kinds}
    yield f"{'all':16}" + "".join(f"{sums[kind]:20}" for kind in kinds) + f"{sum(sums.values()):10}"


def single_threaded() -> None:
    """Several processes share the machine."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")
