"""`--xacro`: expanded in a process of its own, where somebody says so and nowhere else."""

from __future__ import annotations

import pytest

import pair
from inertica.cli import expand
from inertica.cli.main import main

MACRO = """<?xml version="1.0"?>
<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="heavy" default="2.0"/>
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="$(arg heavy)"/>
    <inertia ixx="0.01" iyy="${0.05 * 2}" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="lift" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" velocity="2" effort="20"/></joint>
</robot>
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "arm.urdf.xacro"
    path.write_text(MACRO)
    return path


def test_a_xacro_file_is_expanded_beside_itself_with_its_arguments(capsys, model):
    pytest.importorskip("xacro", reason="the package xacro is not installed")
    assert main(["show", str(model), "--xacro", "heavy:=3.5"]) == 0
    assert '<mass value="3.5"/>' in (model.parent / "arm.urdf").read_text()
    assert main(["show", str(model), "--xacro"]) == 0  # again, over what xacro made before
    assert '<mass value="2.0"/>' in (model.parent / "arm.urdf").read_text()
    assert main(["check-model", str(model), "--xacro"]) == 0
    model.write_text(MACRO.replace("${0.05 * 2}", "${nobody}"))
    assert main(["show", str(model), "--xacro"]) == 2
    assert "xacro refuses the file" in capsys.readouterr().err


def test_without_the_option_nothing_is_expanded(capsys, model):
    assert main(["show", str(model)]) == 2
    said = capsys.readouterr().err
    assert "xacro" in said and not (model.parent / "arm.urdf").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--xacro", "log.csv"], "arguments of xacro are name:=value"),
        (["--xacro", "a:=1"], "was not made by xacro"),
    ],
)
def test_mistakes_are_sentences(capsys, model, words, said):
    (model.parent / "arm.urdf").write_text(MACRO)
    assert main(["show", str(model), *words]) == 2
    assert said in capsys.readouterr().err


def test_only_for_xacro_files_and_where_the_program_is(capsys, model, monkeypatch):
    robot, *_ = pair.files()
    assert main(["show", robot, "--xacro"]) == 2
    assert "ends with .xacro" in capsys.readouterr().err
    monkeypatch.setattr(expand.shutil, "which", lambda name: None)
    monkeypatch.setattr(expand.importlib.util, "find_spec", lambda name: None)
    assert main(["show", str(model), "--xacro"]) == 1
    assert "needs the package xacro; install it with" in capsys.readouterr().err


def test_a_file_that_never_ends_is_given_up(capsys, model, monkeypatch):
    monkeypatch.setattr(expand, "_program", lambda: ["sh", "-c", "sleep 20"])
    monkeypatch.setattr(expand, "LONGEST", 0.2)
    assert main(["show", str(model), "--xacro"]) == 2
    assert "did not end within 0.2 s" in capsys.readouterr().err
