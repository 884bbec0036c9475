"""The survey's first Monte Carlo experiment (mcs-tx40-1-1: 52 runs, 25 starts) on a graphics card: IV, DIDIM, CLIE and CLOE.

The consistent forms of the first two (`pc-iv`, `pc-didim`) run when they are named: they need a cone solver, which is a processor's
work and whose seconds are counted apart.

    python benchmarks/card_campaign.py prepare FILE      # with the full installation: the bench, and estimates to compare with
    python benchmarks/card_campaign.py measure FILE [RUNS STARTS PROCESSES [METHOD...]] [--white] [--decimated]

where the card is; `--white` leaves out covariances for serially correlated residuals, which take most of their time on the processor;
`--decimated` decimates records by ten.

Experiments, simulations inside the methods and what follows from them are computed on the card; all fits of a method go side by side.
"""

from __future__ import annotations

import os
import pickle
import sys
import time
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

COMPARED = (2, 2)
"""Runs and starts whose estimates by the processor travel along."""

MAX_CONCURRENT = {"iv": 100, "didim": 100, "pc-iv": 100, "pc-didim": 100, "clie": 8, "cloe": 8}
"""Fits side by side in each process: a Jacobian takes 53 simulations."""

RATIO = 10
"""Of decimation, when records are decimated."""

PLAIN = ("iv", "didim", "clie", "cloe")
"""Methods that run when none is named."""


@dataclass
class Clock:
    """A linear solve whose time is counted.

    Args:
        solve: the strategy.
        seconds, count: of the processor, and solves, so far.
    """

    solve: Any
    seconds: float = field(default=0.0, compare=False)
    count: int = field(default=0, compare=False)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.__dict__["solve"], name)

    def prepared(self, problem: Any) -> Any:
        begun = time.thread_time()
        ready = self.solve.prepared(problem)
        self.seconds += time.thread_time() - begun

        def solved(system: Any) -> Any:
            begun = time.thread_time()
            found = ready(system)
            self.seconds, self.count = self.seconds + time.thread_time() - begun, self.count + 1
            return found

        return solved


def methods(hac: bool = True, only: tuple[str, ...] = ()) -> dict[str, Any]:
    from inertica.estimators.closed_loop.didim import Didim
    from inertica.estimators.closed_loop.iv import Iv
    from inertica.estimators.closed_loop.output_error import Clie, Cloe
    from inertica.estimators.closed_loop.start import FromPrior

    common: dict[str, Any] = {"integrator": "euler", "check_loop": False, "start": FromPrior(), "hac": hac}
    made: dict[str, Any] = {"iv": Iv(**common), "didim": Didim(**common), "clie": Clie(**common), "cloe": Cloe(**common)}
    if any(name.startswith("pc-") for name in only):
        from inertica.estimators.consistent.strategy import Consistent

        made |= {f"pc-{name}": kind(**common, solve=Clock(Consistent())) for name, kind in (("iv", Iv), ("didim", Didim))}
    return {name: made[name] for name in only or PLAIN}


def problems(bench: dict[str, Any], runs: int, starts: int, first: int = 0, ratio: int | None = None) -> list[Any]:
    """Run by run the same starts; fits of one run share what is built from its log."""
    from inertica.estimators.base import Problem
    from inertica.preprocessing.filters import Unfiltered
    from inertica.preprocessing.prepare import prepare
    from inertica.preprocessing.recipe import Recipe

    recipe, out = Recipe(filter=Unfiltered(), border=bench["border"], standstill=None, ratio=ratio), []
    for log in bench["experiment"].run(bench["trajectory"], runs=runs, seed=bench["seed"], first_run=first):
        own = Problem(bench["base"], (prepare(log, recipe),), None, bench["loop"], references=(bench["trajectory"],))
        for prior in bench["starts"][:starts]:
            own = own.with_prior(prior)
            own.observations  # noqa: B018  (shared by those that follow)
            out.append(own)
    return out


def prepare_file(path: Path) -> None:
    from inertica.campaign.bench import bench
    from inertica.campaign.plan import cells
    from inertica.campaign.specfile import read_spec
    from inertica.excitation.cached import CachedTrajectory

    spec = read_spec("mcs-tx40-1-1")
    seen = bench(spec, next(iter(cells(spec))))
    found = {
        "base": seen.base, "experiment": seen.experiment, "loop": seen.loop, "starts": seen.starts, "seed": spec.seed,
        "trajectory": CachedTrajectory(seen.trajectories[0].own), "border": spec.border, "truth": seen.truth,
    }  # fmt: skip
    expected: dict[Any, Any] = {}
    for ratio in (None, RATIO):
        chosen = problems(found, *COMPARED, ratio=ratio)
        for name, method in methods(only=(*PLAIN, "pc-iv", "pc-didim")).items():
            begun = time.process_time()
            expected[name, ratio] = [method.estimate(p).beta for p in chosen]
            took = (time.process_time() - begun) / len(chosen)
            print(f"{name}, decimated by {ratio}: {took:.2f} s of the processor each{cones(method)}", flush=True)
    found |= {"base": bare(seen.base, "engine"), "experiment": bare(seen.experiment, "engine"), "expected": expected}
    path.write_bytes(pickle.dumps(found))


def cones(method: Any) -> str:
    """What the cone solves of a method took so far, of one core."""
    count, seconds = solved_in(method)
    return f", {count} cone solves took {seconds:.2f} s of all of them" if count else ""


def bare(thing: Any, *made: str) -> Any:
    """A copy without what was compiled."""
    out = copy(thing)
    for name in made:
        out.__dict__.pop(name, None)
    return out


def measure(path: Path, runs: int, starts: int, processes: int, only: tuple[str, ...], options: set[str]) -> None:
    """Processes share the card and the runs; their simulations run at the same time where CUDA's multi-process service is on."""
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    waiting, told = context.Barrier(processes + 1), context.Queue()
    shares = [range(k, runs, processes) for k in range(processes)]
    covariances, ratio = (False,) if "--white" in options else (False, True), RATIO if "--decimated" in options else None
    begun = time.perf_counter()
    for own in shares:
        arguments = (path, list(own), starts, only, covariances, ratio, processes, waiting, told)
        context.Process(target=share, args=arguments, daemon=True).start()
    bench = pickle.loads(path.read_bytes())
    print(f"{os.cpu_count()} cores; {runs} runs, {starts} starts, {processes} processes", flush=True)
    for hac in covariances:
        for name in methods(hac, only):
            waiting.wait()
            if begun:
                waited, begun = time.perf_counter() - begun, 0.0
                print(f"ready after {waited:.1f} s: modules, card, experiments, kernels compiled by a first fit", flush=True)
            start, found, solves = time.perf_counter(), {}, []
            for _ in shares:
                own_found, solved = told.get()
                found |= own_found
                solves.append(solved)
            report(name, hac, time.perf_counter() - start, found, bench, solves, ratio)


def share(
    path: Path, runs: list[int], starts: int, only: tuple[str, ...], covariances: tuple[bool, ...], ratio: int | None, processes: int,
    waiting: Any, told: Any,
) -> None:  # fmt: skip
    """What one process does; kernels are compiled, or found compiled, by a first fit of every method."""
    from inertica.dynamics.batching import run_batched
    from inertica.dynamics.cuda.target import Cuda
    from inertica.identifiability.base import base_model
    from inertica.identifiability.base import engine as base_engine

    bench, target = pickle.loads(path.read_bytes()), Cuda()
    pool = target.device.arrays.get_default_memory_pool()
    pool.set_limit(fraction=0.9 / processes)  # what a pool keeps in reserve, others cannot have
    bench["base"] = bench["base"].computed(target=target)
    bench["experiment"].__dict__["engine"] = base_engine(base_model(bench["experiment"].truth.layout), target=target)
    chosen = {(run, k): p for run in runs for k, p in enumerate(problems(bench, 1, starts, run, ratio))}
    for method in methods(False, only).values():
        method.estimate(next(iter(chosen.values())))
    for hac in covariances:
        for name, method in methods(hac, only).items():
            pool.free_all_blocks()  # others want it
            waiting.wait()
            jobs = [(lambda batch, p=p, m=method: m.estimate(p.with_batch(batch))) for p in chosen.values()]
            places = list(chosen)
            done = run_batched(jobs, MAX_CONCURRENT[name])
            found = {places[k]: (e.beta, e.iterations, e.simulations) for k, e, _ in done}
            told.put((found, solved_in(method)))


def solved_in(method: Any) -> tuple[int, float]:
    """Cone solves of a method so far, and what they took."""
    return (method.solve.count, method.solve.seconds) if isinstance(getattr(method, "solve", None), Clock) else (0, 0.0)


def report(
    name: str, hac: bool, seconds: float, found: dict[tuple[int, int], Any], bench: dict[str, Any], solves: Any, ratio: Any
) -> None:
    """How long it took, how often it converged, and how near it came to the processor's estimates."""
    places = [(run, start) for run in range(COMPARED[0]) for start in range(COMPARED[1])]
    pairs = [(found[at][0], beta) for at, beta in zip(places, bench["expected"][name, ratio], strict=True) if at in found]
    away = max((np.linalg.norm(a - b) / np.linalg.norm(b) for a, b in pairs), default=float("nan"))
    error = np.median([np.linalg.norm(beta - bench["truth"]) for beta, _, _ in found.values()]) / np.linalg.norm(bench["truth"])
    steps, simulated = (np.array([x[k] for x in found.values()]) for k in (1, 2))
    print(
        f"{name:5s} {'correlated' if hac else 'white':10s} covariance {seconds:7.1f} s, {len(found)} fits, "
        f"{steps.mean():.1f} iterations, {simulated.sum()} simulations, median error {100 * error:.3f} %, "
        f"off the processor's {away:.1e}",
        flush=True,
    )
    if count := sum(n for n, _ in solves):
        each = [seconds for _, seconds in solves]
        print(
            f"      {count} cone solves took {sum(each):.1f} s of one core, at most {max(each):.1f} s in one process", flush=True
        )


if __name__ == "__main__":
    job, file, *counts = sys.argv[1:]
    if job == "prepare":
        prepare_file(Path(file))
    else:
        options = {word for word in counts if word.startswith("--")}
        runs, starts, processes, *only = [word for word in counts if word not in options] or ("52", "25", "13")
        measure(Path(file), int(runs), int(starts), int(processes), tuple(only), options)
