"""Commands and positions of one stretch of a log, and the commands as a servo sees them: late by a real number of seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array, Mask

Hold = Literal["zero", "linear"]
"""Between two samples a command stays (zero), or goes on in a straight line."""


@dataclass(frozen=True, eq=False)
class Record:
    """A stretch without long gaps.

    Args:
        name: of the log it is part of.
        t: (N,) s, increasing.
        q: (N, n) measured positions.
        use: (N, n) which of them count.
        commands: q, and dq, tau where they were recorded -> (N, n), finite.
        before: the record that this one continues without a gap: what was commanded then acts late.
        load: (10 n,) what bodies that were fixed to the links meanwhile add to their parameters; None for nothing.
    """

    name: str
    t: Array
    q: Array
    use: Mask
    commands: Mapping[str, Array]
    before: Record | None = None
    load: Array | None = None

    @property
    def period(self) -> float:
        """Median of the sampling intervals in s."""
        return float(np.median(np.diff(self.t)))

    def joints(self, which: tuple[int, ...]) -> Record:
        """The same of some joints."""
        chosen = list(which)
        commands = {s: u[:, chosen] for s, u in self.commands.items()}
        before = None if self.before is None else self.before.joints(which)
        load = None if self.load is None else self.load.reshape(-1, 10)[chosen].ravel()
        return Record(self.name, self.t, self.q[:, chosen], self.use[:, chosen], commands, before, load)

    def loaded(self, links: Array) -> Array:
        """(10 n,) parameters of the links with what they carried."""
        return links if self.load is None else links + self.load

    def part(self, first: int, end: int, remembered: int | None = None) -> Record:
        """The samples from `first` up to `end`; of those before it the last `remembered` stay known, all by default."""
        before = self.before
        if first:
            oldest = 0 if remembered is None else max(0, first - remembered)
            before = self._rows(slice(oldest, first), None if oldest else self.before)
        return self._rows(slice(first, end), before)

    def _rows(self, rows: slice, before: Record | None) -> Record:
        commands = {s: u[rows] for s, u in self.commands.items()}
        return replace(self, t=self.t[rows], q=self.q[rows], use=self.use[rows], commands=commands, before=before)

    def command(self, signal: str) -> tuple[Array, Array]:
        """Times (N,) and values (N, n) of a command, from before the record on; zero where it was not recorded."""
        t, u = self.t, self.commands.get(signal)
        u = np.zeros_like(self.q) if u is None else u
        if self.before is None:
            return t, u
        t0, u0 = self.before.command(signal)
        return np.concatenate([t0, t]), np.concatenate([u0, u])


@dataclass(frozen=True, eq=False)
class Grid:
    """The steps of a simulation beside the samples of a record.

    Args:
        start: s, of the first step.
        dt: s.
        count: steps.
        steps: to record, ascending.
        low: (N,) place in `steps` of the last step at or before every sample; the next place is the step after it.
        share: (N,) how far the sample lies on the way to it.
    """

    start: float
    dt: float
    count: int
    steps: NDArray[np.int64]
    low: NDArray[np.int64]
    share: Array

    @classmethod
    def of(cls, record: Record, finest: float) -> Grid:
        """As few steps of at most `finest` s per sample as there can be; stamps between steps are interpolated."""
        dt = record.period / max(1, int(np.ceil(record.period / finest - 1e-9)))
        place = (record.t - record.t[0]) / dt
        before = np.floor(place + 1e-9).astype(np.int64)
        share = np.clip(place - before, 0.0, 1.0)
        steps = np.unique(np.concatenate([before, before + 1]))
        return cls(float(record.t[0]), dt, int(steps[-1]) + 1, steps, np.searchsorted(steps, before), share)

    def at_samples(self, recorded: Array) -> Array:
        """(..., N, n) of (..., len(steps), n)."""
        low, share = self.low, self.share[:, None]
        return recorded[..., low, :] * (1.0 - share) + recorded[..., low + 1, :] * share


def delayed(record: Record, signal: str, delay: Array, grid: Grid, hold: Hold) -> tuple[Array, Array]:
    """(count, n) mean of a command over every step when it comes `delay` (n,) late, and the derivative of that in the delay.

    The mean over a step is exact for a delay of any length, so that a simulated motion is a continuous function of it.
    """
    edges = grid.start + grid.dt * np.arange(grid.count + 1)
    t, values = record.command(signal)
    mean, slope = np.empty((grid.count, len(delay))), np.empty((grid.count, len(delay)))
    for j, late in enumerate(delay):
        now, gathered = _command(t, values[:, j], edges - late, hold)
        mean[:, j] = np.diff(gathered) / grid.dt
        slope[:, j] = -np.diff(now) / grid.dt
    return mean, slope


def _command(t: Array, u: Array, at: Array, hold: Hold) -> tuple[Array, Array]:
    """A command at some times and its integral up to them; the first and the last value hold beyond the record."""
    k = np.clip(np.searchsorted(t, at, "right") - 1, 0, len(t) - 1)
    past = at - t[k]
    if hold == "zero":
        whole = np.concatenate([[0.0], np.cumsum(u[:-1] * np.diff(t))])
        return u[k], whole[k] + past * u[k]
    rate = np.append(np.diff(u) / np.diff(t), 0.0)
    inside = np.where(past > 0.0, past, 0.0)
    whole = np.concatenate([[0.0], np.cumsum(0.5 * (u[1:] + u[:-1]) * np.diff(t))])
    now = u[k] + rate[k] * inside
    return now, whole[k] + past * u[k] + 0.5 * rate[k] * inside**2
