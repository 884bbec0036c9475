"""Closed-loop simulation against plain loops over Pinocchio and NumPy."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp

from generators import random_parameters, random_robot, rich_layout, states
from inertica.dynamics import simulate as simulation
from inertica.dynamics.engine import Engine, Reduction
from inertica.dynamics.equations import Equations, plain_regressor
from inertica.dynamics.laws import FeedForward, Saturated
from inertica.dynamics.noise import TORQUE_CALL
from inertica.dynamics.simulate import Noise
from inertica.errors import InputError
from inertica.robot.control import PD, PID, Cascade, CascadePI
from inertica.robot.drives import Armature
from inertica.robot.friction import Coulomb, LoadDependent, LuGre, Viscous
from inertica.robot.layout import Layout
from inertica.robot.load import load
from philox import normals
from referee import pinocchio_model

DT = 2e-4


def smooth_reference(n: int, steps: int, seed: int = 0, dt: float = DT) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    t = np.arange(steps)[:, None] * dt
    amplitude, w = rng.uniform(0.1, 0.4, (3, n)), 2 * np.pi * np.array([0.5, 1.0, 1.5])[:, None]
    q = sum(amplitude[k] * (1 - np.cos(w[k] * t)) for k in range(3))
    dq = sum(amplitude[k] * w[k] * np.sin(w[k] * t) for k in range(3))
    return {"q": q, "dq": dq}


def plain_loop(acceleration, reference, gains, integrator, measured=None, dt=DT):
    """The same loop in plain Python; `measured(k, q)` gives a noisy position whose difference is the measured velocity."""
    q, dq = reference["q"][0].copy(), reference["dq"][0].copy()
    before = None if measured is None else measured(0, q) - dt * dq
    out = []
    for k in range(len(reference["q"])):
        position, velocity = q, dq
        if measured is not None:
            position = measured(k, q)
            velocity, before = (position - before) / dt, position
        tau = gains["kp"] * (reference["q"][k] - position) + gains["kd"] * (reference["dq"][k] - velocity)
        a = acceleration(q, dq, tau)
        out.append((q, dq, a, tau))
        if integrator == "euler":
            q, dq = q + dt * dq, dq + dt * a
        elif integrator == "rk2":
            middle = (q + dt / 2 * dq, dq + dt / 2 * a)
            q, dq = q + dt * middle[1], dq + dt * acceleration(*middle, tau)
        else:
            k1 = (dq, a)
            k2 = (dq + dt / 2 * k1[1], acceleration(q + dt / 2 * k1[0], dq + dt / 2 * k1[1], tau))
            k3 = (dq + dt / 2 * k2[1], acceleration(q + dt / 2 * k2[0], dq + dt / 2 * k2[1], tau))
            k4 = (dq + dt * k3[1], acceleration(q + dt * k3[0], dq + dt * k3[1], tau))
            q, dq = (x + dt / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]) for i, x in enumerate((q, dq)))
    return [np.array(x) for x in zip(*out, strict=True)]


def tx40():
    description = load("tx40")
    layout, chi = description.layout, description.prior
    model = pinocchio_model(layout.robot, [chi.link(j) for j in range(6)], [chi[f"Ia{j + 1}"] for j in range(6)])
    data = model.createData()
    fv, fc = (np.array([chi[f"{name}{j + 1}"] for j in range(6)]) for name in ("Fv", "Fc"))

    def acceleration(q, dq, tau):
        return pin.aba(model, data, q, dq, tau - fv * dq - fc * np.sign(dq))

    gains = {name: np.array(description.loop[name], float) for name in ("kp", "kd")}
    return layout, chi, acceleration, gains


@pytest.mark.parametrize("integrator", ["euler", "rk2", "rk4"])
@pytest.mark.parametrize("batch", [1, 11])
def test_one_second_agrees_with_a_pinocchio_loop(integrator: str, batch: int) -> None:
    layout, chi, acceleration, gains = tx40()
    reference = smooth_reference(6, 5000)
    q, dq, ddq, tau = plain_loop(acceleration, reference, gains, integrator)
    run = Engine(layout).simulate(np.tile(chi.values, (batch, 1)), reference, gains, DT, integrator=integrator)
    for b in range(0, batch, 5):
        assert np.abs(run.q[b] - q).max() < 1e-9
        assert np.abs(run.dq[b] - dq).max() < 1e-9
        assert np.abs(run.ddq[b] - ddq).max() < 1e-6
        assert np.abs(run.tau[b] - tau).max() < 1e-6


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_noise_in_the_kernel_is_the_noise_of_the_definition(integrator: str) -> None:
    layout, chi, acceleration, gains = tx40()
    reference = smooth_reference(6, 1000)
    sd = np.array([1e-6, 2e-6, 1e-6, 3e-6, 1e-6, 2e-6])
    z = normals(9, [5], np.arange(1000), 6)[0]
    q, _, _, tau = plain_loop(acceleration, reference, gains, integrator, lambda k, x: x + sd * z[k])
    noise = Noise(q=sd, tau=0.05, seed=9)
    run = Engine(layout).simulate(
        np.tile(chi.values, (3, 1)), reference, gains, DT, integrator=integrator, noise=noise, runs=[4, 5, 6]
    )
    assert np.abs(run.q[1] - q).max() < 1e-9
    assert np.abs(run.q_measured[1] - (q + sd * z)).max() < 1e-9
    assert np.abs(run.tau[1] - tau).max() < 1e-5
    torque_noise = normals(9, [5], np.arange(1000), 6, TORQUE_CALL)[0]
    assert np.abs(run.tau_measured[1] - run.tau[1] - 0.05 * torque_noise).max() < 1e-10


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_a_run_is_the_same_bytes_in_any_batch(integrator: str) -> None:
    layout, chi, _, gains = tx40()
    engine = Engine(layout, threads=2)
    reference = smooth_reference(6, 300)
    rng = np.random.default_rng(2)
    many = chi.values * (1 + 0.05 * rng.uniform(-1, 1, (19, layout.size)))
    noise = Noise(q=1e-6, tau=0.1, seed=3)

    def simulate(rows):
        return engine.simulate(many[rows], reference, gains, DT, integrator=integrator, noise=noise, runs=np.array(rows), keep=7)

    whole = simulate(list(range(19)))
    for rows in ([13], [13, 2], list(range(18, -1, -1))):
        part = simulate(rows)
        for name in ("q", "dq", "ddq", "tau", "q_measured", "tau_measured"):
            assert np.array_equal(getattr(part, name)[rows.index(13)], getattr(whole, name)[13])


def test_base_parameters_give_the_same_motion() -> None:
    layout, chi, _, gains = tx40()
    rng = np.random.default_rng(0)
    Y = plain_regressor(layout, *rng.normal(size=(3, 200, 6))).reshape(-1, layout.size)
    dropped = {f"{p}{j}" for p in ("YY", "MZ", "M") for j in range(2, 7)} | {"Ia1", "Ia2"}
    dropped |= {f"{p}1" for p in ("XX", "XY", "XZ", "YY", "YZ", "MX", "MY", "MZ", "M")}
    kept = tuple(k for k, name in enumerate(layout.names) if name not in dropped)
    assert len(kept) == 52
    matrix = np.linalg.lstsq(Y[:, kept], Y, rcond=None)[0]
    reference = smooth_reference(6, 2000)
    full = Engine(layout).simulate(chi, reference, gains, DT)
    base = Engine(layout, Reduction(kept, matrix)).simulate(chi, reference, gains, DT)
    assert np.abs(full.q - base.q).max() < 1e-11


def test_random_trees_with_all_terms_agree_with_their_equations() -> None:
    for seed in (1, 3, 6):
        layout = rich_layout(random_robot(seed, n=3))
        equations, chi = Equations(layout), random_parameters(layout, seed)
        shapes = [s.value for s in layout.shapes]

        def acceleration(q, dq, tau, e=equations, c=chi, s=shapes):
            return np.array(e.forward_dynamics(q, dq, tau, c.values, s), float)

        gains = {"kp": np.full(3, 400.0), "kd": np.full(3, 40.0)}
        reference = smooth_reference(3, 200, seed)
        expected = plain_loop(acceleration, reference, gains, "rk4")
        run = Engine(layout).simulate(chi, reference, gains, DT)
        assert np.abs(run.q[0] - expected[0]).max() < 1e-10


def test_pid_with_windup_and_saturation() -> None:
    layout, chi, acceleration, gains = tx40()
    gains = gains | {"ki": np.full(6, 3000.0), "windup": np.full(6, 1e-4), "limit": np.array([20.0, 60, 30, 8, 6, 4])}
    reference = smooth_reference(6, 600)
    integral, q, dq = np.zeros(6), reference["q"][0].copy(), reference["dq"][0].copy()
    positions, saturated = [], 0
    for r, dr in zip(reference["q"], reference["dq"], strict=True):
        integral = np.clip(integral + DT * (r - q), -gains["windup"], gains["windup"])
        free = gains["kp"] * (r - q) + gains["kd"] * (dr - dq) + gains["ki"] * integral
        tau = np.clip(free, -gains["limit"], gains["limit"])
        saturated += int(np.any(tau != free))
        a = acceleration(q, dq, tau)
        positions.append(q)
        q, dq = q + DT * dq, dq + DT * a
    run = Engine(layout).simulate(chi, reference, gains, DT, law=Saturated(PID()), integrator="euler")
    assert saturated > 10
    assert np.abs(run.q[0] - np.array(positions)).max() < 1e-9


def test_pi_velocity_loop_with_windup_and_saturation() -> None:
    layout, chi, acceleration, gains = tx40()
    gains = {"kp": np.full(6, 30.0), "kv": gains["kd"], "ki": np.full(6, 15.0), "windup": np.full(6, 0.05)}
    gains |= {"limit": np.array([20.0, 60, 30, 8, 6, 4])}
    reference = smooth_reference(6, 600)
    integral, q, dq = np.zeros(6), reference["q"][0].copy(), reference["dq"][0].copy()
    positions, saturated, wound = [], 0, 0
    for r in reference["q"]:
        error = gains["kp"] * (r - q) - dq
        free_integral = integral + DT * error
        integral = np.clip(free_integral, -gains["windup"], gains["windup"])
        free = gains["kv"] * (error + gains["ki"] * integral)
        tau = np.clip(free, -gains["limit"], gains["limit"])
        saturated, wound = saturated + int(np.any(tau != free)), wound + int(np.any(integral != free_integral))
        a = acceleration(q, dq, tau)
        positions.append(q)
        q, dq = q + DT * dq, dq + DT * a
    run = Engine(layout).simulate(chi, reference, gains, DT, law=Saturated(CascadePI()), integrator="euler")
    assert saturated > 10 and wound > 10
    assert np.abs(run.q[0] - np.array(positions)).max() < 1e-9


def test_pi_velocity_loop_against_an_integrated_equation() -> None:
    """The loop in continuous time, its integral a state of scipy's: a control period of 50 us comes within its first order of it."""
    layout, chi, acceleration, gains = tx40()
    smooth = chi.values * ~np.array([p.kind == "coulomb" for p in layout.parameters])  # no jumps for an adaptive step to find
    dry = np.array([chi[f"Fc{j + 1}"] for j in range(6)])
    gains = {"kp": np.full(6, 20.0), "kv": gains["kd"], "ki": np.full(6, 10.0)}
    dt, steps = 5e-5, 8000
    reference = smooth_reference(6, steps, dt=dt)
    t = dt * np.arange(steps)

    def rate(now: float, x: np.ndarray) -> np.ndarray:
        q, dq, integral = np.split(x, 3)
        r = np.array([np.interp(now, t, column) for column in reference["q"].T])
        error = gains["kp"] * (r - q) - dq
        tau = gains["kv"] * (error + gains["ki"] * integral)
        return np.concatenate([dq, acceleration(q, dq, tau + dry * np.sign(dq)), error])

    start = np.concatenate([reference["q"][0], reference["dq"][0], np.zeros(6)])
    referee = solve_ivp(rate, (0.0, t[-1]), start, method="LSODA", rtol=1e-7, atol=1e-8, t_eval=t[::500])
    windup = {"windup": np.full(6, np.inf)}
    run = Engine(layout).simulate(smooth, reference, gains | windup, dt, law=CascadePI(), keep=np.arange(0, steps, 500).tolist())
    moved = np.abs(referee.y[:6] - referee.y[:6, :1]).max()
    assert np.abs(run.q[0] - referee.y[:6].T).max() < 2e-4 * moved
    without = Engine(layout).simulate(smooth, reference, gains | windup | {"ki": np.zeros(6)}, dt, law=CascadePI(), keep=[7500])
    assert np.abs(without.q[0, 0] - referee.y[:6, -1]).max() > 0.01 * moved  # the integral is felt


def test_cascade_and_feed_forward_are_what_their_formulas_say() -> None:
    layout, chi, _, gains = tx40()
    engine = Engine(layout)
    reference = smooth_reference(6, 200)
    start = (reference["q"][0] + 0.01, np.full(6, 0.1))
    cascade = {"kp": np.full(6, 30.0), "kv": gains["kd"]}
    run = engine.simulate(chi, reference, cascade, DT, law=Cascade(), start=start)
    assert np.allclose(run.tau[0], cascade["kv"] * (30.0 * (reference["q"] - run.q[0]) - run.dq[0]), rtol=1e-12)
    extra = np.sin(np.arange(1200)).reshape(200, 6)
    run = engine.simulate(chi, reference | {"tau": extra}, gains, DT, law=FeedForward(PD()), start=start)
    expected = gains["kp"] * (reference["q"] - run.q[0]) + gains["kd"] * (reference["dq"] - run.dq[0]) + extra
    assert np.allclose(run.tau[0], expected, rtol=1e-9)


def test_lugre_friction_sticks_and_slips() -> None:
    """A pendulum-free joint pushed by less than its friction only bends its bristle; pushed by more it moves."""
    robot = random_robot(2, n=1).with_gravity([0, 0, 0])
    layout = Layout(robot, (Armature(0), LuGre(0, sigma0=1e4, sigma1=300.0, fc=1.0, fs=1.5, vs=0.01)))
    chi = random_parameters(layout, 0)
    steps = 5000
    engine = Engine(layout)
    moved = []
    for push in (0.4, 1.8):  # a proportional law far from its target is a constant push
        reference = {"q": np.full((steps, 1), push * 1e3), "dq": np.zeros((steps, 1))}
        run = engine.simulate(chi, reference, {"kp": 1e-3, "kd": 0.0}, 1e-4, start=([0.0], [0.0]))
        moved.append(run.q[0, -1, 0])
    assert 0.4e-4 < moved[0] < 0.8e-4  # push / sigma0, and a little plastic creep
    assert moved[1] > 1e-3


def test_recorded_steps() -> None:
    layout, chi, _, gains = tx40()
    engine = Engine(layout)
    reference = smooth_reference(6, 100)
    every = engine.simulate(chi, reference, gains, DT)
    some = engine.simulate(chi, reference, gains, DT, keep=[0, 1, 57, 99])
    assert np.array_equal(some.q, every.q[:, [0, 1, 57, 99]])
    assert every.stable.all()
    with pytest.raises(InputError, match="ascend within"):
        engine.simulate(chi, reference, gains, DT, keep=[5, 100])


def test_a_run_that_diverges_is_marked_and_leaves_its_neighbours_alone() -> None:
    layout, chi, _, gains = tx40()
    engine = Engine(layout)
    reference = smooth_reference(6, 2000)
    kp = np.tile(gains["kp"], (3, 1))
    kp[1] *= 1e5
    run = engine.simulate(chi, reference, {"kp": kp, "kd": gains["kd"]}, DT)
    assert run.stable.tolist() == [True, False, True]
    assert np.array_equal(run.q[0], engine.simulate(chi, reference, gains, DT).q[0])


def test_what_is_missing_is_named() -> None:
    layout, chi, _, gains = tx40()
    engine = Engine(layout)
    reference = smooth_reference(6, 10)
    with pytest.raises(InputError, match="gain 'kd'"):
        engine.simulate(chi, reference, {"kp": 1.0}, DT)
    with pytest.raises(InputError, match="reference 'dq'"):
        engine.simulate(chi, {"q": reference["q"]}, gains, DT)
    with pytest.raises(InputError, match="unknown integrator 'rk5'"):
        engine.simulate(chi, reference, gains, DT, integrator="rk5")
    with pytest.raises(InputError, match="different numbers of runs"):
        engine.simulate(np.tile(chi.values, (3, 1)), reference, {"kp": np.ones((2, 6)), "kd": 1.0}, DT)


def test_friction_laws_mixed_per_joint_simulate() -> None:
    robot = random_robot(8, n=3)
    layout = Layout(robot, (Armature(0), Armature(1), Armature(2), Viscous(0), Coulomb(1, width=0.05), LuGre(2)))
    run = Engine(layout).simulate(random_parameters(layout, 1), smooth_reference(3, 200), {"kp": 300.0, "kd": 30.0}, DT)
    assert run.stable.all()


def test_load_dependent_friction_follows_gravity() -> None:
    """Against the same robot without it: the difference of the torques that keep a velocity is mu |gravity| sign(dq)."""
    robot = random_robot(1, n=2)
    plain = Layout(robot, (Armature(0), Armature(1)))
    chi = random_parameters(plain, 0)
    rubbing = Layout(robot, (*plain.terms, LoadDependent(0, chi.moments()), LoadDependent(1, chi.moments())))
    loaded = chi.on(rubbing).replaced({"mu1": 0.1, "mu2": 0.3})
    q, dq, ddq = states(0, 20, 2)
    gravity = Engine(plain).bias_forces(q, np.zeros_like(dq), chi)
    tau = Engine(plain).inverse_dynamics(q, dq, ddq, chi)
    expected = tau + np.array([0.1, 0.3]) * np.abs(gravity) * np.sign(dq)
    assert np.allclose(Engine(rubbing).inverse_dynamics(q, dq, ddq, loaded), expected)
    assert np.allclose(plain_regressor(rubbing, q, dq, ddq) @ loaded.values, expected)
    reference = smooth_reference(2, 50)
    run = Engine(rubbing).simulate(loaded, reference, {"kp": 400.0, "kd": 40.0}, DT)
    back = Engine(rubbing).inverse_dynamics(run.q[0, 9:10], run.dq[0, 9:10], run.ddq[0, 9:10], loaded)
    assert np.allclose(back, run.tau[0, 9])


def test_load_dependent_friction_says_what_it_lacks() -> None:
    layout = Layout(random_robot(1, n=2), (LoadDependent(0),))
    with pytest.raises(InputError, match="needs the first moments and the mass of every link"):
        plain_regressor(layout, *states(0, 3, 2))


def test_a_reference_that_was_changed_is_seen() -> None:
    """Tables of references are kept only for arrays that nobody can have written to."""
    law = PD()
    q, dq = np.zeros((5, 2)), np.zeros((5, 2))
    first = simulation._reference_table(2, law, {"q": q, "dq": dq})
    q[:] = 1.0
    assert simulation._reference_table(2, law, {"q": q, "dq": dq})[0, 0] == 1.0 and first[0, 0] == 0.0
    for signal in (q, dq):
        signal.setflags(write=False)
    kept = simulation._reference_table(2, law, {"q": q, "dq": dq})
    assert simulation._reference_table(2, law, {"q": q, "dq": dq}) is kept
    assert simulation._reference_table(2, law, {"q": q.copy(), "dq": dq}) is not kept
