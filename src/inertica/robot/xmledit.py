"""Changing single attributes and elements of an XML file as text, so that every other byte stays what the author wrote.

A serialiser would normalise quotes, spaces in tags and line ends; people compare model files with `diff`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from inertica.escape import xml_comment
from inertica.later import Deferred
from inertica.robot.xmlfile import Document, Element, is_comment

saxutils = Deferred("xml.sax.saxutils")
_ATTRIBUTE = re.compile(rb"""\s+([^\s=<>"'/]+)\s*=\s*("[^"]*"|'[^']*')""")

Attributes = dict[str, str]


class Edits:
    """Changes to a document, collected and applied at once."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._replacements: list[tuple[int, int, bytes]] = []
        self._new_attributes: dict[Element, list[bytes]] = defaultdict(list)
        self._new_children: dict[Element, list[tuple[bool, str, Attributes, Iterable[tuple[str, Attributes]]]]] = defaultdict(
            list
        )

    def __bool__(self) -> bool:
        return bool(self._replacements or self._new_attributes or self._new_children)

    def set(self, element: Element, name: str, value: str) -> None:
        """Give an attribute a value; nothing happens when it has that value."""
        if element.get(name) == value:
            return
        where = self._attribute(element, name)
        if where is None:
            self._new_attributes[element].append(_bytes(f"{name}={saxutils.quoteattr(value)}"))
        else:
            self._replacements.append((where[1], where[2], _bytes(saxutils.quoteattr(value))))

    def remove(self, element: Element, name: str) -> None:
        """Take an attribute away, with the space before it."""
        where = self._attribute(element, name)
        if where is not None:
            self._replacements.append((where[0], where[2], b""))

    def replace(self, element: Element, tag: str, attributes: Attributes) -> None:
        """Another element, without children, in the place of one that is not changed otherwise."""
        span = self._document.spans[element]
        self._replacements.append((span.start, span.end, _render(tag, attributes, (), b"", b"")))

    def add(
        self, parent: Element, tag: str, attributes: Attributes, inner: Iterable[tuple[str, Attributes]] = (), first: bool = False
    ) -> None:
        """A new child element on a line of its own, last or first in the parent; `inner` are its own children."""
        self._new_children[parent].append((first, tag, attributes, inner))

    def set_text(self, element: Element, value: str) -> None:
        """Give an element without children a text."""
        span = self._document.spans[element]
        if span.closing == span.end:  # <a/> opens up
            closed = b">" + _bytes(saxutils.escape(value)) + b"</" + str(element.tag).encode() + b">"
            self._replacements.append((self._tag_end(element), span.opening, closed))
        else:
            self._replacements.append((span.opening, span.closing, _bytes(saxutils.escape(value))))

    def insert(self, parent: Element, text: str, first: bool = False) -> None:
        """A new child on a line of its own, as XML."""
        self._new_children[parent].append((first, text, {}, ()))

    def comment(self, parent: Element, mark: str, words: str) -> None:
        """A comment `mark: words` in the parent, in place of an earlier one with the same mark."""
        text = xml_comment(f"{mark}: {words}").encode("ascii", "replace")
        for node in parent:
            if is_comment(node) and (node.text or "").strip().startswith(f"{mark}:"):
                span = self._document.spans[node]
                self._replacements.append((span.start, span.end, text))
                return
        self._new_children[parent].append((True, text.decode("ascii"), {}, ()))

    def apply(self) -> bytes:
        """The file's bytes with all changes made."""
        changes = list(self._replacements)
        for element, attributes in self._new_attributes.items():
            end = self._tag_end(element)
            changes.append((end, end, b"".join(b" " + a for a in attributes)))
        for parent in self._new_children:
            changes.extend(self._insertions(parent))
        content = self._document.content
        # several insertions may meet at one place (a new attribute and the first child of <a/>): the shorter range goes first
        for start, end, new in sorted(changes, key=lambda change: change[:2], reverse=True):
            content = content[:start] + new + content[end:]
        return content

    def _attribute(self, element: Element, name: str) -> tuple[int, int, int] | None:
        span = self._document.spans[element]
        for match in _ATTRIBUTE.finditer(self._document.content, span.start, span.opening):
            if match[1] == name.encode():
                return match.start(), match.start(2), match.end()
        return None

    def _tag_end(self, element: Element) -> int:
        """Where another attribute may be written: after the last one, before the space of ` />`."""
        span = self._document.spans[element]
        closed = self._document.content[span.opening - 2 : span.opening] == b"/>"
        tag = self._document.content[span.start : span.opening - (2 if closed else 1)]
        return span.start + len(tag.rstrip())

    def _insertions(self, parent: Element) -> list[tuple[int, int, bytes]]:
        span, content = self._document.spans[parent], self._document.content
        newline = b"\r\n" if b"\r\n" in content else b"\n"
        outer = self._indent(span.start)
        inside = self._child_indent(parent, outer)
        step = inside[len(outer) :] or b"  "
        lines = {True: b"", False: b""}
        for first, tag, attributes, inner in self._new_children[parent]:
            lines[first] += newline + inside + _render(tag, attributes, inner, newline + inside, newline + inside + step)
        if span.closing == span.end:  # <a/> opens up
            rest = lines[True] + lines[False] + newline + outer
            return [(self._tag_end(parent), span.opening, b">" + rest + b"</" + str(parent.tag).encode() + b">")]
        held = content[span.opening : span.closing]
        if not held.strip():
            return [(span.opening, span.closing, lines[True] + lines[False] + newline + outer)]
        before, after = held[: len(held) - len(held.lstrip())], held[len(held.rstrip()) :]
        last = span.closing - len(after)
        return [
            (span.opening, span.opening, lines[True] + (b"" if b"\n" in before or not lines[True] else newline + inside)),
            (last, last, lines[False] + (b"" if b"\n" in after or not lines[False] else newline + outer)),
        ]

    def _child_indent(self, parent: Element, outer: bytes) -> bytes:
        for node in parent:
            if node in self._document.spans and self._starts_line(self._document.spans[node].start):
                return self._indent(self._document.spans[node].start)
        return outer + (b"\t" if outer.startswith(b"\t") else b"  ")

    def _indent(self, position: int) -> bytes:
        line = self._document.content[self._document.content.rfind(b"\n", 0, position) + 1 : position]
        return line[: len(line) - len(line.lstrip())]

    def _starts_line(self, position: int) -> bool:
        content = self._document.content
        return not content[content.rfind(b"\n", 0, position) + 1 : position].strip()


def _bytes(text: str) -> bytes:
    """Attributes in any encoding that a file may declare: other characters as references."""
    return text.encode("ascii", "xmlcharrefreplace")


def _render(tag: str, attributes: Attributes, inner: Iterable[tuple[str, Attributes]], outer: bytes, inside: bytes) -> bytes:
    if tag.startswith("<"):  # a comment, or XML as it is
        return tag.encode("ascii")
    opening = f"<{tag}" + "".join(f" {k}={saxutils.quoteattr(v)}" for k, v in attributes.items())
    parts = [_render(t, a, (), inside, inside) for t, a in inner]
    if not parts:
        return _bytes(opening) + b"/>"
    return _bytes(opening) + b">" + b"".join(inside + p for p in parts) + outer + b"</" + tag.encode("ascii") + b">"
