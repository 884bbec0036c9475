"""Motions that reveal a load, given what is known of the robot.

The loaded record has rows W, and with M = W'W of rows in units of their noise, B and E of `identifiability.load` and P the information
that exists of the robot's base parameters, the information on the ten parameters of the load is what is left of

    N = [1 E B]' M [1 E B] + diag(P, 0, 0)

when robot and friction are eliminated.  The criterion is -log det of it (D-optimality: free of units and of the frame of the load).
A robot that is known exactly has no part in N.  The same motion with and without load, nothing known before, gives half that
information, so that the same motions are best.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inertica.excitation.criteria import rows_of
from inertica.excitation.observation import Observation
from inertica.excitation.trajectory import Array, Samples

TINY = 1e-12
"""Of the largest diagonal entry, added to every one: an information that lacks rank stays finite, and bad."""


@dataclass(frozen=True, eq=False)
class LoadDeterminant:
    """-log det of the information on a load.

    Args:
        columns: (b, k) what the parameters of the load add to base parameters; those that no torque depends on left out.
        friction: (b, f) directions of beta in which the loaded record has friction of its own.
        robot: (b, b) information on the robot; None when it is known, or the same motion is recorded without load, too.
    """

    columns: Array
    friction: Array
    robot: Array | None = None
    full: bool = False

    @property
    def logarithmic(self) -> bool:
        return True

    @property
    def name(self) -> str:
        return "-log det of the load's information"

    def information(self, M: Array) -> Array:
        """(k, k) on the load, of the information M (b, b) of a record."""
        C, P, f = self._stacked_columns()
        N = C.T @ M @ C + P
        N[:f, :f] += _ridge(N[:f, :f])
        return np.asarray(N[f:, f:] - N[f:, :f] @ np.linalg.solve(N[:f, :f], N[:f, f:]))

    def values(self, observe: Observation, motion: Samples, candidates: int) -> Array:
        return np.array([self._value(M) for M in observe.grams(motion, candidates)])

    def smooth(self, observe: Observation, motion: Samples, p: float) -> tuple[float, Samples]:
        W = observe.stacked(motion)
        C, P, f = self._stacked_columns()
        N = C.T @ (W.T @ W) @ C + P
        N = N + _ridge(N)
        inner = N[:f, :f]
        by_M = C[:, :f] @ np.linalg.solve(inner, C[:, :f].T) - C @ np.linalg.solve(N, C.T)
        value = float(np.linalg.slogdet(inner)[1] - np.linalg.slogdet(N)[1])
        return value, observe.gradient(motion, rows_of(2.0 * W @ by_M, motion))

    def _value(self, M: Array) -> float:
        C, P, f = self._stacked_columns()
        N = C.T @ M @ C + P
        N = N + _ridge(N)
        (sign, whole), (_, inner) = np.linalg.slogdet(N), np.linalg.slogdet(N[:f, :f])
        return float(inner - whole) if sign > 0.0 else np.inf

    def _stacked_columns(self) -> tuple[Array, Array, int]:
        """(b, m) columns of everything unknown, load last; (m, m) what is known before; how many are not of the load."""
        b = len(self.columns)
        first = self.friction if self.robot is None else np.hstack([np.eye(b), self.friction])
        C = np.hstack([first, self.columns])
        P = np.zeros((C.shape[1], C.shape[1]))
        if self.robot is not None:
            P[:b, :b] = self.robot
        return C, P, first.shape[1]


def _ridge(N: Array) -> Array:
    return TINY * float(np.max(np.diag(N), initial=1e-300)) * np.eye(len(N))
