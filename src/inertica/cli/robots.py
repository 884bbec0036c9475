"""Lists the built-in robots.  Their names can be given wherever a command wants a robot."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from inertica.cli.console import Answer, progress, table
from inertica.robot.description import Description
from inertica.robot.files import catalog
from inertica.robot.load import load
from inertica.robot.yamlfile import read_text

if TYPE_CHECKING:
    from rich.console import RenderableType

EXAMPLES = """\
inertica robots
inertica robots --base --json
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--base", action="store_true", help="count the base parameters too (a few seconds)")


def run(arguments: argparse.Namespace) -> Answer:
    with progress("reading the catalog"):
        robots = [_entry(load(name), arguments.base) for name in catalog()]

    def text() -> Iterator[RenderableType]:
        counts = ("joints", "parameters", *(["base"] if arguments.base else []))
        rows = [[str(r["name"]), *(str(r[key]) for key in _keys(arguments.base)), str(r["about"])] for r in robots]
        yield table("built-in robots", ("name", *counts, "about"), rows, right=counts)

    return Answer({"robots": robots}, text)


def _keys(base: bool) -> tuple[str, ...]:
    return ("joints", "parameter_count", *(["base_count"] if base else []))


def _entry(robot: Description, base: bool) -> dict[str, object]:
    entry: dict[str, object] = {"name": robot.name, "joints": robot.robot.n, "parameter_count": robot.layout.size}
    if base:
        from inertica.identifiability.base import base_model

        entry["base_count"] = base_model(robot.layout).rank
    return entry | {"about": about(robot)}


def about(robot: Description) -> str:
    """What a file says about its robot in one sentence: the key `about`, or the comment it begins with."""
    stated = robot.reference.get("about")
    if stated:
        return str(stated)
    first = read_text(robot.source.path).split("\n", 1)[0]
    return first.lstrip("# ").split(". ")[0].rstrip(". ") if first.startswith("#") else ""
