"""Text of users and files inside files that other programs read: one function for every language that is written here.

Names of robots, joints and logs are whatever somebody typed.  HTML has its own functions beside its tables (`report/html.py`,
`display.py`); YAML and JSON are written by their libraries.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

_COMMENT = re.compile(r"[^A-Za-z0-9 .,:;()\[\]<>=+*/^_-]")
"""What comments of programs do not hold: line ends and backslashes (line splices), quotes (ends of docstrings), ? (trigraphs), and
everything beyond ASCII, such as marks that turn the direction of reading."""

_STRING = re.compile(r"[^A-Za-z0-9 .,:;()+_-]")
"""What strings of programs hold as numbers only: ? for its trigraphs and % for those who print them as a format, too."""

_FORMULA = ("=", "+", "-", "@")
"""What a cell begins with that spreadsheets compute."""

_BREAK = re.compile("[\x00-\x1f\x7f\x85\u2028\u2029]")
"""Tabs and what somebody may take for the end of a row, quoted or not."""

_TEX = str.maketrans({"\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\~{}", **{sign: f"\\{sign}" for sign in "&%#_{}$"}})


def one_line(text: str) -> str:
    """Without line breaks and control characters: for terminals, which they garble, and for comments that end with their line."""
    words = " ".join(text.split())
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in words)


def code_comment(text: str) -> str:
    """A part of one line of a comment in C, C++ and Python, also between triple quotes."""
    return _COMMENT.sub("_", text).replace("*/", "* /").replace("/*", "/ *")


def c_string(text: str) -> str:
    """A string literal of C in ASCII: bytes of UTF-8 as three octal digits each, so that a digit that follows is none of them."""

    def octal(match: re.Match[str]) -> str:
        return "".join(f"\\{byte:03o}" for byte in match[0].encode("utf-8", "surrogatepass"))

    return f'"{_STRING.sub(octal, text)}"'


def python_string(text: str) -> str:
    """A string literal of Python in ASCII."""
    return '"' + _STRING.sub(lambda match: f"\\U{ord(match[0]):08x}", text) + '"'


def usd_name(text: str) -> str:
    """A name of OpenUSD: letters, digits and underscores, and no digit first."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", text) or "_"
    return f"_{name}" if name[0].isdigit() else name


def usd_string(text: str) -> str:
    """A string of OpenUSD on one line."""
    words = one_line(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{words}"'


def xml_comment(text: str) -> str:
    """A comment of XML; two dashes in a row would end it."""
    return f"<!-- {re.sub('-(?=-)', '- ', one_line(text))} -->"


def tex(text: str) -> str:
    """Text in a paragraph or a cell of LaTeX."""
    return one_line(text).translate(_TEX)


def figure_text(text: str) -> str:
    """Text in a figure of Matplotlib, where two dollar signs would begin and end a formula."""
    return one_line(text).replace("$", r"\$")


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Rows as comma-separated values; text that a spreadsheet would take for a formula gets an apostrophe in front."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([_cell(value) for value in row] for row in rows)
    return out.getvalue()


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = _BREAK.sub(" ", value)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def file_stem(text: str, otherwise: str = "robot") -> str:
    """A file name without suffix that leads nowhere else and that every file system takes."""
    return re.sub(r"[^A-Za-z0-9_.()+ -]", "_", text)[:60].strip(" .") or otherwise
