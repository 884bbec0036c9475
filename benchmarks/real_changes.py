"""Records of real robots as other recorders and drives would have written them: what becomes of their estimates.

After a harmless change (tests/changes.py) nothing is refused, no problem appears, no more estimates are out of their intervals than
by chance, and predictions are as good; a harmful one is said, or shown in the intervals.  The truth is unknown: what is found from the
record as it is takes its place.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from bench import say
from real_records import RECORDS, Record
from scipy.stats import binom

import inertica as ia
from inertica.identifiability.labels import DETERMINED, WEAK
from inertica.robot.description import Description
from inertica.robot.layout import Parameters

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from changes import HARMLESS, LATE_VELOCITY, LOW_PASSED, Change, Columns, named_joints, read, unchanged, write

BY_NAME = {record.name: record for record in RECORDS}

UNCHANGED = Change("unchanged", unchanged)

CHANCE = 1e-3
"""Of a failure although every interval holds in 95 %: how many misses are allowed follows from it."""

WORSE = 1.1
"""Residual of a log that took no part, relative to that without the change."""

UNDECIDED = 0.1
"""Of the larger half-width: what differs by less does not count, where truth is unknown and intervals hold noise alone."""

HELD = "left_out.csv"
"""End of the names of logs that take no part."""

FIT, SHORT, REST = 0.7, 0.35, 0.7
"""Share of the first motion that is fitted, that of the short form, and where the part that takes no part begins."""


@dataclass(frozen=True, eq=False)
class Recording:
    """A log that was made or recorded once, to be changed.

    Args:
        robot: as its user describes it.
        columns: of the log.
        left_out: a further log, which is never changed.
        truth: parameters of a simulated robot.
        comments: first lines of the file.
    """

    robot: Path | Description
    columns: Columns
    left_out: Path
    truth: Parameters | None = None
    comments: Sequence[str] = ()

    def identified(self, change: Change, folder: Path) -> ia.Result:
        """By all defaults."""
        own = folder / change.name.replace("%", "percent")
        own.mkdir()
        files = change.files(self.columns, own, self.comments)
        return ia.identify(self.robot, [str(f) for f in files], validate=[str(self.left_out)])


@dataclass(frozen=True, eq=False)
class Reference:
    """A recording and what is found from it unchanged."""

    recording: Recording
    result: ia.Result


def recorded(record: Record, folder: Path, share: float = FIT) -> Reference:
    """A share of the first motion of a real record to fit; its end is left out."""
    window = record.windows[0]
    whole = read(record.folder / window.file, window.start, window.end)
    ends = [window.start + part * (window.end - window.start) for part in (share, REST)]
    own = folder / record.name
    own.mkdir()
    rest = whole["t"] > ends[1]
    write(own / HELD, {key: x[rest] for key, x in whole.items()})
    first = whole["t"] <= ends[0]
    recording = Recording(record.card(own), {key: x[first] for key, x in whole.items()}, own / HELD)
    return Reference(recording, recording.identified(UNCHANGED, own))


def problems(result: ia.Result) -> set[str]:
    """Names of what the check of the logs would have refused them for."""
    return set() if result.check is None else {f.name for f in result.check.problems}


def left_out(result: ia.Result) -> float:
    """Relative residual of the raw torque of the log that took no part."""
    return next(r.raw.all for name, r in result.residuals.items() if name.endswith(HELD))


def most_misses(intervals: int) -> int:
    """Misses of so many intervals, each of which holds in 95 %, that chance alone exceeds with the probability `CHANCE`."""
    return int(binom.ppf(1.0 - CHANCE, intervals, 0.05))


def apart(a: ia.Result, b: ia.Result, name: str) -> tuple[float, float, float]:
    """Difference of a parameter's values, and half the width of both intervals."""
    i, j = a.parameters.layout.index(name), b.parameters.layout.index(name)
    halves = 0.5 * np.ptp(a.intervals[i]), 0.5 * np.ptp(b.intervals[j])
    return float(abs(a.parameters.values[i] - b.parameters.values[j])), float(halves[0]), float(halves[1])


def differences(a: ia.Result, b: ia.Result) -> dict[str, float]:
    """Parameter -> difference over the larger half-width of both intervals, where both call it determined."""
    first, second = a.parameters.layout, b.parameters.layout
    both = [n for n in first.names if n in second.names and a.labels[n] == b.labels[n] == DETERMINED]
    sizes = {name: apart(a, b, name) for name in both}
    return {name: size / max(halves) for name, (size, *halves) in sizes.items()}


def newly_wrong(before: ia.Result, after: ia.Result) -> dict[str, float]:
    """Parameter that was weak, is called determined and whose intervals do not meet -> difference over their half-widths together."""
    layout = after.parameters.layout
    names = [n for n in before.parameters.layout.names if n in layout.names]
    risen = [n for n in names if before.labels[n] == WEAK and after.labels[n] == DETERMINED]
    sizes = {name: apart(before, after, name) for name in risen}
    return {name: size / sum(halves) for name, (size, *halves) in sizes.items() if size > sum(halves)}


@dataclass(frozen=True)
class Effect:
    """What a change does to a record.

    Args:
        record, change: which.
        refusal: the error that it ended in; empty as a rule.
        problems: of the check, that it did not find before.
        ratio: residual of the log that took no part, over that without the change.
        determined: parameters that are called so with the change and without it.
        far: those of them that differ by more than the larger half-width of their intervals, and by how many.
        wrong: parameters that are called determined with the change, were weak without it, and are elsewhere.
        warnings: names of what the check warns of besides, and did not before.
        delays: by which torques are read later than without the change, in s, in the mean.
        velocity: where the fit takes it from.
        exact: the numbers of the fit must be the same.
        seconds: of processor time.
        result: with the change.
    """

    record: str
    change: str
    refusal: str = ""
    problems: tuple[str, ...] = ()
    ratio: float = float("nan")
    determined: int = 0
    far: Mapping[str, float] | None = None
    wrong: Mapping[str, float] | None = None
    warnings: tuple[str, ...] = ()
    delays: float = 0.0
    velocity: str = ""
    exact: bool = False
    seconds: float = 0.0
    result: ia.Result | None = None

    @classmethod
    def of(cls, record: str, reference: Reference, change: Change, folder: Path) -> Effect:
        before, start = reference.result, time.process_time()
        try:
            after = reference.recording.identified(change, folder)
        except ia.InerticaError as error:
            return cls(record, change.name, refusal=str(error), exact=change.exact)
        sizes = differences(before, after)
        known = reference.recording.truth is not None
        limit = 1e-6 if change.exact else 1.0 if known else 1.0 + UNDECIDED
        n = before.description.robot.n
        delays = [float(np.mean(r.recipe.delays(n))) for r in (before, after)]
        return cls(
            record, change.name, "", tuple(sorted(problems(after) - problems(before))), left_out(after) / left_out(before),
            len(sizes), {k: x for k, x in sizes.items() if x > limit}, newly_wrong(before, after), warnings(after, before),
            delays[1] - delays[0], after.recipe.velocity, change.exact, time.process_time() - start, after,
        )  # fmt: skip

    @property
    def misses(self) -> int:
        """Parameters that may differ."""
        return 0 if self.exact else most_misses(self.determined)

    def faults(self) -> Iterator[str]:
        """What a harmless change must not do, one phrase each."""
        if self.refusal:
            yield f"refused: {self.refusal}"
            return
        yield from (f"problem: {name}" for name in self.problems)
        if self.ratio > WORSE:
            yield f"residual of the log left out times {self.ratio:.2f}"
        if len(self.far or ()) > self.misses:
            yield f"out of their intervals: {phrase(self.far)} of {self.determined}, {self.misses} allowed"
        if self.wrong:
            yield f"weak, now determined and elsewhere: {phrase(self.wrong)}"

    @property
    def said(self) -> bool:
        """Whether the program names a harmful change, or takes it out: by the velocity it leaves, or by the delay."""
        return bool(self.warnings) or self.velocity == "differences" or self.delays > 2e-3

    def document(self) -> dict[str, object]:
        return asdict(replace(self, result=None)) | {"faults": list(self.faults())}


def warnings(after: ia.Result, before: ia.Result) -> tuple[str, ...]:
    """Notes and warnings of the check that it did not have before."""
    noted = [{f.name for f in r.check.findings if f.verdict != "fine"} if r.check else set() for r in (after, before)]
    return tuple(sorted(noted[0] - noted[1]))


def phrase(sizes: Mapping[str, float] | None) -> str:
    return ", ".join(f"{name} {x:.1f}" for name, x in (sizes or {}).items()) or "none"


def harmless(robot: Path | Description, columns: Columns) -> Iterator[Change]:
    """Those that can happen to a log."""
    yield from (c for c in HARMLESS if c.applies(columns))
    if "q1" in columns and "tau1" in columns:
        yield Change("joints by name", named_joints(ia.load(robot).robot.joint_names), exact=True)


def effects(record: Record, folder: Path, short: bool, only: Sequence[str] = ()) -> Iterator[Effect]:
    """Every change of a record's first motion; harmful ones come last."""
    reference = recorded(record, folder, SHORT if short else FIT)
    columns = reference.recording.columns
    for change in (*harmless(reference.recording.robot, columns), LATE_VELOCITY, *LOW_PASSED):
        if not only or any(word in change.name for word in only):
            effect = Effect.of(record.name, reference, change, folder / record.name)
            say(f"{record.name}: {change.name}: {'; '.join(effect.faults()) or 'fine'} ({effect.seconds:.0f} s)")
            yield effect


HARMFUL = frozenset(c.name for c in (LATE_VELOCITY, *LOW_PASSED))


def harmful(effect: Effect) -> bool:
    """A harmless change that did harm, or a harmful one of which nothing is said although intervals do not hold."""
    wrong = any(effect.faults())
    return wrong and not (effect.change in HARMFUL and (effect.said or effect.refusal))


def table(rows: Sequence[Effect]) -> str:
    """As Markdown."""
    lines = [
        "| record | change | determined | out | residual | said | faults |",
        "| --- | --- | ---: | ---: | ---: | --- | --- |",
    ]
    for r in rows:
        said = ", ".join(r.warnings) or (r.velocity if r.change == LATE_VELOCITY.name else f"{1e3 * r.delays:+.1f} ms")
        faults = "; ".join(r.faults()) or "-"
        lines.append(f"| {r.record} | {r.change} | {r.determined} | {len(r.far or ())} | {r.ratio:.3f} | {said} | {faults} |")
    return "\n".join(lines)
