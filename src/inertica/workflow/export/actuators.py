"""`export_actuators`: servos, armature and friction of a result for a simulator, and sets of them drawn from the posterior."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np
import yaml

from inertica.errors import InputError, nearest
from inertica.escape import file_stem
from inertica.estimators.actuators.values import QUANTITIES, ActuatorValues
from inertica.robot.description import Description
from inertica.workflow.actuators.result import ActuatorsResult
from inertica.workflow.export.actuator_format import ActuatorFormat, Destination
from inertica.workflow.export.actuator_formats import ACTUATOR_FORMATS
from inertica.workflow.export.held import EXTRA, is_sidecar, sidecar_path
from inertica.workflow.export.joint_actuators import JointActuators, joint_actuators
from inertica.workflow.identify.result import Result
from inertica.writing import whole_folder

NEWEST = (4, 0)
"""Version of MuJoCo that files are written for where none is installed and none is named."""

DRAWS, RANGES = "draws.npz", "ranges.yaml"


@dataclass(frozen=True)
class ExportedActuators:
    """Files that were written.

    Args:
        folder: where they are.
        files: their names, the one with the values found first.
        target: mujoco-actuators, mjlab, isaac-lab or usd.
        joints: whose servos are in them.
        draws: how many sets were drawn.
        notes: what of the model is replaced, one sentence each.
        lost: what the target has no place for, one sentence each.
    """

    folder: Path
    files: tuple[str, ...]
    target: str
    joints: tuple[str, ...]
    draws: int
    notes: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


def export_actuators(
    result: Result | ActuatorsResult | str | Path, folder: str | Path, target: str = "mujoco-actuators", *,
    draws: int = 0, seed: int = 0, model: str | Path | Description | None = None, mujoco: str | None = None,
    name: str | None = None,
) -> ExportedActuators:  # fmt: skip
    """Write servos, armature and friction of every joint for a simulator.

    Args:
        result: of `actuators` or of `identify`, or its folder.
        folder: to write into; made when it is not there.
        target: mujoco-actuators (the robot's MJCF with position actuators), usd (an articulation of UsdPhysics), mjlab or isaac-lab
            (configuration text).
        draws: sets drawn from the joint posterior: `draws.npz`, `ranges.yaml`, and a file of the target for each; correlated as the
            logs leave the quantities, none negative.  Results of `identify` have none.
        seed: of the draws.
        model: the robot, in place of the file that the result names.
        mujoco: version that reads the MJCF file, such as 3.3; the installed one, or the newest, when not given.
        name: of the files; the robot's by default.

    Examples:
        >>> written = ia.export_actuators(ia.Result.load("result"), "actuators")
        >>> written.target
        'mujoco-actuators'
    """
    if target not in ACTUATOR_FORMATS:
        raise InputError(f"actuators are not written as '{target}'; {nearest(target, ACTUATOR_FORMATS)}")
    if draws < 0:
        raise InputError(f"the number of draws should be at least 0, not {draws}")
    form, version = ACTUATOR_FORMATS[target], _version(mujoco)
    actuators = joint_actuators(result, model, file_stem(name) if name else "")
    stem = file_stem(name or actuators.description.name)
    source = actuators.description.source.path
    if (Path(folder) / f"{stem}{form.ending}").resolve() == source.resolve():
        raise InputError(f"{source} is the model itself; choose another folder, or another name of the files")
    sets = actuators.draws(draws, seed) if draws else []
    written = form.write(actuators, Destination(Path(folder), version))
    files = {f"{stem}{form.ending}": written.content}
    for k, values in enumerate(sets):
        files[f"{stem}-draw-{k + 1:0{len(str(draws))}}{form.ending}"] = form.write(
            actuators.with_values(values), Destination(Path(folder), version)
        ).content
    card = Path(folder) / f"{stem}{EXTRA}"
    if written.card is not None:
        files[card.name] = _card(written.card, card, Path(folder) / f"{stem}{form.ending}")
    stale = (card.name,) if is_sidecar(card, Path(folder) / f"{stem}{form.ending}") else ()
    with whole_folder(folder, last=next(iter(files)), stale=(*_stale(stem, form), *stale)) as temporary:
        for file, content in files.items():
            (temporary / file).write_bytes(content)
        if sets:
            _write_draws(temporary, actuators, sets, seed)
    names = (*files, *((DRAWS, RANGES) if sets else ()))
    driven = tuple(actuators.names[j] for j in actuators.driven)
    return ExportedActuators(Path(folder), names, target, driven, len(sets), written.notes, written.lost)


def _card(text: bytes, card: Path, model_file: Path) -> bytes:
    """The text, unless the place of the card is taken by that of another model file."""
    if sidecar_path(model_file).name != card.name:
        raise InputError(f"{card} belongs to another model file; choose another folder, or another name of the files")
    return text


def _version(word: str | None) -> tuple[int, int]:
    if word is None:
        try:
            word = metadata.version("mujoco")
        except metadata.PackageNotFoundError:
            return NEWEST
    match = re.match(r"(\d{1,9})(?:\.(\d{1,9}))?", word, re.ASCII)
    if match is None:
        raise InputError(f"'{word}' is no version of MuJoCo; give two numbers, such as 3.3")
    return int(match[1]), int(match[2] or 0)


def _stale(stem: str, form: ActuatorFormat) -> tuple[str, ...]:
    """Files of an earlier export with more draws."""
    return (f"{stem}-draw-[0-9]*{form.ending}", DRAWS, RANGES)


def _write_draws(temporary: Path, actuators: JointActuators, sets: Sequence[ActuatorValues], seed: int) -> None:
    """All sets as arrays (N, n) by quantity, and what 95 % of draws lie in, as YAML."""
    arrays = {quantity: np.stack([getattr(values, quantity) for values in sets]) for quantity in QUANTITIES}
    np.savez(temporary / DRAWS, allow_pickle=False, joints=np.array(actuators.names), **arrays)
    joints = {
        joint: {
            quantity: {"value": _short(value), "low": _short(low), "high": _short(high)}
            for quantity, (value, low, high) in ranges.items()
        }
        for joint, ranges in actuators.ranges(seed).items()
    }
    units = {quantity: kind.unit for quantity, kind in QUANTITIES.items()}
    document = {"robot": actuators.description.name, "units": units, "share": 0.95, "joints": joints}
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, default_flow_style=None, width=130)
    (temporary / RANGES).write_text(text, encoding="utf-8")


def _short(value: float) -> float:
    return float(f"{value:.6g}")
