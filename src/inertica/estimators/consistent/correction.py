"""What data say of the base parameters beyond all physically consistent links: a correction for predictions.

    delta = argmin |R (beta + delta) - z|^2 + strength |S delta|^2

beta is a consistent fit.  Wrong link lengths, bars of a parallelogram that no link of the chain stands for, sensors that feel other
loads: consistent links cannot follow such torque, the base parameters of an unconstrained fit can, and predict motion like the fitted
one better.  Elsewhere they may predict anything: one sine on every joint leaves directions open that data left out of it cannot tell
either.  So |S delta|^2 is the squared torque of the change at states all over the workspace, as fast as the fitted motion and as many:
a change that acts at these states a times as strongly as on the fitted motion keeps 1 / (1 + strength a^2) of what least squares
would give it.

R may have more columns than the consistent fit: friction that the choice of laws left out (`Extended`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from inertica.arrays import Array
from inertica.dynamics.tsqr import Stacked
from inertica.estimators.base import Problem
from inertica.estimators.consistent.mild import ROUGH
from inertica.estimators.consistent.strategy import PreparedStrategy
from inertica.identifiability.base import base_model
from inertica.identifiability.states import random_states
from inertica.physical.logdet import newton_solve
from inertica.robot.layout import Layout, Parameters

STRENGTHS = (1e-3, 1e-2, 1e-1, 1.0)
"""With the first a change may act far from the fitted motion some thirty times as strongly as on it."""

STATES = 500
"""Random states all over the workspace; a base parameter is felt by many of them."""


def correction(system: Stacked, beta: Array, anywhere: Array, strengths: Sequence[float]) -> Array:
    """(len(strengths), b) corrections of a consistent fit.

    Args:
        system: the data, rows divided by their standard deviations.
        beta: (b,) of the consistent fit.
        anywhere: (b, b) S, upper triangular.
        strengths: of the pull towards no correction.
    """
    back = np.linalg.inv(anywhere)
    # in coordinates in which the prior is the unit ball
    U, s, Vt = np.linalg.svd(system.R @ back, full_matrices=False)
    along = U.T @ (system.z - system.R @ beta)
    return np.array([back @ (Vt.T @ (s / (s**2 + strength) * along)) for strength in strengths])


@dataclass(frozen=True, eq=False)
class Extended:
    """A problem, and the same data with the columns of a layout that has more terms.

    Args:
        problem: that the consistent links are fitted to.
        wider: the same motions with the base parameters of the larger layout; the problem itself where it has no more terms.
    """

    problem: Problem
    wider: Problem

    @classmethod
    def of(cls, problem: Problem, layout: Layout) -> Extended:
        if layout == problem.base.layout:
            return cls(problem, problem)
        prior = None if problem.prior is None else problem.prior.on(layout)
        return cls(problem, replace(problem, base=base_model(layout), prior=prior))

    @cached_property
    def _lift(self) -> Array:
        """(wider standard, standard) values of a layout on the larger one."""
        names = {name: k for k, name in enumerate(self.wider.base.layout.names)}
        out = np.zeros((len(names), self.problem.base.layout.size))
        out[[names[name] for name in self.problem.base.layout.names], np.arange(out.shape[1])] = 1.0
        return out

    @cached_property
    def anywhere(self) -> Array:
        """(b, b) S: R of the columns at random states, as fast as the motions and as many, rows divided as those of the data."""
        base, motions = self.wider.base, self.problem.motions
        rng, n = np.random.default_rng(0), base.layout.robot.n
        speed, acceleration = (
            np.sqrt(np.mean(np.concatenate(signals) ** 2, axis=0))
            for signals in ([m.dq for m in motions], [m.ddq for m in motions])
        )
        q = random_states(base.layout, STATES).q
        dq, ddq = (size * rng.normal(size=(STATES, n)) for size in (speed, acceleration))
        shapes = None if self.wider.prior is None else self.wider.prior.shapes
        system = self.problem.observations
        with np.errstate(divide="ignore", invalid="ignore"):
            weights = np.sqrt(system.counts / STATES) / system.sigmas
        measured = np.isfinite(weights) & (weights > 0.0)
        weights = np.where(measured, weights, np.mean(weights[measured]))  # joints without torque: S must not be singular
        factors = base.engine.factors(q, dq, ddq, np.zeros_like(q), shapes=shapes)
        return factors.stacked(base.retained.tolist(), weights=weights).R

    def base_values(self, chi: Array) -> Array:
        """(b,) base parameters of the larger layout that standard parameters of the smaller one make."""
        return np.asarray(self.wider.base.T @ (self._lift @ chi))

    def correction(self, chi: Array, strength: float) -> Parameters:
        """Changes of the standard parameters that grouping keeps, on the larger layout; the others are zero.

        Args:
            chi: standard parameters of the consistent fit to the problem's data.
            strength: of the pull towards no correction.
        """
        weights = 1.0 / self.problem.observations.sigmas
        delta = correction(self.wider.observations.stacked(weights), self.base_values(chi), self.anywhere, [strength])[0]
        values = np.zeros(self.wider.base.layout.size)
        values[self.wider.base.retained] = delta
        shapes = None if self.wider.prior is None else self.wider.prior.shapes
        return Parameters(self.wider.base.layout, values, shapes, "correction")  # type: ignore[arg-type]

    def blocks_and_motions(self, count: int) -> tuple[list[Part], list[Part]]:
        """The parts of all motions (`Observations.blocks`), and the motions one by one."""
        weights = 1.0 / self.problem.observations.sigmas

        def stretches(problem: Problem) -> list[list[Stacked]]:
            return [[part.stacked(weights=weights) for part in motion] for motion in problem.observations.motion_blocks(count)]

        narrow = stretches(self.problem)
        wide = narrow if self.wider is self.problem else stretches(self.wider)
        parts = [[Part(a, b) for a, b in zip(x, y, strict=True)] for x, y in zip(narrow, wide, strict=True)]
        return [Part.joined(same) for same in zip(*parts, strict=True)], [Part.joined(motion) for motion in parts]


@dataclass(frozen=True, eq=False)
class Part:
    """Weighted rows of a part of the data.

    Args:
        narrow: with the columns of the consistent fit.
        wide: the same rows with those of the larger layout.
    """

    narrow: Stacked
    wide: Stacked

    @classmethod
    def joined(cls, parts: Sequence[Part]) -> Part:
        return cls(Stacked.joined([p.narrow for p in parts]), Stacked.joined([p.wide for p in parts]))


@dataclass(frozen=True, eq=False)
class LeftOutErrors:
    """Squared errors on parts of the data left out in turn, rows divided by their standard deviations.

    Args:
        consistent: (K,) of consistent fits.
        corrected: (S, K) of the same with corrections of every strength.
        sizes: (K,) squares of the torque.
    """

    consistent: Array
    corrected: Array
    sizes: Array


def errors_left_out(
    strategy: PreparedStrategy, data: Extended, parts: Sequence[Part], strengths: Sequence[float]
) -> LeftOutErrors:
    """Fits of all parts but one predict that one.

    Args:
        strategy: the consistent fit, with the prior it has for these data.
        data: what the parts are of.
        parts: of the data.
        strengths: of corrections.
    """
    program = strategy.program
    plain, corrected = np.zeros(len(parts)), np.zeros((len(strengths), len(parts)))
    for i, left_out in enumerate(parts):
        rest = Part.joined([s for k, s in enumerate(parts) if k != i])
        fit = strategy.fit(rest.narrow)
        chi = newton_solve(program, fit, strategy.used.prior.penalty(program.reference, fit), ROUGH).chi
        beta = data.base_values(chi)
        plain[i] = _squares(left_out.wide, beta)
        corrected[:, i] = [
            _squares(left_out.wide, beta + delta) for delta in correction(rest.wide, beta, data.anywhere, strengths)
        ]
    sizes = np.array([float(part.wide.z @ part.wide.z) + part.wide.rest**2 for part in parts])
    return LeftOutErrors(plain, corrected, sizes)


def _squares(part: Stacked, beta: Array) -> float:
    return float(np.sum((part.R @ beta - part.z) ** 2)) + part.rest**2
