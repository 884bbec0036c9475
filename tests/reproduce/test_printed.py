"""Every table and figure of the five papers has rows, a drawing or a reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from inertica.reproduce.printed import Item, items, sheet, walk
from inertica.reproduce.rows import Options, reported
from inertica.reproduce.studies import STUDIES, reproduce

COUNTS = {
    "didim": {"Table": 9, "Figure": 15},
    "consistent": {"Table": 3, "Figure": 2},
    "jaco2": {"Table": 5, "Figure": 8},
    "frisch": {"Table": 4, "Figure": 4},
    "survey": {"Table": 1, "Figure": 11},
}
"""What the papers print, by their own numbering; the survey has a Table A1 besides."""

ROMAN = ("", "I", "II", "III")


@pytest.mark.parametrize("study", STUDIES)
def test_lists_are_whole(study: str) -> None:
    names = [item.name for item in items(study)]
    for kind, count in COUNTS[study].items():
        roman = study == "consistent" and kind == "Table"
        assert [n for n in names if re.fullmatch(rf"{kind} (\d+|[IVX]+)", n)] == [
            f"{kind} {ROMAN[k] if roman else k}" for k in range(1, count + 1)
        ]
    assert len(names) == len(set(names)) == sum(COUNTS[study].values()) + (study == "survey")


def test_rows_belong_to_the_item_that_their_case_begins_with() -> None:
    one, ten = Item("Figure 1", ""), Item("Figure 10", "")
    rows = [
        reported("Figure 1: a", 1.0),
        reported("Figure 1, half: b", 2.0),
        reported("Figure 10: c", 3.0),
        reported("other: d", 4.0),
    ]
    assert [one.covers(r) for r in rows] == [True, True, False, False]
    assert [ten.covers(r) for r in rows] == [False, False, True, False]


@pytest.mark.slow
@pytest.mark.parametrize(("study", "quick"), [("didim", False), ("consistent", False), ("jaco2", False), ("frisch", True)])
def test_walk_through_a_study(study: str, quick: bool, tmp_path: Path) -> None:
    """A row, a drawing that is there, or a line why there is neither; and every difference has its reason."""
    found = reproduce(study, Options(seeds=2, quick=quick))
    walked = walk(study, found.rows)
    assert [w.item.name for w in walked if not w.answered] == []
    assert found.draw is not None
    drawn = {path.stem for path in found.draw(tmp_path)}
    assert {w.item.drawing for w in walked if w.item.drawing} <= drawn
    assert len(sheet(walked).rows) == len(walked)
    bare = [row.quantity for row in found.rows if row.verdict in ("differs", "refuted")]
    assert bare == []


def test_the_survey_without_a_record_says_what_is_missing() -> None:
    assert [w.item.name for w in walk("survey", ()) if not w.answered] == []
