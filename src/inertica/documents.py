"""Typed values as JSON documents and back: the one serialiser.

A frozen dataclass becomes an object with a key per field; derived values may stand beside them (`DERIVED`) and are ignored when it
is read.  Reading goes by the types of the fields, so a new field is saved and read without further code, and documents of versions
that lacked it give its default.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from inertica.errors import InputError

T = TypeVar("T")

KIND = "kind"
"""Key that names the class of a value which may be of several."""

ONE_BASED = {"first": 1}
"""Metadata of a field with 0-based joint or link numbers, which documents count from 1."""

INLINE = {"inline": True}
"""Metadata of a field whose own keys stand among those of the value it belongs to."""


def infinite(key: str | None = None) -> dict[str, Any]:
    """Metadata of a field in which what JSON has no number for is infinite; not a number otherwise."""
    return {"null": math.inf} | ({} if key is None else {"key": key})


class Derived:
    """A value whose document says more than its fields: key -> property."""

    DERIVED: ClassVar[Mapping[str, str]] = {}


class OneOfKinds:
    """Base of values of which a field may hold any kind; the document names it."""


def plain(value: object) -> Any:
    """Mappings, lists, words and numbers as JSON knows them; numbers that are not finite become None."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, (str, bool, int)) or value is None:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):  # NumPy arrays and scalars
        return plain(value.tolist())
    if is_dataclass(value) and not isinstance(value, type):
        return _document(value)
    if isinstance(value, Iterable):
        return [plain(entry) for entry in value]
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _document(value: Any) -> dict[str, Any]:
    out: dict[str, Any] = {KIND: type(value).__name__} if isinstance(value, OneOfKinds) else {}
    for field in fields(value):
        entry = plain(_shifted(getattr(value, field.name), field.metadata.get("first", 0)))
        out |= entry if field.metadata.get("inline") else {_key(field): entry}
    derived = value.DERIVED if isinstance(value, Derived) else {}
    return out | {key: plain(getattr(value, name)) for key, name in derived.items()}


def typed(kind: Any, document: Any, null: float = math.nan) -> Any:
    """The value of a type that a document states.

    Args:
        kind: a type or annotation: dataclasses, unions, tuples, mappings, arrays, enumerations, literals, paths, numbers and words.
        document: what `plain` made of a value of it.
        null: what stands for a number that JSON has none for.

    Raises:
        InputError: the document is of another kind.
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if kind in (Any, object):
        return document
    if origin in (Union, UnionType):
        return _one_of(arguments, document, null)
    if origin is Literal:
        return _checked(document in arguments, document, kind)
    if kind is float:
        return null if document is None else float(_checked(isinstance(document, (int, float)), document, kind))
    if origin is tuple:
        entries = _checked(isinstance(document, Sequence), document, kind)
        each: tuple[Any, ...] = (arguments[0],) * len(entries) if arguments[1:] == (...,) else arguments
        return tuple(typed(k, entry, null) for k, entry in zip(each, entries, strict=True))
    if getattr(origin, "__module__", "") == "numpy":
        import numpy as np  # help texts and errors come without it

        return np.array(document, float)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        items = _checked(isinstance(document, Mapping), document, kind).items()
        return {key: typed(arguments[1], entry, null) for key, entry in items}
    if isinstance(origin, type) and issubclass(origin, (Sequence, AbstractSet)):
        return tuple(typed(arguments[0], entry, null) for entry in document)
    if kind is Path or (isinstance(kind, type) and issubclass(kind, Enum)):
        return kind(document)
    if is_dataclass(kind) or (isinstance(kind, type) and issubclass(kind, OneOfKinds)):
        return _value(kind, document)
    return _checked(isinstance(document, kind) and not (kind is int and isinstance(document, bool)), document, kind)


def _one_of(arguments: Sequence[Any], document: Any, null: float) -> Any:
    """The first type of a union that the document fits."""
    if document is None and NoneType in arguments:
        return None
    for kind in arguments:
        if kind is not NoneType:
            try:
                return typed(kind, document, null)
            except (InputError, TypeError, ValueError):
                continue
    raise InputError(f"{document!r} is none of {', '.join(str(kind) for kind in arguments)}")


def _value(kind: Any, document: Any) -> Any:
    """A dataclass by its fields; keys that are missing, or null where that is no value, leave the default."""
    _checked(isinstance(document, Mapping), document, kind)
    if issubclass(kind, OneOfKinds):
        kind = _named(kind, document.get(KIND))
    hints, values = _hints(kind), dict[str, Any]()
    for field in fields(kind):
        hint, entry = hints[field.name], document if field.metadata.get("inline") else document.get(_key(field), MISSING)
        optional = field.default is not MISSING or field.default_factory is not MISSING
        if optional and (entry is MISSING or (entry is None and not _takes_null(hint))):
            continue
        if entry is MISSING:
            raise InputError(f"'{_key(field)}' is missing")
        values[field.name] = _shifted(typed(hint, entry, field.metadata.get("null", math.nan)), -field.metadata.get("first", 0))
    return kind(**values)


def unknown_keys(kind: Any, document: Mapping[str, Any]) -> list[str]:
    """Keys of a document that no field of a dataclass has."""
    known = {_key(field) for field in fields(kind)}
    return [key for key in document if key not in known]


def _key(field: Field[Any]) -> str:
    return str(field.metadata.get("key", field.name))


def _takes_null(hint: Any) -> bool:
    return hint in (float, Any, object) or NoneType in get_args(hint)


def _shifted(value: Any, by: int) -> Any:
    """Joint numbers counted from another first."""
    if not by or value is None:
        return value
    return value + by if isinstance(value, int) else tuple(number + by for number in value)


def _named(kind: type, name: object) -> type:
    """The class of a name among those that derive from a base."""
    classes = {each.__name__: each for each in _descendants(kind)}
    if name not in classes:
        raise InputError(f"there is no {kind.__name__} called '{name}' in this version; known are {', '.join(sorted(classes))}")
    return classes[str(name)]


def _descendants(kind: type[Any]) -> Iterable[type[Any]]:
    for derived in kind.__subclasses__():
        yield derived
        yield from _descendants(derived)


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _checked(fits: bool, document: Any, kind: Any) -> Any:
    if not fits:
        raise InputError(f"{document!r} where {getattr(kind, '__name__', kind)} should stand")
    return document
