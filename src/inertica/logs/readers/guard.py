"""What parsers of other packages raise on broken files, turned into one sentence with the file's name."""

from __future__ import annotations

import importlib
import json
import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import BinaryIO

from inertica.errors import FileError, InerticaError, MissingDependencyError

_BROKEN: tuple[type[Exception], ...] = (
    *(OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, AssertionError),
    *(MemoryError, RuntimeError, SyntaxError, re.error, struct.error, zlib.error, lzma.LZMAError, zipfile.BadZipFile),
)
"""A parser of binary data that trusts its input fails on damaged input in any of these ways."""


@contextmanager
def reading(path: Path, what: str, *also: type[Exception]) -> Iterator[None]:
    """Around calls into a foreign parser: its errors become a `FileError` that names the file and what it should have been.

    Args:
        path: the file.
        what: the format, as users call it.
        also: error types of that parser's own.
    """
    try:
        yield
    except InerticaError:
        raise
    except (*_BROKEN, *also) as error:
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
    except (json.JSONDecodeError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise FileError(path, f"this is no JSON: {getattr(error, 'msg', 'nested too deeply')}", line) from None
    if not isinstance(data, dict):
        raise FileError(path, "should hold a JSON object")
    return data
