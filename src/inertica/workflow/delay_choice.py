"""Per-joint delay between recorded torque and motion, by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from inertica.estimators.base import Problem
from inertica.estimators.observe import System
from inertica.identifiability.base import base_model
from inertica.logs.log import Log
from inertica.logs.motion import Motion
from inertica.logs.prepare import prepare
from inertica.logs.recipe import Recipe
from inertica.robot.description import Description
from inertica.validation.blocks import FOLDS, Blocks, Score
from inertica.workflow.choice import Choice, Say

Array = NDArray[np.float64]

DELAYS = np.array([0.0, 0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04])
"""s; candidates for the delay of the torque."""

WORTH = 0.02
"""A delay must lower a joint's squared error by this share, and by two standard errors over the folds: friction mimics small ones."""


class DelaySearch:
    """Per-joint delay between recorded torque and motion, in the same way: torque shifted by candidates, scored on blocks left out.

    Args:
        description: robot with friction as assumed for now.
        logs: to fit.
        recipe: with the filter that was chosen.
        say: progress.
    """

    def __init__(self, description: Description, logs: Sequence[Log], recipe: Recipe, say: Say) -> None:
        self.description, self.logs, self.recipe, self.say = description, logs, recipe, say
        self.base = base_model(description.layout)
        self.n = description.robot.n

    def run(self) -> tuple[Recipe, Choice]:
        rate = min(log.rate for log in self.logs)
        steps = np.unique(np.minimum(DELAYS, max(0.04, 2.0 / rate)))
        cost = self._own_errors(steps)
        delays = np.zeros(self.n)
        scores: dict[str, float] = {}
        for j in range(self.n):
            mean = cost[:, :, j].mean(axis=1)
            i = int(np.argmin(mean))
            gain = (cost[0, :, j] - cost[i, :, j]) / max(float(mean[0]), 1e-300)
            error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else np.inf
            scores |= {f"joint {j + 1}: {1e3 * d:g} ms": float(np.sqrt(m)) for d, m in zip(steps, mean, strict=True)}
            if i and gain.mean() > max(WORTH, 2.0 * error):
                delays[j] = _vertex(steps, mean, i)
        delays, parts = self._confirmed(delays) if delays.any() else (delays, [])
        value = ", ".join(parts) or "none"
        sentence = (
            f"torque is recorded later than motion: {value}; taking that out lowers the error on data left out"
            if parts
            else "no delay between torque and motion lowers the error on data left out"
        )
        return replace(self.recipe, delay=tuple(delays.tolist())), Choice("delay", value, sentence, True, scores)

    def _confirmed(self, delays: Array) -> tuple[Array, list[str]]:
        """Those delays that also help to predict raw torque with all joints fitted together."""

        def score(values: Array) -> Score:
            recipe = replace(self.recipe, delay=tuple(values.tolist()))
            motions = tuple(prepare(log, recipe) for log in self.logs)
            return Blocks(Problem(self.base, motions, self.description.prior)).evaluate()

        without, taken = score(np.zeros(self.n)), score(delays)
        gains = [taken.better_by(without, j) for j in range(self.n)]  # noise dilutes the gain; that it is one must be sure
        kept = np.array([gain > error for gain, error in gains]) & (delays > 0.0)
        delays = np.where(kept, delays, 0.0)
        return delays, [f"joint {j + 1} {1e3 * delays[j]:.1f} ms" for j in np.flatnonzero(kept)]

    def _own_errors(self, delays: Array) -> Array:
        """(candidates, folds, n) relative squared error of every joint fitted alone with its torque read later.

        The rows are the same for all candidates; the shifted torques go through one factorisation as further columns.
        """
        self.say("delay: shifting torque against motion")
        motions = tuple(prepare(log, replace(self.recipe, delay=0.0)) for log in self.logs)
        system = System(Problem(self.base, motions, self.description.prior))
        shifted = [_shifted_torques(motion, delays) for motion in motions]  # (M, n, candidates) on the rows' clock
        total = sum(len(r.use) for r in system.rows())
        stacks: list[list[list[Array]]] = [[[] for _ in range(self.n)] for _ in range(FOLDS)]
        seen, seen_in = 0, [0] * len(motions)
        for rows in system.rows():
            count, first = len(rows.use), seen_in[rows.motion]
            fold = (seen + np.arange(count)) * FOLDS // total
            seen, seen_in[rows.motion] = seen + count, first + count
            for j, W in enumerate(rows.W):
                y = shifted[rows.motion][first : first + count, j] - (
                    shifted[rows.motion][first : first + count, j, :1] - rows.y[:, j, None]
                )
                for f in np.unique(fold):
                    take = (fold == f) & rows.use[:, j]
                    stacks[f][j].append(np.column_stack([W[take], y[take]]))
        out = np.empty((len(delays), FOLDS, self.n))
        with threadpool_limits(1):
            for j in range(self.n):
                R = [np.asarray(np.linalg.qr(np.vstack(stacks[f][j]), mode="r")) for f in range(FOLDS)]
                out[:, :, j] = _left_out_errors(R, len(delays)).T
        return out


def _shifted_torques(motion: Motion, delays: Array) -> Array:
    """(M, n, candidates) torque read later by each candidate, decimated like the rows."""
    n, clock = motion.n, motion.t
    wide = np.empty((len(motion), n, len(delays)))
    for i, delay in enumerate(delays):
        for j in range(n):
            wide[:, j, i] = np.interp(clock + delay, clock, motion.tau[:, j])
    flat = motion.decimator.decimate(wide.reshape(len(motion), -1))
    return flat.reshape(len(flat), n, len(delays))


def _left_out_errors(R: list[Array], targets: int) -> Array:
    """(folds, targets) relative squared error on each fold of fits on the others, from R factors of [W, y_1 .. y_k]."""
    out = np.empty((len(R), targets))
    for f, left in enumerate(R):
        G = sum(r.T @ r for i, r in enumerate(R) if i != f)
        k = left.shape[1] - targets
        x = np.linalg.lstsq(np.asarray(G)[:k, :k], np.asarray(G)[:k, k:], rcond=1e-12)[0]
        miss = left[:, k:] - left[:, :k] @ x
        out[f] = np.sum(miss**2, axis=0) / np.maximum(np.sum(left[:, k:] ** 2, axis=0), 1e-300)
    return out


def _vertex(x: Array, y: Array, i: int) -> float:
    """Minimum of the parabola through the lowest point and its neighbours."""
    if not 0 < i < len(x) - 1:
        return float(x[i])
    c = np.polyfit(x[i - 1 : i + 2], y[i - 1 : i + 2], 2)
    return float(np.clip(-c[1] / (2 * c[0]), x[i - 1], x[i + 1])) if c[0] > 0.0 else float(x[i])
