"""Criteria: closed forms, published numbers, gradients."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import inertica as ia
from generators import random_robot, rich_layout
from inertica.cli.main import command_parser
from inertica.dynamics.engine import Engine
from inertica.errors import InputError
from inertica.excitation import Condition, Determinant, FrischCost, Samples, SmallestSingular, Survey
from inertica.excitation.named import CRITERIA, Setting, named_criterion
from inertica.excitation.observation import stacked_factors
from inertica.excitation.optimal import observation
from inertica.excitation.softened import softened

FRISCH = Path(__file__).parents[3] / "shared" / "facts" / "frisch" / "points.csv"


@pytest.fixture(scope="module")
def planar():
    description = ia.load("planar2")
    return description, ia.base_model(description.layout), Engine(description.layout)


def frisch_points() -> tuple[Samples, Samples]:
    """The authors' points and the noise draw of their psi."""
    if not FRISCH.is_file():
        pytest.skip("the points of the Frisch paper are reference data outside the repository")
    z = np.loadtxt(FRISCH, delimiter=",", skiprows=1)
    return Samples(*np.split(z[:, :6], 3, axis=1)), Samples(*np.split(z[:, 6:], 3, axis=1))


def test_frisch_cost_of_the_authors_points(planar):
    """20.697275 with the kept columns; 13.573941 (Table 2 of the paper) with the regressor of its wrong Theorem 3."""
    description, base, engine = planar
    points, noise = frisch_points()
    cost = FrischCost(noise)
    assert cost.values(observation(engine, base), points, 1)[0] == pytest.approx(20.697275, abs=1e-5)

    layout = description.layout
    T = np.array([[-0.5, 0, -0.5], [0.25, -0.01, 0.25], [0, 0, -0.5], [0, 0, 0.25]])

    def theorem_3(states):
        """Columns alone, and Gamma_l1 - Gamma_l2 T' where Gamma_l1 would be right."""
        Y = engine.regressor(*states).reshape(-1, layout.size)
        alone, kept, gone = (
            Y[:, [layout.index(name) for name in names.split()]]
            for names in ("Fv1 Fv2 Fc1 Fc2 Im2", "MX1 ZZ1 MX2 ZZ2", "M1 Im1 M2")
        )
        return np.hstack([alone, kept - gone @ T.T])

    noisy = Samples(*(a + b for a, b in zip(points, noise, strict=True)))
    assert cost.of_matrices(theorem_3(points), theorem_3(noisy)) == pytest.approx(13.573941, abs=1e-5)


def test_values_from_singular_values():
    s = np.array([8.0, 4.0, 2.0])
    assert Condition().of(s) == pytest.approx(4.0)
    assert Survey(k1=2.0, k2=10.0).of(s) == pytest.approx(2.0 * 16.0 + 5.0)
    assert Determinant().of(s) == pytest.approx(-np.log((8.0 * 4.0 * 2.0) ** 2))
    assert SmallestSingular(rank=2).of(s) == pytest.approx(0.25)
    assert Condition().of(np.array([1.0, 0.0])) == np.inf


def test_psi_by_hand():
    D = np.array([[1.0, 2.0, 0.0], [0.0, -1.0, 1.0]])
    Psi = D.T @ D / 2
    assert FrischCost.psi(D) == pytest.approx(max(abs(Psi[1, 0]) + abs(Psi[1, 2]), abs(Psi[0, 1]), abs(Psi[2, 1])))


@pytest.fixture(scope="module")
def arm():
    layout = softened(rich_layout(random_robot(6, 4)), 0.05)
    base = ia.base_model(layout)
    rng = np.random.default_rng(0)
    return Engine(layout), base, Samples(*rng.normal(size=(3, 40, 4)))


ALL = [
    Condition(),
    Condition(scaled=True),
    Survey(k1=0.5, k2=3.0),
    Survey(scaled=True),
    Determinant(),
    Determinant(scaled=True),
    SmallestSingular(),
    "frisch",
]  # fmt: skip


def _made(criterion, base, points):
    if criterion == "frisch":
        return FrischCost.drawn(np.random.default_rng(3), points, 4, k1=0.7, k2=2.0)
    return SmallestSingular(rank=base.rank) if isinstance(criterion, SmallestSingular) else criterion


@pytest.mark.parametrize("criterion", ALL, ids=str)
@pytest.mark.parametrize("with_given", [False, True])
def test_gradient_agrees_with_differences(arm, criterion, with_given):
    engine, base, motion = arm
    made = _made(criterion, base, 40)
    columns = base.rank if not made.full else len(base.retained) + len(base.eliminated)
    given = [np.random.default_rng(4).normal(size=(columns + 3, columns))] if with_given else []
    observe = observation(engine, base, made.full, given, 1.3, [0.5, 1.0, 2.0, 1.5])
    value, gradient = made.smooth(observe, motion, 6.0)
    rng = np.random.default_rng(5)
    for _ in range(3):
        step = Samples(*rng.normal(size=(3, 40, 4)))
        h = 1e-6
        there, back = (
            made.smooth(observe, Samples(*(x + s * h * d for x, d in zip(motion, step, strict=True))), 6.0)[0] for s in (1, -1)
        )
        slope = sum(float(np.sum(g * d)) for g, d in zip(gradient, step, strict=True))
        assert (there - back) / (2 * h) == pytest.approx(slope, rel=2e-5, abs=1e-7 * abs(value))


@pytest.mark.parametrize("criterion", ALL, ids=str)
def test_smooth_value_approaches_the_exact_one(arm, criterion):
    engine, base, motion = arm
    made = _made(criterion, base, 40)
    observe = observation(engine, base, made.full)
    exact = made.values(observe, motion, 1)[0]
    assert made.smooth(observe, motion, 3000.0)[0] == pytest.approx(exact, rel=5e-3)


@pytest.mark.parametrize("criterion", ALL, ids=str)
def test_a_population_is_judged_like_its_members(arm, criterion):
    engine, base, _ = arm
    made = _made(criterion, base, 40)
    observe = observation(engine, base, made.full)
    many = np.random.default_rng(7).normal(size=(3, 5, 40, 4))
    together = made.values(observe, Samples(*many.reshape(3, -1, 4)), 5)
    alone = [made.values(observe, Samples(*many[:, k]), 1)[0] for k in range(5)]
    assert np.allclose(together, alone, rtol=1e-9)


def test_spectrum_matches_a_dense_regressor(arm):
    engine, base, motion = arm
    W = engine.regressor(*motion).reshape(-1, base.layout.size)
    s = np.linalg.svd(base.reduce(W), compute_uv=False)
    assert Condition().values(observation(engine, base), motion, 1)[0] == pytest.approx(s[0] / s[-1], rel=1e-8)
    full = np.linalg.svd(W, compute_uv=False)
    found = SmallestSingular(rank=base.rank).values(observation(engine, base, full=True), motion, 1)[0]
    assert found == pytest.approx(1.0 / full[base.rank - 1], rel=1e-6)


def test_noise_weights_the_joints(arm):
    engine, base, motion = arm
    sigma = np.array([0.5, 1.0, 2.0, 4.0])
    W = base.reduce(engine.regressor(*motion)) / sigma[:, None]
    sign, logdet = np.linalg.slogdet(W.reshape(-1, base.rank).T @ W.reshape(-1, base.rank))
    value = Determinant().values(observation(engine, base, noise=sigma), motion, 1)[0]
    assert sign == 1 and value == pytest.approx(-logdet, rel=1e-9)


def test_given_information_is_added(arm):
    engine, base, motion = arm
    first, second = np.random.default_rng(8).normal(size=(2, 60, base.rank))
    W = base.reduce(engine.regressor(*motion)).reshape(-1, base.rank)
    s = np.linalg.svd(np.vstack([W, first, second]), compute_uv=False)
    found = Condition().values(observation(engine, base, previous=[first, second]), motion, 1)[0]
    assert found == pytest.approx(s[0] / s[-1], rel=1e-9)
    with pytest.raises(InputError, match="expected 5 columns"):
        stacked_factors([first], 5)


def test_noise_of_another_grid_is_refused(arm):
    engine, base, motion = arm
    with pytest.raises(InputError, match="has 30 points, the grid 40"):
        FrischCost.drawn(np.random.default_rng(0), 30, 4).values(observation(engine, base), motion, 1)


def test_a_further_criterion_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command takes it, and the search gets it by name."""
    monkeypatch.setitem(CRITERIA, "toy", lambda setting: Survey(k1=float(setting.joints)))
    arguments = command_parser("excite").parse_args(["scara2", "--criterion", "toy", "-o", "t.yaml"])
    assert named_criterion(arguments.criterion, Setting(2)) == Survey(k1=2.0)
