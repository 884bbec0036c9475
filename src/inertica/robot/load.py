"""One door for every kind of robot description: catalog name, DH YAML, URDF, MJCF, robot card."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from inertica.errors import InputError
from inertica.robot.card import describe_card, describe_tree
from inertica.robot.description import Description
from inertica.robot.dh import describe, read_dh
from inertica.robot.files import CARD, catalog, catalog_path, check_exists, kind_of
from inertica.robot.layout import Parameters
from inertica.robot.writeback import Selection
from inertica.robot.yamlfile import read_yaml


def load(robot: str | Path) -> Description:
    """Reads a robot.

    Args:
        robot: a catalog name, or the path of a DH YAML, URDF, MJCF or robot card, or of a folder that holds a card as `robot.yaml`,
            such as that of a result.
    """
    if isinstance(robot, str) and robot in catalog():
        return read_dh(catalog_path(robot))
    path = Path(robot)
    check_exists(str(robot), path)
    path = path / CARD if (path / CARD).is_file() else path
    kind = kind_of(path)
    if kind in ("urdf", "mjcf"):
        return describe_tree(path, kind)
    root = read_yaml(path)
    return (describe_card(root) if kind == "card" else describe(root)).with_loads()


def save_model(
    description: Description, parameters: Parameters, target: str | Path, labels: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """Writes values into a copy of the model file the description came from.

    Args:
        description: whose source is copied.
        parameters: what to write.
        target: the file to write.
        labels: parameter name -> trust label, written as comments into URDF and MJCF.

    Returns:
        Notes on what the format cannot hold.
    """
    source = description.source
    if source.format == "dh":
        from inertica.robot.dhwrite import write_dh

        write_dh(source.path, target, parameters)
        return ()
    selection: Selection = {"root": source.root, "tip": source.tip, "joints": source.joints, "labels": labels}
    if source.format == "urdf":
        from inertica.robot.urdf import write_urdf

        return write_urdf(source.path, target, parameters, **selection)
    if source.format == "mjcf":
        from inertica.robot.mjcf import write_mjcf

        return write_mjcf(source.path, target, parameters, **selection)
    raise InputError(f"values cannot be written into a model of format '{source.format}'; dh, urdf and mjcf can be written")
