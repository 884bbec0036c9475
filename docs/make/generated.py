"""Pages and pictures of the site that are no files of docs/: their names, and what is in them.  Needs no mkdocs."""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import inertica
from methods import Page, pages
from pictures import measured

ROOT = Path(__file__).parents[2]

TAKEN = {
    "index.md": "README.md",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "examples.md": "examples/README.md",
}
"""Pages of the site that are files of the repository outside docs/."""


def scripts() -> dict[str, Path]:
    """Scripts that pages link to: address on the site, file."""
    return {f"examples/{path.name}": path for path in sorted((ROOT / "examples").glob("*.py"))}


def method_pages() -> tuple[Page, ...]:
    return pages()


def names() -> set[str]:
    """Pages that the navigation and links may name although docs/ has no such file."""
    return {*TAKEN, "api.md", *scripts(), *(page.uri for page in pages())}


API = (
    ("The main job", "inertica.workflow"),
    ("Robots and models", "inertica.robot"),
    ("Dynamics", "inertica.dynamics"),
    ("What can be known", "inertica.identifiability"),
    ("Logs", "inertica.logs"),
    ("Preprocessing", "inertica.preprocessing"),
    ("Experiments", "inertica.experiment"),
    ("Trajectories", "inertica.excitation"),
    ("Links that could exist", "inertica.physical"),
    ("Methods", "inertica.estimators"),
    ("Campaigns", "inertica.campaign"),
    ("Reports", "inertica.report"),
    ("Published studies", "inertica.reproduce"),
    ("Programs side by side", "inertica.benchmark"),
    ("Studio", "inertica.studio"),
    ("Errors", "inertica.errors"),
)
"""Sections of the API page: title, beginning of the modules whose public names stand there."""


EXAMPLES = "Examples take `import inertica as ia`, `import numpy as np` and a robot with logs for granted; the tests run them."


def api() -> str:
    """Every public name of the package, for mkdocstrings to fill from its docstring."""
    out = ["# API reference", "Everything that `import inertica as ia` offers, from the docstrings.", EXAMPLES]
    for title, start in API:
        out.append(f"## {title}")
        out += [
            f"::: {home}.{name}" for name, home in sorted(inertica._HOME.items()) if home == start or home.startswith(f"{start}.")
        ]
    return "\n\n".join(out) + "\n"


def placed(nav: object) -> list[str]:
    """Pages that a navigation names."""
    if isinstance(nav, str):
        return [nav]
    inner = nav.values() if isinstance(nav, dict) else nav
    return [name for part in inner for name in placed(part)]  # type: ignore[attr-defined]


def unplaced(nav: object) -> list[str]:
    """Pages of docs/ that it does not name."""
    pages_here = sorted(str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md"))
    return [name for name in pages_here if name not in placed(nav)]


def contents() -> Iterator[tuple[str, str | bytes]]:
    """Address on the site, content."""
    for uri, path in TAKEN.items():
        yield uri, (ROOT / path).read_text(encoding="utf-8")
    for uri, path in scripts().items():
        yield uri, path.read_text(encoding="utf-8")
    yield "api.md", api()
    for page in pages():
        drawn = measured(page.names)
        if drawn is None:
            yield page.uri, page.text()
        else:
            picture = f"{page.names[0]}.svg"
            yield page.uri, page.text(picture, drawn[1])
            yield page.uri.replace(f"{page.names[0]}.md", picture), drawn[0]


def relinked(markdown: str, uri: str) -> str:
    """The same text with links to files of the repository turned into links of the site."""
    source = TAKEN.get(uri, f"docs/{uri}")

    def replaced(found: re.Match[str]) -> str:
        target, anchor = found["target"], found["anchor"] or ""
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        there = next((name for name, taken in TAKEN.items() if taken == path), None)
        if there is None and path in scripts():
            there = path
        if there is None and path.startswith("docs/"):
            there = path.removeprefix("docs/")
        if there is None:
            return found[0]
        return f"]({posixpath.relpath(there, posixpath.dirname(uri) or '.')}{anchor})"

    return re.sub(r"\]\((?P<target>[^)#:\s]+)(?P<anchor>#[^)\s]*)?\)", replaced, markdown)
