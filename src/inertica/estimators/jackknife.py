"""Uncertainty by leaving out blocks: what parts of a record disagree on, whatever the reason.

With A = W'W and the scores s_g = W_g'r_g of block g (rows weighted, r the residuals of the whole fit), leaving the block out changes
the solution by -(A - A_g)^-1 s_g, to first order in the weights; the jackknife's standard deviation is

    std^2 = (G - 1)/G sum_g (d_g - mean d)^2,   d_g = (A - A_g)^-1 s_g.

Autocovariances see noise; blocks also see a model that is wrong in different ways in different parts of the record (friction that
drifts, say).  Twelve blocks are short enough for a usable standard deviation; five long ones see slow errors better and are
noisier.
"""

from __future__ import annotations

from itertools import pairwise
from math import lcm

import numpy as np
from numpy.typing import NDArray

from inertica.estimators.observe import Observations
from inertica.threads import one_thread

Array = NDArray[np.float64]

SINGULAR = 1e-9
"""Eigenvalues of a scaled normal matrix below this share of the largest count as zero."""

LEAST = 0.05
"""Share of what is known of a direction that other blocks contribute at least; below that a block is the only one that knows."""


def block_deviations(
    system: Observations, beta: Array, joint_weights: Array, counts: tuple[int, ...] = (12, 5)
) -> tuple[Array, ...]:
    """(b,) standard deviations of beta by leaving out blocks of consecutive rows, for several numbers of blocks.

    Args:
        system: the rows; weights on single rows are kept.
        beta: least-squares solution of the weighted rows.
        joint_weights: (n,) 1 / sigma_j as used in the fit.
        counts: of blocks; those of the record when several motions follow each other.
    """
    changes = block_changes(system, beta, joint_weights, counts)
    return tuple(np.sqrt((len(d) - 1) / len(d) * np.sum(d**2, axis=0)) for d in changes)


def block_changes(
    system: Observations, beta: Array, joint_weights: Array, counts: tuple[int, ...], *, reduced: bool = False
) -> tuple[Array, ...]:
    """(G, b) by how much beta changes when a block is left out, less the mean over the blocks, for several numbers G of blocks.

    Args:
        system, beta, joint_weights, counts: as in `block_deviations`.
        reduced: changes whose squares are unbiased for residuals that are noise (bias-reduced linearization of Bell and McCaffrey),
            A^-1/2 (1 - M)^-1/2 A^-1/2 s_g with M = A^-1/2 A_g A^-1/2; leaving a block out has (1 - M)^-1 there, which is too much
            where few blocks decide on a parameter.
    """
    parts = lcm(*counts)
    with one_thread():
        normal, score = _parts(system, beta, joint_weights, parts)
        out = []
        for count in counts:
            A = normal.reshape(count, parts // count, *normal.shape[1:]).sum(axis=1)
            s = score.reshape(count, parts // count, -1).sum(axis=1)
            s -= s.mean(axis=0)  # scores at a constrained solution do not add up to zero
            whole = A.sum(axis=0)
            half = _half_inverse(whole) if reduced else None
            d = np.array(
                [
                    _solved(whole - own, right) if half is None else _reduced(half, own, right)
                    for own, right in zip(A, s, strict=True)
                ]
            )
            out.append(d - d.mean(axis=0))
    return tuple(out)


def _half_inverse(A: Array) -> Array:
    """(b, k) K with K K' = A^-1 on the directions that A resolves."""
    scale = np.sqrt(np.maximum(np.diag(A), 1e-300))
    value, V = np.linalg.eigh(A / np.outer(scale, scale))
    known = value > SINGULAR * value[-1]
    return np.asarray(V[:, known] / np.sqrt(value[known]) / scale[:, None])


def _reduced(half: Array, own: Array, right: Array) -> Array:
    """The bias-reduced change by one block."""
    share, V = np.linalg.eigh(half.T @ own @ half)
    left = np.maximum(1.0 - share, LEAST)
    return np.asarray(half @ (V @ ((V.T @ (half.T @ right)) / np.sqrt(left))))


def _parts(system: Observations, beta: Array, joint_weights: Array, parts: int) -> tuple[Array, Array]:
    """Normal matrices (parts, b, b) and scores (parts, b) of equal parts of all rows in the order of time."""
    b = len(beta)
    offset = np.cumsum([0, *system.lengths])
    normal, score = np.zeros((parts, b, b)), np.zeros((parts, b))
    for rows, residual in system.residuals(beta):
        weight = system.weight(rows) * joint_weights
        part = (offset[rows.motion] + rows.first + np.arange(len(residual))) * parts // offset[-1]
        edges = np.concatenate([[0], np.flatnonzero(np.diff(part)) + 1, [len(part)]])
        for j, (W, columns) in enumerate(zip(rows.W, system.columns, strict=True)):
            X, r = W * weight[:, j, None], residual[:, j] * weight[:, j]
            for begin, end in pairwise(edges):
                g = part[begin]
                normal[g][np.ix_(columns, columns)] += X[begin:end].T @ X[begin:end]
                score[g, columns] += X[begin:end].T @ r[begin:end]
    return normal, score


def _solved(A: Array, right: Array) -> Array:
    """A^-1 right on the directions that A resolves."""
    scale = np.sqrt(np.maximum(np.diag(A), 1e-300))
    value, V = np.linalg.eigh(A / np.outer(scale, scale))
    known = value > SINGULAR * value[-1]
    return np.asarray(V[:, known] @ ((V[:, known].T @ (right / scale)) / value[known]) / scale)
