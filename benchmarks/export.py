"""Speed of the exported C code against Pinocchio's rnea, both called in a loop of one compiled program.

    python benchmarks/export.py [--json]

The program is compiled here with the same flags for both, links the exported `tx40.c` (52 base parameters, friction included) and
Pinocchio's own templates from the headers of the `pin` wheel, checks that the torques agree and lets the two take turns.  It needs
g++ and the headers of Eigen (`pip install cmeel-eigen`, or /usr/include/eigen3).  A second row calls both from Python.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import ctypes
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pinocchio as pin
from bench import Row, arguments, best_of, say, show

import inertica as ia
from dynamics import pinocchio_model
from inertica.robot import inertia

ROBOT, SAMPLES = "tx40", 1000
FLAGS = ("-O3", "-march=native", "-DNDEBUG", "-w")
DEFINITIONS = (  # as in the CMake files of the wheel
    "-DBOOST_MPL_LIMIT_LIST_SIZE=30", "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30", "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "-DBOOST_FUSION_INVOKE_MAX_ARITY=12",
)  # fmt: skip

MAIN = """
#include <pinocchio/multibody.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
extern "C" {
#include "ROBOT.h"
}
namespace baked {
extern "C" void baked_inverse_dynamics(const double *, const double *, const double *, double *);
}
using Clock = std::chrono::steady_clock;
static const int N = SAMPLES, n = ROBOT_JOINTS;
template <class F> static void timed(F f, double &best) {
  const auto start = Clock::now();
  for (int k = 0; k < N; k++) f(k);
  best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count() / N);
}
int main(int, char **arguments) {
  pinocchio::Model model;
MODEL
  pinocchio::Data data(model);
  Eigen::MatrixXd q = M_PI * Eigen::MatrixXd::Random(n, N), dq = Eigen::MatrixXd::Random(n, N);
  Eigen::MatrixXd ddq = 5.0 * Eigen::MatrixXd::Random(n, N);
  double tau[ROBOT_JOINTS], f[ROBOT_JOINTS], worst = 0.0, sum = 0.0, ours = 1e9, inside = 1e9, peer = 1e9;
  for (int k = 0; k < N; k++) {
    ROBOT_inverse_dynamics(&q(0, k), &dq(0, k), &ddq(0, k), ROBOT_parameters, tau);
    ROBOT_friction(&q(0, k), &dq(0, k), ROBOT_parameters, f);
    pinocchio::rnea(model, data, q.col(k), dq.col(k), ddq.col(k));
    for (int i = 0; i < n; i++) worst = std::max(worst, std::fabs(tau[i] - f[i] - data.tau[i]));
  }
  for (int r = 0; r < std::atoi(arguments[1]); r++) {
    timed([&](int k) { ROBOT_inverse_dynamics(&q(0, k), &dq(0, k), &ddq(0, k), ROBOT_parameters, tau); sum += tau[0]; }, ours);
    timed([&](int k) { baked::baked_inverse_dynamics(&q(0, k), &dq(0, k), &ddq(0, k), tau); sum += tau[0]; }, inside);
    timed([&](int k) { sum += pinocchio::rnea(model, data, q.col(k), dq.col(k), ddq.col(k))[0]; }, peer);
  }
  std::printf("%.17g %.17g %.17g %.17g %g\\n", ours, inside, peer, worst, sum);
}
"""


def eigen() -> Path | None:
    """Where Eigen's headers are."""
    places = [prefix() / "include" / "eigen3", Path("/usr/include/eigen3"), Path("/usr/local/include/eigen3")]
    return next((p for p in [*map(Path, os.environ.get("EIGEN_INCLUDE", "").split()), *places] if (p / "Eigen").is_dir()), None)


def prefix() -> Path:
    """Of the wheel: headers and libraries."""
    return next(p for p in Path(pin.__file__).parents if p.name == "cmeel.prefix")


def model_text(description: ia.Description) -> str:
    """C++ statements that build the same model."""

    def eigen_matrix(values: object) -> str:
        flat = np.asarray(values, float).ravel()
        kind = "Eigen::Matrix3d" if flat.size == 9 else "Eigen::Vector3d"
        return f"({kind}() << {', '.join(repr(float(x)) for x in flat)}).finished()"

    lines = [f"  model.gravity.linear({eigen_matrix(description.robot.gravity)});"]
    for j, joint in enumerate(description.robot.joints):
        body = inertia.to_com(description.prior.link(j))
        place = f"pinocchio::SE3({eigen_matrix(joint.rotation)}, {eigen_matrix(joint.position)})"
        own = f"pinocchio::Inertia({body.mass!r}, {eigen_matrix(body.com)}, {eigen_matrix(body.inertia)})"
        lines.append(f'  model.addJoint({joint.parent + 1}, pinocchio::JointModelRZ(), {place}, "{joint.name}");')
        lines.append(f"  model.appendBodyToJoint({j + 1}, {own}, pinocchio::SE3::Identity());")
        lines.append(f"  model.armature[{j}] = {description.prior[f'Ia{j + 1}']!r};")
    return "\n".join(lines)


def in_one_program(description: ia.Description, folder: Path, repeats: int) -> list[Row]:
    headers, compiler = eigen(), shutil.which("g++")
    if headers is None or compiler is None:
        say("no compiled comparison: g++ or the headers of Eigen are missing (pip install cmeel-eigen)")
        return []
    text = MAIN.replace("ROBOT_JOINTS", f"{ROBOT.upper()}_JOINTS").replace("MODEL", model_text(description))
    text = text.replace("SAMPLES", str(SAMPLES)).replace("ROBOT", ROBOT)
    (folder / "main.cpp").write_text(text)
    for name in (ROBOT, "baked"):
        subprocess.run(["gcc", *FLAGS, "-c", f"{name}.c", "-o", f"{name}.o"], cwd=folder, check=True)
    own = prefix()
    command = [
        compiler,
        "-std=c++17",
        *FLAGS,
        *DEFINITIONS,
        f"-I{own / 'include'}",
        f"-I{headers}",
        "main.cpp",
        f"{ROBOT}.o",
        "baked.o",
    ]
    command += ["-o", "main", f"-L{own / 'lib'}", "-lpinocchio_default", f"-Wl,-rpath,{own / 'lib'}"]
    say("compiling Pinocchio's templates, a minute or two ...")
    subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run([folder / "main", str(100 * repeats)], capture_output=True, text=True, check=True)
    ours, inside, peer, worst, _ = map(float, done.stdout.split())
    assert worst < 1e-9, f"the torques differ by {worst:g} N m"
    of = "pinocchio::rnea in the same C++ program, same flags, without friction"
    return [
        Row("inverse_dynamics", 1e6 * ours, 1e6 * peer, "us per call", of),
        Row("inverse_dynamics_baked", 1e6 * inside, 1e6 * peer, "us per call", of),
    ]


def from_python(description: ia.Description, folder: Path, repeats: int) -> list[Row]:
    """ctypes on ready pointers against the binding of Pinocchio on ready arrays: what a Python user pays."""
    subprocess.run(["gcc", *FLAGS, "-fPIC", "-shared", f"{ROBOT}.c", "-o", "model.so", "-lm"], cwd=folder, check=True)
    library = ctypes.CDLL(str(folder / "model.so"))
    function = library.tx40_inverse_dynamics
    function.argtypes, function.restype = [ctypes.c_void_p] * 5, None
    q, dq, ddq = np.random.default_rng(0).normal(size=(3, SAMPLES, description.robot.n))
    tau = np.empty(description.robot.n)
    p = ctypes.addressof(ctypes.c_double.in_dll(library, f"{ROBOT}_parameters"))
    addresses = [tuple(x.ctypes.data + 8 * k * description.robot.n for x in (q, dq, ddq)) for k in range(SAMPLES)]
    out, model = tau.ctypes.data, pinocchio_model(description.robot, description.prior)
    data, rows = model.createData(), [(q[k], dq[k], ddq[k]) for k in range(SAMPLES)]

    def ours() -> None:
        for a, b, c in addresses:
            function(a, b, c, p, out)

    def peer() -> None:
        for a, b, c in rows:
            pin.rnea(model, data, a, b, c)

    best = best_of({"ours": ours, "peer": peer}, 20 * repeats)
    return [
        Row(
            "inverse_dynamics_from_python",
            1e6 * best["ours"] / SAMPLES,
            1e6 * best["peer"] / SAMPLES,
            "us per call",
            "pinocchio.rnea",
        )
    ]


def main() -> None:
    options = arguments(__doc__.splitlines()[0])
    description = ia.load(ROBOT)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ia.export_code(description, folder, "c")
        start = time.perf_counter()
        ia.export_code(description, folder, "c", baked=True, name="baked")
        say(f"written in {time.perf_counter() - start:.2f} s, base parameters and all functions")
        if shutil.which("gcc") is None:
            sys.exit("no C compiler on this machine")
        rows = in_one_program(description, folder, options.repeats) + from_python(description, folder, options.repeats)
    show(rows, options.json)


if __name__ == "__main__":
    main()
