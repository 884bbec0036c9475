"""Exported URDF and MJCF files of results, loaded by Pinocchio and MuJoCo: their residual beside the result's, on the same motion."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
from numpy.typing import NDArray
from real_records import DATA, Record, Window, read_window

import inertica as ia
from inertica.benchmark.plain import Score, score
from inertica.workflow.export.torques import ModelTorques

Array = NDArray[np.float64]

LOSS = 1.1
"""Residual of a file over the result's up to which it is the same model."""


class Outcome(Enum):
    """What became of a file in a program."""

    NO_WORSE = "no worse"
    """Its residual is at most a tenth larger than the result's."""
    STATED = "worse, stated"
    """Its residual is larger, and the export named what the format cannot hold."""
    WORSE = "worse, not stated"
    NOT_WRITTEN = "not written"
    """The export said why."""
    NOT_LOADED = "not loaded"
    SOURCE_NOT_LOADED = "source not loaded"
    """The program refuses the file that the user came with, too."""


FAILURES = (Outcome.WORSE, Outcome.NOT_LOADED)


@dataclass(frozen=True)
class FileScore:
    """One file in one program.

    Args:
        record, format, program: which.
        outcome: in a word.
        result: residual of what the result itself predicts.
        file: residual of the file; None where there is none.
        notes: what the export said that the file does not hold.
        failure: why there is no residual; empty when there is one.
    """

    record: str
    format: str
    program: str
    outcome: Outcome
    result: Score
    file: Score | None
    notes: tuple[str, ...]
    failure: str

    @property
    def loss(self) -> float | None:
        """Residual over the result's, the worse of raw and low-passed."""
        return None if self.file is None else loss(self.result, self.file)

    def document(self) -> dict[str, object]:
        return asdict(self) | {"outcome": self.outcome.value, "loss": self.loss}


def loss(result: Score, file: Score) -> float:
    return max(file.raw / result.raw, file.low / result.low)


def pinocchio_torque(model: pin.Model, joints: tuple[str, ...], q: Array, dq: Array, ddq: Array) -> Array:
    """(N, n) inverse dynamics with the friction that the model holds."""
    at = [model.joints[model.getJointId(name)].idx_v for name in joints]
    data, tau, states = model.createData(), np.empty_like(q), np.zeros((3, model.nv))
    for k in range(len(q)):
        states[:, at] = q[k], dq[k], ddq[k]
        tau[k] = pin.rnea(model, data, *states)[at]
    coulomb = model.upperDryFrictionLimit if hasattr(model, "upperDryFrictionLimit") else model.friction
    return np.asarray(tau + np.array(model.damping)[at] * dq + np.array(coulomb)[at] * np.sign(dq))


def mujoco_torque(model: mujoco.MjModel, joints: tuple[str, ...], q: Array, dq: Array, ddq: Array) -> Array:
    """(N, n) inverse dynamics as MuJoCo computes it, without contacts and joint limits."""
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    at = [int(model.joint(name).dofadr[0]) for name in joints]
    data, tau = mujoco.MjData(model), np.empty_like(q)
    for k in range(len(q)):
        data.qpos[at], data.qvel[at], data.qacc[at] = q[k], dq[k], ddq[k]
        mujoco.mj_inverse(model, data)
        tau[k] = data.qfrc_inverse[at]
    return tau


Torque = Callable[[str, tuple[str, ...], Array, Array, Array], Array]
"""(N, n) torques of a model file for named joints along q, dq, ddq."""

PROGRAMS: dict[tuple[str, str], Torque] = {
    ("urdf", "pinocchio"): lambda file, *motion: pinocchio_torque(pin.buildModelFromUrdf(file), *motion),
    ("urdf", "mujoco"): lambda file, *motion: mujoco_torque(mujoco.MjModel.from_xml_path(file), *motion),
    ("mjcf", "pinocchio"): lambda file, *motion: pinocchio_torque(pin.buildModelFromMJCF(file), *motion),
    ("mjcf", "mujoco"): lambda file, *motion: mujoco_torque(mujoco.MjModel.from_xml_path(file), *motion),
}
SUFFIX = {"urdf": ".urdf", "mjcf": ".xml"}


def export_scores(record: Record, window: Window, result: ia.Result, folder: Path) -> list[FileScore]:
    """Every file in every program, on a window that was not fitted."""
    motion = result.motion(ia.read_log(window.path(record.folder), result.description))
    joints, states = tuple(result.description.robot.joint_names), (motion.q, motion.dq, motion.ddq)
    recorded = read_window(record, window)
    ours = score(recorded, motion.at_samples(ModelTorques.of(result).predicted(motion)), record.columns)
    rows = []
    for (format, program), torque in PROGRAMS.items():
        file = folder / f"{record.name}{SUFFIX[format]}"
        notes, failure = written(result, file, format)
        outcome, theirs = Outcome.NOT_WRITTEN, None
        if not failure:
            try:
                tau = torque(str(file), joints, *states)
            except LOADING_ERRORS as error:
                failure = str(error).strip()
                source = format == "urdf" and not loads(torque, DATA / record.folder / record.model, joints)
                outcome = Outcome.SOURCE_NOT_LOADED if source else Outcome.NOT_LOADED
            else:
                theirs = score(recorded, motion.at_samples(tau), record.columns)
                outcome = Outcome.NO_WORSE if loss(ours, theirs) <= LOSS else Outcome.STATED if notes else Outcome.WORSE
        rows.append(FileScore(record.name, format, program, outcome, ours, theirs, notes, failure))
    return rows


LOADING_ERRORS = (ValueError, RuntimeError, KeyError, IndexError)
"""By which Pinocchio and MuJoCo refuse a file, or a joint's name that is not in it."""


def loads(torque: Torque, file: Path, joints: tuple[str, ...]) -> bool:
    """Whether a program takes a model file at all."""
    try:
        torque(str(file), joints, *np.zeros((3, 1, len(joints))))
    except LOADING_ERRORS:
        return False
    return True


def written(result: ia.Result, file: Path, format: str) -> tuple[tuple[str, ...], str]:
    """Writes a model by the defaults of the export; what it warns of, and why it was not written where it was not."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ia.ModelWarning)
        try:
            exported = ia.export_model(result, file, format)
        except ia.InerticaError as error:
            return (), str(error)
    return (*exported.notes, *(str(w.message) for w in caught)), ""


def table(rows: list[FileScore]) -> str:
    """As Markdown, residuals in percent; below it counts, what the export said of each file, and what went wrong."""
    lines = [
        "| record | file | in | result raw | low | file raw | low | loss | outcome |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for r in rows:
        theirs = "- | - | -" if r.file is None else f"{100 * r.file.raw:.2f} | {100 * r.file.low:.2f} | {r.loss:.3f}"
        ours = f"{100 * r.result.raw:.2f} | {100 * r.result.low:.2f}"
        lines.append(f"| {r.record} | {r.format} | {r.program} | {ours} | {theirs} | {r.outcome.value} |")
    counts = Counter(r.outcome.value for r in rows)
    texts = {f"* {r.record} {r.format}: {text}": None for r in rows for text in (*r.notes, r.failure) if text}
    return "\n".join([*lines, "", ", ".join(f"{k} {name}" for name, k in counts.most_common()), "", *texts])
