"""`check`: what recorded logs of a robot are worth, before any fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from inertica.checks import determined, motion_checks, signal_checks
from inertica.checks.clock import clock
from inertica.checks.findings import Finding, Quality
from inertica.checks.plainfit import Observed, observed, plain_fit
from inertica.checks.unsigned import unsigned
from inertica.dynamics.engine import Engine
from inertica.errors import InputError
from inertica.identifiability.base import BaseModel, base_model
from inertica.logs.log import Log
from inertica.robot.description import Description
from inertica.threads import one_thread

SHORTEST = 200
"""Usable samples below which motion and torque are not looked at."""


FEWEST_ROWS = 20
"""Rows of the plain fit below which nothing is fitted."""


@dataclass(frozen=True, eq=False)
class InspectedLogs:
    """Logs with their signals looked at.

    Args:
        names: of the logs.
        findings: of single logs, and of all together.
        seen: name -> what a plain fit sees of the logs that are fit to be looked at.
        engine: of the robot's layout.
    """

    names: tuple[str, ...]
    findings: tuple[Finding, ...]
    seen: Mapping[str, Observed]
    engine: Engine


def check(description: Description, logs: Sequence[Log]) -> Quality:
    """The quality of logs, alone and together; `inertica.checks.checked` also asks whether they are what they say.

    Args:
        description: the robot, with the friction and couplings that are to be identified.
        logs: recorded ones, with positions and torques.
    """
    looked = look(description, logs)
    return Quality(description.name, looked.names, looked.findings)


def look(description: Description, logs: Sequence[Log], *, together: bool = True, base: BaseModel | None = None) -> InspectedLogs:
    """The same with what the plain fit sees.

    Args:
        description: the robot.
        logs: recorded ones.
        together: say what the logs determine.
        base: base parameters of the description's layout, when they are there.
    """
    if not logs:
        raise InputError("there is no log to check")
    names = _names(logs)
    for log, name in zip(logs, names, strict=True):
        if log.n != description.robot.n:
            raise InputError(f"{name} has {log.n} joints, {description.name} has {description.robot.n}")
        log.need("q"), log.need("tau")
    base = base or base_model(description.layout)
    findings: list[Finding] = []
    seen: dict[str, Observed] = {}
    with one_thread():  # two BLAS threads make factorisations of this size many times slower
        for log, name in zip(logs, names, strict=True):
            log_findings, o = _alone(base, description, log)
            findings += [replace(f, log=name) for f in log_findings]
            seen |= {name: o} if o is not None else {}
        if seen and together:
            findings += _together(tuple(seen.values()), base)
    return InspectedLogs(names, tuple(findings), seen, base.engine)


def _names(logs: Sequence[Log]) -> tuple[str, ...]:
    """Names that tell the logs apart: the file's own where they differ, else with its folder."""
    short = [log.origin.path.name if log.origin.path else str(log.origin) for log in logs]
    spans = [str(log.origin).rpartition("@")[2] if log.origin.interval else "" for log in logs]
    short = [f"{s}@{span}" if span and "@" not in s else s for s, span in zip(short, spans, strict=True)]
    if len(set(short)) == len(short):
        return tuple(short)
    return tuple(f"{i + 1}: {log.origin}" for i, log in enumerate(logs))


def _alone(base: BaseModel, description: Description, log: Log) -> tuple[list[Finding], Observed | None]:
    """Findings about one log, and what the plain fit sees of it; None when it is not fit to be looked at."""
    usable = int(np.count_nonzero(~log.mask & np.isfinite(log.t)))
    jumps = [] if (jump := signal_checks.clock_jumps(log)) is None else [jump]
    if usable < SHORTEST:
        text = f"{usable} usable samples are too few to say anything about motion and torque"
        return [*jumps, Finding("length", "problem", text, "record longer", numbers={"samples": usable})], None
    robot = description.robot
    dead = signal_checks.dead_channels(log, robot)
    findings = [signal_checks.sampling(log), signal_checks.gaps(log), *jumps, dead]
    if dead.numbers["empty"]:
        return findings, None
    wild = [f for f in (signal_checks.beyond_numbers(log), signal_checks.spikes(log)) if f is not None]
    if wild:
        return [*findings, *wild], None
    if (scale := signal_checks.torque_size(log, base.engine, description.prior)) is not None:
        return [*findings, scale], None
    o = observed(log, base, description.prior)
    findings[0] = signal_checks.sampling(log, o.movement.band)
    rows = int(np.count_nonzero(o.use))
    if rows < FEWEST_ROWS:
        text = f"masks, gaps and standstill leave {rows} samples at the motion's bandwidth, too few to hold torque against motion"
        advice = "record longer, with fewer gaps"
        if not o.movement.moving.any():
            text, advice = "no joint moves, so torque cannot be held against motion", "record the robot in motion"
        return [*findings, Finding("length", "problem", text, advice, numbers={"rows": rows})], None
    findings += [
        signal_checks.repeated_samples(log, o.motion),
        signal_checks.quantisation(log, o.motion),
        signal_checks.saturation(log, robot),
        signal_checks.limits(log, robot, o.motion, o.movement.moving),
        motion_checks.standstill(o),
    ]
    findings += [unsigned(o, base.engine, description.prior)]
    findings += [f for f in (motion_checks.velocity(o),) if f is not None]
    if not any(f.name == "clock" for f in findings):
        findings += [f for f in (clock(o, robot, base, description.prior),) if f is not None]
    cutoff = o.movement.cutoff(base.rank)
    text = f"a low-pass of {cutoff:.3g} Hz for torque and regressor columns, {2 * cutoff:.3g} Hz for positions, suits this motion"
    findings.append(Finding("bandwidth", "fine", text, numbers={"cutoff": cutoff}))
    return findings, o


def _together(seen: Sequence[Observed], base: BaseModel) -> list[Finding]:
    fit = plain_fit(seen, base)
    return [
        determined.excitation(fit, base),
        determined.parameters(fit, base),
        determined.residuals(fit, seen),
        determined.couplings(fit, seen),
    ]
