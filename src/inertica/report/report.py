"""The report of an identification: one HTML file with everything in it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from inertica import __version__
from inertica.report import html
from inertica.report.data import Record, records
from inertica.report.drawn import choice_figures, fit_sections, torque_figures
from inertica.report.numbers import number
from inertica.report.tables import (
    base_table,
    choices_list,
    lack_of_fit_table,
    provenance,
    residual_table,
    short_names,
    standard_tables,
    trust_map,
)
from inertica.workflow.folder import whole_file
from inertica.workflow.inputs import IDENTIFICATION
from inertica.workflow.judge import Motions
from inertica.workflow.result import Result
from inertica.workflow.verdict import verdict

CONTENTS = {
    "summary": "Summary", "choices": "Choices", "torque": "Torque", "residuals": "Residuals", "friction": "Friction",
    "parameters": "Parameters", "base": "Base parameters", "provenance": "Provenance",
}  # fmt: skip

ON_SIMULATED_MOTION = (
    "No position was recorded in this log. The motion is that of the robot's control loop, simulated along the reference with the "
    "parameters found; measured and predicted torque are compared on this simulated motion."
)


def write_report(result: Result, motions: Motions, target: str | Path) -> Path:
    """Write the report as one HTML file that needs nothing else.

    Args:
        result: what `identify` found.
        motions: what its predictions were made from; `Result.motions` makes them of the logs of a result that was read.
        target: the file.
    """
    content = report(result, motions)
    with whole_file(target) as temporary:
        temporary.write_text(content, encoding="utf-8")
    return Path(target)


def report(result: Result, motions: Motions) -> str:
    """The report as text."""
    drawn = records(result, motions)
    fitted = [r for r in drawn if r.name == IDENTIFICATION]
    parts = [
        _head(result),
        _summary(result, drawn),
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


def _summary(result: Result, drawn: Sequence[Record]) -> str:
    judged = verdict(result)
    headline = f"<p><strong>{html.text(judged.headline)}</strong></p>"
    said = html.paragraph(judged.sentence) + html.paragraph(f"Next: {judged.next}.")
    box = f'<div class="verdict {judged.level}">{headline}{said}</div>'
    labels, names = list(result.labels.values()), short_names(list(result.residuals))
    numbers = [
        ("method", result.method),
        *((f"raw residual, {name}", html.percent(r.raw.all)) for name, r in zip(names, result.residuals.values(), strict=True)),
        ("base parameters", result.estimate.base.rank),
        ("determined alone", f"{labels.count('determined')} of {len(labels)}"),
        ("condition number", number(result.estimate.condition, 3)),
        ("every link possible", "yes" if result.physically_consistent else "no"),
        ("total mass", f"{result.masses.total:.3g} kg (model {result.masses.prior_total:.3g} kg)"),
    ]
    if result.check:
        numbers.append(("check of the log", str(result.check["summary"])))
    if any(r.simulated for r in drawn):
        numbers.append(("motion", "simulated" if all(r.simulated for r in drawn) else "partly simulated"))
    parts = [box, html.facts(numbers), residual_table(result), lack_of_fit_table(result)]
    if result.warnings:
        parts.append("<h3>Warnings</h3>" + html.listed(result.warnings, "warnings"))
    return html.section("summary", CONTENTS["summary"], *parts)


def _about_torque(drawn: Sequence[Record]) -> str:
    low = "the same after the low-pass of the fit, " if any(r.motion.decimator.ratio > 1 for r in drawn) else ""
    below = "the difference of the filtered curves" if low else "their difference"
    return (
        f"Measured torque as recorded, {low}and the torque the model predicts from the motion; below each, {below}. "
        "Dense stretches show their extremes."
    )


def _torque(result: Result, drawn: Sequence[Record]) -> list[str]:
    parts: list[str] = [html.paragraph(_about_torque(drawn))]
    for record in drawn:
        title = "Identification" if record.name == IDENTIFICATION else f"Validation: {record.name}"
        parts.append(
            f"<h3>{html.text(title)}</h3>{html.paragraph(record.source, 'soft') if record.name == IDENTIFICATION else ''}"
        )
        if record.simulated:
            parts.append(html.paragraph(ON_SIMULATED_MOTION))
        parts += torque_figures(result, record)
    return parts
