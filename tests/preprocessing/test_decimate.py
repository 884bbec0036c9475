"""Parallel decimation: MATLAB's convention, and the linear model that survives it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import signal

from inertica.dynamics.engine import Engine
from inertica.errors import InputError
from inertica.estimators.observe import Observations
from inertica.identifiability.base import BaseModel, base_model
from inertica.logs.log import Log
from inertica.preprocessing.decimate import Decimator, decimation_ratio
from inertica.preprocessing.filters import Unfiltered
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.load import load
from logs.simulated import reference


@pytest.mark.parametrize(
    ("rate", "frequency", "ratio"), [(1000, 500, 1), (1000, 100, 4), (140, 100, 1), (5000, 100, 20), (1000, 160, 3)]
)
def test_ratio_of_the_papers(rate: float, frequency: float, ratio: int) -> None:
    assert decimation_ratio(rate, frequency) == ratio


def test_ratio_zero_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(InputError, match="ratio would be 0; choose a frequency of 112 Hz or less"):
        decimation_ratio(140, 500)
    with pytest.raises(InputError, match="would be 0"):
        decimation_ratio(1000, 500, "floor")  # what the survey prints
    assert decimation_ratio(1000, 100, "floor") == 4


@pytest.mark.parametrize(("samples", "ratio"), [(100, 4), (101, 4), (103, 4), (200, 7), (60, 1)])
def test_matlab_keeps_the_last_sample_and_scipy_the_first(samples: int, ratio: int) -> None:
    last, first = Decimator(ratio).kept(samples), Decimator(ratio, "first").kept(samples)
    assert last[-1] == samples - 1 and first[0] == 0
    assert len(last) == len(first) == -(-samples // ratio)  # MATLAB: ceil(length / r)
    # MATLAB: nbeg = r - (r * nout - length), 1-based
    assert last[0] + 1 == ratio - (ratio * len(last) - samples)


def test_the_filter_is_matlabs() -> None:
    """MATLAB's decimate: [b, a] = cheby1(8, 0.05, 0.8 / r), filtfilt, whose padding is 3 (length - 1) samples."""
    x = np.random.default_rng(0).normal(size=(400, 3)).cumsum(axis=0)
    b, a = signal.cheby1(8, 0.05, 0.8 / 4)
    expected = signal.filtfilt(b, a, x, axis=0, padlen=24)[3::4]
    assert np.abs(Decimator(4).decimate(x) - expected).max() < 1e-7 * np.abs(x).max()
    scipys = signal.decimate(x, 4, axis=0)  # the same filter and the first sample, but another padding
    assert np.abs(Decimator(4, "first").decimate(x) - scipys)[10:-10].max() < 1e-2


def test_the_order_is_lowered_when_the_polynomials_lose_their_digits() -> None:
    orders = [Decimator(ratio).design.order for ratio in (2, 4, 10, 20, 50, 200)]
    assert orders[:3] == [8, 8, 8] and orders == sorted(orders, reverse=True) and 1 <= orders[-1] < 8
    slow = np.sin(2 * np.pi * np.arange(20000) / 5000)[:, None]
    for ratio in (20, 100):
        out = Decimator(ratio).decimate(slow)
        assert np.abs(out - slow[Decimator(ratio).kept(20000)])[5:-5].max() < 0.02  # 0.05 dB twice are 1.2 %


def test_ratio_one_passes_everything_through() -> None:
    x = np.random.default_rng(0).normal(size=(50, 2))
    assert np.array_equal(Decimator(1).decimate(x), x)
    assert Decimator(1).sentence(1000.0) == "no decimation"


def test_columns_in_chunks_give_the_same() -> None:
    x = np.random.default_rng(0).normal(size=(300, 7))
    d = Decimator(5)
    assert np.array_equal(d.decimate(x), np.hstack([d.decimate(x[:, :3]), d.decimate(x[:, 3:])]))


def test_what_decimation_cannot_do() -> None:
    with pytest.raises(InputError, match="more than 24 samples"):
        Decimator(4).decimate(np.zeros((20, 1)))
    with pytest.raises(InputError, match="not finite"):
        Decimator(4).decimate(np.full((100, 1), np.nan))
    with pytest.raises(InputError, match="'last' or the 'first'"):
        Decimator(4, "middle")  # type: ignore[arg-type]


def rows_in_use(base: BaseModel, motion: Motion) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The rows of all joints over the same columns, and their torques."""
    use, observed = ~motion.decimated_mask, Observations(base, (motion,))
    ((joints, y),) = observed.by_motion()
    blocks = [np.zeros((np.count_nonzero(use), base.rank)) for _ in joints]
    for block, W, columns in zip(blocks, joints, observed.columns, strict=True):
        block[:, columns] = W[use]
    return np.vstack(blocks), np.concatenate(y[use].T)


@pytest.mark.parametrize("keep", ["last", "first"])
def test_decimation_commutes_with_the_linear_model(keep) -> None:
    """Without noise, decimated torque is the decimated regressor times beta to rounding, so least squares finds beta exactly."""
    robot = load("tx40")
    engine, base = Engine(robot.layout), base_model(robot.layout)
    motion = reference(1, 4.0)
    q = motion["q"][::5]
    log = Log.from_arrays(np.arange(len(q)) * 1e-3, {"q": q, "tau": np.zeros_like(q)})
    moved = prepare(log, Recipe(filter=Unfiltered(), decimate=50.0, keep=keep))
    tau = engine.inverse_dynamics(moved.q, moved.dq, moved.ddq, robot.prior.values)
    exact = prepare(Log.from_arrays(log.t, {"q": q, "tau": tau}), Recipe(filter=Unfiltered(), decimate=50.0, keep=keep))
    W, y = rows_in_use(base, exact)
    beta = np.linalg.lstsq(W, y)[0]
    assert np.linalg.norm(y - W @ beta) < 1e-10 * np.linalg.norm(y)
    assert np.allclose(beta, base.beta(robot.prior.values), rtol=1e-8, atol=1e-8)
    assert len(y) == robot.robot.n * np.count_nonzero(~exact.decimator.mask(exact.mask))


def test_rows_leave_masked_samples_out() -> None:
    robot = load("tx40")
    engine, base = Engine(robot.layout), base_model(robot.layout)
    motion = reference(2, 3.0)
    q = motion["q"][::5]
    t = np.arange(len(q)) * 1e-3
    clean = prepare(Log.from_arrays(t, {"q": q, "tau": np.zeros_like(q)}), Recipe(filter=Unfiltered(), ratio=4))
    tau = engine.inverse_dynamics(clean.q, clean.dq, clean.ddq, robot.prior.values)
    bad = np.zeros(len(t), bool)
    bad[1000:1100] = True
    tau[bad] = 1e4
    log = Log.from_arrays(t, {"q": q, "tau": tau}).with_mask(bad, "collision")
    for ratio in (1, 4):
        motion_of = prepare(log, Recipe(filter=Unfiltered(), ratio=ratio))
        W, y = rows_in_use(base, motion_of)
        # what the low-pass carries beyond the widened mask is small: the gap is bridged, not filled with the wrong values
        assert np.linalg.norm(y - W @ np.linalg.lstsq(W, y)[0]) < 2e-2 * np.linalg.norm(y)
    plain = prepare(log, Recipe(filter=Unfiltered()))
    assert len(rows_in_use(base, plain)[1]) == robot.robot.n * plain.used


def test_undecimated_rows_agree_with_the_factors_of_the_engine() -> None:
    base = base_model(load("scara4").layout)
    rng = np.random.default_rng(0)
    q = np.cumsum(np.cumsum(rng.normal(size=(500, 4)), axis=0), axis=0) * 1e-4
    log = Log.from_arrays(np.arange(500) * 1e-3, {"q": q, "tau": rng.normal(size=(500, 4))})
    motion = prepare(log, Recipe(filter=Unfiltered()))
    observed, columns = Observations(base, (motion,)), [int(k) for k in base.retained]
    factors = base.engine.factors(motion.q, motion.dq, motion.ddq, motion.tau, columns, weights=motion.weights(resting=True))
    ((joints, torque),) = observed.by_motion()
    (rows,) = observed.rows()
    for j, (W, joint, own) in enumerate(zip(joints, factors.joints, observed.factors, strict=True)):
        use = rows.use[:, j]
        W, y = W[use], torque[use, j]
        assert [columns[c] for c in own.columns] == list(joint.columns)
        assert np.array_equal(own.R, joint.R) and np.array_equal(own.z, joint.z)
        assert np.allclose(W.T @ W, joint.R.T @ joint.R, atol=1e-8 * max(1.0, np.abs(joint.R).max() ** 2))
        assert np.allclose(W.T @ y, joint.R.T @ joint.z, atol=1e-8 * np.abs(joint.R).max())
    assert np.array_equal(factors.counts, np.count_nonzero(rows.use, axis=0)) and factors.counts.max() <= motion.used


def test_decimated_motion_for_methods_without_columns() -> None:
    motion = reference(3, 2.0)
    q = motion["q"][::5]
    log = Log.from_arrays(np.arange(len(q)) * 1e-3, {"q": q, "tau": np.cos(q)})
    full = prepare(log, Recipe(filter=Unfiltered(), decimate=100.0))
    thin = full.decimated()
    assert thin.rate == pytest.approx(250.0) and thin.decimator.ratio == 1 and thin.t[-1] == full.t[-1]
    assert np.abs(thin.q - q[full.decimator.kept(len(q))])[10:-10].max() < 0.02
    assert "position, velocity, acceleration and torque" in thin.done["decimation"]
