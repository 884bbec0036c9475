"""Drive gains from a weighed part, a trusted link, equal drives or loads, and a control law; torques are Pinocchio's and MuJoCo's."""

from __future__ import annotations

import atexit
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import inertica as ia
from inertica.errors import InputError
from inertica.logs.log import Log
from inertica.robot.description import Description
from inertica.robot.load import load
from inertica.workflow.identify.settings import Settings
from inertica.workflow.payload.drive_gains import drive_gains, drive_gains_by_law

GAINS = np.array([8.0, -11.0, 8.0])
FIXED = Settings(cutoff=10.0, delay=0.0, friction=("viscous", "coulomb"))
FRICTION = np.array([[0.5, 0.8], [0.4, 0.6], [0.2, 0.3]])

URDF = """<?xml version="1.0"?>
<robot name="trio">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0.1 0.02 0.03"/><mass value="2"/>
    <inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0.15 0.01 0"/><mass value="1.5"/>
    <inertia ixx="0.01" ixy="0" ixz="0.001" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
  <link name="hand"><inertial><origin xyz="0.1 0.05 0.02"/><mass value="MASS"/>
    <inertia ixx="0.01" ixy="0" ixz="0.001" iyy="0.012" iyz="0" izz="0.015"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" velocity="9" effort="60"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0.3 0 0"/><axis xyz="0 0 1"/>
    <limit lower="-2" upper="2" velocity="9" effort="60"/></joint>
  <joint name="wrist" type="revolute"><parent link="lower"/><child link="hand"/><origin xyz="0.3 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" velocity="9" effort="60"/></joint>
</robot>
"""


def arm(mass: float = 1.0) -> tuple[Description, pin.Model]:
    """Our description, whose links but for the hand have other masses, and Pinocchio's model."""
    path, wrong = folder() / f"trio{mass:g}.urdf", folder() / "wrong.urdf"
    path.write_text(URDF.replace("MASS", f"{mass}"))
    wrong.write_text(URDF.replace("MASS", "1.0").replace('value="2"', 'value="1"').replace('value="1.5"', 'value="2.0"'))
    return load(wrong), pin.buildModelFromUrdf(str(path))


@cache
def folder() -> Path:
    """Gone when the tests end."""
    path = Path(mkdtemp(prefix="trio-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


@cache
def record(mass: float = 1.0, seed: int = 0) -> Log:
    """Currents along sums of sines."""
    rng, model = np.random.default_rng(seed), arm(mass)[1]
    t = np.arange(4000) / 200.0
    q, dq, ddq = (np.zeros((len(t), 3)) for _ in range(3))
    for j in range(3):
        for k in range(1, 6):
            a, phase, w = 0.7 * rng.normal() / k, rng.uniform(0.0, 6.0), 0.1 * np.pi * k * 4
            q[:, j] += a * np.sin(w * t + phase)
            dq[:, j] += a * w * np.cos(w * t + phase)
            ddq[:, j] -= a * w * w * np.sin(w * t + phase)
    data = model.createData()
    tau = np.array([pin.rnea(model, data, *row) for row in zip(q, dq, ddq, strict=True)])
    tau += FRICTION[:, 0] * dq + FRICTION[:, 1] * np.sign(dq) + 0.02 * rng.normal(size=q.shape)
    return Log.from_arrays(t, {"q": q + 1e-6 * rng.normal(size=q.shape), "i": tau / GAINS}, ("shoulder", "elbow", "wrist"))


def held(found: ia.DriveGains, truth: np.ndarray) -> bool:
    return bool(np.all((found.intervals[:, 0] <= truth) & (truth <= found.intervals[:, 1])))


def scale_reading() -> ia.Weighed:
    """What a scale reads that holds the arm 0.5 m from the shoulder, by Pinocchio's gravity."""
    model = arm()[1]
    torque = pin.computeGeneralizedGravity(model, model.createData(), np.array([0.2, 0.3, -0.4]))[0]
    # 0.5 m along the upper arm, tilted by 0.2 rad: the lever is horizontal
    return ia.Weighed("shoulder", abs(torque) / (9.81 * 0.5 * np.cos(0.2)), (0.5, 0.0, 0.0), (0.2, 0.3, -0.4), 0.002)


@pytest.mark.parametrize(
    ("known", "width"),
    [((scale_reading(),), 0.04), ((ia.TrustedLink(3, 0.005),), 0.15), ((scale_reading(), ia.Alike((1, 3), 0.002)), 0.02)],
)
def test_gains_are_absolute_where_something_has_a_kilogram_in_it(known, width) -> None:
    found = drive_gains(arm()[0], unloaded=[record()], known=known, settings=FIXED)
    assert found.reference is None and held(found, GAINS)
    assert np.all(np.abs(found.values / GAINS - 1.0) < width)
    assert found.document()["scale"] == "absolute" and found.document()["load"] is None
    assert found.card.startswith("torque: {from: current, gain: [")


@pytest.mark.parametrize("known", [(), (ia.Alike(("shoulder", "wrist"), 1e-3),)])
def test_without_a_kilogram_gains_are_relative_and_it_is_said(known) -> None:
    found = drive_gains(arm()[0], unloaded=[record()], known=known, settings=FIXED)
    assert found.reference is not None and found.values[found.reference] == pytest.approx(1.0)
    assert held(found, GAINS / GAINS[found.reference] * (1.0 + 1e-5)) or held(found, GAINS / GAINS[found.reference])
    assert found.card == "" and found.document()["scale"].startswith("relative to ")
    assert any("remains free" in s for s in found.sentences)


def test_the_common_factor_remains_free_with_two_equal_loads() -> None:
    heavier = [record(1.0 + m, seed) for m, seed in ((0.8, 1), (1.6, 2))]
    found = drive_gains(
        arm()[0], unloaded=[record()], loaded=heavier[:1], twice=heavier[1:], frame=(0.1, 0.05, 0.02), settings=FIXED
    )
    assert found.reference is not None and found.document()["load"] is None
    truth = GAINS / GAINS[found.reference]
    assert np.all(np.abs(found.values / truth - 1.0) < 0.05)


LAW = """
<mujoco><option timestep="0.0005"/><worldbody>
  <body><joint name="shoulder" axis="0 1 0" armature="0.05" damping="0.5"/>
    <geom type="capsule" size=".03" fromto="0 0 0 .3 0 0" mass="2"/>
  <body pos="0.3 0 0"><joint name="elbow" axis="0 0 1" armature="0.03" damping="0.3"/>
    <geom type="capsule" size=".03" fromto="0 0 0 .3 0 0" mass="1"/></body></body>
</worldbody></mujoco>
"""


def test_the_control_law_says_what_a_unit_of_current_is_worth() -> None:
    rng, kp, kd, gains = np.random.default_rng(0), np.array([400.0, 150.0]), np.array([20.0, 8.0]), np.array([9.0, -4.0])
    model = mujoco.MjModel.from_xml_string(LAW)
    data, rows = mujoco.MjData(model), []
    for k in range(20000):
        t = k * 0.0005
        phase = 2.0 * np.pi * t * np.array([[0.4, 0.7], [0.9, 1.3]])
        qr = 0.4 * np.sin(phase).sum(axis=0)
        dqr = 0.4 * (np.cos(phase) * phase / max(t, 1e-9)).sum(axis=0) if t else np.zeros(2)
        tau = kp * (qr - data.qpos) + kd * (dqr - data.qvel)
        data.qfrc_applied[:] = tau
        if k % 4 == 0:
            rows.append([t, *data.qpos, *qr, *(tau / gains)])
        mujoco.mj_step(model, data)
    table = np.array(rows)
    signals = {"q": table[:, 1:3] + 1e-5 * rng.normal(size=(len(table), 2)), "qr": table[:, 3:5], "i": table[:, 5:7]}
    log = Log.from_arrays(table[:, 0], signals, ("shoulder", "elbow"))
    (folder() / "arm.xml").write_text(LAW)
    card = folder() / "card.yaml"
    card.write_text("model: arm.xml\nloop: {law: pd, kp: [400, 150], kd: [20, 8], rate: 2000}\n")
    found = drive_gains_by_law(card, logs=[log], accuracy=1e-3)
    assert held(found, gains) and np.all(np.abs(found.values / gains - 1.0) < 0.02)
    assert found.form == "law" and not found.sentences


def test_what_cannot_be_used_is_said() -> None:
    description, logs = arm()[0], [record()]

    def refused(sentence: str, **words: object) -> None:
        with pytest.raises(InputError, match=sentence):
            drive_gains(description, unloaded=logs, settings=FIXED, **words)  # type: ignore[arg-type]

    refused("do not turn joint 1", known=[ia.Weighed(1, 2.0, (0.0, 0.0, 0.3))])
    refused("3 positions, one for each joint", known=[ia.Weighed(1, 2.0, (0.3, 0.0, 0.0), (0.0,))])
    refused("has no joint 'knee'", known=[ia.TrustedLink("knee")])
    refused("two different ones at least", known=[ia.Alike((1, "shoulder"))])
    refused("needs logs that carry it", mass=2.0)
    refused("go with logs of one of them", twice=logs)
    refused("the form unscaled needs logs with a load of known mass", form="unscaled")
