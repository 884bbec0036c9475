"""Friction with memory, carried by the folder of a result."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import inertica as ia
import pair
from inertica.dynamics.engine import Engine
from inertica.errors import InputError
from inertica.report.bundle import add_bristles, write_bundle
from inertica.robot.friction import Coulomb, LuGre, Offset, friction_terms
from inertica.robot.plain import with_laws
from inertica.workflow.friction.bristles import Bristles, JointFriction, with_bristles, write_bristles
from inertica.workflow.identify.result import Result

VALUES = {"sigma0": 500.0, "sigma1": 4.0, "sigma2": 0.4, "fc": 0.9, "fs": 1.3, "vs": 0.05}


def found(names: tuple[str, ...]) -> Bristles:
    """Bristles on the first joint."""
    first = JointFriction(names[0], "lugre", VALUES, {**{k: 0.01 * v for k, v in VALUES.items()}, "vs": float("inf")}, 0.5, 0.1)
    others = [JointFriction(n, "coulomb", {"Fv": 0.1, "Fc": 0.2}, {"Fv": 0.01, "Fc": 0.02}, 0.3, 0.3) for n in names[1:]]
    return Bristles((first, *others), ("run.csv",))


def test_a_result_that_takes_them_in_brings_them_back(tmp_path: Path) -> None:
    result = pair.identified()
    names = result.description.robot.joint_names
    folder = result.save(tmp_path / "r")
    write_bristles(folder, found(names), names)
    again = Result.load(folder)
    assert again.bristles == found(names) and list(again.bristles.found) == [0]
    assert np.array_equal(again.parameters.values, result.parameters.values)
    assert Result.load(again.save(tmp_path / "s")).bristles == found(names)
    with pytest.raises(InputError, match="a result of another robot"):
        write_bristles(folder, found(("a", "b")), names)


def test_they_stand_in_place_of_the_joints_other_friction() -> None:
    result = pair.identified()
    made = with_bristles(result.parameters, found(result.description.robot.joint_names))
    own = {type(t) for t in friction_terms(made.layout.terms) if t.at == 0}
    assert own <= {LuGre, Offset} and Coulomb in {type(t) for t in friction_terms(made.layout.terms) if t.at == 1}
    assert np.array_equal(made.link(0), result.parameters.link(0)) and made["Fc2"] == result.parameters["Fc2"]


def test_the_card_beside_the_exported_model_has_them_and_the_links_of_the_result(tmp_path: Path) -> None:
    result = pair.identified()
    names = result.description.robot.joint_names
    folder = write_bundle(result, tmp_path / "r").folder
    files = add_bristles(folder, found(names))
    assert {f.name for f in files} == {"result.json", "identified.urdf", "identified.extra.yaml", "report.html"}
    card = ia.load(folder / "identified.extra.yaml")
    (law,) = (t for t in card.layout.terms if isinstance(t, LuGre))
    assert law.at == 0 and {name: getattr(law, name) for name in VALUES} == VALUES
    bare = [with_laws(d, ()) for d in (card, result.description)]
    rng = np.random.default_rng(1)
    q, dq, ddq = (rng.uniform(-2.0, 2.0, (20, len(names))) for _ in range(3))
    values = [d.prior if d is bare[0] else result.parameters.on(d.layout) for d in bare]
    ours, theirs = (Engine(d.layout).inverse_dynamics(q, dq, ddq, v) for d, v in zip(bare, values, strict=True))
    assert np.abs(ours - theirs).max() < 1e-9 * np.abs(theirs).max()
    page = (folder / "report.html").read_text()
    assert 'id="bristles"' in page and "500 ± 5" in page and "slowly from rest" in page
