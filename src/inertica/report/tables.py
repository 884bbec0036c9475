"""The tables of the report: residuals, parameters with their labels, provenance."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import version

from inertica import __version__
from inertica.checks.findings import SEVERITY, Finding
from inertica.identifiability.labels import INTERVAL, LABEL_WORDS, LABELS
from inertica.numbers import number, percent
from inertica.report import html
from inertica.report.data import Record
from inertica.report.names import short_names
from inertica.report.style import LABEL_COLOURS, LABEL_LETTERS
from inertica.robot.inertia import NAMES
from inertica.validation.misfit_words import MISFITS
from inertica.validation.residuals import Relative
from inertica.workflow.identify.parameter_table import Column, Entry, Kind, shown
from inertica.workflow.identify.result import Result

PACKAGES = ("numpy", "scipy", "numba")

RAW, FILTERED = "raw, as recorded", "filtered, both low-passed"
"""Kinds of residuals; the first is the one that headline and verdict state."""

BASE = ("name", "value", "± 95 %", "std (%)", "relation")
"""Columns of the table of base parameters."""


def residual_table(result: Result) -> str:
    """|tau - tau_hat| / |tau| per data set and joint, and that of the model that came in."""
    joints = [str(j + 1) for j in range(result.description.robot.n)]
    shown = dict(zip(result.residuals, short_names(list(result.residuals)), strict=True))
    rows: list[list[str]] = []

    def add(name: str, kind: str, relative: Relative) -> None:
        rows.append([name, kind, percent(relative.all), *(percent(x) for x in relative.per_joint)])

    for name, r in result.residuals.items():
        add(shown[name], RAW, r.raw)
        add(shown[name], FILTERED, r.filtered)
        rows.append([shown[name], "mean per sample", percent(r.per_sample), *("" for _ in joints)])
    if (before := result.before) is not None:
        for kind, relative in ((RAW, before.residual.raw), (FILTERED, before.residual.filtered)):
            add(f"{shown.get(before.data_set, before.data_set)}, model that came in", kind, relative)
    columns = ("data set", "of", "all joints", *(f"joint {j}" for j in joints))
    caption = (
        "Residuals |measured - predicted| / |measured|; raw: every finite sample of the torque as recorded, what the verdict states; "
        "filtered: both low-passed; mean per sample: of the raw ratio, sample by sample"
    )
    return html.table(caption, columns, rows, right=columns[2:])


def lack_of_fit_table(result: Result) -> str:
    """What the residuals were held against, and what was found; empty when nothing was looked for."""
    lack = result.lack_of_fit
    if lack is None:
        return ""
    rows: list[list[object]] = []
    reasons = {test.why for test in lack.tests if not test.tested}
    if len(reasons) == 1 and not any(test.tested for test in lack.tests):
        families = ", ".join(MISFITS[test.family] for test in lack.tests)
        return html.paragraph(f"Lack of fit was not tested ({families}): {reasons.pop()}.")
    for test in lack.tests:
        if not test.tested:
            rows.append([MISFITS[test.family], "", "", "", "", f"not tested: {test.why}"])
            continue
        joint, size = "" if test.joint is None else test.joint, test.size if test.flagged else ""
        outcome = "explained by what was found" if test.p < lack.level else "nothing found"
        outcome = "found" if test.flagged else outcome
        rows.append([MISFITS[test.family], joint, number(test.z, 3), number(test.p, 2), size, outcome])
    columns = ("residual against", "joint", "deviation", "p", "size", "verdict")
    caption = (
        "Lack of fit: the largest deviation of each kind, in standard deviations from fits of the same experiment simulated with the "
        "estimate; its probability without a model error; what would explain it"
    )
    return html.table(caption, columns, rows, right=columns[1:4])


def choices_list(result: Result) -> str:
    """Every decision with its reason."""
    return html.table(
        "What was decided before the fit, and why", ("subject", "decision"), [[c.subject, c.sentence] for c in result.choices]
    )


def standard_table(result: Result) -> list[str]:
    """Standard parameters with labels, intervals and prior values: one table to sort and to search."""
    columns = shown(wide=True)
    ordered = sorted(result.entries, key=lambda entry: LABELS.index(entry.label))  # what is determined first
    rows = [[parameter_cell(column, entry) for column in columns] for entry in ordered]
    key = html.listed(
        html.Raw(f"{html.label(word)} {html.text(LABEL_WORDS[word])}") for word in LABELS if word in result.labels.values()
    )
    caption, hint = "Standard parameters; intervals sort by their width", "name, link or label, as in: Fv determined"
    numeric = [column.heading for column in columns if column.kind.numeric]
    table = html.sortable("values", caption, [column.heading for column in columns], rows, numeric, hint)
    return [key, html.details("All standard parameters", table, opened=True)]


def parameter_cell(column: Column, entry: Entry) -> html.Cell:
    """A cell of the table of standard parameters, with what it sorts by."""
    words = column.text(entry)
    match column.kind:
        case Kind.LABEL:
            return html.Cell(html.label(words), column.sort_key(entry))
        case Kind.UNIT:
            return html.Cell(html.unit(words))
        case _:
            return html.Cell(words, column.sort_key(entry))


def base_table(result: Result) -> str:
    """Base parameters with what they consist of."""
    caption = "Base parameters: the combinations that torque depends on; standard deviations account for correlated residuals"
    return html.table(caption, BASE, base_rows(result), right=BASE[1:4])


def base_rows(result: Result) -> list[list[str]]:
    """The columns of `BASE` for every base parameter."""
    e = result.estimate
    parameters = zip(e.base.names, e.beta, e.std, e.relative_std, e.base.relations, strict=True)
    return [[name, number(v), number(INTERVAL * s, 3), number(part, 3), relation] for name, v, s, part, relation in parameters]


def trust_map(result: Result) -> str:
    """Links as rows, kinds of parameters as columns, each cell coloured and lettered by its trust label."""
    layout = result.parameters.layout
    rows, extra = layout.cells()
    kinds = list(dict.fromkeys([*NAMES, *(kind for row in rows.values() for kind in row)]))
    entries = {entry.parameter.name: entry for entry in result.entries}
    examples = {kind: entries[name] for row in rows.values() for kind, name in row.items()}
    head = "".join(f'<th scope="col">{_symbol(kind, examples.get(kind))}</th>' for kind in kinds)
    body = "".join(
        f'<tr><th scope="row">{layout.robot.number(j)} {html.text(layout.robot.joints[j].link)}</th>'
        + "".join(_cell(entries.get(row.get(kind, ""))) for kind in kinds)
        + "</tr>"
        for j, row in rows.items()
    )
    more = "".join(f" {html.text(name)} {html.label(result.labels[name])}" for name in extra)
    used = [word for word in LABELS if word in result.labels.values()]
    key = "".join(f"{html.label(word, LABEL_LETTERS[word])}{html.text(word)}" for word in used)
    caption = "Trust map: links as rows, kinds of parameters as columns"
    table = f'<table class="map"><caption>{caption}</caption><thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table>'
    region = f'<div class="scroll" tabindex="0" role="region" aria-label="{caption}">{table}</div>'
    return f'{region}<p class="key">{key}</p>' + (f"<p>Other terms:{more}</p>" if more else "")


def _symbol(kind: str, example: Entry | None) -> str:
    """A symbol that says what it stands for when the pointer rests on it."""
    return html.text(kind) if example is None else f'<abbr title="{html.text(example.quantity)}">{html.text(kind)}</abbr>'


def _cell(entry: Entry | None) -> str:
    if entry is None:
        return "<td></td>"
    fill, ink = LABEL_COLOURS[entry.label]
    hint = f"{entry.parameter.name}, {entry.label}: {entry.explanation}"
    return f'<td style="background:{fill};color:{ink}" title="{html.text(hint)}">{LABEL_LETTERS[entry.label]}</td>'


def check_table(result: Result) -> str:
    """What the check of the logs found: what needs a word first, what is fine behind it."""
    if not result.check:
        return html.paragraph("The logs were not checked.")
    findings = result.check.findings
    columns = ("what", "verdict", "finding", "what to do")

    def rows(some: Sequence[Finding]) -> list[list[object]]:
        return [[f.name, html.finding(f.verdict), f.text, f.advice] for f in some]

    fine = [f for f in findings if f.verdict == "fine"]
    open_ = sorted((f for f in findings if f.verdict != "fine"), key=lambda f: -SEVERITY[f.verdict])
    parts = [html.paragraph(f"{len(findings)} findings: {result.check.sentence}.")]
    if open_:
        parts.append(html.table("Findings that need a word", columns, rows(open_)))
    if fine:
        parts.append(html.details(f"{len(fine)} findings are fine", html.table("Fine", columns[:3], [r[:3] for r in rows(fine)])))
    return "\n".join(parts)


def provenance(result: Result, drawn: Sequence[Record]) -> str:
    """Versions, files, the command line, what was done to the logs, times."""
    source = result.description.source
    versions = [f"inertica {__version__}", f"Python {platform.python_version()}", *(f"{p} {version(p)}" for p in PACKAGES)]
    rows: list[list[object]] = [
        ["robot", f"{result.description.name}, {source.path}" + (f", card {source.card}" if source.card else "")],
        *[list[object](row) for row in zip(short_names(list(result.logs)), map(", ".join, result.logs.values()), strict=True)],
        ["method", f"{result.method}; {result.estimate.stop_reason}"],
        ["residual standard deviations", ", ".join(number(float(s), 3) for s in result.estimate.sigma)],
        ["versions", ", ".join(versions)],
        ["time", ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in result.time.items())],
    ]
    if result.command:
        parts = [html.paragraph("The command line that gives this result again:"), html.command(result.command)]
    else:
        parts = [html.paragraph("No command line is on record: the result was made from Python, or by an earlier version.")]
    parts.append(html.table("Where everything came from", ("what", "is"), rows))
    for record in drawn:
        motion = record.motion
        sentences = [*record.motion.log.notes, *motion.done.values()]
        count = f"{len(motion)} samples, {motion.used} used by fits, {motion.t[-1] - motion.t[0]:.4g} s at {motion.rate:.6g} Hz"
        parts.append(
            html.details(f"What was done to {short_names([record.source])[0]}", html.paragraph(count), html.listed(sentences))
        )
    return "\n".join(parts)
