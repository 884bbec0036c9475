"""How near a designed motion comes to anything: distances over time, and the robot at its closest approach from two sides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from inertica.arrays import Array
from inertica.errors import InputError
from inertica.escape import figure_text
from inertica.excitation.collision import Approach, Collisions
from inertica.excitation.kinematics import frames
from inertica.excitation.optimal import Design
from inertica.report.paper import BLUE, GREY, ORANGE, VECTOR, WIDTHS, style
from inertica.robot.outline import BASE
from inertica.robot.shapes import FINE
from inertica.writing import whole_file

TIMES = 1001
SEEN = 0.5
"""m up to which distances are drawn."""

VIEWS = (("x", "z", 0, 2), ("y", "z", 1, 2))


def draw_clearance(bodies: Collisions, design: Design, target: str | Path) -> Path:
    """Draw clearance over time and the robot at its closest approach.

    Args:
        bodies: what must not meet.
        design: the motion, with its closest approach.
        target: .pdf, .svg or .eps.
    """
    path = Path(target)
    if path.suffix.lower() not in VECTOR:
        raise InputError(f"{path.name} is not a vector format; let the name end in {', '.join(VECTOR)}")
    if design.approach is None:
        raise InputError("no two bodies could meet, so there is no clearance to draw")
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(WIDTHS["page"], 2.5))
        over_time, *sides = figure.subplots(1, 3, width_ratios=[1.5, 1.0, 1.0])
        _over_time(over_time, bodies, design, design.approach)
        for ax, view in zip(sides, VIEWS, strict=True):
            _side(ax, bodies, design, design.approach, view)
        stamp = {".pdf": "CreationDate", ".svg": "Date"}.get(path.suffix.lower())
        with whole_file(path) as temporary:
            figure.savefig(temporary, metadata={stamp: None} if stamp else None)
    return path


def clearance_over_time(bodies: Collisions, design: Design, count: int = TIMES) -> tuple[Array, dict[str, Array]]:
    """Times (N,), and by name the smallest distance (N,) of links from each other, from the floor and from other surroundings."""
    t = np.union1d(np.linspace(0.0, design.trajectory.period, count), [design.approach.time] if design.approach else [])
    d = bodies.distances(design.trajectory(t).q, far=SEEN)
    kinds = ["link to link" if pair.second is not None else figure_text(pair.names[1]) for pair in bodies.pairs]
    return t, {kind: d[:, [k == kind for k in kinds]].min(axis=1) for kind in dict.fromkeys(kinds)}


def _over_time(ax: Any, bodies: Collisions, design: Design, closest: Approach) -> None:
    t, smallest = clearance_over_time(bodies, design)
    for name, d in smallest.items():
        ax.plot(t, 1e3 * d, label=name)
    for level in np.unique(bodies.kept):
        ax.axhline(1e3 * level, color=GREY, lw=0.6, ls="--")
    ax.plot(closest.time, 1e3 * closest.distance, "o", color="black", ms=3)
    top = min(1e3 * SEEN, 1.15e3 * max(float(d.max()) for d in smallest.values()))
    ax.set(xlabel="time (s)", ylabel="smallest distance (mm)", xlim=(t[0], t[-1]), ylim=(min(0.0, 1e3 * closest.distance), top))
    ax.legend(loc="upper right", ncols=2)


def _side(ax: Any, bodies: Collisions, design: Design, closest: Approach, view: tuple[str, str, int, int]) -> None:
    """The outlines of all links, those that come closest in colour."""
    from scipy.spatial import ConvexHull, QhullError

    across, up, i, k = view
    at = frames(bodies.description.robot, design.trajectory(np.array([closest.time])).q)
    for outline in bodies.outlines.links:
        R, p = (np.eye(3), np.zeros(3)) if outline.link == BASE else (at.rotation[0, outline.link], at.origin[0, outline.link])
        colour = {closest.first: BLUE, closest.second: ORANGE}.get(outline.name, "#c9c9c9")
        for solid in outline.solids:
            flat = (solid.points(FINE) @ R.T + p)[:, [i, k]]
            try:
                edge = flat[ConvexHull(flat).vertices]
            except QhullError:  # seen along its only face
                continue
            ax.fill(*edge.T, facecolor=colour, alpha=0.45, edgecolor="#555555", lw=0.4)
    for obstacle in bodies.obstacles:
        flat = obstacle.solid.points(FINE)[:, [i, k]]
        colour = ORANGE if closest.second == obstacle.name else GREY
        ax.fill(*flat[ConvexHull(flat).vertices].T, facecolor=colour, alpha=0.3, edgecolor=GREY, lw=0.6, hatch="//")
    for plane in bodies.planes:
        if plane.normal == (0.0, 0.0, 1.0):
            ax.axhline(plane.level, color=ORANGE if closest.second == plane.name else GREY, lw=0.8)
    a, b = (np.array(point)[[i, k]] for point in closest.points)
    ax.plot(*np.vstack([a, b]).T, "-o", color="black", ms=1.5, lw=0.8)
    ax.set(aspect="equal", xlabel=f"{across} (m)", ylabel=f"{up} (m)")
    ax.set_title(f"{closest.first}, {closest.second}" if i == 0 else f"{closest.time:.2f} s", loc="left")
