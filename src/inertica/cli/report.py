"""Writes the report of a saved result again: one HTML file that opens without a network, with plots to zoom, tables to sort and
search, and the robot to turn around.  With --pdf it is printed, too, by a Chromium without a window.

Several results of one robot go into one report: predictions of the same logs and base parameters are held against each other, with
the probability that a difference came by chance.  The logs are read where they were; --logs names the folder they went to.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from inertica.cli.console import Answer, progress_line, written_to
from inertica.errors import InputError, ModelWarning
from inertica.report.browser import find_browser, print_pdf
from inertica.report.bundle import REPORT
from inertica.report.logs import motions_again
from inertica.report.names import short_names
from inertica.report.report import write_report
from inertica.report.together import write_together
from inertica.workflow.identify.result import RESULT, Result

if TYPE_CHECKING:
    from rich.console import RenderableType

EXAMPLES = """\
inertica report result/
inertica report result/ --pdf -o robot.html
inertica report monday/ friday/ -o both.html
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", metavar="RESULT", nargs="+", help="folder of a result; several are compared with the first")
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help=f"the HTML file; RESULT/{REPORT} of one result by default"
    )
    parser.add_argument("--pdf", action="store_true", help="also print it, as a file of the same name that ends in .pdf")
    parser.add_argument("--logs", metavar="DIR", type=Path, help="folder with the logs, when they are not where they were")


def run(arguments: argparse.Namespace) -> Answer:
    folders = [Path(name).parent if Path(name).name == RESULT else Path(name) for name in arguments.results]
    target = arguments.output or folders[0] / REPORT
    if len(folders) > 1 and arguments.output is None:
        raise InputError("say with -o FILE where the report of several results goes")
    if arguments.pdf:
        find_browser()  # before any work
    with progress_line() as say:
        results = [Result.load(folder) for folder in folders]
        say("reading the logs")
        read = [motions_again(result, arguments.logs) for result in results]
        for sentence in dict.fromkeys(sentence for _, gone in read for sentence in gone):
            warnings.warn(ModelWarning(sentence), stacklevel=1)
        say("writing the report")
        if len(results) == 1:
            write_report(results[0], read[0][0], target)
        else:
            names = short_names([str(folder.resolve()) for folder in folders])
            write_together(names, results, [motions for motions, _ in read], target)
        files = [target]
        if arguments.pdf:
            say("printing")
            files.append(print_pdf(target, target.with_suffix(".pdf")))

    def text() -> Iterator[RenderableType]:
        yield written_to(files)

    return Answer({"files": [str(file) for file in files], "robot": results[0].description.name}, text)
