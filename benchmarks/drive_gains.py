"""Coverage of the intervals of `inertica drive-gains` and `inertica loads`: how often they hold simulated gains and loads.

    python benchmarks/drive_gains.py [--robots tx40 panda7] [--runs 60] [--first 0] [--jobs gains weighed ...] [--store FILE]

Every run draws a load (a box near the flange, 10 % of the arm's mass) and gains (5 to 20 N m/A, one in seven negative), simulates the
robot without and with the load with the catalog's standard noise, and hands the logs to the public calls with a model that is off as
in `payload.py` and knows no control loop.  Every other pair is along the same motion.  Rows:

    gains, revealed   drive_gains with currents and the mass; gains of joints on which the load weighs
    gains, flagged    those on which it does not
    loads             fit_loads with torques: no load, and one unknown load in two logs; its ten parameters
    both, gains       fit_loads with currents: no load, one of known mass, one unknown; gains of all joints
    both, loads       the ten parameters of the unknown one
    weighed           one log without load; the torque of the arm's weight on a joint in a pose is known to 1 %
    link              one log without load; the heaviest link that something is told of alone is known to 1 %
    alike, weighed    the same as `weighed`, and half of the drives are alike to 1 %
    alike             only that: gains relative to one joint
    equal loads       no load, one unknown load, two of the kind: gains relative to one joint
    law               the control law is known to 1 %

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
from payload import REACH, drawn_load, held, kernels_kept, logs, robot, unchecked, wrong_model

import inertica as ia
from inertica.dynamics.engine import Engine
from inertica.identifiability.base import base_model
from inertica.logs.log import Log
from inertica.robot import inertia
from inertica.robot.description import Description
from inertica.workflow.identify.settings import Settings
from inertica.workflow.payload.drive_gains import DriveGains
from inertica.workflow.payload.gain_knowledge import alone, link_sizes
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
    out: dict[str, dict[str, Any]] = {}
    by_load = [job for job in jobs if job in JOBS]
    empty, carried = logs(name, [loads[0], loads[1], loads[1]], run, pair) if by_load else (None, [])
    for job in jobs:
        try:
            out |= JOBS[job](model, gains, loads, empty, carried) if job in JOBS else KNOWING[job](model, gains, loads, run)
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


ACCURACY = 0.01
"""Standard deviation of what is stated, relative; statements are off by as much."""

FIXED = Settings(cutoff=30.0, delay=0.0, friction=("viscous", "coulomb"))


def drawn(
    description: Description, gains: Array, loads: list[Array], run: int, shared: bool = False
) -> tuple[Array, Log, list[Log]]:
    """Gains, half of them alike where wanted, and logs with currents: without load, with one, with two beside each other."""
    rng, name = np.random.default_rng([run, 6]), description.name
    if shared:
        places = alike_joints(len(gains))
        gains = gains.copy()
        gains[places] = (
            np.sign(gains[places]) * abs(gains[places[0]]) * (1.0 + ACCURACY / np.sqrt(2.0) * rng.standard_normal(len(places)))
        )
    shift = rng.uniform(-REACH, REACH, 3)
    beside = inertia.change_frame(loads[0], np.eye(3), shift)
    empty, carried = logs(name, [loads[0], loads[0] + beside], run, 0)
    return gains, in_amperes(empty, gains), [in_amperes(log, gains) for log in carried]


def alike_joints(n: int) -> list[int]:
    """0-based joints with the same drive: every other one."""
    return list(range(0, n, 2))


def alike(n: int) -> ia.Alike:
    """That statement."""
    return ia.Alike(tuple(j + 1 for j in alike_joints(n)), ACCURACY)


def weighed(model: Description, run: int) -> ia.Weighed:
    """The weight of what is beyond a joint, in the first pose of some random ones in which it has a lever."""
    rng = np.random.default_rng([run, 7])
    truth = robot(model.name)[1].truth
    layout, n = truth.layout, model.robot.n
    rigid = [p.kind in ("inertia", "first_moment", "mass") for p in layout.parameters]
    poses = rng.uniform(-1.0, 1.0, (50, n))
    engine, still = Engine(layout, threads=1), np.zeros((50, n))
    torque = engine.inverse_dynamics(poses, still, still, np.where(rigid, truth.values, 0.0), truth.shapes)
    j = int(np.argmax(np.abs(torque).max(axis=0)))
    for axis in np.eye(3):
        chi = np.zeros(layout.size)
        chi[layout.link(j)] = inertia.from_com(1.0, axis, np.zeros((3, 3)))
        lever = engine.inverse_dynamics(poses, still, still, chi, truth.shapes)[:, j]
        good = np.flatnonzero((np.abs(lever) > 3.0) & (np.abs(torque[:, j]) > 0.5 * np.abs(torque[:, j]).max()))
        if len(good):
            mass = torque[good[0], j] / lever[good[0]] * (1.0 + ACCURACY * rng.standard_normal())
            return ia.Weighed(j + 1, abs(mass), tuple(np.sign(mass) * axis), tuple(poses[good[0]]), ACCURACY)
    raise ia.InputError("no pose in which the arm's weight has a lever")


def gains_weighed(
    model: Description, gains: Array, loads: list[Array], run: int, *, shared: bool = False
) -> dict[str, dict[str, Any]]:
    gains, empty, _ = drawn(model, gains, loads, run, shared)
    known = [weighed(model, run), *([alike(len(gains))] if shared else [])]
    found = ia.drive_gains(model, unloaded=[empty], known=known, settings=FIXED)
    return _bounded("alike, weighed" if shared else "weighed", found, gains)


def gains_alike_weighed(model: Description, gains: Array, loads: list[Array], run: int) -> dict[str, dict[str, Any]]:
    return gains_weighed(model, gains, loads, run, shared=True)


def gains_alike(model: Description, gains: Array, loads: list[Array], run: int) -> dict[str, dict[str, Any]]:
    gains, empty, _ = drawn(model, gains, loads, run, shared=True)
    found = ia.drive_gains(model, unloaded=[empty], known=[alike(len(gains))], settings=FIXED)
    return _bounded("alike", found, gains)


def gains_equal(model: Description, gains: Array, loads: list[Array], run: int) -> dict[str, dict[str, Any]]:
    gains, empty, (one, two) = drawn(model, gains, loads, run)
    found = ia.drive_gains(model, unloaded=[empty], loaded=[one], twice=[two], frame=FRAME, settings=FIXED)
    return _bounded("equal loads", found, gains)


def gains_link(model: Description, gains: Array, loads: list[Array], run: int) -> dict[str, dict[str, Any]]:
    rng = np.random.default_rng([run, 8])
    gains, empty, _ = drawn(model, gains, loads, run)
    truth, base = robot(model.name)[1].truth, base_model(model.layout)
    told = [j for j in model.robot.links if len(alone(base, j))]
    values, trusted = np.array(model.prior.values), max(told, key=lambda j: truth.link(j)[9])
    ten = truth.link(trusted)
    size = link_sizes(ten)
    values[model.layout.link(trusted)] = ten + ACCURACY * size * rng.standard_normal(10)
    card = replace(model, prior=model.prior.with_values(values))
    found = ia.drive_gains(card, unloaded=[empty], known=[ia.TrustedLink(trusted + 1, ACCURACY)], settings=FIXED)
    return _bounded("link", found, gains)


def gains_law(model: Description, gains: Array, loads: list[Array], run: int) -> dict[str, dict[str, Any]]:
    rng = np.random.default_rng([run, 9])
    gains, empty, _ = drawn(model, gains, loads, run)
    loop = dict(robot(model.name)[0].loop or {})
    off = 1.0 + ACCURACY * rng.standard_normal(len(gains))
    for key in ("kp", "kd") if loop["law"] == "pd" else ("kv",):
        loop[key] = list(np.asarray(loop[key], float) * off)
    found = ia.drive_gains_by_law(replace(model, loop=loop), logs=[empty], accuracy=ACCURACY)
    return _bounded("law", found, gains)


def _bounded(row: str, found: DriveGains, gains: Array) -> dict[str, dict[str, Any]]:
    """Gains whose intervals end somewhere; relative ones without the one that is 1."""
    truth, which = gains, np.isfinite(found.intervals).all(axis=1)
    if found.reference is not None:
        truth = gains / gains[found.reference]
        which[found.reference] = False
    out = {row: _gains(found, truth, which)}
    return out | {f"{row}, unbounded": _gains(found, truth, ~which)} if found.reference is None and not which.all() else out


JOBS = {"gains": gains_alone, "loads": loads_alone, "both": together}

KNOWING = {
    "weighed": gains_weighed, "link": gains_link, "alike-weighed": gains_alike_weighed, "alike": gains_alike, "equal": gains_equal,
    "law": gains_law,
}  # fmt: skip


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
    parser.add_argument("--jobs", nargs="+", default=list(JOBS), choices=[*JOBS, *KNOWING])
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
