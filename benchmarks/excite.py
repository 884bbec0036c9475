"""What keeping clear costs a design: time and criterion of `excite` with and without collisions, in the same run.

python benchmarks/excite.py [--seeds 3] [ROBOT ...]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from inertica.excitation import Condition, Fourier, design, robot_constraints, safe_start, surroundings
from inertica.identifiability.base import base_model
from inertica.robot.load import load


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("robots", nargs="*", default=["tx40", "panda7"])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    print("robot           cond(W)          CPU time (s)      ratio   closest (mm)")
    print("                free    clear    free    clear")
    for name in options.robots:
        rows = np.array([_both(name, seed) for seed in range(options.seeds)])
        value, clear, took, clear_took, closest = np.median(rows, axis=0)
        ratio = clear_took / took
        print(f"{name[-14:]:14s}  {value:6.2f}  {clear:6.2f}  {took:6.1f}  {clear_took:6.1f}  {ratio:6.2f}  {1e3 * closest:8.0f}")


def _both(name: str, seed: int) -> tuple[float, float, float, float, float]:
    description = load(name)
    base = base_model(description.layout)
    bodies = surroundings(description)
    family = Fourier.still(10.0, safe_start(description, bodies), 10, free_start=True)
    limits = robot_constraints(description, base.engine)
    found, seconds = [], []
    for constraints in (limits, [*limits, bodies]):
        began = time.process_time()
        found.append(design(base.engine, base, family, Condition(), constraints, rng=seed))
        seconds.append(time.process_time() - began)
    approach = found[1].approach
    return found[0].value, found[1].value, seconds[0], seconds[1], approach.distance if approach else np.nan


if __name__ == "__main__":
    main()
