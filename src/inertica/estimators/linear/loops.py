"""Compiled loops of linear estimators."""

from __future__ import annotations

from typing import Any

from inertica.compiled import njit


@njit(nogil=True, error_model="numpy")
def forward(L: Any, rows: Any) -> None:
    """L^-1 rows of many lower triangular (m, n, n) and (m, n, k), by forward substitution; in place."""
    for s in range(L.shape[0]):
        for i in range(L.shape[1]):
            for j in range(i):
                factor = L[s, i, j]
                for c in range(rows.shape[2]):
                    rows[s, i, c] -= factor * rows[s, j, c]
            pivot = L[s, i, i]
            for c in range(rows.shape[2]):
                rows[s, i, c] /= pivot
