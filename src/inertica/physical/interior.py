"""A point well inside all constraints, near a given one: where barrier methods start."""

from __future__ import annotations

import clarabel
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from inertica.physical.cone import Program, SolveError, cones_of, settings_of
from inertica.physical.conflict import conflict_error, smallest_conflict
from inertica.physical.pseudo import side, svec

Array = NDArray[np.float64]

_NEAR = 1e-3
"""Weight of staying near, against depth; both in reference sizes."""

_DEEP = 0.1
"""Depth that is enough, in reference sizes."""


def deepest(program: Program, x: Array) -> Array:
    """max depth - near |x - x_0|^2 with every slack at least the depth, depth at most `_DEEP`.

    Raises:
        InfeasibleError: nothing is strictly inside.
    """
    k = len(x)
    known = np.where(program.reference.free, 0.0, program.reference.values)
    F = np.vstack([b.F[:, program.free] for b in program.ordered]) * program.scale
    f = np.concatenate([b.value(known) for b in program.ordered])
    unit = np.concatenate([cone_middle(b.cone, len(b.f)) for b in program.ordered])
    rows = [b for b in program.ordered if b.cone == "zero"]
    first = sum(len(b.f) for b in rows)
    limit = np.zeros((1, k + 1))
    limit[0, k] = 1.0
    A = np.insert(np.column_stack([-F, unit]), [first], limit, axis=0)
    right = np.insert(f, first, _DEEP)
    cones = cones_of(program.ordered)
    place = 1 if first else 0
    cones.insert(place, clarabel.NonnegativeConeT(1))
    P = sp.csc_matrix(sp.diags(np.concatenate([np.full(k, 2.0 * _NEAR), [1e-9]])))
    q = np.concatenate([-2.0 * _NEAR * x, [-1.0]])
    answer = clarabel.DefaultSolver(P, q, sp.csc_matrix(A), right, cones, settings_of(program.accuracy)).solve()
    status = str(answer.status)
    if status in ("Solved", "AlmostSolved") and float(answer.x[k]) > 0.0:
        return np.array(answer.x)[:k]
    conflict = smallest_conflict(program)
    if conflict:
        raise conflict_error(program, conflict)
    raise SolveError(f"{program.reference.layout.robot.name}: no point strictly inside the constraints was found ('{status}')")


def cone_middle(cone: str, rows: int) -> Array:
    """The direction in which a cone is deepest."""
    if cone == "zero":
        return np.zeros(rows)
    if cone == "nonnegative":
        return np.ones(rows)
    if cone == "second order":
        return np.eye(rows)[0]
    return svec(np.eye(side(rows)))
