"""One point from several experiments: what the same noise adds to all of them falls out of the differences of their second moments.

Second moments of the rows [W, -y] are those of the true ones plus those of the noise, Sigma_k = S_k + D, and S_k a = 0 for all k.  Of
experiments that differ and have the same noise, (Sigma_k - Sigma_l) a = 0: no part of D needs to be known, and errors of the columns
may go together (Guidorzi, Diversi and Soverini 2008, which the Frisch paper names as its future work).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inertica.arrays import Array
from inertica.errors import InputError
from inertica.threads import one_thread

PIECES = 12
"""Of an experiment, from the spread of which its moments have their covariance; as many as `intervals` takes of a record."""


@dataclass(frozen=True, eq=False)
class Common:
    """What several experiments have in common.

    Args:
        beta: (p,)
        covariance: (p, p) from the spread of moments between pieces of the experiments.
        condition: of the differences, columns scaled by the size of their variables.
    """

    beta: Array
    covariance: Array
    condition: float


def common(moments: Sequence[Array]) -> Common:
    """The relation that all experiments have.

    Args:
        moments: of every experiment (m, p + 1, p + 1), means of x x' over its pieces, which have equally many rows.
    """
    if len(moments) < 2:
        raise InputError("a point from independent experiments needs two logs or more; give them, or choose select=norm")
    means = [piece.mean(axis=0) for piece in moments]
    whole = np.mean(means, axis=0)
    scale = 1.0 / np.sqrt(np.diag(whole))
    G = np.vstack([(scale[:, None] * (m - whole) * scale)[:, :-1] for m in means])
    g = np.concatenate([scale * (m - whole)[:, -1] for m in means])
    with one_thread():
        U, s, Vt = np.linalg.svd(G, full_matrices=False)
        if s[-1] <= len(G) * np.finfo(float).eps * s[0]:
            raise InputError(
                "the logs move the robot alike, so that their differences do not determine every parameter; add another motion"
            )
        half = Vt.T / s @ U.T
        x = -half @ g
        beta = x * scale[:-1]
        a = np.append(beta, 1.0)
        # of each experiment the mean of x e, e = x' a; what all have in common has no part in the differences
        errors = [scale * (piece @ a) for piece in moments]
        covariances = [np.cov(e, rowvar=False) / len(e) for e in errors]
        share = np.eye(len(moments)) - 1.0 / len(moments)
        total = np.zeros((len(beta), len(beta)))
        for k, C in enumerate(covariances):
            gain = scale[:-1, None] * (half @ np.kron(share[:, [k]], np.eye(len(a))))
            total += gain @ C @ gain.T
    return Common(beta, total, float(s[0] / s[-1]))


def piecewise(X: Array, pieces: int = PIECES) -> Array:
    """(pieces, p + 1, p + 1) means of x x' over parts of the rows X that follow each other."""
    rows = len(X) // pieces
    if rows == 0:
        raise InputError(f"an experiment with {len(X)} rows is too short for {pieces} pieces")
    parts = X[: rows * pieces].reshape(pieces, rows, -1)
    return np.asarray(np.einsum("kri,krj->kij", parts, parts) / rows)
