"""Finds the dynamic parameters of a robot from recorded motion, says which can be trusted, and
writes them back into the model.  Filter, delay, friction laws and method are chosen by
cross-validation on the logs themselves; any of them can be fixed.

ROBOT is a built-in name, a DH YAML, a URDF, an MJCF or a robot card.  LOG is CSV (also gzipped),
Parquet, NPZ, MAT, a ROS bag or MCAP: t, q1.., tau1.. in SI units; FILE@t0:t1 takes a slice.
Methods that simulate the controller (didim, clie) do without q1.. when they know the reference.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from inertica.cli.console import Answer, held_warnings, progress_line, table, text_console, written_to
from inertica.cli.fitting import add_choices, add_friction_export, add_inputs, add_loop, residual_table, settings
from inertica.cli.progress import by_stages
from inertica.cli.reading import described
from inertica.errors import InputError, ModelWarning
from inertica.estimators.registry import METHODS, PRIORS
from inertica.identifiability.labels import LABELS
from inertica.numbers import number
from inertica.report.digest import Role, digest
from inertica.report.drift import drift_sentences
from inertica.report.style import LABEL_COLOURS
from inertica.report.tables import BASE, base_rows
from inertica.report.transmission import COLUMNS, TITLE, not_testable, transmission_rows
from inertica.report.verdict_words import verdict_document, verdict_words
from inertica.workflow.identify.parameter_table import Column, Entry, Kind, shown, symbol_words
from inertica.workflow.identify.result import Result
from inertica.workflow.identify.run import identify
from inertica.workflow.identify.settings import check_method
from inertica.workflow.identify.verdict import BAD, DOUBTFUL, GOOD, verdict

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

EXAMPLES = """\
inertica identify card.yaml run1.csv.gz --validate run2.csv.gz -o result/
inertica identify arm.urdf run1.csv run2.csv --method ols --cutoff 20 --friction viscous,coulomb
inertica identify card.yaml run1.csv.gz@0:4 --validate run1.csv.gz@4:5 --json
inertica identify card.yaml torque.csv.gz --method didim --reference traj.yaml -o result/
inertica identify card.yaml run1.csv --method didim --start regular --retune --stop either
inertica identify card.yaml run1.csv --method clie --optimiser cma-es --option nudge=0.01
"""

STAGES = {
    "reading": 0.1, "check": 1.2, "filter": 0.4, "delay": 0.2, "gravity": 0.3, "friction": 0.3, "position": 0.3, "method": 0.1,
    "fit": 0.3, "intervals": 0.8, "validate": 1.4, "writing": 2.5,
}  # fmt: skip
"""Seconds of every stage on a log of 10 s of a six-joint arm: what the time left is told by."""

_VERDICT_STYLES = {GOOD: "bold green", DOUBTFUL: "bold yellow", BAD: "bold red"}


def add(parser: argparse.ArgumentParser) -> None:
    add_inputs(parser)
    parser.add_argument(
        "--method",
        metavar="M",
        default="auto",
        help=f"auto (the default), or one of {', '.join(METHODS)}; +PRIOR ({', '.join(PRIORS)}) works behind other pc- methods",
    )
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path,
        help="write result.json, the identified model, parameters.csv and report.html",
    )  # fmt: skip
    parser.add_argument(
        "--quick", action="store_true",
        help="do not apply the estimate to itself, nor try neighbouring cut-offs; intervals then hold no bias",
    )  # fmt: skip
    parser.add_argument(
        "--full", action="store_true",
        help="print everything: choices with their reasons, all residuals and parameters, warnings, times; one screen by default",
    )  # fmt: skip
    add_friction_export(parser)
    add_choices(parser)
    add_loop(parser)


def run(arguments: argparse.Namespace) -> Answer:
    chosen = settings(arguments, arguments.method)
    check_method(chosen)
    if arguments.output is not None:
        check_output(arguments.output)
    files: tuple[str, ...] = ()
    one_screen = not (arguments.full or arguments.json or arguments.verbose)
    with held_warnings(one_screen) as held, progress_line(by_stages(STAGES)) as say:
        result = identify(
            described(arguments),
            arguments.logs,
            validate=arguments.validate,
            settings=chosen,
            progress=say,
            command=arguments.typed,
        )
        if arguments.output is not None:
            from inertica.report.bundle import write_bundle

            say("writing the report")
            bundle = write_bundle(result, arguments.output, approximate=arguments.approximate_friction, force=arguments.force)
            result, files = bundle.result, tuple(str(bundle.folder / name) for name in bundle.files)
    view = ResultView(result, files, tuple(held))
    if arguments.json:
        view.warn()
    return Answer(view.document(), view.digest if one_screen else view.text)


def check_output(folder: Path) -> None:
    """Before any work: can a folder be there?"""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; give the name of a folder to write into")


@dataclass(frozen=True)
class ResultView:
    """A result as a document and as text.

    Args:
        result: what was found.
        files: that were written.
        remarks: warnings about files and models that have not been shown.
    """

    result: Result
    files: Sequence[str] = ()
    remarks: Sequence[str] = ()

    def document(self) -> dict[str, object]:
        return self.result.document() | {"verdict": verdict_document(self.result), "files": list(self.files)}

    def warn(self) -> None:
        """The result's warnings on stderr, and so in the JSON document."""
        for sentence in self.result.warnings:
            warnings.warn(ModelWarning(sentence), stacklevel=2)

    def digest(self) -> Iterator[RenderableType]:
        """One screen, the verdict last."""
        from rich.text import Text

        style = _VERDICT_STYLES[verdict(self.result).level]
        for line in digest(self.result, self.files, len({*self.result.warnings, *self.remarks}), text_console().width):
            styles = {Role.FIRST: "bold", Role.HEADING: "bold", Role.VERDICT: style}
            text = Text(line.text, styles.get(line.role, ""))
            if line.target is not None:
                text.stylize(f"link {line.target.as_uri()}")
            yield text

    def text(self) -> Iterator[RenderableType]:
        """Everything, the verdict first and last."""
        from rich.text import Text

        result, judged = self.result, verdict(self.result)
        words = verdict_words(result, judged)
        yield Text(words.first_line, "bold")
        yield f"{result.description.name}: {result.estimate.base.rank} base parameters by {result.method}"
        if result.estimate.iterations > 1:
            yield f"{result.estimate.iterations} iterations; {result.estimate.stop_reason}"
        yield Text.assemble((f"{words.headline}. ", _VERDICT_STYLES[judged.level]), words.sentence)
        yield Text.assemble(("Next: ", "bold"), words.next, "" if words.card else "\n")
        if words.card:
            yield Text("\n".join(("Lines of a robot card that would help:", *words.card, "")))
        if result.check:
            yield f"check of the log: {result.check.sentence}\n"
        yield table("choices", ("subject", "decision"), [[c.subject, c.sentence] for c in result.choices])
        yield residual_table(result.residuals, result.before)
        title = f"base parameters; condition number {number(result.estimate.condition, 3)}"
        yield table(title, BASE, base_rows(result), right=BASE[1:4])
        yield self._standard()
        yield f"{symbol_words(result.entries)}\n"
        yield from drift_sentences(result)
        if result.transmission.joints:
            yield table(TITLE.lower(), COLUMNS, transmission_rows(result), right=COLUMNS[1:])
        if untested := not_testable(result):
            yield f"{untested}\n"
        yield f"{result.masses.sentence}\n"
        yield f"time: {', '.join(f'{stage} {seconds:.2f} s' for stage, seconds in result.time.items())}"
        if self.files:
            yield written_to(self.files)
        yield from (model.comparison for model in result.exported)
        self.warn()
        yield Text(f"Verdict: {judged.level}. {words.headline}.", _VERDICT_STYLES[judged.level])

    def _standard(self) -> RenderableType:
        result = self.result
        columns = shown()
        rows = [[cell(column, entry) for column in columns] for entry in result.entries]
        words = list(result.labels.values())
        counts = ", ".join(f"{words.count(word)} {word}" for word in LABELS if word in words)
        numeric = [column.heading for column in columns if column.kind.numeric]
        return table(f"standard parameters: {counts}", [column.heading for column in columns], rows, right=numeric)


def cell(column: Column, entry: Entry) -> RenderableType:
    """A cell of the table of standard parameters."""
    return marked(entry.label) if column.kind is Kind.LABEL else column.text(entry)


def marked(label: str) -> Text:
    """A trust label in its colours."""
    from rich.style import Style
    from rich.text import Text

    fill, ink = LABEL_COLOURS[label]
    return Text(f" {label} ", Style(color=ink, bgcolor=fill))
