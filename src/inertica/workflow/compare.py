"""Several methods on the same logs: filter, delay and friction are chosen once, so that only the methods differ."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from inertica.errors import InerticaError, InputError
from inertica.estimators.base import Estimate, Need, Problem
from inertica.estimators.registry import METHODS, method
from inertica.estimators.standard import nearest_prior
from inertica.experiment.loop import ControlLoop
from inertica.identifiability.labels import DETERMINED, trust_labels
from inertica.logs.log import Log
from inertica.logs.motion import Motion
from inertica.logs.read import read_log
from inertica.robot.description import Description
from inertica.robot.layout import Parameters
from inertica.validation.residuals import Residual
from inertica.workflow.identify import HELD_OUT, LogLike, Settings, identify, joined
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
        validate: further logs, only predicted; without any, every method is fitted again without the last part of the logs.
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
    def read(source: LogLike) -> Log:
        return source if isinstance(source, Log) else read_log(source, reference.description)

    fitted = [read(log) for log in logs]
    data = _Data(
        tuple(reference.motion(log) for log in fitted),
        {name: reference.motion(read(log)) for name, log in zip(list(reference.residuals)[1:], validate, strict=False)},
        () if validate else tuple((reference.motion(a), reference.motion(b)) for a, b in map(_cut, fitted)),
    )
    out = []
    for name in names:
        say(f"fitting by {name}")
        out.append(_row(reference, name, data))
    return out


@dataclass(frozen=True)
class _Data:
    """Motions to fit, data set -> motion to predict, and (early, late) parts of what is fitted when there is none to predict."""

    fitted: tuple[Motion, ...]
    others: Mapping[str, Motion]
    parts: tuple[tuple[Motion, Motion], ...]


def _cut(log: Log) -> tuple[Log, Log]:
    """A log without its last part, and that part."""
    t = log.t[np.isfinite(log.t)]
    border = float(t[0] + (1.0 - HELD_OUT) * (t[-1] - t[0]))
    return log.sliced(t1=border), log.sliced(t0=border)


def _row(reference: Result, name: str, data: _Data) -> Row:
    estimator, start = method(name), time.perf_counter()
    description = reference.description
    loop = ControlLoop.of(description) if description.loop is not None and Need.LOOP in estimator.needs else None
    problem = Problem(reference.estimate.base, data.fitted, description.prior, loop)
    try:
        problem.require(estimator)
        estimate = estimator.estimate(problem)
        seconds = time.perf_counter() - start
        early = tuple(first for first, _ in data.parts)
        without = estimator.estimate(replace(problem, motions=early)) if early else None
    except (InerticaError, np.linalg.LinAlgError) as error:
        return Row(name, failure=str(error))
    result = replace(reference, estimate=estimate, parameters=_standard(reference, estimate))
    residuals = {"identification": _residual(result, data.fitted)} | {n: _residual(result, [m]) for n, m in data.others.items()}
    if without is not None:
        second = replace(reference, estimate=without, parameters=_standard(reference, without))
        residuals["hold-out"] = _residual(second, [late for _, late in data.parts])
    labels = trust_labels(estimate.base, estimate.beta, estimate.std)
    determined = list(labels.values()).count(DETERMINED)
    return Row(name, residuals, estimate.condition, result.physically_consistent, determined, seconds, estimate.iterations)


def _standard(reference: Result, estimate: Estimate) -> Parameters:
    prior = reference.description.prior
    chi = estimate.chi if estimate.chi is not None else nearest_prior(estimate.base, estimate.beta, prior)
    return Parameters(estimate.base.layout, chi, prior.shapes, "identified")


def _residual(result: Result, motions: Sequence[Motion]) -> Residual:
    description, parameters = result.description, result.parameters
    if len(motions) > 1:
        return joined(description, parameters, motions)
    return validated(description, parameters, motions[0], result.estimate.base.engine)
