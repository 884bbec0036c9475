"""Model files by the names of the package robot_descriptions, which fetches them from their repositories and keeps them."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

from inertica.errors import InputError, MissingDependencyError
from inertica.escape import one_line

NAME = re.compile(r"[a-z][a-z0-9_]*_description")
"""What its modules are called: panda_description, panda_mj_description."""

PATHS = ("URDF_PATH", "MJCF_PATH")
"""Attributes of such a module that name a file."""


def description_file(name: str) -> Path:
    """The model file of a name.

    Raises:
        MissingDependencyError: the package is not installed.
        InputError: it has no such robot, no model file of it, or cannot fetch it.
    """
    try:
        importlib.import_module("robot_descriptions")
    except ImportError:
        raise MissingDependencyError("robot_descriptions", f"the model '{name}'", "descriptions") from None
    module = f"robot_descriptions.{name}"
    try:
        described = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise InputError(f"the package robot_descriptions has no '{name}'; its README lists all names") from None
    except _unreachable() as error:  # it clones the repository while it is imported
        raise InputError(f"robot_descriptions cannot fetch '{name}' ({one_line(str(error))})") from None
    path = next((Path(getattr(described, key)) for key in PATHS if hasattr(described, key)), None)
    if path is None:
        raise InputError(f"robot_descriptions has neither a URDF nor an MJCF of '{name}', only a xacro; expand that first")
    return path


def _unreachable() -> tuple[type[Exception], ...]:
    """What the package raises where it does not reach a repository; it clones by GitPython, which wants the program git."""
    try:
        error: type[Exception] = importlib.import_module("git.exc").GitError
    except ImportError:
        return (OSError, ImportError)
    return (OSError, ImportError, error)
