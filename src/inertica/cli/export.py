"""Writes the values of a saved result into a copy of the model its robot was read from, with the
trust labels as comments.  The file is read again, and its torques compared with the result's,
before it is called written.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from inertica.cli.console import Answer, progress
from inertica.errors import ModelWarning
from inertica.workflow.export import FORMATS, export_model
from inertica.workflow.result import Result

if TYPE_CHECKING:
    from rich.console import RenderableType

EXAMPLES = """\
inertica export result/ --urdf identified.urdf
inertica export result/ --yaml identified.yaml --json
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT", help="folder of a result")
    target = parser.add_mutually_exclusive_group(required=True)
    for option, format in (("--urdf", "urdf"), ("--mjcf", "mjcf"), ("--yaml", "dh")):
        target.add_argument(option, metavar="FILE", dest=format, type=Path, help=f"write a {FORMATS[format]} file")


def run(arguments: argparse.Namespace) -> Answer:
    format = next(name for name in FORMATS if getattr(arguments, name) is not None)
    with progress("writing the model"):
        result = Result.load(arguments.result)
        written = export_model(result, getattr(arguments, format), format)
    for sentence in (*_doubts(result), *written.notes):
        warnings.warn(ModelWarning(sentence), stacklevel=1)

    def text() -> Iterator[RenderableType]:
        yield f"written: {written.path}; read again, its torques agree to {written.difference:.1e} of their size"

    document = {"file": str(written.path), "format": format, "difference": written.difference}
    return Answer(document, text)


def _doubts(result: Result) -> tuple[str, ...]:
    bad = result.parameters.inconsistent_links()
    return (f"no real body has the parameters of {', '.join(bad)}; simulators may refuse the file",) if bad else ()
