"""How objects show themselves in a notebook: small tables and lines as HTML, without a style of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np
from numpy.typing import ArrayLike, NDArray

POINTS, WIDTH, HEIGHT = 120, 180, 28
"""Of a line: columns of samples, and its size in pixels."""


def titled(title: str, *parts: str) -> str:
    """A heading with what belongs to it."""
    return f"<div><strong>{escape(title)}</strong>{''.join(parts)}</div>"


def paragraph(text: str) -> str:
    return f"<p style='margin:0.3em 0'>{escape(text)}</p>"


def html_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; cells that are `Markup` are taken as they are."""
    head = "".join(f"<th style='text-align:left'>{escape(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{_cell(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class Markup(str):
    """Text that is HTML already."""


def line(values: ArrayLike) -> Markup:
    """A signal in small: the band between the least and the largest value of each column of samples."""
    x: NDArray[np.float64] = np.asarray(values, float)
    x = x[np.isfinite(x)]
    if not len(x):
        return Markup("")
    parts = [part for part in np.array_split(x, min(POINTS, len(x))) if len(part)]
    low, high = np.array([p.min() for p in parts]), np.array([p.max() for p in parts])
    bottom, span = low.min(), max(float(high.max() - low.min()), 1e-300)
    at = np.linspace(0.0, WIDTH, len(parts))

    def y(v: NDArray[np.float64]) -> NDArray[np.float64]:
        return HEIGHT - 1.0 - (HEIGHT - 2.0) * (v - bottom) / span

    edge = [*zip(at, y(high), strict=True), *zip(at[::-1], y(low)[::-1], strict=True)]
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in edge)
    return Markup(
        f"<svg width='{WIDTH}' height='{HEIGHT}'><polygon points='{points}' fill='currentColor' stroke='currentColor' "
        "stroke-width='0.8'/></svg>"
    )


def _cell(value: object) -> str:
    return value if isinstance(value, Markup) else escape(f"{value:.4g}" if isinstance(value, float) else str(value))
