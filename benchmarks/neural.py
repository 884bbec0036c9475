"""Where `adann` and `htrnn` end on a simulated robot, beside the least squares that they approach.

Runs differ by their noise; every run starts from the same values, each standard parameter off by up to 15 %.  Columns:

  left    distance of the predicted torques from those of least squares, as a share of the torque; median over runs
  spread  standard deviation over runs, as a multiple of that of least squares; median over the base parameters
  steps   taken
  time    per fit in ms

usage: python benchmarks/neural.py [--robot tx40] [--preset standard] [--runs 20] [--picture FILE.svg]
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

import inertica as ia
from inertica.estimators.base import Estimator, Problem
from inertica.preprocessing.filters import Butterworth, Filter, Unfiltered

SPREAD = 0.15
FILTERS: dict[str, Filter] = {"50 Hz": Butterworth(cutoff=50.0), "none": Unfiltered()}
METHODS: dict[str, Estimator] = {
    "adann, rate 1 (toolbox)": ia.AdaNN(),
    "adann, rate 0.1": ia.AdaNN(rate=0.1),
    "adann, rate 0.01": ia.AdaNN(rate=0.01),
    "adann, eq. 50, eta 1e-4": ia.AdaNN(rule="fixed", rate=1e-4),
    "adann, batch": ia.AdaNN(gradient="batch"),
    "htrnn, eta by spectrum": ia.Htrnn(),
    "htrnn, eta 1e-7 (toolbox)": ia.Htrnn(eta=1e-7),
    "htrnn, eta 1e-6 (paper)": ia.Htrnn(eta=1e-6),
}


def problems(robot: str, preset: str, runs: int, chosen: Filter) -> list[Problem]:
    description = ia.load(robot)
    base, prior = ia.base_model(description.layout), description.prior
    off = 1.0 + SPREAD * np.random.default_rng(0).uniform(-1.0, 1.0, len(prior.values))
    started = replace(prior, values=off * prior.values)
    logs = ia.Experiment.of(description, noise=preset).run(ia.catalog_trajectory(robot).trajectory, runs=runs, seed=5)
    return [Problem(base, (ia.prepare(log, ia.Recipe(filter=chosen, border=50)),), started) for log in logs]


def picture(lines: dict[str, Mapping[str, tuple[float, ...]]], path: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.hashsalt": "inertica", "svg.fonttype": "none"})
    figure, axes = plt.subplots(figsize=(6.0, 3.4), layout="constrained")
    for (name, way), style in zip(lines.items(), "----:-:-", strict=True):
        axes.loglog(way["steps"][1:], way["left"][1:], style, marker="." if len(way["steps"]) < 20 else None, label=name)
    axes.set(xlabel="steps", ylabel="|W(beta - beta_OLS)| / |y|", ylim=(1e-10, 1e2))
    axes.legend(fontsize=7)
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robot", default="tx40")
    parser.add_argument("--preset", default="standard")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--picture", type=Path)
    given = parser.parse_args()
    for label, chosen in FILTERS.items():
        fits = problems(given.robot, given.preset, given.runs, chosen)
        spread = np.std([ia.Ols(hac=False).estimate(p).beta for p in fits], axis=0)
        print(f"\n{given.robot}, {given.preset}, filter {label}, {given.runs} runs")
        print(f"{'method':28} {'left %':>9} {'spread':>8} {'steps':>8} {'ms':>6}")
        for name, method in METHODS.items():
            found = [method.estimate(p, np.random.default_rng(k)) for k, p in enumerate(fits)]
            left = 100.0 * np.median([e.history["left"][-1] for e in found])
            ratio = np.median(np.std([e.beta for e in found], axis=0) / spread)
            steps, ms = np.median([e.iterations for e in found]), 1e3 * np.median([e.seconds for e in found])
            print(f"{name:28} {left:9.2g} {ratio:8.3g} {steps:8.0f} {ms:6.0f}")
        if given.picture is not None and label == "50 Hz":
            picture({name: m.estimate(fits[0]).history for name, m in METHODS.items()}, given.picture)


if __name__ == "__main__":
    main()
