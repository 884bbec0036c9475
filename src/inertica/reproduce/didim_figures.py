"""Figures like those of the DIDIM paper (10 to 15)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from inertica.reproduce.didim_setup import MethodOutcome, Setup
from inertica.reproduce.drawing import Drawing, write_drawings

BLUE, ORANGE, GREY, GREEN = "#0072B2", "#D55E00", "#a8a8a8", "#009E73"
SIGNALS = (("q", "position"), ("dq", "velocity"), ("ddq", "acceleration"))
SHOWN = 30.0
"""Seconds of the validation that are drawn."""


def write_figures(setup: Setup, outcome: MethodOutcome, folder: Path) -> tuple[Path, ...]:
    """Writes six PNG files and returns their names."""
    size = (6.5, 4.0)
    drawings: list[Drawing] = [
        ("figure_10_validation", size, lambda f: _validation(f, outcome)),
        ("figure_11_motion_errors", size, lambda f: _motion(f, outcome, "B")),
        ("figure_12_torque_error", size, lambda f: _torque(f, outcome, "B")),
        ("figure_13_parameters", size, lambda f: _parameters(f, setup, outcome)),
        ("figure_14_motion_errors_half_bandwidth", size, lambda f: _motion(f, outcome, "E half")),
        ("figure_15_torque_error_half_bandwidth", size, lambda f: _torque(f, outcome, "E half")),
    ]
    return write_drawings(folder, drawings)


def _validation(figure: Any, outcome: MethodOutcome) -> None:
    t, measured, estimated = outcome.validation
    part = t < t[0] + SHOWN
    for j, axes in enumerate(figure.subplots(2, 1, sharex=True)):
        axes.plot(t[part], measured[part, j], color=GREY, lw=0.8, label="measured")
        axes.plot(t[part], estimated[part, j], color=ORANGE, lw=1.0, label="estimated")
        axes.plot(t[part], (measured - estimated)[part, j], color=BLUE, lw=0.6, label="error")
        axes.set_ylabel(f"torque {j + 1} / N m")
    axes.set_xlabel("time / s")
    figure.axes[0].legend(ncols=3, fontsize="small")


def _motion(figure: Any, outcome: MethodOutcome, case: str) -> None:
    path = outcome.paths[case]
    for row, (key, name) in zip(figure.subplots(3, 2, sharex=True), SIGNALS, strict=True):
        for j, axes in enumerate(row):
            for kind, marker, colour in (("measured", "o", BLUE), ("reference", "x", ORANGE)):
                values = 100.0 * path[f"{key} {kind}"][:, j]
                axes.semilogy(np.arange(len(values)), values, marker=marker, color=colour, label=f"to the {kind}")
            axes.set_ylabel(f"{name} {j + 1} / %", fontsize="small")
    for axes in figure.axes[-2:]:
        axes.set_xlabel("iteration")
    figure.axes[0].legend(fontsize="x-small")


def _torque(figure: Any, outcome: MethodOutcome, case: str) -> None:
    history = outcome.estimates[case].history
    axes = figure.subplots()
    for j, colour in enumerate((BLUE, ORANGE)):
        values = history[f"torque_error_{j + 1}"]
        axes.semilogy(np.arange(len(values)), values, marker="o", color=colour, label=f"joint {j + 1}")
    axes.set_xlabel("iteration")
    axes.set_ylabel("relative torque error")
    axes.legend()


def _parameters(figure: Any, setup: Setup, outcome: MethodOutcome) -> None:
    estimate = outcome.estimates["B"]
    path = np.array([setup.printed(np.array(row)) for row in np.array([estimate.history[n] for n in estimate.base.names]).T])
    for k, axes in enumerate(figure.subplots(2, 4, sharex=True).ravel()):
        axes.plot(np.arange(len(path)), path[:, k], marker="o", color=BLUE)
        axes.axhline(setup.truth[k], color=GREEN, ls="--", lw=0.8)
        axes.set_title(setup.names[k], fontsize="small")
    for axes in figure.axes[-4:]:
        axes.set_xlabel("iteration", fontsize="small")
