"""A load found sample by sample is the load that a fit of all rows at once finds."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from inertica.estimators.linear.least_squares import Wls
from inertica.estimators.load import LoadEquations, fitted_load
from inertica.estimators.recursive.lag import LagBuffer
from inertica.estimators.recursive.live import RowStream, Sample
from inertica.estimators.recursive.load import OnlinePayload
from inertica.estimators.recursive.online import dense
from inertica.excitation.files import catalog_trajectory
from inertica.experiment import Experiment
from inertica.identifiability.base import BaseModel, base_model
from inertica.identifiability.load import load_columns, own_friction
from inertica.logs.log import Log
from inertica.preprocessing.filters import Butterworth
from inertica.preprocessing.recipe import Recipe
from inertica.robot import inertia
from inertica.robot.description import Description
from inertica.robot.layout import Parameters
from inertica.robot.load import load
from inertica.robot.terms import RigidBody
from inertica.workflow.payload_records import Records

LOAD = inertia.from_com(1.5, [0.04, -0.03, 0.06], np.diag([0.004, 0.006, 0.005]))
BODY = RigidBody(5, "p")


@lru_cache
def records() -> tuple[Description, BaseModel, LoadEquations, Log]:
    """The robot, what a record without load says of it, and a log with load."""
    description = load("tx40")
    base = base_model(description.layout)
    empty = Experiment.of(description, friction="viscous_coulomb", noise="low_position", threads=1)
    values = np.array(empty.truth.values)
    values[empty.truth.layout.link(5)] += LOAD
    full = replace(empty, truth=Parameters(empty.truth.layout, values, empty.truth.shapes))
    first = empty.run(catalog_trajectory("tx40").trajectory, seed=1)[0]
    second = full.run(catalog_trajectory("tx40", "validation").trajectory, seed=2)[0]
    robot = Records.fitted(description, [first], recipe(), Wls(), base)
    return description, base, LoadEquations.stated(robot.beta, robot.estimate.needed_covariance), second


def recipe() -> Recipe:
    return Recipe(filter=Butterworth(cutoff=30.0), decimate=30.0)


def test_the_rows_of_a_batch_fit_one_by_one_give_its_load() -> None:
    description, base, robot, log = records()
    batch = Records.fitted(description, [log], recipe(), Wls(hac=False), base)
    online = OnlinePayload(RowStream(base, log.rate, "torque", prior=description.prior), robot, BODY)
    for rows in batch.problem.observations.rows():
        for row, use in zip(dense(rows, batch.problem.observations), rows.use, strict=True):
            online.absorb(row, use)
    expected = fitted_load(robot, batch.rows, load_columns(base, BODY), own_friction(base))
    found = online.load
    assert found is not None
    size = np.sqrt(np.diag(expected.covariance))
    assert np.abs(found.values - expected.values).max() < 1e-9 * np.abs(expected.values).max()
    assert np.abs((found.values - expected.values) / size).max() < 1e-7
    assert np.allclose(found.covariance, expected.covariance, rtol=1e-7, atol=0.0)


def test_samples_in_a_control_loop_give_the_load_of_all_their_rows_with_intervals() -> None:
    description, base, robot, log = records()
    q, tau = log.need("q"), log.need("tau")
    online = OnlinePayload(RowStream(base, log.rate, prior=description.prior), robot, BODY)
    assert online.load is None and np.isinf(online.estimate.intervals).all()
    for k in range(len(q)):
        online.update(Sample(q[k], tau[k]))
    rows, use, _ = RowStream(base, log.rate, prior=description.prior).push_many(q, tau)
    sigma, _ = online.fit.weighed()
    parts = [rows[use[:, j], j] / sigma[j] for j in range(6)]
    whole = np.vstack(parts)
    beta = np.linalg.lstsq(whole[:, :-1], whole[:, -1], rcond=None)[0]
    spread = np.linalg.inv(whole[:, :-1].T @ whole[:, :-1])
    alike = online.fit.longer
    assert np.all(alike >= online.fit.stream.inflation) and alike.max() > 1.5 * online.fit.stream.inflation  # it is not white
    scores = np.sum([c * W[:, :-1].T @ W[:, :-1] for c, W in zip(alike, parts, strict=True)], axis=0)
    expected = fitted_load(
        robot, LoadEquations.stated(beta, spread @ scores @ spread), load_columns(base, BODY), own_friction(base)
    )
    assert online.load is not None
    assert np.abs(online.load.values - expected.values).max() < 1e-6 * np.abs(expected.values).max()
    assert np.allclose(online.load.covariance, expected.covariance, rtol=1e-4, atol=1e-12)
    found = online.estimate
    inside = (found.intervals[:, 0] <= LOAD) & (found.intervals[:, 1] >= LOAD)
    assert found.complete and inside.sum() >= 8 and found.values[9] == pytest.approx(1.5, rel=0.05)


def test_forgetting_follows_a_load_that_is_put_down() -> None:
    description, base, robot, log = records()
    online = OnlinePayload(RowStream(base, log.rate, prior=description.prior), robot, BODY, forgetting=0.98)
    empty = Experiment.of(description, friction="viscous_coulomb", noise="low_position", threads=1)
    without = empty.run(catalog_trajectory("tx40", "validation").trajectory, seed=3)[0]
    for part in (log, without):
        for q, tau in zip(part.need("q"), part.need("tau"), strict=True):
            online.update(Sample(q, tau))
    assert abs(online.estimate.measured[9]) < 0.3


def test_signals_that_wait_for_each_other_meet() -> None:
    late = np.array([2.5, 0.0, -1.25])
    lag = LagBuffer(late)
    for k in range(20):
        t = float(k)
        sample = lag(Sample(np.array([t, t, t]), t - late))
    assert np.allclose(sample.q, sample.tau) and sample.q[0] == pytest.approx(19.0 - 2.5)


def test_samples_that_come_together_wait_alike() -> None:
    rng, late = np.random.default_rng(2), np.array([2.5, 0.0, -1.25])
    q, tau, dq = rng.normal(size=(3, 23, 3))
    one, many = LagBuffer(late), LagBuffer(late)
    each = [[np.array(x) for x in (s.q, s.tau, s.dq)] for s in (one(Sample(*row)) for row in zip(q, tau, dq, strict=True))]
    parts = [many.many(q[k], tau[k], dq[k]) for k in (slice(0, 1), slice(1, 4), slice(4, 4), slice(4, 20), slice(20, 23))]
    for i in range(3):
        np.testing.assert_allclose(np.array([row[i] for row in each]), np.concatenate([p[i] for p in parts]), atol=1e-15)
