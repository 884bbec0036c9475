"""Robot cards: a YAML file that points to a model and adds what model files cannot say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from inertica.errors import is_there
from inertica.robot.contacts import read_contacts
from inertica.robot.description import Description
from inertica.robot.files import catalog, catalog_path
from inertica.robot.formats.model_format import Part
from inertica.robot.formats.table import find_format, format_of, tree_titles
from inertica.robot.layout import Parameters
from inertica.robot.loops_card import read_loops
from inertica.robot.model import Robot
from inertica.robot.options import OPTION_KEYS, apply_options, fixed_values, read_options
from inertica.robot.plain import without_idle_drives
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
    *("model", "name", "base", "joints", "root", "tip", "gravity", *OPTION_KEYS),
    *("torque", "transmission", "transmission_offset", "side", "columns", "log_joints", "units", "rate", "most_unpacked"),
    *("topic", "episode", "features"),
    *("limits", "shapes", "contacts", "loops", "passive", "loop", "noise", "sensors", "prior", "parameters", "constraints"),
)

ON_SENSOR = "on-sensor"
BASES = ("floating", "fixed", ON_SENSOR)
"""How a base may be held: not at all, as the model has it, or at rest on a sensor that measures the force on it."""


def describe_card(root: Item) -> Description:
    """The description of a parsed card."""
    keys = root.mapping(CARD_KEYS, required=("model",))
    base = _model(root, keys)
    robot = _robot(keys, base.robot)
    base = _on_robot(base, robot)
    robot = read_loops(keys, base)
    base = without_idle_drives(_on_robot(base, robot))
    options = read_options(keys, robot)
    with root.located():
        layout = apply_options(options, base.layout, keys.get("fixed"))
    values = fixed_values(options) | (read_values(keys["parameters"], layout) if "parameters" in keys else {})
    stated_constraints = keys.get("constraints")
    stated = base.friction_stated if options.friction_stated is None else options.friction_stated
    description = replace(
        base,
        layout=layout,
        prior=base.prior.on(layout).replaced(values),
        source=replace(base.source, card=root.path),
        friction_stated=stated,
        loop=read_loop(keys["loop"], robot.driven) if "loop" in keys else base.loop,
        noise=dict(base.noise) | (read_noise(keys["noise"], robot.driven) if "noise" in keys else {}),
        sensors=read_sensors(keys["sensors"], robot.driven) if "sensors" in keys else base.sensors,
        shapes=read_shapes(keys["shapes"], robot) if "shapes" in keys else base.shapes,
        log=dict(base.log) | _log(keys, len(robot.independent)),
        trust=read_trust(keys["prior"], layout) if "prior" in keys else base.trust,
        constraints=base.constraints
        if stated_constraints is None
        else read_constraints(stated_constraints, layout, format_of(base.source).encloses),
        gravity_stated=read_gravity(keys["gravity"]) is not None if "gravity" in keys else base.gravity_stated,
    )
    description = replace(description, base_at_rest="base" in keys and keys["base"].text() == ON_SENSOR)
    return replace(description, contacts=read_contacts(keys["contacts"], description)) if "contacts" in keys else description


def _model(root: Item, keys: Mapping[str, Item]) -> Description:
    """The model a card points to: a file beside it, or a catalog robot."""
    name = keys["model"].text()
    path = root.path.parent / name
    if not is_there(path) and name in catalog():
        path = catalog_path(name)
    if not (is_there(path) and path.is_file()):
        hint = f" (catalog robots: {', '.join(catalog())})" if "." not in name and "/" not in name else ""
        raise keys["model"].fail(f"the model '{name}' does not exist; paths are relative to the card{hint}")
    with keys["model"].located():
        form = find_format(path)
    if form is None:
        raise keys["model"].fail(f"the model '{name}' is itself a card; point to the model file it uses")
    if form.tree is None:
        for key in ("root", "tip", "base"):
            if key in keys:
                raise keys[key].fail(f"the key '{key}' is for {tree_titles()} models; a {form.title} file is one chain")
        return form.read(path, Part())
    chain = {key: keys[key].text() for key in ("root", "tip") if key in keys}
    joints = read_names(keys["joints"]) if "joints" in keys else None
    gravity = read_gravity(keys["gravity"]) if "gravity" in keys else None
    floating = keys["base"].text(BASES) != "fixed" if "base" in keys else None
    item = keys["joints"] if "joints" in keys else keys["model"]
    with item.located():
        return form.read(path, Part(chain.get("root"), chain.get("tip"), joints, gravity, floating))


def _robot(keys: Mapping[str, Item], robot: Robot) -> Robot:
    """The robot with the name, joint names, gravity and limits of the card."""
    if "joints" in keys:
        names = read_names(keys["joints"], robot.driven)
        # a tree has been reduced to these joints already; the joints of a DH table have no names of their own but these
        if set(names) != set(robot.joint_names[: robot.driven]):
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
        "topic": lambda item, count: item.text(),
        "episode": lambda item, count: item.whole(),
        "features": lambda item, count: {symbol: feature.text() for symbol, feature in item.mapping().items()},
    }
    return {key: read(keys[key], n) for key, read in readers.items() if key in keys}
