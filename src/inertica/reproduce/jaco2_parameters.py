"""Tables 1 to 3 of the Jaco2 study: geometry, which parameters are identifiable, and the 43 base parameters beside print."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from inertica.reproduce.jaco2_setup import TOOL, Setup
from inertica.reproduce.rows import Row, Sheet, compared

SAME = 1e-9
"""Largest coefficient, relative to the row, that a combination of base parameters may leave."""


def parameter_rows(setup: Setup) -> Iterator[Row]:
    """Comparisons of Tables 1, 2 and 3."""
    printed: Mapping[str, Any] = setup.published["printed_tables"]
    yield from _geometry(setup, printed["table1"])
    yield from _identifiability(setup)
    combinations = setup.published["base_parameters"]["combinations"]
    for name, relation in combinations.items():
        shown = printed["table3_misprints"].get(name, relation)
        misprint = shown != relation and _left(setup, shown) > SAME
        why = "a misprint of a sign: no sum of base parameters makes the printed one" if misprint else ""
        ours = relation if _left(setup, relation) < SAME else "not identifiable"
        yield compared(f"Table 3: {name}", shown, ours, why=why)
    rank = int(np.linalg.matrix_rank(setup.printed_rows))
    yield compared("Table 3: base parameters, with those identifiable alone", setup.published["base_parameters"]["count"], rank)


def _geometry(setup: Setup, table: Mapping[str, list[float]]) -> Iterator[Row]:
    robot = setup.description.robot
    lengths = {x.name: x.value for joint in robot.joints for x in joint.lengths}
    lengths[f"d{robot.n}"] = TOOL  # beyond the last joint
    for j, printed in enumerate(table["d"], start=1):
        yield compared(f"Table 1: d of joint {j} in m", float(printed), float(lengths.get(f"d{j}", 0.0)))
    for j, printed in enumerate(table["a"], start=1):
        yield compared(f"Table 1: a of joint {j} in m", float(printed), float(lengths.get(f"a{j}", 0.0)))


def _identifiability(setup: Setup) -> Iterator[Row]:
    """The colours of Table 2 are unreadable in the text at hand (links 1 to 4 all red); what they must be follows from Tables 3, 4."""
    ours, C = Counter(setup.base.classes().values()), np.abs(setup.printed_rows) > SAME
    alone, sums = C.sum(axis=1) == 1, C.sum(axis=1) > 1
    combined = int(C[sums].any(axis=0).sum())
    printed = {"alone": int(alone.sum()), "combined": combined, "none": C.shape[1] - int(C.any(axis=0).sum())}
    for word, count in printed.items():
        phrase = {"alone": "alone", "combined": "in combination", "none": "not at all"}[word]
        yield compared(f"Table 2: parameters identifiable {phrase}", count, ours[word], remark="print by Tables 3 and 4")


def base_parameters(setup: Setup) -> Sheet:
    """The base parameters here with their relations, beside the printed ones that hold the same columns."""
    combinations = setup.published["base_parameters"]["combinations"]
    table, retained = list(setup.published["table4"]), setup.base.retained
    rows = []
    for name, relation, column in zip(setup.base.names, setup.base.relations, retained, strict=True):
        where = np.flatnonzero(np.abs(setup.printed_rows[:, column]) > SAME)
        printed = "; ".join(f"{table[r]} = {combinations[table[r]]}" if table[r] in combinations else table[r] for r in where)
        rows.append((name, relation, printed))
    return Sheet("The 43 base parameters, and the printed ones that hold each", ("parameter", "relation", "printed"), tuple(rows))


def _left(setup: Setup, relation: str) -> float:
    """Share of a combination of standard parameters that no sum of base parameters makes."""
    c = setup.combination(relation)
    T = setup.base.T
    return float(np.linalg.norm(c - c[setup.base.retained] @ T) / np.linalg.norm(c))
