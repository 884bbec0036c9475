"""The long form: `make fuzz`, or `PYTHONPATH=tests python -m fuzz.long --inputs 100000 --workers 2 --only csv,urdf --seed 7`.

Inputs are numbered per reader; the same number is the same input.  With --seed one input is done again, with its trace and its files.
With --record a run that was ended goes on behind the last block of inputs that it wrote there.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from fuzz.harness import BAD, Bench, Outcome, reproducer, single_threaded, told

BLOCK = 1000
"""Inputs of one worker process, of a reader whose cost is one: memory and compiled code start anew."""

GB = 2**30

Block = tuple[str, int, int]
"""Reader, first input and number of inputs."""

Counts = tuple[dict[str, int], dict[str, list[int]]]


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


@dataclass
class Tally:
    """What became of inputs, block by block.

    Args:
        record: file with a line for every block that is done, or None.
        done: for every block so far its outcomes by kind, and the inputs that were bad by what went wrong.
    """

    record: Path | None
    done: dict[Block, Counts] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.record and self.record.exists():
            for line in self.record.read_text().splitlines():
                name, first, count, kinds, bad = json.loads(line)
                self.done[name, first, count] = kinds, bad

    def add(self, block: Block, found: list[tuple[int, Outcome]]) -> None:
        bad: dict[str, list[int]] = defaultdict(list)
        for seed, outcome in found:
            if outcome.kind == BAD:
                where = [line.strip() for line in outcome.trace.splitlines() if "/inertica/" in line]
                bad[f"{outcome.words[:160]} at {where[-1] if where else '?'}"].append(seed)
        for words, seeds in bad.items():
            print(f"{block[0]}: {words}\n    {reproducer(block[0], seeds[0])}", flush=True)
        self.done[block] = dict(Counter(outcome.kind for _, outcome in found)), bad
        if self.record:
            with self.record.open("a") as file:
                file.write(json.dumps([*block, *self.done[block]]) + "\n")

    def counts(self) -> dict[str, Counter[str]]:
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for (name, *_), (kinds, _) in self.done.items():
            counts[name].update(kinds)
        return counts

    def bad(self) -> dict[tuple[str, str], list[int]]:
        bad: dict[tuple[str, str], list[int]] = defaultdict(list)
        for (name, *_), (_, own) in sorted(self.done.items()):
            for words, seeds in own.items():
                bad[name, words] += seeds
        return bad


def _blocks(names: list[str], inputs: int, start: int) -> list[Block]:
    """All readers' first blocks before their second."""
    from fuzz.subjects import SUBJECTS

    share = inputs / sum(1.0 / SUBJECTS[name].cost for name in names)
    out = []
    for rank, name in enumerate(names):
        end = start + max(round(share / SUBJECTS[name].cost), 1)
        size = round(BLOCK / SUBJECTS[name].cost)
        out += [(first, rank, (name, first, min(size, end - first))) for first in range(start, end, size)]
    return [block for _, _, block in sorted(out)]


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
    parser.add_argument("--record", type=Path, help="a file that keeps what is done, so that a run can be ended and go on")
    parser.add_argument("--seed", type=int, help="do this input again")
    arguments = parser.parse_args()
    from fuzz.subjects import SUBJECTS

    names = [name for name in arguments.only.split(",") if name] or list(SUBJECTS)
    if arguments.seed is not None:
        return _again(names[0], arguments.seed)
    tally = Tally(arguments.record)
    blocks = [block for block in _blocks(names, arguments.inputs, arguments.first) if block not in tally.done]
    with multiprocessing.pool.ThreadPool(arguments.workers) as pool:
        for block, found in pool.imap_unordered(lambda block: (block, _block(*block)), blocks):
            tally.add(block, found)
    for (name, words), seeds in tally.bad().items():
        print(f"BAD {name} ({len(seeds)}, first {seeds[0]}): {words}")
    print("\n".join(told(tally.counts())))
    return int(bool(tally.bad()))


if __name__ == "__main__":
    import multiprocessing.pool

    sys.exit(main())
