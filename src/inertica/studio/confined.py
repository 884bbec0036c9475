"""Paths that come from a page: only files of the project folder, and those that the command line named."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable
from pathlib import Path

from inertica.errors import InputError

LONGEST = 120
"""Characters of a file name that a page may give."""

_NAME = re.compile(rf"[A-Za-z0-9_.()+ -]{{1,{LONGEST}}}")

_PART, _PATH = 255, 4000
"""Bytes of a part of a path, and of all of it, that file systems take."""


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
        shown = name if len(name) <= 60 else f"{name[:60]}..."
        raise Refused(
            f"'{shown}' is no plain file name; use letters, digits, dots, dashes and underscores, {LONGEST} of them at most", 400
        )
    return name


def inside(folder: Path, name: str | Path) -> Path:
    """The file of a folder; links are followed first, so that none leads out.

    Raises:
        Refused: the path leads out of the folder.
    """
    root = folder.resolve()
    try:
        if max(map(len, map(os.fsencode, Path(name).parts)), default=0) > _PART or len(os.fsencode(name)) > _PATH:
            raise Refused("this name is too long for a file", 400)
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


_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.EFBIG, errno.ENAMETOOLONG)
"""What a disk may say to a program that does everything right."""


def disk_fault(error: OSError) -> str | None:
    """A sentence for a disk that is full, read-only or broken; None for faults that are the program's."""
    if error.errno not in _DISK:
        return None
    name = f" {Path(os.fsdecode(error.filename)).name[:60]}" if isinstance(error.filename, (str, bytes)) else ""
    return f"the disk does not take the file{name} ({error.strerror}); make room or allow writing, then try again"
