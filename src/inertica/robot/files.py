"""Files that describe robots: where those of the catalog lie, and of what kind a file is."""

from __future__ import annotations

import re
from pathlib import Path

from inertica.errors import FileError, InputError, nearest
from inertica.robot.yamlfile import parse_yaml, read_text

CATALOG = Path(__file__).parent / "catalog"
SUFFIXES = (".yaml", ".yml", ".urdf", ".xml", ".mjcf")
CARD = "robot.yaml"
"""The robot card in a folder."""
_PROLOG = re.compile(r"\s*(<\?.*?\?>|<!--.*?-->|<![A-Za-z].*?>)", re.DOTALL)
_TAG = re.compile(r"\s*<([\w:.-]+)")


def catalog() -> list[str]:
    """Names of the built-in robots."""
    return sorted(file.stem for file in CATALOG.glob("*.yaml"))


def catalog_path(name: str) -> Path:
    """The file of a built-in robot."""
    return CATALOG / f"{name}.yaml"


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


def check_exists(given: str, path: Path) -> None:
    """Refuses a path where there is nothing."""
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
