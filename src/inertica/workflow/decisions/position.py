"""Torque that depends on the position of a joint and that no link could make: cables, hoses, springs, sensors that feel the turn.

A fit without constraints may explain such torque by bodies that cannot exist; held to bodies that can, it misses it, or moves links
far from the model's to make up for it (the gas spring of a heavy arm passes for a heavier link).  So it is looked for in what links
that could exist leave of the torque and in what it would spare the links, one joint and one term at a time.  A term is taken when data
left out are predicted better with it, or when links return towards the model's with it and data left out are predicted no worse.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from inertica.arrays import Array
from inertica.estimators.base import Estimator, Problem
from inertica.estimators.consistent.mild import correlation
from inertica.estimators.consistent.strategy import MILD, Consistent
from inertica.estimators.linear.least_squares import Wls
from inertica.identifiability.base import base_model
from inertica.preprocessing.motion import Motion
from inertica.robot.description import Description
from inertica.robot.terms import Counterbalance, OnJoint, Spring, State
from inertica.threads import one_thread
from inertica.workflow.identify.choice import Alternative, Choice, Say
from inertica.workflow.identify.hold_out import LeftOut, left_out
from inertica.workflow.identify.reasons import FollowsPosition

WORTHWHILE = 0.1
"""Share of a joint's squared error that a term must take away: of the fit, to be tried, and on data left out, to be taken.  And share
of the squares of its position that its acceleration must leave."""

RELIEF = 3.3**2
"""Independent noise variances by which the pull towards the model must fall with a term that is taken on the model's account: 3.3
standard deviations, as for a piece of friction."""

NAMES = {Spring: "a spring", Counterbalance: "sine and cosine of its angle"}


@dataclass(frozen=True)
class _Pulled:
    """A fit near the model.

    Args:
        squares: of what all columns together leave and of what the pull adds to it, so that fits with other columns compare.
        pull: cost of the links' distance from the model's.
        noise: variance of a row.
    """

    squares: float
    pull: float
    noise: float

    @property
    def objective(self) -> float:
        return self.squares + self.pull


@dataclass(frozen=True, eq=False)
class _Model:
    """The robot with some terms, and how well it does under links that could exist."""

    problem: Problem
    solve: Consistent
    terms: tuple[OnJoint, ...] = ()

    @property
    def estimator(self) -> Estimator:
        return Wls(solve=self.solve)

    def with_term(self, term: OnJoint) -> _Model:
        layout = self.problem.base.layout
        wider = replace(layout, terms=(*layout.terms, term))
        prior = None if self.problem.prior is None else self.problem.prior.on(wider)
        return _Model(replace(self.problem, base=base_model(wider), prior=prior), self.solve, (*self.terms, term))

    @cached_property
    def left_out(self) -> LeftOut:
        return left_out(self.problem, self.estimator)

    @property
    def joint_errors(self) -> Array:
        """(n,) squared errors of torque on data left out."""
        return np.asarray(self.left_out.errors.sum(axis=0))

    @cached_property
    def correlation(self) -> float:
        """Rows that say as much as one independent one."""
        system = self.problem.observations
        return correlation(system, system.stacked(1.0 / system.sigmas))

    def relief(self, trial: _Model) -> float:
        """By how much less links are pulled in a trial, in independent noise variances; negative where data or pull get worse.

        Both fits have the pull that counts a change of a parameter by its own size as one independent residual (a weaker one may
        have been chosen just because links cannot explain the torque), and the same weights of the joints.
        """
        before, after = self.pulled, trial.pulled_by(self.correlation, 1.0 / self.problem.observations.sigmas)
        return float(min(before.pull - after.pull, before.objective - after.objective) / (self.correlation * before.noise))

    @cached_property
    def pulled(self) -> _Pulled:
        """The fit with the pull of one independent residual."""
        return self.pulled_by(self.correlation, 1.0 / self.problem.observations.sigmas)

    @property
    def most_relief(self) -> float:
        """What no trial can exceed: all of the pull."""
        return float(self.pulled.pull / (self.correlation * self.pulled.noise))

    def pulled_by(self, strength: float, weights: Array) -> _Pulled:
        """The fit with a given strength of the pull."""
        ready, rows = self.solve.with_strength(strength).prepared(self.problem), self.problem.observations.stacked(weights)
        fit = ready.fit(rows)
        solution, _ = ready.kept(fit, ready.used.prior, lambda: strength)
        return _Pulled(solution.squares + rows.rest**2, solution.objective - solution.squares, fit.noise)

    @cached_property
    def residuals(self) -> list[Array]:
        """(N, n) per motion, of the fit to all of the data; zero where rows take no part."""
        estimate = self.estimator.estimate(self.problem)
        return [r * use for r, use in self.problem.observations.records(estimate.beta)]


def choose_position_torque(problem: Problem, description: Description, say: Say) -> tuple[Description, Choice] | None:
    """The robot with terms that depend on position, and why; None when links that could exist leave no such torque.

    Args:
        problem: with friction chosen.
        description: the robot of the problem.
        say: progress.
    """
    with one_thread():
        model = _Model(problem, replace(Consistent.towards(MILD), strength="mildest"))
        grown = _grown(model, say)
    if not grown.terms:
        return None
    with_terms, without = grown.joint_errors, model.joint_errors
    terms = tuple(
        Alternative(NAMES[type(t)], float(with_terms[t.at] / without[t.at]), True, f"joint {t.at + 1}") for t in grown.terms
    )
    value = "; ".join(term.full_name for term in terms)
    why = FollowsPosition(grown.left_out.against(model.left_out))
    choice = Choice("position", value, why, True, terms, grown.left_out.residual, model.left_out.residual)
    return description.with_terms((*description.layout.terms, *grown.terms)), choice


def _grown(model: _Model, say: Say) -> _Model:
    """Forward, the joint first whose residual follows its position most; of two terms that do alike, the simpler."""
    refused = set[int]()
    while True:
        for joint, terms in _candidates(model, refused):
            say(f"position: joint {joint + 1}")
            trials = [model.with_term(term) for term in terms]
            if better := _taken(model, trials, joint):
                model = better[0]
                break
            refused.add(joint)
        else:
            return model


def _taken(model: _Model, trials: Sequence[_Model], joint: int) -> list[_Model]:
    """Those of some terms of one joint that are worth taking, the simplest first."""
    best, less = min(t.joint_errors[joint] for t in trials), 1.0 - WORTHWHILE
    enough = min(less * model.joint_errors[joint], best / less)
    better = [t for t in trials if t.joint_errors[joint] <= enough and t.left_out.errors.sum() <= model.left_out.errors.sum()]
    if better:
        return better
    return [t for t in trials if model.relief(t) > RELIEF and not t.left_out.against(model.left_out).clearly_worse]


def _candidates(model: _Model, refused: set[int]) -> Iterator[tuple[int, list[OnJoint]]]:
    """Joints that have no such term yet, with those that their residual follows, the simplest first."""
    robot, motions = model.problem.base.layout.robot, model.problem.motions
    taken = {t.at for t in model.problem.base.layout.terms if isinstance(t, Spring | Counterbalance)}
    ranked = []
    for j in (j for j in robot.independent if j not in taken | refused and is_apart(motions, j)):
        residual, shares = np.concatenate([r[:, j] for r in model.residuals]), dict[OnJoint, float]()
        for kind in (Spring,) if robot.joints[j].prismatic else tuple(NAMES):
            columns = np.concatenate([m.decimator.decimate(_columns(kind(j), m.q)) for m in motions])
            shares[kind(j)] = _explained(columns, residual)
        likely = [term for term, share in shares.items() if share > WORTHWHILE]
        if not likely and np.any(residual) and model.most_relief > RELIEF and model.relief(model.with_term(Spring(j))) > RELIEF:
            likely = [Spring(j)]
        if likely:
            ranked.append((max(shares.values()), j, likely))
    yield from ((j, terms) for _, j, terms in sorted(ranked, key=lambda one: -one[0]))


def is_apart(motions: Sequence[Motion], joint: int) -> bool:
    """Whether a joint's position says more than its acceleration; of sines at one frequency a spring is an inertia below zero."""
    # in the band of the fit, above which acceleration is mostly noise
    both = [m.decimator.decimate(np.column_stack([m.q[:, joint], m.ddq[:, joint]])) for m in motions]
    position, acceleration = np.concatenate(both).T
    return _explained(np.column_stack([np.ones(len(position)), acceleration]), position) < 1.0 - WORTHWHILE


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
