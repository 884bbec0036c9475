"""Joint filters: velocity, position and parameters as one state, z = (dq, q, beta)  (survey, section 6.1).

    dq' = dq + int M(q, beta)^-1 (tau - h(q, dq, beta)) dt + v,   q' = q + int dq dt + v,   beta' = beta + v,   y = q + w

    ekf, srekf     extended: exact Jacobians of the transition
    ukf, srukf     unscented: sigma points at alpha sqrt(d + kappa) standard deviations
    cdkf, srcdkf   central differences: sigma points at h standard deviations

The model is driven by the measured torque or, with `-ct` behind the name, by the torque that the simulated controller computes at its
own rate between samples.  Positions are used as recorded: a filter in front would colour their noise.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np

from inertica.arrays import Array
from inertica.errors import InputError
from inertica.estimators.base import Capability, Diagnostics, Estimate, Need, Problem
from inertica.estimators.closed_loop.start import PriorOrConsistent, StartValues, least_inertia
from inertica.estimators.recursive.feedback import fed_back
from inertica.estimators.recursive.passes import FilterPass, kalman
from inertica.estimators.recursive.records import (
    Between,
    Record,
    decimated,
    drive_noises,
    driven_by_loop,
    driven_by_torque,
    has_every_step,
    transition,
)
from inertica.estimators.recursive.reversals import reversal_jumps
from inertica.estimators.recursive.tuning import PRESETS, Variances, again, most_likely
from inertica.estimators.recursive.unknowns import ConsistentUnknowns, Coordinates, PlainUnknowns, Unknowns
from inertica.threads import one_thread

FIRST_ORDER = 0.3
"""Share of a torque up to which its noise counts to first order: its square is a tenth there."""

Kind = Literal["ekf", "srekf", "ukf", "srukf", "cdkf", "srcdkf"]
KINDS: tuple[Kind, ...] = ("ekf", "srekf", "ukf", "srukf", "cdkf", "srcdkf")


SINGULAR = 1e-12
"""Least eigenvalue of an inertia matrix of unit diagonal that can be inverted."""

LONG_STEP = 1.001e-3
"""s, up to which rk2 is good enough."""

RECURSIVE = frozenset({Capability.RECURSIVE, Capability.ORDER_IN_TIME, Capability.PULLED, Capability.COVARIANCE})
COMPUTED = frozenset({Need.MOTION, Need.PRIOR, Need.LOOP, Need.REFERENCE})


@dataclass(frozen=True)
class FilterOptions:
    """Options that filters share.

    Args:
        start: first parameters; `auto` takes the prior where it has inertia and drives, else least squares over links that could
            exist.
        preset: variances: `survey` as printed, `toolbox` as its code has them, `relative` to start and data (see `tuning`).  When not
            stated `relative` with `tune`, else `survey`.
        tune: search the noise of states and parameters under which the innovations of four stretches of half a second, or of 500
            samples, are most likely; the covariance is then widened where these have more power at low frequencies than predicted.
        passes: over all records; each begins with the parameters of the one before, ten times less sure of them, so that it linearises
            near them all the way.  When not stated two where the preset is `relative`, where P is meant to be right, else one.
        longest_step: s, of integration; longer sample periods are divided.
        between: torque between samples, `interpolated` or `held` (the survey's); `auto` holds it where the controller is no faster
            than the log.
        integrator: euler (the survey's), rk2 or rk4; `auto`: rk2, or rk4 where a step is longer than a millisecond.
        sees_log: of filters driven by the loop: the log's positions are what the controller saw, noise included.
        decimated: positions and torque at the decimated rate, as the survey's filters saw them; by default every recorded sample.
    """

    start: StartValues = field(default_factory=PriorOrConsistent)
    preset: Literal["survey", "toolbox", "relative"] | None = None
    tune: bool = False
    passes: int | None = None
    longest_step: float = 1e-3
    between: Between = "auto"
    integrator: Literal["auto", "euler", "rk2", "rk4"] = "auto"
    decimated: bool = False
    sees_log: bool = True

    computed: ClassVar[bool] = False
    tuned_over: ClassVar[tuple[int, float, int]] = (4, 0.5, 500)
    needs: ClassVar[frozenset[Need]] = frozenset({Need.MOTION, Need.TORQUE, Need.PRIOR})
    method_capabilities: ClassVar[frozenset[Capability]] = RECURSIVE | {Capability.HOLDS_TORQUE}
    without: ClassVar[frozenset[str]] = frozenset({"sees_log"})

    def __post_init__(self) -> None:
        if (self.passes is not None and self.passes < 1) or not self.longest_step > 0.0:
            raise InputError("a filter needs at least one pass and a step greater than zero")
        if self.computed and self.tune and self.preset not in (None, "relative"):
            raise InputError(
                f"a tuned filter of the control loop begins with the variances `relative`, not `{self.preset}`, with which the first "
                "samples would throw parameters where no robot is; leave the preset out, or do not tune"
            )

    @property
    def capabilities(self) -> frozenset[Capability]:
        return self.method_capabilities if self.begins == "relative" else self.method_capabilities | {Capability.ABSOLUTE}

    @property
    def rounds(self) -> int:
        """Passes that are made."""
        return self.passes if self.passes is not None else 2 if self.begins == "relative" else 1

    def integrates(self, problem: Problem, dt: float | None) -> str:
        """The integrator that is taken for steps of dt, or of the control loop."""
        if self.integrator != "auto":
            return self.integrator
        step = problem.loop.dt if dt is None and problem.loop is not None else dt
        return "rk4" if step is not None and step > LONG_STEP else "rk2"

    def records(self, problem: Problem, beta: Array | None = None) -> tuple[list[Record], float | None]:
        """What it sees, and its step; None for that of the control loop.

        Args:
            problem: whose logs it sees.
            beta: whose inertia says what noise of torques does to the joints together, for variances that tell that noise.
        """
        seen, recorded = (decimated(problem), False) if self.decimated else (problem, True)
        if self.computed:
            return driven_by_loop(seen, recorded, self.sees_log), None
        records, dt = driven_by_torque(seen, self.longest_step, self.between, recorded, self.begins == "relative")
        if beta is not None and self.begins == "relative" and has_every_step(seen):
            records = [r.eased(seen, m, beta) for r, m in zip(records, seen.motions, strict=True)]
        return records, dt

    def first(self, problem: Problem, rng: np.random.Generator | None) -> Array:
        """Parameters of the start, with which every joint has some inertia."""
        beta = self.start(problem, rng)
        if abs(least_inertia(problem, beta)) < SINGULAR:
            raise InputError(
                f"with the values that {self.start.name!r} starts from some joint has no inertia, and no motion can be computed; "
                "choose the start pc-wls (least squares over links that could exist), or state inertias and armature"
            )
        return beta

    @property
    def begins(self) -> str:
        """The preset that is taken."""
        return self.preset or ("relative" if self.tune else "survey")

    def tuned(self, v: Variances, start: Array, records: list[Record], passed: Callable[..., FilterPass]) -> Variances:
        """Noise under which the innovations of some stretches are most likely.

        Args:
            v: where the search begins.
            start: first parameters.
            records: of the filter; stretches are those of the first one.
            passed: a pass of a filter: kind, records, first parameters and variances to its outcome.
        """
        short, near = records[0].stretches(*self.tuned_over), v
        if self.computed:  # what wrong parameters do in a closed loop would be taken for noise: they come from a first pass
            first = passed("ekf", records[:1], start, v)
            if first.broke is None:
                start, known = first.beta, np.diag(first.covariance)
                near = replace(v, first=np.concatenate([v.first[: -len(known)], known]))
        variances = most_likely(lambda tried: sum(passed("ekf", [r], start, tried).score for r in short), near, self.computed)
        return replace(variances, first=v.first)

    def variances(self, problem: Problem, records: list[Record], beta: Array) -> Variances:
        """Of the preset; where the controller computes the torque, what it feeds back in place of the noise of measured torques."""
        v = PRESETS[self.begins](problem, records, beta)
        if self.computed and self.begins == "relative":
            v = replace(
                v,
                jump=reversal_jumps(problem, records, beta, 0.0),
                state=fed_back(problem, records, beta, self.integrates(problem, None)),
            )
        if self.tune and v.jump is None:  # what reversals do would be taken for noise at all times
            v = replace(v, jump=reversal_jumps(problem, records, beta))
        return v

    def settings(self, v: Variances) -> dict[str, object]:
        return {
            "preset": self.begins, "tuned": self.tune, "passes": self.rounds, "integrator": self.integrator,
            "longest_step": self.longest_step, "decimated": self.decimated,
            "start": self.start.name, "state_noise": tuple(map(float, v.state)),
        } | ({} if v.drive is None else {"torque_noise": tuple(map(float, v.drive))})  # fmt: skip


@dataclass(frozen=True)
class JointFilter(FilterOptions):
    """A Kalman filter on state and parameters.

    Needs the measured torque or, with `-ct`, the control loop and its reference; and starting values.  Fails when the variances are
    far off: `tune` finds better ones.  Sharp friction moves the estimate at reversals, and central differences reach far enough for
    inertia that is poorly known to become negative; `consistent` prevents that.

    Args:
        kind: which filter.
        alpha, beta, kappa: of the unscented ones; alpha is 0.1 in the toolbox.
        h: of central differences.
        smooth: the history given all measurements (Rauch, Tung, Striebel); the estimate is the last one anyway.
        consistent: coordinates of all bodies in place of base parameters, so that every point is a robot that can exist; `pc-` in
            front of the name.
        coordinates: which ones, log-Cholesky or principal moments bounded by sigmoids (survey, eq. 57 and its [79]).
    """

    kind: Kind = "ekf"
    alpha: float = 0.01
    beta: float = 2.0
    kappa: float = 0.0
    h: float = float(np.sqrt(3.0))
    smooth: bool = False
    consistent: bool = False
    coordinates: Coordinates = "log-cholesky"

    without: ClassVar[frozenset[str]] = frozenset({"kind", "consistent", "sees_log"})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.coordinates != "log-cholesky" and not self.consistent:
            raise InputError("`coordinates` are those of a filter that keeps bodies real; take pc-ekf or pc-ekf-ct")

    @property
    def rounds(self) -> int:
        """Coordinates of bodies are less linear than base parameters: one pass is never enough for them."""
        return 2 if self.consistent and self.passes is None else super().rounds

    @property
    def name(self) -> str:
        return ("pc-" if self.consistent else "") + self.kind + ("-ct" if self.computed else "")

    @property
    def capabilities(self) -> frozenset[Capability]:
        with_constraints = {Capability.CONSISTENT, Capability.TAKES_CONSTRAINTS} if self.consistent else set()
        return super().capabilities | with_constraints

    def estimate(self, problem: Problem, rng: np.random.Generator | None = None) -> Estimate:
        problem.require(self)
        begun = time.perf_counter()
        beta = self.first(problem, rng)
        records, dt = self.records(problem, beta)
        plain = transition(problem, beta, dt, self.integrates(problem, dt))
        unknowns: Unknowns = ConsistentUnknowns.of(problem, beta, self.coordinates) if self.consistent else PlainUnknowns(beta)
        map = unknowns.transition(plain)
        v = unknowns.variances(self.variances(problem, records, beta))

        def passed(kind: str, chosen: list[Record], x: Array, v: Variances, smooth: bool = False) -> FilterPass:
            return kalman(kind, (self.h if "cdkf" in kind else self.alpha, self.beta, self.kappa), map, chosen, x, v, smooth)

        with one_thread():
            if self.tune:
                v = self.tuned(v, unknowns.start, records, passed)
            history = passed(self.kind, records, unknowns.start, v, self.smooth)
            for _ in range(self.rounds - 1):
                if history.broke is not None:
                    break
                history = passed(self.kind, records, history.beta, again(v, history.covariance), self.smooth)
        history = history.widened() if self.tune else history
        settings = self.settings(v) | ({"coordinates": self.coordinates} if self.consistent else {})
        outcome = reported(self.name, problem, unknowns, history, self.rounds, time.perf_counter() - begun, settings)
        if self.computed or outcome.failed:
            return outcome
        return replace(outcome, warnings=(*outcome.warnings, *narrow_intervals(self.name, problem)))


@dataclass(frozen=True)
class ComputedTorqueFilter(JointFilter):
    """The same, driven by the torque that the simulated controller computes: no torque needs to be measured."""

    computed: ClassVar[bool] = True
    needs: ClassVar[frozenset[Need]] = COMPUTED
    method_capabilities: ClassVar[frozenset[Capability]] = RECURSIVE | {Capability.SIMULATES}
    without: ClassVar[frozenset[str]] = frozenset({"kind", "consistent", "longest_step", "between"})


def reported(
    name: str, problem: Problem, unknowns: Unknowns, history: FilterPass, passes: int, seconds: float, settings: dict[str, object]
) -> Estimate:
    """The outcome of a filter as an estimate."""
    beta, J = unknowns.beta(history.beta)
    covariance = J @ history.covariance @ J.T
    scale = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    values = np.maximum(np.linalg.eigvalsh(covariance / np.outer(scale, scale)), 1e-300)
    reason, warnings = f"all samples were used, {passes} pass{'es' if passes > 1 else ''}", []
    if history.broke is not None:
        reason = f"the filter broke down {history.broke:.3g} s into a record: a prediction or its covariance became impossible"
        warnings.append(
            f"{reason}; what it had found by then is no answer. State other variances (preset, tune), start from better values, "
            "or take a square-root or a consistent form"
        )
    size = float(np.sqrt(values[-1] / values[0]))
    return Estimate(
        name, problem.base, beta, covariance, Diagnostics(torque_residual(problem, beta), size, np.zeros((len(beta), 0)), covariance),
        chi=unknowns.chi(history.beta), iterations=passes, seconds=seconds,
        trace=replace(history.history, **unknowns.history(history.history)), stop_reason=reason,
        settings=settings | {"nis": history.nis},
        warnings=tuple(warnings), failed=history.broke is not None,
    )  # fmt: skip


def narrow_intervals(name: str, problem: Problem) -> tuple[str, ...]:
    """A warning where noise of the measured torque that drives the filter is too large for it to be counted to first order.

    The estimate answers to that noise with its own square, too, of which the filter's covariance knows nothing.
    """
    size = np.sqrt(np.mean([np.mean(m.tau_raw**2, axis=0) for m in problem.motions], axis=0))
    shares = drive_noises(problem) / np.maximum(size, 1e-300)
    j = int(np.argmax(shares))
    if shares[j] <= FIRST_ORDER:
        return ()
    return (
        f"the intervals of {name} are too narrow: {100.0 * shares[j]:.0f} % of the torque of joint {j + 1} is noise, which the filter "
        "counts to first order only; where it was half, 90 % of such 95 % intervals held the truth in simulation, and inertias came "
        "out too large. Least squares, didim and the -ct filters do not feel it",
    )


def torque_residual(problem: Problem, beta: Array) -> Array:
    """(n,) standard deviation of what the parameters leave of the torque along the prepared motion."""
    chi, shapes = problem.fixed_values.copy(), None if problem.prior is None else problem.prior.shapes
    chi[problem.base.retained] = beta
    square, count = np.zeros(problem.base.layout.robot.n), 0
    for m in problem.motions:
        left = (m.tau - problem.engine.inverse_dynamics(m.q, m.dq, m.ddq, chi, shapes))[~m.mask]
        square, count = square + np.sum(left**2, axis=0), count + len(left)
    return np.asarray(np.sqrt(square / max(count, 1)))
