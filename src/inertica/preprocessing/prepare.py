"""Preprocessing: a recorded `Log` becomes a `Motion`, every step written down."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import replace
from itertools import pairwise
from weakref import WeakKeyDictionary

import numpy as np

from inertica.arrays import Array, Mask
from inertica.errors import InputError
from inertica.logs.breaks import LONGEST
from inertica.logs.log import Log
from inertica.logs.noise import extremes, position_noise
from inertica.preprocessing.decimate import Decimator, widened
from inertica.preprocessing.filters import Filter, Fourier, Kinematics, Unfiltered, noise_gains
from inertica.preprocessing.motion import BORDER, BRIDGED, PAUSED, STANDSTILL, Motion
from inertica.preprocessing.periods import Folded, PeriodNoise, detect_period
from inertica.preprocessing.recipe import Recipe
from inertica.preprocessing.resample import UniformClock, on_clock, uniform_clock
from inertica.robot.loops import complete

MOST_BORDER = 0.05
"""A border that nobody states takes at most this part of the record at each end."""

BRIDGE = 0.1
"""Gaps up to this part of the filter's reach, a quarter of a period of its cut-off, are interpolated without harm to neighbours."""

SHORTEST = 24
"""Samples of a stretch between breaks of the clock that any filter takes; shorter ones are masked anyway, see `Filter.reach`."""

FEWEST = 3
"""Torques of a joint below which it counts as not recorded."""

SLOW = 4.0
"""A joint rests when its velocity is below this many standard deviations of the velocity noise."""

MOST_RESAMPLED = 4
"""Signals of one log on a uniform clock that are kept: positions, and torques with the last delays that were tried."""

_RESAMPLED: WeakKeyDictionary[Log, OrderedDict[Hashable, tuple[Array, Mask]]] = WeakKeyDictionary()
"""Log -> its signals on uniform clocks, as long as the log is there; what is kept follows from the log and the key alone."""

_NOISE: WeakKeyDictionary[Log, dict[Hashable, Array]] = WeakKeyDictionary()
"""Log -> noise of its positions on uniform clocks, likewise."""


def prepare(log: Log, recipe: Recipe | None = None) -> Motion:
    """The motion of a log.

    Args:
        log: with positions and torques (readers turn currents into torques).
        recipe: the choices; the literature's by default.

    Examples:
        >>> log = ia.read_log("run1.csv.gz", ia.load("card.yaml"))
        >>> motion = ia.prepare(log, ia.Recipe(border=100))
        >>> motion.q.shape[1]
        3
    """
    return _Preparation(log, recipe or Recipe()).motion()


def noise_on_clock(log: Log) -> Array:
    """(n,) standard deviation of white noise on the positions of a log on its uniform clock, before any filter."""
    return _Preparation(log, Recipe()).position_noise()


class _Preparation:
    """One log on its way to a motion; `done` and `masks` grow with the steps."""

    def __init__(self, log: Log, recipe: Recipe) -> None:
        self.log, self.recipe = log, recipe
        log.need("q"), log.need("tau")
        self.done: dict[str, str] = {}
        self.masks: dict[str, Mask] = {}
        self.use = ~log.mask & np.isfinite(log.t)
        self.stale = log.repeated & self.use
        self.clock, self.period = self._clock()
        self.cuts = self._cuts()
        self.q, self.tau = self._signal("q", np.zeros(log.n)), self._torque()
        self.spoiled = np.any(list(self.masks.values()), axis=0) if self.masks else np.zeros(self.clock.count, bool)

    def motion(self) -> Motion:
        recipe, dt = self.recipe, self.clock.dt
        folded = self._folded()
        tau_raw, variances, first = self.tau, None, 0
        if recipe.average and folded is not None:
            variances = self._average(folded)
            tau_raw, first = self.tau, folded.first
        kinematics = self._kinematics(folded)
        if (linkage := self.log.linkage) is not None:
            kinematics = Kinematics(*complete(linkage, kinematics.q, kinematics.dq, kinematics.ddq))
        if recipe.filter_torque:
            self.tau = self._filtered(self.tau, None).q if self.cuts else recipe.filter.smoothed(self.tau, dt)
            self.done["torque"] = "the torque was low-passed like the positions"
        self._widen()
        border = self._border(len(self.q))
        resting = self._resting(kinematics) | self.unmeasured
        if self.unmeasured.any():
            tau_raw = np.where(self.unmeasured, np.nan, tau_raw)
        decimator = replace(self._decimator(), cuts=self.cuts)
        resolved = replace(
            recipe, rate=self.clock.rate, filter=recipe.filter.resolved(dt), delay=tuple(recipe.delays(self.log.n).tolist()),
            border=border, period=self.period, decimate=None, ratio=decimator.ratio,
        )  # fmt: skip
        t = np.asarray(self.clock.start + dt * (first + np.arange(len(self.q))), float)
        return Motion(
            t, kinematics.q, kinematics.dq, kinematics.ddq, self.tau, tau_raw, self.log.joints, resolved, self.done,
            {reason: mask for reason, mask in self.masks.items() if mask.any()}, resting, decimator, self.log, variances,
        )  # fmt: skip

    def _clock(self) -> tuple[UniformClock, float | None]:
        t, recipe = self.log.running[self.use], self.recipe
        clock = uniform_clock(t, recipe.rate)
        period = recipe.period if not isinstance(recipe.period, str) else self._detected(clock)
        if period is not None:
            if len(self.log.breaks):
                at = float(self.log.breaks.before[0])
                raise InputError(
                    f"{self.log.origin}: the clock breaks off after t = {at:.6g} s, and nothing says where in its period the motion "
                    f"goes on; take one stretch of the log (@:{at:.6g}), or do without the period"
                )
            clock = uniform_clock(t, recipe.rate, float(period))
        note = f"the clock is uniform at {clock.rate:.6g} Hz"
        if not clock.exact:
            note = (
                f"signals were brought to a uniform clock of {clock.rate:.6g} Hz by {recipe.interpolation} interpolation "
                f"(the recorded one jitters by {100 * clock.jitter:.2g} %)"
            )
        if pauses := len(self.log.breaks):
            note += (
                f"; {pauses} break{'s' * (pauses > 1)} of the recorded one {'are' if pauses > 1 else 'is'} shortened to "
                f"{LONGEST:g} intervals, which are masked, so that t runs on"
            )
        if repeats := int(np.count_nonzero(self.stale)):
            note += f"; {repeats} samples that repeat all values of the one before were interpolated instead"
        self.done["clock"] = note
        return clock, period

    def _cuts(self) -> tuple[int, ...]:
        """Samples at which the clock breaks off and goes on, in turn; what lies in between is masked."""
        breaks, half = self.log.breaks, 0.5 * self.clock.dt
        ends = np.column_stack([breaks.running(breaks.before) + half, breaks.running(breaks.after) - half])
        cuts = np.searchsorted(self.clock.t, ends.ravel()).tolist() if len(breaks) else []
        if cuts:
            paused = np.zeros(self.clock.count, bool)
            for first, last in zip(cuts[::2], cuts[1::2], strict=True):
                paused[first:last] = True
            self._mask(PAUSED, paused)
        return tuple(cuts)

    def _detected(self, clock: UniformClock) -> float:
        q, _ = on_clock(
            clock, self.log.running, self.log.need("q"), self.use, np.zeros(self.log.n).tolist(), self.recipe.interpolation
        )
        period = detect_period(q, clock.dt)
        if period is None:
            raise InputError(f"{self.log.origin} shows no period: its motion does not repeat; state the period or do without")
        return period

    def _signal(self, symbol: str, shift: Array) -> Array:
        # choices prepare one log by dozens of recipes, which differ in filters and not in what they filter
        clock, how, known = self.clock, self.recipe.interpolation, _RESAMPLED.setdefault(self.log, OrderedDict())
        key = (symbol, clock.start, clock.dt, clock.count, how, *shift.tolist())
        if key not in known:
            known[key] = on_clock(clock, self.log.running, self.log.need(symbol), self.use, shift.tolist(), how, self.stale)
            while len(known) > MOST_RESAMPLED:
                known.popitem(last=False)
        values, missing = known[key]
        if missing.any():
            self._mask(f"no {symbol}", missing)
        values.setflags(write=False)
        return values.view()

    def _torque(self) -> Array:
        delays = self.recipe.delays(self.log.n)
        if delays.any():
            milliseconds = ", ".join(f"{1e3 * d:.3g}" for d in delays)
            self.done["delay"] = f"torque was read {milliseconds} ms later than motion, joint by joint"
        else:
            self.done["delay"] = "no delay between torque and motion was taken out"
        recorded = self.log.need("tau")
        self.unmeasured = np.count_nonzero(np.isfinite(recorded[self.use]), axis=0) < FEWEST
        if not self.unmeasured.any():
            return self._without_dependent(self._signal("tau", delays))
        if self.unmeasured.all():
            raise InputError(f"{self.log.origin} has no usable torque of any joint")
        names = ", ".join(name for name, lacks in zip(self.log.joints, self.unmeasured, strict=True) if lacks)
        self.done["torque of some joints"] = f"no torque of {names} was recorded: their rows are left out"
        filled = np.where(self.unmeasured, 0.0, recorded)
        tau, missing = on_clock(self.clock, self.log.running, filled, self.use, delays.tolist(), self.recipe.interpolation)
        if missing.any():
            self._mask("no tau", missing)
        return self._without_dependent(tau)

    def _without_dependent(self, tau: Array) -> Array:
        """Rows of joints that follow from others are left out: their efforts are zero, and count as those of the others."""
        if self.log.linkage is not None:
            self.unmeasured[list(self.log.linkage.dependent)] = True
        return tau

    def _mask(self, reason: str, mask: Mask) -> None:
        self.masks[reason] = self.masks.get(reason, np.zeros(len(mask), bool)) | mask

    def _folded(self) -> Folded | None:
        if self.period is None:
            if isinstance(self.recipe.filter, Fourier):
                self._require_closed()
            return None
        folded = Folded.of(self.clock.count, self.period, self.clock.dt, self.recipe.skip)
        outside = np.ones(self.clock.count, bool)
        outside[folded.rows] = False
        if not self.recipe.average and (isinstance(self.recipe.filter, Fourier) or self.recipe.skip):
            self._mask("no whole period", outside)
        return folded

    def _require_closed(self) -> None:
        """A Fourier series of a record that does not end where it began rings at both ends."""
        step = np.abs(np.diff(self.q, axis=0)).max(axis=0)
        jump = np.abs(self.q[-1] - self.q[0])
        if np.any(jump > 3.0 * step):
            j = int(np.argmax(jump - 3.0 * step))
            raise InputError(
                f"{self.log.origin}: a Fourier filter needs whole periods, but joint {j + 1} ends {jump[j]:.3g} from where it "
                "began; state the period, or choose another filter",
                joint=j + 1,
            )

    def _average(self, folded: Folded) -> PeriodNoise:
        """Positions and torques become one mean period."""
        use = ~self.spoiled
        self.q, var_q, empty = folded.average(self.q, use)
        self.tau, var_tau, _ = folded.average(self.tau, use)
        self.masks = {"no sample": empty} if empty.any() else {}
        self.spoiled = empty
        skipped = f" after the first {self.recipe.skip}" if self.recipe.skip else ""
        self.done["periods"] = (
            f"{folded.periods} periods of {self.period:.6g} s{skipped} were averaged; between them single samples of position and "
            f"torque vary with standard deviations {_listed(np.sqrt(var_q))} and {_listed(np.sqrt(var_tau))}, joint by joint"
        )
        return PeriodNoise(folded.periods, var_q, var_tau)

    def _kinematics(self, folded: Folded | None) -> Kinematics:
        recipe, dt = self.recipe, self.clock.dt
        self.done["filter"] = recipe.filter.sentence(dt)
        kinematics = self._filtered(self.q, folded)
        if recipe.velocity == "differences":
            return kinematics
        dq = self._signal("dq", recipe.velocity_delays(self.log.n))
        if recipe.average and folded is not None:
            dq, _, _ = folded.average(dq, np.ones(len(dq), bool))
            self.masks.pop("no dq", None)
        rates = self._filtered(dq, folded)
        self.done["velocity"] = "velocity is the recorded one, filtered like the positions; acceleration is its derivative"
        return Kinematics(kinematics.q, rates.q, rates.dq)

    def _filtered(self, y: Array, folded: Folded | None) -> Kinematics:
        chosen, dt = self.recipe.filter, self.clock.dt
        if self.cuts:
            least = max(2 * chosen.reach(dt), SHORTEST)
            parts = [y[a:b] for a, b in pairwise([0, *self.cuts, len(y)])]
            stretches = [
                chosen.kinematics(part, dt)
                if len(part) > least
                else Unfiltered().kinematics(part, dt)
                if len(part) > 1
                else Kinematics(part, np.zeros_like(part), np.zeros_like(part))
                for part in parts
            ]
            return Kinematics(*(np.concatenate(x) for x in zip(*stretches, strict=True)))
        if folded is None:
            return chosen.kinematics(y, dt)
        if self.recipe.average:  # periodic on both sides: the filter sees the same period before and after
            if isinstance(chosen, Fourier):
                return chosen.kinematics(y, dt)
            around = -(-4 * chosen.reach(dt) // len(y))
            tiled = chosen.kinematics(np.tile(y, (2 * around + 1, 1)), dt)
            return Kinematics(*(x[around * len(y) : (around + 1) * len(y)] for x in tiled))
        if isinstance(chosen, Fourier):
            whole = chosen.kinematics(y[folded.rows], dt)
            return Kinematics(*(folded.extended(x, len(y)) for x in whole))
        return chosen.kinematics(y, dt)

    def _widen(self) -> None:
        """A wrong sample spoils what the filter makes of its neighbours; gaps short against the filter are bridged well enough."""
        missing = np.any(list(self.masks.values()), axis=0) if self.masks else np.zeros(len(self.q), bool)
        if not missing.any():
            self.done["masks"] = "no sample of the log is masked"
            return
        reach = self.recipe.filter.reach(self.clock.dt)
        short = missing & ~long_runs(missing, int(BRIDGE * reach))
        spoiled = missing & ~short
        near = widened(spoiled, reach) & ~missing
        self.masks = {reason: mask & spoiled for reason, mask in self.masks.items()}
        self.masks |= {BRIDGED: short, "near a masked sample": near}
        self.done["masks"] = (
            f"{int(missing.sum())} samples that are masked or missing in the log are masked, and {int(near.sum())} neighbours "
            f"within {reach} samples of gaps longer than {int(BRIDGE * reach)} samples, whose filtered values they spoil"
        )

    def _border(self, count: int) -> int:
        if self.recipe.average:
            self.done["border"] = "no border was cut, the averaged period has none"
            return 0
        border = self.recipe.border
        if border is None:
            border = min(self.recipe.filter.reach(self.clock.dt), int(MOST_BORDER * count))
        if 2 * border >= count:
            raise InputError(f"{self.log.origin}: a border of {border} samples at each end leaves nothing of {count}")
        if border:
            mask = np.zeros(count, bool)
            mask[:border] = mask[count - border :] = True
            self._mask(BORDER, mask)
        self.done["border"] = f"{border} samples ({1e3 * border * self.clock.dt:.4g} ms) are masked at each end"
        return border

    def _resting(self, kinematics: Kinematics) -> Mask:
        if self.recipe.standstill is None:
            self.done[STANDSTILL] = "standstill was not looked for"
            return np.zeros(kinematics.dq.shape, bool)
        threshold = resting_threshold(
            self.q, kinematics.dq, self.recipe.filter, self.clock.dt, self.recipe.standstill, self.position_noise()
        )
        resting = (kinematics.dq <= threshold) & (kinematics.dq >= -threshold)
        still = np.logical_and.reduce(list(resting.T))
        if still.any():
            self._mask(STANDSTILL, still)
        self.done[STANDSTILL] = (
            f"{int(still.sum())} samples ({100 * still.mean():.3g} %) at which every joint is slower than "
            f"{_listed(threshold)} are masked: the sign of their velocity is noise"
        )
        return resting

    def position_noise(self) -> Array:
        """Of the positions before the filter, which are looked at only once, however often they are prepared."""
        if self.recipe.average:
            return position_noise(self.q)
        as_recorded = self.clock.exact and len(self.q) == np.count_nonzero(self.use & ~self.stale) and not self.spoiled.any()
        if as_recorded:
            return self.log.position_noise
        clock = self.clock
        known, key = _NOISE.setdefault(self.log, {}), (clock.start, clock.dt, clock.count, self.recipe.interpolation)
        if key not in known:
            known[key] = position_noise(self.q)
        return known[key]

    def _decimator(self) -> Decimator:
        recipe, rate = self.recipe, self.clock.rate
        if recipe.ratio is not None:
            decimator = Decimator(recipe.ratio, recipe.keep)
        elif recipe.decimate is not None:
            decimator = Decimator.to(rate, recipe.decimate, recipe.keep)
        else:
            decimator = Decimator(1, recipe.keep)
        self.done["decimation"] = decimator.sentence(rate)
        return decimator


def long_runs(mask: Mask, most: int) -> Mask:
    """Those masked samples that lie in runs of more than `most`."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
    out = np.zeros(len(mask), bool)
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        out[start:stop] = stop - start > most
    return out


def resting_threshold(q: Array, dq: Array, chosen: Filter, dt: float, part: float, sd: Array) -> Array:
    """(n,) velocities below which a joint rests: a part of its rms velocity, or what noise of the position makes of velocity."""
    low, high = extremes(q)
    rounding = 1e3 * np.finfo(float).eps * np.maximum(high, -low) / dt
    noise = np.maximum(sd * noise_gains(chosen, dt)[1], rounding)
    return np.asarray(np.maximum(part * np.sqrt(np.einsum("kj,kj->j", dq, dq) / len(dq)), SLOW * noise))


def _listed(values: Array) -> str:
    return "(" + ", ".join(f"{v:.2g}" for v in values) + ")"
