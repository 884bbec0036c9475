"""Samples from lines of text as they come, for robots that are watched while they move.

The first line names the columns: t, q1 .. qn, tau1 .. taun, and dq1 .. dqn where velocities are measured; others are passed over.
Units are SI, on the joint side; files with other names and units are for `read_log`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from inertica.arrays import Array
from inertica.errors import InputError


@dataclass(frozen=True, eq=False)
class Block:
    """Samples that came together.

    Args:
        t: (m,) in s.
        q, tau: (m, n).
        dq: (m, n) where velocities are measured.
    """

    t: Array
    q: Array
    tau: Array
    dq: Array | None = None

    def joined(self, other: Block) -> Block:
        """Both, one after the other."""
        dq = None if self.dq is None or other.dq is None else np.vstack([self.dq, other.dq])
        return Block(np.append(self.t, other.t), np.vstack([self.q, other.q]), np.vstack([self.tau, other.tau]), dq)

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, part: slice) -> Block:
        return Block(self.t[part], self.q[part], self.tau[part], None if self.dq is None else self.dq[part])


def blocks(lines: Iterable[str], n: int, together: int = 50) -> Iterator[Block]:
    """Samples of a robot with n joints from lines of comma-separated values.

    Args:
        lines: the first one that is no comment (#) names the columns.
        n: joints.
        together: lines that make a block; the last one may have fewer.
    """
    source = ((k, line) for k, line in enumerate(lines, start=1) if not line.lstrip().startswith("#"))
    _, first = next(source, (0, ""))
    columns = _columns(first, n)
    gathered: list[list[float]] = []
    last = -np.inf
    for number, line in source:
        if not line.strip():
            continue
        values = _values(line, number, columns)
        if values[0] <= last:
            raise InputError(f"line {number}: the time {values[0]:g} s is not after {last:g} s")
        last = values[0]
        gathered.append(values)
        if len(gathered) >= together:
            yield _block(gathered, n)
            gathered = []
    if gathered:
        yield _block(gathered, n)


def _columns(header: str, n: int) -> list[int]:
    """Where t, q1.., tau1.. and, if they are there, dq1.. stand."""
    names = [name.strip() for name in header.split(",")]
    wanted = ["t", *(f"{signal}{j + 1}" for signal in ("q", "tau") for j in range(n))]
    for name in wanted:
        if name not in names:
            raise InputError(f"the first line should name the columns t, q1..q{n}, tau1..tau{n}; '{name}' is not among them")
    rates = [f"dq{j + 1}" for j in range(n)]
    return [names.index(name) for name in (*wanted, *(rates if all(r in names for r in rates) else ()))]


def _values(line: str, number: int, columns: list[int]) -> list[float]:
    words = line.split(",")
    if len(words) <= max(columns):
        raise InputError(f"line {number} has {len(words)} values, too few for its columns")
    try:
        values = [float(words[c]) for c in columns]
    except ValueError:
        raise InputError(f"line {number} has a word where a number should be: {line.strip()[:60]}") from None
    if not np.isfinite(values).all():
        raise InputError(f"line {number} has a value that is not finite")
    return values


def _block(gathered: list[list[float]], n: int) -> Block:
    x = np.array(gathered)
    return Block(x[:, 0], x[:, 1 : 1 + n], x[:, 1 + n : 1 + 2 * n], x[:, 1 + 2 * n :] if x.shape[1] > 1 + 2 * n else None)
