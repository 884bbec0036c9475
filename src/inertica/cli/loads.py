"""Fits a robot, the loads that its logs carry and, where logs have currents, its drive gains together.
EXPERIMENT is a YAML file that says which log carries what: none, a known load, one that is unknown, or
one that several logs share.

loads: {disc: {mass: 2.805, com: [0, 0, 0.02]}}; logs: a list of {log: FILE, load: none|NAME}; gains:
stated (the default) or estimate.  A load that `loads` does not state is unknown.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from inertica.cli import drive_gains, payload
from inertica.cli.console import Answer, progress_line, written_to
from inertica.cli.fitting import add_choices, add_prior, settings
from inertica.cli.identify import check_output
from inertica.cli.payload import add_flange
from inertica.cli.reading import add_reading, described
from inertica.errors import ModelWarning
from inertica.workflow.payload.loads import Loads, fit_loads
from inertica.writing import make_folder

if TYPE_CHECKING:
    from rich.console import RenderableType

EXAMPLES = """\
inertica loads card.yaml experiment.yaml
inertica loads arm.urdf experiment.yaml --flange tool0 -o loads/ --json
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", metavar="ROBOT", help="built-in name, DH YAML, URDF, MJCF, SDFormat or robot card")
    parser.add_argument("experiment", metavar="EXPERIMENT", help="YAML file that says which log carries what")
    add_flange(parser)
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, help="write every load into a folder of its name")
    add_prior(parser)
    add_reading(parser)
    add_choices(parser)


def run(arguments: argparse.Namespace) -> Answer:
    if arguments.output is not None:
        check_output(arguments.output)
    with progress_line() as say:
        result = fit_loads(
            described(arguments),
            arguments.experiment,
            frame=payload.frame(arguments.flange),
            settings=settings(arguments),
            progress=say,
        )
    files: list[str] = []
    if arguments.output is not None:
        make_folder(arguments.output)
        for name, load in result.loads.items():
            files += [str(f) for f in load.save(arguments.output / name)]
    sentences = [*result.fit.robot.warnings, *(result.gains.sentences if result.gains else ())]
    for sentence in sentences:
        warnings.warn(ModelWarning(sentence), stacklevel=2)
    return Answer(result.document() | {"files": files}, lambda: text(result, files))


def text(result: Loads, files: list[str]) -> Iterator[RenderableType]:
    """For people."""
    if result.gains is not None:
        yield from drive_gains.text(result.gains)
    for name, load in result.loads.items():
        yield f"\nload '{name}'"
        yield from payload.text(load)
    if files:
        yield written_to(files)
