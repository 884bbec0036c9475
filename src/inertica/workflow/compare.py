"""Several methods on the same logs: filter, delay and friction are chosen once, so that only the methods differ."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from inertica.errors import InerticaError, InputError
from inertica.estimators.base import Estimate, Problem
from inertica.estimators.registry import METHODS, method
from inertica.estimators.standard import nearest_prior
from inertica.identifiability.labels import DETERMINED, trust_labels
from inertica.logs.motion import Motion
from inertica.robot.description import Description
from inertica.robot.layout import Parameters
from inertica.validation.residuals import Residual
from inertica.workflow.identify import LogLike, Settings, identify, joined
from inertica.workflow.result import Result, validated

REFERENCE = "wls"
"""The method that the common choices are made with."""


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
    description: Description,
    logs: Sequence[LogLike],
    methods: Sequence[str] | None = None,
    *,
    validate: Sequence[LogLike] = (),
    settings: Settings | None = None,
    progress: Callable[[str], None] | None = None,
) -> Comparison:
    """Fit the same logs by several methods.

    Args:
        description: the robot.
        logs: all enter one fit.
        methods: names; all that there are by default.
        validate: further logs, only predicted; without any, a part of the logs is held out by the reference method alone.
        settings: what to fix; its method does not matter.
        progress: receives one line per step.
    """
    say = progress or (lambda _: None)
    names = list(dict.fromkeys(methods or METHODS))
    if not names:
        raise InputError("name at least one method to compare")
    for name in names:
        method(name)
    common = replace(settings or Settings(), method=REFERENCE)
    reference = identify(description, logs, validate=validate, settings=common, progress=say)
    return Comparison(reference, tuple(_rows(reference, names, logs, validate, say)))


def _rows(
    reference: Result, names: Sequence[str], logs: Sequence[LogLike], validate: Sequence[LogLike], say: Callable[[str], None]
) -> list[Row]:
    from inertica.logs.read import read_log

    def motion(source: LogLike) -> Motion:
        return reference.motion(read_log(source, reference.description) if not hasattr(source, "signals") else source)  # type: ignore[arg-type]

    motions = tuple(motion(log) for log in logs)
    others = {name: motion(log) for name, log in zip(list(reference.residuals)[1:], validate, strict=False)}
    problem = Problem(reference.estimate.base, motions, reference.description.prior)
    out = []
    for name in names:
        say(f"fitting by {name}")
        out.append(_row(reference, name, problem, others))
    return out


def _row(reference: Result, name: str, problem: Problem, others: Mapping[str, Motion]) -> Row:
    estimator, start = method(name), time.perf_counter()
    try:
        problem.require(estimator)
        estimate = estimator.estimate(problem)
    except (InerticaError, np.linalg.LinAlgError) as error:
        return Row(name, failure=str(error))
    seconds = time.perf_counter() - start
    parameters = _standard(reference, estimate)
    result = replace(reference, estimate=estimate, parameters=parameters)
    labels = trust_labels(estimate.base, estimate.beta, estimate.std)
    return Row(
        name,
        _residuals(result, problem.motions, others),
        estimate.condition,
        result.physically_consistent,
        list(labels.values()).count(DETERMINED),
        seconds,
        estimate.iterations,
    )


def _standard(reference: Result, estimate: Estimate) -> Parameters:
    prior = reference.description.prior
    chi = estimate.chi if estimate.chi is not None else nearest_prior(estimate.base, estimate.beta, prior)
    return Parameters(estimate.base.layout, chi, prior.shapes, "identified")


def _residuals(result: Result, motions: Sequence[Motion], others: Mapping[str, Motion]) -> dict[str, Residual]:
    description, parameters, engine = result.description, result.parameters, result.estimate.base.engine
    own = (
        validated(description, parameters, motions[0], engine) if len(motions) == 1 else joined(description, parameters, motions)
    )
    return {"identification": own} | {n: validated(description, parameters, m, engine) for n, m in others.items()}
