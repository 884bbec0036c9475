"""The load beyond a force-torque sensor, and the sensor's bias: from positions and readings, without joint torques or masses of links.

    reading = s Y p + bias + noise,      Y from the motion of the sensor's frame,

p the ten parameters of what hangs on the sensor, s = 1 where it reads what it does to the load, -1 where it reads what the load does
to it: the sign for which the mass is positive.  Motion and wrench pass the same low-pass, channels count by their own noise, and the
covariance holds the serial correlation of what is left.  Poses at rest show mass and centre; inertia needs motion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inertica.dynamics import recursions
from inertica.errors import InputError
from inertica.estimators.covariance import correlation_times, lags_for, long_run
from inertica.estimators.evidence import ScaledSvd
from inertica.estimators.load_trust import first_moments, load_labels
from inertica.identifiability.labels import INTERVAL
from inertica.logs.log import Log
from inertica.logs.names import take_apart
from inertica.logs.units import factor
from inertica.logs.wrench import PARTS, wrench_columns
from inertica.physical.body import possible_body
from inertica.preprocessing.filters import Unfiltered
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description
from inertica.robot.flange import Flange, flange
from inertica.robot.inertia import frame_change_matrix
from inertica.robot.loops import require_tree
from inertica.robot.model import Robot
from inertica.robot.terms import RigidBody
from inertica.threads import one_thread
from inertica.workflow.decisions.filter import position_edge, recipe_for
from inertica.workflow.identify.choice import Choice
from inertica.workflow.identify.inputs import LogLike, described, read_one
from inertica.workflow.identify.reasons import Words
from inertica.workflow.payload.result import Payload, SensorBias

Array = NDArray[np.float64]

ROUNDS = 3
"""Weights of the channels by what the fit before leaves of them."""


@dataclass(frozen=True, eq=False)
class SensorRows:
    """Rows of one record, masked ones left out.

    Args:
        Y: (M, 6, 16) columns of the bias and of the load.
        reading: (M, 6).
    """

    Y: Array
    reading: Array


def payload_by_wrench(
    robot: str | Path | Description,
    logs: Sequence[LogLike],
    frame: str | tuple[float, ...] | None = None,
    cutoff: float | None = None,
    at_rest: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Payload:
    """The load beyond a force-torque sensor.

    Args:
        robot: as in `identify`; only its geometry counts.
        logs: with positions of the joints and the readings of the sensor (columns `wrench_fx` ... `wrench_tz`).
        frame: of the sensor, see `robot.flange.flange`; the load is stated in it.
        cutoff: Hz of the low-pass; as wide as the positions hold motion by default.
        at_rest: every sample was taken while the robot stood still.
        progress: receives one line per step.
    """
    say = progress or (lambda _: None)
    description = described(robot)
    require_tree(description.robot, "a load by a wrist sensor")
    at = flange(description, frame)
    with_sensor = replace(
        description, log={**description.log, "surroundings": True}
    )  # bags hold the sensor on a topic of its own
    records = [without_torque(read_one(log, with_sensor, "q")) for log in logs]
    say("rows of the sensor")
    if at_rest:
        rows = [rows_at_rest(description.robot, at.body, log, at.name) for log in records]
        used = Choice("motion", "at rest", Words("every sample counts as taken at rest, as the user says"), automatic=False)
    else:
        band = cutoff or position_edge(records)
        rows = [sensor_rows(description.robot, at.body, log, at.name, band) for log in records]
        sentence = f"positions hold motion up to {band:.3g} Hz; the wrench passes the same low-pass"
        used = Choice("bandwidth", f"{band:.3g} Hz", Words(sentence), automatic=cutoff is None)
    with one_thread():
        return _load(description, at, rows, records, used)


def rows_at_rest(robot: Robot, at: RigidBody, log: Log, name: str) -> SensorRows:
    """Columns and readings of one log, sample by sample as recorded."""
    use = ~log.mask
    q, reading = log.need("q")[use], _readings(log, name)[use]
    still = np.zeros(q.shape)
    return SensorRows(_with_bias(load_regressor(robot, at, q, still, still), np.ones(len(q))), reading)


def _with_bias(Y: Array, one: Array) -> Array:
    """(M, 6, 16) columns of the bias, which is `one` (M,) as the filters left it, before those of the load."""
    return np.concatenate([one[:, None, None] * np.eye(6), Y], axis=2)


def sensor_rows(robot: Robot, at: RigidBody, log: Log, name: str, band: float) -> SensorRows:
    """Columns and readings of one log, low-passed alike."""
    reading = _readings(log, name)
    rate = log.rate
    recipe = recipe_for(min(band, 0.2 * rate), rate, Recipe(standstill=None))
    motion = prepare(log, recipe)
    sensor = Log.from_arrays(log.t, {"q": reading, "tau": reading}).with_mask(log.mask, "not in use")
    on_clock = prepare(sensor, Recipe(rate=motion.recipe.rate, filter=Unfiltered(), standstill=None, border=0))
    Y = load_regressor(robot, at, motion.q, motion.dq, motion.ddq)
    columns = np.column_stack([Y.reshape(len(Y), 60), on_clock.q, np.ones(len(Y))])
    thin = motion.decimator.decimate(columns)
    use = ~(motion.decimated_mask | motion.decimator.mask(on_clock.mask, on_clock.spoiled))
    return SensorRows(_with_bias(thin[use, :60].reshape(-1, 6, 10), thin[use, 66]), thin[use, 60:66])


def without_torque(log: Log) -> Log:
    """The log with torques of zero, which nobody looks at."""
    return replace(log, signals={"q": log.need("q"), "tau": np.zeros(log.need("q").shape)})


def load_regressor(robot: Robot, at: RigidBody, *motion: Array) -> Array:
    """(N, 6, 10) force and moment that the ten unit parameters of a body need for a motion q, dq, ddq; about its origin."""
    q, dq, ddq = (list(np.asarray(x).T) for x in motion)
    unit = recursions.unit_wrenches(recursions.poses(robot, q), dq, ddq, robot.gravity)[at.link]
    in_link = np.empty((len(motion[0]), 6, 10))
    for k, wrench in enumerate(unit):
        for i, value in enumerate(wrench):
            in_link[:, i, k] = value
    R, lever = np.array(at.rotation), np.cross(at.position, np.eye(3)).T  # lever @ f = position x f
    in_link = in_link @ frame_change_matrix(at.rotation, at.position)
    force, moment = in_link[:, :3], in_link[:, 3:]
    return np.concatenate([R.T @ force, R.T @ (moment - lever @ force)], axis=1)


def _readings(log: Log, name: str) -> Array:
    """(N, 6) N and N m."""
    recorded = {channel.name: channel.samples for channel in log.channels if not channel.symbol}
    columns = wrench_columns(recorded, name) or wrench_columns(recorded)
    if lacking := [part for part in PARTS if part not in columns]:
        raise InputError(
            f"{log.origin} has no {', '.join(lacking)} of a force-torque sensor; columns wrench_fx, wrench_fy, wrench_fz (N), "
            "wrench_tx, wrench_ty, wrench_tz (N m) hold its readings, in its frame and about its origin"
        )
    scale = [factor(take_apart(columns[part]).unit or unit, unit, f"{log.origin}: the column '{columns[part]}'")
             for part, unit in zip(PARTS, ["N"] * 3 + ["N m"] * 3, strict=True)]  # fmt: skip
    return np.column_stack([recorded[columns[part]].astype(float) for part in PARTS]) * scale


def _load(description: Description, at: Flange, rows: Sequence[SensorRows], logs: Sequence[Log], used: Choice) -> Payload:
    samples = sum(len(one.reading) for one in rows)
    if samples < 20:
        raise InputError(f"{', '.join(str(log.origin) for log in logs)}: {samples} samples are too few to find a load and a bias")
    sigma = np.ones(6)
    for _ in range(ROUNDS):
        x, covariance, svd, left = _solved(rows, sigma)
        sigma = np.sqrt(np.mean(np.concatenate(left) ** 2, axis=0))
        sigma = np.maximum(sigma, 1e-12 * max(sigma.max(), 1e-300))
    x, covariance, svd, left = _solved(rows, sigma)
    bias, p, C = x[:6], x[6:], covariance[6:, 6:]
    # the sensor reads what it does to the load, or what the load does to it: masses are positive
    reads_load = p[9] < 0.0
    p = -p if reads_load else p
    lost = svd.unresolved
    known = np.abs(lost).max(axis=1, initial=0.0) < 1e-6
    load_lost = lost[6:]
    silent = np.linalg.norm(load_lost, axis=1) > 1.0 - 1e-9
    p, C = np.where(silent, 0.0, p), np.where(silent[:, None] | silent, 0.0, C)  # rounding would look like something known
    open_directions = _basis(load_lost / svd.scale[6:, None])
    body = possible_body(p, C, ~known[6:], open_directions)
    labels = load_labels(known[6:], silent, p, np.sqrt(np.diag(C)), body)
    spread = np.where(known[:6], INTERVAL * np.sqrt(np.diag(covariance)[:6]), np.inf)
    force, moment = (float(np.sqrt(np.mean(np.concatenate(left)[:, part] ** 2))) for part in (slice(0, 3), slice(3, 6)))
    sign = "does to the sensor (the reaction)" if reads_load else "needs (what the sensor does to it)"
    met = f"load and bias leave {force:.2g} N and {moment:.2g} N m (rms) of the readings"
    choices = (
        used,
        Choice(
            "sign",
            "reaction" if reads_load else "action",
            Words(f"the sensor reads what the load {sign}, or its mass were negative"),
        ),
        Choice("residual", f"{force:.2g} N, {moment:.2g} N m", Words(met)),
    )
    return Payload(
        description=description, flange=at, values=body.values, intervals=np.column_stack([body.lower, body.upper]), covariance=C,
        measured=p, labels=labels, choices=choices, warnings=(), residuals={}, logs={"loaded": tuple(str(log.origin) for log in logs)},
        moments=first_moments(p, C, body, open_directions, labels),
        bias=SensorBias(bias, np.column_stack([bias - spread, bias + spread])),
    )  # fmt: skip


def _solved(rows: Sequence[SensorRows], sigma: Array) -> tuple[Array, Array, ScaledSvd, list[Array]]:
    """[bias, load] by weighted least squares, their covariance, what the rows resolve, and residuals per record."""
    weighted = [one.Y / sigma[:, None] for one in rows]
    A = np.concatenate(weighted).reshape(-1, 16)
    z = np.concatenate([one.reading / sigma for one in rows]).ravel()
    R = np.asarray(np.linalg.qr(np.column_stack([A, z]), mode="r"))
    svd = ScaledSvd.of(R[:16, :16])
    x = svd.solve(R[:16, 16])
    residuals, meat = [], np.zeros((16, 16))
    for one, W in zip(rows, weighted, strict=True):
        left = one.reading / sigma - W @ x
        lags = lags_for(len(left), correlation_times(left))
        meat += long_run(np.einsum("kib,ki->kb", W, left), lags)
        residuals.append(left * sigma)
    bread = svd.half @ svd.half.T
    freedom = len(A) / max(len(A) - 16, 1)
    return x, freedom * bread @ meat @ bread, svd, residuals


def _basis(columns: Array) -> Array:
    """Independent columns of what is not known of the load alone."""
    if not columns.size:
        return np.zeros((10, 0))
    U, s, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(U[:, s > 1e-9 * s.max(initial=1e-300)])
