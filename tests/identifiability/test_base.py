"""Base parameters: published counts and groupings, and properties under random robots."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from inertica.dynamics.equations import plain_regressor
from inertica.errors import InputError
from inertica.identifiability.base import BaseModel, base_model, base_model_along, rank_by_gap
from inertica.identifiability.figure import identifiability_map
from inertica.identifiability.states import States, random_states
from inertica.robot.drives import Armature, Coupling
from inertica.robot.friction import Coulomb, Offset, Stribeck, Viscous
from inertica.robot.layout import Layout
from inertica.robot.load import load
from inertica.robot.model import Joint, Limits, Robot
from inertica.robot.terms import RigidBody
from robots import random_chi, random_layout
from scaled import Scale

RANDOM_ROBOTS = range(40)


@cache
def random_model(seed: int) -> BaseModel:
    return base_model(random_layout(seed))


@cache
def catalog_model(name: str) -> BaseModel:
    return base_model(load(name).layout)


def with_offsets(layout: Layout) -> Layout:
    return layout.with_terms([*layout.terms, *(Offset(j) for j in range(layout.robot.n))])


def named(model: BaseModel, indices: np.ndarray) -> set[str]:
    return {model.layout.names[k] for k in indices}


@pytest.mark.parametrize(
    ("name", "count"), [("tx40", 52), ("tx40_coupled", 54), ("rv2sq", 52), ("jaco2", 43), ("scara2", 8), ("planar2", 9)]
)
def test_published_counts(name: str, count: int) -> None:
    model = catalog_model(name)
    assert model.rank == count
    assert model.gap > 1e10
    assert not model.warnings


def test_counts_of_variants() -> None:
    tx40, scara2, planar2 = load("tx40").layout, load("scara2").layout, load("planar2").layout
    coupled = tx40.with_terms([*tx40.terms, Coupling(motor=5, joints=(4, 5))])
    assert base_model(with_offsets(load("tx40_coupled").layout)).rank == 60
    assert base_model(coupled).rank == 55
    assert base_model(with_offsets(coupled)).rank == 61
    assert base_model(scara2.with_terms([*scara2.terms, Armature(1)])).rank == 9
    assert base_model(replace(planar2, fixed=frozenset())).rank == 11


@pytest.mark.parametrize("name", ["tx40", "tx40_coupled", "rv2sq"])
def test_grouping_of_six_joint_arms(name: str) -> None:
    """The closed-form grouping: what is eliminated, what has no effect, the values and the relations."""
    robot = load(name)
    facts = robot.reference["derived_base_parameters"]
    model = catalog_model(name)
    assert named(model, model.eliminated) == set(facts["eliminated"])
    assert named(model, model.no_effect) == set(facts["no_effect"])
    assert set(model.names) == set(facts["values"])
    beta = dict(zip(model.names, model.beta(robot.prior.values), strict=True))
    relation = dict(zip(model.names, model.numeric_relations, strict=True))
    for parameter, fact in facts["values"].items():
        assert beta[parameter] == pytest.approx(fact["value"], abs=1e-9)
        assert relation[parameter] == fact.get("equals", parameter)


@pytest.mark.parametrize("seed", RANDOM_ROBOTS)
def test_base_torques_are_the_torques(seed: int) -> None:
    model = random_model(seed)
    layout = model.layout
    fresh = random_states(layout, 50, seed=1000 + seed)
    Y = plain_regressor(layout, fresh.q, fresh.dq, fresh.ddq)
    chi = random_chi(layout, seed)
    tau = Y @ chi
    assert not model.warnings
    np.testing.assert_allclose(model.reduce(Y) @ model.beta(chi), tau, rtol=0, atol=1e-10 * max(1.0, np.abs(Y).max()))
    np.testing.assert_allclose(model.T @ chi, model.beta(chi), rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", RANDOM_ROBOTS)
def test_kept_columns_are_independent_and_minimal(seed: int) -> None:
    model = random_model(seed)
    layout = model.layout
    fresh = random_states(layout, 150, seed=2000 + seed)
    W = plain_regressor(layout, fresh.q, fresh.dq, fresh.ddq).reshape(-1, layout.size)
    norms = np.linalg.norm(W, axis=0)
    s = np.linalg.svd(W[:, model.retained] / norms[model.retained], compute_uv=False)
    assert s[-1] > 1e-5 * s[0]
    assert len(model.retained) + len(model.eliminated) + len(model.no_effect) == layout.size


@pytest.mark.parametrize("seed", range(10))
def test_standard_parameters_from_base_parameters(seed: int) -> None:
    model = random_model(seed)
    layout = model.layout
    chi, free, beta = random_chi(layout, seed), random_chi(layout, seed + 1), np.random.default_rng(seed).normal(size=model.rank)
    np.testing.assert_allclose(model.chi(model.beta(chi), chi), chi, rtol=0, atol=1e-12)
    back = model.chi(beta, free)
    np.testing.assert_allclose(model.T @ back, beta, rtol=0, atol=1e-12)
    for untouched in (model.eliminated, model.no_effect, model.fixed):
        np.testing.assert_array_equal(back[untouched], free[untouched])
    with pytest.raises(InputError, match="expected"):
        model.chi(beta[:-1], free)


@pytest.mark.parametrize("seed", range(20))
def test_classes_agree_with_the_null_space(seed: int) -> None:
    """A parameter is alone when no null vector moves it, without effect when it is a null vector by itself."""
    model = random_model(seed)
    layout, classes = model.layout, model.classes()
    fresh = random_states(layout, 150, seed=3000 + seed)
    W = plain_regressor(layout, fresh.q, fresh.dq, fresh.ddq).reshape(-1, layout.size)
    norms = np.linalg.norm(W, axis=0)
    scaled = W / np.where(norms > 1e-10 * norms.max(), norms, 1e12)
    _, s, Vt = np.linalg.svd(scaled)
    null = Vt[int(np.sum(s > 1e-9 * s[0])) :].T
    for k, name in enumerate(layout.names):
        unit = np.eye(layout.size)[k]
        in_null_space = np.linalg.norm(unit - null @ null[k]) < 1e-6
        moved = np.linalg.norm(null[k]) > 1e-7
        assert classes[name] == ("none" if in_null_space else "combined" if moved else "alone"), name


def test_fixed_parameters_stay_outside() -> None:
    robot = load("planar2")
    layout = robot.layout
    model = base_model(layout)
    classes = model.classes()
    assert named(model, model.fixed) == {"MY1", "MY2"}
    assert {name for name, label in classes.items() if label == "fixed"} == {"MY1", "MY2"}
    assert {name for name, label in classes.items() if label == "alone"} == {"Fv1", "Fv2", "Fc1", "Fc2", "Im2"}
    chi = robot.prior.replaced({"MY1": 0.7, "MY2": -0.3}).values
    s = random_states(layout, 20, seed=5)
    Y = plain_regressor(layout, s.q, s.dq, s.ddq)
    np.testing.assert_allclose(model.reduce(Y) @ model.beta(chi) + model.known_torque(Y, chi), Y @ chi, rtol=0, atol=1e-9)
    assert model.beta(robot.prior.values)[:2] == pytest.approx([-7.1623, 20.75], abs=1e-9)


def test_published_combinations_of_the_seven_joint_arm() -> None:
    """Each published combination is a combination of our base parameters: it lies in the row space of T."""
    robot = load("jaco2")
    model = base_model(robot.layout)
    lengths = {length.name: length.value for joint in robot.robot.joints for length in joint.lengths}
    units = dict(zip(robot.layout.names, np.eye(robot.layout.size), strict=True))
    for text in robot.reference["base_parameters"]["combinations"].values():
        vector = eval(_in_house_names(text), {}, lengths | units)
        rest = vector - np.linalg.lstsq(model.T.T, vector)[0] @ model.T
        assert np.linalg.norm(rest) < 1e-9, text


def _in_house_names(text: str) -> str:
    """I2yy -> YY2, mc3y -> MY3, m4 -> M4."""
    text = re.sub(r"I(\d)([xyz])([xyz])", lambda m: f"{m[2]}{m[3]}".upper() + m[1], text)
    text = re.sub(r"mc(\d)([xyz])", lambda m: f"M{m[2].upper()}{m[1]}", text)
    return re.sub(r"\bm(\d)", r"M\1", text).replace("^", "**")


@pytest.mark.parametrize("axis", range(3))
def test_preference_follows_the_axis(axis: int) -> None:
    """For a revolute axis along x, y, z the eliminated inertia, moment and mass are ZZ MX M, XX MY M, YY MZ M."""
    wanted = (("ZZ", "MX", "M"), ("XX", "MY", "M"), ("YY", "MZ", "M"))[axis]
    direction = tuple(np.eye(3)[axis])
    other = tuple(np.roll(np.eye(3)[axis], 1))
    joints = (Joint("a", "a", -1, axis=other), Joint("b", "b", 0, axis=direction, position=(0.1, 0.2, 0.3)))
    model = base_model(Layout(Robot("two", joints, gravity=(3.0, -4.0, 5.0))))
    gone = {name for name in named(model, np.concatenate([model.eliminated, model.no_effect])) if name.endswith("2")}
    assert gone == {name + "2" for name in wanted}


def test_payload_regroups_into_its_link() -> None:
    robot = load("scara2")
    layout = replace(robot.layout, payloads=(RigidBody(1, "p", position=(0.1, 0.0, 0.0)),))
    model = base_model(layout)
    assert model.rank == 8
    assert not {name for name in model.names if name.endswith("p")}
    assert dict(zip(model.names, model.numeric_relations, strict=True))["MX2"] == "MX2 + MXp + 0.1*Mp"


def test_same_bytes_twice() -> None:
    for build in (lambda: load("rv2sq").layout, lambda: random_layout(3)):
        one, two = base_model(build()), base_model(build())
        assert one.K.tobytes() == two.K.tobytes() and one.retained.tobytes() == two.retained.tobytes()
        assert one.singular.tobytes() == two.singular.tobytes() and one.relations == two.relations


def test_grouping_does_not_depend_on_the_draw() -> None:
    layout = load("rv2sq").layout
    one, two = base_model(layout, seed=1), base_model(layout, seed=2)
    np.testing.assert_array_equal(one.retained, two.retained)
    np.testing.assert_allclose(one.K, two.K, rtol=0, atol=1e-11)


def motion(n: int, count: int = 400, still: tuple[int, ...] = ()) -> States:
    t = np.linspace(0.0, 10.0, count)[:, None]
    w = 1.0 + 0.37 * np.arange(n)
    q, dq, ddq = np.sin(w * t) + 0.3 * np.cos(2.3 * w * t), w * np.cos(w * t), -(w**2) * np.sin(w * t)
    for x in (dq, ddq):
        x[:, list(still)] = 0.0
    q[:, list(still)] = 0.4
    return States(q, dq, ddq)


def test_along_an_exciting_motion_the_base_is_the_structural_one() -> None:
    layout = load("tx40").layout
    x = motion(6)
    along, structural = base_model_along(layout, x.q, x.dq, x.ddq), base_model(layout)
    np.testing.assert_array_equal(along.retained, structural.retained)
    np.testing.assert_allclose(along.K, structural.K, rtol=0, atol=1e-9)


def test_along_a_motion_that_keeps_joint_1_still() -> None:
    layout = load("tx40").layout
    x = motion(6, still=(0,))
    model = base_model_along(layout, x.q, x.dq, x.ddq)
    classes = model.classes()
    assert model.rank < 52
    assert classes["Fv1"] == classes["Fc1"] == classes["Ia1"] == classes["ZZ1"] == "none"
    assert classes["Fv2"] == classes["Fc6"] == "alone"
    Y = plain_regressor(layout, x.q, x.dq, x.ddq)
    chi = load("tx40").prior.values
    np.testing.assert_allclose(model.reduce(Y) @ model.beta(chi), Y @ chi, rtol=0, atol=1e-9)


def test_motion_in_chunks_gives_the_same_base(monkeypatch: pytest.MonkeyPatch) -> None:
    layout = load("scara2").layout
    x = motion(2)
    whole = base_model_along(layout, x.q, x.dq, x.ddq)
    monkeypatch.setattr("inertica.identifiability.base.CHUNK", 37)
    chunked = base_model_along(layout, x.q, x.dq, x.ddq)
    np.testing.assert_allclose(chunked.K, whole.K, rtol=0, atol=1e-12)
    np.testing.assert_allclose(chunked.singular, whole.singular, rtol=0, atol=1e-12)


def test_malformed_motion_is_refused() -> None:
    layout = load("scara2").layout
    x = motion(2)
    with pytest.raises(InputError, match="shape"):
        base_model_along(layout, x.q, x.dq[:, :1], x.ddq)
    with pytest.raises(InputError, match="not finite"):
        base_model_along(layout, np.where(x.q > 1.0, np.nan, x.q), x.dq, x.ddq)


def test_rank_rule() -> None:
    clear = rank_by_gap(np.array([1.0, 0.1, 1e-3, 1e-15, 0.0]))
    assert (clear.count, clear.warnings) == (3, ()) and clear.gap > 1e11
    assert rank_by_gap(np.array([1.0, 0.1, 1e-5])).count == 3
    weak = rank_by_gap(np.array([1.0, 0.1, 1e-8, 1e-16]))
    assert weak.count == 3 and "weakly" in weak.warnings[0]
    smooth = rank_by_gap(10.0 ** -np.arange(0.0, 16.0))
    assert smooth.count == 7 and "no clear gap" in smooth.warnings[0]


def test_stribeck_is_identifiable_beside_coulomb() -> None:
    robot = load("scara2").robot
    terms = [term for j in range(2) for term in (Stribeck(j, vs=0.002, es=2.7), Viscous(j))]
    model = base_model(Layout(robot, tuple(terms)))
    assert model.classes()["dFs1"] == model.classes()["dFs2"] == "alone"
    assert model.singular[model.rank - 1] > 1e-3


def test_states_respect_limits_and_seed() -> None:
    c = Joint("c", "c", 1, position=(0.4, 0.0, 0.0))  # the longest link: five of it without limits
    joints = (Joint("a", "a", -1), Joint("b", "b", 0, prismatic=True), c, Joint("d", "d", 2))
    inf = np.inf
    limits = Limits((-0.2, -inf, -1e9, 1.0), (0.4, inf, 1e9, inf), *([(inf,) * 4] * 3))
    layout = Layout(Robot("limited", joints, limits=limits), (Coulomb(0),))
    states = random_states(layout, 500, seed=4)
    low, high = states.q.min(axis=0), states.q.max(axis=0)
    assert (low >= [-0.2, -1.0, -2 * np.pi, 1.0]).all() and (high <= [0.4, 1.0, 2 * np.pi, 1.0 + 2 * np.pi]).all()
    assert (np.abs(states.dq) < 0.1).mean() > 0.1 and (np.abs(states.dq) > 1.0).mean() > 0.1
    assert states.q.tobytes() == random_states(layout, 500, seed=4).q.tobytes()
    assert states.q.tobytes() != random_states(layout, 500, seed=5).q.tobytes()


def test_states_of_a_scaled_robot_are_the_scaled_states() -> None:
    scale, description = Scale(mass=20.0, length=0.125, time=4.0), load("scara4")
    robot, other = description.robot, scale.description(description)
    both = [random_states(d.layout) for d in (description, other)]
    for k, (own, theirs) in enumerate(zip(*((x.q, x.dq, x.ddq) for x in both), strict=True)):
        assert theirs == pytest.approx(own * scale.coordinates(robot, k), rel=1e-12)


@pytest.mark.parametrize("name", ["tx40_coupled", "planar2"])
def test_map_letters_every_parameter(name: str) -> None:
    model = catalog_model(name)
    figure = identifiability_map(model)
    written = [text.get_text() for text in figure.axes[0].texts]
    letters = [text.split()[-1] for text in written if text != "other terms"]
    assert len(letters) == model.layout.size
    count = {letter: letters.count(letter) for letter in "ac–f"}
    classes = list(model.classes().values())
    assert count == {
        "a": classes.count("alone"),
        "c": classes.count("combined"),
        "–": classes.count("none"),
        "f": classes.count("fixed"),
    }
