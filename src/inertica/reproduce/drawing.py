"""PNG files of a study."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from inertica.writing import make_folder, whole_file

Drawing = tuple[str, tuple[float, float], Callable[[Any], None]]
"""Name of the file, size in inches, and what is drawn into the figure."""


def write_drawings(folder: Path, drawings: Iterable[Drawing]) -> tuple[Path, ...]:
    """Draws every figure into a file of its own and returns their paths."""
    from matplotlib.figure import Figure

    make_folder(folder)
    files = []
    for name, size, draw in drawings:
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        path = folder / f"{name}.png"
        with whole_file(path) as temporary:
            figure.savefig(temporary, dpi=150)
        files.append(path)
    return tuple(files)
