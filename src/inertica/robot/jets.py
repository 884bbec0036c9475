"""`Jet`: a scalar with its first and second time derivative, so that what is written for positions also gives rates."""

from __future__ import annotations

from dataclasses import dataclass

from inertica.scalars import Scalar, cos, exp, log, power, sign, sin, sqrt, tanh


@dataclass(frozen=True, eq=False)
class Jet:
    """x, dx/dt and d2x/dt2, each a scalar of any type.  Both rates of an operation follow from the rules of differentiation."""

    value: Scalar
    rate: Scalar = 0.0
    second: Scalar = 0.0

    __array_ufunc__ = None  # arrays leave the operation to the jet

    def __add__(self, other: Scalar) -> Jet:
        y = jet(other)
        return Jet(self.value + y.value, self.rate + y.rate, self.second + y.second)

    __radd__ = __add__

    def __neg__(self) -> Jet:
        return Jet(0.0 - self.value, 0.0 - self.rate, 0.0 - self.second)

    def __sub__(self, other: Scalar) -> Jet:
        return self + -jet(other)

    def __rsub__(self, other: Scalar) -> Jet:
        return jet(other) + -self

    def __mul__(self, other: Scalar) -> Jet:
        y = jet(other)
        twice = 2.0 * (self.rate * y.rate)
        return Jet(
            self.value * y.value,
            self.rate * y.value + self.value * y.rate,
            self.second * y.value + twice + self.value * y.second,
        )

    __rmul__ = __mul__

    def __truediv__(self, other: Scalar) -> Jet:
        y = jet(other)
        inverse = 1.0 / y.value
        return self * y._through(inverse, 0.0 - inverse * inverse, 2.0 * (inverse * inverse * inverse))

    def __rtruediv__(self, other: Scalar) -> Jet:
        return jet(other) / self

    def _through(self, value: Scalar, slope: Scalar, curvature: Scalar) -> Jet:
        """A function of the value with its first and second derivative there."""
        return Jet(value, slope * self.rate, slope * self.second + curvature * (self.rate * self.rate))

    def sin(self) -> Jet:
        s = sin(self.value)
        return self._through(s, cos(self.value), 0.0 - s)

    def cos(self) -> Jet:
        c = cos(self.value)
        return self._through(c, 0.0 - sin(self.value), 0.0 - c)

    def exp(self) -> Jet:
        e = exp(self.value)
        return self._through(e, e, e)

    def log(self) -> Jet:
        inverse = 1.0 / self.value
        return self._through(log(self.value), inverse, 0.0 - inverse * inverse)

    def sqrt(self) -> Jet:
        root = sqrt(self.value)
        slope = 0.5 / root
        return self._through(root, slope, 0.0 - 0.5 * slope / self.value)

    def tanh(self) -> Jet:
        t = tanh(self.value)
        slope = 1.0 - t * t
        return self._through(t, slope, 0.0 - 2.0 * (t * slope))

    def absolute(self) -> Jet:
        return self * sign(self.value)

    def power(self, exponent: Scalar) -> Jet:
        """With a constant exponent."""
        e = exponent.value if isinstance(exponent, Jet) else exponent
        slope = e * power(self.value, e - 1.0)
        return self._through(power(self.value, e), slope, e * (e - 1.0) * power(self.value, e - 2.0))


def jet(x: Scalar) -> Jet:
    """The jet itself, or that of a constant."""
    return x if isinstance(x, Jet) else Jet(x)
