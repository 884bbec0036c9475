"""Drive gains: what the unit of current of every joint is worth in torque.

From records without and with a load of known mass; or from whatever else is known (`gain_knowledge`, `workflow.loop.law_gains`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.arrays import Array
from inertica.errors import InputError
from inertica.estimators.gains import Gains, KnownLoad, LoadSet, revealed
from inertica.identifiability.labels import DETERMINED, INTERVAL, RELATIVE_WIDTH, UNIDENTIFIABLE, WEAK
from inertica.robot import inertia
from inertica.robot.description import Description
from inertica.robot.flange import Flange, flange
from inertica.threads import one_thread
from inertica.workflow.identify.inputs import described
from inertica.workflow.identify.run import LogLike
from inertica.workflow.identify.settings import Settings
from inertica.workflow.loop.fit_loop import POOR
from inertica.workflow.loop.law_gains import gains_by_law
from inertica.workflow.payload.gain_knowledge import ACCURACY, Knowledge, Twice
from inertica.workflow.payload.load_sets import (
    FORMS,
    Currents,
    Form,
    JointFit,
    RecordSet,
    checked_for_gains,
    in_units,
    joint_fit,
    known_load,
    read_set,
)

LOAD = "load"
PAIR = "two loads"

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
        load: (10,) parameters of the load, found ones among them; None where no log has one.
        flange: where it is fixed.
        sentences: what must not be overlooked.
        logs: unloaded and loaded -> where they came from.
        reference: joint whose gain is 1, the others being relative to it, where nothing stated has a kilogram in it; None where gains
            are absolute.
    """

    description: Description
    form: str
    values: Array
    intervals: Array
    revealed: NDArray[np.bool_]
    labels: tuple[str, ...]
    stated: Array | None
    load: Array | None
    flange: Flange
    sentences: tuple[str, ...]
    logs: dict[str, tuple[str, ...]]
    reference: int | None = None

    @property
    def card(self) -> str:
        """The lines for a robot card; empty where one factor of all gains is not known."""
        if self.reference is not None:
            return ""
        return f"torque: {{from: current, gain: [{', '.join(f'{k:.5g}' for k in self.values)}]}}"

    def unit(self, j: int) -> str:
        """Of the gain of joint j (0-based)."""
        joints = self.description.robot.joints
        return f"{joints[j].effort_unit}/A" if self.reference is None else f"of joint {self.reference + 1}"

    def document(self) -> dict[str, Any]:
        """Everything as plain data, with the names of the command line's JSON."""
        load = None
        if self.load is not None and self.reference is None:
            body = inertia.to_com(self.load)
            inertia_at_com = {"centre_of_mass": body.com, "central_inertia": body.inertia}
            load = {"mass": body.mass, **inertia_at_com, "frame": self.flange.name}
        stated = [None] * len(self.values) if self.stated is None else self.stated
        joints = self.description.robot.joints
        return {
            "robot": self.description.name,
            "form": self.form,
            "gains": [
                {
                    "joint": joint.name, "value": value, "std": (ends[1] - ends[0]) / (2.0 * INTERVAL), "interval": list(ends),
                    "revealed": bool(seen), "label": label, "stated": word, "unit": self.unit(j),
                }
                for j, (joint, value, ends, seen, label, word) in enumerate(
                    zip(joints, self.values, self.intervals, self.revealed, self.labels, stated, strict=True)
                )
            ],
            "scale": "absolute" if self.reference is None else f"relative to {joints[self.reference].name}",
            "load": load,
            "card": self.card,
            "findings": list(self.sentences),
            "logs": {name: list(names) for name, names in self.logs.items()},
        }  # fmt: skip


def drive_gains(
    robot: str | Path | Description,
    *,
    unloaded: Sequence[LogLike],
    loaded: Sequence[LogLike] = (),
    twice: Sequence[LogLike] = (),
    mass: float | None = None,
    com: ArrayLike | None = None,
    central_inertia: ArrayLike | None = None,
    known: Sequence[Knowledge] = (),
    frame: str | tuple[float, ...] | None = None,
    form: Form = "tls",
    prior: Sequence[float] | None = None,
    trust: float = 0.2,
    settings: Settings | None = None,
    progress: Callable[[str], None] | None = None,
) -> DriveGains:
    """Gains of the drives by what a known load changes, or by what else is known.

    Args:
        robot: as in `identify`; gains that its card states only set the scale.
        unloaded, loaded: logs with currents, best along the same motion; `loaded` may be left out where `known` says something.
        twice: logs with two loads like the one of `loaded`.
        mass: of the load in kg.
        com: its centre of mass in the flange frame in m; found with the gains when not given.
        central_inertia: (3, 3), or (6,) XX XY XZ YY YZ ZZ, about the centre of mass in kg m^2; likewise, and only with `com`.
        known: `Weighed`, `TrustedLink`, `Alike`. Where nothing has a kilogram in it, gains are relative to that of one joint.
        frame: of the load, see `robot.flange.flange`.
        form: tls, constrained or unscaled, see `estimators.gains`; the last two only with a load of known mass.
        prior: (n,) gains known before, a soft prior.
        trust: their relative standard deviation.
        settings: cut-off, friction and so on, as for `identify`.
        progress: receives one line per step.

    Examples:
        >>> gains = ia.drive_gains("card.yaml", unloaded=["empty.csv.gz"], loaded=["disc.csv.gz"], mass=2.805)
    """
    loads = _loads(known_load(mass, com, central_inertia), loaded, twice, form)
    if not unloaded:
        raise InputError("drive gains need logs without the load (unloaded)")
    if mass is not None and not loaded:
        raise InputError("a load of known mass needs logs that carry it (loaded)")
    if prior is not None and not trust > 0.0:
        raise InputError("the trust in prior gains should be a relative standard deviation greater than zero")
    description = described(robot)
    n = description.robot.n
    if prior is not None and len(prior) != n:
        raise InputError(f"{len(prior)} prior gains were given, {description.name} has {n} joints")
    bare, at = checked_for_gains(description), flange(description, frame)
    stated_logs = ((unloaded, None), (loaded, LOAD), (twice, PAIR))
    sets = [read_set(logs, description, name, currents=True) for logs, name in stated_logs if logs]
    scale = np.ones(n) if prior is None else np.asarray(prior, float)
    knowledge = (*known, *([Twice(LOAD, PAIR)] if twice else []))
    with one_thread():
        fit = joint_fit(
            bare, sets, loads, at.body, settings or Settings(), progress or (lambda _: None),
            Currents(scale, np.inf if prior is None else trust, knowledge), form,
        )  # fmt: skip
        return gains_of(fit, at, scale, stated_gains(description), form, sets)


def drive_gains_by_law(
    robot: str | Path | Description, *, logs: Sequence[LogLike], accuracy: float = ACCURACY, settings: Settings | None = None
) -> DriveGains:
    """Gains of the drives by the control law of the card, whose gains are torques: what it commands over the current that followed.

    Args:
        robot: whose card states `loop:` with gains in N m/rad and the like.
        logs: with currents and reference positions.
        accuracy: relative standard deviation of the card's gains.
        settings: the cut-off among them.

    Examples:
        >>> run = ia.read_log("run1.csv.gz", ia.load("card.yaml"))
        >>> signals = {"q": run.need("q"), "qr": run.need("qr"), "i": run.need("tau") / 12.0}
        >>> gains = ia.drive_gains_by_law("card.yaml", logs=[ia.Log.from_arrays(run.t, signals, run.joints)])
    """
    description = described(robot)
    bare, cutoff = checked_for_gains(description), (settings or Settings()).cutoff
    one = read_set(logs, description, None, currents=True)
    if not one.logs:
        raise InputError("drive gains need logs with currents")
    units = np.ones(description.robot.n)
    values, std, left = gains_by_law(bare, [in_units(log, units) for log in one.logs], cutoff)
    gains = Gains(values, np.hypot(std, accuracy), np.zeros(0), {}, np.zeros(len(units)), 1)
    ends = np.sort(gains.interval(INTERVAL), axis=1)
    seen = _bounded(ends)
    labels = tuple(_label(v, e, s) for v, e, s in zip(values, ends, seen, strict=True))
    sentences = _sentences_by_law(description, left)
    origins = {"unloaded": tuple(str(log.origin) for log in one.logs), "loaded": ()}
    at = flange(description, None)
    return DriveGains(description, "law", values, ends, seen, labels, stated_gains(description), None, at, sentences, origins)


def _sentences_by_law(description: Description, left: Array) -> tuple[str, ...]:
    names = description.robot.joint_names
    poor = [f"{j + 1} ({names[j]}: {100 * left[j]:.0f} %)" for j in np.flatnonzero(left > POOR)]
    if not poor:
        return ()
    return (
        f"the card's law leaves much of the current of joint {', '.join(poor)}; is there feed-forward, a limit, a delay, or "
        "another law? intervals of these joints hold no error of the law",
    )


def _loads(load: KnownLoad, loaded: Sequence[LogLike], twice: Sequence[LogLike], form: Form) -> dict[str, KnownLoad]:
    """What is known of the loads by name."""
    if form not in FORMS:
        raise InputError(f"unknown form '{form}' of drive gains; there are {', '.join(FORMS)}")
    if form != "tls" and not load.known.any():
        raise InputError(f"the form {form} needs logs with a load of known mass; the form tls takes what else is known")
    if twice and (load.known.any() or not loaded):
        raise InputError(
            "logs with two equal loads go with logs of one of them (loaded), of unknown mass; a known mass needs no second one"
        )
    out = {LOAD: load} if loaded else {}
    return out | ({PAIR: known_load(None)} if twice else {})


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
    if fit.reference is not None:
        scale = scale / (scale[fit.reference] * gains.factors[fit.reference])
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
    by_load = any(load.known.any() for load in fit.problem.loads.values())
    # what else is known reaches joints by the links that they share: intervals say how far
    seen = revealed(weights, gains.sigma, LEAST) if by_load else _bounded(ends)
    labels = tuple(_label(v, e, s) for v, e, s in zip(values, ends, seen, strict=True))
    only_mass = not any(load.known[6] for load in fit.problem.loads.values())
    if by_load:
        sentences = _sentences(description, values, ends, seen, scale, stated, form, only_mass)
    else:
        sentences = _sentences_without_load(description, ends, fit.reference)
    logs = {
        name: tuple(str(log.origin) for one in sets if (one.load is None) == empty for log in one.logs)
        for name, empty in (("unloaded", True), ("loaded", False))
    }
    load = next(iter(gains.loads.values()), None)
    return DriveGains(description, form, values, ends, seen, labels, stated, load, at, sentences, logs, fit.reference)


def _sentences_without_load(description: Description, ends: Array, reference: int | None) -> tuple[str, ...]:
    names, out = description.robot.joint_names, []
    if reference is not None:
        out.append(
            f"gains are relative to that of joint {reference + 1} ({names[reference]}): the factor that all of them have in common "
            "remains free, since nothing that was stated has a kilogram or a torque in it; state a load of known mass, a weighed "
            "part, a link to be trusted, or a control law with gains in torque"
        )
    if free := [f"{j + 1} ({names[j]})" for j in np.flatnonzero(~_bounded(ends))]:
        out.append(f"joint {', '.join(free)}: no link that others feel ties this gain to what is known; its scale remains free")
    return tuple(out)


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


def _bounded(ends: Array) -> NDArray[np.bool_]:
    """(n,) whether both ends of an interval are finite."""
    return np.asarray(np.isfinite(ends).all(axis=1))


def _label(value: float, ends: Array, seen: bool) -> str:
    if np.isinf(ends).any():
        return UNIDENTIFIABLE
    narrow = 0.5 * (ends[1] - ends[0]) < RELATIVE_WIDTH * abs(value)
    return DETERMINED if seen and narrow else WEAK
