"""The linear system of a problem: tau = W beta, joint by joint, as rows that pass by and as the R factors they leave.

Rows are built in blocks of samples, decimated where the motion says so, and never stacked for all joints.  Short records (and
decimated ones are short) keep their rows for methods that look at them again; long ones build them anew each time.  Masks do not
change rows, so that inside `shared_rows` all fits of the same motions use the same ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.dynamics.tsqr import JointFactor
from inertica.errors import InputError
from inertica.estimators.base import Problem
from inertica.estimators.forms import row_form
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.observe import decimated_mask
from inertica.preprocessing.reversals import near_reversal
from inertica.threads import one_thread

Array = NDArray[np.float64]

BLOCK = 8192
"""Samples whose rows are built at a time when a record is not decimated."""

KEEP_BYTES = 200_000_000
"""Rows of a problem up to this size stay in memory."""


@dataclass(frozen=True)
class Rows:
    """Rows of one block: for every joint its own columns and torque.

    Args:
        motion: which of the problem's motions.
        W: per joint (m, k_j), columns as in `System.columns[j]`.
        y: (m, n) torque less what fixed parameters explain.
        use: (m, n) False for masked samples, for a joint that rests (the sign of its velocity means nothing then), and near its
            reversals when the recipe says so.
    """

    motion: int
    W: tuple[Array, ...]
    y: Array
    use: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Stacked:
    """All joints together: least squares is R beta = z, with `rest` the residual norm."""

    R: Array
    z: Array
    rest: float


@dataclass(eq=False)
class _Shared:
    """A problem and its rows, as soon as some fit has built them."""

    problem: Problem
    rows: list[Rows] | None = None


_shared: ContextVar[_Shared | None] = ContextVar("rows that fits share", default=None)


@contextmanager
def shared_rows(problem: Problem) -> Iterator[None]:
    """While this lasts, rows of a problem are built once for all fits of its motions, whatever their masks."""
    token = _shared.set(_Shared(problem))
    try:
        yield
    finally:
        _shared.reset(token)


class System:
    """Observations of a problem.

    Args:
        problem: what was measured.
        row_weights: per motion an (m, n) array of factors on the (decimated) rows; 1 when not given.
    """

    def __init__(self, problem: Problem, row_weights: Sequence[Array] | None = None, _rows: list[Rows] | None = None) -> None:
        if not problem.motions:
            raise InputError("there is no motion to fit")
        self.problem, self.base, self.weights = problem, problem.base, row_weights
        self.form = row_form(problem.engine, problem.motions)
        self.n = self.form.count
        place = {int(k): i for i, k in enumerate(self.base.kept)}
        entries = [(joint, k, e) for e, (joint, k) in enumerate(self.form.entries)]
        self.entries = [[e for joint, k, e in entries if joint == j and k in place] for j in range(self.n)]
        self.columns = [
            np.array([place[k] for joint, k, _ in entries if joint == j and k in place], np.intp) for j in range(self.n)
        ]
        fixed = {int(k) for k in self.base.fixed}
        self._known = [(joint, k, e) for joint, k, e in entries if k in fixed]
        self._kept_rows = _rows

    def reweighted(self, row_weights: Sequence[Array]) -> System:
        """The same rows with other weights."""
        return System(self.problem, row_weights, self._kept_rows)

    def rows(self) -> Iterator[Rows]:
        """Blocks of rows, unweighted, in the order of time."""
        if self._kept_rows is None and self._size() <= KEEP_BYTES:
            self._kept_rows = self._built()
        yield from self.build() if self._kept_rows is None else self._kept_rows

    def counts(self) -> Array:
        """(n,) rows that take part, per joint."""
        return self._passed[1]

    @property
    def factors(self) -> tuple[JointFactor, ...]:
        """R factor of every joint; columns are positions in beta."""
        return self._passed[0]

    def stacked(self, joint_weights: ArrayLike | None = None) -> Stacked:
        """R, z and residual norm of all joints, each weighted by its factor (1 / sigma_j)."""
        b = self.base.rank
        w = np.ones(self.n) if joint_weights is None else np.asarray(joint_weights, float)
        blocks, rest = [np.zeros((b + 1, b + 1))], 0.0
        for factor, weight in zip(self.factors, w, strict=True):
            block = np.zeros((len(factor.columns), b + 1))
            block[:, list(factor.columns)] = factor.R
            block[:, -1] = factor.z
            blocks.append(weight * block)
            rest += (weight * factor.rest) ** 2
        with one_thread():
            R = np.asarray(np.linalg.qr(np.vstack(blocks), mode="r"))
        return Stacked(R[:b, :b], R[:b, b], float(np.hypot(np.sqrt(rest), R[b, b])))

    def residuals(self, beta: Array) -> Iterator[tuple[Rows, Array]]:
        """Every block with its (m, n) residual y - W beta, unweighted."""
        for rows in self.rows():
            yield rows, rows.y - np.column_stack([W @ beta[c] for W, c in zip(rows.W, self.columns, strict=True)])

    def _size(self) -> int:
        samples = sum(-(-len(m.t) // m.decimator.ratio) for m in self.problem.motions)
        return 8 * samples * (sum(len(c) for c in self.columns) + self.n)

    def _built(self) -> list[Rows]:
        """All rows; those that are shared with the masks of this system."""
        shared = _shared.get()
        if shared is None or type(self) is not System or not self._same_rows(shared.problem):
            return list(self.build())
        if shared.rows is None:
            shared.rows = list(self.build())
            return shared.rows
        use = [self._use(motion) for motion in self.problem.motions]
        done, out = [0] * len(use), []
        for rows in shared.rows:
            first = done[rows.motion]
            done[rows.motion] += len(rows.use)
            out.append(replace(rows, use=use[rows.motion][first : done[rows.motion]]))
        return out

    def _same_rows(self, other: Problem) -> bool:
        """Whether another problem has the same rows but for their masks."""
        own = self.problem
        alike = own.base is other.base and own.prior is other.prior and len(own.motions) == len(other.motions)
        return alike and all(
            a.q is b.q
            and a.dq is b.dq
            and a.ddq is b.ddq
            and a.tau is b.tau
            and a.decimator == b.decimator
            and a.recipe.regressor == b.recipe.regressor
            for a, b in zip(own.motions, other.motions, strict=True)
        )

    def _use(self, motion: Motion) -> NDArray[np.bool_]:
        """(m, n) which rows of a motion take part."""
        others = [row for term in self.base.layout.terms for row in term.reversals]
        idle = self.form.idle(motion.resting | near_reversal(motion, others))
        if motion.decimator.ratio == 1:
            return ~(motion.mask[:, None] | idle)
        return ~(decimated_mask(motion)[:, None] | idle[motion.decimator.kept(len(motion))])

    def build(self) -> Iterator[Rows]:
        """The same, always built anew and not kept."""
        for number, motion in enumerate(self.problem.motions):
            use = self._use(motion)
            if motion.decimator.ratio == 1:
                for first in range(0, len(motion.t), BLOCK):
                    where = slice(first, first + BLOCK)
                    yield Rows(number, *self.block(motion, where), use[where])
            else:
                decimate, done = motion.decimator.decimate, 0
                for where, remaining in motion.decimator.pieces(len(motion)):
                    W, y = self.block(motion, where)
                    own = use[done : done + len(remaining)]
                    done += len(remaining)
                    yield Rows(number, tuple(decimate(w, remaining) for w in W), decimate(y, remaining), own)

    def block(self, motion: Motion, where: slice) -> tuple[tuple[Array, ...], Array]:
        """Rows of every joint and torque at the full rate, of some samples of a motion."""
        tau = self.form.measured(motion, where)
        shapes = None if self.problem.prior is None else self.problem.prior.shapes
        W = [np.empty((len(tau), len(e))) for e in self.entries]
        values = self.problem.fixed_values
        for part, entries in self.form.chunks(motion, where, shapes):
            for j, chosen in enumerate(self.entries):
                W[j][part] = entries[chosen].T
            for joint, k, e in self._known:
                tau[part, joint] -= values[k] * entries[e]
        return tuple(W), tau

    @cached_property
    def _passed(self) -> tuple[tuple[JointFactor, ...], Array]:
        """One pass over all rows: R factors and row counts."""
        R = [np.zeros((0, len(c) + 1)) for c in self.columns]
        counts = np.zeros(self.n)
        used: dict[int, int] = {}
        with one_thread():
            for rows in self.rows():
                first = used.get(rows.motion, 0)
                used[rows.motion] = first + len(rows.use)
                for j, W in enumerate(rows.W):
                    weight = rows.use[:, j].astype(float)
                    if self.weights is not None:
                        weight = weight * self.weights[rows.motion][first : first + len(weight), j]
                    taking = weight != 0.0
                    counts[j] += np.count_nonzero(taking)
                    new = np.column_stack([W[taking], rows.y[taking, j]]) * weight[taking, None]
                    R[j] = np.asarray(np.linalg.qr(np.vstack([R[j], new]), mode="r"))
        return tuple(_factor(r, c) for r, c in zip(R, self.columns, strict=True)), counts


def _factor(R: Array, columns: NDArray[np.intp]) -> JointFactor:
    k = len(columns)
    full = np.zeros((k + 1, k + 1))
    full[: len(R)] = R
    return JointFactor(tuple(int(c) for c in columns), full[:k, :k], full[:k, k], abs(float(full[k, k])))
