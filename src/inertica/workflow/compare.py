"""Several methods on the same logs: filter, delay and friction are chosen once, so that only the methods differ."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from inertica.errors import InerticaError, InputError
from inertica.estimators.base import Estimate, Need, Problem
from inertica.estimators.intervals import standard_parameters
from inertica.estimators.registry import METHODS, method
from inertica.excitation.trajectory import Trajectory
from inertica.experiment.loop import ControlLoop
from inertica.identifiability.labels import DETERMINED, trust_labels
from inertica.logs.log import Log
from inertica.logs.read import read_log
from inertica.physical.stated import stated
from inertica.preprocessing.motion import Motion
from inertica.robot.description import Description
from inertica.robot.layout import Parameters
from inertica.robot.load import load
from inertica.validation.residuals import Residual
from inertica.workflow.hold_out import HoldOut
from inertica.workflow.identify import LogLike, identify
from inertica.workflow.interval_choice import stated_uncertainty
from inertica.workflow.prediction import judged
from inertica.workflow.result import Result
from inertica.workflow.settings import Settings, prepared_method

REFERENCE, WITHOUT_POSITION = "wls", "didim"
"""The method that the common choices are made with, and the one for logs without position."""


@dataclass(frozen=True)
class Row:
    """What one method did.

    Args:
        method: its name.
        residuals: data set -> figures of merit.
        condition: of its observation matrix.
        physically_consistent: whether every link could exist and nothing is negative that cannot be.
        determined: number of standard parameters known on their own.
        seconds: of the fit.
        iterations: of its outer loop.
        failure: why there is no estimate, one sentence.
    """

    method: str
    residuals: Mapping[str, Residual] = field(default_factory=dict)
    condition: float = np.nan
    physically_consistent: bool = False
    determined: int = 0
    seconds: float = np.nan
    iterations: int = 0
    failure: str | None = None


@dataclass(frozen=True)
class Comparison:
    """Rows in the order asked for, and the result whose choices they share."""

    reference: Result
    rows: tuple[Row, ...]


def compare(
    description: str | Path | Description,
    logs: Sequence[LogLike],
    methods: Sequence[str] | None = None,
    *,
    validate: Sequence[LogLike] = (),
    settings: Settings | None = None,
    progress: Callable[[str], None] | None = None,
) -> Comparison:
    """Fit the same logs by several methods.

    Args:
        description: the robot, or its catalog name, model file or card.
        logs: all enter one fit.
        methods: names; all that there are by default.
        validate: further logs, only predicted; without any, every method is fitted again without a fifth of the moving data.
        settings: what to fix; its method does not matter.
        progress: receives one line per step.

    Logs without position are compared by methods that simulate the control loop; the others say what they lack.
    """
    say = progress or (lambda _: None)
    description = description if isinstance(description, Description) else load(description)
    names = list(dict.fromkeys(methods or METHODS))
    if not names:
        raise InputError("name at least one method to compare")
    for name in names:
        method(name)

    def read(source: LogLike) -> Log:
        return source if isinstance(source, Log) else read_log(source, description)

    fitted, others = [read(log) for log in logs], [read(log) for log in validate]
    chosen = settings or Settings()
    measured = all("q" in log.signals for log in fitted)
    common = replace(chosen, method=REFERENCE if measured else WITHOUT_POSITION, quick=True)
    reference = identify(description, fitted, validate=others, settings=common, progress=say)
    reference = replace(reference, references=chosen.references)
    data = _Data.of(reference, fitted, others)
    rows = []
    for name in names:
        say(f"fitting by {name}")
        rows.append(_row(reference, name, data))
    return Comparison(reference, tuple(rows))


@dataclass(frozen=True, eq=False)
class _Piece:
    """A log and its motion; where no position was recorded, every method is judged on its own simulation.

    Args:
        log: the log.
        reference: what the controller followed, when stated apart from the log.
        motion: as the common choices prepare it for predictions.
        fit: as they prepare it for fits; None for a log that is only predicted.
    """

    log: Log
    reference: Trajectory | None
    motion: Motion
    fit: Motion | None = None

    @classmethod
    def of(cls, common: Result, log: Log, k: int, fitted: bool = True) -> _Piece:
        own = common.reference(k) if fitted or "qr" not in log.signals else None
        return cls(log, own, common.motion(log, own), common.motion(log, own, fit=True) if fitted else None)

    def seen(self, result: Result) -> Motion:
        return self.motion if "q" in self.log.signals else result.motion(self.log, self.reference)


@dataclass(frozen=True, eq=False)
class _Data:
    """What is fitted, data set -> what is predicted, and what a second fit leaves out when there is nothing to predict."""

    fitted: tuple[_Piece, ...]
    others: Mapping[str, _Piece]
    left: HoldOut | None

    @classmethod
    def of(cls, common: Result, fitted: Sequence[Log], others: Sequence[Log]) -> _Data:
        names = list(common.residuals)[1:]
        judged = enumerate(zip(names, others, strict=False), start=len(fitted))
        pieces = tuple(_Piece.of(common, log, k) for k, log in enumerate(fitted))
        left = None if others else HoldOut.of([piece.fit for piece in pieces if piece.fit is not None])
        return cls(pieces, {name: _Piece.of(common, log, k, fitted=False) for k, (name, log) in judged}, left)


def _row(reference: Result, name: str, data: _Data) -> Row:
    description = reference.description
    estimator, start = prepared_method(name, description), time.perf_counter()
    loop = ControlLoop.of(description) if description.loop is not None and Need.LOOP in estimator.needs else None
    motions = tuple(p.fit for p in data.fitted if p.fit is not None)
    given = reference.references[: len(motions)]
    said = stated(description).constraints
    problem = Problem(reference.estimate.base, motions, description.prior, loop, references=given, constraints=said)
    try:
        problem.require(estimator)
        estimate = estimator.estimate(problem)
        seconds = time.perf_counter() - start
        without = None if data.left is None else estimator.estimate(replace(problem, motions=data.left.rest(motions)))
        result = replace(reference, estimate=estimate, parameters=_standard(reference, estimate))
        residuals = {"identification": _residual(result, data.fitted)}
        residuals |= {n: _residual(result, [piece]) for n, piece in data.others.items()}
        if without is not None:
            second = replace(reference, estimate=without, parameters=_standard(reference, without))
            residuals["hold-out"] = _residual(second, data.fitted, data.left)
    except (InerticaError, np.linalg.LinAlgError) as error:
        return Row(name, failure=str(error))
    labels = trust_labels(estimate.base, estimate.beta, stated_uncertainty(estimate, problem, estimator).estimate.std)
    determined = list(labels.values()).count(DETERMINED)
    return Row(name, residuals, estimate.condition, result.physically_consistent, determined, seconds, estimate.iterations)


def _standard(reference: Result, estimate: Estimate) -> Parameters:
    prior = reference.description.prior
    chi = standard_parameters(estimate, prior)
    return Parameters(estimate.base.layout, chi, prior.shapes, "identified")


def _residual(result: Result, pieces: Sequence[_Piece], left: HoldOut | None = None) -> Residual:
    keep = None if left is None else left.masks
    return judged(result.parameters, [piece.seen(result) for piece in pieces], result.estimate.base.engine, keep)
