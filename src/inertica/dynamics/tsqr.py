"""R factors of the observation matrix, joint by joint, without ever stacking it.

For joint j with the regressor rows W_j and torque y_j of all samples,

    [W_j  y_j] = Q_j R_j,

and R_j is all that least squares in its many forms needs.  Samples pass in chunks: a kernel writes their rows under the R found
so far, a QR factorisation replaces both by the new R.  Only columns that joint j can feel take part.  Memory is one chunk, whatever
the length of the log.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lapack
from threadpoolctl import threadpool_limits

from inertica.dynamics import native
from inertica.dynamics.lanes import Lanes, function, write_program
from inertica.dynamics.rows import LANES, Rows, aligned, fill
from inertica.dynamics.trace import Graph
from inertica.errors import InputError

if TYPE_CHECKING:
    from inertica.dynamics.engine import Engine

Array = NDArray[np.float64]

CHUNK = 512


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
        with threadpool_limits(1):
            R = np.asarray(np.linalg.qr(np.vstack([*blocks, np.zeros((len(chosen) + 1, len(chosen) + 1))]), mode="r"))
        k = len(chosen)
        return R[:k, :k], R[:k, k], float(np.hypot(np.sqrt(rest), R[k, k]))


class Factoriser:
    """Chunked QR for one engine.

    Args:
        engine: the robot.
        columns: parameters to keep (base parameters, say); all that have an effect by default.
        chunk: samples per step.
    """

    def __init__(self, engine: Engine, columns: Sequence[int] | None = None, chunk: int = CHUNK) -> None:
        self.engine, self.chunk = engine, chunk
        n, layout = engine.n, engine.layout
        wanted = set(range(layout.size) if columns is None else columns)
        graph = Graph()
        motion = {name: graph.inputs(name, n) for name in ("q", "dq", "ddq")}
        shapes = graph.inputs("shapes", len(layout.shapes))
        Y = engine.equations.regressor(motion["q"], motion["dq"], motion["ddq"], shapes)
        tau = graph.inputs("tau", n)
        self.rows = Rows(chunk + LANES)
        for name in (*motion, "tau"):
            self.rows.add(name, n)
        self.rows.add("shapes", len(shapes))
        self._end = self.rows.count * self.rows.stride
        outputs = {}
        self._panels: list[tuple[int, int, tuple[int, ...]]] = []
        for i in range(n):
            entries = [(k, graph.symbol(Y[i][k])) for k in range(layout.size) if k in wanted]
            entries = [(k, s) for k, s in entries if s.value != 0.0]
            width = len(entries) + 1
            height = width + chunk
            for t, symbol in enumerate([s for _, s in entries] + [tau[i]]):
                outputs[self._end + t * height + width] = symbol
            self._panels.append((self._end, height, tuple(k for k, _ in entries)))
            self._end += -(-height * width // LANES) * LANES
        lanes = Lanes(LANES, native.has_fma())
        write_program(lanes, graph, outputs, self.rows.offset)
        code = native.compiled(lanes.declarations() + function("panels", lanes))
        self._kernel = code.function("panels", ctypes.c_void_p, ctypes.c_int64)

    def __call__(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        ddq: ArrayLike,
        tau: ArrayLike,
        *,
        shapes: ArrayLike | None = None,
        weights: ArrayLike | None = None,
    ) -> Factors:
        """R factors of a motion.

        Args:
            q, dq, ddq, tau: (N, n).
            shapes: values of the nonlinear parameters.
            weights: (N,) or (N, n) factors on the rows; 0 leaves a sample out.
        """
        motion = self.engine._motion(q=q, dq=dq, ddq=ddq, tau=tau)
        N, n = motion["q"].shape
        scale = None if weights is None else np.broadcast_to(np.asarray(weights, float).reshape(N, -1), (N, n))
        work = aligned(self._end)
        if len(self.engine.layout.shapes):
            self.rows.of(work, "shapes", len(self.engine.layout.shapes))[:] = self.engine._shapes(shapes)[:, None]
        panels = [work[a : a + h * (len(c) + 1)].reshape((h, len(c) + 1), order="F") for a, h, c in self._panels]
        with threadpool_limits(1):  # two BLAS threads make factorisations of this size many times slower
            for first in range(0, N, self.chunk):
                count = min(self.chunk, N - first)
                padded = -(-count // LANES) * LANES
                for name, values in motion.items():
                    fill(work, self.rows.offset((name, 0)), self.rows.stride, padded, values[first : first + count])
                self._kernel(work.ctypes.data, padded)
                for j, panel in enumerate(panels):
                    _absorb(panel, count, None if scale is None else scale[first : first + count, j])
        samples = N if scale is None else int(np.count_nonzero(np.any(scale != 0.0, axis=1)))
        return Factors(
            tuple(_factor(p, c) for p, (_, _, c) in zip(panels, self._panels, strict=True)), self.engine.layout.size, samples
        )


def _absorb(panel: Array, count: int, weights: Array | None) -> None:
    """Replace [R; new rows] by the new R, in place."""
    width = panel.shape[1]
    panel[width + count :] = 0.0  # a short last chunk
    if weights is not None:
        panel[width : width + count] *= weights[:, None]
    if not np.isfinite(panel[width : width + count]).all():
        raise InputError("motion or torque has values that are not finite; mask those samples first")
    factored, _, _, info = lapack.dgeqrf(panel, overwrite_a=1)
    assert info == 0
    assert np.shares_memory(factored, panel), "LAPACK worked on a copy, the running R would be lost"
    for k in range(width - 1):
        panel[k + 1 : width, k] = 0.0  # Householder vectors under the kept R


def _factor(panel: Array, columns: tuple[int, ...]) -> JointFactor:
    k = len(columns)
    R = np.triu(panel[: k + 1])
    return JointFactor(columns, R[:k, :k].copy(), R[:k, k].copy(), abs(float(R[k, k])))
