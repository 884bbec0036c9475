"""The Jaco2 comparison repeated in simulation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from inertica.estimators.base import Problem
from inertica.excitation import Condition, catalog_trajectory, evaluate, robot_constraints, violations
from inertica.physical.check import check_model
from inertica.reproduce.jaco2 import METHODS, Study, errors
from inertica.reproduce.jaco2_setup import CONDITION, Setup, designed
from inertica.reproduce.rows import Options
from inertica.reproduce.studies import reproduce


@pytest.fixture(scope="module")
def study() -> Study:
    return Study()


@pytest.fixture(scope="module")
def setup(study: Study) -> Setup:
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
    assert violations(file.trajectory, robot_constraints(setup.description, engine), any_time) == ()
    found = evaluate(file.trajectory, engine, setup.base, Condition())
    assert found == pytest.approx(file.about["condition"], rel=1e-5) and 0.9 * CONDITION < found <= CONDITION


def test_two_records_show_what_all_five_do(study: Study, setup: Setup) -> None:
    first, second = setup.record(1), setup.record(2)
    problem = Problem(setup.base, (first,), setup.description.prior)
    found = {name: m.estimate(problem) for name, m in study.methods.items()}
    here = {name: errors(setup.base, e.beta, first)[1] for name, e in found.items()}
    there = {name: errors(setup.base, e.beta, second)[1] for name, e in found.items()}
    assert min(here, key=here.get) == "uls" and max(here, key=here.get) == "cad"
    assert there["cls-3"] < there["uls"] < there["cls-2"] < there["cad"]
    s, s_r = errors(setup.base, found["cad"].beta, first)
    use = ~first.mask
    assert s / s_r == pytest.approx(np.linalg.norm(first.tau[use]) / first.tau[use].size)


@pytest.mark.slow
def test_a_design_can_be_repeated() -> None:
    assert designed(1).feasible and designed(1).condition <= CONDITION


@pytest.mark.slow
def test_study(tmp_path: Path) -> None:
    said: list[str] = []
    found = reproduce("jaco2", Options(say=said.append))
    assert [row.quantity for row in found.rows if row.verdict.startswith("differs")] == []
    rows = {row.quantity: row for row in found.rows}
    assert rows["constraints: satisfy all three"].ours == "cad, cls-3"
    assert rows["errors: cls-3 beats uls, of 20 validations"].published == 17
    assert int(rows["errors: cls-3 beats uls, of 20 validations"].ours) > 15  # type: ignore[arg-type]
    assert rows["errors: uls has the smallest error on its identification record, of 5"].ours == 5
    assert len(found.sheets) == 5 and all(len(row) == len(s.columns) for s in found.sheets for row in s.rows)
    relative, absolute, friction, criteria, values = found.sheets
    assert len(relative.rows) == len(absolute.rows) == len(friction.rows) == 25 and len(values.rows) == 43
    assert sum(cell.endswith("*") for s in (relative, absolute) for row in s.rows for cell in row) == 4
    assert [row[1 + 2 * METHODS.index("uls")] for row in criteria.rows] == ["no"] * 3
    assert found.draw is not None and said
    files = found.draw(tmp_path)
    assert len(files) == 6 and all(f.stat().st_size > 10_000 for f in files)
