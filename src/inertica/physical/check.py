"""Whether a model can be real: link by link, drive by drive, and its inertia matrix over sampled configurations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from inertica.arrays import Array
from inertica.dynamics.engine import Engine
from inertica.identifiability.states import random_states
from inertica.physical.constraints import Constraint, Shares, slack
from inertica.physical.scales import Reference
from inertica.physical.stated import broken
from inertica.robot import inertia
from inertica.robot.layout import Parameters

CONFIGURATIONS = 1000
"""At which the inertia matrix of the whole robot is looked at."""


@dataclass(frozen=True, eq=False)
class LinkCheck:
    """One body.

    Args:
        name: of the link or payload.
        mass: kg.
        com: (3,) centre of mass in m, NaN without mass.
        eigenvalues: (3,) principal moments about the centre of mass in kg m^2, ascending.
        triangle: sum of the two smaller principal moments less the largest; negative for mass that would have to be negative.
        minors: (3,) leading minors of the CoM inertia (Sylvester); all positive for a positive definite one.
        cholesky_tolerance: the least negative pivot allowed in the Cholesky factorisation of the CoM inertia, as a positive number; 0
            for a positive definite one (consistent-parameters paper, Table III).
        margin: smallest eigenvalue of the pseudo-inertia in units of the body's size; positive for a body that can exist.
        empty: no mass and no inertia at all, as frames in model files have; nothing is wrong with it.
    """

    name: str
    mass: float
    com: Array
    eigenvalues: Array
    triangle: float
    minors: Array
    cholesky_tolerance: float
    margin: float
    empty: bool

    @property
    def consistent(self) -> bool:
        return self.empty or self.margin > 0.0

    @property
    def problem(self) -> str:
        """What is wrong, in a few words; empty when nothing is."""
        if self.consistent:
            return ""
        if self.mass <= 0.0:
            return "mass is not positive"
        if self.eigenvalues[0] <= 0.0:
            return "inertia about the centre of mass is not positive definite"
        if self.triangle <= 0.0:
            return "principal moments break the triangle inequality"
        return "pseudo-inertia is not positive definite"


@dataclass(frozen=True, eq=False)
class ModelCheck:
    """A whole model.

    Args:
        robot: its name.
        links: every body.
        negative: drive and friction parameters on the wrong side of their sign, and broken shares of coupled drives.
        inertia_matrix: smallest eigenvalue of the joint-space inertia matrix over the configurations, kg m^2.
        worst: (n,) configuration where it is smallest.
        configurations: how many were looked at.
        broken: constraints stated for the robot that its values do not satisfy; a possible robot may still not be the user's.
    """

    robot: str
    links: tuple[LinkCheck, ...]
    negative: tuple[str, ...]
    inertia_matrix: float
    worst: Array
    configurations: int
    broken: tuple[str, ...] = ()

    @property
    def consistent(self) -> bool:
        return all(link.consistent for link in self.links) and not self.negative and self.inertia_matrix > 0.0

    @property
    def sentence(self) -> str:
        if self.consistent:
            return f"{self.robot} is physically consistent" + (f"; it breaks: {', '.join(self.broken)}" if self.broken else "")
        bad = [link.name for link in self.links if not link.consistent]
        parts = [f"no real body has the parameters of {', '.join(bad)}"] if bad else []
        parts += [f"wrong sign: {', '.join(self.negative)}"] if self.negative else []
        parts += ["the inertia matrix is not positive definite everywhere"] if self.inertia_matrix <= 0.0 else []
        parts += [f"it breaks: {', '.join(self.broken)}"] if self.broken else []
        return f"{self.robot} is not physically consistent: {'; '.join(parts)}"

    def document(self) -> Mapping[str, Any]:
        """As plain data for JSON."""
        return {
            "robot": self.robot,
            "consistent": self.consistent,
            "sentence": self.sentence,
            "links": [
                {
                    "name": link.name,
                    "consistent": link.consistent,
                    "problem": link.problem,
                    "mass": link.mass,
                    "com": link.com,
                    "eigenvalues": link.eigenvalues,
                    "triangle": link.triangle,
                    "minors": link.minors,
                    "cholesky_tolerance": link.cholesky_tolerance,
                    "margin": link.margin,
                    "empty": link.empty,
                }
                for link in self.links
            ],
            "negative": list(self.negative),
            "broken": list(self.broken),
            "inertia_matrix": {
                "smallest_eigenvalue": self.inertia_matrix,
                "configuration": self.worst,
                "configurations": self.configurations,
            },
        }


def check_model(
    parameters: Parameters, configurations: int = CONFIGURATIONS, seed: int = 0, constraints: Sequence[Constraint] = ()
) -> ModelCheck:
    """Checks values of a model.

    Args:
        parameters: of the robot, with its layout.
        configurations: at which the inertia matrix is evaluated, random within the joint limits.
        seed: of these.
        constraints: stated for the robot, see `stated.stated`.

    Examples:
        >>> ia.check_model(ia.load("tx40").prior, configurations=20).consistent
        True
    """
    layout, links = parameters.layout, check_links(parameters)
    q = random_states(layout, configurations, seed=seed).q
    M = np.asarray(Engine(layout).mass_matrix(q, parameters.values, parameters.shapes))
    free = [j for j in range(layout.robot.n) if j not in layout.robot.dependent]
    smallest = np.linalg.eigvalsh(M[:, free][:, :, free])[:, 0]
    worst = int(np.argmin(smallest))
    negative, violated = negative_names(parameters), broken(parameters, constraints)
    return ModelCheck(layout.robot.name, links, negative, float(smallest[worst]), q[worst], len(q), violated)


def check_links(parameters: Parameters) -> tuple[LinkCheck, ...]:
    """Every body of a model; no dynamics are computed for that."""
    reference = Reference.of(parameters.layout, parameters.values)
    bodies = enumerate(reference.bodies)
    return tuple(check_link(_title(reference, i), parameters.values[where], size.pseudo) for i, (_, where, size) in bodies)


def smallest_margin(parameters: Parameters) -> float | None:
    """That of the link nearest to no real body, of those that have any value; None when none has."""
    reference = Reference.of(parameters.layout, parameters.values)
    tens = [(parameters.values[where], size.pseudo) for _, where, size in reference.bodies]
    return min((_margin(ten, root) for ten, root in tens if np.any(ten)), default=None)


def _margin(ten: Array, root: Array) -> float:
    return float(np.linalg.eigvalsh(root @ inertia.pseudo_inertia(ten) @ root)[0])


def check_link(name: str, ten: ArrayLike, root: Array | None = None) -> LinkCheck:
    """Checks ten parameters; `root` is C of `scales.Size`, by which the margin is measured."""
    p = np.asarray(ten, float)
    body = inertia.to_com(p)
    eigenvalues = np.asarray(np.linalg.eigvalsh(body.inertia), float)
    minors = np.array([np.linalg.det(body.inertia[:k, :k]) for k in (1, 2, 3)])
    margin = _margin(p, np.eye(4) if root is None else root)
    com = body.com if body.mass else np.full(3, np.nan)
    triangle = float(eigenvalues[0] + eigenvalues[1] - eigenvalues[2])
    return LinkCheck(name, body.mass, com, eigenvalues, triangle, minors, cholesky_tolerance(body.inertia), margin, not np.any(p))


def negative_names(parameters: Parameters, tolerance: float = 1e-12) -> tuple[str, ...]:
    """Drive and friction parameters with a wrong sign, and shares of coupled drives that exceed the whole.

    Args:
        parameters: to look at.
        tolerance: by how much they may be wrong, in parameters' reference sizes.
    """
    reference = Reference.of(parameters.layout, parameters.values)
    entries = zip(parameters.layout.parameters, parameters.values, reference.scale, strict=True)
    kinds = ("inertia", "first_moment", "mass")
    out = [p.name for p, value, size in entries if p.kind not in kinds and value < p.lower - tolerance * size]
    shares = Shares(margin=0.0).blocks(reference)
    return (*out, *(block.name for block in shares if slack(block, parameters.values) < -tolerance))


def _title(reference: Reference, i: int) -> str:
    body = reference.bodies[i][0]
    link_name = reference.layout.robot.joints[body.link].link
    return link_name if reference.label(body).startswith("link") else f"{reference.label(body)} on {link_name}"


def cholesky_tolerance(matrix: ArrayLike) -> float:
    """By how much pivots of a Cholesky factorisation fall below zero; 0 for a positive semidefinite matrix."""
    A, worst = np.array(matrix, float), 0.0
    for k in range(len(A)):
        pivot, row = float(A[k, k]), A[k, k + 1 :]
        worst = max(worst, -pivot)
        if pivot == 0.0:
            if row.any():  # indefinite, and no tolerance lets the factorisation go on
                return np.inf
            continue
        A[k + 1 :, k + 1 :] -= np.outer(row, row) / pivot
    return worst
