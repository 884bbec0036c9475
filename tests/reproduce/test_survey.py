"""Claims of the survey: the verdict follows from the lines of a campaign."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from inertica.campaign.plan import plan
from inertica.campaign.spec import Entry, NoiseRow, Spec
from inertica.campaign.store import Store
from inertica.campaign.summary import FIGURES, Group, Line, RowKey
from inertica.cli.reproduce import tally
from inertica.errors import InputError
from inertica.reproduce import survey
from inertica.reproduce.rows import Options, Row
from inertica.reproduce.survey_claims import CLAIMS, DEPENDS, FAILS, HOLDS, UNTESTED, cases


def _line(
    method: str, d_par: float, noise: str = "row 1", *, filtered: bool = False, seconds: float = 1.0, it: float = 1.0
) -> Line:
    place = RowKey("tx40", "known", noise, "normal", 0.0, 1, "butterworth" if filtered else "none", method)
    mean = dict.fromkeys(FIGURES, 0.1) | {"d_par": d_par, "seconds": seconds, "iterations": it}
    return Line(place, mean, dict.fromkeys(FIGURES, 0.0), (2, 2), 1.0, 0.95, 0.1)


def _verdict(name: str, lines: list[Line], groups: list[Group] | None = None) -> str:
    (claim,) = (c for c in CLAIMS if c.name == name)
    return claim.test(cases(lines, groups or [])).verdict


def test_verdicts_follow_from_the_numbers() -> None:
    good = [_line("iv", 0.01), _line("didim", 0.011), _line("ols", 0.2)]
    assert _verdict("accuracy", good) == HOLDS
    assert _verdict("accuracy", [_line("iv", 0.3), _line("didim", 0.4), _line("ols", 0.1)]) == FAILS
    both = [*good, *(_line(m, e, "row 2") for m, e in (("iv", 0.3), ("didim", 0.4), ("ols", 0.1)))]
    assert _verdict("accuracy", both) == DEPENDS
    assert _verdict("filters on decimated data", good) == UNTESTED


def test_filters_are_held_against_themselves_without_decimation() -> None:
    full = [_line("ekf", 0.004), _line("cdkf", 0.007)]
    thin = [replace(x, place=replace(x.place, decimate=4)) for x in full]
    thin = [replace(x, mean={**x.mean, "d_par": e}) for x, e in zip(thin, (0.012, 0.008), strict=True)]
    assert _verdict("filters on decimated data", [*full, *thin]) == DEPENDS
    assert _verdict("filters on decimated data", [full[0], thin[0]]) == HOLDS
    assert _verdict("filters on decimated data", [full[1], thin[1]]) == FAILS


def test_what_gives_no_number_is_the_worst() -> None:
    lines = [_line("iv", np.nan, "row 3"), *(_line(m, 0.1, "row 3") for m in ("didim", "clie", "cloe"))]
    assert _verdict("highest noise", lines) == HOLDS


def test_times_and_iterations() -> None:
    lines = [_line("didim", 0.1, seconds=0.5, it=3.2), _line("clie", 0.1, seconds=5.0), _line("cloe", 0.1, seconds=6.0)]
    assert _verdict("time of CLIE and CLOE", lines) == HOLDS
    assert _verdict("iterations", [*lines, _line("iv", 0.1, it=1.8)]) == HOLDS  # two updates are the toolbox's third iteration
    assert _verdict("iterations", [*lines, _line("iv", 0.1, it=8.0)]) == FAILS


def test_variance_of_adann() -> None:
    lines = [_line("adann", 0.1, filtered=True), _line("ols", 0.1, filtered=True)]
    rng = np.random.default_rng(0)
    groups = []
    for line, sd in zip(lines, (5.0, 1.0), strict=True):
        beta = 1.0 + sd * rng.normal(size=(50, 3))
        columns = {name: np.ones(50) for name in (*FIGURES, "converged")}
        groups.append(Group(line.place, 50, columns, beta, beta, np.ones(3), np.zeros(50), np.arange(50), ()))
    assert _verdict("variance of AdaNN", lines, groups) == HOLDS
    assert _verdict("variance of AdaNN", lines, [groups[0], replace(groups[0], place=lines[1].place)]) == FAILS


def test_what_the_command_says_in_the_end() -> None:
    rows = [Row(f"claims: {k}", "", "", word) for k, word in enumerate((HOLDS, HOLDS, DEPENDS, FAILS, UNTESTED))]
    assert tally(rows) == "2 hold, 1 depend, 1 do not hold, 1 not tested"
    numbers = [Row("9.5: base", 54.0, 54.0, "agrees"), Row("9.5: ols", 1.0, 3.0, "differs: three times")]
    assert tally([*rows[:1], *numbers]) == "1 hold, 1 agree, 1 differ" and tally(numbers[:1]) == "1 agree"


def test_times_of_ols_are_not_counted() -> None:
    lines = [_line("ols", 0.1, seconds=9.0), _line("pc-ols", 0.1), _line("wls", 0.1), _line("pc-wls", 0.1, seconds=3.0)]
    assert _verdict("time of PC-methods", lines) == HOLDS  # ols comes first: what methods share is in its time


def test_a_folder_of_another_spec_is_refused_in_words_of_this_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    small = Spec("small", ("scara2",), (Entry("wls", "wls"),), noise=(NoiseRow("row 1", 1e-6, 0.05),))
    store = Store.begin(tmp_path / "survey", small)
    store.finish(plan(small)[0], b"rows")
    monkeypatch.setattr(survey, "read_spec", lambda _: small)
    with pytest.raises(InputError, match=r"rows of another spec; .* another folder by --keep"):
        survey.reproduce(Options(seeds=1, quick=True, keep=tmp_path))


@pytest.mark.slow
def test_the_study_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    methods = (Entry("wls", "wls", filters=("butterworth",)), Entry("didim", "didim"), Entry("iv", "iv"))
    small = Spec("small", ("scara2",), methods, noise=(NoiseRow("row 1", 1e-6, 0.05),), duration=2.0, cutoff=15.0, border=10)
    monkeypatch.setattr(survey, "read_spec", lambda _: small)
    found = survey.reproduce(Options(seeds=1, quick=True, keep=tmp_path))
    assert [row.quantity for row in found.rows] == [f"claims: {claim.name}" for claim in CLAIMS]
    assert {row.verdict for row in found.rows} <= {HOLDS, FAILS, DEPENDS, UNTESTED}
