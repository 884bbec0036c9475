"""Which files of the program determine a campaign's numbers, and their hash: what imports reach from the work on one unit."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import inertica

BEGUN_FROM = "inertica.campaign.work"
_IMPORT = re.compile(r"^\s*(?:from|import) (inertica(?:\.\w+)*)(?: import (\([^)]*\)|[^\n]*))?", re.MULTILINE)
DATA = (".yaml", ".cu")
"""Suffixes of what is read beside Python: robots, trajectories, code for graphics cards."""


@cache
def sources() -> tuple[Path, ...]:
    """Python files that the work on a unit may import, now or later, and what they read; in order."""
    root = Path(inertica.__file__).parent
    seen: dict[Path, None] = {}
    waiting = [BEGUN_FROM]
    while waiting:
        path = _file(root, waiting.pop())
        if path is not None and path not in seen:
            seen[path] = None
            waiting += _imports(path)
    folders = {path.relative_to(root).parts[0] for path in seen} - {"campaign"}
    data = (p for p in root.rglob("*") if p.suffix in DATA and p.relative_to(root).parts[0] in folders)
    return tuple(sorted({*seen, *data}))


@cache
def code_hash() -> str:
    """Of the files that determine numbers: a change elsewhere in the program leaves finished units what they are."""
    root, out = Path(inertica.__file__).parent, hashlib.sha256()
    for file in sources():
        out.update(str(file.relative_to(root)).encode())
        out.update(file.read_bytes())
    return out.hexdigest()[:16]


def _file(root: Path, module: str) -> Path | None:
    """Of a module of this package; packages' own `__init__` but the top one, which imports everything when asked for it."""
    stem = root.parent.joinpath(*module.split("."))
    if stem.with_suffix(".py").is_file():
        return stem.with_suffix(".py")
    inside = stem / "__init__.py"
    return inside if inside.is_file() and stem != root else None


def _imports(path: Path) -> Iterator[str]:
    """Modules of this package that a file names in imports, wherever these stand; names that are no modules have no file."""
    for match in _IMPORT.finditer(path.read_text(encoding="utf-8")):
        module, names = match.groups()
        parts = module.split(".")
        yield from (".".join(parts[:k]) for k in range(2, len(parts) + 1))
        yield from (f"{module}.{name}" for name in re.findall(r"\w+", names or ""))
