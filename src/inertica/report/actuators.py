"""The report of `inertica actuators`: measured against simulated positions before and after, what cannot be told, all values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from inertica import __version__
from inertica.estimators.actuators.values import QUANTITIES
from inertica.numbers import NONE, number, span
from inertica.report import html
from inertica.report.figures import Panel, Series, dense, envelope, figure, key, zoom_bar
from inertica.report.report import page_head
from inertica.workflow.actuators.result import UNSEEN, ActuatorsResult, FreeRun, Quantity, Trace
from inertica.workflow.actuators.words import sentences
from inertica.writing import write_whole

REPORT = "report.html"

CONTENTS = {"summary": "Summary", "motion": "Measured against simulated", "values": "Values"}


def write_actuators_report(result: ActuatorsResult, folder: str | Path) -> Path:
    """Writes `report.html`; positions are drawn where the result was just found, since files keep no motion."""
    path = Path(folder) / REPORT
    title = f"{result.robot}: actuators"
    parts = [
        html.section("summary", CONTENTS["summary"], *_summary(result)),
        html.section("motion", CONTENTS["motion"], *_motion(result)),
        html.section("values", CONTENTS["values"], *_values(result)),
    ]
    write_whole(path, html.page(title, page_head(title, CONTENTS), parts, f"inertica {__version__}"))
    return path


def _summary(result: ActuatorsResult) -> Sequence[str]:
    open_questions = sentences(result.confounded, [joint.name for joint in result.joints])
    unknown = ["<h3>What these logs cannot tell</h3>", html.listed(open_questions)] if open_questions else []
    warned = ["<h3>Warnings</h3>", html.listed(result.warnings, "warnings")] if result.warnings else []
    tables = [_errors(result, name, run) for name, run in result.free_run.items()]
    return [*unknown, html.listed([*result.scale, *result.notes]), *warned, *tables]


def _errors(result: ActuatorsResult, name: str, run: FreeRun) -> str:
    rows = [
        [
            joint.name,
            number(1e3 * before),
            number(1e3 * after),
            NONE if joint.delay.label == UNSEEN else number(1e3 * joint.delay.value),
        ]
        for joint, before, after in zip(result.joints, run.before, run.rms, strict=True)
    ]
    where = "which was fitted" if run.fitted else "which was not fitted"
    caption = f"Free run on {Path(name).name}, {where}: RMS error of positions in mrad (mm), command delay in ms"
    columns = ("joint", "before", "after", "delay")
    return html.table(caption, columns, rows, right=columns[1:])


def _motion(result: ActuatorsResult) -> Sequence[str]:
    about = (
        "The simulation sees the commands and the first state, nothing else. Before: the model that came in, without delay and zero, "
        "gains fitted where they are not stated."
    )
    out: list[str] = [html.paragraph(about)]
    names = [("measured", "measured"), ("other", "before"), ("predicted", "after"), ("residual", "measured minus after")]
    for i, (name, run) in enumerate(result.free_run.items()):
        for k, trace in enumerate(run.traces):
            link = f"run{i}-{k}"
            figures = [
                _joint(trace, j, joint.name, link)
                for j, joint in enumerate(result.joints)
                if np.isfinite(trace.after[:, j]).any()
            ]
            out += [f"<h3>{html.text(Path(name).name)}</h3>", key(names), zoom_bar(link), html.grid(figures)]
    if len(out) == 1:
        out.append(html.paragraph("This result was read from a file, which keeps no motion; `inertica actuators -o` draws it."))
    return out


def _joint(trace: Trace, j: int, name: str, link: str) -> str:
    start, step = float(trace.t[0]), float(np.median(np.diff(trace.t)))

    def series(colour: str, words: str, y: np.ndarray) -> Series:
        return Series(*envelope(trace.t, y), colour, "line", words, dense(start, step, y))

    measured, after = trace.measured[:, j], trace.after[:, j]
    upper = [
        series("measured", "measured", measured),
        series("other", "before", trace.before[:, j]),
        series("predicted", "after", after),
    ]
    lower = Panel([series("residual", "error", measured - after)], "error", 55.0, zero=True)
    return figure(
        [Panel(upper, "position (rad, m)"), lower], "time (s)", f"joint {j + 1}, {name}", (start, float(trace.t[-1])), link
    )


def quantity_cells(quantity: Quantity) -> list[str]:
    """Value, standard deviation, interval and label as text."""
    interval = NONE if quantity.interval is None else span(*quantity.interval)
    return [number(quantity.value), NONE if quantity.std is None else number(quantity.std, 2), interval, quantity.label]


def _values(result: ActuatorsResult) -> Sequence[str]:
    out = []
    for name, kind in QUANTITIES.items():
        quantities = [(joint.name, getattr(joint, name)) for joint in result.joints]
        if kind.optional is not None and all(q.label == UNSEEN for _, q in quantities):
            continue
        rows = [[joint, *quantity_cells(q)] for joint, q in quantities]
        columns = ("joint", "value", "+-", "95 % interval", "label")
        out.append(html.table(f"{kind.words[0].upper()}{kind.words[1:]} in {kind.unit}", columns, rows, right=("value", "+-")))
    return out
