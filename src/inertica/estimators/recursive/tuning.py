"""Variances that a filter works with: those of the literature, ones relative to the start, or the most likely ones for the data.

    survey    P0 = (0.1, 0.1, 0.15 (|beta0| + 1e-3)),  Q = (1e-4, 1e-4 / f, 1e-5 annealed),  R = sigma_q^2       (section 9.3.6)
    toolbox   P0 = (1, 1, 0.15 (|beta0| + 1e-3)),  Q = (0.05 s, 0.05 s / f, 1e-6 annealed), s = sigma_tau^2,  R = sigma_q^2
    relative  P0 = (noise of the first velocity, sigma_q^2, (0.15 |beta0| + 0.002 beta_tau)^2),  Q from the noise of the torque,
              q_beta = 0,  R = sigma_q^2;  beta_tau: the value at which a parameter alone would explain all of the torque

The first two are absolute numbers, variances of parameters in whatever unit those have; the survey does not say how q_beta is annealed
and how small 1e-3 is, both are the toolbox's: q_beta <- max((1 - 1/f) q_beta, 1e-8) at every sample.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from inertica.arrays import Array
from inertica.estimators.base import Problem
from inertica.estimators.recursive.records import Record, drive_noises, position_noises, torque_noises
from inertica.estimators.recursive.reversals import reversal_jumps
from inertica.robot.loops import require_tree

EPSILON = 1e-3
"""Added to |beta0|."""

OFF = 0.15
"""What starting values are wrong by."""

LEAST = 0.002
"""Share of beta_tau that no starting value is known better than."""

POSES = 200
"""Samples at which the inertia is looked at."""

FACTORS = (100.0, 10.0, 3.0, 1.7)
"""By which noise is multiplied and divided in search of the most likely one, coarse to fine."""

AGAIN = 10.0
"""How much worse than the last pass says parameters are known to the next one: it linearises near the estimate all the way, and
counts a hundredth of the data twice."""

FINE = 1.25
"""The same for the noise of measured positions, which the positions show but for what the controller made of it.  Positions that
the noise itself has moved look like noise."""

WORTH = 2.0
"""Of minus twice a logarithm of likelihood: less is no reason to go on, or noise that does not matter would fall for ever."""


@dataclass(frozen=True, eq=False)
class Variances:
    """Of a filter on (dq, q, beta).

    Args:
        first: (2n + b,) of the start.
        state: (2n,) added at every sample.
        parameter: (b,) added at the first one,
        shrink: factor on it from sample to sample, down to
        floor: (b,)
        measurement: (n,) of positions.
        torque: (n,) of torques.
        drive: (n,) of the torques that drive the robot, where records tell what these do to the state (`Record.ease`); none by
            default.
        jump: (n, n) rad/s by which velocities err in a step in which a joint reverses, a column for each; see `reversals`; none by
            default.
    """

    first: Array
    state: Array
    parameter: Array
    shrink: float
    floor: Array
    measurement: Array
    torque: Array
    jump: Array | None = None
    drive: Array | None = None

    def scaled(self, state: Array, parameter: float, place: float = 1.0, measured: Array | float = 1.0) -> Variances:
        """With noise of every joint's state, of the parameters, once more of all positions, and of measured ones multiplied."""
        twice = np.concatenate([state, place * state])
        return replace(
            self, state=twice * self.state, parameter=parameter * self.parameter, floor=parameter * self.floor,
            measurement=measured * self.measurement, drive=None if self.drive is None else state * self.drive,
        )  # fmt: skip


def survey(problem: Problem, records: Sequence[Record], beta: Array) -> Variances:
    return _absolute(problem, records, beta, 0.1, np.full(problem.base.layout.robot.n, 1e-4), 1e-5)


def toolbox(problem: Problem, records: Sequence[Record], beta: Array) -> Variances:
    return _absolute(problem, records, beta, 1.0, 0.05 * torque_noises(problem) ** 2, 1e-6)


def _absolute(
    problem: Problem, records: Sequence[Record], beta: Array, first: float, state: Array, parameter: float
) -> Variances:
    n, b, period = problem.base.layout.robot.n, len(beta), _period(records)
    return Variances(
        np.concatenate([np.full(2 * n, first), OFF * (np.abs(beta) + EPSILON)]),
        np.concatenate([state, period * state]),
        np.full(b, parameter), 1.0 - period, np.full(b, 1e-8),
        position_noises(problem, list(records)) ** 2, torque_noises(problem) ** 2,
    )  # fmt: skip


def relative(problem: Problem, records: Sequence[Record], beta: Array) -> Variances:
    period, b = _period(records), len(beta)
    measurement, torque = position_noises(problem, list(records)) ** 2, torque_noises(problem) ** 2
    drive, together = drive_noises(problem) ** 2, all(len(r.ease) > 0 for r in records)
    velocity = _acceleration_variance(problem, beta, 0.0 * drive if together else drive) * period**2
    moving = np.mean([np.mean(m.dq**2, axis=0) for m in problem.motions], axis=0)
    known = OFF * np.abs(beta) + LEAST * _explaining(problem)
    return Variances(
        np.concatenate([0.01 * moving + 2.0 * measurement / period**2, measurement, known**2]),
        np.concatenate([velocity, velocity * period**2 / 4.0]),
        np.zeros(b), 1.0, np.zeros(b), measurement, torque, reversal_jumps(problem, records, beta), drive if together else None,
    )  # fmt: skip


PRESETS: dict[str, Callable[[Problem, Sequence[Record], Array], Variances]] = {
    "survey": survey, "toolbox": toolbox, "relative": relative,
}  # fmt: skip


def most_likely(score: Callable[[Variances], float], start: Variances, loop: bool = False) -> Variances:
    """Noise of the state, joint by joint, and of the parameters under which the innovations are most likely.

    Args:
        score: minus twice the logarithm of the likelihood; infinite where the filter breaks down.
        start: where the search begins.
        loop: of a filter that the control loop drives.  Its noise is searched in both directions, and also by how much more the
            positions' is: noise that the controller feeds back comes in differences, what it adds to a velocity in one step it takes
            away in the next, so that positions walk and velocities do not.  Where measured torques drive a filter, what their noise
            does to the state is the least there is: innovations of a moment tell little of what errors that last do to parameters.
    """
    n = len(start.measurement)
    logs = np.zeros(2 * n + 2)
    groups: list[list[int]] = [list(range(n)), *([[n + 1]] if loop else []), *([j] for j in range(n))]
    groups += [[n]] if np.any(start.parameter) else []
    measured = [list(range(n + 2, 2 * n + 2)), *([n + 2 + j] for j in range(n))]

    def scaled(x: Array) -> Variances:
        return start.scaled(np.exp(x[:n]), float(np.exp(x[n])), float(np.exp(x[n + 1])), np.exp(x[n + 2 :]))

    def at(x: Array) -> float:
        return score(scaled(x))

    best = at(logs)
    for factor in (*FACTORS, FINE):
        step = np.log(factor)
        for group in measured if factor == FINE else groups:
            for sign in (1.0, -1.0):
                while True:
                    tried = logs.copy()
                    tried[group] += sign * step
                    if not loop:
                        tried[:n] = np.maximum(tried[:n], 0.0)
                    value = at(tried)
                    if not value < best - WORTH:
                        break
                    logs, best = tried, value
    return scaled(logs)


def again(v: Variances, covariance: Array) -> Variances:
    """For another pass: parameters known `AGAIN` times worse than the last pass says, and no worse than at first."""
    first = v.first.copy()
    known = first[-len(covariance) :]
    known[:] = np.minimum(known, AGAIN**2 * np.diag(covariance))
    return replace(v, first=first)


def _period(records: Sequence[Record]) -> float:
    return float(records[0].t[1] - records[0].t[0])


def _thinned(problem: Problem) -> list[tuple[Array, Array, Array, Array]]:
    rows = [slice(None, None, max(1, len(m) // POSES)) for m in problem.motions]
    return [(m.q[r], m.dq[r], m.ddq[r], m.tau[r]) for m, r in zip(problem.motions, rows, strict=True)]


def _acceleration_variance(problem: Problem, beta: Array, torque: Array) -> Array:
    """(n,) variance of M^-1 w, w the noise of the torque; median over the motion."""
    chi, shapes = problem.fixed_values.copy(), None if problem.prior is None else problem.prior.shapes
    chi[problem.base.retained] = beta
    require_tree(problem.base.layout.robot, "a filter of positions")
    variances = [np.linalg.inv(problem.engine.mass_matrix(q, chi, shapes)) ** 2 @ torque for q, _, _, _ in _thinned(problem)]
    return np.asarray(np.median(np.concatenate(variances), axis=0))


def _explaining(problem: Problem) -> Array:
    """(b,) the value at which a parameter alone would explain as much torque as there is."""
    shapes = None if problem.prior is None else problem.prior.shapes
    column, size = np.zeros(problem.base.rank), 0.0
    for q, dq, ddq, tau in _thinned(problem):
        column += np.sum(problem.engine.regressor(q, dq, ddq, shapes)[:, :, problem.base.retained] ** 2, axis=(0, 1))
        size += float(np.sum(tau**2))
    return np.sqrt(size / np.maximum(column, 1e-6 * column.max()))
