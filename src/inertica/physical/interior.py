"""A point well inside all constraints: where barrier methods start, and towards which points outside are pulled.

Whether a point is inside is measured, whatever a solver says of it.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from inertica.arrays import Array
from inertica.physical.certified import descent, newton_step
from inertica.physical.conesets import Accuracy, Barrier, ConeSet, clarabel, settings_of

_NEAR = 1e-3
"""Weight of staying near, against depth; both in reference sizes."""

_DEEP = 0.1
"""Depth that is enough, in reference sizes."""


def strictly_inside(cones: ConeSet) -> tuple[Array, float]:
    """A point inside a set and its depth, which is not positive only when the set has no interior.

    Bodies of unit size are inside what holds for every robot, and need no solver; what users state may exclude them.
    """
    x = np.asarray(np.linalg.lstsq(cones.F, cones.middle - cones.f, rcond=None)[0], float)
    depth = cones.depth(cones.value(x))
    if depth > 0.0:
        return x, depth
    point, reached = near(cones, x)
    if reached > 0.0:
        return point, reached
    last, at_last = _lifted(cones, point if reached > depth else x)
    return max(((x, depth), (point, reached), (last, at_last)), key=lambda pair: pair[1])


def near(cones: ConeSet, x: Array) -> tuple[Array, float]:
    """max depth - near |x - x_0|^2, every slack at least the depth, depth at most `_DEEP`: the point, and its depth as measured."""
    k = len(x)
    limit = np.zeros((1, k + 1))
    limit[0, k] = 1.0
    A = np.vstack([limit, np.column_stack([-cones.F, cones.middle])])
    right = np.concatenate([[_DEEP], cones.f])
    # the last unknown is the depth: it is made as large as the constraints allow, up to the limit of the first cone
    cone_types = [clarabel.NonnegativeConeT(1), *cones.cones]
    P = sp.csc_matrix(sp.diags(np.concatenate([np.full(k, 2.0 * _NEAR), [1e-9]])))
    q = np.concatenate([-2.0 * _NEAR * x, [-1.0]])
    answer = clarabel.DefaultSolver(P, q, sp.csc_matrix(A), right, cone_types, settings_of(Accuracy())).solve()
    point = np.array(answer.x)[:k]
    return (point, cones.depth(cones.value(point))) if np.isfinite(point).all() else (x, -np.inf)


def _lifted(cones: ConeSet, x: Array) -> tuple[Array, float]:
    """By Newton's method: every cone widened by t, t pressed below zero while the barrier of the widened set is kept small.

    The widened set has an interior whatever was stated, so there is always a start.
    """
    size = 1e-4  # of leaving x, against t
    wide = ConeSet(np.column_stack([cones.F, cones.middle]), cones.f, cones.kinds, cones.sizes)
    barrier = Barrier(wide)
    v = np.append(x, 2.0 * max(-cones.depth(cones.value(x)), 0.0) + 1.0)
    start, k = np.array(v), len(x)
    curvature = np.append(np.full(k, 2.0 * size), 0.0)
    weight, best = 1.0, (x, cones.depth(cones.value(x)))
    while weight > 1e-12:

        def total(at: Array, weight: float = weight) -> float:
            return float(at[k] + 0.5 * curvature @ (at - start) ** 2 + weight * barrier.value(at))

        for _ in range(40):
            g, H = barrier.derivatives(v)
            g = weight * g + curvature * (v - start)
            g[k] += 1.0
            H = weight * H
            H[np.diag_indices(k + 1)] += curvature
            p = newton_step(g, H)
            decrement = -float(g @ p)
            length, _ = descent(total, v, p, total(v), decrement) if np.isfinite(decrement) else (0.0, 0.0)
            if length == 0.0:
                break
            v = v + length * p
            if decrement <= 0.1 * weight:
                break
        depth = cones.depth(cones.value(v[:k]))
        if depth > best[1]:
            best = (v[:k], depth)
        if best[1] > max(weight, 1e-9) or v[k] - weight * (barrier.parameter + 1) > 0.0:  # inside; or nothing is
            break
        weight *= 0.1
    return best
