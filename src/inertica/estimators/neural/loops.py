"""Compiled loops of the neural estimators; they know no robot, only rows and factors."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from inertica.compiled import njit

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}

AHEAD = 2
"""Samples by which rows are fetched before they are needed: in random order the processor cannot guess them."""


@intrinsic
def _fetch(typing: Any, array: Any, place: Any) -> Any:
    """Have a number of a contiguous array brought into the cache while other things are computed."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        byte, whole = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, whole, whole, whole])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        address = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        builder.call(fetch, [address, whole(0), whole(3), whole(1)])
        return context.get_dummy_value()

    return types.void(array, place), generate


@njit(**_OPTIONS, fastmath={"reassoc", "contract"})  # sums in the order that vectors take; still the same every time
def one_pass(beta: Any, W: Any, y: Any, first: Any, columns: Any, order: Any, normalised: bool, rate: float) -> None:
    """beta <- beta + eta Y'(tau - Y beta), one sample after the other; in place.

    Args:
        beta: (b,).
        W: (N, K) rows of all joints side by side; zero where a joint's row does not count.
        y: (N, n) torque.
        first: (n + 1,) where the columns of each joint begin in W.
        columns: (K,) positions in beta.
        order: (N,) of the samples.
        normalised: eta = rate g'g / |Y g|^2 with g = Y'(tau - Y beta); else eta = rate.
        rate: see there.
    """
    n, b = y.shape[1], beta.shape[0]
    Y, g = np.zeros((n, b)), np.zeros(b)  # rows with all columns, which vectors go through without looking up places
    for number in range(order.shape[0]):
        k = order[number]
        if number + AHEAD < order.shape[0]:
            begin = order[number + AHEAD] * W.shape[1]
            for i in range(0, W.shape[1], 8):
                _fetch(W, begin + i)
        for j in range(n):
            for i in range(first[j], first[j + 1]):
                Y[j, columns[i]] = W[k, i]
        g[:] = 0.0
        for j in range(n):
            e = y[k, j]
            for i in range(b):
                e -= Y[j, i] * beta[i]
            for i in range(b):
                g[i] += Y[j, i] * e
        eta = rate
        if normalised:
            top, below = 0.0, 0.0
            for i in range(b):
                top += g[i] * g[i]
            for j in range(n):
                s = 0.0
                for i in range(b):
                    s += Y[j, i] * g[i]
                below += s * s
            if below == 0.0:
                continue
            eta = rate * top / below
        for i in range(b):
            beta[i] += eta * g[i]


@njit(**_OPTIONS)
def settled(g: Any, small: Any) -> bool:
    """Whether no column is correlated with the residual by more than its tolerance."""
    worst = 0.0
    for i in range(g.shape[0]):
        worst = max(worst, abs(g[i]) - small[i])
    return worst <= 0.0


@njit(**_OPTIONS)
def descend(beta: Any, G: Any, c: Any, small: Any, normalised: bool, rate: float, steps: int) -> int:
    """Steepest descent on |W beta - y|^2, in place; returns the steps taken, fewer than allowed when it has settled.

    Args:
        beta: (b,).
        G, c: (b, b) W'W and (b,) W'y.
        small: (b,) gradients that count as zero.
        normalised: the exact line search g'g / |W g|^2 times rate; else eta = rate.
        rate: see there.
        steps: most of them.
    """
    for step in range(steps):
        g = c - np.dot(G, beta)
        if settled(g, small):
            return step
        eta = rate
        if normalised:
            below = np.dot(g, np.dot(G, g))
            eta = rate * np.dot(g, g) / below if below > 0.0 else 0.0
        beta += eta * g
    return steps


@njit(**_OPTIONS)
def relax(u: Any, G: Any, c: Any, small: Any, alpha: float, theta: float, eta: float, steps: int, clipped: bool) -> int:
    """u <- u + eta (W'y - W'W s), s = alpha f(u / theta), in place; returns the steps taken, fewer when it has settled.

    f is tanh, or u / theta itself where that is clipped to +-1; the state is then held there, so that it comes back at once.
    """
    for step in range(steps):
        g = c - np.dot(G, alpha * u / theta if clipped else alpha * np.tanh(u / theta))
        if settled(g, small):
            return step
        u += eta * g
        if clipped:
            u[:] = np.minimum(np.maximum(u, -theta), theta)
    return steps
