"""`njit`: Numba's, with a cache on disk that no damage can break.

Numba keeps compiled functions without a checksum: a file that was cut off ends a program with an error of pickle, a flipped bit in
machine code can do anything.  Here every file ends with a hash of what is before; what is damaged is compiled anew, with a note.
A disk that is full or read-only costs the next start some seconds, nothing else.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba as nb
from numba.core.caching import FunctionCache, IndexDataCacheFile

from inertica.interrupts import interrupts_at_the_end
from inertica.writing import note_damage

DIGEST = hashlib.sha256().digest_size


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator as `numba.njit`, with the cache of this module."""

    def decorate(function: Callable[..., Any]) -> Any:
        compiled = nb.njit(**options)(function)
        if hasattr(compiled, "enable_caching"):  # not with NUMBA_DISABLE_JIT
            with suppress(RuntimeError):  # no folder can be written: compiled anew at every start
                compiled._cache = _Cache(function)
        return compiled

    return decorate


class _DamageError(Exception):
    """A file is not what was written."""


class _Cache(FunctionCache):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        implementation = self._impl
        stamp = implementation.locator.get_source_stamp()
        self._cache_file = _CheckedFile(self._cache_path, f"{implementation.filename_base}-checked", stamp)

    def load_overload(self, *place: Any) -> Any:
        try:
            with interrupts_at_the_end():
                return super().load_overload(*place)
        except _DamageError:
            note_damage(self._cache_path)
            with suppress(OSError):
                self.flush()
        except OSError:
            pass
        return None

    def save_overload(self, *arguments: Any) -> None:
        with suppress(OSError, _DamageError), interrupts_at_the_end():
            super().save_overload(*arguments)


class _CheckedFile(IndexDataCacheFile):
    """Index and data of a function; what `_dump` gives stands at the end of both."""

    def _dump(self, content: Any) -> bytes:
        data: bytes = super()._dump(content)
        return data + hashlib.sha256(data).digest()

    def _load_index(self) -> dict[Any, str]:
        try:
            content = Path(self._index_path).read_bytes()
        except FileNotFoundError:
            return {}
        version = pickle.dumps(self._version, protocol=-1)
        if not content.startswith(version):  # of another version of Numba
            return {}
        index = _checked(content[len(version) :])
        try:
            # the user's own cache, kept as Numba keeps it; no file that others hand over
            stamp, files = pickle.loads(index)  # noqa: S301
        except (AttributeError, ImportError):  # argument types of an earlier version, since renamed
            return {}
        return dict(files) if stamp == self._source_stamp else {}

    def _load_data(self, name: str) -> Any:
        return pickle.loads(_checked(Path(self._data_path(name)).read_bytes()))  # noqa: S301, as above


def _checked(content: bytes) -> bytes:
    """The data before their hash."""
    data, digest = content[:-DIGEST], content[-DIGEST:]
    if hashlib.sha256(data).digest() != digest:
        raise _DamageError
    return data
