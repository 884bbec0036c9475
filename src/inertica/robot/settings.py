"""Keys of cards and DH files with numbers beside the model: limits, loop, noise, sensors, torque, transmission, columns, prior."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np

from inertica.robot.control import gain_keys
from inertica.robot.layout import Layout
from inertica.robot.model import Limits, Robot, Vector
from inertica.robot.yamlfile import Item

LOOP_KEYS = ("law", "rate", "delay", "velocity", "filter", "feedforward", "motor_side", "note", "origin")
NOISE_PER_JOINT = ("q", "dq", "ddq", "tau", "i", "q_deg")
LIMIT_KEYS = ("lower", "upper", "velocity", "acceleration", "torque")
TRUST_KEYS = ("all", "masses", "first_moments", "inertias", "armature", "friction")
COLUMN_KEYS = ("t", "q", "dq", "ddq", "qr", "dqr", "ddqr", "taur", "tau", "i", "theta", "dtheta", "taum", "ql", "temp")
BASE_PARTS = {
    **dict.fromkeys(("base_pos", "base_rotvec", "base_lin_vel", "base_ang_vel", "imu_acc", "imu_gyro"), ("x", "y", "z")),
    "base_quat": ("w", "x", "y", "z"),
}
"""What logs say of a floating base, and the last word of its columns."""

Side = Literal["motor", "joint"]
"""Where a log was recorded: before the gears or behind them."""

Convert = Callable[[int, float], float]
"""From the file's unit to SI for a 0-based joint's coordinate: degrees apply to revolute joints only."""


def is_of_base(symbol: str) -> bool:
    """Whether a symbol of a card's `columns` is a single column of a floating base, such as `base_quat_w`."""
    name, _, axis = symbol.rpartition("_")
    return axis in BASE_PARTS.get(name, ())


def as_given(joint: int, value: float) -> float:
    return value


def read_limits(item: Item, robot: Robot, convert: Convert = as_given) -> Limits:
    """Limits of a file; those it does not state stay as they are in `robot`."""
    keys = item.mapping(LIMIT_KEYS)
    values: dict[str, tuple[float, ...]] = {}
    for key in LIMIT_KEYS:
        if key not in keys:
            values[key] = getattr(robot.limits, key)
            continue
        values_here = (*keys[key].per_joint(robot.driven, infinite=True), *getattr(robot.limits, key)[robot.driven :])
        angular = key in ("lower", "upper", "velocity")
        values[key] = tuple(convert(j, v) if angular else v for j, v in enumerate(values_here))
        if key in ("velocity", "acceleration", "torque") and min(values_here) <= 0.0:
            raise keys[key].fail(f"{keys[key].key} should be greater than zero on every joint")
    for joint, low, high in zip(robot.joints, values["lower"], values["upper"], strict=True):
        if low >= high:
            raise item.fail(f"{item.key}: the lower limit of {joint.name} is not below its upper limit", joint.name)
    return Limits(**values)


def read_gravity(item: Item) -> tuple[float, float, float] | None:
    """Acceleration of free fall in the base frame; None for `auto`."""
    if item.is_scalar and item.plain() == "auto":
        return None
    gravity = item.vector()
    if not any(gravity):
        raise item.fail(
            f"{item.key} has no direction; state free fall in the base frame in m/s^2, such as [0, 0, -9.81], or auto"
        )
    return gravity


def loop_per_joint() -> tuple[str, ...]:
    """Keys of the section `loop` with one number per joint."""
    return (*gain_keys(), "wn", "zeta", "tuned_for", "ktau", "ktau_sign", "gear_ratio", "inertia", "saturation")


def read_loop(item: Item, n: int) -> dict[str, Any] | None:
    """The control law with its gains: one number per joint each, SI, joint side; `none` takes that of the model away."""
    if item.is_scalar and item.text() == "none":
        return None
    per_joint = loop_per_joint()
    keys = item.mapping((*LOOP_KEYS, *per_joint), required=("law",))
    loop = {key: entry.plain() for key, entry in keys.items()}
    loop["law"] = keys["law"].text()
    for key in set(per_joint) & set(keys):
        loop[key] = list(keys[key].per_joint(n))
    if "rate" in keys:
        loop["rate"] = keys["rate"].positive()
    if "motor_side" in keys:
        side = keys["motor_side"].mapping((*per_joint, "note"))
        loop["motor_side"] = {k: v.text() if k == "note" else list(v.per_joint(n)) for k, v in side.items()}
    return loop


def read_shapes(item: Item, robot: Robot) -> dict[int, tuple[tuple[Vector, Vector, float], ...]]:
    """Capsules of links: `{0: [{from: [x, y, z], to: [x, y, z], radius: r}], 3: ...}`, link 0 being the base; 0-based, base -1."""
    out = {}
    for key, entry in item.mapping([str(j) for j in range(robot.n + 1)]).items():
        capsules = []
        for one in entry.items():
            parts = one.mapping(("from", "to", "radius"), required=("from", "radius"))
            start = parts["from"].vector()
            capsules.append((start, parts["to"].vector() if "to" in parts else start, parts["radius"].positive()))
        out[int(key) - 1] = tuple(capsules)
    return out


def read_noise(item: Item, n: int) -> dict[str, Any]:
    """Named noise presets: standard deviations as one number or one per joint."""
    return {name: _read_preset(entry, n) for name, entry in item.mapping().items()}


def _read_preset(item: Item, n: int) -> dict[str, Any]:
    keys = item.mapping((*NOISE_PER_JOINT, "row", "note", "origin"))
    preset: dict[str, Any] = {}
    for key, entry in keys.items():
        if key not in NOISE_PER_JOINT:
            preset[key] = entry.plain()
            continue
        values = entry.per_joint(n)
        if min(values) < 0.0:
            raise entry.fail(f"{entry.key} is a standard deviation and should not be negative")
        preset[key] = list(values) if entry.is_list else values[0]
    return preset


def read_sensors(item: Item, n: int) -> dict[str, Any]:
    """What `simulate` records with: rate in Hz, steps of encoders and torque sensors as one number or one per joint."""
    keys = item.mapping(("rate", "position_step", "torque_step"))
    out: dict[str, Any] = {"rate": keys["rate"].positive()} if "rate" in keys else {}
    for key in set(keys) - {"rate"}:
        out[key] = list(keys[key].per_joint(n))
        if min(out[key]) < 0.0:
            raise keys[key].fail(f"{keys[key].key} is a resolution and should not be negative")
    return out


def read_torque(item: Item, n: int) -> dict[str, Any]:
    """How torques are logged: `{from: current, gain: [...]}`, N m per unit of the log."""
    keys = item.mapping(("from", "gain"), required=("from",))
    out: dict[str, Any] = {"from": keys["from"].text(("torque", "current"))}
    if "gain" in keys:
        out["gain"] = keys["gain"].per_joint(n)
        if 0.0 in out["gain"]:
            raise keys["gain"].fail(f"{keys['gain'].key} holds a zero, which would hide that joint's torque")
    elif out["from"] == "current":
        raise item.fail(
            "torque from current needs a gain per joint, in N m per unit of current; "
            "`inertica drive-gains` finds them with a load of known mass (leave `torque` out of the card for that)"
        )
    return out


def read_transmission(item: Item, n: int) -> tuple[tuple[float, ...], ...]:
    """The n x n matrix N of theta = N q."""
    rows = item.matrix(n, n)
    N = np.array(rows)
    scale = np.abs(N).max(axis=1, initial=0.0)
    if scale.min(initial=1.0) == 0.0 or np.linalg.matrix_rank(N / scale[:, None]) < n:
        raise item.fail(f"{item.key} cannot be inverted, so joint motion cannot be told from motor motion")
    return rows


def read_side(item: Item, n: int) -> str:
    """On which side of the gears columns called q, dq and tau were recorded."""
    return item.text(get_args(Side))


def read_units(item: Item, n: int) -> dict[str, str]:
    """Symbol -> unit of columns whose header states none: `{q: deg, t: ms}`."""
    return {symbol: entry.text() for symbol, entry in item.mapping(COLUMN_KEYS).items()}


def read_columns(item: Item, n: int) -> dict[str, str | tuple[str, ...]] | tuple[str, ...]:
    """Names of a log's columns: a pattern with {} for the joint, or a list with one name per joint.

    A plain list names all columns of a file without a header.
    """
    if item.is_list:
        return item.texts()
    out: dict[str, str | tuple[str, ...]] = {}
    of_base = (f"{name}_{axis}" for name, axes in BASE_PARTS.items() for axis in axes)
    for key, entry in item.mapping((*COLUMN_KEYS, *of_base)).items():
        if is_of_base(key):
            out[key] = entry.text()
            continue
        if entry.is_list:
            names = entry.texts()
            if key == "t" or len(names) != n:
                raise entry.fail(f"{entry.key} lists {len(names)} columns, expected {1 if key == 't' else n}")
            out[key] = names
            continue
        pattern = entry.text()
        if key != "t" and pattern.count("{}") != 1:
            raise entry.fail(f"{entry.key} should contain {{}} once, where the joint's name or number stands, not '{pattern}'")
        out[key] = pattern
    return out


def read_trust(item: Item, layout: Layout) -> dict[str, float]:
    """Relative standard deviation of the file's own values, by group or by parameter: `{masses: 10 %, ZZ1: 0.5}`."""
    keys = item.mapping((*TRUST_KEYS, *layout.names))
    return {key: _fraction(entry) for key, entry in keys.items()}


def _fraction(item: Item) -> float:
    text = item.text().strip()
    if not text.endswith("%"):
        return item.positive()
    try:
        value = float(text[:-1]) / 100.0
    except ValueError:
        raise item.fail(f"{item.key} should be a percentage such as 10 %, not '{text}'") from None
    if not 0.0 < value < math.inf:
        raise item.fail(f"{item.key} should be greater than zero, not '{text}'")
    return value


def read_values(item: Item, layout: Layout) -> dict[str, float]:
    """Values by parameter name."""
    return {name: entry.number() for name, entry in item.mapping(layout.names).items()}


def read_names(item: Item, n: int | None = None) -> tuple[str, ...]:
    """Distinct names, n of them when n is given."""
    names = item.texts()
    if n is not None and len(names) != n:
        raise item.fail(f"{item.key} has {len(names)} names for {n} joints")
    twice = [name for name in names if names.count(name) > 1]
    if twice or not names:
        raise item.fail(f"{item.key} names '{twice[0]}' twice" if twice else f"{item.key} is empty")
    return names
