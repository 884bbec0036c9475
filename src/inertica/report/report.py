"""The report of an identification: one HTML file with everything in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from inertica import __version__
from inertica.logs.log import Log
from inertica.report import html
from inertica.report.data import Record, records
from inertica.report.drawn import choice_figures, fit_sections, torque_figures
from inertica.report.tables import base_table, choices_list, provenance, residual_table, short_names, standard_tables, trust_map
from inertica.report.verdict import verdict
from inertica.workflow.folder import whole_file
from inertica.workflow.result import Result

CONTENTS = {
    "summary": "Summary", "choices": "Choices", "torque": "Torque", "residuals": "Residuals", "friction": "Friction",
    "parameters": "Parameters", "base": "Base parameters", "provenance": "Provenance",
}  # fmt: skip


def write_report(result: Result, logs: Mapping[str, Sequence[Log]], target: str | Path) -> Path:
    """Write the report as one HTML file that needs nothing else.

    Args:
        result: what `identify` found.
        logs: data set -> its logs, `identification` first.
        target: the file.
    """
    content = report(result, logs)
    with whole_file(target) as temporary:
        temporary.write_text(content, encoding="utf-8")
    return Path(target)


def report(result: Result, logs: Mapping[str, Sequence[Log]]) -> str:
    """The report as text."""
    drawn = records(result, logs)
    fitted = [r for r in drawn if r.name == "identification"]
    parts = [
        _head(result),
        _summary(result),
        html.section("choices", CONTENTS["choices"], choices_list(result), *choice_figures(result)),
        html.section("torque", CONTENTS["torque"], *_torque(result, drawn)),
        *fit_sections(result, fitted),
        html.section("parameters", CONTENTS["parameters"], trust_map(result), *standard_tables(result)),
        html.section("base", CONTENTS["base"], base_table(result)),
        html.section("provenance", CONTENTS["provenance"], provenance(result, drawn)),
    ]
    return html.page(f"{result.description.name}: identified parameters", parts, f"inertica {__version__}")


def _head(result: Result) -> str:
    links = "".join(f'<a href="#{key}">{name}</a>' for key, name in CONTENTS.items())
    title = html.text(result.description.name)
    return f'<header><h1>{title}: identified parameters</h1><nav aria-label="contents">{links}</nav></header>'


def _summary(result: Result) -> str:
    judged = verdict(result)
    headline = f"<p><strong>{html.text(judged.headline)}</strong></p>"
    box = f'<div class="verdict {judged.level}">{headline}{html.paragraph(judged.sentence)}</div>'
    labels, names = list(result.labels.values()), short_names(list(result.residuals))
    numbers = [
        ("method", result.method),
        *((f"raw residual, {name}", html.percent(r.raw.all)) for name, r in zip(names, result.residuals.values(), strict=True)),
        ("base parameters", result.estimate.base.rank),
        ("determined alone", f"{labels.count('determined')} of {len(labels)}"),
        ("condition number", html.number(result.estimate.condition, 3)),
        ("every link possible", "yes" if result.physically_consistent else "no"),
    ]
    parts = [box, html.facts(numbers), residual_table(result)]
    if result.warnings:
        parts.append("<h3>Warnings</h3>" + html.listed(result.warnings, "warnings"))
    return html.section("summary", CONTENTS["summary"], *parts)


def _torque(result: Result, drawn: Sequence[Record]) -> list[str]:
    parts: list[str] = [
        html.paragraph(
            "Measured torque as recorded, the same after the low-pass of the fit, and the torque the model predicts from the motion; "
            "below each, the difference of the filtered curves. Dense stretches show their extremes."
        )
    ]
    for record in drawn:
        title = "Identification" if record.name == "identification" else f"Validation: {record.name}"
        parts.append(
            f"<h3>{html.text(title)}</h3>{html.paragraph(record.source, 'soft') if record.name == 'identification' else ''}"
        )
        parts += torque_figures(result, record)
    return parts
