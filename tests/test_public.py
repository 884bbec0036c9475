"""The public names: all there, none heavier than it must be."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import inertica as ia


def test_the_public_names_are_these() -> None:
    """A name comes and goes by a change of this list, too: other people's programs depend on it."""
    assert ia.__all__ == (Path(__file__).parent / "public_names.txt").read_text(encoding="utf-8").split()


@pytest.mark.parametrize("name", ia.__all__)
def test_every_public_name_exists(name: str) -> None:
    assert getattr(ia, name) is not None


def test_a_folder_does_not_hide_the_function_of_its_name() -> None:
    code = "import inertica as ia; import inertica.reproduce.studies; print(callable(ia.reproduce), ia.reproduce is ia.reproduce)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True True"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'identfy'"):
        _ = ia.identfy


def test_the_import_is_light() -> None:
    code = "import sys, inertica; print([m for m in ('numpy', 'scipy', 'numba', 'matplotlib', 'lxml') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_file_does_not_hide_the_function_of_its_name() -> None:
    code = "import inertica.excitation.default_motion; from inertica.excitation import design; print(callable(design))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


ROOT = Path(ia.__file__).parent
ORDER = ["robot", "dynamics", "identifiability", "excitation", "logs", "preprocessing", "experiment", "physical"]
ORDER += ["estimators", "validation", "checks", "workflow", "campaign", "reproduce", "benchmark", "report", "studio", "cli"]

RINGS: dict[str, str] = {}
"""Rings between modules that are left, by one of their modules, with the reason; at most three."""


def modules() -> dict[str, Path]:
    """Every module of the package but the package itself, whose names are found where they live."""
    found = {".".join(("inertica", *file.relative_to(ROOT).with_suffix("").parts)): file for file in ROOT.rglob("*.py")}
    return {name.removesuffix(".__init__"): file for name, file in found.items() if file != ROOT / "__init__.py"}


def imported(file: Path) -> Iterator[str]:
    """Every import of a file, at the top, in functions and under TYPE_CHECKING; `a.b.c` for `from a.b import c`."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{a.name}" for a in node.names)
        elif isinstance(node, ast.Import):
            yield from (a.name for a in node.names)


def test_folders_import_only_from_above() -> None:
    """The order of the house: a file imports from its own folder and from those before it."""
    wrong = []
    for file in modules().values():
        folder = file.relative_to(ROOT).parts[0]
        for name in imported(file) if folder in ORDER else ():
            parts = name.split(".")
            if parts[0] == "inertica" and len(parts) > 1 and parts[1] in ORDER[ORDER.index(folder) + 1 :]:
                wrong.append(f"{file.relative_to(ROOT)} imports {name}")
    assert not wrong


def reached(start: str, arrows: dict[str, set[str]]) -> set[str]:
    """What a module imports, directly or through others."""
    found: set[str] = set()
    left = [start]
    while left:
        new = arrows[left.pop()] - found
        found |= new
        left += new
    return found


def rings(arrows: dict[str, set[str]]) -> set[frozenset[str]]:
    """Groups of modules that all import each other."""
    reach = {name: reached(name, arrows) for name in arrows}
    return {frozenset(m for m in reach[name] if name in reach[m]) for name in arrows if name in reach[name]}


def test_rings_are_found() -> None:
    """The next test would see one."""
    assert rings({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": set()}) == {frozenset("abc")}


def test_no_ring_between_modules() -> None:
    """Local and TYPE_CHECKING imports count, too: what must be hidden to work is in the wrong place."""
    known = modules()
    arrows = {
        name: ({i if i in known else i.rpartition(".")[0] for i in imported(file)} & set(known)) - {name}
        for name, file in known.items()
    }
    found = rings(arrows)
    assert not [sorted(ring) for ring in found if not ring & set(RINGS)]
    assert len(RINGS) <= 3
    gone = [module for module in RINGS if not any(module in ring for ring in found)]
    assert not gone, "these rings are gone: take them from the list"
