"""The Jaco2 comparison repeated in simulation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from inertica.errors import InputError
from inertica.estimators.base import Problem
from inertica.excitation import Condition, catalog_trajectory, evaluate, robot_constraints, violations
from inertica.physical.check import check_model
from inertica.reproduce.jaco2 import METHODS, Jaco2Study, errors
from inertica.reproduce.jaco2_figures import _frames
from inertica.reproduce.jaco2_setup import CONDITION, DESIGN_MARGIN, Jaco2Case, Setup, designed
from inertica.reproduce.rows import Options
from inertica.reproduce.studies import reproduce
from inertica.robot.load import load


@pytest.fixture(scope="module")
def study() -> Jaco2Study:
    return Jaco2Study()


@pytest.fixture(scope="module")
def setup(study: Jaco2Study) -> Setup:
    return study.setup


def test_printed_combinations_are_those_of_the_table(setup: Setup) -> None:
    """The catalog's prior has the printed CAD column, and all 43 rows together say what the base parameters say."""
    column = np.array([row[0] for row in setup.published["table4"].values()], float)
    assert setup.printed_rows @ setup.description.prior.values == pytest.approx(column, rel=1e-3, abs=2e-6)
    assert np.linalg.matrix_rank(np.vstack([setup.printed_rows, setup.base.T])) == setup.base.rank == 43


def test_truth_is_a_real_robot_near_the_printed_estimate(setup: Setup) -> None:
    assert check_model(setup.truth).consistent
    table = np.array(list(setup.published["table4"].values()), float)
    off = (setup.printed_rows @ setup.truth.values - table[:, 7]) / table[:, 8]
    assert np.sqrt(np.mean(off**2)) < 1.0
    cad = list(setup.published["table4"]).index("beta17")
    assert setup.printed_rows[cad] @ setup.truth.values > 0.0 > table[cad, 0]


@pytest.mark.parametrize("number", range(1, 6))
def test_shipped_motions_keep_limits_and_have_the_papers_condition(setup: Setup, number: int) -> None:
    file, engine = catalog_trajectory("jaco2", f"comparison{number}"), setup.base.engine
    any_time = np.random.default_rng(0).uniform(0.0, file.trajectory.period, 5000)
    assert violations(file.trajectory, robot_constraints(setup.description, engine, margin=DESIGN_MARGIN), any_time) == ()
    found = evaluate(file.trajectory, engine, setup.base, Condition())
    assert found == pytest.approx(file.about["condition"], rel=1e-5) and 0.9 * CONDITION < found <= CONDITION


def test_two_records_show_what_all_five_do(study: Jaco2Study, setup: Setup) -> None:
    first, second = setup.motion(1), setup.motion(2)
    problem = Problem(setup.base, (first,), setup.description.prior)
    found = {name: m.estimate(problem) for name, m in study.methods.items()}
    here = {name: errors(setup.base, e.beta, first)[1] for name, e in found.items()}
    there = {name: errors(setup.base, e.beta, second)[1] for name, e in found.items()}
    assert min(here, key=here.get) == "uls" and max(here, key=here.get) == "cad"
    assert there["cls-3"] < there["uls"] < there["cls-2"] < there["cad"]
    s, s_r = errors(setup.base, found["cad"].beta, first)
    use = ~first.mask
    assert s / s_r == pytest.approx(np.linalg.norm(first.tau[use]) / first.tau[use].size)


def test_standard_deviations_of_table_4_are_those_of_eq_10(
    study: Jaco2Study, setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a short record in place of the fourth: rows and inverse written out; one factor between methods."""
    short = setup.motion(1)
    monkeypatch.setitem(setup.__dict__, "motions", (short,) * 5)
    problem = Problem(setup.base, (short,), setup.description.prior)
    estimates = {(4, name): study.methods[name].estimate(problem) for name in ("uls", "cls-1")}
    case = Jaco2Case("short", setup.base, setup.description.prior, estimates, {})
    use = ~short.mask
    W = np.asarray(setup.base.engine.regressor(short.q, short.dq, short.ddq))[use].reshape(-1, 70) @ np.linalg.pinv(setup.base.T)
    tau = short.tau[use].ravel()
    D = setup.printed_rows @ np.linalg.pinv(setup.base.T)
    for name in ("uls", "cls-1"):
        r = tau - W @ estimates[4, name].beta
        M = (r @ r) / (len(tau) - 43) * np.linalg.inv(W.T @ W)
        np.testing.assert_allclose(study.deviations(case, name), np.sqrt(np.diag(D @ M @ D.T)), rtol=1e-6)
    ratio = study.deviations(case, "cls-1") / study.deviations(case, "uls")
    assert np.ptp(ratio) < 1e-9 * ratio[0] and ratio[0] > 1.0
    printed = np.array(list(setup.published["table4"].values()), float)
    assert np.ptp(printed[:, 4] / printed[:, 2]) < 0.2 * 4.3  # as in the paper, to its two digits


def test_divisor_of_eq_9(setup: Setup) -> None:
    first = setup.motion(1)
    beta = setup.base.beta(setup.description.prior.values)
    values, samples = errors(setup.base, beta, first), errors(setup.base, beta, first, "samples")
    assert samples[0] == pytest.approx(7.0 * values[0], rel=1e-12) and samples[1] == values[1]
    with pytest.raises(InputError, match="'jaco2' alone"):
        reproduce("didim", Options(divisor="samples"))


def test_frames_of_figure_1_are_the_robots(setup: Setup) -> None:
    """Origins of the links: the point that a mass there would pull on with the weight's torque (virtual work)."""
    d, rng = setup.description, np.random.default_rng(1)
    q = rng.uniform(-1.0, 1.0, 7)
    places, _ = _frames(d.robot.joints, q)
    h = 1e-6
    for link in (3, 5, 7):
        chi = d.prior.with_values(np.zeros(70)).replaced({f"M{link}": 1.0})
        weight = setup.base.engine.inverse_dynamics(q[None], 0 * q[None], 0 * q[None], chi)[0]
        slope = [
            (_frames(d.robot.joints, q + h * e)[0][link - 1][2] - _frames(d.robot.joints, q - h * e)[0][link - 1][2]) / (2 * h)
            for e in np.eye(7)
        ]
        np.testing.assert_allclose(weight, 9.81 * np.array(slope), atol=1e-6)
        assert places[link - 1].shape == (3,)


def test_the_shipped_cls3_model_is_the_one_that_can_be_repeated(setup: Setup) -> None:
    shipped = load("jaco2_cls3")
    assert check_model(shipped.prior).consistent
    C, again = setup.printed_rows, setup.near_cls3(0.01)
    table = np.array(list(setup.published["table4"].values()), float)
    for chi in (shipped.prior.values, again):
        assert np.abs((C @ chi - table[:, 7]) / table[:, 8]).max() < 0.15
    np.testing.assert_allclose(C @ shipped.prior.values, C @ again, atol=1e-5)


@pytest.mark.slow
def test_a_design_can_be_repeated() -> None:
    assert designed(1).feasible and designed(1).condition <= CONDITION


@pytest.mark.slow
def test_study(tmp_path: Path) -> None:
    said: list[str] = []
    found = reproduce("jaco2", Options(say=said.append))
    bare = [row.quantity for row in found.rows if row.verdict in ("differs", "refuted")]
    assert bare == [], "a difference has its reason"
    rows = {row.quantity: row for row in found.rows}
    assert rows["Table 5, constraints: satisfy all three"].ours == "cad, cls-3"
    assert rows["Table 5, errors: cls-3 beats uls, of 20 validations"].published == "17"
    assert int(rows["Table 5, errors: cls-3 beats uls, of 20 validations"].ours) > 15  # type: ignore[arg-type]
    assert rows["Table 5, errors: uls has the smallest error on its identification record, of 5"].ours == 5
    assert len(found.sheets) == 6 and all(len(row) == len(s.columns) for s in found.sheets for row in s.rows)
    relative, absolute, friction, criteria, values, deviations = found.sheets
    assert len(relative.rows) == len(absolute.rows) == len(friction.rows) == 25 and len(values.rows) == len(deviations.rows) == 43
    assert sum(cell.endswith("*") for s in (relative, absolute) for row in s.rows for cell in row) == 4
    assert [row[1 + 2 * METHODS.index("uls")] for row in criteria.rows] == ["no"] * 3
    assert found.draw is not None and said
    files = found.draw(tmp_path)
    assert len(files) == 9 and all(f.stat().st_size > 10_000 for f in files)


def test_logs_of_the_real_arm_take_the_place_of_simulated_ones(setup: Setup, tmp_path: Path) -> None:
    """Five logs, here of the simulated arm: what is found is what the study finds on its own motions, and no row speaks of a truth."""
    short = setup.experiment
    for number in (1, 2, 3, 4, 5):
        trajectory = catalog_trajectory("jaco2", f"comparison{number}").trajectory
        (log,) = short.run(trajectory, first_run=number, duration=20.0)
        log.write_csv(tmp_path / f"run{number}.csv")
    found = Jaco2Study(Options(record=str(tmp_path)))
    np.testing.assert_allclose(found.setup.motion(1).tau, setup.motion(1).tau, atol=1e-6)
    rows = {row.quantity: row for row in found.run().rows}
    assert rows["Table 5, errors: cad has the largest error, of 25"].ours is not None
    assert not [q for q, row in rows.items() if "simulated" in row.verdict]
    columns = {sheet.title: sheet.columns for sheet in found.run().sheets}
    assert "truth" not in columns["Table 4, identified on record 4"]
    (tmp_path / "run5.csv").unlink()
    with pytest.raises(InputError, match="it has 4 files"):
        _ = Setup(record=str(tmp_path)).logs
