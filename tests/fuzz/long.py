"""The long form: `make fuzz`, or `PYTHONPATH=tests python -m fuzz.long --inputs 100000 --workers 2 --only csv,urdf --seed 7`.

Inputs are numbered per reader; the same number is the same input.  With --seed one input is done again, with its trace and its files.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
from collections import Counter, defaultdict
from multiprocessing.connection import Connection
from pathlib import Path

from fuzz.harness import BAD, Bench, Outcome, reproducer, single_threaded, told

BLOCK = 1000
"""Inputs of one worker process: memory and compiled code start anew."""

GB = 2**30


def _work(name: str, first: int, count: int, pipe: Connection) -> None:
    import resource

    single_threaded()
    resource.setrlimit(resource.RLIMIT_AS, (12 * GB, 12 * GB))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    from fuzz.subjects import SUBJECTS

    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        bench = Bench(SUBJECTS[name], Path(folder))
        for seed in range(first, first + count):
            pipe.send(seed)
            pipe.send(bench.outcome(seed))


def _block(name: str, first: int, count: int) -> list[tuple[int, Outcome]]:
    """A block in a process of its own; one that a reader brings down is told, and the rest goes on behind it."""
    context, out = multiprocessing.get_context("spawn"), list[tuple[int, Outcome]]()
    end = first + count
    while first < end:
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(name, first, end - first, theirs))
        process.start()
        theirs.close()
        try:
            while True:
                first = ours.recv()
                out.append((first, ours.recv()))
                first += 1
        except EOFError:
            process.join()
            if process.exitcode or first < end:
                out.append((first, Outcome(BAD, f"the process ended with {process.exitcode}")))
                first += 1
    return out


def _again(name: str, seed: int) -> int:
    from fuzz.subjects import SUBJECTS

    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    found = Bench(SUBJECTS[name], folder).outcome(seed)
    print(f"{found.kind}: {found.words}\n{found.trace}input in {folder / 'input'}")
    return int(found.kind == BAD)


def main() -> int:
    single_threaded()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000, help="in all, shared out by what one costs")
    parser.add_argument("--only", default="", help="readers, separated by commas")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--seed", type=int, help="do this input again")
    arguments = parser.parse_args()
    from fuzz.subjects import SUBJECTS

    names = [name for name in arguments.only.split(",") if name] or list(SUBJECTS)
    if arguments.seed is not None:
        return _again(names[0], arguments.seed)
    share = arguments.inputs / sum(1.0 / SUBJECTS[name].cost for name in names)
    counts: dict[str, Counter[str]] = {name: Counter() for name in names}
    bad: dict[tuple[str, str], list[int]] = defaultdict(list)
    blocks = [
        (name, first, min(BLOCK, total + arguments.first - first))
        for name in names
        for total in [max(round(share / SUBJECTS[name].cost), 1)]
        for first in range(arguments.first, arguments.first + total, BLOCK)
    ]
    with multiprocessing.pool.ThreadPool(arguments.workers) as pool:
        for (name, *_), found in zip(blocks, pool.imap(lambda block: _block(*block), blocks), strict=True):
            for seed, outcome in found:
                counts[name][outcome.kind] += 1
                if outcome.kind == BAD:
                    where = [line.strip() for line in outcome.trace.splitlines() if "/inertica/" in line]
                    key = (name, f"{outcome.words[:160]} at {where[-1] if where else '?'}")
                    bad[key].append(seed)
                    if len(bad[key]) == 1:
                        print(f"{name}: {key[1]}\n    {reproducer(name, seed)}", flush=True)
    for (name, words), seeds in sorted(bad.items()):
        print(f"BAD {name} ({len(seeds)}, first {seeds[0]}): {words}")
    print("\n".join(told(counts)))
    return int(bool(bad))


if __name__ == "__main__":
    import multiprocessing.pool

    sys.exit(main())
