"""Flags of the command line from options of a dataclass, and back."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from inertica.errors import InputError
from inertica.options import Field, options_of

T = TypeVar("T")


def add_flags(parser: argparse.ArgumentParser, cls: type, about: Mapping[str, str] | None = None) -> None:
    """One flag for each option; options of a group stand under its title, with what is said about it."""
    groups: dict[str, argparse._ArgumentGroup] = {}
    for f in options_of(cls):
        title = f.option.group
        if title and title not in groups:
            groups[title] = parser.add_argument_group(title, (about or {}).get(title))
        place = groups.get(title, parser)
        if f.default is False:
            place.add_argument(f.flag, dest=f.name, action="store_true", help=f.option.help)
            continue
        place.add_argument(
            f.flag, dest=f.name, type=_reader(f.read), metavar=f.option.unit or None, help=_help(f),
            action="append" if f.option.repeated else "store",
        )  # fmt: skip


def stated(cls: type[T], arguments: argparse.Namespace) -> T:
    """The options that flags state."""
    values: dict[str, Any] = {}
    for f in options_of(cls):
        value = getattr(arguments, f.name)
        if value is not None:
            values[f.name] = tuple(value) if f.option.repeated else value
    return cls(**values)


def _reader(read: Callable[[str], Any]) -> Callable[[str], Any]:
    def value(word: str) -> Any:
        try:
            return read(word)
        except InputError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    value.__name__ = "number" if read is float else "whole number" if read is int else getattr(read, "__name__", "value")
    return value


def _help(f: Field) -> str:
    """The help with choices and, where it says nothing of it, the default."""
    words = f"{f.option.help}: {', '.join(f.option.choices)}" if f.option.choices else f.option.help
    if f.default is not None and f.default != () and "default" not in words:
        words += f" (default {f.default:g})" if isinstance(f.default, float) else f" (default {f.default})"
    return words.replace("%", "%%")
