"""Tables of the Jaco2 study in the layout of the paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

import numpy as np

from inertica.arrays import Array
from inertica.reproduce.jaco2_parameters import base_parameters
from inertica.reproduce.jaco2_setup import METHODS, RECORDS, SHOWN_IDENTIFIED, Jaco2Case, Scores, Setup
from inertica.reproduce.rows import Sheet

CRITERIA = {
    "physical_feasibility": "feasible (3)",
    "triangle_inequality": "triangle (4)",
    "first_moment_bounds": "moments (5/6)",
}
"""Names of Table 5's last rows in the catalog, and here."""


MISPRINTS = {(3, 5, "cls-1", "s"), (3, 5, "cls-1", "s_r"), (5, 5, "cad", "s"), (4, 1, "uls", "s")}
"""Cells of Table 5 (identified on, record, method, figure) that contradict others of the same table, see the catalog's cautions."""

Held = Mapping[tuple[int, str], Mapping[str, bool]]
"""(identified on, method) -> which criteria hold."""

_PAIRS = tuple(column for m in METHODS for column in (m, f"{m} printed"))


class Study(Protocol):
    """What the tables take of the study."""

    @property
    def setup(self) -> Setup: ...
    @property
    def printed(self) -> Scores: ...
    @property
    def simulated(self) -> bool: ...
    def deviations(self, case: Jaco2Case, method: str) -> Array: ...


def sheets(study: Study, plain: Jaco2Case, rubbing: Jaco2Case, held: Held) -> Iterator[Sheet]:
    """All tables.

    Args:
        study: printed numbers and set-up.
        plain, rubbing: fits without and with friction on the link side.
        held: which criteria hold.
    """
    yield base_parameters(study.setup)
    yield from _errors(study, plain)
    yield _with_friction(rubbing)
    yield _criteria(study, held)
    yield from _values(study, plain)


def _errors(study: Study, case: Jaco2Case) -> tuple[Sheet, ...]:
    """s_r and s apart, ours beside the printed ones."""
    sheets = []
    for figure, name, unit, factor in ((1, "s_r", "%", 100.0), (0, "s", "mN m", 1000.0)):
        rows = []
        for i, k in pairs():
            cells = []
            for m in METHODS:
                mark = "*" if (i, k, m, name) in MISPRINTS else ""
                cells += [f"{factor * scores[i, k, m][figure]:.2f}" for scores in (case.scores, study.printed)]
                cells[-1] += mark
            rows.append((_record(i, k), *cells))
        sheets.append(Sheet(f"Table 5, {name} in {unit}, model without friction (* misprint)", ("record", *_PAIRS), tuple(rows)))
    return tuple(sheets)


def _with_friction(case: Jaco2Case) -> Sheet:
    columns = ("record", *(f"{m} {figure}" for m in METHODS for figure in ("s_r", "s")))
    rows = []
    for i, k in pairs():
        numbers = [x for m in METHODS for x in (100.0 * case.scores[i, k, m][1], 1000.0 * case.scores[i, k, m][0])]
        rows.append((_record(i, k), *(f"{x:.2f}" for x in numbers)))
    return Sheet(
        "Viscous and Coulomb friction on the link side in the model (not printed), s_r in %, s in mN m", columns, tuple(rows)
    )


def _criteria(study: Study, held: Held) -> Sheet:
    rows = []
    for key, title in CRITERIA.items():
        printed = study.setup.published["additional_criteria"][key]
        cells = [c for m, p in zip(METHODS, printed, strict=True) for c in (_yes(always(held, key, m)), _yes(p))]
        rows.append((title, *cells))
    return Sheet("Table 5, additional criteria, in all five identifications", ("criterion", *_PAIRS), tuple(rows))


def _values(study: Study, case: Jaco2Case) -> tuple[Sheet, Sheet]:
    """CAD once: the catalog's prior has the printed values to 0.1 %.  Values, then standard deviations."""
    C, rows = study.setup.printed_rows, []
    base_values = {m: C @ case.chi(SHOWN_IDENTIFIED, m) for m in METHODS}
    true = (C @ study.setup.truth.values)[:, None] if study.simulated else np.zeros((len(C), 0))
    for r, (name, printed) in enumerate(study.setup.published["table4"].items()):
        both = [x for m, p in zip(METHODS[1:], printed[1::2], strict=True) for x in (base_values[m][r], p)]
        rows.append((name, *(f"{x:z.4f}" for x in (*true[r], base_values["cad"][r], *both))))
    columns = ("", *(("truth",) if study.simulated else ()), "cad", *_PAIRS[2:])
    std, second = {m: study.deviations(case, m) for m in METHODS[1:]}, []
    for r, (name, printed) in enumerate(study.setup.published["table4"].items()):
        both = [x for m, p in zip(METHODS[1:], printed[2::2], strict=True) for x in (std[m][r], p)]
        second.append((name, *(f"{x:.2g}" for x in both)))
    beside = ", beside the simulated truth" if study.simulated else ""
    values = Sheet(f"Table 4, identified on record {SHOWN_IDENTIFIED}{beside}", columns, tuple(rows))
    return values, Sheet("Table 4, standard deviations by eq. 10", ("", *_PAIRS[2:]), tuple(second))


def pairs() -> list[tuple[int, int]]:
    """Rows of Table 5: (identified on, record)."""
    return [(i, k) for i in RECORDS for k in (i, *(r for r in RECORDS if r != i))]


def _record(identified: int, record: int) -> str:
    return f"id {record}" if record == identified else f"val {record}"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def always(held: Held, key: str, method: str) -> bool:
    return all(held[i, method][key] for i in RECORDS)
