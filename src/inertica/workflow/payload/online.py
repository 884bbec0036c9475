"""The load that a robot carries, found while it moves: an identified robot, and samples as they come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from inertica.arrays import Array
from inertica.checks.seen import seen
from inertica.errors import InputError
from inertica.estimators.recursive.live import RowOptions, RowStream, Sample
from inertica.estimators.recursive.load import LoadEstimate, OnlinePayload
from inertica.logs.breaks import LONGEST
from inertica.logs.lines import Block
from inertica.logs.log import Log
from inertica.robot.description import Description
from inertica.robot.flange import Flange, flange
from inertica.workflow.decisions.shared_bandwidth import fitted_bandwidth
from inertica.workflow.identify.choice import Choice
from inertica.workflow.identify.inputs import described
from inertica.workflow.identify.reasons import Words
from inertica.workflow.identify.result import Result
from inertica.workflow.identify.start_values import PRIOR
from inertica.workflow.payload.records import Stated
from inertica.workflow.payload.result import Payload
from inertica.workflow.watch import begun, log_blocks, motion_start, resting_velocity, stretch_band, stretch_bandwidth

SMOOTH = 2.0
"""Motion and torque are low-passed at this many times the bandwidth of the rows."""

PERIODS = 3.0
"""Periods of the loaded motion's band that are looked at before anything is said: the robot is known, and so is its bandwidth."""

FASTEST = 0.02
"""Of the rate of the samples: bandwidth of the rows of a result that was fitted without any cut-off."""


@dataclass(frozen=True, eq=False)
class LoadSnapshot:
    """What is known of a load at some time: s of the last sample, the estimate, and the load as `payload` states one."""

    time: float
    estimate: LoadEstimate
    payload: Payload


def online_payload(
    robot_from: str | Path | Result, rate: float, *, frame: str | tuple[float, ...] | None = None, forgetting: float = 1.0,
    velocity: bool = False, still: Array | float = 0.0, robot: Description | None = None, bandwidth: float | None = None,
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
        bandwidth: Hz up to which torque follows from the loaded motion, where that is known; the result's own is not gone beyond.

    Examples:
        >>> online = ia.online_payload("result", rate=500.0)
    """
    result = _result(robot_from)
    description, base = result.description, result.estimate.base
    rows = row_bandwidth(result, rate, bandwidth)
    options = RowOptions(SMOOTH * rows, rows, order=1, reversals=True)
    stream = RowStream(base, rate, options=options, prior=description.prior, still=still, velocity=velocity)
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

    Examples:
        >>> snapshots = list(ia.payload_while_moving("result", "gripper.csv.gz"))
    """
    result = _result(robot_from)
    description = result.description if robot is None else described(robot)
    origin = "samples as they came"
    if isinstance(loaded, (str, Path)):
        loaded = seen(loaded, description)
    if isinstance(loaded, Log):
        origin, loaded = str(loaded.origin), log_blocks(loaded)
    first, source = begun(loaded, PERIODS)
    if first.q.shape[1] != description.robot.n:
        raise InputError(f"{origin} has {first.q.shape[1]} joints, {description.name} has {description.robot.n}")
    rate = 1.0 / float(np.median(np.diff(first.t)))
    bandwidth = _bandwidth_of(result, first)
    still = resting_velocity(first.q, rate, SMOOTH * row_bandwidth(result, rate, bandwidth))
    online = online_payload(
        result, rate, frame=frame, forgetting=forgetting, velocity=first.dq is not None, still=still, robot=description,
        bandwidth=bandwidth,
    )  # fmt: skip
    at, due, reported, time = flange(description, frame), float(first.t[0]) + every, -np.inf, float(first.t[0])
    for block in chain([first], source):
        for k, now in enumerate(block.t):
            if now - time > LONGEST / rate:
                online.restart()
            time = float(now)
            online.update(Sample(block.q[k], block.tau[k], None if block.dq is None else block.dq[k]))
            if time >= due:
                yield _snapshot(float(time), online, result, at, origin)
                reported, due = time, due + every * np.ceil((time - due) / every + 1e-9)
                due = due if due > time else due + every
    if time > reported:
        yield _snapshot(float(time), online, result, at, origin)


def _result(robot_from: str | Path | Result) -> Result:
    return robot_from if isinstance(robot_from, Result) else Result.load(robot_from)


def row_bandwidth(result: Result, rate: float, bandwidth: float | None = None) -> float:
    """Hz, of the low-pass on rows: up to where torque follows from the motion, in the result's records and in the loaded motion.

    Args:
        result: of the robot without load.
        rate: of the samples in Hz.
        bandwidth: Hz, of the loaded motion, where it is known.
    """
    fitted = fitted_bandwidth(result.recipe)
    known = [f for f in (fitted, bandwidth) if f is not None]
    return min(known) if known else FASTEST * rate


def _bandwidth_of(result: Result, first: Block) -> float | None:
    """Hz up to which torque follows from the motion of the first samples; None where the robot has not moved in them."""
    if stretch_band(first) == 0.0:
        return None
    d = result.description
    moving = first[motion_start(first.q) :]
    return stretch_bandwidth(d, result.estimate.base, moving, result.recipe.delays(d.robot.n))


def _snapshot(time: float, online: OnlinePayload, result: Result, at: Flange, origin: str) -> LoadSnapshot:
    estimate = online.estimate
    why = (
        "noise, as far as it lasts up to half a second, and the robot's own uncertainty; bias of the filters and what blocks of the "
        "record disagree on are not in them, a fit of whole records is the place for those"
    )
    choices = tuple(c for c in result.choices if c.subject == PRIOR)
    return LoadSnapshot(
        time,
        estimate,
        Payload(
            description=result.description,
            flange=at,
            values=estimate.values,
            intervals=estimate.intervals,
            covariance=estimate.covariance,
            measured=estimate.measured,
            labels=estimate.labels,
            choices=(*choices, Choice("load intervals", "noise, the robot's own uncertainty", Words(why))),
            warnings=(),
            residuals={},
            logs={"loaded": (origin,)},
            moments=estimate.moments,
        ),
    )
