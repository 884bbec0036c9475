"""What data say of the base parameters beyond all physically consistent links: a correction for predictions.

    delta = argmin |R (beta + delta) - z|^2 + strength * sum_k (|R_k| delta_k)^2

beta is a consistent fit, R_k a column of the weighted observation matrix.  Wrong link lengths, bars of a parallelogram that no link of the
chain stands for, sensors that feel other loads: consistent links cannot follow such torque, the base parameters of an unconstrained
fit can, and predict motion like the fitted one better.  |R_k| delta_k is the torque of a change by itself, so that the strength has no
unit; it is stated in correlation times of the residuals (`mild`).  Towards zero the correction becomes that of plain least
squares, towards infinity it vanishes: where the motion tells a direction hardly at all, the consistent links decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inertica.dynamics.tsqr import Stacked
from inertica.estimators.base import Problem
from inertica.estimators.consistent.mild import ROUGH
from inertica.estimators.consistent.strategy import Settled
from inertica.physical.logdet import newton_solve

Array = NDArray[np.float64]

STRENGTHS = tuple(10.0**k for k in range(-8, 1))
"""In correlation times; at the first the correction is that of plain least squares, at the last it hardly changes anything."""


def correction(system: Stacked, beta: Array, strengths: Sequence[float]) -> Array:
    """(len(strengths), b) corrections of a consistent fit.

    Args:
        system: the data, rows divided by their standard deviations.
        beta: (b,) of the consistent fit.
        strengths: of the pull towards no correction.
    """
    size = np.linalg.norm(system.R, axis=0)
    size = np.where(size > 0.0, size, 1.0)  # a column of zeros gets no correction
    U, s, Vt = np.linalg.svd(system.R / size, full_matrices=False)
    along = U.T @ (system.z - system.R @ beta)
    return np.array([Vt.T @ (s / (s**2 + strength) * along) for strength in strengths]) / size


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


def errors_left_out(strategy: Settled, parts: Sequence[Stacked], strengths: Sequence[float]) -> LeftOutErrors:
    """Fits of all parts but one predict that one.

    Args:
        strategy: the consistent fit, with the prior it has for these data.
        parts: of the data.
        strengths: of corrections.
    """
    program = strategy.program
    plain, corrected = np.zeros(len(parts)), np.zeros((len(strengths), len(parts)))
    for i, left_out in enumerate(parts):
        rest = Stacked.joined([s for k, s in enumerate(parts) if k != i])
        fit = strategy.fit(rest)
        beta = fit.T @ newton_solve(program, fit, strategy.used.prior.penalty(program.reference, fit), ROUGH).chi
        plain[i] = _squares(left_out, beta)
        corrected[:, i] = [_squares(left_out, beta + delta) for delta in correction(rest, beta, strengths)]
    sizes = np.array([float(part.z @ part.z) + part.rest**2 for part in parts])
    return LeftOutErrors(plain, corrected, sizes)


def blocks_and_motions(problem: Problem, count: int) -> tuple[list[Stacked], list[Stacked]]:
    """Every motion in `count` blocks of consecutive rows, the same block of all motions together, and the motions one by one."""
    system = problem.observations
    weights = 1.0 / system.sigmas
    edges = [[i * rows // count for i in range(count + 1)] for rows in system.lengths]
    stretches = [[part.stacked(weights=weights) for part in motion] for motion in system.stretches(edges)]
    blocks = [Stacked.joined(same) for same in zip(*stretches, strict=True)]
    return blocks, [Stacked.joined(motion) for motion in stretches]


def _squares(part: Stacked, beta: Array) -> float:
    return float(np.sum((part.R @ beta - part.z) ** 2)) + part.rest**2
