"""Everything of inertica that reads files which it did not write a moment ago, with sound files to damage."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

import logfiles
import pair
import studio_arm
from campaign import small
from fuzz.harness import Subject
from fuzz.test_logs import check, mat73_bytes, mat_bytes, npz_bytes, parquet_bytes
from inertica.benchmark.manifest import available, records
from inertica.campaign.engines import InProcess
from inertica.campaign.run import run
from inertica.campaign.specfile import read_spec
from inertica.campaign.store import Store
from inertica.campaign.summary import lines
from inertica.documents import plain
from inertica.errors import InputError
from inertica.excitation.files import load_trajectory, save_trajectory
from inertica.excitation.fourier import Fourier
from inertica.logs.log import Log
from inertica.logs.read import read_log
from inertica.logs.readers.options import ReadOptions
from inertica.report.verdict_words import verdict_document
from inertica.robot.cad_table import read_parts
from inertica.robot.load import load
from inertica.robot.outline import outlines
from inertica.studio.scene import scene
from inertica.workflow.actuators.job import actuators
from inertica.workflow.actuators.result import ActuatorsResult
from inertica.workflow.export.model import parameters_csv
from inertica.workflow.identify.result import Result
from robot.test_sdf import ARM

# --- logs --------------------------------------------------------------------------------------------------------------------


def _log(name: str) -> Sequence[str]:
    def read(folder: Path) -> Sequence[str]:
        log = check(folder / name)
        if log is None:  # `check` has seen that the sentence names the file
            raise InputError("refused with a sentence that names the file")
        return log.warnings

    return read


def _bytes(name: str, content: object) -> object:
    return lambda folder: (folder / name).write_bytes(content())


LOGS = {
    "csv": ("a.csv", lambda: logfiles.csv_text().encode()),
    "csv.gz": ("a.csv.gz", lambda: gzip.compress(logfiles.csv_text().encode(), mtime=0)),
    "npz": ("a.npz", npz_bytes),
    "mat": ("a.mat", lambda: mat_bytes(False)),
    "mat-packed": ("packed.mat", lambda: mat_bytes(True)),
    "mat-7.3": ("v73.mat", mat73_bytes),
    "parquet": ("a.parquet", parquet_bytes),
}
WRITTEN = {
    "ros1": ("a.bag", logfiles.write_ros1),
    "ros2-db3": ("a", lambda path: logfiles.write_ros2(path, "sqlite3")),
    "ros2-mcap": ("a", lambda path: logfiles.write_ros2(path, "mcap")),
    "mcap": ("a.mcap", logfiles.write_mcap),
    "mcap-json": ("a.mcap", logfiles.write_mcap_json),
    "lerobot-2": ("a", lambda path: logfiles.write_lerobot(path, "v2.1", ["x", "y", "z"], episodes=1)),
    "lerobot-3": ("a", lambda path: logfiles.write_lerobot(path, "v3.0", ["x", "y", "z"], episodes=1)),
}


def _written(name: str, write: object) -> object:
    return lambda folder: write(folder / name)


LISTS = """\
time;state;effort
0.00;[0.10, 0.20];[1.5, 2.5]
0.01;[0.11, 0.21];[1.6, 2.6]
0.02;[0.13, 0.22];[1.7, 2.4]
0.03;[0.14, 0.23];[1.6, 2.5]
"""
BARE = "".join(f"{k / 100:g},{np.sin(k):.6g},{np.cos(k):.6g},{k % 7:g},{k % 5:g}\n" for k in range(30))


def _make_motion(folder: Path) -> None:
    """A folder of measured states and commands with lists in their cells."""
    rows = [f'{k / 100:g},"[{np.sin(k):.4g}, {np.cos(k):.4g}]","[{k % 7}, {k % 5}]"' for k in range(20)]
    motion = folder / "a"
    motion.mkdir()
    (motion / "joint_list.txt").write_text("shoulder\nelbow\n")
    (motion / "state_motor.csv").write_text("timestamp,positions,torques\n" + "\n".join(rows) + "\n")
    (motion / "control.csv").write_text("timestamp,commands\n" + "\n".join(row.rpartition(',"')[0] for row in rows[::2]) + "\n")


def _make_two(folder: Path) -> None:
    """Two recordings of one motion, each on its clock."""
    t, x = logfiles.motion(2, 40)
    for name, columns in (("a.csv", {"q": x["q"]}), ("b.csv", {"tau": x["tau"]})):
        head = ",".join(["t", *(f"{symbol}{j + 1}" for symbol in columns for j in range(2))])
        np.savetxt(folder / name, np.column_stack([t, *columns.values()]), "%.6g", ",", header=head, comments="")


def _read_two(folder: Path) -> Sequence[str]:
    return read_log(f"{folder / 'a.csv'}+{folder / 'b.csv'}").warnings


def _read_bare(folder: Path) -> Sequence[str]:
    return read_log(folder / "a.csv", options=ReadOptions(columns=("t", "q1", "q2", "tau1", "tau2"))).warnings


# --- robots ------------------------------------------------------------------------------------------------------------------

CARD = """\
model: pair.urdf
friction: [viscous, {stribeck: {vs: 0.1}}]
armature: [true, false]
coupling: [{motor: 2, joints: [1, 2]}]
gravity: [0, 0, -9.81]
joints: [shoulder, elbow]
payload: {link: 2, position: [0, 0, 0.1]}
terms: [{name: K1, joint: 1, formula: sin(3*q1), unit: N m}]
fixed: [M1]
torque: {from: current, gain: [2, 3]}
transmission: [[50, 0], [0, 60]]
side: motor
columns: {q: [a1, a2], tau: "b{}"}
units: {q: deg}
rate: 500
limits: {lower: [-2, -3], upper: [2, 3], velocity: [3, 4], acceleration: [5, 6], torque: [30, 10]}
shapes: {1: [{from: [0, 0, 0], to: [0.3, 0, 0], radius: 0.05}]}
loop: {law: pd, kp: [900, 300], kd: [90, 24], rate: 1000}
noise: {own: {q: 1.0e-5, tau: 0.02}}
sensors: {position_step: 1.0e-4, rate: 100}
prior: {masses: 0.2, ZZ2: 0.1}
parameters: {Fv1: 0.4}
constraints: {total_mass: 27.1}
"""
MJCF = pair.MJCF.replace(
    '<body name="lower"', '<geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03"/><body name="lower"'
).replace("<worldbody>", '<default><geom density="900"/></default><worldbody><geom type="plane" size="1 1 1"/>')
DH = """\
name: arm
dh: {convention: proximal, alpha: [0, -1.57079632679, 0], a: [0, 0, 0.25], d: [0.2, 0, 0], theta: [0, 0, 0]}
types: [R, R, R]
friction: [viscous, coulomb]
gravity: [0, 0, -9.81]
limits: {lower: [-2, -2, -2], upper: [2, 2, 2], velocity: [3, 3, 3], torque: [20, 20, 20]}
loop: {law: pd, kp: [900, 300, 100], kd: [90, 24, 10], rate: 1000}
noise: {own: {q: 1.0e-5, tau: 0.02}}
links: [{M: 1, Fv: 0.7}, {M: 1, MX: 0.1, ZZ: 0.2}, {M: 1}]
"""


def _make_card(folder: Path) -> None:
    (folder / "card.yaml").write_text(CARD)
    (folder / "pair.urdf").write_text(pair.URDF)


def _robot(name: str) -> object:
    def read(folder: Path) -> Sequence[str]:
        description = load(folder / name)
        json.dumps(plain(scene(description)))  # what the studio draws
        return description.notes

    return read


SERVO = """\
model: pair.urdf
friction: [viscous, coulomb]
loop: {law: servo, p: [0.004, 0.004], d: [0.0001, 0.0001], counts: 4096, voltage: 12, torque_constant: [1.5, 1.5],
       resistance: [2, 2], current_limit: [3, 3], rate: 500, delay: 0.01}
"""


def _make_servo(folder: Path) -> None:
    (folder / "card.yaml").write_text(SERVO)
    (folder / "pair.urdf").write_text(pair.URDF)


FLOATING = """\
model: pair.urdf
base: floating
contacts: [base]
friction: [viscous, coulomb]
columns: {base_pos_x: mx}
"""


def _make_floating(folder: Path) -> None:
    """A robot that is carried, with place, orientation and turning of its base and the force on it."""
    (folder / "card.yaml").write_text(FLOATING)
    (folder / "pair.urdf").write_text(pair.URDF)
    t, x = logfiles.motion(2, 60)
    turn = 0.3 * np.sin(t)  # about z
    base = {
        "mx": np.cos(t), "base_pos_y": np.sin(t), "base_pos_z": 1.0 + 0.1 * t, "base_quat_w": np.cos(turn / 2.0),
        "base_quat_x": 0.0 * t, "base_quat_y": 0.0 * t, "base_quat_z": np.sin(turn / 2.0), "base_ang_vel_x": 0.0 * t,
        "base_ang_vel_y": 0.0 * t, "base_ang_vel_z": 0.3 * np.cos(t),
    } | {f"wrench_base_{part}": np.cos(k * t) for k, part in enumerate(("fx", "fy", "fz", "tx", "ty", "tz"))}  # fmt: skip
    joints = {f"{symbol}{j + 1}": x[symbol][:, j] for symbol in ("q", "tau") for j in range(2)}
    columns = {"t": t, **joints, **base}
    np.savetxt(folder / "a.csv", np.column_stack(list(columns.values())), "%.7g", ",", header=",".join(columns), comments="")


def _read_floating(folder: Path) -> Sequence[str]:
    description = load(folder / "card.yaml")
    return [*description.notes, *read_log(folder / "a.csv", description).warnings]


MANIFEST = """\
- {name: arm, folder: arm, model: arm.urdf, published: here, licence: Apache-2.0, positions: 20, columns: 10, gains: [2.0, 3.0],
   windows: [{file: run1.csv.gz, start: 0.5, end: 9.5}, {file: run2.csv.gz, start: 0.5, end: 9.5}],
   coupling: [2, 1, 2], transmission: [[50, 0], [0, 60]], springs: [1], limit: 1.02, quick: true, defects: [clock]}
"""


def _read_manifest(folder: Path) -> Sequence[str]:
    for record in records(folder, folder / "logs.yaml"):
        available(record)
    return ()


# --- folders -----------------------------------------------------------------------------------------------------------------


def _make_result(folder: Path) -> None:
    pair.identified().save(folder)


def _read_result(folder: Path) -> Sequence[str]:
    result = Result.load(folder)
    json.dumps(plain(verdict_document(result)))
    parameters_csv(result)
    repr(result)
    result._repr_html_()
    return result.warnings


@cache
def _actuators() -> ActuatorsResult:
    t = np.arange(300) / 100.0
    u = np.stack([0.5 * np.sign(np.sin(5.0 * t)) + 0.2 * np.sin(2.0 * t), 0.4 * np.sign(np.cos(4.0 * t))], 1)
    q = np.zeros_like(u)
    for k in range(1, len(t)):  # first-order lag
        q[k] = q[k - 1] + 0.2 * (u[k - 1] - q[k - 1])
    return actuators(pair.folder() / "pair.urdf", [Log.from_arrays(t, {"q": q, "qr": u}, ["shoulder", "elbow"])], threads=1)


def _make_actuators(folder: Path) -> None:
    _actuators().save(folder)


def _read_actuators(folder: Path) -> Sequence[str]:
    result = ActuatorsResult.load(folder)
    json.dumps(plain(result.document()))
    result.draws(2)
    return result.warnings


@cache
def _campaign() -> dict[str, bytes]:
    """Files of a small campaign with one unit that failed."""
    import tempfile

    text = small.TEXT.replace("starts: 2", "starts: 1").replace("runs: 4", "runs: 2").replace("block: 2", "block: 1")
    with tempfile.TemporaryDirectory() as place:
        store = Store.begin(Path(place) / "c", small.spec(Path(place), text))
        run(store, InProcess())
        files = store.files()
        files[-1].rename(files[-1].with_name(files[-1].name.partition("-")[0] + ".parquet"))  # as an earlier version wrote it
        (store.path / "failed" / "x.json").write_text(json.dumps({"unit": {}, "error": "x", "attempts": 1}))
        return {str(p.relative_to(store.path)): p.read_bytes() for p in store.path.rglob("*") if p.is_file()}


def _make_campaign(folder: Path) -> None:
    for name, content in _campaign().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def _read_campaign(folder: Path) -> Sequence[str]:
    store = Store.open(folder)
    lines(store)
    store.failures()
    return [f"damaged: {unit}" for unit in store.damaged()]


def _make_project(folder: Path) -> None:
    from inertica.studio.arguments import Arguments
    from inertica.studio.overlay import write_overlay
    from inertica.studio.project import Project
    from inertica.studio.rooms import data

    studio_arm.write(folder / "arms")
    project = Project(folder / "project")
    (project.folder / "model" / "arm.urdf").write_text(pair.URDF)
    project.choose_robot("model/arm.urdf")
    (project.folder / "logs" / "run1.csv").write_bytes(
        (pair.folder() / "run1.csv").read_bytes()[:40_000].rpartition(b"\n")[0] + b"\n"
    )
    project.add_log("logs/run1.csv")
    data.change(project, Arguments({"log": "run1.csv", "role": "identify", "slice": [0.2, 0.8]}))
    result = pair.identified()
    result.save(project.folder / "results" / "result-1")
    write_overlay(result, {}, project.folder / "results" / "result-1")
    result.save(project.folder / "results" / "result-2")
    _make_trajectory(project.folder / "trajectories")
    rehearsal = {"name": "rehearsal-1", "trajectory": "motion.yaml", "covered": [3, 4]}
    (project.folder / "rehearsals" / "rehearsal-1.json").write_text(json.dumps(rehearsal))
    project.choose("identify", settings={"method": "wls", "quick": True, "friction": ["viscous"], "cutoff": 10.0})
    project.choose("motion", design={"period": 5.0, "harmonics": 4}, selected="motion.yaml", cell={"floor": 0.0})
    project.choose("data", check={"for": [], "verdict": "good", "sentence": "x", "findings": []})
    project.choose("trust", selected="result-1")


def _read_project(folder: Path) -> Sequence[str]:
    """Every page of the studio, and some of what a page asks for; none may be an error of the server."""
    from starlette.testclient import TestClient

    from inertica.studio.guard import Guard
    from inertica.studio.project import Project
    from inertica.studio.rooms import ROOMS
    from inertica.studio.server import Studio

    studio = Studio(Project(folder / "project"), Guard("token", 8000), warm=False)
    client = TestClient(studio.app, base_url="http://127.0.0.1:8000")
    client.get("/", params={"token": "token"})
    said: list[str] = []
    places = [
        "state",
        *ROOMS,
        "trust?result=result-1",
        "data/series/signal?log=run1.csv&signal=q",
        "trust/series/torque?result=result-1",
    ]
    posts = {"data/describe": {"log": "run1.csv"}, "motion/play": {"trajectory": "motion.yaml"},
             "identify/compare": {"first": "result-1", "second": "result-2"}, "data/files": {}}  # fmt: skip
    answers = [(place, client.get(f"/api/{place}")) for place in places]
    answers += [
        (place, client.post(f"/api/{place}", json=body, headers={"origin": "http://127.0.0.1:8000"}))
        for place, body in posts.items()
    ]
    for place, answer in answers:
        assert answer.status_code < 500, f"{place}: {answer.status_code}"
        if answer.status_code >= 400:
            said.append(f"{place}: {answer.json()['error'] if 'json' in answer.headers['content-type'] else answer.text}")
    problems = client.get("/api/state").json()["problems"]
    return [*said, *problems]


def _make_trajectory(folder: Path) -> None:
    rng = np.random.default_rng(0)
    save_trajectory(Fourier.at_rest(4.0, np.zeros(2), rng.normal(size=(4, 2)), rng.normal(size=(4, 2))), folder / "motion.yaml")


def _read_trajectory(folder: Path) -> Sequence[str]:
    trajectory = load_trajectory(folder / "motion.yaml")
    trajectory(np.linspace(0.0, trajectory.period, 20))
    return ()


PARTS = """\
link,mass [g],cx [mm],cy [mm],cz [mm],ixx,ixy,ixz,iyy,iyz,izz,frame,about
upper,2000,100,20,30,0.02,0.001,0,0.03,0,0.03,link,com
lower,1000,150,10,0,0.01,0,0.001,0.02,0,0.02,base,com
2,50,0,0,0,1e-5,0,0,1e-5,0,1e-5,link,origin
"""


def _make_cad(folder: Path) -> None:
    (folder / "parts.csv").write_text(PARTS)


def _read_cad(folder: Path) -> Sequence[str]:
    read_parts(folder / "parts.csv", load(pair.folder() / "pair.urdf").robot)
    return ()


TRIANGLES = np.array([[[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 0, 0], [0, 1, 0], [0, 0, 1]],
                      [[0, 0, 0], [0, 0, 1], [1, 0, 0]], [[1, 0, 0], [0, 0, 1], [0, 1, 0]]], "<f4") / 10  # fmt: skip


def _make_meshes(folder: Path) -> None:
    """A robot whose links are a binary and a textual mesh."""
    for link, mesh in (("upper", "a.stl"), ("lower", "b.obj")):
        shape = f'<link name="{link}"><collision><geometry><mesh filename="{mesh}"/></geometry></collision>'
        urdf = (folder / "arm.urdf").read_text() if (folder / "arm.urdf").exists() else pair.URDF
        (folder / "arm.urdf").write_text(urdf.replace(f'<link name="{link}">', shape))
    facets = b"".join(bytes(12) + triangle.tobytes() + bytes(2) for triangle in TRIANGLES)
    (folder / "a.stl").write_bytes(bytes(80) + len(TRIANGLES).to_bytes(4, "little") + facets)
    corners = "".join(f"v {x:g} {y:g} {z:g}\n" for x, y, z in TRIANGLES.reshape(-1, 3))
    (folder / "b.obj").write_text(corners + "".join(f"f {k} {k + 1} {k + 2}\n" for k in (1, 4, 7, 10)))


def _read_meshes(folder: Path) -> Sequence[str]:
    return outlines(load(folder / "arm.urdf")).notes


def _text(name: str, text: str) -> object:
    return lambda folder: (folder / name).write_text(text)


def _read_samples(folder: Path) -> Sequence[str]:
    load_trajectory(folder / "motion.csv")
    return ()


def _read_spec(folder: Path) -> Sequence[str]:
    read_spec(folder / "spec.yaml")
    return ()


def _samples() -> str:
    t = np.arange(20) / 10.0
    return "t,q1,q2\n" + "".join(f"{x:g},{np.sin(x):.6g},{np.cos(x):.6g}\n" for x in t)


SUBJECTS = {
    s.name: s
    for s in (
        *(Subject(name, _bytes(file, make), _log(file)) for name, (file, make) in LOGS.items()),
        *(Subject(name, _written(file, write), _log(file), cost=2.0) for name, (file, write) in WRITTEN.items()),
        Subject("csv-lists", _text("a.csv", LISTS), _log("a.csv")),
        Subject("csv-bare", _text("a.csv", BARE), _read_bare),
        Subject("csv-two", _make_two, _read_two),
        Subject("motion-folder", _make_motion, _log("a")),
        Subject("urdf", _text("arm.urdf", pair.URDF), _robot("arm.urdf")),
        Subject("mjcf", _text("arm.xml", MJCF), _robot("arm.xml")),
        Subject("sdf", _text("arm.sdf", ARM), _robot("arm.sdf")),
        Subject("floating", _make_floating, _read_floating),
        Subject("dh", _text("arm.yaml", DH), _robot("arm.yaml")),
        Subject("card", _make_card, _robot("card.yaml"), cost=4.0),
        Subject("meshes", _make_meshes, _read_meshes),
        Subject("cad", _make_cad, _read_cad),
        Subject("trajectory", _make_trajectory, _read_trajectory),
        Subject("samples", _text("motion.csv", _samples()), _read_samples),
        Subject("spec", _text("spec.yaml", small.TEXT), _read_spec),
        Subject("result", _make_result, _read_result, cost=2.0),
        Subject("servo", _make_servo, _robot("card.yaml")),
        Subject("manifest", _text("logs.yaml", MANIFEST), _read_manifest),
        Subject("actuators", _make_actuators, _read_actuators),
        Subject("campaign", _make_campaign, _read_campaign, cost=2.0),
        Subject("project", _make_project, _read_project, spared=(".stl",), cost=4.0),
    )
}
