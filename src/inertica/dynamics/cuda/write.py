"""Kernels as CUDA text: device functions that read and write the fields of a run or a sample."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources

from inertica.dynamics.kernels import Kernel, Normals, Reference
from inertica.dynamics.plan import evaluate
from inertica.dynamics.statements import Language, Statements
from inertica.dynamics.trace import Key

DOUBLE, FLOAT = "double", "float"


class DeviceStatements(Statements):
    """Text of one device function's body; divisions by the same number share its reciprocal, and sine its cosine.

    Args:
        real: type of its numbers.
    """

    def __init__(self, real: str = DOUBLE) -> None:
        fused = Language(
            f"const {real} {{}} = {{}};", lambda value: f"({real})({value.hex()})", "fma({}, {}, {})", "fma(-{}, {}, {})"
        )
        super().__init__(fused)
        self.real = real
        self._sincos: dict[str, tuple[str, str]] = {}
        self._reciprocal: dict[str, str] = {}

    def div(self, a: str, b: str) -> str:
        if b not in self._reciprocal:
            self._reciprocal[b] = self.put(f"reciprocal({b})")
        return self.mul(a, self._reciprocal[b])

    def sin(self, x: str) -> str:
        return self._sine_and_cosine(x)[0]

    def cos(self, x: str) -> str:
        return self._sine_and_cosine(x)[1]

    def _sine_and_cosine(self, x: str) -> tuple[str, str]:
        if x not in self._sincos:
            k = len(self.lines)
            self.lines.append(f"{self.real} s{k}, c{k}; sine_cosine({x}, s{k}, c{k});")
            self._sincos[x] = f"s{k}", f"c{k}"
        return self._sincos[x]


def body(kernel: Kernel, read: Callable[[Key], str], wrote: Callable[[Key], str], real: str = DOUBLE) -> str:
    """Statements that compute a kernel; everything is read before anything is written.

    Args:
        kernel: what to compute.
        read: expression of an input that every sample or run has for itself.
        wrote: where an output goes.
        real: type of the numbers in between.
    """
    text, before = DeviceStatements(real), []
    for name, kind in kernel.inputs.items():
        if isinstance(kind, Normals):
            array = word(name)
            before.append(f"double {array}[{kind.size}]; normals<{kind.size}>(stream, step, {kind.first_call}u, {array});")

    def value(key: Key) -> str:
        name, number = key
        kind = kernel.inputs[name]
        if isinstance(kind, Normals):
            return text.put(f"{word(name)}[{number}]")
        return text.put(f"row[{kind.column + number}]" if isinstance(kind, Reference) else read(key))

    values = evaluate(text, kernel.graph, list(kernel.places.values()), value)
    after = [f"{wrote(key)} = {v};" for key, v in zip(kernel.places, values, strict=True)]
    return "\n".join(f"  {line}" for line in (*before, *text.lines, *after))


def c_struct(name: str, fields: Mapping[str, int]) -> str:
    """A struct with an array for every field."""
    members = "\n".join(f"  double {word(field)}[{size}];" for field, size in fields.items() if size)
    return f"struct {name} {{\n{members}\n}};\n"


def word(name: str) -> str:
    """A field's name as C allows it."""
    return re.sub(r"\W", "_", name)


@cache
def resource(name: str) -> str:
    """The text of a file beside this one."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
