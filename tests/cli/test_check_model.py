"""`inertica check-model` and `inertica repair`: verdicts, files, JSON, bad input."""

from __future__ import annotations

import json

import numpy as np
import pytest

from inertica.cli.main import main
from inertica.identifiability.base import base_model
from inertica.physical.check import check_link, check_model, cholesky_tolerance
from inertica.physical.repair import inconsistent_names, repair
from inertica.robot import inertia
from inertica.robot.files import catalog
from inertica.robot.load import load

URDF = """<?xml version="1.0"?>
<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0 0 0.2"/><mass value="3"/>
    <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.005"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0 0 0.1"/><mass value="1"/>
    <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.002" iyz="0" izz="0.009"/></inertial></link>
  <joint name="j1" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="10" velocity="3"/></joint>
  <joint name="j2" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0 0 0.4"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="10" velocity="3"/></joint>
</robot>
"""


@pytest.fixture
def arm(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(URDF)
    return path


def test_a_broken_triangle_inequality_is_found(arm, capsys) -> None:
    assert main(["check-model", str(arm), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    upper, lower = document["links"]
    assert not document["consistent"] and upper["consistent"] and not lower["consistent"]
    assert lower["problem"] == "principal moments break the triangle inequality"
    assert lower["triangle"] == pytest.approx(0.001 + 0.002 - 0.009)
    assert lower["minors"] == pytest.approx([0.001, 0.001 * 0.002, 0.001 * 0.002 * 0.009])
    assert lower["cholesky_tolerance"] == 0 and lower["margin"] < 0
    assert lower["com"] == pytest.approx([0, 0, 0.1]) and lower["eigenvalues"] == pytest.approx([0.001, 0.002, 0.009])
    assert document["inertia_matrix"]["smallest_eigenvalue"] > 0 and document["inertia_matrix"]["configurations"] == 1000
    assert main(["check-model", str(arm), "--strict"]) == 1
    said = capsys.readouterr().out
    assert "arm is not physically consistent: no real body has the parameters of lower" in " ".join(said.split())


@pytest.mark.parametrize("name", [n for n in catalog() if n != "planar2"])
def test_catalog_robots_are_consistent(name: str) -> None:
    checked = check_model(load(name).prior, configurations=50)
    assert checked.consistent, checked.sentence


@pytest.mark.parametrize("metric", ["euclidean", "frobenius", "pullback"])
def test_a_repaired_file_passes_and_sound_links_are_untouched(arm, tmp_path, capsys, metric: str) -> None:
    target = tmp_path / "fixed.urdf"
    assert main(["repair", str(arm), "-o", str(target), "--metric", metric, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["inconsistent"] == ["lower"] and document["consistent"] and document["distance"] > 0
    assert all(c["name"].endswith("2") for c in document["changed"])
    assert main(["check-model", str(target), "--strict"]) == 0
    before, after = load(arm).prior, load(target).prior
    assert np.allclose(before.link(0), after.link(0), rtol=1e-12)


def test_repair_is_the_nearest_of_consistent_bodies(arm) -> None:
    prior = load(arm).prior
    found = repair(prior, "frobenius")
    from inertica.physical.scales import Reference

    size = Reference.of(prior.layout, prior.values).sizes[1]
    before = size.pseudo @ inertia.pseudo_inertia(prior.link(1)) @ size.pseudo
    e, V = np.linalg.eigh(before)
    closed_form = V @ np.diag(np.maximum(e, 1e-5)) @ V.T
    after = size.pseudo @ inertia.pseudo_inertia(found.parameters.link(1)) @ size.pseudo
    assert np.allclose(after, closed_form, atol=1e-6)
    assert found.distance == pytest.approx(np.linalg.norm(closed_form - before), rel=1e-4)


def test_a_consistent_model_stays_as_it_is(tmp_path, capsys) -> None:
    prior = load("tx40").prior
    assert repair(prior).changed == () and inconsistent_names(prior) == ()
    assert main(["repair", "tx40", "-o", str(tmp_path / "same.yaml")]) == 0
    assert "physically consistent as it is" in capsys.readouterr().out
    assert np.array_equal(load(tmp_path / "same.yaml").prior.values, prior.values)


def test_dynamics_can_be_kept() -> None:
    prior = load("tx40").prior
    base = base_model(prior.layout)
    broken = prior.with_values(
        base.chi(base.beta(prior.values), prior.values * np.where(np.arange(prior.layout.size) % 3, 1, -1))
    )
    assert inconsistent_names(broken)
    found = repair(broken, keep_dynamics=base)
    assert inconsistent_names(found.parameters) == ()
    assert base.beta(found.parameters.values) == pytest.approx(base.beta(broken.values), rel=1e-6, abs=1e-7)


def test_negative_friction_is_lifted_to_zero() -> None:
    prior = load("tx40").prior.replaced({"Fv3": -0.5, "Ia2": -0.1})
    assert inconsistent_names(prior) == ("Ia2", "Fv3")
    found = repair(prior)
    assert set(found.changed) == {"Ia2", "Fv3"}
    assert 0 <= found.parameters["Fv3"] < 1e-6 and 0 <= found.parameters["Ia2"] < 1e-6


def test_a_frame_without_mass_is_no_fault_and_a_point_mass_is_one() -> None:
    assert check_link("frame", np.zeros(10)).consistent
    point = check_link("point", inertia.from_com(1.0, [0, 0, 0.1], np.zeros((3, 3))))
    assert not point.consistent and "centre of mass" in point.problem


def test_no_tolerance_helps_an_indefinite_matrix_with_a_zero_pivot() -> None:
    assert cholesky_tolerance([[0.0, 1.0], [1.0, 0.0]]) == np.inf
    assert cholesky_tolerance([[0.0, 0.0], [0.0, 1.0]]) == 0.0


def test_cholesky_tolerance_is_the_depth_of_the_worst_pivot() -> None:
    ten = inertia.from_com(1.0, [0, 0, 0], np.diag([0.2, -0.04, 0.3]))
    assert check_link("x", ten).cholesky_tolerance == pytest.approx(0.04)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["check-model", "tx41"], "did you mean 'tx40'"),
        (["check-model", "tx40", "--configurations", "0"], "at least 1"),
        (["repair", "tx40", "-o", "/no/such/folder/x.yaml"], "no folder"),
        (["repair", "tx40", "-o", "x.yaml", "--metric", "taxi"], "unknown metric 'taxi'"),
        (["repair", "tx40"], "-o"),
    ],
)
def test_bad_input_is_one_sentence(words: list[str], sentence: str, capsys) -> None:
    assert main(words) == 2
    said = capsys.readouterr()
    assert sentence in said.err and said.err.count("\n") == 1 and not said.out
