"""One point of a box: the regularised fit of the Frisch paper (24), its squared form, and sign priors from the layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from inertica.arrays import Array
from inertica.dynamics.tsqr import Stacked
from inertica.identifiability.base import BaseModel
from inertica.threads import one_thread

Select = Literal["norm", "squared"]

SETTLED = 1e-10
"""Relative change of the balance between misfit and size at which (24) counts as solved."""

MOST = 100
"""Solves at most; a handful is enough because the misfit hardly depends on the balance."""


def sign_bounds(base: BaseModel) -> Array:
    """(b,) lower bounds of the base parameters that follow from the layout's, minus infinity where none does.

    beta = T chi is bounded from below when every parameter with a part in it is, and enters with a positive coefficient.
    """
    lower = np.array([p.lower for p in base.layout.parameters])
    out = np.empty(base.rank)
    for i, row in enumerate(base.T):
        part = row != 0.0
        out[i] = float(row[part] @ lower[part]) if np.all(row[part] > 0.0) else -np.inf
    return out


def selected(stacked: Stacked, select: Select, solve: Callable[[Stacked], Array]) -> tuple[Array, int]:
    """The point, and how many solves it took.

        norm       min |W beta - y| + |beta|        (24); with c = |W beta - y| / |beta| it minimises |W beta - y|^2 + c |beta|^2,
                                                    and c is found by repetition
        squared    min |W beta - y|^2 + |beta|^2

    Args:
        stacked: the rows.
        select: which.
        solve: minimises |R beta - z| over what is allowed.
    """
    if select == "squared":
        return solve(_pulled(stacked, 1.0)), 1
    beta = solve(stacked)
    balance = _balance(stacked, beta)
    for k in range(1, MOST):
        beta = solve(_pulled(stacked, balance))
        before, balance = balance, _balance(stacked, beta)
        if abs(balance - before) <= SETTLED * before:
            return beta, k + 1
    return beta, MOST


def within(lower: Array, upper: Array) -> Callable[[Stacked], Array]:
    """Least squares over a box, exactly (active sets)."""

    def solve(stacked: Stacked) -> Array:
        scale = np.linalg.norm(stacked.R, axis=0)
        wide = np.where(upper > lower, upper, np.nextafter(lower, np.inf))  # the solver takes no bounds that are equal
        with one_thread():
            free = np.linalg.lstsq(stacked.R / scale, stacked.z, rcond=None)[0] / scale
            if np.all((free >= lower) & (free <= upper)):
                return np.asarray(free)
            from scipy.optimize import lsq_linear  # takes long to import

            result = lsq_linear(stacked.R / scale, stacked.z, (lower * scale, wide * scale), method="bvls", tol=1e-15)
        return np.clip(result.x / scale, lower, upper)

    return solve


def _balance(stacked: Stacked, beta: Array) -> float:
    misfit = float(np.hypot(np.linalg.norm(stacked.R @ beta - stacked.z), stacked.rest))
    size = float(np.linalg.norm(beta))
    return misfit / size if size > 0.0 else np.inf


def _pulled(stacked: Stacked, balance: float) -> Stacked:
    """With the rows sqrt(balance) beta = 0 added."""
    b = len(stacked.z)
    if not np.isfinite(balance):
        return Stacked(np.eye(b), np.zeros(b), stacked.rest)
    rows = np.zeros((2 * b, b + 1))
    rows[:b, :b], rows[:b, b] = stacked.R, stacked.z
    rows[b:, :b] = np.sqrt(balance) * np.eye(b)
    with one_thread():
        R = np.asarray(np.linalg.qr(rows, mode="r"))
    return Stacked(R[:b, :b], R[:b, b], float(np.hypot(stacked.rest, R[b, b])))
