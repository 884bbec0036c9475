"""What the records say of every quantity: covariance with residuals correlated in time and links that are not quite known, null space.

J are the derivatives of the simulated positions in quantities and links, without what the states at the start can take up, r the
residuals, both in units of each joint's residual; the prior of the links is P, counted kappa times (`fit`):

    covariance = G (S + kappa^2 P) G,      G = (J'J + kappa P)^-1,      S = sum over blocks of time of (J'r)(J'r)'

A direction of the quantities is undetermined where its standard deviation exceeds the quantities themselves, links included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from inertica.arrays import Array
from inertica.estimators.actuators.fit import NEAR_ZERO, WIDE, Fit, Name, sizes, state_deviations
from inertica.estimators.actuators.values import QUANTITIES

BLOCKS = 40
"""Stretches of time whose scores count as independent."""

UNTOLD = 1.0
"""Standard deviation, in units of the quantities themselves, from which on a direction counts as not determined."""

NUMERICAL_ZERO = 1e-10
"""Of eigenvalues of the information relative to the largest: the square of what derivatives are exact to is far below."""

TAKES_PART = 0.25
"""Standard deviation, relative to a quantity, that undetermined directions may give it before it is not determined alone: its interval
would be as wide as half of it."""

WIDEST = 100.0
"""Standard deviation of a direction of which the records say nothing at all; more would call rounding errors a share."""

CLEAR, CLEAR_WEAK = 0.02, 0.25
"""Share of the largest entry from which on a quantity belongs to a combination, of exact ones and of those that hardly show."""

SAME, SAME_WEAK = 1e-3, 0.4
"""Distance from the space of undetermined directions up to which a direction counts as one of them."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is known of the free quantities of a group of joints.

    Args:
        free: (quantity, joint).
        value: (p,) SI.
        unit: (p,) SI size against which a change of each is large: its value, or a tenth of what it competes with.
        covariance: (p, p) SI, links and noise, with a wide prior in directions that are not determined.
        undetermined: (k, p) orthonormal directions, in units of `unit`, that the records do not determine.
        spread: (k,) standard deviations along them.
        blocks: stretches of time that counted as independent.
        links: (l, l) covariance of the errors of the links, in their standard deviations.
    """

    free: tuple[Name, ...]
    value: Array
    unit: Array
    covariance: Array
    undetermined: Array
    spread: Array
    blocks: int
    links: Array

    @property
    def alone(self) -> NDArray[np.bool_]:
        """(p,) quantities of which undetermined directions leave enough."""
        share = np.minimum(self.spread, WIDEST)[:, None] * self.undetermined
        return np.asarray(np.sum(share**2, axis=0) < TAKES_PART**2)

    @property
    def std(self) -> Array:
        """(p,) SI."""
        return np.sqrt(np.diag(self.covariance))


def evidence(fit: Fit) -> Evidence:
    """Covariance and null space at the end of a fit."""
    unit, p, l, kappa = units(fit), len(fit.free), len(fit.links), fit.correlation
    sigma = np.sqrt(fit.rms**2 + 1e-30)
    total = sum(len(r) for r in fit.residuals)
    blocks = [block for k in range(len(fit.residuals)) for block in _blocks(*_rows(fit, k, unit, sigma), total)]
    H = np.sum([information for information, _ in blocks], axis=0)
    prior = np.diag(np.concatenate([np.zeros(p), np.ones(l)]))
    known = H + kappa * prior
    # information on the quantities alone: what links may take up is taken off
    cross = known[:p, p:]
    marginal = known[:p, :p] - (cross @ np.linalg.solve(known[p:, p:], cross.T) if l else 0.0)
    lengths, axes = np.linalg.eigh(0.5 * (marginal + marginal.T))
    floor = NUMERICAL_ZERO * max(float(np.trace(H[:p, :p])), 1e-300)
    # too weak to matter, or below what rounding of the derivatives leaves
    lost = (lengths < kappa * UNTOLD**-2) | (lengths < floor)
    # below the floor the length is rounding error
    spread = np.sqrt(kappa / np.where(lengths < floor, 1e-300, lengths)[lost])
    wide = np.zeros((p + l, p + l))
    wide[:p, :p] = axes[:, lost] @ axes[:, lost].T
    # lost directions get the wide prior, so that the inverse exists and the others are not disturbed
    whole = known + kappa * wide / WIDE**2 + 1e-13 * np.trace(H) / (p + l) * np.eye(p + l)
    G = np.linalg.inv(whole)
    S = _scores(blocks, G)
    middle = S + kappa**2 * (prior + wide / WIDE**2)
    everything = G @ middle @ G
    covariance = everything[:p, :p]
    value = np.array([getattr(fit.values, name)[j] for name, j in fit.free])
    return Evidence(
        fit.free, value, unit, covariance * np.outer(unit, unit), axes[:, lost].T.copy(), spread, len(blocks), everything[p:, p:]
    )


def units(fit: Fit) -> Array:
    """(p,) SI size of each free quantity; see `Evidence`."""
    rivals = sizes(fit.runs, fit.values)
    out = []
    for name, j in fit.free:
        threshold = NEAR_ZERO * rivals[name][j]
        out.append(max(getattr(fit.values, name)[j], threshold) if name not in ("delay", "zero") else rivals[name][j])
    return np.maximum(np.array(out), 1e-300)


def _rows(fit: Fit, k: int, unit: Array, sigma: Array) -> tuple[Array, Array]:
    """J (p + l, N, n) and r (N, n) of a record, without what the state at its start takes up; zero where nothing counts."""
    _, D = fit.derivatives(k)
    r = fit.residuals[k]
    weight = np.where(np.isnan(r), 0.0, 1.0 / sigma)
    p, whole = len(fit.free), len(fit.free) + len(fit.links)
    D *= weight
    D[:p] *= unit[:, None, None]
    scale = state_deviations(fit.runs.records[k])[:, None] / np.sqrt(fit.correlation)
    S = D[whole:].reshape(len(D) - whole, -1) * scale
    rest = np.concatenate([D[:whole].reshape(whole, -1), (np.nan_to_num(r) * weight).reshape(1, -1)])
    rest -= (rest @ S.T) @ cho_solve(cho_factor(S @ S.T + np.eye(len(S))), S)
    return rest[:whole].reshape(whole, *r.shape), rest[-1].reshape(r.shape)


Block = tuple[Array, Array]
"""Information (p + l, p + l) and slope (p + l,) of a stretch of time."""


def _blocks(J: Array, r: Array, total: int) -> list[Block]:
    """Stretches of a record, as many as its share of all samples gives it; the derivatives are not kept."""
    out = []
    for chosen in np.array_split(np.arange(len(r)), max(2, round(BLOCKS * len(r) / total))):
        rows = J[:, chosen].reshape(len(J), -1)
        out.append((rows @ rows.T, rows @ r[chosen].ravel()))
    return out


def _scores(blocks: Sequence[Block], G: Array) -> Array:
    """Sum over blocks of the outer products of their scores.

    A block that tells much of a quantity has pulled its own residuals to zero; its score is that of a fit without it (the jackknife,
    "CR3" in the literature of clustered residuals).
    """
    size, count = len(G), len(blocks)
    scores = np.array([np.linalg.solve(np.eye(size) - information @ G, slope) for information, slope in blocks])
    return np.asarray(scores.T @ scores * (count - 1) / count)


@dataclass(frozen=True, eq=False)
class Undetermined:
    """A combination of quantities that the records do not determine.

    Args:
        parameters: (quantity, joint) that take part.
        direction: SI change of each, in one proportion.
        exact: no position changes with it; otherwise by less than the error that is left.
    """

    parameters: tuple[Name, ...]
    direction: Array
    exact: bool


def confounded(evidence: Evidence) -> list[Undetermined]:
    """What the records do not determine, in combinations that have names where there are such.

    Directions of which the records say nothing at all are spanned exactly.  Those that hardly show mix joints at random, so every
    joint's are taken for themselves: what its quantities can be whatever the others are.
    """
    nothing = evidence.spread >= WIDEST
    joints = sorted({j for _, j in evidence.free})
    exact = evidence.undetermined[nothing]
    out = [(row, True) for row in _combinations(evidence, exact, joints, SAME, CLEAR)]
    weak = evidence.spread[~nothing, None] * evidence.undetermined[~nothing]
    for j in joints:
        mine = np.array([joint == j for _, joint in evidence.free])
        _, lengths, axes = np.linalg.svd(np.where(mine, weak, 0.0), full_matrices=False)
        rows = axes[lengths > UNTOLD]
        inside = np.array([row for row, _ in out if not np.any(row[~mine])]).reshape(-1, len(mine))
        out += [(row, False) for row in _combinations(evidence, _without(rows, inside), [j], SAME_WEAK, CLEAR_WEAK)]
    combinations = []
    for row, is_exact in out:
        chosen = np.flatnonzero(row)
        direction = (row * evidence.unit)[chosen]
        combinations.append(Undetermined(tuple(evidence.free[i] for i in chosen), direction, is_exact))
    return combinations


def _combinations(evidence: Evidence, space: Array, joints: Sequence[int], same: float, clear: float) -> list[Array]:
    """Sparse vectors that span a space of directions (k, p): those with names first, the rest in reduced row echelon form."""
    out = list[Array]()
    for candidate in _candidates(evidence, joints):
        v = candidate / np.linalg.norm(candidate)
        if len(space) and np.linalg.norm(v - space.T @ (space @ v)) < same:
            out.append(candidate)
            space = _without(space, v[None])
    rest = _echelon(space)
    return out + [np.where(np.abs(row) > clear * np.abs(row).max(), row, 0.0) for row in rest]


def _candidates(evidence: Evidence, joints: Sequence[int]) -> list[Array]:
    """A quantity alone; the two dampings against each other; the scale of all torques of a joint, then of all joints."""
    place = {name: i for i, name in enumerate(evidence.free)}
    out = list(np.eye(len(place))[[i for name, i in place.items() if name[1] in joints]])
    for j in joints:
        if {("kd", j), ("viscous", j)} <= set(place):
            change = np.zeros(len(place))
            change[place["kd", j]], change[place["viscous", j]] = 1.0, -1.0
            out.append(change / evidence.unit)
    torque = np.array([QUANTITIES[name].torque for name, _ in evidence.free])
    scale = np.where(torque & np.isfinite(evidence.value), evidence.value / evidence.unit, 0.0)
    parts = [[j] for j in joints] + ([list(joints)] if len(joints) > 1 else [])
    for part in parts:
        mine = np.where([j in part for _, j in evidence.free], scale, 0.0)
        if all(("kp", j) in place for j in part):
            out.append(mine)
    return out


def _without(space: Array, vectors: Array) -> Array:
    """Orthonormal directions of a space across some vectors that lie in it, or close to it."""
    if not len(space) or not len(vectors):
        return space
    coordinates = space @ np.linalg.qr(vectors.T)[0]
    axes, lengths, _ = np.linalg.svd(coordinates)
    used = int(np.sum(lengths > 0.5))
    return np.asarray(axes[:, used:].T @ space)


def _echelon(N: Array) -> Array:
    """Reduced row echelon form: every row has a quantity that is in no other."""
    N = N.copy()
    for row in range(len(N)):
        rest = np.abs(N[row:])
        at, pivot = divmod(int(np.argmax(rest)), rest.shape[1])
        N[[row, row + at]] = N[[row + at, row]]
        N[row] /= N[row, pivot]
        others = np.arange(len(N)) != row
        N[others] -= np.outer(N[others, pivot], N[row])
    return N
