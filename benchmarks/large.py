"""Large robots: processor time and memory of `show` and `identify` on serial chains of 30 and 100 joints.

    python benchmarks/large.py [--json] [--joints 30,100] [--identify 30]

Chains of revolute joints about x, y and z in turn with three lengths each; the log is 10 s at 1 kHz of ten harmonics per joint,
torques by Pinocchio with viscous and Coulomb friction and 2 % noise.  Processor time of the whole command, since a shared machine's
wall time says little; the peers are the limits of this project.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pinocchio as pin
from bench import Row, arguments, say, show

SHOW, IDENTIFY = {30: 5.0, 100: 60.0}, {30: 30.0, 100: 60.0}
"""Limits in s by joints."""

MEMORY = 2048.0
"""Limit in MiB."""

AXES = ("1 0 0", "0 1 0", "0 0 1")
COMMAND = "from inertica.cli.main import main; raise SystemExit(main())"


def chain(n: int, seed: int = 1) -> str:
    """A serial chain as URDF."""
    rng = np.random.default_rng(seed)
    links, joints = ['<link name="l0"/>'], []
    for j in range(1, n + 1):
        mass, com = 3.0 * rng.uniform(0.5, 1.5) * 0.97**j, rng.uniform(-0.05, 0.05, 3)
        xx, yy, zz = mass * rng.uniform([0.008, 0.008, 0.005], [0.015, 0.015, 0.012])
        links.append(
            f'<link name="l{j}"><inertial><origin xyz="{_words(com)}"/><mass value="{mass}"/>'
            f'<inertia ixx="{xx}" ixy="0" ixz="0" iyy="{yy}" iyz="0" izz="{zz}"/></inertial></link>'
        )
        joints.append(
            f'<joint name="j{j}" type="revolute"><parent link="l{j - 1}"/><child link="l{j}"/>'
            f'<origin xyz="{_words(np.round(rng.uniform(-0.1, 0.2, 3), 3))}"/><axis xyz="{AXES[j % 3]}"/>'
            '<limit lower="-2.5" upper="2.5" velocity="3" effort="500"/></joint>'
        )
    return "\n".join([f'<robot name="chain{n}">', *links, *joints, "</robot>"])


def log(urdf: Path, seconds: float = 10.0, rate: float = 1000.0, seed: int = 5) -> np.ndarray:
    """Columns t, q, tau of a motion of all joints."""
    model = pin.buildModelFromUrdf(str(urdf))
    data, n, rng = model.createData(), model.nv, np.random.default_rng(seed)
    t = np.arange(int(seconds * rate)) / rate
    w = 2.0 * np.pi / seconds * np.arange(1, 11)
    a, b = rng.normal(size=(2, 10, n)) * 0.125 / np.sqrt(np.arange(1, 11))[:, None]
    phase = np.outer(t, w)
    s, c = np.sin(phase), np.cos(phase)
    q, dq, ddq = s @ a + c @ b, (c * w) @ a - (s * w) @ b, -(s * w**2) @ a - (c * w**2) @ b
    tau = np.array([pin.rnea(model, data, *x) for x in zip(q, dq, ddq, strict=True)])
    tau += rng.uniform(0.3, 0.5, n) * dq + rng.uniform(0.5, 0.7, n) * np.sign(dq)
    tau += 0.02 * tau.std(axis=0) * rng.normal(size=tau.shape)
    return np.column_stack([t, q + 1e-5 * rng.normal(size=q.shape), tau])


def measured(*words: str) -> tuple[float, float]:
    """Processor time in s of a command, and the most memory in MiB of all commands so far."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", COMMAND, *words, "--json"], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, after.ru_maxrss / 1024.0


def main() -> None:
    options = arguments(
        __doc__.splitlines()[0],
        lambda parser: (
            parser.add_argument("--joints", default="30,100", help="of the chains that are shown"),
            parser.add_argument("--identify", default="30", help="of those that are identified"),
        ),
    )
    rows, peak = [], 0.0
    with tempfile.TemporaryDirectory() as folder:
        for n in map(int, options.joints.split(",")):
            urdf = Path(folder, f"chain{n}.urdf")
            urdf.write_text(chain(n))
            say(f"show, {n} joints ...")
            seconds, peak = measured("show", str(urdf))
            rows.append(Row(f"show_{n}_joints", seconds, SHOW[n], "s of CPU", "the limit"))
        for n in map(int, options.identify.split(",") if options.identify else ()):
            urdf, csv = Path(folder, f"chain{n}.urdf"), Path(folder, f"chain{n}.csv")
            urdf.write_text(chain(n))
            header = ",".join(["t", *(f"{name}{j + 1}" for name in ("q", "tau") for j in range(n))])
            np.savetxt(csv, log(urdf), delimiter=",", header=header, comments="", fmt="%.9g")
            say(f"identify, {n} joints ...")
            seconds, peak = measured("identify", str(urdf), str(csv))
            rows.append(Row(f"identify_{n}_joints", seconds, IDENTIFY[n], "s of CPU", "the limit"))
    rows.append(Row("memory_large_robots", peak, MEMORY, "MiB", "the limit"))
    show(rows, options.json)


def _words(values: np.ndarray) -> str:
    return " ".join(f"{x:.6g}" for x in values)


if __name__ == "__main__":
    main()
