"""Pages on methods: what a user looks up first, in the same order on every page; what was measured after it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from documents import ROOT

PAGES = sorted((ROOT / "docs" / "methods").glob("*.md"))
REFERENCE = ["## Criterion", "## Needs", "## When it fails", "## Options"]
MONTHS = "January February March April May June July August September October November December".replace(" ", "|")
NOTEBOOK = re.compile(
    rf"\bseeds?\b|\btried\b|\bwas chosen\b|\buntil ({MONTHS})\b|\b\d+ (fresh |of \d+ )?runs\b|\bbroke down\b", re.IGNORECASE
)
"""What belongs under results: how a number came about, and what was not kept."""


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_reference_comes_first_and_results_after_it(path: Path) -> None:
    reference, measured, results = path.read_text(encoding="utf-8").partition("\n## Measured")
    places = [reference.find(f"\n{heading}\n") for heading in REFERENCE]
    assert measured and results and min(places) > 0 and places == sorted(places)
    assert "Symbols on this page: " in reference[: places[0]]
    assert not [line for line in reference.splitlines() if NOTEBOOK.search(line)]


def test_all_pages_are_looked_at() -> None:
    assert len(PAGES) >= 11
