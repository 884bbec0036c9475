"""`inertica reduce`: counts of the Frisch paper, an estimate on another log, bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inertica.cli.main import main


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder: Path = tmp_path_factory.mktemp("logs")
    out = [str(folder / f"z{k}.npz") for k in (1, 2)]
    for k, path in enumerate(out):
        assert main(["simulate", "planar2", "-o", path, "--seed", str(k), "--json"]) == 0
    return out


def test_counts_of_the_paper_and_an_estimate(logs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["reduce", "planar2", *logs, "--method", "ols", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["rank"], len(found["no_effect"]) + len(found["fixed"]), found["alone"]) == (9, 14, 5)
    assert (found["combined"], found["permutations"], found["all_tried"]) == (7, 35, True)
    assert found["eliminated"] == ["M1", "Im1", "M2"]
    values = {entry["name"]: entry["value"] for entry in found["base"]}
    assert values["MX1"] == pytest.approx(20.75, rel=0.05) and values["MX2"] == pytest.approx(7.5, rel=0.05)
    assert main(["reduce", "planar2", logs[0]]) == 0
    said = capsys.readouterr()
    assert "rank 9 of 26 parameters; 14 without effect or known" in said.out and "base parameters by frisch" in said.out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--method", "frish"], "did you mean 'frisch'"),
        (["--cutoff", "-1"], "positive number of Hz"),
        (["--alpha", "-1"], "not be negative"),
    ],
)
def test_bad_input_is_one_sentence(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reduce", "planar2", "nothing.csv", *words]) == 2
    assert sentence in capsys.readouterr().err
