"""Speed of the compiled dynamics against a Python loop over Pinocchio, one thread, six joints.

    python benchmarks/dynamics.py [--json]

Simulation: 10 s at 5 kHz, PD control, friction, explicit Euler, every 50th step recorded.  The Pinocchio loop is timed over a
tenth of that and scaled.  Regressor: entries that are not zero by structure, chunk by chunk as estimators consume them;
`regressor_entries` and `regressor_dense` also write them, or the full (N, n, P) array, into given memory.  TSQR: against the QR of
the stacked matrix, which is given for free.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import subprocess
import sys
import tempfile

import numpy as np
import pinocchio as pin
from bench import Row, arguments, best_of, say, show

import inertica as ia
from inertica.dynamics.simulate import Simulation
from inertica.robot import inertia

ROBOT, DT, STEPS, SAMPLES = "tx40", 2e-4, 50_000, 102_400
PEER_STEPS = STEPS // 10


def pinocchio_model(robot: ia.Robot, chi: ia.Parameters) -> pin.Model:
    model = pin.Model()
    model.gravity.linear = np.array(robot.gravity)
    for j, joint in enumerate(robot.joints):
        placement = pin.SE3(np.array(joint.rotation), np.array(joint.position))
        index = model.addJoint(joint.parent + 1, pin.JointModelRZ(), placement, joint.name)
        body = inertia.to_com(chi.link(j))
        model.appendBodyToJoint(index, pin.Inertia(body.mass, body.com, body.inertia), pin.SE3.Identity())
    model.armature = np.array([chi[f"Ia{j + 1}"] for j in range(robot.n)])
    return model


def reference(n: int) -> dict[str, np.ndarray]:
    t = np.arange(STEPS)[:, None] * DT
    rng = np.random.default_rng(0)
    w = 2 * np.pi * 0.1 * np.arange(1, 6)[:, None]
    a = rng.uniform(-0.4, 0.4, (5, n)) / np.arange(1, 6)[:, None]
    return {"q": sum(a[k] * np.sin(w[k] * t) for k in range(5)), "dq": sum(a[k] * w[k] * np.cos(w[k] * t) for k in range(5))}


def pinocchio_loop(
    model: pin.Model, chi: ia.Parameters, table: dict[str, np.ndarray], kp: np.ndarray, kd: np.ndarray
) -> np.ndarray:
    data = model.createData()
    n = model.nv
    fv, fc = (np.array([chi[f"{name}{j + 1}"] for j in range(n)]) for name in ("Fv", "Fc"))
    q, dq = table["q"][0].copy(), table["dq"][0].copy()
    for k in range(PEER_STEPS):
        tau = kp * (table["q"][k] - q) + kd * (table["dq"][k] - dq)
        ddq = pin.aba(model, data, q, dq, tau - fv * dq - fc * np.sign(dq))
        q, dq = q + DT * dq, dq + DT * ddq
    return q


def simulations(engine: ia.Engine, description: ia.Description, repeats: int) -> list[Row]:
    chi = description.prior
    gains = {name: np.array(description.loop[name], float) for name in ("kp", "kd")}
    table = reference(engine.n)
    model = pinocchio_model(description.robot, chi)
    many = chi.values * (1 + 0.02 * np.random.default_rng(1).uniform(-1, 1, (64, engine.layout.size)))

    def run(values: np.ndarray, integrator: str = "euler", noise: ia.Noise | None = None) -> Simulation:
        return engine.simulate(values, table, gains, DT, integrator=integrator, keep=50, noise=noise)

    expected = pinocchio_loop(model, chi, table, gains["kp"], gains["kd"])
    check = engine.simulate(chi.values, table, gains, DT, integrator="euler", keep=[PEER_STEPS])
    assert np.abs(check.q[0, 0] - expected).max() < 1e-9, "the two simulations do not agree"
    noise = ia.Noise(q=1.7e-6, tau=0.05)
    jobs = {
        "peer": lambda: pinocchio_loop(model, chi, table, gains["kp"], gains["kd"]),
        "one": lambda: run(chi.values),
        "batch": lambda: run(many),
        "one_rk4": lambda: run(chi.values, "rk4"),
        "batch_rk4": lambda: run(many, "rk4"),
        "batch_noise": lambda: run(many, "euler", noise),
    }
    for job in jobs.values():
        job()
    best = best_of(jobs, repeats)
    peer = 1e3 * best["peer"] * STEPS / PEER_STEPS
    of = "Python loop over pinocchio.aba, Euler"
    return [
        Row("simulation_one", 1e3 * best["one"], peer, "ms", of),
        Row("simulation_batch64", 1e3 * best["batch"] / 64, peer, "ms per run", of),
        Row("simulation_batch64_noise", 1e3 * best["batch_noise"] / 64, peer, "ms per run", of + " (without noise)"),
        Row("simulation_one_rk4", 1e3 * best["one_rk4"], 4 * peer, "ms", of + ", 4 times for RK4"),
        Row("simulation_batch64_rk4", 1e3 * best["batch_rk4"] / 64, 4 * peer, "ms per run", of + ", 4 times for RK4"),
    ]


def regressors(engine: ia.Engine, base: ia.BaseModel, description: ia.Description, repeats: int) -> list[Row]:
    rng = np.random.default_rng(0)
    q, dq, ddq, tau = rng.normal(size=(4, SAMPLES, engine.n))
    model = pinocchio_model(description.robot, description.prior)
    data = model.createData()
    few = 4000

    def peer() -> None:
        for k in range(few):
            pin.computeJointTorqueRegressor(model, data, q[k], dq[k], ddq[k])

    dense = np.zeros((8192, engine.n, engine.layout.size))
    entries = np.zeros((8192, len(engine.entries)))
    stack = np.hstack([engine.regressor(q, dq, ddq).reshape(-1, engine.layout.size), tau.reshape(-1, 1)])
    jobs = {
        "peer": peer,
        "chunks": lambda: [0 for _ in engine.regressor_chunks(q, dq, ddq)],
        "entries": lambda: engine.regressor_entries(q[:8192], dq[:8192], ddq[:8192], out=entries),
        "dense": lambda: engine.regressor(q[:8192], dq[:8192], ddq[:8192], out=dense),
        "tsqr": lambda: engine.factors(q, dq, ddq, tau),
        "tsqr_base": lambda: engine.factors(q, dq, ddq, tau, columns=base.retained),
    }
    for job in jobs.values():
        job()
    best = best_of(jobs, repeats)
    full_qr = best_of({"qr": lambda: np.linalg.qr(stack, mode="r")}, 2)["qr"]
    per_sample, of = 1e6 * best["peer"] / few, "pinocchio.computeJointTorqueRegressor from Python"
    qr = "LAPACK QR of the dense stack"
    return [
        Row("regressor", 1e6 * best["chunks"] / SAMPLES, per_sample, "us per sample", of),
        Row("regressor_entries", 1e6 * best["entries"] / 8192, per_sample, "us per sample", of),
        Row("regressor_dense", 1e6 * best["dense"] / 8192, per_sample, "us per sample", of),
        Row("tsqr", 1e6 * best["tsqr"] / SAMPLES, 1e6 * full_qr / SAMPLES, "us per sample", qr),
        Row("tsqr_base", 1e6 * best["tsqr_base"] / SAMPLES, 1e6 * full_qr / SAMPLES, "us per sample", qr + ", all columns"),
    ]


_MEMORY = """
import sys, resource, numpy as np, inertica as ia
N = int(sys.argv[1])
e = ia.Engine(ia.load(sys.argv[2]).layout, threads=1)
x = np.random.default_rng(0).normal(size=(N, e.n))
e.factors(x[:2000], x[:2000], x[:2000], x[:2000])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
e.factors(x, x, x, x)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""

_FIRST = """
import time; start = time.perf_counter()
import sys, numpy as np, inertica as ia
d = ia.load(sys.argv[1]); base = ia.base_model(d.layout); e = ia.engine(base)
x = np.zeros((8, e.n)); chi = d.prior
e.inverse_dynamics(x, x, x, chi)
first = time.perf_counter() - start
e.regressor(x, x, x); e.mass_matrix(x, chi); e.bias_forces(x, x, chi); e.forward_dynamics(x, x, x, chi)
e.torque_derivatives(x, x, x, chi); e.factors(x, x, x, x); e.factors(x, x, x, x, columns=base.retained)
for integrator in ("euler", "rk2", "rk4"):
    for runs in (1, 2):
        for noise in (None, ia.Noise(1e-6, 0.1)):
            values = np.tile(chi.values, (runs, 1))
            e.simulate(values, {"q": x, "dq": x}, {"kp": 1.0, "kd": 1.0}, 1e-3, integrator=integrator, noise=noise)
print(first, time.perf_counter() - start)
"""


def child(code: str, *args: str, cache: str | None = None) -> list[float]:
    environment = dict(os.environ) | ({"INERTICA_CACHE": cache, "NUMBA_CACHE_DIR": cache} if cache else {})
    done = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, env=environment, check=True)
    return [float(x) for x in done.stdout.split()]


def memory() -> list[Row]:
    small, large = (child(_MEMORY, str(N), ROBOT)[0] for N in (100_000, 1_000_000))
    return [
        Row(
            "memory_1e5_to_1e6_samples",
            max(large, 1.0),
            max(small, 1.0),
            "MiB added",
            "the same with 1e5 samples (flat: ratio 1)",
        )
    ]


def start_up() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        first = child(_FIRST, ROBOT, cache=folder)
        second = child(_FIRST, ROBOT, cache=folder)
    imported = "import time; s = time.perf_counter(); import inertica; print(time.perf_counter() - s)"
    return [
        Row("first_use_all_kernels", first[1], 20.0, "s", "the limit of 20 s"),
        Row("second_process_first_result", second[0], 2.0, "s", "the limit of 2 s"),
        Row("import_inertica", min(child(imported)[0] for _ in range(3)), 0.5, "s", "the limit of 0.5 s"),
    ]


def main() -> None:
    options = arguments(__doc__.splitlines()[0])
    description = ia.load(ROBOT)
    base = ia.base_model(description.layout)
    engine = ia.engine(base, threads=1)
    say("simulations ...")
    rows = simulations(engine, description, options.repeats)
    say("regressors ...")
    rows += regressors(engine, base, description, options.repeats)
    say("memory and start-up ...")
    rows += memory() + start_up()
    show(rows, options.json)


if __name__ == "__main__":
    main()
