"""Trust: which parameters are known and how well, how the model predicts, and whether two results differ."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.documents import plain
from inertica.identifiability.labels import LABEL_WORDS, LABELS
from inertica.report.logs import motions_again
from inertica.report.style import LABEL_COLOURS, LABEL_LETTERS
from inertica.studio.arguments import Arguments
from inertica.studio.confined import Refused
from inertica.studio.overlay import SIGNALS, read_document, summary, torques, write_overlay
from inertica.studio.project import Project
from inertica.studio.room import ATTENTION, OPEN, READY, Document, Room, quoted, same
from inertica.studio.rooms.data import typed
from inertica.studio.rooms.identify import card
from inertica.studio.series import Series
from inertica.workflow.identify.parameter_table import documents, shown
from inertica.workflow.identify.result import RESULT

MEASURED, PREDICTED, SMOOTH, SMOOTH_PREDICTED, POSITION = range(5)


def selected(project: Project) -> str | None:
    """The result that is looked at: the one chosen, or the last."""
    names = project.results
    chosen = project.chosen("trust", "selected", str) or project.chosen("identify", "selected", str)
    return chosen if chosen in names else (names[-1] if names else None)


def state(project: Project) -> tuple[str, str]:
    name = selected(project)
    if name is None:
        return OPEN, "after a first result"
    result = summary(project.folder / "results" / name)
    if result is None:
        return OPEN, name
    level = result["verdict"]["level"]
    return (READY if level == "good" else ATTENTION), f"{name}: {result['verdict']['headline'].lower()}"


def view(project: Project, arguments: Arguments) -> Document:
    names = project.results
    name = arguments.text("result") if "result" in arguments else selected(project)
    if name is None:
        return {"results": [], "same": same([["inertica", "report", "results/result-1"]], ['ia.Result.load("results/result-1")'])}
    folder = project.result_folder(name)
    document = read_document(folder / RESULT, (folder / RESULT).stat().st_mtime_ns)
    prepared = summary(folder)
    result = project.result(name)
    layout, joints = result.parameters.layout, result.description.robot.joints
    rows, extra = layout.cells()
    quantities = {entry.parameter.name: entry.quantity for entry in result.entries}
    parameters = [
        row | {"index": entry.parameter.joint, "kind": entry.parameter.kind}
        for row, entry in zip(documents(result.entries), result.entries, strict=True)
    ]
    other = next((n for n in reversed(names) if n != name), None)
    beside = [] if other is None else [["inertica", "report", f"results/{name}", f"results/{other}", "-o", "together.html"]]
    test = (
        [] if other is None else [f"print(ia.compare_parameters(result, ia.Result.load({quoted(f'results/{other}')})).sentence)"]
    )
    fitted = next(iter(typed(project, "identify")), "log.csv")
    return {
        "results": names,
        "selected": name,
        "card": card(project, name),
        "prepared": prepared is not None,
        "summary": prepared,
        "parameters": parameters,
        "columns": [{"name": c.name, "kind": c.kind.value, "title": c.heading, "wide": c.wide} for c in shown(wide=True)],
        "base": document["base"],
        "residual": document["residual"],
        "check": document["check"],
        "lack_of_fit": document["lack_of_fit"],
        "masses": document["masses"],
        "joints": [{"name": j.name, "link": j.link, "unit": j.unit, "effort": j.effort_unit} for j in joints],
        "cells": [rows.get(j, {}) for j in range(len(joints))],
        "extra": extra,
        "symbols": {kind: quantities[name] for row in rows.values() for kind, name in row.items()},
        "labels": [
            {"word": w, "fill": LABEL_COLOURS[w][0], "ink": LABEL_COLOURS[w][1], "letter": LABEL_LETTERS[w], "says": LABEL_WORDS[w]}
            for w in LABELS
        ],
        "report": (folder / "report.html").is_file(),
        "same": same(
            [["inertica", "report", f"results/{name}"], *beside],
            [f'result = ia.Result.load({quoted(f"results/{name}")})', "result.to_pandas()             # the table",
             "result.intervals, result.labels", f'result.predict(ia.read_log({quoted(fitted)}, result.description))', *test],
        ),
    }  # fmt: skip


def select(project: Project, arguments: Arguments) -> Document:
    """Look at another result."""
    name = arguments.text("result")
    project.result_folder(name)
    project.choose("trust", selected=name)
    return {"selected": name}


def torque(project: Project, arguments: Arguments) -> Series:
    """Measured, predicted, residual of one joint: as recorded, or low-passed."""
    folder = project.result_folder(arguments.text("result"))
    stamp = _stamp(folder)
    joint, smooth = round(arguments.number("joint", 0.0, 0.0, 1000.0)), arguments.text("smooth", "no") == "yes"
    return _torque(folder, stamp, round(arguments.number("log", 0.0, 0.0, 1000.0)), joint, smooth)


def position(project: Project, arguments: Arguments) -> Series:
    """Positions of the log, for the robot under the cursor."""
    folder = project.result_folder(arguments.text("result"))
    return _position(folder, _stamp(folder), round(arguments.number("log", 0.0, 0.0, 1000.0)))


def _stamp(folder: Path) -> int:
    if not (folder / SIGNALS).is_file():
        raise Refused("the torques of this result were not worked out yet", 404)
    return (folder / SIGNALS).stat().st_mtime_ns


@lru_cache(maxsize=3)
def _recorded(folder: Path, stamp: int, number: int) -> tuple[Array, NDArray[np.float32]]:
    return torques(folder, number)


@lru_cache(maxsize=16)
def _torque(folder: Path, stamp: int, number: int, joint: int, smooth: bool) -> Series:
    t, signals = _recorded(folder, stamp, number)
    if joint >= signals.shape[2]:
        raise Refused(f"the robot has {signals.shape[2]} joints", 400)
    one = signals[:, :, joint]
    measured, predicted = (one[SMOOTH], one[SMOOTH_PREDICTED]) if smooth else (one[MEASURED], one[PREDICTED])
    return Series(t, np.column_stack([measured, predicted, measured - predicted]))


@lru_cache(maxsize=3)
def _position(folder: Path, stamp: int, number: int) -> Series:
    t, signals = _recorded(folder, stamp, number)
    return Series(t, signals[POSITION])


def prepare(project: Project, arguments: Arguments, say: Callable[[str], None], work: Path) -> Document:
    """Job: what this room draws, for a result that was made elsewhere."""
    name = arguments.text("result")
    folder, result = project.result_folder(name), project.result(name)
    say("reading the logs of the result again")
    motions, gone = motions_again(result)
    for sentence in gone:
        say(sentence)
    say("predicting torques")
    write_overlay(result, motions, folder)
    return plain({"result": name, "gone": gone})


ROOM = Room(
    "trust",
    "Trust",
    "Which values are known and how well, and how the model predicts.",
    state,
    view,
    {"select": select},
    {"prepare": prepare},
    {"torque": torque, "position": position},
)
