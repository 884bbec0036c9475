"""The short answer of one identification: at most one screen of text, made from the record; the report holds everything else."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from inertica.identifiability.labels import LABELS
from inertica.numbers import NONE, number
from inertica.report.drift import drift_line
from inertica.report.names import shortened
from inertica.report.transmission import transmission_line
from inertica.report.verdict_words import verdict_words
from inertica.robot.friction import friction_terms, word
from inertica.workflow.identify.result import Result
from inertica.workflow.identify.verdict import verdict

SCREEN = 40
"""Lines of a terminal window that most people have at least."""

MOST_JOINTS = 10
"""Rows of the table of joints; of robots with more joints, those that are predicted worst."""

MOST_LINES = 3
"""Lines that a single reason, or the next step, may have."""

NAME = 24
"""Characters of a joint's name in the table."""

COLUMNS = ("joint", "", "before (%)", "after (%)", "mass (kg)", "model (kg)", "friction", "determined")
LEGEND = (
    "before, after: part of the joint's torque that the model you came with and the identified one miss; "
    "determined: parameters that the data tell to 30 % or better"
)
LEFT_ALIGNED = ("", "friction")

GAP = "  "


class Role(Enum):
    """What a line is, for whoever gives it colours."""

    FIRST = "first line"
    VERDICT = "verdict"
    HEADING = "heading"
    TEXT = "text"
    PATH = "path"


@dataclass(frozen=True)
class Line:
    """One line, not longer than the width that was asked for.

    Args:
        text: without a line break.
        role: what it is.
        target: the file that it names, for terminals that open files at a click.
    """

    text: str
    role: Role = Role.TEXT
    target: Path | None = None


def digest(
    result: Result, files: Sequence[str | Path] = (), remarks: int | None = None, width: int = 100, most: int = SCREEN
) -> list[Line]:
    """The answer of `identify` on one screen; its last line is the verdict.

    Args:
        result: what was found.
        files: that were written.
        remarks: number of warnings; those of the result by default.
        width: characters of a line.
        most: lines in all.  Reasons give way first: those that do not fit are counted.
    """
    judged = verdict(result)
    words = verdict_words(result, judged)
    conclusion = Line(f"Verdict: {judged.level}. {words.headline}."[:width], Role.VERDICT)
    head = [*_wrapped(words.first_line, width, Role.FIRST), Line(""), conclusion]
    body = [Line(""), *_joints(result, width), Line(""), *_wrapped(_model(result), width)]
    for line in (transmission_line(result), drift_line(result)):
        body += _wrapped(line, width, most=MOST_LINES)
    end = [
        *_written(files, width),
        *_wrapped(f"Next: {words.next}.", width, most=MOST_LINES, indent=6),
        *_wrapped(
            f"More with --full{' and in the report' if files else ''}: {_left_out(result, remarks, len(words.card))}.", width
        ),
        conclusion,
    ]
    room = most - len(head) - len(body) - len(end)
    return [*head, *_reasons(words.details, width, room), *body, *end]


def _reasons(sentences: Sequence[str], width: int, room: int) -> list[Line]:
    """One bullet for every sentence, as far as there is room; what is left out is counted."""
    out: list[Line] = []
    for k, sentence in enumerate(sentences):
        lines = _wrapped(f"* {sentence}", width, most=MOST_LINES, indent=2)
        rest = len(sentences) - k
        if len(out) + len(lines) + (rest > 1) > room:
            return [*out, Line(f"* and {rest} more")] if room > len(out) else out
        out += lines
    return out


def _joints(result: Result, width: int) -> list[Line]:
    """What is left of the torque of every joint, and what is known of the link behind it."""
    robot, judged = result.description.robot, verdict(result)
    after = result.residuals[judged.data_set].raw.per_joint
    before = None if result.before is None or not result.before.masses else result.before.residual.raw.per_joint
    laws = friction_terms(result.parameters.layout.terms)
    rows = []
    for j, joint in enumerate(robot.joints[: robot.driven]):
        rows.append([
            str(j + 1), shortened(joint.name, NAME), _percent(before[j]) if before else NONE, _percent(after[j]),
            *_link(result, j, [word(law) for law in laws if law.joint == j]),
        ])  # fmt: skip
    worst = sorted(range(robot.driven), key=lambda j: -after[j] if math.isfinite(after[j]) else 0.0)[:MOST_JOINTS]
    chosen = [rows[j] for j in sorted(worst)]
    if robot.floating:  # a base that floats is a link without a drive
        base = robot.n - 1
        chosen.insert(0, [robot.number(base), shortened(robot.joints[base].link, NAME), NONE, NONE, *_link(result, base, [])])
    lines = [Line(line, Role.HEADING if k == 0 else Role.TEXT) for k, line in enumerate(_aligned(chosen, width))]
    if (more := robot.driven - len(worst)) > 0:
        lines.append(Line(f"and {more} joint{'s' if more > 1 else ''}, predicted better"))
    return [*lines, *_wrapped(LEGEND, width)]


def _link(result: Result, j: int, laws: list[str]) -> list[str]:
    """Cells of the link that a joint carries: its mass, the model's, friction of the joint, how many parameters are determined."""
    entries, mass = [entry for entry in result.entries if entry.parameter.joint == j], result.masses.links[j]
    known = sum(entry.label == LABELS[0] for entry in entries)
    return [number(mass.mass, 3), number(mass.prior, 3), _laws(laws), f"{known} of {len(entries)}"]


def _aligned(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """A table with its heading; columns are left out from the names on, where they do not fit."""
    columns, dropped = list(range(len(COLUMNS))), [6, 5, 1]
    table = [COLUMNS, *rows]
    widths = [max(len(row[k]) for row in table) for k in range(len(COLUMNS))]
    while sum(widths[k] for k in columns) + len(GAP) * (len(columns) - 1) > width and dropped:
        columns.remove(dropped.pop(0))
    return [
        GAP.join(row[k].ljust(widths[k]) if COLUMNS[k] in LEFT_ALIGNED else row[k].rjust(widths[k]) for k in columns).rstrip()
        for row in table
    ]


def _laws(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "none"


def _percent(share: float) -> str:
    return f"{100.0 * share:.1f}" if math.isfinite(share) else NONE


def _model(result: Result) -> str:
    """What was estimated, how, and how much of it is known."""
    counts = Counter(result.labels.values())
    labels = ", ".join(f"{counts[label]} {label}" for label in LABELS if counts[label])
    iterations = f", {result.estimate.iterations} iterations" if result.estimate.iterations > 1 else ""
    return (
        f"{result.description.name}: {result.estimate.base.rank} base parameters by {result.method}{iterations}; "
        f"of {len(result.labels)} standard parameters {labels}."
    )


def _written(files: Sequence[str | Path], width: int) -> list[Line]:
    """One line for the folder and one for the page to open; names of other files behind the folder."""
    if not files:
        return [*_wrapped("Nothing was written: -o DIR writes the identified model, the report and result.json.", width)]
    paths = [Path(file) for file in files]
    folder = paths[0].parent
    names = ", ".join(path.name for path in paths)
    lines = [Line(line.text, Role.PATH, folder.absolute()) for line in _wrapped(f"Written to {folder}: {names}", width)]
    pages = [path for path in paths if path.suffix == ".html"]
    return lines + [Line(line.text, Role.PATH, page.absolute()) for page in pages for line in _wrapped(f"Report: {page}", width)]


def _left_out(result: Result, remarks: int | None, card: int) -> str:
    """What the screen has no room for."""
    remarks = len(result.warnings) if remarks is None else remarks
    parts = [
        f"{remarks} warning{'s' if remarks != 1 else ''}",
        f"{len(result.choices)} choices with their reasons",
        "all residuals",
        "all parameters",
        *([f"{card} lines of a robot card that would help"] if card else []),
    ]
    return ", ".join(parts)


def _wrapped(text: str, width: int, role: Role = Role.TEXT, most: int | None = None, indent: int = 0) -> list[Line]:
    """Lines of at most `width` characters, and at most so many; what is cut off ends in an ellipsis."""
    wrapper = textwrap.TextWrapper(
        width,
        subsequent_indent=" " * indent,
        break_on_hyphens=False,
        break_long_words=False,
        max_lines=most,
        placeholder=" \N{HORIZONTAL ELLIPSIS}",
    )
    return [Line(line, role) for line in wrapper.wrap(text)]
