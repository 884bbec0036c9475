"""Bristle friction with memory (LuGre) of every joint, identified together with the links.

Stiffness and damping of the bristles, Coulomb, static and viscous friction with standard deviations, by separable least squares over
rows that include reversals.  LOG should be sampled finely there (1 kHz or more) and --cutoff be high.  -o writes a robot card with the
laws, for `simulate`.  Joints whose bristles the log does not show keep Coulomb friction.

--result adds them to a result of the same robot: its report shows them, and the card beside its exported model has them.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from inertica.cli import fitting
from inertica.cli.console import Answer, progress_line, table
from inertica.cli.reading import described
from inertica.errors import InputError, ModelWarning
from inertica.numbers import number
from inertica.writing import write_whole

if TYPE_CHECKING:
    from rich.console import RenderableType

    from inertica.workflow.friction.fit_friction import FrictionFit

EXAMPLES = """\
inertica friction arm.urdf run.csv.gz --cutoff 300
inertica friction tx40 run.csv.gz --joints 1,2,3 --validate other.csv.gz -o card.yaml
inertica friction arm.urdf run.csv.gz --cutoff 300 --result result/
"""

SHOWN = ("sigma0", "sigma1", "sigma2", "fc", "fs", "vs")


def add(parser: argparse.ArgumentParser) -> None:
    fitting.add_inputs(parser)
    parser.add_argument("--joints", metavar="A,B", help="joints that may have bristles; all by default")
    parser.add_argument("-o", "--output", metavar="CARD", type=Path, help="a robot card with the laws that were found")
    parser.add_argument("--result", metavar="RESULT", type=Path, help="folder of a result of the same robot that takes them in")
    fitting.add_choices(parser)


def run(arguments: argparse.Namespace) -> Answer:
    from inertica.report.bundle import add_bristles
    from inertica.workflow.friction.fit_friction import fit_friction
    from inertica.workflow.identify.result import Result

    if arguments.friction is not None or arguments.refine_shapes:
        raise InputError("the law is LuGre here; --friction and --refine-shapes belong to identify")
    if arguments.result is not None:
        Result.load(arguments.result)  # before any work
    with progress_line() as say:
        fit = fit_friction(
            described(arguments), arguments.logs, validate=arguments.validate, joints=_joints(arguments.joints),
            settings=fitting.settings(arguments), progress=say,
        )  # fmt: skip
        files = [] if arguments.output is None else [arguments.output]
        if arguments.result is not None:
            say("adding it to the result")
            files += add_bristles(arguments.result, fit.bristles)
    for sentence in fit.warnings:
        warnings.warn(sentence, ModelWarning, stacklevel=2)
    if arguments.output is not None:
        write_whole(arguments.output, fit.card())
    document = {
        "robot": fit.robot.name,
        "joints": [asdict(j) for j in fit.joints],
        "residual": {name: {"viscous and coulomb": a, "found": b} for name, (a, b) in fit.residuals.items()},
        "card": fit.card(),
        "files": [str(file) for file in files],
    }
    return Answer(document, lambda: _text(fit, files))


def _joints(words: str | None) -> list[int] | None:
    if words is None:
        return None
    try:
        return [int(word) for word in words.split(",")]
    except ValueError:
        raise InputError(f"--joints takes numbers such as 1,3; not '{words}'") from None


def _text(fit: FrictionFit, files: Sequence[Path]) -> Iterator[RenderableType]:
    columns = ("joint", *(x for name in SHOWN for x in (name, "+-")), "plain N m", "found N m")
    rows = []
    for j in fit.joints:
        named = j.values if j.law == "lugre" else {"sigma2": j.values["Fv"], "fc": j.values["Fc"]}
        std = j.std if j.law == "lugre" else {"sigma2": j.std["Fv"], "fc": j.std["Fc"]}
        cells = [number(x) if math.isfinite(x) else "-" for n in SHOWN for x in (named.get(n, math.nan), std.get(n, math.nan))]
        rows.append([j.joint, *cells, number(j.static), number(j.residual)])
    yield table(
        "friction of every joint; rms of the torque residual with plain friction and with this", columns, rows, right=columns[1:]
    )
    for name, (plain, refined) in fit.residuals.items():
        yield f"{name}: relative residual {100 * plain:.2f} % with viscous and Coulomb friction, {100 * refined:.2f} % with bristles"
    yield f"wrote {', '.join(map(str, files))}" if files else f"for a card:\n{fit.card()}"
