"""Per-joint delay between recorded torque and motion: found in the logs, confirmed by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from inertica.estimators.base import Problem
from inertica.identifiability.base import BaseModel, base_model
from inertica.logs.log import Log
from inertica.logs.motion_checks import delays
from inertica.logs.plainfit import observed, suggested_cutoff
from inertica.logs.prepare import prepare
from inertica.logs.recipe import Recipe
from inertica.robot.description import Description
from inertica.validation.blocks import Blocks, Score
from inertica.workflow.choice import Choice, Say

Array = NDArray[np.float64]


class DelaySearch:
    """Delays that stand out in every band and lower the error on data left out; friction at reversals mimics small ones.

    Args:
        description: robot with friction as assumed for now.
        logs: to fit.
        recipe: with the filter that was chosen.
        say: progress.
        base: of the description, when it is known already.
    """

    def __init__(
        self, description: Description, logs: Sequence[Log], recipe: Recipe, say: Say, base: BaseModel | None = None
    ) -> None:
        self.description, self.logs, self.recipe, self.say = description, logs, recipe, say
        self.base = base or base_model(description.layout)
        self.n = description.robot.n

    def run(self) -> tuple[Recipe, Choice]:
        proposed, spread = self._proposed()
        taken = self._confirmed(proposed) if proposed.any() else proposed
        listed = ", ".join(f"joint {j + 1} {1e3 * taken[j]:.1f} ± {1e3 * spread[j]:.1f} ms" for j in np.flatnonzero(taken))
        sentence = (
            f"torque is recorded later than motion: {listed}; taking that out lowers the error on data left out"
            if listed
            else "no delay between torque and motion stands out and lowers the error on data left out"
        )
        return replace(self.recipe, delay=tuple(taken.tolist())), Choice("delay", listed or "none", sentence)

    def _proposed(self) -> tuple[Array, Array]:
        """(n,) delays that are clear in at least half of the logs, averaged over those, and their standard deviations."""
        self.say("delay: shifting torque against motion")
        values, sds, clear = [], [], []
        for log in self.logs:
            cutoff = suggested_cutoff(log, self.base.rank)
            engine, prior = self.base.engine, self.description.prior
            found = delays([observed(engine, log, self.base, prior, factor * cutoff) for factor in (1.0, 0.5, 2.0)]).numbers
            value, sd, joints = (np.asarray(found[key], float) for key in ("delay", "sd", "joints"))
            late = np.isin(np.arange(1, self.n + 1), joints) & (value > 0.0)
            values.append(np.where(late, value, 0.0))
            sds.append(np.where(late, sd, np.inf))
            clear.append(late)
        weights = 1.0 / np.maximum(np.array(sds, float), 1e-6) ** 2
        total = np.maximum(weights.sum(axis=0), 1e-300)
        mean = (weights * np.array(values, float)).sum(axis=0) / total
        often = np.mean(clear, axis=0) >= 0.5
        return np.where(often, mean, 0.0), np.where(often, 1.0 / np.sqrt(total), 0.0)

    def _confirmed(self, proposed: Array) -> Array:
        """Those delays that also help to predict raw torque with all joints fitted together."""

        def score(values: Array) -> Score:
            recipe = replace(self.recipe, delay=tuple(values.tolist()))
            motions = tuple(prepare(log, recipe) for log in self.logs)
            return Blocks(Problem(self.base, motions, self.description.prior)).evaluate()

        without, taken = score(np.zeros(self.n)), score(proposed)
        gains = [taken.better_by(without, j) for j in range(self.n)]  # noise dilutes the gain; that it is one must be sure
        return np.where([gain > error for gain, error in gains], proposed, 0.0)
