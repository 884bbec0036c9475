"""A prior from geometry alone, for models that say nothing usable about masses.

A robot described by its geometry (a DH table without `links:`), or a model file whose inertials are missing, zero, or the same
placeholder on every link, has no prior that a fit could lean on.  In its place stand capsules: each link reaches from its own joint
to the next one (a quarter of the longest link's length l beyond the last), with radius

    r = max(0.15 l, length / 8)

and one density for all.  Five arms of which models are known have fitted densities of such capsules between 543 and 711 kg/m^3 (a
sixth of 6301); the round middle of the five is taken.  Totals become sane this way, single links do not: short ones are too light
by up to ten times.  Where a log is at hand its torque tells the density instead (`weighed`), and where some links have masses, those
do.  Everything made from it is labelled as coming from geometry.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inertica.arrays import Array
from inertica.dynamics.engine import Engine
from inertica.preprocessing.motion import Motion
from inertica.robot import inertia
from inertica.robot.description import Description
from inertica.robot.layout import Layout, Parameters
from inertica.robot.model import Robot
from inertica.robot.natural import longest_link

GEOMETRY_ORIGIN = "from geometry"
"""`Parameters.origin` of such a prior."""

DENSITY = 600.0
"""kg/m^3, where neither torque nor another link tells it."""

THINNEST, SLENDER, TIP = 0.15, 8.0, 0.25
"""Least radius in lengths of the longest link, length over radius, and length of the last link in lengths of the longest."""

LOOKED_AT = 5000
"""Samples of a motion from which a density is told."""

ALIKE = 1e-6
"""Relative difference up to which links count as copies of each other."""


def usable_prior(description: Description) -> tuple[Parameters, str | None]:
    """The prior of a description, links it says nothing usable about replaced by capsules; with a sentence when any was.

    Args:
        description: as loaded, with the terms that are identified; values of drives and friction are kept.
    """
    prior, layout = description.prior, description.layout
    unusable = _unusable(prior)
    if not unusable:
        return prior, None
    values = np.array(prior.values)
    rods = capsules(description.robot)
    stated = [j for j in description.robot.links if j not in unusable]
    factor = sum(prior.link(j)[9] for j in stated) / sum(rods[j][9] for j in stated) if stated else 1.0
    for j in unusable:
        values[layout.link(j)] = factor * rods[j]
    names = ", ".join(description.robot.number(j) for j in unusable)
    every = len(unusable) == len(description.robot.links)
    why = "the model says nothing usable about masses"
    if not every:
        why = f"the model says nothing usable about the mass of link {names}"
    sentence = (
        f"{why}; links are taken for capsules from joint to joint, all of one density, where data do not decide, so their masses "
        "and centres of mass are from geometry: weigh the arm or its links and state it under constraints:"
    )
    origin = GEOMETRY_ORIGIN if every else prior.origin
    return Parameters(layout, values, prior.shapes, origin), sentence


def weighed(prior: Parameters, motions: Sequence[Motion]) -> Parameters:
    """A prior from geometry with the density that explains recorded torque best, any other prior as it is.

    Torques of the links are in proportion to it.  What friction, an offset, a drive's inertia or a spring could explain of a joint's
    torque is taken out of both sides first, and joints count by their own torque.  Where no density above zero explains anything, that
    of known arms stays.
    """
    if prior.origin != GEOMETRY_ORIGIN:
        return prior
    bodies = np.zeros(prior.layout.size)
    for _, where in prior.layout.bodies:
        bodies[where] = prior.values[where]
    engine, both, prior_square = Engine(prior.layout), 0.0, 0.0
    for motion in motions:
        use = np.flatnonzero(~motion.mask)
        use = use[:: max(1, len(use) // LOOKED_AT)]
        q, dq, ddq, tau = (x[use] for x in (motion.q, motion.dq, motion.ddq, motion.tau))
        links = np.asarray(engine.inverse_dynamics(q, dq, ddq, bodies, prior.shapes))
        for j in range(prior.layout.robot.n):
            others = np.column_stack([q[:, j], dq[:, j], np.sign(dq[:, j]), ddq[:, j], np.ones(len(use))])
            # columns of unit length: the projection must not depend on units
            Q = np.linalg.qr(others / np.maximum(np.linalg.norm(others, axis=0), np.finfo(float).tiny))[0]
            x, y = (z - Q @ (Q.T @ z) for z in (links[:, j], tau[:, j]))
            weight = 1.0 / max(float(tau[:, j] @ tau[:, j]), np.finfo(float).tiny)
            both, prior_square = both + weight * float(x @ y), prior_square + weight * float(x @ x)
    factor = both / prior_square if prior_square > 0.0 and both > 0.0 else 1.0
    return prior.with_values(prior.values + (factor - 1.0) * bodies)


def without_placeholders(prior: Parameters) -> Parameters:
    """The prior with links that it says nothing usable about empty: what a log may be held against."""
    unusable = _unusable(prior)
    if not unusable:
        return prior
    values = np.array(prior.values)
    for j in unusable:
        values[prior.layout.link(j)] = 0.0
    return Parameters(prior.layout, values, prior.shapes, prior.origin)


def link_ends(robot: Robot) -> list[Array]:
    """(2, 3) per link: where its own joint and the next one sit, in the link's frame; a point beyond for the last."""
    out, tip = [], TIP * _size(robot)
    for j, joint in enumerate(robot.joints):
        start = -np.array(joint.arm, float)  # the arm leads from the axis to the frame's origin
        beyond = np.zeros(3) if np.any(start) else tip * np.array(joint.axis, float)
        following = [np.array(k.position, float) for k in robot.joints if k.parent == j]
        end = max(following, key=lambda p: float(np.linalg.norm(p - start)), default=beyond)
        out.append(np.stack([start, end]))
    return out


def _size(robot: Robot) -> float:
    """m, the length of the longest link; a metre for a robot whose joints all sit in one point."""
    return longest_link(robot) or 1.0


def capsules(robot: Robot) -> list[Array]:
    """Ten parameters per link, if all were capsules of one density."""
    return [capsule(ends, THINNEST * _size(robot)) for ends in link_ends(robot)]


def capsule(ends: Array, thinnest: float) -> Array:
    """Ten parameters of a solid rod of round section between two points (2, 3), its ends rounded into the volume.

    Args:
        ends: of its axis.
        thinnest: least radius, m.
    """
    start, end = ends
    along = end - start
    length = float(np.linalg.norm(along))
    radius = max(thinnest, length / SLENDER)
    mass = DENSITY * np.pi * radius**2 * (length + 4.0 * radius / 3.0)
    second = np.outer(along, along) / 12.0 + 0.25 * radius**2 * np.eye(3)  # about the middle, per mass
    middle = 0.5 * (start + end)
    J = np.zeros((4, 4))
    J[:3, :3] = mass * (second + np.outer(middle, middle))
    J[:3, 3] = J[3, :3] = mass * middle
    J[3, 3] = mass
    return inertia.from_pseudo_inertia(J)


def _unusable(prior: Parameters) -> list[int]:
    """Links (0-based) without values, or all when every link is the same placeholder."""
    links = {j: prior.link(j) for j in prior.layout.robot.links}
    empty = [j for j, ten in links.items() if not np.any(ten) or ten[9] <= 0.0]
    return list(links) if placeholder(prior.layout, list(links.values())) else empty


def placeholder(layout: Layout, links: list[Array]) -> bool:
    """Whether all links that have values are copies of each other: nobody measured them."""
    bodies = [inertia.to_com(ten) for ten in links if np.any(ten)]
    if len(bodies) < 2 or len(bodies) < len(links):
        return False
    first = bodies[0]
    size = float(np.abs(first.inertia).max())

    def alike(one: Array, other: Array) -> bool:
        return bool(np.allclose(one, other, rtol=ALIKE, atol=ALIKE * size))

    same = all(np.isclose(body.mass, first.mass, rtol=ALIKE) and alike(body.inertia, first.inertia) for body in bodies)
    round_body = alike(first.inertia, first.inertia[0, 0] * np.eye(3))
    return same and round_body
