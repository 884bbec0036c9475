"""The solver of cone programs, imported when the first one is solved: machines that only simulate need not have it."""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import Any


class _Solver:
    @cached_property
    def _module(self) -> Any:
        return import_module("clarabel")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._module, name)


clarabel = _Solver()
"""As `import clarabel`."""
