"""Robot: what is known before any motion: the model, whether it can be real, and the options of its card."""

from __future__ import annotations

from pathlib import Path

import inertica as ia
from inertica.errors import InerticaError
from inertica.physical.stated import stated
from inertica.robot.description import Description
from inertica.robot.files import CATALOG
from inertica.robot.formats.table import format_of, model_suffixes
from inertica.robot.friction import LAWS, law
from inertica.studio.arguments import Arguments
from inertica.studio.confined import Refused, inside
from inertica.studio.project import Project
from inertica.studio.room import ATTENTION, OPEN, READY, Document, Room, same, short
from inertica.studio.scene import scene
from inertica.studio.visuals import missing_meshes

KEYS = ("friction", "armature", "coupling", "payload", "gravity", "torque", "columns", "limits", "loop")
"""Keys of the card that the form writes."""

FRICTION = tuple(name for name in LAWS if not law(name, 0).memory)
"""Laws that can be identified."""


def state(project: Project) -> tuple[str, str]:
    if not project.has_robot:
        return OPEN, "no robot yet"
    description = project.description
    checked = _known(description)
    words = f"{description.name}, {description.robot.n} joints"
    return (READY, words) if checked is None or checked["consistent"] else (ATTENTION, f"{words}; some links cannot exist")


def view(project: Project, arguments: Arguments) -> Document:
    suffixes = model_suffixes()
    dropped = sorted(short(project, p) for p in (project.folder / "model").rglob("*") if p.is_file())
    models = [name for name in dropped if Path(name).suffix.lower() in suffixes]
    linked = [name for name in project.state["links"] if Path(name).suffix.lower() in suffixes]
    choices: Document = {
        "catalog": ia.catalog(),
        "models": [*models, *linked],
        "dropped": dropped,
        "suffixes": sorted(suffixes),
        "laws": list(FRICTION),
    }
    if not project.has_robot:
        return choices | {"loaded": False, "same": same([["inertica", "robots"]], ["ia.catalog()"])}
    description = project.description
    prior, joints, limits = description.prior, description.robot.joints, description.robot.limits
    rows = [
        {
            "name": p.name, "value": prior.values[k], "unit": p.unit, "kind": p.kind, "fixed": p.fixed,
            "link": joints[p.joint].link if p.joint is not None else "", "joint": p.joint,
        }
        for k, p in enumerate(prior.layout.parameters)
    ]  # fmt: skip
    keys = project.card_keys()
    source = description.source
    return choices | {
        "loaded": True,
        "name": description.name,
        "format": source.format,
        "file": "the catalog" if source.path.parent == CATALOG else short(project, source.path),
        "model": keys.get("model"),
        "origin": prior.origin,
        "joints": [
            {
                "name": j.name, "link": j.link, "kind": "prismatic" if j.prismatic else "revolute", "unit": j.unit,
                "effort": j.effort_unit, "lower": limits.lower[k], "upper": limits.upper[k], "velocity": limits.velocity[k],
                "torque": limits.torque[k],
            }
            for k, j in enumerate(joints)
        ],
        "notes": list(description.notes),
        "prior": rows,
        "check": _known(description),
        "loop": {key: description.loop.get(key) for key in ("law", "kp", "kd", "rate")} if description.loop else None,
        "missing": missing_meshes(description),
        "card": {key: keys[key] for key in KEYS if key in keys},
        "card_text": project.card.read_text(encoding="utf-8"),
        "scene": scene(description),
        "same": same(
            [["inertica", "show", "card.yaml"], ["inertica", "check-model", "card.yaml"]],
            ['robot = ia.load("card.yaml")', "robot.prior                      # prior values, a table in a notebook",
             "print(ia.check_model(robot.prior).sentence)", "print(ia.base_model(robot.layout).rank, 'base parameters')"],
        ),
    }  # fmt: skip


def check(project: Project, arguments: Arguments) -> Document:
    """`check-model` of the prior values: sentences at the links they concern.  It compiles, so that it takes a second or two."""
    known = _known(project.description)
    checked = _checked(project.description)
    if known is None:
        project.changed()
    return checked


def _checked(description: Description) -> Document:
    checked = _known(description)
    if checked is None:
        constraints = stated(description).constraints if description.constraints else ()
        checked = dict(ia.check_model(description.prior, constraints=constraints).document())
        _LAST.clear()
        _LAST.append((description, checked))
    return checked


def _known(description: Description) -> Document | None:
    return next((checked for which, checked in _LAST if which is description), None)


_LAST: list[tuple[Description, Document]] = []
"""The last robot that was checked, and what was found."""


def load(project: Project, arguments: Arguments) -> Document:
    """Choose a robot: a catalog name, or a model file of the project."""
    description = project.choose_robot(arguments.text("robot"))
    return {"name": description.name, "joints": description.robot.n}


def remove(project: Project, arguments: Arguments) -> Document:
    """Delete a file that was dropped on the page; not the model in use."""
    path = inside(project.folder, arguments.text("file"))
    if project.folder / "model" not in path.parents:
        raise Refused("only files that were dropped on the page can be deleted", 403)
    if project.has_robot and project.description.source.path.resolve() == path:
        raise Refused("this is the robot in use; load another one first", 409)
    path.unlink(missing_ok=True)
    project.changed()
    return {}


def card(project: Project, arguments: Arguments) -> Document:
    """Write options into the card; a key with null goes."""
    keys = project.card_keys()
    if not keys:
        raise Refused("no robot is loaded yet; choose one first", 409)
    options = arguments.object("options")
    if unknown := next((key for key in options if key not in KEYS), None):
        raise Refused(f"the form has no option '{unknown}'", 400)
    new = {key: value for key, value in (keys | options).items() if value is not None}
    project.write_card(new)
    return {"card": {key: new[key] for key in KEYS if key in new}}


def repair(project: Project, arguments: Arguments) -> Document:
    """The nearest values of links that could exist, written into a copy of the model that the card then points to."""
    description = project.description
    repaired = ia.repair(description.prior)
    suffix = format_of(description.source).suffix
    name = f"model/{project.free_name('model', f'{description.source.path.stem}-repaired', suffix)}"
    try:
        ia.save_model(description, repaired.parameters, project.folder / name)
    except OSError as error:
        raise InerticaError(f"the repaired model cannot be written ({error.strerror})") from None
    project.write_card({**project.card_keys(), "model": name})
    return {"model": name}


ROOM = Room(
    "robot",
    "Robot",
    "What is known before any motion: the model, and whether it can be real.",
    state,
    view,
    {"load": load, "card": card, "check": check, "repair": repair, "remove": remove},
)
