"""Power and false alarms of the delay search on simulated logs of catalog robots.

Every log is simulated once; torques are then read late by whole samples, which is what a delay does, and thinned out.  A held torque
leads by half a control period, so that is the truth to which delays are added.  Columns of the table:

  alarm    joints whose delay was moved away from the truth, no delay added (loop of the card known / unknown)
  lead     joints whose delay ends within 0.1 ms or 20 % of half a control period, loop unknown
  common   joints on which 3 ms on all joints are found, within 20 % or 0.5 ms; per joint
  own      the same for 10 ms on one joint only
  elastic  joints on which an elasticity of 5 mrad (position of the motor recorded) passes for a delay of more than 1 ms

usage: python benchmarks/delay.py [--runs 8] [--seed 2000] [--only tx40/low_position@1000,panda7] [--json FILE]

FILE is read first, and rows that it holds with as many runs are not measured again.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import inertica as ia
from inertica.experiment import Experiment, Sensors
from inertica.identifiability.base import BaseModel, base_model
from inertica.logs.log import Log
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description
from inertica.robot.plain import assumed_friction
from inertica.threads import one_thread
from inertica.workflow.decisions.delay import choose_delay

Array = NDArray[np.float64]

SURVEY = ("low_position", "standard", "high_position", "high_torque", "high_position_torque", "old")
CELLS = [
    *((robot, preset, 1000.0) for robot in ("tx40", "rv2sq") for preset in SURVEY),
    ("panda7", "standard", 1000.0), ("scara4", "standard", 1000.0), ("scara2", "standard", 200.0),
    *(("rv2sq", preset, 140.0) for preset in SURVEY[:3]),
    ("tx40", "low_position", 100.0), ("panda7", "standard", 100.0), ("scara4", "standard", 100.0),
]  # fmt: skip
WHOLE = {("tx40", "low_position", 1000.0), ("panda7", "standard", 1000.0)}
"""Cells in which every joint in turn has a delay of its own in every run; elsewhere one joint a run."""


class Cell:
    """A robot under a noise preset, recorded at a rate."""

    def __init__(self, robot: str, preset: str, rate: float) -> None:
        described = replace(ia.load(robot), friction_stated=False)
        self.robot, self.rate, self.n = robot, rate, described.robot.n
        self.known: Description = assumed_friction(described)
        self.unknown: Description = replace(self.known, loop=None)
        self.base: BaseModel = base_model(self.known.layout)
        control = Experiment.of(described).loop.rate
        self.fine = rate if rate > 100.0 else 1000.0
        self.experiment = Experiment.of(described, noise=preset, threads=1, sensors=Sensors(rate=min(self.fine, control)))
        self.lead = -0.5 / control

    def logs(self, runs: int, seed: int) -> list[Log]:
        out: list[Log] = []
        for i, kind in enumerate(("identification", "validation")):
            trajectory = ia.catalog_trajectory(self.robot, kind).trajectory
            out += self.experiment.run(trajectory, runs=runs // 2 + (i < runs % 2), seed=seed + i)
        return out

    def taken(self, log: Log, known: bool = True) -> Array:
        description = self.known if known else self.unknown
        thin = round(self.fine / self.rate)
        if thin > 1:
            log = Log.from_arrays(log.t[::thin], {k: v[::thin] for k, v in log.signals.items()}, log.joints)
        with one_thread():
            recipe, _ = choose_delay(description, self.base, [log], Recipe(), lambda _: None)
        return np.asarray(recipe.delays(self.n))

    def late(self, log: Log, delays: Array) -> tuple[Log, Array]:
        """The log with torque read late by whole samples, and what the search should find."""
        lags = np.rint(delays * self.fine).astype(int)
        rows = np.maximum(np.arange(len(log))[:, None] - lags, 0)
        tau = np.take_along_axis(log.need("tau"), rows, axis=0)
        return replace(log, signals={**log.signals, "tau": tau}), lags / self.fine + self.lead


def found(taken: Array, truth: Array, delay: float) -> NDArray[np.bool_]:
    return np.abs(taken - truth) <= max(0.2 * delay, 0.5e-3)


def elastic(log: Log, size: float = 5e-3) -> Log:
    """The motor's position in place of the link's: twisted by `size` rad at the largest torque."""
    stiffness = np.maximum(np.abs(log.truth["tau"]).max(axis=0) / size, 1.0)
    return replace(log, signals={**log.signals, "q": log.need("q") + log.truth["tau"] / stiffness})


def measured(cell: Cell, runs: int, seed: int, whole: bool) -> dict[str, object]:
    alarms: dict[bool, list[Array]] = {True: [], False: []}
    lead, common, own, twisted = [], [], [[] for _ in range(cell.n)], []
    small, large = (3e-3, 10e-3) if cell.fine >= 1000.0 else (np.ceil(3e-3 * cell.fine) / cell.fine, 10e-3)
    for k, log in enumerate(cell.logs(runs, seed)):
        for known in (True, False):
            taken, expected = cell.taken(log, known), cell.lead if known else 0.0
            alarms[known].append(np.abs(taken - cell.lead) > abs(expected - cell.lead) + 1e-9)
        lead.append(np.abs(taken - cell.lead) <= max(1e-4, 0.2 * abs(cell.lead)))
        late, truth = cell.late(log, np.full(cell.n, small))
        common.append(found(cell.taken(late), truth, small))
        for j in range(cell.n) if whole else (k % cell.n,):
            late, truth = cell.late(log, large * np.eye(cell.n)[j])
            own[j].append(bool(found(cell.taken(late), truth, large)[j]))
        twisted.append(np.abs(cell.taken(elastic(log)) - cell.lead) > 1e-3)
    return {
        "runs": runs,
        "seed": seed,
        "joints": cell.n,
        "alarms_known": int(np.sum(alarms[True])),
        "alarms_unknown": int(np.sum(alarms[False])),
        "lead": float(np.mean(lead)),
        "common": np.mean(common, axis=0).tolist(),
        "own": [float(np.mean(x)) if x else None for x in own],
        "elastic": int(np.sum(twisted)),
    }


def shares(values: list[float | None]) -> str:
    return " ".join("-" if v is None else f"{100 * v:.0f}" for v in values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=2000)
    parser.add_argument("--only", default="", help="cells, as robot, robot/preset or robot/preset@rate, with commas")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = json.loads(options.json.read_text()) if options.json and options.json.exists() else {}
    only = [word for word in options.only.split(",") if word]
    total = {"joints": 0, "alarms_known": 0, "alarms_unknown": 0}
    print(
        "| robot, preset, rate | alarm known / unknown | lead % | common 3 ms % by joint | own 10 ms % by joint | elastic | s |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for robot, preset, rate in CELLS:
        name = f"{robot}/{preset}@{rate:g}"
        if only and not any(name == word or name.startswith((word + "/", word + "@")) for word in only):
            continue
        start = time.perf_counter()
        row = rows.get(name, {})
        if row.get("runs") != options.runs or row.get("seed") != options.seed:
            row = measured(Cell(robot, preset, rate), options.runs, options.seed, (robot, preset, rate) in WHOLE)
            rows[name] = row
            if options.json:
                options.json.write_text(json.dumps(rows, indent=1) + "\n")
        cases = row["runs"] * row["joints"]
        total["joints"] += cases
        total["alarms_known"] += row["alarms_known"]
        total["alarms_unknown"] += row["alarms_unknown"]
        print(
            f"| {robot} {preset} {rate:g} Hz | {row['alarms_known']} / {row['alarms_unknown']} of {cases} | {100 * row['lead']:.0f} "
            f"| {shares(row['common'])} | {shares(row['own'])} | {row['elastic']} of {cases} | {time.perf_counter() - start:.0f} |",
            flush=True,
        )
    share = [100 * total[key] / max(total["joints"], 1) for key in ("alarms_known", "alarms_unknown")]
    print(f"\nfalse alarms: {share[0]:.2f} % of {total['joints']} joints with the loop known, {share[1]:.2f} % with it unknown")


if __name__ == "__main__":
    main()
