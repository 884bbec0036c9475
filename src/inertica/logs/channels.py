"""Which column is which signal of which joint: by what the names say, or by the map in the robot card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from inertica.errors import FileError
from inertica.logs.names import Header, Meaning, clock_word, meaning, take_apart, tokens, word_meaning
from inertica.logs.readers.options import ColumnMap
from inertica.logs.readers.table import Table
from inertica.logs.units import SIGNALS

HOW = 'say in the card which columns they are, for example columns: {t: stamp, q: "position_{}", tau: "effort_{}"}'


@dataclass(frozen=True)
class Selection:
    """The columns of a table by meaning.

    Args:
        joints: names of the joints, in the robot's order.
        clock: the column of the clock, None when there is none.
        signals: symbol -> one column per joint, None where the file has none.
        efforts: symbols found under the word effort, which may be currents.
        notes: what was decided, one sentence each.
        warnings: what was left undecided.
    """

    joints: tuple[str, ...]
    clock: Header | None
    signals: Mapping[str, tuple[Header | None, ...]]
    efforts: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Found:
    header: Header
    meaning: Meaning
    joint: str | None = None  # by name; else meaning.number counts


def select(
    table: Table, joints: Sequence[str] | None = None, stated: ColumnMap | None = None, every: Sequence[str] = ()
) -> Selection:
    """Find clock and signals among the columns.

    Args:
        table: what the reader delivered.
        joints: names of the robot's joints; None when no robot is given, then the log decides how many there are.
        stated: the card's `columns`.
        every: names of all joints of the model that these were selected from; numbers count them where a log has as many.
    """
    stated = dict(stated or {})
    headers = [take_apart(text) for text in table.columns]
    names = tuple(joints) if joints is not None else table.joints
    signals: dict[str, tuple[Header | None, ...]] = {}
    for symbol, pattern in stated.items():
        if symbol != "t":
            signals[symbol] = _stated(table, headers, symbol, pattern, names)
    clock = _stated_clock(table, headers, stated["t"]) if "t" in stated else _find_clock(table, headers)
    taken = {h.text for row in signals.values() for h in row if h} | ({clock.text} if clock else set())
    free = [header for header in headers if header.text not in taken]
    found = [f for f in _interpret(free, names) if f.meaning.symbol not in stated]
    found, doubts = _resolve(found)
    if not found and not signals and len(names) <= 1:
        # a robot of one joint needs no numbers: t,q,tau
        said = [(header, word_meaning(header.name)) for header in free]
        found = [_Found(h, Meaning(m.symbol, 1, m.effort)) for h, m in said if m is not None and not m.doubtful]
    if not names:
        names = _numbered_names(table, found, signals)
    by_name = {f.meaning.symbol for f in found if f.joint is not None}
    numbered = [f for f in found if f.joint is None and f.meaning.symbol not in by_name]
    signals |= _by_name(table, [f for f in found if f.joint is not None], names)
    signals |= _by_number(table, _selected(numbered, names, every), names)
    _check_any(table, signals, names)
    efforts = frozenset(f.meaning.symbol for f in found if f.meaning.effort)
    return Selection(names, clock, signals, efforts, tuple(_absent(table, signals, names)), tuple(doubts))


def _stated(
    table: Table, headers: list[Header], symbol: str, pattern: str | Sequence[str], names: tuple[str, ...]
) -> tuple[Header, ...]:
    """The columns a card names: a list, or a pattern whose {} is the joint's name or its number from 1 or from 0."""
    known = {key: header for header in headers for key in (header.name, header.text)}
    if not isinstance(pattern, str):
        tries = [list(pattern)]
        if names and len(pattern) != len(names):
            raise FileError(table.path, f"the card names {len(pattern)} columns for {symbol}, but there are {len(names)} joints")
    elif names:
        numbers = [[pattern.replace("{}", str(k + first)) for k in range(len(names))] for first in (1, 0)]
        tries = [[pattern.replace("{}", name) for name in names], *numbers]
    else:
        every = [[pattern.replace("{}", str(k + first)) for k in range(len(headers))] for first in (0, 1)]
        tries = [list(takewhile(known.__contains__, columns)) for columns in every]
    for columns in tries:
        if columns and all(column in known for column in columns):
            return tuple(known[column] for column in columns)
    best = max(tries, key=lambda columns: sum(column in known for column in columns), default=[])
    missing = next((column for column in best if column not in known), str(pattern).replace("{}", "1"))
    raise FileError(
        table.path, f"the column '{missing}' that the card names for {symbol} is not there; the file has: {table.shown()}"
    )


def _stated_clock(table: Table, headers: list[Header], name: str | Sequence[str]) -> Header:
    for header in headers:
        if name in (header.name, header.text):
            return header
    raise FileError(table.path, f"the column '{name}' that the card names for t is not there; the file has: {table.shown()}")


def _find_clock(table: Table, headers: list[Header]) -> Header | None:
    clocks = [header for header in headers if clock_word(header.name)]
    exact = [header for header in clocks if header.name == "t"]
    clocks = exact or clocks
    if len(clocks) > 1:
        names = ", ".join(f"'{c.text}'" for c in clocks)
        raise FileError(
            table.path, f"has {len(clocks)} clocks: {names}; say in the card which one counts: columns: {{t: {clocks[0].name}}}"
        )
    return clocks[0] if clocks else None


def _interpret(headers: list[Header], names: tuple[str, ...]) -> list[_Found]:
    """What each name says; names of joints are looked for before numbers, the longest first (`wrist_1` before `wrist`)."""
    parts = sorted(((tuple(tokens(name)), name) for name in names), key=lambda item: -len(item[0]))
    out: list[_Found] = []
    for header in headers:
        words = tokens(header.name)
        joint, rest = _with_joint(words, parts)
        said = word_meaning("_".join(rest)) if joint is not None else None
        if said is not None:
            out.append(_Found(header, said, joint))
        elif (said := meaning(header.name)) is not None:
            out.append(_Found(header, said))
    return out


def _with_joint(words: list[str], parts: list[tuple[tuple[str, ...], str]]) -> tuple[str | None, list[str]]:
    """The joint whose name a column begins or ends with, and the rest of the words."""
    for name_words, name in parts:
        k = len(name_words)
        if not k or k >= len(words):
            continue
        if tuple(words[:k]) == name_words:
            return name, words[k:]
        if tuple(words[-k:]) == name_words:
            return name, words[:-k]
    return None, words


def _resolve(found: list[_Found]) -> tuple[list[_Found], list[str]]:
    """Settle names with two readings: `q_d` is the desired position where a velocity is there as well, else undecided."""
    symbols = {f.meaning.symbol for f in found if not f.meaning.doubtful}
    kept = [f for f in found if not f.meaning.doubtful or (f.meaning.doubtful in symbols and f.meaning.symbol not in symbols)]
    left = [f.header.text for f in found if f not in kept]
    text = f"{left[0]} and the like may be desired positions or velocities and were not used; {HOW}" if left else ""
    return kept, [text] if text else []


def _numbered_names(table: Table, found: list[_Found], signals: Mapping[str, tuple[Header | None, ...]]) -> tuple[str, ...]:
    """joint_1 ... joint_n, n being what the numbers in the file reach."""
    if signals:
        n = len(next(iter(signals.values())))
        if any(len(row) != n for row in signals.values()):
            counts = ", ".join(f"{len(row)} for {symbol}" for symbol, row in signals.items())
            raise FileError(table.path, f"the stated columns do not agree on the number of joints: {counts}")
    else:
        numbers = [f.meaning.number for f in found if f.meaning.number is not None]
        n = max(numbers) - min(*numbers, 1) + 1 if numbers else 0
        if n > len(table.columns):
            raise FileError(
                table.path, f"numbers joints up to {max(numbers)} but has {len(table.columns)} columns: {table.shown()}; {HOW}"
            )
    return tuple(f"joint_{j + 1}" for j in range(n))


def _by_name(table: Table, found: list[_Found], names: tuple[str, ...]) -> dict[str, tuple[Header | None, ...]]:
    rows: dict[str, list[Header | None]] = {}
    for f in found:
        row = rows.setdefault(f.meaning.symbol, [None] * len(names))
        _put(table, row, names.index(str(f.joint)), f)
    return {symbol: tuple(row) for symbol, row in rows.items()}


def _selected(found: list[_Found], names: tuple[str, ...], every: Sequence[str]) -> list[_Found]:
    """Numbers of the selected joints, where those of the log count all joints of the model."""
    numbers = {f.meaning.number for f in found}
    first = 0 if 0 in numbers else 1
    if len(every) <= len(names) or numbers != set(range(first, first + len(every))):
        return found
    own = {every.index(name): k for k, name in enumerate(names) if name in every}
    there = [(f, own.get(int(f.meaning.number or 0) - first)) for f in found]
    return [replace(f, meaning=replace(f.meaning, number=k + first)) for f, k in there if k is not None]


def _by_number(table: Table, found: list[_Found], names: tuple[str, ...]) -> dict[str, tuple[Header | None, ...]]:
    """Columns with numbers, which count from 0 where a 0 occurs and from 1 elsewhere."""
    first = 0 if any(f.meaning.number == 0 for f in found) else 1
    rows: dict[str, list[Header | None]] = {}
    for f in found:
        joint = int(f.meaning.number or 0) - first
        if joint >= len(names):
            raise FileError(
                table.path,
                f"the column '{f.header.text}' belongs to joint number {joint + 1}, but there are {len(names)} joints; {HOW}",
            )
        _put(table, rows.setdefault(f.meaning.symbol, [None] * len(names)), joint, f)
    return {symbol: tuple(row) for symbol, row in rows.items()}


def _put(table: Table, row: list[Header | None], joint: int, found: _Found) -> None:
    other = row[joint]
    if other is not None:
        kind = SIGNALS[found.meaning.symbol].kind
        raise FileError(
            table.path, f"both '{other.text}' and '{found.header.text}' look like the {kind} of joint {joint + 1}; {HOW}"
        )
    row[joint] = found.header


def _check_any(table: Table, signals: Mapping[str, tuple[Header | None, ...]], names: tuple[str, ...]) -> None:
    if set(signals) & {"q", "theta", "tau", "taum", "i"}:
        return
    unnamed = not names or names[0] == "joint_1"
    hint = "" if unnamed else f"; the robot's joints are {', '.join(names)}"
    raise FileError(
        table.path,
        f"no column is recognised as a joint's position, torque or current; the file has: {table.shown()}{hint}; {HOW}",
    )


def _absent(table: Table, signals: Mapping[str, tuple[Header | None, ...]], names: tuple[str, ...]) -> list[str]:
    """A word on signals that some joints lack."""
    out = []
    for symbol, row in signals.items():
        lacking = [name for name, header in zip(names, row, strict=True) if header is None]
        if lacking:
            out.append(f"no {SIGNALS[symbol].kind} ({symbol}) of {', '.join(lacking)} in {table.path.name}")
    return out
