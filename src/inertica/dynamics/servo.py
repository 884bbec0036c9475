"""Position servos on a tree of links as one compiled step: command -> torque -> motion, with dry friction that really holds.

    M(q) (v+ - v) = h (tau + f - h(q, v)),      q+ = q + h (v + v+) / 2
    tau = clip(kp (u - zero - q) + kd (du - v) + feed-forward, +-limit)
    f   = -viscous v - level Sgn(v+),      level = coulomb [+ stribeck exp(-(v / stribeck speed)^2) + load |h(q, v)|]

Positions and velocities in tau and in viscous friction are the means of both ends of the step (the implicit midpoint rule), so that
gains far too large for an explicit method do not make a simulation diverge: a search for parameters passes through many.  Inertia and
gravity are those of the middle of the step, and so are centrifugal forces and the level of dry friction, whose velocity is
extrapolated from the last two.  Sgn is the set-valued sign: a joint that friction can hold stays where it is.  Which joints stick and
which drives are saturated is found by Newton's method on the piecewise linear equation for v+, beginning with what held in the step
before.

The map from one step to the next is continuous and piecewise smooth in state and parameters, reversals included: the derivative of the
kernel (`kernels.with_rates`) is the derivative of the simulated motion, without jumps at switching instants.

MuJoCo's friction is softer: a constraint with impedance d and rate b,  f = -d M (a + b v)  up to the limit, so that a joint at
standstill creeps.  `Standstill` says which of the two is meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.dynamics import recursions
from inertica.dynamics.kernels import Array, Input, Kernel, Loop, LoopFunction, Reference, Runs, Symbols, Target, traced
from inertica.robot.model import Robot
from inertica.scalars import Scalar, absolute, exp, sign, solve_positive

RICHER = ("stribeck", "stribeck speed", "load")
"""Coefficients of dry friction that is no constant."""

COEFFICIENTS = ("armature", "viscous", "coulomb", "zero", "kp", "kd", "limit", *RICHER)
"""Fields of one number per joint that a run has for itself."""

LEAD = "lead"
"""Shift of the delay about the one that the commands were delayed by: zero, with the rate that derivatives ask for."""

ITERATIONS = 3
"""Newton steps for what sticks and what is saturated: one confirms what held before, two more let two joints change at once."""

UNLIMITED = 1e30
"""Torque limit of a drive without one."""


@dataclass(frozen=True)
class Standstill:
    """How dry friction holds a joint.

    Args:
        impedance: d, share of the other forces that friction takes up at once, below 1.
        rate: b in 1/s at which what is left of the velocity dies away; None within one step.
    """

    impedance: float = 1.0 - 1e-5
    rate: float | None = None

    def fields(self, inertia: Array, dt: float) -> dict[str, Array]:
        """What the compiled step needs of it: the inertia that friction sets against a change of the velocity, and what is kept of it.

        Args:
            inertia: (n,) 1 / diagonal of the inverse inertia matrix at the joints' zeros, where MuJoCo takes it, too.
            dt: step in s.
        """
        hold, keep = inertia * self.impedance / (1.0 - self.impedance), 0.0
        if self.rate is not None:  # the rate acts on the mean velocity of the step
            half = min(0.5 * dt * self.rate, 1.0)
            hold, keep = hold * (1.0 + half), (1.0 - half) / (1.0 + half)
        share = inertia / (inertia + hold)
        return {"hold": hold, "share": share, "keep": np.full(len(inertia), keep)}

    @classmethod
    def mujoco(cls, solref: tuple[float, float] = (0.02, 1.0), solimp: tuple[float, float] = (0.9, 0.95)) -> Standstill:
        """That of MuJoCo's `frictionloss`: at no distance the impedance is its smallest, the rate 2 / (dmax timeconst)."""
        return cls(solimp[0], 2.0 / (solimp[1] * solref[0]))


HARD = Standstill()


@dataclass(frozen=True)
class ServoLoop:
    """What the compiled step depends on besides the robot.

    Args:
        velocity: velocity targets are commanded, too.
        torque: so are feed-forward torques.
        richer: dry friction depends on speed and load.
    """

    velocity: bool = False
    torque: bool = False
    richer: bool = False

    @property
    def signals(self) -> tuple[str, ...]:
        """Commands in the order of the table's columns."""
        return ("q", *(("dq",) if self.velocity else ()), *(("tau",) if self.torque else ()))

    def described(self, robot: Robot) -> Loop:
        """The step as kernels: begin finds inertia, gravity, commands and dry friction, forward the velocity at the end."""
        recorded = ("q",)
        return Loop(self._begin(robot), self._forward(robot.n), (_advance(robot.n),), recorded)

    def _begin(self, robot: Robot) -> Kernel:
        n = robot.n

        def begin(x: Symbols) -> Mapping[str, list[Scalar]]:
            (dt,) = x["dt"]
            ahead = [q + (0.5 * dt) * v for q, v in zip(x["q"], x["dq"], strict=True)]
            at = recursions.poses(robot, ahead)
            links = [x["links"][10 * j : 10 * j + 10] for j in range(n)]
            M = recursions.mass_matrix(at, links)
            for j in range(n):
                M[j][j] = M[j][j] + x["armature"][j]
            rest: list[Scalar] = [0.0] * n
            middle = [1.5 * v - 0.5 * u for v, u in zip(x["dq"], x["dq before"], strict=True)]
            bias = recursions.inverse_dynamics(at, middle, rest, links, robot.gravity)
            command = {
                s: [u + slope * lead for u, slope, lead in zip(x[f"command {s}"], x[f"slope {s}"], x[LEAD], strict=True)]
                for s in self.signals
            }
            error = [u - z - q for u, z, q in zip(command["q"], x["zero"], x["q"], strict=True)]
            push = [kp * e for kp, e in zip(x["kp"], error, strict=True)]
            if self.velocity:
                push = [p + kd * du for p, kd, du in zip(push, x["kd"], command["dq"], strict=True)]
            if self.torque:
                push = [p + t for p, t in zip(push, command["tau"], strict=True)]
            lower = [M[i][k] for i in range(n) for k in range(i + 1)]
            level = list(x["coulomb"])
            if self.richer:
                slow = [exp(-((v / s) * (v / s))) for v, s in zip(middle, x["stribeck speed"], strict=True)]
                level = [
                    c + more * near + share * absolute(b)
                    for c, more, near, share, b in zip(level, x["stribeck"], slow, x["load"], bias, strict=True)
                ]
            return {"inertia": lower, "bias": bias, "push": push, "level": level}

        commands = {
            f"{what} {s}": Reference(n, (2 * k + part) * n)
            for k, s in enumerate(self.signals)
            for part, what in enumerate(("command", "slope"))
        }
        per_joint = ("q", "dq", "dq before", "armature", "coulomb", "zero", "kp", LEAD)
        sizes = dict.fromkeys((*per_joint, *(("kd",) if self.velocity else ()), *(RICHER if self.richer else ())), n)
        inputs: dict[str, int | Input] = {**sizes, "links": 10 * n, "dt": 1, **commands}
        return traced("begin", inputs, begin)

    def _forward(self, n: int) -> Kernel:
        def forward(x: Symbols) -> Mapping[str, list[Scalar]]:
            (h,), v = x["dt"], x["dq"]
            M = [[x["inertia"][max(i, k) * (max(i, k) + 1) // 2 + min(i, k)] for k in range(n)] for i in range(n)]
            impulse = [_dot(M[i], v) - h * x["bias"][i] - (0.5 * h) * x["viscous"][i] * v[i] for i in range(n)]
            # the servo's torque is push - soft (v + v+)
            soft = [(0.25 * h) * kp + 0.5 * kd for kp, kd in zip(x["kp"], x["kd"], strict=True)]
            sliding, saturated = list(x["sliding"]), list(x["saturated"])
            after: list[Scalar] = list(v)
            for _ in range(ITERATIONS):
                A, b = [list(row) for row in M], list(impulse)
                for i in range(n):
                    free, stuck = 1.0 - absolute(saturated[i]), 1.0 - absolute(sliding[i])
                    hold = stuck * x["hold"][i]
                    A[i][i] = A[i][i] + (0.5 * h) * x["viscous"][i] + (free * h) * soft[i] + hold
                    b[i] = b[i] + (free * h) * (x["push"][i] - soft[i] * v[i]) + (h * x["limit"][i]) * saturated[i]
                    b[i] = b[i] + hold * x["keep"][i] * v[i] - (h * x["level"][i]) * sliding[i]
                after = solve_positive(A, b)
                for i in range(n):
                    wanted = x["push"][i] - soft[i] * (v[i] + after[i])
                    saturated[i] = _beyond(wanted, x["limit"][i])
                    held = x["hold"][i] * (after[i] - x["keep"][i] * v[i])
                    most = h * x["level"][i]
                    stuck = 1.0 - absolute(sliding[i])
                    now = stuck * held + most * sliding[i]
                    # towards what would hold the joint by as much as its inertia asks for: a joint that reverses sticks first
                    sliding[i] = _beyond(now + (held - now) * x["share"][i], most)
            return {"dq after": after, "sliding": sliding, "saturated": saturated}

        per_joint = (
            "dq",
            "bias",
            "push",
            "viscous",
            "level",
            "kp",
            "kd",
            "limit",
            "sliding",
            "saturated",
            "hold",
            "share",
            "keep",
        )
        return traced("forward", {**dict.fromkeys(per_joint, n), "inertia": n * (n + 1) // 2, "dt": 1}, forward)


def _dot(a: list[Scalar], b: list[Scalar]) -> Scalar:
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def _beyond(value: Scalar, limit: Scalar) -> Scalar:
    """1 above the limit, -1 below its negative, 0 between."""
    return 0.5 * (sign(value - limit) + sign(value + limit))


def _advance(n: int) -> Kernel:
    def advance(x: Symbols) -> Mapping[str, list[Scalar]]:
        half = 0.5 * x["dt"][0]
        return {
            "q": [q + half * (a + b) for q, a, b in zip(x["q"], x["dq"], x["dq after"], strict=True)],
            "dq": list(x["dq after"]),
            "dq before": list(x["dq"]),
        }

    return traced("advance", {"q": n, "dq": n, "dq after": n, "dt": 1}, advance)


MOVING = ("q", "dq", "dq before", "inertia", "bias", "push", "level", "dq after", "links", LEAD, *COEFFICIENTS)
"""Fields that have a rate in derivatives."""


class ServoModel:
    """The compiled step of a robot.

    Args:
        robot: a tree; its links' parameters are given with every run.
        loop: what is commanded.
        target: what computes it.
    """

    def __init__(self, robot: Robot, loop: ServoLoop, target: Target) -> None:
        self.robot, self.loop, self._target = robot, loop, target
        self._plain: LoopFunction | None = None
        self._rates: LoopFunction | None = None

    def run(self, fields: Mapping[str, ArrayLike], table: Array, dt: float, steps: NDArray[np.int64]) -> Array:
        """(B, len(steps), n) positions.

        Args:
            fields: q, dq, links, the coefficients, and those of `Standstill`, (size,) or (B, size).
            table: (T, m) commands with their slopes, one row per step.
            dt: step in s.
            steps: to record, ascending.
        """
        if self._plain is None:
            self._plain = self._target.loop(self.loop.described(self.robot))
        return self._plain(_runs(fields, {}, table, dt, steps))["q"]

    def rates(
        self, fields: Mapping[str, ArrayLike], directions: Mapping[str, ArrayLike], table: Array, dt: float,
        steps: NDArray[np.int64],
    ) -> tuple[Array, Array]:  # fmt: skip
        """(len(steps), n) positions of one run, and (D, len(steps), n) their derivatives.

        Args:
            fields, table, dt, steps: as for `run`, of one run.
            directions: field -> (D, size) rates of change; those not named do not change.
        """
        if self._rates is None:
            self._rates = self._target.loop(self.loop.described(self.robot).with_rates(MOVING))
        out = self._rates(_runs(fields, directions, table, dt, steps))
        return out["q"][0], out["q rate"]


def _runs(
    fields: Mapping[str, ArrayLike], directions: Mapping[str, ArrayLike], table: Array, dt: float, steps: NDArray[np.int64]
) -> Runs:
    wide = {name: np.atleast_2d(np.asarray(values, float)) for name, values in fields.items()}
    wide |= {f"{name} rate": np.atleast_2d(np.asarray(values, float)) for name, values in directions.items()}
    wide["dt"] = np.full((1, 1), dt)
    B = max(len(values) for values in wide.values())
    all_fields = {name: np.broadcast_to(values, (B, values.shape[1])) for name, values in wide.items()}
    return Runs(all_fields, np.arange(B, dtype=np.uint64), 0, np.ascontiguousarray(table), steps)


def branches(robot: Robot) -> list[tuple[int, ...]]:
    """Joints that influence each other while the base is held: those that share the joint nearest to the base."""
    first = [robot.ancestors(j)[-1] for j in range(robot.n)]
    return [tuple(j for j in range(robot.n) if first[j] == root) for root in dict.fromkeys(first)]


def branch(robot: Robot, joints: tuple[int, ...]) -> Robot:
    """The robot that consists of these joints alone."""
    place = {-1: -1} | {j: k for k, j in enumerate(joints)}
    parts = tuple(replace(robot.joints[j], parent=place[robot.joints[j].parent]) for j in joints)
    return Robot(robot.name, parts, robot.gravity, base=robot.base)
