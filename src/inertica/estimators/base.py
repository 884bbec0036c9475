"""What every method shares: `Problem` in, `Estimate` out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from inertica.dynamics.engine import Engine
from inertica.errors import InputError
from inertica.excitation.trajectory import Trajectory
from inertica.experiment.loop import ControlLoop
from inertica.identifiability.base import BaseModel
from inertica.physical.constraints import Constraint
from inertica.preprocessing.motion import Motion
from inertica.robot.layout import Parameters

if TYPE_CHECKING:
    from inertica.estimators.evidence import Evidence

Array = NDArray[np.float64]


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
    """

    base: BaseModel
    motions: tuple[Motion, ...]
    prior: Parameters | None = None
    loop: ControlLoop | None = None
    noise: NoiseLevels | None = None
    references: tuple[Trajectory, ...] = ()
    constraints: tuple[Constraint, ...] = ()

    def __post_init__(self) -> None:
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

    @property
    def engine(self) -> Engine:
        return self.base.engine

    @cached_property
    def fixed_values(self) -> Array:
        """chi with the values of fixed parameters, zero elsewhere."""
        values = np.zeros(self.base.layout.size)
        if len(self.base.fixed):
            if self.prior is None:
                raise InputError("fixed parameters take their values from the prior, and no prior was given")
            values[self.base.fixed] = self.prior.values[self.base.fixed]
        return values

    @property
    def prior_beta(self) -> Array:
        """Base parameters of the prior."""
        if self.prior is None:
            raise InputError(f"{self.base.layout.robot.name}: no prior values were given")
        return self.base.beta(self.prior.values)

    def has(self, need: Need) -> bool:
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


@dataclass(frozen=True, eq=False)
class Estimate:
    """What a method found.

    Args:
        method: its name.
        base: what beta means.
        beta: (b,) base parameters.
        covariance: (b, b) of beta; serial correlation of the residuals accounted for where the method says so.
        plain_covariance: (b, b) by the textbook formula for white residuals.
        sigma: (n,) standard deviation of the residual torque per joint.
        condition: of the observation matrix with unit-norm columns.
        unresolved: (b, k) orthonormal directions of beta (scaled columns) that the data do not determine; there beta is the prior's.
        chi: (P,) standard parameters, when the method yields them.
        iterations: of the method's outer loop.
        simulations: closed-loop simulations it took.
        seconds: wall time.
        history: name -> value per iteration.
        stop_reason: why it ended.
        settings: options that shaped the numbers, for the record.
        warnings: one sentence each.
        chi_covariance: (P, P) of chi, prior and data together, when the method yields it.
        evidence: what the data alone said in the last linear solve, for intervals that account for constraints and priors.
    """

    method: str
    base: BaseModel
    beta: Array
    covariance: Array
    plain_covariance: Array
    sigma: Array
    condition: float
    unresolved: Array
    chi: Array | None = None
    iterations: int = 1
    simulations: int = 0
    seconds: float = 0.0
    history: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    stop_reason: str = "direct solution"
    settings: Mapping[str, object] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    chi_covariance: Array | None = None
    evidence: Evidence | None = None

    @property
    def std(self) -> Array:
        """(b,) standard deviations; infinite where the data say nothing."""
        std = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        touched = np.abs(self.unresolved).max(axis=1, initial=0.0) > 1e-6
        return np.where(touched, np.inf, std)

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
