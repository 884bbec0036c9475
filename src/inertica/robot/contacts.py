"""Where the surroundings act on a robot with a floating base: the card's key `contacts`."""

from __future__ import annotations

from inertica.errors import nearest
from inertica.robot.description import Contact, Description
from inertica.robot.flange import frames_of
from inertica.robot.yamlfile import Item

__all__ = ["Contact", "read_contacts"]


def read_contacts(item: Item, description: Description) -> tuple[Contact, ...]:
    """`none`, or the links that something touches; `description` is the robot they belong to."""
    robot = description.robot
    if not robot.floating:
        raise item.fail(f"{item.key} is for robots whose base floats (base: floating), which {robot.name} has not")
    if item.is_scalar:
        item.text(("none",))
        return ()
    places = {p.link: Contact(p.link, j, p.rotation, p.position) for j, ps in enumerate(frames_of(description)) for p in ps}
    out = []
    for entry in item.items():
        if (name := entry.text()) not in places:
            raise entry.fail(f"{robot.name} has no link '{name}'; {nearest(name, places)}")
        out.append(places[name])
    return tuple(out)
