"""A long log is identified in bounded memory: what it adds is a few copies of its own signals, never its observation matrix."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SAMPLES = 400_000
SIGNALS = 12 * 8 * SAMPLES / 2 / 2**20
"""MiB of positions and torques of six joints, of half the log."""

_SYNTHETIC = """
import sys
import numpy as np
import inertica as ia
robot, N = ia.load("tx40"), int(sys.argv[2])
engine, rng = ia.Engine(robot.layout), np.random.default_rng(0)
t = np.arange(N) / 1000.0
q, dq, ddq = np.zeros((3, N, 6))
for _ in range(5):
    w, a = 2 * np.pi * rng.uniform(0.1, 0.8, 6), rng.uniform(0.1, 0.4, 6)
    q, dq, ddq = q + a * np.sin(w * t[:, None]), dq + a * w * np.cos(w * t[:, None]), ddq - a * w**2 * np.sin(w * t[:, None])
tau = engine.inverse_dynamics(q, dq, ddq, robot.prior)
tau += 0.05 * tau.std(axis=0) * rng.normal(size=tau.shape)
ia.Log.from_arrays(t, {"q": q + 1e-5 * rng.normal(size=q.shape), "tau": tau}).save(sys.argv[1])
"""

_PEAK = """
import json, resource, sys
import inertica as ia
log = ia.read_log(sys.argv[1], ia.load("tx40"))
fixed = dict(cutoff=20.0, delay=0.0, friction=("viscous", "coulomb", "offset"), method="wls")
ia.identify("tx40", [log.sliced(t1=log.t[len(log) // 2])], **fixed)
unit = 2**20 if sys.platform == "darwin" else 2**10
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
result = ia.identify("tx40", [log], **fixed)
added = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit - before
print(json.dumps([added, result.residuals["hold-out"].raw.all]))
"""


def run(code: str, *words: str) -> str:
    return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no resource module")
def test_memory_does_not_hold_the_observation_matrix(tmp_path: Path) -> None:
    log = tmp_path / "long.npz"
    run(_SYNTHETIC, str(log), str(SAMPLES))
    added, residual = json.loads(run(_PEAK, str(log)))
    assert residual < 0.06  # torque noise is 5 %
    assert added < 5.0 * SIGNALS  # none as it is: half the log fills the buffers; 18 with all rows at a time
