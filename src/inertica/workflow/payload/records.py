"""Records of a robot with or without a load, fitted, and how far what they say of the base parameters may be off.

Everything is kept as changes of the base parameters (blocks left out, neighbouring cut-offs, simulated repetitions), so that their
effect on whatever is linear in both sets of records can be worked out together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inertica.arrays import Array
from inertica.estimators.base import Estimate, Estimator, Problem
from inertica.estimators.jackknife import block_changes
from inertica.estimators.linear.least_squares import Linear
from inertica.estimators.load import LoadEquations, significant
from inertica.estimators.standard import nearest_prior
from inertica.identifiability.base import BaseModel
from inertica.logs.log import Log
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description
from inertica.robot.layout import Parameters
from inertica.workflow.decisions.intervals import BLOCKS, neighbour_fits
from inertica.workflow.identify.result import Result
from inertica.workflow.identify.self_application import Repetitions, Replicas, replicas


@dataclass(frozen=True, eq=False)
class Stated:
    """A robot taken from a result: base parameters with the covariance that it states, bias and blocks included.

    A result widens every parameter's own interval by what neighbouring cut-offs and other models change.  That holds for one
    parameter at a time; what a load takes from many of them at once would be too wide.  So the factors are replaced by one common
    factor, their median, but for those that are significantly larger.

    Base parameters are those that the data alone say, since the covariance is theirs: what constraints and prior make of them has
    smaller errors, which nothing states for many at once (98.5 to 99.7 % of intervals held with them, 87 and 31 runs).
    """

    beta: Array
    covariance: Array

    @classmethod
    def of(cls, result: Result) -> Stated:
        e = result.estimate
        factors = None if e.diagnostics is None else e.diagnostics.widened
        return cls(e.by_data, e.needed_covariance if factors is None else _commonly_widened(e.needed_covariance, factors))

    @property
    def rows(self) -> LoadEquations:
        return LoadEquations.stated(self.beta, self.covariance)

    def noise(self, gain: Array) -> Array:
        """(e,) variance of gain (e, b) times beta; all that the result states."""
        return _through(gain, self.covariance)

    def blocks(self, gain: Array) -> Array:
        """The same: what blocks of its records disagreed on is in it."""
        return self.noise(gain)


@dataclass(frozen=True, eq=False)
class Records:
    """Logs prepared and fitted by weighted least squares without constraints.

    Args:
        description: the robot, with the friction that was chosen.
        logs, recipe: what was prepared, and how.
        problem, estimator, estimate: the fit.
    """

    description: Description
    logs: tuple[Log, ...]
    recipe: Recipe
    problem: Problem
    estimator: Linear
    estimate: Estimate

    @classmethod
    def fitted(cls, description: Description, logs: Sequence[Log], recipe: Recipe, estimator: Linear, base: BaseModel) -> Records:
        problem = Problem.of_logs(base, logs, recipe, description.prior)
        return cls(description, tuple(logs), recipe, problem, estimator, estimator.estimate(problem))

    @property
    def beta(self) -> Array:
        return self.estimate.beta

    @property
    def rows(self) -> LoadEquations:
        evidence = self.estimate.evidence
        assert evidence is not None  # every linear method leaves one
        R, z = evidence.whitened()
        nonzero = np.any(R != 0.0, axis=1)
        return LoadEquations(R[nonzero], z[nonzero])

    @property
    def parameters(self) -> Parameters:
        """Standard parameters nearest the prior among those that explain the records."""
        prior = self.description.prior
        return prior.with_values(nearest_prior(self.problem.base, self.beta, prior), "identified")

    def noise(self, gain: Array) -> Array:
        """(e,) variance of gain (e, b) times beta by the noise of the residuals, serial correlation included."""
        return _through(gain, self.estimate.needed_covariance)

    def blocks(self, gain: Array) -> Array:
        """(e,) the same by what blocks of the records disagree on, unbiased where that is noise."""
        system, weights = self.estimator.weighted(self.problem.observations, self.estimate)
        changes = block_changes(system, self.beta, weights, BLOCKS)
        return np.asarray(np.sum((changes @ gain.T) ** 2, axis=0))

    def repeated(self, seed: int) -> Replicas:
        """The loop simulated along every log with the estimate, prepared and fitted alike; the reason where that cannot be done."""
        estimator: Estimator = self.estimator
        return replicas(
            self.description, self.parameters, self.logs, self.recipe, self.problem, estimator, repetitions=Repetitions(seed=seed)
        )

    def neighbours(self) -> list[Array]:
        """(b,) each, changes that neighbouring cut-offs make."""
        fits = neighbour_fits(self.logs, self.recipe, self.problem, self.estimator)
        return [beta - self.beta for beta in fits]


def _commonly_widened(covariance: Array, factors: Array) -> Array:
    """The covariance with a common factor in place of each parameter's own, where these are not much larger."""
    uncertain = np.diag(covariance) > 0.0
    common = max(1.0, float(np.median(factors[uncertain]))) if uncertain.any() else 1.0
    wanted = np.where(factors > common * np.sqrt(significant(BLOCKS - 1)), factors, common)
    change = wanted / factors
    return np.asarray(change[:, None] * covariance * change)


def _through(gain: Array, covariance: Array) -> Array:
    return np.einsum("ij,jk,ik->i", gain, covariance, gain)
