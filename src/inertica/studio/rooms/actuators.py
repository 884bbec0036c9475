"""Actuators: armature, friction, delay, zeros and gains of every joint's servo from commands and positions, without any torque."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import inertica as ia
from inertica.estimators.actuators.values import QUANTITIES
from inertica.report.actuators import write_actuators_report
from inertica.studio.arguments import Arguments
from inertica.studio.confined import Refused, inside, plain_name
from inertica.studio.project import Project
from inertica.studio.room import OPEN, READY, Document, Room, quoted, same, short
from inertica.studio.series import Series
from inertica.workflow.actuators.card import write_card
from inertica.workflow.actuators.result import UNSEEN, ActuatorsResult, FreeRun
from inertica.workflow.actuators.words import sentences
from inertica.writing import whole_file

MOTION = "motion.npz"
"""Measured and simulated positions beside the result: what this room draws."""

GAINS = ("kp", "kd")


def state(project: Project) -> tuple[str, str]:
    last = project.chosen("actuators", "last", dict)
    return (READY, last["name"]) if last else (OPEN, "from commands and positions")


def view(project: Project, arguments: Arguments) -> Document:
    form = project.chosen("actuators", "form", dict) or {}
    shell, python = _lines(project, form)
    return {
        "logs": [entry.name for entry in project.logs], "form": form, "last": project.chosen("actuators", "last", dict),
        "same": same(shell, python),
    }  # fmt: skip


def find(project: Project, arguments: Arguments, say: Callable[[str], None], work: Path) -> Document:
    """Job: `ia.actuators`; result, values, report and motion go into a folder of exports."""
    form: dict[str, Any] = {key: arguments.words(key) for key in ("fitted", "validate")}
    if not form["fitted"]:
        raise Refused("tick at least one log to fit", 409)
    form |= {key: arguments.text(key) for key in GAINS if key in arguments}
    logs, others = ([project.place(project.entry(name)) for name in form[key]] for key in ("fitted", "validate"))
    kp, kd = (_gains(key, form.get(key), project.description.robot.n) for key in GAINS)
    result = ia.actuators(project.card, logs, validate=others, kp=kp, kd=kd, say=say)
    name = plain_name(arguments.text("name"))
    folder = inside(project.folder, Path("exports") / name)
    files = [result.save(folder), write_card(result, folder), write_actuators_report(result, folder)]
    _write_motion(folder / MOTION, list(result.free_run.values()))
    last = {"name": name, "files": [short(project, path) for path in files], **_document(result)}
    return {"actuators": name, "remember": {"last": last, "form": form}}


def motion(project: Project, arguments: Arguments) -> Series:
    """Series: measured position of a joint, simulated before and after."""
    last = project.chosen("actuators", "last", dict)
    if last is None:
        raise Refused("no actuators were found yet", 409)
    path = inside(project.folder, Path("exports") / plain_name(last["name"])) / MOTION
    if not path.is_file():
        raise Refused("the motion of this result is not there any more; find the actuators again", 409)
    run, joint = (round(arguments.number(key, 0.0, 0.0, 1000.0)) for key in ("log", "joint"))
    if run >= len(last["runs"]) or joint >= len(last["joints"]):
        raise Refused(f"the result has {len(last['runs'])} free runs of {len(last['joints'])} joints", 400)
    return _joint_motion(path, path.stat().st_mtime_ns, run, joint)


@lru_cache(maxsize=16)
def _joint_motion(path: Path, stamp: int, run: int, joint: int) -> Series:
    with np.load(path, allow_pickle=False) as file:
        return Series(file[f"t{run}"], file[f"q{run}"][:, :, joint].T)


def _write_motion(path: Path, runs: list[FreeRun]) -> None:
    """Times t0 (N,) and positions q0 (3, N, n), measured, before, after, of the first run, and so on."""
    arrays = {}
    for k, run in enumerate(runs):
        arrays[f"t{k}"] = np.concatenate([trace.t for trace in run.traces])
        arrays[f"q{k}"] = np.stack(
            [np.concatenate([getattr(trace, name) for trace in run.traces]) for name in ("measured", "before", "after")]
        ).astype(np.float32)
    with whole_file(path) as temporary:
        np.savez(temporary, allow_pickle=False, **arrays)


def _document(result: ActuatorsResult) -> Document:
    """What the page shows."""
    names = [joint.name for joint in result.joints]
    shown = [
        name
        for name, kind in QUANTITIES.items()
        if kind.optional is None or any(getattr(joint, name).label != UNSEEN for joint in result.joints)
    ]
    return {
        "joints": names,
        "unknown": sentences(result.confounded, names),
        "remarks": [*result.scale, *result.notes],
        "warnings": list(result.warnings),
        "quantities": [{"name": name, "words": QUANTITIES[name].words, "unit": QUANTITIES[name].unit} for name in shown],
        "values": [
            {name: _quantity(getattr(joint, name)) for name in shown} | {"joint": joint.name} for joint in result.joints
        ],
        "runs": [
            {
                "name": Path(name).name, "fitted": run.fitted, "rms": [_finite(x) for x in run.rms],
                "before": [_finite(x) for x in run.before],
            }
            for name, run in result.free_run.items()
        ],
    }  # fmt: skip


def _quantity(quantity: Any) -> Document:
    interval = None if quantity.interval is None else [_finite(x) for x in quantity.interval]
    return {"value": _finite(quantity.value), "interval": interval, "label": quantity.label}


def _finite(x: float) -> float | None:
    """JSON has no infinite numbers."""
    return float(x) if math.isfinite(x) else None


def _gains(key: str, word: str | None, n: int) -> list[float] | None:
    """One number, or one per joint; - where unknown."""
    if word is None:
        return None
    parts = [part.strip() for part in word.split(",")]
    try:
        numbers = [math.nan if part == "-" else float(part) for part in parts]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, n):
        raise Refused(f"{key} should be one number, or {n} separated by commas, - where it is unknown; not '{word}'", 400)
    return numbers


def _lines(project: Project, form: Document) -> tuple[list[list[str]], list[str]]:
    entries = {e.name: short(project, project.path(e.file)) for e in project.logs}
    fitted, others = ([entries[n] for n in form.get(key, []) if n in entries] for key in ("fitted", "validate"))
    fitted = fitted or ["run.csv"]
    gains = [word for key in GAINS if key in form for word in (f"--{key}", form[key])]
    shell = ["inertica", "actuators", "card.yaml", *fitted, *(word for other in others for word in ("--validate", other)), *gains]
    logs, checks = (f"[{', '.join(map(quoted, names))}]" for names in (fitted, others))
    words = {
        key: ", ".join("nan" if part.strip() == "-" else part.strip() for part in form[key].split(","))
        for key in GAINS
        if key in form
    }
    stated = "".join(f", {key}=[{word}]" for key, word in words.items())
    beside = f", validate={checks}" if others else ""
    call = f'ia.actuators("card.yaml", {logs}{beside}{stated})'
    unknown = ["from math import nan", ""] if "nan" in stated else []
    export = ["inertica", "export", "actuators", "--as", "mujoco-actuators", "-o", "simulation"]
    return [[*shell, "-o", "actuators"], export], [*unknown, f"found = {call}", 'found.save("actuators")']


ROOM = Room(
    "actuators",
    "Actuators",
    "Armature, friction, delay and gains of every joint from commands and positions, without torque.",
    state,
    view,
    {},
    {"find": find},
    {"motion": motion},
    names={"find": ("exports", "actuators", "")},
    extra=True,
)
