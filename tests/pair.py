"""A robot of two joints with known parameters, logs of it, and what `identify` makes of them."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from inertica.cli.main import main
from inertica.dynamics.engine import Engine
from inertica.logs.read import read_log
from inertica.robot.load import load
from inertica.validation.residuals import Relative, Residual
from inertica.workflow.identify import identify

URDF = """<?xml version="1.0"?>
<robot name="pair">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0.1 0.02 0.03"/><mass value="2"/>
    <inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0.15 0.01 0"/><mass value="1"/>
    <inertia ixx="0.01" ixy="0" ixz="0.001" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
    <limit lower="-2" upper="2" velocity="3" effort="30"/><dynamics damping="0.5" friction="0.8"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/><origin xyz="0.3 0 0"/><axis xyz="0 1 0"/>
    <dynamics damping="0.2" friction="0.3"/></joint>
</robot>
"""

MJCF = """<mujoco model="pair">
  <worldbody>
    <body name="upper">
      <inertial pos="0.1 0.02 0.03" mass="2" fullinertia="0.02 0.03 0.03 0 0 0"/>
      <joint name="shoulder" axis="0 0 1" armature="0.01" damping="0.5" frictionloss="0.8"/>
      <body name="lower" pos="0.3 0 0">
        <inertial pos="0.15 0.01 0" mass="1" fullinertia="0.01 0.02 0.02 0 0 0"/>
        <joint name="elbow" axis="0 1 0" armature="0.02" damping="0.2" frictionloss="0.3"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""

HEADER = "t,q1,q2,tau1,tau2"
RATE, DURATION = 200.0, 6.0


def write_log(
    model: Path, path: Path, seed: int = 0, still: tuple[int, ...] = (), edit: Callable | None = None, noise: float = 0.02
) -> Path:
    """A log of the model's own values along sums of sines; `edit` may spoil the table t, q1, q2, tau1, tau2."""
    rng = np.random.default_rng(seed)
    t = np.arange(int(RATE * DURATION)) / RATE
    q, dq, ddq = (np.zeros((len(t), 2)) for _ in range(3))
    for j in range(2):
        for k in range(1, 5):
            a, phase, w = 0.8 * rng.normal() / k, rng.uniform(0.0, 6.0), 3.0 * np.pi * k / DURATION
            if j not in still:
                q[:, j] += a * np.sin(w * t + phase)
                dq[:, j] += a * w * np.cos(w * t + phase)
                ddq[:, j] -= a * w * w * np.sin(w * t + phase)
    robot = load(model)
    tau = Engine(robot.layout).inverse_dynamics(q, dq, ddq, robot.prior) + noise * rng.normal(size=q.shape)
    table = np.column_stack([t, q + 1e-6 * rng.normal(size=q.shape), tau])
    if edit is not None:
        edit(table)
    np.savetxt(path, table, delimiter=",", header=HEADER, comments="", fmt="%.12g")
    return path


@cache
def folder() -> Path:
    """A folder with both models and logs run1.csv, run2.csv; gone when the tests end."""
    path = Path(tempfile.mkdtemp(prefix="pair-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    (path / "pair.urdf").write_text(URDF)
    (path / "pair.xml").write_text(MJCF)
    for seed in (1, 2):
        write_log(path / "pair.urdf", path / f"run{seed}.csv", seed)
    return path


@cache
def identified(model: str = "pair.urdf", method: str = "wls", laws: tuple[str, ...] = ("viscous", "coulomb")):
    """What is found with everything fixed, which is quick."""
    where = folder()
    logs = [where / "run1.csv"]
    return identify(where / model, logs, validate=[where / "run2.csv"], method=method, cutoff=10.0, delay=0.0, friction=laws)


@cache
def logs() -> dict:
    """The logs behind `identified`, data set by data set."""
    where, robot = folder(), load(folder() / "pair.urdf")
    names = ("identification", str(where / "run2.csv"))
    return {name: (read_log(where / f"run{k}.csv", robot),) for k, name in enumerate(names, 1)}


@cache
def motions() -> dict:
    """The same as the report wants them."""
    return identified().motions_of(logs())


def result_on(description, values):
    """A result with these values, as if they had been found."""
    base = identified()
    labels = dict.fromkeys(values.layout.names, "determined")
    spans = np.column_stack([values.values, values.values])
    perfect = Relative((0.0,) * description.robot.n, 0.0)
    residuals = dict.fromkeys(base.residuals, Residual(perfect, perfect, 0.0, 0.0, 1000))
    described = replace(description, prior=values)
    return replace(
        base,
        description=described,
        parameters=values,
        labels=labels,
        intervals=spans,
        residuals=residuals,
        before=None,
        motions={},
    )


def files() -> tuple[str, str, str]:
    """The model and the two logs as one types them."""
    where = folder()
    return str(where / "pair.urdf"), str(where / "run1.csv"), str(where / "run2.csv")


def refused(capsys, *words) -> str:
    """The one sentence that a command line is refused with."""
    assert main([*map(str, words)]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith("inertica: ") and said.err.count("\n") == 1
    return said.err
