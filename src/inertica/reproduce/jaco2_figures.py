"""Figures of the Jaco2 study: errors along a validation record like the paper's 4 to 8, and all validations at a glance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from inertica.reproduce.drawing import Drawing, write_drawings
from inertica.reproduce.jaco2_setup import METHODS, RECORDS, SHOWN, SHOWN_IDENTIFIED, Case, Scores, Setup

COLOURS = {"cad": "#a8a8a8", "uls": "#0072B2", "cls-1": "#E69F00", "cls-2": "#CC79A7", "cls-3": "#009E73"}
MARKS = {"cad": "s", "uls": "o", "cls-1": "v", "cls-2": "^", "cls-3": "D"}
ASIDE = {"uls": -0.16, "cls-3": 0.16}
"""Methods whose marks would cover each other."""

SHOWN_SECONDS = 20.0
"""Of the record: one period."""


def write_figures(setup: Setup, case: Case, printed: Scores, folder: Path) -> tuple[Path, ...]:
    """Writes six PNG files and returns their names."""
    drawings: list[Drawing] = [
        (f"figure_{4 + k}_{method.replace('-', '_')}", (6.5, 6.0), lambda f, m=method: _errors(f, setup, case, m))  # type: ignore[misc]
        for k, method in enumerate(METHODS)
    ]
    return write_drawings(folder, [*drawings, ("validation_errors", (7.5, 4.2), lambda f: _validations(f, case, printed))])


def _errors(figure: Any, setup: Setup, case: Case, method: str) -> None:
    """Measured less estimated torque of every joint, all methods' figures on the same scales."""
    motion = setup.motions[SHOWN - 1]
    part = ~motion.mask & (motion.t < motion.t[0] + SHOWN_SECONDS)
    state = motion.q[part], motion.dq[part], motion.ddq[part]
    misses = {m: motion.tau[part] - case.base.engine.inverse_dynamics(*state, case.chi(SHOWN_IDENTIFIED, m)) for m in METHODS}
    largest = np.max([np.abs(miss).max(axis=0) for miss in misses.values()], axis=0)
    for j, axes in enumerate(figure.subplots(len(largest), 1, sharex=True)):
        axes.axhline(0.0, color="#d0d0d0", lw=0.6)
        axes.plot(motion.t[part], misses[method][:, j], color=COLOURS[method], lw=1.0)
        axes.set_ylim(-1.1 * largest[j], 1.1 * largest[j])
        axes.set_ylabel(f"joint {j + 1}\nN m", fontsize="small")
        axes.tick_params(labelsize="small")
    axes.set_xlabel("time / s")
    figure.suptitle(f"{method}: torque error on record {SHOWN}, identified on record {SHOWN_IDENTIFIED}", fontsize="medium")


def _validations(figure: Any, case: Case, printed: Scores) -> None:
    """s_r of all methods: ours above the printed ones, one column per validation."""
    pairs = [(i, k) for i in RECORDS for k in RECORDS if k != i]
    for axes, scores, title in zip(
        figure.subplots(2, 1, sharex=True), (case.scores, printed), ("simulated", "printed"), strict=True
    ):
        for m in METHODS:
            values = [100.0 * scores[i, k, m][1] for i, k in pairs]
            axes.semilogy(np.arange(len(pairs)) + ASIDE.get(m, 0.0), values, MARKS[m], color=COLOURS[m], ms=4.5, label=m)
        for edge in range(4, len(pairs), 4):
            axes.axvline(edge - 0.5, color="#d0d0d0", lw=0.8)
        axes.set_ylabel(f"$s_r$ / %, {title}", fontsize="small")
        ticks = [2, 5, 10, 20, 40]
        axes.set_yticks(ticks, [str(x) for x in ticks])
        axes.minorticks_off()
        axes.set_ylim(1.5, 60.0)
    axes.set_xticks(range(len(pairs)), [f"{k}" for _, k in pairs], fontsize="small")
    axes.set_xlabel("validation record; groups: identified on 1, 2, 3, 4, 5")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), ncols=5, fontsize="small", loc="outside upper center")
