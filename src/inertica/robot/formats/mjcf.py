"""MJCF as a model format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from inertica.robot.description import Description
from inertica.robot.formats.mjcf_drawn import mjcf_drawn
from inertica.robot.formats.mjcf_file import SYMBOLS, mjcf_solids, read_mjcf, write_mjcf
from inertica.robot.formats.mjcf_write import mjcf_text
from inertica.robot.formats.model_format import Bodies, LinkSolids, ModelFormat, Part, describe_tree
from inertica.robot.layout import Parameters


def _read(path: Path, part: Part) -> Description:
    return describe_tree(read_mjcf(path), MJCF.name, part)


def _write(description: Description, parameters: Parameters, target: Path, labels: Mapping[str, str]) -> tuple[str, ...]:
    source = description.source
    return write_mjcf(source.path, target, parameters, labels=labels, **source.selection)


def _solids(path: Path, packages: Sequence[str | Path]) -> LinkSolids:
    """MJCF names meshes relative to the file, so that there are no packages to look in."""
    solids = mjcf_solids(path)
    return lambda place: [solid.placed(place.rotation, place.position) for solid in solids.get(place.link, ())]


MJCF = ModelFormat(
    name="mjcf",
    title="MJCF",
    suffixes=(".xml", ".mjcf"),
    sign="<mujoco>",
    sniff=lambda start: start.tag == "mujoco",
    read=_read,
    write=_write,
    holds=tuple(SYMBOLS),
    bodies=Bodies.REAL,
    create=mjcf_text,
    tree=read_mjcf,
    solids=_solids,
    drawn=mjcf_drawn,
    programs=("MuJoCo",),
)
