"""Optimal design: what it promises, and what it must beat."""

from __future__ import annotations

import numpy as np
import pytest

import inertica as ia
from excitation.test_criteria import frisch_points
from generators import random_robot, rich_layout
from inertica.dynamics.engine import Engine
from inertica.errors import InputError
from inertica.excitation import (
    Condition,
    DesignOptions,
    Determinant,
    Fourier,
    FourierBlend,
    FrischCost,
    JointLimits,
    Multisine,
    QuinticPoints,
    Search,
    SmallestSingular,
    Spline,
    Survey,
    TorqueLimits,
    Trapezoid,
    above,
    design,
    design_several,
    evaluate,
    information_of,
    robot_constraints,
    violations,
    within_box,
)
from inertica.excitation.basis import Basis
from inertica.excitation.optimal import observation
from inertica.excitation.swarm import particle_swarm

QUICK = Search(random=40, evaluations=120, population=20, rounds=4, iterations=15)


@pytest.fixture(scope="module")
def planar():
    description = ia.load("planar2")
    return description, ia.base_model(description.layout), Engine(description.layout)


@pytest.fixture(scope="module")
def tx40():
    description = ia.load("tx40")
    return description, ia.base_model(description.layout), Engine(description.layout)


def _points(search, noise, planar):
    """The Frisch paper's problem: 100 points, limits at the points."""
    description, base, engine = planar
    t = np.arange(100.0)
    limits = JointLimits(description.robot, description.robot.limits)
    family = QuinticPoints.still(t, [0.0, 0.0], rest=False)
    return design(engine, base, family, noise, [limits], DesignOptions(grid=t, check=t, search=search))


def test_own_points_beat_the_authors(planar):
    _, noise = frisch_points()
    found = _points(Search(evaluations=400, rounds=6, iterations=40), FrischCost(noise), planar)
    assert found.feasible and found.value < 20.697275
    description, base, engine = planar
    t = found.trajectory.times
    assert evaluate(found.trajectory, engine, base, FrischCost(noise), t) == pytest.approx(found.value, rel=1e-9)
    limits = JointLimits(description.robot, description.robot.limits)
    assert violations(found.trajectory, [limits], t) == ()


def test_better_than_a_swarm_with_the_same_effort(planar):
    """Frisch's criterion with the draw of default_rng(0); a gradient counts as 1 + 3 n evaluations."""
    description, base, engine = planar
    cost = FrischCost.drawn(np.random.default_rng(0), 100, 2)
    found = _points(Search(), cost, planar)
    limits = JointLimits(description.robot, description.robot.limits)
    shape = Basis.of(QuinticPoints.still(np.arange(100.0), [0.0, 0.0], rest=False), np.arange(100.0))
    observe = observation(engine, base)
    low, high = shape.box(limits)
    swarm = particle_swarm(
        lambda x: cost.values(observe, shape.motion(x), len(x)), low, high, found.evaluations, np.random.default_rng(0)
    )
    assert swarm.evaluations >= found.evaluations
    assert found.feasible and found.value < swarm.value


def test_tx40_condition_and_limits(tx40):
    """10 s, 20 harmonics, 100 grid points, limits less 0.1, last frame above 0.3 m: cond(W) <= 30."""
    description, base, engine = tx40
    constraints = [JointLimits(description.robot, description.robot.limits, 0.1), above(description.robot, 0.3)]
    search = Search(target=29.0)
    found = design(
        engine, base, Fourier.still(10.0, description.home, 20), Condition(), constraints, DesignOptions(search=search)
    )
    assert found.feasible and found.violations == ()
    for points in (1000, 1001, 7001):
        assert violations(found.trajectory, constraints, np.linspace(0.0, 10.0, points)) == ()
    W = base.reduce(engine.regressor(*found.trajectory(np.arange(100) * 0.1))).reshape(-1, base.rank)
    assert np.linalg.cond(W) == pytest.approx(found.value, rel=1e-6)
    assert found.value <= 30.0
    q, dq, ddq = found.trajectory([0.0, 10.0])
    assert max(np.abs(q).max(), np.abs(dq).max(), np.abs(ddq).max()) < 1e-9


@pytest.mark.slow
def test_random_multisines_of_the_tx40(tx40):
    """The best of 1000 random-phase multisines that fill the limits has about 48: what a design has to beat by far."""
    description, base, engine = tx40
    limits = JointLimits(description.robot, description.robot.limits, 0.1)
    rng, k = np.random.default_rng(0), np.arange(1.0, 21.0)[:, None]
    drawn = [Multisine.random(10.0, np.zeros(6), np.ones((20, 6)) / k**2, rng) for _ in range(1000)]
    shape, observe = Basis.of(drawn[0], np.arange(100) * 0.1), observation(engine, base)
    x = shape.into_limits(np.array([m.coefficients for m in drawn]), limits, fill=True)
    values = [Condition().values(observe, shape.motion(part), len(part)).min() for part in np.split(x, 50)]
    assert 45.0 < min(values) < 51.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_tx40_at_full_effort(tx40, seed):
    description, base, engine = tx40
    constraints = [JointLimits(description.robot, description.robot.limits, 0.1), above(description.robot, 0.3)]
    found = design(engine, base, Fourier.still(10.0, description.home, 20), Condition(), constraints, rng=seed)
    assert found.feasible and found.value < 24.0
    assert violations(found.trajectory, constraints, np.linspace(0.0, 10.0, 20_001)) == ()


FAMILIES = {
    "fourier": lambda home: Fourier.still(8.0, home, 6),
    "free start": lambda home: Fourier.still(8.0, home, 6, free_start=True),
    "blend": lambda home: FourierBlend.still(8.0, home, 6),
    "multisine": lambda home: Multisine(8.0, np.array(home), np.zeros((6, 2)), np.zeros((6, 2))),
    "cubic": lambda home: Spline.still(8.0, home, 12, 3),
    "quintic": lambda home: Spline.still(8.0, home, 12, 5),
    "quintic points": lambda home: QuinticPoints.still(np.linspace(0, 8, 8), home),
    "trapezoid": lambda home: Trapezoid.still(8.0, home, 10),
}  # fmt: skip


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_is_designed_within_all_constraints(planar, name):
    description, base, engine = planar
    constraints = [
        JointLimits(description.robot, description.robot.limits, 0.1),
        TorqueLimits(engine, np.asarray(description.prior), (400.0, 150.0)),
        within_box(description.robot, (-0.9, -0.9, -1.0), (1.1, 0.9, 1.0)),
    ]
    family = FAMILIES[name](description.home)
    found = design(engine, base, family, Condition(), constraints, DesignOptions(grid=60, search=QUICK))
    assert found.feasible, found.violations
    assert violations(found.trajectory, constraints, np.linspace(0.0, 8.0, 601 if family.periodic else 591)) == ()
    smooth = [c for c in constraints if not isinstance(c, TorqueLimits)]  # friction jumps
    assert violations(found.trajectory, smooth, np.random.default_rng(0).uniform(0.0, 8.0, 5000)) == ()
    assert found.condition == pytest.approx(found.value, rel=1e-6) and found.value < 100.0
    best = [value for _, value in found.history]
    assert best == sorted(best, reverse=True) and best[-1] == found.value


@pytest.mark.parametrize("criterion", [Survey(), Determinant(), SmallestSingular(), Condition(scaled=True)], ids=lambda c: c.name)
def test_every_criterion_improves_under_gradient_steps(planar, criterion):
    description, base, engine = planar
    constraints = robot_constraints(description, engine)
    family = Fourier.still(8.0, description.home, 6)
    first = design(engine, base, family, criterion, constraints, DesignOptions(search=Search(random=40, evaluations=0, rounds=0)))
    better = design(
        engine, base, first.trajectory, criterion, constraints, DesignOptions(search=Search(random=0, evaluations=0, rounds=4))
    )
    assert first.feasible and better.feasible
    assert better.value < first.value - 0.02 * abs(first.value)
    assert evaluate(better.trajectory, engine, base, criterion) == pytest.approx(better.value, rel=1e-8)


def test_same_seed_same_motion(planar):
    description, base, engine = planar
    constraints = robot_constraints(description, engine)
    runs = [
        design(engine, base, Fourier.still(8.0, description.home, 5), None, constraints, DesignOptions(search=QUICK), rng=seed)
        for seed in (3, 3, 4)
    ]
    assert np.array_equal(runs[0].trajectory.coefficients, runs[1].trajectory.coefficients)
    assert not np.array_equal(runs[0].trajectory.coefficients, runs[2].trajectory.coefficients)


def test_what_cannot_be_kept_is_a_failure(planar):
    """The last frame cannot stay above 2 m: the arm is 1 m long."""
    description, base, engine = planar
    constraints = [JointLimits(description.robot, description.robot.limits), above(description.robot, 2.0)]
    found = design(engine, base, Fourier.still(8.0, description.home, 5), None, constraints, DesignOptions(search=QUICK))
    assert not found.feasible and found.value == np.inf
    assert "beyond the plane" in found.violations[0].what and found.violations[0].excess > 0.0
    assert "exceeds its limit" in str(found.violations[0])


def test_a_start_outside_the_limits_is_repaired(planar):
    description, base, engine = planar
    constraints = robot_constraints(description, engine)
    wild = Fourier.still(8.0, description.home, 5)
    wild = wild.with_coefficients(30.0 * np.random.default_rng(0).normal(size=wild.coefficients.size))
    assert violations(wild, constraints, np.linspace(0, 8, 801))
    found = design(engine, base, wild, None, constraints, DesignOptions(search=Search(random=0, evaluations=0, rounds=0)))
    assert found.feasible and np.isfinite(found.value)


def test_the_next_motion_completes_those_given(planar):
    """A log of joint 2 alone says nothing of joint 1's friction; a motion designed for it does better than one designed alone."""
    description, base, engine = planar
    constraints = robot_constraints(description, engine)
    family = Fourier.still(8.0, description.home, 5)
    log = family.with_coefficients(np.outer(np.arange(1.0, 8.0), [0.0, 0.4]).ravel())
    R = 3.0 * information_of(engine, base, log, 100.0)
    plain = design(engine, base, family, Determinant(), constraints, DesignOptions(search=QUICK))
    known = design(engine, base, family, Determinant(), constraints, DesignOptions(previous=[R], rate=100.0, search=QUICK))
    added = information_of(engine, base, plain.trajectory, 100.0)
    together = -np.linalg.slogdet(R.T @ R + added.T @ added)[1]
    assert known.feasible and known.value < together


def test_several_motions_get_better_together(planar):
    description, base, engine = planar
    constraints = robot_constraints(description, engine)
    several = design_several(
        2, engine, base, Fourier.still(8.0, description.home, 5), None, constraints, DesignOptions(search=QUICK)
    )
    assert len(several) == 2 and all(d.feasible for d in several)
    R = np.vstack([information_of(engine, base, d.trajectory, 100.0) for d in several])
    assert np.linalg.cond(R) < several[0].value
    assert np.linalg.cond(R) == pytest.approx(several[1].value, rel=0.02)  # a grid of 100 points against 100 Hz


def test_progress_and_limits_of_effort(planar):
    description, base, engine = planar
    seen = []
    search = Search(random=30, evaluations=10**6, seconds=0.3)
    constraints = robot_constraints(description, engine)
    found = design(
        engine,
        base,
        Fourier.still(8.0, description.home, 5),
        None,
        constraints,
        DesignOptions(search=search, progress=seen.append),
    )
    assert found.stop == "time" and found.feasible
    assert seen and {p.stage for p in seen} <= {"random", "CMA-ES", "gradient"}
    assert [p.evaluations for p in seen] == sorted(p.evaluations for p in seen)


def test_a_robot_without_limits_can_be_designed_for():
    layout = rich_layout(random_robot(6, 4))
    limits = JointLimits(layout.robot, layout.robot.limits)
    base, engine = ia.base_model(layout), Engine(layout)
    found = design(engine, base, Fourier.still(8.0, np.zeros(4), 6), None, [limits], DesignOptions(search=QUICK))
    assert found.feasible and np.isfinite(found.value) and np.isfinite(found.trajectory([1.0]).q).all()


def test_motions_fill_their_limits(planar):
    """Shrunk or grown, every joint touches a limit and none is left."""
    description, _, _ = planar
    limits = JointLimits(description.robot, description.robot.limits, 0.1)
    family = Fourier.still(8.0, [0.5, -1.0], 6)
    shape = Basis.of(family, np.linspace(0.0, 8.0, 80))
    x = np.random.default_rng(0).normal(size=(30, family.coefficients.size)) * np.geomspace(1e-3, 1e3, 30)[:, None]
    excess = limits.excess(shape.motion(shape.into_limits(x, limits, fill=True))).reshape(30, 80, 3, 2).max(axis=(1, 2))
    assert np.allclose(excess, 0.0, atol=1e-9)
    shrunk = shape.into_limits(x, limits)
    assert limits.excess(shape.motion(shrunk)).max() < 1e-9 and np.allclose(shrunk[0], x[0])


def test_layouts_must_match(planar, tx40):
    with pytest.raises(InputError, match="different layouts"):
        design(planar[2], tx40[1], Fourier.still(1.0, [0, 0], 4))
