"""Errors and consistency of the filters over simulated runs: the tables of docs/methods/filters.md.

Every run is 10 s of a catalog robot in its loop, logged at 1 kHz or 100 Hz, and starts from parameters 15 % off.  Noise and start
follow from the seed alone.  Printed of every run, and as medians over the seeds:

    start, error   mean relative error of parameters above 0.05, in percent, at the start and at the end
    excited        the same of those that the filter says it knows to 5 %, start -> end, and how many these are
    NEES           e' P^-1 e over the number of parameters; 1 is right
    beyond         parameters farther than 3 standard deviations from the truth

usage: python benchmarks/filter_runs.py NAME[:PRESET|:tuned]... [--robot tx40] [--noise low_position] [--rates 1000 100]
       [--seeds 3101 3102] [--store FILE.jsonl]
e.g.   python benchmarks/filter_runs.py ekf:tuned srukf-ct:tuned ukf:survey --seeds 3101 3102 --store rows.jsonl

A stored run is not made again.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

import inertica as ia
from inertica.estimators.base import Problem
from inertica.estimators.closed_loop.start import Random
from inertica.estimators.registry import METHODS
from inertica.experiment import ControlLoop, Experiment, Sensors
from inertica.preprocessing.filters import Butterworth, Unfiltered
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe

SECONDS, OFF = 10.0, Random(0.15)
Run = dict[str, object]


def simulated(robot: str, noise: str, rate: float, seed: int, filtered: bool) -> tuple[Problem, np.ndarray]:
    """A run, and its true parameters; low-passed at 20 Hz for methods that need accelerations."""
    description = ia.load(robot)
    experiment = Experiment.of(description, noise=noise, sensors=Sensors(rate=rate))
    (log,) = experiment.run(ia.catalog_trajectory(robot).trajectory, seed=seed, duration=SECONDS)
    base = ia.base_model(description.layout)
    motion = prepare(log, Recipe(filter=Butterworth(cutoff=20.0) if filtered else Unfiltered()))
    return Problem(base, (motion,), description.prior, ControlLoop.of(description)), base.beta(experiment.truth.values)


def one(method: str, robot: str, noise: str, rate: float, seed: int) -> Run:
    """A method on a run."""
    name, _, how = method.partition(":")
    p, true = simulated(robot, noise, rate, seed, name == "idim-ekf")
    options: dict[str, object] = {"tune": True} if how == "tuned" else {"preset": how} if how else {}
    began = time.process_time()
    found = replace(METHODS[name](), start=OFF, **options).estimate(p, np.random.default_rng(seed))  # type: ignore[type-var]
    took = time.process_time() - began
    first, off = OFF(p, np.random.default_rng(seed)), found.beta - true
    std = np.sqrt(np.diag(found.covariance))
    large, known = np.abs(true) > 0.05, std < 0.05 * np.abs(true)
    return {
        "method": method, "robot": robot, "noise": noise, "rate": rate, "seed": seed, "seconds": round(took, 1),
        "start": percent(first, true, large), "error": percent(found.beta, true, large),
        "start_excited": percent(first, true, known), "excited": percent(found.beta, true, known), "count": int(known.sum()),
        "nees": float(off @ np.linalg.solve(found.covariance, off)) / len(off), "parameters": len(off),
        "beyond": int(np.count_nonzero(np.abs(off) > 3.0 * std)), "farthest": float(np.max(np.abs(off) / std)),
        "broke": found.stop_reason if found.warnings else "",
    }  # fmt: skip


def percent(beta: np.ndarray, true: np.ndarray, which: np.ndarray) -> float:
    return float(100.0 * np.mean(np.abs(beta - true)[which] / np.abs(true)[which])) if which.any() else float("nan")


def runs(given: argparse.Namespace) -> Iterator[Run]:
    """All that were asked for, stored ones first."""
    stored = [json.loads(line) for line in given.store.read_text().splitlines()] if given.store and given.store.exists() else []
    done = {tuple(r[key] for key in ("method", "robot", "noise", "rate", "seed")): r for r in stored}
    for seed in given.seeds:
        for rate in given.rates:
            for method in given.methods:
                key = (method, given.robot, given.noise, rate, seed)
                if key not in done:
                    done[key] = one(method, given.robot, given.noise, rate, seed)
                    if given.store:
                        with given.store.open("a") as file:
                            file.write(json.dumps(done[key]) + "\n")
                yield done[key]


def line(found: list[Run]) -> str:
    """Medians of runs of one kind."""

    def middle(key: str) -> float:
        return float(np.median([float(r[key]) for r in found]))  # type: ignore[arg-type]

    beyond, total = (sum(int(r[key]) for r in found) for key in ("beyond", "parameters"))  # type: ignore[call-overload]
    return (
        f"{found[0]['method']:18} {found[0]['rate']:5g} Hz  {middle('start'):5.2f} -> {middle('error'):7.3g} %   "
        f"excited {middle('start_excited'):5.2f} -> {middle('excited'):7.3g} % of {middle('count'):g}   NEES {middle('nees'):7.2g}   "
        f"beyond 3 sigma {beyond} of {total}, farthest {max(float(r['farthest']) for r in found):.2f}   {middle('seconds'):.0f} s"  # type: ignore[arg-type]
        + "".join(f"  {r['broke']}" for r in found if r["broke"])
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="+", metavar="NAME")
    parser.add_argument("--robot", default="tx40")
    parser.add_argument("--noise", default="low_position", help="the survey's first row by default; panda7 has `standard` only")
    parser.add_argument("--rates", type=float, nargs="+", default=[1000.0, 100.0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[3101, 3102])
    parser.add_argument("--store", type=Path)
    given = parser.parse_args()
    found = []
    for run in runs(given):
        found.append(run)
        print(line([run]), flush=True)
    print(f"\nmedians over seeds {given.seeds}, {given.robot}, {given.noise}")
    for rate in given.rates:
        for method in given.methods:
            print(line([r for r in found if (r["method"], r["rate"]) == (method, rate)]))


if __name__ == "__main__":
    main()
