"""Section 9.5 of the survey on the public record of a real TX40: its methods, started from filtered least squares.

The survey prints no numbers for the real robots (they are in its supplement); it names the size of the model, what it found and shows
torques (Figure 9).  The public record is another motion of such an arm, 5.2 s at 5 kHz, without the reference that its controller
followed and without its control law.  Here every fifth sample is kept (the survey's 1 kHz), the loop is the toolbox's, and what it is
to follow is the measured position behind the 50 Hz filter.  A record of the real RV2SQ (Figure 10) is not at hand here.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from inertica.arrays import Array
from inertica.errors import InerticaError, InputError
from inertica.estimators.base import Estimate, Estimator, Need, Problem
from inertica.estimators.closed_loop.loop_simulation import LoopSimulator
from inertica.estimators.closed_loop.start import StatedStart
from inertica.estimators.options import with_options
from inertica.estimators.registry import method
from inertica.excitation.sampled import Sampled
from inertica.experiment import ControlLoop
from inertica.identifiability.base import BaseModel, base_model
from inertica.logs import read_log
from inertica.logs.log import Log
from inertica.preprocessing.filters import named_filter
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description
from inertica.robot.load import load
from inertica.validation.residuals import Relative
from inertica.validation.survey import mean_ratio

ROBOT, UNCOUPLED = "tx40_coupled", "tx40"
RATE, CUTOFF, BORDER = 1000.0, 50.0, 50
"""Hz at which the survey sampled the TX40, its filter in Hz, samples it leaves out at each end."""

NONE, FILTERED = "none", "butterworth"
BOTH = (FILTERED, NONE)
SIMULATED = {"integrator": "euler"}
HELD = {"integrator": "euler", "between": "held", "longest-step": "1"}

METHODS: tuple[tuple[str, tuple[str, ...], Mapping[str, str]], ...] = (
    ("ols", BOTH, {}), ("wls", BOTH, {}), ("irls", BOTH, {}), ("tls", BOTH, {}), ("pc-ols", BOTH, {}), ("pc-wls", BOTH, {}),
    ("pc-irls", BOTH, {}), ("iv", (NONE,), SIMULATED), ("didim", (NONE,), SIMULATED), ("pc-iv", (NONE,), SIMULATED),
    ("pc-didim", (NONE,), SIMULATED), ("clie", (NONE,), SIMULATED), ("cloe", (NONE,), SIMULATED),
)  # fmt: skip
"""Name, filters, options."""

LONG = (
    ("ml", BOTH, {"iterations": "10"}), ("adann", BOTH, {}), ("htrnn", BOTH, {}),
    *((name, (NONE,), HELD) for name in ("ekf", "srekf", "ukf", "srukf", "cdkf", "srcdkf")),
)  # fmt: skip
"""Those that take longest: not in the short form."""

SLOWER = 0.1
"""Factor on the gains of a loop that is known badly; chosen before anything was computed with it."""


@dataclass(frozen=True, eq=False)
class Real:
    """The record, ready to be fitted and checked.

    Args:
        description: of the robot.
        base: its base parameters.
        motions: filter -> the first part of the record, which is fitted.
        check: the rest behind the filter.
        desired: what the simulated loop follows.
    """

    description: Description
    base: BaseModel
    motions: Mapping[str, Motion]
    check: Motion
    desired: Sampled

    @classmethod
    def of(cls, record: str, robot: str = ROBOT) -> Real:
        description = load(robot)
        choices = load(ROBOT).reference["repeated"]["record"]
        log = read_log(record)
        if log.n != description.robot.n:
            raise InputError(f"{log.origin} has {log.n} joints, {description.name} has {description.robot.n}")
        (start, split), (_, end) = choices["fit"], choices["check"]
        if log.t[-1] < split + 0.5 * (end - split):
            raise InputError(f"{log.origin} ends at {log.t[-1]:g} s; the study fits {start:g} to {split:g} s and checks the rest")
        shifted = replace(log, signals={**log.signals, "q": log.need("q") + np.deg2rad(choices["zero"])})
        whole = prepare(shifted, Recipe(filter=named_filter(FILTERED, CUTOFF, shifted.rate), border=0, standstill=None))
        thin = _thinned(shifted)
        motions = {name: _prepared(thin.sliced(start, split), name) for name in BOTH}
        check = _prepared(thin.sliced(split, end), FILTERED)
        return cls(description, base_model(description.layout), motions, check, Sampled(whole.t, whole.q, interpolation="cubic"))

    @property
    def loop(self) -> ControlLoop:
        return ControlLoop.of(self.description)

    def problem(self, motion: Motion, loop: ControlLoop | None = None) -> Problem:
        return Problem(self.base, (motion,), self.description.prior, loop, None, () if loop is None else (self.desired,))

    @cached_property
    def start(self) -> Array:
        """(b,) filtered ordinary least squares, from which iterations begin."""
        return method("ols").estimate(self.problem(self.motions[FILTERED])).beta

    def fitted(self, name: str, chosen: str, options: Mapping[str, str], slower: float = 1.0) -> RecordFit:
        """One method on the first part of the record."""
        estimator: Estimator = with_options(method(name), options)
        loop = None
        if hasattr(estimator, "start"):
            estimator = replace(estimator, start=StatedStart(self.start))  # type: ignore[type-var]
        if Need.LOOP in estimator.needs:
            loop = self.loop
            loop = loop.with_gains(**{g: slower * np.asarray(v) for g, v in loop.gains.items()}) if slower != 1.0 else loop
        label = name + ("_f" if chosen == FILTERED else "")
        begun = time.process_time()
        try:
            estimate = estimator.estimate(self.problem(self.motions[chosen], loop), np.random.default_rng(0))
        except InerticaError as error:
            return RecordFit(label, None, None, np.inf, time.process_time() - begun, str(error))
        seconds = time.process_time() - begun
        return RecordFit(label, estimate, self.residual(estimate.beta), self.d_q(estimate.beta), seconds, "")

    def torque(self, beta: Array) -> Array:
        """(N, n) the model's torque along the part that was not fitted."""
        chi = self.base.chi(beta, np.zeros(self.base.layout.size))
        m = self.check
        return np.asarray(self.base.engine.inverse_dynamics(m.q, m.dq, m.ddq, chi))

    @property
    def fast(self) -> float:
        """Share of the measured torque above the filter, which no rigid model explains."""
        m = self.check
        slow = named_filter(FILTERED, CUTOFF, m.rate).smoothed(np.array(m.tau), m.dt)
        return Relative.of(m.tau[~m.mask], slow[~m.mask]).all

    def residual(self, beta: Array) -> Residual:
        use = ~self.check.mask
        measured, model = self.check.tau[use], self.torque(beta)[use]
        return Residual(Relative.of(measured, model), mean_ratio(measured, model))

    def d_q(self, beta: Array) -> float:
        """Positions of the loop simulated with these parameters (eq. 69) along the part that was not fitted."""
        replays, stable = LoopSimulator(self.problem(self.check, self.loop), "euler")(beta)
        return mean_ratio(self.check.log.need("q"), replays[0].q[0]) if stable[0] else np.inf


@dataclass(frozen=True, eq=False)
class Residual:
    """Torque left unexplained on the part that was not fitted: |tau - model| / |tau| with its joints, and d_tau (eq. 70)."""

    relative: Relative
    d_tau: float


@dataclass(frozen=True, eq=False)
class RecordFit:
    """What a method found.

    Args:
        label: like the survey's; `_f` behind the filter.
        estimate: None when it failed.
        residual: on the rest of the record.
        d_q: infinite where the loop simulated with the estimate is unstable.
        seconds: processor time.
        error: why there is no estimate.
    """

    label: str
    estimate: Estimate | None
    residual: Residual | None
    d_q: float
    seconds: float
    error: str

    @property
    def size(self) -> float:
        return np.inf if self.residual is None else self.residual.relative.all


def _thinned(log: Log) -> Log:
    """Samples at the survey's rate; nothing is filtered first, as nothing is when a robot is sampled."""
    each = max(1, round(log.rate / RATE))
    signals = {name: values[::each] for name, values in log.signals.items()}
    return Log.from_arrays(log.t[::each], signals, log.joints, log.origin)


def _prepared(log: Log, chosen: str) -> Motion:
    chosen_filter = named_filter(chosen, None if chosen == NONE else CUTOFF, log.rate)
    return prepare(log, Recipe(filter=chosen_filter, ratio=1, border=BORDER, standstill=None))
