"""Rows of momentum and power: what they agree with, and what they refuse."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from inertica.errors import InputError
from inertica.estimators.base import Problem
from inertica.estimators.forms import rates
from inertica.estimators.linear.irls import Irls
from inertica.estimators.linear.least_squares import Ols, Wls
from inertica.estimators.registry import method
from inertica.excitation.files import catalog_trajectory
from inertica.experiment import Experiment
from inertica.identifiability.base import base_model
from inertica.logs.log import Log, Origin
from inertica.preprocessing.filters import Butterworth
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.load import load
from inertica.workflow.decisions.filter import choose_filter

FORMS = ("torque", "momentum", "power")


def problem_of(problem: Problem, form: str) -> Problem:
    """The same with rows of another kind."""
    motions = tuple(replace(m, recipe=replace(m.recipe, regressor=form)) for m in problem.motions)
    return replace(problem, motions=motions)


def exact(name: str, recipe: Recipe) -> tuple[Problem, np.ndarray]:
    """A motion without any noise, its derivatives and torques exact, and the parameters behind it."""
    description = load(name)
    base, trajectory = base_model(description.layout), catalog_trajectory(name).trajectory
    t = np.arange(0.0, 10.0, 1e-3)
    s = trajectory(t)
    tau = base.engine.inverse_dynamics(s.q, s.dq, s.ddq, description.prior)
    signals = {"q": np.asarray(s.q), "tau": tau}
    log = Log.from_arrays(t, signals, description.robot.joint_names, Origin(format="simulation"), {}, ())
    motion = prepare(log, recipe)
    q, dq, ddq = (np.array(x) for x in (s.q, s.dq, s.ddq))
    exactly = replace(motion, q=q, dq=dq, ddq=ddq, tau=tau)
    return Problem(base, (exactly,), description.prior), base.beta(description.prior.values)


@pytest.mark.parametrize(("name", "decimate"), [("tx40", None), ("panda7", 15.0)])
def test_all_forms_find_the_same_without_noise(name: str, decimate: float | None) -> None:
    problem, true = exact(name, Recipe(filter=Butterworth(cutoff=45.0), decimate=decimate))
    size = np.abs(true).max()
    for form in FORMS:
        for estimator in (Ols(hac=False), Wls(hac=False)):
            found = estimator.estimate(problem_of(problem, form)).beta
            assert np.abs(found - true).max() < 1e-9 * size, (form, estimator.name)


def test_robust_and_consistent_fits_take_all_forms() -> None:
    problem, true = exact("scara2", Recipe(filter=Butterworth(cutoff=45.0), decimate=15.0))
    for form in FORMS:
        for estimator in (Irls(hac=False), method("pc-wls")):
            found = estimator.estimate(problem_of(problem, form))
            assert np.abs(found.beta - true).max() < 1e-5 * np.abs(true).max(), (form, estimator.name)


def test_momentum_rows_are_torque_rows_where_the_filter_is_the_same() -> None:
    """Not only without noise: velocity and acceleration come from one filter, so that the two say the same of any record, but for
    differences of order 2 in the one and of order 8 in the other."""
    description = load("scara2")
    (log,) = Experiment.of(description, noise="standard").run(catalog_trajectory("scara2").trajectory, seed=2, duration=6.0)
    motion = prepare(log, Recipe(filter=Butterworth(cutoff=30.0), decimate=10.0))
    problem = Problem(base_model(description.layout), (motion,), description.prior)
    torque, momentum = (Wls().estimate(problem_of(problem, form)) for form in FORMS[:2])
    assert np.all(np.abs(momentum.beta - torque.beta) < 0.1 * torque.std)
    assert np.allclose(momentum.std, torque.std, rtol=0.05)


def test_power_has_one_row_per_sample_and_none_is_idle() -> None:
    problem, _ = exact("scara2", Recipe(filter=Butterworth(cutoff=45.0), reversal=0.02))
    (rows,) = (r for k, r in enumerate(problem_of(problem, "power").observations.rows()) if k == 0)
    assert rows.y.shape == rows.use.shape == (len(rows.y), 1)
    masked = problem.motions[0].mask[: len(rows.use)]
    assert np.array_equal(rows.use[:, 0], ~masked)


def test_rates_are_those_of_polynomials_and_nearly_those_of_sines() -> None:
    t = np.linspace(0.0, 1.0, 101)[:, None]
    assert np.abs(rates(t**4, 0.01) - 4.0 * t**3).max() < 1e-11
    omega = 2.0 * np.pi * 5.0  # a twentieth of the rate
    error = rates(np.sin(omega * t), 0.01) / omega - np.cos(omega * t)
    assert np.abs(error[4:-4]).max() < 3e-7
    with pytest.raises(InputError, match="5 samples or more"):
        rates(t[:4], 0.01)


def test_rows_in_blocks_are_those_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, _ = exact("scara2", Recipe(filter=Butterworth(cutoff=45.0)))
    whole = [r.W for r in problem_of(problem, "momentum").observations.build()]
    monkeypatch.setattr("inertica.estimators.observe.BLOCK", 1000)
    monkeypatch.setattr("inertica.estimators.forms.PART", 300)
    parts = [r.W for r in problem_of(problem, "momentum").observations.build()]
    for j in range(2):
        one, other = (np.concatenate([W[j] for W in listed]) for listed in (whole, parts))
        assert np.array_equal(one, other)


def test_other_methods_refuse_and_say_which_take_them() -> None:
    problem, _ = exact("scara2", Recipe(filter=Butterworth(cutoff=45.0)))
    with pytest.raises(InputError, match=r"method 'ml' works on torques; rows of momentum"):
        method("ml").estimate(problem_of(problem, "momentum"))
    mixed = replace(problem, motions=(*problem.motions, *problem_of(problem, "power").motions))
    with pytest.raises(InputError, match="rows of one kind, not power and torque"):
        Ols().estimate(mixed)
    with pytest.raises(InputError, match="torque, momentum, power, not 'energy'"):
        Recipe(regressor="energy")  # type: ignore[arg-type]


@pytest.mark.slow
def test_momentum_is_no_worse_than_torque_on_the_noisiest_preset() -> None:
    """Both with the automatic cut-off; they are the same rows but for how derivatives are taken, which leaves a tie to 0.1 %."""
    description = load("tx40")
    base, experiment = base_model(description.layout), Experiment.of(description, noise="high_position_torque")
    true, errors = base.beta(experiment.truth.values), {form: [] for form in FORMS}
    for log in experiment.run(catalog_trajectory("tx40").trajectory, runs=6, seed=20):
        recipe, _ = choose_filter(description, base, [log], Recipe(), lambda _: None)
        problem = Problem(base, (prepare(log, recipe),), description.prior)
        for form in FORMS:
            found = Wls(hac=False).estimate(problem_of(problem, form)).beta
            errors[form].append(np.linalg.norm(found - true) / np.linalg.norm(true))
    torque, momentum, power = (np.median(errors[form]) for form in FORMS)
    assert momentum <= 1.001 * torque
    assert power > 3.0 * torque  # one row for six joints
