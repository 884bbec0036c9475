"""All programs on all splits of the records that are there: rows of a leaderboard, and its page."""

from __future__ import annotations

import platform
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from inertica import __version__
from inertica.benchmark.manifest import MANIFEST, Record, Split, available, read_window, records
from inertica.benchmark.plain import Recorded, score
from inertica.benchmark.programs import PROGRAMS, Program
from inertica.errors import InerticaError, InputError, ModelWarning, nearest


@dataclass(frozen=True)
class BenchmarkRow:
    """One program on one split.

    Args:
        robot: name of the record.
        split: what was predicted.
        program: its name.
        raw, low: |tau - prediction| / |tau| of the part left out, as recorded and low-passed; NaN without a prediction.
        consistent: whether every link could exist; None for programs that give no links.
        covered: how many 95 % intervals hold the true value, and of how many; None without intervals or truth.
        time: s of processor time, reading and fitting and predicting.
        settings: what a user had to state besides model and log.
        problem: in the program's own words; empty where there was none.
    """

    robot: str
    split: str
    program: str
    raw: float
    low: float
    consistent: bool | None
    time: float
    settings: tuple[str, ...]
    problem: str = ""
    covered: tuple[int, int] | None = None


@dataclass(frozen=True)
class Benchmark:
    """A whole run.

    Args:
        rows: all programs on all splits.
        records: that were there.
        absent: names of records whose files were not there.
        missing: program -> package without which it did not run.
    """

    rows: tuple[BenchmarkRow, ...]
    records: tuple[Record, ...] = field(repr=False)
    absent: tuple[str, ...] = ()
    missing: dict[str, str] = field(default_factory=dict)


def benchmark(
    data: str | Path,
    manifest: str | Path = MANIFEST,
    only: Sequence[str] = (),
    programs: Sequence[str] = (),
    short: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> Benchmark:
    """Runs the programs that are installed on the records that are in a folder.

    Args:
        data: folder with the records' own folders.
        manifest: what the records are.
        only: names of records; all by default.
        programs: names; all by default.
        short: one split of each record.
        progress: receives a line before every fit.

    Examples:
        >>> done = ia.benchmark("records", only=["panda"], programs=["inertica"])  # doctest: +SKIP
        >>> [(row.robot, row.split, row.raw, row.low) for row in done.rows]  # doctest: +SKIP
    """
    everything = records(Path(data), Path(manifest))
    wanted = _chosen(only, [r.name for r in everything], "record")
    used = [PROGRAMS[name] for name in _chosen(programs, list(PROGRAMS), "program")]
    if not everything:
        raise InputError(f"{manifest} names no record")
    usable = tuple(r for r in everything if r.name in wanted and available(r))
    if not usable:
        raise InputError(
            f"{data} holds none of the records {', '.join(wanted)}; see docs/benchmark.md for where they are published"
        )
    running = [program for program in used if not program.missing()]
    rows = [
        _row(program, record, split, test, progress)
        for record in usable
        for split, test in ((s, read_window(record, s.test)) for s in _splits(record, short))
        for program in running
    ]
    absent = tuple(r.name for r in everything if r.name in wanted and r not in usable)
    return Benchmark(tuple(rows), usable, absent, {p.name: p.missing() for p in used if p.missing()})


def _chosen(names: Sequence[str], known: Sequence[str], what: str) -> Sequence[str]:
    for name in names:
        if name not in known:
            raise InputError(f"there is no {what} '{name}'; {nearest(name, known)}")
    return names or known


def _splits(record: Record, short: bool) -> list[Split]:
    return list(record.splits())[: 1 if short else None]


def _row(program: Program, record: Record, split: Split, test: Recorded, progress: Callable[[str], None]) -> BenchmarkRow:
    progress(f"{record.name}, {split.name}: {program.name}")
    start, settings = time.process_time(), program.settings(record)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            done = program.predict(record, split)
    except (InerticaError, np.linalg.LinAlgError, ValueError) as error:  # of any program: its row says so
        spent = time.process_time() - start
        return BenchmarkRow(record.name, split.name, program.name, np.nan, np.nan, None, spent, settings, str(error))
    spent = time.process_time() - start
    measured = score(test, done.torque, record.columns)
    return BenchmarkRow(
        record.name, split.name, program.name, measured.raw, measured.low, done.consistent, spent, settings, done.problem,
        done.covered,
    )  # fmt: skip


COLUMNS = (
    "robot",
    "left out",
    "program",
    "raw %",
    "low-passed %",
    "links possible",
    "intervals that hold",
    "s",
    "stated by hand",
)


def cells(row: BenchmarkRow) -> tuple[str, ...]:
    """Of a row of the leaderboard, as text."""
    raw, low = (f"{100 * x:.2f}" if np.isfinite(x) else "-" for x in (row.raw, row.low))
    possible = {True: "yes", False: "no", None: "-"}[row.consistent]
    stated = ", ".join(row.settings) or "nothing"
    program = f"{row.program} (refused, forced)" if row.problem and raw != "-" else row.program
    held = "-" if row.covered is None else f"{row.covered[0]} of {row.covered[1]}"
    return row.robot, row.split, program, raw, low, possible, held, f"{row.time:.1f}", stated


ABOUT = (
    "Each program saw one part of a record and predicted the torque of the part left out. raw: share of the torque as recorded that "
    "the prediction misses; low-passed: both sides through one zero-phase low-pass; intervals that hold: 95 % intervals of base "
    "parameters around the true value, where it is known; s: processor time of reading, fit and prediction. Best of each split in "
    "bold."
)


def page(done: Benchmark) -> str:
    """The leaderboard as Markdown."""
    return "\n".join(_lines(done)) + "\n"


def _lines(done: Benchmark) -> Iterator[str]:
    yield "# Leaderboard"
    yield ""
    yield f"inertica {__version__}, Python {platform.python_version()}, {platform.machine()}. {ABOUT}"
    yield ""
    yield f"| {' | '.join(COLUMNS)} |"
    yield "| --- | --- | --- | ---: | ---: | --- | --- | ---: | --- |"
    for row in done.rows:
        rivals = [r for r in done.rows if (r.robot, r.split) == (row.robot, row.split)]
        shown = list(cells(row))
        for k, key in ((3, "raw"), (4, "low")):
            if getattr(row, key) == np.nanmin([getattr(r, key) for r in rivals] or [np.nan]):
                shown[k] = f"**{shown[k]}**"
        yield f"| {' | '.join(shown)} |"
    yield ""
    yield "| record | published | licence |"
    yield "| --- | --- | --- |"
    for record in done.records:
        yield f"| {record.name} | {record.published or 'unknown'} | {record.licence or 'unknown'} |"
    yield ""
    for row in done.rows:
        if row.problem:
            yield f"* {row.program} on {row.robot}, {row.split}: {' '.join(row.problem.split())}"
    for name, package in done.missing.items():
        yield f"* {name} did not run: the package {package} is not installed."
    if done.absent:
        yield f"* Records that were not in the folder: {', '.join(done.absent)}."
