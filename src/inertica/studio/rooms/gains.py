"""Drive gains: what an ampere is worth at each joint, from logs without and with a load of known mass."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import inertica as ia
from inertica.documents import plain
from inertica.studio.arguments import Arguments
from inertica.studio.confined import Refused
from inertica.studio.project import Project
from inertica.studio.room import OPEN, READY, Document, Room, chosen_logs, quoted, same, short
from inertica.workflow.payload.drive_gains import stated_gains


def state(project: Project) -> tuple[str, str]:
    if project.has_robot and stated_gains(project.description) is not None:
        return READY, "stated"
    return OPEN, "for logs of motor currents"


def view(project: Project, arguments: Arguments) -> Document:
    last = project.chosen("gains", "last", dict)
    form = project.chosen("gains", "form", dict) or {}
    shell, python = _lines(project, form)
    stated = stated_gains(project.description) if project.has_robot else None
    return {
        "logs": [e.name for e in project.logs], "form": form, "last": last, "stated": None if stated is None else list(stated),
        "same": same([shell], python),
    }  # fmt: skip


def find(project: Project, arguments: Arguments, say: Callable[[str], None], work: Path) -> Document:
    """Job: `ia.drive_gains`."""
    form: dict[str, Any] = {"unloaded": arguments.words("unloaded"), "loaded": arguments.words("loaded")}
    empty, full = (chosen_logs(project, form[key], words) for key, words in (("unloaded", "without"), ("loaded", "with")))
    form["mass"] = arguments.number("mass", None, 1e-3, 1e5)
    form["com"] = arguments.numbers("com", 3) if "com" in arguments else None
    gains = ia.drive_gains(project.card, unloaded=empty, loaded=full, mass=form["mass"], com=form["com"], progress=say)
    document = plain(gains.document())
    return {"gains": len(gains.values), "remember": {"last": document, "form": form}}


def keep(project: Project, arguments: Arguments) -> Document:
    """Take the gains that were found into the card."""
    last = project.chosen("gains", "last", dict)
    if last is None:
        raise Refused("no gains were found yet", 409)
    gains = [float(g["value"]) for g in last["gains"]]
    keys = project.card_keys()
    project.write_card({**keys, "torque": {**keys.get("torque", {}), "from": "current", "gain": gains}})
    return {"gain": gains}


def _lines(project: Project, form: Document) -> tuple[list[str], list[str]]:
    entries = {e.name: short(project, project.path(e.file)) for e in project.logs}
    empty, full = ([entries[n] for n in form.get(key, []) if n in entries] for key in ("unloaded", "loaded"))
    empty, full, mass = empty or ["empty.csv"], full or ["loaded.csv"], f"{form.get('mass', 2.0):g}"
    com = ["--com=" + ",".join(f"{x:g}" for x in form["com"])] if form.get("com") else []
    shell = ["inertica", "drive-gains", "card.yaml", "--unloaded", *empty, "--loaded", *full, "--mass", mass, *com]
    lists = [f"[{', '.join(map(quoted, names))}]" for names in (empty, full)]
    where = f", com={form['com']}" if form.get("com") else ""
    call = f'ia.drive_gains("card.yaml", unloaded={lists[0]}, loaded={lists[1]}, mass={mass}{where})'
    return shell, [f"found = {call}", "print(found.card)"]


ROOM = Room(
    "gains",
    "Drive gains",
    "What an ampere is worth at each joint, from logs without and with a load of known mass.",
    state,
    view,
    {"keep": keep},
    {"find": find},
    extra=True,
)
