"""Torques of a written model file, by a program that has nothing of ours where one is installed, and of parts of a model alone."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from inertica.arrays import Array
from inertica.dynamics.engine import Engine
from inertica.preprocessing.motion import Motion
from inertica.robot.description import Description
from inertica.robot.formats.model_format import ModelFormat
from inertica.robot.layout import Parameters
from inertica.workflow.export.exchange import dry_friction_field
from inertica.workflow.identify.prediction import held_direction
from inertica.workflow.identify.result import Result
from inertica.workflow.identify.standstill import HELD, Standstill

States = tuple[Array, Array, Array]
"""q, dq, ddq, each (N, n)."""

OURS = "inertica"


@dataclass(frozen=True, eq=False)
class FileReader:
    """A program that has read a model file.

    Args:
        name: of the program, with its version.
        torques: (N, n) of states.
    """

    name: str
    torques: Callable[[States], Array]


def our_reader(again: Description) -> FileReader:
    """The file as this program reads it, with the file's own gravity."""
    engine, values = Engine(again.layout), again.prior
    return FileReader(OURS, lambda states: np.asarray(engine.inverse_dynamics(*states, values.values, values.shapes)))


def independent_reader(path: Path, format: ModelFormat, again: Description) -> FileReader | None:
    """Pinocchio or MuJoCo, where installed, for files that they read; None where neither does.

    Args:
        path: the file.
        format: of the file.
        again: the robot that we read from the file.
    """
    if again.source.root is not None:  # only a part of the file was identified; others would read all of it
        return None
    makers = [READERS[name] for name in format.programs if name in READERS]
    return next((reader for make in makers if (reader := make(path, again)) is not None), None)


@dataclass(frozen=True, eq=False)
class ModelTorques:
    """Torques of a result's model, whole or in parts; laws with memory, whose torque depends on the past, are left out.

    Args:
        parameters: of the result, without such laws.
        engine: of their layout.
        added: what the result's predictions add to the parameters, with compiled dynamics of its layout; None where nothing.
        standstill: of the result's predictions.
    """

    parameters: Parameters
    engine: Engine
    added: tuple[Parameters, Engine] | None = None
    standstill: Standstill = HELD

    @classmethod
    def of(cls, result: Result) -> ModelTorques:
        """With the engine of the result where it is that of its parameters; making one takes a tenth of a second."""
        layout, engine = result.parameters.layout, result.estimate.base.engine
        if layout.memory:
            layout = replace(layout, terms=tuple(t for t in layout.terms if not t.memory))
        added = None if result.correction is None else (result.correction, result.predictor_engine)
        return cls(result.parameters.on(layout), engine if engine.layout == layout else Engine(layout), added, result.standstill)

    def predicted(self, motion: Motion) -> Array:
        """(N, n) as the result predicts them along a motion."""
        held = held_direction(motion)
        return self.standstill.torque(lambda *states: self.whole(states), motion.q, motion.dq, held, motion.ddq)

    def whole(self, states: States) -> Array:
        """(N, n) as the result predicts them where friction is held."""
        torque = self.alone(states)
        return torque if self.added is None else torque + self.correction(states)

    def alone(self, states: States) -> Array:
        """(N, n) of the parameters, without what predictions add to them."""
        return np.asarray(self.engine.inverse_dynamics(*states, self.parameters.values, self.parameters.shapes))

    def correction(self, states: States) -> Array:
        """(N, n) of what predictions add to the parameters."""
        if self.added is None:
            return np.zeros_like(np.asarray(states[0], float))
        values, engine = self.added
        return np.asarray(engine.inverse_dynamics(*states, values.values, values.shapes))

    def part(self, names: Iterable[str], states: States) -> Array:
        """(N, n) of some parameters alone; the dynamics are linear in them."""
        wanted, by_name = set(names), zip(self.parameters.layout.names, self.parameters.values, strict=True)
        values = np.array([value if name in wanted else 0.0 for name, value in by_name])
        return np.asarray(self.engine.inverse_dynamics(*states, values, self.parameters.shapes))


def _pinocchio(path: Path, again: Description) -> FileReader | None:
    """Inverse dynamics by Pinocchio; it keeps damping and friction of the file, but `rnea` leaves them out."""
    pin = _installed("pinocchio")
    if pin is None:
        return None
    try:
        model = pin.buildModelFromUrdf(str(path))
    except (ValueError, RuntimeError):  # what its parser raises on files it does not take
        return None
    names = again.robot.joint_names
    if not all(model.existJointName(name) for name in names):
        return None
    model.gravity.linear = np.array(again.robot.gravity)  # a URDF has none
    joints = [model.joints[model.getJointId(name)] for name in names]
    if any(joint.nv != 1 for joint in joints):
        return None
    at = np.array([joint.idx_v for joint in joints])
    damping, dry = np.array(model.damping)[at], np.array(getattr(model, dry_friction_field(model)))[at]

    def torques(states: States) -> Array:
        data, out = model.createData(), np.empty(states[0].shape)
        configuration, v, a = pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
        for k, (q, dq, ddq) in enumerate(zip(*states, strict=True)):
            _set_configuration(configuration, joints, q)
            v[at], a[at] = dq, ddq
            out[k] = pin.rnea(model, data, configuration, v, a)[at]
        return out + damping * states[1] + dry * np.sign(states[1])

    return FileReader(f"Pinocchio {pin.__version__}", torques)


def _set_configuration(configuration: Array, joints: Sequence[Any], q: Array) -> None:
    """Joints without limits have cosine and sine for an angle."""
    for joint, angle in zip(joints, q, strict=True):
        i = joint.idx_q
        if joint.nq == 1:
            configuration[i] = angle
        else:
            configuration[i], configuration[i + 1] = np.cos(angle), np.sin(angle)


def _mujoco(path: Path, again: Description) -> FileReader | None:
    """Inverse dynamics by MuJoCo: armature and damping are in it; friction loss, a constraint there, is added as sign(dq)."""
    mujoco = _installed("mujoco")
    if mujoco is None:
        return None
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    except ValueError:  # meshes that are elsewhere, elements it does not take
        return None
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_CONTACT
    ids = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name) for name in again.robot.joint_names]
    if min(ids) < 0:
        return None
    at_q, at = model.jnt_qposadr[ids], model.jnt_dofadr[ids]
    dry = np.array(model.dof_frictionloss[at])

    def torques(states: States) -> Array:
        data, out = mujoco.MjData(model), np.empty(states[0].shape)
        for k, (q, dq, ddq) in enumerate(zip(*states, strict=True)):
            data.qpos[at_q], data.qvel[at], data.qacc[at] = q, dq, ddq
            mujoco.mj_inverse(model, data)
            out[k] = data.qfrc_inverse[at]
        return out + dry * np.sign(states[1])

    return FileReader(f"MuJoCo {mujoco.__version__}", torques)


def _installed(package: str) -> ModuleType | None:
    try:
        return importlib.import_module(package)
    except ImportError:
        return None


Maker = Callable[[Path, Description], FileReader | None]
READERS: dict[str, Maker] = {"Pinocchio": _pinocchio, "MuJoCo": _mujoco}
"""Programs by which files are measured; of those that read a format, the first one that is installed and takes the file."""
