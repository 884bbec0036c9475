"""Identifiers are in the words of robotics and Python: those of a list name nothing, or name things that have a word of their own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import inertica

SOURCE = Path(inertica.__file__).parent

NOT_A_VALUE = {"told", "said", "listed", "found", "given", "there", "moved", "own", "kept", "asked"}
"""Participles that say what was done to a value and not what it is: message, names, estimate, user_value, on_device, shifted ..."""

NOT_A_NAME = {
    "abreast", "at_once", "in_turn", "asker", "whoever", "beginnings", "likeness", "later", "sought", "seldom", "somebody", "nobody",
}  # fmt: skip
"""Words for which the field has others: workers, max_concurrent, initial states, similarity, deferred ..."""

CLEARED = (
    "benchmark", "campaign", "checks", "cli", "dynamics", "estimators", "excitation", "experiment", "identifiability", "logs",
    "physical", "preprocessing", "report", "reproduce", "robot", "studio", "validation", "workflow",
)  # fmt: skip
"""Folders whose local names and parameters are cleared of the first list, too."""

PUBLISHED = {"workflow/excite_options.py": {"given"}, "workflow/identify/truth.py": {"found"}}
"""Names that users type or read in JSON."""

UNIQUE = {"View", "Rows", "Study", "Outcome", "Case", "Held", "Fitted", "Selection", "Model"}
"""Class names that stood for several things each; in the cleared folders one class at most may have such a name."""


def identifiers(tree: ast.AST) -> Iterator[tuple[str, int, bool]]:
    """(name, line, local) of everything that a module names: classes, functions, fields; and parameters and local names."""
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                yield node.name, node.lineno, False
                if isinstance(node, ast.ClassDef):
                    fields = (s.target for s in node.body if isinstance(s, ast.AnnAssign))
                    yield from ((t.id, t.lineno, False) for t in fields if isinstance(t, ast.Name))
            case ast.Attribute(ctx=ast.Store()):
                yield node.attr, node.lineno, False
            case ast.arg():
                yield node.arg, node.lineno, True
            case ast.Name(ctx=ast.Store()):
                yield node.id, node.lineno, True


def offenders(path: Path, text: str, cleared: bool) -> list[str]:
    out = []
    for name, line, local in identifiers(ast.parse(text)):
        plain = name.strip("_").lower()
        words = set(plain.split("_"))
        bad = plain in NOT_A_NAME or bool(words & NOT_A_NAME)
        if bad or (local and cleared and plain in NOT_A_VALUE - PUBLISHED.get(path.as_posix(), set())):
            out.append(f"{path}:{line}: {name}")
    return out


def test_names_say_what_a_thing_is() -> None:
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE)
        found += offenders(place, path.read_text(encoding="utf-8"), place.parts[0] in CLEARED or len(place.parts) == 1)
    assert not found, "\n".join(found)


def test_one_name_is_one_thing() -> None:
    places: dict[str, list[str]] = {}
    for folder in CLEARED:
        for path in sorted((SOURCE / folder).rglob("*.py")):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and node.name in UNIQUE:
                    places.setdefault(node.name, []).append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    assert not {name: where for name, where in places.items() if len(where) > 1}


@pytest.mark.parametrize(
    "text", ["def f(found): ...", "told = 1", "class Likeness: ...", "x.asked_in_turn = 1\nx.later = 2", "for own in x: ..."]
)
def test_the_list_is_looked_for(text: str) -> None:
    assert offenders(Path("x.py"), text, True)
