"""Grades a model file, A to F: could every link exist, do its masses look like those of a robot of this size, are drive inertia and
friction there, and how much of the torque of recorded logs does it miss.

MODEL is a built-in name, a DH YAML, a URDF, an MJCF or a robot card.  Without LOG the grade says what the file holds, not whether its
numbers are those of your robot.  Nothing is fitted.  The exit code is 0 whatever the grade, unless --at-least.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from inertica.cli.console import Answer, one_line, progress, table
from inertica.cli.reading import add_reading, reading_options, with_reading
from inertica.documents import plain
from inertica.report.badge import badge
from inertica.robot.load import load
from inertica.workflow.grade import LETTERS, Grade, GradeFinding, grade
from inertica.writing import write_whole

if TYPE_CHECKING:
    from rich.console import RenderableType

EXAMPLES = """\
inertica grade arm.urdf
inertica grade arm.urdf run1.csv.gz --badge grade.svg
inertica grade card.yaml run1.csv.gz run2.csv.gz --at-least C --json
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="built-in name or file")
    parser.add_argument("logs", metavar="LOG", nargs="*", help="recorded log with torque, with @t0:t1 behind it for a part")
    parser.add_argument("--badge", metavar="SVG", help="write the grade as a picture for a README")
    parser.add_argument("--at-least", choices=tuple(LETTERS), help="exit with code 1 when the grade is worse")
    add_reading(parser)


def run(arguments: argparse.Namespace) -> Answer:
    robot = with_reading(load(arguments.model), reading_options(arguments))
    with progress(f"grading {robot.name}"):
        graded = grade(robot, arguments.logs)
    if arguments.badge:
        write_whole(arguments.badge, badge(graded.letter, graded.model))
    limit = arguments.at_least
    worse = limit is not None and LETTERS.index(graded.letter) > LETTERS.index(limit)
    return Answer(plain(graded), lambda: text(graded, arguments.badge), 1 if worse else 0)


def text(graded: Grade, written: str | None = None) -> Iterator[RenderableType]:
    """A table of the findings, worst first, then the grade."""
    ordered = sorted(graded.findings, key=lambda f: LETTERS.index(f.grade), reverse=True)
    yield table(one_line(graded.model), ("grade", "what", "where", "finding"), [_row(f) for f in ordered])
    if not graded.residuals:
        yield "No log was named, so nothing says whether the numbers are those of your robot: inertica grade MODEL LOG"
    if written:
        yield f"written: {written}"
    yield f"Grade: {graded.letter}"


def _row(finding: GradeFinding) -> tuple[str, str, str, str]:
    joints = f"{'links' if finding.subject in ('links', 'masses') else 'joints'} {', '.join(map(str, finding.joints))}"
    where = one_line(finding.log) or (joints if finding.joints else "")
    return finding.grade, finding.subject.value, where, one_line(finding.detail)
