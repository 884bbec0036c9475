"""Imported samples as a trajectory, with a choice of interpolation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from inertica.errors import InputError, nearest
from inertica.excitation.trajectory import Array, Samples, inside, matrix

Curve = Callable[[Array], tuple[Array, Array, Array]]
"""Value and two derivatives at times."""

INTERPOLATIONS = ("makima", "akima", "pchip", "cubic", "quintic", "hermite", "linear", "nearest", "previous", "next")
_LEAST = {"quintic": 6, "cubic": 2}


@dataclass(frozen=True, eq=False)
class Sampled:
    """A motion given by samples.

    Velocities and accelerations that the samples contain are interpolated by the same rule; missing ones are derivatives of the
    interpolated position (zero for the rules without slope).

    Args:
        times: (N,) ascending seconds; counted from the first.
        q: (N, n) positions.
        dq, ddq: (N, n), or None where the samples have none.
        interpolation: makima, akima, pchip, cubic (twice differentiable spline), quintic (four times), hermite (through position,
            velocity and, when there, acceleration), linear, nearest, previous, next.
    """

    times: Array
    q: Array
    dq: Array | None = None
    ddq: Array | None = None
    interpolation: str = "makima"

    def __post_init__(self) -> None:
        if self.interpolation not in INTERPOLATIONS:
            raise InputError(f"unknown interpolation '{self.interpolation}'; {nearest(self.interpolation, INTERPOLATIONS)}")
        q = matrix(self.q, "q")
        object.__setattr__(self, "q", q)
        for name in ("dq", "ddq"):
            if getattr(self, name) is not None:
                values = matrix(getattr(self, name), name, q.shape[1])
                if len(values) != len(q):
                    raise InputError(f"{name} has {len(values)} samples, q has {len(q)}")
                object.__setattr__(self, name, values)
        object.__setattr__(self, "times", _times(self.times, len(q)))
        least = _LEAST.get(self.interpolation, 2)
        if len(q) < least:
            raise InputError(f"{self.interpolation} interpolation needs at least {least} samples, got {len(q)}")
        if self.interpolation == "hermite" and self.dq is None:
            raise InputError("hermite interpolation needs velocities; take makima, cubic or quintic for positions alone")

    @property
    def n(self) -> int:
        return int(self.q.shape[1])

    @property
    def period(self) -> float:
        return float(self.times[-1] - self.times[0])

    @property
    def periodic(self) -> bool:
        return False

    def __call__(self, t: ArrayLike) -> Samples:
        """q, dq, ddq at times t (N,) counted from the first sample, each (N, n)."""
        times, outside = inside(t, self.period, False)
        x = times + self.times[0]
        q, dq, ddq = self._position(x)
        if self._velocity is not None:
            dq, slope, _ = self._velocity(x)
            ddq = slope if self._acceleration is None else self._acceleration(x)[0]
        elif self._acceleration is not None:
            ddq = self._acceleration(x)[0]
        dq, ddq = np.where(outside[:, None], 0.0, dq), np.where(outside[:, None], 0.0, ddq)
        return Samples(q, dq, ddq)

    def describe(self) -> str:
        return f"{len(self.q)} samples, {self.interpolation} interpolation, {self.period:g} s, {self.n} joints"

    @cached_property
    def _position(self) -> Curve:
        if self.interpolation != "hermite":
            return curve(self.times, self.q, self.interpolation)
        from scipy.interpolate import BPoly, CubicHermiteSpline

        if self.ddq is None:
            return _with_derivatives(CubicHermiteSpline(self.times, self.q, self.dq))
        assert self.dq is not None
        return _with_derivatives(BPoly.from_derivatives(self.times, np.stack([self.q, self.dq, self.ddq], axis=1)))

    @cached_property
    def _velocity(self) -> Curve | None:
        by_itself = self.dq is not None and self.interpolation != "hermite"
        return curve(self.times, self.dq, self.interpolation) if by_itself and self.dq is not None else None

    @cached_property
    def _acceleration(self) -> Curve | None:
        by_itself = self.ddq is not None and self.interpolation != "hermite"
        return curve(self.times, self.ddq, self.interpolation) if by_itself and self.ddq is not None else None


def curve(x: Array, y: Array, interpolation: str) -> Curve:
    """Values (N, n) at times x as a function of time."""
    if interpolation in ("nearest", "previous", "next"):
        return lambda t: _stepped(x, y, interpolation, t)
    if interpolation == "linear" or len(x) == 2:
        return lambda t: _linear(x, y, t)
    from scipy.interpolate import Akima1DInterpolator, CubicSpline, PchipInterpolator, make_interp_spline

    made = {
        "makima": lambda: Akima1DInterpolator(x, y, method="makima"),
        "akima": lambda: Akima1DInterpolator(x, y, method="akima"),
        "pchip": lambda: PchipInterpolator(x, y),
        "cubic": lambda: CubicSpline(x, y),
        "quintic": lambda: make_interp_spline(x, y, k=5),
    }
    return _with_derivatives(made[interpolation]())


def _with_derivatives(f: Callable[[Array, int], Array]) -> Curve:
    return lambda t: (f(t, 0), f(t, 1), f(t, 2))


def _stepped(x: Array, y: Array, rule: str, t: Array) -> tuple[Array, Array, Array]:
    if rule == "previous":
        at = np.searchsorted(x, t, side="right") - 1
    elif rule == "next":
        at = np.searchsorted(x, t, side="left")
    else:
        at = np.searchsorted(0.5 * (x[1:] + x[:-1]), t, side="left")
    values = y[np.clip(at, 0, len(x) - 1)]
    return values, np.zeros_like(values), np.zeros_like(values)


def _linear(x: Array, y: Array, t: Array) -> tuple[Array, Array, Array]:
    at = np.clip(np.searchsorted(x, t, side="right") - 1, 0, len(x) - 2)
    slope = ((y[1:] - y[:-1]) / np.diff(x)[:, None])[at]
    return y[at] + slope * (t - x[at])[:, None], slope, np.zeros_like(slope)


def _times(times: ArrayLike, count: int) -> Array:
    out = np.array(times, float)
    if out.shape != (count,) or count < 2:
        raise InputError(f"expected {count} times, one per sample and at least two, got shape {out.shape}")
    bad = np.flatnonzero(~(np.diff(out) > 0.0))
    if bad.size or not np.isfinite(out).all():
        raise InputError(f"times should ascend; sample {int(bad[0]) + 2 if bad.size else 1} does not")
    out.setflags(write=False)
    return out
