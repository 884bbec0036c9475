"""Inertia matrices as linear maps of the ten standard parameters, and their vector form for cone solvers.

Two matrices of a body are linear in its ten parameters (`robot.inertia.NAMES` order):

    J = [[tr(L)/2 I - L, l], [l', M]]      4x4 pseudo-inertia (survey, eq. 61), J > 0: a body that can exist,
    D = [[L, S(l)'], [S(l), M I]]          6x6 spatial inertia (survey, eq. 59), D > 0: M > 0 and CoM inertia > 0.

J > 0 says more than D > 0: it adds the triangle inequality of the principal moments.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.arrays import Array
from inertica.robot import inertia

ROOT2 = float(np.sqrt(2.0))


def _cross(v: Array) -> Array:
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def spatial_inertia(ten: ArrayLike) -> Array:
    """The 6x6 matrix D of ten parameters."""
    p = np.asarray(ten, float)
    S = _cross(p[6:9])
    return np.block([[inertia.matrix(p), S.T], [S, p[9] * np.eye(3)]])


PSEUDO: Array = np.array([inertia.pseudo_inertia(unit) for unit in np.eye(10)])
"""(10, 4, 4) with J = sum_k ten_k PSEUDO[k]."""

SPATIAL: Array = np.array([spatial_inertia(unit) for unit in np.eye(10)])
"""(10, 6, 6) with D = sum_k ten_k SPATIAL[k]."""


def pseudo_inertias(tens: ArrayLike) -> Array:
    """(..., 4, 4) pseudo-inertias of (..., 10) parameters."""
    return np.tensordot(np.asarray(tens, float), PSEUDO, axes=(-1, 0))


def svec(matrices: ArrayLike) -> Array:
    """Symmetric (..., d, d) as vectors (..., d(d+1)/2): upper triangle by columns, off-diagonals times sqrt 2 (Clarabel's order).

    Inner products are kept: svec(A) . svec(B) = tr(A B).
    """
    M = np.asarray(matrices, float)
    row, column, weight = _triangle(M.shape[-1])
    return M[..., row, column] * weight


def smat(vectors: ArrayLike) -> Array:
    """Back from `svec`."""
    v = np.asarray(vectors, float)
    d = side(v.shape[-1])
    return np.take(v / _triangle(d)[2], _square(d), axis=-1)


def side(entries: int) -> int:
    """Of the square matrix whose `svec` has this many entries."""
    return (int(np.sqrt(8 * entries + 1)) - 1) // 2


@lru_cache
def _triangle(d: int) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
    column, row = np.tril_indices(d)  # the upper triangle by columns is the lower one by rows, transposed
    return row, column, np.where(row == column, 1.0, ROOT2)


@lru_cache
def _square(d: int) -> NDArray[np.intp]:
    """(d, d) which entry of a vector every entry of the matrix is."""
    row, column, _ = _triangle(d)
    out = np.empty((d, d), np.intp)
    out[row, column] = out[column, row] = np.arange(len(row))
    return out
