"""Where an iteration starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from inertica.arrays import Array
from inertica.errors import InputError
from inertica.estimators.base import Need, Problem
from inertica.estimators.consistent.strategy import Consistent
from inertica.estimators.linear.least_squares import Wls
from inertica.physical.distort import SHARE, distorted
from inertica.preprocessing.filters import Butterworth
from inertica.preprocessing.prepare import prepare
from inertica.robot.drives import Armature
from inertica.robot.layout import Layout

REGULAR = 1e-4
"""Least eigenvalue of an inertia matrix of unit diagonal that is regular."""

LOOKED_AT = 500
"""Samples of a motion at which the inertia is looked at."""


class StartValues(Protocol):
    """Gives the first base parameters."""

    name: ClassVar[str]

    def __call__(self, problem: Problem, rng: np.random.Generator | None = None) -> Array: ...


@dataclass(frozen=True)
class FromPrior:
    """The prior (CAD) values."""

    name: ClassVar[str] = "prior"

    def __call__(self, problem: Problem, rng: np.random.Generator | None = None) -> Array:
        return problem.prior_beta


@dataclass(frozen=True, eq=False)
class StatedStart:
    """Values worked out elsewhere.

    Args:
        beta: (b,) base parameters.
    """

    beta: ArrayLike

    name: ClassVar[str] = "given"

    def __call__(self, problem: Problem, rng: np.random.Generator | None = None) -> Array:
        beta = np.array(self.beta, float)
        if beta.shape != (problem.base.rank,):
            raise InputError(f"a start of {beta.shape} values was given; there are {problem.base.rank} base parameters")
        return beta


@dataclass(frozen=True)
class Regular:
    """A regular inertia matrix and nothing else: no prior values are needed (DIDIM paper, eqs. 61-62).

    Every joint gets armature 1; one without armature gets a link of inertia 1 about its axis (mass 1 when it slides), which leaves
    the matrix regular although no longer the identity.
    """

    name: ClassVar[str] = "regular"

    def __call__(self, problem: Problem, rng: np.random.Generator | None = None) -> Array:
        layout = problem.base.layout
        chi = problem.fixed_values.copy()
        with_armature = set()
        for term, where in layout.drives:
            if isinstance(term, Armature):
                chi[where] = 1.0
                with_armature.add(term.joint)
        for j in range(layout.robot.n):
            if j not in with_armature:
                _turn_heavily(chi, layout, j)
        return problem.base.beta(chi)


@dataclass(frozen=True)
class RegularLinks:
    """The other regular inertia matrix: zero but for ZZ = 1 of every link, its inertia about its axis (DIDIM paper, eq. 63).

    Row i, column j of the matrix is the sum over the links k that both joints move of (z_k z_i)(z_k z_j), z the axes: regular, though
    not the identity.  A joint that slides gets mass 1.
    """

    name: ClassVar[str] = "regular-links"

    def __call__(self, problem: Problem, rng: np.random.Generator | None = None) -> Array:
        layout, chi = problem.base.layout, problem.fixed_values.copy()
        for j in range(layout.robot.n):
            _turn_heavily(chi, layout, j)
        return problem.base.beta(chi)


def _turn_heavily(chi: Array, layout: Layout, j: int) -> None:
    """Inertia 1 of link j about the axis of its joint, or mass 1 where it slides."""
    joint, first = layout.robot.joints[j], layout.link(j).start
    if joint.prismatic:
        chi[first + 9] = 1.0
    else:
        a = np.array(joint.axis, float)
        chi[first : first + 6] = [a[0] * a[0], a[0] * a[1], a[0] * a[2], a[1] * a[1], a[1] * a[2], a[2] * a[2]]


@dataclass(frozen=True)
class LeastSquaresOrPrior:
    """Least squares of the measured motion, or the prior where the loop simulated with that is unstable."""

    name: ClassVar[str] = "least-squares"

    def __call__(self, problem: Problem, rng: np.random.Generator | None = None) -> Array:
        return FilteredWls()(problem, rng)


@dataclass(frozen=True)
class FilteredWls:
    """Weighted least squares of the measured motion behind a low-pass filter.

    Args:
        cutoff: of the filter in Hz; None takes the motions as they are prepared.
    """

    cutoff: float | None = None

    name: ClassVar[str] = "wls"

    def __call__(self, problem: Problem, rng: np.random.Generator | None = None) -> Array:
        if not problem.has(Need.MOTION):
            raise InputError(f"a start from least squares needs {Need.MOTION.value}")
        if self.cutoff is None:
            return Wls(hac=False).estimate(problem).beta
        chosen = Butterworth(cutoff=self.cutoff)
        motions = tuple(prepare(m.log, replace(m.recipe, filter=chosen, rate=None, border=None)) for m in problem.motions)
        return Wls(hac=False).estimate(replace(problem, motions=motions)).beta


@dataclass(frozen=True)
class ConsistentWls:
    """Weighted least squares of the motion as prepared, over links and drives that could exist: its inertia is always regular."""

    name: ClassVar[str] = "pc-wls"

    def __call__(self, problem: Problem, rng: np.random.Generator | None = None) -> Array:
        if not problem.has(Need.MOTION):
            raise InputError(f"a start from least squares needs {Need.MOTION.value}")
        return Wls(hac=False, solve=Consistent()).estimate(problem).beta


@dataclass(frozen=True)
class PriorOrConsistent:
    """The prior where its inertia is regular and it says something of friction and drives; else `pc-wls`.

    Model files often state no friction, no armature and bodies of no size; nothing that starts there arrives.
    """

    name: ClassVar[str] = "auto"

    def __call__(self, problem: Problem, rng: np.random.Generator | None = None) -> Array:
        prior = FromPrior()(problem)
        # a singular inertia has accelerations without bound: the simulation would end in its first steps
        near = _knows_drives(problem) and least_inertia(problem, prior) > REGULAR
        return prior if near else ConsistentWls()(problem)


def _knows_drives(problem: Problem) -> bool:
    """Whether the prior states any value of friction, armature and the like, or there are none."""
    drives = [where for _, where in problem.base.layout.drives]
    return problem.prior is not None and (not drives or any(np.any(problem.prior.values[where]) for where in drives))


def least_inertia(problem: Problem, beta: Array) -> float:
    """Least eigenvalue of the inertia matrix along the motions, each scaled to a unit diagonal; zero where a joint has none."""
    chi, shapes = problem.fixed_values.copy(), None if problem.prior is None else problem.prior.shapes
    chi[problem.base.retained] = beta
    inertias = []
    for m in problem.motions:
        inertia = problem.engine.mass_matrix(m.q[:: max(1, len(m) // LOOKED_AT)], chi, shapes)
        # a unit diagonal makes kg and kg m^2 comparable, so that one threshold of regularity serves all robots
        scale = np.sqrt(np.abs(np.diagonal(inertia, axis1=1, axis2=2)))
        if not (scale > 0.0).all():
            return 0.0
        inertias.append(float(np.linalg.eigvalsh(inertia / (scale[:, :, None] * scale[:, None])).min()))
    return min(inertias)


@dataclass(frozen=True)
class Random:
    """beta_0 = beta_prior (1 + spread u), u uniform in [-1, 1]: off by up to `spread` (survey, section 9.1).

    Args:
        spread: relative.
    """

    spread: float = 0.15

    name: ClassVar[str] = "random"

    def __call__(self, problem: Problem, rng: np.random.Generator | None = None) -> Array:
        draw = np.random.default_rng(0) if rng is None else rng
        before = problem.prior_beta
        return before * (1.0 + self.spread * draw.uniform(-1.0, 1.0, len(before)))


@dataclass(frozen=True)
class Distorted:
    """The prior's standard parameters, each off by a random share, links still possible (survey, section 9.1).

    Args:
        share: standard deviation relative to each value.
    """

    share: float = SHARE

    name: ClassVar[str] = "distorted"

    def __call__(self, problem: Problem, rng: np.random.Generator | None = None) -> Array:
        if problem.prior is None:
            raise InputError(f"a distorted start needs {Need.PRIOR.value}")
        draw = np.random.default_rng(0) if rng is None else rng
        return problem.base.beta(distorted(problem.prior, draw, self.share).values)


STARTS: dict[str, Callable[[], StartValues]] = {
    kind.name: kind
    for kind in (PriorOrConsistent, FromPrior, FilteredWls, ConsistentWls, Regular, RegularLinks, Random, Distorted)
}
"""By the names users type."""

FORMER_STARTS = {"ols": "wls"}
"""Names that starts had before, still read."""
