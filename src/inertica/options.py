"""Options of a job as fields of one frozen dataclass.

A field says its default, its help and its limits once; calls from Python, flags of the command line (`cli/flags.py`) and forms of the
studio (`studio/forms.py`) are made from it.  Messages name an option by its field, so that they are true wherever it was stated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, TypeVar

from inertica.errors import InputError, nearest

T = TypeVar("T")
KEY = "option"


@dataclass(frozen=True)
class Option:
    """What is said of a field.

    Args:
        help: what it is, for the command line and the documentation.
        unit: of its value, or how it is written (S, HZ, FILE).
        choices: words that it can be.
        read: makes its value of a word; by the type of the default when not given.
        flag: its name on the command line where that is not the field's.
        repeated: may be stated several times; the value is a tuple.
        group: title under which help lists it.
        label: in a form; fields without one are not in it.
        least, most: of a number in a form.
        scale: value of the form over that of the field, 100 for shares in percent.
    """

    help: str
    unit: str = ""
    choices: Collection[str] = ()
    read: Callable[[str], Any] | None = None
    flag: str = ""
    repeated: bool = False
    group: str = ""
    label: str = ""
    least: float = -math.inf
    most: float = math.inf
    scale: float = 1.0


@dataclass(frozen=True)
class Field:
    """One option of a dataclass: its name, its default and what is said of it."""

    name: str
    default: Any
    option: Option

    @property
    def flag(self) -> str:
        """On the command line."""
        return f"--{(self.option.flag or self.name).replace('_', '-')}"

    @property
    def read(self) -> Callable[[str], Any]:
        """Makes a value of a word."""
        if self.option.read is not None:
            return self.option.read
        return str if self.default is None else type(self.default)


def option(default: Any, help: str, **more: Any) -> Any:
    """A field that is an option; further arguments as for `Option`."""
    return field(default=default, metadata={KEY: Option(help, **more)})


def options_of(cls: type) -> tuple[Field, ...]:
    """The options of a dataclass, in order."""
    out = []
    for f in fields(cls):
        if KEY in f.metadata:
            assert f.default is not MISSING
            out.append(Field(f.name, f.default, f.metadata[KEY]))
    return tuple(out)


def merged(cls: type[T], options: T | None, stated: Mapping[str, Any]) -> T:
    """Options with single ones stated beside them; a name that there is not is refused with the nearest."""
    names = [f.name for f in options_of(cls)]
    for name in stated:
        if name not in names:
            raise InputError(f"there is no option '{name}'; {nearest(name, names)}")
    return replace(options if options is not None else cls(), **stated)  # type: ignore[type-var]


def listed(cls: type[T]) -> type[T]:
    """The class with its options in its docstring, from the fields."""
    lines = []
    for f in options_of(cls):
        words = f"{f.option.help}; one of {', '.join(f.option.choices)}" if f.option.choices else f.option.help
        lines.append(f"        {f.name}: {words}.")
    cls.__doc__ = "\n".join([(cls.__doc__ or "").rstrip(), "", "    Args:", *lines, "    "])
    return cls


def numbers(word: str) -> tuple[float, ...]:
    """Finite or infinite numbers, separated by commas."""
    try:
        values = tuple(float(part) for part in word.split(","))
    except ValueError:
        values = ()
    if not values or any(math.isnan(v) for v in values):
        raise InputError(f"'{word}' should be a number, or numbers separated by commas")
    return values


def per_joint(word: str) -> float | tuple[float, ...]:
    """One number, or one for each joint."""
    values = numbers(word)
    return values[0] if len(values) == 1 else values
