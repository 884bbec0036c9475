"""Choices that all joints share, or that must pay: friction at standstill, commands between samples, limits, richer friction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from inertica.arrays import Array
from inertica.dynamics.servo import HARD
from inertica.estimators.actuators.fit import (
    Fit,
    Name,
    continued,
    criterion,
    first_states,
    per_joint,
    promised,
    simulated,
)
from inertica.estimators.actuators.record import Hold
from inertica.estimators.actuators.values import ActuatorValues
from inertica.workflow.actuators.groups import QUICK, Group, Say, refined, resolution
from inertica.workflow.actuators.known import Setup

CLEARLY = 10.0
"""Decrease of the criterion, in independent samples, by which a further quantity or another command must pay."""

SPEEDS = (0.3, 0.1, 0.03)
"""Stribeck speeds that are tried, in parts of the rms speed of a joint."""

LIMITS = (0.9, 0.75, 0.6, 0.45, 0.3)
"""Torque limits that are tried, in parts of the largest torque without one."""


def choose_standstill(groups: list[Group], notes: list[str], say: Say) -> list[Group]:
    """MuJoCo's soft friction at standstill, or one that holds: whichever fits better."""
    if not any(name == "coulomb" for g in groups for name, _ in g.fit.free):
        return groups
    say("friction at standstill")
    hard = [replace(g, fit=continued(g.fit, resolution(g.fit.runs.records), QUICK, standstill=HARD)) for g in groups]
    if _gain(groups, hard) > 0.0 and _gain(groups := _as_long(groups), hard) > 0.0:
        notes.append("dry friction holds a joint at standstill: MuJoCo's soft constraint fits worse")
        return hard
    notes.append("dry friction at standstill is MuJoCo's soft constraint: friction that holds fits worse")
    return groups


def choose_hold(groups: list[Group], hold: Hold | None, notes: list[str], say: Say) -> list[Group]:
    """Commands that are held between samples, or go on in straight lines where that is stated or clearly better."""
    half = 0.5 * float(np.median([r.period for g in groups for r in g.fit.runs.records]))
    if hold != "zero":
        say("commands between samples")
        effort = QUICK if hold is None else None
        linear = [
            replace(g, fit=continued(_delayed_by(g.fit, half), resolution(g.fit.runs.records), effort, hold="linear"))
            for g in groups
        ]
        if hold == "linear" or _clearly_in_short_steps(groups, linear, say):
            notes.append(
                f"commands go on in straight lines between their samples; if they are held, delays are {1e3 * half:.3g} ms shorter"
            )
            return linear
    notes.append(
        f"commands are held from sample to sample; if they go on in straight lines, delays are {1e3 * half:.3g} ms longer"
    )
    return groups


def with_limits(setup: Setup, group: Group, say: Say) -> Group:
    """Torque limits of joints whose residual they lower clearly."""
    known = setup.known.of(group.joints).known
    floor, best = resolution(group.fit.runs.records), group.fit
    added = []
    for k in dict.fromkeys(k for _, k in best.free):
        if ("torque_limit", k) in known:
            continue
        values, score = _limited(best, k, floor)
        if best.criterion - score > CLEARLY * best.correlation:
            added.append(("torque_limit", k))
            best = replace(best, values=values, criterion=score)
    if not added:
        return group
    say(f"torque limits of joints {', '.join(str(group.joints[k] + 1) for _, k in added)}")
    return replace(group, fit=continued(replace(best, free=(*best.free, *added)), floor))


def _limited(fitted: Fit, k: int, floor: Array) -> tuple[ActuatorValues, float]:
    """The best of some torque limits of one joint, everything else as found."""
    runs, best, lowest = fitted.moved, fitted.values, fitted.criterion
    error = max(float(np.abs(r.commands["q"][:, k] - fitted.values.zero[k] - r.q[:, k]).max()) for r in runs.records)
    for share in LIMITS:
        limit = np.where(np.arange(best.n) == k, share * error * fitted.values.kp[k], fitted.values.torque_limit)
        tried = fitted.values.changed(torque_limit=limit)
        score = criterion(simulated(runs, tried, fitted.starts), floor)
        if score < lowest:
            best, lowest = tried, score
    return best, lowest


def with_friction(group: Group, notes: list[str], names: Sequence[str], say: Say) -> Group:
    """Dry friction that depends on speed or load, where it pays clearly, also in halves of the logs that it was not fitted to.

    What a quantity more could gain is read off the derivatives, so that joints with plain friction cost one evaluation.
    """
    plain, floor = group.fit, resolution(group.fit.runs.records)
    begin, extra = _friction_that_may_pay(plain, floor)
    if not extra:
        return group
    say("friction by speed and load")
    joints = sorted({k for _, k in extra})
    folds = [_fold(plain, begin, extra, half) for half in (0, 1)]
    better = [k for k in joints if sum(fold[k] for fold in folds) > 0.0]
    extra = [(name, k) for name, k in extra if k in better]
    if not extra:
        return group
    fuller = continued(_richer(plain, begin, extra), floor)
    if plain.criterion - fuller.criterion <= CLEARLY * len(extra) * fuller.correlation:
        return group
    for name, words in (("stribeck", "falls with speed (Stribeck)"), ("load_friction", "grows with the torque of the load")):
        which = [names[group.joints[k]] for what, k in extra if what == name]
        if which:
            notes.append(f"dry friction of {', '.join(which)} {words}: errors fall clearly, also in halves of the logs left out")
    return replace(group, fit=fuller)


def _friction_that_may_pay(plain: Fit, floor: Array) -> tuple[ActuatorValues, list[Name]]:
    """Quantities of dry friction that promise enough, and values to begin with: friction that does not change the motion."""
    runs, n = plain.runs.with_records(plain.runs.records, richer=True), plain.values.n
    plain = replace(plain, runs=runs)
    dry = [k for name, k in plain.free if name == "coulomb"]
    speed = np.sqrt(np.mean(np.concatenate([np.gradient(r.q, r.t, axis=0) for r in runs.records]) ** 2, axis=0))
    best = dict.fromkeys(dry, 0.0)
    begin, extra = plain.values, list[Name]()
    least = CLEARLY * plain.correlation
    load = promised(plain, floor, plain.values, [("load_friction", k) for k in dry])
    for share in SPEEDS:
        values = plain.values.changed(stribeck_speed=share * speed)
        gains = promised(plain, floor, values, [("stribeck", k) for k in dry])
        for k, gain in zip(dry, gains, strict=True):
            # the speed is searched, too
            if gain > max(best[k], 2.0 * least):
                best[k] = gain
                begin = begin.changed(stribeck_speed=np.where(np.arange(n) == k, share * speed, begin.stribeck_speed))
    for k, gain in zip(dry, load, strict=True):
        if gain > least:
            extra.append(("load_friction", k))
        if best[k] > 0.0:
            extra += [("stribeck", k), ("stribeck_speed", k)]
    return begin, extra


def _richer(plain: Fit, begin: ActuatorValues, extra: Sequence[Name]) -> Fit:
    """The fit with quantities of dry friction added, none of which acts yet."""
    speeds = [k for name, k in extra if name == "stribeck_speed"]
    speed = np.where(np.isin(np.arange(begin.n), speeds), begin.stribeck_speed, plain.values.stribeck_speed)
    runs = plain.runs.with_records(plain.runs.records, richer=True)
    return replace(plain, runs=runs, free=(*plain.free, *extra), values=plain.values.changed(stribeck_speed=speed))


def _fold(plain: Fit, begin: ActuatorValues, extra: Sequence[Name], half: int) -> Array:
    """(n,) independent samples that the criterion of halves left out falls by, both fitted to the other halves."""
    halves = [(r.part(0, len(r.t) // 2), r.part(len(r.t) // 2, len(r.t))) for r in plain.runs.records]
    fitted, left = [pair[half] for pair in halves], [pair[1 - half] for pair in halves]
    floor, scores = resolution(fitted), []
    for one in (plain, _richer(plain, begin, extra)):
        ours = replace(one, runs=one.runs.with_records(fitted))
        ours = replace(ours, starts=first_states(ours.runs))
        ended = continued(ours, floor, QUICK)
        runs = ended.moved.with_records(left)
        scores.append(per_joint(simulated(runs, ended.values, first_states(runs)), floor))
    return np.asarray(scores[0] - scores[1])


def _clearly_in_short_steps(groups: Sequence[Group], others: Sequence[Group], say: Say) -> bool:
    """Whether others are clearly better, also without the error of long steps: half a sampling interval is no more than that."""
    if not _gain(groups, others) > CLEARLY:
        return False
    return _gain([refined(g, say) for g in groups], [refined(g, say) for g in others]) > CLEARLY


def _as_long(groups: Sequence[Group]) -> list[Group]:
    """The same searched on as far as what is compared with it: a few steps more may be all that makes the other better."""
    return [replace(g, fit=continued(g.fit, resolution(g.fit.runs.records), QUICK)) for g in groups]


def _delayed_by(fitted: Fit, half: float) -> Fit:
    """A start for commands in straight lines: held ones lag half a sampling interval behind them."""
    free = {k for name, k in fitted.free if name == "delay"}
    delay = np.array([d + (half if k in free else 0.0) for k, d in enumerate(fitted.values.delay)])
    return replace(fitted, values=fitted.values.changed(delay=delay))


def _gain(before: Sequence[Group], after: Sequence[Group]) -> float:
    """Independent samples that the criterion falls by."""
    pairs = zip(before, after, strict=True)
    return float(sum((b.fit.criterion - a.fit.criterion) / max(a.fit.correlation, b.fit.correlation) for b, a in pairs))
