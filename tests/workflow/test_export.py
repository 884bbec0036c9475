"""Identified values in model files: read back alike, labelled, refused when they cannot be said."""

import csv
import io
from dataclasses import replace

import mujoco
import numpy as np
import pinocchio
import pytest

import pair
from inertica.errors import InerticaError, InputError
from inertica.physical.check import check_model
from inertica.robot.formats.table import FORMATS, format_of
from inertica.robot.load import load
from inertica.workflow.export import model as export
from inertica.workflow.export.model import export_model, parameters_csv
from inertica.workflow.identify.result import Result
from inertica.workflow.identify.run import identify


def changed(result, **values):
    return replace(result, parameters=result.parameters.replaced(values))


def test_a_urdf_gives_the_results_torques_in_another_program(tmp_path):
    result = pair.identified()
    written = export_model(result, tmp_path / "out.urdf")
    assert written.difference <= 1e-9 and written.format == "urdf"
    assert written.notes == ("URDF has no place for Ia1, Ia2; they are in out.extra.yaml, a card that adds them",)
    assert "of links, viscous friction and Coulomb friction" in written.sentence
    model = pinocchio.buildModelFromUrdf(str(tmp_path / "out.urdf"))
    data = model.createData()
    names = [n for n in result.parameters.layout.names if n[:2] in ("Ia", "Fv", "Fc")]
    rigid = result.parameters.replaced(dict.fromkeys(names, 0.0))
    rng = np.random.default_rng(0)
    q, dq, ddq = rng.normal(size=(3, 20, 2))
    wanted = result.estimate.base.engine.inverse_dynamics(q, dq, ddq, rigid)
    for k in range(20):
        angles = np.array([q[k, 0], np.cos(q[k, 1]), np.sin(q[k, 1])])  # continuous joints have two coordinates there
        assert pinocchio.rnea(model, data, angles, dq[k], ddq[k]) == pytest.approx(wanted[k], abs=1e-9)


def test_friction_and_labels_are_in_the_urdf(tmp_path):
    result = pair.identified()
    export_model(result, tmp_path / "out.urdf")
    again = load(tmp_path / "out.urdf").prior
    for name in ("Fv1", "Fc1", "Fv2", "Fc2"):
        assert again[name] == result.parameters[name]
    text = (tmp_path / "out.urdf").read_text()
    assert f"Fv1 {result.labels['Fv1']}" in text and "<!--" in text


def test_friction_that_was_not_found_leaves_the_file(tmp_path):
    """The source states friction; a result with viscous friction only must not keep the old Coulomb value."""
    result = pair.identified(laws=("viscous",))
    export_model(result, tmp_path / "out.urdf")
    again = load(tmp_path / "out.urdf").prior
    assert again["Fc1"] == 0.0 and again["Fc2"] == 0.0 and again["Fv1"] == result.parameters["Fv1"]


def test_an_mjcf_holds_armature_and_opens_in_mujoco(tmp_path):
    result = pair.identified("pair.xml")
    values = result.description.prior  # a robot that could exist, which an unconstrained fit need not give
    possible = changed(result, **{n: 1.1 * values[n] for n in values.layout.names})
    export_model(possible, tmp_path / "out.xml", "mjcf")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "out.xml"))
    assert model.dof_armature == pytest.approx([0.011, 0.022]) and model.body_mass[1:] == pytest.approx([2.2, 1.1])
    assert model.dof_frictionloss == pytest.approx([0.88, 0.33])


def test_bodies_that_mujoco_would_refuse_are_not_written(tmp_path):
    impossible = changed(pair.identified("pair.xml"), ZZ2=9.0)
    with pytest.raises(InputError, match=r"no real body.*lower.*MuJoCo"):
        export_model(impossible, tmp_path / "out.xml")
    assert list(tmp_path.iterdir()) == []


def test_a_negative_mass_is_refused_and_no_file_left(tmp_path):
    with pytest.raises(InputError, match=r"mass found for lower is -1 kg"):
        export_model(changed(pair.identified(), M2=-1.0), tmp_path / "out.urdf")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_reads_back_differently_is_not_called_written(tmp_path, monkeypatch):
    """A writer that forgets the values: the check, not the writer, must notice."""
    source = (pair.folder() / "pair.urdf").read_text()

    def forgetful(description, parameters, target, labels):
        target.write_text(source)
        return ()

    monkeypatch.setitem(FORMATS, "urdf", replace(FORMATS["urdf"], write=forgetful))
    (tmp_path / "out.urdf").write_text("older")
    with pytest.raises(InerticaError, match=r"out\.urdf is not written: read again, its torques differ"):
        export_model(pair.identified(), tmp_path / "out.urdf")
    assert (tmp_path / "out.urdf").read_text() == "older" and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("model", ["pair.urdf", "pair.xml", "planar2"])
def test_a_fit_held_by_constraints_passes_the_model_check(tmp_path, model):
    """Data so noisy that plain least squares leaves what is possible: the exported file does not."""
    robot = load(model if model == "planar2" else pair.folder() / model)
    pair.write_log(robot.source.path if model == "planar2" else pair.folder() / model, tmp_path / "log.csv", noise=20.0)
    options = {"cutoff": 10.0, "delay": 0.0, "friction": ("viscous", "coulomb")}
    plain = identify(robot, [tmp_path / "log.csv"], method="wls", **options)
    result = identify(robot, [tmp_path / "log.csv"], method="pc-wls", **options)
    assert not plain.physically_consistent and result.physically_consistent
    written = export_model(result, tmp_path / ("out" + format_of(result.description.source).suffix))
    checked = check_model(load(written.path).prior)
    assert checked.consistent, checked.sentence


def test_a_link_that_writing_made_impossible_is_noticed(tmp_path, monkeypatch):
    """A file whose link has the same torques but whose tool, one by one, could not exist."""
    possible = replace(pair.identified(), parameters=pair.identified().description.prior)
    monkeypatch.setattr(export, "_impossible", lambda tree: [] if tree.path.name == "pair.urdf" else ["tool"])
    with pytest.raises(InerticaError, match=r"out\.urdf is not written: read again, tool could not exist"):
        export_model(possible, tmp_path / "out.urdf")
    assert list(tmp_path.iterdir()) == []


def test_formats_are_not_converted(tmp_path):
    with pytest.raises(InputError, match=r"belongs to a URDF model \(pair.urdf\).*new MJCF file"):
        export_model(pair.identified(), tmp_path / "out.yaml", "dh")


def test_a_dh_file_takes_new_friction_and_labels(tmp_path):
    """planar2 states viscous and Coulomb friction; offsets and a spring that only a card adds."""
    (tmp_path / "card.yaml").write_text("model: planar2\nspring: [1]\n")
    robot = load(tmp_path / "card.yaml")
    pair.write_log(robot.source.path, tmp_path / "log.csv")
    result = identify(robot, [tmp_path / "log.csv"], method="wls", cutoff=10.0, delay=0.0, friction=("viscous", "offset"))
    written = export_model(result, tmp_path / "out.yaml")
    again = load(tmp_path / "out.yaml")
    assert "Fc1" not in again.layout.names and again.prior["off2"] == result.parameters["off2"]
    lines = [line for line in (tmp_path / "out.yaml").read_text().splitlines() if line.startswith("# inertica ")]
    assert len(lines) == 2 and "Fv1 " in lines[0]
    assert written.difference <= 1e-9 and written.notes == (
        "planar2.yaml has no place for Ks1; they are in out.extra.yaml, a card that adds them",
    )


def test_a_loaded_result_exports_the_same(tmp_path):
    result = pair.identified()
    loaded = Result.load(result.save(tmp_path / "saved"))
    export_model(result, tmp_path / "a.urdf")
    export_model(loaded, tmp_path / "b.urdf")
    assert (tmp_path / "a.urdf").read_bytes() == (tmp_path / "b.urdf").read_bytes()


def test_the_table_has_every_parameter():
    result = pair.identified()
    rows = list(csv.DictReader(io.StringIO(parameters_csv(result))))
    assert [row["name"] for row in rows] == list(result.parameters.layout.names)
    for row, value, std in zip(rows, result.parameters.values, result.std, strict=True):
        assert float(row["value"]) == value and row["label"] == result.labels[row["name"]]
        assert row["std"] == "" if not np.isfinite(std) else float(row["std"]) == std
        ends = result.intervals[result.parameters.layout.index(row["name"])]
        assert [row["lower"], row["upper"]] == ["", ""] if not np.isfinite(ends).all() else float(row["lower"]) == ends[0]
    assert {row["joint"] for row in rows} == {"shoulder", "elbow"} and rows[0]["unit"] == "kg m^2"
