"""Checks logs before any fit: sampling, gaps, quantisation, saturation, delays, what the motion can determine, and whether the
log is what it says: signs, order of columns, encoder zeros, units, mount, and the robot itself.

ROBOT is a built-in name, a DH YAML, a URDF, an MJCF or a robot card; its friction and couplings are those that the logs are held
against.  LOG is CSV (also gzipped), Parquet, NPZ, MAT, a ROS bag or MCAP; FILE@t0:t1 takes the rows with t from t0 to t1.
Each finding is fine, not testable in this log, a note, a warning or a PROBLEM, with what to do about it.  A PROBLEM ends with exit
code 1, and stops `identify` unless it is told --force.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from inertica.checks.findings import UNVERIFIED, Finding, Quality, unverified
from inertica.checks.gate import checked
from inertica.cli.console import Answer, one_line, progress, table
from inertica.cli.reading import add_reading, reading_options, with_reading
from inertica.documents import plain
from inertica.errors import ModelWarning
from inertica.logs.read import read_log
from inertica.robot.load import load

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

EXAMPLES = """\
inertica check card.yaml log.csv.gz
inertica check arm.urdf first.csv@2:52 second.csv
inertica check tx40 log.npz --json
"""

_LOOK: Mapping[str, tuple[str, str]] = {
    "fine": ("fine", "green"),
    "not testable": ("not testable", "dim"),
    "note": ("note", "yellow"),
    "warning": ("warning", "bold yellow"),
    "problem": ("PROBLEM", "bold red"),
}


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", metavar="ROBOT", help="built-in name or file")
    parser.add_argument(
        "logs",
        metavar="LOG",
        nargs="+",
        help="recorded log, with @t0:t1 behind it for a part; FILE+FILE joins files on their clocks",
    )
    parser.add_argument(
        "--velocity", choices=("recorded", "differences"), default="recorded",
        help="differences: the recorded velocity will not be used, so it is not looked at",
    )  # fmt: skip
    add_reading(parser)


def run(arguments: argparse.Namespace) -> Answer:
    robot = with_reading(load(arguments.robot), reading_options(arguments))
    with progress("reading"):
        logs = [read_log(spec, robot) for spec in arguments.logs]
    if arguments.velocity == "differences":
        logs = [log.without("dq", "dtheta") for log in logs]
    for sentence in dict.fromkeys(s for log in logs for s in log.warnings):
        warnings.warn(ModelWarning(sentence), stacklevel=1)
    with progress(f"checking {len(logs)} log{'s' * (len(logs) > 1)} of {robot.name}"):
        quality = checked(robot, logs)
    return Answer(plain(quality), lambda: text(quality), 1 if quality.problems else 0)


def text(quality: Quality) -> Iterator[RenderableType]:
    """The findings as tables, one per log and one for all logs together."""
    for log in quality.logs:
        of_log = [f for f in quality.findings if f.log == log]
        if of_log:
            yield table(one_line(log), ("verdict", "what", "finding"), [_row(f) for f in _together(of_log)])
    shared = [f for f in quality.findings if not f.log]
    if shared:
        title = "all logs together" if len(quality.logs) > 1 else "what it determines"
        yield table(title, ("verdict", "what", "finding"), [_row(f) for f in shared])
    yield _verdict(quality.verdict, f"{quality.robot}: {quality.sentence}")


def _together(findings: Sequence[Finding]) -> list[Finding]:
    """Findings as they are shown: one line for all that the motion cannot tell, at the end."""
    shown = [f for f in findings if f.verdict != "not testable" or UNVERIFIED not in f.numbers]
    sentence = unverified(findings)
    return [*shown, Finding("verification", "not testable", sentence)] if sentence else shown


def _row(finding: Finding) -> tuple[RenderableType, RenderableType, RenderableType]:
    from rich.text import Text

    sentence = Text(one_line(finding.text))
    if finding.advice and finding.verdict != "fine":
        sentence.append(f"\n-> {one_line(finding.advice)}", "italic")
    return _verdict(finding.verdict), finding.name, sentence


def _verdict(verdict: str, words: str | None = None) -> Text:
    from rich.text import Text

    word, style = _LOOK[verdict]
    return Text(word if words is None else words, style)
