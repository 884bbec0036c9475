"""One body alone: the ten parameters nearest to an estimate among those that a real body can have, with intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space

from inertica.arrays import Array
from inertica.physical.cone import Program
from inertica.physical.constraints import PHYSICAL
from inertica.physical.fit import Fit
from inertica.physical.logdet import newton_solve
from inertica.physical.priors import Entropic, Euclidean
from inertica.physical.scales import Reference, Size
from inertica.physical.uncertainty import profile_intervals
from inertica.robot import inertia
from inertica.robot.layout import Layout
from inertica.robot.model import Joint, Robot
from inertica.threads import one_thread

THIN = 0.2
"""Radius of gyration along an axis, in lengths of the body, below which a body is not made rounder on its own account."""

LOST = 1e-12
"""Eigenvalues of a correlation matrix below this share of the largest count as directions that are not known."""

NOTHING = 1e-6
"""Share of an open direction that counts as none."""


@dataclass(frozen=True, eq=False)
class PossibleBody:
    """Ten parameters that a real body can have.

    Args:
        values: (10,) `inertia.NAMES` order.
        lower, upper: (10,) 95 % intervals, constraints included; infinite where the data set no limit.
        held: whether the constraints moved the estimate.
        scale: (10,) sizes of its parameters: m l^2, m l and m of a mass and a length.
    """

    values: Array
    lower: Array
    upper: Array
    held: bool
    scale: Array


def possible_body(
    values: Array, covariance: Array, unknown: NDArray[np.bool_], open_directions: Array | None = None, level: float = 0.95
) -> PossibleBody:
    """The nearest real body in the metric of the covariance.

    Along directions that are not known a round body at the origin of the frame is the guess, and only what must hold for any real
    body limits them.

    Args:
        values: (10,) estimate.
        covariance: (10, 10) of it.
        unknown: (10,) parameters whose own value is not known; their intervals have no ends.
        open_directions: (10, k) changes of the parameters that the data do not see; by default those of unknown parameters.
        level: of the intervals.
    """
    layout = Layout(Robot("load", (Joint("joint", "load", -1),)))
    size = _size(values, covariance, unknown)
    reference = Reference.of(layout, inertia.from_com(size.mass, np.zeros(3), 0.4 * size.mass * size.length**2 * np.eye(3)))
    R = _known_rows(covariance, size.scale, np.eye(10)[:, unknown] if open_directions is None else open_directions)
    fit = Fit(R, R @ values, np.eye(10), 1.0)
    program, penalty = Program(reference, PHYSICAL), Euclidean().penalty(reference, fit)
    outcome = program.solve(fit, penalty)
    intervals = profile_intervals(program, fit, penalty, outcome.chi, level=level)
    chi = _kept_thick(outcome.chi, fit, layout, THIN * size.length) if outcome.active else outcome.chi
    lower = np.where(unknown, -np.inf, np.minimum(intervals.lower, chi))
    upper = np.where(unknown, np.inf, np.maximum(intervals.upper, chi))
    return PossibleBody(chi, lower, upper, bool(outcome.active), size.scale)


def resolved_combinations(open_directions: Array, scale: Array) -> Array:
    """(r, 10) independent combinations of parameters that no open direction changes.

    Args:
        open_directions: (10, k) changes of the parameters.
        scale: (10,) sizes of the parameters; combinations are orthonormal in these units.
    """
    changes = open_directions / scale[:, None]
    length = np.linalg.norm(changes, axis=0)
    changes = changes[:, length > 0.0] / length[length > 0.0]
    N = null_space(changes.T, rcond=NOTHING) if changes.size else np.eye(len(scale))
    return np.asarray(N.T / scale)


def _known_rows(covariance: Array, scale: Array, open_directions: Array) -> Array:
    """(r, 10) rows of unit variance: combinations of the parameters that are known, each divided by its standard deviation."""
    A = resolved_combinations(open_directions, scale)
    C = A @ covariance @ A.T
    std = np.sqrt(np.maximum(np.diag(C), 0.0))
    A, C, std = A[std > 0.0], C[np.ix_(std > 0.0, std > 0.0)], std[std > 0.0]
    if not len(std):
        return np.zeros((0, 10))
    with one_thread():
        e, V = np.linalg.eigh(C / np.outer(std, std))
    known = e > LOST * e[-1]
    return np.asarray((V[:, known] / np.sqrt(e[known])).T @ (A / std[:, None]))


def _kept_thick(ten: Array, fit: Fit, layout: Layout, thin: float) -> Array:
    """A body on the boundary of what is possible (a rod without thickness) moved inwards where the data do not mind.

    The pull is that of one independent observation towards a ball of the same mass, centre and size.
    """
    body = inertia.to_com(ten)
    second = max(0.5 * float(np.trace(body.inertia)) / 3.0, body.mass * thin**2)
    ball = Reference.of(layout, inertia.from_com(body.mass, body.com, 2.0 * second * np.eye(3)))
    return np.asarray(newton_solve(Program(ball, PHYSICAL), fit, Entropic(1.0).penalty(ball, fit)).chi)


def _size(values: Array, covariance: Array, unknown: NDArray[np.bool_]) -> Size:
    """Mass and length of the body by the sizes of what is known of it: mass m, first moments m l, inertias m l^2.

    A value that is smaller than its standard deviation counts as that.  Where the mass is not known on its own, and is zero or
    anything, first moments and inertias say both: their ratio is a length.
    """
    size = np.maximum(np.abs(values), np.sqrt(np.maximum(np.diag(covariance), 0.0)))
    mass, moment, second = (float(x.max()) for x in (size[9:], size[6:9], size[:6]))
    if mass > 0.0 and ((values[9] > 0.0 and not unknown[9]) or not (moment > 0.0 and second > 0.0)):
        length = np.sqrt(second / mass) if second > 0.0 else moment / mass
        return Size(mass, float(length) if length > 0.0 else 1.0)
    if moment > 0.0 and second > 0.0:
        return Size(moment**2 / second, second / moment)
    return Size(max(moment, second) or 1.0, 1.0)  # one kind alone has no length of its own
