"""R factors of the observation matrix, joint by joint, without ever stacking it.

For joint j with the regressor rows W_j and torque y_j of all samples,

    [W_j  y_j] = Q_j R_j,

and R_j is all that least squares in its many forms needs.  Samples pass by; a target adds the rows of some to the R found so far and
keeps the new R only.  Columns that joint j cannot feel take no part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from inertica.dynamics.kernels import Array, Symbols, nonzero, traced
from inertica.dynamics.model import Model
from inertica.dynamics.trace import Symbol
from inertica.errors import InputError
from inertica.threads import one_thread


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


@dataclass(frozen=True)
class Factors:
    """R factors of all joints of a motion.

    Args:
        joints: one factor per joint.
        size: number of parameters of the layout.
        samples: number of samples that took part.
    """

    joints: tuple[JointFactor, ...]
    size: int
    samples: int

    def stacked(self, columns: Sequence[int] | None = None, weights: ArrayLike | None = None) -> tuple[Array, Array, float]:
        """R, z and residual norm of all joints together.

        Args:
            columns: parameters in the order wanted; all by default.
            weights: per joint, for instance 1 / sigma_j.
        """
        chosen = list(range(self.size) if columns is None else columns)
        place = {c: i for i, c in enumerate(chosen)}
        w = np.ones(len(self.joints)) if weights is None else np.asarray(weights, float)
        blocks, rest = [], 0.0
        for factor, weight in zip(self.joints, w, strict=True):
            keep = [i for i, c in enumerate(factor.columns) if c in place]
            block = np.zeros((len(factor.columns), len(chosen) + 1))
            block[:, [place[factor.columns[i]] for i in keep]] = factor.R[:, keep]
            block[:, -1] = factor.z
            blocks.append(weight * block)
            rest += (weight * factor.rest) ** 2
        with one_thread():
            R = np.asarray(np.linalg.qr(np.vstack([*blocks, np.zeros((len(chosen) + 1, len(chosen) + 1))]), mode="r"))
        k = len(chosen)
        return R[:k, :k], R[:k, k], float(np.hypot(np.sqrt(rest), R[k, k]))


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
        samples = N if scale is None else int(np.count_nonzero(np.any(scale != 0.0, axis=1)))
        joints = tuple(_factor(R, columns) for R, columns in zip(triangles, self._columns, strict=True))
        return Factors(joints, self.model.layout.size, samples)


def _factor(R: Array, columns: tuple[int, ...]) -> JointFactor:
    k = len(columns)
    return JointFactor(columns, R[:k, :k].copy(), R[:k, k].copy(), abs(float(R[k, k])))
