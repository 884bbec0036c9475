"""One door for every kind of robot description: catalog name, DH YAML, URDF, MJCF, robot card."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from inertica.errors import FileError, InputError, nearest
from inertica.robot.card import describe_card, describe_tree
from inertica.robot.description import Description
from inertica.robot.dh import describe
from inertica.robot.layout import Parameters
from inertica.robot.yamlfile import parse_yaml, read_text, read_yaml

SUFFIXES = (".yaml", ".yml", ".urdf", ".xml", ".mjcf")
CARD = "robot.yaml"
"""The robot card in a folder."""
_PROLOG = re.compile(r"\s*(<\?.*?\?>|<!--.*?-->|<![A-Za-z].*?>)", re.DOTALL)
_TAG = re.compile(r"\s*<([\w:.-]+)")


def load(robot: str | Path) -> Description:
    """Reads a robot.

    Args:
        robot: a catalog name, or the path of a DH YAML, URDF, MJCF or robot card, or of a folder that holds a card as `robot.yaml`,
            such as that of a result.
    """
    if isinstance(robot, str) and robot in catalog():
        return describe(read_yaml(catalog_path(robot)))
    path = Path(robot)
    _check_exists(str(robot), path)
    path = path / CARD if (path / CARD).is_file() else path
    kind = kind_of(path)
    if kind in ("urdf", "mjcf"):
        return describe_tree(path, kind)
    root = read_yaml(path)
    return (describe_card(root) if kind == "card" else describe(root)).with_loads()


def catalog() -> list[str]:
    """Names of the built-in robots."""
    folder = resources.files("inertica.robot") / "catalog"
    return sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml"))


def catalog_path(name: str) -> Path:
    """The file of a built-in robot."""
    return Path(str(resources.files("inertica.robot") / "catalog" / f"{name}.yaml"))


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
    chain = {"root": source.root, "tip": source.tip, "joints": source.joints, "labels": labels}
    if source.format == "urdf":
        from inertica.robot.urdf import write_urdf

        return write_urdf(source.path, target, parameters, **chain)  # type: ignore[arg-type]
    if source.format == "mjcf":
        from inertica.robot.mjcf import write_mjcf

        return write_mjcf(source.path, target, parameters, **chain)  # type: ignore[arg-type]
    raise InputError(f"values cannot be written into a model of format '{source.format}'; dh, urdf and mjcf can be written")


def kind_of(path: Path) -> str:
    """What a file is: dh, card, urdf or mjcf.  XML is told by its root element, YAML by its keys."""
    text = read_text(path)
    if path.suffix.lower() == ".urdf" or text.lstrip().startswith("<"):
        return _xml_kind(path, text)
    root = parse_yaml(text, path)
    if not root.is_mapping:
        raise root.fail("this is not a robot description; expected a mapping with the key 'dh' or 'model'")
    keys = root.mapping()
    if "model" not in keys and "dh" not in keys:
        raise root.fail("this is neither a DH file (key 'dh') nor a robot card (key 'model')")
    return "card" if "model" in keys else "dh"


def _check_exists(given: str, path: Path) -> None:
    try:
        exists = path.exists()
    except ValueError:  # a null byte in the name
        exists = False
    if exists:
        return
    if path.suffix.lower() in SUFFIXES or len(path.parts) > 1:
        raise FileError(path, "there is no such file")
    raise InputError(f"there is no robot or file '{given}'; {nearest(given, catalog())}")


def _xml_kind(path: Path, text: str) -> str:
    """Looks at the root element only; the readers check the rest."""
    position = 0
    while match := _PROLOG.match(text, position):
        position = match.end()
    tag = _TAG.match(text, position)
    kinds = {"robot": "urdf", "mujoco": "mjcf"}
    if tag is None:
        return "urdf" if path.suffix.lower() == ".urdf" else "mjcf"
    if tag[1] not in kinds:
        line = text.count("\n", 0, tag.start(1)) + 1
        raise FileError(path, f"the root element is <{tag[1]}>; URDF files start with <robot>, MJCF files with <mujoco>", line)
    return kinds[tag[1]]
