"""Identify: from logs to parameters; every choice with its reason, every one can be stated instead."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import inertica as ia
from inertica import documents
from inertica.preprocessing.filters import FILTERS
from inertica.report.bundle import write_bundle
from inertica.studio.arguments import Arguments
from inertica.studio.confined import Refused, inside, plain_name
from inertica.studio.overlay import read_document, summary, write_overlay
from inertica.studio.project import Project
from inertica.studio.room import ATTENTION, OPEN, READY, Document, Room, quoted, same, short
from inertica.studio.rooms.data import typed
from inertica.studio.rooms.robot import FRICTION
from inertica.studio.scores import drawn
from inertica.workflow.identify.choice import Choice, readable
from inertica.workflow.identify.result import RESULT
from inertica.workflow.identify.saved import upgraded
from inertica.workflow.identify.settings import Settings, check_method

USUAL = ("auto", "pc-wls+entropic", "pc-wls", "wls", "ols", "irls", "tls", "ml", "iv", "pc-iv", "didim", "pc-didim")
"""Methods that head the list."""


def state(project: Project) -> tuple[str, str]:
    names = project.results
    if not names:
        return OPEN, "nothing identified yet"
    last = summary(project.folder / "results" / names[-1])
    level = last["verdict"]["level"] if last else "good"
    words = f"{len(names)} result{'s' if len(names) > 1 else ''}"
    return (ATTENTION if level == "bad" else READY), words + (f"; last: {last['verdict']['headline'].lower()}" if last else "")


def view(project: Project, arguments: Arguments) -> Document:
    settings = project.chosen("identify", "settings", dict) or {}
    methods = [m for m in USUAL if m == "auto" or m.partition("+")[0] in ia.METHODS]
    return {
        "methods": [*methods, *(m for m in ia.METHODS if m not in methods)],
        "filters": list(FILTERS),
        "laws": list(FRICTION),
        "settings": settings,
        "logs": {role: typed(project, role) for role in ("identify", "validate")},
        "results": [card(project, name) for name in reversed(project.results)],
        "same": same([_words(project, settings, "results/result-1")], _python(project, settings, "results/result-1")),
    }


def card(project: Project, name: str) -> Document:
    """A result in short: how it was made, how good it is, what was decided and why."""
    folder = project.folder / "results" / name
    document = upgraded(folder / RESULT, read_document(folder / RESULT, (folder / RESULT).stat().st_mtime_ns))
    result = summary(folder)
    labels = [p["label"] for p in document["parameters"]]
    return {
        "name": name,
        "method": document["method"],
        "base_count": document["base_count"],
        "condition": document["condition"],
        "verdict": result["verdict"] if result else None,
        "residual": {key: r["raw"]["all"] for key, r in document["residual"].items()},
        "labels": {word: labels.count(word) for word in dict.fromkeys(labels)},
        "possible": document["physically_consistent"],
        "choices": [{**c, "drawn": drawn(documents.typed(Choice, readable(c)))} for c in document["choices"]],
        "warnings": document["warnings"],
        "logs": document["logs"],
        "time": document["time"],
        "command": document["command"],
        "robot": document["robot"],
        "made": (folder / RESULT).stat().st_mtime,
        "note": _notes(project).get(name, ""),
    }


def run(project: Project, arguments: Arguments, say: Callable[[str], None], work: Path) -> Document:
    """Job: `ia.identify`, then everything that `inertica identify -o` writes, and what the room Trust draws."""
    stated = _stated(arguments)
    settings = _settings(stated)
    check_method(settings)
    logs, validate = project.role("identify"), project.role("validate")
    if not logs:
        raise Refused("no log is marked for the fit; mark one in the room Data", 409)
    name = plain_name(arguments.text("name", "")) if "name" in arguments else project.free_name("results", "result")
    target = inside(project.folder, Path("results") / name)
    if target.exists():
        raise Refused(f"there is a result '{name}' already; choose another name", 409)
    command = same([_words(project, stated, f"results/{name}")], [])["shell"][0]
    result = ia.identify(project.card, logs, validate=validate, settings=settings, progress=say, command=command)
    say("writing the result and its report")
    bundle = write_bundle(result, work / name, force=settings.force)
    write_overlay(bundle.result, bundle.result.motions, work / name)
    name = placed(project, work / name, target)
    return {"result": name, "remember": {"settings": stated, "selected": name}}


def placed(project: Project, made: Path, target: Path) -> str:
    """Moves a finished result to its place, or to the next free one where somebody else has filled it meanwhile; its name there."""
    while True:
        try:
            os.rename(made, target)
            return target.name
        except OSError:
            if not target.exists():
                raise
            target = target.with_name(project.free_name("results", "result"))


def remove(project: Project, arguments: Arguments) -> Document:
    """Delete a result."""
    import shutil

    shutil.rmtree(project.result_folder(arguments.text("result")))
    project.changed()
    return {}


def _notes(project: Project) -> dict[str, Any]:
    return project.chosen("identify", "notes", dict) or {}


def note(project: Project, arguments: Arguments) -> Document:
    """Keep what somebody writes beside a result."""
    name = arguments.text("result")
    project.result_folder(name)
    project.choose("identify", notes={**_notes(project), name: arguments.text("note", " ").strip()})
    return {}


def compare(project: Project, arguments: Arguments) -> Document:
    """Two results held against each other, with a test of whether they differ, and what was chosen otherwise."""
    names = [arguments.text(key) for key in ("first", "second")]
    first, second = (project.result(name) for name in names)
    pair = ia.compare_parameters(first, second)
    values = [
        {"name": d.name, "first": d.first, "second": d.second, "std": d.std, "p": d.adjusted, "differs": d.differs}
        for d in pair.differences
    ]
    decided = [{c.subject: c.sentence for c in result.choices} for result in (first, second)]
    subjects = dict.fromkeys([*decided[0], *decided[1]])
    choices = [
        {"subject": s, "first": decided[0].get(s, ""), "second": decided[1].get(s, "")}
        for s in subjects
        if decided[0].get(s) != decided[1].get(s)
    ]
    return {"sentence": pair.sentence, "shared": pair.shared, "p": pair.p, "differences": values, "choices": choices}


def remember(project: Project, arguments: Arguments) -> Document:
    """Keep what the form says, so that another page shows it, too."""
    project.choose("identify", settings=_stated(arguments))
    return {}


def _stated(arguments: Arguments) -> Document:
    """What the form fixes; everything else is chosen."""
    out: Document = {}
    if (method := arguments.text("method", "auto")) != "auto":
        out["method"] = method
    if (cutoff := arguments.perhaps("cutoff", 1e-3, 1e6)) is not None:
        out["cutoff"] = cutoff
    if "filter" in arguments:
        out["filter"] = arguments.word("filter", FILTERS)
    if "friction" in arguments:
        laws = arguments.words("friction")
        if unknown := next((name for name in laws if name not in FRICTION), None):
            raise Refused(f"there is no friction law '{unknown}'", 400)
        out["friction"] = laws
    if (delay := arguments.perhaps("delay", -1.0, 1.0)) is not None:
        out["delay"] = delay
    if "velocity" in arguments:
        out["velocity"] = arguments.word("velocity", ("recorded", "differences"))
    out |= {key: True for key in ("quick", "force") if arguments.flag(key)}
    return out


def _settings(stated: Document) -> Settings:
    values: dict[str, Any] = dict(stated)
    if "friction" in values:
        values["friction"] = tuple(values["friction"])
    return Settings(**values)


def _words(project: Project, stated: Document, folder: str) -> list[str]:
    """The command line of the same fit, typed in the project folder."""
    words = ["inertica", "identify", short(project, project.card), *(typed(project, "identify") or ["log.csv"])]
    for name in typed(project, "validate"):
        words += ["--validate", name]
    for key, value in stated.items():
        if value is True:
            words.append(f"--{key}")
        elif key == "friction":
            words += ["--friction", ",".join(value) or "none"]
        else:
            words += [f"--{key}", f"{value:g}" if isinstance(value, float) else str(value)]
    return [*words, "-o", folder]


def _python(project: Project, stated: Document, folder: str) -> list[str]:
    fit, hold = ([quoted(name) for name in typed(project, role)] for role in ("identify", "validate"))
    options = "".join(
        f", {key}={tuple(value) if key == 'friction' else value!r}" for key, value in stated.items() if key.isidentifier()
    )
    validate = f", validate=[{', '.join(hold)}]" if hold else ""
    return [
        f"logs = [{', '.join(fit) or repr('log.csv')}]",
        f'result = ia.identify("card.yaml", logs{validate}{options})',
        f"ia.write_folder(result, {quoted(folder)}, logs{validate.replace(', validate=', ', ')})",
    ]


ROOM = Room(
    "identify",
    "Identify",
    "From logs to parameters. Whatever is not stated is chosen on the data, with a reason.",
    state,
    view,
    {"remove": remove, "remember": remember, "note": note, "compare": compare},
    {"run": run},
    names={"run": ("results", "result", "")},
)
