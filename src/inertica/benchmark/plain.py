"""A plain textbook pipeline with Pinocchio, rows of a log as it reads them, and how far a prediction of torque is off.

No dynamics, filter or estimator of inertica is in it; `inertica benchmark`, real.py and strangers.py hold `identify` against it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
from lxml import etree
from numpy.typing import NDArray
from scipy.signal import butter, sosfiltfilt

from inertica.arrays import Array
from inertica.frames import optional

ENDS = 0.3
"""s left out at both ends of what is scored, and of what the plain pipeline fits: the filters' transients."""

SLOW = 0.01
"""Width of the smooth sign of Coulomb friction, tanh(v / width), as a share of the joint's largest speed."""

DEPENDENT = 1e-6
"""Size of a column, and diagonal of R, relative to the largest, below which a column is nothing, or depends on others: files print
right angles with five digits or more."""

SAMPLES_PER_PERIOD = 10
"""Rows kept of each period of the cut-off frequency."""


@dataclass(frozen=True)
class PlainSettings:
    """What a user of the plain pipeline states.

    Args:
        model: URDF of the robot.
        positions, columns: cut-offs of positions, and of columns and torque, in Hz.
        motor_side: torque holds drive inertia.
        springs: 1-based joints with a spring.
        coupling: (motor, joint, joint), 1-based: that motor turns with the sum of both joints.
    """

    model: Path
    positions: float
    columns: float
    motor_side: bool = False
    springs: tuple[int, ...] = ()
    coupling: tuple[int, int, int] | None = None


def _pinocchio() -> Any:
    return optional("pinocchio", "the plain pipeline", "pin")


def pinocchio_model(path: Path) -> Any:
    """Of a URDF, every joint with one coordinate: joints that turn without end have an angle, not its cosine and sine."""
    robot = etree.parse(str(path)).getroot()
    for joint in robot.iterfind("joint[@type='continuous']"):
        joint.set("type", "revolute")
        if joint.find("limit") is None:
            etree.SubElement(joint, "limit", effort="0", velocity="0")
    return _pinocchio().buildModelFromXML(etree.tostring(robot, encoding="unicode"))


class PlainPipeline:
    """tau = W(q, dq, ddq) beta by weighted least squares: no prior, no constraint, nothing tuned to the log."""

    def __init__(self, settings: PlainSettings) -> None:
        self.settings = settings
        self.model = pinocchio_model(settings.model)
        self.data = self.model.createData()
        self.n = self.model.nv
        self.speeds = np.ones(self.n)
        self.base: NDArray[np.intp] = np.arange(0)
        self.beta: Array = np.zeros(0)

    def fit(self, motions: Sequence[Recorded]) -> None:
        """Estimates beta from what both sides are after the low-pass."""
        states = [self.states(m) for m in motions]
        self.speeds = np.max([np.abs(dq).max(axis=0) for _, dq, _ in states], axis=0)
        self.base = self._independent_columns()
        W, tau = (np.concatenate(x) for x in zip(*(self._rows(m, s) for m, s in zip(motions, states, strict=True)), strict=True))
        sigma: Array = np.ones(self.n)
        for _ in range(2):  # the second time with the first one's noise of each joint
            solution = np.linalg.lstsq((W / sigma[:, None]).reshape(-1, W.shape[2]), (tau / sigma).ravel(), rcond=None)
            self.beta = np.asarray(solution[0], np.float64)
            sigma = np.std(tau - W @ self.beta, axis=0)

    def predict(self, motion: Recorded) -> Array:
        """(N, n) torques at the log's own stamps."""
        tau = self.columns(*self.states(motion))[:, :, self.base] @ self.beta
        return np.column_stack([np.interp(motion.t, motion.clock, x) for x in tau.T])

    def states(self, motion: Recorded) -> tuple[Array, Array, Array]:
        """q, dq, ddq (M, n) on the uniform clock: low-passed positions and their central differences."""
        q = low_pass(motion.on_clock(motion.q), self.settings.positions, motion.rate)
        dq = np.gradient(q, 1.0 / motion.rate, axis=0)
        return q, dq, np.gradient(dq, 1.0 / motion.rate, axis=0)

    def columns(self, q: Array, dq: Array, ddq: Array) -> Array:
        """(M, n, P) of the links, viscous and Coulomb friction, offset, and what else the record has."""
        pin = _pinocchio()
        rows, n = q.shape
        links = np.empty((rows, n, 10 * n))
        for k in range(rows):
            links[k] = pin.computeJointTorqueRegressor(self.model, self.data, q[k], dq[k], ddq[k])
        sign = np.tanh(dq / (SLOW * self.speeds))
        joints = [dq, sign, np.ones_like(q)]
        if self.settings.motor_side:
            joints.append(ddq)
        diagonal = [x[:, :, None] * np.eye(n) for x in joints]
        single = [(q[:, [j - 1], None] * np.eye(n)[None, :, [j - 1]]) for j in self.settings.springs]
        return np.concatenate([links, *diagonal, *single, *self._coupled(dq, ddq)], axis=2)

    def _coupled(self, dq: Array, ddq: Array) -> list[Array]:
        """Inertia, viscous and Coulomb friction of a motor that turns with the sum of two joints."""
        if self.settings.coupling is None:
            return []
        a, b = (j - 1 for j in self.settings.coupling[1:])
        out = np.zeros((*dq.shape, 3))
        sign = np.tanh((dq[:, a] + dq[:, b]) / (SLOW * self.speeds[[a, b]].max()))
        out[:, a] = np.column_stack([ddq[:, b], dq[:, b], sign])
        out[:, b] = np.column_stack([ddq[:, a], dq[:, a], sign])
        return [out]

    def _independent_columns(self) -> NDArray[np.intp]:
        """Columns that no motion makes dependent, by QR with pivoting at random states."""
        rng = np.random.default_rng(0)
        q, dq, ddq = rng.uniform(-1.0, 1.0, (3, 20 * self.n, self.n)) * np.array([np.pi, 1.0, 1.0])[:, None, None]
        W = self.columns(q, dq * self.speeds, ddq * self.speeds)
        W = W.reshape(-1, W.shape[2])
        size = np.linalg.norm(W, axis=0)
        nonzero = np.flatnonzero(size > DEPENDENT * size.max())
        R, order = scipy.linalg.qr(W[:, nonzero] / size[nonzero], mode="r", pivoting=True)
        diagonal = np.abs(np.diag(R))
        return np.sort(nonzero[order[: len(diagonal)][diagonal > DEPENDENT * diagonal[0]]])

    def _rows(self, motion: Recorded, states: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        """Columns and torque through one low-pass, thinned, without the ends."""
        rate, cutoff = motion.rate, self.settings.columns
        step, edge = max(1, int(rate / (SAMPLES_PER_PERIOD * cutoff))), round(ENDS * rate)
        W = low_pass(self.columns(*states)[:, :, self.base], cutoff, rate)
        tau = low_pass(motion.on_clock(motion.tau), cutoff, rate)
        return W[edge:-edge:step], tau[edge:-edge:step]


# Torque as recorded, and how far a prediction of it is off: the same for both programs.


@dataclass(frozen=True)
class Recorded:
    """Rows of a window at the log's own stamps: t (N,) in s, q (N, n) in rad and tau (N, n) in N m of the joints."""

    t: Array
    q: Array
    tau: Array

    @property
    def rate(self) -> float:
        """Of a uniform clock with the log's own typical interval, in Hz."""
        return 1.0 / float(np.median(np.diff(np.unique(self.t))))

    @cached_property
    def clock(self) -> Array:
        return np.arange(self.t[0], self.t[-1], 1.0 / self.rate)

    def on_clock(self, values: Array) -> Array:
        """(M, n) values at the log's stamps -> on the uniform clock."""
        t, first = np.unique(self.t, return_index=True)
        return np.column_stack([np.interp(self.clock, t, column) for column in values[first].T])


@dataclass(frozen=True)
class Score:
    """|tau - prediction| / |tau| over all joints and rows, as recorded and low-passed."""

    raw: float
    low: float


def score(recorded: Recorded, prediction: Array, cutoff: float) -> Score:
    """Of a prediction (N, n) at the log's own stamps; low-passed at the cut-off in Hz."""
    inner = (recorded.t >= recorded.t[0] + ENDS) & (recorded.t <= recorded.t[-1] - ENDS)
    low = [low_pass(recorded.on_clock(x), cutoff, recorded.rate) for x in (recorded.tau, prediction)]
    edge = round(ENDS * recorded.rate)
    return Score(_relative(recorded.tau[inner], prediction[inner]), _relative(*(x[edge:-edge] for x in low)))


def _relative(tau: Array, prediction: Array) -> float:
    return float(np.linalg.norm(tau - prediction) / np.linalg.norm(tau))


def low_pass(values: Array, cutoff: float, rate: float) -> Array:
    """Zero-phase Butterworth low-pass of order 4 (run forwards and backwards)."""
    return np.asarray(sosfiltfilt(butter(4, cutoff, fs=rate, output="sos"), values, axis=0))
