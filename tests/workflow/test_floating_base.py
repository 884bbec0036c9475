"""`identify` on robots whose base moves: one leg of a quadruped, simulated in MuJoCo, carried by a crane or by a force sensor."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import inertica as ia
from inertica.errors import FileError
from inertica.report.advice import advice
from inertica.report.digest import digest
from mujoco_walker import CRANE, SENSOR, card, model_text, record


def identified(folder: Path, mode: str) -> tuple[ia.Result, np.ndarray]:
    """The result of ten seconds, and the true values."""
    stated = card(folder, mode, legs=1)
    record(folder / "log.csv", mode, 5, 10.0, legs=1)
    result = ia.identify(str(stated), [str(folder / "log.csv")])
    (folder / "truth.xml").write_text(model_text(legs=1))
    return result, ia.load(str(folder / "truth.xml")).prior.on(result.parameters.layout).values


def test_a_carried_robot_with_the_force_on_it_measured(tmp_path: Path) -> None:
    """The base's own parameters come out too, and are written into the file it came from."""
    result, truth = identified(tmp_path, SENSOR)
    names = result.parameters.layout.names
    low, high = np.asarray(result.intervals).T
    known = [k for k, name in enumerate(names) if result.labels[name] == "determined"]
    assert {"MZ0", "Ia1", "Fv2", "MZ3"} <= {names[k] for k in known}
    assert np.mean([low[k] <= truth[k] <= high[k] for k in known]) >= 0.8
    total = [k for k, name in enumerate(names) if name[0] == "M" and name[1:].isdigit()]
    assert result.parameters.values[total].sum() == pytest.approx(truth[total].sum(), rel=0.02)
    residual = result.residuals["identification"].raw
    # scores count the torque of drives; forces on the base are weights of the fit, not of the score
    driven = np.array(residual.per_joint[:3])
    assert driven.min() < residual.all < driven.max() and residual.all < result.before.residual.raw.all
    ia.export_model(result, tmp_path / "out.xml")
    again = ia.load(str(tmp_path / "out.xml"))
    assert again.prior["M0"] == pytest.approx(result.parameters["M0"], rel=1e-9)
    # one row for the base, which is a link without a drive, and nothing that excite would refuse
    lines = [line.text for line in digest(result)]
    assert [line.split()[:2] for line in lines if "trunk" in line] == [["0", "trunk"]] and not any("base_" in x for x in lines)
    assert "excite" not in " ".join(lines) and advice(result).command == "" and "command below" not in advice(result).next
    result.save(tmp_path / "result")
    assert ia.Result.load(tmp_path / "result").labels == result.labels


def test_a_carried_robot_with_unknown_forces_tells_nothing_of_its_base(tmp_path: Path) -> None:
    result, _ = identified(tmp_path, CRANE)
    own = [name for name in result.labels if name.endswith("0")]
    assert len(own) == 10 and {result.labels[name] for name in own} == {"unidentifiable"}
    assert {result.labels[name] for name in ("Ia2", "Fv1", "Fv2", "Fc2", "MZ3")} == {"determined"}
    assert any("forces on the floating base were not measured" in warning for warning in result.warnings)


def test_a_base_at_rest_on_a_force_sensor(tmp_path: Path) -> None:
    """Rows of the base are there without any column of its motion; without the force they are missed."""
    import mujoco

    (tmp_path / "walker.xml").write_text(model_text("", legs=1))
    (tmp_path / "card.yaml").write_text("model: walker.xml\nbase: on-sensor\n")
    description = ia.load(str(tmp_path / "card.yaml"))
    model = mujoco.MjModel.from_xml_string(model_text("", legs=1))
    data, rng, rows = mujoco.MjData(model), np.random.default_rng(3), []
    t = np.arange(400) / 200.0
    size, phase = rng.uniform(0.2, 0.5, 3), rng.uniform(0, 6, 3)
    for instant in t:
        angle = 3 * instant + phase
        data.qpos[7:], data.qvel[6:], data.qacc[6:] = size * np.sin(angle), 3 * size * np.cos(angle), -9 * size * np.sin(angle)
        mujoco.mj_inverse(model, data)
        rows.append([instant, *data.qpos[7:], *data.qfrc_inverse[6:], *data.qfrc_inverse[:6]])
    header = ["t", "q1", "q2", "q3", "tau1", "tau2", "tau3", *(f"wrench_trunk_{c}" for c in ("fx", "fy", "fz", "tx", "ty", "tz"))]
    np.savetxt(tmp_path / "log.csv", rows, delimiter=",", header=",".join(header), comments="")
    log = ia.read_log(tmp_path / "log.csv", description)
    rates = [np.gradient(np.gradient(log.need("q"), t, axis=0), t, axis=0), np.gradient(log.need("q"), t, axis=0)]
    predicted = ia.engine(ia.base_model(description.layout)).inverse_dynamics(
        log.need("q"), rates[1], rates[0], description.prior
    )
    assert np.abs((predicted - log.need("tau"))[5:-5]).max() < 2e-3 * np.abs(log.need("tau")).max()
    np.savetxt(tmp_path / "bare.csv", np.array(rows)[:, :7], delimiter=",", header=",".join(header[:7]), comments="")
    with pytest.raises(FileError, match="has no force on trunk, which stands on a sensor"):
        ia.read_log(tmp_path / "bare.csv", description)
