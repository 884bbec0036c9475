"""URDF as a model format."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from inertica.robot.description import Description
from inertica.robot.formats.model_format import Bodies, ModelFormat, Part, describe_tree
from inertica.robot.formats.urdf_file import SYMBOLS, read_urdf, write_urdf
from inertica.robot.formats.urdf_shapes import urdf_drawn, urdf_solids
from inertica.robot.layout import Parameters


def _read(path: Path, part: Part) -> Description:
    return describe_tree(read_urdf(path), URDF.name, part)


def _write(description: Description, parameters: Parameters, target: Path, labels: Mapping[str, str]) -> tuple[str, ...]:
    source = description.source
    return write_urdf(source.path, target, parameters, labels=labels, **source.selection)


URDF = ModelFormat(
    name="urdf",
    title="URDF",
    suffixes=(".urdf",),
    sign="<robot>",
    sniff=lambda start: start.tag == "robot",
    read=_read,
    write=_write,
    holds=tuple(SYMBOLS),
    bodies=Bodies.POSITIVE,
    tree=read_urdf,
    solids=urdf_solids,
    encloses=True,
    drawn=urdf_drawn,
    programs=("Pinocchio", "MuJoCo", "ROS 2"),
)
