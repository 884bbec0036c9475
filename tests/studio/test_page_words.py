"""Sentences on the page name its rooms and fields, not options and commands."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import inertica
from inertica.studio.fields import FIELDS, in_page_words, page_words

SOURCE = Path(inertica.__file__).parent
PLACES = ("checks", "logs", "preprocessing", "report/verdict_words.py", "workflow/identify", "workflow/decisions", "physical")
COMMAND = re.compile(r"(?<![\w-])--[a-z]|`inertica ")
NOT_HERE = ("prior: {masses: 10 %}",)
"""A line of a card, which is shown as one."""


def text_of(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(v.value) if isinstance(v, ast.Constant) else "X" for v in node.values)
    return ""


def settled_by_a_field(node: ast.AST) -> bool:
    """`Fix("rate", ...)`, which the page answers with a field."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "Fix"
        and text_of(node.args[0]) in FIELDS
    )


def sentences(node: ast.AST) -> Iterator[str]:
    if settled_by_a_field(node):
        return
    if text := text_of(node):
        yield text
        return
    documented = getattr(node, "body", None)
    for child in ast.iter_child_nodes(node):
        is_docstring = isinstance(documented, list) and child in documented and isinstance(child, ast.Expr)
        if not is_docstring:
            yield from sentences(child)


def said() -> list[str]:
    files = [
        f for place in PLACES for f in ([SOURCE / place] if place.endswith(".py") else sorted((SOURCE / place).rglob("*.py")))
    ]
    every = {text for file in files for text in sentences(ast.parse(file.read_text(encoding="utf-8")))}
    return sorted(t for t in every if COMMAND.search(t) and len(t.split()) > 3 and not t.startswith(NOT_HERE))


@pytest.mark.parametrize("text", said())
def test_no_sentence_on_the_page_names_an_option_or_a_command(text: str) -> None:
    assert not COMMAND.search(page_words(text)), page_words(text)


def test_there_are_such_sentences() -> None:
    assert len(said()) > 10


def test_only_sentences_are_put_into_other_words() -> None:
    command = "inertica identify arm.urdf a.csv --validate LOG"
    document = {"same": {"shell": command}, "verdict": {"next": "record a second log and give it with --validate LOG"}, "n": 1}
    changed = in_page_words(document)
    assert changed["same"] == document["same"] and changed["n"] == 1
    assert (
        changed["verdict"]["next"] == "record a second log and choose under 'used to', in the room Data, that it is to validate"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "state the unit: t=ms, as option, units: {t: ms} in the card, or [ms] behind the clock's name",
            "state the unit: t=ms under 'Unit of the clock' in the room Data",
        ),
        (
            "use a method with a prior (--method pc-wls+entropic), and",
            "use a method with a prior (pc-wls+entropic under Method in the room Identify), and",
        ),
        (
            'state the unit in the header, such as \'q1 [deg]\', on the command line (--unit q=deg), or as units={"q": "deg"}',
            "state the unit in the header, such as 'q1 [deg]'",
        ),
    ],
)
def test_sentences_remain_sentences(text: str, words: str) -> None:
    assert page_words(text) == words
