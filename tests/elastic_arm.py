"""An arm of two joints in a vertical plane whose links hang on springs, with gaps if wanted, simulated twice: by MuJoCo, and here.

Motors have inertia, viscous and Coulomb friction (rounded by tanh over a thousandth of usual speed) and a PD loop; q is theirs, ql the
links'.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import mujoco
import numpy as np
from numpy.typing import NDArray

from inertica.compiled import njit
from inertica.logs.log import Log

Array = NDArray[np.float64]

LENGTH, GRAVITY, STEP, EVERY = 0.4, 9.81, 1e-4, 20
MASS, CENTRE, INERTIA = np.array([4.0, 2.5]), np.array([0.2, 0.18]), np.array([0.06, 0.03])
MOTOR, VISCOUS, COULOMB = np.array([0.4, 0.15]), np.array([3.0, 1.5]), np.array([2.0, 1.0])
KP, KD = np.array([4000.0, 1500.0]), np.array([120.0, 45.0])
NOISE_Q, NOISE_TAU, ROUND = 2e-6, 0.05, 2e-3

URDF = f"""<?xml version="1.0"?>
<robot name="elastic">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="4"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.06" iyz="0" izz="0.06"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0.18 0 0"/><mass value="2.5"/>
    <inertia ixx="0.005" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" velocity="9" effort="200"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="{LENGTH} 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" velocity="9" effort="200"/></joint>
</robot>
"""
CARD = "model: arm.urdf\narmature: true\n"


@cache
def card() -> Path:
    """The arm as users describe it."""
    folder = Path(mkdtemp(prefix="elastic-"))
    (folder / "arm.urdf").write_text(URDF)
    (folder / "card.yaml").write_text(CARD)
    return folder / "card.yaml"


@dataclass(frozen=True)
class Elastic:
    """Springs of a run.

    Args:
        stiffness, damping: (2,) N m/rad, N m s/rad.
        gap: (2,) rad.
        seed: of motion and noise.
        seconds: of the record.
    """

    stiffness: Array
    damping: Array
    gap: Array
    seed: int = 0
    seconds: float = 15.0

    @classmethod
    def drawn(cls, seed: int, gap: bool = False) -> Elastic:
        """Springs that give way by hundredths of degrees, and gaps of 0.1 to 1 degree."""
        rng = np.random.default_rng([seed, 3])
        k = np.array([2.0e4, 8.0e3]) * np.exp(rng.uniform(-0.7, 0.7, 2))
        gaps = np.radians(np.exp(rng.uniform(np.log(0.1), 0.0, 2))) if gap else np.zeros(2)
        return cls(k, 1e-3 * k * rng.uniform(0.5, 1.5, 2), gaps, seed)

    def motion(self) -> tuple[Array, Array, Array]:
        """Amplitudes, rates and phases of sines, (2, 4) each."""
        rng = np.random.default_rng([self.seed, 4])
        rates = 2.0 * np.pi * np.array([0.25, 0.5, 0.85, 1.3]) * rng.uniform(0.9, 1.1, (2, 4))
        return 0.35 * rng.choice([-1.0, 1.0], (2, 4)), rates, rng.uniform(0.0, 2.0 * np.pi, (2, 4))

    def ours(self) -> Log:
        """By the equations of two masses on each joint, in steps of a tenth of a millisecond."""
        steps = int(self.seconds / STEP)
        return self._log(_simulated(steps, *self.motion(), self.stiffness, self.damping, self.gap))

    def by_mujoco(self) -> Log:
        """By MuJoCo: a motor and a link for each joint, the spring a joint between them; a gap is its range instead."""
        assert not self.gap.any(), "springs of MuJoCo have no gaps"
        model = mujoco.MjModel.from_xml_string(self._xml())
        data = mujoco.MjData(model)
        A, w, phase = self.motion()
        rows = []
        for k in range(int(self.seconds / STEP)):
            t = k * STEP
            qr, dqr = _reference(t, A, w, phase)
            q, dq = data.qpos[[0, 2]], data.qvel[[0, 2]]
            tau = KP * (qr - q) + KD * (dqr - dq)
            data.qfrc_applied[[0, 2]] = tau - VISCOUS * dq - COULOMB * np.tanh(dq / ROUND)
            if k % EVERY == 0:
                rows.append([*q, *(q + data.qpos[[1, 3]]), *tau])
            mujoco.mj_step(model, data)
        return self._log(np.array(rows))

    def _xml(self) -> str:
        tiny = '<inertial pos="0 0 0" mass="1e-7" diaginertia="1e-9 1e-9 1e-9"/>'
        inertias = ["0.01 0.06 0.06", "0.005 0.03 0.03"]
        inner = ""
        for j in (1, 0):
            place = f'pos="{LENGTH} 0 0"' if j else ""
            inner = (
                f'<body {place}>{tiny}<joint axis="0 1 0" armature="{MOTOR[j]}"/><body>'
                f'<joint axis="0 1 0" stiffness="{self.stiffness[j]}" damping="{self.damping[j]}"/>'
                f'<inertial pos="{CENTRE[j]} 0 0" mass="{MASS[j]}" diaginertia="{inertias[j]}"/>{inner}</body></body>'
            )
        return f'<mujoco><option timestep="{STEP}" integrator="implicitfast"/><worldbody>{inner}</worldbody></mujoco>'

    def _log(self, rows: Array) -> Log:
        rng = np.random.default_rng([self.seed, 5])
        t = STEP * EVERY * np.arange(len(rows))
        noisy = rows + np.array([NOISE_Q] * 4 + [NOISE_TAU] * 2) * rng.standard_normal(rows.shape)
        keep = t > 1.0
        signals = {"q": noisy[:, :2], "ql": noisy[:, 2:4], "tau": noisy[:, 4:]}
        return Log.from_arrays(t[keep], {name: x[keep] for name, x in signals.items()}, ("shoulder", "elbow"))

    def rigid(self) -> Elastic:
        """The same motion with springs of ten thousand times the stiffness, for comparison."""
        return replace(self, stiffness=1e4 * self.stiffness, gap=np.zeros(2))


def _reference(t: float, A: Array, w: Array, phase: Array) -> tuple[Array, Array]:
    angle = w * t + phase
    # starts at rest, where the arm hangs on its loop
    grown = min(t, 1.0)
    return grown * np.sum(A * np.sin(angle), axis=1), grown * np.sum(A * w * np.cos(angle), axis=1)


@njit()
def _simulated(steps: int, A: Array, w: Array, phase: Array, k: Array, c: Array, gap: Array) -> Array:
    """(steps / EVERY, 6) q, ql, tau; semi-implicit Euler."""
    q, dq, ql, dql, tau, T = np.zeros(2), np.zeros(2), np.zeros(2), np.zeros(2), np.zeros(2), np.zeros(2)
    out = np.zeros((steps // EVERY, 6))
    m1, m2, c1, c2 = MASS[0], MASS[1], CENTRE[0], CENTRE[1]
    for n in range(steps):
        t = n * STEP
        grown = min(t, 1.0)
        for j in range(2):
            qr, dqr = 0.0, 0.0
            for i in range(4):
                qr += grown * A[j, i] * np.sin(w[j, i] * t + phase[j, i])
                dqr += grown * A[j, i] * w[j, i] * np.cos(w[j, i] * t + phase[j, i])
            tau[j] = KP[j] * (qr - q[j]) + KD[j] * (dqr - dq[j])
            e = q[j] - ql[j]
            half = 0.5 * gap[j]
            if e > half:
                T[j] = (
                    max(k[j] * (e - half) + c[j] * (dq[j] - dql[j]), 0.0) if gap[j] > 0.0 else k[j] * e + c[j] * (dq[j] - dql[j])
                )
            elif e < -half:
                T[j] = (
                    min(k[j] * (e + half) + c[j] * (dq[j] - dql[j]), 0.0) if gap[j] > 0.0 else k[j] * e + c[j] * (dq[j] - dql[j])
                )
            else:
                T[j] = 0.0 if gap[j] > 0.0 else k[j] * e + c[j] * (dq[j] - dql[j])
        if n % EVERY == 0:
            row = n // EVERY
            for j in range(2):
                out[row, j], out[row, 2 + j], out[row, 4 + j] = q[j], ql[j], tau[j]
        # links: about y, gravity along -z, both angles from the horizontal
        s2, k2 = np.sin(ql[1]), np.cos(ql[1])
        m12 = INERTIA[1] + m2 * c2 * c2 + m2 * LENGTH * c2 * k2
        m22 = INERTIA[1] + m2 * c2 * c2
        m11 = INERTIA[0] + m1 * c1 * c1 + m22 + m2 * LENGTH * LENGTH + 2.0 * m2 * LENGTH * c2 * k2
        h = m2 * LENGTH * c2 * s2
        g2 = -m2 * GRAVITY * c2 * np.cos(ql[0] + ql[1])
        g1 = -(m1 * c1 + m2 * LENGTH) * GRAVITY * np.cos(ql[0]) + g2
        r1 = T[0] + h * (2.0 * dql[0] * dql[1] + dql[1] * dql[1]) - g1
        r2 = T[1] - h * dql[0] * dql[0] - g2
        det = m11 * m22 - m12 * m12
        dql[0] += STEP * (m22 * r1 - m12 * r2) / det
        dql[1] += STEP * (m11 * r2 - m12 * r1) / det
        for j in range(2):
            friction = VISCOUS[j] * dq[j] + COULOMB[j] * np.tanh(dq[j] / ROUND)
            dq[j] += STEP * (tau[j] - T[j] - friction) / MOTOR[j]
            q[j] += STEP * dq[j]
            ql[j] += STEP * dql[j]
    return out
