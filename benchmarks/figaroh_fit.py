"""FIGAROH's least-squares fit of a log through its public functions, for `benchmarks/identify.py`; runs where FIGAROH is installed.

    python benchmarks/figaroh_fit.py MODEL.urdf LOG.csv CUTOFF [FIT_END]

Writes JSON: seconds of the whole fit from reading to weighted least squares (without imports), base parameters, relative residual of
the raw torque after FIT_END.  Steps and order are those of its own identification class: low-pass and differentiate positions,
regressor at the full rate, decimation of torque and columns, base parameters by QR, ordinary and then weighted least squares.  Columns
for a motor 6 that turns with joints 5 and 6 are appended by hand; the package has none.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import warnings

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


class Fit:
    """One model, one cut-off."""

    def __init__(self, model: str, dt: float, cutoff: float) -> None:
        self.robot = Robot(model, "")
        self.n, self.dt = self.robot.model.nv, dt
        self.decimation = max(1, round(0.8 * 0.5 / dt / cutoff))
        self.settings = {
            "has_friction": True, "has_actuator_inertia": True, "has_joint_offset": True, "is_joint_torques": True,
            "act_idxv": list(range(self.n)), "ts": dt,
            "cut_off_frequency_butterworth": 4.0 * cutoff,  # its filter divides by twice the rate where half the rate is meant
        }  # fmt: skip

    def observations(self, q: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Regressor and raw torque at the full rate, joint after joint."""
        smooth = low_pass_filter_data(q, self.settings, ORDER)
        border = 5 * ORDER
        q, dq, ddq = calculate_first_second_order_differentiation(self.robot.model, smooth, self.settings)
        raw = tau[border : border + len(q)]
        W = build_regressor_basic(self.robot, q, dq, ddq, self.settings)
        return np.hstack([W, _coupling(dq, ddq)]), raw.T.reshape(-1)

    def run(self, q: np.ndarray, tau: np.ndarray) -> int:
        """Fit; returns the number of base parameters."""
        W, y = self.observations(q, tau)
        names = get_standard_parameters(self.robot.model) | add_standard_additional_parameters(self.robot.model, self.settings)
        names |= dict.fromkeys(("Iam6", "Fvm6", "Fcm6"), 0.0)
        self.dropped, kept = get_index_eliminate(W, names, 1e-6)
        reduced = build_regressor_reduced(W, self.dropped)
        W, y = self._decimated(reduced), self._decimated(y[:, None])[:, 0]
        W_base, _, expressions, beta, *_ = QRDecomposer().double_decomposition(y, W, kept, names)
        self.base = [int(np.argmin(np.linalg.norm(W - column[:, None], axis=0))) for column in W_base.T]
        rows = len(y) // self.n
        error = (y - W_base @ beta).reshape(self.n, rows)
        self.beta, _ = solve_linear_system(W_base, y, method="weighted", weights=np.repeat(1.0 / error.var(axis=1), rows))
        return len(expressions)

    def residual(self, q: np.ndarray, tau: np.ndarray) -> float:
        """|tau - tau_hat| / |tau| of the raw torque."""
        W, y = self.observations(q, tau)
        return float(np.linalg.norm(y - build_regressor_reduced(W, self.dropped)[:, self.base] @ self.beta) / np.linalg.norm(y))

    def _decimated(self, W: np.ndarray) -> np.ndarray:
        return np.vstack([signal.decimate(part, self.decimation, axis=0, zero_phase=True) for part in np.split(W, self.n)])


def _coupling(dq: np.ndarray, ddq: np.ndarray) -> np.ndarray:
    """Columns Iam6, Fvm6, Fcm6 in the rows of joints 5 and 6."""
    N = len(dq)
    columns = np.zeros((6, N, 3))
    for own, other in ((4, 5), (5, 4)):
        columns[own] = np.column_stack([ddq[:, other], dq[:, other], np.sign(dq[:, 4] + dq[:, 5])])
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
    base = fit.run(q, tau)
    found: dict[str, float] = {"seconds": time.perf_counter() - start, "base": base}
    if len(sys.argv) > 4:
        early = t <= float(sys.argv[4])
        fit.run(q[early], tau[early])
        found["residual"] = fit.residual(q[~early], tau[~early])
    print(json.dumps(found))


if __name__ == "__main__":
    main()
