"""Consistent solves inside methods: feasibility, exactness, what they gain, and what they say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from estimators.simulated import SIGMA, exact_motion, noisy, robot
from inertica.errors import InputError
from inertica.estimators.base import Capability, Need, Problem
from inertica.estimators.consistent.strategy import STRENGTHS, Consistent, cross_validated, settled
from inertica.estimators.linear.least_squares import Ols, Wls
from inertica.estimators.registry import METHODS, method
from inertica.physical.constraints import PHYSICAL, Equal, MassBounds
from inertica.physical.priors import Entropic, Euclidean, Pullback
from inertica.preprocessing.motion import Motion
from inertica.robot import inertia
from inertica.robot.layout import Layout, Parameters

PC = [name for name in METHODS if name.startswith("pc-") and Need.LOOP not in method(name).needs]


def problem_of(level: float, seed: int = 0, name: str = "tx40", off: float = 0.2) -> Problem:
    """Torque noise of `level` times the usual, a prior that is off."""
    description, base = robot(name)
    motion = exact_motion(description.prior, duration=5.0, seed=seed)
    n = description.robot.n
    motion = noisy(motion, level * SIGMA[:n] * np.random.default_rng(seed).normal(size=motion.tau.shape))
    return Problem(base, (motion,), description.prior.with_values(description.prior.values * (1 + off)))


def consistent(layout: Layout, chi: np.ndarray) -> bool:
    bodies = all(inertia.physically_consistent(chi[w]) for _, w in layout.bodies)
    return bodies and all(v >= p.lower for p, v in zip(layout.parameters, chi, strict=True) if p.kind in ("viscous", "armature"))


@pytest.mark.parametrize("name", PC)
def test_every_variant_returns_real_robots_and_its_own_name(name: str) -> None:
    problem = problem_of(4.0)
    found = method(name).estimate(problem)
    assert found.method == name
    assert found.chi is not None and consistent(problem.base.layout, found.chi)
    assert np.allclose(problem.base.beta(found.chi), found.beta, rtol=1e-10, atol=1e-12)
    assert np.isfinite(found.std).all() and (found.std >= 0).all()


def test_plain_least_squares_leaves_the_feasible_set_here() -> None:
    from inertica.estimators.standard import nearest_prior

    problem = problem_of(4.0)
    chi = nearest_prior(problem.base, Wls().estimate(problem).beta, problem.prior)
    assert not consistent(problem.base.layout, chi)


@pytest.mark.parametrize("name", [n for n in PC if n != "pc-ridge" and Capability.ABSOLUTE not in method(n).capabilities])
def test_exact_data_give_the_truth_whatever_the_prior(name: str) -> None:
    problem = problem_of(0.0, off=0.5)
    beta = problem.base.beta(robot("tx40")[0].prior.values)
    found = method(name).estimate(problem)
    assert np.abs(found.beta - beta).max() < 1e-6 * np.abs(beta).max()


def test_constraints_do_not_hurt_and_mostly_help() -> None:
    errors = []
    truth = robot("tx40")[0].prior.values
    for seed in range(6):
        problem = problem_of(4.0, seed)
        beta = problem.base.beta(truth)
        plain, held = Wls(hac=False).estimate(problem), Wls(solve=Consistent(), hac=False).estimate(problem)
        sd = np.sqrt(np.diag(plain.diagnostics.plain_covariance))
        errors.append([np.linalg.norm((e.beta - beta) / sd) for e in (plain, held)])
    assert np.mean(errors, axis=0)[1] < np.mean(errors, axis=0)[0]


def test_a_fit_inside_the_set_is_the_plain_one() -> None:
    problem = replace(problem_of(0.02), prior=robot("tx40")[0].prior)
    plain, held = Wls().estimate(problem), Wls(solve=Consistent()).estimate(problem)
    assert held.warnings == ()
    assert np.abs((held.beta - plain.beta) / plain.std).max() < 0.02
    assert held.std == pytest.approx(plain.std, rel=0.02)


def test_active_constraints_are_named_with_their_price() -> None:
    found = Wls(solve=Consistent()).estimate(problem_of(4.0))
    (said,) = [w for w in found.warnings if "held back" in w]
    assert "a body that can exist" in said and "its residual rises by" in said


def test_active_inequalities_do_not_feign_certainty_and_equations_add_some() -> None:
    problem = problem_of(4.0)
    weak = Consistent(prior=Euclidean(1e-4))
    plain, held = Wls(hac=False).estimate(problem), Wls(solve=weak, hac=False).estimate(problem)
    assert any("held back" in w for w in held.warnings)
    assert (held.std <= plain.std * (1 + 1e-6)).all() and (held.std > 0.9 * plain.std).all()
    equal = Wls(solve=replace(weak, constraints=(*PHYSICAL, Equal({"Fv1": 1.0, "Fv2": -1.0}))), hac=False).estimate(problem)
    k = [problem.base.names.index(name) for name in ("Fv1", "Fv2")]
    assert (equal.std[k] < 0.95 * plain.std[k]).any() and equal.std[k][0] == pytest.approx(equal.std[k][1], rel=1e-3)


def test_rows_need_not_have_unit_variance() -> None:
    """The pull is weighed against the noise of the rows, so scaling all rows changes nothing."""
    problem = problem_of(2.0)
    stacked = problem.observations.stacked()
    solve = Consistent(prior=Euclidean(1.0))
    one = solve(stacked, problem)
    other = solve(replace(stacked, R=1e-3 * stacked.R, z=1e-3 * stacked.z, rest=1e-3 * stacked.rest), problem)
    assert np.allclose(one.beta, other.beta, rtol=1e-5, atol=1e-6)


def test_solvers_agree_and_wrong_pairs_are_refused() -> None:
    problem = problem_of(4.0, name="scara4")
    system, cone = problem.observations.stacked(), Consistent(prior=Pullback(0.1))
    program, fit = cone.program(problem), cone.fit(system, problem)
    penalty = cone.prior.penalty(program.reference, fit)
    first, second, third = (
        problem.base.beta(replace(cone, solver=s).solve(program, fit, penalty).chi) for s in ("cone", "newton", "cholesky")
    )
    scale = np.maximum(np.abs(first), 1e-3)
    assert np.abs((second - first) / scale).max() < 1e-3
    assert np.abs((third - first) / scale).max() < 1e-3
    with pytest.raises(InputError, match="takes quadratic priors only"):
        Ols(solve=Consistent(prior=Entropic(), solver="cone")).estimate(problem)


def test_user_constraints_reach_the_fit() -> None:
    problem = problem_of(1.0)
    solve = Consistent(constraints=(*PHYSICAL, MassBounds({2: (9.0, 9.5)})))
    found = Wls(solve=solve).estimate(problem)
    assert 9.0 - 1e-6 <= found.chi[problem.base.layout.index("M2")] <= 9.5 + 1e-6


def test_strength_by_cross_validation() -> None:
    problem = problem_of(4.0, off=0.02)  # a good prior and poor data: a strong pull predicts best
    system = problem.observations
    blocks = [block.stacked(weights=1.0 / system.sigmas) for block in system.blocks(4)]
    chosen, scores = cross_validated(Consistent(prior=Euclidean()), blocks, problem, (1e-2, 1.0, 1e2))
    assert set(scores) == {1e-2, 1.0, 1e2}
    assert chosen.prior.strength == min(scores, key=scores.get) >= 1.0


def test_coupled_drives_hold_the_motors_share() -> None:
    import inertica as ia
    from inertica.identifiability.base import base_model
    from inertica.robot.drives import Coupling

    description = ia.load("tx40")
    description = description.with_terms((*description.layout.terms, Coupling(5, (4, 5))))
    values = description.prior.replaced({"Iam6": 0.02, "Fvm6": 0.05, "Fcm6": 0.1, "Ia6": 0.021, "Ia5": 0.05})
    motion = exact_motion(values, duration=5.0)
    motion = noisy(motion, 4.0 * SIGMA * np.random.default_rng(3).normal(size=motion.tau.shape))
    found = Wls(solve=Consistent()).estimate(Problem(base_model(description.layout), (motion,), values))
    got = values.with_values(found.chi)
    assert got["Ia6"] >= got["Iam6"] >= 0 and got["Ia5"] >= got["Iam6"]
    assert got["Fv6"] >= got["Fvm6"] >= 0 and got["Fv5"] >= got["Fvm6"]


def test_real_record_price_and_validation(real_data, tmp_path) -> None:
    from inertica.workflow.identify.run import identify

    card = tmp_path / "card.yaml"
    card.write_text(f"model: {real_data / 'tx40' / 'tx40.urdf'}\ncoupling: [{{motor: 6, joints: [5, 6]}}]\n")
    log = real_data / "tx40" / "tx40_joint_public.csv.gz"
    fixed = {"cutoff": 40.0, "delay": 0.0, "velocity": "differences"}
    raw = {}
    for name in ("wls", "pc-wls"):
        result = identify(card, [f"{log}@0:4.0"], validate=[f"{log}@4.0:5.2"], method=name, **fixed)
        raw[name] = [r.raw.all for r in result.residuals.values()]
    assert result.physically_consistent
    assert raw["pc-wls"][0] < 1.02 * raw["wls"][0]
    assert raw["pc-wls"][1] <= raw["wls"][1]
    assert raw["pc-wls"][1] <= 0.167


def one_sine_for_all_joints(truth, frequency: float = 0.1, amplitude: float = 0.8, seconds: float = 20.0, rate: float = 50.0):
    """Poor excitation, as in records where every joint follows the same sine."""
    from estimators.simulated import Log, Recipe, Unfiltered, engine_of, prepare

    t, w = np.arange(round(rate * seconds) + 1) / rate, 2 * np.pi * frequency
    q, dq = (np.outer(x, np.ones(truth.layout.robot.n)) for x in (amplitude * np.sin(w * t), amplitude * w * np.cos(w * t)))
    ddq = -(w**2) * q
    tau = engine_of(truth.layout).inverse_dynamics(q, dq, ddq, truth)
    log = Log.from_arrays(t, {"q": q, "tau": tau}, truth.layout.robot.joint_names)
    return replace(prepare(log, Recipe(filter=Unfiltered(), border=20, standstill=None)), q=q, dq=dq, ddq=ddq, tau=tau)


def poorly_excited() -> tuple[Problem, Parameters, Motion]:
    """One sine on all joints, links up to 30 % off in the prior; the truth, and another, faster motion of it."""
    description, base = robot("panda7")
    truth, rng = description.prior, np.random.default_rng(0)
    motion = one_sine_for_all_joints(truth)
    motion = noisy(motion, 0.1 * motion.tau.std(axis=0) * rng.normal(size=motion.tau.shape))
    values = np.array(truth.values)
    for _, where in truth.layout.bodies:
        values[where] *= 1.0 + 0.3 * rng.uniform(-1, 1)
    problem = Problem(base, (motion,), truth.with_values(values))
    return problem, truth, exact_motion(truth, duration=5.0, seed=5)


def test_after_poor_excitation_consistency_and_priors_predict_a_faster_motion_far_better() -> None:
    from estimators.simulated import engine_of
    from inertica.estimators.standard import nearest_prior

    problem, truth, fast = poorly_excited()
    error = {}
    for name in ("wls", "pc-wls", "pc-wls+euclidean", "pc-wls+pullback"):
        found = method(name).estimate(problem)
        chi = found.chi if found.chi is not None else nearest_prior(problem.base, found.beta, problem.prior)
        miss = engine_of(truth.layout).inverse_dynamics(fast.q, fast.dq, fast.ddq, chi) - fast.tau
        error[name] = np.linalg.norm(miss) / np.linalg.norm(fast.tau)
    assert error["pc-wls"] < 0.1 * error["wls"]
    assert max(error["pc-wls+euclidean"], error["pc-wls+pullback"]) < min(0.1, 0.5 * error["pc-wls"])


@pytest.mark.parametrize("prior", [Euclidean(), Entropic()], ids=["euclidean", "entropic"])
def test_the_strength_chosen_by_cross_validation_beats_both_extremes_on_another_motion(prior) -> None:
    """Poor excitation, a prior that is tens of percent off: neither no pull nor a hard one predicts a faster motion well."""
    from estimators.simulated import engine_of

    problem, truth, fast = poorly_excited()

    def error(solve: Consistent) -> float:
        found = Wls(solve=solve, hac=False).estimate(problem)
        return float(np.linalg.norm(engine_of(truth.layout).inverse_dynamics(fast.q, fast.dq, fast.ddq, found.chi) - fast.tau))

    chosen = Consistent(prior=prior, strength="cross-validated")
    weak, hard = (error(chosen.with_strength(s)) for s in (STRENGTHS[1], STRENGTHS[-1]))
    assert error(chosen) < 0.8 * min(weak, hard)


def test_the_chosen_strength_and_its_scores_are_recorded() -> None:
    problem = problem_of(4.0, off=0.02, name="scara4")
    solve = Consistent(prior=Pullback(), strength="cross-validated")
    found = Wls(solve=solve, hac=False).estimate(problem)
    scores = found.settings["left_out"]
    assert set(scores) == set(STRENGTHS) and found.settings["strength"] == min(scores, key=scores.get)
    (said,) = [w for w in found.warnings if "cross-validation" in w]
    assert f"strength {found.settings['strength']:g} was chosen" in said
    given = Wls(solve=Consistent(prior=Pullback(found.settings["strength"])), hac=False).estimate(problem)
    assert given.beta == pytest.approx(found.beta, rel=1e-9, abs=1e-12)
    assert found.evidence.strategy.used.prior.strength == found.settings["strength"]
    assert settled(Wls(solve=solve), problem, found) == settled(Wls(solve=solve), problem)  # kept, or chosen again
    other = problem_of(1.0, seed=5, name="scara4")
    assert solve.prepared(other).scores != solve.prepared(problem).scores  # and anew for other data


def test_intervals_rely_on_no_more_than_the_strength_given() -> None:
    """A strong pull may predict best; that does not make the prior any better."""
    problem = problem_of(4.0, off=0.02, name="scara4")
    solve = Consistent(prior=Pullback(1.0), strength="cross-validated")
    ready = solve.prepared(problem)
    assert ready.used.prior.strength > 1.0 == ready.believed.strength
    assert Consistent(prior=Pullback(1e9), strength="cross-validated").prepared(problem).believed.strength < 1e9


@pytest.mark.parametrize("name", ["pc-wls+pullback", "pc-wls+entropic", "pc-wls+riemann"])
def test_model_files_with_links_that_are_no_bodies_are_usable_as_priors(name: str) -> None:
    problem = problem_of(2.0, name="scara4")
    values = np.array(problem.prior.values)
    link = problem.base.layout.link(1)
    values[link.start : link.start + 6] = 0.0  # mass without inertia
    values[problem.base.layout.link(2)] = 0.0
    found = method(name).estimate(replace(problem, prior=problem.prior.with_values(values)))
    assert consistent(problem.base.layout, found.chi)
    assert any("link 2 is not that of a real body" in w for w in found.warnings)
    assert any("nothing about link 3" in w for w in found.warnings)


def test_intervals_of_a_consistent_fit_hold_the_truth_mostly() -> None:
    problem = problem_of(2.0, off=0.1)
    system = problem.observations
    stacked = system.stacked(1.0 / system.sigmas)
    solve = Consistent(prior=Euclidean(10.0))
    chi = solve(stacked, problem).chi
    found = solve.prepared(problem).intervals(stacked, chi)
    truth = robot("tx40")[0].prior.values
    assert np.mean((found.lower <= truth) & (truth <= found.upper)) > 0.9
    assert (found.lower <= chi).all() and (chi <= found.upper).all()


def test_a_changed_copy_does_not_keep_the_old_constraints() -> None:
    problem = problem_of(4.0)
    first = Consistent()
    Wls(solve=first).estimate(problem)
    k = problem.base.layout.index("M3")
    bounded = Wls(solve=replace(first, constraints=(*PHYSICAL, MassBounds({3: (2.0, 2.1)})))).estimate(problem)
    assert 2.0 - 1e-6 <= bounded.chi[k] <= 2.1 + 1e-6


@pytest.mark.parametrize("name", ["pc-irls+entropic", "pc-ols+pullback"])
def test_any_consistent_method_takes_a_prior_by_name(name: str) -> None:
    problem = problem_of(2.0)
    found = method(name).estimate(problem)
    assert found.method == name and found.settings["strength"] > 0.0
    assert found.chi is not None and consistent(problem.base.layout, found.chi)


@pytest.mark.parametrize(
    ("name", "said"),
    [("wls+entropic", "does not take a prior"), ("pc-wls+cad", "unknown prior 'cad'"), ("x+entropic", "unknown")],
)
def test_a_prior_behind_the_wrong_name_is_told(name: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        method(name)


def test_point_masses_tell_their_error() -> None:
    problem = problem_of(1.0)
    exact = Wls(solve=Consistent()).estimate(problem)
    found = Wls(solve=Consistent(solver="points")).estimate(problem)
    (said,) = [w for w in found.warnings if "clouds of 125 points" in w]
    assert "an approximation" in said and np.linalg.norm(found.beta - exact.beta) < 0.2 * np.linalg.norm(exact.beta)


def test_point_masses_refuse_what_they_cannot_keep() -> None:
    heavy = Consistent(constraints=(*PHYSICAL, MassBounds({3: (20.0, 21.0)})), solver="points")
    with pytest.raises(InputError, match="does not keep 'link 3: mass at least 20 kg'"):
        Wls(solve=heavy).estimate(problem_of(1.0))
