"""What this installation has, whether it computes rightly, and how fast."""

from __future__ import annotations

import os
import platform
import time
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from inertica import __version__
from inertica.dynamics.engine import Engine
from inertica.dynamics.llvm import native
from inertica.dynamics.targets import target_for
from inertica.errors import InerticaError
from inertica.identifiability.base import base_model
from inertica.robot.description import Description

PACKAGES = ("numpy", "scipy", "numba", "llvmlite", "clarabel", "pin", "mujoco", "pyarrow", "h5py", "rosbags", "cupy")
"""Packages whose versions are told; those after the fifth are optional."""

VECTORS = {"avx512f": 512, "avx2": 256, "avx": 256, "neon": 128, "sse2": 128}
"""Instruction sets -> bits of a vector, widest first."""

RATE, SECONDS = 1000.0, 1.0


def examination(description: Description, seconds: float = 5.0) -> dict[str, Any]:
    """Everything that is told, as plain values.

    Args:
        description: the robot that the self-test simulates.
        seconds: for the self-test of each device, at most about this long.
    """
    folder = native.cache_folder()
    files = list(folder.glob("*.o")) if folder.is_dir() else []
    features = native.features()
    return {
        "inertica": __version__,
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "processor": {
            "name": native.processor(),
            "vector_bits": next((bits for name, bits in VECTORS.items() if features.get(name)), 64),
            "fused_multiply_add": native.has_fma(),
            "threads": os.cpu_count() or 1,
        },
        "cache": {"folder": str(folder), "kernels": len(files), "bytes": sum(map(_size, files))},
        "devices": [_tested(device, description, seconds) for device in ("cpu", "cuda")],
    }


def _size(file: Path) -> int:
    """Bytes of a file; none when another process has renamed it since it was listed."""
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def _version(package: str) -> str | None:
    names = [package] if package != "cupy" else metadata.packages_distributions().get("cupy", [])
    if find_spec({"pin": "pinocchio"}.get(package, package)) is None or not names:
        return None
    return metadata.version(names[0])


def _tested(device: str, description: Description, seconds: float) -> dict[str, Any]:
    """Compute on a device what is known otherwise, and count simulations per second."""
    try:
        target = target_for(device, os.cpu_count() or 1)
    except InerticaError as error:
        return {"device": device, "usable": False, "reason": str(error)}
    base = base_model(description.layout)
    engine = Engine(base.layout, base.engine.reduction, target=target)
    rng = np.random.default_rng(0)
    q, dq, ddq = rng.uniform(-1, 1, (3, 50, engine.n))
    chi = description.prior.values
    tau = engine.inverse_dynamics(q, dq, ddq, chi)
    wrong = float(np.abs(np.einsum("nij,j->ni", engine.regressor(q, dq, ddq), chi) - tau).max() / np.abs(tau).max())
    begun = time.perf_counter()
    batch = 64 if device == "cpu" else 4096
    done = 0
    _simulate(engine, chi, batch)  # compiled now
    compiled, begun = time.perf_counter() - begun, time.perf_counter()
    while time.perf_counter() - begun < 0.4 * seconds:
        _simulate(engine, chi, batch)
        done += batch
    rate = done / (time.perf_counter() - begun)
    name = native.processor() if device == "cpu" else target.device.name  # type: ignore[attr-defined]
    test = {"largest_error": wrong, "passed": wrong < 1e-12, "first_use_seconds": compiled, "simulations_per_second": rate}
    return {"device": device, "usable": True, "name": name, **test}


def _simulate(engine: Engine, chi: np.ndarray, batch: int) -> None:
    """A second of the robot held at rest, 1 kHz, Euler."""
    still = np.zeros((int(RATE * SECONDS), engine.n))
    engine.simulate(
        np.tile(chi, (batch, 1)), {"q": still, "dq": still}, {"kp": 100.0, "kd": 10.0}, 1 / RATE, integrator="euler", keep=500
    )
