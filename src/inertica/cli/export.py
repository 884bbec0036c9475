"""Writes the values of a saved result into a copy of the model its robot was read from, with the
trust labels as comments, or into a new MJCF or SDFormat file whatever the model was.  The file is read again,
checked link by link as check-model does, and its torques are compared with the result's before
it is called written.  Friction laws that the format lacks become the closest viscous and Coulomb
friction over the speeds of the logs; what it has no place for goes to NAME.extra.yaml beside it, a
robot card that adds it to the file.  The residual of the file itself on the result's logs is printed
beside the result's.

With --as the dynamics become a program that needs nothing else: inverse and forward dynamics,
gravity, Coriolis, friction, inertia matrix and regressor, of a result or of any robot (c, python); or
the servos, armature and friction of every joint become an MJCF file with position actuators, an
articulation in OpenUSD, or configuration text for mjlab or Isaac Lab, with --draws N sets of them for
domain randomisation.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from inertica.cli.console import Answer, progress, written_to
from inertica.cli.fitting import add_friction_export
from inertica.documents import plain
from inertica.errors import InputError, ModelWarning
from inertica.robot.formats.table import FORMATS
from inertica.workflow.export.actuator_formats import ACTUATOR_FORMATS
from inertica.workflow.export.actuators import export_actuators
from inertica.workflow.export.code import CHOICES, LANGUAGES, export_code
from inertica.workflow.export.model import export_model
from inertica.workflow.identify.result import Result

if TYPE_CHECKING:
    from rich.console import RenderableType

EXAMPLES = """\
inertica export result/ --urdf identified.urdf
inertica export result/ --mjcf identified.xml --exact-friction
inertica export result/ --sdf identified.sdf
inertica export result/ --yaml identified.yaml --json
inertica export result/ --as c -o code/
inertica export arm.urdf --as python -o code/ --parameters standard
inertica export result/ --as mujoco-actuators -o sim/ --draws 64
inertica export result/ --as isaac-lab -o sim/
inertica export result/ --as usd -o sim/
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT", help="folder of a result; for code also a robot, by name or file")
    # by itself argparse would keep the alternatives on one line, which is too long for a terminal
    models = "|".join(f"--{form.word}" for form in FORMATS.values())
    parser.usage = f"inertica export [options] RESULT ({models}) FILE\n       inertica export [options] RESULT --as TARGET -o DIR"
    target = parser.add_mutually_exclusive_group(required=True)
    for form in FORMATS.values():
        target.add_argument(f"--{form.word}", metavar="FILE", dest=form.name, type=Path, help=f"write {form.title}: {form.about}")
    target.add_argument(
        "--as", dest="language", metavar="TARGET", choices=(*LANGUAGES, *ACTUATOR_FORMATS),
        help=f"write into the folder of -o a program ({', '.join(LANGUAGES)}) or actuators ({', '.join(ACTUATOR_FORMATS)})",
    )  # fmt: skip
    add_friction_export(parser)
    parser.add_argument(
        "--speed",
        type=float,
        metavar="V",
        help="up to which (rad/s, m/s) it is to be close, instead of over the speeds of the logs",
    )
    parser.add_argument("--force", action="store_true", help="write the model of a result that is not usable, too")
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, help="folder of the program or actuators")
    parser.add_argument(
        "--parameters", choices=CHOICES, default="base", help="of the program: base parameters (default) or all standard ones"
    )
    parser.add_argument("--baked", action="store_true", help="values as numbers inside the functions, not as an argument")
    parser.add_argument("--name", help="prefix of the program's functions and of files; the robot's name by default")
    actuators = parser.add_argument_group("actuators")
    actuators.add_argument("--draws", metavar="N", type=int, help="write N sets of values drawn from the joint posterior, too")
    actuators.add_argument("--seed", metavar="S", type=int, default=0, help="of the draws")
    actuators.add_argument("--model", metavar="FILE", help="the robot, in place of the file that the result names")
    actuators.add_argument(
        "--mujoco", metavar="VERSION", help="of MuJoCo that reads the MJCF file; the installed one by default, or the newest"
    )


def run(arguments: argparse.Namespace) -> Answer:
    if arguments.language in ACTUATOR_FORMATS:
        return _actuators(arguments)
    for option in ("draws", "model", "mujoco"):
        if getattr(arguments, option) is not None:
            raise InputError(f"--{option} belongs to actuators: --as {', --as '.join(ACTUATOR_FORMATS)}")
    if arguments.language is not None:
        return _program(arguments)
    if arguments.output is not None:
        raise InputError(
            f"-o is the folder of a program (--as); a model file is named behind {', '.join(f'--{f.word}' for f in FORMATS.values())}"
        )
    format = next(name for name in FORMATS if getattr(arguments, name) is not None)
    with progress("writing the model"):
        result = Result.load(arguments.result)
        target = getattr(arguments, format)
        written = export_model(
            result, target, format, approximate=arguments.approximate_friction, speed=arguments.speed, force=arguments.force
        )
    for sentence in (*_doubts(result), *written.notes, *written.warnings):
        warnings.warn(ModelWarning(sentence), stacklevel=1)

    def text() -> Iterator[RenderableType]:
        yield f"written: {written.path}{f' and {written.extra.name}' if written.extra else ''}; {written.sentence}"
        yield written.comparison

    document = plain(written) | {"file": str(written.path), "extra": str(written.extra) if written.extra else None}
    return Answer(document, text)


def _actuators(arguments: argparse.Namespace) -> Answer:
    if arguments.output is None:
        raise InputError(f"--as {arguments.language} writes files into a folder; name it with -o DIR")
    with progress("writing actuators"):
        written = export_actuators(
            arguments.result, arguments.output, arguments.language, draws=arguments.draws or 0, seed=arguments.seed,
            model=arguments.model, mujoco=arguments.mujoco, name=arguments.name,
        )  # fmt: skip
    for sentence in (*written.notes, *written.lost):
        warnings.warn(ModelWarning(sentence), stacklevel=1)
    files = [str(written.folder / file) for file in written.files]

    def text() -> Iterator[RenderableType]:
        first = f"{files[0]}{f' and {len(files) - 1} more files' if len(files) > 1 else ''}"
        yield f"{written_to([first])}; servos of {len(written.joints)} joints"

    document = {
        "files": files, "format": written.target, "joints": list(written.joints), "draws": written.draws,
        "notes": list(written.notes), "lost": list(written.lost),
    }  # fmt: skip
    return Answer(document, text)


def _program(arguments: argparse.Namespace) -> Answer:
    if arguments.output is None:
        raise InputError(f"--as {arguments.language} writes a program into a folder; name it with -o DIR")
    with progress("writing the program"):
        written = export_code(
            arguments.result, arguments.output, arguments.language,
            parameters=arguments.parameters, baked=arguments.baked, name=arguments.name,
        )  # fmt: skip
    for sentence in (*written.notes, *written.warnings):
        warnings.warn(ModelWarning(sentence), stacklevel=1)
    files = [str(written.folder / file) for file in written.files]

    def text() -> Iterator[RenderableType]:
        yield f"{written_to(files)}; {written.sentence}"
        if written.comparison:
            yield written.comparison

    document = {
        "files": files, "format": written.language, "functions": list(written.functions), "parameters": written.parameters,
        "baked": written.baked, "difference": written.difference, "notes": [*written.notes, *written.warnings],
        **{name: plain(getattr(written, name)) for name in ("lost", "residual", "result_residual")},
    }  # fmt: skip
    return Answer(document, text)


def _doubts(result: Result) -> tuple[str, ...]:
    bad = result.parameters.inconsistent_links()
    return (f"no real body has the parameters of {', '.join(bad)}; simulators may refuse the file",) if bad else ()
