"""`Observations`: the linear system tau = W beta of some motions, joint by joint, as rows that pass by and as R factors they leave.

Rows are built in blocks of samples, decimated where the motion says so, and never stacked for all joints.  Short records (and
decimated ones are short) keep their rows for whoever looks at them again; long ones build them anew each time.  Masks do not change
rows, so that observations with other masks share them.  Where nothing is decimated, R factors come straight from the compiled kernels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.arrays import Array, Mask
from inertica.dynamics.products import MotionPair
from inertica.dynamics.resident import Resident
from inertica.dynamics.triangle import stacked_factor
from inertica.dynamics.tsqr import Factors, JointFactor, Stacked
from inertica.errors import InputError, TooFewSamplesError
from inertica.estimators.forms import row_form
from inertica.estimators.gpu_rows import gpu_decimated, gpu_factors, memory_of, resident
from inertica.estimators.joint_noise import own_sigmas
from inertica.identifiability.base import BaseModel
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.periods import part_labels
from inertica.preprocessing.reversals import near_reversal
from inertica.robot.layout import Parameters

BLOCK = 8192
"""Samples whose rows are built at a time when a record is not decimated."""

KEEP_BYTES = 200_000_000
"""Rows up to this size stay in memory."""


@dataclass(frozen=True)
class Rows:
    """Rows of one block: for every joint its own columns and torque.

    Args:
        motion: which of the motions.
        W: per joint (m, k_j), columns as in `Observations.columns[j]`.
        y: (m, n) torque less what fixed parameters explain.
        use: (m, n) False for masked samples, for a joint that rests (the sign of its velocity means nothing then), and near its
            reversals when the recipe says so.
        first: number of the first row within its motion.
    """

    motion: int
    W: tuple[Array, ...]
    y: Array
    use: Mask
    first: int = 0

    @property
    def where(self) -> slice:
        """Which rows of the motion these are."""
        return slice(self.first, self.first + len(self.y))


def fixed_values(base: BaseModel, prior: Parameters | None) -> Array:
    """chi with the values of fixed parameters, zero elsewhere."""
    values = np.zeros(base.layout.size)
    if len(base.fixed):
        if prior is None:
            raise InputError("fixed parameters take their values from the prior, and no prior was given")
        values[base.fixed] = prior.values[base.fixed]
    return values


class Observations:
    """What was measured, as rows and R factors; `Problem.observations` has those of a problem.

    Args:
        base: whose parameters the columns are.
        motions: one or several.
        prior: shapes of friction laws, and the values of fixed parameters.
    """

    def __init__(self, base: BaseModel, motions: Sequence[Motion], prior: Parameters | None = None) -> None:
        if not motions:
            raise InputError("there is no motion to fit")
        self.base, self.motions, self.prior, self.engine = base, tuple(motions), prior, base.engine
        self.weights: Sequence[Array] | None = None
        self.form = row_form(base.engine, self.motions)
        position = {int(k): i for i, k in enumerate(base.retained)}
        entries = [(joint, k, e) for e, (joint, k) in enumerate(self.form.entries)]
        joints = range(self.form.count)
        self.entries = [[e for joint, k, e in entries if joint == j and k in position] for j in joints]
        self.columns = [
            np.array([position[k] for joint, k, _ in entries if joint == j and k in position], np.intp) for j in joints
        ]
        # entries of fixed parameters are not columns; their torque is taken off the measured one
        fixed = {int(k) for k in base.fixed}
        self.known = [(joint, k, e) for joint, k, e in entries if k in fixed]
        self._rows: list[Rows] | None = None
        self._factored: Factors | None = None
        self._sigmas: Array | None = None
        # such rows need not be built at all: kernels add them to R while a chunk is in the cache
        self._straight = all(m.decimator.ratio == 1 and m.recipe.regressor == "torque" for m in self.motions)

    @property
    def n(self) -> int:
        """Joints, or channels of rows that were made otherwise."""
        return len(self.columns)

    @property
    def shapes(self) -> Array | None:
        return None if self.prior is None else self.prior.shapes

    def same_rows(self, prior: Parameters | None) -> bool:
        """Whether another prior leaves the rows as they are: it enters them by shapes and by the values of fixed parameters."""
        if prior is None or self.prior is None:
            return prior is self.prior
        fixed = self.base.fixed
        same = np.array_equal(prior.values[fixed], self.prior.values[fixed])
        return same and np.array_equal(prior.shapes, self.prior.shapes)

    def _like(self, **changes: object) -> Observations:
        other = copy(self)
        # cached properties of the copy would be those of the original
        other.__dict__.pop("_torques", None)
        other._factored = other._sigmas = None
        other.__dict__.update(changes)
        return other

    def reweighted(self, weights: Sequence[Array]) -> Observations:
        """The same rows times further factors: per motion an (m, n) array."""
        return self._like(weights=weights)

    def masked(self, motions: Sequence[Motion]) -> Observations:
        """The same rows with the masks of these motions, which differ from the present ones in nothing else."""
        other = self._like(motions=tuple(motions))
        if self._rows is not None:
            use = other._use()
            other._rows = [replace(rows, use=use[rows.motion][rows.where]) for rows in self._rows]
        return other

    def with_rows(self, rows: Sequence[Rows], columns: Sequence[NDArray[np.intp]] | None = None) -> Observations:
        """Rows that were worked out otherwise, on the columns of these or on others."""
        return self._like(_rows=list(rows), _straight=False, weights=None, columns=list(columns or self.columns))

    def rows(self) -> Iterator[Rows]:
        """Blocks of rows, unweighted, in the order of time."""
        if self._rows is None and self._kept:
            self._rows = list(self.build())
        yield from self.build() if self._rows is None else self._rows

    def residuals(self, beta: Array) -> Iterator[tuple[Rows, Array]]:
        """Every block with its (m, n) residual y - W beta, unweighted."""
        for rows in self.rows():
            yield rows, rows.y - np.column_stack([W @ beta[c] for W, c in zip(rows.W, self.columns, strict=True)])

    def records(self, beta: Array) -> list[tuple[Array, Mask]]:
        """Per motion the residuals (m, n), unweighted, and which of them take part."""
        parts: list[list[tuple[Array, Mask]]] = [[] for _ in self.motions]
        for rows, residual in self.residuals(beta):
            parts[rows.motion].append((residual, rows.use))
        return [(np.concatenate([r for r, _ in part]), np.concatenate([u for _, u in part])) for part in parts]

    def records_without_rows(self, beta: Array) -> list[tuple[Array, Mask]]:
        """The same to rounding, for those who need no rows: by the torques of the motions where nobody has built rows yet."""
        if self._rows is not None or not self._straight:
            # rows that exist are cheaper than another pass of the dynamics
            return self.records(beta)
        values = np.zeros(self.base.layout.size)
        values[self.base.retained] = beta
        explained = (self.engine.inverse_dynamics(m.q, m.dq, m.ddq, values, self.shapes) for m in self.motions)
        by_motion = zip(self._torques, explained, self._use(), strict=True)
        return [(tau - model_tau, use) for tau, model_tau, use in by_motion]

    def by_motion(self) -> list[tuple[tuple[Array, ...], Array]]:
        """Per motion the rows of every joint, masked or not, in one piece, and their torques."""
        parts: list[list[Rows]] = [[] for _ in self.motions]
        for rows in self.rows():
            parts[rows.motion].append(rows)
        joined = [tuple(np.concatenate(W) for W in zip(*(rows.W for rows in blocks), strict=True)) for blocks in parts]
        return [(W, np.concatenate([rows.y for rows in blocks])) for W, blocks in zip(joined, parts, strict=True)]

    def weight(self, rows: Rows) -> Array:
        """(m, n) factors on rows: those given, zero where they take no part."""
        return rows.use.astype(float) if self.weights is None else rows.use * self.weights[rows.motion][rows.where]

    @property
    def lengths(self) -> list[int]:
        """Rows of every motion."""
        return [len(m.decimator.kept(len(m))) for m in self.motions]

    @property
    def factored(self) -> Factors:
        """R factors of all rows, found once; columns are positions in beta."""
        if self._factored is None:  # no cached property: its lock would keep out others who wait with this one for the same batch
            self._factored = Factors.joined([part for (part,) in self.stretches([(0, m) for m in self.lengths])])
        return self._factored

    @property
    def factors(self) -> tuple[JointFactor, ...]:
        """R factor of every joint."""
        return self.factored.joints

    @property
    def counts(self) -> Array:
        """(n,) rows that take part, per joint."""
        return self.factored.counts

    def stacked(self, joint_weights: ArrayLike | None = None) -> Stacked:
        """R, z and residual norm of all joints, each weighted by its factor (1 / sigma_j)."""
        return self.factored.stacked(weights=joint_weights)

    @property
    def periods(self) -> list[float | None]:
        """Of every motion, as a share of its duration."""
        return [m.period for m in self.motions]

    def blocks(self, count: int) -> list[Factors]:
        """Every motion cut into `count` parts (`part_labels`); the factors of each, over all motions.

        A part is the same share of every motion: of repetitions of one, none may tell what another one left out.
        """
        return [Factors.joined(same) for same in zip(*self.motion_blocks(count), strict=True)]

    def motion_blocks(self, count: int) -> list[list[Factors]]:
        """The same, motion by motion."""
        labels = [part_labels(rows, count, period) for rows, period in zip(self.lengths, self.periods, strict=True)]
        return self.by_label(labels, count)

    def by_label(self, labels: Sequence[NDArray[np.intp]], count: int) -> list[list[Factors]]:
        """Factors of the rows of every label from 0 to `count`, motion by motion; empty ones where a motion has no such row.

        Args:
            labels: per motion (m,).
            count: of labels.
        """
        edges = [
            np.concatenate([[0], np.flatnonzero(np.diff(labels_of_motion)) + 1, [len(labels_of_motion)]])
            for labels_of_motion in labels
        ]
        out = []
        for labels_of_motion, cuts, pieces in zip(labels, edges, self.stretches([cut.tolist() for cut in edges]), strict=True):
            of_piece = labels_of_motion[cuts[:-1]]
            of_label = [[piece for piece, k in zip(pieces, of_piece, strict=True) if k == label] for label in range(count)]
            out.append([Factors.joined(same) if same else pieces[0].without_rows() for same in of_label])
        return out

    def stretches(self, edges: Sequence[Sequence[int]]) -> list[list[Factors]]:
        """Factors of stretches of consecutive rows, motion by motion.

        Args:
            edges: per motion where stretches begin, and where the last one ends.
        """
        if self._straight:
            return [
                self._straight_factors(k, motion, motion_edges)
                for k, (motion, motion_edges) in enumerate(zip(self.motions, edges, strict=True))
            ]
        R = [[[np.zeros((0, len(c) + 1)) for c in self.columns] for _ in motion_edges[1:]] for motion_edges in edges]
        counts = [np.zeros((len(motion_edges) - 1, self.n)) for motion_edges in edges]
        for rows in self.rows():
            weight = self.weight(rows)
            for s, (begin, end) in enumerate(pairwise(edges[rows.motion])):
                inside = np.zeros(len(weight), bool)
                inside[max(begin - rows.first, 0) : max(end - rows.first, 0)] = True
                if not inside.any():
                    continue
                # rows that are in GPU memory are factorised there; only small triangles come back
                if all(isinstance(W, Resident) for W in rows.W):
                    new = gpu_factors(rows.W, rows.y, weight * inside[:, None])
                    R[rows.motion][s] = [stacked_factor(old, more) for old, more in zip(R[rows.motion][s], new, strict=True)]
                    counts[rows.motion][s] += np.count_nonzero(weight[inside], axis=0)
                    continue
                for j, W in enumerate(rows.W):
                    taking = inside & (weight[:, j] != 0.0)
                    added = np.column_stack([W[taking], rows.y[taking, j]]) * weight[taking, j, None]
                    R[rows.motion][s][j] = stacked_factor(R[rows.motion][s][j], added)
                    counts[rows.motion][s, j] += np.count_nonzero(taking)
        return [[self._factors(*one) for one in zip(*motion_edges, strict=True)] for motion_edges in zip(R, counts, strict=True)]

    def _factors(self, triangles: Sequence[Array], counts: Array) -> Factors:
        joints = tuple(
            JointFactor.of(R if len(R) else stacked_factor(R), c) for R, c in zip(triangles, self.columns, strict=True)
        )
        return Factors(joints, self.base.rank, counts)

    def _straight_factors(self, number: int, motion: Motion, edges: Sequence[int]) -> list[Factors]:
        """By the compiled kernels, rows never built."""
        tau, columns, weight = self._torques[number], tuple(self.base.retained.tolist()), self._use()[number].astype(float)
        position, out = {k: i for i, k in enumerate(columns)}, []
        if self.weights is not None:
            weight *= self.weights[number]
        for begin, end in pairwise(edges):
            q, dq, ddq, y = (x[begin:end] for x in (motion.q, motion.dq, motion.ddq, tau))
            factors = self.engine.factors(q, dq, ddq, y, columns, self.shapes, weight[begin:end])
            joints = tuple(replace(f, columns=tuple(position[c] for c in f.columns)) for f in factors.joints)
            out.append(Factors(joints, self.base.rank, factors.counts))
        return out

    @property
    def straight(self) -> bool:
        """Whether rows are those of the motions as they are: not decimated, reweighted or worked out otherwise."""
        return self._straight and self.weights is None

    def products(self, simulated: Observations) -> list[Array]:
        """(k, 2 k + 1) of every joint: [Z'Z, Z'W, Z'y], W and y these rows and Z those of the same samples of other motions.

        Both are straight; rows that take no part here do not there.
        """
        columns = tuple(self.base.retained.tolist())
        out = [np.zeros((len(c), 2 * len(c) + 1)) for c in self.columns]
        for number, (motion, other) in enumerate(zip(self.motions, simulated.motions, strict=True)):
            measured, instruments = ((m.q, m.dq, m.ddq) for m in (motion, other))
            pair = MotionPair(measured, instruments, self._torques[number], self._use()[number].astype(float))
            for total, products in zip(out, self.engine.products(pair, columns, self.shapes), strict=True):
                total += products
        return out

    @cached_property
    def _torques(self) -> list[Array]:
        """Torques of every motion less what fixed parameters explain."""
        if not self.known:
            return [motion.tau for motion in self.motions]
        values = fixed_values(self.base, self.prior)
        return [m.tau - self.engine.inverse_dynamics(m.q, m.dq, m.ddq, values, self.shapes) for m in self.motions]

    @property
    def sigmas(self) -> Array:
        """(n,) residual standard deviation of every joint fitted alone; joints that fit exactly get a floor instead of zero."""
        if self._sigmas is None:
            self._sigmas = own_sigmas(self.factors, self.counts)
        return self._sigmas

    def residual_sigmas(self, beta: Array) -> Array:
        """(n,) root mean square residual per joint, degrees of freedom shared over the joints."""
        # parameters are shared by the joints, so that each joint pays for its part of them
        freedom = np.maximum(self.counts - len(beta) / self.n, 1.0)
        return np.array([f.misfit(beta) for f in self.factors]) / np.sqrt(freedom)

    def relative_residual(self, beta: Array) -> float:
        """|y - W beta| / |y| over all joints."""
        return float(np.linalg.norm([f.misfit(beta) for f in self.factors]) / np.linalg.norm([f.size for f in self.factors]))

    @property
    def measured(self) -> Mask:
        """(n,) joints of which some motion has the torque; all channels of rows that were made otherwise."""
        if self.n != self.motions[0].n:
            return np.ones(self.n, bool)
        return np.asarray(~np.all([m.unmeasured for m in self.motions], axis=0))

    @property
    def unseen(self) -> NDArray[np.intp]:
        """Joints (from 0) whose torque was measured and of which masks leave no rows."""
        return np.flatnonzero(self.measured & (self.counts < 2))

    def checked(self) -> Observations:
        """Itself; refuses data of which masks leave nothing."""
        if len(self.unseen):
            raise TooFewSamplesError("no samples are left to fit after masking; the log is all standstill, or masked as unusable")
        return self

    @property
    def _kept(self) -> bool:
        """Whether rows stay in memory once they are built."""
        return 8 * sum(self.lengths) * self._width <= KEEP_BYTES

    def _use(self) -> list[Mask]:
        """Per motion (m, n) which rows take part."""
        return [~(motion.decimated_mask[:, None] | idle) for motion, idle in zip(self.motions, self._idle, strict=True)]

    @cached_property
    def _idle(self) -> list[Mask]:
        """Per motion (m, n) rows of joints that rest or turn, whatever is masked."""
        others = [row for term in self.base.layout.terms for row in term.reversals]
        at_full_rate = [self.form.idle(m.resting | near_reversal(m, others)) for m in self.motions]
        return [
            idle[m.decimator.kept(len(m))] if m.decimator.ratio > 1 else idle
            for m, idle in zip(self.motions, at_full_rate, strict=True)
        ]

    def build(self) -> Iterator[Rows]:
        """The rows, always built anew and not kept."""
        for number, (motion, use) in enumerate(zip(self.motions, self._use(), strict=True)):
            first, memory = 0, memory_of(motion, self.engine.target)
            if memory is not None:
                on_device = resident(motion, memory)
                for where, remaining in _pieces(motion):
                    W, y = self._there(on_device, where, remaining)
                    yield Rows(number, W, y, use[first : first + len(y)], first)
                    first += len(y)
                continue
            pieces = ((len(motion.t[where]), self._chunks(motion, where), remaining) for where, remaining in _pieces(motion))
            for decimated in motion.decimator.decimated(self._width, pieces):
                W, y = self._apart(decimated)
                yield Rows(number, W, y, use[first : first + len(y)], first)
                first += len(y)

    def block(self, motion: Motion, where: slice) -> tuple[tuple[Array, ...], Array]:
        """Rows of every joint and torque at the full rate, of some samples of a motion."""
        columns = np.empty((len(motion.t[where]), self._width))
        for part, values in self._chunks(motion, where):
            columns[part] = values.T
        return self._apart(columns)

    def _there(self, motion: Motion, where: slice, remaining: NDArray[np.intp]) -> tuple[tuple[Array, ...], Array]:
        """Decimated rows and torques of a piece of a motion that lies elsewhere."""
        tau, values = self.form.measured(motion, where), fixed_values(self.base, self.prior)
        return gpu_decimated(motion, self.regressor(motion, where), self.entries, tau, self.known, values, remaining)

    @property
    def _width(self) -> int:
        """Columns of all joints, and their torques."""
        return sum(len(c) for c in self.columns) + self.n

    def _apart(self, columns: Array) -> tuple[tuple[Array, ...], Array]:
        """Rows of every joint and torques, which lie side by side."""
        *W, y = np.split(columns, np.cumsum([len(c) for c in self.columns]), axis=1)
        if columns.flags.f_contiguous:
            return tuple(W), np.ascontiguousarray(y)
        return tuple(np.ascontiguousarray(x) for x in W), np.ascontiguousarray(y)

    def _chunks(self, motion: Motion, where: slice) -> Iterator[tuple[slice, Array]]:
        """Rows of all joints and their torques (k, m) at the full rate, chunk by chunk, while entries are in the cache.

        An array is overwritten by the next chunk.
        """
        tau, values = self.form.measured(motion, where), fixed_values(self.base, self.prior)
        chosen = np.concatenate(self.entries).astype(np.intp)
        chunk = np.empty((len(chosen) + tau.shape[1], 0))
        for part, entries in self.regressor(motion, where):
            if chunk.shape[1] != entries.shape[1]:
                chunk = np.empty((len(chunk), entries.shape[1]))
            np.take(np.asarray(entries), chosen, axis=0, out=chunk[: len(chosen)], mode="clip")
            torque = chunk[len(chosen) :]
            torque[:] = tau[part].T
            for joint, k, e in self.known:
                torque[joint] -= values[k] * entries[e]
            yield part, chunk

    def regressor(self, motion: Motion, where: slice) -> Iterator[tuple[slice, Array]]:
        """Entries of the regressor (E, m) of some samples of a motion, chunk by chunk."""
        return self.form.chunks(motion, where, self.shapes)


def _pieces(motion: Motion) -> Iterator[tuple[slice, NDArray[np.intp]]]:
    """Stretches of a motion whose rows are built at a time, and which samples of each remain."""
    if motion.decimator.ratio > 1:
        yield from motion.decimator.pieces(len(motion))
    else:
        for first in range(0, len(motion), BLOCK):
            last = min(first + BLOCK, len(motion))
            yield slice(first, last), np.arange(last - first)
