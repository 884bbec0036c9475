"""Fits in a control loop: sample by sample the same as all at once, and without accelerations."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from numpy.typing import ArrayLike

from inertica.errors import InputError
from inertica.estimators.recursive.change import Calibration, LoadWatch
from inertica.estimators.recursive.live import OnlineFit, RowOptions, RowStream, Sample, sections
from inertica.estimators.recursive.loads import Loads, ratios
from inertica.excitation.files import catalog_trajectory
from inertica.identifiability.base import BaseModel, base_model
from inertica.robot import inertia
from inertica.robot.load import load


def load_direction(base: BaseModel, mass: float, position: ArrayLike = (0.0, 0.0, 0.0)) -> np.ndarray:
    """(b,) change of the base parameters by a point mass in kg at a position in m in the frame of the last link."""
    chi = np.zeros(base.layout.size)
    chi[base.layout.link(base.layout.robot.n - 1)] = inertia.from_com(mass, position, np.zeros((3, 3)))
    return base.beta(chi)


class Motion:
    """A noise-free motion of a catalog robot with its torques."""

    def __init__(self, name: str, seconds: float) -> None:
        self.description = load(name)
        self.base: BaseModel = base_model(self.description.layout)
        s = catalog_trajectory(name).trajectory(np.arange(0.0, seconds, 1e-3))
        self.q, self.dq, self.ddq = (np.array(x) for x in (s.q, s.dq, s.ddq))
        self.tau = self.base.engine.inverse_dynamics(self.q, self.dq, self.ddq, self.description.prior)
        self.true = self.base.beta(self.description.prior.values)

    def samples(self) -> list[Sample]:
        return [Sample(*row) for row in zip(self.q, self.tau, self.dq, self.ddq, strict=True)]


@pytest.fixture(scope="module")
def arm() -> Motion:
    return Motion("scara2", 10.0)


@pytest.fixture(scope="module")
def six() -> Motion:
    return Motion("tx40", 10.0)


@pytest.mark.parametrize(("form", "most"), [("torque", 1e-10), ("momentum", 1e-3), ("power", 1e-3)])
def test_parameters_come_out_sample_by_sample(arm: Motion, form: str, most: float) -> None:
    fit = OnlineFit(RowStream(arm.base, 1000.0, form), weighted=False)
    assert not fit.estimate.complete and np.isinf(fit.estimate.std).all()
    for sample in arm.samples():
        fit.update(sample)
    found = fit.estimate
    assert found.complete and np.isfinite(found.std).all()
    assert np.linalg.norm(found.beta - arm.true) < most * np.linalg.norm(arm.true)
    np.testing.assert_allclose(fit.beta, found.beta, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("form", ["momentum", "power"])
def test_many_samples_at_once_give_the_same_rows(arm: Motion, form: str) -> None:
    stream = RowStream(arm.base, 1000.0, form)
    rows, use, taken = stream.push_many(arm.q, arm.tau)
    stream.restart()
    one = [(w.copy(), u.copy()) for w, u in map(stream.push, arm.samples())]
    assert np.array_equal(np.concatenate([w for w, _ in one]), rows)
    assert np.array_equal(np.concatenate([u for _, u in one]), use)
    assert np.array_equal(taken, np.flatnonzero([len(w) for w, _ in one]))
    assert RowStream(arm.base, 1000.0, form, RowOptions(reversals=True)).push_many(arm.q, arm.tau)[1].all()


def test_filtered_rows_hold_but_at_reversals_which_stay_out(six: Motion) -> None:
    rows, use, _ = RowStream(six.base, 1000.0).push_many(six.q, six.tau)
    error = np.abs(rows[:, :, -1] - rows[:, :, :-1] @ six.true)
    size = np.sqrt(np.mean(rows[:, :, -1] ** 2, axis=0))
    assert np.all(np.median(error, axis=0) < 0.003 * size)
    assert np.all(error.max(axis=0) < 0.2 * size)
    assert 0.5 < use.mean() < 0.95
    turned = np.mean(error**2, axis=0) / np.mean(np.where(use, error, 0.0) ** 2, axis=0)
    assert np.all(turned > 4.0), turned  # a third of the rows has most of what they err by


def test_white_noise_is_alike_in_neighbouring_rows_as_the_stream_says(arm: Motion) -> None:
    """Variance of the mean of many rows over what it would be if they were independent."""
    rng, q, found = np.random.default_rng(5), np.zeros((40_000, 2)), []
    for order in (1, 3):
        stream = RowStream(arm.base, 1000.0, options=RowOptions(order=order, reversals=True))
        y = stream.push_many(q, rng.normal(size=q.shape))[0][100:, :, -1]
        means = y[: len(y) // 40 * 40].reshape(-1, 40, 2).mean(axis=1)
        found.append(40.0 * np.mean(means**2) / np.mean(y**2) / stream.inflation)
    np.testing.assert_allclose(found, 1.0, atol=0.25)


def test_a_measured_velocity_takes_the_place_of_differences(arm: Motion) -> None:
    stream = RowStream(arm.base, 1000.0, velocity=True)
    rows, _, _ = stream.push_many(arm.q, arm.tau, arm.dq)
    other, _, _ = RowStream(arm.base, 1000.0).push_many(arm.q, arm.tau)
    scale = np.abs(other).max(axis=(0, 1))
    assert np.all(np.abs(rows - other)[5:].max(axis=(0, 1)) < 0.02 * scale)
    with pytest.raises(InputError, match="need measured velocities"):
        stream.push(Sample(arm.q[0], arm.tau[0]))


def test_rows_of_a_joint_that_rests_stay_out(arm: Motion) -> None:
    q, tau = np.array(arm.q), np.array(arm.tau)
    q[3000:6000, 0] = q[3000, 0]
    _, use, taken = RowStream(arm.base, 1000.0, still=1e-3).push_many(q, tau)
    resting = (taken > 3200) & (taken < 6000)
    assert not use[resting, 0].any() and use[resting, 1].mean() > 0.9
    kept = RowStream(arm.base, 1000.0, options=RowOptions(reversals=True), still=1e-3).push_many(q, tau)[1][:, 0]
    assert kept[taken < 3000].all() and kept[taken > 6100].all()


def test_an_update_allocates_nothing_that_stays(arm: Motion) -> None:
    """After some updates the memory that Python and NumPy hold does not grow by an array."""
    fit = OnlineFit(RowStream(arm.base, 1000.0, "torque"), weighted=False)
    samples = arm.samples()
    for sample in samples[:200]:
        fit.update(sample)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        for sample in samples[200:1200]:
            fit.update(sample)
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 2000
    assert peak - before < 16_000  # views are small objects; the room that kernels work in would be more


def test_the_low_pass_and_its_derivative_are_butterworths() -> None:
    smooth, rate = sections(60.0, 1000.0)
    f = np.array([0.5, 5.0, 60.0])
    z = np.exp(1j * 2.0 * np.pi * f / 1000.0)

    def response(c: np.ndarray) -> np.ndarray:
        return (c[0] + c[1] / z + c[2] / z**2) / (1.0 + c[3] / z + c[4] / z**2)

    assert np.abs(response(smooth)[2]) == pytest.approx(np.sqrt(0.5), rel=1e-9)
    np.testing.assert_allclose(response(rate)[:2] / response(smooth)[:2], 2j * np.pi * f[:2], rtol=1e-3)


def rows_with_load(arm: Motion, mass: float, sigma: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows, use, taken = RowStream(arm.base, 1000.0).push_many(arm.q, arm.tau)
    rng = np.random.default_rng(seed)
    truth = arm.true + np.where(taken[:, None] > 8000, load_direction(arm.base, 1.0) * mass, 0.0)
    rows[:, :, -1] = np.einsum("kri,ki->kr", rows[:, :, :-1], truth) + sigma * rng.normal(size=rows.shape[:2])
    return rows, use, taken


@pytest.mark.parametrize(("mass", "kind"), [(1.0, "picked up"), (-1.0, "dropped"), (0.0, None)])
def test_a_load_is_flagged_and_weighed(six: Motion, mass: float, kind: str | None) -> None:
    rows, use, taken = rows_with_load(six, mass, 0.5, 6)
    loads = Loads.of(six.base, 1.0)
    calm = taken < 6000
    normal = Calibration.of(rows[calm], use[calm], six.true, loads.directions, 100.0)
    found = LoadWatch(normal, loads, 100.0).run(1e-3 * taken[~calm], rows[~calm], use[~calm])
    if kind is None:
        assert not found
        return
    assert found[0].kind == kind and 8.0 < found[0].time < 8.5
    assert found[0].mass == pytest.approx(mass, rel=0.3)
    assert len(found) == 1  # the model carries the load afterwards


def test_a_load_beside_the_axis_is_flagged(six: Motion) -> None:
    """Where no point mass on the axis is; what the last link weighs more is found with it."""
    rows, use, taken = RowStream(six.base, 1000.0).push_many(six.q, six.tau)
    loads, calm, rng = Loads.of(six.base, 1.0), taken < 6000, np.random.default_rng(8)
    truth = six.true + np.where(taken[:, None] > 8000, load_direction(six.base, 1.0, (0.05, -0.05, 0.03)), 0.0)
    rows[:, :, -1] = np.einsum("kri,ki->kr", rows[:, :, :-1], truth) + 0.5 * rng.normal(size=rows.shape[:2])
    normal = Calibration.of(rows[calm], use[calm], six.true, loads.directions, 100.0)
    (found,) = LoadWatch(normal, loads, 100.0).run(1e-3 * taken[~calm], rows[~calm], use[~calm])
    assert found.kind == "picked up" and 8.0 < found.time < 8.5 and found.mass == pytest.approx(1.0, rel=0.4)


def test_the_likelihood_of_loads_is_one_on_average(six: Motion) -> None:
    """While nothing changes, whatever the motion: which is what the threshold rests on."""
    loads, rng = Loads.of(six.base, 0.2), np.random.default_rng(9)
    A = rng.normal(size=(40, 10)) * np.array([3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 1.0, 1.0, 1.0, 0.3])
    found, parts, best = [], np.zeros((2, len(loads.means))), np.zeros((2, 3))
    for _ in range(4000):
        ratios(
            np.zeros((1, 10)), np.zeros((1, 10, 10)), 1, A.T @ rng.normal(size=40), A.T @ A, loads.means, loads.spreads, loads.ranks,
            parts, best,
        )  # fmt: skip
        found.append(np.exp(best[:, 0]))
    np.testing.assert_allclose(np.mean(found, axis=0), 1.0, atol=0.2)


def test_calibration_needs_rows(arm: Motion) -> None:
    rows, use, _ = rows_with_load(arm, 0.0, 0.1, 0)
    with pytest.raises(InputError, match="20 rows or more"):
        Calibration.of(rows[:10], use[:10], arm.true, Loads.of(arm.base, 1.0).directions, 100.0)


def test_refusals() -> None:
    base = base_model(load("scara2").layout)
    with pytest.raises(InputError, match="rate of the samples"):
        RowStream(base, 0.0)
    with pytest.raises(InputError, match="forgetting factor"):
        OnlineFit(RowStream(base, 100.0), forgetting=2.0)
