"""What a result is worth: good, doubtful or bad by fixed conditions, each with the numbers and the joints it is not met for.

One residual decides, the one that is shown: |tau - tau_hat| / |tau| of the torque as recorded, every finite sample, on the worst data
set that was not fitted (`headline_set`).  Text is made of a verdict in `report/verdict_words.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from inertica.physical.check import check_links
from inertica.physical.plausible import MASS_FACTOR, Implausibility
from inertica.robot.model import Robot
from inertica.robot.natural import levers
from inertica.validation.residuals import Residual
from inertica.workflow.export.exported import ExportedModel
from inertica.workflow.identify.before import headline_set
from inertica.workflow.identify.inputs import HOLD_OUT, IDENTIFICATION
from inertica.workflow.identify.result import Result

GOOD, DOUBTFUL, BAD = "good", "doubtful", "bad"

OVERALL = 0.2
"""Share of the torque of all joints together that a good model may miss, besides white noise of the torque."""

JOINT = 0.3
"""Share of its own torque by which no joint that carries load may be missed, noise included."""

NOTHING = 0.8
"""Share of the torque of all joints, besides white noise, from which next to nothing is predicted."""

LOAD = 0.1
"""A joint carries load when what friction and noise leave of its torque is this share of the largest such torque of the robot.  Of
the 19 joints of three recorded arms, 8 in the wrists have 0.4 to 5 %, all others 12 % and more."""

WORSE, CLOSE = 2.0, 0.05
"""Ratio of validation to identification residual from which a model does not carry over, and the share of the torque up to which
it does whatever the ratio."""

NO_GAIN = 1.1
"""Ratio to the residual of the model that came in from which the identified one is worse; less is within the scatter of data sets."""

LOST = 0.5
"""Share of the gain over the model that came in which an exported model may lose."""

TOTAL_FACTOR = 2.0
"""Ratio of the total mass to the model's, or its inverse, beyond which masses are implausible; that of a link is
`physical.plausible.MASS_FACTOR`."""

SMALL = 0.1
"""Share of the model's total mass: a link that is off by less, and whose interval excludes the model's mass, is no reason to reject
the others (a flange with a tool on it)."""


class What(StrEnum):
    """Conditions."""

    NOTHING = "next to nothing is predicted"
    TOTAL_MASS = "total mass"
    LINK_MASS = "link mass"
    CARRY_OVER = "residual beside that of the fitted data"
    WORSE = "residual beside that of the model that came in"
    JOINT = "residual of a joint that carries load"
    RESIDUAL = "residual of all joints"
    UNVALIDATED = "no data left out"
    CHECK = "check of the log"
    LACK_OF_FIT = "lack of fit"
    BODY = "mass or centre of mass"
    IMPOSSIBLE = "link that could not exist"
    EXPORT = "residual of the exported model"
    LIGHT_JOINT = "residual of a joint that carries little load"


LEVELS = {What.NOTHING: BAD, What.TOTAL_MASS: BAD, What.LINK_MASS: BAD, What.LIGHT_JOINT: GOOD}
"""What a condition that is not met makes of a verdict at best; doubtful, where it is not listed."""


@dataclass(frozen=True)
class Reason:
    """A condition that is not met.

    Args:
        what: which one.
        joints: 1-based joints (or the links behind them) that it is not met for; empty for the robot as a whole.
        value: what was found: a residual as a share of torque, a factor between a mass and the model's (at least one, either way), a
            margin of physical consistency; None without a number.
        limit: that the value should not exceed; a margin should not be below it.
    """

    what: What
    joints: tuple[int, ...] = ()
    value: float | None = None
    limit: float | None = None

    @property
    def level(self) -> str:
        return LEVELS.get(self.what, DOUBTFUL)


@dataclass(frozen=True)
class Verdict:
    """A judgement.

    Args:
        level: good, doubtful or bad.
        reasons: conditions that are not met, the most important one first; a good result may have joints of little load here.
        data_set: on which the residual was judged.
        residual: of all joints, raw torque, on that data set.
    """

    level: str
    reasons: tuple[Reason, ...]
    data_set: str
    residual: float


def verdict(result: Result) -> Verdict:
    """Judges by the worst data set that was not used in the fit.

    Args:
        result: with its residuals, what the check and the tests of the residuals found, and the model files written of it.
    """
    name = headline_set(result.residuals)
    judged = result.residuals[name]
    all_reasons = [
        *_of_prediction(result, name, judged), *_of_findings(result), *_of_values(result),
        *_of_export(result, name, judged.raw.all),
    ]  # fmt: skip
    levels = (GOOD, DOUBTFUL, BAD)
    reasons = tuple(
        sorted(all_reasons, key=lambda reason: -levels.index(reason.level))
    )  # stable: otherwise in the order of importance
    return Verdict(reasons[0].level if reasons else GOOD, reasons, name, judged.raw.all)


def carries_load(residual: Residual, robot: Robot) -> tuple[bool, ...]:
    """(n,) whether links, drives or springs load a joint, by the torque that friction, offsets and white noise leave unexplained.

    What a wrong model misses counts as load: nobody knows that it is friction.  Forces of sliding joints are compared with torques by
    the length of the longest link.  Results of earlier versions know the torque only, or nothing: then all of it is load.
    """
    if residual.shares is not None:
        load = np.array(residual.shares.load)
    elif residual.moving is not None:
        load = np.array(residual.moving.torque)
    else:
        load = np.full(robot.n, math.inf)
    load = np.nan_to_num(load, nan=0.0) * levers(robot)
    return tuple(bool(x) for x in load >= LOAD * load.max(initial=0.0))


def _of_prediction(result: Result, name: str, judged: Residual) -> Iterator[Reason]:
    """Conditions on how well torque is predicted; the first is the one that matters most."""
    raw, noise = judged.raw.all, 0.0 if judged.shares is None else judged.shares.noise_share(levers(result.description.robot))
    least = math.hypot(NOTHING, noise)
    if not raw < least:
        yield Reason(What.NOTHING, (), raw, least)
        return
    residual = result.residuals[IDENTIFICATION].raw.all
    if name not in (HOLD_OUT, IDENTIFICATION) and raw > (most := max(CLOSE, WORSE * residual)):
        yield Reason(What.CARRY_OVER, (), raw, most)
    if result.before is not None and raw > (most := NO_GAIN * result.before.residual.raw.all):
        yield Reason(What.WORSE, (), raw, most)
    loaded = carries_load(judged, result.description.robot)
    driven = result.description.robot.driven
    missed = [(j, x) for j, x in enumerate(judged.raw.per_joint[:driven]) if x > JOINT]
    yield from (Reason(What.JOINT, (j + 1,), x, JOINT) for j, x in missed if loaded[j])
    if raw > (most := math.hypot(OVERALL, noise)):
        yield Reason(What.RESIDUAL, (), raw, most)
    if name == IDENTIFICATION:
        yield Reason(What.UNVALIDATED)
    yield from (Reason(What.LIGHT_JOINT, (j + 1,), x, JOINT) for j, x in missed if not loaded[j])


def _of_findings(result: Result) -> Iterator[Reason]:
    """What the check of the logs and the tests of the residuals found."""
    if result.check is not None and result.check.problems:
        yield Reason(What.CHECK)
    if result.lack_of_fit is not None and result.lack_of_fit.named:
        joints = {test.joint for test in result.lack_of_fit.tests if test.flagged and test.joint is not None}
        yield Reason(What.LACK_OF_FIT, tuple(sorted(joints)))


def _of_values(result: Result) -> Iterator[Reason]:
    for doubt in result.masses.doubts:
        factor = max(doubt.value, 1.0 / doubt.value) if doubt.value > 0.0 else math.inf
        if doubt.what is Implausibility.TOTAL_MASS and factor > TOTAL_FACTOR:
            yield Reason(What.TOTAL_MASS, (), factor, TOTAL_FACTOR)
        elif doubt.what is Implausibility.LINK_MASS and _matters(result, doubt.links[0] - 1):
            yield Reason(What.LINK_MASS, doubt.links, factor, doubt.limit)
        else:
            yield Reason(What.BODY, doubt.links, factor, doubt.limit)
    if not result.physically_consistent:
        joints = result.description.robot.links
        bad = [
            (j + 1, link.margin) for j, link in zip(joints, check_links(result.parameters), strict=False) if not link.consistent
        ]
        yield Reason(What.IMPOSSIBLE, tuple(j for j, _ in bad), min((m for _, m in bad), default=None), 0.0)


def _matters(result: Result, link: int) -> bool:
    """Whether a link's mass is off by a share of the robot's, or by what no data decide."""
    masses = result.masses.links[link]
    low, high = masses.interval
    decided = low > MASS_FACTOR * masses.prior or high < masses.prior / MASS_FACTOR
    return not decided or abs(masses.mass - masses.prior) > SMALL * result.masses.prior_total


def _of_export(result: Result, name: str, residual: float) -> Iterator[Reason]:
    """A model file that keeps less than half of what was gained over the one that came in (or over no model at all)."""
    start = 1.0 if result.before is None else min(result.before.residual.raw.all, 1.0)
    most = residual + LOST * max(start - residual, 0.0)
    measured = [_exported_residual(model, name, residual) for model in result.exported if model.residual]
    if measured and max(measured) > most:
        yield Reason(What.EXPORT, (), max(measured), most)


def _exported_residual(model: ExportedModel, name: str, residual: float) -> float:
    """What a written file leaves of the raw torque of a data set, with friction near standstill as the result predicts it.

    On data that a second fit left out, for which no file was written: the residual there and what the file adds on the fitted data.
    """
    return residual + model.lost_content(name if name in model.residual else IDENTIFICATION)
