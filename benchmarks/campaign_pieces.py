"""A campaign in pieces: as many units as a time allows on another machine, put together here afterwards.

    python benchmarks/campaign_pieces.py finished DIR > FILE              # here: units that a campaign's folder has
    python benchmarks/campaign_pieces.py compute SPEC OUT SECONDS [--workers N] [--device cuda] [--skip FILE]...     # there
    python benchmarks/campaign_pieces.py collect SPEC DIR PIECE...                            # here: pieces into the folder

`compute` ends units in flight when its time is over, and leaves OUT/piece-K.xz of at most 15 MiB each and OUT/units.txt; it needs
NumPy, SciPy, Numba and Clarabel, and no pyarrow.  Without `--device cuda` everything is computed by the processor.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from functools import partial
from multiprocessing import active_children, get_context
from pathlib import Path

MOST = 15 << 20
"""Bytes of a file."""


def one_unit(spec: dict, unit: dict, code: str, device: str) -> tuple[bytes, dict[str, float], float]:
    """A packed unit, the processor's seconds of its methods, and its own."""
    from pieces import packed

    from inertica.campaign.work import unit_rows

    begun = time.perf_counter()
    rows, names = unit_rows(spec, unit, code, device)
    seconds: dict[str, float] = defaultdict(float)
    for row in rows:
        seconds[row["method"]] += row["cpu"]
    return packed(rows, names), dict(seconds), time.perf_counter() - begun


def computed(spec, units: list, deadline: float, workers: int, device: str) -> Iterator[tuple[bytes, dict[str, float], float]]:
    """Units in their order until the deadline; one that fails is told and tried once more at the end."""
    from inertica.campaign.engines import begin_worker
    from inertica.campaign.program import code_hash

    waiting, failed = list(reversed(units)), set()
    begin = partial(begin_worker, os.getpid(), workers)
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=begin)
    flying: dict[Future, object] = {}
    while (waiting or flying) and time.monotonic() < deadline:
        while waiting and len(flying) < workers:
            unit = waiting.pop()
            flying[pool.submit(one_unit, spec.document(), unit.document(), code_hash(), device)] = unit
        for done in wait(flying, max(deadline - time.monotonic(), 0.0), FIRST_COMPLETED).done:
            unit = flying.pop(done)
            if (error := done.exception()) is None:
                yield done.result()
            else:
                print(f"unit {unit.id}: {type(error).__name__}: {error}", flush=True)
                if unit.id not in failed:
                    failed.add(unit.id)
                    waiting.insert(0, unit)
    for process in active_children():
        process.kill()
    pool.shutdown(wait=False, cancel_futures=True)


def compute(arguments: argparse.Namespace) -> None:
    from pieces import write_pieces

    from inertica.campaign.plan import plan
    from inertica.campaign.specfile import read_spec

    begun = time.monotonic()
    spec = read_spec(arguments.spec)
    skipped = {word for file in arguments.skip for word in Path(file).read_text(encoding="utf-8").split()}
    units = [unit for unit in plan(spec) if unit.id not in skipped]
    print(f"{spec.name}: {len(units)} units to compute, {arguments.workers} workers, {arguments.device}", flush=True)
    methods: dict[str, float] = defaultdict(float)
    arguments.out.mkdir(parents=True, exist_ok=True)

    def contents() -> Iterator[bytes]:
        for count, (content, seconds, took) in enumerate(
            computed(spec, units, begun + arguments.seconds, arguments.workers, arguments.device), 1
        ):
            for name, more in seconds.items():
                methods[name] += more
            print(f"{time.monotonic() - begun:6.0f} s: {count} of {len(units)} units, this one took {took:.0f} s", flush=True)
            yield content

    files = write_pieces(contents(), arguments.out, MOST)
    (arguments.out / "units.txt").write_text("".join(f"{x}\n" for x in _ids(files)), encoding="utf-8")
    print("processor's seconds:", ", ".join(f"{k} {v:.0f}" for k, v in sorted(methods.items(), key=lambda x: -x[1])))
    print("files:", ", ".join(f"{f.name} {f.stat().st_size / 2**20:.1f} MiB" for f in files) or "none")
    sys.stdout.flush()
    os._exit(0)  # workers were killed; nothing is left to wait for


def _ids(files: list[Path]) -> list[str]:
    from pieces import read_pieces, unpacked

    return [unpacked(unit)[0][0]["unit"] for unit in read_pieces(files)]


def collect(arguments: argparse.Namespace) -> None:
    from pieces import read_pieces, unpacked

    from inertica.campaign.plan import plan
    from inertica.campaign.rows import parquet_bytes
    from inertica.campaign.specfile import read_spec
    from inertica.campaign.store import Store

    spec = read_spec(arguments.spec)
    store = Store.begin(arguments.folder, spec, mix_versions=True)
    units, count = {unit.id: unit for unit in plan(spec)}, 0
    with store.locked():
        for content in read_pieces(arguments.pieces):
            rows, names = unpacked(content)
            if (unit := units.get(rows[0]["unit"])) is None:
                sys.exit(f"unit {rows[0]['unit']} is of another spec than {arguments.spec}")
            if count == 0:
                store.claim(rows[0]["device"], mix=True)
            store.finish(unit, parquet_bytes(rows, {"names": names}))
            count += 1
    print(f"{count} units collected; {arguments.folder} has {len(store.files())} of {len(units)}")


def finished(arguments: argparse.Namespace) -> None:
    from inertica.campaign.plan import plan
    from inertica.campaign.store import Store

    store = Store.open(arguments.folder)
    pending = {unit.id for unit in store.pending()}
    print("\n".join(unit.id for unit in plan(store.spec) if unit.id not in pending))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    jobs = parser.add_subparsers(required=True)
    job = jobs.add_parser("compute")
    job.add_argument("spec")
    job.add_argument("out", type=Path)
    job.add_argument("seconds", type=float)
    job.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    job.add_argument("--device", default="cpu")
    job.add_argument("--skip", action="append", default=[])
    job.set_defaults(run=compute)
    job = jobs.add_parser("collect")
    job.add_argument("spec")
    job.add_argument("folder", type=Path)
    job.add_argument("pieces", type=Path, nargs="+")
    job.set_defaults(run=collect)
    job = jobs.add_parser("finished")
    job.add_argument("folder", type=Path)
    job.set_defaults(run=finished)
    given = parser.parse_args()
    given.run(given)
