"""Coverage of the intervals of `inertica drive-gains` and `inertica loads`: how often they hold simulated gains and loads.

    python benchmarks/drive_gains.py [--robots tx40 panda7] [--runs 60] [--first 0] [--jobs gains loads both] [--store FILE]

Every run draws a load (a box near the flange, 10 % of the arm's mass) and gains (5 to 20 N m/A, one in seven negative), simulates the
robot without and with the load with the catalog's standard noise, and hands the logs to the public calls with a model that is off as
in `payload.py` and knows no control loop.  Every other pair is along the same motion.  Rows:

    gains, revealed   drive_gains with currents and the mass; gains of joints on which the load weighs
    gains, flagged    those on which it does not
    loads             fit_loads with torques: no load, and one unknown load in two logs; its ten parameters
    both, gains       fit_loads with currents: no load, one of known mass, one unknown; gains of all joints
    both, loads       the ten parameters of the unknown one

`error` is the median relative error in percent, of the mass for loads.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from held_runs import HEAD, add_runs, made_runs, shares
from numpy.typing import NDArray
from payload import drawn_load, held, kernels_kept, logs, robot, unchecked, wrong_model

import inertica as ia
from inertica.logs.log import Log
from inertica.robot.description import Description
from inertica.workflow.payload.drive_gains import DriveGains
from inertica.workflow.payload.load_sets import known_load
from inertica.workflow.payload.loads import LoadedLogs

Array = NDArray[np.float64]

SHARE = 0.10
NEGATIVE = 1.0 / 7.0
FRAME = (0.0, 0.0, 0.0)


def in_amperes(log: Log, gains: Array) -> Log:
    """The log with currents in place of torques."""
    signals = {name: values for name, values in log.signals.items() if name != "tau"}
    return replace(log, signals={**signals, "i": log.need("tau") / gains})


def one(name: str, run: int, pair: int, jobs: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Row -> which intervals hold, and errors; or the sentence that a run ended in."""
    rng = np.random.default_rng([run, 5])
    description, _, _ = robot(name)
    arm = sum(float(description.prior.values[where][9]) for _, where in description.layout.bodies)
    model = replace(wrong_model(description, rng), loop=None)
    loads = [drawn_load(rng, SHARE * arm) for _ in range(2)]
    n = description.robot.n
    gains = rng.uniform(5.0, 20.0, n) * np.where(rng.random(n) < NEGATIVE, -1.0, 1.0)
    empty, carried = logs(name, [loads[0], loads[1], loads[1]], run, pair)
    out: dict[str, dict[str, Any]] = {}
    for job in jobs:
        try:
            out |= JOBS[job](model, gains, loads, empty, carried)
        except ia.InerticaError as error:
            out[job] = {"failed": str(error)}
    return out


def gains_alone(
    model: Description, gains: Array, loads: list[Array], empty: Log, carried: list[Log]
) -> dict[str, dict[str, Any]]:
    found = ia.drive_gains(
        model, unloaded=[in_amperes(empty, gains)], loaded=[in_amperes(carried[0], gains)], mass=float(loads[0][9]), frame=FRAME
    )
    return {
        f"gains, {word}": _gains(found, gains, which)
        for word, which in (("revealed", found.revealed), ("flagged", ~found.revealed))
        if which.any()
    }


def loads_alone(
    model: Description, gains: Array, loads: list[Array], empty: Log, carried: list[Log]
) -> dict[str, dict[str, Any]]:
    stated = LoadedLogs(((empty, None), (carried[1], "tool"), (carried[2], "tool")))
    return {"loads": _load(ia.fit_loads(model, stated, frame=FRAME).loads["tool"], loads[1])}


def together(model: Description, gains: Array, loads: list[Array], empty: Log, carried: list[Log]) -> dict[str, dict[str, Any]]:
    amperes = [in_amperes(log, gains) for log in (empty, *carried)]
    listed = tuple(zip(amperes, (None, "disc", "tool", "tool"), strict=True))
    found = ia.fit_loads(model, LoadedLogs(listed, {"disc": known_load(float(loads[0][9]))}, estimate_gains=True), frame=FRAME)
    assert found.gains is not None
    every = np.ones(len(gains), bool)
    return {"both, gains": _gains(found.gains, gains, every), "both, loads": _load(found.loads["tool"], loads[1])}


JOBS = {"gains": gains_alone, "loads": loads_alone, "both": together}


def _gains(found: DriveGains, gains: Array, which: NDArray[np.bool_]) -> dict[str, Any]:
    inside = (found.intervals[:, 0] <= gains) & (gains <= found.intervals[:, 1])
    std = np.diff(found.intervals, axis=1)[:, 0] / 3.92
    errors = found.values / gains - 1.0
    places = np.flatnonzero(which)
    return {
        "held": [bool(inside[j]) for j in places],
        "error": [float(errors[j]) for j in places],
        "z": [float((found.values[j] - gains[j]) / std[j]) for j in places],
        "joints": [int(j + 1) for j in places],
        "width": [float(std[j] / abs(found.values[j])) for j in places],
    }


def _load(found: Any, load: Array) -> dict[str, Any]:
    inside = held(found, load)
    z = np.nan_to_num((found.values - load) / found.std)
    return {
        "held": [None if np.isnan(x) else bool(x) for x in inside],
        "error": [float(found["M"] / load[9] - 1.0)],
        "z": list(z),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_runs(parser, ["tx40", "panda7"], 60)
    parser.add_argument("--jobs", nargs="+", default=list(JOBS), choices=list(JOBS))
    parser.add_argument("--unchecked", action="store_true", help="leave out the check of the logs, half of the time")
    arguments = parser.parse_args()
    kernels_kept()
    if arguments.unchecked:
        unchecked()
    show(made_runs(arguments, lambda run, name: ({}, one(name, run, run // len(arguments.robots), arguments.jobs))))


def show(records: list[dict[str, Any]]) -> None:
    """Tables of all records, and by robot."""
    print(f"{HEAD} {'error %':>8} {'rms z':>6}")
    for _, own, line in shares(records, "robot"):
        z = np.array([v for r in own for v in r["z"]])
        error = 100 * np.median(np.abs([e for r in own for e in r["error"]])) if own else np.nan
        print(f"{line} {error:8.2f} {np.sqrt(np.mean(z**2)):6.2f}")


if __name__ == "__main__":
    main()
