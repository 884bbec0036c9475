"""The survey's first experiment (MCS-TX40-1-1: 52 noise realisations, 25 starts) by IV, DIDIM, CLIE and CLOE on a graphics card.

    python benchmarks/card_campaign.py prepare FILE [--checked 2] [--runs 52] [--starts 25]
        with the full installation: the experiment, and the processor's estimates of the first runs and starts, into a file of some MB
    python benchmarks/card_campaign.py measure FILE [--workers 8] [--methods didim iv clie cloe] [--at-once 40] [--host]
        on the machine with the card; needs NumPy, SciPy and CuPy only

Logs are simulated where they are needed, with the noise of the same stream.  All fits of a worker iterate side by side, each until its
own criterion is met; simulations, R factors and products of rows, and the squares and products of CLIE and CLOE are computed on the
card, small systems of equations and covariances on the processor.  --host takes NumPy and g++ in the place of the card, to try
the script out.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import pickle
import sys
import time
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

SPEC = "mcs-tx40-1-1"
METHODS = ("didim", "iv", "clie", "cloe")

SEARCHES = ("clie", "cloe")
"""Of which fewer are begun at a time: their Jacobians at the end fill the memory."""


def prepare(path: Path, checked: int, runs: int, starts: int) -> None:
    from inertica.campaign.bench import bench
    from inertica.campaign.plan import cells
    from inertica.campaign.specfile import read_spec

    spec = replace(read_spec(SPEC), runs=runs, starts=starts)
    (cell,) = cells(spec)
    seen = bench(spec, cell)
    plain = {"base": _without_engine(seen.base), "experiment": _without_engine(seen.experiment), "loop": seen.loop}
    problem = {
        **plain, "trajectory": seen.trajectories[0].own, "starts": seen.starts, "runs": runs, "seed": spec.seed,  # type: ignore[attr-defined]
        "border": spec.border, "expected": {}, "seconds": {},
    }  # fmt: skip
    for name in METHODS:
        jobs = _fits(problem, range(min(checked, runs)), name, seen.base.engine, seen.experiment.engine)[:, :checked].ravel()
        begun = time.process_time()
        problem["expected"][name] = [job() for job in jobs]
        problem["seconds"][name] = (time.process_time() - begun) / len(jobs)
        print(f"{name}: {problem['seconds'][name]:.3f} s of the processor a fit, one by one")
    problem["checked"] = checked
    path.write_bytes(pickle.dumps(problem))


def _without_engine(made: Any) -> Any:
    other = replace(made)
    other.__dict__.pop("engine", None)
    return other


def _fits(problem: dict[str, Any], runs: range, name: str, engine: Any, simulated: Any) -> np.ndarray:
    """(runs, starts) functions that make an estimate each: beta, standard deviations, iterations, stop reason."""
    from inertica.estimators.base import Problem
    from inertica.estimators.closed_loop.didim import Didim
    from inertica.estimators.closed_loop.iv import Iv
    from inertica.estimators.closed_loop.output_error import Clie, Cloe
    from inertica.estimators.closed_loop.start import FromPrior
    from inertica.preprocessing.filters import Unfiltered
    from inertica.preprocessing.prepare import prepare as prepared
    from inertica.preprocessing.recipe import Recipe

    base, experiment = replace(problem["base"]), replace(problem["experiment"])
    base.__dict__["engine"], experiment.__dict__["engine"] = engine, simulated
    method: Any = {"didim": Didim, "iv": Iv, "clie": Clie, "cloe": Cloe}[name](
        start=FromPrior(), integrator="euler", check_loop=False
    )
    logs = experiment.run(problem["trajectory"], runs=len(runs), seed=problem["seed"], first_run=runs.start)
    recipe = Recipe(filter=Unfiltered(), ratio=1, border=problem["border"], standstill=None)
    out = np.empty((len(runs), len(problem["starts"])), object)
    reference = _Kept(problem["trajectory"])
    for r, log in enumerate(logs):
        given = Problem(base, (prepared(log, recipe),), None, problem["loop"], None, (reference,))
        for s, start in enumerate(problem["starts"]):
            out[r, s] = partial(_fit, method, replace(given, prior=start))
    return out


def _fit(method: Any, problem: Any) -> tuple[np.ndarray, np.ndarray, int, str]:
    with np.errstate(all="ignore"):
        found = method.estimate(problem)
    return found.beta, found.std, found.iterations, found.stop_reason


class _Kept:
    """A trajectory whose last samples are kept: all fits ask for the same."""

    def __init__(self, own: Any) -> None:
        self.own, self.n, self.period, self.periodic = own, own.n, own.period, own.periodic
        self.seen: dict[bytes, Any] = {}

    def describe(self) -> str:
        return str(self.own.describe())

    def __call__(self, t: Any) -> Any:
        key = np.ascontiguousarray(t, float).tobytes()
        if key not in self.seen:
            self.seen[key] = self.own(t)
        return self.seen[key]


def work(path: Path, number: int, workers: int, methods: list[str], at_once: int, host: bool, ready: Any, out: Any) -> None:
    """One worker's share of the runs."""
    warnings.simplefilter("ignore")
    from inertica.dynamics.cuda.target import Cuda
    from inertica.dynamics.together import side_by_side
    from inertica.identifiability.base import base_model, engine

    problem = pickle.loads(path.read_bytes())
    if host:
        sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
        from host_cuda import Host

        target = Cuda(device=Host())
    else:
        target = Cuda()
    runs = np.array_split(np.arange(problem["runs"]), workers)[number]
    own = engine(problem["base"], 1, target)
    simulated = engine(base_model(problem["experiment"].truth.layout), 1, target)
    fits = {name: _fits(problem, range(runs[0], runs[-1] + 1), name, own, simulated) for name in methods}
    for jobs in fits.values():
        jobs[0, 0]()  # everything is compiled
    found: dict[str, Any] = {}
    for name, jobs in fits.items():
        ready.wait()
        begun = time.perf_counter()
        estimates: list[Any] = [None] * jobs.size
        for k, estimate, _ in side_by_side(jobs.ravel(), at_once if name in SEARCHES else jobs.size, abreast=2):
            estimates[k] = estimate
        took = time.perf_counter() - begun
        ready.wait()
        found[name] = (took, time.perf_counter() - begun, estimates)
    out.put((number, runs, found))


def measure(path: Path, workers: int, methods: list[str], at_once: int, host: bool) -> None:
    problem = pickle.loads(path.read_bytes())
    context = multiprocessing.get_context("spawn")
    ready, out, begun = context.Barrier(workers), context.Queue(), time.perf_counter()
    given = (workers, methods, at_once, host, ready, out)
    processes = [context.Process(target=work, args=(path, k, *given)) for k in range(workers)]
    for process in processes:
        process.start()
    parts = sorted((out.get() for _ in processes), key=lambda part: part[0])
    for process in processes:
        process.join()
    whole = time.perf_counter() - begun
    starts, checked, report = len(problem["starts"]), problem["checked"], {}
    for name in methods:
        took = max(part[2][name][1] for part in parts)
        estimates = np.empty((problem["runs"], starts), object)
        for _, runs, found in parts:
            for k, estimate in enumerate(found[name][2]):
                estimates[runs[k // starts], k % starts] = estimate
        apart, same = 0.0, 0
        for own, (beta, std, iterations, _) in zip(estimates[:checked, :checked].ravel(), problem["expected"][name], strict=True):
            apart = max(apart, float(np.max(np.abs(own[0] - beta) / std)))
            same += own[2] == iterations
        steps = [e[2] for e in estimates.ravel()]
        report[name] = {
            "seconds": took, "fits": estimates.size, "iterations": float(np.mean(steps)),
            "converged": int(sum(e[3].startswith("converged") for e in estimates.ravel())),
            "off the processor's, in standard deviations": apart, "same iterations": f"{same} of {checked * checked}",
            "processor, one core, one by one": problem["seconds"][name] * estimates.size,
        }  # fmt: skip
    report["all"] = {"seconds of the fits": sum(report[name]["seconds"] for name in methods), "with starting and logs": whole}
    print(json.dumps(report, indent=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("job", choices=("prepare", "measure"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--checked", type=int, default=2, help="runs and starts whose estimates are compared")
    parser.add_argument("--runs", type=int, default=52)
    parser.add_argument("--starts", type=int, default=25)
    parser.add_argument("--workers", type=int, default=8, help="processes that share the card")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--at-once", type=int, default=40, help="fits of CLIE and CLOE that a process has begun and not ended")
    parser.add_argument("--host", action="store_true", help="NumPy and g++ in the place of the card")
    given = parser.parse_args()
    if given.job == "prepare":
        prepare(given.file, given.checked, given.runs, given.starts)
    else:
        measure(given.file, given.workers, given.methods, given.at_once, given.host)


if __name__ == "__main__":
    main()
