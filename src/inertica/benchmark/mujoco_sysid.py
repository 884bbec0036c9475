"""A model fitted by mujoco.sysid through its public functions; imports nothing of inertica and needs `mujoco[sysid]`.

Its least squares on MuJoCo's inverse dynamics find the pseudo-inertia of every body, so that each could exist, and damping, friction
loss, bias of the torque and, where that is the motors', armature of every joint; from the values of the model file and within the
package's own bounds around them.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Motion = tuple[Array, Array, Array]
"""q, dq, ddq, each (N, n)."""

SLOW = 0.01
"""Width of the smooth sign of friction loss, tanh(v / width), as a share of the joint's largest speed; that of the plain pipeline."""

ROWS = 300
"""Samples of all motions together that are fitted: an iteration computes all of them once for every parameter."""

ITERATIONS = 30


class Fit:
    """One model.

    Args:
        path: of the URDF.
        motor_side: torque holds drive inertia.
    """

    def __init__(self, path: Path, motor_side: bool) -> None:
        import mujoco
        from mujoco import sysid

        self.mujoco, self.sysid = mujoco, sysid
        self.spec = _spec(mujoco, path)
        self.model = self.spec.compile()
        self.n = self.model.nv
        if self.model.njnt != self.n or self.model.nq != self.n:
            raise ValueError("a joint of the model has more than one coordinate")
        self.parameters = sysid.ParameterDict()
        for b in range(1, self.model.nbody):
            name, kind = self.model.body(b).name, sysid.InertiaType.Pseudo
            self.parameters.add(sysid.body_inertia_param(self.spec, self.model, name, kind, modifier=self._change(name)))
        self.motor_side = motor_side
        self.speeds: Array = np.ones(self.n)

    def run(self, motions: Sequence[tuple[Motion, Array]]) -> None:
        """Fits motions with their torques."""
        every = sum(len(tau) for _, tau in motions)
        step = max(1, every // ROWS)
        motion: Motion = tuple(np.vstack([m[k][::step] for m, _ in motions]) for k in range(3))  # type: ignore[assignment]
        tau = np.vstack([torque[::step] for _, torque in motions])
        self.speeds = np.max([np.abs(dq).max(axis=0) for (_, dq, _), _ in motions], axis=0)
        size = np.std(tau, axis=0)
        self._joint_parameters(motion, size)

        def residual(x: Array, params: Any, **_: object) -> tuple[list[Array], None, None]:
            columns = x.reshape(params.size, -1).T
            out = [((self._torque(params, column, motion) - tau) / size).ravel() for column in columns]
            return [np.array(out).T if x.ndim > 1 else out[0]], None, None

        self.parameters, _ = self.sysid.optimize(
            self.parameters.move_off_bounds(), residual, optimizer="mujoco", verbose=False, max_iters=ITERATIONS
        )

    def predict(self, motion: Motion) -> Array:
        """(N, n) torques."""
        return self._torque(self.parameters, self.parameters.as_vector(), motion)

    def _change(self, body: str) -> Any:
        """What puts a pseudo-inertia into a body: the package's function, whose undefined axes MuJoCo 4.0 does not compile."""

        def change(spec: Any, parameter: Any) -> None:
            self.sysid.apply_body_inertia(spec, body, parameter)
            spec.body(body).iquat[:] = 1.0, 0.0, 0.0, 0.0

        return change

    def _joint_parameters(self, motion: Motion, size: Array) -> None:
        """Damping, friction loss, bias and armature of every joint, each up to what explains all of its torque."""
        _, dq, ddq = motion
        moving = {"damping": np.std(dq, axis=0), "frictionloss": np.ones(self.n), "bias": np.ones(self.n)}
        moving |= {"armature": np.std(ddq, axis=0)} if self.motor_side else {}
        for name, unit in moving.items():
            for j in np.flatnonzero(unit):
                most = size[j] / unit[j]
                least, start = (-most, 0.0) if name == "bias" else (0.0, 0.1 * most)
                self.parameters.add(self.sysid.Parameter(f"{name} {j}", start, least, most))

    def _torque(self, parameters: Any, x: Array, motion: Motion) -> Array:
        """Inverse dynamics; friction loss, a constraint in MuJoCo, with a smooth sign."""
        mujoco = self.mujoco
        parameters.update_from_vector(x)
        model = self.sysid.apply_param_modifiers(parameters, self.spec)
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_CONTACT
        data, out = mujoco.MjData(model), np.empty_like(motion[0])
        for k, (q, dq, ddq) in enumerate(zip(*motion, strict=True)):
            data.qpos[:], data.qvel[:], data.qacc[:] = q, dq, ddq
            mujoco.mj_inverse(model, data)
            out[k] = data.qfrc_inverse
        damping, loss, armature, bias = (self._joints(parameters, k) for k in ("damping", "frictionloss", "armature", "bias"))
        sign = np.tanh(motion[1] / (SLOW * self.speeds))
        return np.asarray(out + damping * motion[1] + loss * sign + armature * motion[2] + bias)

    def _joints(self, parameters: Any, name: str) -> Array:
        keys = [f"{name} {j}" for j in range(self.n)]
        return np.array([parameters[key].value.item() if key in parameters else 0.0 for key in keys])


def _spec(mujoco: Any, path: Path) -> Any:
    """The URDF without shapes, whose files may be elsewhere, and without friction of its own."""
    robot = ElementTree.parse(path).getroot()
    for link in robot.iter("link"):
        for shape in [*link.findall("visual"), *link.findall("collision")]:
            link.remove(shape)
    for joint in robot.iter("joint"):
        for dynamics in joint.findall("dynamics"):
            joint.remove(dynamics)
    spec = mujoco.MjSpec.from_string(ElementTree.tostring(robot, encoding="unicode"))
    spec.compiler.balanceinertia = True  # of links that could not exist
    spec.compile()
    return mujoco.MjSpec.from_string(spec.to_xml())  # bodies with inertias as MJCF states them, which the package can change
