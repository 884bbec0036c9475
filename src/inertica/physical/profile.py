"""Ends of the level set of a smooth cost: how far each parameter can go while data and prior together stay below a level.

    min, max x_k   such that   f(x) = |A chi - z|^2 + prior(chi) <= c

For a quadratic prior the set is an ellipsoid and the ends are known.  For entropic and Riemannian distances they are found for all
parameters at once: f is replaced by its second order at the point reached, whose end is known, until nothing moves.  The true
curvature of the prior is what makes the interval of a mass longer upwards than downwards.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from inertica.arrays import Array
from inertica.physical.cone import Metric, Program
from inertica.physical.fit import Fit
from inertica.physical.priors import ConePenalty, second_order
from inertica.threads import one_thread

_STEPS = 60
"""An end that is not known after so many counts as infinite; that happens to priors of strengths below about 0.1."""

_SETTLED = 1e-3
"""An end is known when the next step would move it by less than this part of its distance from the minimum."""

_ENDLESS = 1e3
"""An end further away than this many sizes of its parameter counts as infinite."""


@dataclass(frozen=True, eq=False)
class LevelEnds:
    """Ends of all free parameters.

    Args:
        lower, upper: (k,) in scaled parameters; infinite where data and prior say too little for an end to be found.
        points: (2 k, k) where each is least (first k rows) and largest.
        steps: taken by the slowest.
    """

    lower: Array
    upper: Array
    points: Array
    steps: int


def level_ends(program: Program, fit: Fit, penalty: ConePenalty, chi: Array, height: float) -> LevelEnds:
    """Ends of the set f <= f(chi) + height, chi the minimum of f; constraints of the program are not looked at."""
    with one_thread():
        return _ProfileNewton(program, fit, penalty, chi, height).run()


class _ProfileNewton:
    """Newton steps of all ends side by side, in coordinates y in which the set is a ball of radius sqrt(height) to second order."""

    def __init__(self, program: Program, fit: Fit, penalty: ConePenalty, chi: Array, height: float) -> None:
        self.program, self.fit, self.penalty, self.height = program, fit, penalty, height
        # curvature of data and prior at the minimum makes the level set a ball to second order
        metric = Metric.of(program, fit, second_order(penalty, chi))
        self.k = len(program.scale)
        self.B = np.asarray(solve_triangular(metric.M, np.eye(self.k)))
        self.origin = chi[program.free] / program.scale
        self.seen = fit.A[:, program.free] * program.scale @ self.B
        self.miss = fit.A @ chi - fit.z
        self.level = self._value(np.zeros((1, self.k)))[0] + height

    def run(self) -> LevelEnds:
        rows = np.vstack([-self.B, self.B])  # what each end makes as large as it can
        length = np.linalg.norm(rows, axis=1)
        # ends of the ball, exact if the cost were quadratic
        y = np.sqrt(self.height) * rows / length[:, None]
        y, value = self._shortened(np.zeros_like(y), y)
        todo, steps, known = np.arange(2 * self.k), 0, np.zeros(2 * self.k, bool)
        while len(todo) and steps < _STEPS:
            steps += 1
            step = self._step(y[todo], value[todo], rows[todo])
            usable = np.isfinite(step).all(axis=1)
            todo, step = todo[usable], step[usable]
            y[todo], value[todo] = self._shortened(y[todo], step)
            gain = np.einsum("ij,ij->i", step, rows[todo])
            away = np.einsum("ij,ij->i", y[todo], rows[todo])
            known[todo] = np.abs(gain) <= _SETTLED * np.abs(away)
            # ends that have settled, or that run away, take no further steps
            todo = todo[~known[todo] & (away < _ENDLESS)]
        x = self.origin + y @ self.B.T
        targets = x[np.arange(2 * self.k), np.tile(np.arange(self.k), 2)]
        ends = np.where(known, targets, np.repeat([-np.inf, np.inf], self.k))
        return LevelEnds(ends[: self.k], ends[self.k :], x, steps)

    def _step(self, y: Array, value: Array, rows: Array) -> Array:
        """To the end of the second-order model of f at y: -H^-1 g + tau H^-1 e."""
        g, H = self._derivatives(y)
        right = np.stack([g, rows], axis=2)
        try:
            solved = np.linalg.solve(H, right)
        except np.linalg.LinAlgError:  # curvature of some end lost to rounding: these are not known
            solved = np.linalg.pinv(H, hermitian=True) @ right
        newton, along = solved[..., 0], solved[..., 1]
        # end of the ellipsoid (y - m)'H(y - m) = 2 (level - f(m)) along e: tau = sqrt(room / e'H^-1 e)
        room = 2.0 * (self.level - value) + np.einsum("ij,ij->i", g, newton)
        width = np.einsum("ij,ij->i", rows, along)
        tau = np.sqrt(np.maximum(room, 0.0) / np.where(width > 0.0, width, np.nan))  # no width: rounding has eaten the curvature
        return np.asarray(tau[:, None] * along - newton)

    def _shortened(self, y: Array, step: Array) -> tuple[Array, Array]:
        """y + t step and f there, t halved until that is within the prior's domain and not far above the level."""
        t = np.ones(len(y))
        value = self._value(y + step)
        # beyond twice the height the second-order model is no guide any more
        limit = np.maximum(self.level + self.height, self._value(y))
        while np.any(far := value > limit):
            t[far] *= 0.5
            value[far] = self._value(y[far] + t[far, None] * step[far])
        return y + t[:, None] * step, value

    def _chi(self, y: Array) -> Array:
        out = np.tile(self.program.reference.values, (len(y), 1))
        out[:, self.program.free] = self.program.scale * (self.origin + y @ self.B.T)
        return out

    def _value(self, y: Array) -> Array:
        miss = y @ self.seen.T + self.miss
        return np.einsum("ij,ij->i", miss, miss) + self.penalty.values(self._chi(y))

    def _derivatives(self, y: Array) -> tuple[Array, Array]:
        free, scale = self.program.free, self.program.scale
        g, H = self.penalty.derivatives(self._chi(y))
        gy = (g[:, free] * scale) @ self.B + 2.0 * (y @ self.seen.T + self.miss) @ self.seen
        Hx = H[:, free][:, :, free] * np.outer(scale, scale)
        return gy, self.B.T @ Hx @ self.B + 2.0 * self.seen.T @ self.seen
