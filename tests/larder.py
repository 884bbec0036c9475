"""Files that README and docs speak of, made by simulation: name -> recipe."""

from __future__ import annotations

import gzip
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

import inertica as ia
from inertica.dynamics.simulate import Noise
from inertica.excitation.fourier import Fourier
from inertica.experiment import Experiment
from inertica.logs.log import Log
from inertica.robot import inertia
from inertica.robot.formats.table import format_named
from inertica.robot.layout import Parameters

EXAMPLES = Path(__file__).parents[1] / "examples" / "data"


def _arm(folder: Path) -> None:
    shutil.copy(EXAMPLES / "arm.urdf", folder / "arm.urdf")


def _card(folder: Path) -> None:
    """The arm of the examples with the loop that its logs below were recorded in."""
    loop = "loop: {law: pd, rate: 1000, kp: [120, 200, 80], kd: [12, 20, 6]}"
    (folder / "card.yaml").write_text(f"model: arm.urdf\nfriction: [viscous, coulomb]\n{loop}\n")


def _motion(seed: int) -> Fourier:
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(2, 8, 3)) * 0.1 * np.arange(1, 9)[:, None]  # fast parts are as wide as slow ones
    return Fourier.at_rest(10.0, [0.0, 0.2, 0.3], A, B)


def _trajectory(folder: Path) -> None:
    """What the torque-only log followed."""
    ia.save_trajectory(_motion(3), folder / "traj.yaml", robot="arm", joints=("pan", "lift", "elbow"))


def _experiment(folder: Path, load: np.ndarray | None = None) -> Experiment:
    made = Experiment.of(ia.load(folder / "card.yaml"), threads=1)
    values = np.array(made.truth.values)
    for name, value in {"Fv": 0.2, "Fc": 0.3, "Ia": 0.02}.items():
        for j in range(3):
            if f"{name}{j + 1}" in made.truth.layout.names:
                values[made.truth.layout.index(f"{name}{j + 1}")] = value
    if load is not None:
        values[made.truth.layout.link(2)] += load
    truth = Parameters(made.truth.layout, values, made.truth.shapes)
    return replace(made, truth=truth, noise=Noise(np.full(3, 1e-6), np.full(3, 0.005)))


def _recorded(folder: Path, seed: int, load: np.ndarray | None = None) -> Log:
    return _experiment(folder, load).run(_motion(seed), seed=seed)[0]


def _log(name: str, seed: int) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        _recorded(folder, seed).save(folder / name)

    return make


def _loaded(
    name: str, seed: int, mass: float, *, current: bool = False, centre: tuple[float, ...] = (0.05, 0.0, 0.04)
) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        body = inertia.from_com(mass, list(centre), np.diag([1.7e-3, 1.7e-3, 9.6e-4]) * mass) if mass else None
        log = _recorded(folder, seed, body)
        if current:
            gains = np.array([12.0, 11.0, 9.0])
            log = replace(log, signals={"q": log.need("q"), "i": log.need("tau") / gains}, channels=())
        log.save(folder / name)

    return make


def _torque_only(folder: Path) -> None:
    log = _recorded(folder, 3)
    replace(log, signals={"tau": log.need("tau")}, truth={}).save(folder / "torque.csv.gz")


def _with_reference(folder: Path) -> None:
    log = _recorded(folder, 5)
    replace(log, signals={"tau": log.need("tau"), "qr": log.need("qr")}, truth={}).save(folder / "other.csv.gz")


def _result(name: str, log: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        source = folder / log
        result = ia.identify(folder / "card.yaml", [source], quick=True)
        ia.write_folder(result, folder / name, [source])

    return make


def _plain(name: str, source: str) -> Callable[[Path], None]:
    """The same log without compression."""

    def make(folder: Path) -> None:
        (folder / name).write_bytes(gzip.decompress((folder / source).read_bytes()))

    return make


def _simulated(robot: str, name: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        ia.simulate(robot, noise="standard")[0].save(folder / name)

    return make


def _bag(name: str, seed: int, *, current: bool = False) -> Callable[[Path], None]:
    """A ROS 2 bag of joint states; the effort is a torque, or a current as some drivers publish it."""

    def make(folder: Path) -> None:
        from rosbags.rosbag2 import StoragePlugin, Writer
        from rosbags.typesys import Stores, get_typestore

        store = get_typestore(Stores.ROS2_HUMBLE)
        state, header, stamp = (
            store.types[f"{kind}"]
            for kind in ("sensor_msgs/msg/JointState", "std_msgs/msg/Header", "builtin_interfaces/msg/Time")
        )
        arm = ia.load(folder / "arm.urdf").robot.joint_names
        log = _recorded(folder, seed)
        effort = log.need("tau") / (np.array([12.0, 11.0, 9.0]) if current else 1.0)
        with Writer(folder / name, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
            topic = writer.add_connection("/joint_states", "sensor_msgs/msg/JointState", typestore=store)
            for t, q, force in zip(log.t, log.need("q"), effort, strict=True):
                ns = 1_700_000_000_000_000_000 + round(1e9 * t)
                clock = stamp(sec=ns // 10**9, nanosec=ns % 10**9)
                message = state(header(clock, ""), list(arm), np.asarray(q), np.zeros(0), np.asarray(force))
                writer.write(topic, ns, bytes(store.serialize_cdr(message, "sensor_msgs/msg/JointState")))

    return make


def _mjcf(folder: Path) -> None:
    robot = ia.load(folder / "arm.urdf")
    (folder / "arm.xml").write_text(format_named("mjcf").create(robot.prior, {}))


def _without_masses(folder: Path) -> None:
    text = (EXAMPLES / "arm.urdf").read_text()
    (folder / "nomass.urdf").write_text(re.sub(r"<inertial>.*?</inertial>", "", text, flags=re.DOTALL))


def _card_of_currents(folder: Path) -> None:
    columns = 'columns: {q: "{}/position", i: "{}/effort"}'
    loop = "loop: {law: pd, rate: 1000, kp: [120, 200, 80], kd: [12, 20, 6]}\nfriction: [viscous, coulomb]"
    (folder / "card.yaml").write_text(f"model: arm.urdf\n{columns}\n{loop}\ntorque: {{from: current, gain: [12.0, 11.0, 9.0]}}\n")


def _archive(folder: Path) -> None:
    (folder / "archive").mkdir()
    shutil.copy(folder / "run1.csv.gz", folder / "archive")


def _study(folder: Path) -> None:
    (folder / "study.yaml").write_text(
        "name: study\nabout: a small arm\nrobots: [scara2]\ntrajectories: {identification: identification, validation: validation}\n"
        "noise: [standard]\nmethods: [ols, wls]\nruns: 2\nblock: 1\nseed: 1\n"
    )


def _dh(folder: Path) -> None:
    table = "alpha: [0, -1.5707963267948966, 0], a: [0, 0, 0.25], d: [0.2, 0, 0], theta: [0, 0, 0]"
    links = "friction: [viscous]\nlinks: [{M: 1, Fv: 0.7}, {M: 1}, {M: 1}]\n"
    (folder / "arm_dh.yaml").write_text(f"name: arm\ndh: {{convention: proximal, {table}}}\n{links}")


def _drawn(folder: Path) -> None:
    """The arm with its base 0.1 m higher and its zero where it points up."""
    text = (EXAMPLES / "arm.urdf").read_text()
    text = text.replace('<child link="shoulder"/><origin xyz="0 0 0.1"/>', '<child link="shoulder"/><origin xyz="0 0 0"/>')
    lift = '<child link="upper_arm"/><origin xyz="0 0 0.1"'
    (folder / "drawn.urdf").write_text(text.replace(lift + "/>", lift + ' rpy="0 -1.5707963267948966 0"/>'))


def _parts(folder: Path) -> None:
    header = "link,mass [g],cx [mm],cy [mm],cz [mm],ixx [g mm^2],ixy,ixz,iyy [g mm^2],iyz,izz [g mm^2]\n"
    rows = "".join(f"{j},{m},100,0,0,2e6,0,0,5e6,0,5e6\n" for j, m in ((1, 2000), (2, 1500), (3, 800)))
    (folder / "parts.csv").write_text(header + rows)


def _experiment_file(folder: Path) -> None:
    (folder / "experiment.yaml").write_text("logs:\n  - {log: empty.csv.gz, load: none}\n  - {log: gripper.csv.gz, load: tool}\n")


Recipe = tuple[tuple[str, ...], Callable[[Path], None]]

LARDER: Mapping[str, Recipe] = {
    "arm.urdf": ((), _arm),
    "card.yaml": (("arm.urdf",), _card),
    "traj.yaml": (("card.yaml",), _trajectory),
    "run1.csv.gz": (("card.yaml",), _log("run1.csv.gz", 3)),
    "run2.csv.gz": (("card.yaml",), _log("run2.csv.gz", 4)),
    "run3.csv.gz": (("card.yaml",), _log("run3.csv.gz", 5)),
    "run1.csv": (("run1.csv.gz",), _plain("run1.csv", "run1.csv.gz")),
    "run2.csv": (("run2.csv.gz",), _plain("run2.csv", "run2.csv.gz")),
    "run.csv": (("run1.csv.gz",), _plain("run.csv", "run1.csv.gz")),
    "run.csv.gz": (("card.yaml",), _loaded("run.csv.gz", 4, 0.6)),
    "robot1.csv.gz": (("card.yaml",), _log("robot1.csv.gz", 3)),
    "robot2.csv.gz": (("card.yaml",), _log("robot2.csv.gz", 4)),
    "robot3.csv.gz": (("card.yaml",), _log("robot3.csv.gz", 5)),
    "log.csv.gz": ((), _simulated("tx40", "log.csv.gz")),
    "torque.csv.gz": (("card.yaml", "traj.yaml"), _torque_only),
    "other.csv.gz": (("card.yaml",), _with_reference),
    "result": (("run1.csv.gz",), _result("result", "run1.csv.gz")),
    "monday": (("run1.csv.gz",), _result("monday", "run1.csv.gz")),
    "friday": (("run2.csv.gz",), _result("friday", "run2.csv.gz")),
    "run1_bag": (("card.yaml",), _bag("run1_bag", 1)),
    "run2_bag": (("card.yaml",), _bag("run2_bag", 2)),
    "arm.xml": (("arm.urdf",), _mjcf),
    "nomass.urdf": ((), _without_masses),
    "archive": (("run1.csv.gz",), _archive),
    "empty.csv.gz": (("card.yaml",), _loaded("empty.csv.gz", 3, 0.0)),
    "gripper.csv.gz": (("card.yaml",), _loaded("gripper.csv.gz", 4, 0.6)),
    "disc.csv.gz": (("card.yaml",), _loaded("disc.csv.gz", 3, 2.805)),
    "experiment.yaml": (("empty.csv.gz", "gripper.csv.gz"), _experiment_file),
    "study.yaml": ((), _study),
    "arm_dh.yaml": (("arm.urdf",), _dh),
    "drawn.urdf": ((), _drawn),
    "parts.csv": ((), _parts),
}
"""File -> files that must be there before, and how it is made."""

_CURRENTS: Mapping[str, Recipe] = {
    "empty.csv.gz": (("card.yaml",), _loaded("empty.csv.gz", 3, 0.0, current=True)),
    "disc.csv.gz": (("card.yaml",), _loaded("disc.csv.gz", 4, 2.805, current=True)),
}

ELSEWHERE: Mapping[str, Mapping[str, Recipe]] = {
    "recipes.md": {
        "empty.csv": (("card.yaml",), _loaded("empty.csv", 3, 0.0, current=True)),
        "disc.csv": (("card.yaml",), _loaded("disc.csv", 4, 2.805, current=True)),
    },
    "currents.md": _CURRENTS,
    "ur-rosbag.md": {
        "card.yaml": (("arm.urdf",), _card_of_currents),
        "run1_bag": (("card.yaml",), _bag("run1_bag", 1, current=True)),
        "run2_bag": (("card.yaml",), _bag("run2_bag", 2, current=True)),
    },
    "drive-gains.md": {
        **_CURRENTS,
        "a.csv": (("card.yaml",), _loaded("a.csv", 3, 0.0, current=True)),
        "b.csv": (("card.yaml",), _loaded("b.csv", 4, 1.73, current=True, centre=(0.0, 0.0, 0.04))),
    },
}
"""Pages on which a name stands for another file."""


def stock(folder: Path, text: str, page: str = "") -> None:
    """Makes the files that a text names."""
    own = {**LARDER, **ELSEWHERE.get(page, {})}
    text = re.sub(r"(-o|--output) \S+", "", text)  # what a command makes itself
    text = re.sub(r"(\S*)\$k(\S*)", r"\g<1>1\2 \g<1>2\2 \g<1>3\2", text)  # of a loop over 1 2 3
    named = {word.partition("@")[0] for word in re.findall(r"[\w./-]+(?:@[\d:.]+)?", text)}
    for name in [n for n in own if n in named or f"{n}/" in named]:
        _make(folder, name, own)


def _make(folder: Path, name: str, recipes: Mapping[str, Recipe]) -> None:
    if (folder / name).exists():
        return
    before, make = recipes[name]
    for other in before:
        _make(folder, other, recipes)
    make(folder)
