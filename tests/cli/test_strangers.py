"""Files as strangers bring them, through `check` and `identify`: the same motion in another form gives the same result."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from inertica.cli.main import main
from inertica.excitation.files import catalog_trajectory
from inertica.experiment import Experiment
from inertica.robot.load import load
from logs.simulated import clean
from pair import files, refused

QUICK = ("--cutoff", "10", "--delay", "0", "--friction", "viscous,coulomb", "--method", "wls", "--quick")


@cache
def table() -> np.ndarray:
    """t, q1, q2, tau1, tau2 of the first log of the pair."""
    return np.loadtxt(files()[1], delimiter=",", skiprows=1)


def velocities() -> np.ndarray:
    return np.gradient(table()[:, 1:3], table()[:, 0], axis=0)


def written(path: Path, header: str, columns: np.ndarray | list[np.ndarray]) -> Path:
    np.savetxt(
        path, np.column_stack(columns) if isinstance(columns, list) else columns, delimiter=",", header=header, comments=""
    )
    return path


def identified(capsys, *words) -> dict:
    code = main(["identify", *map(str, words), *QUICK, "--json"])
    said = capsys.readouterr()
    assert code == 0, said.err
    return json.loads(said.out)


def base(document: dict) -> np.ndarray:
    return np.array([p["value"] for p in document["base"]])


@pytest.fixture
def plain(capsys) -> np.ndarray:
    robot, fit, _ = files()
    return base(identified(capsys, robot, fit))


def checked(capsys, *words) -> tuple[int, dict]:
    code = main(["check", *map(str, words), "--json"])
    said = capsys.readouterr()
    assert code in (0, 1), said.err
    return code, json.loads(said.out)


@pytest.mark.parametrize("named", [True, False])
def test_lists_in_cells_stamps_in_microseconds_and_a_text_column(tmp_path: Path, capsys, plain: np.ndarray, named: bool) -> None:
    def cell(values) -> str:
        return '"[' + ", ".join(f"{v:.12g}" for v in values) + ']"'

    rows = zip(table(), velocities(), strict=True)
    lines = [f"STATE,{1e6 * x[0]:.3f},{cell(x[1:3])},{cell(v)},{cell(x[3:])}" for x, v in rows]
    (tmp_path / "state.csv").write_text("type,timestamp,positions,velocities,torques\n" + "\n".join(lines) + "\n")
    if named:  # other names than the robot's, as many and in its order
        (tmp_path / "joint_list.txt").write_text("Rotation\nPitch\n")
    document = identified(capsys, files()[0], tmp_path / "state.csv", "--velocity", "differences")
    np.testing.assert_allclose(base(document), plain, rtol=1e-6)
    assert any("the clock 'timestamp' is taken to be in us" in w for w in document["warnings"])


def test_lists_of_other_lengths_are_refused(tmp_path: Path, capsys) -> None:
    (tmp_path / "a.csv").write_text('t,q,tau\n0,"[1, 2]","[1, 2]"\n1,"[1, 2]","[1]"\n2,"[1, 2]","[1, 2]"\n')
    assert "a.csv:3: the list in the column 'tau' has 1 values, in the first line it has 2" in refused(
        capsys, "check", files()[0], str(tmp_path / "a.csv")
    )


def test_a_file_without_header(tmp_path: Path, capsys, plain: np.ndarray) -> None:
    robot, _, _ = files()
    path = tmp_path / "bare.csv"
    np.savetxt(path, np.insert(table(), 1, 7.0, axis=1), delimiter=",")
    assert "--columns t,q1,q2,tau1,tau2" in refused(capsys, "identify", robot, str(path))
    stated = identified(capsys, robot, path, "--columns", "t,-,q1,q2,tau1,tau2", "-o", tmp_path / "out")
    np.testing.assert_allclose(base(stated), plain, rtol=1e-9)
    (tmp_path / "card.yaml").write_text(f"model: {robot}\ncolumns: [t, -, q1, q2, tau1, tau2]\n")
    np.testing.assert_allclose(base(identified(capsys, tmp_path / "card.yaml", path)), plain, rtol=1e-9)
    # a saved result remembers how its logs are read
    assert main(["predict", str(tmp_path / "out"), str(path), "--json"]) == 0
    assert "residual" in json.loads(capsys.readouterr().out)
    assert "5 columns are stated (t, q1, q2, tau1, tau2), but this line has 6 cells" in refused(
        capsys, "identify", robot, str(path), "--columns", "t,q1,q2,tau1,tau2"
    )


def test_positions_and_torques_in_two_files(tmp_path: Path, capsys, plain: np.ndarray) -> None:
    robot, x = files()[0], table()
    written(tmp_path / "positions.csv", "t,q1,q2", x[:, :3])
    written(tmp_path / "torques.csv", "time [ms],tau1,tau2", [1e3 * x[::2, 0], x[::2, 3:]])
    pair = f"{tmp_path / 'positions.csv'}+torques.csv"
    document = identified(capsys, robot, pair, "-o", tmp_path / "out")
    np.testing.assert_allclose(base(document), plain, rtol=0.05, atol=0.01)
    slice_ = identified(capsys, robot, f"{pair}@1:5")
    assert slice_["base_count"] == document["base_count"]
    written(tmp_path / "late.csv", "t,tau1,tau2", [100.0 + x[:, 0], x[:, 3:]])
    sentence = refused(capsys, "identify", robot, f"{tmp_path / 'positions.csv'}+late.csv")
    assert "do not overlap" in sentence and "late.csv from 100 to" in sentence


def test_a_faster_file_is_averaged_without_delay(tmp_path: Path) -> None:
    from inertica.logs import read_log

    slow, fast = np.arange(0.0, 2.0, 0.1), np.arange(-0.5, 2.5, 0.01)
    written(tmp_path / "q.csv", "t,q1", [slow, np.sin(slow)])
    written(tmp_path / "tau.csv", "t,tau1", [fast, 3.0 * fast + np.where(np.arange(len(fast)) % 2, 1.0, -1.0)])
    log = read_log(tmp_path / "q.csv+tau.csv")
    assert len(log) == 20 and "averaged, 10 samples to one" in " ".join(log.notes)
    np.testing.assert_allclose(log.need("tau")[:, 0], 3.0 * slow, atol=0.11)  # interpolated, it would be off by 1


def test_a_stated_rate(tmp_path: Path, capsys, plain: np.ndarray) -> None:
    robot, x = files()[0], table()
    path = written(tmp_path / "a.csv", "q1,q2,tau1,tau2", x[:, 1:])
    assert "--rate 1000" in refused(capsys, "identify", robot, str(path))
    np.testing.assert_allclose(base(identified(capsys, robot, path, "--rate", "200")), plain, rtol=1e-9)
    (tmp_path / "card.yaml").write_text(f"model: {robot}\nrate: 200\n")
    np.testing.assert_allclose(base(identified(capsys, tmp_path / "card.yaml", path)), plain, rtol=1e-9)
    assert "--rate should be a number of Hz greater than zero" in refused(capsys, "identify", robot, str(path), "--rate", "fast")


def test_several_torque_columns(tmp_path: Path, capsys, plain: np.ndarray) -> None:
    robot, x = files()[0], table()
    header = "t,q1,q2,effort1,effort2,tau_meas1,tau_meas2,tau_con1,tau_con2"
    path = written(tmp_path / "a.csv", header, [x[:, :3], 2.0 * x[:, 3:], x[:, 3:], 3.0 * x[:, 3:]])
    document = identified(capsys, robot, path)
    np.testing.assert_allclose(base(document), plain, rtol=1e-9)
    (sentence,) = [w for w in document["warnings"] if "torque is taken from" in w]
    assert "tau_meas{}: its name says that it was measured" in sentence and "--columns 'tau=tau_con{}'" in sentence
    chosen = identified(capsys, robot, path, "--columns", "tau=tau_con{}", "--force")
    np.testing.assert_allclose(base(chosen), 3.0 * plain, rtol=1e-6)
    assert not any("torque is taken from" in w for w in chosen["warnings"])


def test_torque_of_joint_and_motor(tmp_path: Path, capsys, plain: np.ndarray) -> None:
    robot, x = files()[0], table()
    path = written(tmp_path / "a.csv", "t,q1,q2,effort1,effort2,taum1,taum2", [x, 0.01 * x[:, 3:]])
    document = identified(capsys, robot, path)
    np.testing.assert_allclose(base(document), plain, rtol=1e-9)
    assert any("torque is taken from tau, on the joint side; taum" in w for w in document["warnings"])


def test_two_names_for_a_position_are_still_refused(tmp_path: Path, capsys) -> None:
    path = written(tmp_path / "a.csv", "t,q1,q2,q_meas1,q_meas2,tau1,tau2", table()[:, [0, 1, 2, 1, 2, 3, 4]])
    sentence = refused(capsys, "check", files()[0], str(path))
    assert "both 'q1' and 'q_meas1' look like the position of joint 1" in sentence and "--columns" in sentence


def test_text_that_nobody_needs(tmp_path: Path, capsys, plain: np.ndarray) -> None:
    robot, fit, _ = files()
    head, *lines = Path(fit).read_text().splitlines()
    words = [f"{line},{'run' if k % 7 else '12'},2026-01-01T00:00:{k % 60:02d}" for k, line in enumerate(lines)]
    (tmp_path / "a.csv").write_text("\n".join([f"{head},mode,when", *words]) + "\n")
    np.testing.assert_allclose(base(identified(capsys, robot, tmp_path / "a.csv")), plain, rtol=1e-9)
    needed = (tmp_path / "a.csv").read_text().replace("mode", "q2").replace("q2,tau1", "speed_of_light,tau1", 1)
    (tmp_path / "b.csv").write_text(needed)
    assert "'run' in the column 'q2' is no number" in refused(capsys, "identify", robot, str(tmp_path / "b.csv"))


def test_a_wrong_velocity_does_not_stop_a_fit_that_does_without(tmp_path: Path, capsys, plain: np.ndarray) -> None:
    robot, x = files()[0], table()
    path = written(tmp_path / "a.csv", "t,q1,q2,tau1,tau2,dq1,dq2", [x, 1.5 * velocities()])
    _, document = checked(capsys, robot, path)
    (found,) = [f for f in document["findings"] if f["name"] == "velocity"]
    assert found["verdict"] != "fine" and "recorded velocity is 1.5 times" in found["text"]
    np.testing.assert_allclose(base(identified(capsys, robot, path, "--velocity", "differences")), plain, rtol=1e-9)
    code, document = checked(capsys, robot, path, "--velocity", "differences")
    assert code == 0 and "velocity" not in {f["name"] for f in document["findings"]}


def test_a_clock_in_milliseconds(tmp_path: Path, capsys, plain: np.ndarray) -> None:
    robot, x = files()[0], table()
    path = written(tmp_path / "a.csv", "t,q1,q2,tau1,tau2", [1e3 * x[:, 0], x[:, 1:]])
    code, document = checked(capsys, robot, path)
    assert code == 1 and "milliseconds" in next(f["text"] for f in document["findings"] if f["name"] == "clock")
    assert main(["identify", robot, str(path)]) == 1
    assert "the clock looks like milliseconds" in capsys.readouterr().err
    np.testing.assert_allclose(base(identified(capsys, robot, path, "--unit", "t=ms")), plain, rtol=1e-6)


def test_logs_of_several_rates(tmp_path: Path, capsys) -> None:
    robot, fit, other = files()
    x = np.loadtxt(other, delimiter=",", skiprows=1)
    slow = written(tmp_path / "slow.csv", "t,q1,q2,tau1,tau2", x[::10])  # 20 Hz, half of which is below the cut-off
    document = identified(capsys, robot, fit, "--validate", slow)
    assert document["residual"][str(slow)]["raw"]["all"] < 0.1
    words = ["--cutoff", "10", "--delay", "0", "--friction", "viscous,coulomb", "--quick", "--json"]
    assert main(["payload", robot, "--unloaded", fit, "--loaded", str(slow), *words]) == 0
    load = {p["name"]: p for p in json.loads(capsys.readouterr().out)["parameters"]}
    assert abs(load["M"]["value"]) < 0.05  # there is none


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("lacking", [1, 2])
def test_torque_of_some_joints_only(tmp_path: Path, capsys, lacking: int, missing: bool) -> None:
    robot, x = files()[0], np.array(table())
    path = tmp_path / "a.csv"
    if missing:
        kept = [k for k in range(5) if k != 2 + lacking]
        written(path, f"t,q1,q2,tau{3 - lacking}", x[:, kept])
    else:
        x[:, 2 + lacking] = np.nan
        written(path, "t,q1,q2,tau1,tau2", x)
    fixed = ("--cutoff", "10", "--delay", "0", "--quick")
    assert main(["identify", robot, str(path), *fixed, "-o", str(tmp_path / "out"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    values = {p["name"]: p for p in document["parameters"]}
    there = 3 - lacking
    truth = {"Fv1": 0.5, "Fc1": 0.8, "Fv2": 0.2, "Fc2": 0.3}
    assert values[f"Fc{there}"]["value"] == pytest.approx(truth[f"Fc{there}"], rel=0.05)
    assert values[f"Fc{there}"]["label"] == "determined"
    for name in (f"Fv{lacking}", f"Fc{lacking}"):  # nothing is known against the model
        assert values[name]["label"] == "unidentifiable" and values[name]["value"] == pytest.approx(truth[name])
    score = document["residual"]["identification"]["raw"]
    assert (
        score["per_joint"][lacking - 1] is None
        and score["per_joint"][there - 1] == pytest.approx(score["all"])
        and score["all"] < 0.1
    )
    assert any(f"no torque of joint {lacking} was recorded" in w for w in document["warnings"])
    code, findings = checked(capsys, robot, path)
    assert code == 0 and [f["verdict"] for f in findings["findings"]] == ["not testable"]
    assert "needs the torque of every joint" in refused(capsys, "identify", robot, str(path), "--method", "ukf", *fixed)


def test_torque_of_one_joint_of_six(tmp_path: Path, capsys) -> None:
    """Parameters that no row has are not known from rounding either."""
    robot, log = load("tx40"), clean(0)
    tau = np.where(np.arange(6) == 1, log.tau, np.nan)
    names = ",".join([f"q{j}" for j in range(1, 7)] + [f"tau{j}" for j in range(1, 7)])
    path = written(tmp_path / "log.csv", f"t,{names}", [log.t, log.q, tau])
    document = identified(capsys, "tx40", path)
    values = {p["name"]: p for p in document["parameters"]}
    truth = dict(zip(robot.layout.names, robot.prior.values, strict=True))
    assert values["Fc2"]["label"] == "determined" and values["Fc2"]["value"] == pytest.approx(truth["Fc2"], rel=0.2)
    for joint in (1, 3, 4, 5, 6):
        assert values[f"Fc{joint}"]["label"] == "unidentifiable" and values[f"Fc{joint}"]["value"] == truth[f"Fc{joint}"]


@pytest.mark.parametrize("cutoff", [(), ("--cutoff", "10")])
@pytest.mark.parametrize("what", ["noise", "nothing for one joint"])
def test_a_velocity_that_is_none(tmp_path: Path, capsys, what: str, cutoff: tuple[str, ...]) -> None:
    """Columns that are no velocities cost nothing: positions tell them, and no joint is taken for one that stands still."""
    robot, x = files()[0], table()
    dq = velocities()
    if what == "noise":
        dq = dq.std() * np.random.default_rng(0).normal(size=dq.shape)
    else:
        dq[:, 1] = np.nan
    without = written(tmp_path / "without.csv", "t,q1,q2,tau1,tau2", x)
    path = written(tmp_path / "log.csv", "t,q1,q2,dq1,dq2,tau1,tau2", [x[:, :3], dq, x[:, 3:]])
    found = []
    for file in (without, path):
        assert main(["identify", robot, str(file), *cutoff, "--delay", "0", "--quick", "--json"]) == 0
        found.append(base(json.loads(capsys.readouterr().out)))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9)


ARM = """<robot name="pendulum">
  <link name="arm"><inertial><origin xyz="0 0 -0.2"/><mass value="1"/>
    <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.001"/></inertial></link>
  <joint name="swing" type="revolute"><parent link="world"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="0" upper="0" effort="0" velocity="0"/></joint>
</robot>
"""


def test_a_joint_on_the_world_without_limits(tmp_path: Path, capsys) -> None:
    (tmp_path / "arm.urdf").write_text(ARM)
    t = np.arange(0.0, 10.0, 0.005)
    q, dq = 0.8 * np.sin(2.0 * t) + 0.3 * np.sin(5.1 * t), 1.6 * np.cos(2.0 * t) + 1.53 * np.cos(5.1 * t)
    ddq = -3.2 * np.sin(2.0 * t) - 7.803 * np.sin(5.1 * t)
    noise = np.random.default_rng(0).normal(size=len(t))
    tau = 0.06 * ddq + 1.962 * np.sin(q) + 0.1 * dq + 0.2 * np.sign(dq) + 0.01 * noise
    path = written(tmp_path / "log.csv", "t,q,tau", [t, q, tau])
    assert main(["identify", str(tmp_path / "arm.urdf"), str(path), *QUICK, "-o", str(tmp_path / "out"), "--json"]) == 0
    said = capsys.readouterr()
    document = json.loads(said.out)
    values = {p["name"]: p for p in document["parameters"]}
    assert values["MZ1"]["value"] == pytest.approx(-0.2, rel=0.02) and values["Fc1"]["value"] == pytest.approx(0.2, rel=0.05)
    assert document["base_count"] == 5  # YY with Ia, MX, MZ, Fv, Fc: nothing has vanished
    assert sum("taken as no limits" in w for w in document["warnings"]) == 1
    assert main(["check", str(tmp_path / "out" / "identified.urdf"), str(path)]) == 0


@pytest.mark.parametrize("side", ["motor", "joint"])
def test_a_transmission_is_never_ignored_in_silence(tmp_path: Path, capsys, side: str, plain: np.ndarray) -> None:
    robot, x = files()[0], table()
    N = np.array([[1.0, 0.0], [0.5, 1.0]])
    (tmp_path / "card.yaml").write_text(f"model: {robot}\ntransmission: {N.tolist()}\n")
    if side == "motor":
        x = np.column_stack([x[:, 0], x[:, 1:3] @ N.T, x[:, 3:] @ np.linalg.inv(N)])
    path = written(tmp_path / "a.csv", "t,q1,q2,tau1,tau2", x)
    stated = identified(capsys, tmp_path / "card.yaml", path, "--side", side)
    np.testing.assert_allclose(base(stated), plain, rtol=1e-6)
    assert not any("-side signals" in w for w in stated["warnings"])
    document = identified(capsys, tmp_path / "card.yaml", path, "--force")
    (sentence,) = [w for w in document["warnings"] if "motor-side signals" in w]
    assert "`side: joint` in the card, or --side joint" in sentence
    if side == "motor":
        np.testing.assert_allclose(base(document), plain, rtol=1e-6)


def test_limits_tell_the_side_of_a_geared_log(tmp_path: Path) -> None:
    import inertica as ia

    robot, fit, _ = files()
    (tmp_path / "card.yaml").write_text(f"model: {robot}\ntransmission: [[50, 0], [0, 50]]\n")
    log = ia.read_log(fit, ia.load(tmp_path / "card.yaml"))  # 50 times its torque is beyond the limit of the shoulder
    np.testing.assert_array_equal(log.need("q"), table()[:, 1:3])
    assert any("joint-side signals" in w and "limits" in w for w in log.warnings)


def test_both_files_of_a_master_arm_are_the_same_motion(real_data: Path) -> None:
    import inertica as ia

    robot = ia.load(real_data / "dvrk_mtm" / "card.yaml")
    named, motor = (ia.read_log(real_data / "dvrk_mtm" / name, robot) for name in ("one.csv.gz", "one_motor.csv.gz"))
    for symbol in ("q", "dq", "tau"):
        np.testing.assert_array_equal(named.need(symbol), motor.need(symbol))


def test_motions_of_a_hobby_arm(real_data: Path, capsys) -> None:
    folder = real_data / "so101"
    code, document = checked(capsys, folder / "so101.urdf", folder / "multisine" / "state_motor.csv")
    found = {f["name"]: f for f in document["findings"]}
    assert code == 1 and found["torque sign"]["verdict"] == "problem" and "has no sign" in found["torque sign"]["text"]
    assert found["sampling"]["numbers"]["rate"] == pytest.approx(50.0, rel=0.01)


def test_folders_of_a_hobby_arm_have_commands(real_data: Path) -> None:
    import inertica as ia

    folder = real_data / "so101"
    robot = ia.load(folder / "so101.urdf")
    whole, state = ia.read_log(folder / "multisine", robot), ia.read_log(folder / "multisine" / "state_motor.csv", robot)
    np.testing.assert_array_equal(whole.need("q"), state.need("q"))
    assert np.abs(whole.need("qr") - whole.need("q")).max() < 0.15 < np.ptp(whole.need("qr"), axis=0).min()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--unit", "t"), "--unit should be SIGNAL=UNIT"),
        (("--unit", "x=deg"), "--unit: 'x' is no signal of a log"),
        (("--unit", "q=kg"), "no known unit of angle"),
        (("--columns", "tau=effort"), "should be a signal and its columns with {} for the joint"),
        (("--columns", "t,,q1"), "--columns has an empty name"),
        (("--log-joints", "a"), "--log-joints names 1 joints, but pair has 2"),
        (("--columns", "tau=x{}"), "the column 'xshoulder' that the card names for tau is not there"),
    ],
)
def test_what_is_stated_wrongly(capsys, words: tuple[str, ...], sentence: str) -> None:
    robot, fit, _ = files()
    assert sentence in refused(capsys, "identify", robot, fit, *words)


@pytest.mark.parametrize("command", ["payload", "loads", "drive-gains", "watch", "reduce"])
def test_every_command_that_takes_logs_takes_words_on_how_to_read_them(command: str, tmp_path: Path, capsys) -> None:
    """A planar arm's log without header, stamps in ms and positions in degrees."""
    log = Experiment.of(load("scara2"), noise="standard", threads=1).run(catalog_trajectory("scara2").trajectory, seed=1)[0]
    path, experiment = str(tmp_path / "bare.csv"), tmp_path / "experiment.yaml"
    np.savetxt(path, np.column_stack([1e3 * log.t, log.need("tau"), np.degrees(log.need("q"))]), delimiter=",")
    experiment.write_text(f"logs:\n  - {{log: {path}, load: none}}\n  - {{log: {path}, load: tool}}\n")
    words = {
        "payload": ["scara2", "--unloaded", path, "--loaded", path, "--quick", "--cutoff", "10"],
        "loads": ["scara2", str(experiment), "--cutoff", "10"],
        "drive-gains": ["scara2", "--unloaded", path, "--loaded", path, "--mass", "2", "--cutoff", "10"],
        "watch": ["scara2", path, "--cutoff", "10"],
        "reduce": ["scara2", path, "--cutoff", "10"],
    }[command]
    assert main([command, *words, "--json"]) == 2
    assert "header" in capsys.readouterr().err
    torque = "i" if command == "drive-gains" else "tau"
    reading = ["--columns", f"t,{torque}1,{torque}2,q1,q2", "--unit", "t=ms", "--unit", "q=deg"]
    assert main([command, *words, "--json", *reading]) in ((0, 1, 2) if command == "drive-gains" else (0,))  # a load of nothing
    said = capsys.readouterr()
    assert "header" not in said.err
    if command == "watch":
        assert json.loads(said.out.splitlines()[-1])["cutoff"] == 10.0


def test_lines_from_stdin_are_read_as_they_are(capsys) -> None:
    assert main(["watch", "scara2", "-", "--columns", "t,q1,q2,tau1,tau2"]) == 2
    assert "lines from stdin begin with the names" in capsys.readouterr().err
