"""A trajectory that keeps what it was asked for."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from inertica.excitation.trajectory import Samples, Trajectory

MAX_CACHED = 8
"""Sets of samples that a trajectory keeps."""


@dataclass(frozen=True, eq=False)
class CachedTrajectory:
    """A trajectory that keeps what it was asked for: every fit of a campaign wants the same samples of the same reference."""

    trajectory: Trajectory
    seen: dict[bytes, Samples] = field(default_factory=dict)

    @property
    def n(self) -> int:
        return self.trajectory.n

    @property
    def period(self) -> float:
        return self.trajectory.period

    @property
    def periodic(self) -> bool:
        return self.trajectory.periodic

    def describe(self) -> str:
        return self.trajectory.describe()

    def __call__(self, t: ArrayLike) -> Samples:
        times = np.ascontiguousarray(t, float)
        key = hashlib.sha256(times.tobytes()).digest()
        if key not in self.seen:
            if len(self.seen) > MAX_CACHED:
                self.seen.clear()
            self.seen[key] = self.trajectory(times)
            for signal in self.seen[key]:
                signal.setflags(write=False)
        return self.seen[key]
