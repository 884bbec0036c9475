"""The point-mass approximation: each link is a cloud of points with masses that are not negative, a quadratic program.

Ayusawa and Nakamura (2010), mentioned as [93] in the survey: with points p_k fixed in a link,

    ten = sum_k m_k ten(p_k),   m_k >= 0,

covers only bodies inside the cone that the points span, so its minimum lies above that of the full problem.  How far is shown:
`PointMass.excess` compares with the cone solver, and shrinks as points are added.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.errors import InputError
from inertica.physical.cone import ConeSolution, Metric, Program, SolveError
from inertica.physical.conesets import clarabel, settings_of
from inertica.physical.constraints import SIGN_MARGIN, slack
from inertica.physical.fit import Fit
from inertica.physical.priors import Quadratic
from inertica.robot import inertia


@dataclass(frozen=True, eq=False)
class PointMass:
    """What the approximation found.

    Args:
        chi: (P,).
        outcome: the same as other solvers give it, with the error of the approximation as status.
        objective: squares of data and prior.
        excess: relative excess of the objective over that of the full problem.
        distance: |chi - chi_full| / |chi_full| in scaled parameters.
        masses: per body (k,) masses of its points.
    """

    chi: Array
    outcome: ConeSolution
    objective: float
    excess: float
    distance: float
    masses: tuple[Array, ...]


def lattice(count: int, radius: float, centre: Array) -> Array:
    """(count^3, 3) points of a cubic lattice of this half-width around a centre."""
    axis = np.linspace(-1.0, 1.0, count)
    return radius * np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3) + centre


def pointmass_solve(program: Program, fit: Fit, penalty: Quadratic, *, count: int = 5, reach: float = 3.0) -> PointMass:
    """The approximation on lattices of count^3 points per body, centred on the prior's centre of mass.

    Args:
        program: robot, scales and constraints; bodies are replaced by points and signs kept, others are only checked.
        fit, penalty: data and prior.
        count: points per edge.
        reach: half-width of the lattice in the body's reference lengths.

    Raises:
        SolveError: nothing was found.
        InputError: a constraint that points do not keep is broken.
    """
    reference, free = program.reference, program.free
    metric = Metric.of(program, fit, penalty)
    columns, slots = _columns(program, count, reach)
    x_of = columns[free] / program.scale[:, None]
    k, n = len(metric.x), columns.shape[1]
    rows = sp.csc_matrix(np.hstack([metric.M @ x_of, -np.eye(k)]))
    bounded = np.flatnonzero(np.concatenate([s.bounded for s in slots]))
    keep = sp.csc_matrix((-np.ones(len(bounded)), (np.arange(len(bounded)), bounded)), (len(bounded), n + k))
    P = sp.csc_matrix(sp.diags(np.concatenate([np.zeros(n), np.full(k, 2.0)])))
    cones = [clarabel.ZeroConeT(k), clarabel.NonnegativeConeT(len(bounded))]
    right = np.concatenate([metric.M @ metric.x, np.zeros(len(bounded))])
    A = sp.vstack([rows, keep], format="csc")
    answer = clarabel.DefaultSolver(P, np.zeros(n + k), A, right, cones, settings_of(program.accuracy)).solve()
    u = np.array(answer.x)[:n]
    if not np.isfinite(u).all():
        raise SolveError(f"{reference.layout.robot.name}: no clouds of points were found; use the solver 'cone'")
    u[bounded] = np.maximum(u[bounded], 0.0)
    chi = program.chi(x_of @ u)
    for block in program.blocks:
        if block.cone != "semidefinite" and slack(block, chi) < -program.accuracy.feasibility - SIGN_MARGIN:
            raise InputError(f"a cloud of points does not keep '{block.name}'; use the cone solver")
    full = program.solve(fit, penalty)
    objective = fit.squares(chi) + penalty.value(chi)
    distance = np.linalg.norm((chi - full.chi) / reference.scale) / np.linalg.norm(full.chi / reference.scale)
    masses = tuple(u[s.where] * s.mass for s in slots if s.mass)
    excess = objective / full.objective - 1.0
    warning = (
        f"links are clouds of {count**3} points, an approximation: squares of data and prior are {100.0 * excess:.2g} % above their "
        f"least, parameters {100.0 * distance:.2g} % away from the exact ones, and links may be too thin to exist"
    )
    outcome = ConeSolution(
        chi, objective, fit.squares(chi), full.free_squares, program.active(chi), int(answer.iterations), warning, "points"
    )
    return PointMass(chi, outcome, objective, excess, float(distance), masses)


@dataclass(frozen=True, eq=False)
class _Slot:
    """Unknowns of one body or scalar: where they are, which must not be negative, the unit of a point's mass."""

    where: slice
    bounded: NDArray[np.bool_]
    mass: float = 0.0


def _columns(program: Program, count: int, reach: float) -> tuple[Array, list[_Slot]]:
    """(P, unknowns) map from point masses and other parameters (in their scales) to chi."""
    reference = program.reference
    columns, slots, start = [], [], 0
    inside = np.zeros(reference.layout.size, bool)
    for _, where, size in reference.bodies:
        inside[where] = True
        ten = reference.values[where]
        centre = ten[6:9] / ten[9] if ten[9] > 0.0 else np.zeros(3)
        points = lattice(count, reach * size.length, centre)
        block = np.zeros((reference.layout.size, len(points)))
        block[where] = size.mass * np.array([inertia.from_com(1.0, p, np.zeros((3, 3))) for p in points]).T
        columns.append(block)
        slots.append(_Slot(slice(start, start + len(points)), np.ones(len(points), bool), size.mass))
        start += len(points)
    for k in np.flatnonzero(~inside):
        block = np.zeros((reference.layout.size, 1))
        block[k] = reference.scale[k]
        columns.append(block)
        slots.append(_Slot(slice(start, start + 1), np.array([reference.layout.parameters[k].lower == 0.0])))
        start += 1
    return np.hstack(columns), slots
