"""Residuals held against directions that the parameters cannot follow, with serial correlation.

With W the rows of the fit, x a direction and M = I - W (W'W)^-1 W', all weighted as a robust fit weighs them,

    u = x' M r,   H = x' M x,   size d = u / H,   var u = sum_j sum_l gamma_j(l) sum_k (Mx)_jk (Mx)_j,k+l,

gamma_j the autocovariance of joint j's residuals (see `estimators.covariance`).  M r does not depend on how beta was found, so the
same test holds for every method.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.estimators.base import Estimate, Problem
from inertica.estimators.covariance import colours
from inertica.estimators.intervals import standard_parameters
from inertica.estimators.linear.irls import bisquare_weights, robust_scales
from inertica.estimators.observe import Observations
from inertica.threads import one_thread
from inertica.validation.model_errors import Direction, model_errors

ABSORBED = 1e-4
"""A direction of whose square the parameters leave less than this part is theirs to explain."""

PER_JOINT = 11
"""Directions per joint, at most."""

RESOLVED = 1e-9
"""Relative eigenvalue below which combinations of parameters, or of directions, count as undetermined."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Residuals against directions.

    Args:
        directions: p of them.
        u: (p,) scores.
        H: (p, p) products of the directions, freed of what the parameters explain.
        V: (p, p) covariance of u.
        whole: (p,) squares of the directions before they were freed.
        scale: (n,) of the residuals, by which rows were weighed.
    """

    directions: tuple[Direction, ...]
    u: Array
    H: Array
    V: Array
    whole: Array
    scale: Array

    @property
    def testable(self) -> NDArray[np.bool_]:
        """Directions that parameters, and others conditioned on, leave something of."""
        return np.asarray(np.diag(self.H) > ABSORBED * np.maximum(self.whole, 1e-300))

    @property
    def sizes(self) -> Array:
        return np.where(self.testable, self.u / np.where(self.testable, np.diag(self.H), 1.0), 0.0)

    @property
    def std(self) -> Array:
        deviation = np.sqrt(np.maximum(np.diag(self.V), 1e-300))
        return np.where(self.testable, deviation / np.where(self.testable, np.diag(self.H), 1.0), np.inf)

    def members(self, family: str) -> NDArray[np.intp]:
        return np.flatnonzero([d.family == family for d in self.directions])

    def given(self, known: NDArray[np.intp]) -> Scores:
        """What is left once the sizes of some directions are fitted, too."""
        if not len(known):
            return self
        T = np.eye(len(self.u))
        T[:, known] -= self.H[:, known] @ _inverse(self.H[np.ix_(known, known)])
        H = T @ self.H @ T.T
        return Scores(self.directions, T @ self.u, H, T @ self.V @ T.T, self.whole, self.scale)


def size_of(problem: Problem) -> int:
    """Bytes that the rows and directions of a problem take."""
    n = problem.base.layout.robot.n
    rows = sum(len(m.decimator.kept(len(m))) for m in problem.motions)
    return 8 * rows * n * (problem.base.rank + 2 + PER_JOINT * n)


def scores(problem: Problem, estimate: Estimate, scale: Array | None = None) -> Scores:
    """Residuals of an estimate against every error of the model, over all motions of its problem.

    Args:
        problem: what was fitted.
        estimate: its parameters.
        scale: (n,) of the residuals; their own when not given.  Replicas are to be weighed by that of the fit that they are compared
            with: their torques have no noise, so that by their own the traces of reversals would count as outliers in them alone.
    """
    with one_thread():
        return _scores(problem, estimate, scale)


def _scores(problem: Problem, estimate: Estimate, scale: Array | None) -> Scores:
    system, b = problem.observations, len(estimate.beta)
    prior = problem.prior if problem.prior is not None else problem.base.layout.zeros()
    chi = standard_parameters(estimate, prior)
    left = system.records(estimate.beta)
    if scale is None:
        scale = robust_scales([r for r, _ in left], [use for _, use in left], len(estimate.beta))
    records = list(_weighted(system, left, scale))
    A = np.zeros((b, b))
    for record in records:
        for W, columns in zip(record.W, system.columns, strict=True):
            A[np.ix_(columns, columns)] += W.T @ W
    spread = _inverse(A)
    parts = [_of_motion(system, problem, k, record, chi) for k, record in enumerate(records)]
    crossed = sum(p.crossed for p in parts)
    K = spread @ crossed
    total: Scores | None = None
    for record, part in zip(records, parts, strict=True):
        x = part.freed(system, record, K, b, scale)
        total = x if total is None else Scores(
            x.directions, total.u + x.u, total.H + x.H, total.V + x.V, total.whole + x.whole, scale
        )  # fmt: skip
    assert total is not None  # a system has a motion
    return total


@dataclass(frozen=True, eq=False)
class _Record:
    """Weighted rows of one motion: W per joint, residual and weights (m, n)."""

    W: tuple[Array, ...]
    residual: Array
    weight: Array


def _weighted(system: Observations, records: Sequence[tuple[Array, NDArray[np.bool_]]], scale: Array) -> Iterator[_Record]:
    """Rows with the weights of a robust fit: one over the joint's scale, less for residuals far outside it, zero where masked."""
    parts = system.by_motion()
    for (joints, _), (r, used) in zip(parts, records, strict=True):
        weight = np.sqrt(bisquare_weights(r / scale)) * used / scale
        yield _Record(tuple(W * w[:, None] for W, w in zip(joints, weight.T, strict=True)), r * weight, weight)


@dataclass(frozen=True, eq=False)
class _Part:
    """Weighted directions of one motion, (m, p) per joint, and their products with W."""

    directions: tuple[Direction, ...]
    x: tuple[Array, ...]
    crossed: Array

    def freed(self, system: Observations, record: _Record, K: Array, parameters: int, scale: Array) -> Scores:
        p = len(self.directions)
        u, H, V, whole = np.zeros(p), np.zeros((p, p)), np.zeros((p, p)), np.zeros(p)
        colour = colours(record.residual, record.weight > 0.0, parameters)
        for j, (W, columns, x) in enumerate(zip(record.W, system.columns, self.x, strict=True)):
            free = x - W @ K[columns]
            u += free.T @ record.residual[:, j]
            H += free.T @ free
            V += colour[j].between(free)
            whole += np.sum(x**2, axis=0)
        return Scores(self.directions, u, H, V, whole, scale)


def _of_motion(system: Observations, problem: Problem, k: int, record: _Record, chi: Array) -> _Part:
    errors = model_errors(problem, problem.motions[k], chi)
    x = tuple(errors.torque[:, j] * record.weight[:, j, None] for j in range(system.n))
    crossed = np.zeros((problem.base.rank, len(errors.directions)))
    for W, columns, change in zip(record.W, system.columns, x, strict=True):
        crossed[columns] += W.T @ change
    return _Part(errors.directions, x, crossed)


def _inverse(A: Array) -> Array:
    """Pseudo-inverse of a matrix of products, its columns scaled alike."""
    scale = np.sqrt(np.maximum(np.diag(A), 1e-300))
    values, vectors = np.linalg.eigh(A / np.outer(scale, scale))
    good = values > RESOLVED * values[-1]
    return np.asarray((vectors[:, good] / values[good]) @ vectors[:, good].T / np.outer(scale, scale))
