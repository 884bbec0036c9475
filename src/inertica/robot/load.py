"""One door for every kind of robot description: catalog name, DH YAML, URDF, MJCF, robot card."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from inertica.robot.by_name import NAME, description_file
from inertica.robot.card import describe_card
from inertica.robot.description import Description
from inertica.robot.files import CARD, catalog, catalog_path, check_exists
from inertica.robot.formats.dh_read import read_dh
from inertica.robot.formats.model_format import Part
from inertica.robot.formats.table import find_format, format_of
from inertica.robot.layout import Parameters
from inertica.robot.yamlfile import read_yaml


def load(robot: str | Path) -> Description:
    """Reads a robot.

    Args:
        robot: a catalog name, or the path of a DH YAML, URDF, MJCF or robot card, or of a folder that holds a card as `robot.yaml`,
            such as that of a result; where the package robot_descriptions is installed, one of its names (`panda_description`).

    Examples:
        >>> ia.load("tx40").robot.joint_names[:2]
        ('joint1', 'joint2')
        >>> ia.load("card.yaml").source.path.name
        'arm.urdf'
    """
    if isinstance(robot, str) and robot in catalog():
        return read_dh(catalog_path(robot))
    path = Path(robot)
    if NAME.fullmatch(str(robot)) and not path.exists():
        path = description_file(str(robot))
    check_exists(str(robot), path)
    path = path / CARD if (path / CARD).is_file() else path
    form = find_format(path)
    return describe_card(read_yaml(path)).with_loads() if form is None else form.read(path, Part())


def save_model(
    description: Description, parameters: Parameters, target: str | Path, labels: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """Writes values into a copy of the model file the description came from.

    Args:
        description: whose source is copied.
        parameters: what to write.
        target: the file to write.
        labels: parameter name -> trust label, written as comments.

    Returns:
        Notes on what the format cannot hold.

    Examples:
        >>> robot = ia.load("arm.urdf")
        >>> ia.save_model(robot, robot.prior.replaced({"Fv1": 0.3, "Ia1": 0.0}), "changed.urdf")
        ()
        >>> ia.load("changed.urdf").prior["Fv1"]
        0.3
    """
    return format_of(description.source).write(description, parameters, Path(target), labels or {})
