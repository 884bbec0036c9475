"""Does the stated control law fit the log?  Gains by which the recorded robot differs from the simulated one.

The simulation answers to every gain with a change of its motion and torque; what the log shows beyond the simulation is regressed on
these answers,

    q - q_s = sum_g (d q_s / d log g) log(g_log / g_stated) + noise,

with the torque in the place of the position, less what the dynamic parameters explain, when no position was recorded.  A scale
clearly different from one means that the robot was not controlled as stated, and that no answer which rests on the simulation may be
trusted further than that.  Positions alone cannot tell a common factor of gains and parameters, so the simulated torque is compared
with the recorded one, too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from inertica.estimators.base import Need, Problem
from inertica.estimators.covariance import correlation_time
from inertica.estimators.loop_simulation import LoopSimulator, Replay
from inertica.estimators.observe import System

Array = NDArray[np.float64]

NUDGE = 0.02
"""Relative change of a gain whose effect is simulated."""

KNOWN = 0.1
"""A scale whose standard deviation is above this says nothing."""

WRONG, SURE = 0.1, 4.0
"""A scale off by more than this, and by this many standard deviations, is a mismatch."""

TOLD = 1e-12
"""Squared singular values of unit columns below this share of the largest tell nothing."""

ENOUGH = 3000
"""Samples on which gains are compared; longer records are thinned out."""

UNEXPLAINED = 0.5
"""Share of the tracking error that the simulated loop may leave unexplained."""

WINDOW = 0.1
"""Seconds over which tracking errors are averaged, so that noise does not count as unexplained."""


@dataclass(frozen=True, eq=False)
class GainFit:
    """How the log's gains compare with the simulated ones.

    Args:
        scale: (n,) recorded over simulated, for all gains of a joint that carry torque.
        std: of the scales; infinite where the log says nothing.
        torque: (n,) recorded over simulated torque.
        unexplained: (n,) share of each joint's tracking error that the simulation does not show; empty without positions.
        source: position or torque.
    """

    scale: Array
    std: Array
    torque: Array
    unexplained: Array
    source: str

    @property
    def known(self) -> NDArray[np.bool_]:
        return np.asarray(self.std < KNOWN)

    @property
    def wrong(self) -> list[int]:
        """Entries that contradict the stated law."""
        off = np.abs(self.scale - 1.0)
        return [k for k in range(len(off)) if self.known[k] and off[k] > max(WRONG, SURE * self.std[k])]

    def warnings(self) -> tuple[str, ...]:
        out = []
        if self.wrong:
            listed = ", ".join(f"joint {k + 1}: {self.scale[k]:.2f} +- {max(self.std[k], 0.005):.2f}" for k in self.wrong)
            out.append(
                f"the control law does not fit the log: the recorded {self.source} looks as if the gains were these multiples of the "
                f"stated ones ({listed}); estimate the gains, or fit the loop first, before trusting these parameters"
            )
        elif np.any(np.abs(self.torque - 1.0) > WRONG):
            listed = ", ".join(f"joint {j + 1}: {x:.2f}" for j, x in enumerate(self.torque) if abs(x - 1.0) > WRONG)
            out.append(
                f"the recorded torque is not the simulated one but a multiple of it ({listed}): the stated gains are off by these "
                "factors, and so are the parameters; correct the gains, or use a method that fits the torque"
            )
        elif np.any(self.unexplained > UNEXPLAINED):
            joints = ", ".join(f"{j + 1} ({100 * u:.0f} %)" for j, u in enumerate(self.unexplained) if u > UNEXPLAINED)
            out.append(
                f"the control law does not fit the log: the simulated loop leaves most of the tracking error unexplained on joint "
                f"{joints}; fit the loop first"
            )
        return tuple(out)


def torque_gains(simulator: LoopSimulator) -> tuple[str, ...]:
    """Gains that grow with the drive gain."""
    wanted = ("kv",) if simulator.loop.law == "cascade" else ("kp", "kd", "ki")
    return tuple(name for name in wanted if name in simulator.loop.gains)


def fit_gains(simulator: LoopSimulator, problem: Problem, beta: Array, gains: dict[str, Array]) -> GainFit | None:
    """Compare the log with the loop simulated at beta; None when the simulation is unstable.

    Args:
        simulator: of the loop.
        problem: the same problem, with its transients cut off.
        beta: parameters to simulate with.
        gains: name -> (n,), around which to look; the loop's own where not given.
    """
    n = simulator.n
    lanes = {}
    for name in torque_gains(simulator):
        own = np.broadcast_to(np.asarray(gains.get(name, simulator.loop.gains[name]), float), (n,))
        lanes[name] = own * (1.0 + NUDGE * np.vstack([np.zeros(n), np.eye(n)]))
    others = {name: values for name, values in gains.items() if name not in lanes}
    measured = problem.has(Need.MOTION)
    nominal: list[Replay] = []
    answers: list[Array] = []
    coarse = simulator.coarser(ENOUGH) if measured else simulator  # torques show reversals, which need every sample
    problem = coarse.problem
    for _, replays, stable in coarse.batches(np.tile(beta, (n + 1, 1)), lanes | others):
        if not stable.all():
            return None
        if not nominal:
            nominal = [Replay(r.q[:1], r.dq[:1], r.ddq[:1], r.tau[:1]) for r in replays]
        answers.append(np.concatenate([(r.q if measured else r.tau) for r in replays], axis=1))
    simulator.simulations = coarse.simulations
    stacked = np.concatenate(answers)
    change = (stacked[1:] - stacked[0]) / np.log1p(NUDGE)
    found = _from_position(problem, nominal, change) if measured else _from_torque(problem, nominal, change, beta)
    scale, std = np.exp(np.clip(found[0], -3.0, 3.0)), found[1]
    unexplained = _unexplained(problem, nominal) if measured else np.zeros(0)
    return GainFit(scale, std, _torque_ratio(problem, nominal), unexplained, "position" if measured else "torque")


def _torque_ratio(problem: Problem, nominal: list[Replay]) -> Array:
    """(n,) slope of the recorded torque over the simulated one."""
    use = [~m.mask for m in problem.motions]
    simulated = np.concatenate([r.tau[0][u] for r, u in zip(nominal, use, strict=True)])
    recorded = np.concatenate([m.tau[u] for m, u in zip(problem.motions, use, strict=True)])
    return np.asarray(np.sum(simulated * recorded, axis=0) / np.maximum(np.sum(simulated**2, axis=0), 1e-300))


def _from_position(problem: Problem, nominal: list[Replay], change: Array) -> tuple[Array, Array]:
    """Logarithms of the scales and their standard deviations."""
    use = ~np.concatenate([m.mask for m in problem.motions])
    error = np.concatenate([m.q - r.q[0] for m, r in zip(problem.motions, nominal, strict=True)])
    n = error.shape[1]
    noise = np.maximum(error[use].std(axis=0), 1e-300)
    X = (change[:, use] / noise).transpose(1, 2, 0).reshape(-1, n)
    return _regressed(X, (error[use] / noise).reshape(-1), n)


def _from_torque(problem: Problem, nominal: list[Replay], change: Array, beta: Array) -> tuple[Array, Array]:
    """Torque residuals regressed on the answers and on the regressor of the simulated motion together."""
    motions = tuple(r.motion(m) for m, r in zip(problem.motions, nominal, strict=True))
    system = System(replace(problem, motions=motions))
    b, n, parts = len(beta), system.n, []
    spans = np.cumsum([0, *(len(m) for m in problem.motions)])
    rows = list(system.residuals(beta))
    filtered = []  # per motion (M, n torques, n gains)
    for k, motion in enumerate(problem.motions):
        own = change[:, spans[k] : spans[k + 1]]
        filtered.append(np.stack([motion.decimator.decimate(own[:, :, j].T) for j in range(n)], axis=1))
    sigma = np.maximum(np.sqrt(np.mean(np.concatenate([r for _, r in rows]) ** 2, axis=0)), 1e-300)
    done: dict[int, int] = {}
    for block, r in rows:
        first = done.get(block.motion, 0)
        done[block.motion] = first + len(r)
        X = np.zeros((len(r), n, b + n))
        for j, (W, columns) in enumerate(zip(block.W, system.columns, strict=True)):
            X[:, j, columns] = W / sigma[j]
            X[:, j, b:] = filtered[block.motion][first : first + len(r), j] / sigma[j]
        parts.append((X[block.use], (r / sigma)[block.use]))
    step, std = _regressed(np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts]), n)
    return step[b:], std[b:]


def _regressed(X: Array, y: Array, n: int) -> tuple[Array, Array]:
    """Least squares with standard deviations that allow for residuals correlated in time; rows alternate over the joints."""
    scale = np.sqrt(np.einsum("ij,ij->j", X, X))
    scale[scale == 0.0] = 1.0
    with threadpool_limits(1):
        values, V = np.linalg.eigh((X.T @ X) / np.outer(scale, scale))
    known = values > TOLD * values[-1]
    step = V[:, known] @ ((V[:, known].T @ (X.T @ y / scale)) / values[known]) / scale
    residual = y - X @ step
    variance = float(residual @ residual) / max(len(y) - X.shape[1], 1)
    whole = residual[: len(residual) // n * n].reshape(-1, n)
    time = correlation_time(whole) if len(whole) > 8 else 1.0
    std = np.sqrt(np.sum(V[:, known] ** 2 / values[known], axis=1) * variance * time) / scale
    lost = np.abs(V[:, ~known]).max(axis=1, initial=0.0) > 1e-3
    return step, np.where(lost, np.inf, std)


def _unexplained(problem: Problem, nominal: list[Replay]) -> Array:
    """(n,) share of the tracking error that is not in the simulation, averaged over short windows."""
    left: list[Array] = []
    whole: list[Array] = []
    for motion, replay in zip(problem.motions, nominal, strict=True):
        if "qr" not in motion.log.signals:
            continue
        use = ~motion.mask
        qr = np.column_stack([np.interp(motion.t, motion.log.t, c) for c in motion.log.signals["qr"].T])
        width = max(1, round(WINDOW * motion.rate))
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
