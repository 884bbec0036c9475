"""Reading XML model files without trusting them, with typed attributes and errors that name file, line and element.

lxml gives the tree.  Expat goes over the bytes first: it refuses document types before an entity could be declared, and it tells
where each element and comment starts, so that `xmledit` can change an attribute and leave every other byte of the file alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeAlias, cast
from xml.parsers import expat

import numpy as np
from lxml import etree

from inertica.arrays import Array
from inertica.errors import FileError, refuse_devices

Element: TypeAlias = etree._Element

EXPAND = (
    "expand the file first: with the option xacro, or `xacro model.urdf.xacro > model.urdf` (of ROS, or from `pip install xacro`)"
)

_START_TAG = re.compile(rb"""<(?:[^<>"']|"[^"]*"|'[^']*')*>""")


@dataclass(frozen=True)
class Span:
    """Where a node stands in the file, in bytes: `opening` is its start tag (or the whole comment), `start`..`end` all of it."""

    start: int
    opening: int
    closing: int  # where its end tag starts; equal to `end` for <a/> and comments
    end: int


@dataclass(frozen=True)
class Document:
    """An XML file: its bytes, its tree, and where each element and comment of the tree stands in the bytes."""

    path: Path
    content: bytes
    root: Element
    spans: dict[Element, Span]

    def error(self, element: Element, problem: str, joint: str | None = None) -> FileError:
        """A FileError at the element's line."""
        return FileError(self.path, problem, line_of(element), joint=joint)


def read_xml(path: str | Path) -> Document:
    """The document in a file; FileError when it cannot be read, is not well formed, or declares a document type."""
    path = Path(path)
    try:
        refuse_devices(path)
        content = path.read_bytes()
    except FileNotFoundError:
        raise FileError(path, "there is no such file") from None
    except IsADirectoryError:
        raise FileError(path, "this is a directory; name the model file in it") from None
    except OSError as error:
        raise FileError(path, f"the file cannot be read ({error.strerror})") from None
    return parse_xml(path, content)


def parse_xml(path: Path, content: bytes) -> Document:
    """The document in these bytes; `path` is for messages."""
    if b"\0" in content:  # UTF-16, or no text at all
        raise FileError(path, "the file is not in a plain text encoding; save it as UTF-8")
    if not content.strip():
        raise FileError(path, "the file is empty")
    spans = _Scanner(path, content).spans()
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, dtd_validation=False, huge_tree=False)
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        line, column = error.position
        raise FileError(path, f"this is not well-formed XML: {_without_position(error.msg or '')}", line, column) from None
    nodes = [node for node in root.iter() if isinstance(node.tag, str) or is_comment(node)]
    return Document(path, content, root, dict(zip(nodes, spans, strict=True)))


class _Scanner:
    """One pass of expat over a file: refuses document types, and notes the spans of elements and comments inside the root."""

    def __init__(self, path: Path, content: bytes) -> None:
        self._path, self._content = path, content
        self._found: list[Span | None] = []
        self._open: list[tuple[int, int, int]] = []  # slot in _found, start, end of the start tag
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._finish
        self._parser.CommentHandler = self._comment
        self._parser.StartDoctypeDeclHandler = self._doctype

    def spans(self) -> list[Span]:
        try:
            self._parser.Parse(self._content, True)
        except expat.ExpatError as error:
            problem = f"this is not well-formed XML: {expat.ErrorString(error.code)}"
            if self._content.lstrip().startswith(b"<?xml") and not self._content.startswith(b"<?xml"):
                problem = (
                    "something stands before <?xml ...?>, which must be the first characters of a file; delete the empty lines"
                )
            raise FileError(self._path, problem, error.lineno, error.offset + 1) from None
        except (LookupError, ValueError):
            raise FileError(self._path, "the file declares an encoding that cannot be read; save it as UTF-8", 1) from None
        return [span for span in self._found if span is not None]

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        start = self._parser.CurrentByteIndex
        tag = _START_TAG.match(self._content, start)
        assert tag is not None  # expat has just accepted this tag
        self._open.append((len(self._found), start, tag.end()))
        self._found.append(None)

    def _finish(self, name: str) -> None:
        slot, start, opening = self._open.pop()
        if self._content[opening - 2 : opening] == b"/>":
            self._found[slot] = Span(start, opening, opening, opening)
        else:
            closing = self._parser.CurrentByteIndex
            self._found[slot] = Span(start, opening, closing, self._content.index(b">", closing) + 1)

    def _comment(self, text: str) -> None:
        if self._open:
            start = self._parser.CurrentByteIndex
            end = self._content.index(b"-->", start) + 3
            self._found.append(Span(start, end, end, end))

    def _doctype(self, *_: object) -> NoReturn:
        line, column = self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1
        problem = "the file declares a document type (<!DOCTYPE>), which robot models do not need; remove it"
        raise FileError(self._path, problem, line, column)


def line_of(element: Element) -> int | None:
    return cast("int | None", element.sourceline)  # the stubs say Ellipsis


def is_comment(node: Element) -> bool:
    return isinstance(node, etree._Comment)


def children(element: Element, *tags: str) -> Iterator[Element]:
    """Child elements, those of the given tags only when any are given; never comments."""
    for child in element:
        if isinstance(child.tag, str) and (not tags or child.tag in tags):
            yield child


def child(element: Element, tag: str) -> Element | None:
    """The first child of that tag."""
    return next(children(element, tag), None)


def describe(element: Element) -> str:
    """How messages call an element: <joint name="elbow">."""
    name = element.get("name")
    return f'<{element.tag} name="{name}">' if name is not None else f"<{element.tag}>"


def text(document: Document, element: Element, name: str) -> str:
    """An attribute that must be there."""
    value = element.get(name)
    if value is None or not value.strip():
        raise document.error(element, f"{describe(element)} lacks the attribute {name}")
    return value.strip()


def floats(document: Document, element: Element, name: str, count: int, default: Sequence[float] | None = None) -> Array:
    """`count` finite numbers from an attribute; the default when it is absent, an error when that is None."""
    value = element.get(name)
    if value is None and default is not None:
        return np.array(default, float)
    return parse_floats(document, element, name, text(document, element, name), count)


def number(document: Document, element: Element, name: str, default: float | None = None) -> float:
    """One finite number from an attribute."""
    return float(floats(document, element, name, 1, None if default is None else (default,))[0])


def number_text(document: Document, element: Element, tag: str, default: float) -> float:
    """One finite number from the text of the first child of that tag; the default where there is none."""
    holder = child(element, tag)
    if holder is None:
        return default
    value = (holder.text or "").strip()
    if value.lower() in ("true", "false"):
        return float(value.lower() == "true")
    if value.lower().lstrip("+-") in ("inf", "infinity"):
        return float(value)
    return float(parse_floats(document, holder, "the text", value, 1)[0])


def parse_floats(document: Document, element: Element, name: str, value: str, count: int | None) -> Array:
    """The finite numbers in a text that stands for attribute `name` of an element; `count` None means any number of them."""
    words = value.split()
    if not words:
        raise document.error(element, f"{name} of {describe(element)} is empty")
    if "${" in value or "$(" in value:
        raise document.error(element, f'{name}="{value}" of {describe(element)} is xacro; {EXPAND}')
    if count is not None and len(words) != count:
        numbers = "1 number" if count == 1 else f"{count} numbers"
        raise document.error(element, f'{name}="{value}" of {describe(element)} should hold {numbers}, not {len(words)}')
    out = []
    for word in words:
        try:
            out.append(float(word))
        except ValueError:
            raise document.error(element, f"{name} of {describe(element)} holds '{word}', which is not a number") from None
        if not math.isfinite(out[-1]):
            raise document.error(element, f"{name} of {describe(element)} holds '{word}', which is not finite")
    return np.array(out)


def _without_position(message: str) -> str:
    return re.sub(r",? ?line \d+, column \d+.*$", "", message)
