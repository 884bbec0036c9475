"""A small sign with the grade of a model file, as SVG for a README."""

from __future__ import annotations

from html import escape

LABEL, HEIGHT, LETTER_WIDTH = "inertica", 20, 24

COLOURS = {"A": "#1a7f37", "B": "#4d7c0f", "C": "#8a5a00", "D": "#a33b00", "F": "#b00020"}
"""White text on each of them has a contrast of 4.5 or more."""


def badge(letter: str, model: str) -> str:
    """The SVG text: `inertica` on grey, the letter on its colour, and a title for those who cannot see it."""
    left = 7 * len(LABEL) + 10
    width, title = left + LETTER_WIDTH, escape(f"inertica grade of {model}: {letter}")
    text = 'fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{HEIGHT}" role="img" aria-label="{title}">'
        f"<title>{title}</title>"
        f'<rect width="{left}" height="{HEIGHT}" fill="#444"/>'
        f'<rect x="{left}" width="{LETTER_WIDTH}" height="{HEIGHT}" fill="{COLOURS[letter]}"/>'
        f'<text x="{left / 2:g}" y="14" {text}>{LABEL}</text>'
        f'<text x="{left + LETTER_WIDTH / 2:g}" y="14" font-weight="bold" {text}>{letter}</text></svg>\n'
    )
