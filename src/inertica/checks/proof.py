"""What a refusal rests on: torque of rows left out, which is explained once a fault is undone, and not before.

A fault that fits the rows better proves little: a short or slow motion leaves a fit free to follow anything, and a model may be wrong.
So thirds of the rows are predicted from the other two, by a fit near the model and by one from geometry alone, which knows nothing of
the links but that friction brakes.  With the fault undone both have to predict the joints that it is about: only then does the motion
determine what it is held against.  The log as it is must be refuted, too, in one of two ways:

    by data    neither fit predicts those joints, and every third is predicted better with the fault undone
    by model   geometry alone may explain the log, but only with links far from the model's; with the fault undone they are near, and
               explain left-out data as well as any links do

A factor of a single joint's torque cannot be told from a link that the model has wrong, so for it the second is none.  Positions
that the robot can take as they are need no other unit, whatever the torque says.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inertica.arrays import Array
from inertica.checks import ranges
from inertica.checks.hypotheses import AS_RECORDED, Hypothesis
from inertica.checks.plausible import FLOOR, HypothesisFit, Judge
from inertica.guard import MATTERS

PARTS = 3
"""Parts of the rows that are left out in turn."""

MISSED, LOST = 0.3, 0.6
"""Parts of a joint's torque: a prediction that is wrong by more than the first does not explain it, by more than the second it is
refuted."""

FAR_BETTER = 2.0
"""Times by which errors have to be smaller with the fault undone where data alone refute the log."""

USUAL = 0.5
"""Distance of the links' torque from the model's that a log of the same robot with a fair model stays below."""

PERIODS, MANY_PERIODS = 2.5, 3.5
"""Periods of its own band that a motion has to hold before data speak against a log, and before the model does.  A drift across the
whole log counts as two: the window of the spectrum is as wide."""


@dataclass(frozen=True, eq=False)
class LeftOutPredictions:
    """Predictions of rows that were left out.

    Args:
        error: (PARTS, n) rms errors.
        size: (n,) rms torque of all rows.
    """

    error: Array
    size: Array

    @property
    def residual(self) -> Array:
        """(n,) relative error of each joint."""
        return np.asarray(np.sqrt(np.mean(self.error**2, axis=0)) / np.where(self.size > 0.0, self.size, np.inf))

    @property
    def overall(self) -> float:
        """Relative error of all joints together."""
        whole = float(np.sum(self.size**2))
        return float(np.sqrt(np.mean(self.error**2, axis=0).sum() / whole)) if whole > 0.0 else 0.0

    def of(self, h: Hypothesis) -> float:
        """Relative error of the one or two joints that a hypothesis is about, the worse; of all together when it is about more."""
        return float(self.residual[list(h.joints)].max()) if 0 < len(h.joints) <= 2 else self.overall

    def gains(self, other: LeftOutPredictions) -> Array:
        """(PARTS,) how much better these predictions are than others: logarithms of ratios of errors, over all joints."""
        mine, theirs = (np.log(np.hypot(x.error / np.where(x.size > 0.0, x.size, np.inf), FLOOR)) for x in (self, other))
        return np.asarray(np.sum(theirs - mine, axis=1))


def left_out(judge: Judge, h: Hypothesis) -> LeftOutPredictions:
    """Predict every third of the rows from a fit of the others, a fault undone in both."""
    rows = judge.under(h) or judge.rows
    part = np.arange(len(rows.q)) * PARTS // len(rows.q)
    error = np.zeros((PARTS, judge.engine.n))
    for k in range(PARTS):
        chi = judge.on(judge.rows.where(part != k)).fit(h).chi
        out = rows.where(part == k)
        predicted = [of_joint.torque(chi) for of_joint in judge.observe(out, h)]
        error[k] = np.sqrt(np.mean((out.tau - np.column_stack(predicted)) ** 2, axis=0))
    return LeftOutPredictions(error, np.sqrt(np.mean(rows.tau**2, axis=0)))


@dataclass(frozen=True, eq=False)
class Proof:
    """How far left-out data speak for a fault.

    Args:
        explained: with the fault undone, geometry alone and the fit near the model predict the torque, and positions that it takes for
            ones in another unit are beyond what the robot can reach.
        by_data: the log as it is is refuted by its data.
        by_model: it is refuted by the model.
        recorded, undone: left-out residual of the joints concerned, near the model, before and after.
        geometry_recorded, geometry_undone: the same from geometry alone.
    """

    explained: bool
    by_data: bool
    by_model: bool
    recorded: float
    undone: float
    geometry_recorded: float
    geometry_undone: float

    @property
    def holds(self) -> bool:
        return self.by_data or self.by_model

    def document(self) -> dict[str, object]:
        return {
            "left_out": self.recorded, "left_out_mended": self.undone, "left_out_geometry": self.geometry_recorded,
            "left_out_geometry_mended": self.geometry_undone, "proof": "data" if self.by_data else "model" if self.by_model else "",
        }  # fmt: skip


def proof(judge: Judge, h: Hypothesis, fit: HypothesisFit, periods: float) -> Proof:
    """What left-out data say of a fault that fits the rows better than the log as recorded.

    Args:
        judge: the rows and the model.
        h: the fault.
        fit: of all rows with the fault undone.
        periods: of its own band that the motion holds.
    """
    near = left_out(judge, AS_RECORDED), left_out(judge, h)
    free = left_out(judge.by_geometry, AS_RECORDED), left_out(judge.by_geometry, h)
    explained = max(near[1].of(h), near[1].overall, free[1].of(h), free[1].overall) < MISSED
    if h.rescaled:
        explained &= not ranges.possible(judge.engine.layout.robot, judge.rows.q)[list(h.rescaled)].all()
    refuted = all(
        before.of(h) > max(LOST, FAR_BETTER * after.of(h)) and after.gains(before).min() > 0.0 for before, after in (near, free)
    )
    # a model near which even the mended log is explained worse than by links far from it is no witness
    witness = near[1].of(h) < MATTERS * max(free[1].of(h), 1e-300)
    like = judge.knows_links and witness and not h.single and judge.similarity(fit, h, MISSED).distance < USUAL
    preferred = like and near[1].gains(near[0]).sum() > 0.0
    return Proof(
        explained,
        by_data=explained and refuted and periods > PERIODS,
        by_model=explained and preferred and periods > MANY_PERIODS,
        recorded=near[0].of(h), undone=near[1].of(h), geometry_recorded=free[0].of(h), geometry_undone=free[1].of(h),
    )  # fmt: skip
