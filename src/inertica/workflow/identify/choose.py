"""Second and third stage: are the logs what they say; which filter, delay, mount, friction and method to fit them with."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from inertica.arrays import Array
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
from inertica.preprocessing.edge import usual_cutoff
from inertica.preprocessing.filters import Unfiltered, named_filter
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description
from inertica.robot.friction import check_laws, friction_terms, law
from inertica.robot.plain import assumed_friction, with_laws
from inertica.validation.blocks import FewRowsError
from inertica.workflow.decisions.delay import Delay, choose_delay
from inertica.workflow.decisions.filter import stated_cutoff, velocity_sources
from inertica.workflow.decisions.friction import FrictionSelection
from inertica.workflow.decisions.kept_friction import with_kept_friction
from inertica.workflow.decisions.method import choose_method
from inertica.workflow.decisions.mount import FAR, choose_mount
from inertica.workflow.decisions.position import choose_position_torque
from inertica.workflow.decisions.rows import choose_filter_and_rows
from inertica.workflow.decisions.shapes import refine_shapes
from inertica.workflow.identify.choice import Choice, Notes, Say
from inertica.workflow.identify.inputs import IDENTIFICATION, Inputs
from inertica.workflow.identify.mount import Mount
from inertica.workflow.identify.reasons import Words
from inertica.workflow.identify.replay import driven_log, measured_motion, own_reference, prediction_motion
from inertica.workflow.identify.representative import in_one_piece
from inertica.workflow.identify.settings import Settings, prepared_method

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
        i, stated_references = self.inputs, self.inputs.settings.references
        recipes = [replace(m.recipe, rate=None).for_prediction for m in self.problem.motions]
        if i.torque_only:
            recipes = [self.recipe] * len(recipes)
        out = [(IDENTIFICATION, log, recipes[k], own_reference(stated_references, k)) for k, log in enumerate(i.logs)]
        others = enumerate(i.validation.items(), start=len(out))
        return out + [(name, log, recipes[0], own_reference(stated_references, k, log)) for k, (name, log) in others]

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


@dataclass(frozen=True, eq=False)
class Draft:
    """What has been decided so far; every decision hands on a changed copy.

    Args:
        checked: the logs that may be fitted.
        description: the robot as far as its mount, friction and prior values are decided.
        base: base parameters of some description on the way, reused where they fit.
        recipe: how logs become motions.
        motions: what choices are made on, prepared; the whole logs once they are cut off from it.
        choices: the decisions, in order.
        mount, other_laws, shapes, delays_left, estimator: as in `Chosen`.
        problem, part: see `Chosen`; None before friction is decided.
    """

    checked: Checked
    description: Description
    base: BaseModel | None
    recipe: Recipe = field(default_factory=Recipe)
    motions: tuple[Motion, ...] = ()
    choices: tuple[Choice, ...] = ()
    warnings: tuple[str, ...] = ()
    mount: Mount | None = None
    other_laws: Sequence[Mapping[str, float]] = ()
    shapes: Mapping[str, float] = field(default_factory=dict)
    delays_left: Sequence[Array] = ()
    problem: Problem | None = None
    part: Problem | None = None
    estimator: Estimator | None = None

    @property
    def inputs(self) -> Inputs:
        return self.checked.inputs

    @property
    def settings(self) -> Settings:
        return self.checked.inputs.settings

    def decided(self, *choices: Choice, **changes: Any) -> Draft:
        """With further decisions and what follows from them."""
        return replace(self, choices=(*self.choices, *choices), **changes)


Decision = Callable[[Draft, Say], Draft]
"""One step of `choose`: looks at what was decided before it; adds a `Choice` with candidates, score on data left out and reason."""


def choose(checked: Checked, say: Say) -> Chosen:
    """Makes every choice that the user did not fix: `DECISIONS`, one after the other."""
    start = time.perf_counter()
    draft = Draft(checked, checked.inputs.description, checked.base)
    for decide in DECISIONS:
        draft = decide(draft, say)
    mount, problem, part, estimator = draft.mount, draft.problem, draft.part, draft.estimator
    assert mount is not None and problem is not None and part is not None and estimator is not None
    notes = draft.checked.notes.chose(*draft.choices).warned(draft.warnings).took("choose", start)
    return Chosen(
        draft.inputs, draft.checked.report, draft.description, draft.recipe, mount, problem, part, estimator, draft.other_laws, notes,
        draft.shapes, draft.delays_left,
    )  # fmt: skip


def decide_filter_and_delay(draft: Draft, say: Say) -> Draft:
    """Recipe of the fit and of predictions, with the friction that is assumed for now."""
    inputs, assumed = draft.inputs, assumed_friction(_with_stated_laws(draft.description, draft.settings.friction))
    base = None if inputs.torque_only else _base(assumed, draft.base)
    try:
        choices, delay = _preprocessing(inputs, assumed, base, say)
    except FewRowsError as few:
        if len(few.joints) == inputs.description.robot.n:
            raise
        return decide_filter_and_delay(_without_torque_of(few.joints, draft), say)
    motions = _prepared(inputs, delay.recipe)
    _check_motion(inputs, motions)
    return draft.decided(*choices, base=base, recipe=delay.recipe, delays_left=delay.left, motions=motions)


def _without_torque_of(joints: Sequence[int], draft: Draft) -> Draft:
    """The same without the torque of joints (from 0) that hardly move, of whose friction the logs tell nothing."""
    checked, inputs = draft.checked, draft.inputs.without_torque_of(joints, "hardly moves")
    notes = checked.notes.warned(inputs.notes.warnings[-1:])
    return replace(draft, checked=replace(checked, inputs=inputs, notes=notes))


def decide_mount(draft: Draft, say: Say) -> Draft:
    """The direction of gravity; filter and delay once more where they were chosen for a robot that stands otherwise."""
    mount = _mount(draft.inputs, draft.motions, draft.base, say)
    mounted = replace(draft, mount=mount, description=draft.description.with_gravity(mount.gravity))
    if mount.accepted and mount.angle > FAR:
        return decide_filter_and_delay(replace(mounted, choices=(mount.choice,)), say)
    return mounted.decided(mount.choice)


def decide_friction(draft: Draft, say: Say) -> Draft:
    """Laws of friction, joint by joint."""
    inputs, stated = draft.inputs, _with_stated_laws(draft.description, draft.settings.friction)
    description, choice, other_laws = _friction(inputs, stated, draft.motions, say)
    description = with_kept_friction(description, inputs.description, inputs.logs)
    return draft.decided(choice, description=description, other_laws=other_laws)


def decide_shapes(draft: Draft, say: Say) -> Draft:
    """Constants of the friction laws that enter nonlinearly, where the user asks for them."""
    if not draft.settings.refine_shapes:
        return draft
    if draft.inputs.torque_only:
        raise InputError("refine_shapes needs recorded positions; friction is a matter of measured velocities")
    refined = refine_shapes(draft.description, draft.motions, say)
    laws = (*draft.other_laws, *refined.changes)
    return draft.decided(refined.choice, description=refined.description, shapes=refined.std, other_laws=laws)


def decide_rows(draft: Draft, _: Say) -> Draft:
    """What a row of the fit says; everything before this was chosen on torques."""
    regressor = draft.settings.regressor
    if regressor == "torque":
        return draft
    motions = tuple(replace(m, recipe=replace(m.recipe, regressor=regressor)) for m in draft.motions)
    choice = Choice.given("rows", f"{regressor} instead of torque")
    return draft.decided(choice, recipe=replace(draft.recipe, regressor=regressor), motions=motions)


def decide_prior(draft: Draft, _: Say) -> Draft:
    """What is fitted: all of the data, with prior values that can be used and the constraints that the card states."""
    inputs, part, seen = draft.inputs, draft.inputs.part, draft.motions
    prior, replaced = usable_prior(draft.description)
    description = draft.description.with_prior(weighed(prior, seen))
    base, known = _base(description, draft.base), stated(description)
    motions = seen if part.whole else tuple(prepare(log, draft.recipe) for log in inputs.logs)
    references = draft.settings.references[: len(motions)]
    problem = Problem(base, motions, description.prior, references=references, constraints=known.constraints)
    of_part = problem if part.whole else replace(problem, motions=seen, references=inputs.part_references())
    changes: dict[str, Any] = {"description": description, "base": base, "problem": problem, "part": of_part}
    changes["warnings"] = (*([replaced] if replaced else []), *known.notes)
    if part.whole:
        return draft.decided(**changes)
    why = f"{part.sentence}; everything above and the method were chosen on them, the fit and its residuals take all of the data"
    return draft.decided(Choice("long log", part.sentence, Words(why)), **changes)


def decide_position_torque(draft: Draft, say: Say) -> Draft:
    """Torque that depends on position, where links must be ones that could exist."""
    s = draft.settings
    possible = s.method == "auto" or s.method_can(Capability.CONSISTENT)
    if draft.inputs.torque_only or s.regressor != "torque" or not possible:
        return draft
    problem, part = _data(draft)
    if (with_position := choose_position_torque(part, draft.description, say)) is None:
        return draft
    description, choice = with_position
    base = base_model(description.layout)
    wider, wider_part = (replace(p, base=base, prior=description.prior) for p in (problem, part))
    same = part is problem
    return draft.decided(choice, description=description, base=base, problem=wider, part=wider if same else wider_part)


def decide_method(draft: Draft, say: Say) -> Draft:
    """The estimator."""
    problem, part = _data(draft)
    estimator, choice = _method(draft.inputs, draft.description, part, say)
    warnings = [*problem.base.warnings, *draft.warnings]
    if problem.constraints and Capability.TAKES_CONSTRAINTS not in estimator.capabilities:
        methods = ", ".join(able(Capability.TAKES_CONSTRAINTS))
        warnings.append(f"the card's constraints are used by physically consistent methods only ({methods})")
    return draft.decided(choice, estimator=estimator, warnings=tuple(warnings))


DECISIONS: tuple[Decision, ...] = (
    decide_filter_and_delay,
    decide_mount,
    decide_friction,
    decide_shapes,
    decide_rows,
    decide_prior,
    decide_position_torque,
    decide_method,
)
"""In the order in which they are made: each rests on those before it."""


def _data(draft: Draft) -> tuple[Problem, Problem]:
    """What is fitted, and what choices are made on."""
    assert draft.problem is not None and draft.part is not None, "friction and prior are decided first"
    return draft.problem, draft.part


def _base(description: Description, known: BaseModel | None) -> BaseModel:
    """Base parameters; those that are known where they fit, since tracing kernels takes a while."""
    return known if known is not None and known.layout == description.layout else base_model(description.layout)


def _with_stated_laws(description: Description, names: Sequence[str] | None) -> Description:
    """The robot with the friction laws that the user fixed."""
    if names is None:
        return description
    laws = [law(name, j, description.robot) for j in description.robot.independent for name in names]
    check_laws(laws)
    return replace(with_laws(description, laws).with_loads(), friction_stated=True)


def _preprocessing(inputs: Inputs, assumed: Description, base: BaseModel | None, say: Say) -> tuple[list[Choice], Delay]:
    """All choices on filter and delay, with the friction that is assumed for now; the recipe that they come to is the delay's."""
    s, logs = inputs.settings, inputs.part.logs
    if base is None:
        why = "none: no position was recorded, and the simulated motion needs no filter"
        choice = Choice("filter", "none", Words(why))
        return [choice], Delay(Recipe(filter=Unfiltered(), decimate=s.decimate, delay=s.delay or 0.0), choice)
    recorded = all(log.dq is not None for log in inputs.logs)
    recipe = Recipe(velocity=s.velocity or ("recorded" if recorded else "differences"))  # type: ignore[arg-type]
    more: list[Choice] = []
    velocities = (s.velocity,) if s.velocity else None
    if s.filter is not None and s.filter != "butterworth":
        cutoff = s.cutoff if s.cutoff is not None or s.filter == "none" else usual_cutoff(logs)
        recipe = replace(recipe, filter=named_filter(s.filter, cutoff, min(log.rate for log in inputs.logs)))
        choice = Choice.given("filter", f"{s.filter}, velocity: {recipe.velocity}")
    elif s.cutoff is not None:
        sources = velocities or velocity_sources(logs)
        recipe, choice = stated_cutoff(assumed, base, logs, s.cutoff, recipe, sources)  # type: ignore[arg-type]
    else:
        recipe, choice = choose_filter_and_rows(assumed, base, logs, recipe, say, velocities)  # type: ignore[arg-type]
        if s.method_can(Capability.WANTS_RAW) and s.filter is None:
            recipe = replace(recipe, filter=Unfiltered())
            why = "the method's instruments remove the noise; a filter would distort what they multiply"
            more = [Choice("filter of the fit", "none", Words(why))]
    if s.decimate is not None:
        recipe = replace(recipe, decimate=s.decimate, ratio=None)
    if s.delay is not None:
        delay = Delay(replace(recipe, delay=s.delay), Choice.given("delay", str(s.delay)))
    else:
        held = s.method_can(Capability.HOLDS_TORQUE)
        delay = choose_delay(assumed, base, logs, recipe, say, held=held)
        if delay.detected and s.cutoff is None and choice.automatic and not more:
            # a delay that is still in the torque lowers the gain by which the bandwidth is found
            recipe, choice = choose_filter_and_rows(assumed, base, logs, delay.recipe, say, velocities)  # type: ignore[arg-type]
            delay = choose_delay(assumed, base, logs, recipe, say, held=held)
    return [choice, *more, delay.choice], delay


def _prepared(inputs: Inputs, recipe: Recipe) -> tuple[Motion, ...]:
    """What choices are made on, prepared for the fit; without position, the reference stands for it."""
    numbered = zip(inputs.part.numbers, inputs.part.logs, strict=True)
    return tuple(
        prepare(log, recipe) if "q" in log.signals else torque_only(log, recipe, inputs.reference(k)) for k, log in numbered
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
        return assumed_friction(description), Choice("friction", "viscous and coulomb", Words(why)), ()
    selection = FrictionSelection(description, motions, say)
    with_friction, choice = selection.run()
    return with_friction, choice, selection.changes()


def _method(inputs: Inputs, description: Description, problem: Problem, say: Say) -> tuple[Estimator, Choice]:
    s = inputs.settings
    if s.method == "auto":
        say("method: comparing on data left out")
        return choose_method(problem, s.quick)
    options = "".join(f", {name} {word}" for name, word in s.method_options.items())
    choice = Choice.given("method", f"{method(s.method).name}{options}")
    return prepared_method(s.method, description, s.method_options), choice
