"""FIR differentiators: their response at frequencies against i omega, exact polynomials, `identify` with them."""

from __future__ import annotations

import numpy as np
import pytest

import inertica as ia
from estimators import closed
from inertica.errors import InputError
from inertica.preprocessing.filters import Butterworth, FirDifferentiator, SavitzkyGolay, named_filter, noise_gains


@pytest.mark.parametrize(("rate", "passes", "stops"), [(1000.0, 50.0, 110.0), (140.0, 20.0, 50.0), (5000.0, 20.0, 60.0)])
def test_the_pass_band_is_differentiated_and_the_stop_band_stopped(rate, passes, stops):
    taps = FirDifferentiator(passes, stops).taps(1.0 / rate)
    n = np.arange(len(taps[0])) - (len(taps[0]) - 1) // 2
    for d, h in enumerate(taps):
        for f in np.linspace(0.02 * passes, passes, 25):
            found = np.sum(h * np.exp(2j * np.pi * f * n / rate))  # sample k + m is ahead by m / rate
            assert abs(found / (2j * np.pi * f) ** d - 1.0) < 3e-3
        for f in np.linspace(stops, rate / 2.0, 25):
            assert abs(np.sum(h * np.exp(2j * np.pi * f * n / rate))) < 3e-3 * (2.0 * np.pi * f) ** d


def test_polynomials_are_exact():
    dt, t = 1e-3, np.arange(400) * 1e-3
    for chosen in (FirDifferentiator(), FirDifferentiator(20.0, 60.0)):
        middle = slice(chosen.reach(dt), -chosen.reach(dt))
        ramp = chosen.kinematics((2.0 - 3.0 * t)[:, None], dt)
        np.testing.assert_allclose(ramp.q[:, 0], 2.0 - 3.0 * t, atol=1e-12)  # at the ends, too
        np.testing.assert_allclose(ramp.dq, -3.0, atol=1e-9)
        np.testing.assert_allclose(ramp.ddq, 0.0, atol=1e-6)
        bent = chosen.kinematics((5.0 * t**2)[:, None], dt)
        np.testing.assert_allclose(bent.dq[middle, 0], 10.0 * t[middle], atol=1e-9)
        np.testing.assert_allclose(bent.ddq[middle], 10.0, rtol=1e-7)


def test_a_sine_inside_the_band_keeps_its_acceleration_where_differences_lose_some():
    rate, f = 140.0, 15.0
    t, w = np.arange(700) / rate, 2.0 * np.pi * f
    exact = -(w**2) * np.sin(w * t)
    inside = slice(100, -100)
    fir = FirDifferentiator(20.0, 50.0).kinematics(np.sin(w * t)[:, None], 1.0 / rate).ddq[inside, 0]
    differences = Butterworth(50.0).kinematics(np.sin(w * t)[:, None], 1.0 / rate).ddq[inside, 0]
    size = np.abs(exact).max()
    assert np.abs(fir - exact[inside]).max() < 0.003 * size
    assert np.abs(differences - exact[inside]).max() > 0.1 * size  # sinc(2 pi f dt)^2


def test_noise_gains_are_the_norms_of_the_taps():
    chosen = FirDifferentiator()
    expected = [np.linalg.norm(h) for h in chosen.taps(1e-3)]
    np.testing.assert_allclose(noise_gains(chosen, 1e-3), expected, rtol=1e-6)


def test_edges_that_do_not_fit_are_a_sentence():
    with pytest.raises(InputError, match="does not fit a record sampled at 100 Hz"):
        FirDifferentiator(40.0).taps(0.01)
    with pytest.raises(InputError, match="needs more than"):
        FirDifferentiator().kinematics(np.zeros((5, 1)), 1e-3)


def test_identify_takes_them_by_name(tmp_path):
    assert named_filter("fir", 20.0, 1000.0) == FirDifferentiator(20.0)
    assert named_filter("savitzky-golay", 20.0, 1000.0) == SavitzkyGolay(0.05)
    description, _ = closed.robot("scara2")
    log = closed.experiment_log("scara2", None, 0)
    fixed = {"delay": 0.0, "friction": ("viscous", "coulomb"), "quick": True, "method": "wls"}
    for name, kind in (("fir", FirDifferentiator), ("savitzky-golay", SavitzkyGolay)):
        found = ia.identify(description, [log], filter=name, **fixed)
        assert isinstance(found.recipe.filter, kind)
        found.save(tmp_path / name)
        assert ia.Result.load(tmp_path / name).recipe == found.recipe
        truth = closed.truth("scara2")
        assert np.linalg.norm(found.estimate.beta - truth) < 0.02 * np.linalg.norm(truth)
