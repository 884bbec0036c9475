"""Simulations that diverge are never better than others, whatever of them is a number."""

import numpy as np

from inertica.estimators.actuators.fit import criterion, simulated
from inertica.estimators.actuators.record import Record
from inertica.estimators.actuators.simulation import Start
from inertica.estimators.actuators.values import ActuatorValues


class _Diverging:
    """Free runs that leave the numbers half way."""

    def __init__(self, records: list[Record]) -> None:
        self.records = records

    def positions(self, k: int, values: ActuatorValues, start: Start) -> np.ndarray:
        q = self.records[k].q.copy()
        q[len(q) // 2 :] = np.nan
        return q


def test_a_simulation_that_ends_in_no_number_has_an_infinite_error() -> None:
    q = np.random.default_rng(0).normal(size=(40, 2))
    record = Record("log", np.arange(40.0), q, np.ones(q.shape, bool), {"q": q})
    residuals = simulated(_Diverging([record]), ActuatorValues.of(2), [Start(q[0], np.zeros(2))])
    assert criterion(residuals, np.full(2, 1e-6)) == np.inf
    # samples that were not measured still do not count
    unseen = Record("log", record.t, q, np.arange(40)[:, None] < np.array([20, 20]), {"q": q})
    residuals = simulated(_Diverging([unseen]), ActuatorValues.of(2), [Start(q[0], np.zeros(2))])
    assert np.isfinite(criterion(residuals, np.full(2, 1e-6)))
