"""Two filters: one for the fit, by what the motion holds above its noise, and one for predictions, by cross-validation on raw torque.

They differ because they answer different questions.  Noise of the position inside the control loop becomes torque, so that a wide
filter predicts raw torque well whatever it does to the parameters; the fit must not follow it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from inertica.estimators.base import Problem
from inertica.identifiability.base import BaseModel, base_model
from inertica.logs.log import Log
from inertica.preprocessing.edge import ABOVE, lowest_edge, widest_band
from inertica.preprocessing.filters import Butterworth
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description
from inertica.validation.blocks import Blocks, Score
from inertica.workflow.choice import Choice, Say

Velocity = Literal["differences", "recorded"]

CUTOFFS = (2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 40.0, 60.0, 90.0, 130.0)
"""Hz; those that a log's rate allows are candidates."""

WIDER = 3.0
"""Positions keep this many times the bandwidth of the fit; decimation then low-passes torque and columns, and so both alike."""

WIDEST = 0.35
"""Most of the sampling rate that the cut-off of the positions may be."""

BANDS = 3.0
"""Bands of the motion that the fit holds at least: torque has harmonics of a motion that is itself narrow."""

REVERSAL = 0.25
"""Periods of the fit's bandwidth around a reversal in which a joint's rows are left out."""


def candidate_cutoffs(rate: float) -> list[float]:
    """Cut-offs that leave the filter room below half the sampling rate."""
    fitting = [f for f in CUTOFFS if f <= 0.25 * rate]
    return fitting or [0.2 * rate]


def recipe_for(bandwidth: float, rate: float, recipe: Recipe) -> Recipe:
    """How a fit at some bandwidth sees a log: wide position filter, torque and columns decimated alike, no rows at reversals."""
    decimate = bandwidth if 0.4 * rate / bandwidth >= 1.5 else None
    wide = min(WIDER * bandwidth, WIDEST * rate) if decimate else bandwidth
    return replace(
        recipe, filter=Butterworth(cutoff=wide), decimate=decimate, ratio=None, reversal=REVERSAL / bandwidth,
        prediction=Butterworth(cutoff=bandwidth),
    )  # fmt: skip


@dataclass
class FilterSearch:
    """Bandwidth of the fit by the motion's noise; source of velocity and filter of predictions by cross-validation.

    Args:
        description: robot with the friction that is assumed for now.
        logs: to fit.
        recipe: everything that is not searched.
        say: progress.
        velocities: sources of velocity to compare; those the logs offer by default.
        base: of the description, when it is known already.
        bandwidth: of the fit in Hz, when it is stated.
    """

    description: Description
    logs: Sequence[Log]
    recipe: Recipe
    say: Say
    velocities: Sequence[Velocity] | None = None
    base: BaseModel | None = None
    bandwidth: float | None = None

    def __post_init__(self) -> None:
        self._base = self.base or base_model(self.description.layout)
        self.rate = min(log.rate for log in self.logs)
        self.cutoffs = candidate_cutoffs(self.rate)
        self._fits: dict[Velocity, Blocks] = {}
        self._tried: dict[tuple[float, Velocity], Score] = {}

    def run(self) -> tuple[Recipe, Choice]:
        recorded = all(log.dq is not None for log in self.logs)
        sources = self.velocities or (["recorded", "differences"] if recorded else ["differences"])
        self.say("filter: where the motion drowns in noise")
        edge = lowest_edge(tuple(self.logs))
        least = BANDS * widest_band(tuple(self.logs))
        wide = min((f for f in self.cutoffs if f >= least), default=self.cutoffs[-1])
        fit = self.bandwidth or max([f for f in self.cutoffs if f <= edge] + [wide])
        found = [(self._descend(fit, velocity), velocity) for velocity in sources]
        best = cutoff, velocity = min(found, key=lambda pair: self.score(fit, *pair))
        scores = {f"{c:g} Hz, {v}": s.all for (c, v), s in sorted(self._tried.items())}
        source = "its own record" if velocity == "recorded" else "differences"
        value = f"fit up to {fit:g} Hz, predictions from positions below {cutoff:g} Hz, velocity from {source}"
        why = f"{edge:.3g} Hz is where the spectrum of the position falls to {ABOVE:g} times its noise"
        if fit > edge:
            why += f", but the motion reaches up to {least / BANDS:.3g} Hz and its torque to harmonics of that"
        why = f"{fit:g} Hz was stated" if self.bandwidth else why
        sentence = (
            f"{value}: {why}; rows within {1e3 * REVERSAL / fit:.2g} ms of a joint's reversals are left out; the filter of "
            f"predictions leaves {100 * self.score(fit, *best):.2f} % of the raw torque of data left out, the least of {len(scores)} "
            "settings"
        )
        chosen = replace(
            recipe_for(fit, self.rate, replace(self.recipe, velocity=velocity)), prediction=Butterworth(cutoff=cutoff)
        )
        return chosen, Choice("filter", value, sentence, True, scores)

    def score(self, fit: float, cutoff: float, velocity: Velocity) -> float:
        """Of predictions with a cut-off, after fits at their bandwidth."""
        key = (cutoff, velocity)
        if key not in self._tried:
            self.say(f"filter: predicting with {cutoff:g} Hz, velocity from {velocity}")
            wide = recipe_for(fit, self.rate, replace(self.recipe, velocity=velocity))
            if velocity not in self._fits:
                motions = tuple(prepare(log, wide) for log in self.logs)
                self._fits[velocity] = Blocks(Problem(self._base, motions, self.description.prior))
            narrow = replace(wide, filter=Butterworth(cutoff=cutoff))
            self._tried[key] = self._fits[velocity].scored_on([prepare(log, narrow) for log in self.logs]).evaluate()
        return self._tried[key].all

    def _descend(self, fit: float, velocity: Velocity) -> float:
        """The score falls, then rises along the cut-offs: walk downhill from that of the fit."""
        i = min(range(len(self.cutoffs)), key=lambda k: abs(self.cutoffs[k] - fit))
        while True:
            neighbours = [k for k in (i - 1, i + 1) if 0 <= k < len(self.cutoffs)]
            best = min([i, *neighbours], key=lambda k: self.score(fit, self.cutoffs[k], velocity))
            if best == i:
                return self.cutoffs[i]
            i = best
