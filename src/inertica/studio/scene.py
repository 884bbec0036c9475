"""The robot as the page draws it: joints, shapes of links as the model file has them, capsules where it has none, bodies."""

from __future__ import annotations

from typing import Any

import numpy as np

from inertica.arrays import Array
from inertica.excitation.kinematics import frames
from inertica.numbers import number
from inertica.report.body import ellipsoid
from inertica.robot.description import Description
from inertica.robot.layout import Parameters
from inertica.studio.visuals import visuals


def scene(description: Description) -> dict[str, Any]:
    """Everything the 3-D view needs, as plain data."""
    robot = description.robot
    home = np.array(description.home or _middle(description))
    at = frames(robot, home[None])
    points = np.vstack([np.zeros((1, 3)), at.origin[0]])
    reach = max(float(np.abs(points).max()), float(np.ptp(points, axis=0).max()), 0.05)
    *shapes, base = visuals(description)
    lines = capsules(description, reach)
    return {
        "joints": [
            {
                "name": j.name, "link": j.link, "parent": j.parent, "rotation": j.rotation, "position": j.position, "axis": j.axis,
                "arm": j.arm, "prismatic": j.prismatic, "unit": j.unit, "lower": robot.limits.lower[k],
                "upper": robot.limits.upper[k],
            }
            for k, j in enumerate(robot.joints)
        ],
        "base": robot.base,
        "home": home,
        "reach": reach,
        "gravity": robot.gravity,
        "shapes": [s or lines[j] for j, s in enumerate(shapes)],
        "drawn": [bool(s) for s in shapes],
        "foot": base or lines[-1],
        "bodies": bodies(description.prior),
    }  # fmt: skip


def bodies(parameters: Parameters) -> list[dict[str, Any] | None]:
    """Mass, centre and uniform ellipsoid of every link; None for a link without mass."""
    out: list[dict[str, Any] | None] = []
    for j in range(parameters.layout.robot.n):
        body = ellipsoid(parameters, j)
        has_body = body["mass"] > 0.0 and np.isfinite(body["com"]).all()
        out.append(body | {"words": f"{number(body['mass'])} kg"} if has_body else None)
    return out


def _middle(description: Description) -> list[float]:
    limits = description.robot.limits
    ranges = zip(limits.lower, limits.upper, strict=True)
    return [0.0 if low <= 0.0 <= high or not np.isfinite(low + high) else 0.5 * (low + high) for low, high in ranges]


def capsules(description: Description, reach: float) -> list[list[dict[str, Any]]]:
    """A capsule from every link's origin to those of the links it carries, in the link's frame; the foot's are last."""
    robot = description.robot
    out: list[list[dict[str, Any]]] = [[] for _ in range(robot.n + 1)]
    leaves = set(range(robot.n)) - {j.parent for j in robot.joints}
    for k, joint in enumerate(robot.joints):
        radius = reach * max(0.055 - 0.006 * len(robot.ancestors(joint.parent)), 0.02)
        out[joint.parent if joint.parent >= 0 else robot.n].append(_capsule(np.zeros(3), np.array(joint.position), radius))
        if k in leaves:
            body = ellipsoid(description.prior, k)
            end = body["com"] if body["mass"] > 0.0 and np.isfinite(body["com"]).all() else np.array([0.0, 0.0, 0.05 * reach])
            size = float(np.linalg.norm(end))
            end = end if size < 0.3 * reach else 0.3 * reach * end / size
            out[k].append(_capsule(np.zeros(3), end, 0.7 * radius))
    return out


def _capsule(start: Array, end: Array, radius: float) -> dict[str, Any]:
    return {"kind": "capsule", "start": start, "end": end, "radius": radius}
