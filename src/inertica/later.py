"""Packages that are imported when something of them is first used: machines that compute on their card alone may lack them."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Deferred:
    """Stands for a package.

    Args:
        package: its name.
    """

    def __init__(self, package: str) -> None:
        self._package = package

    def __getattr__(self, name: str) -> Any:
        self.__dict__[name] = found = getattr(import_module(self._package), name)
        return found
