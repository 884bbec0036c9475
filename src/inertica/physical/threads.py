"""One BLAS thread for small matrices, at no cost per use: `threadpool_limits` looks through all loaded libraries every time, which
takes longer than a whole constrained fit."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import lru_cache

import scipy.linalg  # noqa: F401  (its BLAS must be loaded before libraries are looked for)
from threadpoolctl import ThreadpoolController


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def single_thread() -> AbstractContextManager[object]:
    """Context in which NumPy and SciPy work on one thread."""
    limited: AbstractContextManager[object] = _controller().limit(limits=1)
    return limited
