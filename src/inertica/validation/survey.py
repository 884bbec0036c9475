"""The survey's figures of merit as its equations state them: d_q (eq. 69) and d_tau (eq. 70), relative and averaged over samples.

Both are means of ratios, which samples next to zero would decide.  Rule: samples at which |q| or |tau| is below a hundredth of its
largest value in the record do not count.
"""

from __future__ import annotations

import numpy as np

from inertica.arrays import Array
from inertica.dynamics.engine import Engine
from inertica.excitation.sampled import Sampled
from inertica.excitation.trajectory import Samples
from inertica.logs.log import Log
from inertica.robot.layout import Parameters

NEAR_ZERO = 0.01
"""Share of the largest value below which a sample does not count."""


def mean_ratio(values: Array, other: Array) -> float:
    """(1/N) sum_k |values_k - other_k| / |values_k| over the samples that count; NaN when none does.

    Args:
        values: (N, n) what is measured.
        other: (N, n) what a model says.
    """
    miss = values - other
    good = np.asarray(np.isfinite(miss))
    if good.all():
        size = np.linalg.norm(values, axis=1)
        use = size > NEAR_ZERO * size.max(initial=0.0)
    else:
        whole = np.asarray(good.all(axis=1))
        size = np.linalg.norm(np.where(whole[:, None], values, 0.0), axis=1)
        use = whole & (size > NEAR_ZERO * size.max(initial=0.0))
    if not use.any():
        return float("nan")
    return float(np.mean(np.linalg.norm(miss, axis=1)[use] / size[use]))


def torque_difference(parameters: Parameters, desired: Samples, tau: Array, engine: Engine | None = None) -> float:
    """d_tau: the measured torque against Y(q_d, dq_d, ddq_d) beta, the model's torque along the *desired* motion.

    It holds the tracking error of the loop as well as errors of the parameters: the true ones do not give zero.

    Args:
        parameters: of the model.
        desired: what the controller was to follow, at the samples.
        tau: (N, n) measured.
        engine: of the parameters' layout, when there is one.
    """
    used = engine or Engine(parameters.layout)
    return mean_ratio(tau, np.asarray(used.inverse_dynamics(desired.q, desired.dq, desired.ddq, parameters)))


def desired_motion(log: Log) -> Samples | None:
    """The log's reference with its derivatives, at its samples; None when it has none, or no torque to compare with."""
    if "qr" not in log.signals or "tau" not in log.signals:
        return None
    qr = log.need("qr")
    use = ~log.mask & np.isfinite(qr).all(axis=1) & np.isfinite(log.t)
    if np.count_nonzero(use) < 6:
        return None
    t = log.running
    start = t[use][0]
    return Sampled(t[use] - start, qr[use], interpolation="quintic")(np.clip(np.nan_to_num(t) - start, 0.0, None))


def log_torque_difference(parameters: Parameters, log: Log, engine: Engine | None = None) -> float | None:
    """d_tau of a log with a reference; None for one without."""
    desired = desired_motion(log)
    if desired is None:
        return None
    measured = np.where(log.mask[:, None], np.nan, log.need("tau"))
    return torque_difference(parameters, desired, measured, engine)
