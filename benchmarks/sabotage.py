"""Logs with one fault each: is the fault named, and are logs without fault left alone?

Every fault of a list is put into records of real robots (where they are there: ../shared/data or INERTICA_REAL_DATA) and into
simulated logs of catalog robots, whose models are made wrong by tens of percent.

    named         the check gives a problem and names the fault
    suspected     it gives a warning that names the fault
    among         it names it beside others that explain the log better
    not testable  it says that it cannot tell, and nobody could: with the parameters known exactly (true ones, or those fitted to the
                  log without the fault) the model's torque misses the faulty log by no more than the log without fault
    hidden        it says that it cannot tell, and nobody could whose model is off by 30 %: exactly known parameters would tell, but
                  not each of 20 models drawn around them, friction fitted, prefers the right log to the faulty one
    untold        it says that it cannot tell, but all of these could
    missed        it says that all is well
    misnamed      it names something else

The last three are failures.

    python benchmarks/sabotage.py [--json] [--robots tx40,panda7] [--untouched]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from inertica.checks.findings import Quality
from inertica.checks.gate import checked
from inertica.checks.hypotheses import AS_RECORDED, Hypothesis, hypotheses
from inertica.checks.plausible import Judge, ThinnedLog, with_friction
from inertica.checks.quality import look
from inertica.dynamics.engine import Engine
from inertica.excitation import catalog_trajectory
from inertica.experiment import Experiment
from inertica.logs.log import Log
from inertica.logs.read import read_log
from inertica.robot.description import Description
from inertica.robot.load import load

DATA = Path(os.environ.get("INERTICA_REAL_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
SIMULATED = ("panda7", "rv2sq", "scara4")
OTHERS = {"TX40 record": "UR10e record", "UR10e record": "TX40 record", "panda7": "jaco2", "rv2sq": "tx40", "scara4": None}
MODEL_ERROR = 0.2
"""Standard deviation of masses, sizes and centres of mass of the wrong models, relative."""

CANNOT_TELL = 1.3
"""A fault cannot be told when the robot's own torque misses each joint by no more than this many times what it does without."""

DRAWS, DRAWN = 20, 0.3
"""Models that stand for what a user knows, and how far their links are off: standard deviation of mass, size, centre of mass."""

EVIDENCE = 2.0
"""Difference of scores by which each of them has to prefer the right log: odds of e to one, less is none."""

COMPARED = 0.02
"""Residual that is added to both before, so that noise-free joints do not tell what no sensor would."""


@dataclass(frozen=True)
class Case:
    """A log without fault, and its robot."""

    name: str
    description: Description
    log: Log
    truth: np.ndarray | None = None


@dataclass(frozen=True)
class Fault:
    """A fault: what the log becomes, the hypothesis that undoes it, or another description."""

    group: str
    name: str
    undone_by: Hypothesis | None = None
    gravity: tuple[float, float, float] | None = None
    log: Log | None = None


def real_cases() -> Iterator[Case]:
    """Public records, with the cards that their pages ask for."""
    gains = "torque: {from: current, gain: [11.976, 11.976, 9.839, 10.763, 10.763, 10.763]}"
    listed = (
        ("TX40 record", "tx40/tx40.urdf", "tx40/tx40_joint_public.csv.gz", "coupling: [{motor: 6, joints: [5, 6]}]"),
        ("UR10e record", "ur10e/ur10e.urdf", "ur10e/ident_unloaded_b.csv.gz@2:52.1", gains),
        ("UR10e record a", "ur10e/ur10e.urdf", "ur10e/ident_unloaded_a.csv.gz@6.8:37.4", gains),
        ("UR10e point to point", "ur10e/ur10e.urdf", "ur10e/valid_ptp.csv.gz@7.5:44.9", gains),
        ("UR10e with load", "ur10e/ur10e.urdf", "ur10e/ident_loaded.csv.gz@3.2:53.3", gains),
        ("KUKA LWR4 1", "kuka_lwr4/kuka_lwr4.urdf", "kuka_lwr4/ident_slow_1.csv.gz@3:25", ""),
        ("KUKA LWR4 2", "kuka_lwr4/kuka_lwr4.urdf", "kuka_lwr4/ident_slow_2.csv.gz@3:25", ""),
    )
    for name, model, record, line in listed:
        if not (DATA / model).exists():
            continue
        with tempfile.TemporaryDirectory() as folder:
            card = Path(folder) / "card.yaml"
            card.write_text(f"model: {DATA / model}\nfriction: auto\narmature: true\n{line}\n")
            description = load(card)
        yield Case(name, description, read_log(f"{DATA / record}", description))


def simulated(name: str, seed: int = 0) -> Case:
    """A noisy log of a catalog robot, and a model of it that is off by tens of percent."""
    robot = load(name)
    preset = "standard" if "standard" in robot.noise else next(iter(robot.noise), None)
    experiment = Experiment.of(robot, noise=preset)
    log = next(iter(experiment.iterate(catalog_trajectory(name).trajectory, runs=1, seed=seed)))
    wrong = wrong_model(robot, np.random.default_rng(1000 + seed))
    return Case(name, wrong, Log.from_arrays(log.t, {"q": log.need("q"), "tau": log.need("tau")}, log.joints), robot.prior.values)


def wrong_model(robot: Description, rng: np.random.Generator, error: float = MODEL_ERROR) -> Description:
    """Mass, size and centre of mass of every link off by `error`, drives and friction by as much; every link stays possible."""
    values = robot.prior.values.copy()
    for _, where in robot.layout.bodies:
        p = values[where]
        inertia = np.array([[p[0], p[1], p[2]], [p[1], p[3], p[4]], [p[2], p[4], p[5]]])
        J = np.zeros((4, 4))
        J[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
        J[:3, 3] = J[3, :3] = p[6:9]
        J[3, 3] = p[9]
        size = math.sqrt(max(float(np.trace(J[:3, :3])), 0.0) / p[9]) if p[9] > 0.0 else 0.0
        A = np.eye(4)
        A[:3, :3] += error * rng.standard_normal((3, 3)) / math.sqrt(3.0)
        A[:3, 3] += error * size * rng.standard_normal(3) / math.sqrt(3.0)
        J = math.exp(error * rng.standard_normal()) * A @ J @ A.T
        inertia = np.trace(J[:3, :3]) * np.eye(3) - J[:3, :3]
        values[where] = [*inertia[0], *inertia[1, 1:], inertia[2, 2], *J[:3, 3], J[3, 3]]
    for _, where in robot.layout.drives:
        values[where] *= np.exp(error * rng.standard_normal(where.stop - where.start))
    return replace(robot, prior=robot.prior.with_values(values, "wrong"))


def faults(case: Case, others: dict[str, Case]) -> Iterator[Fault]:
    """Every fault that is put into a log."""
    robot, n = case.description.robot, case.description.robot.n
    for h in hypotheses(robot, np.ones(n, bool)):
        neighbours = len(h.joints) == 2 and h.joints[1] == h.joints[0] + 1
        if h.kind == "joint signs" and len(h.joints) == 1:
            what = "both" if h.turn and h.gain else "position" if h.turn else "torque"
            yield Fault(f"sign of {what}", h.text, h)
        elif h.kind == "joint order" and neighbours:
            what = "joints" if h.columns and h.torques else "positions" if h.columns else "torques"
            yield Fault(f"swapped {what}", h.text, h)
        elif h.kind == "encoder zeros" and "too high" in h.text:
            yield Fault("encoder 90 degrees", h.text, h)
        elif h.kind == "units" and ("degrees" in h.text or "mN m" in h.text):
            yield Fault("degrees" if "degrees" in h.text else "mN m", h.text, h)
        elif h.kind == "mount":
            yield Fault("sideways" if "sideways" in h.text else "hanging", h.text, h, gravity=h.gravity)
    other = OTHERS.get(case.name)
    if other in others:
        yield Fault("another arm", f"the log is one of {other}", log=others[other].log)
    g = np.array(robot.gravity)
    tilted = g + np.linalg.norm(g) * math.radians(1.0) * np.array([1.0, 0.0, 0.0])
    yield Fault("lean of 1 degree", "the robot leans by one degree", gravity=tuple(float(x) for x in tilted))


def faulty(case: Case, fault: Fault) -> tuple[Description, Log]:
    """Description and log with the fault in it."""
    if fault.log is not None:
        return case.description, fault.log
    if fault.gravity is not None:  # the log is right and the model wrong: to the check it is the same
        d = case.description
        layout = replace(d.layout, robot=d.robot.with_gravity(fault.gravity))
        return replace(d, robot=layout.robot, layout=layout, prior=d.prior.on(layout)), case.log
    h = inverse(fault.undone_by or AS_RECORDED)
    signals = {"q": h.position(case.log.need("q")), "tau": h.torque(case.log.need("tau"))}
    log = Log.from_arrays(case.log.t, signals, case.log.joints)
    for reason, mask in case.log.masks.items():
        log = log.with_mask(mask, reason)
    return case.description, log


def inverse(h: Hypothesis) -> Hypothesis:
    """What puts the fault in; swaps and turns undo themselves."""
    turn = None if h.turn is None else tuple(1.0 / x for x in h.turn)
    gain = None if h.gain is None else tuple(1.0 / x for x in h.gain)
    zero = None if h.zero is None else tuple(-x for x in h.zero)
    return replace(h, turn=turn, gain=gain, zero=zero)


class Referee:
    """Whether the robot's own torque can tell a fault."""

    def __init__(self, case: Case) -> None:
        d = self.description = with_friction(case.description)
        self.rows = ThinnedLog.of(list(look(case.description, [case.log], together=False).seen.values()))
        self.judge = Judge(Engine(d.layout), d.prior, self.rows)
        self.chi = self.judge.fit().chi
        if case.truth is not None:
            known = dict(zip(case.description.layout.names, case.truth, strict=True))
            self.chi = np.array([known.get(name, 0.0) for name in d.layout.names])
        self.before = self._missed(AS_RECORDED, self.rows)

    def can_tell(self, fault: Fault) -> bool:
        """With all parameters known exactly."""
        return fault.undone_by is None or self.ratio(fault) > CANNOT_TELL

    def ratio(self, fault: Fault) -> float:
        """How many times more known parameters miss of the faulty log than of the right one, the joint that tells most."""
        h = fault.undone_by
        assert h is not None
        turned = h.gravity is not None
        after = self._missed(h, self.rows) if turned else self._missed(AS_RECORDED, self.rows.under(inverse(h)))
        return float(np.max((after + COMPARED) / (self.before + COMPARED)))

    def margins(self, fault: Fault) -> list[float]:
        """By how much each of DRAWS models, off by DRAWN and held fixed, explains the right log better than the faulty one."""
        h = fault.undone_by
        assert h is not None
        wrong = h if h.gravity is not None else inverse(h)
        return sorted(judge.fit(wrong).score - judge.fit().score for judge in self.draws)

    @cached_property
    def draws(self) -> list[Judge]:
        """Models around the robot's parameters; friction, armature and offsets are fitted, links are not."""
        known = replace(self.description, prior=self.description.prior.with_values(self.chi))
        out = []
        for seed in range(DRAWS):
            drawn = wrong_model(known, np.random.default_rng(seed), DRAWN)
            judge = Judge(self.judge.engine, drawn.prior, self.rows)
            judge.fixed = judge.fixed | judge.links
            out.append(judge)
        return out

    def _missed(self, h: Hypothesis, rows: ThinnedLog) -> np.ndarray:
        """(n,) relative residual of known parameters; only friction may drive as it likes: its sign is not known to a sensor."""
        W = self.judge.observe(rows, h)
        predicted = np.column_stack([X @ self.chi[own] for own, X in W])
        return np.asarray(np.linalg.norm(rows.tau - predicted, axis=0) / np.linalg.norm(rows.tau, axis=0))


def outcome(case: Case, fault: Fault, report: Quality, referee: Referee) -> str:
    """One of the words above."""
    searched = [f for f in report.findings if "fault" in f.numbers]
    if fault.group == "another arm":
        return "misnamed" if report.problems else "suspected" if report.worst("same robot") == "warning" else "missed"
    if fault.group == "lean of 1 degree":
        fine = [f for f in report.of("lean") if f.verdict == "fine"]
        return "missed" if fine or report.problems else "not claimed"
    if searched:
        said = [searched[0].numbers["fault"], *searched[0].numbers["alike"]]
        right = [k for k, text in enumerate(said) if matches(case, fault, str(text))]
        if not right or right[0] > 0:
            return "among" if right else "misnamed"
        return "named" if searched[0].verdict == "problem" or fault.gravity is not None else "suspected"
    if report.problems:
        return "misnamed"
    untold = [text for f in report.findings for text in f.numbers.get("untold", [])]
    said_so = any(matches(case, fault, str(text)) for text in untold)
    if not said_so:
        return "missed"
    if not referee.can_tell(fault):
        return "not testable"
    return "untold" if min(referee.margins(fault)) > EVIDENCE else "hidden"


def matches(case: Case, fault: Fault, text: str) -> bool:
    if fault.gravity is not None:  # the model was turned, so the direction to turn it back to is the true one
        true = np.array(case.description.robot.gravity)
        k = int(np.argmax(np.abs(true)))
        return f"gravity along {'+' if true[k] > 0 else '-'}{'xyz'[k]} " in text
    assert fault.undone_by is not None
    return text == fault.undone_by.text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--robots", help="only these cases, by commas")
    parser.add_argument("--untouched", action="store_true", help="only logs without fault")
    arguments = parser.parse_args()
    wanted = arguments.robots.split(",") if arguments.robots else None
    cases = {c.name: c for c in real_cases()} | {name: simulated(name) for name in (*SIMULATED, "jaco2", "tx40")}
    rows: list[dict[str, object]] = []
    for case in cases.values():
        if wanted and case.name not in wanted:
            continue
        start = time.process_time()
        report = checked(case.description, [case.log], quick=True)
        took = time.process_time() - start
        alarm = [f.text for f in report.findings if f.verdict == "problem" or "fault" in f.numbers or f.name == "elasticity"]
        rows.append(
            {
                "robot": case.name,
                "group": "no fault",
                "fault": "",
                "outcome": "false alarm" if alarm else "left alone",
                "said": alarm,
                "seconds": took,
            }
        )
        if arguments.untouched or case.name not in OTHERS:
            continue
        referee = Referee(case)
        for fault in faults(case, cases):
            description, log = faulty(case, fault)
            start = time.process_time()
            report = checked(description, [log], quick=True)
            took = time.process_time() - start
            said = [f"{f.name}: {f.text}" for f in report.findings if f.verdict == "problem" or "fault" in f.numbers]
            entry: dict[str, object] = {
                "robot": case.name,
                "group": fault.group,
                "fault": fault.name,
                "said": said,
                "seconds": took,
            }
            entry["outcome"] = outcome(case, fault, report, referee)
            if entry["outcome"] in ("not testable", "hidden", "untold"):
                entry |= {"exact": referee.ratio(fault), "margins": referee.margins(fault)}
            rows.append(entry)
            print(f"{case.name}: {fault.name}: {entry['outcome']}", file=sys.stderr, flush=True)
    if arguments.json:
        print(json.dumps(rows, indent=1))
    else:
        print(table(rows))
    return int(any(row["outcome"] in ("false alarm", "missed", "misnamed", "untold") for row in rows))


def table(rows: list[dict[str, object]]) -> str:
    """Fault by robot, as Markdown."""
    robots = list(dict.fromkeys(str(r["robot"]) for r in rows if r["group"] != "no fault"))
    groups = list(dict.fromkeys(str(r["group"]) for r in rows if r["group"] != "no fault"))
    lines = [f"| fault | {' | '.join(robots)} |", f"| --- |{' --- |' * len(robots)}"]
    for group in groups:
        cells = []
        for robot in robots:
            count = Counter(str(r["outcome"]) for r in rows if r["robot"] == robot and r["group"] == group)
            cells.append(", ".join(f"{k} {word}" for word, k in count.most_common()) or "-")
        lines.append(f"| {group} | {' | '.join(cells)} |")
    counts = Counter(str(r["outcome"]) for r in rows if r["group"] != "no fault")
    lines += ["", f"Of {sum(counts.values())} faults: {', '.join(f'{k} {word}' for word, k in counts.most_common())}"]
    lines += [
        "",
        "| not told | kind | known parameters miss | models that prefer the right log | by |",
        "| --- | --- | --- | --- | --- |",
    ]
    for r in rows:
        if "margins" in r:
            margins = np.array(r["margins"])
            lines.append(
                f"| {r['robot']}: {r['fault']} | {r['outcome']} | {r['exact']:.2g} times as much "
                f"| {np.count_nonzero(margins > EVIDENCE)} of {DRAWS} | {margins.min():.1f} to {margins.max():.1f} |"
            )
    alone = [r for r in rows if r["group"] == "no fault"]
    alarms = [str(r["robot"]) for r in alone if r["outcome"] == "false alarm"]
    lines += ["", f"Logs without fault: {len(alone)}, false alarms: {len(alarms)} {alarms or ''}"]
    seconds = [float(r["seconds"]) for r in rows]  # type: ignore[arg-type]
    lines.append(f"CPU seconds of a check: median {np.median(seconds):.2f}, at most {max(seconds):.2f}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
