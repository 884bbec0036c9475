"""Options of methods by the names users type: `start=regular`, `stop=either`, `horizon=0.2`.

The fields of a method are its options.  Numbers, switches and words are read by the type of their field; what holds an object has a
line in `READERS` that says which field it sets and how a word becomes that object.
"""

from __future__ import annotations

import math
import types
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from inertica.errors import InputError, ModelWarning, nearest
from inertica.estimators.base import Estimator
from inertica.estimators.closed_loop.optimisers import OPTIMISERS
from inertica.estimators.closed_loop.start import FORMER_STARTS, STARTS
from inertica.estimators.consistent.strategy import Consistent, Solver
from inertica.estimators.iteration import StepTolerance, Stop
from inertica.estimators.registry import METHODS
from inertica.numbers import whole
from inertica.physical.priors import Entropic, Riemannian

SWITCH = {"yes": True, "on": True, "true": True, "no": False, "off": False, "false": False}
RULES = ("both", "either")
FORMER = {"limit": "iterations", "step": "tolerance"}
"""Names that options had before, still read."""


@dataclass(frozen=True)
class FieldReader:
    """How a word becomes the value of a field.

    Args:
        field: of the method.
        read: word, present value -> new value.
        words: what there is to choose from; empty for numbers.
        of: what the field must hold for the method to have the option.
    """

    field: str
    read: Callable[[str, Any], object]
    words: tuple[str, ...] = ()
    of: type = object


def _one_of(made: Mapping[str, Callable[[], object]], what: str, word: str, _: object) -> object:
    if what == "start" and word in FORMER_STARTS:
        now = FORMER_STARTS[word]
        warnings.warn(
            f"the start '{word}' is called '{now}' now, which is what it does; '{word}' is still read", ModelWarning, stacklevel=2
        )
        word = now
    if word not in made:
        raise InputError(f"unknown {what} '{word}'; {nearest(word, made)}")
    return made[word]()


def _rule(word: str, stop: Stop) -> Stop:
    if word not in RULES:
        raise InputError(f"the iteration stops when '{RULES[0]}' criteria are met or '{RULES[1]}' is, not '{word}'")
    return replace(stop, rule=word)  # type: ignore[arg-type]


def _iterations(word: str, stop: Stop | StepTolerance) -> Stop | StepTolerance:
    count = _whole("iterations", word)
    if not count:
        raise InputError("the option 'iterations' takes a number above zero, not '0'")
    return replace(stop, iterations=count)


def _tolerance(word: str, stop: Stop | StepTolerance) -> Stop | StepTolerance:
    value = _number("tolerance", word)
    if value <= 0.0:
        raise InputError(f"the option 'tolerance' takes a number above zero, not '{word}'")
    return replace(stop, residual=value, step=value) if isinstance(stop, Stop) else replace(stop, step=value)


def _solver(word: str, solve: Consistent) -> Consistent:
    if word not in get_args(Solver):
        raise InputError(f"unknown solver '{word}'; {nearest(word, get_args(Solver))}")
    return replace(solve, solver=word)  # type: ignore[arg-type]


def _strength(word: str, solve: Consistent) -> Consistent:
    if word == "auto":
        return replace(solve, strength="cross-validated")
    if word == "mild":
        if not isinstance(solve.prior, Entropic | Riemannian):
            raise InputError("the option 'prior-strength' can be mild for priors on the cone only: +entropic and +riemann")
        return replace(solve, strength="mild")
    value = _number("prior-strength", word)
    if value <= 0.0:
        raise InputError(f"the option 'prior-strength' takes a positive number, auto or mild, not '{word}'")
    return solve.with_strength(value)


READERS: dict[str, FieldReader] = {
    "start": FieldReader("start", partial(_one_of, STARTS, "start"), tuple(STARTS)),
    "optimiser": FieldReader("optimiser", partial(_one_of, OPTIMISERS, "optimiser"), tuple(OPTIMISERS)),
    "stop": FieldReader("stop", _rule, RULES, Stop),
    "iterations": FieldReader("stop", _iterations),
    "tolerance": FieldReader("stop", _tolerance),
    "solver": FieldReader("solve", _solver, get_args(Solver), Consistent),
    "prior-strength": FieldReader("solve", _strength, of=Consistent),
}
"""Options whose field holds an object; a new one is a line here."""


def with_options(method: Estimator, options: Mapping[str, str]) -> Estimator:
    """The method with these options; one that it does not have is refused, naming the methods that have it.

    Args:
        method: with its defaults.
        options: name -> word.
    """
    for name, word in options.items():
        reader = _reader(method, name)
        if reader is None:
            raise InputError(_missing(method, name))
        method = replace(method, **{reader.field: reader.read(word, getattr(method, reader.field))})  # type: ignore[type-var]
    return method


def option_names(method: Estimator) -> tuple[str, ...]:
    """Everything that can be stated for a method."""
    names = {f.name for f in fields(method)}  # type: ignore[arg-type]
    plain = [name.replace("_", "-") for name in sorted(names) if _plain(method, name) is not None]
    return (*(name for name in READERS if _reader(method, name) is not None), *plain)


def _reader(method: Estimator, name: str) -> FieldReader | None:
    name = FORMER.get(name, name)
    if name in READERS and _has(method, READERS[name].field):
        return READERS[name] if isinstance(getattr(method, READERS[name].field), READERS[name].of) else None
    return _plain(method, name.replace("-", "_"))


def _missing(method: Estimator, name: str) -> str:
    others = [other for other, make in METHODS.items() if _reader(make(), name) is not None]
    if others:
        return f"method '{method.name}' has no option '{name}'; {', '.join(others)} {'has' if len(others) == 1 else 'have'} it"
    return f"no method has an option '{name}'; {nearest(name, option_names(method))}"


def _has(method: Estimator, field: str) -> bool:
    if not is_dataclass(method) or field in getattr(method, "without", ()):
        return False
    return any(f.name == field and f.init for f in fields(method))


def _plain(method: Estimator, field: str) -> FieldReader | None:
    """The reader of a field of plain type; None for one that holds anything else, or is not there."""
    if not _has(method, field) or field in READERS:
        return None
    kind: Any = get_type_hints(type(method))[field]
    optional = get_origin(kind) in (Union, types.UnionType) and type(None) in get_args(kind)
    if optional:
        kind = Union[tuple(k for k in get_args(kind) if k is not type(None))]  # noqa: UP007
    words = tuple(str(w) for w in get_args(kind)) if get_origin(kind) is Literal else ()
    if not words and kind not in _TYPES:
        return None

    def read(word: str, _: object) -> object:
        if optional and word == "none":
            return None
        if words and word not in words:
            raise InputError(f"unknown {field.replace('_', '-')} '{word}'; {nearest(word, words)}")
        return word if words else _TYPES[kind](field.replace("_", "-"), word)

    return FieldReader(field, read, words)


def _number(name: str, word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"the option '{name}' takes a number, not '{word}'")
    return value


def _whole(name: str, word: str) -> int:
    if (number := whole(word)) is None:
        raise InputError(f"the option '{name}' takes a whole number, not '{word}'")
    return number


def _switch(name: str, word: str) -> bool:
    if word not in SWITCH:
        raise InputError(f"the option '{name}' is on or off: state yes or no, not '{word}'")
    return SWITCH[word]


def _word(name: str, word: str) -> str:
    return word


def _numbers(name: str, word: str) -> tuple[float, ...]:
    return tuple(_number(name, part) for part in word.replace(",", " ").split())


_TYPES: dict[Any, Callable[[str, str], object]] = {
    bool: _switch, int: _whole, float: _number, str: _word, tuple[float, ...]: _numbers,
}  # fmt: skip
