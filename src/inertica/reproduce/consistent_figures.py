"""Figures of the consistent-parameters study: torques, standard parameters, and how far links are from what a body can have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from inertica.arrays import Array
from inertica.reproduce.consistent_setup import LINKS, PC, RETAINED, TABLE_II, B, E, Solved
from inertica.reproduce.drawing import Drawing, write_drawings

GREY, BLACK, BLUE, ORANGE, GREEN, PINK = "#a8a8a8", "#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7"
LOOK = {TABLE_II: (PINK, "v"), RETAINED: (GREY, "D"), B: (BLUE, "s"), E: (ORANGE, "o"), PC: (GREEN, "^")}
"""Solution -> colour and marker."""

SHOWN = 6.0
"""Seconds of torque that are drawn."""


def write_figures(solved: Sequence[Solved], folder: Path) -> tuple[Path, ...]:
    """Three PNG files for every set of data."""
    drawn: dict[str, tuple[tuple[float, float], Callable[[Any, Solved], None]]] = {
        "torques": ((7.5, 7.5), _torques),
        "parameters": ((7.5, 8.5), _parameters),
        "links": ((7.0, 5.0), _links),
    }
    drawings: list[Drawing] = [
        (f"{name}_{one.data.name}", size, lambda figure, draw=draw, one=one: draw(figure, one))  # type: ignore[misc]
        for one in solved
        for name, (size, draw) in drawn.items()
    ]
    return write_drawings(folder, drawings)


def _torques(figure: Any, one: Solved) -> None:
    """Filtered torque of the motion that was not fitted, like the paper's Fig. 2."""
    measured = np.concatenate([rows.y for rows in one.check.rows()])
    motion = one.data.check
    t = motion.t[motion.decimator.kept(len(motion))]
    part = t < t[0] + SHOWN
    predicted = {name: _predicted(one, one.chi[name]) for name in (TABLE_II, E, PC)}
    for j, axes in enumerate(figure.subplots(6, 1, sharex=True)):
        axes.plot(t[part], measured[part, j], color=GREY, lw=2.0, label="measured")
        for name, tau in predicted.items():
            axes.plot(t[part], tau[part, j], color=LOOK[name][0], lw=0.9, ls=":" if name == TABLE_II else "-", label=name)
        axes.set_ylabel(f"joint {j + 1} / N m", fontsize="small")
    axes.set_xlabel("time / s")
    figure.axes[0].legend(ncols=4, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0))


def _predicted(one: Solved, chi: Array) -> Array:
    return np.concatenate([rows.y - r for rows, r in one.check.residuals(one.setup.base.beta(chi))])


def _parameters(figure: Any, one: Solved) -> None:
    setup = one.setup
    shown = {"reference": (setup.reference.values, BLACK, "_")}
    if one.data.name == "simulation":
        shown["truth"] = (setup.truth.values, BLACK, "+")
    shown |= {name: (one.chi[name], *LOOK[name]) for name in (TABLE_II, B, E, PC)}
    for j, axes in zip(LINKS, figure.subplots(len(LINKS), 1), strict=True):
        where = setup.base.layout.link(j - 1)
        names = setup.base.layout.names[where]
        for i, (name, (chi, colour, marker)) in enumerate(shown.items()):
            x = np.arange(len(names)) + 0.12 * (i - 0.5 * (len(shown) - 1))
            big = 35 if marker in "_+" else 18
            axes.scatter(x, chi[where], s=big, color=colour, marker=marker, linewidths=1.2 if big > 20 else 0.0, label=name)
        axes.set_yscale("symlog", linthresh=1e-3)
        axes.set_xticks(np.arange(len(names)), names, fontsize="small")
        axes.axhline(0.0, color=GREY, lw=0.6)
        axes.set_ylabel(f"link {j} (SI units)", fontsize="small")
        axes.tick_params(axis="y", labelsize="x-small")
    figure.axes[0].legend(ncols=len(shown), fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0))


def _links(figure: Any, one: Solved) -> None:
    """Smallest principal moment and slack of the triangle inequality, as shares of the largest moment."""
    setup = one.setup
    shown = {"reference": (setup.reference.values, BLACK, "x")}
    shown |= {name: (one.chi[name], *LOOK[name]) for name in (TABLE_II, RETAINED, B, E, PC)}
    upper, lower = figure.subplots(2, 1, sharex=True)
    for i, (name, (chi, colour, marker)) in enumerate(shown.items()):
        x = np.array(LINKS) + 0.12 * (i - 0.5 * (len(shown) - 1))
        moments = np.array([link.eigenvalues for link in setup.links(chi).values()])
        size = np.abs(moments).max(axis=1)
        for axes, value in ((upper, moments[:, 0]), (lower, moments[:, 0] + moments[:, 1] - moments[:, 2])):
            axes.scatter(x, value / size, color=colour, marker=marker, s=30, label=name)
    for axes, title in ((upper, "smallest principal moment"), (lower, "triangle slack")):
        bottom = min(axes.get_ylim()[0], -0.1)
        axes.axhspan(bottom, 0.0, color=GREY, alpha=0.2, lw=0.0)
        axes.axhline(0.0, color=BLACK, lw=0.6)
        axes.set_ylim(bottom, 1.1)
        axes.set_ylabel(f"{title}\n/ largest moment", fontsize="small")
        axes.annotate("impossible", (0.995, 0.03), xycoords="axes fraction", ha="right", fontsize="small", color="#606060")
    lower.set_xticks(LINKS, [f"link {j}" for j in LINKS])
    upper.legend(ncols=len(shown), fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0))
