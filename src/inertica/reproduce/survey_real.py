"""Section 9.5 of the survey on a record of a real TX40 or RV2SQ: its methods, started from filtered least squares.

The survey prints no numbers for the real robots (they are in its supplement); it names the size of the model, what it found and shows
torques (Figures 9 and 10).  The public record of a TX40 is another motion of such an arm, 5.2 s at 5 kHz, without the reference
that its controller followed and without its control law.  Here every fifth sample is kept (the survey's 1 kHz), the loop is the
toolbox's, and what it is to follow is the measured position behind the 50 Hz filter, where a record has no reference.  A record of the
real RV2SQ is not at hand here; whoever has one states it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
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

CUTOFF, BORDER = 50.0, 50
"""The survey's filter in Hz, samples it leaves out at each end."""

FITTED_SHARE = 0.75
"""Of a record of which nothing is stated; the rest is predicted."""


@dataclass(frozen=True)
class Arm:
    """A robot of section 9.5.

    Args:
        case: what its rows are called.
        robot, uncoupled: in the catalog, and the same without a coupling of joints.
        rate: Hz at which the survey sampled it.
        figure: that shows its torques.
        drawing: what draws it here.
    """

    case: str
    robot: str
    uncoupled: str | None
    rate: float
    figure: str
    drawing: str


ARMS = {
    "tx40": Arm("real TX40", "tx40_coupled", "tx40", 1000.0, "Figure 9", "figure_9_real_tx40"),
    "rv2sq": Arm("real RV2SQ", "rv2sq", None, 140.0, "Figure 10", "figure_10_real_rv2sq"),
}


def stated_record(record: str) -> tuple[Arm, str]:
    """The arm and the file of `NAME=FILE`; a file alone is of the first arm."""
    name, equals, file = record.partition("=")
    if not equals or name not in ARMS:
        return next(iter(ARMS.values())), record
    return ARMS[name], file


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
        arm: whose record it is.
        description: of the robot.
        base: its base parameters.
        motions: filter -> the first part of the record, which is fitted.
        check: the rest behind the filter.
        desired: what the simulated loop follows.
    """

    arm: Arm
    description: Description
    base: BaseModel
    motions: Mapping[str, Motion]
    check: Motion
    desired: Sampled

    @classmethod
    def of(cls, record: str, robot: str | None = None) -> Real:
        """Of `NAME=FILE`; in the catalog's model of the arm, or in another one."""
        arm, file = stated_record(record)
        description = load(robot or arm.robot)
        log = read_log(file)
        choices = load(arm.robot).reference.get("repeated", {}).get("record") or _halves(log)
        if log.n != description.robot.n:
            raise InputError(f"{log.origin} has {log.n} joints, {description.name} has {description.robot.n}")
        (start, split), (_, end) = choices["fit"], choices["check"]
        if log.t[-1] < split + 0.5 * (end - split):
            raise InputError(f"{log.origin} ends at {log.t[-1]:g} s; the study fits {start:g} to {split:g} s and checks the rest")
        shifted = replace(log, signals={**log.signals, "q": log.need("q") + np.deg2rad(choices["zero"])})
        thin = _thinned(shifted, arm.rate)
        motions = {name: _prepared(thin.sliced(start, split), name) for name in BOTH}
        check = _prepared(thin.sliced(split, end), FILTERED)
        return cls(arm, description, base_model(description.layout), motions, check, _desired(shifted))

    @property
    def unknown(self) -> bool:
        """Whether the record has no reference."""
        return "qr" not in self.check.log.signals

    @property
    def cutoff(self) -> float:
        return _cutoff(self.check.rate)

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
        slow = named_filter(FILTERED, _cutoff(m.rate), m.rate).smoothed(np.array(m.tau), m.dt)
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


def _halves(log: Log) -> Mapping[str, Sequence[float]]:
    """What is fitted and what is predicted of a record of which nothing is known."""
    start, end = float(log.t[0]), float(log.t[-1])
    split = start + FITTED_SHARE * (end - start)
    return {"fit": (start, split), "check": (split, end), "zero": (0.0,) * log.n}


def _desired(log: Log) -> Sampled:
    """The reference of a record, or its measured positions behind the filter."""
    if "qr" in log.signals:
        return Sampled(log.t, log.need("qr"), interpolation="cubic")
    whole = prepare(log, Recipe(filter=named_filter(FILTERED, _cutoff(log.rate), log.rate), border=0, standstill=None))
    return Sampled(whole.t, whole.q, interpolation="cubic")


def _cutoff(rate: float) -> float:
    """The survey's filter, or a fifth of a low rate."""
    return min(CUTOFF, 0.2 * rate)


def _thinned(log: Log, rate: float) -> Log:
    """Samples at the survey's rate; nothing is filtered first, as nothing is when a robot is sampled."""
    each = max(1, round(log.rate / rate))
    signals = {name: values[::each] for name, values in log.signals.items()}
    return Log.from_arrays(log.t[::each], signals, log.joints, log.origin)


def _prepared(log: Log, chosen: str) -> Motion:
    chosen_filter = named_filter(chosen, None if chosen == NONE else _cutoff(log.rate), log.rate)
    return prepare(log, Recipe(filter=chosen_filter, ratio=1, border=BORDER, standstill=None))
