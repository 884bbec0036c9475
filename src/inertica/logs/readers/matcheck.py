"""Which variables of a MAT file (version 5 to 7) are sound enough to be handed to scipy.

scipy's compiled reader takes the data types in a file on trust and ends the whole process when one is wrong, as after a broken copy
(its documentation says it is not hardened).  So the tags are walked through first: types, sizes and shapes have to fit together.
The layout is that of MathWorks' "MAT-File Format", chapter 1.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

_MATRIX, _COMPRESSED = 14, 15
_SIZES = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8}
"""Bytes per number of the numeric data types."""
_TEXT = {1, 2, 3, 4, 5, 6, 16, 17, 18}
_CELL, _STRUCT, _CHAR, _NUMERIC, _OPAQUE = 1, 2, 4, range(6, 16), 17
_COMPLEX = 0x0800
_NESTED = 10


class UnsoundError(ValueError):
    """The tags of a MAT file contradict each other."""


@dataclass(frozen=True)
class Contents:
    """Names of variables that can be read, and of those that hold something else (objects, sparse matrices, functions).

    Args:
        readable: numbers, structs and cells of numbers.
        others: the rest.
        objects: variable -> its class, for objects such as tables.
    """

    readable: tuple[str, ...]
    others: tuple[str, ...]
    objects: Mapping[str, str] = field(default_factory=dict)


@dataclass
class _Cursor:
    """A place in the data, which ends at `end`."""

    data: memoryview
    order: str
    at: int
    end: int

    def element(self, padded: bool = True) -> tuple[int, int, int]:
        """Type, start and size of the next element; the cursor moves behind it."""
        if self.end - self.at < 8:
            raise UnsoundError(f"it breaks off at byte {self.at}")
        (word,) = struct.unpack_from(self.order + "I", self.data, self.at)
        if word >> 16:  # small element: type, size and data in eight bytes
            kind, size, start = word & 0xFFFF, word >> 16, self.at + 4
            if size > 4:
                raise UnsoundError(f"the size at byte {self.at} is wrong")
            self.at += 8
            return kind, start, size
        kind, size = struct.unpack_from(self.order + "II", self.data, self.at)
        start = self.at + 8
        stop = start + size + (-size % 8 if padded else 0)
        if start + size > self.end:
            raise UnsoundError(f"it breaks off: the element at byte {self.at} needs {size} bytes")
        self.at = min(stop, self.end)
        return kind, start, size

    def numbers(self, kinds: set[int]) -> tuple[int, ...]:
        """A short list of 32-bit integers."""
        kind, start, size = self.element()
        if kind not in kinds or size % 4:
            raise UnsoundError(f"the data type {kind} at byte {start} is wrong")
        return struct.unpack_from(f"{self.order}{size // 4}i", self.data, start)

    def text(self) -> str:
        kind, start, size = self.element()
        if kind not in (1, 16):
            raise UnsoundError(f"the data type {kind} at byte {start} is wrong")
        return bytes(self.data[start : start + size]).decode("latin-1")


def contents(raw: bytes) -> Contents:
    """Walk through a file; raises `UnsoundError` where it contradicts itself."""
    mark = raw[126:128]
    if mark not in (b"IM", b"MI"):
        raise UnsoundError("its header does not state the order of bytes")
    order = "<" if mark == b"IM" else ">"
    cursor = _Cursor(memoryview(raw), order, 128, len(raw))
    readable: list[str] = []
    others: list[str] = []
    objects: dict[str, str] = {}
    while cursor.at < cursor.end:
        # compressed variables follow each other without padding
        kind, start, size = cursor.element(padded=False)
        inner = _Cursor(cursor.data, order, start, start + size)
        if kind == _COMPRESSED:
            inner = _unpacked(raw[start : start + size], order)
        elif kind != _MATRIX:
            raise UnsoundError(f"the data type {kind} at byte {start - 8} is no variable")
        whole = replace(inner)
        name, fine = _matrix(inner, 0)
        if (kind_of_object := _object_class(whole)) is not None:
            objects[name] = kind_of_object
        if name in readable or name in others:
            raise UnsoundError(f"it holds the variable '{name}' twice")
        (readable if fine else others).append(name)
    return Contents(tuple(readable), tuple(others), objects)


def _object_class(cursor: _Cursor) -> str | None:
    """The class of a variable that is an object (`table`, `timetable`, ...); None for arrays, cells and structs."""
    flags = cursor.numbers({6}) if cursor.at < cursor.end else ()
    if not flags or flags[0] & 0xFF != _OPAQUE:
        return None
    cursor.text(), cursor.text()  # the variable's name, and the system of types: MCOS
    return cursor.text()


def _unpacked(packed: bytes, order: str) -> _Cursor:
    stream = zlib.decompressobj()
    data = stream.decompress(packed)
    if not stream.eof:
        raise UnsoundError("a compressed variable breaks off")
    cursor = _Cursor(memoryview(data), order, 0, len(data))
    kind, start, size = cursor.element()
    if kind != _MATRIX:
        raise UnsoundError(f"the data type {kind} is no variable")
    return _Cursor(memoryview(data), order, start, start + size)


def _matrix(cursor: _Cursor, depth: int) -> tuple[str, bool]:
    """Name of an array and whether all of it can be read."""
    if depth > _NESTED:
        raise UnsoundError("structs are nested too deeply")
    if cursor.at == cursor.end:  # an empty element inside a cell or a struct
        return "", depth > 0
    flags = cursor.numbers({6})
    if len(flags) != 2:
        raise UnsoundError(f"the flags before byte {cursor.at} are wrong")
    kind = flags[0] & 0xFF
    if kind not in (_CELL, _STRUCT, _CHAR, *_NUMERIC):
        # opaque objects have no shape; the others are of no use to a log
        return (cursor.text() if kind == _OPAQUE else _skip_shape(cursor)), False
    shape = cursor.numbers({5, 6})
    if not 2 <= len(shape) <= 32 or min(shape) < 0:
        raise UnsoundError(f"the shape before byte {cursor.at} is wrong")
    name = cursor.text()
    count = math.prod(shape)
    if kind in _NUMERIC:
        for _ in range(2 if flags[0] & _COMPLEX else 1):
            _check_numbers(cursor, count)
        return name, True
    if kind == _CHAR:
        data_kind, start, _ = cursor.element()
        if data_kind not in _TEXT:
            raise UnsoundError(f"the data type {data_kind} at byte {start} is wrong")
        return name, False
    return name, _parts(cursor, kind, count, depth)


def _skip_shape(cursor: _Cursor) -> str:
    cursor.numbers({5, 6})
    return cursor.text()


def _check_numbers(cursor: _Cursor, count: int) -> None:
    kind, start, size = cursor.element()
    if kind not in _SIZES or size != count * _SIZES[kind]:
        raise UnsoundError(f"the numbers at byte {start} do not fill the shape ({size} bytes of type {kind} for {count})")


def _parts(cursor: _Cursor, kind: int, count: int, depth: int) -> bool:
    """The arrays inside a cell or a struct."""
    fields = 1
    if kind == _STRUCT:
        (length,) = cursor.numbers({5}) or (0,)
        data_kind, start, size = cursor.element()
        if data_kind != 1 or length <= 0 or size % length:
            raise UnsoundError(f"the field names at byte {start} are wrong")
        fields = size // length
    if count * fields > cursor.end:
        raise UnsoundError(f"{count * fields} parts do not fit in the file")
    fine = True
    for _ in range(count * fields):
        part, start, size = cursor.element()
        if part != _MATRIX:
            raise UnsoundError(f"the data type {part} at byte {start} is wrong")
        # text inside a struct is harmless: it was checked and is passed over later
        inner = _Cursor(cursor.data, cursor.order, start, start + size)
        fine &= _matrix(inner, depth + 1)[1] or _is_text(cursor, start)
    return fine


def _is_text(cursor: _Cursor, start: int) -> bool:
    (flags,) = struct.unpack_from(cursor.order + "I", cursor.data, start + 8)
    return bool(flags & 0xFF == _CHAR)
