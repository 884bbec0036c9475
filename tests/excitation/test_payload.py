"""The criterion for motions that reveal a load: against plain inverses and differences."""

from __future__ import annotations

import numpy as np
import pytest

import inertica as ia
from inertica.excitation import LoadDeterminant, Samples
from inertica.excitation.optimal import observation
from inertica.identifiability.load import load_columns, own_friction
from inertica.robot.terms import RigidBody

TX40 = ia.load("tx40")
BASE = ia.base_model(TX40.layout)
B, E = load_columns(BASE, RigidBody(5, "p", position=(0.0, 0.0, 0.05))), own_friction(BASE)


def motion(seed: int, m: int = 40) -> Samples:
    q, dq, ddq = np.random.default_rng(seed).standard_normal((3, m, 6))
    return Samples(q, dq, 5.0 * ddq)


@pytest.mark.parametrize("known", [True, False])
def test_value_is_that_of_the_covariance_of_the_load(known: bool) -> None:
    observe, states = observation(BASE.engine, BASE), motion(1)
    (M,) = observe.grams(states, 1)
    P = None if known else 0.3 * observe.grams(motion(2), 1)[0]
    criterion = LoadDeterminant(B, E, P)
    C = np.hstack([E, B] if known else [np.eye(BASE.rank), E, B])
    N = C.T @ M @ C
    if P is not None:
        N[: BASE.rank, : BASE.rank] += P
    covariance = np.linalg.inv(N)[-10:, -10:]
    expected = np.linalg.slogdet(covariance)[1]
    assert criterion.values(observe, states, 1)[0] == pytest.approx(expected, rel=1e-6)
    assert np.allclose(np.linalg.inv(criterion.information(M)), covariance, rtol=1e-4)


def test_a_robot_that_is_known_less_well_reveals_less_of_the_load() -> None:
    observe, states = observation(BASE.engine, BASE), motion(1)
    P = observe.grams(motion(2), 1)[0]
    values = [LoadDeterminant(B, E, p).values(observe, states, 1)[0] for p in (None, 100.0 * P, P, 0.01 * P)]
    assert values == sorted(values)


@pytest.mark.parametrize("known", [True, False])
def test_gradient_is_that_of_differences(known: bool) -> None:
    observe, states = observation(BASE.engine, BASE), motion(3)
    P = None if known else observe.grams(motion(2), 1)[0]
    criterion = LoadDeterminant(B, E, P)
    value, slope = criterion.smooth(observe, states, 8.0)
    assert value == pytest.approx(float(criterion.values(observe, states, 1)[0]))
    rng = np.random.default_rng(4)
    directions = Samples(*(rng.standard_normal(x.shape) for x in states))

    def at(h: float) -> float:
        return criterion.smooth(observe, Samples(*(x + h * d for x, d in zip(states, directions, strict=True))), 8.0)[0]

    numeric = (at(1e-6) - at(-1e-6)) / 2e-6
    assert sum(float(np.sum(s * d)) for s, d in zip(slope, directions, strict=True)) == pytest.approx(numeric, rel=1e-5)
