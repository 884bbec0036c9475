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
from inertica.reproduce.survey_claims import CLAIMS, cases
from inertica.reproduce.verdicts import HOLDS, UNTESTED, counted, word_of


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
    assert _verdict("accuracy", good) == counted(1, 1) == "holds in 1 of 1"
    assert _verdict("accuracy", [_line("iv", 0.3), _line("didim", 0.4), _line("ols", 0.1)]) == counted(0, 1)
    both = [*good, *(_line(m, e, "row 2") for m, e in (("iv", 0.3), ("didim", 0.4), ("ols", 0.1)))]
    assert _verdict("accuracy", both) == counted(1, 2)
    assert _verdict("filters on decimated data", good) == UNTESTED


def test_filters_are_held_against_themselves_without_decimation() -> None:
    full = [_line("ekf", 0.004), _line("cdkf", 0.007)]
    thin = [replace(x, place=replace(x.place, decimate=4)) for x in full]
    thin = [replace(x, mean={**x.mean, "d_par": e}) for x, e in zip(thin, (0.012, 0.008), strict=True)]
    assert _verdict("filters on decimated data", [*full, *thin]) == counted(1, 2)
    assert _verdict("filters on decimated data", [full[0], thin[0]]) == counted(1, 1)
    assert _verdict("filters on decimated data", [full[1], thin[1]]) == counted(0, 1)


def test_filters_at_140_hertz() -> None:
    full = [_line("ekf", 0.004), _line("cdkf", 0.007)]
    slow = [replace(x, place=replace(x.place, robot="rv2sq")) for x in full]
    slow = [replace(x, mean={**x.mean, "d_par": e}) for x, e in zip(slow, (0.012, 0.008), strict=True)]
    assert _verdict("filters on the RV2SQ", [*full, *slow]) == counted(1, 2)
    assert _verdict("filters on the RV2SQ", slow) == UNTESTED


def test_what_gives_no_number_is_the_worst() -> None:
    lines = [_line("iv", np.nan, "row 3"), *(_line(m, 0.1, "row 3") for m in ("didim", "clie", "cloe"))]
    assert _verdict("highest noise", lines) == counted(1, 1)


def test_times_and_iterations() -> None:
    lines = [_line("didim", 0.1, seconds=0.5, it=3.2), _line("clie", 0.1, seconds=5.0), _line("cloe", 0.1, seconds=6.0)]
    assert _verdict("time of CLIE and CLOE", lines) == counted(2, 2)
    assert _verdict("iterations", [*lines, _line("iv", 0.1, it=1.8)]) == counted(1, 1)  # two updates are the toolbox's third
    assert _verdict("iterations", [*lines, _line("iv", 0.1, it=8.0)]) == counted(0, 1)
    more = [_line("pc-didim", 0.1, it=3.0), _line("pc-iv", 0.1, it=6.0), _line("iv", 0.1, it=3.0)]
    assert _verdict("iterations of PC-methods", [*lines, *more]) == counted(1, 2)
    assert _verdict("time of DIDIM", [*lines, _line("ols", 0.1, seconds=0.1)]) == counted(1, 1)
    assert _verdict("time of DIDIM", [*lines, _line("ols", 0.1, seconds=0.4)]) == counted(0, 1)
    filters = [_line("ekf", 0.1), _line("ukf", 0.1, seconds=4.5)]
    assert _verdict("time of UKF", filters) == counted(1, 1)
    assert _verdict("time of UKF", [filters[0], _line("ukf", 0.1, seconds=9.0)]) == counted(0, 1)
    assert _verdict("time of UKF", [filters[0], _line("ukf", 0.1, seconds=1.5)]) == counted(0, 1)


def test_filtered_methods_near_didim() -> None:
    lines = [_line("didim", 0.01), _line("wls", 0.012, filtered=True), _line("ml", 0.03, filtered=True)]
    assert _verdict("filtering of others", lines) == counted(1, 2)


def test_integrators_differ_by_more_than_chance_or_not() -> None:
    def both(a: float, b: float, sd: float) -> list[Line]:
        return [replace(_line(f"iv ({k})", e), sd=dict.fromkeys(FIGURES, sd)) for k, e in (("rk1", a), ("rk4", b))]

    assert _verdict("integrator", both(0.010, 0.0105, 0.0)) == counted(1, 1)
    assert _verdict("integrator", both(0.010, 0.02, 0.0)) == counted(0, 1)
    assert _verdict("integrator", both(0.010, 0.02, 0.01)) == counted(1, 1)  # two runs each


def _group(line: Line, beta: np.ndarray) -> Group:
    columns = {name: np.ones(len(beta)) for name in (*FIGURES, "converged")}
    return Group(
        line.place, len(beta), columns, beta, beta, np.ones(beta.shape[1]), np.zeros(len(beta)), np.arange(len(beta)), ()
    )


def test_torque_noise_is_a_matter_of_variance() -> None:
    """Twice the noise: four times the variance and the same bias is what the survey says; anything else is not, nor is one run."""
    lines = [_line("wls", 0.1, noise, filtered=True) for noise in ("row 2", "row 4")]
    rng = np.random.default_rng(1)

    def said(runs: int, scale: float, shift: float) -> str:
        betas = [1.3 + 0.1 * rng.normal(size=(runs, 5)), 1.3 + shift + scale * 0.1 * rng.normal(size=(runs, 5))]
        return _verdict("torque noise", lines, [_group(line, beta) for line, beta in zip(lines, betas, strict=True)])

    assert said(52, 2.0, 0.0) == counted(1, 1)
    assert said(52, 1.0, 0.0) == counted(0, 1)  # nothing was added
    assert said(52, 2.0, 0.3) == counted(0, 1)  # it biases
    assert said(1, 2.0, 0.0) == said(5, 2.0, 0.0) == UNTESTED


def test_variance_of_adann() -> None:
    lines = [_line("adann", 0.1, filtered=True), _line("ols", 0.1, filtered=True)]
    rng = np.random.default_rng(0)
    groups = [_group(line, 1.0 + sd * rng.normal(size=(50, 3))) for line, sd in zip(lines, (5.0, 1.0), strict=True)]
    assert _verdict("variance of AdaNN", lines, groups) == counted(1, 1)
    assert _verdict("variance of AdaNN", lines, [groups[0], replace(groups[0], place=lines[1].place)]) == counted(0, 1)


def test_what_the_command_says_in_the_end() -> None:
    words = (counted(5, 5), counted(1, 1), counted(13, 15), counted(0, 6), UNTESTED)
    rows = [Row(f"claims: {k}", "", "", word) for k, word in enumerate(words)]
    assert tally(rows) == "1 not tested, claims: 2 hold everywhere, 1 in some conditions, 1 in none"
    numbers = [Row("9.5: base", 54.0, 54.0, "agrees"), Row("9.5: ols", 1.0, 3.0, "differs: three times")]
    assert tally([*rows[:1], *numbers]) == "1 agree, 1 differ, claims: 1 hold everywhere, 0 in some conditions, 0 in none"
    assert tally([Row("box: keeps the truth", "yes", "no", "refuted: 0 of 20")]) == "1 refuted; refuted: box: keeps the truth"


def test_times_of_ols_are_not_counted() -> None:
    lines = [_line("ols", 0.1, seconds=9.0), _line("pc-ols", 0.1), _line("wls", 0.1), _line("pc-wls", 0.1, seconds=3.0)]
    assert _verdict("time of PC-methods", lines) == counted(1, 1)  # ols comes first: what methods share is in its time


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
    assert {word_of(row.verdict) for row in found.rows} <= {HOLDS, UNTESTED}
