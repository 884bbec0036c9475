"""One BLAS thread for small factorisations: with two they become many times slower."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache

import scipy.linalg  # noqa: F401  (brings its own BLAS, which must be there when the controller looks)
from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    """Looking for the libraries takes milliseconds, longer than many a factorisation here, so it is done once."""
    return ThreadpoolController()


def one_thread() -> AbstractContextManager[object]:
    """While it is entered, BLAS uses one thread."""
    limited: AbstractContextManager[object] = _controller().limit(limits=1)
    return limited
