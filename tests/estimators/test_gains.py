"""Drive gains from a load of known mass, on exact motions with noise on the currents."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from estimators.simulated import exact_motion, robot
from inertica.estimators.gains import GainProblem, KnownLoad, LoadSet, start_gains, total_least_squares, unscaled
from inertica.estimators.gains_consistent import constrained
from inertica.estimators.observe import Observations
from inertica.identifiability.load import load_columns, own_friction
from inertica.robot import inertia
from inertica.robot.layout import Parameters
from inertica.robot.terms import RigidBody

BODY = RigidBody(5, "p", position=(0.0, 0.0, 0.05))
LOAD = inertia.from_com(3.0, [0.05, -0.04, 0.06], np.diag([0.008, 0.01, 0.006]))
GAINS = np.array([30.0, 25.0, -18.0, 9.0, 8.0, 6.0])


@lru_cache
def torques() -> tuple[object, object]:
    description, _ = robot("tx40")
    values = np.array(description.prior.values)
    values[description.layout.link(5)] += inertia.change_frame(LOAD, BODY.rotation, BODY.position)
    heavier = Parameters(description.layout, values, description.prior.shapes)
    return exact_motion(description.prior, seed=1), exact_motion(heavier, seed=1)


def records(noise: float, seed: int = 0, known: str = "M", prior: float = np.inf) -> GainProblem:
    """Currents of the same motion without and with load; noise in parts of each joint's largest current."""
    description, base = robot("tx40")
    rng, systems = np.random.default_rng(seed), []
    for motion in torques():
        currents = motion.tau / GAINS
        size = noise * np.abs(currents).max(axis=0)
        moved = replace(motion, tau=currents + size * rng.standard_normal(currents.shape))
        systems.append(Observations(base, (moved,), description.prior))
    names = {"M": ["M"], "all": list(inertia.NAMES)}[known]
    there = np.array([name in names for name in inertia.NAMES])
    sets = LoadSet(systems[0]), LoadSet(systems[1], "disc")
    disc = KnownLoad(there, np.where(there, LOAD, 0.0))
    return GainProblem(sets, load_columns(base, BODY), own_friction(base), {"disc": disc}, np.full(6, prior))


def test_exact_currents_give_exact_gains_signs_included() -> None:
    found = total_least_squares(records(1e-9))
    assert np.allclose(found.factors, GAINS, rtol=1e-5) and np.allclose(found.loads["disc"], LOAD, rtol=1e-3, atol=1e-5)


def test_each_joint_alone_starts_near_when_the_load_is_known() -> None:
    assert np.allclose(1.0 / start_gains(records(1e-9, known="all"))[1:5], GAINS[1:5], rtol=0.05)


def test_signs_of_joints_that_the_known_load_does_not_reveal_are_found_beside_an_unknown_load() -> None:
    """Joints 1 and 6 feel nothing of a known mass; a start with the wrong sign, or one misled by the unknown load, never arrives."""
    description, base = robot("tx40")
    gains = np.array([-30.0, 25.0, -18.0, 9.0, 8.0, -6.0])
    values = np.array(description.prior.values)
    values[description.layout.link(5)] += 2.0 * inertia.change_frame(LOAD, BODY.rotation, [0.1, 0.1, 0.1])
    tool = exact_motion(Parameters(description.layout, values, description.prior.shapes), seed=2)
    rng, systems = np.random.default_rng(4), []
    for motion in (*torques(), tool):
        currents = motion.tau / gains
        moved = replace(motion, tau=currents * (1.0 + 1e-6 * rng.standard_normal(currents.shape)))
        systems.append(Observations(base, (moved,), description.prior))
    mass = np.arange(10) == 9
    loads = {"disc": KnownLoad(mass, np.where(mass, LOAD, 0.0)), "tool": KnownLoad(np.zeros(10, bool), np.zeros(10))}
    sets = tuple(LoadSet(system, name) for system, name in zip(systems, (None, "disc", "tool"), strict=True))
    problem = GainProblem(sets, load_columns(base, BODY), own_friction(base), loads, np.full(6, np.inf))
    assert np.array_equal(np.sign(start_gains(problem)), np.sign(gains))
    assert np.allclose(total_least_squares(problem).factors, gains, rtol=1e-3)


def test_intervals_of_noisy_currents_hold_the_gains() -> None:
    inside, runs = 0, 12
    for seed in range(runs):
        ends = total_least_squares(records(0.02, seed)).interval(1.96)
        inside += int(np.sum((ends[:, 0] <= GAINS) & (ends[:, 1] >= GAINS)))
    assert inside >= 0.86 * 6 * runs  # 95 % of 72 that are not independent


def test_knowing_more_of_the_load_makes_gains_surer() -> None:
    little, much = (total_least_squares(records(0.02, 1, known)).relative_std for known in ("M", "all"))
    assert np.all(much < 1.05 * little) and np.median(much / little) < 0.95


def test_ordinary_least_squares_would_favour_small_gains() -> None:
    """What is claimed for putting the error into the currents."""
    p = records(0.1, 3)
    found = total_least_squares(p)
    A, y = [], []
    for system, space, added in p.spaces:
        for j, f in enumerate(system.factors):
            where = list(f.columns)
            block = np.zeros((len(f.z) + 1, 6 + space.shape[1]))
            block[:-1, j], block[-1, j], block[:-1, 6:] = f.z, f.rest, -f.R @ space[where]
            A.append(block / found.sigma[j] / abs(GAINS[j]))
            y.append(np.append(f.R @ added[where], 0.0) / found.sigma[j] / abs(GAINS[j]))
    ordinary = np.linalg.lstsq(np.vstack(A), np.concatenate(y), rcond=None)[0][:6]
    assert np.median(ordinary / GAINS) < 0.5
    assert np.all(np.abs(found.factors / GAINS - 1.0) < 3.0 * found.relative_std) and np.all(found.relative_std < 0.1)


def test_the_printed_form_agrees_on_exact_currents() -> None:
    assert np.allclose(unscaled(records(1e-10)).factors, GAINS, rtol=1e-3)


def test_the_constrained_form_finds_a_load_that_can_exist() -> None:
    description, _ = robot("tx40")
    p = records(0.05, 2)
    found = constrained(p, description.prior, BODY)
    assert inertia.physically_consistent(found.loads["disc"], -1e-9) and found.loads["disc"][9] == 3.0
    assert np.allclose(found.factors[1:5], GAINS[1:5], rtol=0.1)


def test_a_soft_prior_holds_what_the_records_do_not_tell() -> None:
    free, held = total_least_squares(records(0.1, 4)), records(0.1, 4, prior=0.01)
    scaled = replace(held, sets=tuple(replace(one, system=_scaled(one.system)) for one in held.sets))
    found = total_least_squares(scaled, np.ones(6))
    assert np.allclose(found.factors, 1.0, atol=0.04) and np.all(found.relative_std < 0.0105)
    assert np.all(found.relative_std < free.relative_std)


def _scaled(system: Observations) -> Observations:
    motions = tuple(replace(m, tau=m.tau * GAINS) for m in system.motions)
    return Observations(system.base, motions, system.prior)


def test_an_interval_through_zero_has_no_end() -> None:
    found = replace(total_least_squares(records(1e-9)), relative_std=np.array([0.1, 0.6, 0.1, 0.1, 0.1, 0.1]))
    ends = found.interval(1.96)
    assert tuple(ends[1]) == (-np.inf, np.inf) and ends[2, 0] < GAINS[2] < ends[2, 1] < 0.0
    assert pytest.approx(1.0 / (1.0 / 30.0 * 1.196)) == ends[0, 0]
