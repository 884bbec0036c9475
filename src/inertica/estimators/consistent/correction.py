"""What data say of the base parameters beyond all physically consistent links: a correction for predictions.

    delta = argmin |R (beta + delta) - z|^2 + strength |S delta|^2

beta is a consistent fit.  Wrong link lengths, bars of a parallelogram that no link of the chain stands for, sensors that feel other
loads: consistent links cannot follow such torque, the base parameters of an unconstrained fit can, and predict motion like the fitted
one better.  Elsewhere they may predict anything: one sine on every joint leaves directions open that data left out of it cannot tell
either.  So |S delta|^2 is the squared torque of the change at states all over the workspace, as fast as the fitted motion and as many:
a change that acts at these states a times as strongly as on the fitted motion keeps 1 / (1 + strength a^2) of what least squares
would give it.

R may have more columns than the consistent fit: friction that the choice of laws left out (`Extended`).  The power that friction takes
must not fall with speed, up to the largest that was fitted: d(v F)/dv = Fc + 2 Fv v >= 0, so that viscous and Coulomb friction still
brake at twice that speed.  What falls faster describes slow motion, and drives a faster one.
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

FASTER = 2.0
"""Times the largest speed of a joint at which its friction must still brake, see above."""

SPOTS = 20
"""Random positions over which friction that depends on them is averaged."""


def correction(system: Stacked, beta: Array, anywhere: Array, strengths: Sequence[float], braking: Array | None = None) -> Array:
    """(len(strengths), b) corrections of a consistent fit.

    Args:
        system: the data, rows divided by their standard deviations.
        beta: (b,) of the consistent fit.
        anywhere: (b, b) S, upper triangular.
        strengths: of the pull towards no correction.
        braking: (c, b) friction that must not turn negative: no less than 0, or than what beta has; no bounds by default.
    """
    back = np.linalg.inv(anywhere)
    # in coordinates in which the prior is the unit ball
    U, s, Vt = np.linalg.svd(system.R @ back, full_matrices=False)
    along = U.T @ (system.z - system.R @ beta)
    rows = np.zeros((0, len(beta))) if braking is None else braking
    least = np.minimum(rows @ beta, 0.0) - rows @ beta
    out = []
    for strength in strengths:
        # a step of x units away from the unbounded correction costs |x|^2
        units = back @ (Vt.T / np.sqrt(s**2 + strength))
        free = units @ (s / np.sqrt(s**2 + strength) * along)
        out.append(free + units @ shortest(rows @ units, least - rows @ free))
    return np.array(out).reshape(-1, len(beta))


def shortest(sides: Array, least: Array) -> Array:
    """(n,) the shortest x with sides x >= least, by non-negative least squares (Lawson and Hanson, 1974, chapter 23).

    Args:
        sides: (c, n).
        least: (c,); some x must reach them all.
    """
    from scipy.optimize import nnls  # takes long to import

    lengths = np.maximum(np.linalg.norm(sides, axis=1), 1e-300)
    far = least / lengths
    furthest = float(far.max(initial=0.0))
    if furthest <= 0.0:
        return np.zeros(sides.shape[1])
    both = np.vstack([sides.T / lengths, far / furthest])
    target = np.zeros(len(both))
    target[-1] = 1.0
    residual = both @ nnls(both, target)[0] - target
    return np.asarray(-furthest * residual[:-1] / residual[-1])


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

    @cached_property
    def braking(self) -> Array:
        """(joints that move, b) friction of each at `FASTER` its largest speed: half of what turning the motion round changes."""
        base, motions = self.wider.base, self.problem.motions
        fastest = np.max([np.abs(m.dq[~m.resting.all(axis=1)]).max(axis=0, initial=0.0) for m in motions], axis=0)
        q = random_states(base.layout, SPOTS).q
        shapes = None if self.wider.prior is None else self.wider.prior.shapes
        rows = []
        for j in np.flatnonzero(fastest):
            dq = np.zeros_like(q)
            dq[:, j] = FASTER * fastest[j]
            ahead, back = (base.engine.regressor(q, way * dq, np.zeros_like(q), shapes=shapes)[:, j] for way in (1.0, -1.0))
            rows.append(np.mean(ahead - back, axis=0)[base.retained] / 2.0)
        return np.array(rows).reshape(-1, base.rank)

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
        system = self.wider.observations.stacked(weights)
        delta = correction(system, self.base_values(chi), self.anywhere, [strength], self.braking)[0]
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
            _squares(left_out.wide, beta + delta) for delta in correction(rest.wide, beta, data.anywhere, strengths, data.braking)
        ]
    sizes = np.array([float(part.wide.z @ part.wide.z) + part.wide.rest**2 for part in parts])
    return LeftOutErrors(plain, corrected, sizes)


def _squares(part: Stacked, beta: Array) -> float:
    return float(np.sum((part.R @ beta - part.z) ** 2)) + part.rest**2
