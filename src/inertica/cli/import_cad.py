"""Moves masses, centres of mass and inertias of a CAD export into the link frames of a model, and
writes them into a copy of its file.

MODEL is the file whose frames are asked for, usually a DH YAML.  SOURCE is another model of the
same robot (URDF, MJCF, card) or a CSV table with one row per part.  Of two models the joint axes
must coincide, and their torques are compared afterwards.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from inertica.cli.console import Answer, progress, table
from inertica.cli.show import check_folder
from inertica.errors import ModelWarning
from inertica.numbers import number
from inertica.robot import inertia
from inertica.robot.load import load, save_model
from inertica.workflow.cad import TOLERANCE, Imported, import_cad

if TYPE_CHECKING:
    from rich.console import RenderableType

EXAMPLES = """\
inertica import-cad arm_dh.yaml arm.urdf -o arm_cad.yaml
inertica import-cad arm_dh.yaml arm.urdf -o arm_cad.yaml --pose 0 -1.5708 0 0 0 0
inertica import-cad arm_dh.yaml parts.csv -o arm_cad.yaml --positive-products
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="whose frames the values go into")
    parser.add_argument("source", metavar="SOURCE", help="model of the same robot, or CSV table of parts")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, required=True, help="copy of MODEL with the values")
    parser.add_argument(
        "--pose", type=float, nargs="+", metavar="Q",
        help="joint coordinates of MODEL at which SOURCE is at its zero, or the table was drawn; zero by default",
    )  # fmt: skip
    parser.add_argument(
        "--base", type=float, nargs=6, default=[0.0] * 6, metavar=("X", "Y", "Z", "ROLL", "PITCH", "YAW"),
        help="where the base of SOURCE is in that of MODEL, m and rad",
    )  # fmt: skip
    parser.add_argument(
        "--positive-products",
        action="store_true",
        help="the table's products of inertia are integrals of x y, not their negatives",
    )
    parser.add_argument(
        "--tolerance",
        type=float,
        default=TOLERANCE,
        metavar="D",
        help=f"rad and lengths of the longest link by which axes may differ (default {TOLERANCE:g})",
    )


def run(arguments: argparse.Namespace) -> Answer:
    check_folder(arguments.output)
    description = load(arguments.model)
    with progress(f"moving values into the frames of {description.name}"):
        imported = import_cad(
            description, arguments.source, pose=arguments.pose, base=arguments.base,
            positive_products=arguments.positive_products, tolerance=arguments.tolerance,
        )  # fmt: skip
        written = save_model(description, imported.parameters, arguments.output)
    for sentence in (*imported.notes, *written):
        warnings.warn(ModelWarning(sentence), stacklevel=1)
    document = {
        "file": str(arguments.output),
        "mass": imported.mass,
        "difference": imported.difference,
        "links": [_entry(imported, j) for j in range(description.robot.n)],
        "notes": [*imported.notes, *written],
    }
    return Answer(document, lambda: _text(imported, arguments.output))


def _entry(imported: Imported, j: int) -> dict[str, object]:
    ten = imported.parameters.link(j)
    body = inertia.to_com(ten)
    joint = imported.description.robot.joints[j]
    return {"link": joint.link, "mass": body.mass, "centre": body.com, "possible": inertia.physically_consistent(ten)}


def _text(imported: Imported, target: Path) -> Iterator[RenderableType]:
    rows = []
    for j, joint in enumerate(imported.description.robot.joints):
        body = inertia.to_com(imported.parameters.link(j))
        rows.append([joint.link, number(body.mass), *(number(float(x)) for x in body.com)])
    columns = ("link", "mass (kg)", "x (m)", "y (m)", "z (m)")
    yield table("mass and centre of mass in the link frames", columns, rows, right=columns[1:])
    agree = (
        "" if imported.difference is None else f"; torques of the two models agree to {imported.difference:.1e} of the largest"
    )
    yield f"wrote {target}: {imported.mass:.6g} kg in all{agree}"
