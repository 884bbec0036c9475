"""Breaks of a clock: stretches on one running time, never filled in; memory follows the number of samples."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from tests.estimators.closed import experiment_log, problem, robot
from tests.estimators.simulated import exact_motion

import inertica as ia
from inertica.errors import InputError
from inertica.estimators.closed_loop.loop_simulation import SETTLING, LoopSimulator, settling_time
from inertica.logs.breaks import LONGEST, Breaks
from inertica.logs.log import Log
from inertica.preprocessing.filters import Butterworth
from inertica.preprocessing.motion import PAUSED
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.workflow.watch import log_blocks

ROWS, RATE = 400, 100.0


def planar(gap: float, at: int = ROWS // 2, rows: int = ROWS) -> Log:
    """A log whose clock jumps by a gap although the robot goes on moving."""
    description = ia.load("planar2")
    motion = exact_motion(description.prior, seed=1, rate=RATE, duration=rows / RATE, amplitude=0.3)
    rng = np.random.default_rng(0)
    t = np.array(motion.t[:rows])
    t[at:] += gap
    q = motion.q[:rows] + 1e-5 * rng.normal(size=(rows, 2))
    return Log.from_arrays(t, {"q": q, "tau": motion.tau_raw[:rows] + 0.05 * rng.normal(size=(rows, 2))})


def test_time_runs_on_across_breaks_and_back() -> None:
    t = np.concatenate([np.arange(10) * 0.1, 1e6 + np.arange(10) * 0.1, 1e300 + np.arange(1.0)])
    breaks = Breaks.of(t)
    running = breaks.running(t)
    assert len(breaks) == 2
    assert np.allclose(np.diff(running), [*[0.1] * 9, LONGEST * 0.1, *[0.1] * 9, LONGEST * 0.1], rtol=1e-6)
    assert np.allclose(breaks.recorded(running), t, rtol=1e-15)
    assert breaks.running(np.array([5e5]))[0] == running[10]  # a masked sample inside a break
    even = np.arange(50) * 0.1
    assert Breaks.of(even).running(even) is even


@pytest.mark.parametrize("short", [False, True])
def test_stretches_between_breaks_are_prepared_as_if_they_were_logs_of_their_own(short: bool) -> None:
    rng = np.random.default_rng(3)
    t = np.arange(3000) / 1000.0
    q, tau = np.sin(5.0 * t)[:, None] + 1e-4 * rng.normal(size=(3000, 1)), rng.normal(size=(3000, 1))
    cut = 2990 if short else 1400
    gapped = t + np.where(np.arange(3000) < cut, 0.0, 1e6)
    recipe = Recipe(filter=Butterworth(40.0), ratio=5, keep="first", border=0)
    whole = prepare(Log.from_arrays(gapped, {"q": q, "tau": tau}), recipe)
    alone = prepare(Log.from_arrays(t[:cut], {"q": q[:cut], "tau": tau[:cut]}), recipe)
    for signal in ("q", "dq", "ddq", "tau_low"):
        found, expected = getattr(whole, signal)[:cut], getattr(alone, signal)
        assert np.abs(found - expected).max() < 1e-6 * np.abs(expected).max()  # the interval of the clock is rounded otherwise
    assert len(whole) == 3000 + LONGEST - 1 and whole.masks[PAUSED].sum() == LONGEST - 1
    assert not whole.paused[:cut].any() and not whole.paused[-(3000 - cut) :].any()
    columns = np.column_stack([whole.ddq, np.nan_to_num(whole.tau)])
    thin = whole.decimator.decimate(columns)
    assert np.allclose(thin[: len(alone.decimator.kept(cut))], alone.decimator.decimate(columns[:cut]), rtol=0.0, atol=1e-9)
    pieces = [whole.decimator.decimate(columns[where], remaining) for where, remaining in whole.decimator.pieces(len(whole))]
    assert np.allclose(np.concatenate(pieces), thin, rtol=0.0, atol=1e-9)
    assert np.abs(whole.stamps[~whole.paused] - gapped).max() < 1e-8
    seen = whole.at_samples(whole.q)
    assert len(seen) == 3000 and np.isfinite(seen).all()  # every sample has its prediction, at its own place
    assert np.allclose(seen, np.concatenate([whole.q[:cut], whole.q[-(3000 - cut) :]]), rtol=0.0, atol=1e-9)


def test_memory_follows_the_samples_whatever_the_gap(tmp_path: Path) -> None:
    description = ia.load("planar2")
    peaks = {}
    for gap in (1.0, 1.0, 1e3, 1e6, 1.79e9, 1e10):
        path = tmp_path / "log.csv"
        planar(gap).save(path)
        tracemalloc.start()
        motion = prepare(ia.read_log(path), Recipe())
        peaks[gap] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert len(motion) <= ROWS + LONGEST
    assert max(peaks.values()) < 1.3 * peaks[1.0]
    (found,) = ia.check(description, [path]).of("clock jumps")  # of the longest
    assert found.numbers["jumps"][0]["row"] == ROWS // 2  # type: ignore[index]
    assert found.numbers["jumps"][0]["size"] == pytest.approx(1e10, rel=1e-6)  # type: ignore[index]


def test_a_gap_of_two_seconds_and_one_of_a_million_say_the_same() -> None:
    description = ia.load("planar2")
    fixed = {"method": "wls", "cutoff": 4.7, "delay": 0.0, "quick": True, "velocity": "differences"}
    short, long = (ia.identify(description, [planar(gap, rows=1000, at=500)], **fixed) for gap in (2.0, 1e6))
    assert np.allclose(short.estimate.beta, long.estimate.beta, rtol=1e-6)
    assert np.allclose(short.estimate.std, long.estimate.std, rtol=1e-4)
    for name, residual in short.residuals.items():
        assert long.residuals[name].raw.all == pytest.approx(residual.raw.all, rel=1e-5)
        assert long.residuals[name].filtered.all == pytest.approx(residual.filtered.all, rel=1e-5)
    log = planar(1e6, rows=1000, at=500)
    predicted = long.predict(log)
    assert predicted.shape == log.q.shape and np.isfinite(predicted).all()


def test_jumps_of_the_clock_are_findings() -> None:
    description = ia.load("planar2")

    def jump(t: np.ndarray, log: Log) -> ia.Finding:
        changed = Log.from_arrays(t, {"q": log.q, "tau": log.tau})
        changed = changed.with_mask(np.concatenate([[False], np.diff(np.maximum.accumulate(t)) <= 0.0]), "clock goes back")
        return ia.check(description, [changed]).of("clock jumps")[0]

    log = planar(0.0)
    rows = np.arange(ROWS)
    assert not ia.check(description, [log]).of("clock jumps")
    boot = jump(log.t + np.where(rows < 37, 5.0, 1.7955e9), log)
    assert boot.verdict == "note" and "after row 37" in boot.text and "after the computer had started" in boot.text
    assert "2026-11-24" in boot.text
    back = jump(log.t - np.where(rows < 350, 0.0, 0.6), log)
    assert back.verdict == "warning" and "back by 0.59 s after row 350" in back.text


def test_a_clock_that_was_set_counts_from_1970_where_it_does(tmp_path: Path) -> None:
    log = planar(0.0)
    path = tmp_path / "log.csv"
    Log.from_arrays(np.where(np.arange(ROWS) < 37, 5.0, 1.79e9) + log.t, {"q": log.q, "tau": log.tau}).save(path)
    read = ia.read_log(path)
    assert read.origin.start == pytest.approx(1.79e9 + 0.37, abs=1e-6) and read.t[37] == 0.0
    assert len(ia.read_log(f"{path}@{1.79e9 + 1:.0f}:{1.79e9 + 2:.0f}")) == 101


def test_periods_are_not_laid_over_each_other_across_a_break() -> None:
    t = np.arange(2000) / 100.0
    q = np.sin(np.pi * t)[:, None]
    log = Log.from_arrays(t + np.where(t < 10.0, 0.0, 333.3), {"q": q, "tau": q})
    with pytest.raises(InputError, match=r"breaks off after t = 9\.99 s"):
        prepare(log, Recipe(period=2.0, average=True))


def test_jittering_stamps_are_evened_on_both_sides_of_a_break(tmp_path: Path) -> None:
    log = planar(0.0)
    jitter = 5e-4 * np.random.default_rng(5).normal(size=ROWS)
    path = tmp_path / "log.csv"
    Log.from_arrays(log.t + jitter + np.where(np.arange(ROWS) < 200, 0.0, 1e6), {"q": log.q, "tau": log.tau}).save(path)
    read = ia.read_log(path)
    assert any("taken to be even" in w for w in read.warnings)
    steps = np.diff(read.t)
    assert np.ptp(np.delete(steps, 199)) < 1e-9 and steps[199] == pytest.approx(1e6, rel=1e-6)


def test_a_recorded_log_is_replayed_without_the_samples_of_a_break() -> None:
    log = planar(1e6)
    parts = list(log_blocks(log, 64))
    assert np.abs(np.concatenate([b.t for b in parts]) - log.t).max() < 1e-8
    assert np.allclose(np.concatenate([b.q for b in parts]), log.q)
    assert all(np.ptp(b.t) < 1.0 for b in parts)


def test_the_simulated_loop_settles_anew_behind_a_break() -> None:
    description, base = robot("scara2")
    log = experiment_log("scara2", "standard", duration=6.0)
    half, late = len(log) // 2, len(log) // 2 + len(log) // 10
    rows = np.r_[0:half, late : len(log)]
    t = log.t[rows] + np.where(rows < half, 0.0, 1e5)
    cut = Log.from_arrays(t, {s: x[rows] for s, x in log.signals.items()})
    parts = [log.sliced(0.0, float(log.t[half - 1])), log.sliced(float(log.t[late]))]
    truth, sizes = base.beta(description.prior.values), []
    for logs in ([cut], parts):
        found = ia.Didim().estimate(problem("scara2", logs, chosen=Butterworth(50.0)))
        sizes.append(np.linalg.norm((found.beta - truth) / truth))
    assert sizes[0] < 1.5 * sizes[1]
    simulator = LoopSimulator(problem("scara2", [cut]))
    simulator.settle(np.ones(2))
    (motion,) = simulator.problem.motions
    late = motion.t - cut.breaks.resumed[0]
    assert np.array_equal(motion.masks[SETTLING], (late >= 0.0) & (late < settling_time(simulator.loop, np.ones(2))))
    assert motion.masks[SETTLING].any()
