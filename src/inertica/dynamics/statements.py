"""Instructions of a plan as lines of a program: what languages with the operators of C have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Language:
    """How a language writes what C and its relatives write differently.

    Args:
        assign: a line that gives a new name to an expression.
        constant: a number.
        fma: a b + c.
        fnma: c - a b.
        absolute, sign, minimum, maximum: functions that have no common name.
    """

    assign: str
    constant: Callable[[float], str]
    fma: str = "{} * {} + {}"
    fnma: str = "{2} - {0} * {1}"
    absolute: str = "fabs({})"
    sign: str = "sign_of({})"
    minimum: str = "smaller({}, {})"
    maximum: str = "larger({}, {})"


class Statements:
    """Text of one function body, one line per operation; a `plan.Writer`.

    Args:
        language: in which it is written.
    """

    def __init__(self, language: Language) -> None:
        self.language = language
        self.lines: list[str] = []

    def put(self, expression: str) -> str:
        name = f"x{len(self.lines)}"
        self.lines.append(self.language.assign.format(name, expression))
        return name

    def constant(self, value: float) -> str:
        return self.language.constant(value)

    def add(self, a: str, b: str) -> str:
        return self.put(f"{a} + {b}")

    def sub(self, a: str, b: str) -> str:
        return self.put(f"{a} - {b}")

    def mul(self, a: str, b: str) -> str:
        return self.put(f"{a} * {b}")

    def div(self, a: str, b: str) -> str:
        return self.put(f"{a} / {b}")

    def neg(self, a: str) -> str:
        return self.put(f"-{a}")

    def fma(self, a: str, b: str, c: str) -> str:
        return self.put(self.language.fma.format(a, b, c))

    def fnma(self, a: str, b: str, c: str) -> str:
        return self.put(self.language.fnma.format(a, b, c))

    def absolute(self, a: str) -> str:
        return self.put(self.language.absolute.format(a))

    def sign(self, a: str) -> str:
        return self.put(self.language.sign.format(a))

    def minimum(self, a: str, b: str) -> str:
        return self.put(self.language.minimum.format(a, b))

    def maximum(self, a: str, b: str) -> str:
        return self.put(self.language.maximum.format(a, b))

    def sqrt(self, a: str) -> str:
        return self.put(f"sqrt({a})")

    def exp(self, a: str) -> str:
        return self.put(f"exp({a})")

    def log(self, a: str) -> str:
        return self.put(f"log({a})")

    def tanh(self, a: str) -> str:
        return self.put(f"tanh({a})")

    def sin(self, x: str) -> str:
        return self.put(f"sin({x})")

    def cos(self, x: str) -> str:
        return self.put(f"cos({x})")
