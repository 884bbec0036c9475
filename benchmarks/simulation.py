"""Simulated experiments per second, against a Python loop over Pinocchio and MuJoCo's rollout.

    python benchmarks/simulation.py [--json]

10 s at 5 kHz, six joints, RK4, PD control, friction; ours with position and torque noise, recorded every 5th step.  The peers are
timed over a part and scaled: the Pinocchio loop does the same without noise, MuJoCo's rollout steps the same tree with its own RK4,
open loop (it has no PD law inside), without friction and noise.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time

import mujoco
import numpy as np
import pinocchio as pin
from bench import Row, arguments, best_of, say, show
from mujoco import rollout

import inertica as ia
from dynamics import DT, ROBOT, STEPS, pinocchio_model, reference
from inertica.robot import inertia

PEER_STEPS = 500
MUJOCO_STEPS = 2500


def pinocchio_rk4(model: pin.Model, chi: ia.Parameters, table: dict[str, np.ndarray], kp: np.ndarray, kd: np.ndarray) -> None:
    data = model.createData()
    n = model.nv
    fv, fc = (np.array([chi[f"{name}{j + 1}"] for j in range(n)]) for name in ("Fv", "Fc"))
    q, dq = table["q"][0].copy(), table["dq"][0].copy()

    def rate(q: np.ndarray, dq: np.ndarray, tau: np.ndarray) -> np.ndarray:
        return pin.aba(model, data, q, dq, tau - fv * dq - fc * np.sign(dq)).copy()

    for k in range(PEER_STEPS):
        tau = kp * (table["q"][k] - q) + kd * (table["dq"][k] - dq)
        a1 = rate(q, dq, tau)
        v2 = dq + DT / 2 * a1
        a2 = rate(q + DT / 2 * dq, v2, tau)
        v3 = dq + DT / 2 * a2
        a3 = rate(q + DT / 2 * v2, v3, tau)
        v4 = dq + DT * a3
        a4 = rate(q + DT * v3, v4, tau)
        q, dq = q + DT / 6 * (dq + 2 * v2 + 2 * v3 + v4), dq + DT / 6 * (a1 + 2 * a2 + 2 * a3 + a4)


def mujoco_body(parent: mujoco.MjsBody, joint: ia.Joint, ten: np.ndarray) -> mujoco.MjsBody:
    """A link as a MuJoCo body, its joint still to be added."""
    quaternion = np.empty(4)
    mujoco.mju_mat2Quat(quaternion, np.array(joint.rotation).ravel())
    body = parent.add_body(name=joint.link, pos=joint.position, quat=quaternion)
    com = inertia.to_com(ten)
    I = com.inertia
    body.mass, body.ipos, body.explicitinertial = com.mass, com.com, True
    body.fullinertia = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]
    return body


def mujoco_model(robot: ia.Robot, chi: ia.Parameters) -> mujoco.MjModel:
    spec = mujoco.MjSpec()
    spec.option.timestep = DT
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_RK4
    spec.compiler.degree = False
    bodies: list[mujoco.MjsBody] = []
    for j, joint in enumerate(robot.joints):
        body = mujoco_body(spec.worldbody if joint.parent < 0 else bodies[joint.parent], joint, chi.link(j))
        body.add_joint(name=joint.name, type=mujoco.mjtJoint.mjJNT_HINGE, axis=joint.axis, armature=chi[f"Ia{j + 1}"])
        bodies.append(body)
    return spec.compile()


def main() -> None:
    options = arguments(__doc__.splitlines()[0])
    description = ia.load(ROBOT)
    base = ia.base_model(description.layout)
    chi, table = description.prior, reference(description.robot.n)
    gains = {name: np.array(description.loop[name], float) for name in ("kp", "kd")}
    noise = ia.Noise(q=1.7e-5, tau=0.05)
    say("peers ...")
    pinocchio = pinocchio_model(description.robot, chi)
    model = mujoco_model(description.robot, chi)
    state = np.concatenate([[0.0], table["q"][0], table["dq"][0]])[None]
    state = np.pad(state, ((0, 0), (0, mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS) - state.shape[1])))
    data = mujoco.MjData(model)
    peers = best_of(
        {
            "pinocchio": lambda: pinocchio_rk4(pinocchio, chi, table, gains["kp"], gains["kd"]),
            "mujoco": lambda: rollout.rollout(model, data, state, nstep=MUJOCO_STEPS),
        },
        3,
    )
    per_second = {"pinocchio": PEER_STEPS / STEPS / peers["pinocchio"], "mujoco": MUJOCO_STEPS / STEPS / peers["mujoco"]}
    rows = []
    for threads in (1, 2):
        engine = ia.engine(base, threads=threads)
        for batch in (1, 64, 512):
            say(f"{batch} runs on {threads} threads ...")
            values = np.tile(chi.values, (min(batch, 64), 1))
            parts = max(1, batch // 64)

            def run(engine: ia.Engine = engine, values: np.ndarray = values, parts: int = parts) -> None:
                for _ in range(parts):  # recordings of more than 64 runs would not fit a small machine's memory
                    engine.simulate(values, table, gains, DT, integrator="rk4", keep=5, noise=noise)

            run()
            repeats = 1 if batch == 512 else options.repeats
            start = time.perf_counter()
            took = best_of({"ours": run}, repeats)["ours"]
            say(f"  {time.perf_counter() - start:.1f} s")
            for peer, what in (("pinocchio", "Python loop over Pinocchio, RK4"), ("mujoco", "mujoco.rollout, RK4, open loop")):
                ours = took / batch
                rows.append(
                    Row(f"experiment_{batch}_threads{threads}_{peer}", ours, 1.0 / per_second[peer], "s per experiment", what)
                )
    show(rows, options.json)


if __name__ == "__main__":
    main()
