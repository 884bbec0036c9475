"""Text tables: CSV with comma, semicolon, tab or spaces, optionally gzipped.

The whole file is parsed by numpy first; only when that fails a careful parser walks through it to keep what is there, mask what is
incomplete, and name line and column of what is wrong.
"""

from __future__ import annotations

import codecs
import csv
import re
import zlib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inertica.errors import FileError, Fix
from inertica.logs.names import looks_needed
from inertica.logs.readers.csvlists import holds_lists, unfolded
from inertica.logs.readers.guard import Unpacked, read_bytes
from inertica.logs.readers.options import ReadOptions
from inertica.logs.readers.table import LEFT_OUT, MAX_COLUMNS, SIMULATED, Table

_MISSING = {"", "nan", "na", "n/a", "null", "none", "-", "+nan", "-nan"}
_DECIMAL = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?inf(inity)?", re.IGNORECASE | re.ASCII)
_EXACT = 2.0**53
INCOMPLETE = "incomplete line"
_EXAMPLE = "t,q1,q2,tau1,tau2"


@dataclass(frozen=True)
class _Text:
    """A file as lines, with what was found on the way there."""

    path: Path
    lines: list[str]
    broken_off: bool = False
    unterminated: bool = False


@dataclass(frozen=True)
class _Head:
    """The header: names, where the numbers begin (0-based line), and how cells are separated (None: by spaces)."""

    names: list[str]
    first: int
    delimiter: str | None


def read(path: Path, options: ReadOptions) -> Table:
    """The columns of a text table."""
    text = _load(path, options.most_unpacked)
    head = _find_header(text, options.header)
    body = text.lines[head.first :]
    while body and not body[-1].strip():
        body.pop()
    if not body:
        raise FileError(path, "ends after the header; there is no line of numbers", head.first or 1)
    comments = [line.lstrip().lstrip("#%").strip() for line in text.lines[: head.first] if line.lstrip().startswith(("#", "%"))]
    simulated = [c for c in comments if c.startswith(SIMULATED)]
    if not holds_lists(body):
        table = _read_body(text, body, head)
        return replace(table, notes=(*simulated, *table.notes))
    mark, cut_off = head.delimiter or " ", text.broken_off or text.unterminated
    flat = unfolded(path, head.names, body, head.first + 1, mark, lambda line: _split(line, head.delimiter), cut_off)
    table = _read_body(text, flat.body, replace(head, names=flat.names))
    return replace(table, joints=flat.joints, notes=(*simulated, *table.notes, *flat.notes))


def _read_body(text: _Text, body: list[str], head: _Head) -> Table:
    fast = None if text.broken_off else _fast(body, head)
    if fast is not None:
        lines = np.arange(head.first + 1, head.first + 1 + len(body))
        if not text.unterminated:
            return Table(text.path, "csv", _columns(fast, body, head), lines)
        fast[-1, -1] = np.nan
        masks = {INCOMPLETE: np.arange(len(body)) == len(body) - 1}
        return Table(text.path, "csv", _columns(fast, body, head), lines, masks=masks, notes=(_unterminated(int(lines[-1])),))
    return _careful(text, body, head)


def _unterminated(line: int) -> str:
    """What is said of a last line without an end: if it was cut off, its last number may have lost digits, which nothing shows."""
    return f"line {line}, the last one, has no line end, so that its last number may have lost digits; that sample is masked"


def _load(path: Path, most: float | None = None) -> _Text:
    """Unpack and decode; a gzip stream that breaks off yields what came before."""
    raw = read_bytes(path)
    broken_off = False
    if raw[:2] == b"\x1f\x8b":
        raw, broken_off = _unzip(path, raw, Unpacked(path, len(raw), most))
    if not raw.strip():
        raise FileError(path, f"is empty; a log has a header such as {_EXAMPLE} and lines of numbers")
    text = _decode(path, raw).replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        before = text[: text.index("\0")]
        raise FileError(path, "holds a zero byte, so it is no text", before.count("\n") + 1, len(before) - before.rfind("\n"))
    lines = text.split("\n")
    return _Text(path, lines, broken_off, bool(lines[-1].strip()))


def _unzip(path: Path, raw: bytes, budget: Unpacked) -> tuple[bytes, bool]:
    """The content of a gzip file of one or several members, and whether the last one breaks off."""
    out: list[bytes] = []
    while raw[:2] == b"\x1f\x8b":
        member = zlib.decompressobj(wbits=31)
        try:
            out.append(member.decompress(raw, budget.left + 1))
        except zlib.error as error:
            raise FileError(path, f"the gzip data are damaged ({error}); copy the file again") from None
        budget.take(len(out[-1]))
        if not member.eof:
            return b"".join(out), True
        raw = member.unused_data
    if raw.strip(b"\0"):
        raise FileError(path, f"{len(raw)} bytes follow the end of the gzip data; copy the file again")
    return b"".join(out), False


def _decode(path: Path, raw: bytes) -> str:
    encoding = "utf-16" if raw[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        line, column = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
        problem = f"the byte 0x{raw[error.start]:02x} is no {encoding[:6].rstrip('-').upper()} text; save the file as UTF-8"
        raise FileError(path, problem, line, column) from None


def _find_header(text: _Text, stated: tuple[str, ...] | None = None) -> _Head:
    """The first line that is no comment, or the last comment when that line holds numbers (as numpy writes it).

    Args:
        text: the file.
        stated: names that the user has for the columns; then a file needs no header.
    """
    comment = None
    for k, line in enumerate(text.lines):
        if not line.strip():
            continue
        if line.lstrip().startswith(("#", "%")):
            comment = line.lstrip().lstrip("#%").strip()
            continue
        delimiter = _delimiter(line)
        cells = _split(line, delimiter)
        if not any(_is_number(cell, delimiter) for cell in cells):
            return _Head(
                _names(text.path, cells if stated is None else _stated(text.path, stated, cells, k + 1), k + 1), k + 1, delimiter
            )
        if comment and len(named := _split(comment, _delimiter(comment))) == len(cells):
            return _Head(_names(text.path, named, k), k, delimiter)
        if stated is not None:
            return _Head(_names(text.path, _stated(text.path, stated, cells, k + 1), k + 1), k, delimiter)
        number = next(c for c, cell in enumerate(cells) if _is_number(cell, delimiter))
        problem = (
            f"the header should name the columns, such as {_EXAMPLE}, but holds the number {cells[number][:30]}; if the file has no "
            "header, state the names of its columns in their order"
        )
        fix = Fix("header", f"as --columns {_EXAMPLE} on the command line or columns: [{_EXAMPLE}] in the card")
        raise FileError(text.path, problem, k + 1, number + 1, fix=fix)
    raise FileError(text.path, f"holds only comments; a log has a header such as {_EXAMPLE} and lines of numbers")


def _stated(path: Path, stated: tuple[str, ...], cells: list[str], line: int) -> list[str]:
    """Names that the user has for the columns; a `-` leaves one out."""
    if len(cells) != len(stated):
        raise FileError(
            path, f"{len(stated)} columns are stated ({', '.join(stated[:20])}), but this line has {len(cells)} cells", line
        )
    return ["" if name == LEFT_OUT else name for name in stated]


def _delimiter(line: str) -> str | None:
    return next((mark for mark in ("\t", ";", ",") if mark in line), None)


def _split(line: str, delimiter: str | None) -> list[str]:
    cells = [cell.strip() for cell in line.split(delimiter)]
    if '"' not in line:
        return cells
    if delimiter is not None and line.count('"') % 2 == 0:  # a quoted cell may hold the delimiter
        try:
            return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))]
        except csv.Error:  # a cell longer than any number
            return cells
    return [cell[1:-1].strip() if len(cell) > 1 and cell[0] == cell[-1] == '"' else cell for cell in cells]


def _is_number(cell: str, delimiter: str | None) -> bool:
    return bool(_DECIMAL.fullmatch(cell.replace(",", ".") if delimiter == ";" else cell))


def _names(path: Path, cells: list[str], line: int) -> list[str]:
    if len(cells) > MAX_COLUMNS:
        raise FileError(path, f"the header has {len(cells)} columns, which no log has", line)
    names = [cell or f"column_{k + 1}" for k, cell in enumerate(cells)]
    for k, name in enumerate(names):
        if name in names[:k]:
            raise FileError(path, f"the column '{name[:60]}' appears twice in the header; rename one of them", line, k + 1)
    return names


def _fast(body: list[str], head: _Head) -> NDArray[np.float64] | None:
    """The numbers when nothing is unusual, else None."""
    try:
        data = np.loadtxt(body, delimiter=head.delimiter, comments=None, ndmin=2)
    except (ValueError, OverflowError):
        return None
    return data if data.shape == (len(body), len(head.names)) else None


def _columns(data: NDArray[np.float64], body: list[str], head: _Head) -> dict[str, NDArray[np.generic]]:
    """Named columns; whole numbers beyond the digits of a float (nanoseconds since 1970) are read once more as integers."""
    columns: dict[str, NDArray[np.generic]] = dict(zip(head.names, data.T, strict=True))
    with np.errstate(invalid="ignore"):
        large = np.flatnonzero(np.nanmax(np.where(np.isfinite(data), np.abs(data), 0.0), axis=0, initial=0.0) > _EXACT)
    for k in large:
        try:
            exact = np.array([int(_split(line, head.delimiter)[k]) for line in body], np.int64)
        except (ValueError, OverflowError):
            continue
        columns[head.names[k]] = exact
    return columns


def _careful(text: _Text, body: list[str], head: _Head) -> Table:
    """Cell by cell: missing values become NaN, an incomplete last line is masked, anything else wrong is named."""
    rows: list[list[float]] = []
    lines: list[int] = []
    words: dict[str, FileError] = {}
    cut = short = False
    last = len(body) - 1
    decimal_comma = head.delimiter == ";" and not any("." in line for line in body[:5]) and any("," in line for line in body[:5])
    names = _without_trailing(head, body)
    for k, line in enumerate(body):
        if not line.strip() or line.lstrip().startswith(("#", "%")):
            continue
        number = head.first + 1 + k
        cells = _split(line.replace(",", ".") if decimal_comma else line, head.delimiter)
        if len(cells) == len(names) + 1 and cells[-1] == "":
            cells.pop()
        if k == last and (text.broken_off or text.unterminated):
            cut, short = True, text.broken_off or len(cells) < len(names)
            # the last cell may have lost digits, so it is given up together with those that are not there
            cells = [*cells[: len(names)][:-1], *[""] * len(names)][: len(names)]
        elif len(cells) != len(names):
            for name, error in words.items():  # the first fault is named
                if looks_needed(name):
                    raise error
            problem = f"this line has {len(cells)} cells, the header has {len(names)}"
            raise FileError(text.path, problem, number, min(len(cells), len(names)) + 1)
        rows.append(_numbers(text.path, cells, names, number, words))
        lines.append(number)
    table = _table(text, _Head(names, head.first, head.delimiter), rows, lines, cut, decimal_comma, short)
    if len(words) == len(names):
        raise next(iter(words.values()))
    numbers = {name: values for name, values in table.columns.items() if name not in words}
    return replace(table, columns=numbers, words=words)


def _without_trailing(head: _Head, body: list[str]) -> list[str]:
    """The names without a nameless last one that every line leaves empty: the delimiter was written behind each cell."""
    nameless = head.names[-1] == f"column_{len(head.names)}" and len(head.names) > 1
    if nameless and all(_split(line, head.delimiter)[-1] == "" for line in body if line.strip()):
        return head.names[:-1]
    return head.names


def _numbers(path: Path, cells: list[str], names: list[str], line: int, words: dict[str, FileError]) -> list[float]:
    """Numbers of a line; a column with a cell that is none is entered in `words`: whether it is needed, others know."""
    try:
        quick = [float(cell or "nan") for cell in cells]
    except ValueError:
        quick = None
    # Python also takes 1_0 and the digits of other scripts for numbers
    if quick is not None and not any("_" in cell or not cell.isascii() for cell in cells):
        return quick
    out = []
    for k, cell in enumerate(cells):
        if cell.lower() in _MISSING:
            out.append(float("nan"))
        elif _DECIMAL.fullmatch(cell):
            out.append(float(cell))
        else:
            out.append(float("nan"))
            if names[k] not in words:
                words[names[k]] = FileError(path, f"'{cell[:40]}' in the column '{names[k][:60]}' is no number", line, k + 1)
    return out


def _table(
    text: _Text, head: _Head, rows: list[list[float]], lines: list[int], cut: bool, decimal_comma: bool, short: bool
) -> Table:
    if not rows:
        raise FileError(text.path, "ends after the header; there is no line of numbers", head.first or 1)
    data = np.array(rows, float)
    notes = ("numbers are written with decimal commas",) * decimal_comma
    masks: dict[str, NDArray[np.bool_]] = {}
    warnings: tuple[str, ...] = ()
    if cut:
        masks[INCOMPLETE] = np.arange(len(rows)) == len(rows) - 1
        what = "the gzip stream breaks off" if text.broken_off else "the file breaks off"
        if short:
            warnings = (f"{what} in line {lines[-1]}; that sample is masked, later ones are lost",)
        else:
            notes = (*notes, _unterminated(lines[-1]))
    elif text.broken_off:
        warnings = (f"the gzip stream breaks off after line {lines[-1]}; later samples are lost",)
    columns = dict(zip(head.names, data.T, strict=True))
    return Table(text.path, "csv", columns, np.array(lines), masks=masks, warnings=warnings, notes=notes)
