"""Figures of the Jaco2 study like the paper's 1 to 8, and all validations at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from inertica.arrays import Array
from inertica.estimators.consistent.bounded import link_ellipsoids
from inertica.physical.scales import Reference
from inertica.reproduce.drawing import Drawing, write_drawings
from inertica.reproduce.jaco2_setup import (
    CENTRE_REACH,
    METHODS,
    REACH,
    RECORDS,
    SHOWN,
    SHOWN_IDENTIFIED,
    Jaco2Case,
    Scores,
    Setup,
)
from inertica.robot.model import Joint

COLOURS = {"cad": "#a8a8a8", "uls": "#0072B2", "cls-1": "#E69F00", "cls-2": "#CC79A7", "cls-3": "#009E73"}
MARKS = {"cad": "s", "uls": "o", "cls-1": "v", "cls-2": "^", "cls-3": "D"}
ASIDE = {"uls": -0.16, "cls-3": 0.16}
"""Methods whose marks would cover each other."""

SHOWN_SECONDS = 20.0
"""Of the record: one period."""

BOUNDED, FILTERED, CLOSE = 4, 2, (4.4, 5.0)
"""Link of Figure 1, joint of Figure 3 and the seconds it shows closer by, as in the paper."""

POSE = (20.0, 40.0, 20.0, 60.0, 20.0, 40.0, 0.0)
"""Degrees from home in which the arm is drawn."""


def write_figures(setup: Setup, case: Jaco2Case, printed: Scores, folder: Path) -> tuple[Path, ...]:
    """Writes nine PNG files and returns their names."""
    first: list[Drawing] = [
        ("figure_1_ellipsoids_and_frames", (7.5, 4.5), lambda f: _robot(f, setup)),
        ("figure_2_motion", (6.5, 5.5), lambda f: _motion(f, setup)),
        ("figure_3_filter", (6.5, 4.0), lambda f: _filter(f, setup)),
    ]
    drawings: list[Drawing] = [
        (f"figure_{4 + k}_{method.replace('-', '_')}", (6.5, 6.0), lambda f, m=method: _errors(f, setup, case, m))  # type: ignore[misc]
        for k, method in enumerate(METHODS)
    ]
    return write_drawings(
        folder, [*first, *drawings, ("validation_errors", (7.5, 4.2), lambda f: _validations(f, case, printed))]
    )


def _robot(figure: Any, setup: Setup) -> None:
    """Figure 1: the ellipsoids around link 4, for its mass and for its centre of mass; and the frames of the links."""
    description = setup.description
    q = np.array(description.home) + np.radians(POSE)
    reference = Reference.of(description.layout, description.prior.values)
    places, turns = _frames(description.robot.joints, q)
    both = figure.subplots(1, 2, subplot_kw={"projection": "3d"})
    for axes in both:
        axes.plot(*np.vstack([np.zeros(3), *places]).T, color="#606060", lw=2.5)
        axes.scatter(*np.array(places).T, color="#303030", s=12)
        axes.set_box_aspect((1, 1, 1))
        middle, reach = np.mean(places, axis=0), 0.55 * np.ptp(places, axis=0).max() + 0.1
        for set_limits, x in zip((axes.set_xlim, axes.set_ylim, axes.set_zlim), middle, strict=True):
            set_limits(x - reach, x + reach)
        axes.tick_params(labelsize="x-small")
    k = BOUNDED - 1
    for factor, colour, name in ((REACH, "#E69F00", "mass"), (CENTRE_REACH, "#B00020", "centre of mass")):
        shape = link_ellipsoids(reference, factor, setup.points)[BOUNDED]
        spread, directions = np.linalg.eigh(shape.Q)
        grid = np.meshgrid(np.linspace(0.0, 2.0 * np.pi, 25), np.linspace(0.0, np.pi, 13))
        ball = np.stack([np.cos(grid[0]) * np.sin(grid[1]), np.sin(grid[0]) * np.sin(grid[1]), np.cos(grid[1])], axis=-1)
        points = shape.centre + (ball / np.sqrt(spread)) @ directions.T
        seen = places[k] + points @ turns[k].T
        both[0].plot_wireframe(*np.moveaxis(seen, -1, 0), color=colour, lw=0.5, label=name)
    both[0].set_title(f"(a) ellipsoids of link {BOUNDED}", fontsize="medium")
    both[0].legend(fontsize="x-small", loc="lower left")
    for j, (place, turn) in enumerate(zip(places, turns, strict=True)):
        for axis, colour in zip(turn.T, ("#D55E00", "#009E73", "#0072B2"), strict=True):
            both[1].quiver(*place, *(0.12 * axis), color=colour, lw=1.2)
        both[1].text(*(place + (0.03 if j % 2 else -0.06)), f"{j + 1}", fontsize="x-small")  # two origins often coincide
    both[1].set_title("(b) link frames: x, y, z in red, green, blue", fontsize="medium")


def _frames(joints: Sequence[Joint], q: Array) -> tuple[list[Array], list[Array]]:
    """Origins of the link frames in the base frame, and how they are turned, base <- link."""
    places: list[Array] = []
    turns: list[Array] = []
    for joint, angle in zip(joints, q, strict=True):
        before = (np.zeros(3), np.eye(3)) if joint.parent < 0 else (places[joint.parent], turns[joint.parent])
        turn = before[1] @ np.array(joint.rotation) @ Rotation.from_rotvec(angle * np.array(joint.axis)).as_matrix()
        places.append(before[0] + before[1] @ np.array(joint.position) + turn @ np.array(joint.arm))
        turns.append(turn)
    return places, turns


def _motion(figure: Any, setup: Setup) -> None:
    """Figure 2: position, velocity and acceleration of the first 20 s of record 3."""
    motion = setup.motions[SHOWN - 1]
    part = motion.t < motion.t[0] + SHOWN_SECONDS
    for axes, key, unit in zip(
        figure.subplots(3, 1, sharex=True), ("q", "dq", "ddq"), ("rad", "rad/s", "rad/s$^2$"), strict=True
    ):
        for j, x in enumerate(getattr(motion, key)[part].T):
            axes.plot(motion.t[part], x - (np.array(setup.description.home)[j] if key == "q" else 0.0), lw=0.9, label=f"{j + 1}")
        axes.set_ylabel(f"{'position from home' if key == 'q' else {'dq': 'velocity', 'ddq': 'acceleration'}[key]} / {unit}",
                        fontsize="small")  # fmt: skip
    axes.set_xlabel("time / s")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), ncols=7, fontsize="x-small", loc="outside upper center")


def _filter(figure: Any, setup: Setup) -> None:
    """Figure 3: what the low-pass does to the torque of joint 2 of record 3, and a part of it closer by."""
    motion = setup.motions[SHOWN - 1]
    j = FILTERED - 1
    for axes, (begin, end) in zip(figure.subplots(1, 2), ((0.0, SHOWN_SECONDS), CLOSE), strict=True):
        part = (motion.t >= motion.t[0] + begin) & (motion.t <= motion.t[0] + end)
        axes.plot(motion.t[part], motion.tau_raw[part, j], color="#a8a8a8", lw=0.9, label="recorded")
        axes.plot(motion.t[part], motion.tau[part, j], color="#D55E00", lw=1.1, label="filtered")
        axes.set_xlabel("time / s")
    figure.axes[0].set_ylabel(f"torque of joint {FILTERED} / N m")
    figure.axes[0].legend(fontsize="small")


def _errors(figure: Any, setup: Setup, case: Jaco2Case, method: str) -> None:
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


def _validations(figure: Any, case: Jaco2Case, printed: Scores) -> None:
    """s_r of all methods: ours above the printed ones, one column per validation."""
    pairs = [(i, k) for i in RECORDS for k in RECORDS if k != i]
    for axes, scores, title in zip(figure.subplots(2, 1, sharex=True), (case.scores, printed), ("ours", "printed"), strict=True):
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
