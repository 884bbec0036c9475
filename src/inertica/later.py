"""What is imported when it is first used: packages that some machines lack, and public names."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any


def stub_names(init: str) -> dict[str, str]:
    """Public name -> the module where it lives, from the imports of the `.pyi` beside an `__init__.py`, which type checkers read."""
    text = Path(init).with_suffix(".pyi").read_text(encoding="utf-8")
    imports = [node for node in ast.parse(text).body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def attribute(package: str, home: Mapping[str, str], name: str) -> Any:
    """A public name of a package, by the modules where its names live; for a package's `__getattr__`."""
    if name not in home:
        raise AttributeError(f"module '{package}' has no attribute '{name}'")
    return getattr(import_module(home[name]), name)


class Deferred:
    """Stands for a package.

    Args:
        package: its name.
    """

    def __init__(self, package: str) -> None:
        self._package = package

    def __getattr__(self, name: str) -> Any:
        self.__dict__[name] = value = getattr(import_module(self._package), name)
        return value
