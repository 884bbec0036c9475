"""Blocked cross-validation on R factors: after one pass over the data every candidate model costs a few small solves.

Each record is cut into contiguous blocks.  For every block and joint two factors are kept: of the rows a fit uses (filtered,
decimated, masked), and of the rows a score uses (every sample, the raw torque).  A fold fits on all blocks but one and predicts the
raw torque of the one left out.  Candidates that differ only in which columns they use (friction laws, say) need no further pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from inertica.arrays import Array
from inertica.dynamics.tsqr import Factors
from inertica.errors import TooFewSamplesError
from inertica.estimators.base import Problem
from inertica.estimators.joint_noise import own_sigmas
from inertica.estimators.observe import Observations
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.periods import part_counts, shared_parts
from inertica.robot.natural import levers
from inertica.threads import one_thread


class FewRowsError(TooFewSamplesError):
    """Some joints have too few rows to be fitted on parts of the data.

    Args:
        joints: which ones, from 0.
    """

    def __init__(self, joints: Sequence[int]) -> None:
        super().__init__("there are too few usable samples for cross-validation; use longer logs, or fix the choices yourself")
        self.joints = tuple(joints)


FOLDS = 5
SMALLEST_FOLD = 20
"""Rows (of all joints together) below which a block says nothing."""


@dataclass(frozen=True)
class Score:
    """Prediction of raw torque on data not used in the fit.

    Args:
        squares: (folds, n) sums of squared errors.
        sizes: (folds, n) sums of squared torques.
        lever: (n,) that forces of sliding joints become torques by where joints are added up, see `robot.natural.levers`.
    """

    squares: Array
    sizes: Array
    lever: Array

    @property
    def all(self) -> float:
        """Relative residual over all joints and folds."""
        return float(np.sqrt((self.squares @ self.lever**2).sum() / (self.sizes @ self.lever**2).sum()))

    @property
    def per_joint(self) -> Array:
        """(n,) relative residual per joint over all folds."""
        return np.sqrt(self.squares.sum(axis=0) / np.maximum(self.sizes.sum(axis=0), 1e-300))

    def better_by(self, other: Score, joint: int | None = None) -> tuple[float, float]:
        """Relative reduction of the squared error against another score, mean over folds, and its standard error."""
        squares = self.squares @ self.lever**2 if joint is None else self.squares[:, joint]
        theirs = other.squares @ self.lever**2 if joint is None else other.squares[:, joint]
        gain = (theirs - squares) / max(float(theirs.mean()), 1e-300)
        return float(gain.mean()), float(gain.std(ddof=1) / np.sqrt(len(gain))) if len(gain) > 1 else np.inf


class Blocks:
    """Factors of all blocks of a problem.

    Args:
        problem: with its motions as a fit would use them.
        folds: number of blocks, shared over the records by their length.
    """

    def __init__(self, problem: Problem, folds: int = FOLDS) -> None:
        self.problem, self.base = problem, problem.base
        self.n = self.base.layout.robot.n
        self._counts = part_counts([len(m) for m in problem.motions], folds)
        self.fit = self._fit_factors()
        self._scores: list[Factors] | None = None

    @property
    def score(self) -> list[Factors]:
        """Factors of every sample of each block and its raw torque."""
        if self._scores is None:
            self._scores = self._score_factors(self.problem.motions)
        return self._scores

    def scored_by(self, factors: Sequence[Factors]) -> Blocks:
        """The same fits, judged by factors of the same blocks: of the rows of another bandwidth, say."""
        other = copy(self)
        other._scores = list(factors)
        return other

    def scored_on(self, motions: Sequence[Motion], use: Sequence[NDArray[np.bool_]] = ()) -> Blocks:
        """The same fits, judged on other motions of the same records, filtered otherwise, say; at the samples (N, n) in `use` only."""
        return self.scored_by(self._score_factors(motions, use))

    def __len__(self) -> int:
        return len(self.fit)

    def evaluate(
        self,
        active: NDArray[np.bool_] | None = None,
        target: Sequence[int] | None = None,
        folds: Sequence[Sequence[int]] | None = None,
    ) -> Score:
        """Score of the model that uses only the active base parameters.

        Args:
            active: (b,) which base parameters take part; all by default.
            target: blocks to leave out in turn; all by default.
            folds: blocks that are left out together, instead.
        """
        use = np.ones(self.base.rank, bool) if active is None else active
        left_out_folds = folds if folds is not None else [[f] for f in (range(len(self)) if target is None else target)]
        squares, sizes = [], []
        with one_thread():
            for fold in left_out_folds:
                beta = self._solve([b for b in range(len(self)) if b not in fold], use)
                joints = range(self.n)
                squares.append([sum(self.score[f].joints[j].misfit(beta) ** 2 for f in fold) for j in joints])
                sizes.append([sum(self.score[f].joints[j].size ** 2 for f in fold) for j in joints])
        return Score(np.array(squares), np.array(sizes), levers(self.base.layout.robot))

    @cached_property
    def thirds(self) -> list[list[int]]:
        """Three stretches of blocks: left out, they ask more of a model than single blocks do (`guard.ShortAndLong`)."""
        edges = np.rint(np.linspace(0, len(self), min(3, len(self)) + 1)).astype(int)
        return [list(range(a, b)) for a, b in pairwise(edges)]

    @cached_property
    def weights(self) -> Array:
        """(n,) 1 / sigma_j from all blocks, every joint fitted alone."""
        whole = Factors.joined(self.fit)
        return np.asarray(1.0 / own_sigmas(whole.joints, whole.counts))

    def _solve(self, blocks: Sequence[int], use: NDArray[np.bool_]) -> Array:
        b = self.base.rank
        G, g = np.zeros((b, b)), np.zeros(b)
        for i in blocks:
            G += self._grams[i][0]
            g += self._grams[i][1]
        scale = np.sqrt(np.maximum(np.diag(G), 1e-300))
        at = np.flatnonzero(use)
        A = G[np.ix_(at, at)] / np.outer(scale[at], scale[at])
        A[np.diag_indices_from(A)] += 1e-10  # a block may lack what the others determine
        beta = np.zeros(b)
        beta[at] = cho_solve(cho_factor(A), g[at] / scale[at]) / scale[at]
        return beta

    @cached_property
    def _grams(self) -> list[tuple[Array, Array]]:
        """Weighted R'R and R'z of every block; their conditioning is good enough to choose by, not to estimate with."""
        b, out = self.base.rank, []
        for block in self.fit:
            G, g = np.zeros((b, b)), np.zeros(b)
            for factor, w in zip(block.joints, self.weights, strict=True):
                c = list(factor.columns)
                G[np.ix_(c, c)] += w**2 * factor.R.T @ factor.R
                g[c] += w**2 * factor.R.T @ factor.z
            out.append((G, g))
        return out

    def _fit_factors(self) -> list[Factors]:
        system = self.problem.observations
        out = self._parts(system)
        counts = np.sum([block.counts for block in out], axis=0)
        few = range(self.n) if len(out) < 2 else np.flatnonzero(system.measured & (counts < SMALLEST_FOLD)).tolist()
        if few:
            raise FewRowsError(few)
        return out

    def _score_factors(self, motions: Sequence[Motion], use: Sequence[NDArray[np.bool_]] = ()) -> list[Factors]:
        """Of every sample and the raw torque, masked or not; of those in `use` where it is stated."""
        raw = [m.raw for m in motions]
        if use:
            raw = [replace(m, resting=m.resting | ~mask) for m, mask in zip(raw, use, strict=True)]
        return self._parts(Observations(self.base, raw, self.problem.prior))

    def _parts(self, system: Observations) -> list[Factors]:
        """The parts of every record, of rows on any clock."""
        labels = shared_parts(system.lengths, system.periods, self._counts)
        by_motion = system.by_label(labels, int(self._counts.sum()))
        ends = np.cumsum(self._counts)
        # a part without rows counts, too: of rows on a slower clock others may have none, and parts are compared one by one
        return [block for blocks, a, b in zip(by_motion, ends - self._counts, ends, strict=True) for block in blocks[a:b]]
