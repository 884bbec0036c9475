"""A head of two joints whose axes meet: gravity shows first moments of what it carries, and nothing shows the mass."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from inertica.excitation.fourier import FourierBlend
from inertica.experiment import Experiment
from inertica.logs.log import Log
from inertica.robot import inertia
from inertica.robot.description import Description
from inertica.robot.layout import Parameters
from inertica.robot.load import load

LOAD = inertia.from_com(0.7, [0.2, 0.03, 0.0], np.diag([0.001, 0.002, 0.002]))

CARD = """\
name: pan-tilt
types: [R, R]
dh: {convention: proximal, alpha: [0, 1.5707963267948966], a: [0, 0], d: [0, 0], theta: [0, 0]}
gravity: [0, 0, -9.81]
home: [0, 0]
limits: {lower: [-2.5, -2.5], upper: [2.5, 2.5], velocity: [6, 6], acceleration: [60, 60], torque: [60, 60]}
friction: [viscous, coulomb]
armature: true
links:
  - {XX: 0.02, XY: 0, XZ: 0, YY: 0.02, YZ: 0, ZZ: 0.03, MX: 0, MY: 0, MZ: 0.1, M: 3, Ia: 0.05, Fv: 0.2, Fc: 0.4}
  - {XX: 0.01, XY: 0, XZ: 0, YY: 0.03, YZ: 0, ZZ: 0.03, MX: 0.2, MY: 0.02, MZ: 0.03, M: 2, Ia: 0.05, Fv: 0.2, Fc: 0.3}
loop: {law: pd, rate: 1000, kp: [150, 150], kd: [8, 8]}
sampling: {rate: 500}
noise: {standard: {q: 2.0e-5, tau: 0.02}}
"""


@cache
def pan_tilt() -> Description:
    """The head as users describe it, its control loop unknown."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "pan_tilt.yaml"
        path.write_text(CARD)
        return load(path)


def repeated(log: Log, share: float, rng: np.random.Generator) -> Log:
    """The log with some of its rows replaced by the one before, as recorders do that are late."""
    source = np.arange(len(log))
    again = np.flatnonzero(rng.random(len(log)) < share)
    source[again[again > 0]] -= 1
    return replace(log, signals={symbol: values[source] for symbol, values in log.signals.items()})


def pair(seed: int, rate: float | None = None, share: float = 0.06, speed: float = 1.0) -> tuple[Log, Log]:
    """Logs without and with the load; the second one at another rate, or along a slower motion, where that is asked for."""
    rng = np.random.default_rng(0)
    A, B = 0.6 * rng.normal(size=(2, 8, 2))
    empty = Experiment.of(pan_tilt(), noise="standard", threads=1)
    values = np.array(empty.truth.values)
    values[empty.truth.layout.link(1)] += LOAD
    full = replace(empty, truth=Parameters(empty.truth.layout, values, empty.truth.shapes))
    if rate is not None:
        full = replace(full, sensors=replace(full.sensors, rate=rate))
    own, other = (FourierBlend(10.0 / s, np.zeros(2), np.zeros(2), s * A, s * B) for s in (1.0, speed))
    noise = np.random.default_rng(seed)
    first = empty.run(own, seed=10 * seed, duration=20.0)[0]
    second = full.run(other, seed=10 * seed + 1, duration=20.0 / speed)[0]
    return repeated(first, share, noise), repeated(second, share, noise)
