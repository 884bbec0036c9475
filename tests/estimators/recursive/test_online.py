"""Recursive least squares: what it equals at every sample, and what it forgets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from estimators.simulated import exact_motion, noisy, robot, stacked_rows
from inertica.errors import InputError
from inertica.estimators.base import Problem
from inertica.estimators.linear.least_squares import Ols, Wls
from inertica.estimators.recursive import givens
from inertica.estimators.recursive.online import Rls, Rwls, dense, pass_by
from inertica.estimators.registry import method
from inertica.physical.check import check_model
from inertica.robot.layout import Parameters


@pytest.fixture(scope="module")
def problem() -> Problem:
    description, base = robot("scara2")
    motion = exact_motion(description.prior, duration=4.0)
    rng = np.random.default_rng(0)
    return Problem(base, (noisy(motion, rng.normal(size=motion.tau.shape)),), description.prior)


@pytest.fixture(scope="module")
def six_joints() -> Problem:
    description, base = robot("tx40")
    motion = exact_motion(description.prior, duration=1.5)
    rng = np.random.default_rng(1)
    return Problem(base, (noisy(motion, rng.normal(size=motion.tau.shape)),), description.prior)


@pytest.mark.parametrize("name", ["problem", "six_joints"])
def test_rls_is_ols_at_every_sample_from_full_rank_on(name: str, request: pytest.FixtureRequest) -> None:
    """Every sample: a fit of all rows so far by SVD, against the rotation of the newest rows into R."""
    given = request.getfixturevalue(name)
    system = given.observations
    b = given.base.rank
    F, weight, u = np.zeros((1, b + 1, b + 1)), np.zeros(1), np.zeros(b)
    group, beta = np.zeros(system.n, np.int64), np.zeros(b)
    (rows,) = system.rows()
    every = np.array(dense(rows, system))
    A, compared = np.zeros((0, b + 1)), 0
    for k in range(len(every)):
        use = rows.use[k]
        A = np.vstack([A, every[k][use]])
        if len(A) > 4 * b:  # R of the rows before is as good as the rows, and small
            A = np.linalg.qr(A, mode="r")
        givens.sample_in(F, weight, group, every[k].copy(), use, 1.0, False, u)
        scale = np.linalg.norm(A[:, :-1], axis=0)
        if np.any(scale == 0.0):
            continue
        s = np.linalg.svd(A[:, :-1] / scale, compute_uv=False)
        if len(A) < b or s[-1] < 1e-5 * s[0]:
            continue
        expected = np.linalg.lstsq(A[:, :-1] / scale, A[:, -1], rcond=None)[0] / scale
        assert givens.solve_into(F[0], beta)
        assert np.linalg.norm((beta - expected) * scale) < 1e-10 * np.linalg.norm(expected * scale)
        compared += 1
    assert compared > 0.75 * len(every)


def test_the_methods_are_ols_and_wls(problem: Problem) -> None:
    for recursive, batch in ((Rls(), Ols()), (Rwls(), Wls())):
        found, expected = recursive.estimate(problem), batch.estimate(problem)
        np.testing.assert_allclose(found.beta, expected.beta, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(found.covariance, expected.covariance, rtol=1e-7)
        np.testing.assert_allclose(found.sigma, expected.sigma, rtol=1e-9)


def test_the_history_is_what_fits_of_the_beginning_find(problem: Problem) -> None:
    found = Rls(moments=5).estimate(problem)
    (motion,) = problem.motions
    for t, value, std in zip(found.trace.t, found.trace.beta[:, 0], found.trace.std[:, 0], strict=True):
        late = {**motion.masks, "later": motion.t - motion.t[0] > t + 1e-9}
        early = Ols().estimate(replace(problem, motions=(replace(motion, masks=late),)))
        assert value == pytest.approx(early.beta[0], rel=1e-9)
        assert 0.0 < std < np.inf
    assert found.trace.t[-1] == pytest.approx(motion.t[-1] - motion.t[0])
    assert found.trace.beta[-1, 0] == found.beta[0]


def test_exponential_forgetting_is_least_squares_with_fading_weights(problem: Problem) -> None:
    factor = 0.995
    W, y = stacked_rows(problem)
    N = len(y[0])
    fade = np.sqrt(factor ** np.arange(N)[::-1])
    A = np.vstack([w * fade[:, None] for w in W])
    expected = np.linalg.lstsq(A, np.concatenate([x * fade for x in y]), rcond=None)[0]
    found = Rls(forgetting=factor).estimate(problem)
    np.testing.assert_allclose(found.beta, expected, rtol=1e-8, atol=1e-10)
    assert np.all(found.std >= Rls().estimate(problem).std)


def test_directional_forgetting_keeps_what_new_rows_do_not_touch() -> None:
    """Information about one parameter, then rows about another only: exponential forgetting loses the first, directional keeps it."""
    left = {}
    for along in (False, True):
        F, weight, u = np.zeros((1, 3, 3)), np.zeros(1), np.zeros(2)
        for k in range(400):
            row = np.array([[1.0, 0.0, 3.0]]) if k < 200 else np.array([[0.0, 1.0, 5.0]])
            givens.sample_in(F, weight, np.zeros(1, np.int64), row, np.array([True]), 0.95, along, u)
        left[along] = F[0, 0, 0] ** 2
        beta = np.zeros(2)
        givens.solve_into(F[0], beta)
        if along:
            assert beta == pytest.approx([3.0, 5.0])
    assert left[True] == pytest.approx(20.0, rel=1e-3)  # 1 / (1 - factor)
    assert left[False] < 1e-3 * left[True]


def test_directional_forgetting_is_the_update_of_the_information_matrix() -> None:
    rng = np.random.default_rng(3)
    b, factor = 6, 0.9
    F, u = np.zeros((b + 1, b + 1)), np.zeros(b)
    A, z = np.zeros((b, b)), np.zeros(b)
    for k in range(60):
        w, y = rng.normal(size=b), rng.normal()
        if k >= b:
            Aw = A @ w
            beta = np.linalg.solve(A, z)
            A = A - (1.0 - factor) * np.outer(Aw, Aw) / (w @ Aw)
            z = A @ beta  # the solution stays
            givens.discount_along(F, np.append(w, y), factor, u)
        A, z = A + np.outer(w, w), z + w * y
        givens.absorb(F, np.append(w, y))
        assert np.allclose(np.tril(F, -1), 0.0)
        if k >= b:
            np.testing.assert_allclose(F[:b, :b].T @ F[:b, :b], A, rtol=1e-9, atol=1e-10)
            np.testing.assert_allclose(F[:b, :b].T @ F[:b, b], z, rtol=1e-9, atol=1e-10)


def test_forgetting_follows_a_robot_that_changes() -> None:
    description, base = robot("scara2")
    rng = np.random.default_rng(4)
    changed = description.prior.replaced({"Fv1": description.prior["Fv1"] + 2.0})
    parts = []
    for values in (description.prior, changed):
        motion = exact_motion(values, duration=4.0)
        parts.append(noisy(motion, 0.1 * rng.normal(size=motion.tau.shape)))
    problem = Problem(base, tuple(parts), description.prior)
    at = base.names.index("Fv1")
    true = base.beta(changed.values)[at]
    assert abs(Rls().estimate(problem).beta[at] - true) > 0.5
    for kind in (Rls, Rwls):
        found = kind(forgetting=0.99).estimate(problem)
        assert abs(found.beta[at] - true) < 0.2, kind
        assert np.isfinite(found.std).all()


def test_directional_forgetting_follows_where_all_directions_are_excited() -> None:
    rng = np.random.default_rng(5)
    b, beta, true = 8, np.zeros(8), np.ones(8)
    F, weight, u = np.zeros((1, b + 1, b + 1)), np.zeros(1), np.zeros(b)
    for k in range(1200):
        true[3] = 1.0 if k < 400 else 3.0
        w = rng.normal(size=b)
        row = np.append(w, w @ true + 0.1 * rng.normal())[None]
        givens.sample_in(F, weight, np.zeros(1, np.int64), row, np.array([True]), 0.9, True, u)
    givens.solve_into(F[0], beta)
    assert np.abs(beta - true).max() < 0.2


@pytest.mark.parametrize("kind", [Rls, Rwls])
def test_directional_forgetting_states_an_uncertainty(problem: Problem, kind: type[Rls] | type[Rwls]) -> None:
    found, plain = kind(forgetting=0.98, directional=True).estimate(problem), kind().estimate(problem)
    known = plain.std < 0.3 * np.abs(plain.beta)
    assert np.isfinite(found.std).all() and np.all(found.std[known] > np.sqrt(np.diag(plain.diagnostics.plain_covariance))[known])


def test_consistent_estimates_at_every_moment(problem: Problem) -> None:
    found = method("pc-rls").estimate(problem)
    assert found.method == "pc-rls" and found.chi is not None
    assert all(link.consistent for link in check_model(Parameters(problem.base.layout, found.chi)).links)
    np.testing.assert_allclose(found.beta, method("pc-ols").estimate(problem).beta, rtol=1e-5, atol=1e-7)


def test_rows_of_a_long_record_pass_in_blocks(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [m.factors for m in pass_by(problem.observations, np.zeros(2, np.int64), moments=7)]
    monkeypatch.setattr("inertica.estimators.observe.BLOCK", 97)
    parts = [m.factors for m in pass_by(problem.observations, np.zeros(2, np.int64), moments=7)]
    assert all(np.array_equal(a, b) for a, b in zip(whole, parts, strict=True))


@pytest.mark.parametrize("factor", [0.0, 0.5, 1.1])
def test_a_factor_that_makes_no_sense_is_refused(factor: float) -> None:
    with pytest.raises(InputError, match="forgetting factor"):
        Rls(forgetting=factor)
