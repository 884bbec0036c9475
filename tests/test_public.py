"""The public names: all there, none heavier than it must be."""

from __future__ import annotations

import subprocess
import sys

import pytest

import inertica as ia


@pytest.mark.parametrize("name", ia.__all__)
def test_every_public_name_exists(name: str) -> None:
    assert getattr(ia, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'identfy'"):
        _ = ia.identfy


def test_the_import_is_light() -> None:
    code = "import sys, inertica; print([m for m in ('numpy', 'scipy', 'numba', 'matplotlib', 'lxml') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_folders_import_only_from_above() -> None:
    """The order of the house: a file imports from its own folder and from those before it."""
    import ast
    from pathlib import Path

    order = ["robot", "dynamics", "identifiability", "excitation", "logs", "preprocessing", "experiment", "physical"]
    order += ["estimators", "validation", "checks", "workflow", "campaign", "reproduce", "report", "cli"]
    root = Path(ia.__file__).parent
    wrong = []
    for file in root.rglob("*.py"):
        folder = file.relative_to(root).parts[0]
        if folder not in order:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            names += [a.name for a in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                parts = name.split(".")
                below = (
                    len(parts) > 1
                    and parts[0] == "inertica"
                    and parts[1] in order
                    and order.index(parts[1]) > order.index(folder)
                )
                if below:
                    wrong.append(f"{file.relative_to(root)} imports {name}")
    assert not wrong
