"""Filters against exact answers: the Kalman filter of a linear system, each other, and single precision."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from estimators.recursive.linear_robot import B, Linear, example, transition
from inertica.dynamics.llvm.stepping import stepper
from inertica.errors import InerticaError
from inertica.estimators.checks import example_problem
from inertica.estimators.recursive.factors import add_rank_one, cholesky, triangular
from inertica.estimators.recursive.joint import KINDS
from inertica.estimators.recursive.pairs import dual
from inertica.estimators.recursive.particles import marginal_particles, particles
from inertica.estimators.recursive.passes import arrays, driven, kalman, noises
from inertica.estimators.recursive.records import driven_by_torque
from inertica.estimators.recursive.records import transition as of_problem
from inertica.estimators.recursive.tuning import relative

SHAPE = (0.01, 2.0, 0.0)
START = np.zeros(3)


def shape(kind: str) -> tuple[float, float, float]:
    return (float(np.sqrt(3.0)), 0.0, 0.0) if "cdkf" in kind else SHAPE


@pytest.mark.parametrize("kind", KINDS)
def test_linear_gaussian_filters_are_the_kalman_filter(kind: str) -> None:
    record, v = example()
    z, P, path = Linear.of().filtered(record, START, v)
    found = kalman(kind, shape(kind), transition(), [record], START, v)
    np.testing.assert_allclose(found.beta, z[4:], rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.covariance, P[4:, 4:], rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.history.beta, np.array(path)[:, 4:], rtol=0, atol=1e-9)


def test_two_filters_side_by_side_are_the_kalman_filter_of_parameters_that_do_not_move() -> None:
    """Because the state goes with the parameters by its total derivative; with noise of the parameters it is an approximation."""
    record, v = example(parameter=np.zeros(3), floor=np.zeros(3))
    z, P, path = Linear.of().filtered(record, START, v)
    s, _code = stepper(transition(), True)
    x, beta, spread, C = record.start.copy(), START.copy(), np.diag(v.first[:4]), np.diag(v.first[4:])
    kept = arrays(len(record.t), 2, 7, 1)
    at = dual(
        s,
        driven(record, START),
        record.steps,
        record.q,
        record.used,
        x,
        beta,
        spread,
        C,
        noises(v, record, [record]),
        np.zeros(0),
        kept,
    )
    assert at == -1
    np.testing.assert_allclose(np.concatenate([x, beta]), z, rtol=0, atol=1e-9)
    np.testing.assert_allclose(C, P[4:, 4:], rtol=0, atol=1e-9)
    np.testing.assert_allclose(kept.z[:, 4:], np.array(path)[:, 4:], rtol=0, atol=1e-9)


def test_particles_approach_the_kalman_filter() -> None:
    """Distance in standard deviations over five clouds: 1.7 with 100 particles, 0.3 with 25600."""
    record, v = example()
    record = replace(record, t=record.t[:40], q=record.q[:40], used=record.used[:40], steps=record.steps[:40])
    z, P, _ = Linear.of().filtered(record, START, v)
    scatter = []
    for count in (100, 25600):
        found = [particles(transition(), [record], START, v, count, 0.5, np.random.default_rng(k)).beta for k in range(5)]
        scatter.append(float(np.sqrt(np.mean((np.array(found) - z[4:]) ** 2 / np.diag(P)[4:]))))
    assert scatter[1] < 0.3 * scatter[0]


def test_mixtures_approach_the_kalman_filter() -> None:
    """Particles with a Gaussian around each: in standard deviations over five clouds 0.0002 with 100 particles, 0.00005 with 1000."""
    record, v = example()
    z, P, _ = Linear.of().filtered(record, START, v)
    scatter = []
    for count in (10, 100, 1000):
        found = [marginal_particles(transition(), [record], START, v, count, 0.5, np.random.default_rng(k)) for k in range(5)]
        scatter.append(float(np.sqrt(np.mean((np.array([f.beta for f in found]) - z[4:]) ** 2 / np.diag(P)[4:]))))
    assert scatter[2] < 0.5 * scatter[1] < 0.3 * scatter[0] and scatter[2] < 0.0005
    np.testing.assert_allclose(np.mean([f.covariance for f in found], axis=0), P[4:, 4:], rtol=0.01)


@pytest.mark.parametrize("kind", ["ekf", "srekf", "ukf", "cdkf"])
def test_smoother_sees_the_whole_record(kind: str) -> None:
    """Parameters that do not move are the last estimate throughout; states are those of the whole record's least squares."""
    record, v = example()
    v = replace(v, parameter=np.zeros(3), floor=np.zeros(3))
    found = kalman(kind, shape(kind), transition(), [record], START, v, smooth=True)
    np.testing.assert_allclose(found.history.beta, np.tile(found.beta, (len(found.history.beta), 1)), atol=1e-8)
    np.testing.assert_allclose(found.states[0], _least_squares(record, v), atol=1e-7)


def test_a_smoother_that_cannot_go_on_says_so() -> None:
    """A parameter taken as known exactly leaves no positive covariance; nothing half smoothed is given out."""
    record, v = example()
    first = v.first.copy()
    first[-1] = 0.0
    known = replace(v, first=first, parameter=np.zeros(3), floor=np.zeros(3))
    with pytest.raises(InerticaError, match=r"the smoother ended at .* not positive any more"):
        kalman("ekf", SHAPE, transition(), [record], START, known, smooth=True)


def _least_squares(record, v):  # type: ignore[no-untyped-def]
    """All states and the parameters at once."""
    linear, N = Linear.of(), len(record.t)
    size = 4 * N + 3
    rows, right = [], []

    def add(block: np.ndarray, value: np.ndarray, variance: np.ndarray) -> None:
        rows.append(block / np.sqrt(variance)[:, None])
        right.append(value / np.sqrt(variance))

    first = np.zeros((7, size))
    first[:4, :4], first[4:, 4 * N :] = np.eye(4), np.eye(3)
    add(first, np.concatenate([record.start, START]), v.first)
    for k in range(N):
        seen = np.zeros((2, size))
        seen[:, 4 * k + 2 : 4 * k + 4] = np.eye(2)
        add(seen, record.q[k], v.measurement)
        if k < N - 1:
            moved = np.zeros((4, size))
            moved[:, 4 * k + 4 : 4 * k + 8], moved[:, 4 * k : 4 * k + 4] = np.eye(4), -linear.A[:4, :4]
            moved[:, 4 * N :] = -linear.A[:4, 4:]
            add(moved, linear.G[:4] @ record.table[k], v.state)
    return np.linalg.lstsq(np.vstack(rows), np.concatenate(right), rcond=None)[0][: 4 * N].reshape(N, 4)


@pytest.mark.parametrize("plain", ["ekf", "ukf", "cdkf"])
def test_square_root_forms_agree_with_plain_ones(plain: str) -> None:
    problem = example_problem()
    beta = problem.prior_beta
    records, dt = driven_by_torque(problem, 1e-3, "interpolated")
    records = [r.stretches(3, 0.5)[1] for r in records]  # at rest a sharp friction makes a difference of rounding
    # all that is in the torque taken for its noise; with its own alone, 160 times less on the first joint, points of the ukf at a
    # hundredth of a standard deviation leave 1.1e-7 of a poorly known parameter, 6e-9 of the largest one
    v, step = relative(replace(problem, loop=None), records, beta), of_problem(problem, beta, dt, "rk2")
    one, other = (kalman(kind, shape(kind), step, records, beta, v) for kind in (plain, f"sr{plain}"))
    np.testing.assert_allclose(one.beta, other.beta, rtol=1e-8)
    np.testing.assert_allclose(one.covariance, other.covariance, atol=1e-8 * np.abs(one.covariance).max())
    assert one.correlation == pytest.approx(other.correlation, rel=1e-5)  # by which tuned covariances are widened


@pytest.mark.slow  # filters are compiled anew for single precision, which takes longer than all other tests here
@pytest.mark.parametrize("plain", ["ekf", "ukf", "cdkf"])
def test_only_square_root_forms_survive_single_precision(plain: str) -> None:
    """Variances from 100 to 1e-10 in numbers of seven digits: a plain covariance loses its sign, a factor keeps its answer.

    Compared are the two combinations of parameters that move the robot.
    """
    quiet = np.zeros(3)
    record, v = example(
        measurement=np.full(2, 1e-8), state=np.full(4, 1e-10), parameter=quiet, floor=quiet, first=np.full(7, 100.0)
    )
    z, P, _ = Linear.of().filtered(record, START, v)
    root = kalman(f"sr{plain}", shape(plain), transition(), [record], START, v, dtype=np.float32)
    exact = np.diag(B @ P[4:, 4:] @ B.T)
    assert root.broke is None and np.abs(B @ (root.beta - z[4:])).max() < 1e-5
    np.testing.assert_allclose(np.diag(B @ root.covariance @ B.T), exact, rtol=0.1)
    assert kalman(plain, shape(plain), transition(), [record], START, v, dtype=np.float32).broke is not None


def test_factors() -> None:
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(9, 17))
    P, low = wide @ wide.T, np.zeros((9, 9))
    assert cholesky(P, low) and not cholesky(-P, np.zeros((9, 9)))
    triangular(wide)
    np.testing.assert_allclose(wide[:, :9], low, atol=1e-12)
    assert not wide[:, 9:].any()
    v = rng.normal(size=9)
    add_rank_one(low, v.copy())
    np.testing.assert_allclose(low @ low.T, P + np.outer(v, v), atol=1e-10)
