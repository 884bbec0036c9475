"""From fits to what people read: values with intervals and labels, what cannot be told, what fixes the scale, the joint posterior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from inertica.estimators.actuators.evidence import confounded
from inertica.estimators.actuators.fit import NEAR_ZERO, sizes
from inertica.estimators.actuators.start import rigid_torque
from inertica.estimators.actuators.values import QUANTITIES, ActuatorValues
from inertica.robot.cardwrite import other_terms
from inertica.workflow.actuators import words
from inertica.workflow.actuators.groups import Judged
from inertica.workflow.actuators.known import Setup
from inertica.workflow.actuators.result import (
    COMBINED,
    DETERMINED,
    STATED,
    UNSEEN,
    WEAK,
    Combination,
    JointActuator,
    Posterior,
    Quantity,
)  # fmt: skip

NORMAL = 1.96
"""Standard deviations of an interval of 95 %."""

USEFUL = 0.5
"""Half-width of an interval, relative to the value, up to which a value counts as determined."""

AHEAD = 3.0
"""Standard deviations by which a delay must be negative before it is worth a warning."""


def all_values(setup: Setup, groups: Sequence[Judged]) -> ActuatorValues:
    """What was found; joints that no log moves are what the model file says."""
    description = setup.description
    symbols = {"armature": "Ia", "viscous": "Fv", "coulomb": "Fc"}
    out = {name: np.array(getattr(setup.known.values, name)) for name in QUANTITIES}
    for name, symbol in symbols.items():
        out[name] = np.array([description.friction_value(symbol, j) for j in range(description.robot.n)])
    for group in groups:
        for name in QUANTITIES:
            out[name][list(group.joints)] = getattr(group.fit.values, name)
    return ActuatorValues(**out)


def constant_friction(values: ActuatorValues, groups: Sequence[Judged]) -> tuple[float, ...]:
    """(n,) the Coulomb friction that does the same work in the logs as all dry friction that was found."""
    out = values.coulomb.copy()
    for group in groups:
        runs, mine = group.fit.runs, values.joints(list(group.joints))
        if not mine.richer:
            continue
        work, way = np.zeros(mine.n), np.zeros(mine.n)
        for record in runs.records:
            dq = np.gradient(record.q, record.t, axis=0)
            load = rigid_torque(runs.robot, record.loaded(runs.links), record.q, dq, np.zeros_like(dq))
            level = mine.stribeck * np.exp(-((dq / mine.stribeck_speed) ** 2)) + mine.load_friction * np.abs(load)
            path = np.where(record.use, np.abs(dq), 0.0)
            work, way = work + np.sum(level * path, axis=0), way + np.sum(path, axis=0)
        out[list(group.joints)] += work / np.maximum(way, 1e-300)
    return tuple(float(x) for x in out)


def joint_actuators(setup: Setup, groups: Sequence[Judged]) -> tuple[JointActuator, ...]:
    """Every joint with interval and label."""
    values = all_values(setup, groups)
    out = [
        {
            name: Quantity(float(getattr(values, name)[j]), None, None, STATED if (name, j) in setup.known.known else UNSEEN)
            for name in QUANTITIES
        }
        for j in range(values.n)
    ]
    for group in groups:
        known, rivals = group.evidence, sizes(group.fit.runs, group.fit.values)
        for (name, k), std, alone in zip(known.free, known.std, known.alone, strict=True):
            value = float(getattr(group.fit.values, name)[k])
            out[group.joints[k]][name] = _quantity(name, value, float(std), bool(alone), float(rivals[name][k]))
    return tuple(JointActuator(name, **quantities) for name, quantities in zip(setup.names, out, strict=True))


def _quantity(name: str, value: float, std: float, alone: bool, rival: float) -> Quantity:
    if not alone:
        return Quantity(value, None, None, COMBINED)
    low, high = value - NORMAL * std, value + NORMAL * std
    if not QUANTITIES[name].positive:
        return Quantity(value, std, (low, high), DETERMINED if NORMAL * std <= USEFUL * rival else WEAK)
    useful = NORMAL * std <= USEFUL * value
    if useful:  # a factor: symmetric in the logarithm
        spread = float(np.exp(NORMAL * std / value))
        low, high = value / spread, value * spread
    return Quantity(value, std, (max(low, 0.0), high), DETERMINED if useful else WEAK)


def combinations(setup: Setup, group: Judged) -> list[Combination]:
    """What the records do not tell of a group of joints."""
    out = []
    for confusion in confounded(group.evidence):
        names, joints = (
            tuple(name for name, _ in confusion.parameters),
            tuple(group.joints[k] + 1 for _, k in confusion.parameters),
        )
        symbols = tuple(f"{name} {j}" for name, j in zip(names, joints, strict=True))
        direction = tuple(float(d) for d in confusion.direction)
        bare = Combination(symbols, "", direction, names, joints, confusion.exact)
        out.append(replace(bare, text=words.sentences([bare], setup.names)[0]))
    return out


def scale(setup: Setup, group: Judged) -> str:
    """What fixes the scale of torques."""
    stated = any(("kp", j) in setup.known.known for j in group.joints)
    alone = dict(zip(group.evidence.free, group.evidence.alone, strict=True))
    separable = all(bool(alone.get(("kp", k), True)) for k in range(len(group.joints)))
    sizes = dict.fromkeys((words.GRAVITY, words.INERTIA, words.HUNG, words.COMMANDED), 0.0)
    runs = group.fit.runs
    for record in runs.records:
        rest = np.zeros_like(record.q)
        dq = np.gradient(record.q, record.t, axis=0)
        ddq = np.gradient(dq, record.t, axis=0)
        gravity = rigid_torque(runs.robot, runs.links, record.q, rest, rest)
        whole = rigid_torque(runs.robot, runs.links, record.q, dq, ddq)
        hung = rigid_torque(runs.robot, record.loaded(runs.links), record.q, dq, ddq) - whole
        commanded = record.commands.get("tau", rest)
        parts = (gravity, whole - gravity, hung, commanded)
        for name, torque in zip(sizes, parts, strict=True):
            sizes[name] += float(np.sum(torque**2))
    names = [setup.names[j] for j in group.joints]
    return words.scale(names, stated, separable, sizes, float(np.median(setup.links_std[list(group.joints)])))


def warnings_of(setup: Setup, groups: Sequence[Judged]) -> list[str]:
    """What users should know before they trust the values."""
    description = setup.description
    springs = [p.name for t in other_terms(description.layout) for p in t.parameters if description.prior[p.name]]
    out = [f"{', '.join(springs)} of {description.name} are not in the simulated motion"] if springs else []
    active = frozenset[int]().union(*(g.active for g in groups))
    unmoved = [f"{j + 1} ({name})" for j, name in enumerate(setup.names) if j not in active]
    if unmoved:
        out.append(f"joint {', '.join(unmoved)} is not commanded to move in any log; its actuator is left as it was")
    for group in groups:
        for (name, k), std in zip(group.evidence.free, group.evidence.std, strict=True):
            value, j = float(group.fit.values.delay[k]), group.joints[k]
            if name == "delay" and value < -AHEAD * std:
                out.append(
                    f"joint {j + 1} ({setup.names[j]}) moves {-1e3 * value:.3g} ms before its command: positions are stamped "
                    "later than commands, or commands are interpolated"
                )
    return out


def posterior(groups: Sequence[Judged]) -> Posterior:
    """Of all groups together, in logarithms of what cannot be negative."""
    names: list[tuple[str, int]] = []
    means: list[float] = []
    shifts: list[float] = []
    size = sum(len(g.evidence.free) for g in groups)
    covariance = np.zeros((size, size))
    for group in groups:
        first, slopes = len(names), []
        for (name, k), unit in zip(group.evidence.free, group.evidence.unit, strict=True):
            value, positive = float(getattr(group.fit.values, name)[k]), QUANTITIES[name].positive
            shift = NEAR_ZERO * float(unit) if positive else 0.0
            names.append((name, group.joints[k]))
            shifts.append(shift)
            means.append(float(np.log(value + shift)) if positive else value)
            slopes.append(1.0 / (value + shift) if positive else 1.0)
        where = slice(first, len(names))
        covariance[where, where] = group.evidence.covariance * np.outer(slopes, slopes)
    return Posterior(tuple(names), np.array(means), covariance, np.array(shifts))
