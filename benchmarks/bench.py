"""What all benchmark scripts share: interleaved timing, one table of ratios, `--json`.

A row names ours and the peer it is measured against in the same run; ratio > 1 means ours is better.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Row:
    """One comparison."""

    name: str
    ours: float
    peer: float
    unit: str
    of: str

    @property
    def ratio(self) -> float:
        return self.peer / self.ours


def best_of(jobs: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Shortest time of each job in seconds; the jobs take turns, so that a busy machine slows all of them alike."""
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(repeats):
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def arguments(description: str, more: Callable[[argparse.ArgumentParser], object] | None = None) -> argparse.Namespace:
    """The options all scripts share, and those that `more` adds."""
    parser = argparse.ArgumentParser(description=description)
    if more is not None:
        more(parser)
    parser.add_argument("--json", action="store_true", help="a list of {name, ours, peer, unit, ratio, of} on stdout")
    parser.add_argument("--repeats", type=int, default=5, help="each job runs this often, the shortest time counts (default 5)")
    return parser.parse_args()


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def show(rows: list[Row], as_json: bool) -> None:
    """Print the table, or the JSON list."""
    if as_json:
        print(json.dumps([asdict(r) | {"ratio": r.ratio} for r in rows], indent=1))
        return
    print(f"{'name':28} {'ours':>12} {'peer':>12}  {'unit':14} {'ratio':>9}  of")
    for r in rows:
        print(f"{r.name:28} {r.ours:12.5g} {r.peer:12.5g}  {r.unit:14} {r.ratio:8.1f}x  {r.of}")
