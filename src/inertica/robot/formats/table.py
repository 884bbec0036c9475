"""Every format of model files, by name, and which one a file is in."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

from inertica.errors import FileError, InputError, ModelWarning
from inertica.robot.description import Source
from inertica.robot.formats.dh import DH
from inertica.robot.formats.mjcf import MJCF
from inertica.robot.formats.model_format import FileStart, ModelFormat
from inertica.robot.formats.sdf import SDF
from inertica.robot.formats.urdf import URDF
from inertica.robot.tree import Reduced, Tree, reduce
from inertica.robot.yamlfile import parse_yaml, read_text

FORMATS = {
    URDF.name: URDF,
    MJCF.name: MJCF,
    SDF.name: SDF,
    DH.name: DH,
}

CARD_SUFFIXES = (".yaml", ".yml")

_PROLOG = re.compile(r"\s*(<\?.*?\?>|<!--.*?-->|<![A-Za-z].*?>)", re.DOTALL)
_TAG = re.compile(r"\s*<([\w:.-]+)")


def model_suffixes() -> set[str]:
    """Suffixes of files that describe robots, cards among them."""
    return {*CARD_SUFFIXES, *(suffix for form in FORMATS.values() for suffix in form.suffixes)}


def find_format(path: Path) -> ModelFormat | None:
    """The format of a model file; None for a robot card."""
    text = read_text(path)
    xml = text.lstrip().startswith("<")
    tag, line = _root_tag(text) if xml else ("", 0)
    start = FileStart(path, text, tag)
    if "model" in start.keys:
        return None
    if (form := next((form for form in FORMATS.values() if form.sniff(start)), None)) is not None:
        return form
    if not tag and (form := _by_suffix(path, xml)) is not None:
        return form  # damaged or empty; its reader says what is wrong
    raise _unknown(path, text, tag, line)


def format_named(name: str) -> ModelFormat:
    """A format by name."""
    if name not in FORMATS:
        raise InputError(f"there is no model format '{name}'; there are {', '.join(FORMATS)}")
    return FORMATS[name]


def format_of(source: Source) -> ModelFormat:
    """The format of the file that a description came from."""
    return format_named(source.format)


def creating_format() -> ModelFormat:
    """The first format in which a new file can be written of any robot."""
    return next(form for form in FORMATS.values() if form.create is not None)


def tree_titles() -> str:
    """The formats of whole trees, of which a part is chosen, for messages."""
    return " and ".join(form.title for form in FORMATS.values() if form.tree is not None)


def source_tree(source: Source) -> Tree | None:
    """The whole kinematic tree of the file that a description came from; None where the file is one chain."""
    read = format_of(source).tree
    if read is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # said when the model was loaded
        return read(source.path)


def source_part(source: Source, tree: Tree) -> Reduced:
    """The robot of a description again, with the links of the file that it consists of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return reduce(tree, **source.selection)


def _root_tag(text: str) -> tuple[str, int]:
    """The root element of an XML text and its line; nothing else is looked at, the readers check the rest."""
    position = 0
    while match := _PROLOG.match(text, position):
        position = match.end()
    tag = _TAG.match(text, position)
    return (tag[1], text.count("\n", 0, tag.start(1)) + 1) if tag else ("", 0)


def _by_suffix(path: Path, xml: bool) -> ModelFormat | None:
    """The format of a file in which no beginning was found: of its suffix, or any in XML where it at least starts like that."""
    named = [form for form in FORMATS.values() if path.suffix.lower() in form.suffixes and form.sign.startswith("<")]
    some = [form for form in FORMATS.values() if form.sign.startswith("<")] if xml else []
    return next(iter([*named, *some]), None)


def _unknown(path: Path, text: str, tag: str, line: int) -> FileError:
    """What to say of a file in no known format."""
    if tag:
        known = ", ".join(f"{form.title} files start with {form.sign}" for form in FORMATS.values() if form.sign.startswith("<"))
        return FileError(path, f"the root element is <{tag}>; {known}", line)
    root = parse_yaml(text, path)  # raises where it is no YAML
    others = [form for form in FORMATS.values() if not form.sign.startswith("<")]
    signs = " or ".join([*(form.sign for form in others), "key 'model'"])
    if not root.is_mapping:
        return root.fail(f"this is not a robot description; expected a mapping with the {signs}")
    files = " nor ".join([*(f"a {form.title} file ({form.sign})" for form in others), "a robot card (key 'model')"])
    return root.fail(f"this is neither {files}")
