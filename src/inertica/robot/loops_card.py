"""Closed loops that a card states: the keys `loops` and `passive`.

loops:
  - q4 = -q3                        a relation of positions; numbers count the robot's joints, q1 the first
  - connect: [rod_tip, fore_pin]    origins of two frames coincide: links of the model file, or {link: NAME, at: [x, y, z]}
  - weld: [hand_a, hand_b]          so do their axes
passive: [rod, fore]                joints without drive
"""

from __future__ import annotations

from collections.abc import Mapping

from inertica.errors import nearest
from inertica.robot.closures import Frame, Meeting, Relation
from inertica.robot.description import Description
from inertica.robot.flange import base_frames, frames_of
from inertica.robot.formula import Formula
from inertica.robot.loops import with_loops
from inertica.robot.model import Closure, Robot
from inertica.robot.tree import compose
from inertica.robot.yamlfile import Item

KINDS = ("connect", "weld")


def read_loops(keys: Mapping[str, Item], description: Description) -> Robot:
    """The robot of a description with the loops of a card."""
    robot = description.robot
    if "loops" not in keys and "passive" not in keys:
        return robot
    closures = [_closure(entry, description) for entry in keys["loops"].items()] if "loops" in keys else []
    item = keys.get("passive", keys.get("loops"))
    passive = []
    for entry in keys["passive"].items() if "passive" in keys else ():
        with entry.located():
            passive.append(robot.joint_index(entry.text()))
    assert item is not None
    if not closures and robot.loops is None:
        raise item.fail(
            f"{item.key} is for robots with closed loops, and neither the card nor the model states one (loops: [...])"
        )
    home = description.home if len(description.home) == robot.n else None
    with item.located():
        return with_loops(robot, closures, passive, start=home)


def _closure(entry: Item, description: Description) -> Closure:
    if entry.is_scalar:
        return _relation(entry, description.robot)
    stated = entry.mapping(KINDS)
    if len(stated) != 1:
        raise entry.fail("a loop is a relation such as 'q4 = -q3', or one of connect: [A, B] and weld: [A, B]")
    ((kind, pair),) = stated.items()
    ends = pair.items()
    if len(ends) != 2:
        raise pair.fail(f"{kind} joins two frames, and {len(ends)} are named")
    first, second = (_frame(end, description) for end in ends)
    if first.link == second.link:
        raise pair.fail(f"{first.name} and {second.name} are parts of one body, so that nothing is closed by joining them")
    return Meeting(first, second, kind == "connect")


def _relation(entry: Item, robot: Robot) -> Relation:
    left, equals, right = entry.text().partition("=")
    if not equals:
        raise entry.fail(f"'{entry.text()}' is no relation of joints; write it as q4 = -q3 + 0.1")
    name = left.strip()
    with entry.located():
        word = name[1:] if name[:1] == "q" and name[1:].isdigit() else name
        joint = robot.joint_index(int(word) if word.isdigit() else word)
        return Relation(joint, Formula(right.strip(), robot.driven))


def _frame(item: Item, description: Description) -> Frame:
    """A link of the model file, or a point of one."""
    at = (0.0, 0.0, 0.0)
    name_item = item
    if item.is_mapping:
        keys = item.mapping(("link", "at"), required=("link",))
        name_item, at = keys["link"], keys["at"].vector() if "at" in keys else at
    name = name_item.text()
    places = {p.link: (j, p) for j, ps in enumerate(frames_of(description)) for p in ps}
    ground = description.robot.n - 1 if description.robot.floating else -1
    places = {p.link: (ground, p) for p in base_frames(description)} | places
    if name not in places:
        raise name_item.fail(f"{description.robot.name} has no link '{name}'; {nearest(name, places)}")
    link, place = places[name]
    return Frame(link, *compose(place.rotation, place.position, ((1, 0, 0), (0, 1, 0), (0, 0, 1)), at), name)
