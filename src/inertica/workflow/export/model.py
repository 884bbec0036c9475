"""Identified values for others to use: a copy of the model the user came with, or a new MJCF file, and a table of parameters."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

from inertica.arrays import Array
from inertica.dynamics.engine import Engine
from inertica.errors import InerticaError, InputError, ModelWarning
from inertica.physical.check import check_model
from inertica.robot import inertia
from inertica.robot.description import Description
from inertica.robot.formats.model_format import Bodies, ModelFormat, Part
from inertica.robot.formats.table import creating_format, format_named, format_of
from inertica.robot.layout import Parameters
from inertica.robot.load import load
from inertica.robot.model import EARTH, Robot
from inertica.robot.terms import Spring
from inertica.robot.tree import Tree
from inertica.workflow.export.exported import ExportedModel, Lost
from inertica.workflow.export.held import Held, held, is_sidecar, sidecar_path, sidecar_text
from inertica.workflow.export.lost import Missing
from inertica.workflow.export.plain_friction import FrictionStates, PlainFriction, plain_friction, replaced_laws
from inertica.workflow.export.residual import Measured, measured_file
from inertica.workflow.export.torques import ModelTorques
from inertica.workflow.friction.bristles import with_bristles
from inertica.workflow.identify.inputs import IDENTIFICATION
from inertica.workflow.identify.logs_again import LogsAgain, logs_again
from inertica.workflow.identify.parameter_table import csv_rows
from inertica.workflow.identify.result import Motions, Result
from inertica.workflow.identify.saved import geometry
from inertica.workflow.identify.verdict import BAD, verdict
from inertica.writing import whole_file, write_whole

STATES = 64
"""Random states at which the torques of the written file are compared."""

AGREEMENT = 1e-9
"""Relative difference of torques up to which the written file counts as the same model."""

CONFIGURATIONS = 100
"""At which the inertia matrix of the written file is looked at."""

LEANING = "the direction of gravity"


def export_model(
    result: Result, target: str | Path, format: str | None = None, *, approximate: bool = True, speed: float | None = None,
    force: bool = False,
) -> ExportedModel:  # fmt: skip
    """Write the identified values into a copy of the model that the result's robot was read from, or into a new MJCF file.

    The file is read again: it must give the torques of what it holds and, when every link of the result could exist, so must every
    link of the file, one by one.  Links whose inertia no real body has are written (their torques are right) and remain marked in
    the result's warnings; what programs that read the format would refuse or misread is not written at all.  Friction laws that
    URDF and MJCF lack are replaced by the closest viscous and Coulomb friction; what the format has no place for goes to a card
    beside the file, `NAME.extra.yaml`, with the laws themselves.  The residual of the file itself on the result's logs is measured.

    Args:
        result: what `identify` found.
        target: the file to write.
        format: name of the format, that of the source by default; some can be written from any source, see `ModelFormat.create`.
        approximate: False leaves friction laws out that URDF and MJCF lack.
        speed: up to which (rad/s, m/s) the approximation is to be close; over the speeds of the logs, each weighed by how long it is
            held, when not given.
        force: write the model of a result that is not usable, too.

    Examples:
        >>> written = ia.export_model(ia.Result.load("result"), "identified.urdf")
        >>> written.difference < 1e-9
        True
    """
    path, source = Path(target), result.description.source
    source_form = format_of(source)
    form = format_named(format or source_form.name)
    if form is not source_form and form.create is None:
        new = creating_format()
        raise InputError(
            f"this result belongs to a {source_form.title} model ({source.path.name}) and cannot be written as {form.title}; the "
            f"values go into a copy of the file they came with, or into a new {new.title} file (format {new.name})"
        )
    if form is source_form and not source.path.is_file():
        raise InputError(f"{source.path} is gone; the values cannot be written without the model they belong to")
    _check_bodies(result, form)
    if not force and (reason := unusable(result)):
        raise InputError(reason)
    logs = LogsAgain(result.motions) if result.motions else logs_again(result)
    model = ModelTorques.of(result)
    plain = _approximated(result, model, form, speed, logs.motions) if approximate else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # the result itself says which links cannot exist
        parts = held(plain.parameters if plain else result.parameters, form, source.path)
        with whole_file(path) as temporary:
            _write(result, parts, temporary, form)
            again = _read_again(result.description, temporary, form)
            difference = _difference(parts.parameters, again, path)
            possible = _check_written(result, again, temporary, path, form)
            measured = measured_file(model, logs, temporary, form, again)
        notes, extra = _sidecar(result, parts, again, path, form, plain)
    lost = _lost(result, model, parts, plain, again, form, measured)
    return ExportedModel(path, form.name, difference, possible, notes, extra, lost, *measured.figures)


def unusable(result: Result) -> str:
    """Why no model file should be written of a result; empty when one may be."""
    judged = verdict(result)
    if judged.level != BAD:
        return ""
    why = ", ".join(dict.fromkeys(reason.what.value for reason in judged.reasons if reason.level == BAD))
    return f"no model file is written, since the verdict on the result is bad ({why}); the option force writes it all the same"


def parameters_csv(result: Result) -> str:
    """The standard parameters as CSV; empty where a number is not known."""
    return csv_rows(result.entries)


def write_parameters(result: Result, target: str | Path) -> None:
    """The table of standard parameters as a CSV file.

    Examples:
        >>> ia.write_parameters(ia.Result.load("result"), "parameters.csv")
    """
    write_whole(target, parameters_csv(result))


def _check_bodies(result: Result, form: ModelFormat) -> None:
    """Refuses what a reader of the format would refuse or take for something else."""
    if form.bodies is Bodies.ANY:
        return
    joints = result.description.robot.joints
    for j, joint in enumerate(joints):
        mass = float(result.parameters.link(j)[9])
        if mass < 0.0:
            raise InputError(
                f"the model is not written: the mass found for {joint.link} is {mass:.4g} kg, which {form.title} cannot say; "
                "use a physically consistent method, or state prior masses",
                joint=joint.name,
            )
    if form.bodies is Bodies.REAL and (bad := result.parameters.inconsistent_links()):
        raise InputError(
            f"the model is not written: no real body has the parameters found for {', '.join(bad)}, and {form.programs[0]} "
            "refuses such files; use a physically consistent method"
        )


def _approximated(
    result: Result, model: ModelTorques, form: ModelFormat, speed: float | None, motions: Motions
) -> PlainFriction | None:
    """The closest viscous and Coulomb friction; a file that states laws needs none."""
    if speed is not None and not 0.0 < speed < np.inf:
        raise InputError(f"the speed up to which friction is approximated should be greater than zero, not {speed:g}")
    layout = result.parameters.layout
    if form.states_laws or not any(replaced_laws(layout, j) for j in range(layout.robot.n)):
        return None
    if speed is None and motions:
        states = FrictionStates.of_motions(motions[IDENTIFICATION])
    else:
        states = FrictionStates.up_to(layout, _speeds(result, speed))
    plain = plain_friction(model, states)
    return plain if plain.joints else None


def _speeds(result: Result, speed: float | None) -> Array:
    """(n,) largest speeds: stated, of the logs, or those that the joints are allowed."""
    n = result.description.robot.n
    known = result.speeds if len(result.speeds) == n else result.description.robot.limits.velocity
    speeds = np.full(n, speed) if speed is not None else np.array(known)
    if not np.isfinite(speeds).all():
        raise InputError(
            "friction is approximated over speeds, and this result does not know how fast its logs were; state the largest "
            "(speed), or leave out the laws that the format lacks (approximate off)"
        )
    return speeds


def _write(result: Result, parts: Held, temporary: Path, form: ModelFormat) -> None:
    if form.name == result.description.source.format:
        form.write(result.description, parts.parameters, temporary, result.labels)
    elif form.create is not None:
        temporary.write_text(form.create(parts.parameters, result.labels), encoding="utf-8")


def _read_again(description: Description, written: Path, form: ModelFormat) -> Description:
    """The robot of the written file, with the file's own gravity; a new file holds that robot only."""
    return form.read(written, Part.of(description.source) if form.name == description.source.format else Part())


def _difference(wanted: Parameters, again: Description, target: Path) -> float:
    """Compares the torques of the file, read again, with those of what it was to hold."""
    robot = again.robot.with_gravity(wanted.layout.robot.gravity)  # gravity is compared on its own
    rests = {t.at: t for t in again.layout.terms if isinstance(t, Spring)}
    terms = tuple(rests.get(t.at, t) if isinstance(t, Spring) else t for t in wanted.layout.terms)
    got = again.prior.on(replace(wanted.layout, robot=robot, terms=terms))
    states = _states(robot)
    ours = np.asarray(Engine(wanted.layout).inverse_dynamics(*states, wanted.values, wanted.shapes))
    same = (
        geometry(robot) == geometry(wanted.layout.robot) and terms == wanted.layout.terms
    )  # an equal one has its kernels compiled already
    theirs = np.asarray(Engine(wanted.layout if same else got.layout).inverse_dynamics(*states, got.values, got.shapes))
    difference = float(np.abs(ours - theirs).max() / max(np.abs(ours).max(), 1e-300))
    if not difference <= AGREEMENT:
        raise InerticaError(
            f"{target.name} is not written: read again, its torques differ from the result's by {difference:.1e} of their size"
        )
    return difference


def _same_torques(wanted: Parameters, again: Description, target: Path) -> None:
    """Compares the torques of a card with those of what it was to hold; laws with memory, which have none, by their constants."""
    laws = [t for t in wanted.layout.terms if t.memory]
    if laws != [t for t in again.layout.terms if t.memory]:
        raise InerticaError(f"{target.name} is not written: read again, its friction with memory is not the one that was found")
    layout = replace(wanted.layout, terms=tuple(t for t in wanted.layout.terms if not t.memory))
    _difference(wanted.on(layout), again, target)


def _check_written(result: Result, again: Description, written: Path, target: Path, form: ModelFormat) -> bool:
    """What could exist in the result must not have become impossible by being written: the robot, and every link of the file."""
    checked = check_model(again.prior, CONFIGURATIONS)
    bad = [link.name for link in checked.links if not link.consistent] + list(checked.negative)
    bad += ["the inertia matrix"] if not checked.inertia_matrix > 0.0 and not bad else []
    if form.name == result.description.source.format and form.tree is not None:
        before = _impossible(form.tree(result.description.source.path))
        bad += [link for link in _impossible(form.tree(written)) if link not in before and link not in bad]
    if bad and result.physically_consistent:
        raise InerticaError(
            f"{target.name} is not written: read again, {', '.join(bad)} could not exist, as they can in the result"
        )
    return not bad


def _impossible(tree: Tree) -> list[str]:
    """Links of a file that have inertia but cannot exist."""
    return [link for link in tree.links if np.any(tree.ten(link)) and not inertia.physically_consistent(tree.ten(link))]


def _sidecar(
    result: Result, parts: Held, again: Description, path: Path, form: ModelFormat, plain: PlainFriction | None
) -> tuple[tuple[str, ...], Path | None]:
    """Writes what the file lacks beside it, reads both and compares the torques of everything; an old sidecar goes."""
    description, parameters = result.description, result.parameters
    extra = sidecar_path(path)
    same_format = form.name == description.source.format
    left = list(held(parameters, form, description.source.path).left)
    left += [LEANING] if _leans(description, again) else []
    notes: tuple[str, ...] = (plain.note,) if plain else ()
    if "MuJoCo" in form.programs and (springs := _springs(parts, form)):
        joints = ", ".join(springs)
        notes += (
            f"springs of {path.name} (joint {joints}) are stiffness and springref, which MuJoCo reads and Pinocchio does not",
        )
    bristles = result.bristles if result.bristles is not None and result.bristles.found else None
    if not left and bristles is None:
        if is_sidecar(extra, path):
            extra.unlink()
        return notes, None
    if bristles is not None:
        parameters = with_bristles(parameters, bristles)
        replaced = ", ".join(str(j + 1) for j in bristles.found)
        notes += (f"{extra.name} has friction with memory (LuGre) of joint {replaced} in place of {path.name}'s own",)
    text, lost = sidecar_text(description, parameters, path, same_format)
    with whole_file(extra) as temporary:
        temporary.write_text(text, encoding="utf-8")
        if not lost:
            _same_torques(parameters, load(temporary), extra)
    known = {*parameters.layout.names, *(s.name for s in parameters.layout.shapes), LEANING}
    where = [name for name in left if name not in lost and name in known]
    if where:
        notes += (f"{_has_no_place(description, form)} {', '.join(where)}; they are in {extra.name}, a card that adds them",)
    if lost:
        notes += (f"no file can hold {', '.join(lost)}, which a function in Python multiplies",)
    return notes, extra


def _springs(parts: Held, form: ModelFormat) -> list[str]:
    """Joints (from 1) whose springs are in a file that does not state laws."""
    springs = [t for t in parts.parameters.layout.terms if isinstance(t, Spring) and not form.states_laws]
    return [str(t.at + 1) for t in springs if parts.parameters[f"Ks{t.at + 1}"]]


def _lost(
    result: Result, model: ModelTorques, parts: Held, plain: PlainFriction | None, again: Description, form: ModelFormat,
    measured: Measured,
) -> tuple[Lost, ...]:  # fmt: skip
    """What the file cannot hold, along the logs of the identification where they are known."""
    along, laws = measured.along, result.parameters.layout.terms
    states = along.states if along else _states(result.description.robot)
    missing = Missing(model, form.title, states, along.result if along else model.whole(states), along is not None)
    if plain is not None:
        missing.approximated(plain)
    missing.left_out(parts.left)
    if result.correction is not None:
        missing.correction()
    if result.standstill.rounded:
        missing.standstill(along.result if along else None)
    missing.memory([t.joint for t in laws if t.memory and not form.states_laws])
    missing.memory(list(result.bristles.found) if result.bristles is not None else [])
    if _leans(result.description, again):
        missing.gravity(along.result - along.file - missing.total if along else None)
    return tuple(missing.lost)


def _leans(description: Description, again: Description) -> bool:
    """Whether the file has another gravity than the result."""
    return not np.allclose(again.robot.gravity, description.robot.gravity, rtol=0.0, atol=1e-9 * np.linalg.norm(EARTH))


def _has_no_place(description: Description, form: ModelFormat) -> str:
    name = description.source.path.name if form.states_laws else form.title  # what such a file holds depends on what it states
    return f"{name} has no place for"


def _states(robot: Robot) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(7)
    q, dq, ddq = (rng.uniform(-size, size, (STATES, robot.n)) for size in (np.pi, 2.0, 10.0))
    return q, dq, ddq
