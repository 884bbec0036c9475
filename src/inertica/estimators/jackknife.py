"""Uncertainty by blocks: what parts of a record disagree on, whatever the reason.

With A = W'W, A_g and s_g = W_g'r_g of block g (rows weighted, r the residuals of the whole fit), and M_g = A^-1/2 A_g A^-1/2,

    std^2 = sum_g d_g^2,   d_g = A^-1/2 (1 - M_g)^-1/2 A^-1/2 s_g

is unbiased for residuals that are noise (bias-reduced linearization of Bell and McCaffrey).  Leaving the block out has (1 - M_g)^-1
there (jackknife), which is too much where few blocks decide on a parameter: 1.3 times the variance of noise alone on logs of robots.

Autocovariances see noise; blocks also see a model that is wrong in different ways in different parts of the record (friction that
drifts, say).  Twelve blocks are short enough for a usable standard deviation; five long ones see slow errors better and are
noisier.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from inertica.arrays import Array
from inertica.estimators.observe import Observations
from inertica.preprocessing.periods import part_counts, shared_parts
from inertica.threads import one_thread

SINGULAR = 1e-9
"""Eigenvalues of a scaled normal matrix below this share of the largest count as zero."""

LEAST = 0.05
"""Share of what is known of a direction that other blocks contribute at least; below that a block is the only one that knows."""


def block_changes(system: Observations, beta: Array, joint_weights: Array, count: int) -> Array:
    """(G, b) d_g of G parts of the record (`shared_parts`), less their mean.

    Args:
        system: the rows; weights on single rows are kept.
        beta: least-squares solution of the weighted rows.
        joint_weights: (n,) 1 / sigma_j as used in the fit.
        count: of blocks; those of the record when several motions follow each other.
    """
    with one_thread():
        normal, score = _parts(system, beta, joint_weights, count)
        score -= score.mean(axis=0)  # scores at a constrained solution do not add up to zero
        half = _half_inverse(normal.sum(axis=0))
        d = np.array([_bias_reduced_change(half, gram, right) for gram, right in zip(normal, score, strict=True)])
        return d - d.mean(axis=0)


def _half_inverse(A: Array) -> Array:
    """(b, k) K with K K' = A^-1 on the directions that A resolves."""
    scale = np.sqrt(np.diag(A))
    empty = scale == 0.0  # no row has the parameter: its torque was not recorded, say
    scale[empty] = 1.0
    value, V = np.linalg.eigh(A / np.outer(scale, scale))
    known = value > SINGULAR * value[-1]
    V[np.ix_(empty, known)] = 0.0
    return np.asarray(V[:, known] / np.sqrt(value[known]) / scale[:, None])


def _bias_reduced_change(half: Array, gram: Array, right: Array) -> Array:
    """The bias-reduced change by one block."""
    share, V = np.linalg.eigh(half.T @ gram @ half)
    left = np.maximum(1.0 - share, LEAST)
    return np.asarray(half @ (V @ ((V.T @ (half.T @ right)) / np.sqrt(left))))


def _parts(system: Observations, beta: Array, joint_weights: Array, count: int) -> tuple[Array, Array]:
    """Normal matrices (parts, b, b) and scores (parts, b) of about `count` equal parts of all rows."""
    b = len(beta)
    counts = part_counts(system.lengths, count)
    labels, parts = shared_parts(system.lengths, system.periods, counts), int(counts.sum())
    normal, score = np.zeros((parts, b, b)), np.zeros((parts, b))
    for rows, residual in system.residuals(beta):
        weight = system.weight(rows) * joint_weights
        part = labels[rows.motion][rows.first : rows.first + len(residual)]
        edges = np.concatenate([[0], np.flatnonzero(np.diff(part)) + 1, [len(part)]])
        for j, (W, columns) in enumerate(zip(rows.W, system.columns, strict=True)):
            X, r = W * weight[:, j, None], residual[:, j] * weight[:, j]
            for begin, end in pairwise(edges):
                g = part[begin]
                normal[g][np.ix_(columns, columns)] += X[begin:end].T @ X[begin:end]
                score[g, columns] += X[begin:end].T @ r[begin:end]
    return normal, score
