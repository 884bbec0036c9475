"""One BLAS thread for small factorisations: with two they become many times slower."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from typing import Any

import scipy.linalg  # noqa: F401  (brings its own BLAS, which must be there when the controller looks)


@cache
def _controller() -> Any:
    """Looking for the libraries takes milliseconds, longer than many a factorisation here, so it is done once.

    None on a machine for computing on its card alone, which may lack the package; the number of threads is then the environment's.
    """
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()


_LIMITED: ContextVar[bool] = ContextVar("limited", default=False)
"""Whether this is computed inside of `one_thread` already: entering it takes longer than a small factorisation."""


def one_thread() -> AbstractContextManager[object]:
    """While it is entered, BLAS uses one thread."""
    controller = _controller()
    return nullcontext() if controller is None or _LIMITED.get() else _limited(controller)


@contextmanager
def _limited(controller: Any) -> Iterator[None]:
    _LIMITED.set(True)
    try:
        with controller.limit(limits=1):
            yield
    finally:
        _LIMITED.set(False)
