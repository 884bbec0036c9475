"""Spring, damper, friction and backlash between motor and link of one joint, from positions on both sides of the gear.

A drive of two masses (Spong 1987): the motor, seen from the joint, at q with inertia J and friction Fv dq + Fc sign(dq), the link at
ql, between them a torque T through a spring k, a damper c and a gap b,

    tau = J ddq + Fv dq + Fc sign(dq) + T,      T = k (e -+ b/2) + c de,      e = q - ql,

so that the motor's side alone says how far the spring bends,

    e = e0 + tau / k - (J / k) ddq - (Fv / k - lag) dq - (Fc / k) sign(dq) - (c / k) de + (b / 2) sign(T),

whatever hangs on the link.  `lag` is how much later ql was read than q.  The relation is exact in any band, and stays so when all
signals pass the same filter.  It is linear but for the sign of T.  Noise of the measured torque would make the spring too stiff, and
noise of the bend is in its own rate: the model's torque stands for both as an instrument.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array, Mask
from inertica.estimators.covariance import Influences, combination_covariance
from inertica.guard import Comparison, compare
from inertica.preprocessing.decimate import widened

PARTS = 10
"""Stretches of the data that are left out in turn."""

BLOCKS = 12
"""Stretches whose disagreement is counted where it is more than noise with its correlation says."""

SURE = 3.3
"""Standard deviations by which what is not always there must differ from zero, as for a piece of friction."""

STEPS = 20

STARTS = (1.0, 0.5, 0.0)
"""Parts of the motor's inertia from which the search for a gap begins."""

MARGINS = (1.0, 0.5, 0.25, 0.125)
"""Parts of the filter's reach on each side of a crossing of the gap that are left out, the widest that leaves enough rows."""

FEWEST = 100
"""Rows below which nothing is fitted: ten for each stretch."""

SPRING, INERTIA, VISCOUS, COULOMB, DAMPER, GAP = "spring", "inertia", "viscous", "coulomb", "damper", "gap"
ALWAYS = (SPRING, INERTIA, VISCOUS, COULOMB)


@dataclass(frozen=True, eq=False)
class DriveRows:
    """Signals of one joint along one motion, all through the same filter.

    Args:
        bend: (N,) e, motor less link.
        tau: (N,) measured torque.
        model: (N,) the same by the model that was fitted.
        rigid: (N,) torque of links alone, with the drive's inertia, without friction.
        dq, ddq, direction: (N,) of the motor; direction is the filtered sign.
        bend_rate, model_rate: (N,) derivatives of `bend` and `model`.
        use: (N,) rows that take part.
        reach: samples on each side over which the filter smears a jump.
        period: of the motion as a share of its rows; None where it does not repeat.
    """

    bend: Array
    tau: Array
    model: Array
    rigid: Array
    dq: Array
    ddq: Array
    direction: Array
    bend_rate: Array
    model_rate: Array
    use: Mask
    reach: int = 0
    period: float | None = None

    def column(self, name: str, through: Array) -> Array:
        """(N,) of one term; `through` is the torque through the spring, with which the gap's side is known."""
        return {
            SPRING: self.tau, INERTIA: -self.ddq, VISCOUS: -self.dq, COULOMB: -self.direction, DAMPER: -self.bend_rate,
            GAP: np.sign(through),
        }[name]  # fmt: skip

    def instrument(self, name: str, through: Array) -> Array:
        """(N,) what stands for a column whose noise is also in the bend."""
        if name == SPRING:
            return self.model
        return -self.model_rate if name == DAMPER else self.column(name, through)


@dataclass(frozen=True, eq=False)
class Bend:
    """What was found of one joint.

    Args:
        terms: names of the terms.
        values: (p,) 1/k, J/k, Fv/k - lag, Fc/k, c/k, b/2, as far as they are terms.
        covariance: (p, p).
        explained: share of the bend's variance on data left out.
        plain: the same of torque and direction of motion alone.
        comparisons: term that is not always there -> how data left out compare with it and without it.
    """

    terms: tuple[str, ...]
    values: Array
    covariance: Array
    explained: float
    plain: float
    comparisons: Mapping[str, Comparison] = field(default_factory=dict)

    def value(self, name: str) -> float:
        return float(self.values[self.terms.index(name)]) if name in self.terms else 0.0

    def std(self, name: str) -> float:
        k = self.terms.index(name)
        return float(np.sqrt(self.covariance[k, k]))


def fitted_bend(rows: Sequence[DriveRows]) -> Bend | None:
    """Terms that the data show, with their values; None where there are too few rows.

    Args:
        rows: of one joint, motion by motion.
    """
    if _rows_in_use(rows) < FEWEST:
        return None
    plain = _explained(rows, (SPRING, COULOMB), _untold(rows))
    bend = _fit(rows, ALWAYS, _untold(rows))
    if bend is None:
        return None
    damped = _tried(rows, bend, DAMPER, _untold(rows))
    bend = damped if damped is not None else bend
    bend, through = _with_gap(rows, bend)
    explained = _explained(rows, bend.terms, through)
    return replace(bend, explained=explained, plain=plain)


def _rows_in_use(rows: Sequence[DriveRows]) -> int:
    return sum(int(np.count_nonzero(one.use)) for one in rows)


def _untold(rows: Sequence[DriveRows]) -> list[Array]:
    return [np.zeros(len(one.bend)) for one in rows]


def _with_gap(rows: Sequence[DriveRows], bend: Bend) -> tuple[Bend, list[Array]]:
    """With a gap, if the data show one: the side it is on follows from the torque through the spring, that from the rest.

    A gap that is not there yet spoils the motor's inertia, from which the search begins, so that it begins several times.
    """
    trials = [trial for part in STARTS if (trial := _with_gap_from(rows, bend, _through(rows, bend, part))) is not None]
    if not trials:
        return bend, _untold(rows)
    return min(trials, key=lambda trial: float(_left_out(rows, trial[0].terms, trial[1]).sum()))


def _with_gap_from(rows: Sequence[DriveRows], bend: Bend, through: list[Array]) -> tuple[Bend, list[Array]] | None:
    """The same from one guess of the torque through the spring; None where no gap shows."""
    trial = None
    for _ in range(STEPS):
        crossed = _crossed(rows, through)
        trial = _tried(crossed, bend, GAP, through) if _rows_in_use(crossed) >= FEWEST else None
        if trial is None or trial.value(GAP) <= 0.0:
            return None
        before, through = through, _through(rows, trial)
        if all(np.array_equal(np.sign(a[o.use]), np.sign(b[o.use])) for a, b, o in zip(through, before, rows, strict=True)):
            break
    return None if trial is None else (_away_from_crossings(rows, trial, through), through)


def _away_from_crossings(rows: Sequence[DriveRows], with_gap: Bend, through: Sequence[Array]) -> Bend:
    """The same terms without the rows that a crossing spoils, as far as enough are left to tell them."""
    for margin in MARGINS:
        clear = _crossed(rows, through, margin)
        if _rows_in_use(clear) < FEWEST:
            continue
        bend = _fit(clear, with_gap.terms, through)
        if bend is not None and bend.value(GAP) > SURE * bend.std(GAP) and bend.value(SPRING) > SURE * bend.std(SPRING):
            return replace(bend, comparisons=with_gap.comparisons)
    return with_gap


def _through(rows: Sequence[DriveRows], bend: Bend, part: float = 1.0) -> list[Array]:
    """(N,) torque through the spring, motion by motion: what the links ask for, without a part of the motor's own inertia.

    Not of the bend's other terms: a lag between both encoders passes for friction there.
    """
    motor = bend.value(INERTIA) / bend.value(SPRING) if bend.value(SPRING) > 0.0 else 0.0
    return [one.rigid - part * max(motor, 0.0) * one.ddq for one in rows]


def _crossed(rows: Sequence[DriveRows], through: Sequence[Array], margin: float = 0.0) -> list[DriveRows]:
    """Without rows at which the side of the gap is not known, or on its way to the other one.

    The torque through the spring is less there than what its model misses, or changes sign within a part of what the filter smears.
    """
    missed = np.sqrt(np.mean(np.concatenate([(one.tau - one.model)[one.use] for one in rows]) ** 2))
    out = []
    for one, T in zip(rows, through, strict=True):
        changes = np.concatenate([[False], np.sign(T[1:]) != np.sign(T[:-1])])
        out.append(replace(one, use=one.use & (np.abs(T) > 3.0 * missed) & ~widened(changes, int(margin * one.reach))))
    return out


def _tried(rows: Sequence[DriveRows], bend: Bend, name: str, through: Sequence[Array]) -> Bend | None:
    """With one more term, if it differs from zero beyond doubt and data left out are predicted better beyond doubt."""
    base = tuple(term for term in bend.terms if term != name)
    wider = _fit(rows, (*base, name), through)
    if wider is None or abs(wider.value(name)) <= SURE * wider.std(name):
        return None
    errors, without, sizes = _left_out(rows, wider.terms, through), _left_out(rows, base, through), _sizes(rows)
    comparison = compare(errors, without, sizes)
    if not comparison.significantly_better:
        return None
    return replace(wider, comparisons={**bend.comparisons, name: comparison})


def _fit(rows: Sequence[DriveRows], terms: tuple[str, ...], through: Sequence[Array]) -> Bend | None:
    """Instrumental variables on all rows in use, with a zero of the bend for every motion."""
    X, Z, y = _stacked(rows, terms, through)
    p, solution = len(terms), _solution(X, Z, y)
    if solution is None:
        return None
    values, answer = solution
    influence = Z @ answer.T
    left, parts, start = y - X @ values, [], 0
    for one in rows:
        count = int(np.count_nonzero(one.use))
        r, V = np.zeros((len(one.use), 1)), np.zeros((len(one.use), p))
        r[one.use, 0], V[one.use] = left[start : start + count], influence[start : start + count, :p]
        parts.append(Influences([V], r, one.use[:, None], one.period))
        start += count
    covariance = combination_covariance(parts, X.shape[1])
    sums = np.array([part.sum(axis=0) for part in np.array_split(influence[:, :p] * left[:, None], BLOCKS)])
    blocks = BLOCKS / (BLOCKS - 1) * np.einsum("bi,bi->i", sums - sums.mean(axis=0), sums - sums.mean(axis=0))
    wider = np.sqrt(np.maximum(1.0, blocks / np.maximum(np.diag(covariance), 1e-300)))
    return Bend(terms, values[:p], wider[:, None] * covariance * wider, np.nan, np.nan)


def _stacked(
    rows: Sequence[DriveRows], terms: Sequence[str], through: Sequence[Array], use: Sequence[Mask] | None = None
) -> tuple[Array, Array, Array]:
    """Columns, instruments and bend of the rows in use; the zeros of the motions last."""
    X, Z, y = [], [], []
    for k, (one, T) in enumerate(zip(rows, through, strict=True)):
        rows_used = one.use if use is None else use[k]
        zero = np.tile(np.eye(len(rows))[k], (len(one.use), 1))
        X.append(np.column_stack([*(one.column(name, T) for name in terms), zero])[rows_used])
        Z.append(np.column_stack([*(one.instrument(name, T) for name in terms), zero])[rows_used])
        y.append(one.bend[rows_used])
    return np.concatenate(X), np.concatenate(Z), np.concatenate(y)


def _solution(X: Array, Z: Array, y: Array) -> tuple[Array, Array] | None:
    """Coefficients, and what instruments are multiplied with to give them; None where the columns are dependent."""
    size = np.sqrt(np.linalg.norm(X, axis=0) * np.linalg.norm(Z, axis=0))
    if np.any(size == 0.0):
        return None
    G = (Z / size).T @ (X / size)
    if np.linalg.matrix_rank(G, tol=1e-10) < len(G):
        return None
    answer = np.linalg.inv(G) / np.outer(size, size)
    return answer @ (Z.T @ y), answer


def _left_out(rows: Sequence[DriveRows], terms: tuple[str, ...], through: Sequence[Array]) -> Array:
    """(parts,) squared errors of the bend on stretches that were left out in turn; a motion's zero is that of the rest of it."""
    out = []
    for part in _parts(rows):
        rest = [one.use & ~left for one, left in zip(rows, part, strict=True)]
        solution = _solution(*_stacked(rows, terms, through, rest))
        X, _, y = _stacked(rows, terms, through, part)
        out.append(np.inf if solution is None else float(np.sum((y - X @ solution[0]) ** 2)))
    return np.array(out)


def _sizes(rows: Sequence[DriveRows]) -> Array:
    """(parts,) squares of the bend about the mean of its motion."""
    means = [float(np.mean(one.bend[one.use])) if one.use.any() else 0.0 for one in rows]
    return np.array(
        [
            sum(float(np.sum((one.bend[left] - m) ** 2)) for one, left, m in zip(rows, part, means, strict=True))
            for part in _parts(rows)
        ]
    )


def _parts(rows: Sequence[DriveRows]) -> list[list[NDArray[np.bool_]]]:
    """Stretches of the rows in use, of equal length."""
    used = np.concatenate([one.use for one in rows])
    ends = np.cumsum([0, *(len(one.use) for one in rows)])
    out = []
    for where in np.array_split(np.flatnonzero(used), PARTS):
        mask = np.zeros(len(used), bool)
        mask[where] = True
        out.append([mask[a:b] for a, b in pairwise(ends)])
    return out


def _explained(rows: Sequence[DriveRows], terms: tuple[str, ...], through: Sequence[Array]) -> float:
    """Share of the variance of the bend that data left out have explained."""
    return float(1.0 - _left_out(rows, terms, through).sum() / max(float(_sizes(rows).sum()), 1e-300))
