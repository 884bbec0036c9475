"""What parsers of other packages raise on broken files, turned into one sentence with the file's name."""

from __future__ import annotations

import importlib
import json
import lzma
import re
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import BinaryIO

from inertica.errors import FileError, InerticaError, MissingDependencyError, refuse_devices

_BROKEN: tuple[type[Exception], ...] = (
    *(OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, AssertionError),
    *(MemoryError, RuntimeError, SyntaxError, re.error, struct.error, zlib.error, lzma.LZMAError, zipfile.BadZipFile),
    tokenize.TokenError,
)
"""A parser of binary data that trusts its input fails on damaged input in any of these ways."""


MOST_UNPACKED, FREELY, RATIO = 8.0, 0.25, 200.0
"""GiB that a file may unpack to, GiB up to which its packed size does not matter, and how many times that size it may take beyond.

Tables of recorded motion pack 2 to 20 times; 8 GiB are ten hours of seven joints at 1 kHz."""

_GIB = 2.0**30


class Unpacked:
    """How much of a packed file has been unpacked; more than a log can have is refused before it is.

    Args:
        path: the file.
        packed: its size in bytes.
        most: GiB that the user allows, whatever the ratio; None for the usual limits.
    """

    def __init__(self, path: Path, packed: int, most: float | None = None) -> None:
        self.path, self.packed, self.stated, self.used = path, packed, most is not None, 0
        self.most = int(_GIB * (min(MOST_UNPACKED, max(FREELY, RATIO * packed / _GIB)) if most is None else most))

    @property
    def left(self) -> int:
        """Bytes that may still be unpacked."""
        return self.most - self.used

    def take(self, count: int) -> None:
        """So many bytes more."""
        self.used += count
        if self.left < 0:
            why = "the stated limit" if self.stated else f"{self.most / max(self.packed, 1):.0f} times its size"
            raise FileError(
                self.path,
                f"unpacks to more than {self.most / _GIB:.3g} GiB ({why}): it is damaged or made to fill the memory; if it is a log "
                "all the same, raise the limit: --most-unpacked GIB on the command line, most_unpacked: GIB in the card",
            )


def check_archive(path: Path, most: float | None = None) -> None:
    """FileError for a zip archive of arrays that is none, or that unpacks to more than it may."""
    with opened(path) as file:
        if not zipfile.is_zipfile(file):
            raise FileError(path, "this is no NPZ file (a zip archive of arrays); it may be cut off or empty")
    with reading(path, "NPZ file"), zipfile.ZipFile(path) as packed:
        Unpacked(path, path.stat().st_size, most).take(sum(member.file_size for member in packed.infolist()))


@contextmanager
def reading(path: Path, what: str, *also: type[Exception], packages: tuple[str, ...] = ()) -> Iterator[None]:
    """Around calls into a foreign parser: its errors become a `FileError` that names the file and what it should have been.

    Args:
        path: the file.
        what: the format, as users call it.
        also: error types of that parser's own.
        packages: whose own error types count, too, where they have no common base.
    """
    try:
        yield
    except InerticaError:
        raise
    except Exception as error:
        if not isinstance(error, (*_BROKEN, *also)) and type(error).__module__.partition(".")[0] not in packages:
            raise
        raise FileError(path, f"this is no readable {what}: {_sentence(error)}") from None


def _sentence(error: Exception) -> str:
    text = " ".join(str(error).split())[:200]
    if isinstance(error, MemoryError):
        return "it announces more data than fit in memory, so it is damaged"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, KeyError):
        return f"it lacks {text}"
    return text or f"it is damaged ({type(error).__name__})"


def package(name: str, purpose: str, extra: str) -> ModuleType:
    """An optional package, or a sentence that says how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingDependencyError(name.partition(".")[0], purpose, extra) from None


def opened(path: Path) -> BinaryIO:
    """A file to read bytes from."""
    try:
        refuse_devices(path)
        return path.open("rb")
    except OSError as error:
        raise FileError(path, f"cannot be read: {error.strerror or error}") from None


def read_bytes(path: Path) -> bytes:
    """The bytes of a file."""
    with opened(path) as file:
        return file.read()


def read_json(path: Path) -> dict[str, object]:
    """A JSON file that holds an object."""
    try:
        data = json.loads(read_bytes(path).decode("utf-8"))
    except UnicodeDecodeError:
        raise FileError(path, "this is no text in UTF-8") from None
    except json.JSONDecodeError as error:
        raise FileError(path, f"this is no JSON: {error.msg}", error.lineno) from None
    except RecursionError:
        raise FileError(path, "this is no JSON that can be read: it is nested too deeply") from None
    except ValueError as error:  # integers of thousands of digits
        raise FileError(path, f"this is no JSON that can be read: {_sentence(error)}") from None
    if not isinstance(data, dict):
        raise FileError(path, "should hold a JSON object")
    return data
