"""`ContactMonitor`: an observer with thresholds, set up for a result on motion without contact; what it sees of a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from inertica.arrays import Array
from inertica.checks.seen import seen
from inertica.errors import InerticaError, InputError
from inertica.logs.log import Log
from inertica.logs.noise import position_noise
from inertica.logs.read import read_log
from inertica.preprocessing.prepare import SLOW
from inertica.preprocessing.recipe import Recipe
from inertica.workflow.identify.inputs import HOLD_OUT, IDENTIFICATION, LogLike
from inertica.workflow.identify.result import Result
from inertica.workflow.identify.standstill import NEXT_TO_NOTHING
from inertica.workflow.observe.events import ContactEvent, events
from inertica.workflow.observe.low_pass import LowPass
from inertica.workflow.observe.observer import Observed, Observer
from inertica.workflow.observe.thresholds import Residuals, Thresholds, thresholds

PERIOD = 3600.0
"""s between false alarms on average, where nothing is stated."""

SHARE = 0.05
"""Of a joint's largest torque on known motion: the external torque that should be noticed soonest, where nothing is stated."""

FASTEST = 0.05
"""Of the sampling rate: the highest bandwidth that is tried; a period of it has 20 samples."""

VELOCITY_POLES = (1.0, 4.0, 16.0)
"""Poles behind which positions are differentiated, over the observer's: slow ones blur reversals, fast ones let noise through."""

POSITIONS = 200
"""At which dry friction at rest is looked at."""


@dataclass(frozen=True, eq=False)
class ContactMonitor:
    """Notices external torques.

    Args:
        observer: that shows them.
        thresholds: from which on they count.
        wanted: (n,) external torque that should be noticed soonest.
        learned_from: data set -> number of its logs without contact that thresholds were learned from.
        tried: Hz -> mean time in s in which the wanted torques are noticed, infinite where some joint never notices its own.
    """

    observer: Observer
    thresholds: Thresholds
    wanted: Array
    learned_from: Mapping[str, int]
    tried: Mapping[float, float]

    @property
    def bandwidth(self) -> float:
        """Hz of the observer's low-pass."""
        return self.observer.pole / (2.0 * np.pi)

    @property
    def delay(self) -> Array:
        """(n,) s after which a step of the wanted torque is noticed in 95 % of all cases; infinite where it never is."""
        return time_to_notice(self.observer, self.thresholds, self.wanted)

    def observe(self, log: Log) -> tuple[Observed, tuple[ContactEvent, ...]]:
        """External torques along a log, and the alarms in it."""
        observed = self.observer.run(log)
        return observed, events(self.observer, self.thresholds, observed)


def time_to_notice(observer: Observer, limits: Thresholds, torque: Array) -> Array:
    """(n,) s until a step (n,) of external torque is beyond the threshold for 95 % of the residuals; infinite where it never is."""
    share = np.divide(limits.smallest, torque, out=np.full(observer.n, np.inf), where=torque > 0.0)
    low, high = np.zeros(observer.n), np.full(observer.n, 100.0 * observer.memory)
    for _ in range(60):  # bisection to the last bit: the response only rises
        middle = 0.5 * (low + high)
        before = observer.step_response(middle) < share
        low, high = np.where(before, middle, low), np.where(before, high, middle)
    return np.where(share < 1.0, high, np.inf)


def observer(
    result: Result | str | Path,
    logs: Sequence[LogLike] | None = None,
    *,
    period: float = PERIOD,
    bandwidth: float | None = None,
    share: float = SHARE,
) -> ContactMonitor:
    """Sets up an observer of external torques for a result.

    Args:
        result: of an identification, or its folder.
        logs: motion without contact that thresholds are learned from; those of the result by default, where they still are.
        period: s between false alarms on average, over all joints.
        bandwidth: Hz of the observer's low-pass; by default the one that notices `share` of every joint's largest torque soonest.
        share: see `bandwidth`.

    Examples:
        >>> monitor = ia.observer("result", period=600.0)
        >>> observed, alarms = monitor.observe(ia.read_log("run2.csv.gz", ia.load("card.yaml")))
        >>> observed.torque.shape == (len(observed.t), monitor.observer.n)
        True
    """
    result = result if isinstance(result, Result) else Result.load(result)
    for name, value in (("period", period), ("bandwidth", bandwidth), ("share", share)):
        if value is not None and not 0.0 < value < np.inf:
            raise InputError(f"{name} should be greater than zero, not {value:g}")
    sets = {"stated": tuple(seen(log, result.description) for log in logs)} if logs is not None else logs_of(result)
    if not any(sets.values()):
        raise InputError("thresholds need logs of motion without contact")
    every = [log for several in sets.values() for log in several]
    for log in every:
        if log.tau is None or "q" not in log.signals:
            raise InputError(f"{log.origin}: thresholds need positions (q1..) and torques (tau1..)")
    wanted = share * np.max([np.nanmax(np.abs(log.need("tau")), axis=0) for log in every], axis=0)
    best: tuple[tuple[int, float], Observer, Thresholds] | None = None
    tried: dict[float, float] = {}
    measured = result.recipe.velocity == "recorded" and all(log.dq is not None for log in every)
    rate = min(log.rate for log in every)
    for hertz in [bandwidth] if bandwidth is not None else candidates(result.recipe, rate):
        for ratio in (None,) if measured else VELOCITY_POLES:
            pole = 2.0 * np.pi * hertz
            if ratio is not None and ratio > 1.0 and ratio * pole > FASTEST * 2.0 * np.pi * rate:
                continue
            candidate = _observer(result, every, pole, None if ratio is None else ratio * pole)
            residuals = [
                Residuals([candidate.run(log) for log in several], _widening(result, name)) for name, several in sets.items()
            ]
            limits = thresholds(candidate, residuals, period)
            times = time_to_notice(candidate, limits, wanted)
            notices = np.isfinite(times)
            # fewest joints that never notice, then the time of those that do
            speed = (
                np.mean(times[notices]) if notices.any() else np.mean(limits.smallest / np.maximum(wanted, np.finfo(float).tiny))
            )
            tried[hertz] = min(float(np.mean(times)), tried.get(hertz, np.inf))
            if best is None or (int(np.sum(~notices)), float(speed)) < best[0]:
                best = (int(np.sum(~notices)), float(speed)), candidate, limits
    assert best is not None
    return ContactMonitor(best[1], best[2], wanted, {name: len(several) for name, several in sets.items()}, tried)


def candidates(recipe: Recipe, rate: float) -> list[float]:
    """Hz, in octaves from half the bandwidth of the identification to a twentieth of the rate."""
    cutoff = getattr(recipe.prediction or recipe.filter, "cutoff", None) or FASTEST * rate
    low = min(0.5 * cutoff, FASTEST * rate)
    return [low * 2.0**k for k in range(int(np.log2(FASTEST * rate / low)) + 1)]


def logs_of(result: Result) -> dict[str, tuple[Log, ...]]:
    """Data set -> logs of a result, read where they were; those that are not there are left out."""
    out: dict[str, tuple[Log, ...]] = {}
    missing: list[str] = []
    for name, places in result.logs.items():
        try:
            out[name] = tuple(read_log(place, result.description) for place in places)
        except InerticaError as error:
            missing.append(str(error))
    if not out:
        why = f": {missing[0]}" if missing else ", since the result does not say which they are"
        raise InputError(
            f"thresholds need motion without contact; the logs of the result cannot be read{why}; state others (calibrate)"
        )
    return out


def _widening(result: Result, data_set: str) -> Array:
    """(n,) how much more of fresh motion the model leaves than of the motion that it was fitted to, as a second fit showed."""
    n = result.description.robot.n
    if data_set != IDENTIFICATION or HOLD_OUT not in result.residuals:
        return np.ones(n)
    fitted, fresh = (np.array(result.residuals[name].filtered.per_joint) for name in (IDENTIFICATION, HOLD_OUT))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.maximum(np.nan_to_num(fresh / fitted, nan=1.0, posinf=1.0), 1.0))


def _observer(result: Result, logs: Sequence[Log], pole: float, velocity_pole: float | None) -> Observer:
    n = result.description.robot.n
    delay = np.broadcast_to(np.asarray(result.recipe.delay, float), (n,))
    bare = Observer(
        result.predictor,
        pole,
        velocity_pole,
        np.zeros(n),
        np.zeros(n),
        np.array(delay),
        result.standstill,
        result.predictor_engine,
    )
    part = result.recipe.standstill or 0.0
    rest = np.max([_resting_velocity(log, bare, part) for log in logs], axis=0)
    return replace(bare, rest=rest, hidden=np.max([_hidden(bare, log) for log in logs], axis=0))


def _resting_velocity(log: Log, observer: Observer, part: float) -> Array:
    """(n,) velocities up to which a joint rests: a part of its rms velocity, or what noise makes of velocity."""
    if (pole := observer.velocity_pole) is None:
        velocity = log.need("dq")
        noise = position_noise(velocity[np.isfinite(velocity).all(axis=1)])
    else:
        q = log.need("q")[~log.mask]
        velocity = pole * (q - LowPass(pole)(np.full(len(q), 1.0 / log.rate), q))
        noise = pole * position_noise(q)
    return np.asarray(np.maximum(part * np.sqrt(np.nanmean(velocity**2, axis=0)), SLOW * noise))


def _hidden(observer: Observer, log: Log) -> Array:
    """(n,) the largest jump of dry friction from one side of standstill to the other."""
    q = log.need("q")[~log.mask]
    q = q[np.linspace(0, len(q) - 1, min(len(q), POSITIONS)).astype(int)]
    tiny, terms = np.full(q.shape, NEXT_TO_NOTHING), observer.stream().friction
    return np.asarray(np.max(np.abs(terms(q, tiny, 0.0 * q) - terms(q, -tiny, 0.0 * q)), axis=0))
