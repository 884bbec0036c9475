"""`Motion`: what estimators consume, on one uniform clock, with a record of how it came to be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from inertica.arrays import Array, Mask
from inertica.display import html_table, line, paragraph, titled
from inertica.errors import InputError
from inertica.frames import Tabular
from inertica.logs.log import Log
from inertica.logs.noise import position_noise
from inertica.preprocessing.decimate import Decimator
from inertica.preprocessing.periods import PeriodNoise, period_share
from inertica.preprocessing.recipe import Recipe
from inertica.preprocessing.resample import interpolant, uniform_spline

BORDER, STANDSTILL, BRIDGED, LEFT_OUT = "border", "standstill", "bridged", "left out"
PAUSED = "break of the clock"
UNSPOILED = (BORDER, STANDSTILL, BRIDGED, LEFT_OUT)
"""Reasons for a mask that leave the values themselves right, or right enough not to matter to their neighbours."""


_PERIODS: WeakKeyDictionary[Log, float | None] = WeakKeyDictionary()
"""Log -> the period of its motion, so that it is looked for once however often the log is prepared."""


@dataclass(frozen=True, eq=False)
class Motion(Tabular):
    """Positions, derivatives and torques of one experiment.  Masks act on fits, never on scores.

    Args:
        t: (N,) uniform clock in s, on which breaks of the log's clock are short (`Log.running`).
        q, dq, ddq: (N, n).
        tau: (N, n) joint torques as fits use them: on this clock, delays taken out, averaged or filtered if so asked.
        tau_raw: (N, n) the same without filter and average: for scores on this clock.
        joints: names.
        recipe: every choice with the number it came out as.
        done: the same in words: subject -> sentence.
        masks: reason -> (N,) True for samples that fits should not use.
        resting: (N, n) joints too slow for the sign of their velocity to mean anything.
        decimator: for torque and regressor columns, see `inertica.estimators.observe`.
        log: where it came from.
        variances: noise found by comparing periods, when periods were averaged.
    """

    t: Array
    q: Array
    dq: Array
    ddq: Array
    tau: Array
    tau_raw: Array
    joints: tuple[str, ...]
    recipe: Recipe
    done: Mapping[str, str]
    masks: Mapping[str, Mask]
    resting: Mask
    decimator: Decimator
    log: Log = field(repr=False)
    variances: PeriodNoise | None = None

    def __post_init__(self) -> None:
        shape = (len(self.t), len(self.joints))
        for name in ("q", "dq", "ddq", "tau", "tau_raw", "resting"):
            if getattr(self, name).shape != shape:
                raise InputError(f"the {name} of a motion has the shape {getattr(self, name).shape}, expected {shape}")
            getattr(self, name).setflags(write=False)
        for name in ("done", "masks"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        return f"Motion({self.log.origin}: {len(self)} samples at {self.rate:.4g} Hz, {self.used} for fits)"

    def _repr_html_(self) -> str:
        shown = ("q", "dq", "ddq", "tau")
        rows = [[name, *(line(getattr(self, key)[:, j]) for key in shown)] for j, name in enumerate(self.joints)]
        return titled(repr(self), html_table(("joint", *shown), rows), *(paragraph(f"{k}: {v}") for k, v in self.done.items()))

    def table(self) -> dict[str, Array | Mask]:
        """t, then q1, ..., dq1, ..., ddq1, ..., tau1, ..., and whether fits use the sample."""
        signals = {"q": self.q, "dq": self.dq, "ddq": self.ddq, "tau": self.tau}
        columns: dict[str, Array | Mask] = {f"{s}{j + 1}": x[:, j] for s, x in signals.items() for j in range(self.n)}
        return {"t": self.t} | columns | {"used": ~self.mask}

    @cached_property
    def period(self) -> float | None:
        """The period of the motion as a share of its duration, by the log, so that no choice of filter changes it; None without."""
        if self.log.q is None:
            return period_share(self.q)
        if self.log not in _PERIODS:
            _PERIODS[self.log] = period_share(self.log.q)
        return _PERIODS[self.log]

    @property
    def n(self) -> int:
        return len(self.joints)

    @property
    def stamps(self) -> Array:
        """(N,) the same on the clock of the log."""
        return self.log.breaks.recorded(self.t)

    @property
    def paused(self) -> Mask:
        """(N,) samples inside a break of the clock, where there is nothing to predict."""
        return self.masks.get(PAUSED, np.zeros(len(self), bool))

    @property
    def dt(self) -> float:
        return float(self.t[-1] - self.t[0]) / (len(self.t) - 1)

    @property
    def rate(self) -> float:
        return 1.0 / self.dt

    @cached_property
    def mask(self) -> Mask:
        """(N,) True for samples that fits should not use, for whatever reason."""
        return self._any(self.masks)

    @cached_property
    def spoiled(self) -> Mask:
        """(N,) True for samples whose values are wrong: filters that follow must not be trusted next to them."""
        return self._any([reason for reason in self.masks if reason not in UNSPOILED])

    @cached_property
    def torque_noise(self) -> Array:
        """(n,) standard deviation of white noise on the recorded torque, from fourth differences."""
        return position_noise(np.where(self.unmeasured, 0.0, self.tau_raw))

    @cached_property
    def tau_low(self) -> Array:
        """(N, n) the raw torque as decimation low-passes it, at the full rate."""
        bare = self.unmeasured
        if not bare.any():
            return self.decimator.filtered(self.tau_raw)
        return np.where(bare, np.nan, self.decimator.filtered(np.where(bare, 0.0, self.tau_raw)))

    @cached_property
    def unmeasured(self) -> Mask:
        """(n,) joints whose torque was not recorded: they have no rows in fits, and no score."""
        return np.asarray(np.isnan(self.tau_raw).all(axis=0))

    @property
    def decimated_mask(self) -> Mask:
        """(M,) samples that fits should not use, on the decimated clock."""
        return self.decimator.mask(self.mask, self.spoiled)

    @property
    def raw(self) -> Motion:
        """Every sample recorded, at the full rate with its raw torque, masked or not: what predictions are held against."""
        still = np.zeros(self.resting.shape, bool) | self.unmeasured
        recipe, decimator = replace(self.recipe, reversal=None), Decimator(1, self.decimator.keep)
        tau = np.where(self.unmeasured, 0.0, self.tau_raw) if self.unmeasured.any() else self.tau_raw
        masks = {PAUSED: self.paused} if self.paused.any() else {}
        return replace(self, tau=tau, masks=masks, resting=still, decimator=decimator, recipe=recipe)

    def _any(self, reasons: Mapping[str, Mask] | list[str]) -> Mask:
        out = np.zeros(len(self), bool)
        for reason in reasons:
            out |= self.masks[reason]
        return out

    @property
    def used(self) -> int:
        """Samples that fits use."""
        return int(np.count_nonzero(~self.mask))

    def weights(self, sigma: ArrayLike | None = None, resting: bool = False) -> Array:
        """(N, n) factors on the rows of a fit: 0 where masked, else 1 or 1 / sigma.

        Args:
            sigma: standard deviation of each joint's torque; `np.sqrt(variances.tau_of_mean)` after averaging over periods.
            resting: leave out, joint by joint, samples at which that joint rests.
        """
        scale = np.ones(self.n) if sigma is None else 1.0 / np.broadcast_to(np.asarray(sigma, float), (self.n,))
        out = np.where(self.mask[:, None], 0.0, scale)
        return np.where(self.resting, 0.0, out) if resting else out

    def at_samples(self, values: Array, use: Mask | None = None) -> Array:
        """Values (N, n) on this clock, such as predicted torques, at the M samples of the log: (M, n); several side by side, too.

        Delays are put back in, so that the result compares with the torque as recorded.  Beyond the ends of the clock the last value
        holds; samples without a time get NaN.

        Args:
            values: on this clock.
            use: (M,) samples of the log that are wanted; all by default.
        """
        t = self.log.running
        delays = np.tile(self.recipe.delays(self.n), values.shape[1] // self.n)
        if not delays.any() and len(t) == len(self) and np.abs(t - self.t).max() < 1e-6 * self.dt:
            return values if use is None else values[use]
        t = t if use is None else t[use]
        finite = np.isfinite(t)
        out = np.full((len(t), len(delays)), np.nan)
        averaged = self.recipe.average  # one period stands for all of them
        x, y = (np.append(self.t, self.t[-1] + self.dt), np.vstack([values, values[:1]])) if averaged else (self.t, values)
        span = x[-1] - x[0]
        for delay in np.unique(delays):
            alike = np.flatnonzero(delays == delay)
            at = t[finite] - delay
            at = x[0] + np.mod(at - x[0], span) if averaged else np.clip(at, x[0], x[-1])
            nearest = np.clip(np.rint((at - x[0]) / self.dt).astype(int), 0, len(x) - 1)
            between = np.abs(at - x[nearest]) >= 1e-6 * self.dt
            through = y if len(alike) == y.shape[1] else y[:, alike]
            columns = through[nearest]
            if between.any():
                columns[between] = self._curve(x, through, at[between])
            out[np.ix_(finite, alike)] = columns
        return out

    def _curve(self, x: Array, y: Array, at: Array) -> Array:
        """Columns of y on the uniform clock x, read off the recipe's curve at any time."""
        if self.recipe.interpolation == "cubic" and len(x) >= 4:
            return uniform_spline(y, (at - x[0]) / self.dt)
        return np.asarray(interpolant(x, y, self.recipe.interpolation)(at))

    def decimated(self) -> Motion:
        """The motion itself low-passed and thinned out, for methods that do not see regressor columns (Kalman filters, say).

        Least squares should decimate columns instead, as `inertica.estimators.observe` does.
        """
        if self.decimator.ratio == 1:
            return self
        d = self.decimator
        q, dq, ddq, tau = (d.decimate(x) for x in (self.q, self.dq, self.ddq, self.tau))
        raw = np.where(self.unmeasured, np.nan, d.decimate(np.where(self.unmeasured, 0.0, self.tau_raw)))
        rows = d.kept(len(self))
        spread = {reason: d.mask(mask, None if reason in UNSPOILED else mask) for reason, mask in self.masks.items()}
        words = f"{d.sentence(self.rate)}; applied to position, velocity, acceleration and torque"
        return replace(
            self,
            t=self.t[rows], q=q, dq=dq, ddq=ddq, tau=tau, tau_raw=raw,
            done={**self.done, "decimation": words},
            masks=spread,
            resting=self.resting[rows].copy(),
            decimator=Decimator(1, d.keep),
        )  # fmt: skip
