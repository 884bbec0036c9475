"""`inertica excite`: a trajectory inside the limits, its files, bad input."""

from __future__ import annotations

import json

import numpy as np
import pytest

from inertica.cli.main import main
from inertica.excitation import Obstacle, load_trajectory, surroundings
from inertica.identifiability.base import base_model
from inertica.robot.load import load


def test_a_trajectory_inside_the_limits_is_written(tmp_path, capsys) -> None:
    target, samples, ros = tmp_path / "t.yaml", tmp_path / "t.csv", tmp_path / "ros.yaml"
    words = ["excite", "scara4", "-o", str(target), "--samples", str(samples), "--ros2", str(ros)]
    assert main([*words, "--harmonics", "5", "--period", "4", "--seconds", "2", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["feasible"] and document["condition"] < 1e4
    limits = load("scara4").robot.limits
    q, dq, _ = load_trajectory(target)(np.linspace(0, 4, 4001))
    assert np.all(q < np.array(limits.upper)) and np.all(q > np.array(limits.lower))
    assert np.all(np.abs(dq) < np.array(limits.velocity))
    assert samples.read_text().startswith("t,q1") and "joint_names" in ros.read_text()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--family", "splin"], "did you mean 'spline'"),
        (["--criterion", "conditon"], "did you mean 'condition'"),
        (["--period", "-1"], "positive number of seconds"),
        (["--given", "nothing.csv"], "nothing.csv"),
        (["--obstacle", "box:1,1,1"], "as in box:0.2,0.6,1@0.7,0,0.5"),
        (["--obstacle", "cone:1@0,0,0"], "an obstacle cannot be a 'cone'"),
        (["--floor", "low"], "the floor is a height in m, auto or none"),
        (["--box", "1,2,3"], "a box has six numbers"),
        (["--clearance", "0"], "greater than zero"),
        (["--slow", "1"], "slowed down by a factor greater than 1"),
        (["--k1", "2"], "k1 and k2 are weights of the criterion survey"),
    ],
)
def test_bad_input_is_one_sentence(words: list[str], sentence: str, tmp_path, capsys) -> None:
    assert main(["excite", "scara4", "-o", str(tmp_path / "t.yaml"), *words]) == 2
    said = capsys.readouterr()
    assert sentence in said.err and said.err.count("\n") == 1
    assert not (tmp_path / "t.yaml").exists()


def test_what_must_not_be_touched(tmp_path, capsys) -> None:
    """Obstacle, box, clearance, survey weights and figure; the distances that are said are those of the written motion."""
    target, figure = tmp_path / "t.yaml", tmp_path / "clear.svg"
    words = ["excite", "tx40", "-o", str(target), "--obstacle", "sphere:0.1@0.45,0,0.5", "--box=-0.9,-0.9,-0.1,0.9,0.9,1.2"]
    words += [
        "--clearance",
        "0.03",
        "--floor",
        "-0.05",
        "--criterion",
        "survey",
        "--k1",
        "2",
        "--k2",
        "7",
        "--figure",
        str(figure),
    ]
    assert main([*words, "--harmonics", "4", "--period", "4", "--grid", "40", "--seconds", "2", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    safety, closest = document["safety"], document["safety"]["closest"]
    assert (
        safety["floor"] == -0.05
        and safety["clearance"] == {"least": 0.03, "of_built_shapes": 0.03}
        and closest["distance"] >= 0.03
    )
    assert ["link6", "sphere 1"] in safety["pairs"] and ["link6", "wall at z = 1.2"] in safety["pairs"]
    description, motion = load("tx40"), load_trajectory(target)
    bodies = surroundings(
        description, -0.05, (-0.9, -0.9, -0.1, 0.9, 0.9, 1.2), [Obstacle("sphere", (0.1,), (0.45, 0, 0.5))], 0.03
    )
    t = np.linspace(0.0, 4.0, 4001)
    again = bodies.approach(motion(t).q, t)
    assert again.distance == pytest.approx(closest["distance"], abs=1e-6) and again.time == pytest.approx(
        closest["time"], abs=2e-3
    )
    a, b = (np.array(p) for p in closest["points"])
    assert np.linalg.norm(a - b) == pytest.approx(closest["distance"], abs=0.05)  # thinner capsules may count
    base = base_model(description.layout)
    W = base.engine.regressor(*motion(np.linspace(0.0, 4.0, 40, endpoint=False))).reshape(240, -1)[:, base.retained]
    s = np.linalg.svd(W, compute_uv=False)
    assert document["value"] == pytest.approx(
        2.0 * (s[0] / s[-1]) ** 2 + 7.0 / s[-1], rel=1e-3
    )  # the file's digits move signs at rest
    drawing = figure.read_text()
    assert "smallest distance (mm)" in drawing and closest["bodies"][0] in drawing and str(figure) in document["files"]


def test_impossible_demands_are_a_failure_not_a_result(tmp_path, capsys) -> None:
    words = ["excite", "tx40", "-o", str(tmp_path / "t.yaml"), "--floor", "5", "--seconds", "1", "--harmonics", "4"]
    assert main(words) == 1
    assert "no trajectory inside the limits" in capsys.readouterr().err
    assert not (tmp_path / "t.yaml").exists()


def test_a_motion_for_a_payload(tmp_path, capsys) -> None:
    target = tmp_path / "load.yaml"
    words = ["excite", "tx40", "-o", str(target), "--for", "payload"]
    assert main([*words, "--seconds", "4", "--grid", "40", "--harmonics", "4", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["criterion"] == "-log det of the load's information" and document["period"] == 15.0 and document["feasible"]
    assert main(["excite", "tx40", "-o", str(target), "--mass", "2"]) == 2
    assert "say that this one is for a payload" in capsys.readouterr().err
    assert main(["excite", "tx40", "-o", str(target), "--for", "payload", "--criterion", "condition"]) == 2
    assert "has its own criterion" in capsys.readouterr().err


def test_the_criterion_of_the_frisch_paper(tmp_path, capsys) -> None:
    target = tmp_path / "t.yaml"
    words = ["--criterion", "frisch", "--harmonics", "4", "--grid", "40", "--seconds", "2", "--json"]
    assert main(["excite", "planar2", "-o", str(target), *words]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["criterion"] == "1 cond(W) + 1/s_min + psi"
    assert document["feasible"] and document["value"] > document["condition"]


URDF = """<robot name="two"><link name="base"/>
<link name="a"><inertial><origin xyz="0.2 0 0"/><mass value="2"/><inertia ixx="0.02" iyy="0.05" izz="0.05"/></inertial></link>
<link name="b"><inertial><origin xyz="0.2 0 0"/><mass value="1"/><inertia ixx="0.01" iyy="0.03" izz="0.03"/></inertial></link>
<joint name="j1" type="revolute"><parent link="base"/><child link="a"/><origin xyz="0 0 0.8"/><axis xyz="0 1 0"/>
<limit lower="-1.5" upper="1.5" velocity="2" effort="{effort}"/></joint>
<joint name="j2" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0.4 0 0"/><axis xyz="0 1 0"/>
<limit lower="-1.5" upper="1.5" velocity="2" effort="9"/></joint></robot>"""
QUICK = ["--harmonics", "4", "--period", "4", "--grid", "30", "--seconds", "3", "--floor", "none"]


def test_assumed_accelerations_are_said_and_kept(tmp_path, capsys) -> None:
    (tmp_path / "two.urdf").write_text(URDF.format(effort=12))
    target = tmp_path / "t.yaml"
    assert main(["excite", str(tmp_path / "two.urdf"), "-o", str(target), *QUICK, "--json"]) == 0
    said = capsys.readouterr()
    assert "two.urdf: NO ACCELERATION LIMITS" in said.err and "(model: two.urdf, limits: {acceleration: [?, ?]})" in said.err
    document = json.loads(said.out)
    first, second = document["acceleration_limits"]
    assert (first["origin"], second["origin"], first["unit"]) == ("torque", "velocity", "rad/s^2")
    assert first["value"] == pytest.approx((12.0 - first["rest_torque"] - first["friction"]) / first["inertia"])
    assert second["value"] == pytest.approx(second["velocity_limit"] / second["time"])
    assert any("NO ACCELERATION LIMITS" in sentence for sentence in document["warnings"])
    used = np.abs(load_trajectory(target)(np.linspace(0.0, 4.0, 4001)).ddq).max(axis=0)
    assert np.all(used < [first["value"], second["value"]])


def test_a_slow_first_pass_beside_the_motion(tmp_path, capsys) -> None:
    (tmp_path / "two.urdf").write_text(URDF.format(effort=40))
    (tmp_path / "card.yaml").write_text("model: two.urdf\nlimits: {acceleration: [9, 9]}\n")
    target, samples = tmp_path / "t.yaml", tmp_path / "t.csv"
    words = ["excite", str(tmp_path / "card.yaml"), "-o", str(target), "--samples", str(samples), "--slow", "4"]
    assert main([*words, *QUICK, "--json"]) == 0
    said = capsys.readouterr()
    document = json.loads(said.out)
    assert "ACCELERATION" not in said.err and [a["origin"] for a in document["acceleration_limits"]] == ["stated"] * 2
    assert document["slow"]["files"] == [str(tmp_path / "t-slow.yaml"), str(tmp_path / "t-slow.csv")]
    assert document["slow"]["factor"] == 4.0 and document["slow"]["period"] == 16.0 and document["slow"]["feasible"]
    t = np.linspace(0.0, 4.0, 101)
    fast, slow = load_trajectory(target)(t), load_trajectory(tmp_path / "t-slow.yaml")(4.0 * t)
    assert np.allclose(slow.q, fast.q, atol=1e-9) and np.allclose(4.0 * slow.dq, fast.dq, atol=1e-9)
    assert len((tmp_path / "t-slow.csv").read_text().splitlines()) == 4 * (len(samples.read_text().splitlines()) - 2) + 2
