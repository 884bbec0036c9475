"""Could every link exist: masses and centres beside the model's, and inertia ellipsoids on the robot, before and after."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from inertica.arrays import Array
from inertica.excitation.kinematics import frames
from inertica.numbers import NONE, number, span
from inertica.report import html
from inertica.report.data import Record
from inertica.report.figures import thinned
from inertica.robot import inertia
from inertica.robot.description import Description
from inertica.robot.layout import Parameters
from inertica.robot.outline import known_shapes
from inertica.robot.shapes import Solid, round_points
from inertica.workflow.identify.result import Result

POSES = 80
"""Positions of the log that the view can show."""

DIRECTIONS = 32
"""A link's shape is drawn as the hull of its furthest points in so many directions."""

UNIFORM = 5.0
"""Second moment m a^2 / 5 of a uniform ellipsoid along its half axis a."""

LINKS = ("link", "possible", "mass (kg)", "95 % interval", "model (kg)", "centre of mass (m)", "moved (mm)", "half axes (mm)")


def consistency(result: Result, fitted: Sequence[Record]) -> list[str]:
    """What the section says, shows and lists."""
    bad = result.parameters.inconsistent_links()
    sentence = "Every link found could exist." if not bad else f"No real body has the parameters of {', '.join(bad)}."
    about = (
        f"{sentence} An ellipsoid stands for a link: uniform, with the link's mass, centre of mass and inertia. Values that the data "
        "do not tell are those nearest the model, so ellipsoids that agree say nothing by themselves."
    )
    return [html.paragraph(about), robot_view(result, fitted), link_table(result)]


def link_table(result: Result) -> html.Raw:
    rows = []
    for j, (link, joint) in enumerate(zip(result.masses.links, result.description.robot.joints, strict=True)):
        body = ellipsoid(result.parameters, j)
        shift = float(np.linalg.norm(link.com - link.prior_com)) if np.isfinite(link.com - link.prior_com).all() else np.nan
        axes = " ".join(number(1e3 * float(np.linalg.norm(a)), 3) for a in body["axes"]) if body["possible"] else NONE
        centre = " ".join(number(float(x), 3) for x in link.com) if np.isfinite(link.com).all() else NONE
        possible = "yes" if inertia.physically_consistent(result.parameters.link(j)) else "no"
        rows.append([
            f"{j + 1} {joint.link}", possible, number(link.mass), span(*link.interval), number(link.prior), centre,
            number(1e3 * shift, 3), axes,
        ])  # fmt: skip
    caption = "Links; moved: distance of the centre of mass from the model's; half axes: of the uniform ellipsoid"
    return html.table(caption, LINKS, rows, right=("mass (kg)", "95 % interval", "model (kg)", "moved (mm)"))


def ellipsoid(parameters: Parameters, j: int) -> dict[str, Any]:
    """The uniform ellipsoid of a link: its centre, half axes as vectors in the link's frame, and whether it is one.

    Args:
        parameters: of the robot.
        j: 0-based link.
    """
    body = inertia.to_com(parameters.link(j))
    second = 0.5 * np.trace(body.inertia) * np.eye(3) - body.inertia
    if not np.isfinite(second).all():  # masses or lengths whose products exceed what numbers can hold
        return {"mass": body.mass, "com": body.com, "axes": np.zeros((3, 3)), "possible": False}
    values, vectors = np.linalg.eigh(second)
    possible = body.mass > 0.0 and values[0] > -1e-9 * max(float(np.abs(values).max()), 1e-12)
    mass = body.mass if body.mass > 0.0 else 1.0
    axes = np.sqrt(UNIFORM * np.maximum(values, 0.0) / mass) * vectors
    return {"mass": body.mass, "com": body.com, "axes": axes.T, "possible": bool(possible)}


def robot_view(result: Result, fitted: Sequence[Record]) -> html.Raw:
    """The robot to turn around, with its links' ellipsoids before and after."""
    times, poses = _poses(result, fitted)
    robot = result.description.robot
    at = view_extent(result, poses)
    centre = (at.min(axis=0) + at.max(axis=0)) / 2
    document = {
        "joints": [
            {"parent": joint.parent, "rotation": joint.rotation, "position": joint.position, "axis": joint.axis, "arm": joint.arm}
            | {"prismatic": joint.prismatic}
            for joint in robot.joints
        ],
        "before": _bodies(result.description.prior, "model"),
        "after": _bodies(result.parameters, "identified"),
        "faces": _faces(result.description),
        "times": [round(float(t), 4) for t in times],
        "poses": np.round(poses, 5).tolist(),
        "centre": centre.tolist(),
        "radius": max(float(np.linalg.norm(at - centre, axis=1).max()), 0.05),
    }
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    data = f'<script type="application/json">{_for_script(text)}</script>'
    boxes = "".join(
        f'<label><input type="checkbox" value="{kind}" checked=""/> <span class="ball {kind}"></span>{words}</label>'
        for kind, words in (("before", "model"), ("after", "identified"))
    )
    slider = ""
    if len(poses) > 1:
        name = "pose of the robot along the log"
        slider = f'<label>pose <input type="range" min="0" max="{len(poses) - 1}" value="0" aria-label="{name}"/></label>'
        slider += f"<output>{number(float(times[0]), 4)} s</output>"
    words = "inertia ellipsoids on the robot; drag or arrow keys turn it, + and - change its size, double click turns back"
    picture = f'<svg viewBox="0 0 480 480" role="img" tabindex="0" aria-label="{words}"></svg>'
    caption = f'<figcaption class="live-only">{boxes}{slider}<br/><span>{words}</span></figcaption>'
    return html.Raw(f'<figure class="robot">{data}{picture}{caption}</figure>')


def view_extent(result: Result, poses: Array) -> Array:
    """Points that the view must hold: link frames, the base, and the ends of all ellipsoids."""
    at = frames(result.description.robot, poses)
    points = [np.zeros((1, 3)), at.origin.reshape(-1, 3)]
    for parameters in (result.description.prior, result.parameters):
        for j in range(result.description.robot.n):
            body = ellipsoid(parameters, j)
            if body["mass"] > 0.0 and np.isfinite(body["com"]).all():
                ends = body["com"] + np.vstack([body["axes"], -body["axes"]])
                points += [at.point(j, tuple(end)) for end in ends]
    return np.vstack(points)


def _bodies(parameters: Parameters, whose: str) -> list[dict[str, Any] | None]:
    out: list[dict[str, Any] | None] = []
    for j in range(parameters.layout.robot.n):
        body = ellipsoid(parameters, j)
        if not (body["mass"] > 0.0 and np.isfinite(body["com"]).all()):
            out.append(None)
            continue
        words = f"link {j + 1}, {whose}: {number(body['mass'])} kg" + ("" if body["possible"] else ", no real body")
        size = {"com": np.round(body["com"], 6).tolist(), "axes": np.round(body["axes"], 6).tolist()}
        out.append(size | {"possible": body["possible"], "words": words})
    return out


def _poses(result: Result, fitted: Sequence[Record]) -> tuple[Array, Array]:
    """Times and positions of the first log, or the middle of nothing: zero."""
    if not fitted:
        return np.zeros(1), np.zeros((1, result.description.robot.n))
    motion = fitted[0].motion
    good = np.flatnonzero(np.isfinite(motion.q).all(axis=1))
    take = good[thinned(len(good), POSES)]
    return motion.t[take], motion.q[take]


def _faces(description: Description) -> list[list[list[list[float]]]]:
    """Triangles around the shape of every link that has one that can be read, in the link's frame."""
    shapes = known_shapes(description.source, description.robot.n)
    return [[face for shape in several for face in _triangles(shape)] for several in shapes]


def _triangles(shape: Solid) -> list[list[list[float]]]:
    from scipy.spatial import ConvexHull, QhullError

    points = shape.points()
    take = np.unique((points @ round_points(DIRECTIONS).T).argmax(axis=0))
    try:
        hull = ConvexHull(points[take])
    except QhullError:  # a flat shape
        return []
    return [np.round(hull.points[simplex], 4).tolist() for simplex in hull.simplices]


def _for_script(text: str) -> str:
    """JSON that can stand inside a page, whatever names are in it."""
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
