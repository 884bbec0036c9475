"""Which samples a second fit leaves out when there is no validation log, and the errors of fits on what they left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array, Mask
from inertica.estimators.base import Estimator, Problem
from inertica.guard import Comparison, compare
from inertica.preprocessing.motion import LEFT_OUT, Motion
from inertica.preprocessing.periods import part_labels
from inertica.robot.natural import levers

STRETCHES = 5
"""Into which the moving part of every log is divided."""

HELD_OUT = 0.2
"""Share of every stretch that is left out."""

FOLDS = 3
"""Parts of every log that are left out in turn when models or methods are compared."""


@dataclass(frozen=True, eq=False)
class HoldOut:
    """Samples left out.

    The moving samples of each log are divided into five stretches, and the same fifth of each, in one piece, is left out: standstill
    at the end of a log says nothing of a model, and neither does a single stretch.  Which fifth that is depends on the joints: the
    one in the middle, unless another leaves more to a joint that moves seldom.

    Args:
        masks: (N,) per motion, True for what is left out.
    """

    masks: tuple[Mask, ...]

    @classmethod
    def of(cls, motions: Sequence[Motion]) -> HoldOut:
        places = sorted(np.arange(0.0, 1.0, HELD_OUT), key=lambda place: abs(place + 0.5 * HELD_OUT - 0.5))
        where = [_moving_samples(motion) for motion in motions]
        choices = [
            tuple(_mask(len(m), of_motion, float(place)) for m, of_motion in zip(motions, where, strict=True)) for place in places
        ]
        moving = np.maximum(_moving(motions, [np.ones(len(m), bool) for m in motions]), 1)
        return cls(min(choices, key=lambda masks: round(float(np.max(_moving(motions, masks) / moving)), 1)))

    def rest(self, motions: Sequence[Motion]) -> tuple[Motion, ...]:
        """The motions for a fit that does not use what is left out."""
        pairs = zip(motions, self.masks, strict=True)
        return tuple(replace(motion, masks={**motion.masks, LEFT_OUT: mask}) for motion, mask in pairs)


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Squares on parts of the data that were left out in turn.

    Args:
        errors: (parts, n) squared errors of raw torque; forces of sliding joints count as torques (`robot.natural.levers`).
        sizes: (parts, n) squares of that torque.
    """

    errors: Array
    sizes: Array

    @property
    def residual(self) -> float:
        """Relative residual of all joints and parts."""
        return float(np.sqrt(self.errors.sum() / max(float(self.sizes.sum()), 1e-300)))

    def against(self, other: LeftOut) -> Comparison:
        """These errors with those of another choice, joints weighed by the other's errors."""
        weights = 1.0 / np.maximum(other.errors.sum(axis=0), 1e-300)
        return compare(self.errors @ weights, other.errors @ weights, self.sizes @ weights)


def left_out(problem: Problem, estimator: Estimator) -> LeftOut:
    """How well fits predict raw torque of parts that they left out; parts without which a joint has no rows are not left out."""
    errors, sizes = np.zeros((2, FOLDS, problem.base.layout.robot.n))
    for f in range(FOLDS):
        left = HoldOut(tuple(_part(motion, f) for motion in problem.motions))
        rest = problem.masked(left.rest(problem.motions))
        if len(rest.observations.unseen):
            continue
        estimate = estimator.estimate(rest)
        values = np.array(problem.fixed_values)
        values[problem.base.retained] = estimate.beta
        shapes = None if problem.prior is None else problem.prior.shapes
        for motion, part in zip(problem.motions, left.masks, strict=True):
            state = (motion.q[part], motion.dq[part], motion.ddq[part])
            miss = motion.tau_raw[part] - problem.engine.inverse_dynamics(*state, values, shapes)
            errors[f] += np.sum(miss**2, axis=0)
            sizes[f] += np.sum(motion.tau_raw[part] ** 2, axis=0)
    lever, used = levers(problem.base.layout.robot) ** 2, sizes.sum(axis=1) > 0.0
    return LeftOut(errors[used] * lever, sizes[used] * lever)


def _part(motion: Motion, fold: int) -> Mask:
    """A part of a motion in one piece, or of every period of one that repeats."""
    return part_labels(len(motion), FOLDS, motion.period) == fold


def _moving_samples(motion: Motion) -> NDArray[np.intp]:
    """Samples at which some joint moves; all, where that are hardly any."""
    moving = np.flatnonzero(~np.logical_and.reduce(list(motion.resting.T)))
    return moving if len(moving) >= 10 * STRETCHES else np.arange(len(motion))


def _mask(samples: int, moving: NDArray[np.intp], place: float) -> Mask:
    """One piece of each stretch of the moving samples, beginning at `place` (0 to 1) of it; standstill inside a piece is in it."""
    out = np.zeros(samples, bool)
    edges = np.linspace(0, len(moving), STRETCHES + 1)
    for start, width in zip(edges[:-1], np.diff(edges), strict=True):
        first = int(start + place * width)
        last = min(int(start + (place + HELD_OUT) * width), len(moving)) - 1
        out[moving[first] : moving[max(last, first)] + 1] = True
    return out


def _moving(motions: Sequence[Motion], masks: Sequence[Mask]) -> NDArray[np.int64]:
    """(n,) samples among those left out at which a joint moves."""
    pairs = zip(motions, masks, strict=True)
    return np.sum([[np.count_nonzero(mask & ~rests) for rests in m.resting.T] for m, mask in pairs], axis=0)
