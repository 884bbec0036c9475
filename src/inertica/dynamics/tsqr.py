"""R factors of the observation matrix, joint by joint, without ever stacking it.

For joint j with the regressor rows W_j and torque y_j of all samples,

    [W_j  y_j] = Q_j R_j,

and R_j is all that least squares in its many forms needs.  Samples pass by; a target adds the rows of some to the R found so far and
keeps the new R only.  Columns that joint j cannot feel take no part.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from inertica.dynamics.arrays import ArrayFactors, regressor_function
from inertica.dynamics.kernels import Array, CrossedFunction, FactorFunction, Symbols, nonzero, traced
from inertica.dynamics.model import Model
from inertica.dynamics.products import MotionPair
from inertica.dynamics.trace import Symbol
from inertica.dynamics.triangle import stacked_factor
from inertica.errors import InputError


@dataclass(frozen=True, eq=False)
class Stacked:
    """Least squares of all rows seen: R beta = z, R (b, b) upper triangular, with `rest` the residual norm that no beta explains."""

    R: Array
    z: Array
    rest: float

    @classmethod
    def of(cls, triangle: Array) -> Stacked:
        """From the R factor of [W y]."""
        return cls(triangle[:-1, :-1], triangle[:-1, -1], abs(float(triangle[-1, -1])))

    @classmethod
    def empty(cls, size: int) -> Stacked:
        """Before any row has come."""
        return cls.of(np.zeros((size + 1, size + 1)))

    @property
    def triangle(self) -> Array:
        return _triangle(self.R, self.z, self.rest)

    def absorb(self, rows: Array) -> Stacked:
        """With further rows [W y] (m, b + 1)."""
        return Stacked.of(stacked_factor(self.triangle, rows))

    @classmethod
    def joined(cls, parts: Sequence[Stacked]) -> Stacked:
        """Factors of several parts of the rows as those of all."""
        whole = cls.of(stacked_factor(np.zeros((0, len(parts[0].z) + 1)), *(np.column_stack([s.R, s.z]) for s in parts)))
        return cls(whole.R, whole.z, float(np.sqrt(whole.rest**2 + sum(s.rest**2 for s in parts))))


@dataclass(frozen=True)
class JointFactor:
    """R factor of one joint.

    Args:
        columns: parameters (indices into the layout) the joint feels.
        R: (k, k) upper triangular, k = len(columns).
        z: (k,) the torque in the same basis: least squares solves R x = z.
        rest: norm of the torque outside the span of the columns, the residual norm of this joint on its own.
    """

    columns: tuple[int, ...]
    R: Array
    z: Array
    rest: float

    @classmethod
    def of(cls, triangle: Array, columns: Iterable[int]) -> JointFactor:
        """From the R factor of [W_j y_j]."""
        stacked = Stacked.of(triangle)
        return cls(tuple(int(c) for c in columns), stacked.R, stacked.z, stacked.rest)

    @property
    def triangle(self) -> Array:
        return _triangle(self.R, self.z, self.rest)

    @property
    def size(self) -> float:
        """Norm of the torque."""
        return float(np.hypot(np.linalg.norm(self.z), self.rest))

    def misfit(self, beta: Array) -> float:
        """Norm of the residuals y_j - W_j beta."""
        return float(np.hypot(np.linalg.norm(self.z - self.R @ beta[list(self.columns)]), self.rest))

    def gram(self, size: int) -> Array:
        """(size, size) W_j'W_j."""
        out = np.zeros((size, size))
        out[np.ix_(self.columns, self.columns)] = self.R.T @ self.R
        return out


@dataclass(frozen=True)
class Factors:
    """R factors of all joints.

    Args:
        joints: one factor per joint.
        size: number of parameters that their columns count.
        counts: (n,) rows that took part, per joint.
    """

    joints: tuple[JointFactor, ...]
    size: int
    counts: Array

    def stacked(self, columns: Sequence[int] | None = None, weights: ArrayLike | None = None) -> Stacked:
        """All joints together.

        Args:
            columns: parameters in the order wanted; all by default.
            weights: per joint, for instance 1 / sigma_j.
        """
        chosen = list(range(self.size) if columns is None else columns)
        place, k = {c: i for i, c in enumerate(chosen)}, len(chosen)
        w = np.ones(len(self.joints)) if weights is None else np.asarray(weights, float)
        blocks, rest = [], 0.0
        for factor, weight in zip(self.joints, w, strict=True):
            keep = [i for i, c in enumerate(factor.columns) if c in place]
            # weights scale whole joints, so that the factors need not be computed again for other weights
            block = np.zeros((len(factor.columns), k + 1))
            block[:, [place[factor.columns[i]] for i in keep]] = factor.R[:, keep]
            block[:, -1] = factor.z
            blocks.append(weight * block)
            rest += (weight * factor.rest) ** 2
        whole = Stacked.of(stacked_factor(np.zeros((k + 1, k + 1)), *blocks))
        return Stacked(whole.R, whole.z, float(np.hypot(np.sqrt(rest), whole.rest)))

    def without_rows(self) -> Factors:
        """Those of no row, on the same columns."""
        joints = tuple(JointFactor.of(np.zeros((len(f.columns) + 1,) * 2), f.columns) for f in self.joints)
        return Factors(joints, self.size, np.zeros_like(self.counts))

    @classmethod
    def joined(cls, parts: Sequence[Factors]) -> Factors:
        """Factors of several parts of the rows as those of all."""
        if len(parts) == 1:
            return parts[0]
        by_joint = zip(*(part.joints for part in parts), strict=True)
        joints = (JointFactor.of(stacked_factor(*(f.triangle for f in same)), same[0].columns) for same in by_joint)
        return cls(tuple(joints), parts[0].size, np.sum([part.counts for part in parts], axis=0))


def _triangle(R: Array, z: Array, rest: float) -> Array:
    k = len(z)
    out = np.zeros((k + 1, k + 1))
    out[:k, :k], out[:k, k], out[k, k] = R, z, rest
    return out


class Factoriser:
    """R factors of motions of one model.

    Args:
        model: the robot.
        columns: parameters to keep (base parameters, say); all that have an effect by default.
    """

    def __init__(self, model: Model, columns: Sequence[int] | None = None) -> None:
        self.model = model
        n, layout = model.n, model.layout
        wanted = set(range(layout.size) if columns is None else columns)
        self._triangles: FactorFunction
        if model.loops_over_bodies:
            regressor, entries = regressor_function(model.equations, ("q", "dq", "ddq", "shapes"))
            joint_entries = [[(e, k) for e, (i, k) in enumerate(entries) if i == j and k in wanted] for j in range(n)]
            self._columns = [tuple(k for _, k in pairs) for pairs in joint_entries]
            self._triangles = ArrayFactors(regressor, [np.array([e for e, _ in pairs], np.intp) for pairs in joint_entries])
            return

        def rows(x: Symbols) -> dict[str, list[Symbol]]:
            Y = nonzero(x["q"][0].graph, model.equations.regressor(x["q"], x["dq"], x["ddq"], x["shapes"]))
            self._columns = [tuple(k for i, k in Y if i == j and k in wanted) for j in range(n)]
            return {f"joint {j + 1}": [*(Y[j, k] for k in self._columns[j]), x["tau"][j]] for j in range(n)}

        sizes = {"q": n, "dq": n, "ddq": n, "tau": n, "shapes": len(layout.shapes)}
        self._triangles = model.target.factors(traced("panels", sizes, rows))

    def __call__(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, tau: ArrayLike, *,
        shapes: ArrayLike | None = None, weights: ArrayLike | None = None,
    ) -> Factors:  # fmt: skip
        """R factors of a motion.

        Args:
            q, dq, ddq, tau: (N, n).
            shapes: values of the nonlinear parameters.
            weights: (N,) or (N, n) factors on the rows; 0 leaves a sample out.
        """
        motion = self.model.motion(q=q, dq=dq, ddq=ddq, tau=tau)
        N, n = motion["q"].shape
        scale = None if weights is None else np.broadcast_to(np.asarray(weights, float).reshape(N, -1), (N, n))
        triangles = self._triangles({**motion, "shapes": self.model.shape_values(shapes)}, scale)
        if not all(np.isfinite(R).all() for R in triangles):
            raise InputError("motion or torque has values that are not finite; mask those samples first")
        # rows with weight zero took no part in the fit and give no degrees of freedom
        counts = np.full(n, float(N)) if scale is None or scale.all() else np.count_nonzero(scale, axis=0).astype(float)
        joints = tuple(JointFactor.of(R.copy(), columns) for R, columns in zip(triangles, self._columns, strict=True))
        return Factors(joints, self.model.layout.size, counts)

    def products(self, pair: MotionPair, shapes: Array) -> list[Array] | None:
        """`inertica.dynamics.products` of a pair of motions, where the target has a quicker way to them."""
        if not isinstance(self._triangles, CrossedFunction):
            return None
        simulated, measured = (
            {**self.model.motion(q=q, dq=dq, ddq=ddq, tau=pair.tau), "shapes": shapes}
            for q, dq, ddq in (pair.simulated, pair.measured)
        )
        gram = self._triangles.crossed(simulated, measured, pair.weights)
        return [np.column_stack([zz[:-1, :-1], zw[:-1]]) for zz, zw in gram]
