"""Noise of other distributions has the stated standard deviation and the right shape, and repeats with its seed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import inertica as ia
from inertica.dynamics.noise import DISTRIBUTIONS, NEXT_CALL, TORQUE_CALL
from inertica.errors import InputError
from inertica.experiment import Experiment
from philox import normals

KURTOSIS = {"normal": 3.0, "uniform": 1.8, "laplace": 6.0}


def _noise(distribution: str) -> np.ndarray:
    experiment = Experiment.of(ia.load("scara2"), noise="standard", distribution=distribution)
    assert experiment.noise is not None
    quiet = replace(experiment, noise=replace(experiment.noise, q=0.0, tau=0.5))
    (log,) = quiet.run(ia.catalog_trajectory("scara2").trajectory, seed=4)
    return log.need("tau") - log.truth["tau"]


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_variance_and_shape(name: str) -> None:
    e = _noise(name).ravel() / 0.5
    count = len(e)
    assert abs(e.mean()) < 4.0 / np.sqrt(count)
    assert abs(np.mean(e**2) - 1.0) < 4.0 * np.sqrt((KURTOSIS[name] - 1.0) / count)
    assert np.mean(e**4) == pytest.approx(KURTOSIS[name], rel=0.35)
    if name == "uniform":
        assert np.abs(e).max() <= np.sqrt(3.0)
    assert _noise(name).tobytes() == _noise(name).tobytes()


def test_uniform_numbers_are_those_of_the_definition() -> None:
    experiment = Experiment.of(ia.load("scara2"), noise="standard", distribution="uniform")
    assert experiment.noise is not None
    quiet = replace(experiment, noise=replace(experiment.noise, q=0.0, tau=1.0))
    (log,) = quiet.run(ia.catalog_trajectory("scara2").trajectory, seed=4)
    steps = np.rint(log.t * experiment.loop.rate).astype(int)
    a, b = (normals(4, [0], steps, 2, TORQUE_CALL + i * NEXT_CALL)[0] for i in range(2))
    expected = np.sqrt(12.0) * (np.exp(-0.5 * (a**2 + b**2)) - 0.5)
    np.testing.assert_allclose(log.need("tau") - log.truth["tau"], expected, atol=1e-9)


def test_unknown_distributions_are_refused() -> None:
    with pytest.raises(InputError, match="unknown distribution of noise 'uniforn'; did you mean"):
        Experiment.of(ia.load("scara2"), noise="standard", distribution="uniforn").run(ia.catalog_trajectory("scara2").trajectory)
    with pytest.raises(InputError, match="needs a noise preset"):
        Experiment.of(ia.load("scara2"), distribution="uniform")
