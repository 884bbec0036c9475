"""The exported URDF in other people's programs, as docs/guides/export.md tells: each where it is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

import inertica as ia
import pair
from documents import ROOT, blocks
from inertica.workflow.identify.result import Result

GUIDE = ROOT / "docs" / "guides" / "export.md"


@pytest.fixture(scope="module")
def result() -> Result:
    """Of the arm with two joints, with drive inertia, which a URDF has no place for."""
    described = ia.load(pair.folder() / "pair.urdf")
    values = {"Ia1": 0.03, "Ia2": 0.01, "Fv1": 0.4, "Fc1": 0.7, "M2": 1.1}
    return pair.result_on(described, described.prior.replaced(values))


@pytest.fixture(scope="module")
def folder(result, tmp_path_factory) -> Path:
    """As after `identify -o result` and `export --urdf`."""
    there = tmp_path_factory.mktemp("elsewhere")
    ia.write_folder(result, there / "result", [pair.folder() / "run1.csv"])
    ia.export_model(result, there / "identified.urdf")
    return there


def torques(result: Result, q: np.ndarray, dq: np.ndarray, ddq: np.ndarray) -> np.ndarray:
    """Without Coulomb friction."""
    links = result.parameters.replaced({"Fc1": 0.0, "Fc2": 0.0})
    return ia.Engine(links.layout).inverse_dynamics(q, dq, ddq, links.values)


def test_drake(result, folder, monkeypatch):
    pytest.importorskip("pydrake", reason="Drake is not installed here")
    from pydrake.multibody.tree import MultibodyForces

    monkeypatch.chdir(folder)
    (block,) = [block for block in blocks(GUIDE) if any("pydrake" in line for line in block.lines)]
    names: dict[str, object] = {}
    exec("\n".join(block.lines), names)
    plant = names["plant"]
    assert plant.num_positions() == 2
    context, q, dq, ddq = plant.CreateDefaultContext(), *np.random.default_rng(3).normal(size=(3, 50, 2))
    theirs = []
    for k in range(50):
        plant.SetPositions(context, q[k])
        plant.SetVelocities(context, dq[k])
        forces = MultibodyForces(plant)
        plant.CalcForceElementsContribution(context, forces)
        theirs.append(plant.CalcInverseDynamics(context, ddq[k], forces))
    ours = torques(result, q, dq, ddq)
    np.testing.assert_allclose(theirs, ours, rtol=0.0, atol=1e-13 * np.abs(ours).max())


def test_drake_directive(result, folder):
    """The model directive of the guide with our SDFormat file: a base that is fixed, and our torques without drives."""
    pytest.importorskip("pydrake", reason="Drake is not installed here")
    from pydrake.multibody.parsing import LoadModelDirectivesFromString, Parser, ProcessModelDirectives
    from pydrake.multibody.plant import MultibodyPlant
    from pydrake.multibody.tree import MultibodyForces

    ia.export_model(result, folder / "identified.sdf", "sdf", force=True)
    (directive,) = re.findall(r"```yaml\n(directives:.*?)```", GUIDE.read_text(encoding="utf-8"), flags=re.S)
    plant = MultibodyPlant(0.0)
    parser = Parser(plant)
    parser.package_map().Add("my_robot", str(folder))
    ProcessModelDirectives(LoadModelDirectivesFromString(directive), plant, parser)
    plant.Finalize()
    assert plant.num_positions() == 2
    context, q, dq, ddq = plant.CreateDefaultContext(), *np.random.default_rng(3).normal(size=(3, 20, 2))
    theirs = []
    for k in range(20):
        plant.SetPositions(context, q[k])
        plant.SetVelocities(context, dq[k])
        forces = MultibodyForces(plant)
        plant.CalcForceElementsContribution(context, forces)
        theirs.append(plant.CalcInverseDynamics(context, ddq[k], forces))
    links = result.parameters.replaced({"Fc1": 0.0, "Fc2": 0.0, "Ia1": 0.0, "Ia2": 0.0})
    ours = ia.Engine(links.layout).inverse_dynamics(q, dq, ddq, links.values)
    np.testing.assert_allclose(theirs, ours, rtol=0.0, atol=1e-12 * np.abs(ours).max())


def test_converter_of_isaac(folder):
    converter = pytest.importorskip("urdf_usd_converter", reason="urdf-usd-converter is not installed here")
    from pxr import Gf, Usd, UsdPhysics

    made = converter.Converter().convert(str(folder / "identified.urdf"), str(folder / "usd"))
    stage = Usd.Stage.Open(made.path)
    bodies = {prim.GetName(): UsdPhysics.MassAPI(prim) for prim in stage.Traverse() if prim.HasAPI(UsdPhysics.MassAPI)}
    for link in ElementTree.parse(folder / "identified.urdf").getroot().findall("link"):
        if (inertial := link.find("inertial")) is None:
            continue
        body = bodies[link.get("name")]
        axes = np.array(Gf.Matrix3d(Gf.Rotation(Gf.Quatd(body.GetPrincipalAxesAttr().Get())))).T
        tensor = axes @ np.diag(body.GetDiagonalInertiaAttr().Get()) @ axes.T
        stated = {key: float(value) for key, value in inertial.find("inertia").attrib.items()}
        wanted = [[stated[f"i{min(a, b)}{max(a, b)}"] for b in "xyz"] for a in "xyz"]
        np.testing.assert_allclose(tensor, wanted, rtol=0.0, atol=1e-6 * np.abs(wanted).max())
        assert body.GetMassAttr().Get() == pytest.approx(float(inertial.find("mass").get("value")), rel=1e-6)
        centre = [float(x) for x in inertial.find("origin").get("xyz").split()]
        np.testing.assert_allclose(body.GetCenterOfMassAttr().Get(), centre, rtol=0.0, atol=1e-7)
    joint = next(prim for prim in stage.Traverse() if prim.GetName() == "shoulder" and prim.IsA(UsdPhysics.RevoluteJoint))
    assert joint.GetAttribute("newton:damping").Get() == pytest.approx(np.deg2rad(0.4), rel=1e-6)
    assert joint.GetAttribute("newton:friction").Get() == pytest.approx(0.7, rel=1e-6)


def test_parser_of_ros(folder):
    if shutil.which("check_urdf") is None:
        pytest.skip("check_urdf (liburdfdom-tools) is not installed here")
    done = subprocess.run(["check_urdf", str(folder / "identified.urdf")], capture_output=True, text=True, check=True)
    assert "Successfully Parsed XML" in done.stdout and "root Link: base" in done.stdout


def test_pinocchio_and_mujoco(result, folder):
    """The blocks of the guide: rnea of one with armature, inverse dynamics of the other with armature and damping."""
    mujoco, pin = pytest.importorskip("mujoco"), pytest.importorskip("pinocchio")
    names = {"ia": ia, "result": result}
    for block in blocks(GUIDE):
        if block.language == "python" and not any("pydrake" in line for line in block.lines):
            exec("\n".join(block.lines), names)
    q, dq, ddq = np.random.default_rng(4).normal(size=(3, 20, 2))
    ours = torques(result, q, dq, ddq)
    model = names["model"]
    nq = [np.concatenate([[x[0]], [np.cos(x[1]), np.sin(x[1])]]) if model.nq == 3 else x for x in q]
    damping = dq * np.array([result.parameters["Fv1"], result.parameters["Fv2"]])
    theirs = np.array([pin.rnea(model, model.createData(), a, b, c) for a, b, c in zip(nq, dq, ddq, strict=True)])
    np.testing.assert_allclose(theirs + damping, ours, atol=1e-12)
    compiled = names["spec"].compile()
    compiled.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT  # frictionloss is one
    data = mujoco.MjData(compiled)
    for k in range(20):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[k], dq[k], ddq[k]
        mujoco.mj_inverse(compiled, data)
        np.testing.assert_allclose(data.qfrc_inverse, ours[k], atol=1e-12)
