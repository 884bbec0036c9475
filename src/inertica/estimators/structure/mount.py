"""How a robot is mounted: the data of a problem with the direction of gravity open, tests of a lean, and of the sign.

The squares as a function of the direction are in `tilt.py`; here are the rows they come from and what is concluded from them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc

from inertica.arrays import Array
from inertica.dynamics.triangle import stacked_factor
from inertica.dynamics.weight import Weight
from inertica.errors import InputError
from inertica.estimators.base import Problem
from inertica.estimators.consistent.strategy import Consistent
from inertica.estimators.covariance import correlation_time, scores_of
from inertica.estimators.observe import Observations
from inertica.estimators.structure.tilt import GravityStep, Tilt
from inertica.physical.cone import Program, SolveError
from inertica.physical.scales import Reference
from inertica.preprocessing.motion import Motion
from inertica.threads import one_thread

BLOCKS = 5
"""Parts of the data of which one is left out at a time."""

FEWEST_ROWS = 20
"""Rows of the joint with most of them below which nothing is tested."""


class MountObservations(Observations):
    """Rows of [Y Gx Gy Gz] in all standard parameters: columns 0 .. P - 1 are those of Y, then those of G axis by axis.

    Args:
        problem: with the robot under the gravity of its description; fixed parameters are columns like the others.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.base, problem.motions, problem.prior)
        layout = self.base.layout
        self.weight_of = Weight(layout, threads=problem.engine.threads, target=problem.engine.target)
        pulls = self.weight_of.pulls
        self.heavy = np.array(sorted({k for _, k, _ in pulls}), np.intp)
        place = {int(k): i for i, k in enumerate(self.heavy)}
        robot_entries, turned = (
            problem.engine.entries,
            [(i, layout.size + axis * len(self.heavy) + place[k]) for i, k, axis in pulls],
        )
        all_entries = [*robot_entries, *turned]
        self.entries = [[e for e, (i, _) in enumerate(all_entries) if i == j] for j in range(self.n)]
        self.columns = [np.array([all_entries[e][1] for e in entries], np.intp) for entries in self.entries]
        self.width = layout.size + 3 * len(self.heavy)
        # nothing is taken off as known: a fixed parameter's weight turns with gravity, too
        self.known, self._straight = [], False

    def regressor(self, motion: Motion, where: slice) -> Iterator[tuple[slice, Array]]:
        q = motion.q[where]
        for part, entries in super().regressor(motion, where):
            yield part, np.concatenate([entries, self.weight_of.slopes(q[part]).T])


@dataclass(frozen=True, eq=False)
class LeftOutGravity:
    """What fits without one block each say of that block.

    Args:
        errors: (blocks,) squares of the prediction errors.
        sizes: (blocks,) squares of the torque.
        directions: (blocks, 3) gravity in each fit.
    """

    errors: Array
    sizes: Array
    directions: Array

    @property
    def error(self) -> float:
        return float(self.errors.sum())

    @property
    def size(self) -> float:
        return float(self.sizes.sum())

    def spread(self, along: Array) -> Array:
        """(2,) standard deviations of the angles along tangents in degrees, by how much they change without a block (jackknife)."""
        count = len(self.directions)
        angles = np.degrees(self.directions @ along.T / np.linalg.norm(self.directions, axis=1)[:, None])
        # delete-a-block jackknife: it sees errors that last as long as a block, which row-wise variances do not
        return np.asarray(np.sqrt((count - 1) / count * np.sum((angles - angles.mean(axis=0)) ** 2, axis=0)))


class MountData:
    """The data of a problem as factors, block by block and joint by joint.

    Args:
        problem: with offsets among its parameters; a constant torque must not be taken for a lean.
        doubtful: names of parameters that are there for the lean alone; the description says they are zero.
    """

    def __init__(self, problem: Problem, doubtful: Collection[str] = ()) -> None:
        self.problem = problem
        layout = problem.base.layout
        self.doubtful = np.array([name in doubtful for name in layout.names])
        self.system = MountObservations(problem)
        self.file = np.array(layout.robot.gravity)
        self.free = np.array([not p.fixed for p in layout.parameters])
        self.prior = np.zeros(layout.size) if problem.prior is None else np.array(problem.prior.values)
        blocks = self.system.blocks(BLOCKS)
        self.factors = [[joint.triangle for joint in block.joints] for block in blocks]
        self.counts = np.array([block.counts for block in blocks])
        if self.counts.sum(axis=0).max() < FEWEST_ROWS:
            raise InputError("there are too few usable samples to test how the robot is mounted")

    @property
    def rows(self) -> float:
        """Rows of all joints."""
        return float(self.counts.sum())

    @cached_property
    def _joints(self) -> list[Array]:
        """R of every joint over all blocks."""
        return [stacked_factor(*(block[j] for block in self.factors)) for j in range(self.system.n)]

    def tilt(self, weights: Array, blocks: Sequence[int] | None = None) -> Tilt:
        """All joints, each weighted by 1 / sigma_j, of some blocks or of all."""
        n = self.system.n
        parts = [self._joints] if blocks is None else [self.factors[b] for b in blocks]
        stacked = [self._spread(part[j], j) * weights[j] for part in parts for j in range(n)]
        return Tilt(stacked_factor(*stacked), self.system.heavy, self.file, self.prior, self.free)

    def _spread(self, R: Array, j: int) -> Array:
        """A joint's factor on all columns."""
        out = np.zeros((len(R), self.system.width + 1))
        out[:, self.system.columns[j]] = R[:, :-1]
        out[:, -1] = R[:, -1]
        return out

    def weights(self, g: ArrayLike, rounds: int = 2) -> Array:
        """(n,) 1 / sigma_j from the fit at a direction."""
        size = np.array([np.linalg.norm(R[:, -1]) for R in self._joints])
        w = np.sqrt(self.counts.sum(axis=0)) / np.maximum(size, 1e-300)
        for _ in range(rounds):
            chi = self.tilt(w).solve(g).chi
            left = np.array([np.sqrt(self._joint(j).error(g, chi)) for j in range(self.system.n)])
            # a joint that is explained exactly would get an infinite weight
            w = np.sqrt(self.counts.sum(axis=0)) / np.maximum(left, 1e-9 * np.maximum(size, 1e-300))
        return w

    def _joint(self, j: int) -> Tilt:
        return Tilt(self._spread(self._joints[j], j), self.system.heavy, self.file, self.prior, self.free)

    def left_out(self, weights: Array, g: Array, steps: int = 0) -> LeftOutGravity:
        """Prediction of every block by the others.

        Args:
            weights: (n,) 1 / sigma_j.
            g: direction.
            steps: Gauss-Newton steps by which the direction follows the data of each fit; 0 holds it.
        """
        errors, sizes, directions = [], [], []
        blocks = range(len(self.factors))
        for b in blocks:
            rest = self.tilt(weights, [i for i in blocks if i != b])
            here = rest.newton(g, steps)[0] if steps else g
            part = self.tilt(weights, [b])
            errors.append(part.error(here, rest.solve(here).chi))
            sizes.append(float(part.R[:, -1] @ part.R[:, -1]))
            directions.append(here)
        return LeftOutGravity(np.array(errors), np.array(sizes), np.array(directions))


@dataclass(frozen=True, eq=False)
class LeanTest:
    """Two angles away from a direction, in one step from it, and whether they are more than noise.

    Args:
        angles: (2,) degrees along the tangents.
        tangents: (2, 3) unit vectors of the base frame.
        covariance: (2, 2) degrees squared, serial correlation of the residuals accounted for.
        p: probability of angles like these when there are none.
        correlation: correlation time of the residuals in rows, median over joints.
    """

    angles: Array
    tangents: Array
    covariance: Array
    p: float
    correlation: float

    @property
    def sd(self) -> float:
        """Degrees, of both angles together."""
        return float(np.sqrt(np.trace(self.covariance)))

    def at_least(self, sd: Array) -> LeanTest:
        """The same with standard deviations of at least these; noise is not all that makes parts of the data disagree."""
        factor = np.maximum(1.0, sd / np.sqrt(np.diag(self.covariance)))
        return replace(self, covariance=factor[:, None] * self.covariance * factor)

    def probability(self, angles: Array) -> float:
        """Of angles as large as these when there are none."""
        return float(chdtrc(2, angles @ np.linalg.solve(self.covariance, angles)))


def lean_test(data: MountData, tilt: Tilt, weights: Array, g: Array) -> LeanTest | None:
    """Wald test of the two angles from g; None where the motion says nothing about them.

    The covariance is that of `covariance.py`, of what of the two slopes no other column explains.
    """
    with one_thread():
        step = tilt.step(g)
        if step is None:
            return None
        slopes = _slopes(data.system, step)
        scores = scores_of(slopes, step.angles, weights, step.rank)
        C = scores.through(step.spread)
        # one of the two angles is not seen by this motion
        if not np.isfinite(C).all() or np.linalg.cond(C) > 1e12:
            return None
        statistic = float(step.angles @ np.linalg.solve(C, step.angles))
        residual = np.concatenate([r * use for r, use in slopes.records(step.angles)])
        times = [correlation_time(column[:, None]) for column in residual.T]
    degrees = np.degrees(step.angles)
    return LeanTest(degrees, step.tangents, np.degrees(np.degrees(C)), float(chdtrc(2, statistic)), float(np.median(times)))


def _slopes(system: MountObservations, step: GravityStep) -> Observations:
    """The rows of a step: what of the two slopes nothing else explains, and the torque that is left to them."""
    columns, rows = system.columns, []
    for part in system.rows():
        W = tuple(w @ step.alone[c] for w, c in zip(part.W, columns, strict=True))
        left = part.y - np.column_stack([w @ step.full[c] for w, c in zip(part.W, columns, strict=True)])
        rows.append(replace(part, W=W, y=left + np.column_stack([w @ step.angles for w in W])))
    return system.with_rows(rows, [np.arange(2)] * system.n)


@dataclass(frozen=True)
class SignComparison:
    """g against -g.

    Args:
        gain: by how much -g lowers the squares, in variances of a row and correlation times of the residuals; negative: it raises
            them.
        consistent: whether the squares are those of parameters a real robot can have.
    """

    gain: float
    consistent: bool


def compare_signs(data: MountData, tilt: Tilt, g: Array, correlation: float, clear: float) -> SignComparison:
    """Gravity upwards instead of downwards: the same statics with all masses negative, told by accelerations and real bodies only.

    Args:
        data: the rows.
        tilt: their squares.
        g: direction.
        correlation: time of the residuals in rows.
        clear: gain from which the comparison without constraints suffices to keep g.
    """
    flipped_allowed = tilt.without(data.doubtful)
    upright, flipped = flipped_allowed.solve(g), flipped_allowed.solve(-g)
    noise = max(min(upright.squares, flipped.squares) / max(data.rows - max(upright.rank, flipped.rank), 1.0), 1e-300)
    gain = (upright.squares - flipped.squares) / noise / correlation
    if gain < -clear:
        return SignComparison(gain, False)
    layout = data.problem.base.layout
    held = frozenset(n for n, out in zip(layout.names, data.doubtful, strict=True) if out)
    program = Program(Reference.of(replace(layout, fixed=layout.fixed | held), data.prior), Consistent().constraints)
    try:
        ours, theirs = (flipped_allowed.consistent_squares(x, program, noise) for x in (g, -g))
    except SolveError:
        return SignComparison(gain, False)
    return SignComparison((ours - theirs) / noise / correlation, True)
