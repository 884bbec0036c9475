"""Permutation-optimised SVD reduction: the paper's example, and agreement with the plain base model."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from inertica.dynamics.equations import plain_regressor
from inertica.identifiability import svd_reduction
from inertica.identifiability.base import base_model
from inertica.identifiability.states import random_states
from inertica.identifiability.svd_reduction import best_subset, criterion, reduced_by_svd
from inertica.robot.load import load
from robots import random_chi, random_layout


def test_published_reduction_of_the_planar_arm() -> None:
    robot = load("planar2")
    model = reduced_by_svd(robot.layout).base
    facts = robot.reference["model_12"]
    names = robot.layout.names
    assert model.rank == facts["rank"]
    assert [names[k] for k in model.eliminated] == ["M1", "Im1", "M2"]
    rows = [model.names.index(name) for name in ("MX1", "ZZ1", "MX2", "ZZ2")]
    np.testing.assert_allclose(-model.K[rows], facts["T_matrix"], rtol=0, atol=1e-12)
    assert {name for name, label in model.classes().items() if label == "alone"} == {"Fv1", "Fv2", "Fc1", "Fc2", "Im2"}
    beta = dict(zip(model.names, model.beta(robot.prior.values), strict=True))
    assert beta["MX1"] == pytest.approx(20.75) and beta["ZZ2"] == pytest.approx(-2.2667)


def test_published_counts_of_the_planar_arm() -> None:
    """rank 9, p_n 14 (two of them known), p_a 5, p_l 7, 35 permutations."""
    found = reduced_by_svd(load("planar2").layout)
    base = found.base
    assert (base.rank, len(base.no_effect) + len(base.fixed), found.alone, found.combined, found.permutations) == (
        9,
        14,
        5,
        7,
        35,
    )
    assert found.exhaustive and 1.0 < found.value < 10.0


def test_theorem_3_as_printed_is_wrong_and_kept_columns_are_right() -> None:
    robot = load("planar2")
    model = reduced_by_svd(robot.layout).base
    s = random_states(robot.layout, 100, seed=8)
    Y = plain_regressor(robot.layout, s.q, s.dq, s.ddq)
    tau, beta = Y @ robot.prior.values, model.beta(robot.prior.values)
    printed = Y[..., model.retained] + Y[..., model.eliminated] @ model.K.T  # Gamma_l1 - Gamma_l2 T'
    assert np.linalg.norm(model.reduce(Y) @ beta - tau) < 1e-12 * np.linalg.norm(tau)
    assert np.linalg.norm(printed @ beta - tau) > 0.3 * np.linalg.norm(tau)


@pytest.mark.parametrize("seed", range(20))
def test_same_torques_and_classes_as_the_plain_base(seed: int) -> None:
    layout = random_layout(seed)
    model, plain = reduced_by_svd(layout).base, base_model(layout)
    s = random_states(layout, 40, seed=77)
    Y = plain_regressor(layout, s.q, s.dq, s.ddq)
    chi = random_chi(layout, seed)
    assert model.rank == plain.rank
    assert model.classes() == plain.classes()
    np.testing.assert_allclose(model.reduce(Y) @ model.beta(chi), Y @ chi, rtol=0, atol=1e-9 * max(1.0, np.abs(Y).max()))
    np.testing.assert_allclose(model.T @ model.chi(plain.beta(chi) * 0 + 1.0, chi), np.ones(model.rank), rtol=0, atol=1e-11)


def test_exhaustive_search_finds_the_best_subset() -> None:
    V2 = np.linalg.qr(np.random.default_rng(2).normal(size=(8, 3)))[0]
    values = {subset: float(criterion(V2[list(subset)], 1.0, 0.5)) for subset in combinations(range(8), 3)}
    assert tuple(best_subset(V2, 1.0, 0.5)) == min(values, key=values.__getitem__)


def test_swaps_end_where_no_single_swap_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    V2 = np.linalg.qr(np.random.default_rng(4).normal(size=(12, 5)))[0]
    monkeypatch.setattr(svd_reduction, "MOST_SUBSETS", 1)
    found = list(best_subset(V2))
    value = float(criterion(V2[found]))
    for out in range(5):
        for new in set(range(12)) - set(found):
            swapped = [*found[:out], new, *found[out + 1 :]]
            assert float(criterion(V2[swapped])) >= value * (1.0 - 1e-8)


def test_large_robot_by_swaps() -> None:
    robot = load("tx40")
    model = reduced_by_svd(robot.layout).base
    s = random_states(robot.layout, 40, seed=3)
    Y = plain_regressor(robot.layout, s.q, s.dq, s.ddq)
    chi = robot.prior.values
    assert model.rank == 52
    np.testing.assert_allclose(model.reduce(Y) @ model.beta(chi), Y @ chi, rtol=0, atol=1e-10)
