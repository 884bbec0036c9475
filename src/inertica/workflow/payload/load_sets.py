"""Robot, loads and drive gains in one fit: records in sets that carry no load, a known one, or one that several of them share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from inertica.arrays import Array
from inertica.checks.seen import seen
from inertica.errors import InputError
from inertica.estimators.gains import (
    GainProblem,
    Gains,
    KnownLoad,
    LoadSet,
    parameters_of,
    total_least_squares,
    unscaled,
)
from inertica.estimators.gains_consistent import constrained
from inertica.estimators.observe import Observations
from inertica.identifiability.base import base_model
from inertica.identifiability.load import load_columns, own_friction
from inertica.logs.log import Log
from inertica.physical.geometry_prior import usable_prior
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot import inertia
from inertica.robot.description import Description
from inertica.robot.plain import assumed_friction
from inertica.robot.terms import RigidBody
from inertica.workflow.decisions.filter import choose_filter, recipe_for
from inertica.workflow.decisions.shared_bandwidth import SharedBandwidth, shared_bandwidth
from inertica.workflow.identify.choice import Choice, Say
from inertica.workflow.identify.inputs import check_all_move, read_one
from inertica.workflow.identify.result import Result
from inertica.workflow.identify.run import LogLike, identify
from inertica.workflow.identify.settings import Settings
from inertica.workflow.payload.gain_knowledge import Knowledge, Start, model_start, stated

Form = Literal["tls", "constrained", "unscaled"]

FORMS: tuple[Form, ...] = ("tls", "constrained", "unscaled")

EXACT = 1e-6
"""Relative standard deviation of gains that are stated and not to be estimated."""


@dataclass(frozen=True, eq=False)
class RecordSet:
    """Logs with the same load, by its name, or with none."""

    logs: tuple[Log, ...]
    load: str | None = None


@dataclass(frozen=True, eq=False)
class JointFit:
    """What one fit of all sets found.

    Args:
        problem: what was fitted, with the friction that was chosen.
        gains: gains, relative to the scale of the currents, and loads.
        robot: the identification that filter, delay, mounting and friction come from.
        bandwidth: up to which frequency all sets are fitted.
        reference: joint whose gain the others are relative to, where nothing has a kilogram in it.
    """

    problem: GainProblem
    gains: Gains
    robot: Result
    bandwidth: Choice
    reference: int | None = None


@dataclass(frozen=True, eq=False)
class Currents:
    """Currents whose gains are to be found.

    Args:
        scale: (n,) what they are multiplied by for a start.
        spread: relative standard deviation of that scale as prior gains; infinite when they are only a scale.
        knowledge: what else is known of gains and robot.
    """

    scale: Array
    spread: float = np.inf
    knowledge: tuple[Knowledge, ...] = ()


def joint_fit(
    description: Description,
    sets: Sequence[RecordSet],
    loads: Mapping[str, KnownLoad],
    body: RigidBody,
    settings: Settings,
    say: Say,
    currents: Currents | None = None,
    form: Form = "tls",
) -> JointFit:
    """Fit all sets together.

    Args:
        description: the robot without payload.
        sets: the first one is what filter, delay, mounting and friction are chosen on.
        loads: what is known of those that sets name.
        body: where loads are fixed.
        settings: as for `identify`.
        say: progress.
        currents: what they are worth for a start; None when gains are stated, and torques taken as they are.
        form: of the estimate.
    """
    n = description.robot.n
    if currents is None:
        scale, prior, units = None, np.full(n, EXACT), list(sets)
    else:
        scale, prior = currents.scale, np.full(n, currents.spread)
        units = [replace(one, logs=tuple(in_units(log, scale) for log in one.logs)) for one in sets]
    for one in units:
        check_all_move(one.logs, description.robot)
    known, first, guess, reference = (loads, body, prior), units[0].logs, np.ones(n), None
    if currents is not None:
        say("first gains: plain friction")
        plain = assumed_friction(description if settings.friction is None else replace(description, friction_stated=False))
        recipes = _recipes(plain, _recipe(plain, first, settings, say), units, settings).recipes
        first_problem = _problem(plain, recipes, units, *known)
        if not _absolute(loads, currents):
            reference = int(np.argmax(model_start(first_problem, usable_prior(plain)[0])[1]))
        guess = _estimated(first_problem, currents, plain, reference).factors
        first = tuple(in_units(log, currents.scale * guess) for log in sets[0].logs)
    say("filter, delay, mounting and friction")
    robot = identify(description, first, settings=replace(settings, quick=True, method="wls"), progress=say)
    say("robot, loads and gains together")
    scaled = (
        units if scale is None else [replace(one, logs=tuple(in_units(log, scale * guess) for log in one.logs)) for one in sets]
    )
    shared = _recipes(robot.description, robot.recipe, scaled, settings)
    problem = _problem(robot.description, shared.recipes, units, *known)
    if form == "unscaled":
        gains = unscaled(problem)
    elif form == "constrained":
        gains = constrained(problem, usable_prior(robot.description)[0], body)
    elif currents is None:
        gains = total_least_squares(problem, np.ones(n))
    else:
        gains = _estimated(problem, currents, robot.description, reference, 1.0 / guess)
    if scale is not None:  # by how much plain friction would change the gains
        gains = replace(gains, relative_std=np.hypot(gains.relative_std, gains.factors / guess - 1.0))
    return JointFit(problem, gains, robot, shared.choice, reference)


def _absolute(loads: Mapping[str, KnownLoad], currents: Currents) -> bool:
    """Whether anything that is known has a kilogram in it."""
    by_load = any(load.known.any() for load in loads.values())
    return by_load or np.isfinite(currents.spread) or any(one.absolute for one in currents.knowledge)


def _estimated(
    problem: GainProblem, currents: Currents, robot: Description, reference: int | None, start: Array | None = None
) -> Gains:
    """Total least squares beside what is known; from the model's links where no load of known mass says how large gains are."""
    if not currents.knowledge and reference is None:
        return total_least_squares(problem, start)
    g = model_start(problem, usable_prior(robot)[0])[0] if start is None else start
    at = Start(robot.prior, currents.scale, g, parameters_of(problem, g))
    return total_least_squares(stated(problem, currents.knowledge, at, reference), g)


def _recipes(description: Description, recipe: Recipe, sets: Sequence[RecordSet], settings: Settings) -> SharedBandwidth:
    """How far every set is used, by what all of them say."""
    base = base_model(description.layout)
    return shared_bandwidth(description, base, recipe, [one.logs for one in sets], settings, of_first=True)


def _problem(
    description: Description,
    recipes: Sequence[Recipe],
    sets: Sequence[RecordSet],
    loads: Mapping[str, KnownLoad],
    body: RigidBody,
    prior: Array,
) -> GainProblem:
    base = base_model(description.layout)

    def observed(logs: Sequence[Log], recipe: Recipe) -> Observations:
        return Observations(base, [prepare(log, recipe) for log in logs], description.prior)

    load_sets = tuple(LoadSet(observed(one.logs, recipe), one.load) for one, recipe in zip(sets, recipes, strict=True))
    return GainProblem(load_sets, load_columns(base, body), own_friction(base), loads, prior)


def _recipe(description: Description, logs: Sequence[Log], settings: Settings, say: Say) -> Recipe:
    recipe = Recipe(velocity="recorded" if all(log.dq is not None for log in logs) else "differences")
    if settings.cutoff is not None:
        return recipe_for(settings.cutoff, min(log.rate for log in logs), recipe)
    return choose_filter(description, base_model(description.layout), logs, recipe, say, (recipe.velocity,))[0]


def in_units(log: Log, gains: Array) -> Log:
    """The log with currents times gains as its torques."""
    return replace(log, signals={**log.signals, "tau": log.need("i") * gains})


def read_set(sources: Sequence[LogLike], description: Description, load: str | None, *, currents: bool) -> RecordSet:
    """Logs of one set, with currents or with torques."""
    logs = []
    for source in sources:
        log = seen(read_one(source, description, "q"))
        if currents and "i" not in log.signals:
            raise InputError(
                f"{log.origin} has no currents (i1..), only {', '.join(log.signals)}; if they are there under another name, say so in "
                'the card: columns: {i: "NAME_{}"}'
            )
        if not currents:
            log.need("tau")
        logs.append(log)
    return RecordSet(tuple(logs), load)


def checked_for_gains(description: Description) -> Description:
    """The robot without payload, unless something in its card keeps gains from being found."""
    if description.layout.fixed:
        raise InputError(
            f"{description.name}: torques of fixed parameters cannot be told from currents whose gains are unknown; leave "
            "`fixed:` out"
        )
    if description.log.get("transmission") is not None:
        raise InputError(
            "drive gains are found on the joint side; leave `transmission:` out of the card, or convert the log first"
        )
    return description.with_terms(description.layout.terms, ())


def known_load(mass: float | None, com: ArrayLike | None = None, central: ArrayLike | None = None) -> KnownLoad:
    """A load as far as it is known: nothing, its mass, also its centre of mass, or everything."""
    known = np.zeros(10, bool)
    if mass is None:
        if com is not None or central is not None:
            raise InputError("a load with a known centre of mass or inertia needs its mass, too")
        return KnownLoad(known, np.zeros(10))
    if not mass > 0.0:
        raise InputError(f"the mass of the load should be a number of kg greater than zero, not {mass:g}")
    if central is not None and com is None:
        raise InputError("the inertia of the load is about its centre of mass; state that, too (com)")
    known[9] = True
    if com is None:
        return KnownLoad(known, np.where(known, mass, 0.0))
    centre = np.asarray(com, float)
    if centre.shape != (3,) or not np.isfinite(centre).all():
        raise InputError("the centre of mass should be x,y,z in m, in the flange frame")
    known[6:] = True
    if central is None:
        return KnownLoad(known, np.where(known, inertia.from_com(mass, centre, np.zeros((3, 3))), 0.0))
    central_inertia = np.asarray(central, float)
    L = inertia.matrix([*central_inertia, 0, 0, 0, 0]) if central_inertia.shape == (6,) else central_inertia
    if L.shape != (3, 3) or not np.isfinite(L).all():
        raise InputError("the inertia of the load should be XX,XY,XZ,YY,YZ,ZZ in kg m^2 about its centre of mass")
    ten = inertia.from_com(mass, centre, L)
    if not inertia.physically_consistent(ten):
        raise InputError("no body has the inertia that was given for the load; it should be about the centre of mass")
    return KnownLoad(np.ones(10, bool), ten)
