"""Which column is which signal of which joint: by what the names say, or by the map in the robot card."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from inertica.errors import FileError, Fix
from inertica.logs.names import (
    Header,
    Meaning,
    clock_word,
    meaning,
    rank,
    take_apart,
    tokens,
    topics_removed,
    torque_word,
    word_meaning,
)
from inertica.logs.readers.options import ColumnMap
from inertica.logs.readers.table import Table
from inertica.logs.units import SIGNALS

COLUMNS = Fix(
    "columns",
    'say in the card which columns they are, for example columns: {t: stamp, q: "position_{}", tau: "effort_{}"}, or on the command '
    "line: --columns 't=stamp,q=position_{},tau=effort_{}'",
)


@dataclass(frozen=True)
class ChannelSelection:
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
    words: tuple[str, ...] = ()  # of the name, without the joint

    @property
    def place(self) -> str | int | None:
        """The joint, by name or number."""
        return self.meaning.number if self.joint is None else self.joint


def select(
    table: Table, joints: Sequence[str] | None = None, stated: ColumnMap | None = None, every: Sequence[str] = ()
) -> ChannelSelection:
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
    names, renamed = _names_of_file(table, names)
    _check_words(table, names, stated)
    signals: dict[str, tuple[Header | None, ...]] = {}
    for symbol, pattern in stated.items():
        if symbol != "t":
            signals[symbol] = _stated(table, headers, symbol, pattern, names)
    clock = find_clock(table, stated)
    taken = {h.text for row in signals.values() for h in row if h} | ({clock.text} if clock else set())
    free = [header for header in headers if header.text not in taken]
    matches = [f for f in _interpret(free, names) if f.meaning.symbol not in stated]
    matches, doubts = _resolve(matches)
    matches = _best_named(matches)
    if not matches and not signals and len(names) <= 1:
        # a robot of one joint needs no numbers: t,q,tau
        meanings = [(header, word_meaning(header.name)) for header in free]
        matches = [_Found(h, Meaning(m.symbol, 1, m.effort)) for h, m in meanings if m is not None and not m.doubtful]
    if not names:
        names = _numbered_names(table, matches, signals)
    by_name = {f.meaning.symbol for f in matches if f.joint is not None}
    numbered = [f for f in matches if f.joint is None and f.meaning.symbol not in by_name]
    signals |= _by_name(table, [f for f in matches if f.joint is not None], names)
    signals |= _by_number(table, _selected(numbered, names, every), names)
    _check_any(table, signals, names)
    efforts = frozenset(f.meaning.symbol for f in matches if f.meaning.effort)
    notes = (*renamed, *_absent(table, signals, names), *_left_out(table))
    other = () if "tau" in stated else _other_torques(free, matches, signals, (*names, *every))
    return ChannelSelection(names, clock, signals, efforts, notes, (*doubts, *other))


def _stated(
    table: Table, headers: list[Header], symbol: str, pattern: str | Sequence[str], names: tuple[str, ...]
) -> tuple[Header | None, ...]:
    """The columns a card names: a list, or a pattern whose {} is the joint's name or its number from 1 or from 0.

    Of signals that joints may lack, those that are there.
    """
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
    if SIGNALS[symbol].partial and any(column in known for column in best):
        return tuple(known.get(column) for column in best)
    missing = next((column for column in best if column not in known), str(pattern).replace("{}", "1"))
    raise FileError(
        table.path, f"the column '{missing}' that the card names for {symbol} is not there; the file has: {table.shown()}"
    )


def _stated_clock(table: Table, headers: list[Header], name: str | Sequence[str]) -> Header:
    for header in headers:
        if name in (header.name, header.text):
            return header
    raise FileError(table.path, f"the column '{name}' that the card names for t is not there; the file has: {table.shown()}")


def find_clock(table: Table, stated: ColumnMap) -> Header | None:
    """The column of the clock: the stated one, or the only one whose name says so; None where there is none."""
    headers = [take_apart(text) for text in table.columns]
    if "t" in stated:
        return _stated_clock(table, headers, stated["t"])
    clocks = [header for header in headers if clock_word(header.name)]
    exact = [header for header in clocks if header.name == "t"]
    clocks = exact or clocks
    if len(clocks) > 1:
        names = ", ".join(f"'{c.text}'" for c in clocks)
        fix = Fix("columns", f"say in the card which one counts: columns: {{t: {clocks[0].name}}}")
        raise FileError(table.path, f"has {len(clocks)} clocks: {names}", fix=fix)
    return clocks[0] if clocks else None


def _interpret(headers: list[Header], names: tuple[str, ...]) -> list[_Found]:
    """What each name says; names of joints are looked for before numbers, the longest first (`wrist_1` before `wrist`)."""
    parts = sorted(((tuple(tokens(name)), name) for name in names), key=lambda item: -len(item[0]))
    matches = ((header, name) for header in headers for name in topics_removed(header.name))
    out: dict[Header, _Found] = {}
    for header, name in matches:
        if header not in out and (match := _match(header, name, parts)) is not None:
            out[header] = match
    return list(out.values())


def _match(header: Header, name: str, parts: Sequence[tuple[tuple[str, ...], str]]) -> _Found | None:
    words = tokens(name)
    joint, rest = _with_joint(words, parts)
    last_word = word_meaning("_".join(rest)) if joint is not None else None
    if last_word is not None:
        return _Found(header, last_word, joint, tuple(rest))
    numbered = meaning(name)
    return None if numbered is None else _Found(header, numbered, words=tuple(word for word in words if not word.isdigit()))


def _with_joint(words: list[str], parts: Sequence[tuple[tuple[str, ...], str]]) -> tuple[str | None, list[str]]:
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


def _names_of_file(table: Table, names: tuple[str, ...]) -> tuple[tuple[str, ...], list[str]]:
    """The joints as the file calls them, and a note where these are other names for as many joints."""
    if table.format != "csv" or not table.joints or not names or set(names) & set(table.joints):
        return names, []
    if len(table.joints) == len(names):
        return table.joints, [f"the file's joints {', '.join(table.joints)} are taken for {', '.join(names)}, in this order"]
    raise FileError(
        table.path,
        f"names {len(table.joints)} joints ({', '.join(table.joints)}), none of which is among the {len(names)} of the robot "
        f"({', '.join(names)})",
        fix=Fix(
            "log_joints", "state which of them these are, in this order: --log-joints A,B,.. or, in a card, log_joints: [A, B]"
        ),
    )


def _check_words(table: Table, names: tuple[str, ...], stated: Mapping[str, str | Sequence[str]]) -> None:
    """Refuse a file in which a column that is needed holds something else than numbers; others do no harm."""
    headers = [take_apart(text) for text in table.words]
    wanted = {name for pattern in stated.values() for name in ([pattern] if isinstance(pattern, str) else pattern)}
    filled = {pattern.replace("{}", str(key)) for pattern in wanted for key in (*names, *range(len(table.columns) + 1))}
    needed = {f.header.text for f in _interpret(headers, names) if f.meaning.symbol not in stated}
    needed |= {h.text for h in headers if {h.text, h.name} & filled or ("t" not in stated and clock_word(h.name))}
    for text, error in table.words.items():
        if text in needed:
            raise error


def _left_out(table: Table) -> list[str]:
    return [f"left out, being no numbers: {', '.join(table.words)}"] if table.words else []


def _best_named(matches: list[_Found]) -> list[_Found]:
    """Of several torque columns of one joint the best named: `tau_meas1` before `tau1` before `effort1`; equals remain."""
    orders: dict[str | int | None, int] = {}
    for f in matches:
        if f.meaning.symbol == "tau":
            orders[f.place] = min(orders.get(f.place, rank(f.words).order), rank(f.words).order)
    return [f for f in matches if f.meaning.symbol != "tau" or rank(f.words).order == orders[f.place]]


def _other_torques(
    free: list[Header], matches: list[_Found], signals: Mapping[str, tuple[Header | None, ...]], names: tuple[str, ...]
) -> tuple[str, ...]:
    """Which columns were taken for torques and why, where others look like torques, too; and how to take those."""
    taken = {h.text for row in signals.values() for h in row if h}
    tau = next((f for f in matches if f.meaning.symbol == "tau"), None)
    own_patterns = {_pattern(text, names) for text in taken}
    looking = dict.fromkeys(_pattern(h.text, names) for h in free if h.text not in taken and torque_word(h.name))
    others = [pattern for pattern in looking if pattern not in own_patterns]
    if tau is None or not others:
        return ()
    how = " or ".join(f"--columns 'tau={pattern}'" for pattern in others[:3])
    return (
        f"torque is taken from {_pattern(tau.header.text, names)}: {rank(tau.words).reason}; {', '.join(others[:5])} may be torques, "
        f"too, and {'is' if len(others) == 1 else 'are'} not used; {how} takes them instead (in a card: columns: {{tau: ...}})",
    )


def _pattern(text: str, names: tuple[str, ...]) -> str:
    """A column's name with {} in place of its joint's name or number."""
    for name in sorted(names, key=len, reverse=True):
        if name in text:
            return text.replace(name, "{}")
    return re.sub(r"\d+(?!.*\d)", "{}", text)


def _resolve(matches: list[_Found]) -> tuple[list[_Found], list[str]]:
    """Settle names with two readings: `q_d` is the desired position where a velocity is there as well, else undecided."""
    symbols = {f.meaning.symbol for f in matches if not f.meaning.doubtful}
    certain = [
        f for f in matches if not f.meaning.doubtful or (f.meaning.doubtful in symbols and f.meaning.symbol not in symbols)
    ]
    left = [f.header.text for f in matches if f not in certain]
    text = f"{left[0]} and the like may be desired positions or velocities and were not used; {COLUMNS.words}" if left else ""
    return certain, [text] if text else []


def _numbered_names(table: Table, matches: list[_Found], signals: Mapping[str, tuple[Header | None, ...]]) -> tuple[str, ...]:
    """joint_1 ... joint_n, n being what the numbers in the file reach."""
    if signals:
        n = len(next(iter(signals.values())))
        if any(len(row) != n for row in signals.values()):
            counts = ", ".join(f"{len(row)} for {symbol}" for symbol, row in signals.items())
            raise FileError(table.path, f"the stated columns do not agree on the number of joints: {counts}")
    else:
        numbers = [f.meaning.number for f in matches if f.meaning.number is not None]
        n = max(numbers) - min(*numbers, 1) + 1 if numbers else 0
        if n > len(table.columns):
            problem = f"numbers joints up to {max(numbers)} but has {len(table.columns)} columns: {table.shown()}"
            raise FileError(table.path, problem, fix=COLUMNS)
    return tuple(f"joint_{j + 1}" for j in range(n))


def _by_name(table: Table, matches: list[_Found], names: tuple[str, ...]) -> dict[str, tuple[Header | None, ...]]:
    rows: dict[str, list[Header | None]] = {}
    for f in matches:
        row = rows.setdefault(f.meaning.symbol, [None] * len(names))
        _put(table, row, names.index(str(f.joint)), f)
    return {symbol: tuple(row) for symbol, row in rows.items()}


def _selected(matches: list[_Found], names: tuple[str, ...], every: Sequence[str]) -> list[_Found]:
    """Numbers of the selected joints, where those of the log count all joints of the model."""
    numbers = {f.meaning.number for f in matches}
    first = 0 if 0 in numbers else 1
    if len(every) <= len(names) or numbers != set(range(first, first + len(every))):
        return matches
    position_of = {every.index(name): k for k, name in enumerate(names) if name in every}
    positions = [(f, position_of.get(int(f.meaning.number or 0) - first)) for f in matches]
    return [replace(f, meaning=replace(f.meaning, number=k + first)) for f, k in positions if k is not None]


def _by_number(table: Table, matches: list[_Found], names: tuple[str, ...]) -> dict[str, tuple[Header | None, ...]]:
    """Columns with numbers, which count from 0 where a 0 occurs and from 1 elsewhere."""
    first = 0 if any(f.meaning.number == 0 for f in matches) else 1
    rows: dict[str, list[Header | None]] = {}
    for f in matches:
        joint = int(f.meaning.number or 0) - first
        if joint >= len(names):
            raise FileError(
                table.path,
                f"the column '{f.header.text}' belongs to joint number {joint + 1}, but there are {len(names)} joints",
                fix=COLUMNS,
            )
        _put(table, rows.setdefault(f.meaning.symbol, [None] * len(names)), joint, f)
    return {symbol: tuple(row) for symbol, row in rows.items()}


def _put(table: Table, row: list[Header | None], joint: int, match: _Found) -> None:
    other = row[joint]
    if other is not None:
        kind = SIGNALS[match.meaning.symbol].kind
        raise FileError(
            table.path,
            f"both '{other.text}' and '{match.header.text}' look like the {kind} of joint {joint + 1}",
            joint=joint + 1,
            fix=COLUMNS,
        )
    row[joint] = match.header


def _check_any(table: Table, signals: Mapping[str, tuple[Header | None, ...]], names: tuple[str, ...]) -> None:
    if set(signals) & {"q", "theta", "tau", "taum", "i"}:
        return
    unnamed = not names or names[0] == "joint_1"
    hint = "" if unnamed else f"; the robot's joints are {', '.join(names)}"
    raise FileError(
        table.path,
        f"no column is recognised as a joint's position, torque or current; the file has: {table.shown()}{hint}",
        fix=COLUMNS,
    )


def _absent(table: Table, signals: Mapping[str, tuple[Header | None, ...]], names: tuple[str, ...]) -> list[str]:
    """A word on signals that some joints lack."""
    out = []
    for symbol, row in signals.items():
        lacking = [name for name, header in zip(names, row, strict=True) if header is None]
        if lacking:
            out.append(f"no {SIGNALS[symbol].kind} ({symbol}) of {', '.join(lacking)} in {table.path.name}")
    return out
