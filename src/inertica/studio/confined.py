"""Paths that come from a page: only files of the project folder, and those that the command line named."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from inertica.errors import InputError

_NAME = re.compile(r"[A-Za-z0-9_.()+ -]{1,120}")


class Refused(InputError):  # noqa: N818 - a refusal is not an error of the studio
    """Something that a page may not have.

    Args:
        sentence: what, and why.
        status: of HTTP.
    """

    kind = "refused"

    def __init__(self, sentence: str, status: int = 403) -> None:
        self.status = status
        super().__init__(sentence)


def plain_name(name: str) -> str:
    """A file name without any folder; refused when it is more than that."""
    if not _NAME.fullmatch(name) or name.startswith(".") or name != name.strip():
        raise Refused(f"'{name[:60]}' is no plain file name; use letters, digits, dots, dashes and underscores", 400)
    return name


def inside(folder: Path, name: str | Path) -> Path:
    """The file of a folder; links are followed first, so that none leads out.

    Raises:
        Refused: the path leads out of the folder.
    """
    root = folder.resolve()
    try:
        path = (root / name).resolve()
    except (ValueError, OSError, RuntimeError):  # null bytes, rings of links
        raise Refused("this is no path", 400) from None
    if path != root and root not in path.parents:
        raise Refused("the path leads out of the project folder; copy the file into the project, or name it on the command line")
    return path


def allowed(folder: Path, links: Iterable[str], name: str) -> Path:
    """A file of the project, or one that the command line named, by the very name that it has there."""
    if name in set(links):
        return Path(name)
    return inside(folder, name)
