"""HTML text: escaped, with tables that screen readers can follow; nothing from the network, and readable without its one script."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files

from inertica.report.style import LABEL_COLOURS, THEMES

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="{generator}">
<title>{title}</title>
<style>{css}</style>
</head>
<body>
{head}
<main>
{body}
</main>
<script>//<![CDATA[
{script}
//]]></script>
</body>
</html>
"""


class Raw(str):
    """Text that is HTML already."""


def text(value: object) -> str:
    """A value as HTML: escaped unless it is HTML already."""
    return str(value) if isinstance(value, Raw) else escape(str(value))


def page(title: str, head: str, parts: Iterable[str], generator: str) -> str:
    """A whole document: title and contents, then its sections."""
    return PAGE.format(
        head=head,
        title=escape(title),
        generator=escape(generator),
        css=THEMES + part("page.css"),
        body="\n".join(parts),
        script=part("page.js"),
    )


@cache
def part(name: str) -> str:
    """A file that is part of every page."""
    return files("inertica.report").joinpath(name).read_text(encoding="utf-8")


def prose(words: str) -> Raw:
    """A sentence as HTML, with what stands between `s set as code."""
    return Raw(re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(words)))


def paragraph(words: object, kind: str = "") -> Raw:
    return Raw(f'<p class="{kind}">{text(words)}</p>' if kind else f"<p>{text(words)}</p>")


def section(identity: str, title: str, *parts: str) -> Raw:
    inside = "\n".join(parts)
    return Raw(f'<section id="{identity}">\n<h2>{escape(title)}</h2>\n{inside}\n</section>')


def listed(items: Iterable[object], kind: str = "") -> Raw:
    entries = "".join(f"<li>{text(item)}</li>" for item in items)
    return Raw(f'<ul class="{kind}">{entries}</ul>' if kind else f"<ul>{entries}</ul>")


def grid(figures: Iterable[str], kind: str = "grid") -> Raw:
    """Things side by side, as many as the screen is wide."""
    return Raw(f'<div class="{kind}">{"".join(figures)}</div>')


def details(summary: str, *parts: str, opened: bool = False) -> Raw:
    inside = "\n".join(parts)
    state = ' open=""' if opened else ""
    return Raw(f"<details{state}><summary>{escape(summary)}</summary>\n{inside}\n</details>")


def facts(pairs: Iterable[tuple[str, object]]) -> Raw:
    """Numbers that matter, each with its name."""
    entries = "".join(f"<div><dt>{escape(name)}</dt><dd>{text(value)}</dd></div>" for name, value in pairs)
    return Raw(f'<dl class="facts">{entries}</dl>')


def table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[object]], right: Sequence[str] = ()) -> Raw:
    """A table whose first column names its rows; columns named in `right` hold numbers."""
    kinds = [' class="n"' if name in right else "" for name in columns]
    head = "".join(f'<th scope="col"{kind}>{escape(name)}</th>' for name, kind in zip(columns, kinds, strict=True))
    body = "".join(_row(row, kinds) for row in rows)
    inside = (
        f"<table><caption><span>{escape(caption)}</span></caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
    return Raw(f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}">{inside}</div>')


@dataclass(frozen=True)
class Cell:
    """A cell of a sortable table.

    Args:
        shown: what is written.
        value: what the column sorts by; the text when there is none.
    """

    shown: object
    value: float | None = None


def sortable(
    identity: str, caption: str, columns: Sequence[str], rows: Iterable[Sequence[Cell]], right: Sequence[str], hint: str
) -> Raw:
    """A table that sorts by the column whose head is pressed, and shows the rows that hold the words of a search field."""
    kinds = [' class="n"' if name in right else "" for name in columns]
    heads = "".join(
        f'<th scope="col"{kind}><button type="button">{escape(name)}</button></th>'
        for name, kind in zip(columns, kinds, strict=True)
    )
    body = "".join(_sortable_row(row, kinds) for row in rows)
    words = f'<input type="search" data-table="{identity}" placeholder="{escape(hint)}" aria-label="search in the table"/>'
    field = f'<p class="live-only"><label>search {words}</label> <output id="{identity}-count"></output></p>'
    head = f"<caption><span>{escape(caption)}</span></caption><thead><tr>{heads}</tr></thead>"
    table = f'<table id="{identity}" class="sortable">{head}<tbody>{body}</tbody></table>'
    return Raw(f'{field}<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}">{table}</div>')


def _sortable_row(row: Sequence[Cell], kinds: Sequence[str]) -> str:
    first = f'<th scope="row">{text(row[0].shown)}</th>'
    return f"<tr>{first}{''.join(_sortable_cell(c, k) for c, k in zip(row[1:], kinds[1:], strict=True))}</tr>"


def _sortable_cell(cell: Cell, kind: str) -> str:
    if cell.value is None:
        return f"<td{kind}>{text(cell.shown)}</td>"
    stated = repr(float(cell.value)) if math.isfinite(cell.value) else ""
    return f'<td{kind} data-v="{stated}">{text(cell.shown)}</td>'


def finding(verdict: str) -> Raw:
    """The verdict of a check, in its colour."""
    return Raw(f'<span class="finding {escape(verdict.replace(" ", "-"))}">{escape(verdict)}</span>')


def command(words: str) -> Raw:
    """A command line to copy."""
    shown = escape(words)
    return Raw(
        f'<pre class="command"><code>{shown}</code><button type="button" class="live-only" data-copy="{shown}">copy</button></pre>'
    )


def _row(row: Sequence[object], kinds: Sequence[str]) -> str:
    first = f'<th scope="row">{text(row[0])}</th>'
    rest = "".join(f"<td{kind}>{text(value)}</td>" for value, kind in zip(row[1:], kinds[1:], strict=True))
    return f"<tr>{first}{rest}</tr>"


def label(word: str, shown: str | None = None) -> Raw:
    """A trust label in its colour."""
    fill, ink = LABEL_COLOURS[word]
    border = "#999999" if fill == "#ffffff" else fill
    return Raw(
        f'<span class="label" style="background:{fill};color:{ink};border-color:{border}">'
        f"{escape(word if shown is None else shown)}</span>"
    )


def unit(words: str) -> Raw:
    """A unit with raised exponents."""
    raised = re.sub(r"\^(\d+)", r"<sup>\1</sup>", escape(words))
    return Raw(f'<span class="unit">{raised}</span>')
