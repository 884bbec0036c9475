"""How sure a load is: noise, what blocks of the records disagree on, bias of the pipeline, differences that no load explains.

With G_u, G_l of `estimators.load`, noise variances v and variances j by blocks of p = G_u beta_u + G_l beta_l,

    std^2 = c^2 v w + bias,

w the factor of `decisions.intervals.widened_by_blocks`, c Birge's ratio where it is significant.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inertica.arrays import Array
from inertica.estimators.load import Load
from inertica.workflow.decisions.intervals import BLOCKS, DISTRUSTED, widened_by_blocks
from inertica.workflow.identify.choice import Choice
from inertica.workflow.identify.reasons import LoadWidening
from inertica.workflow.payload.records import Records, Stated


@dataclass(frozen=True, eq=False)
class Sure:
    """A load with its bias taken out.

    Args:
        values: (10,).
        std: (10,).
        birge: factor that the difference of the records beyond a load has put on the standard deviations.
        choice: what was done, for the user.
    """

    values: Array
    std: Array
    birge: float
    choice: Choice

    def covariance(self, load: Load) -> Array:
        """(10, 10) with these standard deviations and the correlations of the noise.

        Parameters of which only combinations are known have one factor, the largest of theirs: several would turn the directions
        in which nothing is known.
        """
        stated_std = np.sqrt(np.diag(load.covariance))
        factor = np.divide(self.std, stated_std, out=np.zeros(len(stated_std)), where=stated_std > 0.0)
        factor[~load.known] = factor[~load.known].max(initial=0.0)
        return np.asarray(factor[:, None] * load.covariance * factor)


def made_sure(empty: Records | Stated, full: Records, load: Load, *, quick: bool = False) -> Sure:
    """The uncertainty of a load.

    Args:
        empty, full: what the records without and with it say.
        found: the load by least squares.
        quick: leave bias and cut-offs out.
    """
    noise = empty.noise(load.by_unloaded) + full.noise(load.by_loaded)
    blocks = empty.blocks(load.by_unloaded) + full.blocks(load.by_loaded)
    free = (BLOCKS - 1) * (2 if isinstance(empty, Records) else 1)
    birge = load.significant_inflation
    variance = birge**2 * noise * widened_by_blocks(noise, blocks, free)
    values, reason, parts = load.values, "a quick run was asked for", ["noise", "blocks"]
    if not isinstance(empty, Records):
        parts.append("the robot's own uncertainty")
    if not quick:
        changes, reason = _repetitions(empty, full, load)
        if changes is not None:
            correction, extra = _bias(changes, np.sqrt(noise))
            values, variance = values + correction, variance + extra
            parts.append("bias")
        elif shifts := _moved(empty, full, load):
            variance = variance + np.max(np.abs(shifts), axis=0) ** 2
            parts.append("neighbouring cut-offs")
    return Sure(values, np.sqrt(variance), birge, _choice(parts, noise, variance, birge, reason))


def _bias(changes: Array, noise: Array) -> tuple[Array, Array]:
    """Correction (10,) and what it adds to the variances, as in `decisions.intervals`."""
    m, known = changes.mean(axis=0), noise > 0.0
    scatter = changes.std(axis=0, ddof=1)[known] / noise[known]
    kappa = float(np.sqrt(np.mean(scatter**2))) if known.any() else 0.0
    se = kappa * noise / np.sqrt(len(changes))
    share = np.maximum(0.0, 1.0 - se**2 / np.maximum(m**2, 1e-300))
    return -share * m, share * se**2 + (DISTRUSTED * share * m) ** 2


def _repetitions(empty: Records | Stated, full: Records, load: Load) -> tuple[Array | None, str]:
    """(R, 10) by how much simulated repetitions with the estimate miss it, or why there are none."""
    of_full = full.repeated(seed=1)
    if not of_full.runs:
        return None, of_full.reason
    changes = (of_full.betas - full.beta) @ load.by_loaded.T
    if isinstance(empty, Records):  # a result has taken its bias out by itself
        other = empty.repeated(seed=0)
        if not other.runs:
            return None, other.reason
        count = min(len(of_full.runs), len(other.runs))
        changes = changes[:count] + ((other.betas - empty.beta) @ load.by_unloaded.T)[:count]
    return changes, ""


def _moved(empty: Records | Stated, full: Records, load: Load) -> list[Array]:
    """(10,) each, what neighbouring cut-offs change when both sets of records are prepared with them."""
    changes = [load.by_loaded @ change for change in full.neighbours()]
    if isinstance(empty, Records) and changes:
        changes = [p + load.by_unloaded @ change for p, change in zip(changes, empty.neighbours(), strict=True)]
    return changes


def _choice(parts: list[str], noise: Array, variance: Array, birge: float, reason: str) -> Choice:
    known = noise > 0.0
    median = float(np.median(np.sqrt(variance[known] / noise[known]))) if known.any() else 1.0
    return Choice("load intervals", ", ".join(parts), LoadWidening(median, birge, reason))
