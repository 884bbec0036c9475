"""Friction laws chosen on simulated logs whose law is known, and what is said of them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import inertica as ia
from inertica.dynamics.engine import Engine
from inertica.experiment import Experiment
from inertica.identifiability.labels import DETERMINED, UNIDENTIFIABLE, WEAK
from inertica.logs.log import Log
from inertica.preprocessing.edge import lowest_edge
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.friction import Coulomb, LoadDependent, Offset, Stribeck, Viscous
from inertica.robot.layout import Parameters
from inertica.robot.terms import Term
from inertica.workflow.decisions.filter import recipe_for
from inertica.workflow.decisions.friction import FrictionSelection

ROBOT = "rv2sq"


def truth(law: str) -> Parameters:
    """The catalog robot with one more piece of friction on every joint."""
    robot = ia.load(ROBOT)
    terms: list[Term] = []
    values: dict[str, float] = {}
    for j in range(robot.robot.n):
        fc = robot.prior[f"Fc{j + 1}"]
        terms += [Viscous(j), Stribeck(j, vs=0.3) if law == "stribeck" else Coulomb(j)]
        if law == "stribeck":
            values[f"dFs{j + 1}"] = 0.6 * fc
        if law == "offset":
            terms.append(Offset(j))
            values[f"off{j + 1}"] = 0.4 * fc
        if law == "load":
            terms.append(LoadDependent(j, robot.prior.moments()))
            values[f"mu{j + 1}"] = 0.15
    others = [t for t in robot.layout.terms if not isinstance(t, Viscous | Coulomb)]
    layout = replace(robot.layout, terms=(*others, *terms))
    return robot.prior.on(layout).replaced(values)


@cache
def simulated(law: str) -> Log:
    robot = ia.load(ROBOT)
    experiment = replace(Experiment.of(robot, noise="low_position"), truth=truth(law))
    (log,) = experiment.run(ia.catalog_trajectory(ROBOT).trajectory, seed=11)
    return log


def search(law: str) -> FrictionSelection:
    robot, log = replace(ia.load(ROBOT), friction_stated=False), simulated(law)
    recipe = recipe_for(min(lowest_edge((log,)), 0.25 * log.rate), log.rate, Recipe(delay=-0.5 / 1000.0))
    return FrictionSelection(robot, [prepare(log, recipe)], lambda _: None)


@pytest.mark.parametrize(
    ("law", "piece", "joints"),
    [("none more", None, 6), ("offset", Offset, 5), ("stribeck", Stribeck, 4), ("load", LoadDependent, 1)],
)
def test_the_law_of_the_log_is_found(law: str, piece: type[Term] | None, joints: int) -> None:
    found, choice = search(law).run()
    more = [t for t in found.layout.terms if isinstance(t, Offset | Stribeck | LoadDependent)]
    if piece is None:
        assert not more and choice.value == "joints 1, 2, 3, 4, 5, 6: viscous, Coulomb"
    else:
        assert len([t for t in more if isinstance(t, piece)]) >= joints
        assert len([t for t in more if not isinstance(t, piece)]) <= 1
    assert "were tried on every joint" in choice.sentence


def test_every_piece_brakes() -> None:
    """Amplitudes of the chosen pieces are not negative, offsets apart."""
    own = search("stribeck")
    own.run()
    amplitudes = own.selection.amplitudes(own.chosen)
    assert all(a >= 0.0 for k, a in zip(own.chosen, amplitudes, strict=True) if own.pieces[k].kind != "offset")


def test_other_laws_say_what_they_would_change() -> None:
    own = search("none more")
    own.run()
    changes = own.changes()
    names = set(own.base.names) | {f"F{s}{j + 1}" for s in "vc" for j in range(6)}
    assert all(set(change) <= names for change in changes)
    assert all(np.isfinite(list(change.values())).all() for change in changes)


def counted(own: FrictionSelection, k: int) -> bool:
    """Whether a piece that was not taken counts by even odds, with what one standard deviation of it would move."""
    moved, before, z = own._named_fit([*own.chosen, k]), own._named_fit(own.chosen), own.selection.gain(own.chosen, k).z
    factor = np.sqrt((1.0 + 1.0 / z**2) / (1.0 + np.exp(-0.5 * z**2)))
    expected = np.array([factor * (moved[name] - value) for name, value in before.items()])
    stated = [np.array([change[name] for name in before]) for change in own.changes() if before.keys() <= change.keys()]
    return any(np.allclose(x, expected, rtol=1e-9, atol=0.0) for x in stated)


def test_an_offset_that_was_not_taken_leaves_its_uncertainty() -> None:
    own = search("none more")
    own.run()
    left = [k for k, p in enumerate(own.pieces) if p.kind == "offset" and k not in own.chosen]
    assert len(left) == 6
    assert all(counted(own, k) for k in left)


def test_viscous_friction_that_was_left_out_leaves_its_uncertainty() -> None:
    """A fit without it would state dry friction too narrowly."""
    own = search("none more")
    own.run()
    left = next(k for k in own.chosen if own.pieces[k].kind == "viscous" and own.pieces[k].joint == 5)
    own.chosen = [k for k in own.chosen if k != left]
    assert counted(own, left)


def test_a_load_law_survives_saving(tmp_path) -> None:
    """The moments that make the load are in the card of a result."""
    result = ia.identify(
        replace(ia.load(ROBOT), friction_stated=False), [simulated("load")], method="wls", quick=True, delay=-0.0005
    )
    laws = [t for t in result.description.layout.terms if isinstance(t, LoadDependent)]
    assert laws
    again = ia.Result.load(result.save(tmp_path / "result"))
    assert [t for t in again.description.layout.terms if isinstance(t, LoadDependent)] == laws
    assert np.allclose(again.predict(simulated("load")), result.predict(simulated("load")), rtol=1e-9, atol=1e-9, equal_nan=True)


def test_a_stated_load_law_gets_its_load_from_a_first_fit(tmp_path) -> None:
    """From the prior when the card is read, from the data when it is fitted."""
    card = tmp_path / "card.yaml"
    card.write_text(f"model: {ia.load(ROBOT).source.path}\nfriction: [viscous, coulomb, load]\n")
    robot = ia.load(str(card))
    read = [t for t in robot.layout.terms if isinstance(t, LoadDependent)]
    assert len(read) == 6 and all(t.moments == robot.prior.moments() for t in read)
    result = ia.identify(robot, [simulated("load")], method="wls", quick=True, delay=-0.0005)
    found = next(t for t in result.description.layout.terms if isinstance(t, LoadDependent))
    assert found.moments != robot.prior.moments()
    low, high = result.intervals[result.parameters.layout.index("mu2")]
    assert low < 0.15 < high
    assert result.labels["mu1"] == UNIDENTIFIABLE and result.parameters["mu1"] == 0.0  # no link weighs on a vertical axis


def test_excess_friction_too_slow_to_be_seen_is_not_trusted(tmp_path) -> None:
    card = tmp_path / "card.yaml"
    card.write_text(f"model: {ia.load(ROBOT).source.path}\nfriction: [viscous, {{stribeck: {{vs: 0.01}}}}]\n")
    result = ia.identify(str(card), [simulated("none more")], method="wls", quick=True, delay=-0.0005)
    assert all(result.labels[f"dFs{j + 1}"] != "determined" for j in range(6))
    assert any("looks like friction" in warning for warning in result.warnings)


PENDULUM = """<robot name="pendulum"><link name="base"/>
  <joint name="a" type="revolute"><parent link="base"/><child link="one"/><axis xyz="1 0 0"/>
    <limit lower="-3" upper="3" velocity="5" effort="5"/></joint>
  <link name="one"><inertial><origin xyz="0 0 0.05"/><mass value="0.4"/>
    <inertia ixx="1e-3" ixy="0" ixz="0" iyy="1e-3" iyz="0" izz="1e-4"/></inertial></link>
  <joint name="b" type="revolute"><parent link="one"/><child link="two"/><origin xyz="0 0 0.1"/><axis xyz="1 0 0"/>
    <limit lower="-3" upper="3" velocity="5" effort="5"/></joint>
  <link name="two"><inertial><origin xyz="0 0 0.1"/><mass value="0.3"/>
    <inertia ixx="1e-3" ixy="0" ixz="0" iyy="1e-3" iyz="0" izz="1e-4"/></inertial></link>
</robot>"""
FREQUENCY = 0.5


def test_what_one_frequency_cannot_tell_is_not_left_out(tmp_path) -> None:
    """Viscous friction of two joints, drive inertia and inertia make each other up where both move at one frequency.

    Without the viscous friction of one joint, that of the other came out at three times its value, and was called determined.
    """
    (tmp_path / "pendulum.urdf").write_text(PENDULUM)
    robot, rng = ia.load(tmp_path / "pendulum.urdf"), np.random.default_rng(3)
    t, w = np.arange(0.0, 20.0, 0.005), 2.0 * np.pi * FREQUENCY
    angle = w * t[:, None] + np.array([0.0, 1.1])
    q, dq = (np.array([0.6, 0.5]) * x for x in (np.sin(angle), w * np.cos(angle)))
    true = robot.with_terms((Viscous(0), Coulomb(0), Viscous(1), Coulomb(1))).prior
    true = true.replaced({"Fv1": 0.03, "Fc1": 0.06, "Fv2": 0.02, "Fc2": 0.04})
    tau = np.asarray(Engine(true.layout).inverse_dynamics(q, dq, -w * w * q, true))
    tau = tau + 0.01 * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
    log = Log.from_arrays(t, {"q": q + 1e-4 * rng.normal(size=q.shape), "tau": tau}, robot.robot.joint_names)
    wrong = robot.prior.with_values(robot.prior.values * np.exp(0.1 * rng.normal(size=robot.layout.size)))
    result = ia.identify(replace(robot, prior=wrong), [log], quick=True)
    assert {t.joint for t in result.description.layout.terms if isinstance(t, Viscous)} == {0, 1}
    claimed = [name for name, label in result.labels.items() if label in (DETERMINED, WEAK)]
    away = {name: half_widths(result, name, true[name] if name in true.layout.names else 0.0) for name in claimed}
    assert {"Fv1", "Fv2", "Fc1", "Fc2", "MZ2"} <= set(away) and max(away.values()) < 2.0
    assert result.labels["Fv1"] == result.labels["Fv2"] == WEAK


def half_widths(result: ia.Result, name: str, true: float) -> float:
    """By how many half-widths of its interval a parameter's truth lies off the middle."""
    low, high = result.intervals[result.parameters.layout.index(name)]
    return float(abs(true - (low + high) / 2.0) / ((high - low) / 2.0))
