"""What a controller followed, and when it was recorded; simulated motion on the clock of a log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array, Mask
from inertica.dynamics.simulate import Simulation
from inertica.errors import InputError
from inertica.excitation.trajectory import Trajectory
from inertica.experiment.loop import ControlLoop
from inertica.logs.log import Log
from inertica.preprocessing.motion import Motion

Steps = NDArray[np.int64]

ON_STEP = 1e-3
"""Instants this close to a control step, in control periods, are taken from that step."""


@dataclass(frozen=True, eq=False)
class Replay:
    """Simulated motion on the clock of a log: (B, N, n) each."""

    q: Array
    dq: Array
    ddq: Array
    tau: Array

    def each(self, change: Callable[[Array], Array]) -> Replay:
        """All signals changed alike."""
        return Replay(*(change(x) for x in (self.q, self.dq, self.ddq, self.tau)))

    def lanes(self, chosen: slice) -> Replay:
        return self.each(lambda x: x[chosen])

    def motion(self, like: Motion, lane: int = 0) -> Motion:
        """One lane in the place of a measured motion; torque, masks and decimation stay.

        Without a measured position it is the simulated velocity that tells when a joint rests.
        """
        dq, resting = self.dq[lane].copy(), like.resting
        if "q" not in like.log.signals and like.recipe.standstill is not None:
            resting = np.abs(dq) <= like.recipe.standstill * np.sqrt(np.mean(dq**2, axis=0))
        return replace(like, q=self.q[lane].copy(), dq=dq, ddq=self.ddq[lane].copy(), resting=np.array(resting))


@dataclass(frozen=True, eq=False)
class Track:
    """What the controller followed, and when it was recorded.

    Args:
        reference: name -> (T, n) at the control steps.
        dt: control period in s.
        keep: control steps to record.
        before, after: (N,) rows of the recording on either side of every sample.
        share: (N,) how far towards `after`.
        start: (q, dq) at the first step; the reference's when not given.
    """

    reference: Mapping[str, Array]
    dt: float
    keep: Steps
    before: Steps
    after: Steps
    share: Array
    start: tuple[Array, Array] | None = None

    @classmethod
    def between(
        cls, reference: Mapping[str, Array], dt: float, left: Steps, right: Steps | None = None,
        share: Array | None = None, start: tuple[Array, Array] | None = None,
    ) -> Track:  # fmt: skip
        """Recorded at control steps `left` (N,), or at these shares of the way to `right`."""
        if right is None and share is None and np.all(np.diff(left) > 0):  # one step for every sample
            every = np.arange(len(left))
            return cls(reference, dt, left, every, every, np.zeros(len(left)), start)
        right, share = left if right is None else right, np.zeros(len(left)) if share is None else share
        keep = np.unique(np.concatenate([left, right]))
        return cls(reference, dt, keep, np.searchsorted(keep, left), np.searchsorted(keep, right), share, start)

    @classmethod
    def along(cls, log: Log, instants: Array, loop: ControlLoop, trajectory: Trajectory | None) -> Track:
        """Of a log, read off at these instants; the first control step is the log's first usable sample.

        Args:
            log: with reference columns unless there is a trajectory.
            instants: (N,) of its running time (`Log.running`).
            loop: that followed.
            trajectory: what it followed.
        """
        start = float(log.running[~log.mask & np.isfinite(log.t)][0])
        at = (instants - start) * loop.rate
        steps = int(np.ceil(at[-1] - ON_STEP)) + 1
        near = np.rint(at)
        exact = bool(np.abs(at - near).max() < ON_STEP)
        left = (near if exact else np.floor(at)).astype(np.int64)
        times: Array = start + np.arange(steps, dtype=float) * loop.dt
        samples = (
            _from_log(log, times, loop.follows_acceleration) if trajectory is None else trajectory(log.breaks.recorded(times))
        )
        reference = _followed(loop, samples)
        begin = reference["q"][0], reference["dq"][0]
        if exact:
            return cls.between(reference, loop.dt, left, start=begin)
        return cls.between(reference, loop.dt, left, np.minimum(left + 1, steps - 1), at - left, begin)

    def at(self, rows: slice) -> Track:
        """At some samples of the log; the simulation still begins where the log does."""
        left, right = self.keep[self.before[rows]], self.keep[self.after[rows]]
        if not self.share.any():
            return Track.between(self.reference, self.dt, left, start=self.start)
        return Track.between(self.reference, self.dt, left, right, self.share[rows], self.start)

    def sampled(self, recorded: Array) -> Array:
        """(B, K, n) at the recorded control steps -> (B, N, n) at the samples of the log."""
        if not self.share.any():
            every = len(self.before) == recorded.shape[1] and self.before[-1] == len(self.before) - 1
            return recorded if every else recorded[:, self.before]
        left = recorded[:, self.before]
        return np.asarray(left + self.share[:, None] * (recorded[:, self.after] - left))

    def replay(self, run: Simulation) -> Replay:
        """A simulation at the samples of the log."""
        return Replay(*(self.sampled(x) for x in (run.q, run.dq, run.ddq, run.tau)))


_FOLLOWED: list[tuple[ControlLoop, tuple[Array, ...], dict[str, Array]]] = []
"""What loops followed of motions that cannot have changed since; the latest last."""

MAX_CACHED = 4


def _followed(loop: ControlLoop, samples: tuple[Array, ...]) -> dict[str, Array]:
    """`ControlLoop.followed`, once for all fits to one reference: their simulations are then known to follow the same."""
    for loop_of, motion, reference in _FOLLOWED:
        if loop_of is loop and len(motion) == len(samples) and all(a is b for a, b in zip(motion, samples, strict=True)):
            return reference
    reference = loop.followed(samples)
    if not loop.feedforward and not any(x.flags.writeable for x in samples):
        for signal in reference.values():
            signal.setflags(write=False)
        _FOLLOWED[:] = [*_FOLLOWED[1 - MAX_CACHED :], (loop, samples, reference)]
    return reference


def reference_samples(log: Log) -> tuple[Mask, Array]:
    """(N,) samples that have a reference, and the (N, n) reference positions."""
    qr = log.need("qr")
    use = ~log.mask & np.isfinite(log.t) & np.isfinite(qr).all(axis=1)
    if np.count_nonzero(use) < 4:
        raise InputError(f"{log.origin} has fewer than four samples of the reference")
    return use, qr


def _from_log(log: Log, times: Array, accelerations: bool) -> tuple[Array, ...]:
    """q, dq, ddq of the reference at control times, from the reference columns of the log; ddq is zero unless asked for."""
    from scipy.interpolate import CubicSpline

    use, qr = reference_samples(log)
    curve = CubicSpline(log.running[use], qr[use])
    rates, order = curve, 1
    if "dqr" in log.signals and np.isfinite(log.signals["dqr"][use]).all():
        rates, order = CubicSpline(log.running[use], log.signals["dqr"][use]), 0
    q, dq = curve(times), rates(times, order)
    return q, dq, rates(times, order + 1) if accelerations else np.zeros_like(q)
