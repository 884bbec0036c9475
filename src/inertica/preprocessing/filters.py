"""Position filters: each turns recorded positions into position, velocity and acceleration.

The papers filter positions with a Butterworth low-pass run forward and backward and differentiate the result by central
differences (survey, section 9.3.1; DIDIM paper, sections II and VI.A).  The alternatives differentiate what they fit: a polynomial,
a spline, a Fourier series.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from inertica.arrays import Array
from inertica.documents import OneOfKinds
from inertica.errors import InputError, nearest
from inertica.preprocessing.fir import differentiators
from inertica.preprocessing.lowpass import butterworth, filtered

CUTOFF = 50.0
"""Cut-off of the papers in Hz, for robots sampled at 1 kHz."""

PART_OF_RATE = 0.2
"""A cut-off that nobody states is at most this part of the sampling rate; at 94 Hz that is 19 Hz."""

SETTLING = 2.5
"""Periods of the cut-off until a filter has forgotten an end: the papers' 50 samples at 1 kHz and 50 Hz."""


class Kinematics(NamedTuple):
    """Position, velocity, acceleration, each (N, n)."""

    q: Array
    dq: Array
    ddq: Array


def differentiated(y: Array, dt: float) -> Array:
    """Central differences (y[k+1] - y[k-1]) / (2 dt) along the first axis, one-sided at the two ends."""
    if len(y) < 2:
        raise InputError("a record of one sample has no derivative")
    out = np.empty(y.shape)  # as np.gradient, which passes over long records several times
    np.subtract(y[2:], y[:-2], out=out[1:-1])
    out[1:-1] /= 2.0 * dt
    out[0], out[-1] = (y[1] - y[0]) / dt, (y[-1] - y[-2]) / dt
    return out


def default_cutoff(rate: float) -> float:
    """50 Hz, less for records sampled too slowly for that."""
    return min(CUTOFF, PART_OF_RATE * rate)


class Filter(OneOfKinds, ABC):
    """A linear operation on uniformly sampled positions (N, n)."""

    @abstractmethod
    def kinematics(self, q: Array, dt: float) -> Kinematics:
        """Filtered position and its two derivatives."""

    def smoothed(self, y: Array, dt: float) -> Array:
        """Only the low-pass, for other signals that are to be treated alike."""
        return self.kinematics(y, dt).q

    @abstractmethod
    def reach(self, dt: float) -> int:
        """Samples on each side that one wrong sample spoils noticeably; ends are wrong that far, too."""

    @abstractmethod
    def sentence(self, dt: float) -> str:
        """What it does, for people."""

    def resolved(self, dt: float) -> Filter:
        """The same filter with the numbers that its defaults come out as."""
        return self


@dataclass(frozen=True)
class Unfiltered(Filter):
    """Central differences of the positions as they are."""

    def kinematics(self, q: Array, dt: float) -> Kinematics:
        dq = differentiated(q, dt)
        return Kinematics(np.array(q), dq, differentiated(dq, dt))

    def reach(self, dt: float) -> int:
        return 2

    def sentence(self, dt: float) -> str:
        return "positions were not filtered; velocity and acceleration are repeated central differences"


class _LowPassed(Filter):
    """A filter that is a low-pass, with derivatives by central differences of what it leaves."""

    def kinematics(self, q: Array, dt: float) -> Kinematics:
        y = self.smoothed(q, dt)
        dq = differentiated(y, dt)
        return Kinematics(y, dq, differentiated(dq, dt))

    @abstractmethod
    def smoothed(self, y: Array, dt: float) -> Array: ...


@dataclass(frozen=True)
class Butterworth(_LowPassed):
    """Low-pass run forward and backward, so without any delay; derivatives by central differences.

    Args:
        cutoff: in Hz, where one pass has lost 3 dB (so the two passes 6 dB); by default 50 Hz, at most a fifth of the rate.
        order: of one pass.
    """

    cutoff: float | None = None
    order: int = 4

    def smoothed(self, y: Array, dt: float) -> Array:
        design = butterworth(self.order, 2.0 * self._cutoff(dt) * dt)
        pad = 3 * self.order
        if len(y) <= pad:
            raise InputError(f"a filter of order {self.order} needs more than {pad} samples; this record has {len(y)}")
        # the ends are continued by point reflection far enough for the filter to settle before the record begins
        pad = min(len(y) - 1, max(pad, self.reach(dt)))
        return filtered(design, pad, y)

    def _cutoff(self, dt: float) -> float:
        return _below_nyquist(default_cutoff(1.0 / dt) if self.cutoff is None else self.cutoff, dt)

    def resolved(self, dt: float) -> Butterworth:
        return replace(self, cutoff=self._cutoff(dt))

    def reach(self, dt: float) -> int:
        return int(np.ceil(SETTLING / (self._cutoff(dt) * dt) - 1e-9))

    def sentence(self, dt: float) -> str:
        return (
            f"positions were low-passed by a Butterworth filter of order {self.order} at {self._cutoff(dt):.4g} Hz, forward and "
            "backward; velocity and acceleration are repeated central differences"
        )


@dataclass(frozen=True)
class Equiripple(_LowPassed):
    """Finite impulse response of equal ripple, run forward only as in the survey's toolbox: it delays the motion.

    Args:
        passes: edge of the pass band in Hz.
        stops: edge of the stop band in Hz.
        ripple: in the pass band, dB.
        attenuation: in the stop band, dB.
        compensated: shift the result back by the delay, (taps - 1)/2 samples; the toolbox does not.
    """

    passes: float = 50.0
    stops: float = 110.0
    ripple: float = 0.01
    attenuation: float = 60.0
    compensated: bool = False

    def smoothed(self, y: Array, dt: float) -> Array:
        from scipy import signal

        taps = self.taps(dt)
        ahead = (len(taps) - 1) // 2 if self.compensated else 0
        # the first value is taken to have been there for ever, the last one to stay
        extended = np.concatenate([np.repeat(y[:1], len(taps) - 1, axis=0), y, np.repeat(y[-1:], ahead, axis=0)])
        out = signal.oaconvolve(extended, taps[:, None], mode="valid", axes=0)
        return np.asarray(out[ahead:])

    def taps(self, dt: float) -> Array:
        """Coefficients: the shortest odd number of taps that keeps ripple and attenuation."""
        from scipy import signal

        rate = 1.0 / dt
        if not 0.0 < self.passes < self.stops < rate / 2.0:
            raise InputError(
                f"an equiripple filter from {self.passes:g} to {self.stops:g} Hz does not fit a record sampled at {rate:.4g} Hz; "
                "its edges should ascend and lie below half the rate"
            )
        width = (self.stops - self.passes) / rate
        pass_part = (10.0 ** (self.ripple / 20.0) - 1.0) / (10.0 ** (self.ripple / 20.0) + 1.0)
        stop_part = 10.0 ** (-self.attenuation / 20.0)
        # Kaiser's estimate of the length is a few taps off either way
        count = int(np.ceil((-20.0 * np.log10(np.sqrt(pass_part * stop_part)) - 13.0) / (14.6 * width))) // 2 * 2 - 3
        while True:
            taps = signal.remez(
                max(count, 3), [0.0, self.passes, self.stops, rate / 2.0], [1.0, 0.0],
                weight=[1.0, pass_part / stop_part], fs=rate, maxiter=200,
            )  # fmt: skip
            f, gain = signal.freqz(taps, worN=4096, fs=rate)
            stopped = np.abs(gain[f >= self.stops]).max() <= stop_part * 1.01
            if stopped and np.abs(np.abs(gain[f <= self.passes]) - 1.0).max() <= pass_part * 1.01:
                return np.asarray(taps)
            count += 2

    def reach(self, dt: float) -> int:
        return len(self.taps(dt)) + 1

    def sentence(self, dt: float) -> str:
        count = len(self.taps(dt))
        delay = 1e3 * dt * (count - 1) / 2.0
        late = "compensated" if self.compensated else "not compensated, the motion comes late by that"
        return (
            f"positions were low-passed by an equiripple filter of {count} taps ({self.passes:g} to {self.stops:g} Hz), forward "
            f"only, its delay of {delay:.3g} ms {late}; velocity and acceleration are repeated central differences"
        )


@dataclass(frozen=True)
class FirDifferentiator(Filter):
    """Low-pass and derivatives by three finite impulse responses centred on the sample, so without any delay.

    Unlike central differences behind a low-pass they lose nothing of velocity and acceleration inside the pass band, and one wrong
    sample spoils no more than half their length on each side.

    Args:
        passes: edge of the pass band in Hz; by default the cut-off that `Butterworth` would take.
        stops: edge of the stop band in Hz; by default 2.2 times that.
        attenuation: of position in the stop band and error in the pass band, dB.
    """

    passes: float | None = None
    stops: float | None = None
    attenuation: float = 60.0

    def kinematics(self, q: Array, dt: float) -> Kinematics:
        from scipy import signal

        taps = self.taps(dt)
        half = (len(taps[0]) - 1) // 2
        if len(q) <= half:
            raise InputError(f"a FIR differentiator of {2 * half + 1} samples needs more than {half}; this record has {len(q)}")
        # the ends are continued by point reflection, as for the Butterworth filter
        extended = np.concatenate([2.0 * q[0] - q[half:0:-1], q, 2.0 * q[-1] - q[-2 : -half - 2 : -1]])
        return Kinematics(*(np.asarray(signal.oaconvolve(extended, h[::-1, None], mode="valid", axes=0)) for h in taps))

    def taps(self, dt: float) -> tuple[Array, Array, Array]:
        """Coefficients of position, velocity and acceleration for offsets of the samples from -half to half."""
        from scipy import signal

        passes, stops = self._edges(dt)
        count, beta = signal.kaiserord(self.attenuation, 2.0 * (stops - passes) * dt)
        return differentiators(np.pi * (passes + stops) * dt, int(np.ceil(count / 2.0)), float(beta), dt)

    def _edges(self, dt: float) -> tuple[float, float]:
        passes = default_cutoff(1.0 / dt) if self.passes is None else self.passes
        stops = round(EDGES * passes, 9) if self.stops is None else self.stops
        if not 0.0 < passes < stops < 0.5 / dt:
            raise InputError(
                f"a FIR differentiator from {passes:g} to {stops:g} Hz does not fit a record sampled at {1.0 / dt:.4g} Hz; its edges "
                "should ascend and lie below half the rate"
            )
        return passes, stops

    def resolved(self, dt: float) -> FirDifferentiator:
        passes, stops = self._edges(dt)
        return replace(self, passes=passes, stops=stops)

    def reach(self, dt: float) -> int:
        return (len(self.taps(dt)[0]) - 1) // 2

    def sentence(self, dt: float) -> str:
        passes, stops = self._edges(dt)
        return (
            f"position, velocity and acceleration are those of FIR differentiators of {2 * self.reach(dt) + 1} taps that pass "
            f"{passes:.4g} Hz and stop {stops:.4g} Hz, without delay"
        )


@dataclass(frozen=True)
class Fourier(Filter):
    """Low-pass in the Fourier domain, exact for records that hold whole periods of a periodic motion; derivatives by i omega.

    Args:
        cutoff: in Hz; what lies above is removed altogether.  Default as for `Butterworth`.
    """

    cutoff: float | None = None

    def kinematics(self, q: Array, dt: float) -> Kinematics:
        N = len(q)
        omega = 2.0 * np.pi * np.fft.rfftfreq(N, dt)
        spectrum = np.fft.rfft(q, axis=0)
        spectrum[omega > 2.0 * np.pi * self._cutoff(dt) * (1.0 + 1e-9)] = 0.0
        factors = (np.ones(len(omega), complex), 1j * omega, -(omega**2))
        return Kinematics(*(np.fft.irfft(spectrum * f[:, None], N, axis=0) for f in factors))

    def _cutoff(self, dt: float) -> float:
        return _below_nyquist(default_cutoff(1.0 / dt) if self.cutoff is None else self.cutoff, dt)

    def resolved(self, dt: float) -> Fourier:
        return replace(self, cutoff=self._cutoff(dt))

    def reach(self, dt: float) -> int:
        return int(np.ceil(1.0 / (self._cutoff(dt) * dt) - 1e-9))

    def sentence(self, dt: float) -> str:
        return (
            f"whole periods of the positions were low-passed in the Fourier domain at {self._cutoff(dt):.4g} Hz; velocity and "
            "acceleration are derivatives of that Fourier series"
        )


@dataclass(frozen=True)
class SavitzkyGolay(Filter):
    """A polynomial fitted to each sample's neighbourhood, and its derivatives.

    Args:
        window: in s; by default one period of the cut-off that `Butterworth` would take.
        degree: of the polynomial.
    """

    window: float | None = None
    degree: int = 4

    def kinematics(self, q: Array, dt: float) -> Kinematics:
        count = self._count(dt)
        if count > len(q):
            raise InputError(f"a Savitzky-Golay window of {count} samples does not fit a record of {len(q)}; shorten it")
        from scipy import signal

        return Kinematics(*(np.asarray(signal.savgol_filter(q, count, self.degree, deriv=d, delta=dt, axis=0)) for d in range(3)))

    def _count(self, dt: float) -> int:
        seconds = 1.0 / default_cutoff(1.0 / dt) if self.window is None else self.window
        return max(2 * round(seconds / dt / 2.0) + 1, self.degree + 2 - self.degree % 2 + 1)

    def resolved(self, dt: float) -> SavitzkyGolay:
        return replace(self, window=(self._count(dt) - 1) * dt)

    def reach(self, dt: float) -> int:
        return (self._count(dt) - 1) // 2

    def sentence(self, dt: float) -> str:
        count = self._count(dt)
        return (
            f"position, velocity and acceleration are those of polynomials of degree {self.degree} fitted to {count} samples "
            f"({1e3 * (count - 1) * dt:.4g} ms) around each sample (Savitzky-Golay)"
        )


@dataclass(frozen=True)
class SmoothingSpline(Filter):
    """The cubic spline that minimises the sum of squared errors plus lambda times the integral of its squared second derivative.

    Args:
        cutoff: in Hz; lambda such that this frequency is halved, as 1 / (1 + (f/cutoff)^4).  None: lambda by generalised
            cross-validation, joint by joint, which takes white noise for granted.
    """

    cutoff: float | None = None

    def kinematics(self, q: Array, dt: float) -> Kinematics:
        from scipy import interpolate

        k = np.arange(len(q), dtype=float)  # unit spacing keeps the equations well scaled
        if len(q) < 5:
            raise InputError(f"a smoothing spline needs five samples or more; this record has {len(q)}")
        penalty = None if self.cutoff is None else (2.0 * np.pi * _below_nyquist(self.cutoff, dt) * dt) ** -4
        # SciPy solves for several columns at once only with a given penalty
        splines = [interpolate.make_smoothing_spline(k, y, lam=penalty) for y in q.T]
        return Kinematics(*(np.column_stack([s(k, d) for s in splines]) / dt**d for d in range(3)))

    def reach(self, dt: float) -> int:
        cutoff = default_cutoff(1.0 / dt) if self.cutoff is None else self.cutoff
        return int(np.ceil(SETTLING / (cutoff * dt) - 1e-9))

    def sentence(self, dt: float) -> str:
        how = "by cross-validation" if self.cutoff is None else f"to halve {self.cutoff:.4g} Hz"
        return f"position, velocity and acceleration are those of a cubic smoothing spline, its penalty chosen {how}"


def _forward(cutoff: float | None, rate: float) -> Filter:
    passes = default_cutoff(rate) if cutoff is None else cutoff
    return Equiripple(passes, round(EDGES * passes, 9))


EDGES = 2.2
"""Stop band over pass band of a forward-only filter: 50 to 110 Hz in the survey's toolbox."""

FILTERS: dict[str, Callable[[float | None, float], Filter]] = {
    "none": lambda cutoff, rate: Unfiltered(),
    "butterworth": lambda cutoff, rate: Butterworth(cutoff),
    "forward": _forward,
    "fourier": lambda cutoff, rate: Fourier(cutoff),
    "fir": lambda cutoff, rate: FirDifferentiator(cutoff),
    "savitzky-golay": lambda cutoff, rate: SavitzkyGolay(None if cutoff is None else 1.0 / cutoff),
}
"""By the names users type: made from a cut-off in Hz, or None, and the sampling rate."""


def named_filter(name: str, cutoff: float | None, rate: float) -> Filter:
    """A filter by its name; one that takes no cut-off refuses it.

    Args:
        name: none, butterworth (forward and backward), forward (equiripple, delays the motion), fourier (whole periods), fir
            (differentiators by the window method) or savitzky-golay (polynomials over one period of the cut-off).
        cutoff: in Hz; the papers' 50, less for slow records, when None.
        rate: of the record.
    """
    if name not in FILTERS:
        raise InputError(f"unknown filter '{name}'; {nearest(name, FILTERS)}")
    if name == "none" and cutoff is not None:
        raise InputError(f"no filter has no cut-off, but {cutoff:g} Hz is stated; leave one of them out")
    return FILTERS[name](cutoff, rate)


def noise_gains(chosen: Filter, dt: float) -> tuple[float, float, float]:
    """Standard deviations of filtered position, velocity and acceleration per unit standard deviation of white position noise."""
    half = 4 * chosen.reach(dt) + 8
    impulse = np.zeros((2 * half + 1, 1))
    impulse[half] = 1.0
    fixed = SmoothingSpline(default_cutoff(1.0 / dt)) if chosen == SmoothingSpline() else chosen
    return tuple(float(np.linalg.norm(x)) for x in fixed.kinematics(impulse, dt))  # type: ignore[return-value]


def _below_nyquist(cutoff: float, dt: float) -> float:
    if not 0.0 < cutoff < 0.5 / dt:
        raise InputError(f"a cut-off of {cutoff:g} Hz should lie between 0 and half the sampling rate, {0.5 / dt:.4g} Hz")
    return cutoff
