"""Logs of robots with a floating base: what columns mean, what the base does, and sentences for what cannot be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from generators import random_robot
from inertica.errors import FileError, InerticaError
from inertica.excitation.kinematics import frames
from inertica.logs.floating import base_symbol
from inertica.logs.log import Log
from inertica.logs.read import read_log
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.floating import on_floating_base, rotation
from inertica.robot.load import load
from mujoco_walker import model_text

RATE, N = 200.0, 1200
LEGS = [f"{leg}_{joint}" for leg in ("fl", "fr", "hl", "hr") for joint in ("roll", "hip", "knee")]


def motion() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Clock, position, angles, and by differences of a fine grid angular velocity and specific force in the frame of the base."""
    t = np.arange(N) / RATE

    def path(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        place = 0.1 * np.column_stack([np.sin(2 * at), np.cos(3 * at), np.sin(1.5 * at)])
        return place, np.column_stack([0.5 * np.sin(1.7 * at) + 3.0, 0.3 * np.sin(2.3 * at), 0.25 * np.cos(1.9 * at)])

    h = 1e-4
    (back, before), (place, angles), (ahead, after) = path(t - h), path(t), path(t + h)
    R = rotation(angles)
    spin = np.einsum("kji,kjl->kil", R, (rotation(after) - rotation(before)) / (2 * h))
    w = np.column_stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]])
    force = np.einsum("kji,kj->ki", R, (ahead - 2 * place + back) / h**2 + [0, 0, 9.81])
    return t, place, angles, w, force


def quaternions(angles: np.ndarray) -> np.ndarray:
    return np.array([pin.Quaternion(R).coeffs()[[3, 0, 1, 2]] for R in rotation(angles)])


def write(folder: Path, columns: dict[str, np.ndarray], contacts: str | None = "[trunk]") -> Path:
    """Joints that move a little, and columns of the base."""
    (folder / "walker.xml").write_text(model_text(""))
    (folder / "card.yaml").write_text("model: walker.xml\n" + (f"contacts: {contacts}\n" if contacts else ""))
    t = np.arange(N) / RATE
    values = {"t": t} | {f"{name}_position": 0.2 * np.sin(2 * t + k) for k, name in enumerate(LEGS)}
    values |= {f"{name}_effort": np.cos(t + k) for k, name in enumerate(LEGS)} | columns
    np.savetxt(folder / "log.csv", np.column_stack(list(values.values())), delimiter=",", header=",".join(values), comments="")
    return folder / "log.csv"


def read(folder: Path) -> Log:
    return read_log(folder / "log.csv", load(str(folder / "card.yaml")))


def named(prefix: str, values: np.ndarray, axes: str = "xyz") -> dict[str, np.ndarray]:
    return {f"{prefix}{axis}": column for axis, column in zip(axes, values.T, strict=True)}


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("base_quat_w", ("base_quat", "w")),
        ("/odom/pose/pose/position/x", ("base_pos", "x")),
        ("/odom/pose/pose/orientation/z", ("base_quat", "z")),
        ("/odom/twist/twist/angular/y", ("base_ang_vel", "y")),
        ("/odom/twist/twist/linear/y", ("base_lin_vel", "y")),
        ("/imu/data/linear_acceleration/x", ("imu_acc", "x")),
        ("/imu/data/angular_velocity.z", ("imu_gyro", "z")),
        ("imu_acc_z", ("imu_acc", "z")),
        ("base_pos_x [m]", ("base_pos", "x")),
        ("torso_x", None),
        ("fl_knee_position", None),
    ],
)
def test_columns_of_a_base_are_known_by_their_names(name: str, meaning: tuple[str, str] | None) -> None:
    assert base_symbol(name) == meaning


def test_position_orientation_and_unknown_forces(tmp_path: Path) -> None:
    """Coordinates come out as they went in, and the six rows of the base take no part."""
    _, place, angles, _, _ = motion()
    write(tmp_path, named("base_pos_", place) | named("base_quat_", quaternions(angles), "wxyz"))
    log = read(tmp_path)
    assert log.joints[12:] == ("base_x", "base_y", "base_z", "base_yaw", "base_pitch", "base_roll") and not log.mask.any()
    np.testing.assert_allclose(log.need("q")[:, 12:15], place, atol=1e-12)
    np.testing.assert_allclose(log.need("q")[:, 15:], angles, atol=1e-9)
    assert prepare(log).unmeasured.tolist() == [False] * 12 + [True] * 6


def test_an_imu_says_the_same_of_the_base_as_a_tracker(tmp_path: Path) -> None:
    """Accelerations of both after the same filter, drift of the position left aside."""
    _, place, angles, w, force = motion()
    tracked = named("base_pos_", place) | named("base_quat_", quaternions(angles), "wxyz")
    worn = named("imu/orientation.", quaternions(angles), "wxyz") | named("imu/angular_velocity.", w)
    worn |= named("imu/linear_acceleration.", force)
    recipe = Recipe(border=60)
    both = []
    for columns in (tracked, worn):
        write(tmp_path, columns)
        made = prepare(read(tmp_path), recipe)
        both.append(made.ddq[~made.mask][:, 12:15])
    assert np.abs(both[0] - both[1]).max() < 2e-3 * np.abs(both[0]).max()


def test_wrong_orders_of_a_quaternion_are_recognised(tmp_path: Path) -> None:
    _, place, angles, w, force = motion()
    q = quaternions(angles)
    wrong = {"x, y, z, w": q[:, [1, 2, 3, 0]], "w, x, y, z": q[:, [3, 0, 1, 2]], "conjugate": q * [1, -1, -1, -1]}
    for words, values in wrong.items():
        for witness in (named("base_ang_vel_", w), named("imu_acc_", force)):
            if words != "x, y, z, w" and "imu_acc_x" in witness:
                continue  # gravity alone tells only what turns the base over, angular velocity tells all
            write(tmp_path, named("base_pos_", place) | named("base_quat_", values, "wxyz") | witness)
            with pytest.raises(FileError, match=f"orientation of the base does not agree .* when read .*{words}"):
                read(tmp_path)
    write(tmp_path, named("base_pos_", place) | named("base_quat_", q, "wxyz") | named("base_ang_vel_", w))
    assert read(tmp_path).n == 18


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            lambda c: {k: v * (1.3 if "quat" in k else 1.0) for k, v in c.items()},
            "not normalised: the norm of base_quat goes from 1.3",
        ),
        (lambda c: {k: v for k, v in c.items() if k != "base_quat_y"}, "but no base_quat_y"),
        (lambda c: {k: v for k, v in c.items() if "quat" not in k}, "says nothing of the orientation of the base"),
        (lambda c: {k: v for k, v in c.items() if "pos" not in k}, "has the orientation of the base but not how it moves"),
        (lambda c: c | {"odom/position.x": c["base_pos_x"]}, "both 'base_pos_x' and 'odom/position.x' look like base_pos_x"),
        (lambda c: c | {"wrench_trunk_fx": c["base_pos_x"]}, "but no fy, fz"),
    ],
)
def test_what_cannot_be_ends_in_a_sentence(tmp_path: Path, change, sentence: str) -> None:  # type: ignore[no-untyped-def]
    _, place, angles, _, _ = motion()
    write(tmp_path, change(named("base_pos_", place) | named("base_quat_", quaternions(angles), "wxyz")))
    with pytest.raises(InerticaError, match=sentence):
        read(tmp_path)


def test_what_acts_on_the_robot_is_never_guessed(tmp_path: Path) -> None:
    _, place, angles, _, _ = motion()
    columns = named("base_pos_", place) | named("base_quat_", quaternions(angles), "wxyz")
    write(tmp_path, columns, contacts=None)
    with pytest.raises(FileError, match="nothing says what acts on walker, whose base floats"):
        read(tmp_path)
    write(tmp_path, columns, contacts="[fl_shank]")
    with pytest.raises(FileError, match="has no force on fl_shank"):
        read(tmp_path)
    (tmp_path / "card.yaml").write_text("model: walker.xml\ncontacts: [tail]\n")
    with pytest.raises(FileError, match="has no link 'tail'"):
        read(tmp_path)
    (tmp_path / "card.yaml").write_text("model: walker.xml\nbase: fixed\ncontacts: none\n")
    with pytest.raises(FileError, match="contacts is for robots whose base floats"):
        read(tmp_path)
    upright = angles.copy()
    upright[:, 1] = 1.5
    write(tmp_path, named("base_pos_", place) | named("base_quat_", quaternions(upright), "wxyz"))
    with pytest.raises(FileError, match=r"pitches to 85\.9 degrees"):
        read(tmp_path)


def test_a_column_may_be_named_in_the_card(tmp_path: Path) -> None:
    _, place, angles, _, _ = motion()
    names = {f"m{k}": values for k, values in enumerate(quaternions(angles).T)}
    write(tmp_path, named("base_pos_", place) | names)
    card = tmp_path / "card.yaml"
    card.write_text(card.read_text() + "columns: {base_quat_w: m0, base_quat_x: m1, base_quat_y: m2, base_quat_z: m3}\n")
    np.testing.assert_allclose(read(tmp_path).need("q")[:, 15:], angles, atol=1e-9)


def test_a_card_names_one_part_and_the_others_are_known_by_their_names(tmp_path: Path) -> None:
    _, place, angles, _, _ = motion()
    y, z = place[:, 1], place[:, 2]
    columns = {"mx": place[:, 0], "base_pos_x": 0.0 * y, "base_pos_y": y, "base_pos_z": z}
    write(tmp_path, columns | named("base_quat_", quaternions(angles), "wxyz"))
    card = tmp_path / "card.yaml"
    card.write_text(card.read_text() + "columns: {base_pos_x: mx}\n")
    np.testing.assert_allclose(read(tmp_path).need("q")[:, 12:15], place, atol=1e-9)


@pytest.mark.parametrize("seed", range(1, 20, 3))
def test_forces_on_links_are_felt_as_pinocchio_says(seed: int) -> None:
    """J' of a wrench on a link, at general coordinates of the base."""
    robot = on_floating_base(random_robot(seed, arms=False))
    rng = np.random.default_rng(seed)
    model, index = pin.Model(), {-1: 0}
    for j in robot.order:
        joint = robot.joints[j]
        kind = pin.JointModelPrismaticUnaligned if joint.prismatic else pin.JointModelRevoluteUnaligned
        at = pin.SE3(np.array(joint.rotation), np.array(joint.position))
        index[j] = model.addJoint(index[joint.parent], kind(np.array(joint.axis)), at, joint.name)
    data, q = model.createData(), rng.normal(size=(3, robot.n))
    link, force, moment = int(rng.integers(robot.driven)), *rng.normal(size=(2, 3, 3))
    found = frames(robot, q)
    efforts = found.efforts(link, found.origin[:, link], force, moment)
    for k in range(3):
        pin.forwardKinematics(model, data, q[k][list(robot.order)])
        J = pin.computeJointJacobian(model, data, q[k][list(robot.order)], index[link])  # in the frame of the link
        R = data.oMi[index[link]].rotation
        expected = J.T @ np.concatenate([R.T @ force[k], R.T @ moment[k]])
        np.testing.assert_allclose(efforts[k][list(robot.order)], expected, atol=1e-12)
