"""Folders and files that appear whole or not at all: an interrupted job leaves no half result."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from inertica.errors import FileError


@contextmanager
def whole_folder(target: str | Path, last: str, stale: Sequence[str] = ()) -> Iterator[Path]:
    """A temporary folder beside the target whose files take their places when the block ends without an error.

    Args:
        target: the folder to fill; made when it is not there.
        last: the file without which the folder is nothing; it goes first from the old content and comes last of the new.
        stale: patterns of files of an earlier job that must not stay beside the new ones.
    """
    folder = Path(target)
    if folder.exists() and not folder.is_dir():
        raise FileError(folder, "this is a file; give the name of a folder to write into")
    with _writing(folder, "folder"):
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            yield temporary
            _move(temporary, folder, last, stale)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def _writing(path: Path, what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FileError(path, f"the {what} cannot be written ({error.strerror})") from None


def _move(temporary: Path, folder: Path, last: str, stale: Sequence[str]) -> None:
    folder.mkdir(exist_ok=True)
    (folder / last).unlink(missing_ok=True)
    for pattern in stale:
        for old in folder.glob(pattern):
            old.unlink()
    for new in sorted(temporary.iterdir(), key=lambda path: path.name == last):
        os.replace(new, folder / new.name)


@contextmanager
def whole_file(target: str | Path) -> Iterator[Path]:
    """A temporary path beside the target, of the same suffix, that takes its place when the block ends without an error."""
    path = Path(target)
    if path.is_dir():
        raise FileError(path, "this is a folder; give the name of a file to write")
    if not path.parent.is_dir():
        raise FileError(path, f"the file cannot be written: there is no folder {path.parent}; create it first")
    with _writing(path, "file"):
        handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix="".join(path.suffixes[-2:]), dir=path.parent)
        os.close(handle)
        temporary = Path(name)
        try:
            yield temporary
            os.chmod(temporary, path.stat().st_mode if path.exists() else 0o644)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
