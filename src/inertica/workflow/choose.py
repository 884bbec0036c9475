"""Second and third stage: are the logs what they say; which filter, delay, mount, friction and method to fit them with."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from inertica.checks.gate import Report, admitted
from inertica.errors import InputError
from inertica.estimators.base import Capability, Estimate, Estimator, Problem
from inertica.estimators.closed_loop.torque_only import torque_only
from inertica.estimators.registry import able, method
from inertica.excitation.trajectory import Trajectory
from inertica.identifiability.base import BaseModel, base_model
from inertica.logs.log import Log
from inertica.physical.geometry_prior import usable_prior, weighed
from inertica.physical.stated import stated
from inertica.preprocessing.filters import Unfiltered, named_filter
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description
from inertica.robot.friction import check_laws, friction_terms, law
from inertica.robot.plain import assumed_friction, with_laws
from inertica.workflow.choice import Choice, Notes, Say
from inertica.workflow.delay_choice import Delay, choose_delay
from inertica.workflow.filter_choice import choose_filter, recipe_for
from inertica.workflow.friction_choice import FrictionSelection
from inertica.workflow.inputs import IDENTIFICATION, Inputs
from inertica.workflow.kept_friction import with_kept_friction
from inertica.workflow.method_choice import choose_method
from inertica.workflow.mount import Mount
from inertica.workflow.mount_choice import FAR, choose_mount
from inertica.workflow.position_choice import choose_position_torque
from inertica.workflow.replay import driven_log, measured_motion, own_reference, prediction_motion
from inertica.workflow.representative import in_one_piece
from inertica.workflow.settings import prepared_method
from inertica.workflow.shape_choice import RefinedShapes, refine_shapes

Array = NDArray[np.float64]

FEWEST = 50
"""Usable samples below which nothing is fitted."""


@dataclass(frozen=True, eq=False)
class Checked:
    """Logs that may be fitted.

    Args:
        inputs: as read.
        report: what the check says of the logs.
        base: base parameters of the robot with the friction that is assumed; None for logs without position.
    """

    inputs: Inputs
    report: Report
    base: BaseModel | None
    notes: Notes


@dataclass(frozen=True, eq=False)
class Chosen:
    """Everything that a fit needs.

    Args:
        inputs, report: as read and checked.
        description: the robot as it is mounted, with friction laws and usable prior values.
        recipe: how logs become motions.
        mount: how the robot is mounted, and how that is known.
        problem: what is to be fitted; methods that simulate the loop add it.
        part: what the choices were made on; the problem itself unless logs are long.
        estimator: the method.
        other_laws: base parameter -> change, for every friction law that the data tell hardly apart from the chosen one.
        shapes: standard deviations of the constants of friction laws that were found from the data; infinite where they were not told.
        delays_left: (n,) each, standard deviations in s of what may be left of delays between torque and motion.
    """

    inputs: Inputs
    report: Report
    description: Description
    recipe: Recipe
    mount: Mount
    problem: Problem
    part: Problem
    estimator: Estimator
    other_laws: Sequence[Mapping[str, float]]
    notes: Notes
    shapes: Mapping[str, float] = field(default_factory=dict)
    delays_left: Sequence[Array] = ()

    def motions(self, estimate: Estimate) -> dict[str, tuple[Motion, ...]]:
        """Data set -> its logs as predictions are made from them; simulated with the estimate where no position was recorded."""
        out: dict[str, tuple[Motion, ...]] = {}
        for (name, log, recipe, reference), motion in zip(self._to_predict, self._measured, strict=True):
            if motion is None or driven_log(log, estimate) is not log:
                motion = prediction_motion(self.description, estimate, recipe, log, reference)
            out[name] = (*out.get(name, ()), motion)
        return out

    @property
    def _to_predict(self) -> list[tuple[str, Log, Recipe, Trajectory | None]]:
        """Data set, log, recipe and stated reference of every log."""
        i, given = self.inputs, self.inputs.settings.references
        recipes = [replace(m.recipe, rate=None).for_prediction for m in self.problem.motions]
        if i.torque_only:
            recipes = [self.recipe] * len(recipes)
        out = [(IDENTIFICATION, log, recipes[k], own_reference(given, k)) for k, log in enumerate(i.logs)]
        others = enumerate(i.validation.items(), start=len(out))
        return out + [(name, log, recipes[0], own_reference(given, k, log)) for k, (name, log) in others]

    @cached_property
    def _measured(self) -> list[Motion | None]:
        """Motions of logs with position, which do not depend on an estimate."""
        return [measured_motion(recipe, log) if "q" in log.signals else None for _, log, recipe, _ in self._to_predict]


def check(inputs: Inputs, say: Say) -> Checked:
    """Holds the logs against the model; raises where that forbids a fit."""
    start = time.perf_counter()
    say("check: is the log what it says it is")
    assumed = assumed_friction(_with_stated_laws(inputs.description, inputs.settings.friction))
    if isinstance(wanted := inputs.settings.gravity, tuple):
        assumed = replace(assumed.with_gravity(wanted), gravity_stated=True)
    elif wanted == "auto":
        assumed = replace(assumed, gravity_stated=False)
    base = None if inputs.torque_only else base_model(assumed.layout)
    logs = inputs.logs if inputs.part.whole else in_one_piece(inputs.logs)
    report = admitted(assumed, logs, force=inputs.settings.force, base=base)
    notes = inputs.notes.warned(f"check, {f.name}: {f.text}" for f in report.problems)
    return Checked(inputs, report, base, notes.took("check", start))


def choose(checked: Checked, say: Say) -> Chosen:
    """Makes every choice that the user did not fix."""
    start, inputs, s = time.perf_counter(), checked.inputs, checked.inputs.settings
    assumed = assumed_friction(_with_stated_laws(inputs.description, s.friction))
    base = None if inputs.torque_only else _base(assumed, checked.base)
    choices, delay = _preprocessing(inputs, assumed, base, say)
    recipe = delay.recipe
    seen = _prepared(inputs, recipe)
    _check_motion(inputs, seen)
    mount = _mount(inputs, seen, base, say)
    description = inputs.description.with_gravity(mount.gravity)
    choices = [*choices, mount.choice]
    if mount.accepted and mount.angle > FAR:  # filter and delay were chosen for a robot that stands otherwise
        assumed = assumed_friction(_with_stated_laws(description, s.friction))
        base = _base(assumed, base)
        again, delay = _preprocessing(inputs, assumed, base, say)
        recipe = delay.recipe
        choices, seen = [mount.choice, *again], _prepared(inputs, recipe)
    description, choice, other_laws = _friction(inputs, _with_stated_laws(description, s.friction), seen, say)
    description = with_kept_friction(description, inputs.description, inputs.logs)
    choices.append(choice)
    shapes: Mapping[str, float] = {}
    if s.refine_shapes:
        refined = _refined(inputs, description, seen, say)
        description, shapes, other_laws = refined.description, refined.std, [*other_laws, *refined.changes]
        choices.append(refined.choice)
    if s.regressor != "torque":  # all of the above was chosen on torques
        choices.append(Choice.given("rows", f"{s.regressor} instead of torque"))
        recipe = replace(recipe, regressor=s.regressor)
        seen = tuple(replace(m, recipe=replace(m.recipe, regressor=s.regressor)) for m in seen)
    motions, part = seen, inputs.part
    if not part.whole:
        why = f"{part.sentence}; everything above and the method were chosen on them, the fit and its residuals take all of the data"
        choices.append(Choice("long log", part.sentence, why))
        motions = tuple(prepare(log, recipe) for log in inputs.logs)
    prior, replaced = usable_prior(description)
    prior = weighed(prior, seen)
    description = replace(description, prior=prior)
    base, known = _base(description, base), stated(description)
    problem = Problem(base, motions, prior, references=s.references[: len(motions)], constraints=known.constraints)
    of_part = problem if part.whole else replace(problem, motions=seen, references=inputs.part_references())
    if (found := _position(inputs, description, of_part, say)) is not None:
        description, choice = found
        choices.append(choice)
        base = base_model(description.layout)
        problem, of_part = (replace(p, base=base, prior=description.prior) for p in (problem, of_part))
        of_part = problem if part.whole else of_part
    estimator, choice = _method(inputs, description, of_part, say)
    choices.append(choice)
    warnings = [*base.warnings, *([replaced] if replaced else []), *known.notes]
    if known.constraints and Capability.TAKES_CONSTRAINTS not in estimator.capabilities:
        listed = ", ".join(able(Capability.TAKES_CONSTRAINTS))
        warnings.append(f"the card's constraints are used by physically consistent methods only ({listed})")
    notes = checked.notes.chose(*choices).warned(warnings).took("choose", start)
    return Chosen(
        inputs, checked.report, description, recipe, mount, problem, of_part, estimator, other_laws, notes, shapes, delay.left
    )


def _base(description: Description, known: BaseModel | None) -> BaseModel:
    """Base parameters; those that are known where they fit, since tracing kernels takes a while."""
    return known if known is not None and known.layout == description.layout else base_model(description.layout)


def _with_stated_laws(description: Description, names: Sequence[str] | None) -> Description:
    """The robot with the friction laws that the user fixed."""
    if names is None:
        return description
    laws = [law(name, j) for j in range(description.robot.n) for name in names]
    check_laws(laws)
    return replace(with_laws(description, laws).with_loads(), friction_stated=True)


def _preprocessing(inputs: Inputs, assumed: Description, base: BaseModel | None, say: Say) -> tuple[list[Choice], Delay]:
    """All choices on filter and delay, with the friction that is assumed for now; the recipe that they come to is the delay's."""
    s, logs = inputs.settings, inputs.part.logs
    if base is None:
        why = "none: no position was recorded, and the simulated motion needs no filter"
        choice = Choice("filter", "none", why)
        return [choice], Delay(Recipe(filter=Unfiltered(), decimate=s.decimate, delay=s.delay or 0.0), choice)
    recorded = all(log.dq is not None for log in inputs.logs)
    recipe = Recipe(velocity=s.velocity or ("recorded" if recorded else "differences"))  # type: ignore[arg-type]
    more: list[Choice] = []
    velocities = (s.velocity,) if s.velocity else None
    if s.filter is not None and s.filter != "butterworth":
        recipe = replace(recipe, filter=named_filter(s.filter, s.cutoff, min(log.rate for log in inputs.logs)))
        choice = Choice.given("filter", f"{s.filter}, velocity: {recipe.velocity}")
    elif s.cutoff is not None:
        recipe = recipe_for(s.cutoff, min(log.rate for log in inputs.logs), recipe)
        choice = Choice.given("filter", f"fit and predictions up to {s.cutoff:g} Hz, velocity: {recipe.velocity}")
    else:
        recipe, choice = choose_filter(assumed, base, logs, recipe, say, velocities)  # type: ignore[arg-type]
        if s.method_can(Capability.WANTS_RAW) and s.filter is None:
            recipe = replace(recipe, filter=Unfiltered())
            why = "the method's instruments remove the noise; a filter would distort what they multiply"
            more = [Choice("filter of the fit", "none", why)]
    if s.decimate is not None:
        recipe = replace(recipe, decimate=s.decimate, ratio=None)
    if s.delay is not None:
        delay = Delay(replace(recipe, delay=s.delay), Choice.given("delay", str(s.delay)))
    else:
        held = s.method_can(Capability.HOLDS_TORQUE)
        delay = choose_delay(assumed, base, logs, recipe, say, held=held)
        if delay.found and choice.automatic and not more:
            # a delay that is still in the torque lowers the gain by which the bandwidth is found
            recipe, choice = choose_filter(assumed, base, logs, delay.recipe, say, velocities)  # type: ignore[arg-type]
            delay = choose_delay(assumed, base, logs, recipe, say, held=held)
    return [choice, *more, delay.choice], delay


def _prepared(inputs: Inputs, recipe: Recipe) -> tuple[Motion, ...]:
    """What choices are made on, prepared for the fit; without position, the reference stands for it."""
    listed = zip(inputs.part.numbers, inputs.part.logs, strict=True)
    return tuple(
        prepare(log, recipe) if "q" in log.signals else torque_only(log, recipe, inputs.reference(k)) for k, log in listed
    )


def _check_motion(inputs: Inputs, motions: Sequence[Motion]) -> None:
    used = sum(m.used for m in motions)
    if used < FEWEST:
        names = ", ".join(str(log.origin) for log in inputs.logs)
        raise InputError(f"{names}: only {used} samples show motion that can be used; the robot hardly moves in this log")


def _mount(inputs: Inputs, motions: Sequence[Motion], base: BaseModel | None, say: Say) -> Mount:
    """How the robot is mounted, for all that follows."""
    wanted, d = inputs.settings.gravity, inputs.description
    if isinstance(wanted, tuple):
        return Mount.given(wanted, d.robot.gravity, "given, not chosen")
    if wanted is None and d.gravity_given:
        return Mount.given(d.robot.gravity, d.robot.gravity, "as the card or model file states")
    if base is None:
        return Mount.given(d.robot.gravity, d.robot.gravity, "as in the model file; no position was recorded to test it on")
    return choose_mount(_with_stated_laws(d, inputs.settings.friction), motions, say, base)


def _friction(
    inputs: Inputs, description: Description, motions: Sequence[Motion], say: Say
) -> tuple[Description, Choice, Sequence[Mapping[str, float]]]:
    """The robot with its friction, why, and what laws that fit nearly as well would change."""
    if description.friction_stated:
        loaded = [t.at for t in friction_terms(description.layout.terms) if t.load is not None]
        if loaded and not inputs.torque_only:
            description = description.with_loads(FrictionSelection(description, motions, say).carried_by(loaded))
        return description, Choice.given("friction", "as the card or the command states"), ()
    if inputs.torque_only:
        why = "viscous and coulomb: assumed, since no position was recorded that laws could be compared on"
        return assumed_friction(description), Choice("friction", "viscous and coulomb", why), ()
    selection = FrictionSelection(description, motions, say)
    found, choice = selection.run()
    return found, choice, selection.changes()


def _refined(inputs: Inputs, description: Description, motions: Sequence[Motion], say: Say) -> RefinedShapes:
    """The constants of the friction laws, found from the data."""
    if inputs.torque_only:
        raise InputError("refine_shapes needs recorded positions; friction is a matter of measured velocities")
    return refine_shapes(description, motions, say)


def _position(inputs: Inputs, description: Description, problem: Problem, say: Say) -> tuple[Description, Choice] | None:
    """Torque that depends on position, where links must be ones that could exist."""
    s = inputs.settings
    possible = s.method == "auto" or s.method_can(Capability.CONSISTENT)
    if inputs.torque_only or s.regressor != "torque" or not possible:
        return None
    return choose_position_torque(problem, description, say)


def _method(inputs: Inputs, description: Description, problem: Problem, say: Say) -> tuple[Estimator, Choice]:
    s = inputs.settings
    if s.method == "auto":
        say("method: comparing on data left out")
        return choose_method(problem, s.quick)
    listed = "".join(f", {name} {word}" for name, word in s.method_options.items())
    given = Choice.given("method", f"{method(s.method).name}{listed}")
    return prepared_method(s.method, description, s.method_options), given
