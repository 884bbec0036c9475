"""Section 9.5 of the survey on the public record of a real TX40 (which is not part of the repository)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from inertica.cli.main import main
from inertica.errors import InputError
from inertica.excitation.files import catalog_trajectory
from inertica.experiment import Experiment, Sensors
from inertica.logs.log import Log
from inertica.reproduce import survey
from inertica.reproduce import survey_real_rows as rows
from inertica.reproduce.rows import Options, Reproduction
from inertica.reproduce.survey_real import METHODS, Real
from inertica.robot.load import load

RECORD = Path("tx40") / "tx40_joint_public.csv.gz"


@pytest.fixture(scope="module")
def real(real_data: Path) -> Real:
    return Real.of(str(real_data / RECORD))


def test_the_record_is_sampled_like_the_survey(real: Real) -> None:
    assert real.base.rank == 54
    assert real.check.rate == pytest.approx(1000.0) and real.motions["none"].rate == pytest.approx(1000.0)
    assert real.motions["none"].t[-1] <= real.check.t[0]  # what is predicted was not fitted
    np.testing.assert_allclose(real.desired(real.check.t).q, real.check.log.need("q"), atol=5e-3)


def test_iterations_begin_at_filtered_least_squares(real: Real) -> None:
    didim = real.fitted("didim", "none", {"integrator": "euler"})
    assert didim.estimate is not None and didim.estimate.settings["start"] == "given"
    filtered = real.fitted("ols", "butterworth", {})
    np.testing.assert_array_equal(filtered.estimate.beta, real.start)  # type: ignore[union-attr]
    assert 0.1 < didim.size < 1.1 * filtered.size < 0.25


def test_what_cannot_be_fitted_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="state --seeds, or a record"):
        survey.reproduce(Options(seeds=0))
    t = np.arange(0.0, 1.0, 1e-3)
    short = tmp_path / "short.csv"
    Log.from_arrays(t, {"q": np.zeros((1000, 6)), "tau": np.zeros((1000, 6))}).write_csv(short)
    with pytest.raises(InputError, match="fits 0 to 4 s"):
        survey.reproduce(Options(seeds=0, record=str(short)))


def test_without_a_record_a_sentence_says_what_was_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey, "_campaigns", lambda _: Reproduction((), ("simulated",)))
    found = survey.reproduce(Options(seeds=1))
    assert found.about == ("simulated", rows.ABSENT) and found.draw is None


def test_a_record_of_the_other_robot_gives_figure_10(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of a simulated RV2SQ with its reference, at the survey's 140 Hz: three quarters are fitted, the rest is predicted."""
    experiment = Experiment.of(load("rv2sq"), noise="low_position", sensors=Sensors(rate=140.0))
    (log,) = experiment.run(catalog_trajectory("rv2sq").trajectory, duration=10.0)
    log.write_csv(tmp_path / "log.csv")
    chosen = ("ols", "iv", "didim", "clie", "cloe")
    monkeypatch.setattr(rows, "METHODS", tuple(m for m in METHODS if m[0] in chosen))
    found = survey.reproduce(Options(seeds=0, quick=True, record=f"rv2sq={tmp_path / 'log.csv'}"))
    named = {row.quantity: row for row in found.rows}
    assert not any("TX40: " in name and row.ours is not None for name, row in named.items())
    assert named["Figure 10, real RV2SQ: residual per joint, didim"].ours is not None
    assert named["Figure 9, real TX40: torques"].verdict.endswith("no record was stated")
    assert any("follows the reference of the record" in line for line in found.about)
    assert found.draw is not None and [f.stem for f in found.draw(tmp_path)] == ["figure_10_real_rv2sq"]
    real = Real.of(f"rv2sq={tmp_path / 'log.csv'}")
    assert real.check.rate == pytest.approx(140.0, rel=0.01) and real.cutoff == pytest.approx(28.0, rel=0.01)
    found_again = real.fitted("didim", "none", {})
    assert found_again.d_q < 1e-3 and found_again.size < 0.1  # the torque has its noise


@pytest.mark.slow
def test_the_command_prints_the_comparison_and_draws_figure_9(
    real_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = str(real_data / RECORD)
    words = ["reproduce", "survey", "--quick", "--seeds", "0", "--record", record, "--figures", str(tmp_path), "--json"]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    verdicts = {row["quantity"]: row["verdict"] for row in found["rows"]}
    assert verdicts["real TX40: base parameters, joints 5 and 6 coupled"] == "agrees"
    assert verdicts["real TX40: clie and cloe"].startswith("agrees")
    assert verdicts["Figure 10, real RV2SQ: torques"].endswith("no record was stated")
    assert {"real TX40: iv with gains of a tenth", "real TX40: didim with gains of a tenth"} <= set(verdicts)
    assert (tmp_path / "figure_9_real_tx40.png").stat().st_size > 10_000
