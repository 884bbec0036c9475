"""Formulas of users as regressor columns: `sin(q2)`, `0.1*ddq1 + 0.01*ddq2`.

A formula is parsed to a syntax tree and the tree is walked; nothing is ever handed to the interpreter.  What it may contain:
numbers, pi, + - * / **, the motion q1 dq1 ddq1 ..., and the functions of `inertica.scalars.FUNCTIONS`.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from inertica.errors import InputError, nearest
from inertica.robot.terms import Column, OneParameter, State
from inertica.robot.units import check_unit
from inertica.scalars import FUNCTIONS, Scalar, power

MAX_LENGTH = 1000
MAX_DEPTH = 40
MAX_EXPONENT = 10

_CHARACTERS = re.compile(r"[A-Za-z0-9_ .+\-*/(),\t]*")
_NAME = re.compile(r"(q|dq|ddq)([1-9][0-9]{0,3})")
_BINARY_FUNCTIONS = {"minimum", "maximum", "power"}
_PARAMETER_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Formula:
    """A function of the motion, given as text.

    Args:
        text: the formula.
        joints: number of joints; `q7` is refused on a robot with six.
    """

    text: str
    joints: int

    def __post_init__(self) -> None:
        degree = _Checker(self).degree(self._tree)
        if degree > 1:
            raise InputError(f"formula '{self.text}' is not linear in the accelerations; use each ddq at most once in a product")

    @cached_property
    def _tree(self) -> ast.expr:
        return _parsed(self.text)

    def __call__(self, x: State) -> Scalar:
        """The value for a motion of scalars of any type."""
        return _value(self._tree, x)


@dataclass(frozen=True)
class FormulaTerm(OneParameter):
    """tau_k = K * formula_k(q, dq, ddq): one parameter K, a formula for each joint it acts on.

    Args:
        name: of the parameter.
        formulas: pairs of 0-based joint and formula.
        unit: of the parameter, of the vocabulary in `inertica.robot.units`.
        lower: sign constraint.
        at: joint it is listed with, None when it belongs to several.
    """

    name: str
    formulas: tuple[tuple[int, Formula], ...]
    unit: str = "1"
    lower: float = float("-inf")
    at: int | None = None

    def __post_init__(self) -> None:
        if not _PARAMETER_NAME.fullmatch(self.name):
            raise InputError(f"'{self.name}' cannot name a parameter; use letters, digits and _ and start with a letter")
        if not self.formulas:
            raise InputError(f"term {self.name} has no formula")
        check_unit(self.unit)

    def columns(self, x: State) -> list[Column]:
        return [{joint: formula(x) for joint, formula in self.formulas}]


def constant(text: str) -> float:
    """The value of a formula without motion, such as `-pi/2`."""
    formula = Formula(text, 0)
    return float(formula(State((), (), ())))


def _parsed(text: str) -> ast.expr:
    if not text.strip():
        raise InputError("a formula is empty")
    if len(text) > MAX_LENGTH:
        raise InputError(f"formula '{text[:40]}...' is longer than {MAX_LENGTH} characters")
    good = _CHARACTERS.match(text)
    end = good.end() if good else 0
    if end < len(text):
        raise InputError(f"formula '{text[:200]}' contains '{text[end]}', which formulas do not have")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "1or 2" makes the parser warn before the walk refuses it
            return ast.parse(text.strip(), mode="eval").body
    except (RecursionError, MemoryError):
        raise InputError(f"formula '{text[:40]}...' is nested too deeply") from None
    except (SyntaxError, ValueError):
        raise InputError(f"formula '{text}' cannot be read; check its brackets and operators") from None


class _Checker:
    """Walks a tree once: refuses what is not allowed and finds the degree in the accelerations."""

    def __init__(self, formula: Formula) -> None:
        self.formula = formula

    def degree(self, node: ast.expr, depth: int = 0) -> int:
        if depth > MAX_DEPTH:
            raise InputError(f"formula '{self.formula.text[:40]}...' is nested too deeply")
        match node:
            case ast.Constant(value=value) if type(value) in (int, float):
                self._finite(node)
                return 0
            case ast.Name(id=name):
                return self._name(name)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
                return self.degree(operand, depth + 1)
            case ast.BinOp(left=left, op=op, right=right):
                total = self._binary(node, op, self.degree(left, depth + 1), self.degree(right, depth + 1))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                total = self._call(node, name, [self.degree(a, depth + 1) for a in args])
            case _:
                raise self._refused(node)
        if not any(isinstance(n, ast.Name) and n.id != "pi" and n.id not in FUNCTIONS for n in ast.walk(node)):
            self._finite(node)
        return total

    def _name(self, name: str) -> int:
        if name == "pi":
            return 0
        known = _NAME.fullmatch(name)
        if not known:
            hint = (
                "it is a function and needs brackets" if name in FUNCTIONS else "known are q1, dq1, ddq1, ..., pi and functions"
            )
            raise InputError(f"formula '{self.formula.text}' contains the unknown name '{name}'; {hint}")
        if int(known[2]) > self.formula.joints:
            raise InputError(f"formula '{self.formula.text}' contains '{name}' but the robot has {self.formula.joints} joints")
        return 1 if known[1] == "ddq" else 0

    def _binary(self, node: ast.BinOp, op: ast.operator, left: int, right: int) -> int:
        match op:
            case ast.Add() | ast.Sub():
                return max(left, right)
            case ast.Mult():
                return left + right
            case ast.Div():
                return left + 2 * right  # an acceleration below the line is never linear
            case ast.Pow():
                exponent = _exponent(node.right)
                if exponent is None:
                    raise InputError(
                        f"'{_shown(node)}' in a formula needs a number from -{MAX_EXPONENT} to {MAX_EXPONENT} as exponent"
                    )
                return left if exponent == 1 else 2 * left
        raise self._refused(node)

    def _call(self, node: ast.Call, name: str, degrees: list[int]) -> int:
        if name not in FUNCTIONS:
            raise InputError(f"formula '{self.formula.text}' contains the unknown function '{name}'; {nearest(name, FUNCTIONS)}")
        needed = 2 if name in _BINARY_FUNCTIONS else 1
        if len(degrees) != needed:
            raise InputError(
                f"'{_shown(node)}' in a formula: {name} takes {needed} argument{'s' * (needed > 1)}, not {len(degrees)}"
            )
        return 2 * max(degrees)

    def _finite(self, node: ast.expr) -> None:
        """A part without motion must have a finite value."""
        try:
            with np.errstate(all="ignore"):
                value = float(_value(node, State((), (), ())))
        except (ZeroDivisionError, OverflowError):
            value = math.nan
        if not math.isfinite(value):
            raise InputError(f"'{_shown(node)}' in formula '{self.formula.text}' has no finite value")

    def _refused(self, node: ast.AST) -> InputError:
        return InputError(f"formula '{self.formula.text}' contains '{_shown(node)}', which formulas do not have")


def _shown(node: ast.AST) -> str:
    return ast.unparse(node)[:60]


def _exponent(node: ast.expr) -> float | None:
    """A literal exponent within bounds, None otherwise."""
    factor = 1.0
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        factor = -factor if isinstance(node.op, ast.USub) else factor
        node = node.operand
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return factor * float(node.value) if abs(node.value) <= MAX_EXPONENT else None
    return None


def _value(node: ast.expr, x: State) -> Scalar:
    match node:
        case ast.Constant(value=value):
            return float(value)  # type: ignore[arg-type]
        case ast.Name(id=name):
            return _motion(name, x)
        case ast.UnaryOp(op=op, operand=operand):
            return 0.0 - _value(operand, x) if isinstance(op, ast.USub) else _value(operand, x)
        case ast.Call(func=ast.Name(id=name), args=args):
            return FUNCTIONS[name](*(_value(a, x) for a in args))
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(_value(left, x), _exponent(right) or 0.0)
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _value(left, x), _value(right, x)
            if isinstance(op, ast.Add | ast.Sub):
                return a + b if isinstance(op, ast.Add) else a - b
            return a * b if isinstance(op, ast.Mult) else a / b
    raise AssertionError(f"unchecked node {node!r}")  # the checker has refused everything else


def _motion(name: str, x: State) -> Scalar:
    known = _NAME.fullmatch(name)
    if known is None:
        return math.pi
    return {"q": x.q, "dq": x.dq, "ddq": x.ddq}[known[1]][int(known[2]) - 1]


def _power(base: Scalar, exponent: float) -> Scalar:
    """Whole powers as products, which every kind of scalar has; they also hold for negative bases."""
    if exponent != round(exponent):
        return power(base, exponent)
    product: Scalar = 1.0
    for _ in range(abs(int(exponent))):
        product = product * base
    return product if exponent >= 0 else 1.0 / product
