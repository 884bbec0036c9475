"""Which base parameters the data cannot tell apart well: correlations of their estimates, as a picture and a list."""

from __future__ import annotations

import json
from html import escape

import numpy as np

from inertica.arrays import Array
from inertica.numbers import number
from inertica.report import html
from inertica.report.figures import floats
from inertica.workflow.identify.result import Result

LEVELS = 10
"""Shades on either side of zero."""

STRONG = 0.9
MOST_PAIRS = 15
MARGIN = 58.0
SIDE = 560.0


def correlations(result: Result) -> Array:
    """(b, b) of the base parameters' estimates; NaN where the data say nothing of one of them."""
    C = result.estimate.covariance
    if C is None:
        return np.full((result.estimate.base.rank,) * 2, np.nan)
    std = np.where(np.isfinite(result.estimate.std) & (np.diag(C) > 0.0), np.sqrt(np.maximum(np.diag(C), 0.0)), np.nan)
    return np.asarray(np.clip(C / np.outer(std, std), -1.0, 1.0))


def correlation_section(result: Result) -> list[str]:
    """A heat map and the strongest pairs."""
    if result.estimate.covariance is None:
        return [
            html.paragraph(f"The method {result.method} says nothing of the errors of its estimates, so no correlation is known.")
        ]
    R, names = correlations(result), result.estimate.base.names
    rows, columns = np.triu_indices(len(names), 1)
    size = np.abs(R[rows, columns])
    strong = np.flatnonzero(size >= STRONG)
    order = strong[np.argsort(-size[strong])][:MOST_PAIRS]
    about = (
        "Correlation of the estimates of base parameters. Two that are strongly correlated are known better as a sum or a difference "
        f"than each by itself. {len(strong)} of {len(rows)} pairs are beyond {STRONG:g}."
    )
    pairs = [[names[rows[k]], names[columns[k]], number(float(R[rows[k], columns[k]]), 3)] for k in order]
    pairs_table = (
        html.table("The strongest pairs", ("one", "other", "correlation"), pairs, right=("correlation",)) if pairs else ""
    )
    return [html.paragraph(about), html.grid([heat_map(R, names), pairs_table], "grid wide")]


def heat_map(R: Array, names: tuple[str, ...]) -> html.Raw:
    """Cells of one shade make one path, so that the picture stays small; `page.js` reads the numbers under the pointer."""
    n = len(names)
    size = SIDE / max(n, 1)
    level = np.where(np.isfinite(R), np.rint(LEVELS * np.nan_to_num(R)), LEVELS + 1).astype(int)
    cells = []
    for k in np.unique(level[level != 0]):
        i, j = np.nonzero(level == k)
        d = "".join(f"M{b} {a}h1v1h-1z" for a, b in zip(i.tolist(), j.tolist(), strict=True))
        kind = "none" if k > LEVELS else "minus" if k < 0 else "plus"
        cells.append(f'<path class="heat {kind}" fill-opacity="{min(abs(int(k)) / LEVELS, 1.0):g}" d="{d}"/>')
    font = min(11.0, 0.95 * size)
    labels = []
    for k, name in enumerate(names):
        middle = MARGIN + (k + 0.5) * size
        style = f'style="font-size:{font:.1f}px"'
        labels.append(f'<text {style} x="{MARGIN - 3:g}" y="{middle + 0.35 * font:.1f}" text-anchor="end">{escape(name)}</text>')
        turned = f'transform="translate({middle + 0.35 * font:.1f} {MARGIN - 3:g}) rotate(-90)"'
        labels.append(f"<text {style} {turned}>{escape(name)}</text>")
    total = MARGIN + SIDE + 2.0
    place = f"{MARGIN:g} {MARGIN:g} {size:.6g} {total:g}"
    data = f'data-cells="{floats(R)}" data-names="{escape(json.dumps(names))}" data-frame="{place}"'
    inside = f'<g transform="translate({MARGIN:g} {MARGIN:g}) scale({size:.6g})">{"".join(cells)}</g>'
    frame = f'<rect class="frame" x="{MARGIN:g}" y="{MARGIN:g}" width="{SIDE:g}" height="{SIDE:g}"/>'
    words = "correlations of base parameters"
    svg = f'<svg viewBox="0 0 {total:g} {total:g}" role="img" aria-label="{words}" {data}>{inside}{frame}{"".join(labels)}</svg>'
    key = '<span class="ball plus"></span>positive <span class="ball minus"></span>negative, full colour at 1'
    caption = f'<figcaption>{words}; {key}<span class="readout"></span></figcaption>'
    return html.Raw(f'<figure class="heatmap">{svg}{caption}</figure>')
