"""A written model file beside the result it was made from: friction that stands for another law, its own residual, what is lost."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from real_records import RECORDS

import pair
from inertica.cli.main import main
from inertica.documents import plain, typed
from inertica.dynamics.engine import Engine
from inertica.errors import InputError
from inertica.report.bundle import write_bundle
from inertica.robot.friction import law
from inertica.robot.load import load
from inertica.robot.natural import levers
from inertica.robot.terms import Spring
from inertica.validation.residuals import Moving, Relative, Residual
from inertica.workflow.export.code import LANGUAGES, export_code
from inertica.workflow.export.exported import ExportedModel, losses
from inertica.workflow.export.lost import CORRECTION, STANDSTILL
from inertica.workflow.export.model import export_model
from inertica.workflow.export.plain_friction import FrictionStates, plain_friction
from inertica.workflow.export.torques import OURS, ModelTorques
from inertica.workflow.identify.logs_again import logs_again
from inertica.workflow.identify.prediction import held_direction, judged, judged_torques
from inertica.workflow.identify.result import Result
from inertica.workflow.identify.run import identify
from inertica.workflow.identify.standstill import Standstill

LAWS = ("viscous", "coulomb", "offset")
VW = 0.4
SATURATING = {"Fw1": 1.5, "Fw2": 0.0}


def recorded(folder, terms=(), values=None, saturating=False):
    """A result with these values, and a log of a robot that has exactly them."""
    robot = load(pair.folder() / "pair.urdf")
    drives = tuple(t for t in robot.layout.terms if type(t).__name__ == "Armature")
    laws = [law(name, j) for j in range(2) for name in LAWS]
    laws += [law("saturating", j, vw=VW) for j in range(2)] if saturating else []
    robot = robot.with_terms((*drives, *laws, *terms))
    found = robot.prior.replaced({**(SATURATING if saturating else {}), **(values or {})})
    result = pair.result_on(robot, found)
    motion = pair.motions()["identification"][0]
    tau = Engine(found.layout).inverse_dynamics(motion.q, motion.dq, motion.ddq, found.values, found.shapes)
    tau = tau + 0.02 * np.random.default_rng(5).normal(size=tau.shape)
    file = folder / "log.csv"
    np.savetxt(file, np.column_stack([motion.t, motion.q, tau]), delimiter=",", header=pair.HEADER, comments="", fmt="%.12g")
    return replace(result, logs={"identification": (str(file),)})


def by_pinocchio(path, q, dq, ddq):
    """With the friction of the file's own <dynamics>, read by Pinocchio; the elbow has no limits, hence cosine and sine."""
    model = pin.buildModelFromUrdf(str(path))
    data = model.createData()
    x = np.column_stack([q[:, 0], np.cos(q[:, 1]), np.sin(q[:, 1])])
    rigid = np.array([pin.rnea(model, data, *row) for row in zip(x, dq, ddq, strict=True)])
    return rigid + model.damping * dq + model.upperDryFrictionLimit * np.sign(dq)


def by_mujoco(path, q, dq, ddq):
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_FRICTIONLOSS | mujoco.mjtDisableBit.mjDSBL_LIMIT
    data, out = mujoco.MjData(model), np.empty_like(q)
    for k in range(len(q)):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[k], dq[k], ddq[k]
        mujoco.mj_inverse(model, data)
        out[k] = data.qfrc_inverse + model.dof_frictionloss * np.sign(dq[k])
    return out


def test_friction_is_the_least_squares_fit_over_the_samples_of_the_log(tmp_path):
    result = recorded(tmp_path, saturating=True)
    (motion,) = logs_again(result).motions["identification"]
    found = plain_friction(ModelTorques.of(result), FrictionStates.of_motions([motion]))
    v = motion.dq[~motion.resting[:, 0] & ~motion.spoiled, 0]
    p = result.parameters
    true = p["Fv1"] * v + p["Fc1"] * np.sign(v) + p["Fw1"] * np.tanh(v / VW)
    (fv, fc), rest, *_ = np.linalg.lstsq(np.column_stack([v, np.sign(v)]), true, rcond=None)
    assert fv > 0.0 and fc > 0.0
    assert found.parameters["Fv1"] == pytest.approx(fv, rel=1e-9) and found.parameters["Fc1"] == pytest.approx(fc, rel=1e-9)
    assert found.error[0] == pytest.approx(np.sqrt(rest[0]) / np.linalg.norm(true), rel=1e-6)
    assert found.parameters["Fc2"] == pytest.approx(p["Fc2"], rel=1e-9)  # a saturating law of size zero changes nothing
    assert found.parameters["off1"] == p["off1"]


def test_a_speed_weighs_as_much_as_the_time_it_is_held(tmp_path):
    """Mostly slow, the line through the origin's side of tanh; mostly fast, its flat end."""
    model = ModelTorques.of(recorded(tmp_path, saturating=True))

    def fitted(slow, fast):
        v = np.concatenate([np.linspace(0.01, 0.2, slow), np.linspace(1.5, 2.0, fast)])
        dq = np.concatenate([v, -v])[:, None] * np.ones(2)
        return plain_friction(model, FrictionStates(0.0 * dq, dq, np.ones(dq.shape, bool), True)).parameters

    slow, fast = fitted(2000, 1), fitted(1, 2000)
    assert slow["Fc1"] < fast["Fc1"] and slow["Fv1"] > fast["Fv1"] >= 0.0
    at = 1.8
    law_there = model.parameters["Fv1"] * at + model.parameters["Fc1"] + 1.5 * np.tanh(at / VW)
    assert fast["Fv1"] * at + fast["Fc1"] == pytest.approx(law_there, rel=1e-3)


def test_friction_that_falls_with_speed_is_held_without_negative_damping(tmp_path):
    result = recorded(tmp_path)
    robot = result.description.with_terms((law("stribeck", 0, vs=1.0), law("viscous", 1), law("coulomb", 1)))
    falling = replace(result, description=robot, parameters=robot.prior.replaced({"Fc1": 0.2, "dFs1": 2.0}))
    found = plain_friction(ModelTorques.of(falling), FrictionStates.up_to(robot.layout, np.array([3.0, 1.0])))
    assert found.parameters["Fv1"] == 0.0 and 0.2 < found.parameters["Fc1"] < 2.2


@pytest.mark.parametrize(("format", "name", "referee"), [("urdf", "out.urdf", by_pinocchio), ("mjcf", "out.xml", by_mujoco)])
def test_the_residual_is_that_of_the_file_in_another_program(tmp_path, format, name, referee):
    result = recorded(tmp_path, values={"Ia1": 0.05, "off2": 0.4}, saturating=True)
    written = export_model(result, tmp_path / name, format)
    (motion,) = logs_again(result).motions["identification"]
    tau = motion.log.need("tau")
    miss = tau - motion.at_samples(referee(tmp_path / name, motion.q, held_direction(motion), motion.ddq))
    wanted = np.linalg.norm(miss, axis=0) / np.linalg.norm(tau, axis=0)
    got = written.residual["identification"]
    assert got.raw.per_joint == pytest.approx(wanted, rel=1e-9)
    assert got.raw.all == pytest.approx(np.linalg.norm(miss) / np.linalg.norm(tau), rel=1e-9)
    own = judged(result.parameters, [motion])
    assert written.result_residual["identification"].filtered.all == pytest.approx(own.filtered.all, rel=1e-9)
    assert ("Pinocchio" if format == "urdf" else "MuJoCo") in written.read_by and written.disagreement < 1e-9
    percent = f"{100 * got.raw.all:.1f} % (result {100 * own.raw.all:.1f} %)"
    assert percent in written.comparison and name in written.comparison


def test_without_other_programs_ours_gives_the_same_residual(tmp_path, monkeypatch):
    result = recorded(tmp_path, saturating=True)
    theirs = export_model(result, tmp_path / "out.urdf")
    for package in ("pinocchio", "mujoco"):
        monkeypatch.setitem(sys.modules, package, None)
    ours = export_model(result, tmp_path / "out.urdf")
    assert ours.read_by == OURS != theirs.read_by
    assert ours.residual["identification"].raw.all == pytest.approx(theirs.residual["identification"].raw.all, rel=1e-9)


def test_a_law_that_is_lost_is_a_warning_with_joint_and_cause(tmp_path):
    result = recorded(tmp_path, saturating=True)
    written = export_model(result, tmp_path / "out.xml", "mjcf")
    (loss,) = [each for each in written.losses if each.joint is not None]
    assert loss.joint == 0 and loss.file > 1.1 * loss.result
    assert [(c.what, c.joint) for c in loss.causes] == [("saturating friction", 0)]
    (warning,) = written.warnings
    assert "joint 1" in warning and "saturating friction: held as viscous and Coulomb friction in MJCF" in warning
    left_out = export_model(result, tmp_path / "out.xml", "mjcf", approximate=False)
    assert "saturating friction: no place in MJCF" in left_out.warnings[0]
    far, near = (each.residual["identification"].raw.all for each in (left_out, written))
    assert far > 1.5 * near


def test_the_share_is_that_of_the_missing_torque(tmp_path):
    """An offset, drive inertia and a spring, each as large as its own formula says; the larger cause is named, the smallest not."""
    result = recorded(tmp_path, terms=(Spring(1, 0.1),), values={"Ia2": 0.2, "off2": 0.01, "Ks2": 2.0})
    written = export_model(result, tmp_path / "out.urdf")
    (motion,) = logs_again(result).motions["identification"]
    p = result.parameters
    tau = Engine(p.layout).inverse_dynamics(motion.q, held_direction(motion), motion.ddq, p.values, p.shapes)[:, 1]
    parts = {"drive inertia": 0.2 * motion.ddq[:, 1], "spring": 2.0 * (motion.q[:, 1] - 0.1), "offset": np.full(len(tau), 0.01)}
    shares = {what: np.linalg.norm(part) / np.linalg.norm(tau) for what, part in parts.items()}
    lost = {each.what: each for each in written.lost}
    assert {what: each.share for what, each in lost.items()} == pytest.approx(shares, rel=1e-6)
    assert {each.joint for each in written.lost} == {1} and lost["spring"].names == ("Ks2",)
    (loss,) = [each for each in written.losses if each.joint == 1]
    assert loss.causes[0].what == max(shares, key=shares.get) and "offset" not in [c.what for c in loss.causes]


@pytest.mark.parametrize(("format", "name"), [("urdf", "out.urdf"), ("mjcf", "out.xml")])
def test_viscous_and_coulomb_friction_lose_nothing(tmp_path, format, name):
    written = export_model(recorded(tmp_path), tmp_path / name, format)
    assert written.warnings == () and written.lost == () and written.notes == ()
    assert written.residual["identification"].raw.all == pytest.approx(written.result_residual["identification"].raw.all)


def test_another_mounting_is_lost_with_the_torque_it_makes(tmp_path):
    result = recorded(tmp_path)
    leaning = result.description.with_gravity((0.0, 2.0, -9.6))
    result = replace(result, description=leaning, parameters=result.parameters.on(leaning.layout))
    written = export_model(result, tmp_path / "out.urdf")
    assert {each.what for each in written.lost} == {"direction of gravity"}
    (motion,) = logs_again(result).motions["identification"]
    states = (motion.q, held_direction(motion), motion.ddq)
    mine = ModelTorques.of(result).whole(states)
    upright = by_pinocchio(tmp_path / "out.urdf", *states)
    for each in written.lost:
        wanted = np.linalg.norm((mine - upright)[:, each.joint]) / np.linalg.norm(mine[:, each.joint])
        assert each.share == pytest.approx(wanted, rel=1e-6)


def test_logs_that_are_gone_are_said_and_the_file_is_written(tmp_path):
    result = replace(recorded(tmp_path, saturating=True), speeds=(2.0, 2.0))
    (tmp_path / "log.csv").unlink()
    written = export_model(result, tmp_path / "out.urdf")
    assert written.residual == {} and "log.csv" in written.unmeasured and "could not be computed" in written.comparison
    assert written.warnings == () and [(c.what, c.joint, c.share) for c in written.lost] == [("saturating friction", 0, None)]
    assert (tmp_path / "out.urdf").is_file() and "up to 2 rad/s" in written.notes[0]


def test_a_saved_result_keeps_what_its_file_lost(tmp_path):
    result = recorded(tmp_path, values={"off2": 0.4}, saturating=True)
    (tmp_path / "fresh").mkdir()
    fitted = pair.identified()
    made = write_bundle(fitted, tmp_path / "out")
    (model,) = made.result.exported
    assert model.path == tmp_path / "out" / "identified.urdf" and set(model.residual) == set(pair.motions())
    (again,) = Result.load(tmp_path / "out").exported
    assert again.path == model.path and plain(again) == plain(model)
    written = export_model(result, tmp_path / "fresh" / "out.urdf")
    document = json.loads(json.dumps(plain(written)))
    back = typed(ExportedModel, document)
    assert back.lost == written.lost and back.warnings == written.warnings and back.extra == written.extra
    assert {"joint": 1, "what": "saturating friction"}.items() <= document["lost"][0].items()


def unusable():
    """As `identified`, with predictions that are next to nothing."""
    moving = Moving((9.0, 0.9), (10.0, 1.0), (0.0, 0.0), (0.9,))
    bad = Residual(Relative((0.9, 0.9), 0.9), Relative((0.9, 0.9), 0.9), 0.0, 0.9, 10, moving=moving)
    return replace(pair.identified(), residuals=dict.fromkeys(pair.identified().residuals, bad))


def test_no_model_of_a_result_that_is_not_usable(tmp_path):
    made = write_bundle(unusable(), tmp_path / "out")
    assert {"result.json", "report.html", "parameters.csv"} <= set(made.files) and "identified.urdf" not in made.files
    assert made.result.exported == () and any("option force" in w for w in made.result.warnings)
    forced = write_bundle(unusable(), tmp_path / "out", force=True)
    assert "identified.urdf" in forced.files and len(forced.result.exported) == 1
    with pytest.raises(InputError, match="option force"):
        export_model(unusable(), tmp_path / "x.urdf")
    assert not (tmp_path / "x.urdf").exists()


def test_export_on_the_command_line(tmp_path, capsys):
    saved = unusable().save(tmp_path / "bad")
    words = ["export", str(saved), "--urdf", str(tmp_path / "x.urdf")]
    assert "option force" in pair.refused(capsys, *words)
    assert main([*words, "--force", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["file"] == str(tmp_path / "x.urdf") and document["residual"]["identification"]["raw"]["all"] < 0.5
    assert document["read_by"].startswith("Pinocchio")


@pytest.mark.parametrize("flag", ["--approximate-friction", "--no-approximate-friction", "--exact-friction"])
def test_identify_states_the_residual_of_its_file(tmp_path, capsys, flag):
    robot, fit, other = pair.files()
    words = ["identify", robot, fit, "--validate", other, "--method", "wls", "--cutoff", "10", "--delay", "0"]
    words += ["--friction", "viscous,smooth", "-o", str(tmp_path / "out"), flag]
    assert main([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    file = document["exported"]["identified.urdf"]
    assert set(file["residual"]) == {"identification", other}
    whys = {each["why"] for each in file["lost"] if each["what"] == "smooth friction"}
    assert whys == {"held as viscous and Coulomb friction in URDF" if flag == "--approximate-friction" else "no place in URDF"}
    friction = [float(x.split('"')[0]) for x in (tmp_path / "out" / "identified.urdf").read_text().split('friction="')[1:]]
    assert all(f > 0.0 for f in friction) if flag == "--approximate-friction" else not any(friction)


@pytest.mark.slow
@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_files_of_real_robots_are_within_a_tenth_or_say_why(real_data, tmp_path, record):
    """Of URDF and MJCF; every joint that loses has a cause."""
    log = record.windows[0].path(record.folder)
    result = identify(record.card(tmp_path), [log], cutoff=5.0, quick=True, force=True)
    for format, file in (("urdf", "out.urdf"), ("mjcf", "out.xml")):
        near, far = (export_model(result, tmp_path / file, format, approximate=x, force=True) for x in (True, False))
        assert near.disagreement < 1e-9 and near.read_by != OURS
        own, closer, further = (r["identification"].raw.all for r in (near.result_residual, near.residual, far.residual))
        assert closer <= 1.1 * own or near.warnings
        assert closer <= further * 1.01  # standing in for a law is no worse than leaving it out
        assert all(loss.causes for loss in near.losses if loss.joint is not None)


def corrected(result):
    """The same with an offset of joint 1 that is off by 2 N m, and predictions that put that right and round friction of joint 2."""
    added = result.parameters.layout.zeros("correction").replaced({"off1": 2.0})
    parameters = result.parameters.replaced({"off1": result.parameters["off1"] - 2.0})
    return replace(result, parameters=parameters, correction=added, standstill=Standstill((None, 0.5)))


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_program_states_what_predictions_have_besides_parameters(tmp_path, language):
    plain = export_code(recorded(tmp_path), tmp_path / "plain", language)
    assert not plain.lost and not plain.warnings and not plain.comparison
    result = corrected(recorded(tmp_path))
    written = export_code(result, tmp_path / "code", language)
    assert {(lost.what, lost.joint) for lost in written.lost} == {(CORRECTION, 0), (STANDSTILL, 1)}
    (motion,) = logs_again(result).motions["identification"]
    alone = Engine(result.parameters.layout).inverse_dynamics(motion.q, held_direction(motion), motion.ddq, result.parameters)
    expected = judged_torques([alone], [motion], levers(result.description.robot)).raw
    assert written.residual["identification"].raw.per_joint == pytest.approx(expected.per_joint, rel=1e-9)
    joints = [loss.joint for loss in losses(written.residual, written.result_residual, written.lost)]
    (sentence,) = written.warnings
    assert joints[:2] == [None, 0] and "joint 1" in sentence and f"({CORRECTION}: no place in a program)" in sentence
    assert "(result " in written.comparison


def test_a_program_of_a_result_whose_logs_are_gone_says_what_it_lacks(tmp_path):
    result = replace(corrected(recorded(tmp_path)), logs={"identification": (str(tmp_path / "gone.csv"),)})
    (sentence,) = export_code(result, tmp_path / "code").warnings
    assert CORRECTION in sentence and STANDSTILL in sentence and "without the logs" in sentence
