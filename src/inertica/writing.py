"""Files and folders that appear whole or not at all: every writer of the package goes through here.

What is written grows beside its place under a hidden name, is flushed to disk and renamed; when that fails, the old content stays as
it was.  A process that is killed leaves its hidden file or folder behind, and the next process that writes there removes it.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import secrets
import shutil
import socket
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from inertica.errors import FileError, ModelWarning

STEM, SUFFIX = 30, 12
"""Characters of a name and of its suffixes that its temporary name repeats: the system allows 255 bytes in all."""


@contextmanager
def whole_file(target: str | Path) -> Iterator[Path]:
    """A temporary path beside the target, of the same suffix, that takes its place when the block ends without an error.

    A device or a pipe is no file that could be replaced: the block writes into it.
    """
    with _refusals(target, "file"):
        path = Path(os.path.realpath(target))  # a link stays a link, to the new content
        if path.is_dir():
            raise FileError(target, "this is a folder; give the name of a file to write")
        if not path.parent.is_dir():
            raise FileError(target, f"the file cannot be written: there is no folder {Path(target).parent}; create it first")
        if path.exists() and not path.is_file():
            yield path
            return
        remove_leftovers(path.parent)
        temporary = _created(path, lambda name: os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)))
        try:
            yield temporary
            _flush(temporary)
            if path.exists():
                os.chmod(temporary, path.stat().st_mode & 0o7777)
            os.replace(temporary, path)
            _flush(path.parent)
        finally:
            temporary.unlink(missing_ok=True)


def write_whole(target: str | Path, content: str | bytes) -> None:
    """A file with this content; text as UTF-8, its line ends as they are; compressed where the name ends in .gz."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    if Path(target).name.lower().endswith(".gz"):
        data = gzip.compress(data, 6, mtime=0)  # without the time: the same content gives the same bytes
    with whole_file(target) as temporary:
        temporary.write_bytes(data)


@contextmanager
def whole_folder(target: str | Path, last: str, stale: Sequence[str] = ()) -> Iterator[Path]:
    """A temporary folder beside the target whose files take their places when the block ends without an error.

    Args:
        target: the folder to fill; made when it is not there.
        last: the file without which the folder is nothing; it goes first from the old content and comes last of the new.
        stale: patterns of files of an earlier job that must not stay beside the new ones.
    """
    folder = Path(os.path.realpath(target))
    with _refusals(target, "folder"):
        if folder.exists() and not folder.is_dir():
            raise FileError(target, "this is a file; give the name of a folder to write into")
        folder.parent.mkdir(parents=True, exist_ok=True)
        place = folder / folder.name if _stands_alone(folder) else folder
        remove_leftovers(place.parent)
        temporary = _created(place, os.mkdir)
        try:
            yield temporary
            _move(temporary, folder, last, stale)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def make_folder(target: str | Path) -> None:
    """A folder with those above it, where they are not there yet."""
    with _refusals(target, "folder"):
        Path(target).mkdir(parents=True, exist_ok=True)


def refuse_other_suffix(path: Path | None, *suffixes: str) -> None:
    """FileError for the name of a file to write that ends in none of these: before anything is computed."""
    if path is not None and not path.name.lower().endswith(suffixes):
        raise FileError(path, f"the name of this file should end in {' or '.join(suffixes)}")


def note_damage(folder: str | Path) -> None:
    """Say that kept code is made anew."""
    warnings.warn(ModelWarning(f"compiled code kept in {folder} was damaged; it is compiled anew"), stacklevel=3)


def is_temporary(name: str) -> bool:
    """Whether this is the name of a file or folder that is being written, or was when its process was killed."""
    return _TEMPORARY.fullmatch(name) is not None


@cache
def remove_leftovers(folder: Path) -> None:
    """Remove what killed processes of this machine left in a folder; looked at once per process.

    Only names that this module gives are touched, and only when their process is gone: its number is in the name, with a mark of the
    machine (or container) that the number belongs to.
    """
    with suppress(OSError), os.scandir(folder) as entries:  # a folder that cannot be listed is left as it is
        names = [entry.name for entry in entries]
        for match in filter(None, map(_TEMPORARY.fullmatch, names)):
            if match["machine"] == _machine() and not _runs(int(match["process"])):
                left = folder / match[0]
                if left.is_dir() and not left.is_symlink():
                    shutil.rmtree(left, ignore_errors=True)
                else:
                    left.unlink(missing_ok=True)


_TEMPORARY = re.compile(r"\..*\.inertica-(?P<machine>[0-9a-f]{8})-(?P<process>\d+)-[0-9a-f]{8}.*", re.DOTALL)


def _created(path: Path, make: Callable[[Path], None]) -> Path:
    """A new hidden file or folder beside a path, with its suffixes: readers and writers choose the format by them."""
    suffixes = "".join(path.suffixes[-2:])[-SUFFIX:]
    while True:
        mark = f"inertica-{_machine()}-{os.getpid()}-{secrets.token_hex(4)}"
        name = path.with_name(f".{path.name.removesuffix(suffixes)[:STEM]}.{mark}{suffixes}")
        with suppress(FileExistsError):
            make(name)
            return name


@cache
def _machine() -> str:
    """A mark of what numbers of processes belong to: the host, and the container where there is one."""
    try:
        names = os.readlink("/proc/self/ns/pid")
    except OSError:
        names = ""
    return hashlib.sha256(f"{socket.gethostname()} {names}".encode()).hexdigest()[:8]


def _runs(process: int) -> bool:
    """Whether a process is there; True where that cannot be known."""
    if os.name != "posix":  # there a signal 0 is not a question
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _stands_alone(folder: Path) -> bool:
    """Whether nothing can be moved into a folder from beside it: a mounted disk, or a parent where nothing may be written."""
    if not folder.is_dir():
        return False
    return folder.stat().st_dev != folder.parent.stat().st_dev or not os.access(folder.parent, os.W_OK)


def _flush(path: Path) -> None:
    """Have the system write a file, or the names of a folder, to the disk: after a power cut the new name has the new content."""
    if os.name != "posix" and path.is_dir():
        return
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    except OSError:
        if not path.is_dir():  # some file systems cannot flush folders
            raise
    finally:
        os.close(file)


@contextmanager
def _refusals(path: str | Path, what: str) -> Iterator[None]:
    """What the system refuses, as a sentence."""
    try:
        yield
    except OSError as error:
        raise FileError(path, f"the {what} cannot be written ({error.strerror or error})") from error


def _move(temporary: Path, folder: Path, last: str, stale: Sequence[str]) -> None:
    new = sorted(temporary.iterdir(), key=lambda path: path.name == last)
    for path in new:
        _flush(path)
    folder.mkdir(exist_ok=True)
    (folder / last).unlink(missing_ok=True)
    for pattern in stale:
        for old in folder.glob(pattern):
            old.unlink()
    for path in new:
        os.replace(path, folder / path.name)
    _flush(folder)
