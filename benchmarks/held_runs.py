"""Runs of a coverage benchmark, stored as they come, and tables of how often intervals held.

A run is a function of its number that returns row -> record; a record has `held`, a list of true, false or null (no interval) for each
quantity, or `failed`, the sentence that it ended in.  Records of a run go to the store together, one line each, so that a benchmark
that was stopped goes on with the first run that is not there.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Record = dict[str, Any]


def add_runs(parser: argparse.ArgumentParser, robots: Sequence[str], runs: int) -> None:
    """Options that such benchmarks share."""
    parser.add_argument("--robots", nargs="+", default=list(robots))
    parser.add_argument("--runs", type=int, default=runs)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="of processor time, then stop")
    parser.add_argument("--store", type=Path, help="file of records, one line each; runs that are in it are not run again")


def made_runs(arguments: argparse.Namespace, one: Callable[[int, str], tuple[Record, dict[str, Record]]]) -> list[Record]:
    """All records, those that were in the store among them.

    Args:
        arguments: of `add_runs`.
        one: number and robot of a run to what its records have in common, and row -> record; robots take turns.
    """
    warnings.simplefilter("ignore")
    records = [] if arguments.store is None else stored(arguments.store)
    done, begin = {r["run"] for r in records}, time.process_time()
    for run in range(arguments.first, arguments.first + arguments.runs):
        if run in done:
            continue
        name = arguments.robots[run % len(arguments.robots)]
        common, rows = one(run, name)
        new = [{"row": row, "robot": name, "run": run, **common, **found} for row, found in rows.items()]
        records += new
        if arguments.store is not None:
            with arguments.store.open("a") as file:
                file.write("".join(json.dumps(r) + "\n" for r in new))
        if time.process_time() - begin > 60.0 * arguments.minutes:
            break
    return records


def stored(path: Path) -> list[Record]:
    """The records of a store; none where there is no file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def shares(records: Sequence[Record], *by: str) -> Iterator[tuple[str, list[Record], str]]:
    """Row, and row with each of the named keys -> its records that did not fail, and the beginning of a line of the table.

    The standard error is that of the mean over runs: intervals of one run hold or miss together, so that a binomial one over all
    intervals would be too small.
    """
    for key in (None, *by):
        names = sorted({_named(r, key) for r in records})
        for name in names:
            every = [r for r in records if _named(r, key) == name]
            own = [r for r in every if "failed" not in r]
            each = [[float(v) for v in r["held"] if v is not None] for r in own]
            means, count = [np.mean(x) for x in each if x], sum(map(len, each))
            held = 100.0 * sum(map(sum, each)) / count if count else np.nan
            error = 100.0 * np.std(means, ddof=1) / np.sqrt(len(means)) if len(means) > 1 else np.nan
            yield name, own, f"{name:34} {len(own):5d} {len(every) - len(own):6d} {count:9d} {held:7.1f} {error:5.1f}"


HEAD = f"{'row':34} {'runs':>5} {'failed':>6} {'intervals':>9} {'held %':>7} {'+-':>5}"


def _named(record: Record, key: str | None) -> str:
    more = "" if key is None else f"; {record[key]}" if key == "robot" else f"; {key} {record[key]}"
    return f"{record['row']}{more}"
