"""Elasticity that shows at once: recorded position and torque rise and fall together from sample to sample.

Two things tie fast changes of position and torque together in a rigid robot, and both tie them the other way round: a controller
answers a position that is too large with less torque, and inertia at high frequency moves against the torque that shakes it,
q = -tau / (J w^2).  A torque that was logged a sample away from its position can turn the sign of what the controller does, but the
correlation of fourth differences then stays below 56/70 = 0.8, that of white noise with itself a sample later.  What is left is a
spring between the torque and the place where the position is measured: q = q_link + tau / k.  So this test needs no simulated fit to
compare with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inertica.arrays import Array
from inertica.logs.log import Log

TOGETHER = 0.95
"""Correlation from which position follows torque."""

FEWEST = 500
"""Samples below which nothing is said."""

FAR = 5.0
"""Differences beyond so many median ones are cut off: single jumps are no elasticity."""


@dataclass(frozen=True)
class FastCompliance:
    """How position follows torque from sample to sample.

    Args:
        correlation: (n,) of their fourth differences.
        compliance: (n,) slope, rad/(N m).
        samples: that tell it.
    """

    correlation: tuple[float, ...]
    compliance: tuple[float, ...]
    samples: int

    @property
    def joint(self) -> int | None:
        """The joint, from 0, where position follows torque most clearly; None when none does."""
        j = int(np.argmax(self.correlation))
        return j if self.samples >= FEWEST and self.correlation[j] >= TOGETHER else None


def fast_compliance(logs: Sequence[Log]) -> FastCompliance:
    """Over all logs, which have positions and torques."""
    parts = [_differences(log) for log in logs]
    q, tau = (np.concatenate([p[i] for p in parts]) for i in (0, 1))
    both, squares = np.sum(q * tau, axis=0), (np.sum(q**2, axis=0), np.sum(tau**2, axis=0))
    size = np.sqrt(squares[0] * squares[1])
    rho = np.divide(both, size, out=np.zeros_like(both), where=size > 0.0)
    slope = np.divide(both, squares[1], out=np.zeros_like(both), where=squares[1] > 0.0)
    return FastCompliance(tuple(map(float, rho)), tuple(map(float, slope)), len(q))


def _differences(log: Log) -> tuple[Array, Array]:
    """Fourth differences of position and torque over consecutive good samples, single jumps cut off."""
    q, tau = log.need("q"), log.need("tau")
    good = ~log.mask & np.isfinite(log.t) & np.isfinite(q).all(axis=1) & np.isfinite(tau).all(axis=1)
    whole = np.convolve(good, np.ones(5), "valid") == 5 if len(good) >= 5 else np.zeros(0, bool)
    if not whole.any():
        return np.zeros((0, log.n)), np.zeros((0, log.n))
    dq4, dtau4 = (np.diff(np.where(good[:, None], x, 0.0), 4, axis=0)[whole] for x in (q, tau))
    return _cut(dq4), _cut(dtau4)


def _cut(x: Array) -> Array:
    most = FAR * np.median(np.abs(x), axis=0)
    return np.clip(x, -most, most)
