"""First-order geometry at a constrained solution: which directions are left, and how the solution follows the data.

At a solution the active constraints leave a tangent space.  In it the problem is an ordinary least-squares problem, so a change of
the data dz moves the parameters by

    d chi = N (N' H N)^-1 N' A' dz,   H = A'A + half the prior's second derivative,

N a basis of the tangent space.  Equations and active inequalities take away their normals; a body on the boundary of the cone with
null vectors v_i of its pseudo-inertia takes away all v_i' dJ v_j = 0 (it stays on its face).  The curvature of the face is left
out: this is the covariance of a regular point, not of a corner, where intervals are one-sided (`uncertainty`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inertica.arrays import Array
from inertica.physical.cone import ACTIVE, Metric, Program
from inertica.physical.constraints import Block
from inertica.physical.fit import Fit
from inertica.physical.priors import Penalty, Quadratic
from inertica.physical.pseudo import smat, svec
from inertica.threads import one_thread


@dataclass(frozen=True, eq=False)
class Response:
    """How a solution follows the data.

    Args:
        inverse: (P, P) N (N' H N)^-1 N'; times A' dz it is the change of chi, times noise variance the posterior covariance.
    """

    inverse: Array

    def sampling(self, fit: Fit) -> Array:
        """(P, P) covariance of chi that rows of unit variance cause."""
        response = self.inverse @ fit.A.T
        return np.asarray(response @ response.T)


def response(program: Program, fit: Fit, penalty: Penalty, chi: Array, *, held: bool = True) -> Response:
    """The response at a solution.

    Args:
        program, fit, penalty: the problem.
        chi: its solution.
        held: whether active inequalities count as equations; without, the response is that of data, prior and equations alone.
    """
    quadratic = penalty if isinstance(penalty, Quadratic) else _local(penalty, chi)
    with one_thread():
        half = program.scale[:, None] * _tangent_half(program, Metric.of(program, fit, quadratic), chi, held)
    inverse = np.zeros((program.reference.layout.size,) * 2)
    inverse[np.ix_(program.free, program.free)] = half @ half.T
    return Response(inverse)


def tangent_inverse(program: Program, metric: Metric, chi: Array) -> Array:
    """(k, k) N (N' H N)^-1 N' in scaled free variables, H = M'M."""
    half = _tangent_half(program, metric, chi)
    return np.asarray(half @ half.T)


def _tangent_half(program: Program, metric: Metric, chi: Array, held: bool = True) -> Array:
    normals = active_normals(program, chi, held)
    if not len(normals):
        return np.asarray(np.linalg.inv(metric.M))
    N = _null_space(normals, len(program.scale))
    # half half' = N (N'M'M N)^-1 N', the covariance within the directions N that active constraints leave free
    return np.asarray(N @ np.linalg.inv(np.linalg.qr(metric.M @ N, mode="r")))


def active_normals(program: Program, chi: Array, held: bool = True) -> Array:
    """(k, free) gradients of the active constraints in scaled variables; of equations only when inequalities do not hold."""
    blocks = program.blocks if held else [block for block in program.blocks if block.cone == "zero"]
    rows = [part @ block.F[:, program.free] * program.scale for block in blocks for part in [_touching(block, chi)]]
    return np.vstack(rows) if rows else np.zeros((0, len(program.scale)))


def _touching(block: Block, chi: Array) -> Array:
    """(k, rows) combinations of a block's rows that are held at zero."""
    value = block.value(chi)
    match block.cone:
        case "zero":
            return np.eye(len(value))
        case "nonnegative":
            return np.eye(len(value))[value < ACTIVE]
        case "second order":
            size = float(np.linalg.norm(value[1:]))
            if value[0] - size >= ACTIVE or size == 0.0:
                return np.zeros((0, len(value)))
            return np.concatenate([[1.0], -value[1:] / size])[None]
        case "semidefinite":
            e, V = np.linalg.eigh(smat(value))
            null = V[:, e < ACTIVE]
            k = null.shape[1]
            pairs = [np.outer(null[:, i], null[:, j]) for i in range(k) for j in range(i + 1)]
            return svec(np.array([0.5 * (p + p.T) for p in pairs])) if pairs else np.zeros((0, len(value)))


def _null_space(rows: Array, size: int) -> Array:
    if not len(rows):
        return np.eye(size)
    # the null space: directions that move no active constraint
    _, s, Vt = np.linalg.svd(rows)
    return np.asarray(Vt[int(np.count_nonzero(s > 1e-9 * s[0])) :].T)


def _local(penalty: Penalty, chi: Array) -> Quadratic:
    """The quadratic with the penalty's second derivative at chi."""
    e, V = np.linalg.eigh(0.5 * penalty.hessian(chi))
    return Quadratic(np.sqrt(np.maximum(e, 0.0))[:, None] * V.T, chi)
