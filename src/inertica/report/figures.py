"""Small line drawings as SVG: axes with units, lines, points, bars.  They take their colours from the page, light or dark.

The report has dozens of panels; written directly they take milliseconds, and the file needs no pictures.  What `page.js` needs to
draw them again after a zoom stands in `data-` attributes: bounds, places, and of long signals the numbers.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.arrays import Array
from inertica.report.html import Raw

WIDTH = 460.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 8.0, 8.0, 34.0
BETWEEN = 10.0
"""Between panels that share their x axis."""

COLUMNS = 300
"""Points along the x axis that a line keeps; of more samples each stretch shows its extremes."""

DENSE = 2000
"""Stretches of a signal whose extremes are kept for zooming."""

FINE = 10.0
"""Paths are written in integers of a tenth of a pixel."""


@dataclass(frozen=True, eq=False)
class Series:
    """Data to draw.

    Args:
        x, y: (N,) each; lines break where a value is not finite.
        colour: a name of the style sheet: measured, filtered, predicted, residual, law, points, other.
        kind: line, thin, points, marks or bars.
        name: for readings under the pointer; none without it.
        dense: more of the same for zooms, see `dense`.
    """

    x: Array
    y: Array
    colour: str
    kind: str = "line"
    name: str = ""
    dense: str = ""


@dataclass(frozen=True)
class Panel:
    """One pair of axes; panels of a figure share x.

    Args:
        series: drawn in order.
        y_label: quantity and unit.
        height: of the axes in pixels.
        zero: draw a line at y = 0.
        y_range: bounds; those of the data by default.
    """

    series: Sequence[Series]
    y_label: str
    height: float = 150.0
    zero: bool = False
    y_range: tuple[float, float] | None = None


def figure(
    panels: Sequence[Panel], x_label: str, caption: str, x_range: tuple[float, float] | None = None, link: str = ""
) -> Raw:
    """Panels above each other with a common x axis, as a <figure> with a caption.

    Args:
        panels: from top to bottom.
        x_label: quantity and unit.
        caption: below, and for screen readers.
        x_range: bounds; those of the data by default.
        link: figures of the same word are zoomed together.
    """
    x_low, x_high = x_range or _range([s.x for p in panels for s in p.series], 0.0)
    height = TOP + sum(p.height for p in panels) + BETWEEN * (len(panels) - 1) + BOTTOM
    parts, top = [], TOP
    for k, panel in enumerate(panels):
        box = _Box(x_low, x_high, *_y_range(panel), top, panel.height)
        parts.append(_panel(panel, box, x_label if k == len(panels) - 1 else None))
        top += panel.height + BETWEEN
    shown = escape(caption)
    data = f'data-frame="{LEFT:g} {RIGHT:g} {WIDTH:g} {height:g}" data-x="{x_low:.9g} {x_high:.9g}"'
    data += f' data-link="{escape(link)}"' if link else ""
    svg = f'<svg viewBox="0 0 {WIDTH:g} {height:g}" role="img" tabindex="0" aria-label="{shown}" {data}>{"".join(parts)}</svg>'
    button = '<button type="button" class="enlarge" aria-pressed="false" title="larger or smaller">\u2922</button>'
    return Raw(f'<figure class="plot">{svg}<figcaption>{button}<span>{shown}</span></figcaption></figure>')


def key(series: Sequence[tuple[str, str]]) -> Raw:
    """Colours and what they stand for, once for many figures."""
    entries = "".join(
        f'<button type="button" data-series="{colour}" aria-pressed="true" title="show or hide"><svg viewBox="0 0 24 10" '
        f'aria-hidden="true"><path class="line c-{colour}" style="stroke-width:3" d="M0 5H24"/></svg>{escape(name)}</button>'
        for colour, name in series
    )
    return Raw(f'<p class="swatches">{entries}</p>')


def zoom_bar(link: str) -> Raw:
    """Buttons that zoom all figures of a link."""
    ways = {"in": "zoom in", "out": "zoom out", "left": "earlier", "right": "later", "reset": "whole log"}
    buttons = "".join(
        f'<button type="button" data-zoom="{way}" data-of="{escape(link)}">{words}</button>' for way, words in ways.items()
    )
    hint = "or drag over a stretch; double click shows all again"
    return Raw(f'<p class="zoom live-only">{buttons} <span class="soft">{hint}</span></p>')


def bars(values: Sequence[tuple[str, float]], chosen: str | None, caption: str) -> Raw:
    """Horizontal bars with their names, for candidates that are no numbers; the chosen one in the other colour."""
    step, names = 22.0, 250.0
    finite = [v for _, v in values if math.isfinite(v)]
    top = max(finite, default=1.0) or 1.0
    parts = []
    for i, (name, value) in enumerate(values):
        y = 4.0 + i * step
        width = (WIDTH - names - 62.0) * (value / top if math.isfinite(value) else 0.0)
        colour = "other" if name == chosen else "points"
        words = f"{100 * value:.1f} %" if math.isfinite(value) else "–"
        parts.append(f'<text x="{names - 6:g}" y="{y + 12:g}" text-anchor="end" class="title">{escape(name)}</text>')
        parts.append(f'<rect class="bar c-{colour}" x="{names:g}" y="{y:g}" width="{width:.1f}" height="15"/>')
        parts.append(f'<text x="{names + width + 5:.1f}" y="{y + 12:g}">{words}</text>')
    height = 8.0 + step * len(values)
    svg = f'<svg viewBox="0 0 {WIDTH:g} {height:g}" role="img" aria-label="{escape(caption)}">{"".join(parts)}</svg>'
    return Raw(f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>")


def envelope(x: ArrayLike, y: ArrayLike, columns: int = COLUMNS) -> tuple[Array, Array]:
    """At most two points per column: the smallest and the largest value of every stretch, in their order."""
    a, b = np.asarray(x, float), np.asarray(y, float)
    if len(a) <= 2 * columns:
        return a, b
    size = len(a) // columns
    used = size * columns
    blocks = b[:used].reshape(columns, size)
    good = np.isfinite(blocks)
    low, high = np.where(good, blocks, np.inf).argmin(axis=1), np.where(good, blocks, -np.inf).argmax(axis=1)
    rows = np.arange(columns) * size
    take = np.sort(np.column_stack([rows + low, rows + high]), axis=1).ravel()
    take = np.append(take, len(a) - 1)
    return a[take], b[take]


def dense(start: float, step: float, y: ArrayLike, columns: int = DENSE) -> str:
    """Evenly spaced samples as text for zooms: time of the first, spacing, 32-bit numbers; of long signals the extremes of stretches.

    Each stretch gives its smallest and its largest value in their order, half a stretch apart.
    """
    values = np.asarray(y, float)
    if len(values) > 2 * columns:
        size = -(-len(values) // columns)
        blocks = np.full((columns, size), np.nan)
        blocks.ravel()[: len(values)] = values
        blocks = blocks[: -(-len(values) // size)]
        good = np.isfinite(blocks)
        low, high = np.where(good, blocks, np.inf).argmin(axis=1), np.where(good, blocks, -np.inf).argmax(axis=1)
        values = np.take_along_axis(blocks, np.sort(np.column_stack([low, high]), axis=1), axis=1).ravel()
        start, step = start + 0.25 * step * size, 0.5 * step * size
    return f"{start:.9g} {step:.9g} {floats(values)}"


def floats(values: ArrayLike) -> str:
    """Numbers as text: base64 of 32-bit floats, low byte first."""
    return base64.b64encode(np.asarray(values, "<f4").tobytes()).decode("ascii")


def thinned(count: int, most: int) -> NDArray[np.intp]:
    """Indices of at most `most` of `count` samples, evenly spread."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.intp)) if count else np.zeros(0, np.intp)


def nice_ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers between two bounds, at most `most` of them."""
    span = high - low
    if not (math.isfinite(span) and span > 0.0):
        return [low]
    power = 10.0 ** math.floor(math.log10(span / most))
    ticks: list[float] = []
    for step in (f * power for f in (1.0, 2.0, 5.0, 10.0, 20.0)):
        ticks = [k * step for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
        if len(ticks) <= most:
            break
    return ticks


@dataclass(frozen=True)
class _Box:
    """Data bounds and where they lie on the drawing."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float
    top: float
    height: float

    def x(self, values: ArrayLike) -> Array:
        return LEFT + (np.asarray(values, float) - self.x_low) / (self.x_high - self.x_low) * (WIDTH - LEFT - RIGHT)

    def y(self, values: ArrayLike) -> Array:
        share = (np.asarray(values, float) - self.y_low) / (self.y_high - self.y_low)
        return self.top + self.height * (1.0 - np.clip(share, -0.02, 1.02))


def _range(arrays: Sequence[Array], margin: float) -> tuple[float, float]:
    finite = [a[np.isfinite(a)] for a in arrays]
    finite = [a for a in finite if len(a)]
    low = min((float(a.min()) for a in finite), default=0.0)
    high = max((float(a.max()) for a in finite), default=1.0)
    if high - low < 1e-12 * max(abs(low), abs(high), 1e-300):
        low, high = low - 0.5, high + 0.5
    pad = margin * (high - low)
    return low - pad, high + pad


def _y_range(panel: Panel) -> tuple[float, float]:
    if panel.y_range is not None:
        return panel.y_range
    low, high = _range([s.y for s in panel.series], 0.05)
    return (min(low, 0.0), high) if any(s.kind == "bars" for s in panel.series) else (low, high)


def _panel(panel: Panel, box: _Box, x_label: str | None) -> str:
    right, bottom = WIDTH - RIGHT, box.top + box.height
    ticks = [f'<path class="axis" d="M{LEFT:g} {box.top:g}V{bottom:g}H{right:g}"/>']
    for value in nice_ticks(box.y_low, box.y_high, max(3, int(box.height // 25))):
        y = float(box.y(value))
        ticks.append(f'<path class="axis" d="M{LEFT - 4:g} {y:.1f}H{LEFT:g}"/>')
        ticks.append(f'<text x="{LEFT - 7:g}" y="{y + 4:.1f}" text-anchor="end">{value:.6g}</text>')
    if panel.zero and box.y_low < 0.0 < box.y_high:
        ticks.append(f'<path class="zero" d="M{LEFT:g} {float(box.y(0.0)):.1f}H{right:g}"/>')
    middle = box.top + box.height / 2
    turned = f'transform="translate(11 {middle:.1f}) rotate(-90)" text-anchor="middle"'
    names = [f'<text class="name" {turned}>{escape(panel.y_label)}</text>']
    if x_label is not None:
        ticks += _x_ticks(box, bottom)
        place = f'x="{(LEFT + WIDTH - RIGHT) / 2:g}" y="{bottom + 29:g}" text-anchor="middle"'
        names.append(f'<text class="name" data-along="x" {place}>{escape(x_label)}</text>')
    drawn = [_bars(s, box) if s.kind == "bars" else _path(s, box) for s in panel.series]
    data = f'data-box="{box.top:g} {box.height:g} {box.y_low:.9g} {box.y_high:.9g}"'
    data += ' data-zero=""' if panel.zero else ""
    data += ' data-fixed=""' if panel.y_range is not None else ""
    return f'<g class="panel" {data}><g class="ticks">{"".join(ticks)}</g>{"".join(names)}{"".join(drawn)}</g>'


def _x_ticks(box: _Box, bottom: float) -> list[str]:
    out = []
    for value in nice_ticks(box.x_low, box.x_high, 7):
        x = float(box.x(value))
        out.append(f'<path class="axis" d="M{x:.1f} {bottom:g}v4"/>')
        anchor = "end" if x > WIDTH - RIGHT - 1.0 else "middle"  # a number on the edge would be cut off
        out.append(f'<text x="{x:.1f}" y="{bottom + 15:g}" text-anchor="{anchor}">{value:.6g}</text>')
    return out


def _path(series: Series, box: _Box) -> str:
    good = np.isfinite(series.x) & np.isfinite(series.y)
    if not good.any():
        return ""
    x, y = (np.rint(FINE * v).astype(np.int64) for v in (box.x(series.x[good]), box.y(series.y[good])))
    if series.kind in ("points", "marks"):
        d = "".join(f"M{a} {b}h0" for a, b in zip(x.tolist(), y.tolist(), strict=True))
    else:
        runs = np.split(np.arange(len(x)), np.flatnonzero(np.diff(np.flatnonzero(good)) > 1) + 1)
        d = "".join(_run(x[r], y[r]) for r in runs)
    data = f' data-name="{escape(series.name)}"' if series.name else ""
    data += f' data-f32="{series.dense}"' if series.dense else ""
    return f'<path class="{series.kind} c-{series.colour}" transform="scale({1 / FINE:g})"{data} d="{d}"/>'


def _run(x: NDArray[np.int64], y: NDArray[np.int64]) -> str:
    steps = np.column_stack([np.diff(x), np.diff(y)]).ravel()
    return f"M{x[0]} {y[0]}" + ("l" + " ".join(map(str, steps.tolist())) if len(steps) else "h0")


def _bars(series: Series, box: _Box) -> str:
    """Bars of equal width centred on x."""
    width = 0.9 * float(np.median(np.diff(series.x))) if len(series.x) > 1 else 0.5
    scale = (WIDTH - LEFT - RIGHT) / (box.x_high - box.x_low)
    base = float(box.y(0.0))
    out = []
    for x, y in zip(box.x(series.x), box.y(series.y), strict=True):
        if math.isfinite(y):
            low, high = min(y, base), max(y, base)
            place = f'x="{x - width * scale / 2:.1f}" y="{low:.1f}" width="{width * scale:.1f}" height="{high - low:.1f}"'
            out.append(f'<rect class="bar c-{series.colour}" {place}/>')

    return "".join(out)
