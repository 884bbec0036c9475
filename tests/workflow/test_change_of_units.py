"""Nothing has a preferred size: a robot of another size and mass with another clock gets the same choices, labels and verdict."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from real_records import RECORDS

import inertica as ia
from inertica.dynamics.engine import Engine
from inertica.excitation import catalog_trajectory
from inertica.excitation.safety import surroundings
from inertica.experiment import Experiment
from inertica.identifiability.labels import DETERMINED
from inertica.logs.log import Log
from inertica.logs.read import read_log
from inertica.preprocessing.edge import usual_cutoff
from inertica.robot.description import Description
from inertica.robot.friction import Saturating
from inertica.robot.friction import law as friction_law
from inertica.robot.load import load
from inertica.robot.natural import NaturalUnits
from inertica.robot.terms import Counterbalance, Spring
from inertica.workflow.identify.result import Result
from inertica.workflow.identify.verdict import What, verdict
from scaled import Scale

URDF = """<?xml version="1.0"?>
<robot name="lift">
  <link name="base"/>
  <link name="column"><inertial><origin xyz="0.02 0.01 0.1"/><mass value="4"/>
    <inertia ixx="0.05" ixy="0" ixz="0" iyy="0.05" iyz="0" izz="0.03"/></inertial></link>
  <link name="arm"><inertial><origin xyz="0.2 0.01 0.02"/><mass value="3"/>
    <inertia ixx="0.01" ixy="0" ixz="0.001" iyy="0.05" iyz="0" izz="0.05"/></inertial></link>
  <link name="slide"><inertial><origin xyz="0.05 0.01 0"/><mass value="1.5"/>
    <inertia ixx="0.004" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <joint name="turn" type="revolute"><parent link="base"/><child link="column"/><axis xyz="0 0 1"/>
    <limit lower="-2.5" upper="2.5" velocity="4" effort="40"/><dynamics damping="0.6" friction="1.2"/></joint>
  <joint name="raise" type="revolute"><parent link="column"/><child link="arm"/><origin xyz="0.05 0 0.3"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" velocity="4" effort="60"/><dynamics damping="0.8" friction="1.5"/></joint>
  <joint name="reach" type="prismatic"><parent link="arm"/><child link="slide"/><origin xyz="0.3 0 0"/><axis xyz="1 0 0"/>
    <limit lower="-0.4" upper="0.4" velocity="2" effort="80"/><dynamics damping="6" friction="4"/></joint>
</robot>
"""

RATE, DURATION, REPEATED, LATE = 200.0, 12.0, 0.03, 3
SCALES = {
    "a tenth of the size": Scale(length=0.1),
    "ten times the size": Scale(length=10.0),
    "a thousandth of the mass": Scale(mass=1e-3),
    "a thousand times the mass": Scale(mass=1e3),
    "a clock ten times faster": Scale(time=0.1),
    "a clock ten times slower": Scale(time=10.0),
}
EACH = [pytest.param(scale, id=name) for name, scale in SCALES.items()]

SMALL_AND_SLOW, LARGE_AND_FAST = Scale(1e-3, 0.1, 10.0), Scale(1e3, 10.0, 0.1)

CLOSE, CLOSER = 1e-3, 1e-6
"""Relative difference that iterative solvers may leave, of a delay say and of what rests on it, and that of linear fits."""

FLAT = 0.02
"""Part of an interval within which solvers place its ends, and a value that data hardly decide on."""


@cache
def lift(folder: Path, eventful: bool = False) -> tuple[Description, Log]:
    """A turntable, an arm and a slide on it, whose model is not quite right, and a log with noise and repeated rows.

    Args:
        folder: for the model file.
        eventful: a livelier motion with saturating friction, a spring, and torque recorded three samples late, instead of repeats.
    """
    model = folder / "lift.urdf"
    model.write_text(URDF)
    description, rng = load(model), np.random.default_rng(7)
    t = np.arange(int(RATE * DURATION)) / RATE
    q, dq, ddq = (np.zeros((len(t), 3)) for _ in range(3))
    for j, size in enumerate((0.7, 0.5, 0.12)):
        for k in range(1, 91 if eventful else 6):
            a, phase, w = size * rng.normal() / k * min(1.0, (5.0 / k) ** 3), rng.uniform(0.0, 6.0), 2.0 * np.pi * k / 6.0
            q[:, j] += a * np.sin(w * t + phase)
            dq[:, j] += a * w * np.cos(w * t + phase)
            ddq[:, j] -= a * w * w * np.sin(w * t + phase)
    true = description.prior.values * np.exp(0.1 * rng.normal(size=description.layout.size))
    tau = Engine(description.layout).inverse_dynamics(q, dq, ddq, description.prior.with_values(true))
    tau = tau + np.array([0.05, 0.05, 0.2]) * rng.normal(size=tau.shape) + np.array([0.3, 0.0, 0.0])
    if eventful:
        tau = tau + np.array([3.0, 0.0, 8.0]) * np.tanh(dq / np.array([0.5, 1.0, 0.1]))
        tau[:, 1] += 20.0 * (q[:, 1] - 0.2)
        tau[LATE:] = tau[:-LATE]
    q = q + np.array([1e-6, 1e-6, 3e-7]) * (1.0 if eventful else 10.0) * rng.normal(size=q.shape)
    if not eventful:
        repeated = np.flatnonzero(rng.random(len(t) - 1) < REPEATED) + 1
        q[repeated], tau[repeated] = q[repeated - 1], tau[repeated - 1]
    return description, Log.from_arrays(t, {"q": q, "tau": tau}, description.robot.joint_names)


@cache
def lift_in(folder: Path, scale: Scale, eventful: bool = False) -> Result:
    """What is identified of the scaled robot, whatever the check of its log says."""
    return identified(*lift(folder, eventful), scale)


def identified(description: Description, log: Log, scale: Scale) -> Result:
    return ia.identify(scale.description(description), [scale.log(log, description.robot)], quick=True)


def assert_same(before: Result, after: Result, scale: Scale, close: float = CLOSER) -> None:
    """The same choices, labels and verdict; bandwidths, friction speeds, values and intervals that scale."""
    one, other = ([(c.subject, c.automatic, c.disagreement) for c in r.choices] for r in (before, after))
    assert other == one
    assert after.method == before.method and dict(after.labels) == dict(before.labels)
    assert_same_recipe(before, after, scale)
    assert_same_laws(before, after, scale)
    assert conditions(after) == conditions(before)
    assert verdict(after).residual == pytest.approx(verdict(before).residual, rel=CLOSE)
    assert_same_values(before, after, scale, close)


def conditions(result: Result) -> list[tuple[What, str, tuple[int, ...]]]:
    """What the verdict rests on, with level and joints, besides the check of the log."""
    return [(r.what, r.level, r.joints) for r in verdict(result).reasons if r.what is not What.CHECK]


def assert_same_recipe(before: Result, after: Result, scale: Scale) -> None:
    """Cut-offs by the clock, and delays within a thousandth of a period of the fit's bandwidth."""
    one, other = before.recipe, after.recipe
    assert other.velocity == one.velocity
    for filters in ((one.filter, other.filter), (one.prediction, other.prediction)):
        cutoffs = [f.cutoff for f in filters if f is not None]  # type: ignore[union-attr]
        assert [c * scale.time for c in cutoffs[1:]] == pytest.approx(cutoffs[:1], rel=CLOSER)
    assert other.decimate * scale.time == pytest.approx(one.decimate, rel=CLOSER)  # type: ignore[operator]
    assert (other.reversal is None) == (one.reversal is None)
    if one.reversal is not None:
        assert other.reversal / scale.time == pytest.approx(one.reversal, rel=CLOSER)  # type: ignore[operator]
    n, period = before.description.robot.n, 1.0 / one.decimate  # type: ignore[operator]
    assert other.delays(n) / scale.time == pytest.approx(one.delays(n), abs=CLOSE * period)


def assert_same_laws(before: Result, after: Result, scale: Scale) -> None:
    """The same terms joint by joint; constants of friction are speeds, which scale with the joint's."""
    one, other = (r.description.layout.terms for r in (before, after))
    assert [(type(term), term.joint) for term in other] == [(type(term), term.joint) for term in one]
    expected = scale.description(before.description).layout.shapes
    assert [s.value for s in after.description.layout.shapes] == pytest.approx([s.value for s in expected], rel=CLOSER)


def assert_same_values(before: Result, after: Result, scale: Scale, close: float) -> None:
    """Values within `close` where they are determined, and else, like the ends of intervals, within a part of the interval."""
    factors = scale.of_parameters(before.parameters.layout)
    width = np.ptp(before.intervals, axis=1)
    size = np.maximum(np.abs(before.parameters.values), np.where(np.isfinite(width), width, 0.0))
    sure = np.array([before.labels[name] == DETERMINED for name in before.parameters.layout.names])
    away = np.abs(after.parameters.values / factors - before.parameters.values)
    assert np.all(away <= np.where(sure, close * np.abs(before.parameters.values), FLAT * size))
    finite, ends = np.isfinite(before.intervals), after.intervals / factors[:, None]
    assert np.array_equal(np.isfinite(ends), finite)
    assert np.all(np.abs(np.where(finite, ends - before.intervals, 0.0)) <= FLAT * size[:, None])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lift")


def test_natural_units_scale(folder: Path) -> None:
    """What thresholds are measured by scales with the robot; a fixed number of metres among them would show here."""
    description, _ = lift(folder)
    scale = Scale(mass=3.0, length=0.2, time=7.0)
    own, other = (NaturalUnits.of(d.layout, d.prior.values) for d in (description, scale.description(description)))
    assert (other.mass / own.mass, other.length / own.length, other.time / own.time) == pytest.approx((3.0, 0.2, 7.0))


def test_a_scaled_robot_has_scaled_torques(folder: Path) -> None:
    """The scaling itself: inverse dynamics of the scaled robot are the scaled torques, term by term."""
    description, _ = lift(folder)
    scale, rng = Scale(mass=3.0, length=0.2, time=7.0), np.random.default_rng(3)
    other, robot = scale.description(description), description.robot
    state = rng.normal(size=(3, 20, 3))
    scaled = [x * scale.coordinates(robot, k) for k, x in enumerate(state)]
    tau = Engine(description.layout).inverse_dynamics(*state, description.prior)
    assert Engine(other.layout).inverse_dynamics(*scaled, other.prior) == pytest.approx(tau * scale.efforts(robot), rel=1e-9)


@pytest.mark.parametrize("scale", EACH)
def test_no_preferred_size(folder: Path, scale: Scale) -> None:
    assert_same(lift_in(folder, Scale()), lift_in(folder, scale), scale)


@pytest.mark.parametrize("scale", [SMALL_AND_SLOW, LARGE_AND_FAST], ids=["small and slow", "large and fast"])
def test_friction_spring_and_delay_have_no_preferred_size(folder: Path, scale: Scale) -> None:
    before = lift_in(folder, Scale(), eventful=True)
    terms = before.description.layout.terms
    assert any(isinstance(t, Saturating) for t in terms) and any(isinstance(t, Spring | Counterbalance) for t in terms)
    assert before.recipe.delays(3) * RATE == pytest.approx(LATE, rel=0.1)
    assert_same(before, lift_in(folder, scale, eventful=True), scale, CLOSE)


@pytest.mark.parametrize("scale", [SMALL_AND_SLOW, LARGE_AND_FAST], ids=["small and slow", "large and fast"])
def test_models_without_masses_have_no_preferred_size(folder: Path, scale: Scale) -> None:
    """Their density is told by the log."""
    description, log = lift(folder)
    values = np.array(description.prior.values)
    for _, where in description.layout.bodies:
        values[where] = 0.0
    bare = replace(description, prior=description.prior.with_values(values))
    assert_same(identified(bare, log, Scale()), identified(bare, log, scale), scale)


@pytest.mark.parametrize("law", ["stribeck", "saturating", "smooth"])
def test_speeds_of_stated_laws_have_no_preferred_size(folder: Path, law: str) -> None:
    """A law that is stated by its name takes its constants from the robot at hand."""
    description, _ = lift(folder)
    scale = Scale(mass=7.0, length=0.2, time=3.0)
    other = scale.description(description).robot
    for joint, (speed, prismatic) in enumerate(zip((1.0 / 3.0, 1.0 / 3.0, 0.2 / 3.0), (False, False, True), strict=True)):
        here, there = (friction_law(law, joint, robot).shapes[0].value for robot in (description.robot, other))
        assert there / here == pytest.approx(speed, rel=1e-12) and description.robot.joints[joint].prismatic == prismatic


def test_what_a_motion_is_designed_with_has_no_preferred_size(folder: Path) -> None:
    """Clearances, built shapes and the room around a load scale with the arm."""
    description, _ = lift(folder)
    for scale in (*SCALES.values(), SMALL_AND_SLOW, LARGE_AND_FAST):
        here, there = (surroundings(d, 0.0) for d in (description, scale.description(description)))
        for size in ("clearance", "rough"):
            assert getattr(there, size) == pytest.approx(scale.length * getattr(here, size), rel=1e-12)
        q = np.random.default_rng(2).uniform(-0.3, 0.3, (20, 3))
        if math.isclose(scale.mass, scale.length**3):  # as heavy as before for its size: shapes are built from masses
            assert there.distances(q * scale.coordinates(description.robot)) == pytest.approx(scale.length * here.distances(q))


def test_a_usual_cutoff_follows_the_clock(folder: Path) -> None:
    description, log = lift(folder)
    scale = SCALES["a clock ten times slower"]
    assert scale.time * usual_cutoff([scale.log(log, description.robot)]) == pytest.approx(usual_cutoff([log]), rel=CLOSER)


@pytest.mark.slow
@pytest.mark.parametrize("scale", EACH)
@pytest.mark.parametrize("filter", ["savitzky-golay", "forward"])
def test_stated_filters_have_no_preferred_clock(folder: Path, filter: str, scale: Scale) -> None:
    description, log = lift(folder)
    before, after = (
        ia.identify(s.description(description), [s.log(log, description.robot)], quick=True, filter=filter)
        for s in (Scale(), scale)
    )
    assert_same_values(before, after, scale, CLOSE)


DRAWN = [pytest.param(Scale(*(float(x) for x in draw)), id=str(k)) for k, draw in enumerate(
    np.exp(np.random.default_rng(26).uniform(-1.0, 1.0, (4, 3)) * np.log([1e3, 10.0, 10.0]))
)]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("scale", DRAWN)
@pytest.mark.parametrize("name", ["panda7", "scara4", "tx40"])
def test_catalog_robots_have_no_preferred_size(name: str, scale: Scale) -> None:
    """Simulated with noise in a loop that is not stated, and a model that is off; every seed another log."""
    before, after = (simulated_in(name, 3, s) for s in (Scale(), scale))
    assert_same(before, after, scale, CLOSE)


@cache
def simulated_in(name: str, seed: int, scale: Scale) -> Result:
    """What is identified of a catalog robot in other units, from a model whose links are off by a tenth."""
    true = load(name)
    (log,) = Experiment.of(true, noise="standard", threads=1).run(catalog_trajectory(name).trajectory, seed=seed)
    draws = np.random.default_rng(seed).normal(size=true.layout.size)
    wrong = true.prior.with_values(true.prior.values * np.exp(0.1 * draws))
    stranger = replace(true, prior=wrong, loop=None, noise={}, friction_stated=False, reference={}, name="stranger")
    return identified(stranger, replace(log, notes=()), scale)


@pytest.mark.slow
@pytest.mark.parametrize("scale", EACH)
@pytest.mark.parametrize("name", ["tx40", "ur10e", "kr300", "mx106", "dvrk_mtm"])
def test_real_records_in_other_units(real_data: Path, folder: Path, name: str, scale: Scale) -> None:
    before, after = (record_in(folder, name, s) for s in (Scale(), scale))
    assert_same(before, after, scale, CLOSE)


@cache
def record_in(folder: Path, name: str, scale: Scale) -> Result:
    """What is identified from the first motion of a real robot in other units."""
    record = next(r for r in RECORDS if r.name == name)
    description = load(record.card(folder))
    return identified(description, read_log(record.windows[0].path(record.folder), description), scale)


@pytest.mark.parametrize("scale", EACH)
def test_the_check_has_no_preferred_size(folder: Path, scale: Scale) -> None:
    """Findings of the same name with the same verdicts, and no problem with a log that has none."""
    before, after = (checked(lift_in(folder, s)) for s in (Scale(), scale))
    assert after == before and all(level != "problem" for _, level in after)


def checked(result: Result) -> list[tuple[str, str]]:
    """Name and verdict of every finding of the check."""
    return [(f.name, f.verdict) for f in result.check.findings]
