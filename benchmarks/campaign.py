"""What campaigns cost: expected time of a full one by families of methods, gain by a second worker, overhead of the scheduler.

  cost      one run and one start of every method timed (processor time), counted up to the full size, on two cores
  run       some runs of the campaign really computed, all starts, by families of methods, and counted up; --runs 52 for all
  full      method by method: a tenth of the runs, and all of them where that lets expect less than 15 minutes of two cores
  scale     the same small campaign with one worker, with two, and as two independent processes with half of it each
  overhead  a cluster of many Dask workers in this process, with units that do nothing: seconds of the scheduler per unit

usage: python benchmarks/campaign.py [cost] [run] [full] [scale] [overhead] [--spec mcs-tx40-1-1] [--runs 5] [--family 0 1 2]
       [--methods ols didim ...] [--keep DIR] [--units 2000] [--dask-workers 50]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from inertica.campaign import engines
from inertica.campaign.engines import Processes
from inertica.campaign.pilot import cost
from inertica.campaign.plan import Unit, plan
from inertica.campaign.rows import read_bytes
from inertica.campaign.run import run
from inertica.campaign.spec import Entry, NoiseRow, Spec
from inertica.campaign.specfile import read_spec
from inertica.campaign.store import Store, code_hash
from inertica.campaign.work import execute

FAMILIES = {
    "least squares, neural and consistent": ("ols", "wls", "irls", "tls", "ml", "adann", "htrnn", "pc-ols", "pc-wls", "pc-irls"),
    "iv, didim and their consistent forms": ("iv", "didim", "pc-iv", "pc-didim"),
    "clie, cloe": ("clie", "cloe"),
}
LONGEST, SHARE = 15.0, 10
"""Minutes of two cores that a method may take at full size in the part `full`, judged by one of so many runs."""

TARGETS = {"least squares, neural and consistent": 5.0, "iv, didim and their consistent forms": 5.0, "clie, cloe": 60.0}
"""Minutes on two cores."""


def costs(name: str) -> list[dict[str, Any]]:
    spec, out = read_spec(name), []
    for family, methods in FAMILIES.items():
        own = replace(spec, methods=tuple(e for e in spec.methods if e.method.partition("+")[0] in methods))
        found = cost(own)
        minutes = found.seconds / 2.0 / 60.0
        out.append({"family": family, "minutes": minutes, "target": TARGETS[family], "methods": found.methods})
        print(f"{name}: {family}: {minutes:.1f} min on two cores (target {TARGETS[family]:g})", file=sys.stderr)
    return out


@dataclass(frozen=True)
class Taken:
    """What some units took, one after the other in this process.

    Args:
        runs, fits: how many.
        processor, clock: seconds.
        spent: label -> seconds of the processor in fits.
    """

    runs: int
    fits: int
    processor: float
    clock: float
    spent: dict[str, float]

    def __add__(self, other: Taken) -> Taken:
        spent = {label: self.spent.get(label, 0.0) + other.spent.get(label, 0.0) for label in {**self.spent, **other.spent}}
        return Taken(
            self.runs + other.runs, self.fits + other.fits, self.processor + other.processor, self.clock + other.clock, spent
        )

    def minutes(self, seconds: float, runs: int) -> float:
        """Of two cores, counted up to so many runs."""
        return seconds * runs / self.runs / 120.0


def warm(spec: Spec) -> None:
    """Compiles everything."""
    (first, *_) = plan(replace(spec, runs=1, block=1, starts=1))
    execute(replace(spec, starts=1).document(), first.document(), "")


def taken(spec: Spec, units: Sequence[Unit], store: Store | None = None) -> Taken:
    clock, processor, fits = time.perf_counter(), time.process_time(), 0
    spent: dict[str, float] = {}
    for unit in units:
        content = execute(spec.document(), unit.document(), code_hash())
        if store is not None:
            store.finish(unit, content)
        for row in read_bytes(content).to_pylist():
            spent[row["method"]] = spent.get(row["method"], 0.0) + row["cpu"]
            fits += 1
    runs = sum(len(unit.runs) for unit in units)
    return Taken(runs, fits, time.process_time() - processor, time.perf_counter() - clock, spent)


def full(name: str, only: Sequence[str], keep: Path | None) -> list[dict[str, Any]]:
    """Every method by itself: a tenth of the runs, then the others where all of them are expected to take less than `LONGEST`.

    Rows are kept in a folder METHOD/NAME of `keep`, from which `python -m inertica.reproduce.shipped` makes tables.
    """
    spec, out = read_spec(name), []
    for label in [e.label for e in spec.methods if not only or e.label in only]:
        own = replace(spec, methods=tuple(e for e in spec.methods if e.label == label))
        warm(own)
        units, store = plan(own), None if keep is None else Store.begin(keep / label / name, own)
        tenth = -(-len(units) // SHARE)
        found = taken(own, units[:tenth], store)
        if short := found.minutes(found.processor, spec.runs) < LONGEST:
            found = found + taken(own, units[tenth:], store)
        minutes = found.minutes(found.processor, spec.runs)
        out.append({
            "method": label, "runs": found.runs, "fits": found.fits, "processor seconds": found.processor,
            "minutes on two cores at full size": minutes, "load": os.getloadavg()[0],
        })  # fmt: skip
        how = "computed" if short else f"counted up from {found.runs} runs"
        print(f"{name}: {label}: {minutes:.2f} min on two cores, {how}", file=sys.stderr, flush=True)
    return out


def computed(name: str, runs: int, families: list[int]) -> list[dict[str, Any]]:
    """Units of some runs, one after the other in this process, when everything is compiled: processor and clock."""
    spec, out = read_spec(name), []
    for family, methods in [list(FAMILIES.items())[k] for k in families]:
        own = replace(spec, methods=tuple(e for e in spec.methods if e.method.partition("+")[0] in methods), runs=runs)
        warm(own)
        found = taken(own, plan(own))
        minutes = found.minutes(found.processor, spec.runs)
        shares = {label: found.minutes(seconds, spec.runs) for label, seconds in found.spent.items()}
        out.append({
            "family": family, "runs": runs, "fits": found.fits, "processor seconds": found.processor, "clock": found.clock,
            "minutes on two cores at full size": minutes, "target": TARGETS[family], "minutes by method": shares,
            "load": os.getloadavg()[0],
        })  # fmt: skip
        print(f"{name}: {family}: {minutes:.1f} min on two cores (target {TARGETS[family]:g}), from {runs} runs", file=sys.stderr)
    return out


def scale() -> dict[str, float]:
    methods = (Entry("wls", "wls", filters=("none", "butterworth")), Entry("didim", "didim", {"integrator": "euler"}))
    spec = Spec("scale", ("tx40",), methods, noise=(NoiseRow("row 1", 1.7e-6, 0.05),), runs=8, starts=2, block=1, cutoff=50.0)
    took: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for workers in (1, 2):
            start = time.perf_counter()
            run(Store.begin(Path(folder) / str(workers), spec), Processes(workers))
            took[f"workers {workers}"] = time.perf_counter() - start
        halves = []
        for k in range(2):
            file = Path(folder) / f"half{k}.json"
            file.write_text(json.dumps(replace(spec, runs=4, seed=k).document()))
            code = (
                "import json, sys; from inertica.campaign.spec import Spec; from inertica.campaign.store import Store;"
                "from inertica.campaign.run import run; from inertica.campaign.engines import InProcess;"
                "run(Store.begin(sys.argv[2], Spec.of(json.load(open(sys.argv[1])))), InProcess())"
            )
            halves.append([sys.executable, "-c", code, str(file), str(Path(folder) / f"half{k}")])
        start = time.perf_counter()
        for process in [subprocess.Popen(h) for h in halves]:
            process.wait()
        took["two processes"] = time.perf_counter() - start
    took["share of their speed-up"] = took["two processes"] / took["workers 2"]
    return took


def _nothing(spec: Mapping[str, Any], unit: Mapping[str, Any], code: str, device: str) -> bytes:
    return b"rows"


def overhead(units: int, workers: int) -> tuple[float, float]:
    """Seconds per unit, and seconds of the processor per unit: scheduler, client and all workers share this process."""
    import distributed

    spec = replace(read_spec("mcs-tx40-1-1"), runs=units, block=1)
    listed = plan(spec)
    engines.execute = _nothing  # type: ignore[assignment]
    with distributed.LocalCluster(n_workers=workers, threads_per_worker=1, processes=False, dashboard_address=None) as cluster:
        start, used = time.perf_counter(), time.process_time()
        count = sum(1 for _ in engines.Dask(cluster.scheduler_address).outcomes(spec.document(), listed, ""))
        passed, used = time.perf_counter() - start, time.process_time() - used
    assert count == units
    return passed / units, used / units


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["cost", "scale", "overhead"])
    parser.add_argument("--spec", default="mcs-tx40-1-1")
    parser.add_argument("--units", type=int, default=2000)
    parser.add_argument("--dask-workers", type=int, default=50)
    parser.add_argument("--runs", type=int, default=5, help="noise realisations of the part `run`")
    parser.add_argument("--methods", nargs="+", default=[], help="of the part `full`, by label; all by default")
    parser.add_argument("--keep", type=Path, help="folder for the rows of the part `full`; thrown away without")
    parser.add_argument("--family", type=int, nargs="+", default=list(range(len(FAMILIES))), help="of the part `run`, by number")
    given = parser.parse_args()
    found: dict[str, Any] = {}
    if "cost" in given.parts:
        found["cost"] = costs(given.spec)
    if "run" in given.parts:
        found["run"] = computed(given.spec, given.runs, given.family)
    if "full" in given.parts:
        found["full"] = full(given.spec, given.methods, given.keep)
    if "scale" in given.parts:
        found["scale"] = scale()
    if "overhead" in given.parts:
        passed, used = overhead(given.units, given.dask_workers)
        found["overhead"] = {"seconds per unit": passed, "processor seconds per unit": used}
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
