"""`inertica check` on slices of records of real robots: a problem that is not known of the record is a false one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from bench import say
from real_records import Record, Window

import inertica as ia
from inertica.robot.plain import assumed_friction

LENGTHS = (5.0, 10.0)
"""s of the slices that a motion is cut into, besides its halves."""

FRICTION = {"stated": "friction: [viscous, coulomb]", "automatic": "friction: auto"}


@dataclass(frozen=True)
class Problem:
    """A finding that would stop a fit, and is not known of the record."""

    name: str
    text: str


@dataclass(frozen=True)
class SliceCheck:
    """What the check said of one slice; `refusal` is the error that it ended in, empty as a rule."""

    record: str
    slice: str
    friction: str
    problems: tuple[Problem, ...]
    refusal: str
    seconds: float

    def document(self) -> dict[str, object]:
        return asdict(self)

    def sentences(self) -> Iterator[str]:
        """One per false problem."""
        where = f"{self.record} {self.slice}, friction {self.friction}"
        yield from (f"{where}: {p.name}: {p.text}" for p in self.problems)
        if self.refusal:
            yield f"{where}: ends in an error: {self.refusal}"


def slices(window: Window) -> Iterator[Window]:
    """Pieces of 5 s and of 10 s, as many as fit, and halves."""
    duration = window.end - window.start
    for length in (*LENGTHS, duration / 2.0):
        for k in range(int(duration / length + 1e-9)):
            yield Window(window.file, window.start + k * length, window.start + (k + 1) * length)


def check_slices(record: Record, folder: Path) -> Iterator[SliceCheck]:
    """All slices of a record, with friction stated and left to the program."""
    for friction, line in FRICTION.items():
        robot = described(record, line, folder)
        for window in record.windows:
            for piece in slices(window):
                yield check_slice(record, piece, friction, robot)


def described(record: Record, line: str, folder: Path) -> ia.Description:
    """The robot that `identify` holds a log against: without a stated law it assumes plain friction with offsets."""
    return assumed_friction(ia.load(record.card(folder, line)))


def check_slice(record: Record, piece: Window, friction: str, robot: ia.Description) -> SliceCheck:
    start, refusal = time.perf_counter(), ""
    problems: tuple[Problem, ...] = ()
    try:
        quality = ia.check(robot, [piece.path(record.folder)])
        problems = tuple(Problem(f.name, f.text) for f in quality.problems if f.name not in record.defects)
    except ia.InerticaError as error:
        refusal = str(error)
    name = f"{piece.name} {piece.start:.4g} to {piece.end:.4g} s"
    out = SliceCheck(record.name, name, friction, problems, refusal, time.perf_counter() - start)
    for sentence in out.sentences():
        say(sentence)
    return out


def summary(checks: list[SliceCheck]) -> str:
    """Counts by finding, then every sentence."""
    names = [p.name for c in checks for p in c.problems] + ["error" for c in checks if c.refusal]
    counts = ", ".join(f"{names.count(name)} {name}" for name in dict.fromkeys(names)) or "none"
    head = f"{len(checks)} checks of slices, {sum(any(c.sentences()) for c in checks)} with a false problem: {counts}"
    return "\n".join([head, *(sentence for c in checks for sentence in c.sentences())])
