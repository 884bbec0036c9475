"""`checked`: everything that is known against a log before it is fitted; what `inertica check` shows and `identify` obeys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from inertica.checks.delays import delays
from inertica.checks.elastic import stiffened, with_elasticity
from inertica.checks.findings import Finding, Quality
from inertica.checks.plainfit import Observed
from inertica.checks.plausible import LARGE_SAMPLES, Judge, ThinnedLog, with_friction
from inertica.checks.quality import look
from inertica.checks.search import findings, unmoved
from inertica.checks.some_torques import without_torque
from inertica.dynamics.arrays import is_large
from inertica.dynamics.engine import Engine
from inertica.errors import InerticaError
from inertica.identifiability.base import BaseModel, base_model
from inertica.logs.log import Log
from inertica.physical.geometry_prior import without_placeholders
from inertica.robot.description import Description
from inertica.threads import one_thread

Report = Quality
"""What a check says; the name it has where logs are let through or stopped."""


class CheckError(InerticaError):
    """A log that is not what it says; the command line exits with code 1.

    Args:
        report: what the check found.
    """

    kind = "check"

    def __init__(self, report: Report) -> None:
        self.report = report
        super().__init__(reasons(report))


def checked(description: Description, logs: Sequence[Log], *, quick: bool = False, base: BaseModel | None = None) -> Report:
    """Signals, motion, what the logs determine, and whether they are what they say.

    Args:
        description: the robot, with the friction and couplings that are to be identified.
        logs: recorded ones, with positions and torques.
        quick: leave out what `identify` finds by itself: delays, and what the logs determine.
        base: base parameters of the description's layout, when they are there.
    """
    if (bare := without_torque(logs)) is not None:
        return Report(description.name, tuple(str(log.origin) for log in logs), (bare,))
    with one_thread():
        base = base or base_model(description.layout)
        looked = look(description, logs, together=not quick, base=base)
        free = with_friction(description)
        engine = looked.engine if free.layout == description.layout else Engine(free.layout)
        findings: list[Finding] = []
        for log, name in zip(logs, looked.names, strict=True):
            signals = [f for f in looked.findings if f.log == name]
            findings += signals
            if name not in looked.seen or any(f.name == "clock" and f.verdict == "problem" for f in signals):
                continue
            searched = _searched(engine, free, looked.seen[name])
            if (stiff := stiffened(log)) is not None:
                again = look(description, [stiff], together=False, base=base).seen
                searched = with_elasticity(
                    searched, [f for o in again.values() for f in _searched(engine, free, o)], log, description.robot
                )
            findings += [replace(f, log=name) for f in searched]
        if not quick and looked.seen:
            findings.append(_delay(description, logs, base, any(f.verdict == "problem" for f in findings)))
        findings += [f for f in looked.findings if not f.log]
    return Report(description.name, looked.names, tuple(findings))


def _searched(engine: Engine, free: Description, seen: Observed) -> list[Finding]:
    """Whether one log is what it says."""
    if not seen.movement.moving.any():
        return unmoved()
    rows = ThinnedLog.of([seen])
    rows = rows.thinned(LARGE_SAMPLES) if is_large(free.robot) else rows
    judge = Judge(engine, without_placeholders(free.prior), rows)
    return findings(judge, seen.movement, mount_given=free.gravity_given)


def _delay(description: Description, logs: Sequence[Log], base: BaseModel, problem: bool) -> Finding:
    if problem:
        return Finding("delay", "not testable", "not testable before the problem is settled")
    return delays(description, logs, base)


def admitted(description: Description, logs: Sequence[Log], *, force: bool = False, base: BaseModel | None = None) -> Report:
    """The report of logs that may be fitted; raises `CheckError` with the reasons when there is a problem and no force.

    A torque that is nothing beside the weight of the links is a wrong unit whatever the user says: no fit could be made of it.


    Args:
        description: the robot.
        logs: to be fitted.
        force: let them through all the same.
        base: base parameters of the description's layout, when they are there.
    """
    if any("q" not in log.signals for log in logs):
        names = tuple(str(log.origin) for log in logs)
        text = "without a recorded position nothing of the log can be held against the model"
        return Report(description.name, names, (Finding("position", "not testable", text),))
    report = checked(description, logs, quick=True, base=base)
    if report.of("torque size"):
        raise CheckError(report)
    # how short is too short depends on the fit, which says so itself
    if not force and any(f.name != "length" for f in report.problems):
        raise CheckError(report)
    return report


def reasons(report: Report) -> str:
    """Why logs are not fitted, and what to do."""
    several = len(report.logs) > 1
    sentences = [
        f"{f'{f.log}: ' if several and f.log else ''}{f.name}: {f.text}" + (f" -> {f.advice}" if f.advice else "")
        for f in report.problems
    ]
    force = "" if report.of("torque size") else ", or use the option force"
    return f"the check of the log found a problem. {'. '.join(sentences)}. Mend the log or the card{force}"
