"""DH YAML as a model format."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from inertica.robot.description import Description
from inertica.robot.formats.dh_read import read_dh
from inertica.robot.formats.dh_write import write_dh
from inertica.robot.formats.model_format import ModelFormat, Part
from inertica.robot.layout import Parameters


def _read(path: Path, part: Part) -> Description:
    """A DH table is one chain, so that there is no part to choose."""
    return read_dh(path).with_loads()


def _write(description: Description, parameters: Parameters, target: Path, labels: Mapping[str, str]) -> tuple[str, ...]:
    write_dh(description.source.path, target, parameters, labels)
    return ()


DH = ModelFormat(
    name="dh",
    title="DH YAML",
    suffixes=(".yaml", ".yml"),
    sign="key 'dh'",
    sniff=lambda start: "dh" in start.keys,
    read=_read,
    write=_write,
    states_laws=True,
    option="yaml",
)
