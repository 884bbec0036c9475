"""`inertica compare`, `predict` and `export`: numbers alike in text and JSON, failures that name their reason."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import pair
from inertica.cli.main import main
from inertica.errors import InputError
from inertica.estimators import registry
from inertica.estimators.linear.least_squares import Ols
from inertica.robot.load import load
from inertica.workflow.identify.result import Result
from pair import files, refused

FIXED = ("--cutoff", "10", "--delay", "0", "--friction", "viscous,coulomb")


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    return pair.identified().save(tmp_path_factory.mktemp("saved") / "result")


def answered(capsys, *words) -> dict:
    assert main([*map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_methods_share_the_choices(capsys):
    robot, fit, other = files()
    document = answered(capsys, "compare", robot, fit, "--validate", other, "--methods", "ols,wls", *FIXED)
    assert [m["method"] for m in document["methods"]] == ["ols", "wls"]
    wls = pair.identified()
    entry = document["methods"][1]
    assert entry["residual"][other]["raw"]["all"] == pytest.approx(wls.residuals[other].raw.all, rel=1e-9)
    assert entry["condition"] == pytest.approx(wls.estimate.condition) and entry["failure"] is None
    assert entry["determined"] == list(wls.labels.values()).count("determined") and entry["time"] > 0.0
    assert {c["subject"] for c in document["choices"]} == {"filter", "delay", "gravity", "friction"}


def test_a_method_that_fails_does_not_stop_the_others(capsys, monkeypatch):
    class Sulking(Ols):
        def estimate(self, problem, rng=None):
            raise InputError("this method needs more than it got")

    monkeypatch.setitem(registry.METHODS, "sulking", Sulking)
    robot, fit, _ = files()
    document = answered(capsys, "compare", robot, fit, "--methods", "sulking,ols", *FIXED)
    assert document["methods"][0] == {"method": "sulking", "failure": "this method needs more than it got"}
    assert document["methods"][1]["failure"] is None and any("sulking" in w for w in document["warnings"])
    assert main(["compare", robot, fit, "--methods", "sulking", *FIXED]) == 1
    assert "this method needs more" in capsys.readouterr().out


def test_without_validation_every_method_is_judged_on_a_part_left_out(capsys):
    robot, fit, _ = files()
    document = answered(capsys, "compare", robot, fit, "--methods", "ols,wls", *FIXED)
    assert all(set(m["residual"]) == {"identification", "hold-out"} for m in document["methods"])
    assert main(["identify", robot, fit, "--method", "ols", *FIXED, "--json"]) == 0
    alone = json.loads(capsys.readouterr().out)["residual"]["hold-out"]
    # the borders masked there are those of the whole log, here those of the parts
    assert document["methods"][0]["residual"]["hold-out"]["raw"]["all"] == pytest.approx(alone["raw"]["all"], rel=1e-3)


def test_the_table_of_methods(capsys):
    robot, fit, other = files()
    assert main(["compare", robot, fit, "--validate", other, "--methods", "wls,ols", *FIXED]) == 0
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) <= 100 and "identification" in said and "run2.csv" in said and "condition" in said
    assert "did you mean 'ols'?" in refused(capsys, "compare", robot, fit, "--methods", "wls,olss")
    assert "names no method" in refused(capsys, "compare", robot, fit, "--methods", ",")


def test_prediction_is_that_of_the_result(saved, tmp_path, capsys):
    _, _, other = files()
    document = answered(capsys, "predict", saved, other, "-o", tmp_path / "out.csv.gz")
    expected = pair.identified().residuals[other]
    assert document["residual"][other]["raw"]["all"] == pytest.approx(expected.raw.all, rel=1e-6)
    with gzip.open(tmp_path / "out.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    log = pair.logs()[other][0]
    predicted = np.array([[float(row[f"predicted{j}"]) for j in (1, 2)] for row in rows])
    assert predicted == pytest.approx(pair.identified().predict(log), abs=1e-9)
    assert [float(row["tau2"]) for row in rows] == log.tau[:, 1].tolist() and document["samples"] == len(rows)


def test_a_log_without_torque_is_only_predicted(saved, tmp_path, capsys):
    _, fit, _ = files()
    table = np.loadtxt(fit, delimiter=",", skiprows=1)
    np.savetxt(tmp_path / "q.csv", table[:, :3], delimiter=",", header="t,q1,q2", comments="", fmt="%.12g")
    document = answered(capsys, "predict", saved, tmp_path / "q.csv")
    assert document["residual"] == {} and document["rms"][0] > 0.0
    assert main(["predict", str(saved), str(tmp_path / "q.csv")]) == 0
    assert "no measured torque" in capsys.readouterr().out


def test_predict_refuses_what_is_no_result(saved, tmp_path, capsys):
    _, fit, _ = files()
    assert "not the folder of a result" in refused(capsys, "predict", tmp_path, fit)
    assert "no such file" in refused(capsys, "predict", saved, tmp_path / "none.csv")
    assert "no folder" in refused(capsys, "predict", saved, fit, "-o", tmp_path / "none" / "x.csv")
    (tmp_path / "result.json").write_text("{")
    (tmp_path / "result.npz").write_bytes(b"")
    assert "result.json" in refused(capsys, "predict", tmp_path, fit)


def test_export_writes_a_checked_copy(saved, tmp_path, capsys):
    document = answered(capsys, "export", saved, "--urdf", tmp_path / "out.urdf")
    assert document["format"] == "urdf" and document["difference"] <= 1e-9
    assert load(tmp_path / "out.urdf").prior["Fv2"] == Result.load(saved).parameters["Fv2"]
    assert any("Ia1" in w for w in document["warnings"])


def test_export_refuses_other_formats_and_places(saved, tmp_path, capsys):
    assert "new MJCF file" in refused(capsys, "export", saved, "--yaml", tmp_path / "out.yaml")
    assert "no folder" in refused(capsys, "export", saved, "--urdf", tmp_path / "none" / "out.urdf")
    assert "required" in refused(capsys, "export", saved)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("method", ["essential", "svd-essential", "bayes", "cad"])
def test_results_of_every_kind_of_method_are_saved_and_read(tmp_path, method):
    result = pair.identified(method=method)
    again = Result.load(result.save(tmp_path / "out"))
    assert again.method == method and np.array_equal(again.parameters.values, result.parameters.values)
    assert np.array_equal(again.intervals, result.intervals)
