"""`actuators`: armature, friction, delay, zeros and gains of every joint, from logs of commands and positions."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from inertica.dynamics.llvm.target import Native
from inertica.dynamics.servo import branches
from inertica.errors import InputError, ModelWarning
from inertica.estimators.actuators.record import Hold, Record
from inertica.estimators.actuators.values import ActuatorValues
from inertica.logs.log import Log
from inertica.logs.read import read_log
from inertica.robot.description import Description
from inertica.robot.load import load
from inertica.robot.loops import require_tree
from inertica.workflow.actuators import judged
from inertica.workflow.actuators.choices import choose_hold, choose_standstill, with_friction, with_limits
from inertica.workflow.actuators.free_runs import before, free_run, links_found, links_spread
from inertica.workflow.actuators.groups import Judged, Say, fitted_group, refined
from inertica.workflow.actuators.known import FOUND_STD, Setup, known_values, links_deviation
from inertica.workflow.actuators.loads import HungMass, added_parameters
from inertica.workflow.actuators.log_checks import in_words, motion_findings, saturation_findings
from inertica.workflow.actuators.records import check, records
from inertica.workflow.actuators.result import ActuatorsResult
from inertica.workflow.identify.inputs import LogLike


@dataclass
class _Clock:
    """Seconds per stage."""

    stages: dict[str, float] = field(default_factory=dict)
    last: float = field(default_factory=time.perf_counter)

    def stage(self, name: str) -> None:
        now = time.perf_counter()
        self.stages[name] = now - self.last
        self.last = now


def actuators(
    robot: str | Path | Description, logs: Sequence[LogLike], *, validate: Sequence[LogLike] = (),
    kp: ArrayLike | None = None, kd: ArrayLike | None = None, torque_limit: ArrayLike | None = None,
    loads: Mapping[str, HungMass] | None = None, links: Sequence[int | str] = (), links_std: float | None = None,
    hold: Hold | None = None, start: ActuatorValues | None = None, threads: int | None = None, say: Say = lambda _: None,
) -> ActuatorsResult:  # fmt: skip
    """Actuators of a robot from commands and positions; no torque is needed.  The base is held.

    Args:
        robot: catalog name, model file, card or a description; its links are taken as they are, but for their uncertainty.
        logs: files (with `@t0:t1` slices) or logs with positions q and commands qr (dqr where velocities are commanded), for the fit.
        validate: the same, only simulated.
        kp, kd, torque_limit: known gains and limits, SI on the joint's side, one number or one per joint (NaN for those that are not
            known), before those of the card's `loop:`.
        loads: log -> known mass that hung on a link while it was recorded: (kg,), (kg, x, y, z) or (kg, x, y, z, joint), in m in the
            frame of the link, the last one where none is named.
        links: joints (1-based numbers or names) whose links are found, too.
        links_std: relative standard deviation of the links' parameters; what the card states under `prior:`, or 0.1.
        hold: how commands stand between samples: `zero` (held) or `linear`; whichever fits clearly better, else held.
        start: where the search begins, beside starts of its own.
        threads: of the processor; all by default.
        say: progress.

    Examples:
        >>> found = ia.actuators("arm.urdf", ["run1.csv.gz@0:3"])
        >>> len(found.joints)
        3
    """
    clock = _Clock()
    say("reading")
    description = robot if isinstance(robot, Description) else load(robot)
    require_tree(description.robot, "the identification of servos")
    if not logs:
        raise InputError("actuators needs at least one log")
    added = added_parameters(description, loads or {}, [*logs, *validate])
    read = [records(_read(log, description), added.get(k)) for k, log in enumerate([*logs, *validate])]
    fitted, held_out = ([part for parts in some for part in parts] for some in (read[: len(logs)], read[len(logs) :]))
    moving = check(fitted, description.robot.joint_names)
    setup = Setup(
        description, known_values(description, kp, kd, torque_limit), links_deviation(description, links, links_std),
        Native(threads or os.cpu_count() or 1),
    )  # fmt: skip
    clock.stage("reading")
    notes = setup.known.notes(setup.names)
    fits = [fitted_group(setup, joints, fitted, moving, start, say) for joints in branches(description.robot)]
    groups = [group for group in fits if group is not None]
    clock.stage("fit")
    groups = choose_standstill(groups, notes, say)
    groups = choose_hold(groups, hold, notes, say)
    groups = [with_friction(with_limits(setup, group, say), notes, setup.names, say) for group in groups]
    clock.stage("choices")
    fine = [refined(group, say) for group in groups]
    clock.stage("refinement")
    say("intervals")
    evidence = [Judged.of(group, coarse) for group, coarse in zip(fine, groups, strict=True)]
    clock.stage("intervals")
    say("free runs")
    values, first = judged.all_values(setup, evidence), before(setup, evidence)
    sets = _by_log(held_out) or _by_log(fitted)
    free_runs = {name: free_run(setup, evidence, values, first, parts, not held_out) for name, parts in sets.items()}
    clock.stage("free runs")
    runs = evidence[0].fit.runs
    findings = motion_findings(fitted, moving) | saturation_findings(fitted, values, moving)
    result = ActuatorsResult(
        robot=description.robot.name,
        model=str(description.source.card or description.source.path),
        joints=judged.joint_actuators(setup, evidence),
        confounded=tuple(c for group in evidence for c in judged.combinations(setup, group)),
        scale=tuple(judged.scale(setup, group) for group in evidence),
        free_run=free_runs,
        time=clock.stages,
        posterior=judged.posterior(evidence),
        links_std=float(np.median(setup.links_std)),
        hold=runs.hold,
        impedance=runs.standstill.impedance,
        rate=runs.standstill.rate,
        logs=tuple(_by_log(fitted)),
        warnings=(*in_words(findings, setup.names), *judged.warnings_of(setup, evidence)),
        notes=tuple(notes),
        links=links_found(setup, evidence),
        links_spread=links_spread(setup, evidence),
        found_links=tuple(int(j) for j in np.flatnonzero(setup.links_std >= FOUND_STD)),
        constant_friction=judged.constant_friction(values, evidence),
    )
    for sentence in result.warnings:
        warnings.warn(sentence, ModelWarning, stacklevel=2)
    return result


def _read(log: LogLike, description: Description) -> Log:
    return log if isinstance(log, Log) else read_log(log, description)


def _by_log(parts: Sequence[Record]) -> dict[str, list[Record]]:
    out: dict[str, list[Record]] = {}
    for part in parts:
        out.setdefault(part.name, []).append(part)
    return out
