"""Fourth stage: the method's estimate, its bias taken out where the loop is known, with intervals that hold."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from inertica.errors import InerticaError
from inertica.estimators.base import Estimate, Estimator, Need, Problem
from inertica.estimators.intervals import standard_parameters
from inertica.experiment.loop import ControlLoop
from inertica.robot.description import Description
from inertica.robot.layout import Parameters
from inertica.workflow.choice import Notes, Say
from inertica.workflow.choose import Chosen
from inertica.workflow.interval_choice import assessed
from inertica.workflow.self_application import Replicas


@dataclass(frozen=True, eq=False)
class Fitted:
    """An estimate.

    Args:
        chosen: what was chosen.
        estimator: the method; the chosen one, or another on the same choices.
        problem, part: what was fitted, and what choices were made on, with the control loop for methods that simulate it.
        found: as the method gave it.
        estimate: what is stated of it: corrected, with a covariance that holds; the same before `assess`.
        replicas: the estimate applied to itself.
    """

    chosen: Chosen
    estimator: Estimator
    problem: Problem
    part: Problem
    found: Estimate
    estimate: Estimate
    replicas: Replicas
    notes: Notes

    @property
    def whole(self) -> bool:
        """Whether choices were made on all of the data."""
        return self.part is self.problem

    @cached_property
    def parameters(self) -> Parameters:
        """The estimate as standard parameters."""
        return identified(self.estimate, self.chosen.description)


def identified(estimate: Estimate, description: Description) -> Parameters:
    """An estimate as standard parameters, those nearest the prior where the method leaves them open."""
    prior = description.prior
    return Parameters(description.layout, standard_parameters(estimate, prior), prior.shapes, "identified")


def fit(chosen: Chosen, estimator: Estimator, say: Say) -> Fitted:
    """The method's estimate."""
    start = time.perf_counter()
    say(f"fit: {estimator.name}")
    loop = ControlLoop.of(chosen.description) if Need.LOOP in estimator.needs else None
    problem = replace(chosen.problem, loop=loop)
    part = problem if chosen.part is chosen.problem else replace(chosen.part, loop=loop)
    problem.require(estimator)
    estimate = estimator.estimate(problem)
    if not estimate.iterations:  # the start itself
        raise InerticaError(f"{estimator.name}: {estimate.warnings[-1]}")
    notes = chosen.notes
    if strength := estimate.settings.get("prior"):
        choices = (replace(c, sentence=f"{c.sentence}; {strength}") if c.subject == "method" else c for c in notes.choices)
        notes = replace(notes, choices=tuple(choices))
    return Fitted(chosen, estimator, problem, part, estimate, estimate, Replicas(), notes.took("fit", start))


def assess(fitted: Fitted, say: Say) -> Fitted:
    """The bias of the pipeline taken out where the loop is known, and intervals that hold."""
    start, chosen, estimate = time.perf_counter(), fitted.chosen, fitted.estimate
    inputs = chosen.inputs
    quick = inputs.settings.quick
    say("intervals: noise and blocks" + ("" if quick else ", bias of filter and method"))
    stated, replicas = assessed(
        chosen.description, fitted.parameters, estimate, inputs.part.logs, chosen.recipe, fitted.problem, fitted.estimator,
        references=inputs.part_references(), quick=quick, part=None if fitted.whole else fitted.part,
        alternatives=[estimate.beta + np.array([c.get(name, 0.0) for name in estimate.base.names]) for c in chosen.other_laws],
    )  # fmt: skip
    notes = fitted.notes.chose(stated.choice).warned(stated.estimate.warnings).took("intervals", start)
    return replace(fitted, estimate=stated.estimate, replicas=replicas, notes=notes)
