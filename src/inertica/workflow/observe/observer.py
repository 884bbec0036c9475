"""`Observer`: the torque that nothing in the model explains, sample by sample, by generalised momentum and without accelerations.

    r = LP[flow + friction - tau] + K (p - LP[p]),       p = M(q) dq,       flow = c + g - dM/dt dq

LP is a low-pass of order one with pole K.  Since tau + tau_ext = dp/dt + flow + friction, r = LP[tau_ext]: external torques, positive
where they push the joint forward, through that low-pass and nothing else.  Where velocities are not measured, positions and torques
pass a low-pass of their own first, with a pole Kv: Kv (q - LPv[q]) is the exact rate of LPv[q], so that all signals are late together.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from inertica.arrays import Array, Mask
from inertica.dynamics.code.observer_c import MEMORY
from inertica.dynamics.engine import Engine
from inertica.errors import InputError
from inertica.estimators.recursive.lag import LagBuffer
from inertica.logs.lines import Block
from inertica.logs.log import Log
from inertica.robot.layout import Parameters
from inertica.workflow.identify.standstill import HELD, NEXT_TO_NOTHING, Standstill
from inertica.workflow.observe.low_pass import LowPass
from inertica.workflow.watch import log_blocks


@dataclass(frozen=True, eq=False)
class Observed:
    """External torques of samples that came together.

    Args:
        t: (N,) s, as measured.
        torque: (N, n) external torque through the observer's low-pass.
        hidden: (N, n) what dry friction of a joint that rests may hide of it.
        q: (N, n) positions that belong to it.
        settled: (N,) samples at which the low-pass has forgotten its start.
    """

    t: Array
    torque: Array
    hidden: Array
    q: Array
    settled: Mask

    def joined(self, other: Observed) -> Observed:
        """Both, one after the other."""
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        return Observed(*(np.concatenate(pair) for pair in pairs))


@dataclass(frozen=True, eq=False)
class Observer:
    """A momentum observer for one robot.

    Args:
        parameters: that explain the torque.
        pole: of its low-pass, 1/s.
        velocity_pole: of the low-pass behind which positions are differentiated, 1/s; None where velocities come with the samples.
        rest: (n,) velocities up to which a joint rests, because noise alone may show them; a velocity from positions that is about to
            change its sign counts as rest, too.
        hidden: (n,) torque that dry friction may hide at rest: from one side of its jump to the other.
        delay: (n,) s by which torque is measured later than motion.
        standstill: of predictions near standstill, as the result has it.
        engine: compiled dynamics of the parameters' layout.
    """

    parameters: Parameters
    pole: float
    velocity_pole: float | None
    rest: Array
    hidden: Array
    delay: Array
    standstill: Standstill = HELD
    engine: Engine | None = None

    @property
    def n(self) -> int:
        return self.parameters.layout.robot.n

    @property
    def measured_velocity(self) -> bool:
        """Whether velocities come with the samples."""
        return self.velocity_pole is None

    @property
    def velocity_memory(self) -> float:
        """s until velocities from positions are right."""
        return MEMORY / self.velocity_pole if self.velocity_pole else 0.0

    @property
    def memory(self) -> float:
        """s in which its low-passes forget what was before."""
        return MEMORY / self.pole + self.velocity_memory

    def step_response(self, t: Array) -> Array:
        """Share of a step of external torque that is seen t seconds later."""
        fast, slow = max(self.velocity_pole or np.inf, self.pole), min(self.velocity_pole or np.inf, self.pole)
        if np.isinf(fast):
            return np.asarray(-np.expm1(-slow * t))
        if fast - slow < 1e-6 * fast:  # equal poles: the difference below cancels
            return np.asarray(1.0 - (1.0 + slow * t) * np.exp(-slow * t))
        return np.asarray(1.0 - (fast * np.exp(-slow * t) - slow * np.exp(-fast * t)) / (fast - slow))

    def stream(self) -> ObserverStream:
        """An observer that takes samples as they come."""
        return ObserverStream(self)

    def run(self, log: Log) -> Observed:
        """External torques along a recorded log, on a uniform clock; each stretch between breaks of the clock begins anew."""
        if log.tau is None or "q" not in log.signals:
            raise InputError(f"{log.origin}: external torques need positions (q1..) and torques (tau1..)")
        if self.measured_velocity and log.dq is None:
            raise InputError(f"{log.origin} has no velocities (dq1..), which the observer was set up with")
        parts: list[Observed] = []
        stream, last = self.stream(), -np.inf
        for block in log_blocks(log, len(log)):
            if len(parts) and block.t[0] - last > 2.0 / log.rate:
                stream = self.stream()
            parts.append(stream(block))
            last = float(block.t[-1])
        return _joined(parts)


class ObserverStream:
    """An observer at work: blocks of samples in, external torques out; samples of a block may be one or many.

    Args:
        observer: what it computes with.
    """

    def __init__(self, observer: Observer) -> None:
        self.observer = observer
        self._engine = observer.engine or Engine(observer.parameters.layout)
        layout, values = observer.parameters.layout, observer.parameters.values.copy()
        for _, where in layout.bodies:
            values[where] = 0.0
        self._drives = observer.parameters.with_values(values)
        self._first, self._second = (
            LowPass(observer.velocity_pole or np.inf, ramps=observer.n),
            LowPass(observer.pole, from_zero=observer.n),
        )
        self._late = LowPass(observer.velocity_pole or np.inf)
        self._side = np.zeros(observer.n)  # of the last motion of every joint
        self._time: float | None = None
        self._age = 0.0
        self._lag: LagBuffer | None = None

    def __call__(self, block: Block) -> Observed:
        """External torques at the samples of a block."""
        o = self.observer
        if o.velocity_pole is None and block.dq is None:
            raise InputError("velocities are missing, which the observer was set up with")
        t = np.asarray(block.t, float)
        dt = np.diff(t, prepend=t[0] if self._time is None else self._time)
        self._time = float(t[-1])
        q, dq, tau = self._aligned(block, dt)
        if o.velocity_pole is None and dq is not None:
            velocity, unsure = dq, o.rest
        elif o.velocity_pole is not None:
            low = self._first(dt, np.hstack([q, tau]))
            velocity, q, tau = o.velocity_pole * (q - low[:, : o.n]), low[:, : o.n], low[:, o.n :]
            # what velocity gains in one time constant: within it friction may have changed sides behind the low-pass
            unsure = np.maximum(o.rest, np.abs(velocity - self._late(dt, velocity)))
        held = self._held(velocity, np.abs(velocity) <= o.rest)
        torque, hidden = np.zeros_like(q), np.where(np.abs(velocity) <= unsure, o.hidden, 0.0)
        # its own low-pass at zero lets the residual begin at zero, whatever the robot does then; not before velocities are right
        age = np.cumsum(np.append(self._age, dt))[1:]
        self._age = float(age[-1])
        k = int(np.searchsorted(age, o.velocity_memory))
        p, flow = self._engine.momentum_and_flow(q[k:], velocity[k:], o.parameters)
        friction = o.standstill.torque(self.friction, q[k:], velocity[k:], held[k:], np.zeros_like(q[k:]))
        low = self._second(dt[k:], np.hstack([flow + friction - tau[k:], p, hidden[k:]]))
        torque[k:] = low[:, : o.n] + o.pole * (p - low[:, o.n : 2 * o.n])
        hidden[k:] = np.maximum(hidden[k:], low[:, 2 * o.n :])
        return Observed(t, torque, hidden, q, age >= o.memory)

    def friction(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Torques of friction, springs and all other terms."""
        return np.asarray(self._engine.inverse_dynamics(q, dq, ddq, self._drives))

    def _held(self, velocity: Array, resting: Mask) -> Array:
        """Velocities whose sign is that of friction: at rest next to nothing, on the side of the last motion."""
        sides = np.vstack([self._side, np.where(resting, 0.0, np.sign(velocity))])
        last = np.maximum.accumulate(np.where(sides != 0.0, np.arange(len(sides))[:, None], 0), axis=0)
        side = np.take_along_axis(sides, last, axis=0)[1:]
        self._side = side[-1].copy()
        return np.where(resting, NEXT_TO_NOTHING * side, velocity)

    def _aligned(self, block: Block, dt: Array) -> tuple[Array, Array | None, Array]:
        """Signals of one time, the earlier ones made to wait."""
        if not self.observer.delay.any():
            return block.q, block.dq, block.tau
        if self._lag is None:
            if len(block) < 2:
                raise InputError(
                    "the first block of a stream whose torque is late should hold two samples or more: they tell the rate"
                )
            self._lag = LagBuffer(self.observer.delay / float(np.median(dt[1:])))
        q, tau, dq = self._lag.many(block.q, block.tau, block.dq)
        return q, dq, tau


def _joined(parts: list[Observed]) -> Observed:
    out = parts[0]
    for part in parts[1:]:
        out = out.joined(part)
    return out
