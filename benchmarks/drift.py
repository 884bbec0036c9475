"""How often `inertica identify` finds friction that changes by 20 % along a log, and claims a change where there is none.

    python benchmarks/drift.py [--runs 50] [--first 0] [--kinds time temperature constant] [--defaults] [--store FILE]

Every run simulates an arm of three joints for 40 s (torques by Pinocchio, `tests/trio.py`) with noise; friction of one joint changes:

    time         by 20 % in proportion to time, no temperature recorded
    temperature  by 20 % between the lowest and the highest temperature, which rises like 1 - exp(-t / 15 s); recorded with noise
    constant     nothing changes; a temperature is recorded in every other run

`held` counts intervals of changes that hold the truth (Coulomb and viscous friction change alike); `found` in how many runs a change
of that joint was claimed, `false` in how many of any other joint, or of any joint at all in the last row.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from held_runs import HEAD, add_runs, made_runs, shares

import inertica as ia
from inertica.logs.log import Log

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from trio import warm_log

STATED: dict[str, Any] = {"cutoff": 8.0, "delay": 0.0, "gravity": (0.0, 0.0, -9.81), "method": "wls"}
CHANGE = 0.2


def one(run: int, kinds: list[str], stated: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Row -> what was found."""
    out = {}
    for kind in kinds:
        changes = np.zeros(3)
        if kind != "constant":
            changes[run % 3] = CHANGE
        warm = kind == "temperature" or (kind == "constant" and run % 2 == 1)
        log, model = warm_log(run, changes, warm=warm)
        out[kind] = judged(identified(model, log, stated), changes)
    return out


def identified(model: Path, log: Log, stated: dict[str, Any]) -> ia.Result:
    return ia.identify(model, [log], quick=True, **stated)


def judged(result: ia.Result, changes: np.ndarray) -> dict[str, Any]:
    """Which intervals hold; whether the change was found; whether another was claimed."""
    claimed = result.drift.changes
    return {
        "held": [bool(c.interval[0] <= changes[c.number - 1] <= c.interval[1]) for c in claimed],
        "found": any(changes[c.number - 1] for c in claimed),
        "false": any(not changes[c.number - 1] for c in claimed),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_runs(parser, ["trio"], 50)
    kinds = ["time", "temperature", "constant"]
    parser.add_argument("--kinds", nargs="+", default=kinds, choices=kinds)
    parser.add_argument("--defaults", action="store_true", help="filter, delay, mounting and method are chosen, too")
    arguments = parser.parse_args()
    stated = {} if arguments.defaults else STATED
    print(f"{HEAD} {'found':>6} {'false':>6}")
    for _, own, line in shares(made_runs(arguments, lambda run, _: ({}, one(run, arguments.kinds, stated)))):
        print(f"{line} {sum(r['found'] for r in own):6d} {sum(r['false'] for r in own):6d}")


if __name__ == "__main__":
    main()
