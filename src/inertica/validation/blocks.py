"""Blocked cross-validation on R factors: after one pass over the data every candidate model costs a few small solves.

Each record is cut into contiguous blocks.  For every block and joint two factors are kept: of the rows a fit uses (filtered,
decimated, masked), and of the rows a score uses (every sample, the raw torque).  A fold fits on all blocks but one and predicts the
raw torque of the one left out.  Candidates that differ only in which columns they use (friction laws, say) need no further pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from inertica.dynamics.tsqr import JointFactor
from inertica.errors import InputError
from inertica.estimators.base import Problem
from inertica.estimators.observe import System
from inertica.preprocessing.motion import Motion
from inertica.threads import one_thread

Array = NDArray[np.float64]

FOLDS = 5
SMALLEST_FOLD = 20
"""Rows (of all joints together) below which a block says nothing."""


@dataclass(frozen=True)
class Score:
    """Prediction of raw torque on data not used in the fit.

    Args:
        squares: (folds, n) sums of squared errors.
        sizes: (folds, n) sums of squared torques.
    """

    squares: Array
    sizes: Array

    @property
    def all(self) -> float:
        """Relative residual over all joints and folds."""
        return float(np.sqrt(self.squares.sum() / self.sizes.sum()))

    @property
    def per_joint(self) -> Array:
        """(n,) relative residual per joint over all folds."""
        return np.sqrt(self.squares.sum(axis=0) / np.maximum(self.sizes.sum(axis=0), 1e-300))

    def better_by(self, other: Score, joint: int | None = None) -> tuple[float, float]:
        """Relative reduction of the squared error against another score, mean over folds, and its standard error."""
        own = self.squares.sum(axis=1) if joint is None else self.squares[:, joint]
        theirs = other.squares.sum(axis=1) if joint is None else other.squares[:, joint]
        gain = (theirs - own) / max(float(theirs.mean()), 1e-300)
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
        lengths = [len(m) for m in problem.motions]
        shares = np.maximum(1, np.rint(folds * np.array(lengths) / sum(lengths)).astype(int))
        if shares.sum() < 2:
            shares[int(np.argmax(lengths))] = 2
        self._shares = shares
        self.fit, self.counts = self._fit_factors()
        self.score = self._score_factors(problem.motions)

    def scored_on(self, motions: Sequence[Motion]) -> Blocks:
        """The same fits, judged on other motions of the same records: filtered otherwise, say."""
        other = copy(self)
        other.score = self._score_factors(motions)
        return other

    def __len__(self) -> int:
        return len(self.fit)

    def evaluate(self, active: NDArray[np.bool_] | None = None, target: Sequence[int] | None = None) -> Score:
        """Score of the model that uses only the active base parameters.

        Args:
            active: (b,) which base parameters take part; all by default.
            target: blocks to leave out in turn; all by default.
        """
        use = np.ones(self.base.rank, bool) if active is None else active
        squares, sizes = [], []
        with one_thread():
            for f in range(len(self)) if target is None else target:
                beta = self._solve([b for b in range(len(self)) if b != f], use)
                pairs = [_error(factor, beta) for factor in self.score[f]]
                squares.append([e for e, _ in pairs])
                sizes.append([s for _, s in pairs])
        return Score(np.array(squares), np.array(sizes))

    @cached_property
    def weights(self) -> Array:
        """(n,) 1 / sigma_j from all blocks, every joint fitted alone."""
        out = np.empty(self.n)
        for j in range(self.n):
            parts = [block[j] for block in self.fit]
            G = sum(p.R.T @ p.R for p in parts)
            g = sum(p.R.T @ p.z for p in parts)
            yy = sum(float(p.z @ p.z) + p.rest**2 for p in parts)
            x = np.linalg.lstsq(np.asarray(G), np.asarray(g), rcond=1e-13)[0]
            left = max(yy - float(np.asarray(g) @ x), 1e-12 * yy, 1e-300)
            out[j] = np.sqrt(max(self.counts[:, j].sum() - len(x), 1.0) / left)
        return out

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
            for factor, w in zip(block, self.weights, strict=True):
                c = list(factor.columns)
                G[np.ix_(c, c)] += w**2 * factor.R.T @ factor.R
                g[c] += w**2 * factor.R.T @ factor.z
            out.append((G, g))
        return out

    def _fit_factors(self) -> tuple[list[list[JointFactor]], Array]:
        system = System(self.problem)
        length = [len(m.decimator.kept(len(m))) for m in self.problem.motions]
        keys = [(m, k) for m, share in enumerate(self._shares) for k in range(share)]
        R = {key: [np.zeros((0, len(c) + 1)) for c in system.columns] for key in keys}
        counts = {key: np.zeros(self.n) for key in keys}
        seen = [0] * len(length)
        with one_thread():
            for rows in system.rows():
                at = seen[rows.motion] + np.arange(len(rows.use))
                seen[rows.motion] += len(rows.use)
                block = at * self._shares[rows.motion] // max(length[rows.motion], 1)
                for k in np.unique(block):
                    key = rows.motion, int(k)
                    for j, W in enumerate(rows.W):
                        take = (block == k) & rows.use[:, j]
                        counts[key][j] += np.count_nonzero(take)
                        new = np.column_stack([W[take], rows.y[take, j]])
                        R[key][j] = np.asarray(np.linalg.qr(np.vstack([R[key][j], new]), mode="r"))
        out = [[_factor(r, tuple(int(i) for i in c)) for r, c in zip(R[key], system.columns, strict=True)] for key in keys]
        total = np.array([counts[key] for key in keys])
        if len(out) < 2 or np.any(total.sum(axis=0) < SMALLEST_FOLD):
            raise InputError(
                "there are too few usable samples for cross-validation; use longer logs, or fix the choices yourself"
            )
        return out, total

    def _score_factors(self, motions: Sequence[Motion]) -> list[list[JointFactor]]:
        """Of every sample and the raw torque, masked or not."""
        engine, kept = self.problem.engine, [int(k) for k in self.base.kept]
        place = {k: i for i, k in enumerate(kept)}
        shapes = None if self.problem.prior is None else self.problem.prior.shapes
        out = []
        for motion, share in zip(motions, self._shares, strict=True):
            tau = np.array(motion.tau_raw)
            if len(self.base.fixed):
                tau -= engine.inverse_dynamics(motion.q, motion.dq, motion.ddq, self.problem.fixed_values, shapes)
            edges = np.linspace(0, len(motion), share + 1).astype(int)
            for a, z in pairwise(edges):
                q, dq, ddq = motion.q[a:z], motion.dq[a:z], motion.ddq[a:z]
                found = engine.factors(q, dq, ddq, tau[a:z], columns=kept, shapes=shapes)
                out.append([JointFactor(tuple(place[c] for c in f.columns), f.R, f.z, f.rest) for f in found.joints])
        return out


def _factor(R: Array, columns: tuple[int, ...]) -> JointFactor:
    k = len(columns)
    full = np.zeros((k + 1, k + 1))
    full[: len(R)] = R
    return JointFactor(columns, full[:k, :k], full[:k, k], abs(float(full[k, k])))


def _error(factor: JointFactor, beta: Array) -> tuple[float, float]:
    """Squared error of a prediction, and squared size of the torque."""
    misfit = factor.z - factor.R @ beta[list(factor.columns)]
    return float(misfit @ misfit) + factor.rest**2, float(factor.z @ factor.z) + factor.rest**2
