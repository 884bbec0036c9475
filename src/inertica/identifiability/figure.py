"""The identifiability map as a figure: which parameters are identifiable alone, in combination, or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from inertica.escape import figure_text
from inertica.identifiability.base import BaseModel
from inertica.robot.inertia import NAMES
from inertica.robot.layout import Layout

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLE: Mapping[str, tuple[str, str, str, str]] = {
    "alone": ("#0072B2", "white", "a", "alone"),
    "combined": ("#F0B83C", "black", "c", "in combination"),
    "none": ("#E4E4E4", "#555555", "–", "no effect"),
    "fixed": ("white", "black", "f", "fixed"),
}
"""Class -> fill (Okabe-Ito colours), ink, letter in the cell, words in the legend."""

WIDTH = 3.5
"""Inches: one column of a two-column page."""

_FONT = 6.5


def identifiability_map(model: BaseModel, width: float = WIDTH) -> Figure:
    """Links as rows, kinds of parameters as columns, every cell coloured and lettered by its class; extra terms in a strip below.

    Args:
        model: the base model.
        width: of the figure in inches; the height follows from the number of links.
    """
    from matplotlib.figure import Figure  # drawn without pyplot, so no display is needed

    rows, extra = model.layout.cells()
    kinds = list(dict.fromkeys([*NAMES, *sorted({kind for row in rows.values() for kind in row}, key=_drive_order)]))
    labels = _labels(model.layout)
    margin = 0.055 * _FONT / 6.5 * max(len(label) for label in labels) + 0.12
    cell = (width - margin) / len(kinds)
    strips = -(-len(extra) // _per_strip(kinds))
    lines = len(rows) + (1.4 + strips if extra else 0.0)
    height = cell * lines + 0.75
    figure = Figure(figsize=(width, height), dpi=200)
    axes = figure.add_axes((margin / width, 0.38 / height, 1.0 - (margin + 0.03) / width, cell * lines / height))
    classes = model.classes()
    for i, row in enumerate(rows.values()):
        for kind, name in row.items():
            _cell(axes, kinds.index(kind), i, 1.0, classes[name])
    _strip(axes, extra, classes, len(rows) + 1.2, kinds)
    _frame(axes, kinds, labels, lines)
    _legend(figure, set(classes.values()))
    title = f"{figure_text(model.layout.robot.name)}: {model.rank} base of {model.layout.size} parameters"
    figure.suptitle(title, fontsize=_FONT + 1, y=1 - 0.04 / height)
    return figure


def _drive_order(kind: str) -> tuple[int, str]:
    order = ("Ia", "Fv", "Fc", "off")
    return (order.index(kind) if kind in order else len(order), kind)


def _labels(layout: Layout) -> list[str]:
    """Link names with their numbers, short enough for the margin."""
    names = [joint.link if joint.link.endswith(str(i)) else f"{i} {joint.link}" for i, joint in enumerate(layout.robot.joints, 1)]
    return [figure_text(name if len(name) <= 14 else name[:13] + "…") for name in names]


def _per_strip(kinds: list[str]) -> int:
    return max(1, len(kinds) // 3)


def _cell(axes: Axes, x: float, y: float, width: float, kind: str, label: str = "") -> None:
    from matplotlib.patches import Rectangle

    fill, ink, letter, _ = STYLE[kind]
    edge, layer = ("white", 1) if fill != "white" else ("#888888", 2)
    axes.add_patch(Rectangle((x, y), width, 1.0, facecolor=fill, edgecolor=edge, linewidth=0.8, zorder=layer))
    axes.text(x + 0.5 * width, y + 0.54, f"{label} {letter}".strip(), color=ink, fontsize=_FONT, ha="center", va="center")


def _strip(axes: Axes, extra: list[str], classes: dict[str, str], top: float, kinds: list[str]) -> None:
    """Parameters of couplings, payloads and formulas, three cells wide, with their names."""
    if extra:
        axes.text(0.0, top - 0.15, "other terms", fontsize=_FONT, va="bottom", ha="left", color="#555555")
    for i, name in enumerate(extra):
        line, place = divmod(i, _per_strip(kinds))
        _cell(axes, 3.0 * place, top + 0.1 + line, 3.0, classes[name], name if len(name) <= 9 else name[:8] + "…")


def _frame(axes: Axes, kinds: list[str], labels: list[str], lines: float) -> None:
    axes.set_xlim(0.0, len(kinds))
    axes.set_ylim(lines, 0.0)
    axes.set_xticks([i + 0.5 for i in range(len(kinds))], kinds, fontsize=_FONT)
    axes.set_yticks([i + 0.5 for i in range(len(labels))], labels, fontsize=_FONT)
    axes.xaxis.tick_top()
    axes.tick_params(length=0, pad=2)
    for side in axes.spines.values():
        side.set_visible(False)


def _legend(figure: Figure, present: set[str]) -> None:
    from matplotlib.patches import Patch

    shown = [style for name, style in STYLE.items() if name in present]
    handles = [Patch(facecolor=fill, edgecolor="#888888", label=f"{letter}  {words}") for fill, _, letter, words in shown]
    look = {"fontsize": _FONT, "frameon": False, "handlelength": 1.0, "columnspacing": 1.2}
    figure.legend(handles=handles, loc="lower center", ncols=len(handles), **look)
