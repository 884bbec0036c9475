"""Drive gains: what the unit of current of every joint is worth in torque, from records without and with a load of known mass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.arrays import Array
from inertica.errors import InputError
from inertica.estimators.gains import KnownLoad, LoadSet, revealed
from inertica.identifiability.labels import DETERMINED, INTERVAL, RELATIVE_WIDTH, UNIDENTIFIABLE, WEAK
from inertica.robot import inertia
from inertica.robot.description import Description
from inertica.robot.flange import Flange, flange
from inertica.threads import one_thread
from inertica.workflow.identify.inputs import described
from inertica.workflow.identify.run import LogLike
from inertica.workflow.identify.settings import Settings
from inertica.workflow.payload.load_sets import (
    FORMS,
    Currents,
    Form,
    JointFit,
    RecordSet,
    checked_for_gains,
    joint_fit,
    known_load,
    read_set,
)

LOAD = "load"

LEAST = 1.0
"""Weight of the known part of the load on a joint, in standard deviations of a row, below which it does not reveal the gain."""


@dataclass(frozen=True, eq=False)
class DriveGains:
    """What `drive_gains` found.

    Args:
        description: the robot.
        form: of the estimate.
        values: (n,) torque per unit of current, joint side.
        intervals: (n, 2) 95 %; NaN for a form that states none, infinite where there is no limit.
        revealed: (n,) joints on which what is known of the load weighs.
        labels: trust.
        stated: (n,) gains of the card, or None.
        load: (10,) parameters of the load, found ones among them.
        flange: where it is fixed.
        sentences: what must not be overlooked.
        logs: unloaded and loaded -> where they came from.
    """

    description: Description
    form: str
    values: Array
    intervals: Array
    revealed: NDArray[np.bool_]
    labels: tuple[str, ...]
    stated: Array | None
    load: Array
    flange: Flange
    sentences: tuple[str, ...]
    logs: dict[str, tuple[str, ...]]

    @property
    def card(self) -> str:
        """The lines for a robot card."""
        return f"torque: {{from: current, gain: [{', '.join(f'{k:.5g}' for k in self.values)}]}}"

    def document(self) -> dict[str, Any]:
        """Everything as plain data, with the names of the command line's JSON."""
        body = inertia.to_com(self.load)
        stated = [None] * len(self.values) if self.stated is None else self.stated
        joints = self.description.robot.joints
        return {
            "robot": self.description.name,
            "form": self.form,
            "gains": [
                {
                    "joint": joint.name, "value": value, "std": (ends[1] - ends[0]) / (2.0 * INTERVAL), "interval": list(ends),
                    "revealed": bool(seen), "label": label, "stated": word, "unit": f"{joint.effort_unit}/A",
                }
                for joint, value, ends, seen, label, word in zip(
                    joints, self.values, self.intervals, self.revealed, self.labels, stated, strict=True
                )
            ],
            "load": {"mass": body.mass, "centre_of_mass": body.com, "central_inertia": body.inertia, "frame": self.flange.name},
            "card": self.card,
            "findings": list(self.sentences),
            "logs": {name: list(names) for name, names in self.logs.items()},
        }  # fmt: skip


def drive_gains(
    robot: str | Path | Description,
    *,
    unloaded: Sequence[LogLike],
    loaded: Sequence[LogLike],
    mass: float,
    com: ArrayLike | None = None,
    central_inertia: ArrayLike | None = None,
    frame: str | tuple[float, ...] | None = None,
    form: Form = "tls",
    prior: Sequence[float] | None = None,
    trust: float = 0.2,
    settings: Settings | None = None,
    progress: Callable[[str], None] | None = None,
) -> DriveGains:
    """Gains of the drives by what a known load changes.

    Args:
        robot: as in `identify`; gains that its card states only set the scale.
        unloaded, loaded: logs with currents, best along the same motion.
        mass: of the load in kg.
        com: its centre of mass in the flange frame in m; found with the gains when not given.
        central_inertia: (3, 3), or (6,) XX XY XZ YY YZ ZZ, about the centre of mass in kg m^2; likewise, and only with `com`.
        frame: of the load, see `robot.flange.flange`.
        form: tls, constrained or unscaled, see `estimators.gains`.
        prior: (n,) gains known before, a soft prior.
        trust: their relative standard deviation.
        settings: cut-off, friction and so on, as for `identify`.
        progress: receives one line per step.

    Examples:
        >>> gains = ia.drive_gains("card.yaml", unloaded=["empty.csv.gz"], loaded=["disc.csv.gz"], mass=2.805)
    """
    if form not in FORMS:
        raise InputError(f"unknown form '{form}' of drive gains; there are {', '.join(FORMS)}")
    load = known_load(mass, com, central_inertia)
    if not unloaded or not loaded:
        raise InputError("drive gains need logs without the load (unloaded) and with it (loaded)")
    if prior is not None and not trust > 0.0:
        raise InputError("the trust in prior gains should be a relative standard deviation greater than zero")
    description = described(robot)
    n = description.robot.n
    if prior is not None and len(prior) != n:
        raise InputError(f"{len(prior)} prior gains were given, {description.name} has {n} joints")
    bare, at = checked_for_gains(description), flange(description, frame)
    sets = [read_set(logs, description, name, currents=True) for logs, name in ((unloaded, None), (loaded, LOAD))]
    scale = np.ones(n) if prior is None else np.asarray(prior, float)
    with one_thread():
        fit = joint_fit(
            bare, sets, {LOAD: load}, at.body, settings or Settings(), progress or (lambda _: None),
            Currents(scale, np.inf if prior is None else trust), form,
        )  # fmt: skip
        return gains_of(fit, at, scale, stated_gains(description), form, sets)


def stated_gains(description: Description) -> Array | None:
    """(n,) what the card says currents are worth."""
    torque = description.log.get("torque") or {}
    gains = torque.get("gain") if torque.get("from") == "current" else None
    return None if gains is None else np.broadcast_to(np.asarray(gains, float), description.robot.n).copy()


def gains_of(fit: JointFit, at: Flange, scale: Array, stated: Array | None, form: Form, sets: Sequence[RecordSet]) -> DriveGains:
    """The gains of a joint fit, with intervals, flags and sentences.

    Args:
        fit: what was found.
        at: where loads are fixed.
        scale: (n,) what currents were multiplied by.
        stated: (n,) gains of the card.
        form: of the estimate.
        sets: what was fitted.
    """
    gains, description = fit.gains, fit.robot.description
    values = scale * gains.factors
    ends = np.sort(scale[:, None] * gains.interval(INTERVAL), axis=1)
    if form == "unscaled":
        ends = np.full_like(ends, np.nan)
    weights = [
        weight / gains.factors
        for one in fit.problem.sets
        if one.load is not None
        for weight in _weights(fit.problem.loads[one.load], one, at)
    ]
    seen = revealed(weights, gains.sigma, LEAST)
    labels = tuple(_label(v, e, s) for v, e, s in zip(values, ends, seen, strict=True))
    only_mass = not any(load.known[6] for load in fit.problem.loads.values())
    sentences = _sentences(description, values, ends, seen, scale, stated, form, only_mass)
    logs = {
        name: tuple(str(log.origin) for one in sets if (one.load is None) == empty for log in one.logs)
        for name, empty in (("unloaded", True), ("loaded", False))
    }
    load = next(iter(gains.loads.values()))
    return DriveGains(description, form, values, ends, seen, labels, stated, load, at, sentences, logs)


def _weights(load: KnownLoad, one: LoadSet, at: Flange) -> list[Array]:
    """(N, n) each, torque of gravity on what is known of a load; without a centre of mass, on its mass at the flange."""
    base, body = one.system.base, at.body
    chi = np.zeros(base.layout.size)
    chi[base.layout.link(body.link)] = inertia.change_frame(np.where(load.known, load.values, 0.0), body.rotation, body.position)
    still = [(motion.q, 0.0 * motion.q, 0.0 * motion.q) for motion in one.system.motions]
    return [base.engine.inverse_dynamics(*state, chi, one.system.shapes) for state in still]


def _sentences(
    description: Description, values: Array, ends: Array, seen: NDArray[np.bool_], scale: Array, stated: Array | None,
    form: Form, only_mass: bool,
) -> tuple[str, ...]:  # fmt: skip
    names, out = description.robot.joint_names, []
    if hidden := [f"{j + 1} ({names[j]})" for j in np.flatnonzero(~seen)]:
        what = "a load of which only the mass is known" if only_mass else "the load"
        out.append(
            f"joint {', '.join(hidden)}: {what} does not weigh on this axis, so that it cannot reveal the gain; the value follows "
            "from what other joints say of the same links and is right only as far as the model is"
        )
    if form == "unscaled":
        out.append("this form weighs errors of all columns alike and states no intervals; it is here for comparison")
        return tuple(out)
    sign = scale if stated is None else stated
    if wrong := [f"{j + 1} ({names[j]})" for j in np.flatnonzero(values * sign < 0.0)]:
        out.append(
            f"joint {', '.join(wrong)}: the current counts against the joint's direction; a negative gain is right as long as the "
            "position's sign is, so check the sign of the transmission"
        )
    if stated is not None and (off := np.flatnonzero(seen & ((stated < ends[:, 0]) | (stated > ends[:, 1])))).size:
        changes = ", ".join(f"{j + 1} ({100 * (values[j] / stated[j] - 1):+.0f} %)" for j in off)
        out.append(f"the card's gains lie outside the intervals of joint {changes}")
    return tuple(out)


def _label(value: float, ends: Array, seen: bool) -> str:
    if np.isinf(ends).any():
        return UNIDENTIFIABLE
    narrow = 0.5 * (ends[1] - ends[0]) < RELATIVE_WIDTH * abs(value)
    return DETERMINED if seen and narrow else WEAK
