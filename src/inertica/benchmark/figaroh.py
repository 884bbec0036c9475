"""FIGAROH's least-squares fit through its public functions; imports nothing of inertica, and runs where FIGAROH is installed.

    python src/inertica/benchmark/figaroh.py MODEL.urdf LOG.csv CUTOFF [FIT_END]

is for `benchmarks/identify.py` and writes JSON: seconds of the whole fit from reading to weighted least squares (without imports),
base parameters, relative residual of the raw torque after FIT_END.  Steps and order are those of its identification class: low-pass
and differentiate positions, regressor at the full rate, decimation of torque and columns, base parameters by QR, ordinary and then
weighted least squares.  Columns for a motor 6 that turns with joints 5 and 6 are appended by hand; the package has none.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import warnings
from collections.abc import Sequence

import numpy as np
import pandas
from figaroh.identification.identification_tools import calculate_first_second_order_differentiation, low_pass_filter_data
from figaroh.identification.parameter import add_standard_additional_parameters, get_standard_parameters
from figaroh.tools.qrdecomposition import QRDecomposer
from figaroh.tools.regressor import build_regressor_basic, build_regressor_reduced, get_index_eliminate
from figaroh.tools.robot import Robot
from figaroh.tools.solver import solve_linear_system
from scipy import signal

ORDER = 4
BORDER = 5 * ORDER
"""Samples that FIGAROH's low-pass takes off at both ends."""


class Fit:
    """One model, one cut-off.

    Args:
        model: URDF.
        dt: s between samples.
        cutoff: Hz.
        motor_side: torque holds drive inertia.
        coupled: motor 6 turns with joints 5 and 6.
    """

    def __init__(self, model: str, dt: float, cutoff: float, motor_side: bool = True, coupled: bool = True) -> None:
        self.robot = Robot(model, "")
        self.n, self.dt = self.robot.model.nv, dt
        self.coupled = coupled
        self.decimation = max(1, round(0.8 * 0.5 / dt / cutoff))
        self.settings = {
            "has_friction": True, "has_actuator_inertia": motor_side, "has_joint_offset": True, "is_joint_torques": True,
            "act_idxv": list(range(self.n)), "ts": dt,
            "cut_off_frequency_butterworth": 4.0 * cutoff,  # its filter divides by twice the rate where half the rate is meant
        }  # fmt: skip

    def columns(self, q: np.ndarray) -> np.ndarray:
        """Regressor at the full rate, joint after joint, without the border that the low-pass takes."""
        smooth = low_pass_filter_data(q, self.settings, ORDER)
        q, dq, ddq = calculate_first_second_order_differentiation(self.robot.model, smooth, self.settings)
        W = build_regressor_basic(self.robot, q, dq, ddq, self.settings)
        return np.hstack([W, _coupling(dq, ddq)]) if self.coupled else np.asarray(W)

    def observations(self, q: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Columns, and the raw torque beside them."""
        W = self.columns(q)
        raw = tau[BORDER : BORDER + len(W) // self.n]
        return W, raw.T.reshape(-1)

    def run(self, motions: Sequence[tuple[np.ndarray, np.ndarray]]) -> int:
        """Fits positions and torques of one or several motions; returns the number of base parameters."""
        observed = [self.observations(q, tau) for q, tau in motions]
        names = get_standard_parameters(self.robot.model) | add_standard_additional_parameters(self.robot.model, self.settings)
        if self.coupled:
            names |= dict.fromkeys(("Iam6", "Fvm6", "Fcm6"), 0.0)
        self.dropped, independent = get_index_eliminate(np.vstack([W for W, _ in observed]), names, 1e-6)
        decimated = [
            (self._decimated(build_regressor_reduced(W, self.dropped)), self._decimated(y[:, None])) for W, y in observed
        ]
        W, y = self._by_joint([W for W, _ in decimated]), self._by_joint([y for _, y in decimated])[:, 0]
        W_base, _, expressions, beta, *_ = QRDecomposer().double_decomposition(y, W, independent, names)
        self.base = [int(np.argmin(np.linalg.norm(W - column[:, None], axis=0))) for column in W_base.T]
        rows = len(y) // self.n
        error = (y - W_base @ beta).reshape(self.n, rows)
        self.beta, _ = solve_linear_system(W_base, y, method="weighted", weights=np.repeat(1.0 / error.var(axis=1), rows))
        return len(expressions)

    def predict(self, q: np.ndarray) -> np.ndarray:
        """(N, n) torques; at the border that the low-pass takes, those next to it."""
        inner = (build_regressor_reduced(self.columns(q), self.dropped)[:, self.base] @ self.beta).reshape(self.n, -1).T
        return np.pad(inner, ((BORDER, len(q) - BORDER - len(inner)), (0, 0)), mode="edge")

    def residual(self, q: np.ndarray, tau: np.ndarray) -> float:
        """|tau - tau_hat| / |tau| of the raw torque."""
        W, y = self.observations(q, tau)
        return float(np.linalg.norm(y - build_regressor_reduced(W, self.dropped)[:, self.base] @ self.beta) / np.linalg.norm(y))

    def _decimated(self, W: np.ndarray) -> np.ndarray:
        return np.vstack([signal.decimate(part, self.decimation, axis=0, zero_phase=True) for part in np.split(W, self.n)])

    def _by_joint(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        """Rows of several motions, sorted by joint as those of one are."""
        return np.vstack([np.split(part, self.n)[j] for j in range(self.n) for part in parts])


def _coupling(dq: np.ndarray, ddq: np.ndarray) -> np.ndarray:
    """Columns Iam6, Fvm6, Fcm6 in the rows of joints 5 and 6."""
    N = len(dq)
    columns = np.zeros((6, N, 3))
    for row_joint, other in ((4, 5), (5, 4)):
        columns[row_joint] = np.column_stack([ddq[:, other], dq[:, other], np.sign(dq[:, 4] + dq[:, 5])])
    return columns.reshape(6 * N, 3)


def read(path: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    table = pandas.read_csv(path)
    return (
        table["t"].to_numpy(),
        table[[f"q{j}" for j in range(1, 7)]].to_numpy(),
        table[[f"tau{j}" for j in range(1, 7)]].to_numpy(),
    )


def main() -> None:
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    model, path, cutoff = sys.argv[1], sys.argv[2], float(sys.argv[3])
    start = time.perf_counter()
    t, q, tau = read(path)
    fit = Fit(model, float(np.median(np.diff(t))), cutoff)
    base = fit.run([(q, tau)])
    output: dict[str, float] = {"seconds": time.perf_counter() - start, "base": base}
    if len(sys.argv) > 4:
        early = t <= float(sys.argv[4])
        fit.run([(q[early], tau[early])])
        output["residual"] = fit.residual(q[~early], tau[~early])
    print(json.dumps(output))


if __name__ == "__main__":
    main()
