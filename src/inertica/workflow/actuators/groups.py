"""The fit of joints that influence each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from inertica.arrays import Array
from inertica.dynamics.servo import Standstill, branch
from inertica.errors import InputError
from inertica.estimators.actuators.evidence import Evidence, evidence
from inertica.estimators.actuators.fit import Effort, Fit, Name, best_start, continued, first_states, fit
from inertica.estimators.actuators.record import Record
from inertica.estimators.actuators.simulation import Runs
from inertica.estimators.actuators.start import link_inertia, starts
from inertica.estimators.actuators.values import OPTIONAL, QUANTITIES, ActuatorValues
from inertica.robot.model import Robot
from inertica.workflow.actuators.known import Setup

Say = Callable[[str], None]

COARSE, FINE = 0.4, 0.1
"""Longest step of the simulation, in parts of the fastest response of a joint: the midpoint rule is off by 1.3 % of it during the
search and while choices are made, by 0.1 % in the end."""

HIDDEN = 0.5
"""Sampling intervals within which a response is over before it shows: a faster one need not be simulated in shorter steps."""

QUICK = Effort(iterations=10)

EARLY = Effort(iterations=20)

PERIODS = (2.0, 6.0)
"""Periods of the slowest joint that a simulation runs free, one search after the other, before it runs through.  Over a long run a
joint that swings gets out of step with one that is a little slower, so that the error has minima at wrong values; within a few periods
it has not."""

FEWEST_IN_PIECE = 30
"""Samples of such a run."""

ENOUGH = 200
"""Samples for each unknown that the search begins with: more of a long log would make it slower and lead it no better."""

REMEMBERED = 8
"""Lengths of a part for which the commands before it are kept: they act late."""

LONGEST = 10_000
"""Samples of a record; longer ones are cut, so that memory does not grow with the length of a log."""

POOR = 0.9
"""Share of a joint's motion that a free run may miss; beyond, its commands explain nothing."""


@dataclass(frozen=True, eq=False)
class Group:
    """Joints that influence each other, and what was found of them.

    Args:
        joints: their numbers in the robot.
        fit: to all records.
    """

    joints: tuple[int, ...]
    fit: Fit

    @property
    def active(self) -> frozenset[int]:
        """Joints of which something was searched."""
        return frozenset(self.joints[k] for _, k in self.fit.free)


@dataclass(frozen=True, eq=False)
class Judged(Group):
    """The same with what the records say of it."""

    evidence: Evidence

    @classmethod
    def of(cls, group: Group, coarse: Group) -> Judged:
        """The evidence of a fit in short steps; what is left of the error of its steps, judged by a fit in longer ones, counts, too.

        The rule of the steps is of second order: r^2 / (1 - r^2) of what changes between steps in a ratio r is left.
        """
        known = evidence(group.fit)
        ratio = group.fit.runs.finest / coarse.fit.runs.finest
        if ratio < 1.0 and group.fit.free == coarse.fit.free:
            change = np.array([getattr(group.fit.values, q)[k] - getattr(coarse.fit.values, q)[k] for q, k in known.free])
            left = np.where(known.alone, change * ratio**2 / (1.0 - ratio**2), 0.0)
            known = replace(known, covariance=known.covariance + np.outer(left, left))
        return cls(group.joints, group.fit, known)


def fitted_group(
    setup: Setup,
    joints: tuple[int, ...],
    records: Sequence[Record],
    moving: Sequence[int],
    start: ActuatorValues | None,
    say: Say,
) -> Group | None:
    """The fit of joints that influence each other; None where none of them moves.

    Args:
        setup: the robot.
        joints: that share the joint nearest to the base.
        records: of all joints.
        moving: joints that are commanded.
        start: where a search begins, beside starts by regression.
        say: progress.
    """
    active = [k for k, j in enumerate(joints) if j in moving]
    if not active:
        return None
    say(f"start of joints {', '.join(str(j + 1) for j in joints)}")
    robot, links = branch(setup.description.robot, joints), setup.links_of(joints)
    parts = [part for record in records for part in cut(record.joints(joints), LONGEST)]
    stated = setup.known.of(joints)
    known = stated.known | {(name, k) for name in OPTIONAL for k in range(len(joints))}
    free = [(name, k) for k in active for name in QUANTITIES if (name, k) not in known]
    candidates = starts(robot, links, parts, stated.values, known, "zero")
    if start is not None:
        candidates.append(_with_known(start.joints(list(joints)), stated.values, known))
    floor = resolution(parts)
    runs = Runs(
        robot, links, parts, setup.target, longest_step(robot, links, parts, candidates, COARSE), "zero", Standstill.mujoco()
    )
    pieces = [spread(short_pieces(robot, links, parts, candidates, periods), ENOUGH * len(free)) for periods in PERIODS]
    begin = best_start(runs.with_records(pieces[0]), candidates, floor)
    runs, progress = runs.with_records(parts, finest=longest_step(robot, links, parts, [begin], COARSE)), prefixed(joints, say)
    estimate = fit(runs.with_records(pieces[0]), free, begin, floor, setup.links_std[list(joints)], EARLY, progress)
    for longer in pieces[1:]:
        estimate = continued(_on(estimate, longer), floor, EARLY, progress)
    estimate = continued(_on(estimate, parts), floor, say=progress)
    _check_explained(estimate, [setup.names[j] for j in joints], joints)
    return Group(joints, estimate)


def _on(fitted: Fit, records: Sequence[Record]) -> Fit:
    """The same values on other records, each from what was measured first."""
    runs = fitted.runs.with_records(records)
    return replace(fitted, runs=runs, starts=first_states(runs))


def refined(group: Group, say: Say) -> Group:
    """The fit in short steps."""
    runs = group.fit.runs
    step = longest_step(runs.robot, runs.links, runs.records, [group.fit.values], FINE)
    finer = continued(group.fit, resolution(runs.records), QUICK, prefixed(group.joints, say), finest=step)
    return replace(group, fit=finer)


def prefixed(joints: Sequence[int], say: Say) -> Say:
    """Progress with the joints that it is about."""
    return lambda text: say(f"joints {joints[0] + 1}-{joints[-1] + 1}: {text}")


def _with_known(start: ActuatorValues, stated: ActuatorValues, known: frozenset[Name]) -> ActuatorValues:
    return start.changed(**{
        name: [
            getattr(stated if (name, k) in known else start, name)[k] for k in range(start.n)
        ] for name in QUANTITIES
    })  # fmt: skip


def _check_explained(fitted: Fit, names: Sequence[str], joints: Sequence[int]) -> None:
    """Refuses joints whose free run is hardly better than a joint that stands still."""
    spread = np.sqrt(np.mean([np.var(r.q, axis=0, where=r.use) for r in fitted.runs.records], axis=0))
    for k in sorted({k for _, k in fitted.free}):
        if fitted.rms[k] > POOR * spread[k]:
            raise InputError(
                f"{fitted.runs.records[0].name}: no position servo explains how joint {joints[k] + 1} ({names[k]}) follows its "
                f"commands (a free run misses {fitted.rms[k]:.3g} of {spread[k]:.3g} rms); are the drives saturated throughout, is "
                "the column that of another joint, or has the command another clock or unit?",
                joint=names[k],
            )


def longest_step(
    robot: Robot, links: Array, parts: Sequence[Record], candidates: Sequence[ActuatorValues], share: float
) -> float:
    """Longest step of the simulation in s: a share of the fastest response, and no more than a sampling interval."""
    inertia = np.maximum(np.min(np.concatenate([link_inertia(robot, r.loaded(links), r.q) for r in parts]), axis=0), 0.0)
    period = float(np.median([r.period for r in parts]))
    fastest = max(float(np.max(np.sqrt(c.kp / np.maximum(c.armature + inertia, 1e-300)))) for c in candidates)
    return share * min(max(1.0 / fastest, HIDDEN * period), period / share)


def short_pieces(
    robot: Robot, links: Array, parts: Sequence[Record], candidates: Sequence[ActuatorValues], periods: float
) -> list[Record]:
    """The records cut into pieces of some periods of the slowest joint; each begins at what was measured."""
    inertia = np.mean(np.concatenate([np.abs(link_inertia(robot, r.loaded(links), r.q)) for r in parts]), axis=0)
    slowest = float(np.median([np.max(np.sqrt((c.armature + inertia) / c.kp)) for c in candidates]))
    out = []
    for record in parts:
        samples = max(FEWEST_IN_PIECE, round(min(periods * 2.0 * np.pi * slowest / record.period, len(record.t))))
        pieces = cut(record, samples)
        out += [piece for piece in pieces if np.all(piece.use.sum(axis=0) >= FEWEST_IN_PIECE // 2)]
    return out or list(parts)


def cut(record: Record, samples: int) -> list[Record]:
    """Equal parts of a record of about that many samples."""
    edges = np.linspace(0, len(record.t), max(1, round(len(record.t) / samples)) + 1).round().astype(int)
    if len(edges) == 2:
        return [record]
    return [record.part(int(a), int(b), REMEMBERED * samples) for a, b in pairwise(edges)]


def spread(pieces: Sequence[Record], samples: int) -> list[Record]:
    """Pieces that lie evenly in the logs and have about that many samples together."""
    total = sum(len(piece.t) for piece in pieces)
    count = max(1, int(len(pieces) * min(1.0, samples / total)))
    return [pieces[i] for i in np.linspace(0, len(pieces) - 1, count).round().astype(int)]


def resolution(parts: Sequence[Record]) -> Array:
    """(n,) residuals below which a fit is exact: a millionth of the motion."""
    travel = [np.ptp(np.concatenate([r.q[r.use[:, j], j] for r in parts])) for j in range(parts[0].q.shape[1])]
    return 1e-6 * (np.array(travel) + 1e-9)
