"""The decision diagram: every way through it ends at methods that exist, with reasons."""

from __future__ import annotations

import json
from itertools import product

import pytest

from inertica.campaign.advice import LOOPS, Situation, advise
from inertica.campaign.stored import figures_of, measured, percent
from inertica.cli.main import main
from inertica.errors import InputError
from inertica.estimators.registry import METHODS


@pytest.mark.parametrize(
    "way", list(product((False, True), LOOPS, (None, 50.0, 200.0, 1000.0), (None, 1e-6, 1e-3), (False, True)))
)
def test_every_way_ends_at_methods_that_exist(way: tuple) -> None:
    found = advise(Situation(*way))
    assert found.methods and set(found.methods) <= set(METHODS) and found.reasons


def test_the_survey_s_turns() -> None:
    assert advise(Situation(loop="known", physical=False)).methods[:2] == ("didim", "iv")
    assert "iv" not in advise(Situation(loop="known", noise=1e-3, physical=False)).methods
    assert advise(Situation(loop="unknown", physical=False)).methods[0] == "wls"
    assert advise(Situation(loop="unknown")).methods[0] == "pc-wls"
    assert any("fit-loop" in x for x in advise(Situation(loop="structure")).reasons)
    assert any("decimate" in x for x in advise(Situation(rate=1000.0)).preparation)
    assert any("too slow" in x for x in advise(Situation(rate=60.0)).preparation)
    with pytest.raises(InputError, match="not 'some'"):
        Situation(loop="some")  # type: ignore[arg-type]


def test_ml_is_advised_only_where_campaigns_found_it_good() -> None:
    quiet, noisy = (advise(Situation(noise=sd, physical=False)) for sd in (1e-6, 1e-4))
    assert "ml" in quiet.methods and any(x.startswith("ml: parameters off by") for x in quiet.evidence)
    found, other = measured("ml", noise="row 3"), measured("wls", noise="row 3", filtered=True)
    assert found is not None and other is not None and found.d_par > other.d_par
    assert "ml" not in noisy.methods and any(f"ml was {percent(found.d_par)} off" in x for x in noisy.reasons)


def test_times_and_errors_in_reasons_are_those_of_the_tables() -> None:
    iv = measured("iv", noise="row 3")
    assert iv is not None
    reasons = advise(Situation(loop="known", noise=1e-3)).reasons
    assert any(f"iv {percent(iv.d_par)}" in x for x in reasons)
    pairs = [
        x.line.mean["seconds"] / y.line.mean["seconds"]
        for x in figures_of("clie") + figures_of("cloe")
        for y in figures_of("didim")
        if x.campaign == y.campaign == "survey-quick" and x.condition == y.condition
    ]
    assert any(f"take {min(pairs):.0f} to {max(pairs):.0f} times as long" in x for x in reasons)
    assert any("decimation 4" in x and x.startswith("ekf") for x in advise(Situation(online=True)).evidence)


def test_from_a_card(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", "tx40", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["situation"]["loop"] == "known" and said["methods"][0] == "pc-didim"
    assert any("pc-didim: parameters off by" in x and "survey-tx40, tx40, noise row 1, 1250 fits" in x for x in said["evidence"])
    assert main(["advise"]) == 2
    assert "needs a robot" in capsys.readouterr().err
