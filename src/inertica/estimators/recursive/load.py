"""A load while the robot moves: `OnlinePayload.update(sample)` in a control loop, `estimate` whenever it is wanted.

The robot is known as well as a result says.  Rows of the loaded motion go into triangular factors as in `live.OnlineFit`; what they
say of the base parameters is put beside what is known of the robot as in `estimators.load`, friction of the loaded motion being its
own.  Without forgetting the ten parameters are those of a fit of all rows at once.  How much less rows say because their residuals
are alike in time is known from the residuals (`serial`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.estimators.load import Load, LoadEquations, fitted_load
from inertica.estimators.load_trust import FirstMoment, first_moments, load_labels
from inertica.estimators.recursive.lag import LagBuffer
from inertica.estimators.recursive.live import OnlineFit, RowStream, Sample
from inertica.identifiability.labels import UNIDENTIFIABLE
from inertica.identifiability.load import load_columns, own_friction
from inertica.physical.body import possible_body
from inertica.robot.layout import Parameters
from inertica.robot.terms import RigidBody
from inertica.threads import one_thread

ENOUGH = 2.0
"""Rows of a joint over its columns from which the noise of its rows is known."""


@dataclass(frozen=True, eq=False)
class LoadEstimate:
    """What is known of a load after some samples; `inertia.NAMES` order, frame of the flange.

    Args:
        values: (10,) of a body that can exist; nothing is known while there are no rows.
        intervals: (10, 2) 95 %, infinite where a value is not known on its own.
        measured: (10,) what the rows say before constraints.
        covariance: (10, 10) of that.
        labels: trust, as in `identify`.
        rows: that took part.
        complete: whether all that the robot can show is determined.
        moments: first moments that are determined.
    """

    values: Array
    intervals: Array
    measured: Array
    covariance: Array
    labels: tuple[str, ...]
    rows: int
    complete: bool
    moments: tuple[FirstMoment, ...] = ()


class OnlinePayload:
    """Recursive least squares for a load.

    Args:
        stream: samples to rows, of the robot without load.
        robot: what is known of its base parameters.
        body: where the load is fixed.
        delays: (n,) s by which torques are measured later than positions.
        forgetting: factor per row, see `Rls`; 1 forgets nothing.
        prior: values of fixed and nonlinear parameters.
    """

    def __init__(
        self, stream: RowStream, robot: LoadEquations, body: RigidBody, delays: Array | None = None, forgetting: float = 1.0,
        prior: Parameters | None = None,
    ) -> None:  # fmt: skip
        self.fit, self.robot = OnlineFit(stream, forgetting, prior=prior), robot
        self.columns, self.friction = load_columns(stream.base, body), own_friction(stream.base)
        n = stream.base.layout.robot.n
        self._late = np.zeros(n) if delays is None else np.asarray(delays, float) * stream.rate
        self._lag = LagBuffer(self._late) if self._late.any() else None

    @property
    def rows(self) -> int:
        """So far."""
        return self.fit.rows

    def restart(self) -> None:
        """The next sample does not follow the last one: filters begin anew, what is known of the load stays."""
        self.fit.stream.restart()
        self._lag = LagBuffer(self._late) if self._late.any() else None

    def update(self, sample: Sample) -> bool:
        """One sample in; whether it completed a row."""
        return self.fit.update(sample if self._lag is None else self._lag(sample))

    def absorb(self, rows: Array, use: NDArray[np.bool_]) -> None:
        """Rows (r, b+1) of one sample, used up."""
        self.fit.absorb(rows, use)

    @property
    def load(self) -> Load | None:
        """Least squares of all rows so far; None while there are too few to know their noise."""
        if not self.fit.noise_known(ENOUGH):
            return None
        R, z = self.fit.evidence.whitened()
        nonzero = np.any(R != 0.0, axis=1)
        return fitted_load(self.robot, LoadEquations(R[nonzero], z[nonzero]), self.columns, self.friction)

    @property
    def estimate(self) -> LoadEstimate:
        load = self.load
        if load is None:
            nothing = np.full((10, 10), np.inf)
            ends = np.tile([-np.inf, np.inf], (10, 1))
            return LoadEstimate(np.zeros(10), ends, np.zeros(10), nothing, (UNIDENTIFIABLE,) * 10, self.rows, False)
        covariance = load.significant_inflation**2 * load.covariance
        with one_thread():
            body = possible_body(load.values, covariance, ~load.known, load.open_directions)
        labels = load_labels(load.known, load.silent, load.values, np.sqrt(np.diag(covariance)), body)
        moments = first_moments(load.values, covariance, body, load.open_directions, labels)
        ends = np.column_stack([body.lower, body.upper])
        shown = np.linalg.matrix_rank(self.columns)
        complete = 10 - load.unresolved.shape[1] == shown
        return LoadEstimate(body.values, ends, load.values, covariance, labels, self.rows, bool(complete), moments)
