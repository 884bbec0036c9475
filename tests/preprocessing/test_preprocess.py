"""From logs to motions: clocks, filters, derivatives, delays, masks, periods."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from inertica.errors import InputError
from inertica.logs.log import Log
from inertica.logs.noise import position_noise, quantisation_step
from inertica.preprocessing.decimate import widened
from inertica.preprocessing.filters import (
    Butterworth,
    Equiripple,
    Fourier,
    SavitzkyGolay,
    SmoothingSpline,
    Unfiltered,
    differentiated,
    noise_gains,
)
from inertica.preprocessing.periods import detect_period, part_labels, period_share
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.preprocessing.resample import on_clock, uniform_clock, uniform_spline

W = 2 * np.pi * np.array([1.0, 2.5])
FILTERS = [Unfiltered(), Butterworth(50.0), SavitzkyGolay(0.02, 4), SmoothingSpline(50.0), Equiripple(compensated=True)]


def sines(t: np.ndarray, order: int = 0) -> np.ndarray:
    """sin(W t) and its derivatives, two joints."""
    return W**order * np.sin(W * t[:, None] + order * np.pi / 2)


def log_of(t: np.ndarray, q: np.ndarray, tau: np.ndarray | None = None, **more: np.ndarray) -> Log:
    return Log.from_arrays(t, {"q": q, "tau": np.cos(q) if tau is None else tau, **more})


@pytest.mark.parametrize("chosen", FILTERS, ids=lambda f: type(f).__name__)
def test_zero_phase_filters_neither_delay_nor_shrink_a_slow_sine(chosen) -> None:
    t = np.arange(4000) / 1000.0
    moved = chosen.kinematics(sines(t), 1e-3)
    inside = slice(300, -300)
    for order, found in enumerate(moved):
        expected = sines(t, order)
        # in phase: the part of the result in quadrature with the sine vanishes; same size: the rest has its amplitude
        quadrature = np.sum(found[inside] * sines(t, order + 1)[inside], axis=0) / np.sum(
            sines(t, order + 1)[inside] ** 2, axis=0
        )
        assert np.abs(quadrature).max() < 2e-4
        assert np.abs(found[inside] - expected[inside]).max() < 2e-3 * W.max() ** order


def test_the_papers_butterworth_halves_its_cut_off_and_stops_what_is_above() -> None:
    t = np.arange(4000) / 1000.0
    q = np.column_stack([np.sin(2 * np.pi * 50 * t), np.sin(2 * np.pi * 150 * t)])
    y = Butterworth(50.0, 4).smoothed(q, 1e-3)[500:-500]
    gain = np.sqrt(2 * np.mean(y**2, axis=0))
    assert gain[0] == pytest.approx(0.5, rel=1e-3)  # 3 dB in each of two passes
    assert gain[1] < 3.0 ** -(2 * 4)  # 1 / (1 + 3^8), less by the bilinear transform


def test_the_causal_filter_of_the_toolbox_delays_by_half_its_length() -> None:
    t = np.arange(4000) / 1000.0
    chosen = Equiripple()
    delay = (len(chosen.taps(1e-3)) - 1) / 2e3
    y = chosen.smoothed(sines(t), 1e-3)
    assert np.abs(y - sines(t - delay))[200:].max() < 2e-3
    assert f"{1e3 * delay:.3g} ms" in chosen.sentence(1e-3)


def test_equiripple_keeps_its_promises() -> None:
    from scipy.signal import freqz

    chosen = Equiripple()
    f, gain = freqz(chosen.taps(1e-3), worN=8192, fs=1000.0)
    assert 20 * np.log10(np.abs(gain[f >= 110]).max()) < -59.8
    assert np.ptp(20 * np.log10(np.abs(gain[f <= 50]))) < 0.0102
    with pytest.raises(InputError, match="does not fit a record sampled at 140 Hz"):
        Equiripple().smoothed(np.zeros((100, 1)), 1 / 140)


def test_central_differences_as_the_papers_write_them() -> None:
    y = np.random.default_rng(0).normal(size=(50, 3))
    d = differentiated(y, 0.1)
    assert np.allclose(d[1:-1], (y[2:] - y[:-2]) / 0.2)
    assert np.allclose(d[0], (y[1] - y[0]) / 0.1) and np.allclose(d[-1], (y[-1] - y[-2]) / 0.1)


def test_derivatives_converge_to_the_analytic_ones() -> None:
    errors = []
    for rate in (250.0, 500.0, 1000.0):
        t = np.arange(round(4 * rate)) / rate
        moved = Unfiltered().kinematics(sines(t), 1 / rate)
        errors.append(np.abs(moved.ddq - sines(t, 2))[5:-5].max())
    assert np.all(np.array(errors[:-1]) / np.array(errors[1:]) > 3.9)  # second order


def test_fourier_filter_is_exact_on_band_limited_periodic_data() -> None:
    rng = np.random.default_rng(3)
    t = np.arange(3 * 2000) / 1000.0
    q, dq, ddq = np.zeros((3, len(t), 2))
    for k in range(1, 21):
        a, phase, w = rng.normal(size=2) / k, rng.uniform(0, 6, 2), 2 * np.pi * k / 2.0
        q += a * np.sin(w * t[:, None] + phase)
        dq += a * w * np.cos(w * t[:, None] + phase)
        ddq -= a * w**2 * np.sin(w * t[:, None] + phase)
    ripple = 0.1 * np.sin(2 * np.pi * 100 * t)[:, None]
    motion = prepare(log_of(t, q + ripple), Recipe(filter=Fourier(30.0), period=2.0))
    assert np.abs(motion.q - q).max() < 1e-11
    assert np.abs(motion.dq - dq).max() < 1e-9
    assert np.abs(motion.ddq - ddq).max() < 1e-7
    with pytest.raises(InputError, match="needs whole periods"):
        prepare(log_of(t[:1700], q[:1700]), Recipe(filter=Fourier(30.0)))


def test_smoothing_spline_by_cross_validation_removes_white_noise() -> None:
    t = np.arange(2000) / 200.0
    noise = 1e-3 * np.random.default_rng(0).normal(size=(2000, 2))
    y = SmoothingSpline().smoothed(sines(t) + noise, 1 / 200)
    assert np.sqrt(np.mean((y - sines(t)) ** 2)) < 0.5e-3


@pytest.mark.parametrize("chosen", [Unfiltered(), Butterworth(40.0), SavitzkyGolay(0.03)], ids=lambda f: type(f).__name__)
def test_noise_gains_are_those_of_white_noise(chosen) -> None:
    noise = np.random.default_rng(1).normal(size=(20000, 1))
    moved = chosen.kinematics(noise, 1e-3)
    for gain, x in zip(noise_gains(chosen, 1e-3), moved, strict=True):
        assert gain == pytest.approx(np.std(x[100:-100]), rel=0.1)  # correlated over 20 samples: 1000 independent ones


def test_a_uniform_log_is_not_touched() -> None:
    t = 5.0 + np.arange(1000) / 1000.0
    q = np.random.default_rng(0).normal(size=(1000, 2))
    motion = prepare(log_of(t, q, tau=2 * q), Recipe(filter=Unfiltered()))
    assert np.array_equal(motion.q, q) and np.array_equal(motion.tau, 2 * q) and np.array_equal(motion.tau_raw, 2 * q)
    assert np.abs(motion.t - t).max() < 1e-12 and "uniform at 1000 Hz" in motion.done["clock"]


def test_a_jittered_log_comes_to_a_uniform_clock() -> None:
    rng = np.random.default_rng(2)
    t = np.cumsum(rng.choice([0.010, 0.012], size=3000, p=[0.7, 0.3]))
    q = sines(t)
    motion = prepare(log_of(t, q, tau=sines(t - 0.3)), Recipe(filter=Butterworth(15.0)))
    assert motion.rate == pytest.approx(1 / np.mean(np.diff(t)), rel=1e-4)
    assert np.ptp(np.diff(motion.t)) < 1e-10
    inside = ~motion.mask
    assert np.abs(motion.q - sines(motion.t))[inside].max() < 2e-4
    assert np.abs(motion.dq - sines(motion.t, 1))[inside].max() < 0.01 * W.max()  # central differences at 94 Hz
    assert np.abs(motion.tau - sines(motion.t - 0.3))[inside].max() < 2e-4
    counted = prepare(log_of(np.arange(3000) * 0.01, q), Recipe(filter=Butterworth(15.0)))
    assert np.abs(counted.dq).max() > 1.04 * np.abs(motion.dq).max()  # what taking it as 100 Hz would do


def test_gaps_are_bridged_and_masked_with_their_neighbourhood() -> None:
    t = np.arange(2000) / 1000.0
    keep = np.ones(2000, bool)
    keep[800:840] = False
    keep[1500] = False
    recipe = Recipe(filter=Butterworth(50.0), standstill=None)
    motion = prepare(log_of(t[keep], sines(t)[keep]), recipe)
    assert len(motion) == 2000 and motion.mask[800:840].all() and motion.mask[1500]
    reach = recipe.filter.reach(1e-3)
    assert reach == 50  # the papers' border
    assert motion.mask[800 - reach] and not motion.mask[800 - reach - 1]
    assert not motion.mask[1499] and not motion.mask[1501] and not motion.spoiled[1500]  # short against the filter: bridged
    assert np.abs(motion.ddq - sines(motion.t, 2))[~motion.mask].max() < 0.02 * W.max() ** 2
    masked = prepare(log_of(t, sines(t)).with_mask(~keep, "doubtful"), recipe)
    assert np.array_equal(masked.mask, motion.mask)


def test_repeated_rows_are_interpolated_over_and_not_masked() -> None:
    t, rng = np.arange(3000) / 1000.0, np.random.default_rng(2)
    last = np.maximum.accumulate(np.where(rng.random(3000) < 0.2, 0, np.arange(3000)))
    last[1500:1600] = 1500  # a recording that hangs is none that had nothing new for a moment
    log = log_of(t, sines(t)[last], tau=sines(t)[last])
    assert np.array_equal(log.repeated[:1500], (last != np.arange(3000))[:1500]) and not log.repeated[1500:1600].any()
    recipe = Recipe(filter=Butterworth(50.0), standstill=None)
    motion = prepare(log, recipe)
    sound = (motion.t > 0.1) & (motion.t < 1.4)
    assert not motion.mask[sound].any() and "repeat all values" in motion.done["clock"]
    assert np.abs(motion.ddq - sines(motion.t, 2))[sound].max() < 0.01 * W.max() ** 2
    assert np.abs(motion.tau - sines(motion.t))[sound].max() < 1e-4


def test_a_joint_that_repeats_alone_is_quantised_and_not_repeated() -> None:
    t = np.arange(1000) / 1000.0
    q = sines(t)
    q[:, 0] = np.round(q[:, 0], 1)
    assert not log_of(t, q, tau=sines(t)).repeated.any()


def test_wrong_values_under_a_mask_do_not_reach_the_motion() -> None:
    t = np.arange(2000) / 1000.0
    q = sines(t)
    spoiled = q.copy()
    spoiled[1000:1010] = 1e6
    spoiled[1200, 1] = np.nan
    bad = np.zeros(2000, bool)
    bad[1000:1010] = True
    motion = prepare(log_of(t, spoiled, tau=q).with_mask(bad, "spike"))
    assert motion.mask[950:1060].all() and motion.mask[1200] and not motion.mask[1199]
    assert np.abs(motion.q - q)[~motion.mask].max() < 1e-3


def test_scattered_missing_samples_cost_only_themselves() -> None:
    t = np.arange(5000) / 1000.0
    lost = np.random.default_rng(0).random(5000) < 0.1
    q = np.where(lost[:, None], np.nan, sines(t))
    motion = prepare(log_of(t, q, tau=sines(t)), Recipe(standstill=None))
    assert abs(motion.used - (5000 - 100) * 0.9) < 150
    assert np.abs(motion.ddq - sines(t, 2))[~motion.mask].max() < 0.01 * W.max() ** 2


def test_delays_are_taken_out_joint_by_joint_and_put_back_for_scores() -> None:
    t = np.arange(3000) / 500.0
    delay = (0.0034, -0.0011)
    late = np.column_stack([np.sin(W[j] * (t - delay[j])) for j in range(2)])
    motion = prepare(log_of(t, sines(t), tau=late), Recipe(delay=delay))
    assert np.abs(motion.tau - sines(t))[~motion.mask].max() < 1e-6
    assert np.abs(motion.at_samples(sines(motion.t)) - late)[10:-10].max() < 1e-6
    assert "3.4, -1.1 ms" in motion.done["delay"]
    plain = prepare(log_of(t, sines(t), tau=late))
    assert np.array_equal(plain.at_samples(plain.tau), late)


def test_recorded_velocity_replaces_differences() -> None:
    t = np.arange(2000) / 100.0
    rough = np.round(sines(t) / 1e-2) * 1e-2
    log = log_of(t, rough, dq=sines(t, 1))
    recorded = prepare(log, Recipe(velocity="recorded"))
    inside = ~recorded.mask
    assert np.abs(recorded.dq - sines(t, 1))[inside].max() < 1e-3 * W.max()
    assert np.abs(prepare(log).dq - sines(t, 1))[inside].max() > 5e-3 * W.max()
    with pytest.raises(InputError, match="has no velocity"):
        prepare(log_of(t, rough), Recipe(velocity="recorded"))


def test_borders_scale_with_rate_over_cut_off() -> None:
    for rate, cutoff, expected in ((1000, 50, 50), (5000, 50, 250), (94, 18.8, 13), (140, None, 13)):
        t = np.arange(round(20 * rate)) / rate
        motion = prepare(log_of(t, sines(t)), Recipe(filter=Butterworth(cutoff), standstill=None))
        assert motion.recipe.border == expected
        assert motion.mask[:expected].all() and motion.mask[-expected:].all() and motion.used == len(t) - 2 * expected
    assert prepare(log_of(t, sines(t)), Recipe(border=7)).recipe.border == 7
    with pytest.raises(InputError, match="leaves nothing"):
        prepare(log_of(t, sines(t)), Recipe(border=5000))


def test_standstill_is_masked_where_every_joint_rests() -> None:
    t = np.arange(6000) / 1000.0
    moving = np.clip(t - 2.0, 0, None) * (t < 4.0) + 2.0 * (t >= 4.0)  # rest, motion, rest
    q = np.column_stack([np.sin(3 * moving), np.cos(2 * moving)]) + 1e-5 * np.random.default_rng(0).normal(size=(6000, 2))
    still = prepare(log_of(t, q)).masks["standstill"]
    assert still[100:1900].all() and still[4100:5900].all()
    assert still[2100:3900].mean() < 0.02  # joints do not turn round together
    assert "standstill" not in prepare(log_of(t, q), Recipe(standstill=None)).masks
    weights = prepare(log_of(t, q)).weights(resting=True)
    assert weights.shape == q.shape and not weights[1000].any() and weights[3000].all()


def test_averaging_over_periods_measures_the_noise() -> None:
    rng = np.random.default_rng(5)
    samples, periods, sd_q, sd_tau = 500, 40, np.array([1e-3, 3e-3]), np.array([0.2, 0.05])
    t = np.arange(samples * periods) / 500.0
    w1 = 2 * np.pi * np.array([1.0, 2.0])
    clean_q, clean_tau = np.sin(w1 * t[:, None]), np.cos(w1 * t[:, None])
    log = log_of(t, clean_q + sd_q * rng.normal(size=clean_q.shape), tau=clean_tau + sd_tau * rng.normal(size=clean_q.shape))
    motion = prepare(log, Recipe(period=1.0, average=True, filter=Fourier(20.0)))
    v = motion.variances
    assert len(motion) == samples and v.periods == periods
    # a variance of 39 * 500 free samples has a relative standard deviation of sqrt(2 / 19500) = 1 %
    assert np.allclose(v.q, sd_q**2, rtol=0.05) and np.allclose(v.tau, sd_tau**2, rtol=0.05)
    error = motion.tau - clean_tau[:samples]
    assert np.allclose(np.mean(error**2, axis=0), v.tau_of_mean, rtol=0.3)  # 500 samples: 6 %, 5 of them
    assert np.abs(motion.at_samples(motion.tau)[samples : 2 * samples] - motion.tau).max() < 1e-9
    assert "40 periods of 1 s" in motion.done["periods"]
    smooth = prepare(log, Recipe(period=1.0, average=True))  # the default filter sees the period before and after
    assert np.abs(smooth.dq - (w1 * np.cos(w1 * t[:, None]))[:samples]).max() < 0.05 * w1.max()
    assert not smooth.mask.any()


def test_the_period_is_found_to_a_fraction_of_a_sample() -> None:
    rng = np.random.default_rng(0)
    t = np.arange(9000) / 300.0
    period = 3.1234
    q = sum(rng.normal(size=3) * np.sin(2 * np.pi * k * t[:, None] / period + rng.uniform(0, 6, 3)) / k for k in range(1, 6))
    found = detect_period(q + 1e-3 * rng.normal(size=q.shape), 1 / 300)
    assert found == pytest.approx(period, abs=0.1 / 300)
    assert detect_period(np.cumsum(rng.normal(size=(3000, 2)), axis=0), 0.01) is None
    with pytest.raises(InputError, match="shows no period"):
        prepare(log_of(t[:2000], (t[:2000, None] + [0, 1]) ** 2), Recipe(period="detect", average=True))


def test_parts_of_a_repeated_motion_are_the_same_share_of_every_period() -> None:
    t = np.arange(5000) / 100.0  # 2.5 periods of 20 s
    q = np.sin(2 * np.pi * t[:, None] / 20.0 * np.arange(1, 4) + np.arange(3))
    period = period_share(q)
    assert period == pytest.approx(0.4, rel=1e-4)
    labels = part_labels(2500, 4, period)  # on a clock half as fast
    assert labels.tolist() == np.tile(np.repeat([0, 1, 2, 3], 250), 3)[:2500].tolist()
    assert period_share(t[:, None] ** 2) is None
    assert part_labels(10, 4, None).tolist() == [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]


def test_quantisation_steps_are_seen_and_noise_is_measured() -> None:
    t = np.arange(5000) / 1000.0
    rng = np.random.default_rng(0)
    for step in (1e-5, 1e-3):
        assert quantisation_step(np.round(np.sin(3 * t) / step) * step + 0.123) == pytest.approx(step, rel=1e-6)
    for smooth in (np.sin(3 * t), rng.normal(size=5000), t.copy(), t**2, np.zeros(5000)):
        assert quantisation_step(smooth) is None
    noise = position_noise(sines(t) + 1e-4 * rng.normal(size=(5000, 2)))
    assert np.allclose(noise, 1e-4, rtol=0.1)


def test_every_choice_is_written_down() -> None:
    t = np.arange(3000) / 1000.0
    motion = prepare(log_of(t, sines(t)), Recipe(decimate=100.0))
    assert set(motion.done) == {"clock", "delay", "filter", "masks", "border", "standstill", "decimation"}
    assert motion.recipe.filter == Butterworth(50.0, 4) and motion.recipe.ratio == 4 and motion.recipe.border == 50
    assert motion.recipe.rate == pytest.approx(1000.0) and motion.recipe.delay == (0.0, 0.0)
    with pytest.raises(ValueError, match="read-only"):
        motion.q[0] = 1.0


@pytest.mark.parametrize(
    ("recipe", "said"),
    [
        (lambda: Recipe(filter=Butterworth(600.0)), "half the sampling rate"),
        (lambda: Recipe(rate=100.0), "decimate instead"),
        (lambda: Recipe(delay=(0.1, 0.2, 0.3)), "one for each of 2 joints"),
        (lambda: Recipe(ratio=0), "1 or more"),
        (lambda: Recipe(ratio=2, decimate=50.0), "not both"),
        (lambda: Recipe(average=True), "needs the period"),
        (lambda: Recipe(period=50.0), "no whole period"),
        (lambda: Recipe(filter=SavitzkyGolay(10.0)), "does not fit a record"),
    ],
)
def test_choices_that_cannot_be_are_explained(recipe, said) -> None:
    t = np.arange(1000) / 1000.0
    with pytest.raises(InputError, match=said):
        prepare(log_of(t, sines(t)), recipe())


def test_clock_of_a_log_with_few_digits_and_gaps() -> None:
    t = np.round(np.arange(1400) / 140.0, 3)  # 7 and 8 ms
    clock = uniform_clock(np.delete(t, slice(300, 320)))
    assert clock.rate == pytest.approx(140.0, rel=1e-5) and not clock.exact
    exact = uniform_clock(np.delete(np.arange(1400) / 140.0, slice(300, 320)))
    assert exact.exact and exact.count == 1400


def test_widening() -> None:
    mask = np.zeros(20, bool)
    mask[[0, 10]] = True
    assert np.flatnonzero(widened(mask, 2)).tolist() == [0, 1, 2, 8, 9, 10, 11, 12]
    assert np.array_equal(widened(mask, 0), mask)


def test_a_log_is_resampled_once_for_recipes_that_differ_in_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    t = np.arange(400) / 100.0 + rng.uniform(-2e-3, 2e-3, 400)
    log = Log.from_arrays(t, {"q": np.sin(3.0 * t)[:, None], "tau": np.cos(3.0 * t)[:, None]})
    first = prepare(log, Recipe(filter=Butterworth(10.0)))

    def refuse(*_: object) -> None:
        raise AssertionError("resampled again")

    monkeypatch.setattr("inertica.preprocessing.prepare.on_clock", refuse)
    again = prepare(log, Recipe(filter=Butterworth(20.0)))
    assert np.array_equal(first.tau, again.tau) and not np.array_equal(first.q, again.q)
    with pytest.raises(AssertionError, match="resampled again"):
        prepare(log, Recipe(filter=Butterworth(20.0), delay=0.001))


@pytest.mark.parametrize("order", ["forward", "back at the ends of periods", "any"])
def test_a_spline_read_in_stretches_is_the_whole_one(order: str) -> None:
    rng = np.random.default_rng(3)
    y = np.cumsum(rng.normal(size=(9000, 2)), axis=0)
    at = rng.uniform(0.0, 8999.0, 5000 if order != "any" else 200)
    at = {"forward": np.sort(at), "back at the ends of periods": np.mod(0.7 * np.arange(20_000), 8999.0), "any": at}[order]
    np.testing.assert_allclose(uniform_spline(y, at), CubicSpline(np.arange(9000), y)(at), atol=1e-12 * np.abs(y).max())


def test_delays_of_joints_are_taken_off_one_spline_where_the_clock_is_even() -> None:
    t, rng = np.arange(600) / 500.0, np.random.default_rng(4)
    y, use, delays = np.cumsum(rng.normal(size=(600, 3)), axis=0), np.ones(600, bool), [0.0013, 0.0, -0.004]
    out, missing = on_clock(uniform_clock(t), t, y, use, delays, "cubic")
    one_by_one = [CubicSpline(t, x)(np.clip(t + d, 0.0, t[-1])) for x, d in zip(y.T, delays, strict=True)]
    np.testing.assert_allclose(out, np.column_stack(one_by_one), atol=1e-10)
    assert missing.sum() == 3 and missing[[0, 1, -1]].all()
