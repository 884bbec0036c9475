"""The Frisch study: Table 2 from the authors' points, Tables 3 and 4 as they arose, and what its box holds."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from inertica.errors import FileError, InputError
from inertica.excitation import Samples
from inertica.reproduce.frisch import KEYS, MATCHING, RIGHT_MODEL, FrischResults, FrischStudy
from inertica.reproduce.frisch_setup import (
    Outcome,
    monte_carlo,
    optimised_model,
    read_points,
    right_model,
    tables_model,
    trajectory_through,
)
from inertica.reproduce.rows import Options
from inertica.reproduce.studies import reproduce
from inertica.robot.load import load

REFERENCE = load("planar2").reference


@pytest.fixture(scope="session")
def authors_points(real_data: Path) -> str:
    """Reference data that are not part of the repository."""
    path = real_data.parent / "facts" / "frisch" / "points.csv"
    if not path.is_file():
        pytest.skip("the points of the Frisch paper are reference data outside the repository")
    return str(path)


def random_points(seed: int = 0) -> Samples:
    """Points inside the paper's limits, not optimised."""
    rng = np.random.default_rng(seed)
    return Samples(*(rng.uniform(-limit, limit, (100, 2)) for limit in (3.0, 5.0, 10.0)))


def test_models_and_their_base_parameters() -> None:
    printed = [entry["value"] for entry in REFERENCE["base_parameters"]]
    right = right_model()
    np.testing.assert_allclose(right.truth(), printed, atol=5e-5)
    facts = REFERENCE["model_12"]
    assert list(right.kept) == ["MX1", "ZZ1", "MX2", "ZZ2"]
    np.testing.assert_allclose(-right.regroup, facts["T_matrix"], atol=1e-12)
    points = random_points()
    layout = right.description.layout
    torque = (right.engine.regressor(*points) @ right.description.prior.values).ravel()
    assert layout.size == 26
    np.testing.assert_allclose(right.rows(points) @ right.truth(), torque, rtol=1e-12, atol=1e-9)
    wrong = optimised_model().rows(points) @ right.truth()
    assert np.linalg.norm(wrong - torque) > 0.3 * np.linalg.norm(torque)  # Theorem 3


def test_table_2_from_the_authors_points(authors_points: str) -> None:
    study = FrischStudy(points=authors_points)
    points, _ = read_points(authors_points)
    printed = study._figures(points, optimised_model())
    assert printed["cost"] == pytest.approx(13.573941, abs=1e-5)
    assert [printed[k] for k in ("cond", "sigma_max", "sigma_min")] == pytest.approx([11.1564, 74.5923, 6.6860], abs=6e-5)
    right = study._figures(points, right_model())
    assert right["cost"] == pytest.approx(20.697275, abs=1e-5)
    assert [right[k] for k in ("cond", "sigma_max", "sigma_min")] == pytest.approx([10.8907, 72.8038, 6.6850], abs=6e-5)
    assert np.linalg.cond(tables_model().rows(points)) == pytest.approx(165.4, abs=0.06)


def matching(points: Samples, runs: int) -> Outcome:
    case = next(c for c in FrischStudy().cases() if c.name == MATCHING)
    return monte_carlo(case, trajectory_through(points), runs, 0, lambda _: None)


def test_tables_3_and_4_as_they_arose(authors_points: str) -> None:
    """Means of 12 runs within the printed spreads of single runs."""
    found = matching(read_points(authors_points)[0], 12)
    published = REFERENCE["results_published"]
    for k, key in enumerate(KEYS):
        low, low_sd, high, high_sd = published["table3"][key]
        assert abs(found.vertex_lower[:, k].mean() - low) <= low_sd
        assert abs(found.vertex_upper[:, k].mean() - high) <= high_sd
        value, value_sd, error, error_sd = published["table4"][key]
        assert abs(found.selected[:, k].mean() - value) <= value_sd
        assert abs(found.error[:, k].mean() - error) <= error_sd
    assert not found.premise.any() and found.covered().all(axis=1).mean() <= 0.25


def test_the_box_loses_the_truth_while_the_point_stays_good() -> None:
    found = matching(random_points(), 6)
    assert found.runs == 6 and found.dropped == 0 and not found.premise.any() and np.all(found.relations >= 2)
    inside = (found.vertex_lower <= found.truth) & (found.truth <= found.vertex_upper)
    assert inside.all()  # the box of all data holds the truth; that of all windows does not
    assert found.covered().all(axis=1).mean() <= 0.34
    assert np.all(np.abs(found.selected[:, 4:] / found.truth[4:] - 1.0) < 5e-3)
    rows, path = found.path
    assert len(rows) == len(path) and rows[0] == 1001.0
    assert np.all(np.diff(path[:, 0, :, 0], axis=0) >= -1e-12) and np.all(np.diff(path[:, 1, :, 0], axis=0) <= 1e-12)


def test_a_short_study_with_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["inertica.reproduce.frisch"], "QUICK_SEARCH", 1500)
    found = reproduce("frisch", Options(seeds=2, quick=True))
    verdicts = {row.quantity: row.verdict for row in found.rows}
    assert all(v.startswith("agrees") for q, v in verdicts.items() if q.startswith("model reduction"))
    for claim in (
        "share of runs whose final box holds all nine true values",
        "share of runs to which the simplex statement applies",
    ):
        assert all(v.startswith("refuted: in ") for q, v in verdicts.items() if q.startswith(f"{RIGHT_MODEL}: {claim}"))
    assert verdicts["Table 1: length of link 1 in m"].startswith("differs: Table 2 holds")
    assert len(found.sheets) == 9 and all(len(row) == len(s.columns) for s in found.sheets for row in s.rows)
    assert any("The box does not keep" in sentence for sentence in found.about)
    assert found.draw is not None
    files = found.draw(tmp_path)
    assert len(files) == 5 and all(f.stat().st_size > 10_000 for f in files)


def test_what_is_asked_wrongly_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no short form; frisch, survey have"):
        reproduce("didim", Options(quick=True))
    with pytest.raises(InputError, match="at least 2 runs"):
        reproduce("frisch", Options(seeds=1))
    bad = tmp_path / "points.csv"
    bad.write_text("q1,q2\n1,2\n")
    with pytest.raises(FileError, match="expected 100 points of 12 columns"):
        read_points(str(bad))


@pytest.mark.slow
def test_whole_study_with_the_authors_points(authors_points: str) -> None:
    study: FrischResults = FrischStudy(runs=60, points=authors_points, quick=True).run()
    rows = {row.quantity: row for row in study.rows}
    arose = [row for q, row in rows.items() if f", {MATCHING}: " in q and "standard deviation" not in q]
    assert len(arose) == 36 and {row.verdict for row in arose} == {"agrees"}
    named = [row for q, row in rows.items() if q.endswith("the authors' points and regressor")]
    assert len(named) == 4 and {row.verdict for row in named} == {"agrees"}
    o = study.outcomes[RIGHT_MODEL]
    for k, key in enumerate(KEYS):  # means of 60 runs of another implementation, of which ours are 60 others
        for x, expected in zip(
            (o.vertex_lower, o.vertex_upper, o.selected, o.error), REFERENCE["correct_model_results"][key], strict=True
        ):
            assert abs(x[:, k].mean() - expected) < 4.0 * x[:, k].std() * np.sqrt(2.0 / 60) + 1.01e-4
