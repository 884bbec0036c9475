"""Data: logs, what is in them, what they are for, and what the check says of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import inertica as ia
from inertica.arrays import Array
from inertica.errors import InerticaError
from inertica.logs.readers.formats import find_format
from inertica.logs.units import SIGNALS
from inertica.studio.arguments import Arguments
from inertica.studio.confined import Refused, inside
from inertica.studio.fields import error_document
from inertica.studio.marks import placed
from inertica.studio.project import ROLES, LogEntry, Project
from inertica.studio.room import ATTENTION, OPEN, READY, Document, Room, quoted, same, short
from inertica.studio.series import Series

READING = ("columns", "log_joints", "rate", "topic", "episode", "units")
"""Keys of the card that say how logs are read."""

STRETCHES = 200
"""Masked stretches of one reason that are shown."""

GAP = 5.0
"""Usual steps of the clock from which a step is marked as a gap."""

AT_LIMIT = 0.999
"""Share of a limit from which a torque counts as at it."""


def state(project: Project) -> tuple[str, str]:
    entries = project.logs
    if not entries:
        return OPEN, "no logs yet"
    use, hold = (sum(e.role == role for e in entries) for role in ("identify", "validate"))
    words = f"{use} to fit" + (f", {hold} to validate" if hold else "")
    if checked := _checked(project):
        verdict = checked["verdict"]
        return (ATTENTION if verdict == "problem" else READY), f"{words}; check: {verdict}"
    return (READY if use else ATTENTION), words if use else "no log to fit"


def view(project: Project, arguments: Arguments) -> Document:
    words = [_typed(project, e) for e in project.logs if e.role != "ignore"] or ["log.csv"]
    names = ", ".join(map(quoted, words))
    keys = project.card_keys()
    gains = keys.get("torque", {})
    return {
        "logs": [e.document() | {"link": e.file in project.state["links"]} for e in project.logs],
        "joints": list(project.description.robot.joint_names) if project.has_robot else [],
        "gains": isinstance(gains, dict) and "gain" in gains,
        "reading": {key: keys[key] for key in READING if key in keys},
        "roles": list(ROLES),
        "check": _checked(project),
        "symbols": {name: s.kind for name, s in SIGNALS.items()},
        "same": same(
            [["inertica", "check", "card.yaml", *words]],
            [f'quality = ia.check("card.yaml", [{names}])', "print(quality.sentence)",
             f'log = ia.read_log({quoted(words[0])}, ia.load("card.yaml"))'],
        ),
    }  # fmt: skip


def describe(project: Project, arguments: Arguments) -> Document:
    """What is in a log; for one that cannot be read, why not and which columns its file has."""
    entry = project.entry(arguments.text("log"))
    try:
        log = project.read_log(entry.name)
    except InerticaError as error:
        problem = error_document(error)
        return {"name": entry.name, **problem, "error": project.said(problem["error"]), "file_columns": _columns(project, entry)}
    t = log.t[np.isfinite(log.t)]
    return {
        "name": entry.name,
        "samples": len(log),
        "duration": log.duration,
        "rate": log.rate,
        "start": float(t[0]) if len(t) else 0.0,
        "end": float(t[-1]) if len(t) else 0.0,
        "joints": list(log.joints),
        "signals": {
            symbol: {
                "kind": SIGNALS[symbol].kind,
                "unit": SIGNALS[symbol].unit,
                "columns": list(log.origin.columns.get(symbol, ())),
            }
            for symbol in log.signals
        },
        "masks": [
            {"reason": reason, "samples": int(np.count_nonzero(mask)), "stretches": _stretches(log.t, mask)}
            for reason, mask in log.masks.items()
        ],
        "marks": _marks(project, log),
        "warnings": list(log.warnings),
        "notes": list(log.notes),
        "file_columns": [c.name for c in log.channels],
    }


def signal(project: Project, arguments: Arguments) -> Series:
    """A signal of a log, all joints."""
    log = project.read_log(arguments.text("log"))
    return _signal(log, arguments.word("signal", log.signals))


@lru_cache(maxsize=8)
def _signal(log: ia.Log, symbol: str) -> Series:
    good = np.isfinite(log.t)
    if good.all():
        return Series(log.t, log.signals[symbol])
    return Series(log.t[good], log.signals[symbol][good])


def add(project: Project, arguments: Arguments) -> Document:
    """A file of the project, or one that the command line named, as a log."""
    return project.add_log(arguments.text("file"), arguments.word("role", ROLES, "identify")).document()


def remove(project: Project, arguments: Arguments) -> Document:
    """Take a log from the list; a file that was dropped on the page is deleted where that is asked for."""
    entry = project.entry(arguments.text("log"))
    project.put_logs([e for e in project.logs if e.name != entry.name])
    if arguments.flag("file") and entry.file not in project.state["links"]:
        inside(project.folder, entry.file).unlink(missing_ok=True)
    return {}


def change(project: Project, arguments: Arguments) -> Document:
    """Role and slice of a log."""
    entry = project.entry(arguments.text("log"))
    new = replace(entry, role=arguments.word("role", ROLES, entry.role))
    if "slice" in arguments.values:
        ends = arguments.values["slice"]
        if ends is None:
            new = replace(new, start=None, end=None)
        else:
            bounds = Arguments({"start": ends[0], "end": ends[1]}) if isinstance(ends, list) and len(ends) == 2 else Arguments()
            start, end = bounds.number("start"), bounds.number("end")
            if not start < end:
                raise Refused("a slice ends after it starts", 400)
            new = replace(new, start=round(start, 6), end=round(end, 6))
    project.put_logs([new if e.name == entry.name else e for e in project.logs])
    return new.document()


def reading(project: Project, arguments: Arguments) -> Document:
    """How logs are read, written into the card: which columns hold what, rate, names of joints ...; what is null or empty goes."""
    if not project.has_robot:
        raise Refused("how logs are read is kept with the robot; load a robot first", 409)
    stated = arguments.object("options")
    if unknown := next((key for key in stated if key not in READING), None):
        raise Refused(f"the form has no option '{unknown}'", 400)
    keys = project.card_keys() | stated
    project.write_card({key: value for key, value in keys.items() if key not in stated or value not in (None, "", [], {})})
    return {"options": stated}


def files(project: Project, arguments: Arguments) -> Document:
    """Files of the project that could be logs and are not in the list."""
    known = {e.file for e in project.logs}
    paths = [short(project, p) for p in inside(project.folder, "logs").rglob("*") if p.is_file() and not p.name.startswith(".")]
    return {"files": sorted(f for f in [*paths, *project.state["links"]] if f not in known and _is_log(f))}


def check(project: Project, arguments: Arguments, say: Callable[[str], None], work: Path) -> Document:
    """Job: `ia.check` of the logs that are in use."""
    entries = [e for e in project.logs if e.role != "ignore"]
    places = [project.place(e) for e in entries]
    if not places:
        raise Refused("there is no log to check", 409)
    say(f"checking {len(places)} log{'s' if len(places) > 1 else ''}: signals, motion, what they determine")
    quality = ia.check(project.card, places)
    document = {"for": _signature(project), "verdict": quality.verdict, "sentence": quality.sentence}
    names = dict(zip(quality.logs, (e.name for e in entries), strict=True))
    findings = placed(quality.findings, names, project.description.robot.joint_names)
    return document | {"remember": {"check": document | {"findings": findings}}}


def _checked(project: Project) -> Document | None:
    """What the last check found, when it was about the present logs and card."""
    last = project.chosen("data", "check", dict)
    return last if last and last.get("for") == _signature(project) and isinstance(last.get("verdict"), str) else None


def _signature(project: Project) -> list[str]:
    """What a check was about: it says nothing of other logs or another card."""
    stamp = project.card.read_text(encoding="utf-8") if project.has_robot else ""
    return [stamp, *(f"{e.file}{e.interval} {e.role}" for e in project.logs if e.role != "ignore")]


def _typed(project: Project, entry: LogEntry) -> str:
    return f"{short(project, project.path(entry.file))}{entry.interval}"


def typed(project: Project, role: str) -> list[str]:
    """Logs of a role as they are typed in the project folder."""
    return [_typed(project, e) for e in project.logs if e.role == role]


def _columns(project: Project, entry: LogEntry) -> list[str]:
    from inertica.logs.readers.options import ReadOptions

    path = project.path(entry.file)
    try:
        table = find_format(path).read(path, ReadOptions().completed(project.description if project.has_robot else None))
    except InerticaError:
        return []
    return list(table.columns)


def _is_log(name: str) -> bool:
    from inertica.logs.readers.formats import FORMATS

    return any(name.lower().endswith(suffix) for f in FORMATS for suffix in f.suffixes)


def _marks(project: Project, log: ia.Log) -> list[Document]:
    """What can be marked before any check: gaps, torque at its limit, position beyond its limits."""
    out: list[tuple[str, NDArray[np.bool_]]] = []
    step = np.diff(log.t, append=np.nan)
    usual = np.nanmedian(step) if len(log) > 1 else np.nan
    out.append(("gap in the clock", np.nan_to_num(step, nan=0.0) > GAP * usual))
    if project.has_robot and project.description.robot.n == log.n:
        limits = project.description.robot.limits
        if (torque := log.tau) is not None:
            out.append(("torque at its limit", np.any(np.abs(torque) >= AT_LIMIT * np.array(limits.torque), axis=1)))
        if (q := log.q) is not None:
            out.append(("position beyond its limit", np.any((q < np.array(limits.lower)) | (q > np.array(limits.upper)), axis=1)))
    return [
        {"reason": reason, "samples": int(np.count_nonzero(mask)), "stretches": _stretches(log.t, mask)}
        for reason, mask in out
        if mask.any()
    ]


def _stretches(t: Array, mask: NDArray[np.bool_]) -> list[list[float]]:
    """Times between which samples are masked."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    pairs = zip(edges[::2], edges[1::2], strict=True)
    out = [[float(t[a]), float(t[b - 1])] for a, b in pairs if np.isfinite(t[a]) and np.isfinite(t[b - 1])]
    return out[:STRETCHES]


ROOM = Room(
    "data",
    "Data",
    "Recorded motion: which logs there are, what they hold, and whether they are what they say.",
    state,
    view,
    {"describe": describe, "add": add, "remove": remove, "change": change, "reading": reading, "files": files},
    {"check": check},
    {"signal": signal},
)
