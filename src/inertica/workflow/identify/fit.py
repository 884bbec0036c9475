"""Fourth stage: the method's estimate, its bias taken out where the loop is known, with intervals that hold."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from inertica.arrays import Array
from inertica.errors import InerticaError
from inertica.estimators.base import Estimate, Estimator, Need, Problem
from inertica.estimators.consistent.strategy import PreparedStrategy, settled
from inertica.estimators.intervals import standard_parameters
from inertica.experiment.loop import ControlLoop
from inertica.robot.description import Description
from inertica.robot.layout import Parameters
from inertica.workflow.decisions.correction import Correction, choose_correction
from inertica.workflow.decisions.intervals import DataFit, delayed_fits, neighbour_fits, stated_uncertainty
from inertica.workflow.decisions.masses import choose_masses
from inertica.workflow.decisions.standstill import SUBJECT, choose_standstill
from inertica.workflow.identify.choice import Choice, Notes, Say
from inertica.workflow.identify.choose import Chosen
from inertica.workflow.identify.inputs import IDENTIFICATION
from inertica.workflow.identify.prediction import engine_of, with_correction
from inertica.workflow.identify.reasons import Words
from inertica.workflow.identify.self_application import Replicas, replicas
from inertica.workflow.identify.standstill import HELD, Standstill

PULL = "pull towards the prior"
"""Subject of the decision on the strength of a mild prior."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """An estimate.

    Args:
        chosen: what was chosen.
        estimator: the method; the chosen one, or another on the same choices.
        problem, part: what was fitted, and what choices were made on, with the control loop for methods that simulate it.
        uncorrected: as the method gave it.
        estimate: what is stated of it: corrected, with a covariance that holds; the same before `assess`.
        replicas: the estimate applied to itself.
        correction: how predictions add to consistent links what those do not explain; None where they do not.
        added: what they add to the parameters of the assessed estimate; None where nothing.
        standstill: how predictions treat dry friction near standstill.
    """

    chosen: Chosen
    estimator: Estimator
    problem: Problem
    part: Problem
    uncorrected: Estimate
    estimate: Estimate
    replicas: Replicas
    notes: Notes
    correction: Correction | None = None
    added: Parameters | None = None
    standstill: Standstill = HELD

    @property
    def whole(self) -> bool:
        """Whether choices were made on all of the data."""
        return self.part is self.problem

    @cached_property
    def parameters(self) -> Parameters:
        """The estimate as standard parameters."""
        return identified(self.estimate, self.chosen.description)

    @cached_property
    def predictor(self) -> Parameters:
        """What torque is predicted with."""
        return with_correction(self.parameters, self.added)


def identified(estimate: Estimate, description: Description) -> Parameters:
    """An estimate as standard parameters, those nearest the prior where the method leaves them open."""
    prior = description.prior
    return Parameters(description.layout, standard_parameters(estimate, prior), prior.shapes, "identified")


def fit(chosen: Chosen, estimator: Estimator, say: Say) -> Fitted:
    """The method's estimate."""
    start = time.perf_counter()
    say(f"fit: {estimator.name}")
    loop = ControlLoop.of(chosen.description) if Need.LOOP in estimator.needs else None
    problem = chosen.problem.with_loop(loop)
    part = problem if chosen.part is chosen.problem else chosen.part.with_loop(loop)
    problem.require(estimator)
    estimate = estimator.estimate(problem)
    if estimate.failed or not estimate.iterations:  # it ended before it had used the data, or is the start itself
        raise InerticaError(f"{estimator.name}: {estimate.warnings[-1]}")
    notes = chosen.notes
    if chosen.inputs.settings.method == "auto":
        say("fit: are the masses plausible")
        bounded, choice = choose_masses(part, estimator, estimate if part is problem else estimator.estimate(part))
        notes = notes if choice is None else notes.chose(choice)
        if bounded is not None:
            whole = part is problem
            part = replace(part, constraints=(*part.constraints, *bounded.bounds))
            problem = part if whole else replace(problem, constraints=(*problem.constraints, *bounded.bounds))
            estimate = bounded.estimate if whole else estimator.estimate(problem)
    strategy = None if estimate.evidence is None else estimate.evidence.strategy
    if isinstance(strategy, PreparedStrategy) and (mild := strategy.mildness) is not None:
        value = "none" if mild.strength is None else f"strength {mild.strength:.3g}"
        notes = notes.chose(Choice(PULL, value, Words(mild.sentence)))
    return Fitted(chosen, estimator, problem, part, estimate, estimate, Replicas(), notes.took("fit", start))


def corrected(fitted: Fitted, say: Say) -> Fitted:
    """With the correction of its predictions, where the method was left to the program and one pays on data left out."""
    if fitted.chosen.inputs.settings.method != "auto":
        return fitted
    start = time.perf_counter()
    say("correction: can links that could exist explain the data")
    of_part = fitted.uncorrected if fitted.whole else fitted.estimator.estimate(fitted.part)
    description, settings = fitted.chosen.inputs.description, fitted.chosen.inputs.settings
    friction_chosen = settings.friction is None and not description.friction_stated
    correction, choice = choose_correction(fitted.part, of_part, friction_chosen)
    notes = fitted.notes if choice is None else fitted.notes.chose(choice)
    return replace(fitted, correction=correction, notes=notes.took("correction", start))


def assess(fitted: Fitted, say: Say) -> Fitted:
    """The bias of the pipeline taken out where the loop is known, and intervals that hold."""
    start, chosen, estimate = time.perf_counter(), fitted.chosen, fitted.estimate
    inputs, quick = chosen.inputs, chosen.inputs.settings.quick
    say("intervals: noise and blocks" + ("" if quick else ", bias of filter and method"))
    replicated = Replicas(reason="a quick run was asked for") if quick else _replicas(fitted)
    stated = stated_uncertainty(
        estimate, fitted.problem, fitted.estimator, replicated=None if quick else replicated, in_part=not fitted.whole,
        **({} if quick or replicated.runs or inputs.torque_only else _otherwise_prepared(fitted)),
        alternatives=[estimate.beta + np.array([c.get(name, 0.0) for name in estimate.base.names]) for c in chosen.other_laws],
    )  # fmt: skip
    notes = fitted.notes.chose(stated.choice).warned(stated.estimate.warnings).took("intervals", start)
    parameters = identified(stated.estimate, chosen.description)
    added = None if fitted.correction is None else fitted.correction.of(fitted.problem, parameters)
    return replace(fitted, estimate=stated.estimate, replicas=replicated, added=added, notes=notes)


def near_standstill(fitted: Fitted, say: Say) -> Fitted:
    """With what its predictions do with dry friction near standstill; nothing where the motion is a simulated one."""
    chosen = fitted.chosen
    if chosen.inputs.torque_only:
        return fitted
    start = time.perf_counter()
    say("friction near standstill: does rounding it predict torque left out better")
    predictor, motions = fitted.predictor, chosen.motions(fitted.estimate)[IDENTIFICATION]
    standstill, choice = choose_standstill(predictor, motions, engine_of(predictor, fitted.estimate.base))
    notes = fitted.notes if choice is None else fitted.notes.chose(choice)
    return replace(fitted, standstill=standstill, notes=notes.took(SUBJECT, start))


def _replicas(fitted: Fitted) -> Replicas:
    """The estimate applied to itself, on what choices were made on."""
    chosen, inputs = fitted.chosen, fitted.chosen.inputs
    estimator = settled(fitted.estimator, fitted.part, fitted.estimate if fitted.whole else None)
    logs, references = inputs.part.logs, inputs.part_references()
    return replicas(chosen.description, fitted.parameters, logs, chosen.recipe, fitted.part, estimator, references)


def _otherwise_prepared(fitted: Fitted) -> dict[str, list[Array]]:
    """(b,) each, what the data say with neighbouring cut-offs and with other delays; of a part, its own fit changed by that alone."""
    chosen = fitted.chosen
    data = chosen.inputs.part.logs, chosen.recipe, fitted.part, fitted.estimator
    refits = {"neighbours": neighbour_fits(*data), "delayed": delayed_fits(*data, chosen.delays_left)}
    if fitted.whole or not any(refits.values()):
        return refits
    of_part = DataFit.by(fitted.estimator.estimate(fitted.part)).beta
    return {name: [DataFit.by(fitted.estimate).beta + (other - of_part) for other in fits] for name, fits in refits.items()}
