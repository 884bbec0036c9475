"""`actuators`: armature, friction, delay, zeros and gains of every joint, from logs of commands and positions."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.dynamics.equations import Equations
from inertica.dynamics.kernels import Target
from inertica.dynamics.llvm.target import Native
from inertica.dynamics.servo import HARD, Standstill, branch, branches
from inertica.errors import InputError, ModelWarning
from inertica.estimators.actuators.evidence import Evidence, confounded, evidence
from inertica.estimators.actuators.fit import (
    Effort,
    Fit,
    Name,
    best_start,
    continued,
    criterion,
    first_states,
    fit,
    rms,
    simulated,
    sizes,
)  # fmt: skip
from inertica.estimators.actuators.record import Hold, Record
from inertica.estimators.actuators.simulation import Runs
from inertica.estimators.actuators.start import link_inertia, rigid_torque, starts
from inertica.estimators.actuators.values import QUANTITIES, ActuatorValues
from inertica.logs.log import Log
from inertica.logs.read import read_log
from inertica.robot.control import LAWS, stated_law
from inertica.robot.description import Description
from inertica.robot.load import load
from inertica.robot.model import Robot
from inertica.workflow.actuators import words
from inertica.workflow.actuators.records import check, records
from inertica.workflow.actuators.result import (
    COMBINED,
    DETERMINED,
    STATED,
    UNSEEN,
    WEAK,
    ActuatorsResult,
    Combination,
    FreeRun,
    JointActuator,
    Posterior,
    Quantity,
)  # fmt: skip
from inertica.workflow.identify.inputs import LogLike

Array = NDArray[np.float64]
Say = Callable[[str], None]

LINKS_STD = 0.1
"""Relative standard deviation of the links' parameters where nothing is stated."""

FOUND_STD = 1.0
"""The same for links that are to be found."""

COARSE, FINE = 0.4, 0.1
"""Longest step of the simulation, in parts of the fastest response of a joint: the midpoint rule is off by 1.3 % of it during the search
and while choices are made, by 0.1 % in the end."""

NORMAL = 1.96
"""Standard deviations of an interval of 95 %."""

USEFUL = 0.5
"""Half-width of an interval, relative to the value, up to which a value counts as determined."""

CLEARLY = 10.0
"""Decrease of the criterion, in independent samples, by which a further quantity or another command must pay."""

LIMITS = (0.9, 0.75, 0.6, 0.45, 0.3)
"""Torque limits that are tried, in parts of the largest torque without one."""

QUICK = Effort(iterations=10)


@dataclass(frozen=True, eq=False)
class Stated:
    """What the user knows of the actuators.

    Args:
        values: of all joints; meaningless where not known.
        known: (quantity, joint).
    """

    values: ActuatorValues
    known: frozenset[Name]

    def of(self, joints: Sequence[int]) -> Stated:
        place = {j: k for k, j in enumerate(joints)}
        known = frozenset((name, place[j]) for name, j in self.known if j in place)
        return Stated(self.values.joints(list(joints)), known)


@dataclass(eq=False)
class _Group:
    """Joints that influence each other, and what was found of them."""

    joints: tuple[int, ...]
    fit: Fit
    evidence: Evidence | None = None


@dataclass
class _Clock:
    stages: dict[str, float] = field(default_factory=dict)
    last: float = field(default_factory=time.perf_counter)

    def stage(self, name: str) -> None:
        now = time.perf_counter()
        self.stages[name] = self.stages.get(name, 0.0) + now - self.last
        self.last = now


def actuators(
    robot: str | Path | Description, logs: Sequence[LogLike], *, validate: Sequence[LogLike] = (),
    kp: ArrayLike | None = None, kd: ArrayLike | None = None, torque_limit: ArrayLike | None = None,
    links: Sequence[int | str] = (), links_std: float | None = None, hold: Hold | None = None,
    start: ActuatorValues | None = None, threads: int | None = None, say: Say = lambda _: None,
) -> ActuatorsResult:  # fmt: skip
    """Actuators of a robot from commands and positions; no torque is needed.  The base is held.

    Args:
        robot: catalog name, model file, card or a description; its links are taken as they are, but for their uncertainty.
        logs: files (with `@t0:t1` slices) or logs with positions q and commands qr (dqr where there are velocity targets), for the fit.
        validate: the same, only simulated.
        kp, kd, torque_limit: known gains and limits in SI units on the joint's side, one number or one per joint (NaN for those that are
            not known), before those of the card's `loop:`.
        links: joints (1-based numbers or names) whose links are found, too.
        links_std: relative standard deviation of the links' parameters; what the card states under `prior:`, or 0.1.
        hold: how commands stand between samples: `zero` (held) or `linear`; whichever fits clearly better, else held.
        start: where the search begins, beside starts of its own.
        threads: of the processor; all by default.
        say: progress.
    """
    clock = _Clock()
    say("reading")
    description = robot if isinstance(robot, Description) else load(robot)
    if not logs:
        raise InputError("actuators needs at least one log")
    read = [_read(log, description) for log in logs]
    fitted = [r for log in read for r in records(log)]
    held_out = [(str(log.origin), records(log)) for log in (_read(log, description) for log in validate)]
    names = description.robot.joint_names
    moving = check(fitted, names)
    stated = _stated(description, kp, kd, torque_limit)
    std = _links_std(description, links, links_std)
    target = Native(threads) if threads else Native(2)
    clock.stage("reading")
    job = _Job(description, target, stated, std, start, say)
    found = (job.group(joints, fitted, moving) for joints in branches(description.robot))
    groups = [group for group in found if group is not None]
    clock.stage("fit")
    notes: list[str] = []
    groups = job.choose_standstill(groups, notes)
    groups = job.choose_hold(groups, hold, notes)
    groups = [job.with_limits(g) for g in groups]
    clock.stage("choices")
    groups = [job.refined(g) for g in groups]
    clock.stage("refinement")
    say("intervals")
    for group in groups:
        group.evidence = evidence(group.fit)
    clock.stage("intervals")
    say("free runs")
    result = job.result(groups, fitted, held_out, notes, clock)
    for sentence in result.warnings:
        warnings.warn(sentence, ModelWarning, stacklevel=2)
    return result


def _read(log: LogLike, description: Description) -> Log:
    return log if isinstance(log, Log) else read_log(log, description)


def _stated(description: Description, kp: ArrayLike | None, kd: ArrayLike | None, limit: ArrayLike | None) -> Stated:
    """Gains of the call, then those of the card."""
    n = description.robot.n
    found: dict[str, Array] = {}
    loop = description.loop
    if loop is not None:
        law, gains = stated_law(loop, n)
        if law not in LAWS or LAWS[law].memory:
            raise InputError(
                f"{description.name} states the control law '{law}'; actuators are found under laws without memory, such as pd: state "
                "loop: {law: pd, kp: [...], kd: [...]}, or leave the loop out so that its stiffness and damping are found"
            )
        if all(name in gains for name in LAWS[law].gains):
            found["kp"], found["kd"] = (np.broadcast_to(x, (n,)) for x in LAWS[law].stiffness_damping(gains))
        if "saturation" in loop:
            found["torque_limit"] = np.array(loop["saturation"], float)
    for name, value in (("kp", kp), ("kd", kd), ("torque_limit", limit)):
        if value is not None:
            array = np.asarray(value, float)
            if array.ndim > 1 or array.size not in (1, n):
                raise InputError(f"{name} has {array.size} values; expected one, or one for each of {n} joints")
            found[name] = np.broadcast_to(array, (n,))
    known: set[Name] = set()
    values: dict[str, ArrayLike] = {}
    for name, array in found.items():
        least = 0.0 if name == "kd" else 1e-300
        for j in np.flatnonzero(np.isfinite(array)):
            if array[j] < least:
                raise InputError(f"{name} of joint {j + 1} should be greater than zero, not {array[j]:g}")
            known.add((name, int(j)))
        rest = np.inf if name == "torque_limit" else 1.0
        values[name] = np.where(np.isfinite(array), array, rest)
    usual: dict[str, ArrayLike] = {"kp": 1.0}
    return Stated(ActuatorValues.of(n, **usual | values), frozenset(known))


def _links_std(description: Description, links: Sequence[int | str], stated: float | None) -> Array:
    """(n,) relative standard deviation of every link."""
    n = description.robot.n
    trust = description.trust
    usual = stated if stated is not None else float(trust.get("masses", trust.get("all", LINKS_STD)))
    if not 0.0 <= usual < 1.0:
        raise InputError(f"the uncertainty of the links should be a share of at least 0 and below 1, not {usual:g}")
    out = np.full(n, usual)
    for which in links:
        number = int(which) if isinstance(which, str) and which.isdigit() else which
        out[description.robot.joint_index(number)] = FOUND_STD
    return out


@dataclass(eq=False)
class _Job:
    description: Description
    target: Target
    stated: Stated
    links_std: Array
    start: ActuatorValues | None
    say: Say

    def __post_init__(self) -> None:
        values = list(self.description.prior.values)
        self.links = np.array(Equations(self.description.layout).link_inertia(values), float)

    def links_of(self, joints: Sequence[int]) -> Array:
        return self.links[list(joints)].ravel()

    def group(self, joints: tuple[int, ...], fitted: Sequence[Record], moving: Sequence[int]) -> _Group | None:
        """The fit of joints that influence each other; None where none of them moves."""
        active = [k for k, j in enumerate(joints) if j in moving]
        if not active:
            return None
        self.say(f"start of joints {', '.join(str(j + 1) for j in joints)}")
        robot, links = branch(self.description.robot, joints), self.links_of(joints)
        parts = [record.joints(joints) for record in fitted]
        stated = self.stated.of(joints)
        known = stated.known | {("torque_limit", k) for k in range(len(joints))}
        candidates = starts(robot, links, parts, stated.values, known, "zero")
        if self.start is not None:
            mine = self.start.joints(list(joints))
            candidates.append(
                mine.changed(**{q: _kept(getattr(mine, q), getattr(stated.values, q), q, known) for q in QUANTITIES})
            )
        runs = Runs(robot, links, parts, self.target, _step(robot, links, parts, candidates, COARSE), "zero", Standstill.mujoco())
        floor = _floor(parts)
        begin = best_start(runs, candidates, floor)
        free = [(name, k) for k in active for name in QUANTITIES if (name, k) not in known]
        step = _step(robot, links, parts, [begin], COARSE)
        found = fit(
            runs.with_records(parts, finest=step), free, begin, floor, self.links_std[list(joints)], say=self._said(joints)
        )
        self._explained(found, joints)
        return _Group(joints, found)

    def refined(self, group: _Group) -> _Group:
        """The fit in short steps."""
        runs = group.fit.runs
        step = _step(runs.robot, runs.links, runs.records, [group.fit.values], FINE)
        found = continued(group.fit, _floor(runs.records), QUICK, self._said(group.joints), finest=step)
        return _Group(group.joints, found)

    def _said(self, joints: Sequence[int]) -> Say:
        return lambda text: self.say(f"joints {joints[0] + 1}-{joints[-1] + 1}: {text}")

    def _explained(self, found: Fit, joints: Sequence[int]) -> None:
        """Refuses joints whose free run is no better than a joint that stands still."""
        spread = np.sqrt(np.mean([np.var(np.where(r.use, r.q, np.nan), axis=0, where=r.use) for r in found.runs.records], axis=0))
        moved = {k for _, k in found.free}
        for k, j in enumerate(joints):
            if k in moved and found.rms[k] > 0.9 * spread[k]:
                name = self.description.robot.joint_names[j]
                raise InputError(
                    f"{found.runs.records[0].name}: no position servo explains how joint {j + 1} ({name}) follows its commands "
                    f"(a free run misses {found.rms[k]:.3g} of {spread[k]:.3g} rad rms); are the drives saturated throughout, is the "
                    "column that of another joint, or has the command another clock or unit?",
                    joint=name,
                )

    def choose_standstill(self, groups: list[_Group], notes: list[str]) -> list[_Group]:
        """MuJoCo's soft friction at standstill, or one that holds: whichever fits better."""
        if not any(name == "coulomb" for g in groups for name, _ in g.fit.free):
            return groups
        self.say("friction at standstill")
        hard = [_Group(g.joints, continued(g.fit, _floor(g.fit.runs.records), QUICK, standstill=HARD)) for g in groups]
        gain = _gain(groups, hard)
        notes.append(
            "dry friction at standstill: "
            + (
                "it holds (MuJoCo's soft constraint fits worse)"
                if gain > 0.0
                else "MuJoCo's soft constraint (one that holds fits worse)"
            )
        )
        return hard if gain > 0.0 else groups

    def choose_hold(self, groups: list[_Group], hold: Hold | None, notes: list[str]) -> list[_Group]:
        """Commands that are held between samples, or go on in straight lines where that is stated or clearly better."""
        if hold == "zero":
            return groups
        self.say("commands between samples")
        effort = QUICK if hold is None else None
        linear = [
            _Group(g.joints, continued(_half_step_delayed(g.fit), _floor(g.fit.runs.records), effort, hold="linear"))
            for g in groups
        ]
        gain = _gain(groups, linear)
        half = 0.5 * float(np.median([r.period for g in groups for r in g.fit.runs.records]))
        if hold == "linear" or gain > CLEARLY:
            notes.append("commands go on in straight lines between their samples; if they are held, delays are shorter by "
                         f"{1e3 * half:.3g} ms")  # fmt: skip
            return linear
        notes.append(
            f"commands are held from sample to sample; if they go on in straight lines, delays are longer by {1e3 * half:.3g} ms"
        )
        return groups

    def with_limits(self, group: _Group) -> _Group:
        """Torque limits of joints whose residual they lower clearly."""
        stated = self.stated.of(group.joints)
        floor, best = _floor(group.fit.runs.records), group.fit
        added = []
        for _, k in dict.fromkeys((0, k) for _, k in best.free):
            if ("torque_limit", k) in stated.known:
                continue
            values, score = _limited(best, k, floor)
            if best.criterion - score > CLEARLY * best.correlation:
                added.append(("torque_limit", k))
                best = replace_values(best, values, score)
        if not added:
            return group
        self.say(f"torque limits of joints {', '.join(str(group.joints[k] + 1) for _, k in added)}")
        widened = replace_free(best, (*best.free, *added))
        return _Group(group.joints, continued(widened, floor))

    def result(
        self, groups: Sequence[_Group], fitted: Sequence[Record], held_out: Sequence[tuple[str, list[Record]]], notes: list[str],
        clock: _Clock,
    ) -> ActuatorsResult:  # fmt: skip
        robot = self.description.robot
        values, quantities = self._values(groups), self._quantities(groups)
        sets = [(name, parts, False) for name, parts in held_out]
        if not sets:
            by_name: dict[str, list[Record]] = {}
            for record in fitted:
                by_name.setdefault(record.name, []).append(record)
            sets = [(name, parts, True) for name, parts in by_name.items()]
        before = self._before(groups)
        free_run = {name: self._free_run(groups, values, before, parts, seen) for name, parts, seen in sets}
        clock.stage("free runs")
        joints = tuple(JointActuator(name, **quantities[j]) for j, name in enumerate(robot.joint_names))
        runs = groups[0].fit.runs
        return ActuatorsResult(
            robot.name, str(self.description.source.card or self.description.source.path), joints,
            tuple(c for g in groups for c in self._confounded(g)), tuple(self._scale(g) for g in groups), free_run,
            dict(clock.stages), _posterior(groups), float(np.median(self.links_std)), runs.hold, runs.standstill.impedance,
            runs.standstill.rate, tuple(dict.fromkeys(r.name for r in fitted)), tuple(self._warnings(groups, robot.joint_names)),
            tuple(notes), self._links_found(groups),
        )  # fmt: skip

    def _values(self, groups: Sequence[_Group]) -> ActuatorValues:
        out = {name: np.array(getattr(self.stated.values, name)) for name in QUANTITIES}
        for j in range(len(out["delay"])):  # joints that no log moves are what the model file says
            out["armature"][j] = self.description.friction_value("Ia", j)
            out["viscous"][j] = self.description.friction_value("Fv", j)
            out["coulomb"][j] = self.description.friction_value("Fc", j)
        for group in groups:
            for name in QUANTITIES:
                out[name][list(group.joints)] = getattr(group.fit.values, name)
        return ActuatorValues(**out)

    def _quantities(self, groups: Sequence[_Group]) -> list[dict[str, Quantity]]:
        values = self._values(groups)
        out = []
        for j in range(values.n):
            out.append({
                name: Quantity(float(getattr(values, name)[j]), None, None, STATED if (name, j) in self.stated.known else UNSEEN)
                for name in QUANTITIES
            })  # fmt: skip
        for group in groups:
            assert group.evidence is not None
            found, rivals = group.evidence, sizes(group.fit.runs, group.fit.values)
            for i, (name, k) in enumerate(found.free):
                value, std = float(getattr(group.fit.values, name)[k]), float(found.std[i])
                out[group.joints[k]][name] = _quantity(name, value, std, bool(found.alone[i]), float(rivals[name][k]))
        return out

    def _confounded(self, group: _Group) -> list[Combination]:
        assert group.evidence is not None
        out = []
        names = self.description.robot.joint_names
        for parameters, direction in confounded(group.evidence):
            at = [(name, group.joints[k]) for name, k in parameters]
            relative = [
                float(d) / max(float(getattr(group.fit.values, name)[k]), 1e-300) if QUANTITIES[name].positive else float(d)
                for (name, k), d in zip(parameters, direction, strict=True)
            ]
            text = words.combination(at, relative, names)
            out.append(Combination(tuple(f"{name} {j + 1}" for name, j in at), text, tuple(float(d) for d in direction)))
        return out

    def _scale(self, group: _Group) -> str:
        assert group.evidence is not None
        names = [self.description.robot.joint_names[j] for j in group.joints]
        stated = any(("kp", j) in self.stated.known for j in group.joints)
        alone = dict(zip(group.evidence.free, group.evidence.alone, strict=True))
        told = all(bool(alone.get(("kp", k), True)) for k in range(len(group.joints)))
        runs = group.fit.runs
        still, moving = 0.0, 0.0
        for record in runs.records:
            rest = np.zeros_like(record.q)
            dq = np.gradient(record.q, record.t, axis=0)
            ddq = np.gradient(dq, record.t, axis=0)
            gravity = rigid_torque(runs.robot, runs.links, record.q, rest, rest)
            still += float(np.sum(gravity**2))
            moving += float(np.sum((rigid_torque(runs.robot, runs.links, record.q, dq, ddq) - gravity) ** 2))
        return words.scale(names, stated, told, still, moving, float(np.median(self.links_std)))

    def _before(self, groups: Sequence[_Group]) -> dict[tuple[int, ...], ActuatorValues]:
        """Values of the model that came in, no delay and no zero; gains are fitted where they are not stated."""
        out = {}
        for group in groups:
            stated, joints = self.stated.of(group.joints), group.joints
            own = {
                symbol: np.array([self.description.friction_value(symbol, j) for j in joints]) for symbol in ("Ia", "Fv", "Fc")
            }
            values = group.fit.values.changed(
                armature=own["Ia"],
                viscous=own["Fv"],
                coulomb=own["Fc"],
                delay=0.0,
                zero=0.0,
                torque_limit=stated.values.torque_limit,
            )
            free = [(name, k) for k in {k for _, k in group.fit.free} for name in ("kp", "kd") if (name, k) not in stated.known]
            if free:
                floor = _floor(group.fit.runs.records)
                runs = group.fit.runs
                coarse = runs.with_records(
                    runs.records, finest=_step(runs.robot, runs.links, runs.records, [group.fit.values], COARSE)
                )
                values = fit(coarse, sorted(free), values, floor, 0.0, QUICK).values
            out[joints] = values
        return out

    def _free_run(
        self, groups: Sequence[_Group], values: ActuatorValues, before: Mapping[tuple[int, ...], ActuatorValues],
        parts: Sequence[Record], fitted: bool,
    ) -> FreeRun:  # fmt: skip
        n = self.description.robot.n
        after, first = np.full(n, np.nan), np.full(n, np.nan)
        for group in groups:
            own = [record.joints(group.joints) for record in parts]
            runs = group.fit.runs.with_records(own, links=self._links_as_used(group))
            states = first_states(runs)
            after[list(group.joints)] = rms(simulated(runs, values.joints(list(group.joints)), states))
            plain = group.fit.runs.with_records(own)
            first[list(group.joints)] = rms(simulated(plain, before[group.joints], states))
        return FreeRun(tuple(after.tolist()), tuple(first.tolist()), fitted)

    def _links_as_used(self, group: _Group) -> Array:
        """Links of the model file, but for those that were to be found."""
        found, out = group.fit.errors.at(group.fit.links), group.fit.runs.links.copy()
        for k, j in enumerate(group.joints):
            if self.links_std[j] >= FOUND_STD:
                out[10 * k : 10 * k + 10] = found[10 * k : 10 * k + 10]
        return out

    def _links_found(self, groups: Sequence[_Group]) -> Array:
        out = self.links.copy()
        for group in groups:
            out[list(group.joints)] = group.fit.errors.at(group.fit.links).reshape(-1, 10)
        return out

    def _warnings(self, groups: Sequence[_Group], names: Sequence[str]) -> list[str]:
        out = []
        seen = {j for g in groups for j in g.joints if any(k == g.joints.index(j) for _, k in g.fit.free)}
        unmoved = [f"{j + 1} ({names[j]})" for j in range(len(names)) if j not in seen]
        if unmoved:
            out.append(f"joint {', '.join(unmoved)} is not commanded to move in any log; its actuator is left as it was")
        for group in groups:
            assert group.evidence is not None
            for i, (name, k) in enumerate(group.evidence.free):
                value, std = group.fit.values.delay[k], group.evidence.std[i]
                if name == "delay" and value < -3.0 * std and value < 0.0:
                    out.append(
                        f"joint {group.joints[k] + 1} ({names[group.joints[k]]}) moves {-1e3 * value:.3g} ms before its command: positions "
                        "are stamped later than commands, or commands are interpolated"
                    )
        return out


def _kept(mine: Array, stated: Array, quantity: str, known: frozenset[Name] | set[Name]) -> Array:
    return np.array([s if (quantity, k) in known else m for k, (m, s) in enumerate(zip(mine, stated, strict=True))])


def _step(robot: Robot, links: Array, parts: Sequence[Record], candidates: Sequence[ActuatorValues], share: float) -> float:
    """Longest step of the simulation in s: a small part of the fastest response, and no more than a sampling interval."""
    inertia = np.min(np.concatenate([link_inertia(robot, links, r.q) for r in parts]), axis=0)
    period = float(np.median([r.period for r in parts]))
    fastest = max(float(np.max(np.sqrt(c.kp / np.maximum(c.armature + np.maximum(inertia, 0.0), 1e-300)))) for c in candidates)
    # what is faster than a tenth of a sampling interval does not show
    return float(np.clip(share / fastest, period / 20.0, period))


def _floor(parts: Sequence[Record]) -> Array:
    """(n,) what positions resolve: the uniform error of the encoder's step, a millionth of the motion at least."""
    out = []
    for j in range(parts[0].q.shape[1]):
        q = np.concatenate([r.q[r.use[:, j], j] for r in parts])
        out.append(1e-6 * (np.ptp(q) + 1e-9))
    return np.array(out)


def _gain(before: Sequence[_Group], after: Sequence[_Group]) -> float:
    """Independent samples that the criterion falls by."""
    pairs = zip(before, after, strict=True)
    return float(sum((b.fit.criterion - a.fit.criterion) / max(a.fit.correlation, b.fit.correlation) for b, a in pairs))


def _half_step_delayed(found: Fit) -> Fit:
    """A start for commands in straight lines: held ones lag half a sampling interval behind them."""
    period = float(np.median([r.period for r in found.runs.records]))
    free = {k for name, k in found.free if name == "delay"}
    delay = np.array([d + (0.5 * period if k in free else 0.0) for k, d in enumerate(found.values.delay)])
    return replace(found, values=found.values.changed(delay=delay))


def replace_values(found: Fit, values: ActuatorValues, score: float) -> Fit:
    return replace(found, values=values, criterion=score)


def replace_free(found: Fit, free: tuple[Name, ...]) -> Fit:
    return replace(found, free=free)


def _limited(found: Fit, k: int, floor: Array) -> tuple[ActuatorValues, float]:
    """The best of some torque limits of one joint, everything else as found."""
    runs, best, lowest = found.moved, found.values, found.criterion
    error = max(float(np.abs(r.commands["q"][:, k] - found.values.zero[k] - r.q[:, k]).max()) for r in runs.records)
    for share in LIMITS:
        limit = np.where(np.arange(best.n) == k, share * error * found.values.kp[k], found.values.torque_limit)
        tried = found.values.changed(torque_limit=limit)
        score = criterion(simulated(runs, tried, found.starts), floor)
        if score < lowest:
            best, lowest = tried, score
    return best, lowest


def _quantity(name: str, value: float, std: float, alone: bool, rival: float) -> Quantity:
    if not alone:
        return Quantity(value, None, None, COMBINED)
    if not QUANTITIES[name].positive:
        useful = NORMAL * std <= USEFUL * rival
        return Quantity(value, std, (value - NORMAL * std, value + NORMAL * std), DETERMINED if useful else WEAK)
    useful = NORMAL * std <= USEFUL * value
    low, high = value - NORMAL * std, value + NORMAL * std
    if useful:  # a factor: symmetric in the logarithm
        spread = np.exp(NORMAL * std / value)
        low, high = value / spread, value * spread
    return Quantity(value, std, (max(float(low), 0.0), float(high)), DETERMINED if useful else WEAK)


def _posterior(groups: Sequence[_Group]) -> Posterior:
    """Of all groups together, in logarithms of what cannot be negative."""
    names: list[tuple[str, int]] = []
    blocks, means, shifts = [], [], []
    for group in groups:
        assert group.evidence is not None
        found = group.evidence
        slope, own_means = [], []
        for (name, k), unit in zip(found.free, found.unit, strict=True):
            value = float(getattr(group.fit.values, name)[k])
            shift = 0.1 * float(unit) if QUANTITIES[name].positive else 0.0
            names.append((name, group.joints[k]))
            shifts.append(shift)
            own_means.append(np.log(value + shift) if QUANTITIES[name].positive else value)
            slope.append(1.0 / (value + shift) if QUANTITIES[name].positive else 1.0)
        blocks.append(found.covariance * np.outer(slope, slope))
        means += own_means
    size = len(names)
    covariance, first = np.zeros((size, size)), 0
    for block in blocks:
        where = slice(first, first + len(block))
        covariance[where, where], first = block, first + len(block)
    return Posterior(tuple(names), np.array(means), covariance, np.array(shifts))
