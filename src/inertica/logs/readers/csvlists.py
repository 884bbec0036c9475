"""Cells of a text table that hold a list, such as "[0.1, 0.2, 0.3]": one column for every element."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from inertica.errors import FileError
from inertica.logs.readers.guard import read_bytes

JOINT_LIST = "joint_list.txt"
"""A file beside the table with one name per line, in the order of the lists."""

_LIST = re.compile(r'"?\[([^\[\]]*)\]"?')
_CELL = "[]"

Split = Callable[[str], list[str]]


@dataclass(frozen=True)
class Unfolded:
    """Lines and names of a table with its lists taken apart.

    Args:
        names: one per element, `positions1` or, with a list of joints, `positions_elbow`.
        body: the lines, lists replaced by their elements.
        joints: names of the list of joints where it was used.
        notes: what was done.
    """

    names: list[str]
    body: list[str]
    joints: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def holds_lists(body: Sequence[str]) -> bool:
    """Whether the first line of numbers has a list in it."""
    return bool(body) and _LIST.search(body[0]) is not None


def unfolded(
    path: Path, names: Sequence[str], body: Sequence[str], first: int, mark: str, split: Split, cut_off: bool
) -> Unfolded:
    """The table with one column per element.

    Args:
        path: the file.
        names: of the columns.
        body: the lines behind the header.
        first: number of the first of them in the file.
        mark: what separates cells.
        split: a line into cells.
        cut_off: the last line may be incomplete.
    """
    cells = split(_LIST.sub(_CELL, body[0]))
    if len(cells) != len(names):
        raise FileError(path, f"this line has {len(cells)} cells, the header has {len(names)}", first)
    lists = [name for name, cell in zip(names, cells, strict=True) if cell == _CELL]
    counts = [len(_elements(inside)) for inside in _LIST.findall(body[0])]
    if len(lists) != len(counts):
        raise FileError(
            path, "a cell of this line has a list and something beside it; let every list be a cell of its own", first
        )
    joints = _joints(path)
    widths = dict(zip(lists, counts, strict=True))
    expanded = [header for name in names for header in _names(name, widths.get(name), joints)]
    lines = []
    for k, line in enumerate(body):
        line_lists = _LIST.findall(line)
        plain = _LIST.sub(lambda match: mark.join(_elements(match[1])), line)
        if cut_off and k == len(body) - 1:
            plain = plain.replace('"', "").replace("[", "")  # of a list that breaks off
        elif line.strip():
            _check(path, first + k, lists, counts, line_lists)
        lines.append(plain)
    used = bool(joints) and len(joints) in counts
    how = f", named by {JOINT_LIST}" if used else ", numbered from 1"
    return Unfolded(expanded, lines, joints if used else (), (f"lists in {', '.join(lists)} were taken apart{how}",))


def _names(name: str, width: int | None, joints: tuple[str, ...]) -> list[str]:
    if width is None:
        return [name]
    if joints and len(joints) == width:
        return [f"{name}_{joint}" for joint in joints]
    return [f"{name}{'_' * name[-1:].isdigit()}{k + 1}" for k in range(width)]


def _elements(inside: str) -> list[str]:
    inside = inside.strip()
    if ";" in inside:
        return [part.strip() for part in inside.split(";")]
    return re.split(r"\s*,\s*|\s+", inside) if inside else []


def _check(path: Path, number: int, lists: list[str], counts: list[int], lists_there: list[str]) -> None:
    if len(lists_there) != len(lists):
        raise FileError(path, f"this line has {len(lists_there)} lists, the first one has {len(lists)}", number)
    for name, count, inside in zip(lists, counts, lists_there, strict=True):
        if (length := len(_elements(inside))) != count:
            raise FileError(
                path, f"the list in the column '{name}' has {length} values, in the first line it has {count}", number
            )


def _joints(path: Path) -> tuple[str, ...]:
    """Names in the list of joints beside a file; none where there is no such list."""
    beside = path.parent / JOINT_LIST
    if not beside.is_file() or beside == path:
        return ()
    try:
        text = read_bytes(beside).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileError(beside, "this is no text in UTF-8; save it so, one joint per line") from None
    names = tuple(line.strip() for line in text.splitlines() if line.strip())
    if len(set(names)) != len(names):
        raise FileError(beside, "names a joint twice; every line should name another joint")
    return names
