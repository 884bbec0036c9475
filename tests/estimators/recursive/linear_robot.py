"""A linear "robot" with Gaussian noise, whose exact answer is the Kalman filter: ddq = -K q - D dq + B beta + tau."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from inertica.dynamics.closed_loop import ClosedLoop
from inertica.dynamics.kernels import Symbols, traced
from inertica.dynamics.laws import TorqueDriven
from inertica.dynamics.llvm.target import Native
from inertica.dynamics.transition import Transition
from inertica.estimators.recursive.records import Record
from inertica.estimators.recursive.tuning import Variances
from inertica.identifiability.base import base_model
from inertica.robot.load import load

DT, N = 0.05, 150
K, D = np.array([[4.0, 1.0], [0.5, 3.0]]), np.array([[0.4, 0.1], [0.0, 0.3]])
B = np.array([[1.0, 0.3, 0.0], [0.2, -0.5, 1.0]])
TRUE = np.array([1.0, -0.5, 0.7])


def transition() -> Transition:
    def acceleration(x: Symbols) -> dict[str, list[object]]:
        out: list[object] = []
        for i in range(2):
            total: object = x["tau"][i]
            for j in range(2):
                total = total - float(K[i, j]) * x["q"][j] - float(D[i, j]) * x["dq"][j]  # type: ignore[operator]
            for j in range(3):
                total = total + float(B[i, j]) * x["chi"][j]  # type: ignore[operator]
            out.append(total)
        return {"ddq": out}

    model = base_model(load("scara2").layout).engine
    loop = ClosedLoop(TorqueDriven(), "euler", False, False).described(model.equations, model.retained)
    forward = traced("forward", {"chi": 3, "q": 2, "dq": 2, "tau": 2}, acceleration)
    fields = {"dt": np.array([DT]), "idt": np.array([1.0 / DT]), "chi": np.zeros(3)}
    return Transition(Native(1), replace(loop, forward=forward, recorded=("dq", "q")), 2, fields, (0, 1, 2))


@dataclass(frozen=True, eq=False)
class Linear:
    """z' = A z + G tau + v, y = H z + w."""

    A: np.ndarray
    G: np.ndarray

    @classmethod
    def of(cls) -> Linear:
        A, G = np.eye(7), np.zeros((7, 2))
        A[:2, :2] -= DT * D
        A[:2, 2:4], A[:2, 4:], A[2:4, :2] = -DT * K, DT * B, DT * np.eye(2)
        G[:2] = DT * np.eye(2)
        return cls(A, G)

    def filtered(self, record: Record, beta: np.ndarray, v: Variances) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        """The textbook filter: last z and P, and all z."""
        z, P, q, H = np.concatenate([record.start, beta]), np.diag(v.first), v.parameter.copy(), np.eye(7)[2:4]
        path = []
        N = len(record.t)
        for k in range(N):
            S = H @ P @ H.T + np.diag(v.measurement)
            gain = P @ H.T @ np.linalg.inv(S)
            z, P = z + gain @ (record.q[k] - H @ z), P - gain @ S @ gain.T
            path.append(z)
            if k < N - 1:
                z = self.A @ z + self.G @ record.table[k]
                P = self.A @ P @ self.A.T + np.diag(np.concatenate([v.state, q]))
                q = np.maximum(v.shrink * q, v.floor)
        return z, P, path


def example(seed: int = 0, **changes: np.ndarray) -> tuple[Record, Variances]:
    """A record, and the variances it was made with; some of them can be stated."""
    rng, linear = np.random.default_rng(seed), Linear.of()
    v = Variances(
        np.array([0.1, 0.1, 0.1, 0.1, 1.0, 1.0, 1.0]), np.array([1e-3, 1e-3, 1e-4, 1e-4]), np.full(3, 1e-5), 0.95,
        np.full(3, 1e-7), np.array([1e-3, 2e-3]), np.ones(2),
    )  # fmt: skip
    v = replace(v, **changes)  # type: ignore[arg-type]
    tau = np.column_stack([np.sin(0.31 * np.arange(N)), np.cos(0.17 * np.arange(N))])
    z, q = np.concatenate([np.zeros(4), TRUE]), []
    for k in range(N):
        q.append(z[2:4] + np.sqrt(v.measurement) * rng.standard_normal(2))
        z = linear.A @ z + linear.G @ tau[k] + np.concatenate([np.sqrt(v.state) * rng.standard_normal(4), np.zeros(3)])
    used = np.ones(N, bool)
    return Record(DT * np.arange(N), np.array(q), used, tau, np.arange(N), np.zeros(4)), v
