"""Model reduction by permutation-optimised SVD (Frisch paper, section 3.1), an alternative choice of base parameters.

The parameters that act only in combination, theta_l, have a null space V2 (orthonormal columns, Gamma_l V2 = 0).  Eliminating the
subset theta_l2 gives, with V2 split into the rows V21 of the others and V22 of the subset,

    theta_d = theta_l1 - T theta_l2,    T = V21 V22^-1

and the subset is chosen to minimise  alpha1 cond(V22) + alpha2 / |det V22|.  The reduced regressor is Gamma_l1, plainly the kept
columns, because Gamma_l2 = -Gamma_l1 T; the paper's Theorem 3, Gamma_l1 - Gamma_l2 T' = Gamma_l1 (I + T T'), is wrong.  The
criterion depends on the null space alone, not on how strongly the states excite it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from inertica.arrays import Array
from inertica.identifiability.base import (
    BaseModel,
    Columns,
    assembled,
    effective_columns,
    elimination_order,
    triangle,
    without_dust,
)
from inertica.identifiability.states import States, random_states
from inertica.robot.layout import Layout
from inertica.threads import one_thread

Indices = NDArray[np.intp]

MOST_SUBSETS = 20000
"""All subsets are tried up to this many; beyond, single swaps improve a start from pivoted QR."""

ZERO_ROW = 1e-8
"""Rows of the null space (of unit-norm columns) below this belong to parameters that are identifiable alone."""

_SAME = 1e-9  # criteria this close (relative) count as equal


@dataclass(frozen=True, eq=False)
class SvdReduction:
    """What the search for the best regrouping found.

    Args:
        base: the base model.
        alone: parameters that are identifiable alone (p_a of the paper).
        combined: those identifiable only in combination (p_l).
        permutations: ways to choose which of them are eliminated.
        value: criterion of the chosen one; 0 when there is nothing to choose.
    """

    base: BaseModel
    alone: int
    combined: int
    permutations: int
    value: float

    @property
    def exhaustive(self) -> bool:
        """Whether every permutation was tried."""
        return self.permutations <= MOST_SUBSETS


def reduced_by_svd(
    layout: Layout, *, states: States | None = None, seed: int = 0, alpha1: float = 1.0, alpha2: float = 1.0
) -> SvdReduction:
    """A base model whose eliminated parameters make the regrouping best conditioned, and how it was found.

    Args:
        layout: robot and terms.
        states: to decide on; random ones when not given.  Give those of a motion for what that motion can determine.
        seed: of the random states.
        alpha1, alpha2: weights of cond(V22) and 1 / |det V22|.
    """
    drawn = random_states(layout, seed=seed) if states is None else states
    with one_thread():
        columns = effective_columns(layout, triangle(layout, drawn))
        combined = np.flatnonzero(np.linalg.norm(columns.null, axis=1) > ZERO_ROW)
        V2 = null_space(columns, combined)
        by_preference = _least_wanted_first(layout, columns.index[combined])
        rows = by_preference[best_subset(V2[by_preference], alpha1, alpha2)]
        eliminated = np.sort(columns.index[combined[rows]])
        retained = np.setdiff1d(columns.index, eliminated)
        K = _coefficients(columns, combined, V2, retained, eliminated)
        value = float(criterion(V2[rows], alpha1, alpha2)) if rows.size else 0.0
    base = assembled(layout, columns, retained, eliminated, K, drawn, columns.rank.warnings)
    return SvdReduction(base, len(columns.index) - len(combined), len(combined), math.comb(len(combined), len(rows)), value)


def _least_wanted_first(layout: Layout, parameters: Indices) -> Indices:
    """Order in which equally good subsets are preferred: what the field eliminates by habit goes first."""
    place = {k: i for i, k in enumerate(elimination_order(layout))}
    return np.argsort([-place[int(k)] for k in parameters]).astype(np.intp)


def null_space(columns: Columns, combined: Indices) -> Array:
    """Orthonormal V2 of the combined columns themselves, from the null space of the unit-norm columns."""
    basis = columns.null[combined] / columns.norm[combined, None]
    return np.linalg.qr(basis)[0] if basis.size else basis


def criterion(V22: Array, alpha1: float = 1.0, alpha2: float = 1.0) -> Array:
    """alpha1 cond(V22) + alpha2 / |det V22| of one or a stack of square matrices; infinite when singular."""
    s = np.linalg.svd(V22, compute_uv=False)
    determinant = np.prod(s, axis=-1)
    with np.errstate(divide="ignore"):
        value: Array = alpha1 * s[..., 0] / s[..., -1] + alpha2 / determinant
    return np.where(determinant > 0.0, value, np.inf)


def best_subset(V2: Array, alpha1: float = 1.0, alpha2: float = 1.0) -> Indices:
    """Rows of V2 that make the best V22; of equally good subsets the first in lexicographic order (exhaustive search)."""
    count, size = V2.shape
    if not size:
        return np.zeros(0, np.intp)
    if math.comb(count, size) <= MOST_SUBSETS:
        subsets = np.array(list(combinations(range(count), size)), np.intp)
        values = criterion(V2[subsets], alpha1, alpha2)
        return subsets[np.flatnonzero(values <= values.min() * (1.0 + _SAME))[0]]
    return _swapped(V2, alpha1, alpha2)


def _swapped(V2: Array, alpha1: float, alpha2: float) -> Indices:
    """From the rows that pivoted QR picks, exchange one row at a time for the best other as long as the criterion falls.

    With C = V21 V22^-1, an exchange multiplies |det V22| by |C_ij|; since cond >= 1 most exchanges are ruled out by that alone.
    """
    subset = np.sort(qr(V2.T, mode="r", pivoting=True)[1][: V2.shape[1]]).astype(np.intp)
    value = float(criterion(V2[subset], alpha1, alpha2))
    while True:
        others = np.setdiff1d(np.arange(len(V2)), subset)
        C = np.abs(np.linalg.solve(V2[subset].T, V2[others].T))
        with np.errstate(divide="ignore"):
            least = alpha1 + alpha2 / (C * abs(np.linalg.det(V2[subset])))
        out, new = np.nonzero(least < value * (1.0 - _SAME))
        if not out.size:
            return subset
        trials = np.repeat(subset[None], len(out), axis=0)
        trials[np.arange(len(out)), out] = others[new]
        values = np.array([criterion(V2[trial], alpha1, alpha2) for trial in trials])
        best = int(np.flatnonzero(values <= values.min() * (1.0 + _SAME))[0])
        if not values[best] < value * (1.0 - _SAME):
            return subset
        subset, value = np.sort(trials[best]), float(values[best])


def _coefficients(columns: Columns, combined: Indices, V2: Array, retained: Indices, eliminated: Indices) -> Array:
    """K = -T with T = V21 V22^-1, zero rows for parameters identifiable alone."""
    row = {int(k): i for i, k in enumerate(columns.index[combined])}
    grouped = [i for i, k in enumerate(retained) if int(k) in row]
    V22 = V2[[row[int(k)] for k in eliminated]]
    V21 = V2[[row[int(k)] for k in retained[grouped]]]
    K = np.zeros((len(retained), len(eliminated)))
    if eliminated.size:
        K[grouped] = -np.linalg.solve(V22.T, V21.T).T
    norm = dict(zip(columns.index.tolist(), columns.norm, strict=True))
    retained_norm, eliminated_norm = np.array([norm[int(k)] for k in retained]), np.array([norm[int(k)] for k in eliminated])
    scale = retained_norm[:, None] / eliminated_norm
    return without_dust(K * scale) / scale
