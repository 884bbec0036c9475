"""Files that describe robots: where those of the catalog lie, and whether a file is there."""

from __future__ import annotations

from pathlib import Path

from inertica.errors import FileError, InputError, nearest
from inertica.robot.formats.table import model_suffixes

CATALOG = Path(__file__).parent / "catalog"
CARD = "robot.yaml"
"""The robot card in a folder."""


def catalog() -> list[str]:
    """Names of the built-in robots.

    Examples:
        >>> "tx40" in ia.catalog()
        True
    """
    return sorted(file.stem for file in CATALOG.glob("*.yaml"))


def catalog_path(name: str) -> Path:
    """The file of a built-in robot."""
    return CATALOG / f"{name}.yaml"


def check_exists(word: str, path: Path) -> None:
    """Refuses a path where there is nothing."""
    try:
        exists = path.exists()
    except ValueError:  # a null byte in the name
        exists = False
    if exists:
        return
    if path.suffix.lower() in model_suffixes() or len(path.parts) > 1:
        raise FileError(path, "there is no such file")
    raise InputError(f"there is no robot or file '{word}'; {nearest(word, catalog())}")
