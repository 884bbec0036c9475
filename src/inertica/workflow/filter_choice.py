"""Which filter and which velocity predict best: cut-off by cross-validation on raw torque."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from inertica.estimators.base import Problem
from inertica.identifiability.base import BaseModel, base_model
from inertica.logs.filters import Butterworth
from inertica.logs.log import Log
from inertica.logs.prepare import prepare
from inertica.logs.recipe import Recipe
from inertica.robot.description import Description
from inertica.validation.blocks import Blocks, Score
from inertica.workflow.choice import Choice, Say

Velocity = Literal["differences", "recorded"]

CUTOFFS = (2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 40.0, 60.0, 90.0, 130.0)
"""Hz; those that a log's rate allows are candidates."""


def candidate_cutoffs(rate: float) -> list[float]:
    """Cut-offs that leave the filter room below half the sampling rate."""
    fitting = [f for f in CUTOFFS if f <= 0.25 * rate]
    return fitting or [0.2 * rate]


def recipe_for(cutoff: float, rate: float, recipe: Recipe) -> Recipe:
    """Position filter at a cut-off, and torque and columns decimated to about the same bandwidth."""
    decimate = cutoff if 0.4 * rate / cutoff >= 1.5 else None
    return replace(recipe, filter=Butterworth(cutoff=cutoff), decimate=decimate, ratio=None)


@dataclass
class FilterSearch:
    """The cut-off and the source of velocity that predict best.

    Args:
        description: robot with the friction that is assumed for now.
        logs: to fit.
        recipe: everything that is not searched.
        say: progress.
        velocities: sources of velocity to compare; those the logs offer by default.
        base: of the description, when it is known already.
    """

    description: Description
    logs: Sequence[Log]
    recipe: Recipe
    say: Say
    velocities: Sequence[Velocity] | None = None
    base: BaseModel | None = None

    def __post_init__(self) -> None:
        self._base = self.base or base_model(self.description.layout)
        self.rate = min(log.rate for log in self.logs)
        self._tried: dict[tuple[float, Velocity], Score] = {}

    def score(self, cutoff: float, velocity: Velocity) -> float:
        key = (cutoff, velocity)
        if key not in self._tried:
            self.say(f"filter: trying {cutoff:g} Hz, velocity from {velocity}")
            chosen = recipe_for(cutoff, self.rate, replace(self.recipe, velocity=velocity))
            motions = tuple(prepare(log, chosen) for log in self.logs)
            self._tried[key] = Blocks(Problem(self._base, motions, self.description.prior)).evaluate()
        return self._tried[key].all

    def run(self) -> tuple[Recipe, Choice]:
        cutoffs = candidate_cutoffs(self.rate)
        recorded = all(log.dq is not None for log in self.logs)
        sources = self.velocities or (["recorded", "differences"] if recorded else ["differences"])
        found = [(self._descend(cutoffs, velocity), velocity) for velocity in sources]
        best = cutoff, velocity = min(found, key=lambda pair: self.score(*pair))
        scores = {f"{c:g} Hz, {v}": s.all for (c, v), s in sorted(self._tried.items())}
        worst = max(scores.values())
        source = "its own record" if velocity == "recorded" else "differences"
        value = f"Butterworth of order 4 at {cutoff:g} Hz, velocity from {source}"
        sentence = (
            f"{value}: predicts raw torque of data left out with {100 * self.score(*best):.2f} % residual, "
            f"the best of {len(scores)} settings tried (worst {100 * worst:.2f} %)"
        )
        return recipe_for(cutoff, self.rate, replace(self.recipe, velocity=velocity)), Choice(
            "filter", value, sentence, True, scores
        )

    def _descend(self, cutoffs: Sequence[float], velocity: Velocity) -> float:
        """The score falls, then rises along the cut-offs: walk downhill from the middle."""
        i = len(cutoffs) // 2
        while True:
            neighbours = [k for k in (i - 1, i + 1) if 0 <= k < len(cutoffs)]
            best = min([i, *neighbours], key=lambda k: self.score(cutoffs[k], velocity))
            if best == i:
                return cutoffs[i]
            i = best
