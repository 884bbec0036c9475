"""`inertica show`: counts, classes, bad input in one sentence, the figure, the terminal."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from inertica.cli.main import main
from inertica.cli.show import roll_pitch_yaw
from inertica.robot.model import matrix, rotation_x, rotation_y, rotation_z

INERTIAL = '<inertial><mass value="{mass}"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>'
URDF = f"""<?xml version="1.0"?>
<robot name="pair">
  <link name="base"/>
  <link name="upper">{INERTIAL.format(mass=2)}</link>
  <link name="lower">{INERTIAL.format(mass=1)}</link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" velocity="2" effort="30"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/><origin xyz="0.3 0 0"/><axis xyz="0 1 0"/></joint>
</robot>
"""
BOMB = """<?xml version="1.0"?>
<!DOCTYPE robot [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>
<robot name="&c;"><link name="base"/></robot>
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "pair.urdf").write_text(URDF)
    return tmp_path


def shown(capsys, *words):
    assert main(["show", *map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys, *words):
    assert main(["show", *map(str, words)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("inertica: ") and said.err.count("\n") == 1 and "Traceback" not in said.err
    return said.err


@pytest.mark.parametrize(
    ("robot", "count"), [("tx40", 52), ("tx40_coupled", 54), ("rv2sq", 52), ("jaco2", 43), ("scara2", 8), ("planar2", 9)]
)
def test_base_counts_of_the_catalog(robot, count, capsys):
    document = shown(capsys, robot)
    assert document["name"] == robot and document["base_count"] == count == len(document["base"])
    names = {p["name"] for p in document["parameters"]}
    assert set(document["classes"]) == names and set(document["classes"].values()) <= {"alone", "combined", "none", "fixed"}
    assert len(names) == document["parameter_count"] and document["gap"] > 1e6 and document["warnings"] == []
    assert {"name", "value", "relation"} == set(document["base"][0])
    joints = len(document["joints"])
    assert all(len(values) == joints for values in document["limits"].values())


def test_general_coupling_has_55(tmp_path, capsys):
    card = tmp_path / "card.yaml"
    card.write_text("model: tx40\ncoupling: [{motor: 6, joints: [5, 6]}]\n")
    document = shown(capsys, card)
    assert document["base_count"] == 55
    assert document["terms"][-1] == {"term": "coupling", "joint": None, "parameters": ["Iam6", "Fvm6", "Fcm6"], "shapes": {}}


def test_friction_replaces_that_of_the_file(capsys):
    document = shown(capsys, "planar2", "--friction", "viscous,coulomb,offset")
    assert document["base_count"] == 11 and document["classes"]["off2"] in ("alone", "combined")
    values = {p["name"]: p["value"] for p in document["parameters"]}
    assert values["Fv1"] == 0.1434 and values["off1"] == 0.0
    assert shown(capsys, "planar2", "--friction", "none")["base_count"] == 5
    assert "did you mean 'viscous'?" in refused(capsys, "planar2", "--friction", "viscos")
    assert "names no law" in refused(capsys, "planar2", "--friction", ",")
    assert "LuGre" in refused(capsys, "planar2", "--friction", "lugre")


def test_base_values_are_those_of_the_file(capsys):
    document = shown(capsys, "planar2")
    values = {p["name"]: p["value"] for p in document["parameters"]}
    base = {b["name"]: b for b in document["base"]}
    assert base["MX2"]["relation"] == "MX2 + a2*M2"
    assert base["MX2"]["value"] == pytest.approx(values["MX2"] + 0.5 * values["M2"])
    assert document["classes"]["MY1"] == "fixed" and document["classes"]["XX1"] == "none"
    assert document["classes"]["Fv1"] == "alone" and document["classes"]["M2"] == "combined"


def test_missing_limits_are_null_and_geometry_is_stated(folder, capsys):
    document = shown(capsys, folder / "pair.urdf")
    assert document["limits"]["lower"] == [-1.0, None] and document["limits"]["acceleration"] == [None, None]
    elbow = document["joints"][1]
    assert elbow["name"] == "elbow" and elbow["parent"] == "upper" and elbow["link"] == "lower"
    assert elbow["axis"] == [0.0, 1.0, 0.0] and elbow["position"] == [0.3, 0.0, 0.0] and elbow["type"] == "revolute"


def test_root_and_tip_select_a_chain(folder, capsys):
    document = shown(capsys, folder / "pair.urdf", "--tip", "upper")
    assert [j["name"] for j in document["joints"]] == ["shoulder"]
    (folder / "card.yaml").write_text("model: pair.urdf\n")
    assert "'lower'" in refused(capsys, folder / "pair.urdf", "--tip", "lowr")
    assert "card" in refused(capsys, folder / "card.yaml", "--tip", "upper")
    assert "built-in" in refused(capsys, "planar2", "--root", "upper")
    assert "no such file" in refused(capsys, folder / "none.urdf", "--root", "upper")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("missing.urdf", None, "missing.urdf: there is no such file"),
        ("broken.urdf", URDF.replace("</robot>", ""), "broken.urdf"),
        ("broken.yaml", "model: [pair.urdf\n", "not valid YAML"),
        ("card.yaml", "model: pair.urdf\nfricton: [viscous]\n", "card.yaml:2: unknown key 'fricton'; did you mean 'friction'?"),
        ("card.yaml", "model: pair.urdf\njoints: [shoulder, wrist]\n", "wrist"),
        ("planar.urdf", URDF.replace("continuous", "planar"), "planar"),
        ("bomb.urdf", BOMB, "bomb.urdf"),
        ("tags.yaml", "model: !!python/object/apply:os.system [ls]\n", "tags.yaml:1"),
        ("empty.yaml", "", "empty"),
    ],
)
def test_bad_files_are_refused_in_one_sentence(name, text, said, folder, capsys):
    if text is not None:
        (folder / name).write_text(text)
    assert said in refused(capsys, folder / name)


def test_an_unknown_robot_names_the_nearest(capsys):
    assert "did you mean 'tx40'?" in refused(capsys, "tx4")


@pytest.mark.parametrize("mass", ["0", "-1"])
def test_a_link_without_mass_is_a_warning(mass, folder, capsys):
    path = folder / "light.urdf"
    path.write_text(URDF.replace('<mass value="1"/>', f'<mass value="{mass}"/>'))
    assert main(["show", str(path), "--json"]) == 0
    said = capsys.readouterr()
    sentences = json.loads(said.out)["warnings"]
    assert any("'lower'" in sentence and "mass" in sentence for sentence in sentences)
    assert said.err == "".join(f"inertica: warning: {sentence}\n" for sentence in sentences)


def test_the_figure_is_a_png(tmp_path, capsys):
    path = tmp_path / "map.png"
    assert main(["show", "planar2", "--png", str(path)]) == 0
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width = int.from_bytes(data[16:20], "big")
    assert 800 <= width <= 2000  # a column at print resolution
    capsys.readouterr()
    assert "no folder" in refused(capsys, "planar2", "--png", tmp_path / "none" / "map.png")
    assert "is a folder" in refused(capsys, "planar2", "--png", tmp_path)


def test_text_fits_and_holds_the_map_without_colour(capsys):
    assert main(["show", "tx40"]) == 0
    said = capsys.readouterr().out
    lines = said.splitlines()
    assert max(map(len, lines)) <= 100 and "\x1b" not in said
    assert "78 standard and 52 base parameters" in said and "control loop: pd at 5000 Hz" in said and "high_torque" in said
    first = lines.index(next(line for line in lines if line.startswith("link ")))
    assert lines[first].split()[1:] == ["XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M", "Ia", "Fv", "Fc"]
    assert lines[first + 2].split()[2:] == ["–", "–", "–", "–", "–", "c", "–", "–", "–", "–", "c", "a", "a"]
    assert "37 more stand for themselves" in said


@pytest.mark.parametrize(("setting", "coloured"), [("FORCE_COLOR", True), ("NO_COLOR", False)])
def test_colour_follows_the_environment(setting, coloured):
    kept = {k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "NO_COLOR")}
    environment = kept | {"TERM": "xterm-256color", setting: "1"}
    words = [sys.executable, "-m", "inertica.cli.main", "show", "planar2"]
    said = subprocess.run(words, capture_output=True, text=True, check=True, env=environment).stdout
    assert ("\x1b[38;5;" in said) == coloured


def test_an_ascii_terminal_gets_text(folder):
    words = [sys.executable, "-m", "inertica.cli.main", "show", "planar2"]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0 and done.stderr == ""


def test_angles_give_the_rotation_back():
    rng = np.random.default_rng(3)
    for roll, pitch, yaw in [*rng.uniform(-3, 3, size=(20, 3)), (0.4, np.pi / 2, 0.2), (0.4, -np.pi / 2, 1.2), (0, 0, 0)]:
        R = rotation_z(yaw) @ rotation_y(pitch) @ rotation_x(roll)
        r, p, y = roll_pitch_yaw(matrix(R))
        assert rotation_z(y) @ rotation_y(p) @ rotation_x(r) == pytest.approx(R, abs=1e-7)
