"""Closed-loop identification: DIDIM, the Jacobian of CLIE, and a whole fit against mujoco.sysid.

    python benchmarks/closed_loop.py [--json]

The peer of the last row is PyPI `mujoco[sysid]`: six links of ten inertial parameters, armature, damping and dry friction, 78 in all,
10 s at 1 kHz under PD control, torques recorded by MuJoCo itself.  It is stopped when its torque residual comes within 1 % of ours, or
after `--patience` seconds, whichever is first.  Without the package that row is left out.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace

import mujoco
import numpy as np
from bench import Row, best_of, say, show
from mujoco import rollout
from simulation import PEER_STEPS, mujoco_body, pinocchio_rk4

import inertica as ia
from dynamics import ROBOT, STEPS, pinocchio_model
from inertica.estimators.base import Problem
from inertica.estimators.closed_loop.didim import Didim
from inertica.estimators.closed_loop.iv import Iv
from inertica.estimators.closed_loop.loop_simulation import LoopSimulator
from inertica.estimators.closed_loop.output_error import Clie, Cloe
from inertica.estimators.closed_loop.start import FromPrior, Random
from inertica.estimators.closed_loop.torque_only import torque_only
from inertica.excitation.files import catalog_trajectory
from inertica.experiment import ControlLoop, Experiment
from inertica.identifiability.labels import trust_labels
from inertica.logs.log import Log
from inertica.preprocessing.filters import Unfiltered
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe

RATE, SECONDS, NOISE = 1000.0, 10.0, 0.05


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="a list of {name, ours, peer, unit, ratio, of} on stdout")
    parser.add_argument("--repeats", type=int, default=5, help="each job runs this often, the shortest time counts (default 5)")
    parser.add_argument("--patience", type=float, default=120.0, help="seconds that mujoco.sysid is given (default 120)")
    return parser.parse_args()


def problem(description: ia.Description) -> Problem:
    """The catalog robot on its trajectory: 10 s, control at 5 kHz, sampling at 1 kHz, the survey's first noise row."""
    trajectory = catalog_trajectory(ROBOT).trajectory
    log = Experiment.of(description, noise="low_position").run(trajectory, seed=1)[0]
    motion = prepare(log, Recipe(filter=Unfiltered()))
    return Problem(ia.base_model(description.layout), (motion,), description.prior, ControlLoop.of(description))


def methods(description: ia.Description, p: Problem, repeats: int) -> list[Row]:
    """Whole estimates beside a simulation by a Python loop over Pinocchio, times the simulations they take."""
    simulator = LoopSimulator(p)
    table = simulator.tracks[0].reference
    gains = simulator.loop.gains
    peer = pinocchio_model(description.robot, description.prior)
    one = best_of({"peer": lambda: pinocchio_rk4(peer, description.prior, dict(table), gains["kp"], gains["kd"])}, 2)["peer"]
    per_simulation = one * STEPS / PEER_STEPS
    rows = []
    for name, method, times in (
        ("didim", Didim(start=Random()), repeats),
        ("iv", Iv(start=Random()), repeats),
        ("clie", Clie(start=Random()), 1),
        ("cloe", Cloe(start=Random()), 1),
    ):
        say(f"{name} ...")
        e = method.estimate(p, np.random.default_rng(0))
        took = best_of({"ours": lambda m=method: m.estimate(p, np.random.default_rng(0))}, times)["ours"]
        say(f"  {took:.3f} s, {e.iterations} iterations, {e.simulations} simulations, {e.simulations / took:.0f} per second")
        rows.append(
            Row(f"{name}_estimate", took, e.simulations * per_simulation, "s", "its simulations by a Python loop over Pinocchio")
        )
    return rows


def jacobian(p: Problem, repeats: int) -> Row:
    """b + 1 simulations as lanes of one batch against one after the other."""
    simulator = LoopSimulator(p)
    beta = p.prior_beta
    points = np.vstack([beta, beta + np.diag(1e-3 * np.maximum(np.abs(beta), 1e-3))])

    def batch() -> None:
        for _ in simulator.batches(points):
            pass

    def single() -> None:
        for point in points:
            simulator(point)

    batch(), single()
    took = best_of({"batch": batch, "single": single}, max(2, repeats // 2))
    return Row("clie_jacobian", took["batch"], took["single"], "s", "the same simulations one after the other")


def mujoco_spec(robot: ia.Robot, chi: ia.Parameters, kp: np.ndarray, kd: np.ndarray) -> mujoco.MjSpec:
    """The robot under PD control: a position and a velocity actuator on every joint, their torque as sensor."""
    spec = mujoco.MjSpec()
    spec.option.timestep = 1.0 / RATE
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    spec.option.disableflags = mujoco.mjtDisableBit.mjDSBL_EULERDAMP | mujoco.mjtDisableBit.mjDSBL_CONTACT
    spec.compiler.degree = False
    bodies: list[mujoco.MjsBody] = []
    for j, joint in enumerate(robot.joints):
        body = mujoco_body(spec.worldbody if joint.parent < 0 else bodies[joint.parent], joint, chi.link(j))
        drive = {"armature": chi[f"Ia{j + 1}"], "damping": [chi[f"Fv{j + 1}"], 0.0, 0.0], "frictionloss": chi[f"Fc{j + 1}"]}
        hinge = body.add_joint(name=joint.name, type=mujoco.mjtJoint.mjJNT_HINGE, axis=joint.axis)
        _set_drive(hinge, drive)
        bodies.append(body)
        for kind, gain, bias in (("p", kp[j], [0.0, -kp[j], 0.0]), ("v", kd[j], [0.0, 0.0, -kd[j]])):
            actuator = spec.add_actuator(name=f"{kind}{j + 1}", target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
            actuator.gaintype, actuator.biastype = mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_AFFINE
            actuator.gainprm[0] = gain
            actuator.biasprm[:3] = bias
    for j, joint in enumerate(robot.joints):
        spec.add_sensor(
            name=f"torque{j + 1}", type=mujoco.mjtSensor.mjSENS_JOINTACTFRC, objtype=mujoco.mjtObj.mjOBJ_JOINT, objname=joint.name
        )
    return spec


def _set_drive(hinge: mujoco.MjsJoint, drive: dict[str, object]) -> None:
    hinge.armature, hinge.frictionloss = drive["armature"], drive["frictionloss"]
    try:
        hinge.damping = drive["damping"]
    except (TypeError, ValueError):  # a plain number in older versions
        hinge.damping = drive["damping"][0]  # type: ignore[index]


def against_sysid(description: ia.Description, patience: float) -> Row | None:
    from mujoco import sysid

    if not hasattr(sysid, "optimize"):
        say("mujoco.sysid is not complete; pip install 'mujoco[sysid]'")
        return None
    robot, n = description.robot, description.robot.n
    truth = description.prior.replaced({f"Fc{j + 1}": 0.0 for j in range(n)})  # MuJoCo's dry friction is another model than ours
    rng = np.random.default_rng(3)
    start = truth.with_values(_perturbed(truth, rng))
    loop = ControlLoop("pd", RATE, {k: ControlLoop.of(description).gains[k] for k in ("kp", "kd")}, difference_velocity=False)
    t = np.arange(int(SECONDS * RATE)) / RATE
    samples = catalog_trajectory(ROBOT).trajectory(t)
    control = np.stack([samples.q, samples.dq], axis=2).reshape(len(t), -1)  # p1 v1 p2 v2 ...
    spec = mujoco_spec(robot, truth, loop.gains["kp"], loop.gains["kd"])
    model = spec.compile()
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = samples.q[0], samples.dq[0]
    first = sysid.create_initial_state(model, data.qpos, data.qvel, data.act)
    state, sensed = rollout.rollout(model, data, first, control[:-1])
    torque = np.squeeze(sensed, axis=0) + NOISE * rng.standard_normal((len(t) - 1, n))
    times = np.squeeze(state, axis=0)[:, 0]
    log = Log.from_arrays(t[:-1], {"qr": samples.q[:-1], "dqr": samples.dq[:-1], "tau": torque})
    own = Problem(ia.base_model(description.layout), (torque_only(log),), start, loop)
    estimate = Didim(start=FromPrior()).estimate(own)
    took = best_of({"ours": lambda: Didim(start=FromPrior()).estimate(own)}, 3)["ours"]
    target = _misfit(own, estimate.beta, torque)
    labels = Counter(trust_labels(own.base, estimate.beta, estimate.std).values())
    say(f"ours: {took:.3f} s, {estimate.iterations} iterations, relative torque residual {target:.5f}; labels {dict(labels)}")
    reached, seconds = _sysid_time(sysid, robot, start, loop, control, torque, times, first, 1.01 * target, patience)
    say(f"mujoco.sysid: {seconds:.1f} s, relative torque residual {reached:.5f}, 78 numbers without labels")
    of = (
        "mujoco.sysid to the same torque residual"
        if reached <= 1.01 * target
        else "mujoco.sysid, given up before the same residual"
    )
    return Row("sysid_78_parameters", took, seconds, "s", of)


def _perturbed(truth: ia.Parameters, rng: np.random.Generator) -> np.ndarray:
    """Every body's density and every drive off by up to 15 %: still bodies that can exist."""
    values = truth.values.copy()
    for j in range(truth.layout.robot.n):
        values[truth.layout.link(j)] *= 1.0 + 0.15 * rng.uniform(-1.0, 1.0)
        for name in ("Ia", "Fv"):
            values[truth.layout.index(f"{name}{j + 1}")] *= 1.0 + 0.15 * rng.uniform(-1.0, 1.0)
    return values


def _misfit(p: Problem, beta: np.ndarray, torque: np.ndarray) -> float:
    replays, _ = LoopSimulator(p)(beta)
    return float(np.linalg.norm(torque - replays[0].tau[0]) / np.linalg.norm(torque))


def _set_body(sysid, link):  # type: ignore[no-untyped-def]
    """Writes the peer's ten pseudo-inertia coordinates into a body; its own writer needs bodies with geometry."""

    def modify(spec, parameter):  # type: ignore[no-untyped-def]
        pi = sysid.model_modifier.pi_from_theta(parameter.value)
        body, com = spec.body(link), pi[1:4] / pi[0]
        skew = sysid.model_modifier.skew(com)
        I = pi[4:].reshape(3, 3) + pi[0] * skew @ skew
        body.mass, body.ipos, body.explicitinertial = pi[0], com, True
        body.fullinertia = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]

    return modify


class Reached(Exception):  # noqa: N818  (ends the peer's loop, is no error)
    """The peer came as far as it has to, or ran out of patience."""


def _sysid_time(sysid, robot, start, loop, control, torque, times, first, target, patience):  # type: ignore[no-untyped-def]
    """Least relative residual that mujoco.sysid reached, and the seconds until then."""
    spec = mujoco_spec(robot, start, loop.gains["kp"], loop.gains["kd"])
    model = spec.compile()
    params = sysid.ParameterDict()
    for j, joint in enumerate(robot.joints):
        scratch = mujoco_spec(robot, start, loop.gains["kp"], loop.gains["kd"])  # reading its parameters changes a spec
        kind = sysid.InertiaType.Pseudo
        params.add(sysid.body_inertia_param(scratch, model, joint.link, inertia_type=kind, modifier=_set_body(sysid, joint.link)))
        for name, symbol, most in (("armature", "Ia", 2.0), ("damping", "Fv", 20.0), ("frictionloss", "Fc", 5.0)):

            def modify(s, p, joint=joint.name, name=name):  # type: ignore[no-untyped-def]
                value = float(p.value[0])
                hinge = s.joint(joint)
                if name == "damping":
                    try:
                        hinge.damping = [value, 0.0, 0.0]
                    except (TypeError, ValueError):
                        hinge.damping = value
                else:
                    setattr(hinge, name, value)

            params.add(sysid.Parameter(f"{name}{j + 1}", start[f"{symbol}{j + 1}"] + 0.02, 0.0, most, modifier=modify))
    names = [f"torque{j + 1}" for j in range(robot.n)]
    controls = sysid.TimeSeries(np.arange(len(control)) / RATE, control)
    measured = sysid.TimeSeries.from_names(times, torque, model)
    sequences = sysid.ModelSequences("arm", spec, "run", first.ravel(), controls, measured)
    say(f"  {params.size if hasattr(params, 'size') else len(params.as_vector())} parameters, sensors {', '.join(names)}")
    plain = sysid.build_residual_fn(models_sequences=[sequences])
    begun, best = time.perf_counter(), [np.inf, 0.0]

    def watched(x, p, **more):  # type: ignore[no-untyped-def]
        out = plain(x, p, **more)
        if x.ndim == 1 or x.shape[1] == 1:
            predicted, recorded = out[1][0][0].data, out[2][0][0].data
            gap = float(np.linalg.norm(recorded - predicted) / np.linalg.norm(recorded))
            if gap < best[0]:
                best[:] = [gap, time.perf_counter() - begun]
                say(f"  {best[1]:6.1f} s: {gap:.5f}")
        if best[0] <= target or time.perf_counter() - begun > patience:
            raise Reached
        return out

    with suppress(Reached):
        sysid.optimize(params, watched, optimizer="mujoco", verbose=False, max_iters=200)
    return best[0], best[1] if best[0] <= target else time.perf_counter() - begun


def main() -> None:
    options = arguments()
    description = ia.load(ROBOT)
    p = problem(description)
    rows = methods(description, p, options.repeats)
    say("Jacobian ...")
    rows.append(jacobian(p, options.repeats))
    say("against mujoco.sysid ...")
    row = against_sysid(replace(description, noise={}), options.patience)
    show(rows if row is None else [*rows, row], options.json)


if __name__ == "__main__":
    main()
