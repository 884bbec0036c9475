"""Does the stated control law fit the log?  Gains by which the recorded robot differs from the simulated one.

The simulation answers to every gain with a change of its motion and torque; what the log shows beyond the simulation is regressed on
these answers,

    tau - tau_s = W(q_s) delta_beta + sum_g (d tau_s / d log g) log(g_log / g_stated) + noise,
    q - q_s     =                     sum_g (d q_s / d log g) log(g_log / g_stated) + noise,

the second where positions were recorded.  Wrong gains hide behind wrong parameters: those that a fit with a wrong damping gives leave
positions nearly right, and only the torque shows it; so a gain is wrong when either says so.  A scale clearly different from one
means that the robot was not controlled as stated, and that no answer which rests on the simulation may be trusted further than that.
Positions alone cannot tell a common factor of gains and parameters, so the simulated torque is compared with the recorded one, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.estimators.base import Need, Problem
from inertica.estimators.closed_loop.gain_fit import ENOUGH, ENOUGH_TORQUE, KNOWN, channels, gain_step
from inertica.estimators.closed_loop.loop_gains import LoopGains, driven
from inertica.estimators.closed_loop.loop_simulation import LoopSimulator
from inertica.experiment.track import Replay
from inertica.preprocessing.bandwidth import widest_position_band

WRONG, SURE = 0.1, 6.0
"""A scale off by more than this, and by this many standard deviations, is a mismatch."""

UNEXPLAINED = 0.5
"""Share of the tracking error that the simulated loop may leave unexplained."""

NUDGE = 0.1
"""Change of a gain's logarithm by which its effect is told: what counts as wrong, so that jumps of friction are small beside it."""

CLOSE = 0.02
"""Relative difference of torques up to which Euler steps serve for differences."""

WINDOW = 0.05
"""Periods of the motion's band over which tracking errors are averaged, so that noise does not count as unexplained."""


@dataclass(frozen=True, eq=False)
class GainFit:
    """How the log's gains compare with the simulated ones.

    Args:
        gains: whose scales these are.
        scale: (g,) recorded over simulated gains.
        std: of the scales; infinite where the log says nothing, or not which of several gains it is.
        torque: (n,) recorded over simulated torque.
        unexplained: (n,) share of each joint's tracking error that the simulation does not show; empty without positions.
    """

    gains: LoopGains
    scale: Array
    std: Array
    torque: Array
    unexplained: Array

    @property
    def wrong(self) -> list[int]:
        """Entries that contradict the stated law."""
        return [int(k) for k in np.flatnonzero(_contradicts(self.scale, self.std))]

    def warnings(self) -> tuple[str, ...]:
        out = []
        if self.wrong:
            words = {k: f"{self.scale[k]:.2f} +- {max(self.std[k], 0.005):.2f}" for k in self.wrong}
            gains = self.gains.listed(self.wrong, words)
            out.append(
                f"the control law does not fit the log: the log looks as if the gains were these multiples of the stated "
                f"ones ({gains}); estimate the gains, or fit the loop first, before trusting these parameters"
            )
        elif np.any(np.abs(self.torque - 1.0) > WRONG):
            gains = ", ".join(f"joint {j + 1}: {x:.2f}" for j, x in enumerate(self.torque) if abs(x - 1.0) > WRONG)
            out.append(
                f"the recorded torque is not the simulated one but a multiple of it ({gains}): the stated gains are off by these "
                "factors, and so are the parameters; correct the gains, or use a method that fits the torque"
            )
        elif np.any(self.unexplained > UNEXPLAINED):
            joints = ", ".join(f"{j + 1} ({100 * u:.0f} %)" for j, u in enumerate(self.unexplained) if u > UNEXPLAINED)
            out.append(
                f"the control law does not fit the log: the simulated loop leaves most of the tracking error unexplained on joint "
                f"{joints}; fit the loop first"
            )
        return tuple(out)


def fit_gains(simulator: LoopSimulator, beta: Array, gains: Mapping[str, Array], drive: Array | None = None) -> GainFit | None:
    """Compare the log with the loop simulated at beta; None when the simulation is unstable.

    Args:
        simulator: of the loop, transients cut off.
        beta: parameters to simulate with.
        gains: name -> (n,), around which to look; the loop's own where not given.
        drive: (n,) true over recorded torque, when drive gains were estimated.
    """
    measured = simulator.problem.has(Need.MOTION)
    coarse = simulator.coarser(ENOUGH if measured else ENOUGH_TORQUE)
    problem = driven(coarse.problem, drive)
    unknown = LoopGains.of(replace(problem, loop=replace(simulator.loop, gains={**simulator.loop.gains, **gains})), drive=False)
    nominal, stable = coarse(beta, gains)
    if not stable[0]:
        return None
    pairs = list(zip(nominal, _gain_responses(coarse, simulator.run.integrator, beta, unknown, nominal), strict=True))
    by_torque = gain_step([channels(problem.motions, pairs, _regressors(problem, nominal), "tau")], len(beta))
    scale, std = np.exp(by_torque.change), by_torque.std
    if measured:
        by_position = gain_step([channels(problem.motions, pairs, [np.zeros((len(m), m.n, 0)) for m in problem.motions], "q")], 0)
        position_factors = np.exp(by_position.change)
        # torque tells gains more sharply; positions speak where it tells nothing, or where they contradict the stated gains
        use = _contradicts(position_factors, by_position.std) | ~(std < KNOWN)
        scale, std = np.where(use, position_factors, scale), np.where(use, by_position.std, std)
    unexplained = _unexplained(problem, nominal) if measured else np.zeros(0)
    return GainFit(unknown, scale, std, _torque_ratio(problem, nominal), unexplained)


def _gain_responses(
    coarse: LoopSimulator, integrator: str, beta: Array, unknown: LoopGains, nominal: list[Replay]
) -> list[Replay]:
    """Per motion the derivatives of simulated signals with respect to the unknown gains, as differences between lanes of a batch.

    By Euler steps where these follow the simulation, by the stated integrator otherwise; not by RK2, whose stages meet a sharp
    friction on both sides of a reversal and make noise of it.  A gain whose change makes the loop unstable has the response zero.
    """
    points = np.vstack([np.zeros(unknown.size), NUDGE * np.eye(unknown.size)])
    for tried in ("euler", integrator):
        replays, stable = coarse.by(tried)(np.tile(beta, (len(points), 1)), unknown.simulated(points))
        # Euler steps serve only where they follow the simulation that they are differences of
        if stable[0] and all(_apart(r.tau[0], n.tau[0]) < CLOSE for r, n in zip(replays, nominal, strict=True)):
            break
    return [r.each(lambda x: np.where(stable[1:, None, None], x[1:] - x[:1], 0.0) / NUDGE) for r in replays]


def _apart(a: Array, b: Array) -> float:
    return float(np.linalg.norm(a - b)) / max(float(np.linalg.norm(b)), 1e-300)


def _contradicts(scale: Array, std: Array) -> NDArray[np.bool_]:
    return np.asarray(np.isfinite(std) & (np.abs(scale - 1.0) > np.maximum(WRONG, SURE * std)))


def _regressors(problem: Problem, nominal: list[Replay]) -> list[Array]:
    """Of every motion (N, n, b), columns of the base parameters along the simulated motion."""
    base, shapes = problem.base, None if problem.prior is None else problem.prior.shapes
    return [base.engine.regressor(r.q[0], r.dq[0], r.ddq[0], shapes=shapes)[:, :, base.retained] for r in nominal]


def _torque_ratio(problem: Problem, nominal: list[Replay]) -> Array:
    """(n,) slope of the recorded torque over the simulated one."""
    use = [~m.mask for m in problem.motions]
    # noise is on the recorded side, so that the regression runs from simulated to recorded and is not attenuated
    simulated = np.concatenate([r.tau[0][u] for r, u in zip(nominal, use, strict=True)])
    recorded = np.concatenate([m.tau[u] for m, u in zip(problem.motions, use, strict=True)])
    return np.asarray(np.sum(simulated * recorded, axis=0) / np.maximum(np.sum(simulated**2, axis=0), 1e-300))


def _unexplained(problem: Problem, nominal: list[Replay]) -> Array:
    """(n,) share of the tracking error that is not in the simulation, averaged over short windows."""
    left: list[Array] = []
    whole: list[Array] = []
    for motion, replay in zip(problem.motions, nominal, strict=True):
        if "qr" not in motion.log.signals:
            continue
        use = ~motion.mask
        qr = np.column_stack([np.interp(motion.t, motion.log.running, c) for c in motion.log.signals["qr"].T])
        band = widest_position_band(motion.q, motion.dt)
        width = max(1, round(WINDOW * motion.rate / band)) if band > 0.0 else 1
        count = int(np.count_nonzero(use)) // width
        if count < 2:
            continue

        def windows(x: Array, use: NDArray[np.bool_] = use, count: int = count, width: int = width) -> Array:
            return np.asarray(x[use][: count * width].reshape(count, width, -1).mean(axis=1))

        left.append(windows(motion.q - replay.q[0]))
        whole.append(windows(qr - motion.q))
    if not left:
        return np.zeros(0)
    a, b = np.concatenate(left), np.concatenate(whole)
    return np.asarray(np.linalg.norm(a, axis=0) / np.maximum(np.linalg.norm(b, axis=0), 1e-300))
