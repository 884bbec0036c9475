"""A family of trajectories on a grid of times: from coefficients to states and back, for many candidates at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inertica.excitation.constraints import JointLimits
from inertica.excitation.trajectory import Array, Samples, Shaped


@dataclass(frozen=True, eq=False)
class Basis:
    """Affine map from coefficients to the states on a grid.

    Args:
        t: (N,) times.
        phi: functions that go with the k coefficients of a joint, each (N, k).
        offset: states with all coefficients zero, each (N, n).
        rest: (k n,) coefficients of the gentlest motion.
    """

    t: Array
    phi: Samples
    offset: Samples
    rest: Array

    @classmethod
    def of(cls, family: Shaped, t: Array) -> Basis:
        basis = family.functions(t)
        fixed = family.parameters - family.free @ (family.free.T @ family.parameters)
        phi = Samples(*(x @ family.free for x in basis))
        return cls(t, phi, Samples(*(x @ fixed for x in basis)), (family.free.T @ family.resting).ravel())

    @property
    def n(self) -> int:
        return int(self.offset.q.shape[1])

    def motion(self, x: Array) -> Samples:
        """States of candidates x (B, k n) or (k n,), one after the other: each (B N, n)."""
        X = np.atleast_2d(x).reshape(-1, self.phi.q.shape[1], self.n)
        return Samples(*((f @ X + o).reshape(-1, self.n) for f, o in zip(self.phi, self.offset, strict=True)))

    def positions(self, x: Array, rows: NDArray[np.intp]) -> Array:
        """(k, n) of one candidate at some of the times."""
        return np.asarray(self.phi.q[rows] @ x.reshape(-1, self.n) + self.offset.q[rows])

    def gradient(self, gradient: Samples) -> Array:
        """(k n,) from the gradient with respect to the states of one candidate."""
        q, dq, ddq = (f.T @ g for f, g in zip(self.phi, gradient, strict=True))
        return np.asarray((q + dq + ddq).ravel())

    def scales(self, limits: JointLimits | None) -> Array:
        """(k n,) how far each coefficient alone may go before a joint limit is met; one where nothing limits it."""
        k = self.phi.q.shape[1]
        out = np.full((k, self.n), np.inf)
        if limits is not None:
            lower, upper = limits.bounds
            for f, half in zip(self.phi, 0.5 * (upper - lower), strict=True):
                top = np.abs(f).max(axis=0)[:, None]
                out = np.minimum(out, np.divide(half, top, out=np.full((k, self.n), np.inf), where=top > 1e-12))
        return np.where(np.isfinite(out), out, 1.0).ravel()

    def box(self, limits: JointLimits | None) -> tuple[Array, Array] | None:
        """Bounds on the coefficients when the joint limits on this grid are nothing else, None otherwise.

        That is so when every state depends on at most one coefficient, as for points that are designed themselves.
        """
        if limits is None:
            return None
        k = self.phi.q.shape[1]
        low, high = np.full((k, self.n), -np.inf), np.full((k, self.n), np.inf)
        for f, o, a, b in zip(self.phi, self.offset, *limits.bounds, strict=True):
            used = np.abs(f) > 1e-12
            if (used.sum(axis=1) > 1).any():
                return None
            for i, m in zip(*np.nonzero(used), strict=True):
                ends = np.sort([(a - o[i]) / f[i, m], (b - o[i]) / f[i, m]], axis=0)
                low[m], high[m] = np.maximum(low[m], ends[0]), np.minimum(high[m], ends[1])
        return low.ravel(), high.ravel()

    def into_limits(self, x: Array, limits: JointLimits, fill: bool = False) -> Array:
        """Candidates (B, k n), each joint's motion shrunk towards rest until it keeps its limits on this grid.

        With `fill` small motions grow until they touch a limit, too.
        """
        rest = self.rest
        step = np.atleast_2d(x) - rest
        still = self.motion(rest)
        moving = (m.reshape(len(step), -1, self.n) - s for m, s in zip(self.motion(step + rest), still, strict=True))
        room = np.full((len(step), self.n), np.inf)
        for d, s, a, b in zip(moving, still, *limits.bounds, strict=True):
            up = np.divide(b - s, d, out=np.full(d.shape, np.inf), where=d > 1e-300)
            down = np.divide(a - s, d, out=np.full(d.shape, np.inf), where=d < -1e-300)
            room = np.minimum(room, np.minimum(up, down).min(axis=1))
        room = np.where(np.isfinite(room), np.maximum(room, 0.0), 1.0)
        factor = room if fill else np.minimum(room, 1.0)
        shaped = step.reshape(len(step), -1, self.n) * factor[:, None, :]
        return np.asarray(rest + shaped.reshape(len(step), -1))
