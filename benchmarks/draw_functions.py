"""Functions of the package drawn at random, without their docstrings, for a reading test: say in one sentence what each does.

    python benchmarks/draw_functions.py SEED [COUNT]

A name that misleads whoever has seen nothing else of the code is changed.
"""

from __future__ import annotations

import ast
import random
import sys
from pathlib import Path

import inertica

FEWEST = 5
"""Lines of a function that are enough to read."""


def functions(root: Path) -> list[tuple[str, ast.FunctionDef]]:
    """Where each is, and its tree."""
    out = []
    for path in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.FunctionDef)
                and not node.name.startswith("__")
                and node.end_lineno - node.lineno + 1 >= FEWEST
            ):
                out.append((f"{path.relative_to(root)}:{node.lineno}", node))
    return out


def main() -> None:
    seed, count = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20
    for place, node in random.Random(seed).sample(functions(Path(inertica.__file__).parent), count):
        node.body = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))] or [ast.Pass()]
        print(f"=== {place}\n{ast.unparse(node)}\n")


if __name__ == "__main__":
    main()
