"""Numbers that decide have no unit: constants that are stated in one are listed here, with the reason."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import inertica

SOURCE = Path(inertica.__file__).parent
SEARCHED = ("physical", "checks", "workflow", "estimators/structure", "preprocessing", "validation", "logs", "robot")

UNIT = re.compile(r"(?<!')\b(kg|mm?|metres?|millimetres?|s|ms|seconds|Hz|N)\b")
"""Of mass, length or time, or made of them, that a docstring names; an angle has none."""

REASONS = {
    "physical/geometry_prior.py: DENSITY": "of the material, where neither torque nor a stated mass tells it",
    "robot/outline.py: DENSITY": "of the material; radii of built shapes stay within shares of the arm's length",
    "robot/friction.py: BRISTLE_STIFFNESS": "of robots that are simulated",
    "robot/formats/mjcf_actuators.py: TIMESTEP": "of MuJoCo's files",
    "preprocessing/filters.py: CUTOFF": "of a recipe made in Python that states none; no command and no choice uses it",
    "preprocessing/filters.py: PART_OF_RATE": "a share, with an example",
    "preprocessing/filters.py: SETTLING": "periods, and where they come from",
    "preprocessing/filters.py: EDGES": "a ratio, and where it comes from",
    "preprocessing/filters.py: FILTERS": "names",
    "preprocessing/edge.py: BANDS": "a ratio, and where it comes from",
    "workflow/observe/monitor.py: PERIOD": "default of an option that users state in s",
    "checks/clock.py: UNITS": "units that files may be in",
    "checks/hypotheses.py: UNITS": "units that files may be in",
    "robot/cad_table.py: UNITS": "units that files may be in",
}
"""Constants whose docstring names a unit, and why they may."""


def constants(path: Path) -> Iterator[tuple[str, str]]:
    """Name and docstring of every constant of a module that holds a number."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    for node, after in zip(body, [*body[1:], ast.Pass()], strict=True):
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        if not any(isinstance(x, ast.Constant) and isinstance(x.value, float) for x in ast.walk(node.value)):
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        said = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
        yield ast.unparse(target), " ".join(str(said).split())


def with_units() -> Iterator[tuple[str, str]]:
    for folder in SEARCHED:
        for path in sorted((SOURCE / folder).rglob("*.py")):
            yield from ((f"{path.relative_to(SOURCE)}: {name}", said) for name, said in constants(path) if UNIT.search(said))


def test_no_constant_with_a_unit_decides() -> None:
    stated = dict(with_units())
    assert stated.keys() == REASONS.keys(), "\n".join(f"{name}: {said}" for name, said in stated.items() if name not in REASONS)
