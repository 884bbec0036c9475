"""Coverage of `payload --sensor wrench`: how often the intervals hold a load and the bias of its sensor.

    python benchmarks/wrench.py [--mode moving static] [--runs 200] [--first 0] [--json]

Every run draws a load (0.3 to 3 kg, centre up to 16 cm from the flange, a box of 4 to 20 cm) on the Panda of the catalog; Pinocchio
says what the sensor reads in ten seconds of motion or in twelve poses at rest (tests/wrist.py: 0.1 N, 5 mN m, 0.02 mrad of noise, a
bias).  `load` counts parameters labelled determined or weak, `bias` the six channels, `centre` is the largest error of the centre of
mass in mm.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np

import inertica as ia
from inertica.robot import inertia

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from wrist import BIAS, write

SENSORS = {"moving": "wrench", "static": "wrench-static"}


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Ten parameters of a load, and its centre."""
    rng = np.random.default_rng(9000 + seed)
    mass, centre, sides = rng.uniform(0.3, 3.0), rng.uniform(-0.08, 0.08, 3), rng.uniform(0.04, 0.2, 3)
    centre[2] += 0.08
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    box = turn @ np.diag(mass / 12.0 * (np.sum(sides**2) - sides**2)) @ turn.T
    return inertia.from_com(mass, centre, box), centre


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", nargs="+", choices=SENSORS, default=list(SENSORS))
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="number of the first run")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows = []
    for mode in arguments.mode:
        load, bias, worst = np.zeros(2, int), np.zeros(2, int), 0.0
        for seed in range(arguments.first, arguments.first + arguments.runs):
            truth, centre = drawn(seed)
            with tempfile.TemporaryDirectory() as folder:
                write(Path(folder) / "log.csv", seed, load=truth, poses=12 if mode == "static" else 0)
                result = ia.payload("panda7", loaded=[str(Path(folder) / "log.csv")], sensor=SENSORS[mode])
            known = np.isin(result.labels, ("determined", "weak"))
            low, high = result.intervals.T
            load += [int(((low <= truth) & (truth <= high))[known].sum()), int(known.sum())]
            assert result.bias is not None
            ends = result.bias.intervals
            bias += [int(((ends[:, 0] <= BIAS) & (ends[:, 1] >= BIAS)).sum()), 6]
            worst = max(worst, 1e3 * float(np.abs(result.body.com - centre).max()))
        rows.append({"mode": mode, "load": load.tolist(), "bias": bias.tolist(), "centre": worst})
        if not arguments.json:
            shares = ", ".join(f"{k} {a} of {b} ({100 * a / b:.1f} %)" for k, (a, b) in (("load", load), ("bias", bias)))
            print(f"{mode}: {shares}, centre within {worst:.2g} mm")
    if arguments.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
