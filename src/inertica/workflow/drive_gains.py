"""Drive gains: what the unit of current of every joint is worth in torque, from records without and with a load of known mass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.errors import InputError
from inertica.estimators.base import Problem
from inertica.estimators.gains import Carried, GainProblem, Gains, LoadSet, revealed, total_least_squares, unscaled
from inertica.estimators.gains_consistent import constrained
from inertica.estimators.observe import System
from inertica.identifiability.base import base_model
from inertica.identifiability.labels import DETERMINED, INTERVAL, RELATIVE_WIDTH, UNIDENTIFIABLE, WEAK
from inertica.identifiability.load import load_columns, own_friction
from inertica.logs.log import Log
from inertica.logs.read import read_log
from inertica.physical.geometry_prior import usable_prior
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot import inertia
from inertica.robot.description import Description
from inertica.robot.flange import Flange, flange
from inertica.robot.load import load as load_robot
from inertica.robot.plain import assumed_friction
from inertica.threads import one_thread
from inertica.workflow.filter_choice import FilterSearch, recipe_for
from inertica.workflow.identify import LogLike, identify
from inertica.workflow.inputs import check_logs
from inertica.workflow.settings import Settings

Array = NDArray[np.float64]
Form = Literal["tls", "constrained", "unscaled"]

FORMS: tuple[Form, ...] = ("tls", "constrained", "unscaled")

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
                    "revealed": bool(seen), "label": label, "stated": said, "unit": f"{joint.effort_unit}/A",
                }
                for joint, value, ends, seen, label, said in zip(
                    joints, self.values, self.intervals, self.revealed, self.labels, stated, strict=True
                )
            ],
            "load": {"mass": body.mass, "centre_of_mass": body.com, "central_inertia": body.inertia, "frame": self.flange.name},
            "card": self.card,
            "findings": list(self.sentences),
            "logs": {name: list(listed) for name, listed in self.logs.items()},
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
    """
    if form not in FORMS:
        raise InputError(f"unknown form '{form}' of drive gains; there are {', '.join(FORMS)}")
    if not mass > 0.0:
        raise InputError(f"the mass of the load should be a number of kg greater than zero, not {mass:g}")
    if central_inertia is not None and com is None:
        raise InputError("the inertia of the load is about its centre of mass; state that, too (--com)")
    if not unloaded or not loaded:
        raise InputError("drive gains need logs without the load (--unloaded) and with it (--loaded)")
    if prior is not None and not trust > 0.0:
        raise InputError("the trust in prior gains should be a relative standard deviation greater than zero")
    description = robot if isinstance(robot, Description) else load_robot(robot)
    with one_thread():
        known, values = _known_load(mass, com, central_inertia)
        job = _Job(description, unloaded, loaded, known, values, frame, form, prior, trust, settings or Settings(), progress)
        return job.run()


class _Job:
    def __init__(
        self,
        description: Description,
        unloaded: Sequence[LogLike],
        loaded: Sequence[LogLike],
        known: NDArray[np.bool_],
        load: Array,
        frame: str | tuple[float, ...] | None,
        form: Form,
        prior: Sequence[float] | None,
        trust: float,
        settings: Settings,
        progress: Callable[[str], None] | None,
    ) -> None:
        if description.layout.fixed:
            raise InputError(
                f"{description.name}: torques of fixed parameters cannot be told from currents whose gains are unknown; leave "
                "`fixed:` out"
            )
        if description.log.get("transmission") is not None:
            raise InputError(
                "drive gains are found on the joint side; leave `transmission:` out of the card, or convert the log first"
            )
        self.say = progress or (lambda _: None)
        self.known, self.load, self.form, self.settings = known, load, form, settings
        self.flange = flange(description, frame)
        self.description = description.with_terms(description.layout.terms, ())
        n = description.robot.n
        torque = description.log.get("torque") or {}
        gains = torque.get("gain") if torque.get("from") == "current" else None
        self.stated = None if gains is None else np.broadcast_to(np.asarray(gains, float), n).copy()
        if prior is not None and len(prior) != n:
            raise InputError(f"{len(prior)} prior gains were given, {description.name} has {n} joints")
        self.scale = np.ones(n) if prior is None else np.asarray(prior, float)
        self.prior = np.full(n, np.inf if prior is None else trust)
        self.empty = [_read(x, description) for x in unloaded]
        self.full = [_read(x, description) for x in loaded]

    def run(self) -> DriveGains:
        self.say("first gains: plain friction")
        first = assumed_friction(self._with_friction())
        empty, full = ([_in_units(log, self.scale) for log in logs] for logs in (self.empty, self.full))
        check_logs(empty)
        check_logs(full)
        problem = self._problem(first, self._recipe(first, empty), empty, full)
        guess = total_least_squares(problem)
        self.say("filter, delay, mounting and friction with these gains")
        torques = [_in_units(log, self.scale * guess.factors) for log in self.empty]
        fixed = replace(self.settings, quick=True, method="wls")
        robot = identify(self.description, torques, settings=fixed, progress=self.say)
        self.say("gains")
        problem = self._problem(robot.description, robot.recipe, empty, full)
        found = self._found(problem, robot.description)
        other = (1.0 / guess.factors - 1.0 / found.factors) * found.factors
        found = replace(found, relative_std=np.hypot(found.relative_std, other))  # what plain friction would have said
        return self._answer(found, problem, robot.description)

    def _found(self, problem: GainProblem, description: Description) -> Gains:
        if self.form == "unscaled":
            return unscaled(problem)
        if self.form == "constrained":
            return constrained(problem, usable_prior(description)[0], self.flange.body)
        return total_least_squares(problem)

    def _with_friction(self) -> Description:
        if self.settings.friction is None:
            return self.description
        return replace(self.description, friction_stated=False)

    def _recipe(self, description: Description, logs: Sequence[Log]) -> Recipe:
        recorded = all(log.dq is not None for log in logs)
        recipe = Recipe(velocity="recorded" if recorded else "differences")
        if self.settings.cutoff is not None:
            return recipe_for(self.settings.cutoff, min(log.rate for log in logs), recipe)
        return FilterSearch(description, list(logs), recipe, self.say, (recipe.velocity,)).run()[0]

    def _problem(self, description: Description, recipe: Recipe, empty: Sequence[Log], full: Sequence[Log]) -> GainProblem:
        base = base_model(description.layout)

        def observed(logs: Sequence[Log]) -> System:
            return System(Problem(base, tuple(prepare(log, replace(recipe, rate=None)) for log in logs), description.prior))

        columns = load_columns(base, self.flange.body)
        sets = LoadSet(observed(empty)), LoadSet(observed(full), LOAD)
        return GainProblem(sets, columns, own_friction(base), {LOAD: Carried(self.known, self.load)}, self.prior)

    def _answer(self, found: Gains, problem: GainProblem, description: Description) -> DriveGains:
        values = self.scale * found.factors
        ends = np.sort(self.scale[:, None] * found.interval(INTERVAL), axis=1)
        if self.form == "unscaled":
            ends = np.full_like(ends, np.nan)
        loaded = problem.sets[1].system.problem.motions
        weight = [self._weight(motion, problem) / found.factors for motion in loaded]
        seen = revealed(weight, found.sigma, LEAST)
        labels = tuple(_label(v, e, s) for v, e, s in zip(values, ends, seen, strict=True))
        return DriveGains(
            description, self.form, values, ends, seen, labels, self.stated, found.loads[LOAD], self.flange,
            self._sentences(values, ends, seen),
            {"unloaded": tuple(str(x.origin) for x in self.empty), "loaded": tuple(str(x.origin) for x in self.full)},
        )  # fmt: skip

    def _weight(self, motion: Motion, problem: GainProblem) -> Array:
        """(N, n) torque of gravity on what is known of the load; without a centre of mass, on its mass at the flange."""
        base = problem.sets[1].system.base
        body = self.flange.body
        chi = np.zeros(base.layout.size)
        chi[base.layout.link(body.link)] = inertia.change_frame(
            np.where(self.known, self.load, 0.0), body.rotation, body.position
        )
        still = np.zeros_like(motion.q)
        return base.engine.inverse_dynamics(motion.q, still, still, chi, self.description.prior.on(base.layout).shapes)

    def _sentences(self, values: Array, ends: Array, seen: NDArray[np.bool_]) -> tuple[str, ...]:
        names, out = self.description.robot.joint_names, []
        if hidden := [f"{j + 1} ({names[j]})" for j in np.flatnonzero(~seen)]:
            what = "the load" if self.known[6] else "a load of which only the mass is known"
            out.append(
                f"joint {', '.join(hidden)}: {what} does not weigh on this axis, so that it cannot reveal the gain; the value follows "
                "from what other joints say of the same links and is right only as far as the model is"
            )
        scale = self.scale if self.stated is None else self.stated
        wrong = [j for j in range(len(values)) if values[j] * scale[j] < 0.0 and self.form != "unscaled"]
        if wrong:
            listed = ", ".join(f"{j + 1} ({names[j]})" for j in wrong)
            out.append(
                f"joint {listed}: the current counts against the joint's direction; a negative gain is right as long as the "
                "position's sign is, so check the sign of the transmission"
            )
        if self.stated is not None and self.form != "unscaled":
            off = [j for j in range(len(values)) if seen[j] and not ends[j, 0] <= self.stated[j] <= ends[j, 1]]
            if off:
                listed = ", ".join(f"{j + 1} ({100 * (values[j] / self.stated[j] - 1):+.0f} %)" for j in off)
                out.append(f"the card's gains lie outside the intervals of joint {listed}")
        if self.form == "unscaled":
            out.append("this form weighs errors of all columns alike and states no intervals; it is here for comparison")
        return tuple(out)


def _read(source: LogLike, description: Description) -> Log:
    log = source if isinstance(source, Log) else read_log(source, description)
    if log.n != description.robot.n:
        raise InputError(f"{log.origin} has {log.n} joints, {description.name} has {description.robot.n}")
    log.need("q")
    if "i" not in log.signals:
        raise InputError(
            f"{log.origin} has no currents (i1..), only {', '.join(log.signals)}; if they are there under another name, say so in the "
            'card: columns: {i: "NAME_{}"}'
        )
    return log


def _in_units(log: Log, gains: Array) -> Log:
    """The log with currents times gains as its torques."""
    return replace(log, signals={**log.signals, "tau": log.need("i") * gains})


def _known_load(mass: float, com: ArrayLike | None, central: ArrayLike | None) -> tuple[NDArray[np.bool_], Array]:
    """Which of the ten parameters are known, and their values, zero elsewhere."""
    known = np.zeros(10, bool)
    known[9] = True
    if com is None:
        return known, np.where(known, mass, 0.0)
    centre = np.asarray(com, float)
    if centre.shape != (3,) or not np.isfinite(centre).all():
        raise InputError("the centre of mass should be x,y,z in m, in the flange frame")
    known[6:] = True
    if central is None:
        return known, np.where(known, inertia.from_com(mass, centre, np.zeros((3, 3))), 0.0)
    given = np.asarray(central, float)
    L = inertia.matrix([*given, 0, 0, 0, 0]) if given.shape == (6,) else given
    if L.shape != (3, 3) or not np.isfinite(L).all():
        raise InputError("the inertia of the load should be XX,XY,XZ,YY,YZ,ZZ in kg m^2 about its centre of mass")
    ten = inertia.from_com(mass, centre, L)
    if not inertia.physically_consistent(ten):
        raise InputError("no body has the inertia that was given for the load; it should be about the centre of mass")
    return np.ones(10, bool), ten


def _label(value: float, ends: Array, seen: bool) -> str:
    if np.isinf(ends).any():
        return UNIDENTIFIABLE
    narrow = 0.5 * (ends[1] - ends[0]) < RELATIVE_WIDTH * abs(value)
    return DETERMINED if seen and narrow else WEAK
