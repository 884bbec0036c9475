"""Coverage of what `inertica identify` says of springs and gaps between motor and link.

    python benchmarks/transmission.py [--runs 50] [--first 0] [--kinds ours mujoco gap defaults] [--store FILE]

Every run draws stiffness, damping and motion of an arm of two elastic joints (`tests/elastic_arm.py`), simulates 14 s at 500 Hz with
noise, and identifies it. Rows:

    ours, mujoco      springs without gaps, by the two simulations; filter, delay and friction laws stated
    gap               gaps of 0.1 to 1 degree beside the springs, by ours
    defaults          springs by MuJoCo, everything chosen

`held` counts intervals of stiffness, damping where it is stated, motor inertia and Coulomb friction before the spring, and of the gap.
`error` is the median error of the stiffness in percent, `worst` the largest; `gap right` how many gaps were found within 0.1 degree,
or rightly not claimed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from held_runs import HEAD, add_runs, made_runs, shares

import inertica as ia

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from elastic_arm import COULOMB, MOTOR, Elastic, card

STATED: dict[str, Any] = {
    "cutoff": 15.0,
    "delay": 0.0,
    "friction": ("viscous", "coulomb"),
    "gravity": (0.0, 0.0, -9.81),
    "method": "wls",
}


def one(run: int, kinds: list[str]) -> dict[str, dict[str, Any]]:
    """Row -> what held."""
    out = {}
    for kind in kinds:
        arm = Elastic.drawn(run, gap=kind == "gap")
        log = arm.by_mujoco() if kind in ("mujoco", "defaults") else arm.ours()
        try:
            found = ia.identify(card(), [log], quick=True, **({} if kind == "defaults" else STATED))
        except ia.InerticaError as error:
            out[kind] = {"failed": str(error)}
            continue
        out[kind] = judged(found.transmission, arm)
    return out


def judged(found: Any, arm: Elastic) -> dict[str, Any]:
    """Which intervals hold, errors of the stiffness, and gaps."""
    held, errors, gaps = [], [], []
    for k, joint in enumerate(found.joints):
        truth = (
            (joint.stiffness, arm.stiffness[k]), (joint.damping, arm.damping[k]), (joint.motor_inertia, MOTOR[k]),
            (joint.motor_coulomb, COULOMB[k]), (joint.backlash, arm.gap[k]),
        )  # fmt: skip
        held += [bool(q.interval[0] <= value <= q.interval[1]) for q, value in truth if q is not None]
        errors.append(float(joint.stiffness.value / arm.stiffness[k] - 1.0))
        width = 0.0 if joint.backlash is None else joint.backlash.value
        right = abs(width - arm.gap[k]) < np.radians(0.1) if arm.gap[k] else joint.backlash is None
        gaps.append(bool(right))
    stiffness = [
        bool(j.stiffness.interval[0] <= k <= j.stiffness.interval[1]) for j, k in zip(found.joints, arm.stiffness, strict=False)
    ]
    return {"held": held, "stiffness": stiffness, "error": errors, "gap": gaps}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_runs(parser, ["elastic"], 50)
    parser.add_argument("--kinds", nargs="+", default=["ours", "mujoco", "gap"], choices=["ours", "mujoco", "gap", "defaults"])
    arguments = parser.parse_args()
    print(f"{HEAD} {'stiffness held %':>16} {'error %':>8} {'worst %':>8} {'gap right':>10}")
    for _, own, line in shares(made_runs(arguments, lambda run, _: ({}, one(run, arguments.kinds)))):
        error = 100.0 * np.abs([e for r in own for e in r["error"]])
        right, sure = ([v for r in own for v in r[key]] for key in ("gap", "stiffness"))
        print(f"{line} {100 * np.mean(sure):16.1f} {np.median(error):8.2f} {error.max():8.2f} {sum(right):5d}/{len(right)}")


if __name__ == "__main__":
    main()
