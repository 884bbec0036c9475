"""The load that a robot carries, found while it moves: an identified robot, and samples as they come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inertica.errors import InputError
from inertica.estimators.recursive.live import CUTOFF, RowStream, Sample
from inertica.estimators.recursive.load import LoadEstimate, OnlinePayload
from inertica.logs.lines import Block
from inertica.logs.log import Log
from inertica.logs.read import read_log
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description
from inertica.robot.flange import Flange, flange
from inertica.robot.load import load as load_robot
from inertica.workflow.choice import Choice
from inertica.workflow.payload_records import Stated
from inertica.workflow.payload_result import Payload
from inertica.workflow.result import Result
from inertica.workflow.start_values import PRIOR
from inertica.workflow.watch import begun, log_blocks, resting_velocity

Array = NDArray[np.float64]


BANDWIDTH = 20.0
"""Hz: of the low-pass on rows, of order 1, with which the intervals were measured (docs/payload.md)."""


@dataclass(frozen=True, eq=False)
class LoadSnapshot:
    """What is known of a load at some time: s of the last sample, the estimate, and the load as `payload` states one."""

    time: float
    estimate: LoadEstimate
    payload: Payload


def online_payload(
    robot_from: str | Path | Result, rate: float, *, frame: str | tuple[float, ...] | None = None, forgetting: float = 1.0,
    velocity: bool = False, still: Array | float = 0.0, robot: Description | None = None,
) -> OnlinePayload:  # fmt: skip
    """For a control loop: `update(sample)` with every sample, `estimate` whenever the load is wanted.

    Args:
        robot_from: a result of the robot without load.
        rate: of the samples in Hz.
        frame: in which the load is stated, see `robot.flange.flange`.
        forgetting: factor per row; 1 forgets nothing.
        velocity: whether samples have a measured velocity.
        still: (n,) velocities below which a joint rests.
        robot: the description that knows the frame; that of the result by default.
    """
    result = _result(robot_from)
    description, base = result.description, result.estimate.base
    cutoff, bandwidth = _frequencies(result.recipe)
    stream = RowStream(
        base, rate, cutoff=cutoff, bandwidth=bandwidth, prior=description.prior, still=still, velocity=velocity, order=1,
        reversals=True,
    )  # fmt: skip
    known, at = Stated.of(result).rows, flange(robot or description, frame)
    delays = result.recipe.delays(description.robot.n)
    return OnlinePayload(stream, known, at.body, delays, forgetting, description.prior)


def payload_while_moving(
    robot_from: str | Path | Result,
    loaded: str | Path | Log | Iterable[Block],
    *,
    robot: str | Path | Description | None = None,
    every: float = 1.0,
    frame: str | tuple[float, ...] | None = None,
    forgetting: float = 1.0,
) -> Iterator[LoadSnapshot]:
    """The load as samples come, every so many seconds and at the end.

    Args:
        robot_from: a result of the robot without load.
        loaded: a log, replayed, or blocks of samples.
        robot: as in `payload`.
        every: s between estimates.
        frame, forgetting: as for `online_payload`.
    """
    result = _result(robot_from)
    given = result.description if robot is None else robot if isinstance(robot, Description) else load_robot(robot)
    origin = "samples as they came"
    if isinstance(loaded, (str, Path)):
        loaded = read_log(loaded, given)
    if isinstance(loaded, Log):
        origin, loaded = str(loaded.origin), log_blocks(loaded)
    first, source = begun(loaded)
    if first.q.shape[1] != given.robot.n:
        raise InputError(f"{origin} has {first.q.shape[1]} joints, {given.name} has {given.robot.n}")
    rate = 1.0 / float(np.median(np.diff(first.t)))
    own = online_payload(
        result, rate, frame=frame, forgetting=forgetting, velocity=first.dq is not None, still=resting_velocity(first.q, rate),
        robot=given,
    )  # fmt: skip
    at, due, told, time = flange(given, frame), float(first.t[0]) + every, -np.inf, float(first.t[0])
    for block in chain([first], source):
        for k, time in enumerate(block.t):
            own.update(Sample(block.q[k], block.tau[k], None if block.dq is None else block.dq[k]))
            if time >= due:
                yield _snapshot(float(time), own, result, at, origin)
                told, due = time, due + every * np.ceil((time - due) / every + 1e-9)
                due = due if due > time else due + every
    if time > told:
        yield _snapshot(float(time), own, result, at, origin)


def _result(robot_from: str | Path | Result) -> Result:
    return robot_from if isinstance(robot_from, Result) else Result.load(robot_from)


def _frequencies(recipe: Recipe) -> tuple[float, float]:
    """Hz: cut-off of motion and torque and bandwidth of the rows, 60 and 20, or lower where the robot's noise asked for that.

    The result's fit knows up to which frequency its rows are signal; causal filters are less steep, and are set to it and twice it.
    """
    fitted = np.inf if recipe.decimate is None else recipe.decimate
    return min(CUTOFF, 2.0 * fitted), min(BANDWIDTH, fitted)


def _snapshot(time: float, own: OnlinePayload, result: Result, at: Flange, origin: str) -> LoadSnapshot:
    found = own.estimate
    why = (
        "noise, as far as it lasts up to half a second, and the robot's own uncertainty; bias of the filters and what blocks of the "
        "record disagree on are not in them, `payload` without --online is the place for those"
    )
    choices = tuple(c for c in result.choices if c.subject == PRIOR)
    return LoadSnapshot(
        time,
        found,
        Payload(
            description=result.description,
            flange=at,
            values=found.values,
            intervals=found.intervals,
            covariance=found.covariance,
            measured=found.measured,
            labels=found.labels,
            choices=(*choices, Choice("load intervals", "noise, the robot's own uncertainty", why)),
            warnings=(),
            residuals={},
            logs={"loaded": (origin,)},
            moments=found.moments,
        ),
    )
