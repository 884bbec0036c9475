"""Robot cards: a YAML file that points to a model and adds what model files cannot say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from inertica.robot.description import Description, Source
from inertica.robot.dh import read_dh
from inertica.robot.files import catalog, catalog_path, kind_of
from inertica.robot.layout import Parameters
from inertica.robot.model import Robot
from inertica.robot.options import OPTION_KEYS, apply_options, fixed_values, plain_layout, read_options
from inertica.robot.settings import (
    read_columns,
    read_gravity,
    read_limits,
    read_loop,
    read_names,
    read_noise,
    read_sensors,
    read_shapes,
    read_side,
    read_torque,
    read_transmission,
    read_trust,
    read_units,
    read_values,
)
from inertica.robot.stated import read_constraints
from inertica.robot.yamlfile import Item

CARD_KEYS = (
    *("model", "name", "joints", "root", "tip", "gravity", *OPTION_KEYS),
    *("torque", "transmission", "transmission_offset", "side", "columns", "log_joints", "units", "rate", "most_unpacked"),
    *("limits", "shapes", "loop", "noise", "sensors", "prior", "parameters", "constraints"),
)


def describe_card(root: Item) -> Description:
    """The description of a parsed card."""
    keys = root.mapping(CARD_KEYS, required=("model",))
    base = _model(root, keys)
    robot = _robot(keys, base.robot)
    base = _on_robot(base, robot)
    options = read_options(keys, robot)
    with root.located():
        layout = apply_options(options, base.layout, keys.get("fixed"))
    values = fixed_values(options) | (read_values(keys["parameters"], layout) if "parameters" in keys else {})
    said = keys.get("constraints")
    stated = base.friction_stated if options.friction_stated is None else options.friction_stated
    return replace(
        base,
        layout=layout,
        prior=base.prior.on(layout).replaced(values),
        source=replace(base.source, card=root.path),
        friction_stated=stated,
        loop=read_loop(keys["loop"], robot.n) if "loop" in keys else base.loop,
        noise=dict(base.noise) | (read_noise(keys["noise"], robot.n) if "noise" in keys else {}),
        sensors=read_sensors(keys["sensors"], robot.n) if "sensors" in keys else base.sensors,
        shapes=read_shapes(keys["shapes"], robot) if "shapes" in keys else base.shapes,
        log=dict(base.log) | _log(keys, robot.n),
        trust=read_trust(keys["prior"], layout) if "prior" in keys else base.trust,
        constraints=base.constraints if said is None else read_constraints(said, layout, base.source.format),
        gravity_stated=read_gravity(keys["gravity"]) is not None if "gravity" in keys else base.gravity_stated,
    )


def describe_tree(
    path: Path,
    kind: str,
    root: str | None = None,
    tip: str | None = None,
    joints: tuple[str, ...] | None = None,
    gravity: tuple[float, float, float] | None = None,
) -> Description:
    """The description of a URDF or MJCF file, or of a chain of it, with armature and plain friction on every joint."""
    from inertica.robot import mjcf, tree, urdf

    read = urdf.read_urdf if kind == "urdf" else mjcf.read_mjcf
    reduced = tree.reduce(read(path), root=root, tip=tip, joints=joints, gravity=gravity)
    layout = plain_layout(reduced.robot)
    n = reduced.robot.n
    values: dict[str, float] = {}
    for j in range(n):
        values |= dict(zip(layout.names[layout.link(j)], np.asarray(reduced.tens, float)[j], strict=True))
    for symbol, prior in (("Ia", reduced.armature), ("Fv", reduced.damping), ("Fc", reduced.friction)):
        values |= {f"{symbol}{j + 1}": float(prior[j]) for j in range(n)}
    source = Source(kind, Path(path), root=root, tip=tip, joints=joints, movable=reduced.movable)
    return Description(reduced.robot, layout, layout.zeros("file").replaced(values), source, notes=tuple(reduced.notes))


def _model(root: Item, keys: Mapping[str, Item]) -> Description:
    """The model a card points to: a file beside it, or a catalog robot."""
    name = keys["model"].text()
    path = root.path.parent / name
    if not path.exists() and name in catalog():
        path = catalog_path(name)
    if not path.is_file():
        hint = f" (catalog robots: {', '.join(catalog())})" if "." not in name and "/" not in name else ""
        raise keys["model"].fail(f"the model '{name}' does not exist; paths are relative to the card{hint}")
    with keys["model"].located():
        kind = kind_of(path)
    if kind == "card":
        raise keys["model"].fail(f"the model '{name}' is itself a card; point to the model file it uses")
    if kind == "dh":
        for key in ("root", "tip"):
            if key in keys:
                raise keys[key].fail(f"the key '{key}' is for URDF and MJCF models; a DH table is one chain")
        return read_dh(path).with_loads()
    chain = {key: keys[key].text() for key in ("root", "tip") if key in keys}
    joints = read_names(keys["joints"]) if "joints" in keys else None
    gravity = read_gravity(keys["gravity"]) if "gravity" in keys else None
    item = keys["joints"] if "joints" in keys else keys["model"]
    with item.located():
        return describe_tree(path, kind, chain.get("root"), chain.get("tip"), joints, gravity)


def _robot(keys: Mapping[str, Item], robot: Robot) -> Robot:
    """The robot with the name, joint names, gravity and limits of the card."""
    if "joints" in keys:
        names = read_names(keys["joints"], robot.n)
        # a tree has been reduced to these joints already; the joints of a DH table have no names of their own but these
        if set(names) != set(robot.joint_names):
            robot = replace(robot, joints=tuple(replace(j, name=n) for j, n in zip(robot.joints, names, strict=True)))
    if "name" in keys:
        robot = replace(robot, name=keys["name"].text())
    if "gravity" in keys and (stated := read_gravity(keys["gravity"])) is not None:
        robot = robot.with_gravity(stated)
    if "limits" in keys:
        robot = replace(robot, limits=read_limits(keys["limits"], robot))
    return robot


def _on_robot(base: Description, robot: Robot) -> Description:
    layout = replace(base.layout, robot=robot)
    prior = Parameters(layout, base.prior.values, base.prior.shapes, base.prior.origin)
    return replace(base, robot=robot, layout=layout, prior=prior)


def _log(keys: Mapping[str, Item], n: int) -> dict[str, Any]:
    readers: dict[str, Callable[[Item, int], Any]] = {
        "columns": read_columns,
        "torque": read_torque,
        "transmission": read_transmission,
        "transmission_offset": lambda item, count: item.per_joint(count),
        "side": read_side,
        "log_joints": read_names,
        "units": read_units,
        "rate": lambda item, count: item.positive(),
        "most_unpacked": lambda item, count: item.positive(),
    }
    return {key: read(keys[key], n) for key, read in readers.items() if key in keys}
