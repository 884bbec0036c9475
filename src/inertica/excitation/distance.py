"""Distances of convex solids, compiled: hulls of points with a radius, so that spheres, capsules, boxes and meshes are one thing.

The point of P - Q nearest to the origin is found by Wolfe's method (Math. Programming 11, 1976), one support of P - Q at a time as in
GJK; every step also gives a lower bound, so that solids that are far apart are dismissed at once.  The depth of hulls that overlap is
the least overlap in a set of directions: never less than the true depth, and with a direction in which to part them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from inertica.compiled import njit

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}

STEPS = 50
"""Supports tried for one pair; few need more than ten."""


@njit(**OPTIONS)
def _support(P: Any, first: int, last: int, v: Any, sign: float) -> int:
    """The point of P[first:last] furthest along sign v."""
    best, at = -np.inf, first
    for i in range(first, last):
        value = sign * (P[i, 0] * v[0] + P[i, 1] * v[1] + P[i, 2] * v[2])
        if value > best:
            best, at = value, i
    return at


@njit(**OPTIONS)
def _affine(S: Any, k: int, scale: float, A: Any, mu: Any) -> bool:
    """mu (k,), summing to one, of the point nearest to the origin in the affine hull of S[:k]; False when S is dependent."""
    for i in range(k):
        mu[i] = 1.0
        for j in range(k):
            A[i, j] = scale + S[i, 0] * S[j, 0] + S[i, 1] * S[j, 1] + S[i, 2] * S[j, 2]
    for i in range(k):  # Gauss, largest diagonal entry first is not needed: A is positive definite
        if not A[i, i] > 1e-13 * scale:
            return False
        for j in range(i + 1, k):
            f = A[j, i] / A[i, i]
            for c in range(i, k):
                A[j, c] -= f * A[i, c]
            mu[j] -= f * mu[i]
    total = 0.0
    for i in range(k - 1, -1, -1):
        for j in range(i + 1, k):
            mu[i] -= A[i, j] * mu[j]
        mu[i] /= A[i, i]
        total += mu[i]
    for i in range(k):
        mu[i] /= total
    return True


@njit(**OPTIONS)
def _minor(S: Any, ends: Any, k: int, lam: Any, scale: float, A: Any, mu: Any) -> int:
    """Wolfe's minor cycle: points left, with positive weights lam of the point nearest to the origin in their hull; 0: dependent."""
    while True:
        if not _affine(S, k, scale, A, mu):
            return 0
        theta, worst = 1.0, -1
        for i in range(k):
            if mu[i] <= 1e-12:
                step = lam[i] / (lam[i] - mu[i]) if lam[i] > mu[i] else 0.0
                if worst < 0 or step < theta:
                    theta, worst = step, i
        if worst < 0:
            for i in range(k):
                lam[i] = mu[i]
            return k
        for i in range(k):
            lam[i] += theta * (mu[i] - lam[i])
        lam[worst] = 0.0
        column = 0
        for i in range(k):
            if lam[i] > 1e-12:
                S[column], lam[column] = S[i], lam[i]
                ends[column, 0], ends[column, 1] = ends[i, 0], ends[i, 1]
                column += 1
        k = column


@njit(**OPTIONS)
def hull_distance(
    P: Any, p0: int, p1: int, Q: Any, q0: int, q1: int, beyond: float, work: Any, ends: Any, a: Any, b: Any
) -> float:
    """Distance of the hulls of P[p0:p1] and Q[q0:q1], nearest points into a and b; 0 when they overlap.

    A distance that is at least `beyond` may come out as any number from `beyond` to itself.
    """
    S, A, lam, mu, v = work[0:4, 0:3], work[4:8, 0:4], work[8, 0:4], work[9, 0:4], work[10, 0:3]
    scale = 0.0
    for c in range(3):
        S[0, c] = P[p0, c] - Q[q0, c]
        v[c] = S[0, c]
        scale += S[0, c] * S[0, c]
    scale = max(scale, 1e-6)
    ends[0, 0], ends[0, 1], lam[0], k = p0, q0, 1.0, 1
    for _ in range(STEPS):
        vv = v[0] * v[0] + v[1] * v[1] + v[2] * v[2]
        if vv <= 1e-16 * scale:
            return 0.0
        i, j = _support(P, p0, p1, v, -1.0), _support(Q, q0, q1, v, 1.0)
        vw = 0.0
        for c in range(3):
            vw += v[c] * (P[i, c] - Q[j, c])
        if vw > 0.0 and vw * vw >= beyond * beyond * vv:
            return vw / np.sqrt(vv)
        if vv - vw <= 1e-10 * vv:
            break
        again = False
        for m in range(k):
            again |= ends[m, 0] == i and ends[m, 1] == j
        if again or k == 4:
            break
        for c in range(3):
            S[k, c] = P[i, c] - Q[j, c]
        ends[k, 0], ends[k, 1], lam[k] = i, j, 0.0
        left = _minor(S, ends, k + 1, lam, scale, A, mu)
        if left == 0:
            break
        k = left
        for c in range(3):
            v[c] = 0.0
            for m in range(k):
                v[c] += lam[m] * S[m, c]
        if k == 4:
            return 0.0
    for c in range(3):
        a[c] = b[c] = 0.0
        for m in range(k):
            a[c] += lam[m] * P[ends[m, 0], c]
            b[c] += lam[m] * Q[ends[m, 1], c]
    return np.sqrt((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2)


@njit(**OPTIONS)
def segment_distance(P: Any, p0: int, p1: int, Q: Any, q0: int, q1: int, a: Any, b: Any) -> float:
    """The same for one or two points each: nearest points of two segments, in closed form."""
    aa = bb = ab = ad = bd = 0.0
    for c in range(3):
        u, v, w = P[p1 - 1, c] - P[p0, c], Q[q1 - 1, c] - Q[q0, c], P[p0, c] - Q[q0, c]
        aa += u * u
        bb += v * v
        ab += u * v
        ad += u * w
        bd += v * w
    s, t, area = 0.0, 0.0, aa * bb - ab * ab
    if area > 1e-14 * aa * bb:
        s = min(max((ab * bd - bb * ad) / area, 0.0), 1.0)
    if bb > 0.0:
        t = (ab * s + bd) / bb
    if t < 0.0 or t > 1.0 or bb == 0.0:
        t = min(max(t, 0.0), 1.0)
        s = min(max((t * ab - ad) / aa, 0.0), 1.0) if aa > 0.0 else 0.0
    square = 0.0
    for c in range(3):
        a[c] = P[p0, c] + s * (P[p1 - 1, c] - P[p0, c])
        b[c] = Q[q0, c] + t * (Q[q1 - 1, c] - Q[q0, c])
        square += (a[c] - b[c]) ** 2
    return np.sqrt(square)


@njit(**OPTIONS)
def hull_depth(P: Any, p0: int, p1: int, Q: Any, q0: int, q1: int, directions: Any, a: Any, b: Any, normal: Any) -> float:
    """Least overlap of two hulls along given directions: Q moved so far along `normal` parts from P."""
    least = np.inf
    for k in range(directions.shape[0]):
        d = directions[k]
        i, j = _support(P, p0, p1, d, 1.0), _support(Q, q0, q1, d, -1.0)
        overlap = 0.0
        for c in range(3):
            overlap += d[c] * (P[i, c] - Q[j, c])
        if overlap < least:
            least = overlap
            for c in range(3):
                a[c], b[c], normal[c] = P[i, c], Q[j, c], d[c]
    return max(least, 0.0)


@njit(**OPTIONS)
def _place(R: Any, p: Any, points: Any, first: int, last: int, out: Any) -> None:
    for i in range(first, last):
        for c in range(3):
            out[i, c] = p[c] + R[c, 0] * points[i, 0] + R[c, 1] * points[i, 1] + R[c, 2] * points[i, 2]


@njit(**OPTIONS)
def clearances(
    R: Any, p: Any, points: Any, starts: Any, radius: Any, body: Any, centre: Any, size: Any, pairs: Any, planes: Any,
    against: Any, directions: Any, far: float, distance: Any, near: Any, other: Any, normal: Any,
) -> None:  # fmt: skip
    """Smallest distances of groups of solids at M poses.

    Args:
        R, p: (M, B, 3, 3), (M, B, 3) poses of bodies.
        points, starts: (V, 3) of all solids in their bodies' frames; solid s has those from starts[s] to starts[s + 1].
        radius, body, centre, size: (S,) around the points; whose; (S, 3) and (S,) of a ball around it, in its body's frame.
        pairs: (K, 3) two solids and the column of the result they count in.
        planes: (L, 4) normal and level; against: (J, 3) a solid, a plane and a column.
        directions: (D, 3) for depths.
        far: distances beyond it are given as `far`.
        distance: (M, k) result; near, other: (M, k, 3) nearest points of both bodies; normal: (M, k, 3) from first to second.
    """
    placed, vertices = np.empty_like(points), np.empty(len(radius), np.int64)
    middle = np.empty((len(radius), 3))
    work, ends = np.empty((11, 4)), np.empty((4, 2), np.int64)
    a, b, n = np.empty(3), np.empty(3), np.empty(3)
    for m in range(R.shape[0]):
        distance[m] = far
        near[m], other[m], normal[m] = 0.0, 0.0, 0.0
        vertices[:] = 0
        for s in range(len(radius)):
            _place(R[m, body[s]], p[m, body[s]], centre, s, s + 1, middle)
        for k in range(pairs.shape[0]):
            s, t, column = pairs[k]
            beyond, gap = distance[m, column], 0.0
            for c in range(3):
                gap += (middle[s, c] - middle[t, c]) ** 2
            if np.sqrt(gap) - size[s] - size[t] >= beyond:
                continue
            for u in (s, t):
                if vertices[u] == 0:
                    _place(R[m, body[u]], p[m, body[u]], points, starts[u], starts[u + 1], placed)
                    vertices[u] = 1
            both = radius[s] + radius[t]
            if starts[s + 1] - starts[s] <= 2 and starts[t + 1] - starts[t] <= 2:
                d = segment_distance(placed, starts[s], starts[s + 1], placed, starts[t], starts[t + 1], a, b)
            else:
                d = hull_distance(
                    placed, starts[s], starts[s + 1], placed, starts[t], starts[t + 1], beyond + both, work, ends, a, b
                )
            if d > 1e-9:
                for c in range(3):
                    n[c] = (b[c] - a[c]) / d
            else:
                d = -hull_depth(placed, starts[s], starts[s + 1], placed, starts[t], starts[t + 1], directions, a, b, n)
            if d - both < beyond:
                distance[m, column] = d - both
                for c in range(3):
                    near[m, column, c], other[m, column, c] = a[c] + radius[s] * n[c], b[c] - radius[t] * n[c]
                    normal[m, column, c] = n[c]
        for k in range(against.shape[0]):
            s, t, column = against[k]
            if vertices[s] == 0:
                _place(R[m, body[s]], p[m, body[s]], points, starts[s], starts[s + 1], placed)
                vertices[s] = 1
            i = _support(placed, starts[s], starts[s + 1], planes[t], -1.0)
            d = -planes[t, 3] - radius[s]
            for c in range(3):
                d += planes[t, c] * placed[i, c]
            if d < distance[m, column]:
                distance[m, column] = d
                for c in range(3):
                    near[m, column, c] = placed[i, c] - radius[s] * planes[t, c]
                    other[m, column, c] = near[m, column, c] - d * planes[t, c]
                    normal[m, column, c] = -planes[t, c]
