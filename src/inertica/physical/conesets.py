"""`ConeSet`: the points x with F x + f in a product of cones, as plain arrays that solvers share.

It knows how deep a point lies inside, the logarithmic barrier of the set, and what of a vector belongs to the dual cone (all three
cones are their own duals); that is all that a solve and the proof of its accuracy need.  Equations are not part of it: they are
eliminated before (`Plane`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.later import Deferred
from inertica.physical.constraints import Block, Cone
from inertica.physical.pseudo import side, smat, svec
from inertica.physical.scales import Reference

if TYPE_CHECKING:
    import clarabel
else:
    clarabel = Deferred("clarabel")

Index = NDArray[np.intp]

ORDER: tuple[Cone, ...] = ("zero", "nonnegative", "second order", "semidefinite")
"""Of the blocks in cone data."""


@dataclass(frozen=True)
class Accuracy:
    """Of Clarabel: relative and absolute duality gap and feasibility."""

    gap: float = 1e-8
    feasibility: float = 1e-9
    steps: int = 100


@dataclass(frozen=True, eq=False)
class ConeSet:
    """F x + f in a product of cones, without equations.

    Args:
        F, f: (m, k) and (m,).
        kinds: cone of every block, in `ORDER`.
        sizes: rows of every block.
    """

    F: Array
    f: Array
    kinds: tuple[Cone, ...]
    sizes: tuple[int, ...]

    @classmethod
    def of_blocks(cls, blocks: Sequence[Block], reference: Reference) -> ConeSet:
        """Blocks, in their order, in scaled free variables."""
        known = np.where(reference.free, 0.0, reference.values)
        free = np.flatnonzero(reference.free)
        F = np.vstack([b.F[:, free] for b in blocks] or [np.zeros((0, len(free)))]) * reference.scale[free]
        f = np.concatenate([b.value(known) for b in blocks] or [np.zeros(0)])
        return cls(F, f, tuple(b.cone for b in blocks), tuple(len(b.f) for b in blocks))

    def value(self, x: Array) -> Array:
        return np.asarray(self.F @ x + self.f)

    def on(self, origin: Array, basis: Array) -> ConeSet:
        """In coordinates w with x = origin + basis w."""
        return ConeSet(self.F @ basis, self.value(origin), self.kinds, self.sizes)

    def loosened(self, by: float) -> ConeSet:
        """Every cone widened along its middle."""
        return ConeSet(self.F, self.f + by * self.middle, self.kinds, self.sizes)

    def depth(self, s: Array) -> float:
        """How far inside the least deep block of values s is; negative outside."""
        out = [float(s[self.linear].min())] if len(self.linear) else []
        out += [float(s[i[0]] - np.linalg.norm(s[i[1:]])) for i in self.second]
        out += [float(np.linalg.eigvalsh(smat(s[i])).min()) for i in self.matrices]
        return min(out, default=np.inf) if np.isfinite(s).all() else -np.inf

    def in_dual(self, values: Array) -> Array:
        """The nearest point of the dual cone."""
        out = np.array(values)
        out[self.linear] = np.maximum(out[self.linear], 0.0)
        for i in self.second:
            head, size = out[i[0]], float(np.linalg.norm(out[i[1:]]))
            if size > head:
                mean = max(0.5 * (head + size), 0.0)
                out[i[1:]] *= mean / size
                out[i[0]] = mean
        for i in self.matrices:
            e, V = np.linalg.eigh(smat(out[i]))
            out[i] = svec((V * np.maximum(e, 0.0)[:, None, :]) @ np.swapaxes(V, -1, -2))
        return out

    def multipliers(self, s: Array) -> Array:
        """Minus the slope of the barrier at strictly interior values s: a point of the dual cone whose product with s is `degree`.

        Infinite where a matrix is singular to rounding; an inverse would raise there.
        """
        out = np.zeros(len(s))
        out[self.linear] = 1.0 / s[self.linear]
        for i in self.second:
            v = s[i]
            out[i] = 2.0 * np.concatenate([v[:1], -v[1:]]) / (v[0] ** 2 - v[1:] @ v[1:])
        for i in self.matrices:
            e, V = np.linalg.eigh(smat(s[i]))
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                out[i] = svec((V / e[:, None, :]) @ np.swapaxes(V, -1, -2))
        return out

    @cached_property
    def middle(self) -> Array:
        """The direction in which every cone is deepest."""
        return np.concatenate([cone_middle(k, m) for k, m in zip(self.kinds, self.sizes, strict=True)] or [np.zeros(0)])

    @cached_property
    def degree(self) -> int:
        """Parameter of the barrier."""
        return len(self.linear) + 2 * len(self.second) + sum(len(i) * side(i.shape[1]) for i in self.matrices)

    @cached_property
    def linear(self) -> Index:
        """Rows of the inequalities."""
        rows = [np.arange(a, b) for a, b, kind in self._spans if kind == "nonnegative"]
        return np.concatenate(rows) if rows else np.zeros(0, np.intp)

    @cached_property
    def second(self) -> list[Index]:
        """Rows of every second-order cone."""
        return [np.arange(a, b) for a, b, kind in self._spans if kind == "second order"]

    @cached_property
    def matrices(self) -> list[Index]:
        """Rows of the semidefinite blocks, those of one size together: (blocks, rows)."""
        spans = [np.arange(a, b) for a, b, kind in self._spans if kind == "semidefinite"]
        return [np.array([i for i in spans if len(i) == m]) for m in sorted({len(i) for i in spans})]

    @cached_property
    def _spans(self) -> list[tuple[int, int, Cone]]:
        ends = np.cumsum(self.sizes, dtype=int)
        return [(int(b) - m, int(b), kind) for b, m, kind in zip(ends, self.sizes, self.kinds, strict=True)]

    def row_factors(self, s: Array) -> Array:
        """Factors that bring large values of constraints down to one; scaling a cone changes nothing."""
        out = np.empty(len(s))
        for a, b, kind in self._spans:
            value = np.abs(s[a:b]) if kind == "nonnegative" else np.full(b - a, np.linalg.norm(s[a:b]))
            out[a:b] = 1.0 / np.maximum(value, 1.0)
        return out

    @cached_property
    def cones(self) -> list[object]:
        """The same for Clarabel."""
        out: list[object] = [clarabel.NonnegativeConeT(len(self.linear))] if len(self.linear) else []
        out += [clarabel.SecondOrderConeT(len(i)) for i in self.second]
        return out + [clarabel.PSDTriangleConeT(side(b - a)) for a, b, kind in self._spans if kind == "semidefinite"]


class Barrier:
    """-log of the distance to the boundary of a set; semidefinite blocks of the same size are one batch."""

    def __init__(self, cones: ConeSet) -> None:
        self.cones, k = cones, cones.F.shape[1]
        self.F, self.f = cones.F[cones.linear], cones.f[cones.linear]
        # columns and factors of inequalities, where each is a bound on one variable
        single = len(self.F) and np.all(np.count_nonzero(self.F, axis=1) == 1)
        self.bounds = (np.argmax(self.F != 0.0, axis=1), self.F[self.F != 0.0]) if single else None
        self.second = [(cones.F[i], cones.f[i]) for i in cones.second]
        self.matrices = []
        for index in cones.matrices:
            maps = [smat(cones.F[i].T) for i in index]  # (k, d, d) each
            columns = [np.flatnonzero(np.abs(m).max(axis=(1, 2))) for m in maps]
            width = max(len(c) for c in columns)
            padded = [np.concatenate([c, np.setdiff1d(np.arange(k), c)[: width - len(c)]]) for c in columns]
            chosen = np.array([m[c] for m, c in zip(maps, padded, strict=True)])
            self.matrices.append((np.array(padded), chosen, np.array([smat(cones.f[i]) for i in index])))
        self.parameter = cones.degree

    def value(self, x: Array) -> float:
        s = self.F @ x + self.f
        if not np.isfinite(x).all() or (s.size and s.min() <= 0.0):
            return np.inf
        out = -float(np.log(s).sum())
        for F, f in self.second:
            v = F @ x + f
            inside = v[0] ** 2 - v[1:] @ v[1:]
            if v[0] <= 0.0 or inside <= 0.0:
                return np.inf
            out -= float(np.log(inside))
        for columns, maps, constant in self.matrices:
            J = np.einsum("ik,ikab->iab", x[columns], maps) + constant
            e = np.linalg.eigvalsh(J)
            if e.min() <= 0.0:
                return np.inf
            out -= float(np.log(e).sum())
        return out

    def derivatives(self, x: Array) -> tuple[Array, Array]:
        """Gradient and Hessian."""
        g, H = self._of_inequalities(x)
        for F, f in self.second:
            v = F @ x + f
            mirrored = np.concatenate([v[:1], -v[1:]])
            inside = float(v @ mirrored)
            slope = F.T @ mirrored
            flipped = F * np.concatenate([[1.0], -np.ones(len(v) - 1)])[:, None]
            g -= 2.0 * slope / inside
            H += 4.0 * np.outer(slope, slope) / inside**2 - 2.0 * F.T @ flipped / inside
        for columns, maps, constant in self.matrices:
            J = np.einsum("ik,ikab->iab", x[columns], maps) + constant
            e, V = np.linalg.eigh(J)
            root = np.swapaxes(V / np.sqrt(np.maximum(e, 1e-300))[:, None, :], -1, -2)
            with np.errstate(over="ignore", invalid="ignore"):  # not finite where a matrix is singular to rounding
                turned = root[:, None] @ maps @ np.swapaxes(root, -1, -2)[:, None]
                slopes = np.einsum("ikaa->ik", turned)
                flat = turned.reshape(*turned.shape[:2], -1)
                curves = flat @ flat.transpose(0, 2, 1)
                for c, slope, curve in zip(columns, slopes, curves, strict=True):
                    g[c] -= slope
                    H[c[:, None], c] += curve
        return g, H

    def _of_inequalities(self, x: Array) -> tuple[Array, Array]:
        """Gradient and Hessian of the linear part, most often bounds on single variables."""
        s, k = self.F @ x + self.f, self.F.shape[1]
        if self.bounds is None:
            scaled = self.F / s[:, None]
            return -scaled.sum(axis=0), scaled.T @ scaled
        columns, factors = self.bounds
        share = factors / s
        slopes, curves = (np.asarray(np.bincount(columns, each, k), float) for each in (share, share**2))
        return -slopes, np.diag(curves)

    def local_squares(self, x: Array) -> tuple[Array, Array]:
        """(m, k) and (m,): to second order around x the value is |rows d + right|^2 and a constant, d the change of x."""
        s = self.F @ x + self.f
        blocks, right = [self.F / s[:, None]], [-np.ones(len(s))]
        for F, f in self.second:
            v = F @ x + f
            mirror = np.concatenate([[1.0], -np.ones(len(v) - 1)])
            inside = float(v @ (mirror * v))
            H = 4.0 * np.outer(mirror * v, mirror * v) / inside**2 - 2.0 * np.diag(mirror) / inside
            e, V = np.linalg.eigh(H)
            half = np.sqrt(np.maximum(e, 1e-300))
            blocks.append((half[:, None] * V.T) @ F)
            right.append(V.T @ (-2.0 * mirror * v / inside) / half)
        for columns, maps, constant in self.matrices:
            e, V = np.linalg.eigh(np.einsum("ik,ikab->iab", x[columns], maps) + constant)
            root = np.swapaxes(V / np.sqrt(np.maximum(e, 1e-300))[:, None, :], -1, -2)
            turned = root[:, None] @ maps @ np.swapaxes(root, -1, -2)[:, None]
            for c, part in zip(columns, turned, strict=True):
                block = np.zeros((part[0].size, len(x)))
                block[:, c] = part.reshape(len(c), -1).T
                blocks.append(block)
                right.append(-np.eye(part.shape[-1]).ravel())
        return np.sqrt(0.5) * np.vstack(blocks), np.sqrt(0.5) * np.concatenate(right)


@dataclass(frozen=True, eq=False)
class Plane:
    """x = origin + N w: the points that keep equations E x + e = 0, N orthonormal; everything when there are none.

    Args:
        origin: (k,) one of them.
        N: (k, w).
        miss: by how much the origin misses an equation; above rounding when equations contradict each other.
    """

    origin: Array
    N: Array
    miss: float = 0.0

    @classmethod
    def of(cls, E: Array, e: Array) -> Plane:
        k = E.shape[1]
        if not len(E):
            return cls(np.zeros(k), np.eye(k))
        # equations may be dependent, such as two statements about the same link
        U, s, Vt = np.linalg.svd(E)
        rank = int(np.count_nonzero(s > 1e-10 * s[0])) if len(s) else 0
        origin = -Vt[:rank].T @ ((U.T @ e)[:rank] / s[:rank])
        return cls(origin, Vt[rank:].T, float(np.abs(E @ origin + e).max()))


def cone_middle(cone: str, rows: int) -> Array:
    """The direction in which a cone is deepest."""
    if cone == "zero":
        return np.zeros(rows)
    if cone == "nonnegative":
        return np.ones(rows)
    if cone == "second order":
        return np.eye(rows)[0]
    return svec(np.eye(side(rows)))


def in_order(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Blocks as cone data list them: equations, inequalities, second order, semidefinite."""
    return tuple(b for cone in ORDER for b in blocks if b.cone == cone)


def cones_of(blocks: Sequence[Block]) -> list[object]:
    """Clarabel's cones of blocks in their order; neighbours of the linear kinds are merged."""
    out: list[object] = []
    for kind, make in (("zero", clarabel.ZeroConeT), ("nonnegative", clarabel.NonnegativeConeT)):
        rows = sum(len(b.f) for b in blocks if b.cone == kind)
        if rows:
            out.append(make(rows))
    out.extend(clarabel.SecondOrderConeT(len(b.f)) for b in blocks if b.cone == "second order")
    out.extend(clarabel.PSDTriangleConeT(side(len(b.f))) for b in blocks if b.cone == "semidefinite")
    return out


def settings_of(accuracy: Accuracy) -> clarabel.DefaultSettings:
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = accuracy.gap
    settings.tol_feas = accuracy.feasibility
    settings.max_iter = accuracy.steps
    settings.max_threads = 1
    settings.direct_solve_method = "qdldl"
    return settings
