"""Constraints of a robot card on the command line: `identify`, `compare`, `check-model`, `repair`."""

from __future__ import annotations

import json

import pytest

import pair
from inertica.cli.main import main
from inertica.robot.load import load

QUICK = ("--cutoff", "10", "--delay", "0", "--method", "pc-wls")
SHAPES = """
<collision><origin xyz="0.12 0 0"/><geometry><box size="0.4 0.3 0.3"/></geometry></collision></link>"""


@pytest.fixture
def card(tmp_path):
    (tmp_path / "pair.urdf").write_text(pair.URDF.replace("</inertial></link>", "</inertial>" + SHAPES))

    def write(said: str) -> str:
        path = tmp_path / "card.yaml"
        path.write_text(f"model: pair.urdf\nfriction: [viscous, coulomb]\nconstraints: {said}\n")
        return str(path)

    return write


def document(capsys, *words: str) -> dict:
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def values(found: dict) -> dict[str, float]:
    return {p["name"]: p["value"] for p in found["parameters"]}


def test_masses_that_no_motion_shows_are_as_stated(card, tmp_path, capsys) -> None:
    log, out = pair.files()[1], tmp_path / "out"
    free = values(document(capsys, "identify", card("{}"), log, *QUICK))
    assert (free["M1"], free["M2"]) == (pytest.approx(2.0, abs=0.05), pytest.approx(1.0, abs=0.3))  # near the model's own
    said = "{margin: 1e-3, total_mass: 4.5, links: {upper: {mass: [3, 3.2], inside: geometry}, lower: {inside: geometry}}}"
    found = document(capsys, "identify", card(said), log, *QUICK, "-o", str(out))
    held = values(found)
    assert held["M1"] + held["M2"] == pytest.approx(4.5, rel=1e-6) and 3.0 - 1e-6 <= held["M1"] <= 3.2 + 1e-6
    # what the data show stays where it was
    assert held["MX2"] == pytest.approx(free["MX2"], rel=0.02) and held["Fv1"] == pytest.approx(free["Fv1"], rel=0.02)
    checked = document(capsys, "check-model", str(out / "identified.urdf"), "--strict")
    assert checked["consistent"] and min(link["margin"] for link in checked["links"]) > 5e-4
    (tmp_path / "pair.urdf").write_bytes((out / "identified.urdf").read_bytes())
    assert document(capsys, "check-model", card(said), "--strict")["broken"] == []


def test_a_saved_result_keeps_the_statements_of_its_card(card, tmp_path, capsys) -> None:
    said = card("{total_mass: [3, .inf], margin: 1e-4, links: {2: {inside: geometry}}, bounds: {off1: [-1, 1]}}")
    document(capsys, "identify", said, pair.files()[1], *QUICK, "-o", str(tmp_path / "out"))
    assert load(tmp_path / "out").constraints == load(said).constraints


def test_statements_that_exclude_each_other_are_named(card, capsys) -> None:
    robot = card("{total_mass: [1, 3], links: {upper: {mass: [2.5, 4]}, lower: {mass: [0.8, 2]}}}")
    assert main(["identify", robot, pair.files()[1], *QUICK[:4]]) == 2
    said = capsys.readouterr().err
    assert "pair: these constraints exclude each other: " in said and said.count("\n") == 1
    named = said.split("other: ")[1].split("; drop")[0].split("; ")
    assert sorted(named) == ["link 1: mass at least 2.5 kg", "link 2: mass at least 0.8 kg", "total mass at most 3 kg"]


def test_a_method_that_cannot_use_them_says_so(card, capsys) -> None:
    robot, log = card("{total_mass: 4.5}"), pair.files()[1]
    sentence = "the card's constraints are used by physically consistent methods only (pc-ols, pc-wls"
    plain = document(capsys, "identify", robot, log, *QUICK[:4], "--method", "wls")
    assert any(w.startswith(sentence) for w in plain["warnings"])
    for words in ((robot, log, *QUICK), (card("{}"), log, *QUICK[:4], "--method", "wls")):
        assert not any("constraints are used" in w for w in document(capsys, "identify", *words)["warnings"])


def test_friction_that_is_not_there_cannot_be_bounded_and_that_is_said(card, capsys) -> None:
    found = document(capsys, "identify", card("{bounds: {off2: [0, 1], Fv2: [0.25, 1]}}"), pair.files()[1], *QUICK)
    assert "the constraint on off2 is not used: the model has no off2" in found["warnings"]
    assert values(found)["Fv2"] == pytest.approx(0.25, rel=1e-6)


def test_compare_keeps_to_them(card, capsys) -> None:
    robot = card("{total_mass: [1, 3], links: {upper: {mass: [3.5, 4]}}}")
    found = document(capsys, "compare", robot, pair.files()[1], *QUICK[:4], "--methods", "wls,pc-wls")
    rows = {row["method"]: row for row in found["methods"]}
    assert "exclude each other" in rows["pc-wls"]["failure"] and not rows["wls"].get("failure")


def test_check_model_and_repair_know_the_card(card, tmp_path, capsys) -> None:
    robot = card("{total_mass: [3.5, 4], links: {lower: {symmetric: xz}}}")
    found = document(capsys, "check-model", robot)
    assert found["consistent"] and found["broken"] == [
        "total mass at least 3.5 kg", "link 2: symmetric (XY2 = 0)", "link 2: symmetric (MY2 = 0)"
    ]  # fmt: skip
    assert main(["check-model", robot]) == 0 and "it breaks: total mass at least 3.5 kg" in capsys.readouterr().out
    assert main(["check-model", robot, "--strict"]) == 1
    capsys.readouterr()
    mended = document(capsys, "repair", robot, "-o", str(tmp_path / "fixed.urdf"))
    assert mended["inconsistent"] == [] and mended["broken"] == found["broken"] and mended["consistent"]
    (tmp_path / "pair.urdf").write_bytes((tmp_path / "fixed.urdf").read_bytes())
    assert document(capsys, "check-model", robot, "--strict")["broken"] == []
    prior = load(robot).prior
    assert prior["M1"] + prior["M2"] == pytest.approx(3.5) and prior["MY2"] == pytest.approx(0.0, abs=1e-9)


def test_mistakes_are_one_sentence_with_their_place(card, capsys) -> None:
    said = pair.refused(capsys, "identify", card("{links: {uper: {mass: 1}}}"), pair.files()[1])
    assert "card.yaml:3: pair has no link 'uper' and no such joint; did you mean 'upper'?" in said
