"""Tables of numbers as frames of pandas and polars, for objects that have such a table."""

from __future__ import annotations

import importlib
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from inertica.errors import InputError


class Tabular:
    """An object with columns of equal length."""

    @abstractmethod
    def table(self) -> Mapping[str, Any]:
        """Name -> values of every column."""

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame."""
        return optional("pandas", "a pandas frame").DataFrame(dict(self.table()))

    def to_polars(self) -> Any:
        """The table as a polars DataFrame."""
        return optional("polars", "a polars frame").DataFrame(dict(self.table()))


def optional(package: str, purpose: str, install: str | None = None) -> Any:
    """A package that inertica does not depend on, or a sentence that says how to get it."""
    try:
        return importlib.import_module(package)
    except ImportError:
        raise InputError(f"{purpose} needs the package {package}; install it with: pip install {install or package}") from None
