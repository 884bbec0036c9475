"""The report of several results of one robot: side by side, with their differences tested."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from inertica import __version__
from inertica.errors import InputError
from inertica.numbers import NONE, number, percent, span
from inertica.report import html
from inertica.report.compared import LEVEL, Pair, compare_parameters, compare_predictions, probability
from inertica.report.data import Record, records
from inertica.report.drawn import effort
from inertica.report.figures import Panel, Series, dense, envelope, figure, key, zoom_bar
from inertica.report.names import short_names
from inertica.report.report import NO_LOGS, page_head, verdict_box
from inertica.workflow.identify.before import headline_set
from inertica.workflow.identify.inputs import IDENTIFICATION
from inertica.workflow.identify.result import Motions, Result
from inertica.writing import write_whole

CONTENTS = {
    "summary": "Summary", "predictions": "Predictions", "differences": "Differences", "parameters": "Parameters", "torque": "Torque",
}  # fmt: skip

COLOURS = ("predicted", "residual", "other", "fourth")
"""Of the results, in their order; more are listed but not drawn."""


def write_together(names: Sequence[str], results: Sequence[Result], motions: Sequence[Motions], target: str | Path) -> Path:
    """Write the report of several results as one HTML file; see `together`.

    Examples:
        >>> results = [ia.Result.load(name) for name in ("monday", "friday")]
        >>> motions = [ia.motions_again(result)[0] for result in results]
        >>> ia.write_together(["Monday", "Friday"], results, motions, "both.html").name
        'both.html'
    """
    content = together(names, results, motions)
    write_whole(target, content)
    return Path(target)


def together(names: Sequence[str], results: Sequence[Result], motions: Sequence[Motions]) -> str:
    """The report as text.

    Args:
        names: what to call the results; the first is what the others are held against.
        results: of one robot.
        motions: of each, see `write_report`; empty where logs are gone.

    Raises:
        InputError: the results are of robots with other joints.
    """
    joints = [r.description.robot.joint_names for r in results]
    for name, joint_names in zip(names, joints, strict=True):
        if joint_names != joints[0]:
            raise InputError(f"{name} is of a robot with other joints than {names[0]}; a report compares results of one robot")
    drawn = [records(r, m) for r, m in zip(results, motions, strict=True)]
    title = f"{results[0].description.name}: {len(results)} results side by side"
    parts = [
        html.section("summary", CONTENTS["summary"], _overview(names, results), *_verdicts(names, results)),
        html.section("predictions", CONTENTS["predictions"], *_predictions(names, drawn)),
        html.section("differences", CONTENTS["differences"], *_differences(names, results)),
        html.section("parameters", CONTENTS["parameters"], _values(names, results)),
        html.section("torque", CONTENTS["torque"], *_torque(names, results, drawn)),
    ]
    return html.page(title, page_head(title, CONTENTS), parts, f"inertica {__version__}")


def _overview(names: Sequence[str], results: Sequence[Result]) -> str:
    rows = [
        [
            name, r.method, r.estimate.base.rank, list(r.labels.values()).count("determined"),
            "yes" if r.physically_consistent else "no", f"{r.masses.total:.3g}",
            *(percent(r.residuals[data].raw.all) for data in (IDENTIFICATION, headline_set(r.residuals))),
        ]
        for name, r in zip(names, results, strict=True)
    ]  # fmt: skip
    columns = (
        "result",
        "method",
        "base parameters",
        "determined",
        "links possible",
        "mass (kg)",
        "fitted data",
        "judged on",
    )
    caption = "Results; the last two columns are residuals of torque as recorded, each result on its own data"
    return html.table(caption, columns, rows, right=columns[2:4] + columns[5:])


def _verdicts(names: Sequence[str], results: Sequence[Result]) -> list[str]:
    return [f"<h3>{html.text(name)}</h3>{verdict_box(r)}" for name, r in zip(names, results, strict=True)]


def common_logs(drawn: Sequence[Sequence[Record]]) -> list[tuple[Record, ...]]:
    """Logs that every result predicts, each with every result's record of it."""
    by = [{record.source: record for record in records} for records in drawn]
    return [tuple(b[source] for b in by) for source in by[0] if all(source in b for b in by[1:])]


def _predictions(names: Sequence[str], drawn: Sequence[Sequence[Record]]) -> list[str]:
    common = common_logs(drawn)
    if not common:
        return [
            html.paragraph("No log is predicted by all of these results, so their predictions cannot be held against each other.")
        ]
    rows = []
    for log in common:
        short = short_names([log[0].source])[0]
        for name, other in zip(names[1:], log[1:], strict=True):
            if len(other.smooth) != len(log[0].smooth):
                rows.append([short, names[0], name, NONE, NONE, NONE, NONE, "prepared at other rates, not compared"])
                continue
            c = compare_predictions(log[0], other)
            used = [percent(c.first), percent(c.second), number(c.ratio, 3), _p(c.p)]
            rows.append([short, names[0], name, *used, c.sentence])
    columns = ("log", "first", "second", "error of first", "of second", "ratio", "p", "verdict")
    about = (
        "Errors of low-passed torque, every joint weighed by its own torque, compared in twelve stretches of the log; p: that a ratio "
        "this far from one comes by chance."
    )
    return [html.paragraph(about), html.table("Predictions of the same logs", columns, rows, right=columns[3:7])]


def _differences(names: Sequence[str], results: Sequence[Result]) -> list[str]:
    parts: list[str] = []
    for k, (name, other) in enumerate(zip(names[1:], results[1:], strict=True)):
        pair = compare_parameters(results[0], other)
        parts += [f"<h3>{html.text(names[0])} and {html.text(name)}</h3>", html.paragraph(pair.sentence)]
        if pair.differences:
            parts.append(_pair_table(f"pair{k + 1}", names[0], name, pair))
    return parts


def _pair_table(identity: str, first: str, second: str, pair: Pair) -> str:
    rows = []
    for d in pair.differences:
        change = d.second - d.first
        rows.append([
            html.Cell(d.name), html.Cell(number(d.first), d.first), html.Cell(number(d.second), d.second),
            html.Cell(number(change, 3), change), html.Cell(number(d.std, 2), d.std), html.Cell(_p(d.p), d.p),
            html.Cell(_p(d.adjusted), d.adjusted), html.Cell("differs" if d.differs else "", float(d.differs)),
        ])  # fmt: skip
    columns = ("base parameter", "first", "second", "difference", "its std", "p", "p of all", "verdict")
    caption = f"First: {first}; second: {second}. Differs: p after Holm's rule for many below {LEVEL:g}"
    return html.sortable(identity, caption, columns, rows, columns[1:7], "name, or: differs")


def _p(value: float) -> str:
    return probability(value).removeprefix("p = ").removeprefix("p ") if value == value else NONE


def _values(names: Sequence[str], results: Sequence[Result]) -> str:
    """Standard parameters of all results."""
    parameter_names = list(dict.fromkeys(name for r in results for name in r.parameters.layout.names))
    rows = []
    for name in parameter_names:
        cells = [html.Cell(name)]
        for r in results:
            if name not in r.parameters.layout.names:
                cells += [html.Cell(NONE, float("nan")), html.Cell(NONE), html.Cell("")]
                continue
            k = r.parameters.layout.index(name)
            value = float(r.parameters.values[k])
            cells += [html.Cell(number(value), value), html.Cell(span(*r.intervals[k])), html.Cell(html.label(r.labels[name]))]
        rows.append(cells)
    heads = [f"{what}{f' {k}' if what else ''}" for k in range(1, len(results) + 1) for what in ("value", "interval", "trust")]
    caption = "Standard parameters; " + ", ".join(f"{k}: {name}" for k, name in enumerate(names, 1))
    right = [head for head in heads if not head.startswith("trust")]
    return html.sortable("values", caption, ("name", *heads), rows, right, "name or label")


def _torque(names: Sequence[str], results: Sequence[Result], drawn: Sequence[Sequence[Record]]) -> list[str]:
    common = common_logs(drawn)
    if not common:
        return [html.paragraph(NO_LOGS if not any(drawn) else "No log is common to all results.")]
    colours = list(zip(COLOURS, names, strict=False))
    parts: list[str] = []
    for k, log in enumerate(common):
        link, motion = f"log{k + 1}", log[0].motion
        whole = (float(motion.t[0]), float(motion.t[-1]))
        figures = []
        for j, joint in enumerate(results[0].description.robot.joints):
            upper, lower = [_curve(log[0], log[0].smooth[:, j], "filtered", "measured")], []
            for (colour, name), record in zip(colours, log, strict=False):
                upper.append(_curve(record, record.smooth_predicted[:, j], colour, name))
                lower.append(_curve(record, record.smooth[:, j] - record.smooth_predicted[:, j], colour, name))
            panels = [Panel(upper, effort(joint)), Panel(lower, "residual", 55.0, zero=True)]
            figures.append(figure(panels, "time (s)", f"joint {j + 1}, {joint.name}", whole, link))
        parts.append(f"<h3>{html.text(short_names([log[0].source])[0])}</h3>")
        parts += [key([("filtered", "measured, filtered"), *colours]), zoom_bar(link), html.grid(figures)]
    return parts


def _curve(record: Record, y: object, colour: str, name: str) -> Series:
    t = record.motion.t
    return Series(*envelope(t, y), colour, "line", name, dense(float(t[0]), record.motion.dt, y))  # type: ignore[arg-type]
