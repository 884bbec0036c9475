"""The report of an identification: one HTML file with everything in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from inertica import __version__
from inertica.numbers import NONE, number, percent
from inertica.report import html
from inertica.report.advice import advice
from inertica.report.body import consistency
from inertica.report.bristles import BRISTLES, TITLE, bristle_section
from inertica.report.correlation import correlation_section
from inertica.report.data import Record, records
from inertica.report.drawn import choice_figures, fit_sections, torque_figures
from inertica.report.drift import drift_section
from inertica.report.names import short_names
from inertica.report.tables import (
    base_table,
    check_table,
    choices_list,
    lack_of_fit_table,
    provenance,
    residual_table,
    standard_table,
    trust_map,
)
from inertica.report.transmission import TITLE as TRANSMISSION_TITLE
from inertica.report.transmission import TRANSMISSION, transmission_section
from inertica.workflow.identify.inputs import IDENTIFICATION
from inertica.workflow.identify.result import Motions, Result
from inertica.writing import write_whole

CONTENTS = {
    "summary": "Summary", "torque": "Torque", "residuals": "Residuals", "friction": "Friction", "map": "Identifiability",
    "parameters": "Parameters", "consistency": "Consistency", "correlation": "Correlation", "check": "Check",
    "choices": "Choices", "base": "Base parameters", "provenance": "Provenance",
}  # fmt: skip

ON_SIMULATED_MOTION = (
    "No position was recorded in this log. The motion is that of the robot's control loop, simulated along the reference with the "
    "parameters found; measured and predicted torque are compared on this simulated motion."
)

NO_LOGS = "The logs behind this result were not there when the report was written, so nothing over time is drawn."


def write_report(result: Result, motions: Motions, target: str | Path) -> Path:
    """Write the report as one HTML file that needs nothing else.

    Args:
        result: what `identify` found.
        motions: what its predictions were made from; `Result.motions` makes them of the logs of a result that was read.
        target: the file.

    Examples:
        >>> result = ia.Result.load("result")
        >>> motions, missing = ia.motions_again(result)
        >>> ia.write_report(result, motions, "report.html").name
        'report.html'
    """
    content = report(result, motions)
    write_whole(target, content)
    return Path(target)


def report(result: Result, motions: Motions) -> str:
    """The report as text."""
    drawn = records(result, motions)
    fitted = [r for r in drawn if r.name == IDENTIFICATION]
    parts = [
        _summary(result, drawn),
        html.section("torque", CONTENTS["torque"], *_torque(result, drawn)),
        *fit_sections(result, fitted),
        *bristle_section(result),
        *transmission_section(result),
        *drift_section(result),
        html.section("map", CONTENTS["map"], trust_map(result)),
        html.section("parameters", CONTENTS["parameters"], *standard_table(result)),
        html.section("consistency", CONTENTS["consistency"], *consistency(result, fitted)),
        html.section("correlation", CONTENTS["correlation"], *correlation_section(result)),
        html.section("check", CONTENTS["check"], check_table(result)),
        html.section("choices", CONTENTS["choices"], choices_list(result), *choice_figures(result)),
        html.section("base", CONTENTS["base"], base_table(result)),
        html.section("provenance", CONTENTS["provenance"], provenance(result, drawn)),
    ]
    return html.page(f"{result.description.name}: identified parameters", _head(result), parts, f"inertica {__version__}")


def _head(result: Result) -> str:
    contents = dict(CONTENTS)
    more = [(BRISTLES, TITLE)] if result.bristles is not None else []
    more += [(TRANSMISSION, TRANSMISSION_TITLE)] if result.transmission.joints else []
    after = list(contents).index("friction") + 1
    contents = dict([*list(contents.items())[:after], *more, *list(contents.items())[after:]])
    return page_head(f"{result.description.name}: identified parameters", contents)


def page_head(title: str, contents: Mapping[str, str]) -> str:
    """Title, what can be pressed, and where the sections are."""
    links = "".join(f'<a href="#{key}">{name}</a>' for key, name in contents.items())
    button = '<button type="button" id="theme" class="live-only">theme: auto</button>'
    return f'<header><h1>{html.text(title)}</h1>{button}</header><nav aria-label="contents">{links}</nav>'


def verdict_box(result: Result, positions: bool = True) -> str:
    """How good, what to trust, what to do next and the command for it."""
    next_steps = advice(result, positions)
    sentences = "".join(
        f"<li><b>{head}</b> {html.prose(words)}</li>"
        for head, words in (
            ("How good?", next_steps.quality),
            ("What to trust?", next_steps.trust),
            ("What next?", next_steps.next),
        )
    )
    more = html.paragraph(html.prose(next_steps.more), "soft") if next_steps.more else ""
    headline = f"<p>{html.text(next_steps.first_line)}</p><p><strong>{html.text(next_steps.headline)}</strong></p>"
    card = (
        html.paragraph("Lines of a robot card that would help:") + html.command("\n".join(next_steps.card))
        if next_steps.card
        else ""
    )
    command = html.command(next_steps.command) if next_steps.command else ""
    return f'<div class="verdict {next_steps.level}">{headline}<ol>{sentences}</ol>{card}{command}{more}</div>'


def _summary(result: Result, drawn: Sequence[Record]) -> str:
    box = verdict_box(result, not any(r.simulated for r in drawn))
    labels, names = list(result.labels.values()), short_names(list(result.residuals))
    numbers = [
        ("method", result.method),
        *((f"raw residual, {name}", percent(r.raw.all)) for name, r in zip(names, result.residuals.values(), strict=True)),
        ("base parameters", result.estimate.base.rank),
        ("determined alone", f"{labels.count('determined')} of {len(labels)}"),
        ("condition number", number(result.estimate.condition, 3)),
        ("every link possible", "yes" if result.physically_consistent else "no"),
        ("total mass", f"{result.masses.total:.3g} kg"),
        ("total mass, model", f"{result.masses.prior_total:.3g} kg" if result.masses.prior_total > 0.0 else NONE),
    ]
    if result.check:
        numbers.append(("check of the log", result.check.verdict))
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
    if not drawn:
        return [html.paragraph(NO_LOGS)]
    for k, record in enumerate(drawn):
        kind = "Identification" if record.name == IDENTIFICATION else "Validation"
        name = short_names([record.source])[0]
        parts.append(f'<h3 title="{html.text(record.source)}">{kind}: {html.text(name)}</h3>')
        if record.simulated:
            parts.append(html.paragraph(ON_SIMULATED_MOTION))
        parts += torque_figures(result, record, f"log{k + 1}")
    return parts
