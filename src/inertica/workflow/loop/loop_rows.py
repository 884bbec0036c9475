"""Regressions that find a control law in a log: signals through one filter, instruments without noise, one joint at a time.

What a law explains is the torque; of one that commands accelerations it is the acceleration that the controller's model makes of the
torque, beyond that of the reference.  A law without memory is linear in its gains.  One that also integrates,
tau = L + ki * integral of L + c, is linear in the gains of L and in ki times them; from that start Gauss-Newton steps keep the
products together.  The constant c, one per log, is what the integral held at the first sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from scipy.signal import lfilter

from inertica.arrays import Array
from inertica.dynamics.engine import Engine
from inertica.dynamics.equations import Equations, Vector, on_arrays
from inertica.errors import InputError
from inertica.estimators.covariance import correlation_time
from inertica.excitation.trajectory import Trajectory
from inertica.experiment.track import reference_samples
from inertica.logs.log import Log
from inertica.preprocessing.bandwidth import widest_position_band
from inertica.preprocessing.filters import Butterworth, Filter, differentiated
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.preprocessing.resample import interpolant
from inertica.robot.control import LAWS
from inertica.robot.description import Description
from inertica.scalars import Scalar
from inertica.threads import one_thread

Fitted = tuple[Array, Array, float]
"""Coefficients of position error and velocity (error), then ki where the law integrates; their standard deviations; the residual."""

RATES = (1e-3, 1e2)
"""Least and largest rate of an integral that instruments are made for, in radians per period of the motion's band, at which the first
pass begins; the second takes what the first found."""

STEPS = 20
"""Gauss-Newton steps at most."""


class Signals:
    """Signals of one log, all through the same filter, and the instruments."""

    def __init__(self, description: Description, log: Log, cutoff: float, reference: Trajectory | None) -> None:
        log.need("q")
        self.source = "recorded" if "tau" in log.signals else "prior model"
        recipe = Recipe(filter=Butterworth(cutoff=cutoff), standstill=None)
        if self.source == "recorded":
            self.motion = prepare(log, recipe)
        else:  # a torque to go through the same preparation, replaced below
            blank = {**log.signals, "tau": np.zeros(log.need("q").shape)}
            self.motion = prepare(Log.from_arrays(log.t, blank, log.joints, log.origin), recipe)
        engine, prior, m = Engine(description.layout, threads=1), description.prior, self.motion
        self.model = description.controller_values
        chosen, dt = m.recipe.filter, m.dt
        qr = _reference(m, log, reference)
        dqr = differentiated(qr, dt)
        ddqr = differentiated(dqr, dt)
        needed = engine.inverse_dynamics(qr, dqr, ddqr, prior)
        tau = m.tau if self.source == "recorded" else engine.inverse_dynamics(m.q, m.dq, m.ddq, prior)
        self.tau = chosen.smoothed(np.array(tau), dt)
        self.needed = self._low(chosen, needed)
        self.e, self.dqr = self._low(chosen, qr) - m.q, self._low(chosen, dqr)
        self.dq, self.ddq, self.qr = m.dq, m.ddq, qr
        self.reference_rates = dqr, self._low(chosen, ddqr)
        instruments = (needed, differentiated(needed, dt), dqr, ddqr, differentiated(ddqr, dt))
        self.instruments = np.stack([self._low(chosen, x) for x in instruments], axis=2)
        self.use = ~m.mask

    def _low(self, chosen: Filter, x: Array) -> Array:
        return chosen.smoothed(np.array(x), self.motion.dt)

    def explained(self, law: str) -> Array:
        """(N, n) what a law must explain."""
        return self._accelerations if LAWS[law].commands_acceleration else self.tau

    @cached_property
    def _accelerations(self) -> Array:
        """(N, n) M^-1 (tau - h) less the reference's acceleration, by the controller's model; friction goes with the reference."""
        model, (dqr, ddqr), still = self.model, self.reference_rates, np.zeros_like(self.dq)
        equations = Equations(model.layout)
        equations.require_linear("a model in the controller")

        def bias(sliding: Array) -> Array:
            def torques(q: Vector, dq: Vector, ddq: Vector, at: Vector) -> list[Scalar]:
                return equations.inverse_dynamics(q, dq, ddq, list(model.values), list(model.shapes), sliding=at)

            return np.stack(np.broadcast_arrays(*on_arrays(torques, self.motion.q, self.dq, still, sliding)), axis=1)

        rigid = bias(still)
        # friction jumps where the reference reverses, and passes the filter like the torque
        h = rigid + self._low(self.motion.recipe.filter, bias(dqr) - rigid)
        M = Engine(model.layout, threads=1).mass_matrix(self.motion.q, model)
        try:
            np.linalg.cholesky(M)
        except np.linalg.LinAlgError as error:
            reason = "by the values of the model some joint has no inertia; no controller computes torques with that"
            raise InputError(reason) from error
        return np.linalg.solve(M, (self.tau - h)[..., None])[..., 0] - ddqr

    def columns(self, law: str, j: int) -> Array:
        """(N, 3) position error, velocity (error), acceleration for the lag of the velocity."""
        rate = self.dqr[:, j] - self.dq[:, j] if "dq" in LAWS[law].references else -self.dq[:, j]
        return np.column_stack([self.e[:, j], rate, self.ddq[:, j]])

    def integrals(self, law: str, j: int, period: float) -> Array:
        """(N, 3) of the columns, over all samples, masked ones included.

        A controller adds the present error times its period before it uses the sum, which is half a period ahead of the integral.
        """
        X = self.columns(law, j)
        return _cumulated(X, self.motion.dt) + 0.5 * period * X

    def slow(self, j: int, rate: float) -> Array:
        """(N, 2) what the integral of an error follows, free of noise: the needed torque behind a low-pass of so many 1/s, and the
        reference."""
        keep = float(np.exp(-rate * self.motion.dt))
        behind = lfilter([1.0 - keep], [1.0, -keep], self.needed[:, j] - self.needed[0, j])
        return np.column_stack([behind, self.qr[:, j]])


def _reference(motion: Motion, log: Log, trajectory: Trajectory | None) -> Array:
    """(N, n) reference positions on the clock of the motion."""
    if trajectory is not None:
        return np.asarray(trajectory(motion.stamps).q)
    use, qr = reference_samples(log)
    return np.asarray(interpolant(log.running[use], qr[use], "cubic")(motion.t))


def fitted(law: str, parts: Sequence[Signals], j: int, rate: float) -> Fitted:
    """One joint's coefficients of a law.

    Args:
        law: its name.
        parts: signals of every log.
        j: 0-based joint.
        rate: of control, in Hz.
    """
    y = np.concatenate([p.explained(law)[p.use, j] for p in parts])
    if not LAWS[law].integrated:
        X = np.column_stack([np.concatenate([p.columns(law, j)[p.use] for p in parts]), np.ones(len(y))])
        Z = np.column_stack([np.concatenate([p.instruments[p.use, j] for p in parts]), np.ones(len(y))])
        with one_thread():
            Q = orthogonal(Z)
            solution = solved(Q.T @ X, Q.T @ y)
            return judged(Q.T @ X, y, y - X @ solution, solution, 2)
    return _integrating(law, parts, j, y, 1.0 / rate)


def _integrating(law: str, parts: Sequence[Signals], j: int, y: Array, period: float) -> Fitted:
    X = np.concatenate([p.columns(law, j)[p.use] for p in parts])
    S = np.concatenate([p.integrals(law, j, period)[p.use] for p in parts])
    C = constants(parts)
    motion = 2.0 * np.pi * max(widest_position_band(p.qr, p.motion.dt) for p in parts)
    rate = motion
    with one_thread():
        for _ in range(2):
            Z = np.concatenate([np.column_stack([p.instruments[:, j], p.slow(j, rate)])[p.use] for p in parts])
            Q = orthogonal(np.column_stack([Z, C]))
            Xq, Sq, Cq, yq = Q.T @ X, Q.T @ S, Q.T @ C, Q.T @ y
            first = solved(np.column_stack([Xq, Sq[:, :2], Cq]), yq)
            # of the two products with ki the better determined one gives its start: each is weighted with its own column
            weight = np.linalg.norm(Sq[:, :2], axis=0) * np.abs(first[:2])
            ki = float(
                weight**2 @ (first[3:5] / np.where(first[:2] == 0.0, 1.0, first[:2])) / max(float(weight @ weight), 1e-300)
            )
            a, c = first[:3], first[5:]
            for _ in range(STEPS):
                J = np.column_stack([Xq + ki * Sq, Sq @ a, Cq])
                step = solved(J, yq - (Xq + ki * Sq) @ a - Cq @ c)
                a, ki, c = a + step[:3], ki + float(step[3]), c + step[4:]
                if abs(step[3]) <= 1e-10 * abs(ki) and np.linalg.norm(step[:3]) <= 1e-10 * np.linalg.norm(a):
                    break
            rate = float(np.clip(ki, RATES[0] * motion, RATES[1] * motion))
        r = y - (X + ki * S) @ a - C @ c
        J = np.column_stack([Xq + ki * Sq, Sq @ a, Cq])[:, [0, 1, 3, 2, *range(4, 4 + C.shape[1])]]
        return judged(J, y, r, np.array([a[0], a[1], ki]), 3)


def judged(P: Array, y: Array, r: Array, solution: Array, count: int) -> Fitted:
    """The first coefficients with their standard deviations, from the rows that the instruments leave of the columns."""
    scale = np.maximum(np.linalg.norm(P, axis=0), 1e-300)
    spread = np.linalg.pinv((P / scale).T @ (P / scale)) / np.outer(scale, scale)
    variance = float(r @ r) / max(len(r) - P.shape[1], 1) * correlation_time(r[:, None])
    std = np.sqrt(np.maximum(np.diag(spread) * variance, 0.0))
    return solution[:count], std[:count], float(np.linalg.norm(r)) / max(float(np.linalg.norm(y)), 1e-300)


def orthogonal(Z: Array) -> Array:
    """(rows, k) an orthonormal basis of instruments."""
    Q, _ = np.linalg.qr(Z / np.maximum(np.linalg.norm(Z, axis=0), 1e-300))
    return np.asarray(Q)


def solved(A: Array, y: Array) -> Array:
    """(k,) least squares with unit columns."""
    scale = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
    return np.asarray(np.linalg.lstsq(A / scale, y, rcond=1e-10)[0] / scale)


def constants(parts: Sequence[Signals]) -> Array:
    """(rows, logs) one for the rows of each log."""
    sizes = [int(p.use.sum()) for p in parts]
    return np.repeat(np.eye(len(parts)), sizes, axis=0)


def _cumulated(x: Array, dt: float) -> Array:
    """(N, k) integral since the first sample, trapezoids."""
    return np.concatenate([np.zeros((1, x.shape[1])), np.cumsum(0.5 * dt * (x[1:] + x[:-1]), axis=0)])
