"""Elementary functions on scalars of any type.

`sin(x)` works on floats, NumPy arrays and traced symbols alike: an object that has a method of that name computes it itself,
everything else goes to NumPy.  Recursions, friction laws and control laws are written with these, so one source serves
evaluation, compiled kernels and derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

HUGE = 1e50
"""Beyond it and below its inverse products of a few values exceed the range of numbers, whatever the unit."""

Scalar: TypeAlias = Any
"""A float, an array of lanes, a traced symbol: whatever supports + - * / and the functions below."""


def sin(x: Scalar) -> Scalar:
    return _apply("sin", np.sin, x)


def cos(x: Scalar) -> Scalar:
    return _apply("cos", np.cos, x)


def exp(x: Scalar) -> Scalar:
    return _apply("exp", np.exp, x)


def log(x: Scalar) -> Scalar:
    return _apply("log", np.log, x)


def sqrt(x: Scalar) -> Scalar:
    return _apply("sqrt", np.sqrt, x)


def tanh(x: Scalar) -> Scalar:
    return _apply("tanh", np.tanh, x)


def absolute(x: Scalar) -> Scalar:
    return _apply("absolute", np.abs, x)


def sign(x: Scalar) -> Scalar:
    """-1, 0 or 1; sign(0) = 0."""
    return _apply("sign", np.sign, x)


def power(x: Scalar, exponent: Scalar) -> Scalar:
    """x ** exponent for x >= 0; 0 ** e is 0 for e > 0."""
    if hasattr(x, "power"):
        return x.power(exponent)
    if hasattr(exponent, "rpower"):
        return exponent.rpower(x)
    return np.power(x, exponent)


def minimum(x: Scalar, y: Scalar) -> Scalar:
    return _apply2("minimum", np.minimum, x, y)


def maximum(x: Scalar, y: Scalar) -> Scalar:
    return _apply2("maximum", np.maximum, x, y)


def clip(x: Scalar, lower: Scalar, upper: Scalar) -> Scalar:
    return minimum(maximum(x, lower), upper)


def solve_positive(M: Sequence[Sequence[Scalar]], b: Sequence[Scalar]) -> list[Scalar]:
    """x with M x = b by M = L'DL, eliminated from the tip, whose entries a composite-body pass has ready first."""
    n = len(b)
    A = [list(row) for row in M]
    L: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    inverse: list[Scalar] = [0.0] * n
    # one division per joint; the rows of the base, which a composite-body pass has ready last, are needed last
    for k in range(n - 1, -1, -1):
        inverse[k] = 1.0 / A[k][k]
        for i in range(k - 1, -1, -1):
            L[k][i] = A[k][i] * inverse[k]
            for j in range(i, -1, -1):
                A[i][j] = A[i][j] - A[k][j] * L[k][i]
    y = list(b)
    for i in range(n - 1, -1, -1):
        for k in range(n - 1, i, -1):
            y[i] = y[i] - L[k][i] * y[k]
    x: list[Scalar] = [0.0] * n
    for i in range(n):
        x[i] = y[i] * inverse[i]
        for j in range(i):
            x[i] = x[i] - L[i][j] * x[j]
    return x


FUNCTIONS = {f.__name__: f for f in (sin, cos, exp, log, sqrt, tanh, sign, minimum, maximum, power)} | {"abs": absolute}
"""The functions a formula string may use, by the names it uses."""


def _apply(name: str, fallback: Any, x: Scalar) -> Scalar:
    method = getattr(x, name, None)
    return fallback(x) if method is None else method()


def _apply2(name: str, fallback: Any, x: Scalar, y: Scalar) -> Scalar:
    for first, second in ((x, y), (y, x)):
        method = getattr(first, name, None)
        if method is not None:
            return method(second)
    return fallback(x, y)
