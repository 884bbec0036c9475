"""Tables of a campaign in the survey's layout: means with standard deviations, ranks; as CSV, LaTeX or HTML."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

from inertica.campaign.summary import FIGURES, PLACE, Line, conditions
from inertica.escape import csv_text, tex

HEADS = {"d_q": "d_q %", "d_tau": "d_tau %", "d_par": "d_par %", "seconds": "d_t s", "iterations": "N_it", "simulations": "N_sim"}
SCALE = {"d_q": 100.0, "d_tau": 100.0, "d_par": 100.0}
COLUMNS = ("method", *HEADS.values(), "runs", "conv. %", "cov. %", "real", "rank")
"""Last ones: rows that counted, converged, true values inside 95 % intervals, whether links could exist, rank by d_par."""


def cells(line: Line) -> list[str]:
    """The line for people: mean (standard deviation)."""
    shown = []
    for name in HEADS:
        factor = SCALE.get(name, 1.0)
        mean, sd = factor * line.mean[name], factor * line.sd[name]
        shown.append(f"{_short(mean)}±{_spread(sd)}" if math.isfinite(sd) and name in SCALE else _short(mean))
    possible = "" if math.isnan(line.margin) else "yes" if line.margin >= 0.0 else "no"
    covered = "" if math.isnan(line.coverage) else f"{100 * line.coverage:.0f}"
    counted = f"{line.rows[0]}/{line.rows[1]}"
    return [line.place.label, *shown, counted, f"{100 * line.convergence:.0f}", covered, possible, str(line.rank)]


def _short(value: float) -> str:
    if math.isnan(value):
        return "-"
    return "unstable" if math.isinf(value) else f"{value:.3g}"


def _spread(sd: float) -> str:
    """One digit below ten, whole numbers above."""
    return f"{sd:.1g}" if sd < 9.5 or sd >= 1e4 else f"{sd:.0f}"


def as_csv(all_lines: Sequence[Line]) -> str:
    """Plain numbers, SI, one line per place."""
    figures = [f"{name}_{kind}" for name in FIGURES for kind in ("mean", "sd")]
    rows: list[Sequence[object]] = [[*PLACE, *figures, "counted", "rows", "convergence", "coverage", "margin", "rank", "failure"]]
    for line in all_lines:
        place = [getattr(line.place, name) for name in PLACE]
        values = [repr(float(part[name])) for name in FIGURES for part in (line.mean, line.sd)]
        rows.append([*place, *values, *line.rows, line.convergence, line.coverage, line.margin, line.rank, line.failure])
    return csv_text(rows)


def as_latex(all_lines: Sequence[Line]) -> str:
    """One table per set of conditions."""
    parts = []
    for title, members in conditions(all_lines):
        rows = [" & ".join(tex(x) for x in cells(line)) + r" \\" for line in members]
        head = " & ".join(tex(x) for x in COLUMNS) + r" \\"
        body = "\n".join([r"\hline", head, r"\hline", *rows, r"\hline"])
        parts.append(
            f"\\begin{{table}}\n\\caption{{{tex(title)}}}\n\\begin{{tabular}}{{l{'r' * (len(COLUMNS) - 1)}}}\n{body}\n"
            "\\end{tabular}\n\\end{table}\n"
        )
    return "\n".join(parts)


def as_html(all_lines: Sequence[Line]) -> str:
    """One table per set of conditions, sortable where the page has the script for it."""
    parts = []
    for title, members in conditions(all_lines):
        head = "".join(f"<th>{escape(x)}</th>" for x in COLUMNS)
        rows = "".join(f"<tr>{''.join(f'<td>{escape(x)}</td>' for x in cells(line))}</tr>" for line in members)
        notes = "".join(f"<p>{escape(sentence)}</p>" for sentence in failures(members))
        table = f"<table class=sortable><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        parts.append(f"<h2>{escape(title)}</h2>{table}{notes}")
    return "\n".join(parts)


def failures(all_lines: Sequence[Line]) -> list[str]:
    """A sentence for every method that did not give an estimate for all rows."""
    return [
        f"{line.place.label}: {line.rows[1] - line.rows[0]} of {line.rows[1]} without an estimate; {line.failure}"
        for line in all_lines
        if line.failure
    ]


FORMATS: dict[str, Callable[[Sequence[Line]], str]] = {"csv": as_csv, "latex": as_latex, "html": as_html}
"""By the names users type; text for the terminal is made by the command."""
