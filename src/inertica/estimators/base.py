"""What every method shares: `Problem` in, `Estimate` out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, field, fields, replace
from enum import Enum
from typing import Any, ClassVar, Protocol

import numpy as np

from inertica.arrays import Array
from inertica.dynamics.batching import BatchClient
from inertica.dynamics.engine import Engine
from inertica.errors import InputError
from inertica.estimators.evidence import Evidence
from inertica.estimators.observe import Observations, fixed_values
from inertica.excitation.trajectory import Trajectory
from inertica.experiment.loop import ControlLoop
from inertica.identifiability.base import BaseModel
from inertica.logs.log import Log
from inertica.physical.constraints import Constraint
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.layout import Parameters


class Need(Enum):
    """What a method asks of a problem, in the words of the sentence that says it is missing."""

    MOTION = "measured motion (positions, or velocities and accelerations)"
    TORQUE = "measured torque"
    LOOP = "the control loop (a `loop:` section in the robot card)"
    PRIOR = "prior values of the parameters"
    NOISE = "noise levels of position and torque"
    REFERENCE = "the reference motion (columns qr1.. in the log, or a trajectory)"


class Capability(Enum):
    """What a method can do, and what its estimates are; others ask for this, never for a name or a type."""

    LINEAR = "weighs rows that are linear in the parameters, and says how (`solve`, `weighted`)"
    SIMULATES = "simulates the control loop, or the robot"
    HOLDS_TORQUE = "holds the torque over control periods in its simulation, so that its lead stays in the log"
    RECURSIVE = "goes through the samples once, in the order of time"
    ORDER_IN_TIME = "finds something else when logs come in another order"
    RANDOM = "draws random numbers; the same generator gives the same estimate"
    CONSISTENT = "finds only links that could exist"
    TAKES_CONSTRAINTS = "keeps to the constraints that a problem states"
    TAKES_PRIOR = "can be drawn towards the prior by `+PRIOR` behind its name"
    TAKES_TRUST = "weighs prior values by the trust that a card states in them (`trust`)"
    PULLED = "lets the prior move values that the data determine"
    WANTS_RAW = "takes motion as measured, without a filter"
    STARTS = "starts from values that may change what it finds (`start`)"
    SELECTS = "chooses which parameters to fit"
    ABSOLUTE = "has settings in SI units, so that torques in another unit give another estimate"
    COVARIANCE = "states the covariance of what it finds"


@dataclass(frozen=True)
class NoiseLevels:
    """Standard deviations of what was measured, per joint, as estimators see it: after filtering and decimation.

    Args:
        q, dq, ddq, tau: (n,) each.
        source: where they come from: repeated periods, filter residual, given.
    """

    q: Array
    dq: Array
    ddq: Array
    tau: Array
    source: str = "given"


@dataclass(frozen=True, eq=False)
class Problem:
    """What is to be identified, and from what.

    Args:
        base: the robot's base parameters, for the friction and couplings that are assumed.
        motions: one or several preprocessed logs; all enter one fit.
        prior: CAD or reference values; fixed parameters take theirs from here.
        loop: control law, for methods that simulate it.
        noise: for methods that weigh errors of the motion against errors of the torque.
        references: what the controller followed, one trajectory for all motions or one for each, on the clocks of their logs;
            the reference columns of the logs when not given.
        constraints: what the user knows besides (see `physical.stated`); physically consistent methods keep to it.
        batch: where simulations are requested when several fits run concurrently (`inertica.dynamics.batching`).
        built: rows of these motions, if another problem has built them already.
    """

    base: BaseModel
    motions: tuple[Motion, ...]
    prior: Parameters | None = None
    loop: ControlLoop | None = None
    noise: NoiseLevels | None = None
    references: tuple[Trajectory, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    batch: BatchClient | None = None
    built: InitVar[Observations | None] = None
    _observations: Observations | None = field(default=None, init=False, repr=False)

    def __post_init__(self, built: Observations | None) -> None:
        object.__setattr__(self, "_observations", built)
        n = self.base.layout.robot.n
        if len(self.references) not in (0, 1, len(self.motions)):
            raise InputError(
                f"{len(self.references)} reference trajectories for {len(self.motions)} logs; state one, or one each"
            )
        for trajectory in self.references:
            if trajectory.n != n:
                raise InputError(f"the reference moves {trajectory.n} joints, {self.base.layout.robot.name} has {n}")
        for motion in self.motions:
            if motion.q.shape[1] != n:
                raise InputError(f"{motion.log.origin} has {motion.q.shape[1]} joints, {self.base.layout.robot.name} has {n}")

    @classmethod
    def of_logs(cls, base: BaseModel, logs: Sequence[Log], recipe: Recipe, prior: Parameters | None) -> Problem:
        """Logs that a recipe prepares, to be fitted."""
        return cls(base, tuple(prepare(log, recipe) for log in logs), prior)

    @property
    def engine(self) -> Engine:
        """Compiled dynamics of the robot."""
        return self.base.engine

    @property
    def observations(self) -> Observations:
        """Rows and R factors of the motions, built on first use."""
        if self._observations is None:
            # built when first asked for: methods that simulate never need rows
            object.__setattr__(self, "_observations", Observations(self.base, self.motions, self.prior))
        assert self._observations is not None
        return self._observations

    def with_loop(self, loop: ControlLoop | None) -> Problem:
        """The same in another control loop; rows are shared."""
        return replace(self, loop=loop, built=self.observations)

    def with_batch(self, batch: BatchClient) -> Problem:
        """The same with simulations requested from a batch; rows are shared where they were built."""
        return replace(self, batch=batch, built=self._observations)

    def masked(self, motions: Sequence[Motion]) -> Problem:
        """The same with other masks on its motions; their rows are shared."""
        return replace(self, motions=tuple(motions), built=self.observations.masked(motions))

    def with_prior(self, prior: Parameters | None) -> Problem:
        """The same with other prior values; rows that were built are shared unless values of fixed parameters differ."""
        built = self._observations
        # a prior enters rows by shapes and fixed values only; mostly they can be taken over
        return replace(self, prior=prior, built=built if built is not None and built.same_rows(prior) else None)

    @property
    def fixed_values(self) -> Array:
        """chi with the values of fixed parameters, zero elsewhere."""
        return fixed_values(self.base, self.prior)

    @property
    def prior_beta(self) -> Array:
        """Base parameters of the prior."""
        if self.prior is None:
            raise InputError(f"{self.base.layout.robot.name}: no prior values were given")
        return self.base.beta(self.prior.values)

    def has(self, need: Need) -> bool:
        """Whether the problem has what a method needs."""
        match need:
            case Need.MOTION:
                return bool(self.motions) and all("q" in m.log.signals for m in self.motions)
            case Need.TORQUE:
                return bool(self.motions)
            case Need.LOOP:
                return self.loop is not None
            case Need.PRIOR:
                return self.prior is not None
            case Need.NOISE:
                return self.noise is not None
            case Need.REFERENCE:
                return bool(self.references) or all("qr" in m.log.signals for m in self.motions)

    def require(self, method: Estimator) -> None:
        """Refuse a method whose needs are not met, naming the first one."""
        for need in sorted(method.needs, key=lambda x: x.name):
            if not self.has(need):
                raise InputError(f"method '{method.name}' needs {need.value}, which this problem does not have")
        forms = {m.recipe.regressor for m in self.motions} - {"torque"}
        if any(m.unmeasured.any() for m in self.motions) and (forms or Capability.LINEAR not in method.capabilities):
            raise InputError(
                f"method '{method.name}' needs the torque of every joint, and some were not recorded; rows of the others' torque are "
                "for weighted least squares (ols, wls, irls and their pc- forms)"
            )
        if forms and Capability.LINEAR not in method.capabilities:
            raise InputError(
                f"method '{method.name}' works on torques; rows of {', '.join(forms)} are for weighted least squares (ols, wls, "
                "irls, rls, rwls and their pc- forms)"
            )


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """What the rows of a fit say of it.

    Args:
        sigma: (n,) standard deviation of the residual torque per joint.
        condition: of the observation matrix with unit-norm columns.
        unresolved: (b, k) orthonormal directions of beta (scaled columns) that the data do not determine; there beta is the prior's.
        plain_covariance: (b, b) by the textbook formula for white residuals.
        widened: (b,) factors on the standard deviations by noise that are in the covariance, one by one; None when there are none.
        by_data: (b,) what the data alone said, of an estimate read from a file whose constraints or prior have moved beta.
    """

    sigma: Array
    condition: float
    unresolved: Array
    plain_covariance: Array
    widened: Array | None = None
    by_data: Array | None = None


@dataclass(frozen=True, eq=False)
class LoopFindings:
    """What was found about the control loop beside the parameters; tables are name of a gain -> (n,).

    Args:
        gains: of the simulated loop, where they are not the stated ones.
        gains_relative_std: of those that were estimated.
        gains_kept: those that this log does not tell, as words; None when no gain was estimated.
        drive: (n,) estimated drive gains over the stated ones.
        loop_scale: factors on the gains with which the loop follows the log best, `loop_scale_std` their standard deviations.
        torque_ratio: (n,) measured over simulated torque.
        unexplained_tracking: (n,) share of the tracking error that no gains explain.
        stable_at: (b,) base parameters next to the estimate at which the simulated loop is stable, where it is not at the estimate.
    """

    gains: Mapping[str, Array] = field(default_factory=dict)
    gains_relative_std: Mapping[str, Array] = field(default_factory=dict)
    gains_kept: str | None = None
    drive: Array | None = None
    loop_scale: Mapping[str, Array] = field(default_factory=dict)
    loop_scale_std: Mapping[str, Array] = field(default_factory=dict)
    torque_ratio: Array | None = None
    unexplained_tracking: Array | None = None
    stable_at: Array | None = None

    def document(self) -> dict[str, object]:
        """What there is, as plain data."""
        out: dict[str, object] = {}
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, Mapping):
                value = {name: tuple(float(x) for x in values) for name, values in value.items()} or None
            elif isinstance(value, np.ndarray):
                value = tuple(float(x) for x in value)
            out |= {} if value is None else {one.name: value}
        return out

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> LoopFindings | None:
        """From what `document` wrote, among other things; None when nothing of it is there."""
        values_by_name: dict[str, Any] = {}
        for name in (one.name for one in fields(cls) if one.name in document):
            value = document[name]
            table = isinstance(value, Mapping)
            values_by_name[name] = (
                {k: _numbers(x) for k, x in value.items()} if table else value if isinstance(value, str) else _numbers(value)
            )
        return cls(**values_by_name) if values_by_name else None


def _numbers(values: Sequence[float | None]) -> Array:
    return np.array([np.inf if x is None else x for x in values], float)


@dataclass(frozen=True, eq=False)
class History:
    """Base parameters over time, of methods that follow the samples.

    Args:
        t: (K,) instants in s, on the clock of the motions one after the other.
        beta: (K, b) estimates.
        std: (K, b) their standard deviations.
    """

    t: Array
    beta: Array
    std: Array


@dataclass(frozen=True, eq=False)
class Estimate:
    """What a method found.

    Args:
        method: its name.
        base: what beta means.
        beta: (b,) base parameters.
        covariance: (b, b) of beta; serial correlation of the residuals accounted for where the method says so.  None when nothing is
            known of its errors.
        diagnostics: of methods that fit rows.
        chi: (P,) standard parameters, when the method yields them.
        chi_covariance: (P, P) of chi, prior and data together, when the method yields it.
        evidence: what the data alone said in the last linear solve, for intervals that account for constraints and priors.
        loop: what was found about the control loop.
        iterations: of the method's outer loop.
        simulations: closed-loop simulations it took.
        seconds: wall time.
        history: name -> value per iteration.
        trace: the estimate over time, of recursive methods.
        stop_reason: why it ended.
        failed: it ended before the data were used (a filter that broke down, a start whose loop is unstable): beta is no answer.
        settings: options that shaped the numbers, for the record; nothing reads them.
        warnings: one sentence each.
    """

    method: str
    base: BaseModel
    beta: Array
    covariance: Array | None = None
    diagnostics: Diagnostics | None = None
    chi: Array | None = None
    chi_covariance: Array | None = None
    evidence: Evidence | None = None
    loop: LoopFindings | None = None
    iterations: int = 1
    simulations: int = 0
    seconds: float = 0.0
    history: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    trace: History | None = None
    stop_reason: str = "direct solution"
    failed: bool = False
    settings: Mapping[str, object] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def needed_covariance(self) -> Array:
        """The covariance, or a sentence that says that the method states none."""
        if self.covariance is None:
            raise InputError(f"method '{self.method}' does not say how well it knows what it finds; use another one here")
        return self.covariance

    @property
    def by_data(self) -> Array:
        """(b,) what the data alone say, to which the covariance belongs: constraints and a prior may have moved beta from there."""
        if self.evidence is not None and self.evidence.strategy is not None:
            return self.evidence.least_squares(self.beta)[0]
        stored = None if self.diagnostics is None else self.diagnostics.by_data
        return self.beta if stored is None else stored

    @property
    def std(self) -> Array:
        """(b,) standard deviations; infinite where the data say nothing."""
        if self.covariance is None:
            return np.full(len(self.beta), np.inf)
        std = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        if self.diagnostics is None:
            return std
        # a parameter that takes part in a direction without data is not known, whatever its own variance says
        touched = np.abs(self.diagnostics.unresolved).max(axis=1, initial=0.0) > 1e-6
        return np.where(touched, np.inf, std)

    @property
    def condition(self) -> float:
        """Of the observation matrix with unit-norm columns; NaN for methods that fit no rows."""
        return np.nan if self.diagnostics is None else self.diagnostics.condition

    @property
    def sigma(self) -> Array:
        """(n,) standard deviation of the residual torque per joint; empty for methods that fit no rows."""
        return np.zeros(0) if self.diagnostics is None else self.diagnostics.sigma

    def record(self) -> dict[str, object]:
        """What shaped the numbers and what was found about the loop, as plain data."""
        return {**self.settings, **({} if self.loop is None else self.loop.document())}

    @property
    def relative_std(self) -> Array:
        """(b,) 100 sigma / |beta|, in percent."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.beta != 0.0, 100.0 * self.std / np.abs(self.beta), np.inf)


class Estimator(Protocol):
    """A method: a small frozen dataclass whose fields are its options; `checks.estimator_checks` holds it to what it says."""

    needs: ClassVar[frozenset[Need]]

    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> frozenset[Capability]: ...

    def estimate(self, problem: Problem, rng: np.random.Generator | None = None) -> Estimate: ...
