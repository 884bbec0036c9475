"""A robot watched while it moves: its parameters as they become known, and loads that it picks up or drops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from inertica.errors import InputError
from inertica.estimators.recursive.change import HOURS, SHARE, Calibration, Change, LoadWatch
from inertica.estimators.recursive.lag import Lag
from inertica.estimators.recursive.live import CUTOFF, OnlineEstimate, OnlineFit, RowStream, sections
from inertica.estimators.recursive.loads import Loads
from inertica.estimators.structure.delay_search import held_lead
from inertica.identifiability.base import BaseModel, base_model
from inertica.logs.lines import Block
from inertica.logs.log import Log
from inertica.logs.noise import position_noise
from inertica.preprocessing.edge import motion_band, noise_edge
from inertica.preprocessing.prepare import SLOW
from inertica.preprocessing.resample import on_clock, uniform_clock
from inertica.robot.description import Description
from inertica.workflow.filter_choice import BANDS, HIGHEST, WIDER

Array = NDArray[np.float64]

WARM_UP = 20.0
"""s of motion from which the watch for loads learns what is normal."""

REFRESH = 10.0
"""s of motion after which the model that residuals are taken from follows the fit."""

QUIET = 0.25
"""Part of the threshold below which nothing points to a change, so that the model may follow the fit."""

FIRST = 1.0
"""s of samples that tell rate and noise before a load is looked for."""

SPECTRUM = 5.0
"""s of motion whose spectrum tells up to which frequency the positions of a robot that is watched are motion."""

LONGEST_REST = 60.0
"""s of samples after which the watch begins, however little the robot has moved."""

FIT = CUTOFF / WIDER
"""Hz up to which motion counts where neither user nor spectrum say anything."""

NARROWER = 0.5
"""Rows are low-passed at this part of that frequency: causal filters are less steep than those of a fit that sees the whole log."""

MOST_ROWS = 4096
"""Rows that are kept to learn from."""

_STRIDE, _MOVED = 0.1, 10.0  # s, and standard deviations of the noise: a joint that is farther off than that has moved


@dataclass(frozen=True)
class WatchSettings:
    """What can be chosen of a watch.

    Args:
        regressor: rows of momentum or of power; neither needs accelerations.
        forgetting: factor per row, see `Rls`; 1 forgets nothing.
        warm_up: s of motion to learn from before loads are looked for.
        share: of the arm's mass that a load to be found weighs.
        mass: of the arm in kg; that of the model file when not given.
        hours: of motion between false alarms.
        cutoff: Hz up to which the motion counts, as `identify` states it ("fit up to"); from the spectrum of the first 5 s of motion
            when not given.
        delay: s by which torque is measured later than motion, one or one per joint; when not given that of a torque held over a
            control period, where the model states the rate of its loop.
    """

    regressor: Literal["momentum", "power"] = "momentum"
    forgetting: float = 1.0
    warm_up: float = WARM_UP
    share: float = SHARE
    mass: float | None = None
    hours: float = HOURS
    cutoff: float | None = None
    delay: float | tuple[float, ...] | None = None


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What is known at some time.

    Args:
        time: of the last sample in s.
        motion: s of motion that the estimate rests on.
        estimate: parameters with standard deviations.
        watching: whether loads are looked for already.
        names: of the base parameters.
        cutoff: Hz up to which the motion counts.
    """

    time: float
    motion: float
    estimate: OnlineEstimate
    watching: bool
    names: tuple[str, ...]
    cutoff: float


class Watch:
    """Samples in, estimates and changes out.

    Args:
        description: the robot.
        rate: of the samples in Hz.
        settings: what to choose; motion counts up to 20 Hz where they do not state a cut-off (`Watch.of` looks at samples).
        velocity: whether samples have a measured velocity.
        still: (n,) velocities below which a joint rests.
        base: of the description, when it is known already.
    """

    def __init__(
        self, description: Description, rate: float, settings: WatchSettings | None = None, velocity: bool = False,
        still: Array | float = 0.0, base: BaseModel | None = None,
    ) -> None:  # fmt: skip
        self.settings = settings or WatchSettings()
        self.base = base or base_model(description.layout)
        prior = description.prior
        self.cutoff = self.settings.cutoff or FIT
        self.stream = RowStream(
            self.base, rate, self.settings.regressor, WIDER * self.cutoff, NARROWER * self.cutoff, prior=prior, still=still,
            velocity=velocity,
        )  # fmt: skip
        late = held_lead(description) if self.settings.delay is None else self.settings.delay
        self._lag = _lag(late, description.robot.n, rate)
        self.row_rate = rate / self.stream.every
        self.fit = OnlineFit(self.stream, self.settings.forgetting, prior=prior)
        total = self.settings.mass or float(sum(prior.link(j)[9] for j in range(description.robot.n)))
        if not total > 0.0:
            raise InputError(f"{description.name}: the model states no masses; state the arm's mass in kg to look for loads")
        self.loads = Loads.of(self.base, self.settings.share * total)
        self.changes: list[Change] = []
        self.time, self._moved, self._fresh = 0.0, 0, 0
        self._learned: list[tuple[Array, NDArray[np.bool_]]] = []
        self._watch: LoadWatch | None = None

    @classmethod
    def of(
        cls, description: Description, first: Block, settings: WatchSettings | None = None, base: BaseModel | None = None
    ) -> Watch:
        """A watch of samples that begin with some, which are still to be pushed: they tell rate, noise and cut-off.

        Args:
            description: the robot.
            first: samples, 5 s of motion or more for the spectrum to mean something.
            settings: what to choose.
            base: of the description, when it is known already.
        """
        rate, settings = 1.0 / float(np.median(np.diff(first.t))), settings or WatchSettings()
        cutoff = settings.cutoff or spectral_cutoff(first.q, rate)
        still = resting_velocity(first.q, rate, WIDER * cutoff)
        return cls(description, rate, replace(settings, cutoff=cutoff), first.dq is not None, still, base)

    def push(self, t: Array, q: Array, tau: Array, dq: Array | None = None) -> list[Change]:
        """Samples (m,) and (m, n); the changes that they show."""
        if self._lag is not None:
            q, tau, dq = self._lag.many(q, tau, dq)
        rows, use, taken = self.stream.push_many(q, tau, dq)
        found = []
        for w, u, k in zip(rows, use, taken, strict=True):
            if u.any():
                change = self._row(float(t[k]), w, u)
                if change is not None:
                    found.append(change)
        if len(t):
            self.time = float(t[-1])
        self.changes += found
        return found

    def snapshot(self) -> Snapshot:
        moved, watching = self._moved / self.row_rate, self._watch is not None
        return Snapshot(self.time, moved, self.fit.estimate, watching, tuple(self.base.names), self.cutoff)

    def _row(self, t: float, rows: Array, use: NDArray[np.bool_]) -> Change | None:
        change = None if self._watch is None else self._watch.update(t, rows, use)
        if self._watch is None:
            self._learned.append((rows.copy(), use.copy()))
            del self._learned[:-MOST_ROWS]
        if change is not None:  # what was known is of another robot
            self.fit.reset()
            self._moved = self._fresh = 0
        self.fit.absorb(rows, use)
        self._moved, self._fresh = self._moved + 1, self._fresh + 1
        if self._watch is None:
            self._learn()
        elif self._fresh >= REFRESH * self.row_rate:
            self._refresh(self._watch)
        return change

    def _learn(self) -> None:
        """After the warm-up, and when the data determine all parameters: what is normal."""
        if self._moved < self.settings.warm_up * self.row_rate or self._moved % max(1, round(self.row_rate)):
            return
        estimate = self.fit.estimate
        if not estimate.complete:
            return
        rows, use = (np.array(x) for x in zip(*self._learned, strict=True))
        normal = Calibration.of(rows, use, estimate.beta, self.loads.directions, self.row_rate, self.stream.inflation)
        self._watch = LoadWatch(normal, self.loads, self.row_rate, self.settings.hours)
        self._learned.clear()
        self._fresh = 0

    def _refresh(self, watch: LoadWatch) -> None:
        if self._moved >= self.settings.warm_up * self.row_rate and watch.sums.max() < QUIET * watch.threshold:
            estimate = self.fit.estimate
            if estimate.complete:
                watch.follow(replace(watch.calibration, beta=estimate.beta))
        self._fresh = 0


def watched(
    description: Description, blocks: Iterable[Block], settings: WatchSettings | None = None, every: float = 1.0
) -> Iterator[Snapshot | Change]:
    """What a watch finds while samples come: changes when they are flagged, and snapshots every so many seconds and at the end.

    The first 5 s of motion tell rate and noise, and the frequency up to which positions are motion; what is known of these comes when
    they are over.  With a stated cut-off one second is enough.

    Args:
        description: the robot.
        blocks: samples as they come.
        settings: of the watch.
        every: s between snapshots.
    """
    stated = settings is not None and settings.cutoff is not None
    first, source = begun(blocks, 0.0 if stated else SPECTRUM)
    watch = Watch.of(description, first, settings)
    due, told = float(first.t[0]) + every, -np.inf
    for block in chain([first], source):
        for part in _pieces(block, due, every):
            yield from watch.push(part.t, part.q, part.tau, part.dq)
            if watch.time >= due:
                yield watch.snapshot()
                told = watch.time
                due += every * np.ceil((watch.time - due) / every + 1e-9)
                due = due if due > watch.time else due + every
    if watch.time > told:
        yield watch.snapshot()


def begun(blocks: Iterable[Block], moving: float = 0.0) -> tuple[Block, Iterator[Block]]:
    """The first second of samples as one block, and those that follow.

    Args:
        blocks: samples as they come.
        moving: s of motion that the first block has at least, if the robot moves within a minute.
    """
    source = iter(blocks)
    first = next(source, None)
    while first is not None and not _enough(first, moving):
        more = next(source, None)
        if more is None:
            break
        first = first.joined(more)
    if first is None or len(first) < 10:
        raise InputError("there are fewer than ten samples to watch")
    return first, source


def _enough(block: Block, moving: float) -> bool:
    """Whether samples last a second, and show so many seconds of motion or a minute of whatever."""
    span = float(block.t[-1] - block.t[0])
    if span < max(FIRST, min(moving, LONGEST_REST)):
        return False
    if not moving or span >= LONGEST_REST:
        return True
    at = np.arange(0, len(block), max(1, round(_STRIDE * len(block) / span)))
    moved = np.abs(np.diff(block.q[at], axis=0)) > _MOVED * np.maximum(position_noise(block.q), 1e-9)
    return float(np.count_nonzero(moved.any(axis=1))) * _STRIDE >= 0.99 * moving


def spectral_cutoff(q: Array, rate: float) -> float:
    """Hz up to which positions (N, n) are motion, by the rule of `identify`: above, they drown in their noise.

    Joints that do not move yet count for nothing; where none does, 20 Hz.
    """
    moving = np.ptp(q, axis=0) > 2.0 * _MOVED * position_noise(q)
    edges = noise_edge(q[:, moving], 1.0 / rate)
    if not np.any(edges > 0.0):
        return FIT
    return min(max(float(edges[edges > 0.0].min()), BANDS * motion_band(q[:, moving], 1.0 / rate)), HIGHEST * rate)


def _lag(delay: float | tuple[float, ...], n: int, rate: float) -> Lag | None:
    """What brings positions and torques to one time."""
    given = np.atleast_1d(np.asarray(delay, float))
    if len(given) not in (1, n) or not np.isfinite(given).all():
        raise InputError(f"the delay of torque behind motion should be one number or {n}, in s, not {delay}")
    late = np.broadcast_to(given, (n,)) * rate
    return Lag(late) if late.any() else None


def _pieces(block: Block, due: float, every: float) -> Iterator[Block]:
    """A block cut where snapshots are due."""
    start = 0
    while start < len(block):
        stop = int(np.searchsorted(block.t, due, side="left")) + 1
        stop = min(max(stop, start + 1), len(block))
        yield block[start:stop]
        if stop < len(block):
            due += every * max(1.0, np.ceil((block.t[stop - 1] - due) / every + 1e-9))
        start = stop


def log_blocks(log: Log, seconds: float = 0.1) -> Iterator[Block]:
    """Samples of a recorded log on a uniform clock, as they would have come."""
    use = ~log.mask & np.isfinite(log.t)
    clock = uniform_clock(log.t[use])
    none = np.zeros(log.n).tolist()

    def read(symbol: str) -> Array:
        return on_clock(clock, log.t, log.need(symbol), use, none, "cubic")[0]

    whole = Block(clock.t, read("q"), read("tau"), read("dq") if log.dq is not None else None)
    size = max(1, round(seconds * clock.rate))
    for first in range(0, len(whole), size):
        yield whole[first : first + size]


def resting_velocity(q: Array, rate: float, cutoff: float = CUTOFF) -> Array:
    """(n,) velocities that noise of the positions alone makes behind a low-pass: joints that are slower rest."""
    _, section = sections(min(cutoff, 0.2 * rate), rate)
    b0, b1, b2, a1, a2 = section
    response, z0, z1 = [], 0.0, 0.0
    for x in (1.0, *[0.0] * 200):
        y = b0 * x + z0
        z0, z1 = b1 * x - a1 * y + z1, b2 * x - a2 * y
        response.append(y)
    rounding = 1e3 * np.finfo(float).eps * np.abs(q).max(axis=0) * rate
    return np.asarray(SLOW * np.maximum(position_noise(q) * float(np.linalg.norm(response)), rounding))
