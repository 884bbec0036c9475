"""Masses, centres and inertias as a CAD program prints them: one row per part, in whatever frame it was measured."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from inertica.arrays import Array
from inertica.errors import FileError, nearest
from inertica.numbers import whole
from inertica.robot import inertia
from inertica.robot.formats.urdf_file import rpy_matrix
from inertica.robot.model import Robot
from inertica.robot.yamlfile import read_text

POSE, CENTRE = ("x", "y", "z", "roll", "pitch", "yaw"), ("cx", "cy", "cz")
INERTIA = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
COLUMNS = ("link", "frame", "about", "mass", *CENTRE, *INERTIA, *POSE)
FRAMES, ABOUT = ("link", "base"), ("com", "origin")

_MASS, _LENGTH = {"kg": 1.0, "g": 1e-3}, {"m": 1.0, "cm": 1e-2, "mm": 1e-3}
UNITS: Mapping[str, float] = (
    _MASS | _LENGTH | {"rad": 1.0, "deg": np.pi / 180.0}
    | {f"{m}{l}^2": a * b * b for m, a in _MASS.items() for l, b in _LENGTH.items()}
)  # fmt: skip
"""Units that a header may state behind a name, without blanks: `mass [g]`, `cx [mm]`, `ixx [g mm^2]`."""

_HEADER = re.compile(r"^\s*([A-Za-z_]+)\s*(?:[\[(](.*)[\])])?\s*$")


@dataclass(frozen=True, eq=False)
class Part:
    """One row.

    Args:
        link: 0-based link it is part of.
        in_base: whether its frame is placed in the robot's base, as in a drawing of the whole arm, or in the link's own frame.
        rotation, position: of its frame there.
        ten: standard parameters in its frame.
        line: in the file.
    """

    link: int
    in_base: bool
    rotation: Array
    position: Array
    ten: Array
    line: int


def read_parts(path: str | Path, robot: Robot, positive_products: bool = False) -> list[Part]:
    """Reads a CSV table.

    Args:
        path: columns link (name or number), mass, cx, cy, cz, ixx, ixy, ixz, iyy, iyz, izz; optional: frame (link or base), the pose
            x, y, z, roll, pitch, yaw of the part's frame in it, about (com or origin: where the inertia is taken).
        robot: whose links they are.
        positive_products: ixy is the integral of x y, as some CAD programs print it, not its negative.
    """
    source = Path(path)
    rows = [(n, row) for n, row in enumerate(csv.reader(read_text(source).splitlines()), 1) if any(cell.strip() for cell in row)]
    rows = [(n, row) for n, row in rows if not row[0].lstrip().startswith("#")]
    if len(rows) < 2:
        raise FileError(source, "the table needs a header and one row for every part")
    line, header = rows[0]
    columns = [_column(source, line, cell) for cell in header]
    names = [name for name, _ in columns]
    lacking = [name for name in ("link", "mass", *CENTRE, *INERTIA) if name not in names]
    if lacking:
        raise FileError(source, f"the table has no column {', '.join(lacking)}; it needs link, mass, centre and inertia", line)
    return [_part(source, n, columns, row, robot, positive_products) for n, row in rows[1:]]


def _column(path: Path, line: int, text: str) -> tuple[str, float]:
    """Name and factor to SI."""
    match = _HEADER.match(text)
    name = match[1].lower() if match else text.strip()
    if match is None or name not in COLUMNS:
        raise FileError(path, f"the table has a column '{text.strip()}'; {nearest(name, COLUMNS)}", line)
    unit = re.sub(r"[\s*.]", "", match[2] or "").replace("²", "^2")
    if unit and unit not in UNITS:
        raise FileError(path, f"the unit '{match[2]}' of column {name} is not known; {nearest(unit, UNITS)}", line)
    return name, UNITS.get(unit, 1.0)


def _part(
    path: Path, line: int, columns: Sequence[tuple[str, float]], row: Sequence[str], robot: Robot, positive_products: bool
) -> Part:
    if len(row) != len(columns):
        raise FileError(path, f"the row has {len(row)} values for {len(columns)} columns", line)
    cells = {name: cell.strip() for (name, _), cell in zip(columns, row, strict=True)}
    factors = dict(columns)

    def number(name: str) -> float:
        try:
            value = float(cells.get(name) or 0.0) * factors.get(name, 1.0)
        except ValueError:
            raise FileError(path, f"{name} is '{cells[name]}', which is no number", line) from None
        if not np.isfinite(value):
            raise FileError(path, f"{name} should be a finite number", line)
        return value

    mass, centre = number("mass"), np.array([number(name) for name in CENTRE])
    if mass < 0.0:
        raise FileError(path, f"the mass of a part cannot be {mass:g} kg", line)
    six = np.array([number(name) for name in INERTIA])
    if positive_products:
        six[[1, 2, 4]] *= -1.0
    tensor = inertia.matrix(np.concatenate([six, np.zeros(4)]))
    about = _word(path, line, "about", cells, ABOUT)
    ten = inertia.from_com(mass, centre, tensor) if about == "com" else inertia.ten(tensor, mass * centre, mass)
    rotation = rpy_matrix(np.array([number(name) for name in POSE[3:]]))
    in_base = _word(path, line, "frame", cells, FRAMES) == "base"
    return Part(_link(path, line, cells["link"], robot), in_base, rotation, np.array([number(x) for x in POSE[:3]]), ten, line)


def _word(path: Path, line: int, name: str, cells: Mapping[str, str], known: Sequence[str]) -> str:
    word = cells.get(name) or known[0]
    if word not in known:
        raise FileError(path, f"{name} is '{word}'; it can be {' or '.join(known)}", line)
    return word


def _link(path: Path, line: int, text: str, robot: Robot) -> int:
    names = [joint.link for joint in robot.joints]
    if text in names:
        return names.index(text)
    if (number := whole(text)) is not None and 1 <= number <= robot.n:
        return number - 1
    raise FileError(path, f"{robot.name} has no link '{text}'; {nearest(text, names)}, or a number from 1 to {robot.n}", line)
