"""Options of a job are fields of one dataclass: flags, help, forms and messages are made from them."""

from __future__ import annotations

import argparse
import ast
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import inertica as ia
from inertica.cli.flags import add_flags, stated
from inertica.cli.main import command_parser, main
from inertica.excitation.criteria import Condition
from inertica.excitation.named import CRITERIA
from inertica.options import listed, merged, option, options_of, per_joint
from inertica.studio.arguments import Arguments
from inertica.studio.confined import Refused
from inertica.studio.forms import changed, flags, form, options_from
from inertica.studio.rehearsal import RehearsalOptions

LIBRARY = (
    "robot",
    "dynamics",
    "identifiability",
    "excitation",
    "preprocessing",
    "experiment",
    "physical",
    "estimators",
    "validation",
)
LIBRARY += ("checks", "workflow")


@listed
@dataclass(frozen=True)
class Toy:
    """Of a toy."""

    kind: str = option("round", "what it is", choices=("round", "flat"), label="Kind")
    share: float = option(0.2, "of the whole, 10 % at least", label="Share (%)", least=0.1, most=0.9, scale=100.0)
    count: int = option(3, "how many", label="Count", flag="number")
    step: float | tuple[float, ...] | None = option(None, "one or one per joint", read=per_joint)
    files: tuple[str, ...] = option((), "to read", read=str, repeated=True, flag="file")
    fast: bool = option(False, "no bias")


def parsed(words: str) -> Toy:
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_flags(parser, Toy)
    return stated(Toy, parser.parse_args(words.split()))


def test_flags_make_options() -> None:
    assert parsed("") == Toy()
    assert parsed("--kind flat --number 5 --step 1,2 --file a --file b --fast") == Toy(
        "flat", 0.2, 5, (1.0, 2.0), ("a", "b"), True
    )
    parser = argparse.ArgumentParser()
    add_flags(parser, Toy)
    said = " ".join(parser.format_help().split())
    assert "what it is: round, flat (default round)" in said and "10 % at least (default 0.2)" in said


def test_forms_make_options() -> None:
    fields = form(Toy, {"share": 0.5})
    assert [(f["name"], f["kind"], f["value"]) for f in fields] == [
        ("kind", "choice", "round"),
        ("share", "number", 50.0),
        ("count", "number", 3),
    ]
    made = options_from(Toy, Arguments({"kind": "flat", "share": 0.3, "count": 4.0}))
    assert made == Toy("flat", 0.3, 4) and changed(made) == {"kind": "flat", "share": 0.3, "count": 4}
    assert flags(made) == ["--kind", "flat", "--share", "0.3", "--number", "4"]
    with pytest.raises(Refused, match=r"from 0\.1 to 0\.9"):
        options_from(Toy, Arguments({"share": 3.0}))


def test_single_options_beside_an_object() -> None:
    assert merged(Toy, Toy(count=5), {"kind": "flat"}) == Toy("flat", count=5)
    with pytest.raises(ia.InputError, match=r"no option 'knd'; did you mean 'kind'"):
        merged(Toy, None, {"knd": "flat"})
    assert "kind: what it is; one of round, flat." in (Toy.__doc__ or "")


@pytest.mark.parametrize(("command", "cls"), [("excite", ia.ExciteOptions), ("simulate", ia.SimulateOptions)])
def test_commands_have_a_flag_for_every_option(command: str, cls: type) -> None:
    known = command_parser(command)._option_string_actions
    assert [f.name for f in options_of(cls) if f.flag not in known] == []


@pytest.mark.parametrize("cls", [ia.ExciteOptions, ia.SimulateOptions, RehearsalOptions])
def test_every_field_is_an_option(cls: type) -> None:
    assert [f.name for f in options_of(cls)] == list(cls.__dataclass_fields__)


@dataclass(frozen=True)
class Skewed(Condition):
    """A criterion of a user's own."""

    @property
    def name(self) -> str:
        return "skewed"


def test_a_criterion_is_a_class_and_a_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(CRITERIA, "skewed", lambda setting: Skewed())
    assert "skewed" in " ".join(command_parser("excite").format_help().split())
    assert any("skewed" in field["choices"] for field in form(ia.ExciteOptions))
    words = ["excite", "scara2", "-o", str(tmp_path / "m.yaml"), "--criterion", "skewed", "--seconds", "0.5", "--harmonics", "3"]
    assert main([*words, "--grid", "20"]) == 0 and "skewed" in capsys.readouterr().out
    assert np.isfinite(ia.load_trajectory(tmp_path / "m.yaml").period)


def test_messages_of_the_library_name_options_and_no_flags() -> None:
    """A message is read by people who called from Python, from a page or from a command line."""
    root = Path(ia.__file__).parent
    wrong = []
    for file in (f for folder in LIBRARY for f in sorted((root / folder).rglob("*.py"))):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        prose = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
                wrong += (
                    [f"{file.relative_to(root)}:{node.lineno}: {node.value}"]
                    if re.search(r"(^|[\s(`'])--[a-z]{2}", node.value)
                    else []
                )
    compilers = ("dynamics/cuda/card.py",)  # words for a compiler
    assert [line for line in wrong if not line.startswith(compilers)] == []
