"""The point that experiments with the same noise have in common."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import inertica as ia
from inertica.errors import InputError
from inertica.estimators.base import Problem
from inertica.estimators.frisch.experiments import PIECES, common, piecewise
from inertica.estimators.frisch.method import Frisch
from inertica.excitation.files import catalog_trajectory
from inertica.experiment import Experiment
from inertica.preprocessing.filters import Unfiltered
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe

TRUE = np.array([2.0, -1.0, 0.5])


def experiment(rng: np.random.Generator, sizes: np.ndarray, rows: int = 12000) -> np.ndarray:
    """Rows [W, -y] of a motion of such sizes; noise on every variable, in part the same on two of them."""
    W = rng.normal(size=(rows, 3)) * sizes
    noise = rng.normal(size=(rows, 4)) * [0.5, 0.3, 0.2, 0.4]
    noise[:, 1] += 0.8 * noise[:, 0]
    return np.column_stack([W, -W @ TRUE]) + noise


def test_errors_of_variables_fall_out_and_intervals_hold() -> None:
    z, least_squares = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        rows = [experiment(rng, np.array(sizes)) for sizes in ([2.0, 0.5, 1.0], [0.7, 2.0, 0.6], [1.0, 1.0, 2.5])]
        point = common([piecewise(X) for X in rows])
        z.append((point.beta - TRUE) / np.sqrt(np.diag(point.covariance)))
        X = np.vstack(rows)
        least_squares.append(np.linalg.lstsq(X[:, :3], -X[:, 3], rcond=None)[0] - TRUE)
    assert np.abs(np.mean(least_squares, axis=0)).max() > 0.1  # least squares is off by its noise
    assert np.abs(np.mean(z, axis=0)).max() < 4.0 / np.sqrt(60)
    # twelve pieces: Student's t with 11 degrees of freedom, whose 95 % end at 2.2
    assert 0.90 <= np.mean(np.abs(z) < 2.2) <= 0.99


def test_without_noise_it_is_exact_and_in_any_unit() -> None:
    rng = np.random.default_rng(0)
    W = [rng.normal(size=(1200, 3)) * s for s in ([1, 2, 3], [3, 1, 0.5])]
    units = np.array([1e-3, 50.0, 1.0])
    point = common([piecewise(np.column_stack([w * units, -w @ TRUE])) for w in W])
    np.testing.assert_allclose(point.beta * units, TRUE, rtol=1e-9)


def test_one_experiment_or_twice_the_same_is_refused() -> None:
    X = experiment(np.random.default_rng(0), np.ones(3), 1200)
    with pytest.raises(InputError, match="two logs or more"):
        common([piecewise(X)])
    with pytest.raises(InputError, match="alike"):
        common([piecewise(X), piecewise(X)])
    with pytest.raises(InputError, match="too short"):
        piecewise(X[: PIECES - 1])


def test_two_motions_of_an_arm() -> None:
    description = ia.load("scara2")
    fast = catalog_trajectory("scara2").trajectory
    logs = [
        Experiment.of(description, noise=None).run(t, seed=1)[0]
        for t in (fast, catalog_trajectory("scara2", "torque").trajectory)
    ]
    motions = tuple(prepare(log, Recipe(filter=Unfiltered(), standstill=None)) for log in logs)
    base = ia.base_model(description.layout)
    problem = Problem(base, motions, description.prior)
    found = Frisch(select="experiments").estimate(problem)
    plain = ia.METHODS["ols"]().estimate(problem)
    true = base.beta(description.prior.values)
    assert np.abs(found.beta - true).max() < 3.0 * np.abs(plain.beta - true).max() + 0.02
    with pytest.raises(InputError, match="two logs"):
        Frisch(select="experiments").estimate(replace(problem, motions=motions[:1], built=None))
