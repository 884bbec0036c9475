"""`inertica simulate`: files, JSON, bad input."""

from __future__ import annotations

import json

import numpy as np
import pytest

from inertica.cli.main import main
from inertica.logs.read import read_log
from inertica.robot.load import load


def test_a_log_is_written_that_reads_back(tmp_path, capsys) -> None:
    target = tmp_path / "log.csv.gz"
    words = ["simulate", "tx40", "-o", str(target), "--noise", "standard", "--duration", "1", "--seed", "3", "--json"]
    assert main(words) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["files"] == [str(target)]
    assert (document["rate"], document["control_rate"]) == (1000.0, 5000.0)
    assert max(document["tracking_rms"]) < 0.01
    log = read_log(target, load("tx40"))
    assert len(log) == document["samples"] == 1000
    assert {"q", "qr", "tau"} <= set(log.signals)
    again = tmp_path / "again.csv.gz"
    words[3] = str(again)
    assert main(words) == 0
    assert np.array_equal(read_log(again).need("q"), log.need("q"))


def test_several_runs_get_numbers_and_text_names_them(tmp_path, capsys) -> None:
    assert main(["simulate", "scara4", "-o", str(tmp_path / "run.npz"), "--runs", "2", "--duration", "0.5"]) == 0
    assert (tmp_path / "run_1.npz").exists() and (tmp_path / "run_2.npz").exists()
    assert "run_1.npz" in capsys.readouterr().out.replace("\n", "")


def test_a_loop_too_slow_for_its_motion_is_told(tmp_path, capsys) -> None:
    assert main(["simulate", "scara2", "-o", str(tmp_path / "log.npz")]) == 0
    said = capsys.readouterr().err
    assert "joint1 98 %, joint2 21 % of the rms motion" in said and "gains of the loop are too low" in said
    assert main(["simulate", "tx40", "-o", str(tmp_path / "log.npz"), "--noise", "standard"]) == 0
    assert not capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["tx40", "--noise", "loud"], "no noise preset 'loud'"),
        (["tx40", "--friction", "glue"], "unknown friction 'glue'"),
        (["tx40", "--rate", "9000"], "exceeds the control rate"),
        (["tx40", "--runs", "0"], "at least 1"),
        (["tx40", "-t", "missing.yaml"], "missing.yaml"),
        (["tx40", "--integrator", "rk45"], "unknown integrator 'rk45'"),
        (["tx41"], "did you mean 'tx40'"),
    ],
)
def test_bad_input_is_one_sentence(words: list[str], sentence: str, tmp_path, capsys) -> None:
    assert main(["simulate", *words, "-o", str(tmp_path / "log.csv")]) == 2
    said = capsys.readouterr()
    assert sentence in said.err and said.err.count("\n") == 1
    assert not said.out and not (tmp_path / "log.csv").exists()
