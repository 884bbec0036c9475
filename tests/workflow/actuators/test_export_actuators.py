"""Exported actuators: every file is loaded, simulated by MuJoCo and held against our own simulation."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.sax.saxutils import quoteattr

import mujoco
import numpy as np
import pytest
import yaml

import inertica as ia
from inertica.cli.main import main
from inertica.dynamics.llvm.target import Native
from inertica.dynamics.servo import HARD, Standstill
from inertica.errors import FileError
from inertica.estimators.actuators.record import Record
from inertica.estimators.actuators.simulation import Runs, Start
from inertica.estimators.actuators.values import QUANTITIES, ActuatorValues
from inertica.robot.friction import Offset
from inertica.workflow.actuators.result import UNSEEN, ActuatorsResult, Combination, JointActuator, Posterior, Quantity
from inertica.workflow.export.joint_actuators import joint_actuators
from larder import stock
from mujoco_servos import mjcf, quadruped, write_model

SOFT = Standstill.mujoco()
LEG = quadruped()[:3]
NAMES = ("j1", "j2", "j3")
STEP = 1e-4
FRICTIONLESS = ActuatorValues.of(
    3, armature=[0.02, 0.03, 0.01], viscous=[0.1, 0.2, 0.05], kp=[20.0, 25.0, 15.0], kd=[0.5, 0.6, 0.4]
)
SEARCHED = tuple((name, j) for name in ("armature", "viscous", "delay") for j in range(3))


def result(model: Path, values: ActuatorValues, standstill: Standstill = SOFT, names: tuple[str, ...] = NAMES) -> ActuatorsResult:
    """What `actuators` would have found, with a posterior in which armatures rise as viscous frictions fall."""

    def quantity(value: float) -> Quantity:
        return Quantity(float(value), None, None, "determined")

    joints = tuple(JointActuator(n, **{q: quantity(getattr(values, q)[j]) for q in QUANTITIES}) for j, n in enumerate(names))
    searched = [(q, j) for q in ("armature", "viscous", "delay") for j in range(len(names))]
    mean = np.array([v if q == "delay" else np.log(v) for q, j in searched for v in [getattr(values, q)[j]]])
    std = np.array([1e-3 if q == "delay" else 0.2 for q, _ in searched])
    correlation = np.eye(len(searched))
    for j in range(len(names)):
        correlation[j, len(names) + j] = correlation[len(names) + j, j] = -0.8
    posterior = Posterior(tuple(searched), mean, correlation * np.outer(std, std), np.zeros(len(searched)))
    return ActuatorsResult(
        "leg", str(model), joints, (), (), {}, {}, posterior, impedance=standstill.impedance, rate=standstill.rate, logs=("run.csv",)
    )  # fmt: skip


def commands(duration: float, n: int) -> np.ndarray:
    t = np.arange(round(duration / STEP) + 1) * STEP
    return np.stack([(-1) ** j * 0.4 * np.sin(2 * np.pi * (1.0 + 0.3 * j) * t) ** 2 for j in range(n)], axis=1)


def by_mujoco(model: mujoco.MjModel, u: np.ndarray) -> np.ndarray:
    data = mujoco.MjData(model)
    out = [data.qpos.copy()]
    for row in u[:-1]:
        data.ctrl[:] = row
        mujoco.mj_step(model, data)
        out.append(data.qpos.copy())
    return np.array(out)


def by_us(found: ActuatorsResult, u: np.ndarray) -> np.ndarray:
    own = joint_actuators(found)
    robot, n = own.description.robot, u.shape[1]
    links = np.concatenate([own.links.link(j) for j in range(n)])
    record = Record("log", np.arange(len(u)) * STEP, np.zeros_like(u), np.ones(u.shape, bool), {"q": u})
    standstill = Standstill(found.impedance, found.rate)
    runs = Runs(robot, links, [record], Native(1), STEP, "zero", standstill)
    return runs.positions(0, found.values, Start(np.zeros(n), np.zeros(n)))


@pytest.fixture
def leg(tmp_path: Path) -> Path:
    path = tmp_path / "leg.xml"
    path.write_text(mjcf(LEG, step=STEP), encoding="utf-8")
    return path


CASES = {
    "plain": (FRICTIONLESS, SOFT, 1e-6),
    "limit": (FRICTIONLESS.changed(torque_limit=[1.5, np.inf, 1.0]), SOFT, 1e-6),
    "delay": (FRICTIONLESS.changed(delay=[0.01234, 0.0, 0.0047]), SOFT, 1e-6),
    "soft friction": (FRICTIONLESS.changed(coulomb=[0.3, 0.4, 0.2]), SOFT, 1e-6),
    # MuJoCo has no constraint that holds at once: the stiffest one leaves a step's time constant
    "friction that holds": (FRICTIONLESS.changed(coulomb=[0.3, 0.4, 0.2]), HARD, 1e-4),
}


@pytest.mark.parametrize("case", CASES)
def test_mujoco_moves_as_we_do(leg: Path, tmp_path: Path, case: str) -> None:
    values, standstill, tolerance = CASES[case]
    found, u = result(leg, values, standstill), commands(0.6, 3)
    written = ia.export_actuators(found, tmp_path / "out")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "out" / written.files[0]))
    q = by_mujoco(model, u)
    assert np.abs(q).max() > 0.3
    assert np.abs(by_us(found, u) - q).max() < tolerance


MOTOR = {"kp": [30.0, 40.0, 25.0], "kd": [0.4, 0.0, 0.2], "torque_constant": [1.0, 0.8, 0.6], "resistance": [2.0, 2.5, 1.5]}


def motor_driven(leg: Path, folder: Path, voltage: float) -> ActuatorsResult:
    """A leg whose card states DC motors; what was found of it holds their back-EMF."""
    card = folder / "card.yaml"
    gains = ", ".join(f"{name}: {values}" for name, values in MOTOR.items())
    card.write_text(f"model: {leg.name}\nloop: {{law: dc-motor, voltage: {voltage}, {gains}}}\n", encoding="utf-8")
    k, R = np.array(MOTOR["torque_constant"]), np.array(MOTOR["resistance"])
    values = FRICTIONLESS.changed(
        kp=k / R * MOTOR["kp"], kd=k / R * MOTOR["kd"], torque_limit=k / R * voltage, viscous=[0.05, 0.1, 0.02] + k * k / R,
        delay=[0.003, 0.0, 0.00123],
    )  # fmt: skip
    return result(card, values)


@pytest.mark.parametrize("voltage", [48.0, 4.0], ids=["within the supply", "saturated"])
def test_stated_motors_become_dcmotors(leg: Path, tmp_path: Path, voltage: float) -> None:
    found, u = motor_driven(leg, tmp_path, voltage), commands(0.6, 3)
    written = ia.export_actuators(found, tmp_path / "out", mujoco="4.0")
    text = (tmp_path / "out" / written.files[0]).read_text(encoding="utf-8")
    assert text.count("<dcmotor ") == 3 and "<position" not in text
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "out" / written.files[0]))
    q, ours = by_mujoco(model, u), by_us(found, u)
    assert np.abs(q).max() > 0.1
    assert np.abs(ours - q).max() < 1e-6
    free = replace(found, joints=tuple(replace(j, torque_limit=replace(j.torque_limit, value=np.inf)) for j in found.joints))
    assert (np.abs(by_us(free, u) - ours).max() > 1e-3) == (voltage < 10.0)


def test_motors_that_mujoco_3_or_the_values_do_not_allow(leg: Path, tmp_path: Path) -> None:
    found = motor_driven(leg, tmp_path, 12.0)
    old = ia.export_actuators(found, tmp_path / "old", mujoco="3.3")
    assert "<dcmotor" not in (tmp_path / "old" / old.files[0]).read_text(encoding="utf-8")
    assert any("3.3 has no dcmotor" in sentence for sentence in old.lost)
    # less friction than the stated motor makes by itself
    braked = replace(
        found, joints=(replace(found.joints[0], viscous=replace(found.joints[0].viscous, value=0.1)), *found.joints[1:])
    )
    written = ia.export_actuators(braked, tmp_path / "new", mujoco="4.0")
    text = (tmp_path / "new" / written.files[0]).read_text(encoding="utf-8")
    assert text.count("<dcmotor ") == 2 and text.count("<position ") == 1
    assert any("brakes more than was found (j1" in sentence for sentence in written.lost)


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast"])
def test_a_delay_is_the_mean_of_the_held_command(leg: Path, tmp_path: Path, integrator: str) -> None:
    """A delayed file moves as one without delay under commands that are delayed beforehand."""
    delay = np.array([0.01234, 0.0, 0.0047])
    text = leg.read_text().replace("RK4", integrator)
    leg.write_text(text)
    u, out = commands(0.3, 3), []
    for k, values in enumerate((FRICTIONLESS.changed(delay=delay), FRICTIONLESS)):
        written = ia.export_actuators(result(leg, values), tmp_path / f"{k}")
        out.append(mujoco.MjModel.from_xml_path(str(tmp_path / f"{k}" / written.files[0])))
    t = np.arange(len(u)) * STEP
    late = np.stack([np.interp(t - d, t, x, left=0.0) for d, x in zip(delay, u.T, strict=True)], axis=1)
    np.testing.assert_allclose(by_mujoco(out[0], u), by_mujoco(out[1], late), atol=1e-12)


def test_a_urdf_becomes_a_file_of_its_own(tmp_path: Path) -> None:
    robot = ia.load(Path(__file__).parents[3] / "examples" / "data" / "arm.urdf")
    names = robot.robot.joint_names
    values = ActuatorValues.of(3, armature=0.05, viscous=0.5, kp=[200.0, 300.0, 100.0], kd=[8.0, 12.0, 4.0])
    found, u = result(robot.source.path, values, names=names), commands(0.4, 3)
    written = ia.export_actuators(found, tmp_path)
    text = (tmp_path / written.files[0]).read_text()
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.timestep, model.opt.integrator = STEP, mujoco.mjtIntegrator.mjINT_RK4
    model.jnt_limited[:] = model.jnt_actfrclimited[:] = False
    q = by_mujoco(model, u)
    assert np.abs(by_us(found, u) - q).max() < 1e-6 < np.abs(q).max()


def test_an_old_mujoco_gets_no_delay_but_a_sentence(leg: Path, tmp_path: Path) -> None:
    found = result(leg, FRICTIONLESS.changed(delay=[0.0123, 0.0, 0.0]))
    written = ia.export_actuators(found, tmp_path / "out", mujoco="3.4")
    text = (tmp_path / "out" / written.files[0]).read_text()
    assert " delay=" not in text and "command delay 12.3 ms" in text
    assert any("3.4 has no delay" in s and "j1 12.3 ms" in s for s in written.lost)
    assert not ia.export_actuators(found, tmp_path / "out", mujoco="3.5").lost


def test_zeros_are_said(leg: Path, tmp_path: Path) -> None:
    found = result(leg, FRICTIONLESS.changed(zero=[0.02, 0.0, 0.0]))
    for target in ("mujoco-actuators", "mjlab", "isaac-lab"):
        assert any("subtract the zero" in s and "j1 0.02" in s for s in ia.export_actuators(found, tmp_path, target).lost)


def test_what_the_file_has_already(tmp_path: Path) -> None:
    """Position actuators are changed in place, others of the joint replaced, those of other joints left; keyframes stay valid."""
    text = mjcf(LEG, step=STEP).replace(
        "</mujoco>",
        '<actuator><motor name="first" joint="j2" gear="3"/><position name="second" joint="j1" dampratio="1" kp="3" gear="2" '
        'ctrlrange="-1 1"/></actuator><keyframe><key name="home" ctrl="0 0"/></keyframe></mujoco>',
    )
    path = tmp_path / "leg.xml"
    path.write_text(text, encoding="utf-8")
    written = ia.export_actuators(result(path, FRICTIONLESS), tmp_path / "out")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "out" / written.files[0]))
    assert [model.actuator(k).name for k in range(model.nu)] == ["first", "second", "j3"]
    order = [1, 0, 2]
    np.testing.assert_allclose(model.actuator_gainprm[:, 0], FRICTIONLESS.kp[order])
    np.testing.assert_allclose(model.actuator_biasprm[:, 1:3], -np.stack([FRICTIONLESS.kp, FRICTIONLESS.kd], axis=1)[order])
    assert model.actuator_gear[:, 0].tolist() == [1.0, 1.0, 1.0]
    assert model.actuator_ctrlrange[1].tolist() == [-1.0, 1.0]
    assert any("<motor name=\"first\"> of joint 'j2' is replaced" in note for note in written.notes)
    assert any("keyframes lose their ctrl" in note for note in written.notes)


def test_meshes_are_found_from_another_folder(tmp_path: Path) -> None:
    (tmp_path / "robot" / "assets").mkdir(parents=True)
    corners = "\n".join(f"v {x} {y} {z}" for x in (0, 1) for y in (0, 1) for z in (0, 1))
    faces = "\n".join(f"f {a} {b} {c}" for a, b, c in ((1, 2, 3), (2, 4, 3), (5, 7, 6), (6, 7, 8), (1, 3, 5), (3, 7, 5)))
    (tmp_path / "robot" / "assets" / "box.obj").write_text(f"{corners}\n{faces}\nf 2 6 4\nf 4 6 8\nf 1 5 2\nf 2 5 6\n")
    text = mjcf(LEG).replace('angle="radian"', 'angle="radian" meshdir="assets"')
    text = text.replace("<worldbody>", '<asset><mesh file="box.obj"/></asset><worldbody><geom type="mesh" mesh="box"/>')
    path = tmp_path / "robot" / "leg.xml"
    path.write_text(text, encoding="utf-8")
    written = ia.export_actuators(result(path, FRICTIONLESS), tmp_path / "sim" / "out")
    assert mujoco.MjModel.from_xml_path(str(tmp_path / "sim" / "out" / written.files[0])).nmesh == 1


@dataclass
class Recorded:
    """Stands in for a configuration class of mjlab or Isaac Lab, which take keywords only."""

    fields: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        return self.fields.get(name)


ISAAC = {
    *("joint_names_expr", "stiffness", "damping", "armature", "friction", "dynamic_friction", "viscous_friction"),
    *("effort_limit", "effort_limit_sim"),
}
FIELDS = {
    "BuiltinPositionActuatorCfg": {
        *("target_names_expr", "stiffness", "damping", "effort_limit", "armature", "frictionloss", "viscous_damping"),
        *("delay_min_lag", "delay_max_lag"),
    },
    "EntityArticulationInfoCfg": {"actuators"},
    "ImplicitActuatorCfg": ISAAC,
    "DelayedPDActuatorCfg": ISAAC | {"min_delay", "max_delay"},
}
"""Fields of the classes in mjlab 1.6 and in Isaac Lab 2.3 and 3.0."""


def recorder(name: str) -> Any:
    def record(**fields: Any) -> Recorded:
        assert set(fields) <= FIELDS[name]
        return Recorded(fields)

    return record


def configuration(path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Runs a configuration file with stand-ins for the packages that it imports."""
    for module, names in {
        "mjlab": (), "mjlab.actuator": ("BuiltinPositionActuatorCfg",), "mjlab.entity": ("EntityArticulationInfoCfg",),
        "isaaclab": (), "isaaclab.actuators": ("ImplicitActuatorCfg", "DelayedPDActuatorCfg"),
    }.items():  # fmt: skip
        stand_in = ModuleType(module)
        for name in names:
            setattr(stand_in, name, recorder(name))
        monkeypatch.setitem(sys.modules, module, stand_in)
    space: dict[str, Any] = {}
    exec(compile(path.read_text(encoding="utf-8"), path.name, "exec"), space)
    return space


def simulated(joints: dict[str, dict[str, float]], u: np.ndarray) -> np.ndarray:
    """MuJoCo with the values of a configuration."""
    spec = mujoco.MjSpec.from_string(mjcf(LEG, step=STEP))
    for name, v in joints.items():
        joint = spec.joint(name)
        joint.armature, joint.damping, joint.frictionloss = v["armature"], [v["viscous"], 0, 0], v["coulomb"]
        servo = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        servo.set_to_position(kp=v["kp"], kv=v["kd"])
        if np.isfinite(v["limit"]):
            servo.forcerange, servo.forcelimited = [-v["limit"], v["limit"]], True
    return by_mujoco(spec.compile(), u)


VALUES = FRICTIONLESS.changed(torque_limit=[1.5, np.inf, 1.0])


def test_mjlab_takes_the_values(leg: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, u = result(leg, VALUES.changed(delay=[0.0123, 0.0, 0.01])), commands(0.4, 3)
    written = ia.export_actuators(found, tmp_path / "out", "mjlab")
    space = configuration(tmp_path / "out" / written.files[0], monkeypatch)
    assert space["ARTICULATION"].actuators == space["ACTUATORS"]
    assert [c.target_names_expr for c in space["ACTUATORS"]] == [("j1",), ("j2",), ("j3",)]
    joints = {
        c.target_names_expr[0]: {
            "kp": c.stiffness, "kd": c.damping, "armature": c.armature, "viscous": c.viscous_damping, "coulomb": c.frictionloss,
            "limit": np.inf if c.effort_limit is None else c.effort_limit,
        }
        for c in space["ACTUATORS"]
    }  # fmt: skip
    assert np.abs(simulated(joints, u) - by_us(result(leg, VALUES), u)).max() < 1e-6
    assert [(c.delay_min_lag, c.delay_max_lag) for c in space["ACTUATORS"]] == [(2, 3), (None, None), (2, 2)]
    assert any("j1 12.3 ms" in s for s in written.lost)


def test_isaac_lab_takes_the_values(leg: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, u = result(leg, VALUES.changed(delay=[0.0123, 0.0, 0.01])), commands(0.4, 3)
    written = ia.export_actuators(found, tmp_path / "out", "isaac-lab")
    space = configuration(tmp_path / "out" / written.files[0], monkeypatch)
    joints: dict[str, dict[str, float]] = {}
    for group in space["ACTUATORS"].values():
        for j in group.joint_names_expr:
            assert group.friction[j] == group.dynamic_friction[j]
            joints[j] = {
                "kp": group.stiffness[j], "kd": group.damping[j], "armature": group.armature[j],
                "viscous": group.viscous_friction[j], "coulomb": group.friction[j],
                "limit": np.inf if group.effort_limit_sim is None else group.effort_limit_sim[j],
            }  # fmt: skip
    ordered = {name: joints[name] for name in NAMES}
    assert np.abs(simulated(ordered, u) - by_us(result(leg, VALUES), u)).max() < 1e-6
    late = space["delayed_actuators"](0.005)
    assert {j: (c.min_delay, c.max_delay) for j, c in late.items()} == {"j1": (2, 3), "j2": (0, 0), "j3": (2, 2)}
    assert late["j1"].effort_limit == 1.5 and late["j2"].effort_limit is None
    assert any("j1 12.3 ms" in s for s in written.lost)


def test_draws(leg: Path, tmp_path: Path) -> None:
    found = result(leg, FRICTIONLESS.changed(delay=0.005))
    written = ia.export_actuators(found, tmp_path / "out", draws=50, seed=1, name="leg")
    arrays = np.load(tmp_path / "out" / "draws.npz")
    assert arrays["joints"].tolist() == list(NAMES)
    assert all(arrays[q].shape == (50, 3) and (arrays[q] >= 0.0).all() for q in QUANTITIES)
    logs = np.log([arrays["armature"][:, 1], arrays["viscous"][:, 1]])
    # of 50 draws with -0.8, within four standard errors
    assert abs(np.corrcoef(logs)[0, 1] + 0.8) < 4.0 * (1.0 - 0.8**2) / np.sqrt(50)
    assert np.std(logs[0]) == pytest.approx(0.2, abs=4.0 * 0.2 / np.sqrt(100))
    ranges = yaml.safe_load((tmp_path / "out" / "ranges.yaml").read_text())["joints"]
    assert set(ranges["j1"]) == {"armature", "viscous", "delay"}
    assert ranges["j2"]["armature"]["low"] == pytest.approx(0.03 * np.exp(-1.96 * 0.2), rel=0.05)
    variants = [f for f in written.files if f.startswith("leg-draw-")]
    assert len(variants) == 50
    for k in (0, 49):
        model = mujoco.MjModel.from_xml_path(str(tmp_path / "out" / variants[k]))
        np.testing.assert_allclose(model.dof_armature, arrays["armature"][k], rtol=1e-12)
        np.testing.assert_allclose(model.dof_damping.reshape(3, -1)[:, 0], arrays["viscous"][k], rtol=1e-12)
    ia.export_actuators(found, tmp_path / "out", draws=2, name="leg")
    assert sorted(f.name for f in (tmp_path / "out").glob("leg-*")) == ["leg-draw-1.xml", "leg-draw-2.xml"]


def test_draws_without_stiffness_are_drawn_again(leg: Path) -> None:
    found = result(leg, FRICTIONLESS)
    # kp so uncertain that half of its draws are below the shift, where the coordinate means no stiffness at all
    posterior = Posterior((("kp", 0),), np.log([1.0]), np.eye(1), np.ones(1))
    sets = joint_actuators(replace(found, posterior=posterior)).draws(100, 0)
    assert len(sets) == 100 and all(s.kp[0] > 0.0 for s in sets)


def test_command_line(leg: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = result(leg, FRICTIONLESS.changed(delay=0.005))
    folder = found.save(tmp_path / "result").parent
    out = tmp_path / "out"
    words = ["export", str(folder), "--as", "mujoco-actuators", "-o", str(out), "--draws", "3", "--json"]
    assert main(words) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["joints"] == list(NAMES) and document["draws"] == 3
    assert all(Path(file).is_file() for file in document["files"]) and len(document["files"]) == 6

    def refused(*words: str) -> str:
        assert main(["export", *words, "--json"]) == 2
        return str(json.loads(capsys.readouterr().out)["error"]["message"])

    assert "-o DIR" in refused(str(folder), "--as", "mjlab")
    assert "at least 0" in refused(str(folder), "--as", "mjlab", "-o", str(out), "--draws", "-1")
    assert "no version of MuJoCo" in refused(str(folder), "--as", "mjlab", "-o", str(out), "--mujoco", "new")
    assert "belongs to actuators" in refused(str(folder), "--as", "c", "-o", str(out), "--draws", "2")
    assert "name the folder of a result" in refused(str(tmp_path / "none"), "--as", "mjlab", "-o", str(out))
    other = write_model(LEG[:2], tmp_path / "two.xml")
    assert "the model that the result was found with" in refused(
        str(folder), "--as", "mjlab", "-o", str(out), "--model", str(other)
    )
    assert "is the model itself" in refused(str(folder), "--as", "mujoco-actuators", "-o", str(tmp_path), "--name", "leg")
    leg.unlink()
    assert "by the option model" in refused(str(folder), "--as", "mjlab", "-o", str(out))


@pytest.fixture(scope="module")
def identified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result of `identify` on a URDF whose card states the loop."""
    folder = tmp_path_factory.mktemp("identified")
    stock(folder, "card.yaml run.csv.gz")
    ia.identify(folder / "card.yaml", [folder / "run.csv.gz"], quick=True).save(folder / "result")
    return folder / "result"


def test_a_result_of_identify(identified: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = ia.Result.load(identified)
    written = ia.export_actuators(identified, tmp_path)
    model = mujoco.MjModel.from_xml_path(str(tmp_path / written.files[0]))
    np.testing.assert_allclose(model.actuator_gainprm[:, 0], [120.0, 200.0, 80.0])
    np.testing.assert_allclose(model.actuator_biasprm[:, 2], [-12.0, -20.0, -6.0])
    friction = [found.parameters[f"Fc{j}"] for j in (1, 2, 3)]
    np.testing.assert_allclose(model.dof_frictionloss, friction, rtol=1e-9)
    ia.export_actuators(identified, tmp_path, "isaac-lab", name="arm")
    (group,) = configuration(tmp_path / "arm_isaac_lab.py", monkeypatch)["ACTUATORS"].values()
    np.testing.assert_allclose(list(group.friction.values()), friction, rtol=1e-9)
    assert list(group.stiffness.values()) == [120.0, 200.0, 80.0]
    with pytest.raises(ia.InputError, match="of `identify`"):
        ia.export_actuators(identified, tmp_path, draws=3)


def test_what_of_a_result_of_identify_the_files_lack_is_said(identified: Path, tmp_path: Path) -> None:
    """The MJCF file comes with the card that its notes speak of; a configuration names the parts."""
    plain = ia.Result.load(identified)
    layout = replace(plain.parameters.layout, terms=(*plain.parameters.layout.terms, Offset(0)))
    found = replace(plain, parameters=plain.parameters.on(layout).replaced({"off1": 0.5}))
    written = ia.export_actuators(found, tmp_path / "out", name="arm")
    assert "arm.extra.yaml" in written.files and any("off1" in note and "arm.extra.yaml" in note for note in written.notes)
    again = ia.load(tmp_path / "out" / "arm.extra.yaml")
    assert again.prior["off1"] == 0.5 and again.prior["Fc1"] == pytest.approx(found.parameters["Fc1"], rel=1e-12)
    assert any("offset (joint 1" in sentence for sentence in ia.export_actuators(found, tmp_path / "lab", "mjlab").lost)
    assert "arm.extra.yaml" not in ia.export_actuators(plain, tmp_path / "out", name="arm").files
    assert not (tmp_path / "out" / "arm.extra.yaml").exists()


def test_a_joint_that_no_log_moved_gets_no_servo(leg: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = result(leg, FRICTIONLESS.changed(delay=0.005))
    third = found.joints[2]
    unseen = replace(third, kp=replace(third.kp, label=UNSEEN), kd=replace(third.kd, label=UNSEEN))
    found = replace(found, joints=(*found.joints[:2], unseen))
    written = ia.export_actuators(found, tmp_path, draws=2)
    assert written.joints == ("j1", "j2") and any("the gains of j3 are not known" in s for s in written.lost)
    assert mujoco.MjModel.from_xml_path(str(tmp_path / written.files[0])).nu == 2
    file = ia.export_actuators(found, tmp_path, "isaac-lab").files[0]
    assert set(configuration(tmp_path / file, monkeypatch)["delayed_actuators"](0.005)) == {"j1", "j2"}
    nothing = replace(found, joints=tuple(replace(unseen, name=n) for n in NAMES))
    with pytest.raises(ia.InputError, match="no gains"):
        ia.export_actuators(nothing, tmp_path, "mjlab")


def test_names_of_strangers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("gelenk_\u00e4", 'a.b"c', "{x} -- y")
    text = mjcf(LEG, step=STEP)
    for plain, name in zip(NAMES, names, strict=True):
        text = text.replace(f'name="{plain}"', f"name={quoteattr(name)}")
    path = tmp_path / "leg.xml"
    path.write_text(text, encoding="utf-8")
    found = result(path, FRICTIONLESS.changed(delay=0.005, zero=0.01), names=names)
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "out" / ia.export_actuators(found, tmp_path / "out").files[0]))
    assert tuple(model.actuator(k).name for k in range(3)) == names
    file = ia.export_actuators(found, tmp_path / "out", "mjlab").files[0]
    expressions = [c.target_names_expr[0] for c in configuration(tmp_path / "out" / file, monkeypatch)["ACTUATORS"]]
    assert all(re.fullmatch(e, name) for e, name in zip(expressions, names, strict=True))
    file = ia.export_actuators(found, tmp_path / "out", "isaac-lab").files[0]
    assert list(configuration(tmp_path / "out" / file, monkeypatch)["delayed_actuators"](0.005)) == expressions


def test_draws_keep_a_sum_that_is_determined(leg: Path) -> None:
    """kd and viscous friction of which only the sum shows: the split stays, the sum scatters as it is known."""
    found = result(leg, FRICTIONLESS)
    kd, viscous = FRICTIONLESS.kd[0], FRICTIONLESS.viscous[0]
    apart, together = np.array([1.0, -1.0]) / np.sqrt(2.0), np.array([1.0, 1.0]) / np.sqrt(2.0)
    slopes = 1.0 / np.array([kd, viscous])
    covariance = (0.01**2 * np.outer(together, together) + 10.0**2 * np.outer(apart, apart)) * np.outer(slopes, slopes)
    posterior = Posterior((("kd", 0), ("viscous", 0)), np.log([kd, viscous]), covariance, np.zeros(2))
    only = Combination(("kd 1", "viscous 1"), "only the sum", (1.0, -1.0), ("kd", "viscous"), (1, 1))
    sets = joint_actuators(replace(found, posterior=posterior, confounded=(only,))).draws(200, 0)
    sums = np.array([s.kd[0] + s.viscous[0] for s in sets])
    assert np.mean(sums) == pytest.approx(kd + viscous, abs=0.01)
    assert np.std(sums) == pytest.approx(0.01 * np.sqrt(2.0), rel=0.25)
    assert np.std([s.kd[0] - s.viscous[0] for s in sets]) < 0.01


def test_a_model_is_no_result(tmp_path: Path) -> None:
    (tmp_path / "arm.urdf").write_text("<robot/>")
    with pytest.raises(FileError, match="is no result; files of actuators are made of one"):
        joint_actuators(tmp_path / "arm.urdf")
