"""The base of a robot that floats, as a log has it: columns by name, orientation checked, position and angles as signals of the six
joints it hangs on, and the forces that act on the robot as their torques.

A base is tracked (position and orientation) or bears an IMU (orientation and specific force); its place and heading do not matter for
torques, so that twice the integral of the acceleration serves as well as a position: filters take the same derivative of both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from inertica.arrays import Array, Mask
from inertica.errors import FileError
from inertica.excitation.kinematics import Frames, frames
from inertica.logs.names import take_apart, tokens
from inertica.logs.readers.table import Table
from inertica.logs.wrench import PARTS, wrench_columns
from inertica.robot.description import Contact, Description
from inertica.robot.floating import angles
from inertica.robot.model import FREE
from inertica.robot.settings import BASE_PARTS

AXES = ("x", "y", "z")

_ROT = {"quat", "quaternion", "orientation"}
_OF_BASE = {"base", "odom", "odometry", "pose", "twist", "trunk", "torso", "pelvis", "body"}
_WORDS = (
    ("base_rotvec", ({"rotvec", "rotation"},)),
    ("base_quat", (_ROT,)),
    ("imu_gyro", ({"imu"}, {"gyro", "gyroscope", "angular"})),
    ("imu_acc", ({"imu"}, {"acc", "accel", "acceleration", "accelerometer"})),
    ("base_ang_vel", ({"ang", "angular", "gyro"},)),
    ("base_lin_vel", ({"lin", "linear"}, {"vel", "velocity", "twist"})),
    ("base_pos", ({"pos", "position", "translation"},)),
)
"""Symbol -> one word of each set stands in the name; the first that fits counts."""

NORM = 0.01
"""A quaternion whose norm is further from one is no orientation; nearer ones are rounded numbers."""

STEEPEST = 0.98
"""Sine of the pitch beyond which yaw and roll turn about nearly the same axis."""

WRONG = 0.5
"""Share of the squared angular velocity, or of gravity, that an orientation read wrongly leaves unexplained."""

TURNS = 200
"""Turns between samples at which orientation and angular velocity are compared, so long that noise of single samples is small."""


@dataclass(frozen=True, eq=False)
class Base:
    """Signals of the six joints of a base.

    Args:
        q, dq: (N, 6).
        efforts: (N, n) what measured forces do to every joint, which is added to recorded torques.
        unknown: nobody measured what acts on the base.
        masks: reason -> (N,) samples without a value.
        notes: sentences for the log.
    """

    q: Array
    dq: Array
    efforts: Array
    unknown: bool
    masks: Mapping[str, Mask] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def joined(self, signals: Mapping[str, Array]) -> dict[str, Array]:
        """Signals of all joints from those of the robot's own joints."""
        out = dict(signals)
        n = self.efforts.shape[1] - FREE
        zero, none = np.zeros(self.q.shape), np.full(self.q.shape, np.nan)
        of_base = {"q": self.q, "dq": self.dq, "tau": none if self.unknown else zero}
        for symbol, values in signals.items():
            out[symbol] = np.hstack([values, of_base.get(symbol, none)])
        if "tau" in out:
            acting = self.efforts.copy()
            acting[:, n:] += of_base["tau"]
            out["tau"] = np.hstack([signals["tau"], zero]) + acting
        return out


def base_symbol(text: str) -> tuple[str, str] | None:
    """(symbol, axis) of a column of the base: `base_quat_w`, `/odom/pose/pose/position/x`, `imu/linear_acceleration/z`."""
    *words, last = tokens(take_apart(text).name) or [""]
    present = set(words)
    if last not in ("w", *AXES) or not present & (_OF_BASE | {"imu"}):
        return None
    for symbol, needed in _WORDS:
        if all(present & each for each in needed):
            return (symbol, last) if last in BASE_PARTS[symbol] else None
    return None


def base_columns(table: Table, stated: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Symbol -> axis -> column; those a card names by `base_quat_w` and so on go before names of columns.

    Raises:
        FileError: two columns for the same, or an incomplete set.
    """
    out: dict[str, dict[str, str]] = {}
    for symbol, column in stated.items():
        if column not in table.columns:
            raise FileError(table.path, f"the column '{column}' that the card names for {symbol} is not there: {table.shown()}")
        name, _, axis = symbol.rpartition("_")
        out.setdefault(name, {})[axis] = column
    taken = {(name, axis) for name, axes in out.items() for axis in axes}
    for text in table.columns:
        if (match := base_symbol(text)) is None or match in taken:
            continue
        symbol, axis = match
        if axis in (names := out.setdefault(symbol, {})):
            raise FileError(
                table.path,
                f"both '{names[axis]}' and '{text}' look like {symbol}_{axis} of the base; say in the card which one counts: "
                f"columns: {{{symbol}_{axis}: '{text}', ...}}",
            )
        names[axis] = text
    for symbol, names in out.items():
        if lacking := [axis for axis in BASE_PARTS[symbol] if axis not in names]:
            raise FileError(table.path, f"has {symbol}_{', '.join(names)} of the base, but no {symbol}_{', '.join(lacking)}")
    return out


def read_base(table: Table, description: Description, stated: Mapping[str, str], t: Array, q: Array) -> Base:
    """The base of a robot in a table.

    Args:
        table: of the file.
        description: the robot.
        stated: columns that a card names, by `base_quat_w` and so on.
        t: (N,) clock in s.
        q: (N, driven) positions of the robot's own joints.
    """
    if description.base_at_rest:
        return _at_rest(table, description, q)
    columns = base_columns(table, stated)
    signals = {
        symbol: np.column_stack([table.columns[names[axis]].astype(float) for axis in BASE_PARTS[symbol]])
        for symbol, names in columns.items()
    }
    missing = ~np.all([np.isfinite(x).all(axis=1) for x in signals.values()], axis=0) if signals else np.zeros(len(t), bool)
    use = ~missing & np.isfinite(t)
    R = np.broadcast_to(np.eye(3), (len(t), 3, 3)).copy()
    R[use] = _orientation(table, {symbol: x[use] for symbol, x in signals.items()})
    gravity = np.array(description.robot.gravity)
    _check_orientation(table, R[use], t[use], {symbol: x[use] for symbol, x in signals.items()}, gravity)
    turned = angles(R)
    steep = np.abs(np.sin(turned[:, 1])) > STEEPEST
    if steep[use].any():
        row = int(np.flatnonzero(steep & use)[0])
        raise FileError(
            table.path,
            f"the base pitches to {np.degrees(turned[row, 1]):.3g} degrees at {table.place(row)}, where its x axis points up or down "
            "and yaw cannot be told from roll; choose a base frame in the model whose x axis stays away from the vertical",
        )
    place, words = _place(table, signals, R, t, use, gravity)
    coordinates = np.column_stack([place, turned])
    dq = np.full(coordinates.shape, np.nan)
    if np.count_nonzero(use) > 2:
        dq[use] = np.gradient(coordinates[use], t[use], axis=0)
    whole = np.column_stack([np.where(np.isfinite(q), q, 0.0), coordinates])
    efforts, unknown, acting = _forces(table, description, whole)
    spoiled = missing | ~np.isfinite(efforts).all(axis=1)
    masks = {"missing value of the base": spoiled} if spoiled.any() else {}
    return Base(coordinates, dq, efforts, unknown, masks, (words, acting))


def _at_rest(table: Table, description: Description, q: Array) -> Base:
    """A base that stands still on a force sensor."""
    base = description.robot.joints[-1].link
    on_base = description if description.contacts else replace(description, contacts=(Contact(base, description.robot.n - 1),))
    still = np.zeros((len(q), FREE))
    efforts, unknown, acting = _forces(table, on_base, np.column_stack([np.where(np.isfinite(q), q, 0.0), still]))
    if unknown:
        raise FileError(
            table.path,
            f"has no force on {base}, which stands on a sensor (base: on-sensor); columns wrench_{base}_fx, _fy, _fz, _tx, _ty, _tz "
            "hold what the sensor exerts on it, in its frame and about its origin",
        )
    spoiled: Mask = np.asarray(~np.isfinite(efforts).all(axis=1))
    masks = {"missing value of the base": spoiled} if spoiled.any() else {}
    return Base(still, still, efforts, False, masks, ("the base is at rest on its sensor (base: on-sensor)", acting))


def _orientation(table: Table, signals: Mapping[str, Array]) -> Array:
    """(N, 3, 3) world <- base."""
    if "base_quat" in signals:
        quaternion = signals["base_quat"]
        norm = np.linalg.norm(quaternion, axis=1)
        off = np.abs(norm - 1.0) > NORM
        if off.any():
            raise FileError(
                table.path,
                f"the orientation of the base is not normalised: the norm of base_quat goes from {norm.min():.4g} to {norm.max():.4g} "
                f"({int(off.sum())} of {len(norm)} samples are off by more than {NORM:g}); are these its four columns?",
            )
        return _of_quaternion(quaternion / norm[:, None])
    if "base_rotvec" in signals:
        angle = np.linalg.norm(signals["base_rotvec"], axis=1, keepdims=True)
        half = np.sinc(angle / (2.0 * np.pi)) / 2.0  # sin(angle / 2) / angle
        return _of_quaternion(np.concatenate([np.cos(angle / 2.0), half * signals["base_rotvec"]], axis=1))
    raise FileError(
        table.path,
        "says nothing of the orientation of the base, which floats; it needs columns base_quat_w, base_quat_x, base_quat_y, "
        f"base_quat_z (or base_rotvec_x/y/z, rad), or their names in the card under columns; the file has: {table.shown()}",
    )


def _of_quaternion(quaternion: Array) -> Array:
    w, x, y, z = quaternion.T
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return np.moveaxis(np.array(rows), -1, 0)


def _readings(signals: Mapping[str, Array], R: Array) -> Iterator[tuple[str, Array]]:
    """Ways in which an orientation may be meant, the stated one first."""
    yield "", R
    yield "as base <- world: conjugate it (negate x, y, z)", np.swapaxes(R, 1, 2)
    if "base_quat" in signals:
        values = signals["base_quat"] / np.linalg.norm(signals["base_quat"], axis=1, keepdims=True)
        yield "in the order x, y, z, w: the columns named w, x, y, z hold x, y, z, w", _of_quaternion(values[:, [3, 0, 1, 2]])
        yield "in the order w, x, y, z: the columns named x, y, z, w hold w, x, y, z", _of_quaternion(values[:, [1, 2, 3, 0]])


def _check_orientation(table: Table, R: Array, t: Array, signals: Mapping[str, Array], gravity: Array) -> None:
    """Refuses an orientation that angular velocity or gravity contradict where another reading agrees with them."""
    misfits = {
        "angular velocity": _turning_misfit(R, t, signals),
        "gravity in the specific force": _gravity_misfit(R, signals, gravity),
    }
    for what, misfit in misfits.items():
        if misfit is None:
            continue
        left = {words: misfit(reading) for words, reading in _readings(signals, R)}
        best = min(left, key=lambda words: left[words])
        if left[""] > WRONG and left[best] < WRONG * left[""] and best:
            raise FileError(
                table.path,
                f"the orientation of the base does not agree with its {what} (it leaves {100 * left['']:.0f} % of it), but does so "
                f"({100 * left[best]:.0f} %) when read {best}; name the columns by what they hold, base_quat_w the real part of "
                "world <- base",
            )


def _turning_misfit(R: Array, t: Array, signals: Mapping[str, Array]) -> Callable[[Array], float] | None:
    """Share of the squared turns between samples, by angular velocity, that those of an orientation leave; None without one."""
    w = signals.get("imu_gyro", signals.get("base_ang_vel"))
    step = max(1, len(R) // TURNS)
    if w is None or len(R) < 3 * step:
        return None
    dt = np.diff(t)[:, None]
    turned = np.vstack([np.zeros(3), np.cumsum(0.5 * (w[1:] + w[:-1]) * dt, axis=0)])
    measured = (turned[step:] - turned[:-step])[::step]
    size = float(np.sum(measured**2))

    def misfit(reading: Array) -> float:
        change = np.einsum("kji,kjl->kil", reading[:-step:step], reading[step::step])
        skew = 0.5 * np.stack(
            [change[:, 2, 1] - change[:, 1, 2], change[:, 0, 2] - change[:, 2, 0], change[:, 1, 0] - change[:, 0, 1]], 1
        )
        return float(np.sum((skew - measured) ** 2)) / size if size > 0.0 else 0.0

    return misfit


def _gravity_misfit(R: Array, signals: Mapping[str, Array], gravity: Array) -> Callable[[Array], float] | None:
    """Share of squared gravity that the mean specific force, turned into the world, leaves; None without one."""
    force = signals.get("imu_acc")
    if force is None or not np.any(gravity):
        return None

    def misfit(reading: Array) -> float:
        mean = np.einsum("kij,kj->ki", reading, force).mean(axis=0)
        return float(np.sum((mean + gravity) ** 2) / np.sum(gravity**2))

    return misfit


def _place(
    table: Table, signals: Mapping[str, Array], R: Array, t: Array, use: Mask, gravity: Array
) -> tuple[Array, str]:  # fmt: skip
    """(N, 3) a position whose second derivative is the acceleration of the base, and where it comes from."""
    if "base_pos" in signals:
        return signals["base_pos"], "the motion of the base follows from its recorded position and orientation"
    if "imu_acc" in signals:
        acceleration = np.einsum("kij,kj->ki", R, np.where(use[:, None], signals["imu_acc"], 0.0)) + use[:, None] * gravity
        return _integral(_integral(acceleration, t, use), t, use), (
            "the motion of the base follows from its orientation and the specific force of the IMU, taken to sit at the origin of "
            "the base with its axes; its position is twice the integral of that and drifts, which torques do not feel"
        )
    if "base_lin_vel" in signals:
        velocity = np.einsum("kij,kj->ki", R, np.where(use[:, None], signals["base_lin_vel"], 0.0))
        return _integral(velocity, t, use), (
            "the motion of the base follows from its orientation and its linear velocity, taken to be in the frame of the base"
        )
    raise FileError(
        table.path,
        "has the orientation of the base but not how it moves: columns base_pos_x/y/z (m, in the world), imu_acc_x/y/z (m/s^2, "
        "specific force in the frame of the base) or base_lin_vel_x/y/z (m/s, in the frame of the base) say it",
    )


def _integral(values: Array, t: Array, use: Mask) -> Array:
    """By trapezoids over the samples in use, from zero."""
    out = np.zeros(values.shape)
    steps = 0.5 * (values[use][1:] + values[use][:-1]) * np.diff(t[use])[:, None]
    out[use] = np.vstack([np.zeros(values.shape[1]), np.cumsum(steps, axis=0)])
    return out


def _forces(table: Table, description: Description, q: Array) -> tuple[Array, bool, str]:
    """(N, n) efforts of measured forces, whether something unknown holds the base, and what acts in words."""
    robot, contacts = description.robot, description.contacts
    base = robot.joints[-1].link
    if contacts is None:
        raise FileError(
            table.path,
            f"nothing says what acts on {robot.name}, whose base floats; state it in the card: `contacts: none` (it flies), "
            f"`contacts: [{base}]` (its base is held or carried by forces that nobody measures), or `contacts: [LINK, ...]` with the "
            "wrench on each link in columns wrench_LINK_fx, _fy, _fz (and _tx, _ty, _tz)",
        )
    efforts = np.zeros((len(q), robot.n))
    if not contacts:
        # 0 = W beta says how parameters are to each other, with errors of the tracker in every column and none in what is fitted
        flying = f"nothing acts on the robot but gravity (contacts: none); rows of {base}, whose torque is zero, are left out"
        return efforts, True, flying
    at, measured, unknown = frames(robot, q), [], False
    for contact in contacts:
        columns = wrench_columns(table.columns, contact.name)
        if not columns and contact.link == robot.n - 1:
            unknown = True
            continue
        if not columns:
            raise FileError(
                table.path,
                f"has no force on {contact.name}, which the card lists under contacts: columns wrench_{contact.name}_fx, _fy, _fz in "
                "the frame of that link are needed; forces that nobody measures are taken on the base alone",
            )
        wrench = np.column_stack([table.columns[columns[c]].astype(float) if c in columns else np.zeros(len(q)) for c in PARTS])
        efforts += _efforts(at, contact, wrench)
        measured.append(contact.name)
    words = [f"forces measured on {', '.join(measured)} count as torques of every joint that feels them"] if measured else []
    words += [f"what acts on {base} is unknown: its rows are left out"] if unknown else []
    return efforts, unknown, "; ".join(words)


def _efforts(at: Frames, contact: Contact, wrench: Array) -> Array:
    """(N, n) of a wrench in the frame of the link it acts on, about its origin."""
    R = at.rotation[:, contact.link] @ np.array(contact.rotation)
    force, moment = (np.einsum("kij,kj->ki", R, wrench[:, part]) for part in (slice(0, 3), slice(3, 6)))
    return at.efforts(contact.link, at.point(contact.link, contact.position), force, moment)
