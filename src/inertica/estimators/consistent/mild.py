"""How strong a mild prior is: as strong as data of this correlation bear, and no stronger than they bear without notice.

    strength = s_1SE, kept within [kappa / 10, 100 kappa]

kappa is the median correlation time of the joints' residuals in rows: so many rows say as much as one independent one, so a prior
of this strength weighs a change of a parameter by its own size like one independent residual of one standard deviation.
s_1SE is the largest strength whose error on data left out (ninths and thirds, each relative to the least error on such parts) exceeds
the least by at most one standard error of the parts' differences; below kappa it is used only where kappa itself predicts ninths
clearly worse than the best (`guard`).  A prior that stands for geometry alone (`physical.geometry_prior`) gets strength 1.

The prior must cost no significant residual: the squares of the data may rise above those of the consistent fit without a pull by no
more than 2 kappa sqrt(2 b) noise variances, b the number of base parameters (twice the standard deviation of what b independent
directions leave by chance, counted in independent rows) and the noise that with which blocks left out are predicted (what a fit leaves
of data it has seen is far less where terms are many and data few); or by as much as that fit lies above one without constraints, where
that is more: what links that could exist cannot explain is an error of the model, beside which noise is no measure.  Where the squares
rise by more, the strength is lowered step by step, not below the one that predicts blocks left out best, and where that is the weakest
of all, at the end the prior is given up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from inertica.arrays import Array
from inertica.dynamics.arrays import is_large
from inertica.dynamics.tsqr import Stacked
from inertica.estimators.base import Problem
from inertica.estimators.covariance import residual_times
from inertica.estimators.evidence import ScaledSvd
from inertica.estimators.observe import Observations
from inertica.guard import compare
from inertica.physical.cone import ConeSolution, Program
from inertica.physical.fit import Fit
from inertica.physical.geometry_prior import GEOMETRY_ORIGIN
from inertica.physical.logdet import NewtonAccuracy, newton_solve
from inertica.physical.priors import ConePenalty, Euclidean, Penalty, Prior, near_prior
from inertica.threads import one_thread

FACTORS = tuple(10.0 ** (0.5 * k) for k in (-2, 0, 1, 2, 3, 4))
"""Strengths that cross-validation compares, in units of kappa; a model file with invented masses deserves less than kappa, slow motion
that tells hardly more than weights more."""

WEAKEST = 1e-3
"""In units of kappa; a prior that costs too much at this strength is given up."""

LOWERED = float(np.sqrt(10.0))
"""By which a strength that costs too much is divided."""

BLOCKS = 9
"""Parts that are left out one at a time, and three at a time: most of the motion is then still in the rest, or it is not."""

THIRDS = (slice(0, 3), slice(3, 6), slice(6, 9))

ROUGH = NewtonAccuracy(gap=1e-6, decrement=1e-8, good=1e-1)
"""Fits that are only compared need not be exact to more than a third of a standard deviation."""


@dataclass(frozen=True)
class MildStrength:
    """What was chosen.

    Args:
        strength: None when the prior is given up.
        kappa: correlation time in rows.
        left_out: squared error on blocks left out by strength.
        rise: of the squares of the data, in noise variances.
        limit: that it must not exceed.
    """

    strength: float | None
    kappa: float
    left_out: Mapping[float, float]
    rise: float
    limit: float

    @property
    def weakened(self) -> bool:
        """Whether the prior was too costly at first, which is worth a warning."""
        return self.strength is None or (bool(self.left_out) and self.strength < (1.0 - 1e-9) * self.kappa)

    @property
    def sentence(self) -> str:
        beside = "within" if self.rise <= self.limit else "more than"
        cost = (
            f"the sum of squared residuals grows by {self.rise:.3g} times the noise variance, {beside} the {self.limit:.3g} that "
            "would be no more than chance"
        )
        if self.strength is None:
            return (
                f"the data contradict the model's values however weakly these are trusted ({cost}), so the model decides only what "
                "the data leave open"
            )
        return (
            f"mild pull towards the model's values, of strength {self.strength:.3g} (neighbouring residuals are correlated over "
            f"{self.kappa:.3g} rows): {cost}"
        )


class Pull(Protocol):
    """A consistent strategy at work on a problem, the strength of whose prior is to be chosen."""

    @property
    def program(self) -> Program: ...

    def fit(self, system: Stacked) -> Fit: ...

    def prior(self, strength: float) -> Prior: ...

    def kept(self, fit: Fit, prior: Prior, correlation: Callable[[], float]) -> tuple[ConeSolution, tuple[str, ...]]: ...


def mild_strength(pull: Pull, problem: Problem, searched: bool = True) -> MildStrength:
    """The strength for the data of a problem, with the weights of plain WLS.

    Args:
        pull: constraints and kind of prior.
        problem: its data.
        searched: by cross-validation; kappa when not, which is quicker.
    """
    system = problem.observations
    weights = 1.0 / system.sigmas
    stacked = system.stacked(weights)
    kappa = correlation(system, stacked)
    scores: dict[float, float] = {}
    first = 1.0
    if not searched:
        first = kappa
    elif problem.prior is None or problem.prior.origin != GEOMETRY_ORIGIN:
        first, scores = _one_standard_error(pull, [block.stacked(weights=weights) for block in system.blocks(BLOCKS)], kappa)
    program, fit = pull.program, pull.fit(stacked)
    least = program.solve(fit, Euclidean().penalty(program.reference, fit)).squares
    noise = fit.noise * (stacked.rest**2 + least) / max(stacked.rest**2, 1e-300)
    unseen = max(min(scores.values(), default=0.0) / max(stacked.rest**2 + least, 1e-300), 1.0)
    by_chance, held_back = 2.0 * kappa * unseen * float(np.sqrt(2.0 * problem.base.rank)), float(least / noise)
    limit, rise, strength = max(by_chance, held_back), 0.0, first
    lowest = _lowest(scores, WEAKEST * min(kappa, first))
    while strength >= (1.0 - 1e-9) * lowest:
        fitted, _ = pull.kept(fit, pull.prior(strength), lambda: kappa)
        rise = (fitted.squares - least) / noise
        if rise <= limit or (lowest in scores and strength / LOWERED < (1.0 - 1e-9) * lowest):
            return MildStrength(strength, kappa, scores, rise, limit)
        strength /= LOWERED
    return MildStrength(None, kappa, scores, rise, limit)


def _lowest(scores: Mapping[float, float], weakest: float) -> float:
    """How far a strength that costs too much may be lowered: not below the one that predicts data left out best."""
    best = min(scores, key=lambda strength: scores[strength], default=weakest)
    return weakest if not scores or best == min(scores) else best


def correlation(system: Observations, stacked: Stacked) -> float:
    """Median over the joints of the correlation time of the residuals of plain least squares, in rows."""
    with one_thread():
        beta = ScaledSvd.of(stacked.R).solve(stacked.z)
    return float(np.median(residual_times(system, beta)))


def _one_standard_error(pull: Pull, blocks: Sequence[Stacked], kappa: float) -> tuple[float, dict[float, float]]:
    """s_1SE within the range of the factors, and the error on single blocks of every strength."""
    strengths = [float(f * kappa) for f in FACTORS]
    thirds = [Stacked.joined(blocks[k]) for k in THIRDS]
    errors = [_errors_left_out(pull, parts, strengths) for parts in (blocks, thirds)]
    relative = [e / e.sum(axis=1).min() for e in errors]
    totals = sum(r.sum(axis=1) for r in relative)
    best = int(np.argmin(totals))
    doubt = np.sqrt(sum(np.var(r - r[best], axis=1, ddof=1) * r.shape[1] for r in relative))
    allowed = [s for s, total, d in zip(strengths, totals, doubt, strict=True) if total - totals[best] <= d]
    usual = FACTORS.index(1.0)
    needed = compare(errors[0][usual], errors[0][best], errors[0][best]).clearly_worse
    chosen = max(allowed) if needed else max(kappa, *allowed)
    return chosen, dict(zip(strengths, map(float, errors[0].sum(axis=1)), strict=True))


def _errors_left_out(pull: Pull, parts: Sequence[Stacked], strengths: Sequence[float]) -> Array:
    """(len(strengths), K) squared errors of each part, predicted by fits of the others."""
    program, errors = pull.program, np.empty((len(strengths), len(parts)))
    for i, left_out in enumerate(parts):
        fit = pull.fit(Stacked.joined([s for k, s in enumerate(parts) if k != i]))
        for k, strength in enumerate(strengths):
            chi = _compared(program, fit, pull.prior(strength).penalty(program.reference, fit))
            errors[k, i] = float(np.sum((left_out.R @ (fit.T @ chi) - left_out.z) ** 2)) + left_out.rest**2
    return errors


def _compared(program: Program, fit: Fit, penalty: Penalty) -> Array:
    """The fit by which strengths are compared; of large robots, where it is too dear, the prior to second order and no constraints."""
    if isinstance(penalty, ConePenalty) and is_large(program.reference.layout.robot):
        return near_prior(program.reference, fit, penalty)
    return newton_solve(program, fit, penalty, ROUGH).chi
