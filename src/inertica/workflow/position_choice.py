"""Torque that depends on the position of a joint and that no link could make: cables, hoses, springs, sensors that feel the turn.

A fit without constraints may explain such torque by bodies that cannot exist; held to bodies that can, it misses it.  So it is looked
for in what links that could exist leave of the torque, one joint and one term at a time, and taken when data that were left out are
predicted better with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from inertica.estimators.base import Estimator, Problem
from inertica.estimators.consistent.strategy import MILD, Consistent
from inertica.estimators.linear.least_squares import Wls
from inertica.identifiability.base import base_model
from inertica.robot.description import Description
from inertica.robot.terms import Counterbalance, OnJoint, Spring, State
from inertica.threads import one_thread
from inertica.workflow.choice import Choice, Say
from inertica.workflow.hold_out import left_out_errors

Array = NDArray[np.float64]

WORTHWHILE = 0.1
"""Share of a joint's squared error that a term must take away: of the fit, to be tried, and on data left out, to be taken."""

NAMES = {Spring: "a spring", Counterbalance: "sine and cosine of its angle"}


@dataclass(frozen=True, eq=False)
class _Model:
    """The robot with some terms, and how well it does under links that could exist."""

    problem: Problem
    estimator: Estimator
    terms: tuple[OnJoint, ...] = ()

    def with_term(self, term: OnJoint) -> _Model:
        layout = self.problem.base.layout
        wider = replace(layout, terms=(*layout.terms, term))
        prior = None if self.problem.prior is None else self.problem.prior.on(wider)
        return _Model(replace(self.problem, base=base_model(wider), prior=prior), self.estimator, (*self.terms, term))

    @cached_property
    def left_out(self) -> Array:
        """(n,) squared errors of torque on data left out."""
        return left_out_errors(self.problem, self.estimator)[0]

    @cached_property
    def residuals(self) -> list[Array]:
        """(N, n) per motion, of the fit to all of the data; zero where rows take no part."""
        found = self.estimator.estimate(self.problem)
        return [r * use for r, use in self.problem.observations.records(found.beta)]


def choose_position_torque(problem: Problem, description: Description, say: Say) -> tuple[Description, Choice] | None:
    """The robot with terms that depend on position, and why; None when links that could exist leave no such torque.

    Args:
        problem: with friction chosen.
        description: the robot of the problem.
        say: progress.
    """
    with one_thread():
        model = _Model(problem, Wls(solve=replace(Consistent.towards(MILD), strength="mildest")))
        found = _grown(model, say)
    if not found.terms:
        return None
    shares = {f"joint {t.at + 1}: {NAMES[type(t)]}": float(found.left_out[t.at] / model.left_out[t.at]) for t in found.terms}
    value = "; ".join(shares)
    falls = ", ".join(f"{100 * share:.2g} % on joint {t.at + 1}" for t, share in zip(found.terms, shares.values(), strict=True))
    sentence = (
        f"{value}: torque that depends on position and that no link that could exist explains (cables, hoses, springs, a sensor that "
        f"feels the turn); the squared error on data left out falls to {falls} of what it was"
    )
    return description.with_terms((*description.layout.terms, *found.terms)), Choice("position", value, sentence, True, shares)


def _grown(model: _Model, say: Say) -> _Model:
    """Forward, the joint first whose residual follows its position most; of two terms that do alike, the simpler."""
    refused = set[int]()
    while True:
        for joint, terms in _candidates(model, refused):
            say(f"position: joint {joint + 1}")
            trials = [model.with_term(term) for term in terms]
            best, less = min(t.left_out[joint] for t in trials), 1.0 - WORTHWHILE
            enough = min(less * model.left_out[joint], best / less)
            better = [t for t in trials if t.left_out[joint] <= enough and t.left_out.sum() <= model.left_out.sum()]
            if better:
                model = better[0]
                break
            refused.add(joint)
        else:
            return model


def _candidates(model: _Model, refused: set[int]) -> Iterator[tuple[int, list[OnJoint]]]:
    """Joints that have no such term yet, with those that their residual follows, the simplest first."""
    robot, motions = model.problem.base.layout.robot, model.problem.motions
    taken = {t.at for t in model.problem.base.layout.terms if isinstance(t, Spring | Counterbalance)}
    ranked = []
    for j in (j for j in range(robot.n) if j not in taken | refused):
        residual, shares = np.concatenate([r[:, j] for r in model.residuals]), dict[OnJoint, float]()
        for kind in (Spring,) if robot.joints[j].prismatic else tuple(NAMES):
            columns = np.concatenate([m.decimator.decimate(_columns(kind(j), m.q)) for m in motions])
            shares[kind(j)] = _explained(columns, residual)
        if max(shares.values()) > WORTHWHILE:
            ranked.append((max(shares.values()), j, [term for term, share in shares.items() if share > WORTHWHILE]))
    yield from ((j, terms) for _, j, terms in sorted(ranked, key=lambda one: -one[0]))


def _columns(term: OnJoint, q: Array) -> Array:
    """(N, 1 + k) a constant and the columns of the term."""
    x = State(tuple(q.T), (), ())
    return np.column_stack([np.ones(len(q)), *(column[term.at] for column in term.columns(x))])


def _explained(columns: Array, residual: Array) -> float:
    """Share of the squares of a residual that columns explain, beyond their constant; rows of zero residual take no part."""
    use = residual != 0.0
    if np.count_nonzero(use) <= columns.shape[1]:
        return 0.0
    y = residual[use] - residual[use].mean()
    solution, *_ = np.linalg.lstsq(columns[use], y, rcond=None)
    return float(1.0 - np.sum((y - columns[use] @ solution) ** 2) / max(float(y @ y), 1e-300))
