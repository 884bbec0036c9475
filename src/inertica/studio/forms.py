"""Forms of the page from options of a dataclass, and options from what a form sends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from inertica.options import Field, options_of
from inertica.studio.arguments import Arguments
from inertica.studio.room import Document

T = TypeVar("T")


def form(cls: type, last: Mapping[str, Any] | None = None) -> list[Document]:
    """The fields of a form, with the values used last.

    Args:
        cls: of the options; those with a label are in the form.
        last: option -> value.
    """
    return [_field(f, (last or {}).get(f.name)) for f in options_of(cls) if f.option.label]


def options_from(cls: type[T], arguments: Arguments) -> T:
    """The options that a form states; what is out of its limits is refused."""
    return cls(**{f.name: _value(f, arguments) for f in options_of(cls) if f.option.label and f.name in arguments})


def changed(options: Any) -> dict[str, Any]:
    """The options of a form that are not at their defaults."""
    return {
        f.name: getattr(options, f.name)
        for f in options_of(type(options))
        if f.option.label and getattr(options, f.name) not in (None, f.default)
    }


def flags(options: Any) -> list[str]:
    """Options that are not at their defaults, as words of the command line."""
    known = {f.name: f.flag for f in options_of(type(options))}
    return [
        word
        for name, value in changed(options).items()
        for word in (known[name], f"{value:g}" if isinstance(value, (int, float)) else str(value))
    ]


def _field(f: Field, last: Any) -> Document:
    value = f.default if last is None else last
    kind = "choice" if f.option.choices else "tick" if isinstance(f.default, bool) else "number"
    shown = value * f.option.scale if kind == "number" and value is not None else value
    return {
        "name": f.name, "label": f.option.label, "help": f.option.help, "kind": kind, "value": shown, "scale": f.option.scale,
        "choices": list(f.option.choices), "whole": isinstance(f.default, int) and kind == "number",
    }  # fmt: skip


def _value(f: Field, arguments: Arguments) -> Any:
    if f.option.choices:
        return arguments.word(f.name, f.option.choices)
    if isinstance(f.default, bool):
        return arguments.flag(f.name, f.default)
    value = arguments.number(f.name, None, f.option.least, f.option.most)
    return round(value) if isinstance(f.default, int) else value
