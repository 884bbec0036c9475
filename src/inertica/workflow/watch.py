"""A robot watched while it moves: its parameters as they become known, and loads that it picks up or drops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.errors import InputError
from inertica.estimators.recursive.change import FEWEST_ROWS, HOURS, SHARE, Calibration, LoadChange, LoadWatch
from inertica.estimators.recursive.lag import LagBuffer
from inertica.estimators.recursive.live import OnlineEstimate, OnlineFit, RowOptions, RowStream, sections
from inertica.estimators.recursive.loads import Loads
from inertica.estimators.structure.delay_search import held_lead
from inertica.identifiability.base import BaseModel, base_model
from inertica.logs.breaks import LONGEST as LONGEST_GAP
from inertica.logs.lines import Block
from inertica.logs.log import Log
from inertica.logs.noise import position_noise
from inertica.preprocessing.bandwidth import widest_position_band
from inertica.preprocessing.prepare import SLOW
from inertica.preprocessing.recipe import Recipe
from inertica.preprocessing.resample import on_clock, uniform_clock
from inertica.robot.description import Description
from inertica.workflow.decisions.filter import WIDER, choose_bandwidth

WARM_UP = 25.0
"""Periods of the motion's band from which the watch for loads learns what is normal."""

REFRESH = 0.5
"""Of the warm-up: motion after which the model that residuals are taken from follows the fit."""

QUIET = 0.25
"""Part of the threshold below which nothing points to a change, so that the model may follow the fit."""

FIRST = 200
"""Samples that tell rate and noise before a load is looked for."""

PERIODS = 8.0
"""Periods of the motion's band that tell up to which frequency it counts."""

LONGEST = 1 << 16
"""Samples after which the watch begins, however little the robot has moved."""

GROWN = 1.1
"""Times as many samples as before after which it is asked again whether they are enough."""

FIT = 0.02
"""Of the sampling rate: up to which motion counts where neither user nor motion say anything."""

BAND = 1.0 / 16.0
"""Of the frequency up to which motion counts: its band, where no motion has been seen."""

NARROWER = 0.5
"""Rows are low-passed at this part of that frequency: causal filters are less steep than those of a fit that sees the whole log."""

MOST_ROWS = 4096
"""Rows that are kept to learn from."""

_FAR_FROM_START = 20.0  # standard deviations of the noise: a joint that is farther from where it began has moved

_CLEAR = (
    20.0  # the same: a position that varies this much holds less noise than what its band leaves out, a hundredth of its energy
)


@dataclass(frozen=True)
class WatchSettings:
    """What can be chosen of a watch.

    Args:
        regressor: rows of momentum or of power; neither needs accelerations.
        forgetting: factor per row, see `Rls`; 1 forgets nothing.
        warm_up: s of motion to learn from before loads are looked for; 25 periods of the motion's band when not given.
        share: of the arm's mass that a load to be found weighs.
        mass: of the arm in kg; that of the model file when not given.
        hours: of motion between false alarms.
        cutoff: Hz up to which the motion counts, as `identify` states it ("fit up to"); by its rule, from the first stretch of
            motion, when not given.
        delay: s by which torque is measured later than motion, one or one per joint; when not given that of a torque held over a
            control period, where the model states the rate of its loop.
    """

    regressor: Literal["momentum", "power"] = "momentum"
    forgetting: float = 1.0
    warm_up: float | None = None
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
        settings: what to choose; motion counts up to a fiftieth of the rate where they do not state a cut-off (`Watch.of` looks at
            samples).
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
        self.cutoff = self.settings.cutoff or FIT * rate
        self.warm_up = self.settings.warm_up or WARM_UP / (BAND * self.cutoff)
        self.stream = RowStream(
            self.base, rate, self.settings.regressor, RowOptions(WIDER * self.cutoff, NARROWER * self.cutoff), prior=prior,
            still=still, velocity=velocity,
        )  # fmt: skip
        self._late = _late(description, self.settings.delay)
        self._lag = _lag(self._late, rate)
        self.row_rate = rate / self.stream.every
        self.fit = OnlineFit(self.stream, self.settings.forgetting, prior=prior)
        total = self.settings.mass or float(sum(prior.link(j)[9] for j in range(description.robot.n)))
        if not total > 0.0:
            raise InputError(f"{description.name}: the model states no masses; state the arm's mass in kg to look for loads")
        self.loads = Loads.of(self.base, self.settings.share * total)
        self.changes: list[LoadChange] = []
        self.time, self._moved, self._fresh = 0.0, 0, 0
        self._last = np.inf  # time of the last sample, none before which is a break of the clock
        self._learned: list[tuple[Array, NDArray[np.bool_]]] = []
        self._watch: LoadWatch | None = None

    @classmethod
    def of(
        cls, description: Description, first: Block, settings: WatchSettings | None = None, base: BaseModel | None = None
    ) -> Watch:
        """A watch of samples that begin with some, which are still to be pushed: they tell rate, noise and cut-off.

        Args:
            description: the robot.
            first: samples, several periods of the motion or more (`begun`).
            settings: what to choose.
            base: of the description, when it is known already.
        """
        rate, settings = 1.0 / float(np.median(np.diff(first.t))), settings or WatchSettings()
        base = base or base_model(description.layout)
        moving, band = first[motion_start(first.q) :], stretch_band(first)
        cutoff, warm_up = settings.cutoff, settings.warm_up
        if cutoff is None and band > 0.0:
            cutoff = stretch_bandwidth(description, base, moving, _late(description, settings.delay))
        if warm_up is None and band > 0.0:
            warm_up = WARM_UP / band
        still = resting_velocity(first.q, rate, WIDER * (cutoff or FIT * rate))
        return cls(description, rate, replace(settings, cutoff=cutoff, warm_up=warm_up), first.dq is not None, still, base)

    def push(self, t: Array, q: Array, tau: Array, dq: Array | None = None) -> list[LoadChange]:
        """Samples (m,) and (m, n); the changes that they show.  Behind a break of the clock filters begin anew."""
        cuts = [0, *np.flatnonzero(np.diff(t, prepend=self._last) > LONGEST_GAP / self.stream.rate).tolist(), len(t)]
        changes = []
        for k, (start, stop) in enumerate(pairwise(cuts)):
            if k:
                self.stream.restart()
                self._lag = _lag(self._late, self.stream.rate)
            if stop > start:
                changes += self._push(t[start:stop], q[start:stop], tau[start:stop], None if dq is None else dq[start:stop])
                self.time = self._last = float(t[stop - 1])
        self.changes += changes
        return changes

    def _push(self, t: Array, q: Array, tau: Array, dq: Array | None) -> list[LoadChange]:
        if self._lag is not None:
            q, tau, dq = self._lag.many(q, tau, dq)
        rows, use, taken = self.stream.push_many(q, tau, dq)
        changes = []
        for w, u, k in zip(rows, use, taken, strict=True):
            if u.any():
                change = self._row(float(t[k]), w, u)
                if change is not None:
                    changes.append(change)
        return changes

    def snapshot(self) -> Snapshot:
        time_moving, watching = self._moved / self.row_rate, self._watch is not None
        return Snapshot(self.time, time_moving, self.fit.estimate, watching, tuple(self.base.names), self.cutoff)

    def _row(self, t: float, rows: Array, use: NDArray[np.bool_]) -> LoadChange | None:
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
        elif self._fresh >= REFRESH * self.warm_up * self.row_rate:
            self._refresh(self._watch)
        return change

    def _learn(self) -> None:
        """After the warm-up, and when the data determine all parameters: what is normal."""
        if self._moved < max(FEWEST_ROWS, self.warm_up * self.row_rate) or self._moved % max(1, round(self.row_rate)):
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
        if self._moved >= self.warm_up * self.row_rate and watch.sums.max() < QUIET * watch.threshold:
            estimate = self.fit.estimate
            if estimate.complete:
                watch.follow(replace(watch.calibration, beta=estimate.beta))
        self._fresh = 0


def watched(
    description: Description, blocks: Iterable[Block], settings: WatchSettings | None = None, every: float = 1.0
) -> Iterator[Snapshot | LoadChange]:
    """What a watch finds while samples come: changes when they are flagged, and snapshots every so many seconds and at the end.

    The first periods of motion tell rate and noise, and the frequency up to which torque follows from the motion; what is known of
    these comes when they are over.  With a stated cut-off a few samples are enough.

    Args:
        description: the robot.
        blocks: samples as they come.
        settings: of the watch.
        every: s between snapshots.
    """
    stated = settings is not None and settings.cutoff is not None
    first, source = begun(blocks, 0.0 if stated else PERIODS)
    watch = Watch.of(description, first, settings)
    due, reported = float(first.t[0]) + every, -np.inf
    for block in chain([first], source):
        for part in _pieces(block, due, every):
            yield from watch.push(part.t, part.q, part.tau, part.dq)
            if watch.time >= due:
                yield watch.snapshot()
                reported = watch.time
                due += every * np.ceil((watch.time - due) / every + 1e-9)
                due = due if due > watch.time else due + every
    if watch.time > reported:
        yield watch.snapshot()


def begun(blocks: Iterable[Block], periods: float = 0.0) -> tuple[Block, Iterator[Block]]:
    """The first samples as one block, and those that follow.

    Args:
        blocks: samples as they come.
        periods: of the motion's own band that the first block has at least, if the robot moves soon.
    """
    source, parts, count, tested_at = iter(blocks), list[Block](), 0, 0.0
    for block in source:
        parts, count = [*parts, block], count + len(block)
        if count >= max(FIRST, GROWN * tested_at):
            parts, tested_at = [_joined(parts)], float(count)
            if _enough(parts[0], periods):
                break
    if count < 10:
        raise InputError("there are fewer than ten samples to watch")
    return _joined(parts), source


def _joined(parts: Sequence[Block]) -> Block:
    dq = [p.dq for p in parts if p.dq is not None]
    t, q, tau = (np.concatenate(x) for x in zip(*((p.t, p.q, p.tau) for p in parts), strict=True))
    return Block(t, q, tau, np.concatenate(dq) if len(dq) == len(parts) else None)


def _enough(block: Block, periods: float) -> bool:
    """Whether samples show so many periods of motion, or are so many that there is no point in waiting."""
    if not periods or len(block) >= LONGEST:
        return True
    moving = len(block) - motion_start(block.q)
    return moving > 1 and (moving - 1) * float(np.median(np.diff(block.t))) * stretch_band(block) >= periods


def motion_start(q: Array) -> int:
    """The sample at which some joint has left its first position for good reason, positions (N, n); N where none does."""
    rounding = 1e3 * np.finfo(float).eps * np.abs(q).max(axis=0)
    moving = np.abs(q - q[0]) > _FAR_FROM_START * np.maximum(position_noise(q), rounding)
    return int(np.argmax(moving.any(axis=1))) if moving.any() else len(q)


def stretch_band(block: Block) -> float:
    """Hz below which the positions move once they do; 0 while none stands clear of its noise."""
    q = block.q[motion_start(block.q) :]
    if len(q) < 8:
        return 0.0
    x = np.linspace(-1.0, 1.0, len(q))
    bent = q - q.mean(axis=0) - np.outer(x, (x @ q) / (x @ x))  # a trend is no part of the band
    clear = bent.std(axis=0) > _CLEAR * position_noise(block.q)
    return widest_position_band(q[:, clear], float(np.median(np.diff(block.t))))


def stretch_bandwidth(description: Description, base: BaseModel, block: Block, delay: Array) -> float:
    """Hz up to which torque follows from the motion of some samples, by the guarded rule of `identify`.

    Args:
        description: the robot.
        base: its base parameters.
        block: samples of the robot in motion.
        delay: (n,) s by which torque is measured later than motion.
    """
    log = Log(block.t, {"q": block.q, "tau": block.tau}, description.robot.joint_names)
    return choose_bandwidth(description, base, [log], Recipe(delay=tuple(delay.tolist()))).chosen


def _late(description: Description, delay: float | tuple[float, ...] | None) -> Array:
    """(n,) s by which torque is measured later than motion."""
    n = description.robot.n
    stated = np.atleast_1d(np.asarray(held_lead(description) if delay is None else delay, float))
    if len(stated) not in (1, n) or not np.isfinite(stated).all():
        raise InputError(f"the delay of torque behind motion should be one number or {n}, in s, not {delay}")
    return np.broadcast_to(stated, (n,))


def _lag(delay: Array, rate: float) -> LagBuffer | None:
    """What brings positions and torques to one time."""
    return LagBuffer(delay * rate) if delay.any() else None


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


def log_blocks(log: Log, size: int = 100) -> Iterator[Block]:
    """Samples of a recorded log on a uniform clock, as they would have come, so many at a time; none inside breaks of the clock."""
    use = ~log.mask & np.isfinite(log.t)
    clock = uniform_clock(log.running[use])
    none = np.zeros(log.n).tolist()

    def read(symbol: str) -> Array:
        return on_clock(clock, log.running, log.need(symbol), use, none, "cubic")[0]

    whole = Block(log.breaks.recorded(clock.t), read("q"), read("tau"), read("dq") if log.dq is not None else None)
    breaks, half = log.breaks, 0.5 * clock.dt
    ends = np.column_stack([breaks.running(breaks.before) + half, breaks.running(breaks.after) - half])
    cuts = [0, *np.searchsorted(clock.t, ends.ravel()).tolist(), len(whole)]
    for start, stop in zip(cuts[::2], cuts[1::2], strict=True):
        for first in range(start, stop, size):
            yield whole[first : min(first + size, stop)]


def resting_velocity(q: Array, rate: float, cutoff: float) -> Array:
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
