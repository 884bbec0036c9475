"""Closed-loop methods from the command line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lxml import html

from estimators.closed import experiment_log, truth
from inertica.cli.main import main
from inertica.excitation.files import catalog_trajectory, save_trajectory
from inertica.preprocessing.filters import Unfiltered
from inertica.robot.load import load
from inertica.workflow.identify.result import Result


def written(capsys: pytest.CaptureFixture[str], *words: str) -> dict:  # type: ignore[type-arg]
    assert main([*words, "--json"]) == 0, capsys.readouterr().err
    return dict(json.loads(capsys.readouterr().out))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.csv.gz"
    experiment_log("tx40", "low_position").save(path)
    return path


def test_identify_didim(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = written(capsys, "identify", "tx40", str(log), "--method", "didim", "--cutoff", "50", "--delay", "0")
    assert found["method"] == "didim" and found["stop_reason"].startswith("converged")
    assert found["base_count"] == 52


def test_a_loop_that_cannot_be_simulated_is_a_failure_and_leaves_nothing(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    card = tmp_path / "card.yaml"
    card.write_text("model: tx40\nloop: {law: pd, rate: 5000, kp: [1e9, 1e9, 1e9, 1e9, 1e9, 1e9], kd: [1, 1, 1, 1, 1, 1]}\n")
    words = ["identify", str(card), str(log), "--method", "didim", "--cutoff", "50", "--delay", "0", "-o", str(tmp_path / "out")]
    assert main(words) == 1
    assert "didim: nothing was identified: the loop simulated with the starting values is unstable" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def torque_file(path: Path, *symbols: str) -> Path:
    """A log of the arm that lacks the position."""
    source = experiment_log("tx40", "low_position")
    replace(source, signals={s: source.signals[s] for s in ("tau", *symbols)}, truth={}).save(path)
    return path


@pytest.fixture(scope="module")
def torque_result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result of torque and trajectory alone."""
    folder = tmp_path_factory.mktemp("torque")
    torque_file(folder / "torque.csv.gz")
    torque_file(folder / "with_reference.csv.gz", "qr")
    save_trajectory(catalog_trajectory("tx40").trajectory, folder / "traj.yaml")
    words = ["identify", "tx40", str(folder / "torque.csv.gz"), "--method", "didim", "--reference", str(folder / "traj.yaml")]
    assert main([*words, "-o", str(folder / "result"), "--json"]) == 0
    return folder


def test_torque_only_result_is_whole(torque_result: Path) -> None:
    folder = torque_result / "result"
    found = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    beta, true = np.array([b["value"] for b in found["base"]]), truth("tx40")
    large = np.abs(true) > 0.05
    assert np.mean(np.abs(beta - true)[large] / np.abs(true)[large]) < 0.02
    assert set(found["residual"]) == {"identification", "hold-out"}
    assert all(r["raw"]["all"] < 0.1 for r in found["residual"].values())
    assert found["estimate"]["settings"]["start"] == "prior"
    for name in ("identified.yaml", "parameters.csv", "report.html", "reference1.yaml"):
        assert (folder / name).stat().st_size > 500
    again = Result.load(folder)
    assert isinstance(again.recipe.filter, Unfiltered) and len(again.references) == 1
    np.testing.assert_array_equal(again.estimate.beta, beta)


def test_torque_only_report_says_that_motion_is_simulated(torque_result: Path) -> None:
    page = html.fromstring((torque_result / "result" / "report.html").read_text(encoding="utf-8"))
    shown = page.get_element_by_id("torque").text_content()
    assert "No position was recorded" in shown and "compared on this simulated motion" in shown
    assert "Positions and velocities are simulated ones" in page.get_element_by_id("friction").text_content()
    assert len(page.get_element_by_id("torque").xpath(".//figure")) == 6
    assert "given, not chosen" not in page.get_element_by_id("choices").xpath(".//tr[th='filter']")[0].text_content()


def test_torque_only_result_predicts(torque_result: Path, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, torque, other = (str(torque_result / x) for x in ("result", "torque.csv.gz", "with_reference.csv.gz"))
    stated = written(capsys, "predict", folder, torque, "--reference", str(torque_result / "traj.yaml"))
    assert stated["motion"] == "simulated" and stated["residual"][torque]["raw"]["all"] < 0.1
    assert main(["predict", folder, torque, "--json"]) == 0
    captured = capsys.readouterr()
    assert "that of the identification was taken" in captured.err
    assert json.loads(captured.out)["rms"] == stated["rms"]
    own = written(capsys, "predict", folder, other)
    assert own["residual"][other]["raw"]["all"] == pytest.approx(stated["residual"][torque]["raw"]["all"], rel=1e-3)
    measured = written(capsys, "predict", folder, str(log))  # positions are there: the usual filter
    assert measured["motion"] == "measured" and measured["residual"][str(log)]["raw"]["all"] < 0.15


def test_torque_only_result_elsewhere(torque_result: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The folder of a result is a robot; the model can be written again; methods that need positions say so."""
    folder, other = str(torque_result / "result"), str(torque_result / "with_reference.csv.gz")
    assert written(capsys, "show", folder)["base_count"] == 52
    assert written(capsys, "export", folder, "--yaml", str(tmp_path / "x.yaml"))["difference"] < 1e-9
    assert main(["compare", folder, other, "--methods", "didim,wls", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["methods"]
    assert rows[0]["residual"]["hold-out"]["raw"]["all"] < 0.1
    assert "needs measured motion" in rows[1]["failure"]
    assert main(["identify", "tx40", other, "--method", "wls"]) == 2
    assert "has no position" in capsys.readouterr().err


def test_torque_only_validation(torque_result: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torque, other, traj = (str(torque_result / x) for x in ("torque.csv.gz", "with_reference.csv.gz", "traj.yaml"))
    found = written(capsys, "identify", "tx40", other, "--method", "didim", "--validate", torque, "--reference", traj)
    assert found["residual"][torque]["raw"]["all"] < 0.1
    words = ["identify", "tx40", other, "--method", "didim", *(["--reference", traj] * 3)]
    assert main(words) == 2
    assert "reference trajectories" in capsys.readouterr().err


def test_options_of_the_method(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("identify", "tx40", str(log), "--cutoff", "50", "--delay", "0", "--method")
    found = written(capsys, *words, "didim", "--start", "regular", "--retune", "--stop", "either", "--option", "iterations=7")
    settings = found["estimate"]["settings"]
    assert settings["start"] == "regular" and settings["retune"] is True
    assert settings["stop"]["rule"] == "either" and settings["stop"]["iterations"] == 7


def test_estimated_gains_are_in_the_result(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Behind the position filter of `identify`, which must not be taken for a slower loop."""
    half = f"{log}@0:5"
    found = written(capsys, "identify", "tx40", half, "--method", "didim", "--estimate-gains", "--cutoff", "50", "--delay", "0",
                    "--validate", half, "-o", str(tmp_path / "out"))  # fmt: skip
    stated, settings = load("tx40").loop, found["estimate"]["settings"]
    assert stated is not None
    np.testing.assert_allclose(settings["gains"]["kp"], stated["kp"], rtol=0.01)
    assert not any("control law" in w for w in found["warnings"])
    loaded = Result.load(tmp_path / "out").estimate
    assert loaded.settings["gains"] == settings["gains"]
    assert {name: list(values) for name, values in loaded.loop.gains.items()} == settings["gains"]


REFUSED = [
    ("wls", ("--start", "prior"), "iv, didim, clie"),
    ("wls", ("--estimate-gains",), "iv, didim, clie, cloe, pc-iv"),
    ("didim", ("--optimiser", "de"), "clie, cloe"),
    ("clie", ("--retune",), "iv, didim"),
    ("didim", ("--start", "regulr"), "did you mean 'regular'"),
    ("clie", ("--optimiser", "newton"), "nelder-mead"),
    ("didim", ("--stop", "never"), "'both'"),
    ("didim", ("--option", "iterations=many"), "whole number"),
    ("didim", ("--option", "iteration=3"), "iterations"),
    ("didim", ("--start", "wls", "--option", "start=prior"), "stated twice"),
    ("cloe", ("--option", "observed=torque"), "position"),
    ("auto", ("--start", "prior"), "need the method"),
]


@pytest.mark.parametrize(("method", "options", "words"), REFUSED)
def test_options_that_are_refused(
    method: str, options: tuple[str, ...], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before the log is read: it is not even there."""
    assert main(["identify", "tx40", str(tmp_path / "log.csv"), "--method", method, *options]) == 2
    assert words in capsys.readouterr().err


def test_fit_loop(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = written(capsys, "fit-loop", "tx40", str(log), "--rate", "5000")
    assert found["law"] == "pd" and len(found["joints"]) == 6 and found["loop"]["rate"] == 5000.0
    assert main(["fit-loop", "tx40", str(log)]) == 0
    assert "for the card" in capsys.readouterr().out
    assert main(["fit-loop", "tx40", str(log), "--rate", "-1"]) == 2


def test_reproduce_names_its_papers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "dydim"]) == 2
    assert "didim" in capsys.readouterr().err


@pytest.mark.slow
def test_reproduce(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = written(capsys, "reproduce", "didim", "--seeds", "1", "--figures", str(tmp_path / "figures"))
    assert {"quantity", "published", "ours", "verdict"} == set(found["rows"][0])
    assert len(found["files"]) == 6
