"""Compiled loops of covariances: sums over long records that NumPy would make by way of as many copies."""

from __future__ import annotations

from typing import Any

from inertica.compiled import njit

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


@njit(**_OPTIONS)
def add_scores(rows: Any, factor: Any, residual: Any, columns: Any, scaled: Any, scores: Any) -> None:
    """Rows of one joint times its factors, and what they make of its residuals.

    Args:
        rows: (k, m), time along the rows.
        factor, residual: (m,).
        columns: (k,) rows of `scores` that these belong to.
        scaled: (k, m) rows times factor; written.
        scores: (b, m) to which rows times factor times residual are added.
    """
    for c in range(rows.shape[0]):
        into = columns[c]
        for t in range(rows.shape[1]):
            value = rows[c, t] * factor[t]
            scaled[c, t] = value
            scores[into, t] += value * residual[t]


@njit(**_OPTIONS)
def add_lagged(series: Any, kernel: Any, out: Any) -> None:
    """out[:, t] += sum over lags l = 1, 2, ... of kernel[l - 1] series[:, t - l]; (b, m) both."""
    for c in range(series.shape[0]):
        for lag in range(1, kernel.shape[0] + 1):
            weight = kernel[lag - 1]
            for t in range(lag, series.shape[1]):
                out[c, t] += weight * series[c, t - lag]
