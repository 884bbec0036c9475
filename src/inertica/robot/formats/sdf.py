"""SDFormat as a model format."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from inertica.robot.description import Description
from inertica.robot.formats.model_format import Bodies, ModelFormat, Part, describe_tree
from inertica.robot.formats.sdf_file import SYMBOLS, read_sdf, write_sdf
from inertica.robot.formats.sdf_write import sdf_text
from inertica.robot.layout import Parameters


def _read(path: Path, part: Part) -> Description:
    return describe_tree(read_sdf(path), SDF.name, part)


def _write(description: Description, parameters: Parameters, target: Path, labels: Mapping[str, str]) -> tuple[str, ...]:
    source = description.source
    return write_sdf(source.path, target, parameters, labels=labels, **source.selection)


SDF = ModelFormat(
    name="sdf",
    title="SDFormat",
    suffixes=(".sdf", ".world"),
    sign="<sdf>",
    sniff=lambda start: start.tag == "sdf",
    read=_read,
    write=_write,
    holds=tuple(SYMBOLS),
    bodies=Bodies.REAL,
    create=sdf_text,
    tree=read_sdf,
    programs=("Gazebo", "Drake"),
)
