"""An identified model, or one read from a file, as a program without dependencies."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from inertica import __version__
from inertica.arrays import Array
from inertica.dynamics.code.c import Expected, c_files
from inertica.dynamics.code.functions import CodeModel, functions, states
from inertica.dynamics.code.python import python_files
from inertica.dynamics.code.text import CodeProgram, identifier
from inertica.dynamics.engine import Engine
from inertica.dynamics.equations import Equations
from inertica.errors import InerticaError, InputError, nearest
from inertica.identifiability.base import BaseModel, base_model
from inertica.robot.description import Description
from inertica.robot.layout import Parameters
from inertica.robot.load import load
from inertica.workflow.export.exported import Lost, Residuals, beside, in_words, losses
from inertica.workflow.export.lost import Missing
from inertica.workflow.export.residual import Measured, measured_program
from inertica.workflow.export.torques import ModelTorques
from inertica.workflow.identify.logs_again import LogsAgain, logs_again
from inertica.workflow.identify.result import RESULT, Result
from inertica.writing import whole_folder

CHOICES = ("base", "standard")

STATES = 32
"""Random motions at which a program is compared with the engine."""

AGREEMENT = 1e-12
"""Relative to the largest torque."""

PATIENCE = 120.0
"""Seconds that a program may take for all these motions."""


@dataclass(frozen=True)
class ExportedCode:
    """A program that was written.

    Args:
        folder: where it is.
        files: names of its files.
        language: c or python.
        functions: names of what it computes.
        parameters: how many parameters its functions take or hold.
        baked: whether the values are part of the functions.
        difference: largest difference of torques from the engine, relative to the largest torque; None for C, whose test program
            says it once it is compiled.
        notes: one sentence each.
        lost: what predictions of the result add to the parameters, which is not in the program.
        residual: data set -> figures of merit of the program on the logs of the result; empty when nothing is lost, or when they
            could not be read.
        result_residual: the same of the result.
    """

    folder: Path
    files: tuple[str, ...]
    language: str
    functions: tuple[str, ...]
    parameters: int
    baked: bool
    difference: float | None
    notes: tuple[str, ...] = ()
    lost: tuple[Lost, ...] = ()
    residual: Residuals = field(default_factory=dict)
    result_residual: Residuals = field(default_factory=dict)

    @property
    def comparison(self) -> str:
        """kuka.py: residual 2.0 % (result 1.7 %) on identification; empty where nothing is lost or measured."""
        return f"{self.files[0]}: {beside(self.residual, self.result_residual)}" if self.residual else ""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What must be said of a program that predicts worse than its result."""
        worse = losses(self.residual, self.result_residual, self.lost)
        if worse:
            return (f"{self.files[0]} {in_words(worse)}",)
        if self.lost and not self.residual:
            what = ", ".join(dict.fromkeys(x.what for x in self.lost))
            return (f"{self.files[0]} has no place for {what}; how much that is could not be computed without the logs",)
        return ()

    @property
    def sentence(self) -> str:
        """What is known about it."""
        if self.difference is None:
            return f"compile {self.files[0]} with {self.files[-1]} and run it to compare it with inertica's own numbers"
        return f"run at {STATES} random motions, its torques agree with inertica's to {self.difference:.1e} of the largest"


def export_code(
    model: Result | Description | str | Path,
    folder: str | Path,
    language: str = "c",
    *,
    parameters: str = "base",
    baked: bool = False,
    name: str | None = None,
) -> ExportedCode:
    """Write a robot's dynamics as a program that needs nothing but the language's own library.

    Functions: inverse_dynamics, gravity, coriolis, friction, mass_matrix, coriolis_matrix, regressor, momentum, momentum_flow,
    forward_dynamics.

    Args:
        model: a result or its folder, a description, or what `load` reads.
        folder: to write into; made when it is not there.
        language: c (a header, a source and a test program) or python (one module).
        parameters: base, the combinations that torques depend on, or standard, all of them.
        baked: put the values into the functions as numbers instead of taking them as an argument.
        name: prefix of functions and files; the robot's by default.

    Examples:
        >>> program = ia.export_code("scara2", "code", "python")
        >>> program.language
        'python'
    """
    for word, known in ((language, LANGUAGES), (parameters, CHOICES)):
        if word not in known:
            raise InputError(f"code is not written as '{word}'; {nearest(word, known)}")
    result = _result(model)
    values = _values(model) if result is None else result.parameters
    layout = values.layout
    Equations(layout).require_linear("code of its dynamics")
    base = base_model(layout) if parameters == "base" else None
    program, notes = program_of(values, base, baked, identifier(name or layout.robot.name))
    expected = expected_torques(values)
    form = LANGUAGES[language]
    files = form.files(program, expected)
    with whole_folder(folder, last=list(files)[-1]) as temporary:
        for file, text in files.items():
            (temporary / file).write_text(text, encoding="ascii")
        difference = form.difference(temporary / next(iter(files)), expected) if form.difference else None
    names, count = tuple(f.name for f in program.functions), len(program.model.retained)
    lost, measured = _lost(result) if result is not None else ((), Measured())
    figures = (lost, measured.residual, measured.result_residual)
    return ExportedCode(Path(folder), _sources_first(files), language, names, count, baked, difference, notes, *figures)


def _lost(result: Result) -> tuple[tuple[Lost, ...], Measured]:
    """What predictions of a result have besides its parameters, along its logs where they can be read."""
    if result.correction is None and not result.standstill.rounded:
        return (), Measured()
    model = ModelTorques.of(result)
    measured = measured_program(model, LogsAgain(result.motions) if result.motions else logs_again(result))
    along, robot = measured.along, result.description.robot
    at = along.states if along else states(robot.n, STATES)
    missing = Missing(model, "a program", at, along.result if along else model.whole(at), along is not None)
    if result.correction is not None:
        missing.correction()
    if result.standstill.rounded:
        missing.standstill(along.result if along else None)
    return tuple(missing.lost), measured


def expected_torques(values: Parameters) -> Expected:
    """Random motions and their torques by the engine, which a program is held against."""
    q, dq, ddq = states(values.layout.robot.n, STATES)
    return Expected(q, dq, ddq, np.asarray(Engine(values.layout).inverse_dynamics(q, dq, ddq, values)))


def _sources_first(files: dict[str, str]) -> tuple[str, ...]:
    return tuple(sorted(files, key=lambda file: (file.endswith("_test.c"), file.endswith(".h"), file)))


def _result(model: Result | Description | str | Path) -> Result | None:
    """The result that is meant; None for a robot."""
    if isinstance(model, (Result, Description)):
        return model if isinstance(model, Result) else None
    path = Path(model)
    return Result.load(path) if path.name == RESULT or (path / RESULT).is_file() else None


def _values(model: Result | Description | str | Path) -> Parameters:
    assert not isinstance(model, Result)
    return model.prior if isinstance(model, Description) else load(model).prior


def program_of(values: Parameters, base: BaseModel | None, baked: bool, name: str) -> tuple[CodeProgram, tuple[str, ...]]:
    """The functions of a robot under a name, and what to know about its values."""
    layout = values.layout
    notes: tuple[str, ...] = ()
    if not np.any(values.values):
        if baked:
            raise InputError(f"{layout.robot.name} states no values that could be put into the code; leave them an argument")
        notes = (f"{layout.robot.name} states no values: the parameters in the code are zero, pass your own",)
    retained, numbers, meanings = _all(values) if base is None else _grouped(values, base)
    if not (np.isfinite(numbers).all() and np.isfinite(values.shapes).all()):
        raise InputError(f"{layout.robot.name} has parameters that are no finite numbers, which no program can be written with")
    model = CodeModel(layout, retained, numbers, values.shapes, baked)
    return CodeProgram(name, model, functions(model), meanings, _remarks(values, len(retained), base is not None)), notes


def _remarks(values: Parameters, count: int, grouped: bool) -> list[str]:
    """What the top of the file says."""
    layout, kind = values.layout, "base" if grouped else "standard"
    remarks = [
        f"Dynamics of {layout.robot.name}, {layout.robot.n} joints, {count} {kind} parameters ({values.origin}).",
        f"Written by inertica {__version__}; SI units, radians; joints: {', '.join(layout.robot.joint_names)}.",
        f"Gravity in the base frame: {', '.join(f'{g:g}' for g in layout.robot.gravity)} m/s^2.",
        "tau = mass_matrix ddq + coriolis + gravity + friction.",
    ]
    if grouped:
        remarks.append(
            "The sum is what base parameters fix; a spring that acts like gravity is counted with gravity or friction."
        )
    return remarks


def _all(values: Parameters) -> tuple[tuple[int, ...], Array, list[str]]:
    layout = values.layout
    return tuple(range(layout.size)), values.values, [p.unit for p in layout.parameters]


def _grouped(values: Parameters, base: BaseModel) -> tuple[tuple[int, ...], Array, list[str]]:
    """Base parameters, and those that the layout marks as known among them, in the layout's order."""
    entries = dict(zip(base.retained.tolist(), zip(base.beta(values.values), base.numeric_relations, strict=True), strict=True))
    entries |= {int(k): (values.values[k], f"{base.layout.names[k]}, known") for k in base.fixed}
    retained = tuple(sorted(entries))
    meanings = [f"{base.layout.parameters[k].unit}, {entries[k][1]}" for k in retained]
    return retained, np.array([entries[k][0] for k in retained]), meanings


_RUN = """
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("exported", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
json.dump([module.inverse_dynamics(*rows) for rows in zip(*json.load(sys.stdin))], sys.stdout)
"""


def _difference(program: Path, expected: Expected) -> float:
    """Runs a Python program at the expected motions, in an interpreter of its own that has nothing of ours and no packages."""
    motions = json.dumps([expected.q.tolist(), expected.dq.tolist(), expected.ddq.tolist()])
    words = [sys.executable, "-I", "-S", "-B", "-c", _RUN, str(program)]
    try:
        done = subprocess.run(words, input=motions, capture_output=True, text=True, timeout=PATIENCE)
        printed = np.array(json.loads(done.stdout), float)
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        raise InerticaError(f"the code is not written: it could not be run for comparison ({type(error).__name__})") from None
    if printed.shape != expected.tau.shape:
        raise InerticaError("the code is not written: run for comparison, it gave no torques")
    difference = float(np.abs(printed - expected.tau).max() / max(np.abs(expected.tau).max(), 1e-300))
    if not difference <= AGREEMENT:
        raise InerticaError(f"the code is not written: its torques differ from inertica's own by {difference:.1e} of their size")
    return difference


@dataclass(frozen=True)
class CodeFormat:
    """What programs are written in; a new one is a file in `dynamics/code/` and a line of `LANGUAGES`.

    Args:
        title, about: for people.
        files: name of each file -> its text, of a program and the torques that it is held against.
        difference: runs a written program at those motions; None where its own test does, once it is compiled.
    """

    title: str
    about: str
    files: Callable[[CodeProgram, Expected], dict[str, str]]
    difference: Callable[[Path, Expected], float] | None = None


LANGUAGES: dict[str, CodeFormat] = {
    "c": CodeFormat("C program", "Inverse and forward dynamics, gravity, friction, regressor, without dependencies.", c_files),
    "python": CodeFormat(
        "Python program", "The same functions with Python alone.", lambda program, _: python_files(program), _difference
    ),
}
"""By the names users type."""
