"""Identified values for others to use: a copy of the model the user came with, and a table of parameters."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inertica.dynamics.engine import Engine
from inertica.errors import InerticaError, InputError, ModelWarning
from inertica.physical.check import negative_names
from inertica.robot.card import describe_tree
from inertica.robot.description import Description
from inertica.robot.drives import Armature
from inertica.robot.friction import Coulomb, Viscous
from inertica.robot.layout import Layout, Parameters
from inertica.robot.load import load, save_model
from inertica.robot.model import Robot
from inertica.robot.options import friction_terms
from inertica.robot.writeback import MARK, label_texts
from inertica.workflow.folder import whole_file
from inertica.workflow.result import Result

Array = NDArray[np.float64]

FORMATS = {"urdf": "URDF", "mjcf": "MJCF", "dh": "DH YAML"}
SUFFIX = {"urdf": ".urdf", "mjcf": ".xml", "dh": ".yaml"}
"""What a model of each format is called, `identified` + suffix."""

PLACES = {"urdf": ("Fv", "Fc"), "mjcf": ("Ia", "Fv", "Fc")}
"""Drive and friction parameters that XML formats have a place for."""

STATES = 64
"""Random states at which the torques of the written file are compared."""

AGREEMENT = 1e-9
"""Relative difference of torques up to which the written file counts as the same model."""

COLUMNS = ("name", "value", "std", "lower", "upper", "prior", "label", "unit", "joint", "link")
"""Of the table of parameters; lower and upper are the ends of the 95 % interval."""


@dataclass(frozen=True)
class Exported:
    """A model file that was written, read again and found to give the result's torques.

    Args:
        path: the file.
        format: urdf, mjcf or dh.
        difference: largest difference of torques over random states, relative to the largest torque.
        notes: what the format has no place for, one sentence each.
    """

    path: Path
    format: str
    difference: float
    notes: tuple[str, ...] = ()


def export_model(result: Result, target: str | Path, format: str | None = None) -> Exported:
    """Write the identified values into a copy of the model that the result's robot was read from.

    The file is read again: it must give the result's torques and, when every link of the result could exist, so must every link of
    the file.  Links whose inertia no real body has are written (their torques are right) and remain marked in the result's warnings;
    what programs that read the format would refuse or misread is not written at all.

    Args:
        result: what `identify` found.
        target: the file to write.
        format: urdf, mjcf or dh; must be that of the source.
    """
    path, source = Path(target), result.description.source
    if format is not None and format != source.format:
        raise InputError(
            f"this result belongs to a {FORMATS.get(source.format, source.format)} model ({source.path.name}) and cannot be written "
            f"as {FORMATS.get(format, format)}; models are not converted, the values go into a copy of the file they came with"
        )
    if not source.path.is_file():
        raise InputError(f"{source.path} is gone; the values cannot be written without the model they belong to")
    _check_bodies(result)
    with whole_file(path) as temporary, warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # the result itself says which links cannot exist
        values, notes = _for_format(result)
        notes += save_model(result.description, values, temporary, result.labels)
        if source.format == "dh":
            _comment(temporary, result)
        if result.gravity.get("accepted"):
            found = ", ".join(f"{x:.6g}" for x in result.description.robot.gravity)
            notes += (f"{path.name} does not state the gravity that was found, [{found}] m/s^2 in the base frame",)
        again = _read_again(result.description, temporary)
        difference = _difference(result, again, path)
        _check_written(result, again, path)
    return Exported(path, source.format, difference, notes)


def parameters_csv(result: Result) -> str:
    """The standard parameters as CSV; empty where a number is not known."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    joints = result.description.robot.joints
    prior = result.description.prior.values
    for k, p in enumerate(result.parameters.layout.parameters):
        joint = joints[p.joint] if p.joint is not None else None
        numbers = (_cell(x) for x in (result.parameters.values[k], result.std[k], *result.intervals[k], prior[k]))
        names = (joint.name, joint.link) if joint else ("", "")
        writer.writerow([p.name, *numbers, result.labels[p.name], p.unit, *names])
    return text.getvalue()


def write_parameters(result: Result, target: str | Path) -> None:
    """The table of standard parameters as a CSV file."""
    with whole_file(target) as temporary:
        temporary.write_text(parameters_csv(result), encoding="utf-8")


def _cell(value: float) -> str:
    return repr(float(value) + 0.0) if np.isfinite(value) else ""


def _check_bodies(result: Result) -> None:
    """Refuses what a reader of the format would refuse or take for something else."""
    format = result.description.source.format
    if format == "dh":
        return
    joints = result.description.robot.joints
    for j, joint in enumerate(joints):
        mass = float(result.parameters.link(j)[9])
        if mass < 0.0:
            raise InputError(
                f"the model is not written: the mass found for {joint.link} is {mass:.4g} kg, which {FORMATS[format]} cannot say; "
                "use a physically consistent method, or state prior masses"
            )
    if format == "mjcf" and (bad := result.parameters.inconsistent_links()):
        raise InputError(
            f"the model is not written: no real body has the parameters found for {', '.join(bad)}, and MuJoCo refuses such files; "
            "use a physically consistent method"
        )


def _for_format(result: Result) -> tuple[Parameters, tuple[str, ...]]:
    """The values on a layout that the writer of the source's format knows, and what had to be left out."""
    source, parameters = result.description.source, result.parameters
    if source.format == "dh":
        return _for_dh(load(source.path), parameters)
    return _with_zeros(parameters, PLACES[source.format]), ()


def _with_zeros(parameters: Parameters, symbols: tuple[str, ...]) -> Parameters:
    """Terms that the model file may state but the result does not have become zero: the file must give the result's torques."""
    layout = parameters.layout
    kinds = {"Ia": Armature, "Fv": Viscous, "Fc": Coulomb}
    missing = [kinds[s](j) for s in symbols for j in range(layout.robot.n) if f"{s}{j + 1}" not in layout.names]
    return parameters.on(layout.with_terms((*layout.terms, *missing))) if missing else parameters


def _for_dh(own: Description, parameters: Parameters) -> tuple[Parameters, tuple[str, ...]]:
    """Friction and armature can be restated in a DH file; terms and payloads that only a card adds have no place there."""
    layout = parameters.layout
    friction = set(friction_terms(layout.terms))
    kept = tuple(t for t in layout.terms if t in friction or isinstance(t, Armature) or t in own.layout.terms)
    payloads = tuple(p for p in layout.payloads if p in own.layout.payloads)
    reduced = Layout(layout.robot, kept, payloads)
    lost = [name for name in layout.names if name not in reduced.names and parameters[name]]
    reduced = replace(reduced, fixed=frozenset(layout.fixed & set(reduced.names)))
    notes = (f"{own.source.path.name} has no place for {', '.join(lost)}; they are not in the file",) if lost else ()
    return parameters.on(reduced), notes


def _comment(path: Path, result: Result) -> None:
    """Trust labels as comments at the end of a DH file, in place of those of an earlier export."""
    names = result.description.robot.joint_names
    texts = {f"# {MARK} {names[j]}: ": words for j, words in label_texts(result.parameters, result.labels).items()}
    with path.open(encoding="utf-8", newline="") as file:
        lines = [line for line in file.read().splitlines(keepends=True) if not line.startswith(tuple(texts))]
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    if lines and not lines[-1].endswith(("\n", "\r")):
        lines.append(end)
    lines += [f"{start}{words}{end}" for start, words in texts.items()]
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(lines)


def _check_written(result: Result, again: Description, target: Path) -> None:
    """What could exist in the result must not have become impossible by being written."""
    bad = (*again.prior.inconsistent_links(), *negative_names(again.prior))
    if bad and result.physically_consistent:
        raise InerticaError(
            f"{target.name} is not written: read again, {', '.join(bad)} could not exist, as they can in the result"
        )


def _difference(result: Result, again: Description, target: Path) -> float:
    """Compares the torques of the file, read again, with the result's, on everything the format has a place for."""
    description, layout = result.description, result.parameters.layout
    placed = _placed(description.source.format, again, layout)
    wanted = _only(result.parameters, placed)
    got = Parameters(layout, _only(again.prior.on(layout), placed).values, result.parameters.shapes)
    robot = again.robot.with_gravity(description.robot.gravity)
    engine = result.estimate.base.engine
    other = engine if _geometry(robot) == _geometry(description.robot) else Engine(replace(layout, robot=robot))
    states = _states(description.robot)
    ours, theirs = (np.asarray(e.inverse_dynamics(*states, p)) for e, p in ((engine, wanted), (other, got)))
    difference = float(np.abs(ours - theirs).max() / max(np.abs(ours).max(), 1e-300))
    if not difference <= AGREEMENT:
        raise InerticaError(
            f"{target.name} is not written: read again, its torques differ from the result's by {difference:.1e} of their size"
        )
    return difference


def _read_again(description: Description, written: Path) -> Description:
    source = description.source
    if source.format == "dh":
        return load(written)
    return describe_tree(written, source.format, source.root, source.tip, source.joints, description.robot.gravity)


def _placed(format: str, again: Description, layout: Layout) -> set[str]:
    """Parameters of the result for which the file has a place."""
    if format == "dh":
        return set(again.layout.names) & set(layout.names)
    links = {name for j in range(layout.robot.n) for name in layout.names[layout.link(j)]}
    drives = {f"{s}{j + 1}" for s in PLACES[format] for j in range(layout.robot.n)}
    return links | (drives & set(layout.names))


def _only(parameters: Parameters, names: set[str]) -> Parameters:
    kept = np.array([name in names for name in parameters.layout.names])
    return parameters.with_values(np.where(kept, parameters.values, 0.0))


def _geometry(robot: Robot) -> Mapping[str, object]:
    joints = [(j.parent, j.rotation, j.position, j.axis, j.prismatic, j.arm) for j in robot.joints]
    return {"joints": joints, "gravity": robot.gravity}


def _states(robot: Robot) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(7)
    q, dq, ddq = (rng.uniform(-size, size, (STATES, robot.n)) for size in (np.pi, 2.0, 10.0))
    return q, dq, ddq
