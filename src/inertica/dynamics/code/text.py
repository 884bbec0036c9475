"""What programs in every language share: names, numbers, the body of a function, what the comment at the top says.

A program holds identifiers and numbers made here, and nothing else from a file or a user but through `identifier` and the
functions of `inertica.escape`: there is no name of a robot, joint or parameter that adds a statement to a program.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from dataclasses import dataclass

from inertica.dynamics.code.functions import CodeModel, Function
from inertica.dynamics.plan import evaluate
from inertica.dynamics.statements import Language, Statements
from inertica.robot.terms import Term

_NAME = re.compile(r"\bx\d+\b")

LONGEST = 60
"""Characters of an identifier: files are named by it, and C tells names apart by their first 63."""

_TAKEN = frozenset(("math", "stdio"))
"""Headers and modules that programs use; a file of that name beside them would be read in their place."""


@dataclass(frozen=True, eq=False)
class CodeProgram:
    """A model under a name, with what to say about its parameters.

    Args:
        name: prefix of functions, name of files.
        model: what is computed.
        functions: of the program.
        meanings: one text per parameter: its unit, what is grouped in it.
        remarks: sentences for the top of the file.
    """

    name: str
    model: CodeModel
    functions: Sequence[Function]
    meanings: Sequence[str]
    remarks: Sequence[str]

    @property
    def linear(self) -> bool:
        """Whether all torques are linear in the parameters: no term adds torque that no parameter multiplies."""
        layout = self.model.layout
        return all(type(term).torque is Term.torque for term, _ in layout.drives)

    @property
    def parameter_names(self) -> list[str]:
        return [self.model.layout.names[k] for k in self.model.retained]


def body(function: Function, language: Language) -> tuple[list[str], list[str]]:
    """Lines of a function, and the expressions of its outputs."""
    text = Statements(language)
    outputs = evaluate(text, function.kernel.graph, function.symbols, lambda key: text.put(f"{key[0]}[{key[1]}]"))
    return _needed(text.lines, outputs), outputs


def _needed(lines: Sequence[str], outputs: Sequence[str]) -> list[str]:
    """Lines that outputs depend on: sums that were taken apart inside other sums leave some that nobody reads."""
    read, out = set(outputs), []
    for line in reversed(lines):
        name, *operands = _NAME.findall(line)
        if name in read:
            read.update(operands)
            out.append(line)
    return out[::-1]


def number(value: float) -> str:
    """A constant that C and Python read back to the last bit."""
    return repr(value + 0.0) if value >= 0.0 else f"({value!r})"


def identifier(name: str) -> str:
    """A robot's name as languages and file systems allow it."""
    word = re.sub(r"\W", "_", name, flags=re.ASCII).strip("_").lower()[:LONGEST] or "robot"
    return f"robot_{word}" if word[0].isdigit() or keyword.iskeyword(word) or word in _TAKEN else word
