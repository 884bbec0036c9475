"""Methods by the names users type.  Adding a method: its file, and one line here."""

from __future__ import annotations

from collections.abc import Callable

from inertica.errors import InputError, nearest
from inertica.estimators.base import Estimator
from inertica.estimators.least_squares import Ols, Wls
from inertica.estimators.solve import Ridge

METHODS: dict[str, Callable[[], Estimator]] = {
    "ols": Ols,
    "wls": Wls,
    "ridge": lambda: Wls(solve=Ridge()),
}


def method(name: str) -> Estimator:
    """A method with its default options."""
    if name not in METHODS:
        raise InputError(f"unknown method '{name}'; {nearest(name, METHODS)}")
    return METHODS[name]()
