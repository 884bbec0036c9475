"""Blocked cross-validation from R factors against fits on explicit rows; figures of merit against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from inertica.dynamics.engine import Engine
from inertica.estimators.base import Problem
from inertica.estimators.evidence import Evidence
from inertica.estimators.linear.irls import Irls
from inertica.excitation import catalog_trajectory
from inertica.experiment import Experiment, Sensors
from inertica.identifiability.base import base_model
from inertica.logs.log import Log
from inertica.preprocessing.filters import Butterworth
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.load import load
from inertica.validation.blocks import Blocks
from inertica.validation.residuals import PIECE, Moving, Relative, Whiteness, residual
from scaled import Scale


@pytest.fixture(scope="module")
def problem() -> Problem:
    description = load("scara4")
    experiment = Experiment.of(description, noise="standard", sensors=Sensors(rate=500))
    logs = experiment.run(catalog_trajectory("scara4").trajectory, runs=2, seed=1, duration=4.0)
    motions = tuple(prepare(log, Recipe(filter=Butterworth(cutoff=20.0))) for log in logs)
    return Problem(base_model(description.layout), motions, description.prior)


def test_scores_equal_fits_on_explicit_rows(problem: Problem) -> None:
    blocks = Blocks(problem, folds=4)
    assert len(blocks) == 4
    score = blocks.evaluate()
    kept = problem.base.retained
    parts = []
    for motion in problem.motions:
        Y = problem.engine.regressor(motion.q, motion.dq, motion.ddq)[:, :, kept]
        use = ~(motion.mask[:, None] | motion.resting)
        for a, z in ((0, len(motion) // 2), (len(motion) // 2, len(motion))):
            parts.append((Y[a:z], motion.tau[a:z], motion.tau_raw[a:z], use[a:z]))
    for f in range(4):
        rows, y = [], []
        for k, (Y, tau, _, use) in enumerate(parts):
            for j in range(4):
                if k != f:
                    rows.append(Y[use[:, j], j] * blocks.weights[j])
                    y.append(tau[use[:, j], j] * blocks.weights[j])
        beta = np.linalg.lstsq(np.vstack(rows), np.concatenate(y), rcond=None)[0]
        Y, _, raw, _ = parts[f]
        expected = np.sum((raw - Y @ beta) ** 2, axis=0)
        assert np.allclose(score.squares[f], expected, rtol=1e-3)
        assert np.allclose(score.sizes[f], np.sum(raw**2, axis=0), rtol=1e-9)


def test_parts_of_a_period_that_a_slow_clock_never_meets_are_empty_ones() -> None:
    """A motion looked at five times in each period has rows in five of ten parts: it is compared with a faster clock by part."""
    description, rate = load("scara2"), 100.0
    t = np.arange(0.0, 20.0, 1.0 / rate)
    angle = 2.0 * np.pi * t[:, None] + np.array([0.0, 1.0])
    q, dq, ddq = np.sin(angle), 2.0 * np.pi * np.cos(angle), -((2.0 * np.pi) ** 2) * np.sin(angle)
    tau = Engine(description.layout).inverse_dynamics(q, dq, ddq, description.prior)
    log = Log.from_arrays(t, {"q": q, "tau": np.asarray(tau)}, description.robot.joint_names)
    base = base_model(description.layout)
    slow, fast = (
        Blocks(Problem(base, (prepare(log, Recipe(filter=Butterworth(cutoff=8.0), ratio=ratio)),), description.prior), 10)
        for ratio in (20, 4)
    )
    assert slow.problem.motions[0].period == pytest.approx(1.0 / 20.0, rel=0.01)
    rows = [sum(block.counts.tolist()) for block in slow.fit]
    assert len(slow) == len(fast) == 10 and rows.count(0) >= 4 and min(sum(b.counts.tolist()) for b in fast.fit) > 0
    assert fast.scored_by(slow.fit).evaluate().squares.shape == slow.scored_by(fast.fit).evaluate().squares.shape == (10, 2)


def test_leaving_out_a_needed_parameter_costs(problem: Problem) -> None:
    blocks = Blocks(problem)
    active = np.array([name != "Fc3" for name in problem.base.names])
    gain, error = blocks.evaluate().better_by(blocks.evaluate(active), joint=2)
    assert gain > 0.5 and gain > 3 * error


def in_lengths_of(length: float) -> Problem:
    """A log of an arm whose metre is another: parameters in kg m^2 and in N m s differ by further orders of magnitude then."""
    description, scale = load("scara4"), Scale(length=length)
    experiment = Experiment.of(description, noise="standard", sensors=Sensors(rate=200))
    (log,) = experiment.run(catalog_trajectory("scara4").trajectory, runs=1, seed=1, duration=4.0)
    robot = scale.description(description)
    motion = prepare(scale.log(log, description.robot), Recipe(filter=Butterworth(cutoff=20.0)))
    return Problem(base_model(robot.layout), (motion,), robot.prior)


@pytest.mark.parametrize("length", [1e-4, 1e4])
def test_weights_and_evidence_have_no_preferred_unit_of_length(length: float) -> None:
    """Orders of magnitude between columns are no dependence between them."""
    usual, other = (in_lengths_of(x) for x in (1.0, length))
    efforts = Scale(length=length).efforts(usual.base.layout.robot)
    assert Blocks(other).weights * efforts == pytest.approx(Blocks(usual).weights, rel=1e-6)
    factors = Scale(length=length).of_parameters(usual.base.layout)[list(usual.base.retained)]
    (here, spread), (there, wide) = (e.least_squares(np.zeros(len(e.z))) for e in map(evidence, (usual, other)))
    std = np.sqrt(np.diag(spread))
    assert np.sqrt(np.diag(wide)) / factors == pytest.approx(std, rel=1e-4)
    assert np.all(np.abs(there / factors - here) < 1e-3 * std)


def evidence(problem: Problem) -> Evidence:
    """What the data alone say by a robust fit."""
    found = Irls().estimate(problem).evidence
    assert found is not None
    return found


def test_relative_residuals_ignore_what_is_not_finite() -> None:
    tau = np.array([[3.0, 1.0], [4.0, np.nan]])
    found = Relative.of(tau, np.array([[0.0, 0.5], [0.0, 7.0]]))
    assert found.per_joint == (1.0, 0.5)
    assert found.all == pytest.approx(np.sqrt(25.25 / 26.0))
    both = residual(tau, tau * 0.9, tau, tau)
    assert both.raw.all == pytest.approx(0.1) and both.s_r == both.raw.all
    assert both.s == pytest.approx(0.1 * np.sqrt(26.0) / 4)
    assert both.per_sample == pytest.approx(0.1)


def test_whiteness_tells_white_from_coloured() -> None:
    rng = np.random.default_rng(0)
    white = rng.normal(size=(4000, 2))
    coloured = np.apply_along_axis(lambda x: np.convolve(x, np.ones(5), "same"), 0, white)
    assert max(Whiteness.of(white).outside) < 0.25 and min(Whiteness.of(white).normal_p) > 1e-3
    assert min(Whiteness.of(coloured).outside) > 0.15


def test_figures_of_a_long_record_are_those_of_its_values() -> None:
    rng = np.random.default_rng(3)
    tau = rng.normal(size=(2 * PIECE + 77, 3))
    predicted = tau + [0.1, 0.2, 0.3] * rng.normal(size=tau.shape)
    tau[100, 1] = predicted[PIECE + 5, 0] = np.nan
    use = rng.random(tau.shape) > 0.1
    use[PIECE + 10 : PIECE + 4000] = False
    missed, there = tau - predicted, np.isfinite(tau - predicted)
    found = residual(tau, predicted, tau, predicted)
    sums = [np.where(there, x, 0.0) ** 2 for x in (missed, tau)]
    assert found.raw.per_joint == pytest.approx(np.sqrt(sums[0].sum(axis=0) / sums[1].sum(axis=0)), rel=1e-12)
    assert found.filtered == found.raw
    assert found.per_sample == pytest.approx(np.mean(np.sqrt(sums[0].sum(axis=1) / sums[1].sum(axis=1))), rel=1e-12)
    assert found.s == pytest.approx(np.sqrt(sums[0].sum()) / tau.size, rel=1e-12)
    moving, use = Moving.of(tau, predicted, use, np.zeros(3)), use & there
    expected = [np.sqrt(np.mean(missed[use[:, j], j] ** 2)) for j in range(3)]
    assert moving.error == pytest.approx(expected, rel=1e-12)
    rows = np.array_split(np.flatnonzero(use.any(axis=1)), 5)
    error, size = (np.where(use, x, 0.0) ** 2 for x in (missed, tau))
    assert moving.blocks == pytest.approx([np.sqrt(error[r].sum() / size[r].sum()) for r in rows], rel=1e-12)
