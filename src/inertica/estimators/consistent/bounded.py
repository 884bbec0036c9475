"""The prior itself, and least squares held near it: the line-up of the Jaco2 paper (Golluccio and others 2021), for any robot.

    cad     the prior's values, no data
    uls     ordinary least squares (its eq. 8)
    cls-1   standard parameters within bounds around the prior whose base parameters are nearest to those of uls
    cls-2   least squares over links with M > 0 and positive CoM inertia (eq. 3), masses and first moments within bounds (eq. 5)
    cls-3   least squares over bodies that can exist (eq. 4), their CoM (eq. 6) and their mass inside ellipsoids

The paper takes bounds and ellipsoids from CAD and link geometry without printing them.  Here they follow from the prior and the
kinematics in one place: `prior_bounds` and `link_ellipsoids`.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from inertica.dynamics.tsqr import Stacked
from inertica.estimators.base import Capability, Estimate, Need, Problem
from inertica.estimators.consistent.strategy import EXACT, Consistent
from inertica.estimators.evidence import Solution
from inertica.estimators.linear.least_squares import MEASURED, Ols, weighted_fit
from inertica.estimators.solve import FitErrors, Unconstrained, estimated
from inertica.physical.active import response
from inertica.physical.cone import Program
from inertica.physical.constraints import Bounds, Constraint, PositiveInertia, RealBody, Shares, Signs
from inertica.physical.fit import Fit
from inertica.physical.priors import Euclidean, Quadratic
from inertica.physical.regions import CentreInEllipsoid, Ellipsoid, MassInEllipsoid
from inertica.physical.scales import Reference
from inertica.robot import inertia

WITH_PRIOR: frozenset[Need] = MEASURED | {Need.PRIOR}
HELD: frozenset[Capability] = frozenset({Capability.TAKES_CONSTRAINTS, Capability.PULLED, Capability.COVARIANCE})

SOLID = float(np.sqrt(5.0))
"""Semi-axis of a solid ellipsoid of even density over the standard deviation of its mass along that axis."""

THINNEST = 0.1
"""Least semi-axis of a link's ellipsoid as a share of the body's reference length: priors of plates and rods get some thickness."""

STRENGTH = 1.0
"""Of the regularisation of cls-2 and cls-3: a parameter changed by its own size weighs like one residual of one standard deviation."""

COARSE = 100.0
"""How many times stronger the pull of the first solve is, from which the size of the residuals is taken."""

HARDLY = 3e-4
"""Weight of the pull by which cls-1 decides what base parameters leave open, relative to that of the strongest parameter."""


@dataclass(frozen=True)
class Cad:
    """The prior's values, whatever the data say; they only serve to state its residual.

    Nothing is estimated, so no direction counts as resolved and all standard deviations are infinite.
    """

    name: ClassVar[str] = "cad"
    needs: ClassVar[frozenset[Need]] = WITH_PRIOR
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.PULLED})

    def estimate(self, problem: Problem, rng: np.random.Generator | None = None) -> Estimate:
        problem.require(self)
        assert problem.prior is not None
        start, system, b = time.perf_counter(), problem.observations, problem.base.rank
        R = system.stacked().R
        norms = np.linalg.norm(R, axis=0)
        condition = float(np.linalg.cond(R / np.where(norms > 0.0, norms, 1.0)))
        warning = "these are the prior's values; the data were not used, so nothing is known about their errors"
        solution = Solution(
            problem.prior_beta, np.zeros((b, b)), condition, np.eye(b), np.array(problem.prior.values), (warning,)
        )
        estimate = estimated(self.name, problem, solution, FitErrors(system.residual_sigmas(solution.beta), None), start)
        return replace(estimate, stop_reason="the prior's values, no fit")


@dataclass(frozen=True)
class Uls(Ols):
    """`Ols` under the name that the paper gives it."""

    kind: ClassVar[str] = "uls"


@dataclass(frozen=True)
class BoundedNearest:
    """min |T chi - beta_uls|^2 with every standard parameter within bounds around the prior.

    Near is meant in the base parameters as they are (SI units); the data enter through beta_uls only.  Where several chi are equally
    near, a pull that hardly weighs takes the one closest to the prior.

    Args:
        width: half width of the bounds as a share of each parameter's prior value.
        room: what is added to it, as a share of the size of the link (M, M l, M l^2), so that prior zeros can move a little.
        hac: covariance that accounts for serial correlation of the residuals.
    """

    width: float = 0.2
    room: float = 0.01
    hac: bool = True

    name: ClassVar[str] = "cls-1"
    needs: ClassVar[frozenset[Need]] = WITH_PRIOR
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.PULLED, Capability.COVARIANCE})

    def estimate(self, problem: Problem, rng: np.random.Generator | None = None) -> Estimate:
        problem.require(self)
        start, reference = time.perf_counter(), _reference(problem)
        free = weighted_fit(self, problem, Unconstrained(), None, start)
        assert free.covariance is not None and free.diagnostics is not None
        program = Program(reference, (Signs(), Shares(), prior_bounds(reference, self.width, self.room)))
        fit = Fit(np.eye(problem.base.rank), free.beta, problem.base.T)
        strongest = float(np.linalg.norm(fit.T * reference.scale, axis=0).max())
        pull = Quadratic(HARDLY * strongest * np.diag(1.0 / reference.scale), reference.values)
        outcome = program.solve(fit, pull)
        P = fit.T @ response(program, fit, pull, outcome.chi).inverse @ fit.T.T  # how beta follows beta_uls
        beta = fit.T @ outcome.chi
        held = [b.name for b in outcome.active if b.cone != "zero"]
        warning = f"{len(held)} bounds hold the parameters near the prior; their standard deviations are those within the bounds"
        sigma, plain = problem.observations.residual_sigmas(beta), P @ free.diagnostics.plain_covariance @ P.T
        return replace(
            free,
            beta=beta,
            chi=outcome.chi,
            covariance=P @ free.covariance @ P.T,
            diagnostics=replace(free.diagnostics, sigma=sigma, plain_covariance=plain),
            seconds=time.perf_counter() - start,
            warnings=(*free.warnings, *((warning,) if held else ())),
        )


@dataclass(frozen=True)
class FixedFit:
    """min |R T chi - z|^2 + strength sigma^2 |(chi - chi_0) / size|^2 within constraints, sigma that of the residuals they leave.

    `Consistent` takes sigma from unconstrained residuals.  Bounds that exclude the truth leave much larger ones; weighed against the
    small ones the pull would be too weak to decide anything, and for the cone solver to reach its accuracy on long records.

    Args:
        constraints: what holds.
        strength: of the pull.
    """

    constraints: tuple[Constraint, ...]
    strength: float = STRENGTH

    def __call__(self, system: Stacked, problem: Problem) -> Solution:
        coarse = Consistent(self.constraints, Euclidean(COARSE * self.strength))
        left = float(np.sum((system.R @ coarse(system, problem).beta - system.z) ** 2))
        free = max(system.rest, EXACT * float(np.hypot(np.linalg.norm(system.z), system.rest)), 1e-150) ** 2
        return coarse.with_strength(self.strength * (1.0 + left / free))(system, problem)


@dataclass(frozen=True)
class _HeldFit(ABC):
    """Least squares of all joints alike, within constraints that follow from the prior.

    Args:
        strength: of the pull to the prior, see `FixedFit`.
        hac: covariance that accounts for serial correlation of the residuals.
    """

    strength: float = STRENGTH
    hac: bool = True

    name: ClassVar[str]
    needs: ClassVar[frozenset[Need]] = WITH_PRIOR
    capabilities: ClassVar[frozenset[Capability]] = HELD

    def estimate(self, problem: Problem, rng: np.random.Generator | None = None) -> Estimate:
        problem.require(self)
        solve = FixedFit(self.constraints(_reference(problem)), self.strength)
        return weighted_fit(self, problem, solve, None)

    @abstractmethod
    def constraints(self, reference: Reference) -> tuple[Constraint, ...]: ...


@dataclass(frozen=True)
class FeasibleBounded(_HeldFit):
    """min |W chi - y|^2 + a small pull to the prior, M > 0, CoM inertia > 0, masses and first moments within bounds of the prior.

    Args:
        width: half width of the first moments' bounds as a share of the prior value.
        room: what is added to it, as a share of the link's M l.
        mass_factor: masses are between the prior's divided and multiplied by this.
    """

    width: float = 0.2
    room: float = 0.01
    mass_factor: float = 3.0

    name: ClassVar[str] = "cls-2"

    def constraints(self, reference: Reference) -> tuple[Constraint, ...]:
        moments = prior_bounds(reference, self.width, self.room, ("first_moment",))
        factor = self.mass_factor
        known = [(name, v) for name, v, kind, _ in _of_bodies(reference) if kind == "mass" and v > 0.0]
        masses = Bounds({name: (v / factor, v * factor) for name, v in known})
        return PositiveInertia(), Signs(), Shares(), moments, masses


@dataclass(frozen=True)
class ConsistentInside(_HeldFit):
    """min |W chi - y|^2 + a small pull to the prior over bodies that can exist, with CoM and mass inside ellipsoids.

    Args:
        reach: size of the ellipsoid that holds a link's mass, in units of the smallest one, see `link_ellipsoids`.
        centre_reach: the same of the ellipsoid that holds its CoM.
        points: 1-based link -> (k, 3) further points in m in the link's frame that belong to it, such as a tool's end.
    """

    reach: float = 1.5
    centre_reach: float = 1.0
    points: Mapping[int, ArrayLike] = field(default_factory=dict)

    name: ClassVar[str] = "cls-3"
    capabilities: ClassVar[frozenset[Capability]] = HELD | {Capability.CONSISTENT}

    def constraints(self, reference: Reference) -> tuple[Constraint, ...]:
        whole = link_ellipsoids(reference, self.reach, self.points)
        centres = link_ellipsoids(reference, self.centre_reach, self.points)
        return RealBody(), Signs(), Shares(), CentreInEllipsoid(centres), MassInEllipsoid(whole)


def prior_bounds(reference: Reference, width: float, room: float, kinds: tuple[str, ...] | None = None) -> Bounds:
    """prior +- (width |prior| + room size) of every standard parameter, or of those of some kinds.

    Parameters of which the prior says nothing stay unbounded: links without any prior, drives and friction whose prior is zero.
    """
    bounds = {}
    for name, value, kind, size in _of_bodies(reference):
        if (kinds is None or kind in kinds) and not (kind == "mass" and value <= 0.0):
            half = width * abs(value) + room * size
            bounds[name] = (max(value - half, 0.0) if kind == "mass" else value - half, value + half)
    for p, value in zip(reference.layout.parameters, reference.values, strict=True):
        if (kinds is None or p.kind in kinds) and p.kind not in _BODY_KINDS and value != 0.0:
            bounds[p.name] = (max(value - width * abs(value), p.lower), value + width * abs(value))
    return Bounds(bounds)


def link_ellipsoids(reference: Reference, factor: float, points: Mapping[int, ArrayLike] | None = None) -> dict[int, Ellipsoid]:
    """1-based link -> the smallest ellipsoid around what is known to belong to it, with all its semi-axes times `factor`.

    Known are: the solid ellipsoid of even density that has the prior's mass, CoM and inertia; the joint that carries the link and
    those that it carries; and further points given.  With a factor of at least 1 the prior lies inside by construction.  Links
    without a sensible prior get none.
    """
    joints, out = reference.layout.robot.joints, {}
    for body, where, size in reference.bodies:
        link = body.link + 1
        seen = inertia.to_com(reference.values[where])
        if body.suffix != str(link) or seen.mass <= 0.0:
            continue
        spread, axes = np.linalg.eigh(0.5 * np.trace(seen.inertia) * np.eye(3) - seen.inertia)
        semi = SOLID * np.sqrt(np.maximum(spread, 0.0) / seen.mass)
        arms = axes * np.maximum(semi, THINNEST * size.length)
        ends = [-np.array(joints[body.link].arm), *(np.array(j.position) for j in joints if j.parent == body.link)]
        ends += list(np.reshape(np.asarray((points or {}).get(link, np.zeros((0, 3))), float), (-1, 3)))
        least = Ellipsoid.around(np.vstack([seen.com + arms.T, seen.com - arms.T, *ends]), tolerance=0.01)
        out[link] = replace(least, Q=least.Q / factor**2)
    return out


_BODY_KINDS = ("inertia", "first_moment", "mass")


def _of_bodies(reference: Reference) -> list[tuple[str, float, str, float]]:
    """Name, prior, kind and size of every free parameter of bodies that have a prior."""
    out = []
    for _, where, size in reference.bodies:
        if not np.any(reference.values[where]):
            continue
        for p, value, scale in zip(reference.layout.parameters[where], reference.values[where], size.scale, strict=True):
            if not p.fixed:
                out.append((p.name, float(value), p.kind, float(scale)))
    return out


def _reference(problem: Problem) -> Reference:
    assert problem.prior is not None
    return Reference.of(problem.base.layout, problem.prior.values)
