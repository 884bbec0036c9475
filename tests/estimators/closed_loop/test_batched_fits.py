"""Methods that simulate, from several starts in one batch: the estimates of each by itself, bit for bit."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from estimators.closed import experiment_log, problem
from host_cuda import COMPILER, Host
from inertica.dynamics.batching import BatchClient, run_batched
from inertica.dynamics.cuda.target import Cuda
from inertica.estimators.base import Estimate, Estimator, Problem
from inertica.estimators.closed_loop.didim import Didim
from inertica.estimators.closed_loop.iv import Instrumented, Iv
from inertica.estimators.closed_loop.output_error import Clie, Cloe
from inertica.estimators.consistent.strategy import Consistent
from inertica.physical.distort import distorted

SECONDS = 3.0


def started(p: Problem, k: int) -> Problem:
    assert p.prior is not None
    return p.with_prior(distorted(p.prior, np.random.default_rng(k), 0.15))


@pytest.mark.parametrize(("robot", "noise"), [("scara2", "standard"), ("planar2", None)])
def test_starts_side_by_side_find_what_each_finds_alone(robot: str, noise: str | None) -> None:
    p = problem(robot, [experiment_log(robot, noise, duration=SECONDS)])
    plain: list[Estimator] = [Didim(), Iv(), Didim(solve=Consistent()), Clie(check_loop=False), Cloe(check_loop=False)]
    asked = [(method, started(p, k)) for method in plain for k in range(3)]

    def fit(batch: BatchClient | None, k: int) -> Estimate:
        method, own = asked[k]
        return method.estimate(own if batch is None else own.with_batch(batch), np.random.default_rng(k))

    alone = [fit(None, k) for k in range(len(asked))]
    for k, found, duration in run_batched([partial(fit, k=k) for k in range(len(asked))], 8):
        assert found.beta.tobytes() == alone[k].beta.tobytes()
        assert found.std.tobytes() == alone[k].std.tobytes()
        assert (found.iterations, found.simulations, found.stop_reason) == (
            alone[k].iterations, alone[k].simulations, alone[k].stop_reason,
        )  # fmt: skip
        assert found.warnings == alone[k].warnings
        assert duration.wall > 0.0


def test_without_the_loop_check_nothing_else_changes() -> None:
    p = problem("scara2", [experiment_log("scara2", "standard", duration=SECONDS)])
    full, short = Didim().estimate(p), Didim(check_loop=False).estimate(p)
    assert full.beta.tobytes() == short.beta.tobytes()
    assert short.simulations < full.simulations and short.simulations == short.iterations
    assert short.loop is not None and short.loop.torque_ratio is None


def test_products_are_those_of_the_rows() -> None:
    p = problem("scara2", [experiment_log("scara2", "standard", duration=SECONDS)])
    motion = p.motions[0]
    other = replace(p, motions=(replace(motion, dq=1.01 * motion.dq, ddq=0.98 * motion.ddq),))
    straight = Instrumented(p.observations, other.observations)
    rows = Instrumented(p.observations.with_rows(list(p.observations.rows())), other.observations)
    assert straight.straight and not rows.straight
    np.testing.assert_array_equal(straight.counts, rows.counts)
    for a, b in zip(straight.products, rows.products, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12 * np.abs(b).max())
    beta = p.prior_beta
    np.testing.assert_allclose(straight.residuals(beta), rows.residuals(beta), rtol=1e-9)


def test_rows_are_shared_by_priors_that_say_the_same_of_them() -> None:
    p = problem("scara2", [experiment_log("scara2", "standard", duration=SECONDS)])
    rows = p.observations
    assert started(p, 1).observations is rows
    assert p.with_prior(None).observations is not rows


@pytest.mark.skipif(COMPILER is None, reason="needs g++")
def test_output_error_on_the_card_finds_what_the_processor_finds() -> None:
    """Squares and products are summed where signals are simulated; here by g++ in the place of the card."""
    p = problem("scara2", [experiment_log("scara2", "standard", duration=1.0)])
    card = replace(p, base=p.base.computed(1, Cuda(device=Host())))
    methods: list[Estimator] = [Clie(check_loop=False, integrator="euler"), Cloe(check_loop=False, integrator="euler")]
    asked = [(method, k) for method in methods for k in range(2)]

    def fit(batch: BatchClient, k: int) -> Estimate:
        method, start = asked[k]
        return method.estimate(started(card, start).with_batch(batch))

    for k, found, _ in run_batched([partial(fit, k=k) for k in range(len(asked))], 4):
        alone = asked[k][0].estimate(started(p, asked[k][1]))
        assert (found.iterations, found.simulations) == (alone.iterations, alone.simulations)
        assert np.max(np.abs(found.beta - alone.beta) / alone.std) < 1e-6
        np.testing.assert_allclose(found.std, alone.std, rtol=1e-6)
