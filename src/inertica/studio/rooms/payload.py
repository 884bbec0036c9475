"""Payload: mass, centre of mass and inertia of what the robot carries, from logs with it and a robot known without it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import inertica as ia
from inertica.documents import plain
from inertica.robot.flange import name_or_pose
from inertica.studio.arguments import Arguments
from inertica.studio.confined import inside, plain_name
from inertica.studio.project import Project
from inertica.studio.room import OPEN, READY, Document, Room, chosen_logs, quoted, same, short


def state(project: Project) -> tuple[str, str]:
    last = project.chosen("payload", "last", dict)
    return (READY, last["determined"]["text"]) if last else (OPEN, "what the robot carries")


def view(project: Project, arguments: Arguments) -> Document:
    form = project.chosen("payload", "form", dict) or {}
    shell, python = _lines(project, form)
    return {
        "logs": [e.name for e in project.logs], "results": project.results, "form": form,
        "last": project.chosen("payload", "last", dict), "files": project.chosen("payload", "files", list) or [],
        "same": same([shell], python),
    }  # fmt: skip


def find(project: Project, arguments: Arguments, say: Callable[[str], None], work: Path) -> Document:
    """Job: `ia.payload`; what it found is written into a folder of exports."""
    form: dict[str, Any] = {key: arguments.words(key) for key in ("unloaded", "loaded")}
    form |= {key: arguments.text(key) for key in ("result", "frame") if key in arguments}
    full = chosen_logs(project, form["loaded"], "with")
    empty = [] if "result" in form else chosen_logs(project, form["unloaded"], "without")
    load = ia.payload(
        None if "result" in form else project.card, unloaded=empty, loaded=full,
        robot_from=project.result_folder(form["result"]) if "result" in form else None,
        frame=name_or_pose(form["frame"]) if "frame" in form else None, progress=say,
    )  # fmt: skip
    name = plain_name(arguments.text("name"))
    files = [short(project, path) for path in load.save(inside(project.folder, Path("exports") / name))]
    return {"payload": name, "remember": {"last": plain(load.document()), "files": files, "form": form}}


def _lines(project: Project, form: Document) -> tuple[list[str], list[str]]:
    entries = {e.name: short(project, project.path(e.file)) for e in project.logs}
    empty, full = ([entries[n] for n in form.get(key, []) if n in entries] for key in ("unloaded", "loaded"))
    known = form.get("result") or (project.results[-1] if project.results and not empty else None)
    full, frame = full or ["loaded.csv"], form.get("frame")
    logs = f"[{', '.join(map(quoted, full))}]"
    words = ["--robot-from", f"results/{known}"] if known else ["card.yaml", "--unloaded", *(empty or ["empty.csv"])]
    shell = ["inertica", "payload", *words, "--loaded", *full, *([f"--flange={frame}"] if frame else []), "-o", "load"]
    robot = (
        f"robot_from={quoted(f'results/{known}')}"
        if known
        else f'"card.yaml", unloaded=[{", ".join(map(quoted, empty or ["empty.csv"]))}]'
    )
    at = "" if not frame else f", frame={name_or_pose(frame)!r}"
    return shell, [f"load = ia.payload({robot}, loaded={logs}{at})", "print(load.sentence)", 'load.save("load")']


ROOM = Room(
    "payload",
    "Payload",
    "Mass, centre of mass and inertia of what the robot carries.",
    state,
    view,
    {},
    {"find": find},
    names={"find": ("exports", "payload", "")},
    extra=True,
)
