"""One body alone: the ten parameters nearest to an estimate among those that a real body can have, with intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inertica.physical.cone import Program
from inertica.physical.constraints import PHYSICAL
from inertica.physical.fit import Fit
from inertica.physical.logdet import newton_solve
from inertica.physical.priors import Entropic, Euclidean
from inertica.physical.scales import Reference
from inertica.physical.uncertainty import profile_intervals
from inertica.robot import inertia
from inertica.robot.layout import Layout
from inertica.robot.model import Joint, Robot
from inertica.threads import one_thread

Array = NDArray[np.float64]

LENGTH = 0.1
"""m; size of a body of which nothing else is known."""

THIN = 0.02
"""m; radius of gyration along an axis below which a body is not made rounder on its own account."""

SMALLEST = 1e-3
"""kg; least mass that such a body is measured by."""

LOST = 1e-12
"""Eigenvalues of a correlation matrix below this share of the largest count as directions that are not known."""


@dataclass(frozen=True, eq=False)
class PossibleBody:
    """Ten parameters that a real body can have.

    Args:
        values: (10,) `inertia.NAMES` order.
        lower, upper: (10,) 95 % intervals, constraints included; infinite where the data set no limit.
        held: whether the constraints moved the estimate.
    """

    values: Array
    lower: Array
    upper: Array
    held: bool


def possible_body(values: Array, covariance: Array, unknown: NDArray[np.bool_], level: float = 0.95) -> PossibleBody:
    """The nearest real body in the metric of the covariance.

    Directions without variance are not known: there a small round body at the origin of the frame is the guess, and only what
    must hold for any real body limits them.

    Args:
        values: (10,) estimate.
        covariance: (10, 10) of it.
        unknown: (10,) parameters whose own value is not known; their intervals have no ends.
        level: of the intervals.
    """
    layout = Layout(Robot("load", (Joint("joint", "load", -1),)))
    reference = Reference.of(layout, _round(max(float(values[9]), SMALLEST)))
    scale = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    there = scale > 0.0
    with one_thread():
        e, V = np.linalg.eigh(covariance[np.ix_(there, there)] / np.outer(scale[there], scale[there]))
    known = e > LOST * e[-1]
    R = np.zeros((int(known.sum()), 10))
    R[:, there] = (V[:, known] / np.sqrt(e[known])).T / scale[there]
    fit = Fit(R, R @ values, np.eye(10), 1.0)
    program, penalty = Program(reference, PHYSICAL), Euclidean().penalty(reference, fit)
    outcome = program.solve(fit, penalty)
    found = profile_intervals(program, fit, penalty, outcome.chi, level=level)
    chi = _kept_thick(outcome.chi, fit, layout) if outcome.active else outcome.chi
    lower = np.where(unknown, -np.inf, np.minimum(found.lower, chi))
    upper = np.where(unknown, np.inf, np.maximum(found.upper, chi))
    return PossibleBody(chi, lower, upper, bool(outcome.active))


def _kept_thick(ten: Array, fit: Fit, layout: Layout) -> Array:
    """A body on the boundary of what is possible (a rod without thickness) moved inwards where the data do not mind.

    The pull is that of one independent observation towards a ball of the same mass, centre and size.
    """
    body = inertia.to_com(ten)
    second = max(0.5 * float(np.trace(body.inertia)) / 3.0, body.mass * THIN**2)
    ball = Reference.of(layout, inertia.from_com(body.mass, body.com, 2.0 * second * np.eye(3)))
    return np.asarray(newton_solve(Program(ball, PHYSICAL), fit, Entropic(1.0).penalty(ball, fit)).chi)


def _round(mass: float) -> Array:
    """A ball of a usual size at the origin."""
    return inertia.from_com(mass, np.zeros(3), 0.4 * mass * LENGTH**2 * np.eye(3))
