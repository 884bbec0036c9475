"""The gains of a control loop as unknowns: a logarithm for every gain of every joint, and for every drive gain.

A drive gain is the torque per unit of what the controller commands.  It is an unknown of its own where currents were recorded: the
true torque is then gamma times the one worked out from the current, and so is what the law commands,

    tau = gamma (kp (qr - q) + kd (dqr - dq)),    tau_recorded = tau / gamma.

Where torque itself was recorded it cannot be told from the other gains, of which it is a factor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from inertica.arrays import Array
from inertica.estimators.base import Problem
from inertica.experiment.loop import ControlLoop
from inertica.robot.control import LAWS

DRIVE = "drive"
"""The name of the drive gains among the unknowns."""

FARTHEST = 3.0
"""Logarithms beyond this are not simulated."""


def torque_gains(loop: ControlLoop) -> tuple[str, ...]:
    """Gains that the commanded torque is proportional to, all together, and that so grow with the inertia."""
    return LAWS[loop.law].torque_gains


def law_gains(loop: ControlLoop) -> tuple[str, ...]:
    """Gains of the law that can be unknown: all but limits."""
    return tuple(name for name in LAWS[loop.law].gains if name not in LAWS[loop.law].bounds)


@dataclass(frozen=True, eq=False)
class LoopGains:
    """Unknown gains x, as logarithms of their ratio to the stated ones.

    Args:
        loop: with the stated ones.
        n: joints.
        unknown: (name, joint) of each.
    """

    loop: ControlLoop
    n: int
    unknown: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, problem: Problem, drive: bool = True) -> LoopGains:
        """Every gain that is stated and not zero; drive gains, if so asked, where all torques come from currents and the law has gains
        in proportion to them."""
        assert problem.loop is not None
        loop, n = problem.loop, problem.base.layout.robot.n
        candidates = [(name, j) for name in law_gains(loop) for j in range(n) if _stated(loop, name, n)[j] > 0.0]
        if drive and torque_gains(loop) and problem.motions and all("i" in m.log.signals for m in problem.motions):
            candidates += [(DRIVE, j) for j in range(n)]
        return cls(loop, n, tuple(candidates))

    @property
    def size(self) -> int:
        return len(self.unknown)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for name, _ in self.unknown))

    def without(self, left_out: Iterable[int]) -> LoopGains:
        out = set(left_out)
        return replace(self, unknown=tuple(u for k, u in enumerate(self.unknown) if k not in out))

    def table(self, values: Array, fill: float) -> dict[str, Array]:
        """Values (..., g) of the unknowns as name -> (..., n)."""
        out = {name: np.full((*values.shape[:-1], self.n), fill) for name in self.names}
        for k, (name, j) in enumerate(self.unknown):
            out[name][..., j] = values[..., k]
        return out

    def drive(self, x: Array) -> Array | None:
        """(..., n) true over recorded torque; None where drive gains are not unknown."""
        logarithms = self.table(x, 0.0).get(DRIVE)
        return None if logarithms is None else np.exp(np.clip(logarithms, -FARTHEST, FARTHEST))

    def simulated(self, x: Array) -> dict[str, Array]:
        """Gains to simulate with, name -> (..., n)."""
        logs = self.table(x, 0.0)
        gamma = logs.pop(DRIVE, None)
        if gamma is not None:
            # a controller that commands currents has its gains scaled by the drive gain, whatever it believes
            logs |= {name: logs.get(name, np.zeros_like(gamma)) + gamma for name in torque_gains(self.loop)}
        return {
            # logarithms keep gains positive; a trial step beyond e^3 is wrong anyway and could overflow
            name: _stated(self.loop, name, self.n) * np.exp(np.clip(values, -FARTHEST, FARTHEST))
            for name, values in logs.items()
        }

    def directions(self, x: Array, before: int) -> dict[str, Array]:
        """name -> (before + g, n): rates of the simulated gains along `before` directions that leave them alone, then along x."""
        gains = self.simulated(x)
        out = {name: np.zeros((before + self.size, self.n)) for name in gains}
        for k, (name, j) in enumerate(self.unknown):
            for changed in torque_gains(self.loop) if name == DRIVE else (name,):
                out[changed][before + k, j] = gains[changed][j]
        return out

    def listed(self, chosen: Iterable[int], values: Mapping[int, str] | None = None) -> str:
        """`kp of joint 2, kd of joints 1, 3`; with a value behind each when there are some."""
        groups: dict[str, list[str]] = {}
        for k in chosen:
            name, j = self.unknown[k]
            groups.setdefault(name, []).append(f"{j + 1}" + (f": {values[k]}" if values else ""))
        words = {DRIVE: "drive gain"}
        return ", ".join(
            f"{words.get(name, name)} of joint{'s' if len(joints) > 1 else ''} {', '.join(joints)}"
            for name, joints in groups.items()
        )


def driven(problem: Problem, drive: Array | None) -> Problem:
    """The problem with true torques in the place of recorded ones.

    Args:
        problem: as recorded.
        drive: (n,) true over recorded torque; None for one.
    """
    if drive is None:
        return problem
    motions = tuple(replace(m, tau=m.tau * drive, tau_raw=m.tau_raw * drive) for m in problem.motions)
    return replace(problem, motions=motions)


def _stated(loop: ControlLoop, name: str, n: int) -> Array:
    return np.asarray(np.broadcast_to(np.asarray(loop.gains[name], float), (n,)))
