"""Figures like those of the Frisch paper (1 to 4)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from inertica.reproduce.drawing import Drawing, write_drawings
from inertica.reproduce.frisch_setup import KEYS, MATCHING, RIGHT_MODEL, SHOWN, FrischResults, Outcome

BLUE, ORANGE, GREY, GREEN = "#0072B2", "#D55E00", "#a8a8a8", "#009E73"


def write_figures(solution: FrischResults, folder: Path) -> tuple[Path, ...]:
    """Writes five PNG files and returns their names; Figure 3 twice, as the tables arose and with the right model."""
    drawings: list[Drawing] = [
        ("figure_1_convergence", (6.5, 3.0), lambda f: _convergence(f, solution)),
        ("figure_2_trajectory", (6.5, 4.5), lambda f: _trajectory(f, solution)),
        ("figure_3_bounds", (8.0, 6.0), lambda f: _bounds(f, solution.outcomes[MATCHING])),
        ("figure_3_bounds_right_model", (8.0, 6.0), lambda f: _bounds(f, solution.outcomes[RIGHT_MODEL])),
        ("figure_4_torque", (6.5, 5.0), lambda f: _torque(f, solution.outcomes[MATCHING])),
    ]
    return write_drawings(folder, drawings)


def _convergence(figure: Any, solution: FrischResults) -> None:
    axes = figure.subplots()
    before = solution.swarm.evaluations
    for name, descent, offset, colour in (
        ("swarm", solution.swarm, 0, BLUE),
        ("pattern search", solution.pattern, before, ORANGE),
    ):
        evaluations, values = np.array(descent.history).T
        axes.semilogy(evaluations + offset, values, color=colour, label=f"{name}, to {descent.value:.2f}")
    axes.set_xlabel("evaluations of the criterion")
    axes.set_ylabel("cond + 1/s_min + psi")
    axes.legend()


def _trajectory(figure: Any, solution: FrischResults) -> None:
    path = solution.trajectory
    t = np.linspace(0.0, SHOWN, 1501)
    knots = path.times[path.times <= SHOWN]
    units = ("position / rad", "velocity / rad/s", "acceleration / rad/s²")
    for axes, line, marks, unit in zip(figure.subplots(3, 1, sharex=True), path(t), path(knots), units, strict=True):
        for j, colour in enumerate((BLUE, ORANGE)):
            axes.plot(t, line[:, j], color=colour, lw=0.9, label=f"joint {j + 1}")
            axes.plot(knots, marks[:, j], ".", color=colour, ms=4)
        axes.set_ylabel(unit, fontsize="small")
    axes.set_xlabel("time / s")
    figure.axes[0].legend(ncols=2, fontsize="x-small")


def _bounds(figure: Any, outcome: Outcome) -> None:
    rows, path = outcome.path
    for k, axes in enumerate(figure.subplots(3, 3, sharex=True).ravel()):
        for side, colour in enumerate((ORANGE, BLUE)):
            mean, least, largest = path[:, side, k].T
            axes.fill_between(rows, least, largest, color=colour, alpha=0.2, lw=0)
            axes.plot(rows, mean, color=colour, lw=1.0)
        axes.axhline(outcome.truth[k], color="black", ls=":", lw=1.0)
        share = 100.0 * outcome.covered()[:, k].mean()
        axes.set_title(f"{KEYS[k]}: truth inside in {share:.0f} %", fontsize="small")
        axes.tick_params(labelsize="x-small")
    for axes in figure.axes[-3:]:
        axes.set_xlabel("rows seen", fontsize="small")
    figure.suptitle(f"bounds, mean and range over {outcome.runs} runs: {outcome.case.name}", fontsize="small")


def _torque(figure: Any, outcome: Outcome) -> None:
    t, measured, predicted, least, largest = outcome.torque
    grid = figure.subplots(2, 2, sharex=True)
    for j in range(2):
        above, below = grid[0][j], grid[1][j]
        above.plot(t, measured[:, j], color=ORANGE, lw=1.2, label="measured")
        above.plot(t, predicted[:, j], color=BLUE, lw=0.7, label="reconstructed")
        above.set_title(f"joint {j + 1}", fontsize="small")
        below.fill_between(t, least[:, j], largest[:, j], color=GREY, lw=0)
        below.plot(t, np.abs(measured - predicted)[:, j], color=GREEN, lw=0.7)
        below.set_xlabel("time / s")
    grid[0][0].set_ylabel("torque / N m")
    grid[1][0].set_ylabel("absolute error / N m")
    grid[0][0].legend(fontsize="x-small")
