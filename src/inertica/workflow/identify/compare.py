"""Several methods on the same logs: filter, delay and friction are chosen once, so that only the methods differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from inertica.errors import InerticaError
from inertica.estimators.base import Estimator
from inertica.estimators.registry import METHODS, method
from inertica.identifiability.labels import DETERMINED, trust_labels
from inertica.robot.description import Description
from inertica.validation.residuals import Residual
from inertica.workflow.identify.choice import Say
from inertica.workflow.identify.choose import Chosen, check, choose
from inertica.workflow.identify.fit import assess, fit, near_standstill
from inertica.workflow.identify.inputs import LogLike, numbered, read
from inertica.workflow.identify.judge import judge, residuals_of
from inertica.workflow.identify.result import Identification, is_possible
from inertica.workflow.identify.run import working_on
from inertica.workflow.identify.settings import Settings, prepared_method

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


@dataclass(frozen=True, eq=False)
class Comparison:
    """Rows in the order asked for, and the result whose choices they share."""

    reference: Identification
    rows: tuple[Row, ...]


def compare(
    robot: str | Path | Description,
    logs: Sequence[LogLike],
    methods: Sequence[str | Estimator] | None = None,
    *,
    validate: Sequence[LogLike] = (),
    settings: Settings | None = None,
    progress: Callable[[str], None] | None = None,
) -> Comparison:
    """Fit the same logs by several methods.

    Args:
        robot: catalog name, model file, card, or a description.
        logs: files (with `@t0:t1` slices) or logs; all enter one fit.
        methods: methods or their names; all that there are by default.
        validate: further logs, only predicted; without any, every method is fitted again without a fifth of the moving data.
        settings: what to fix; its method does not matter.
        progress: receives one line per step.

    Logs without position are compared by methods that simulate the control loop; the others say what they lack.

    Examples:
        >>> compared = ia.compare("card.yaml", ["run1.csv.gz"], ["ols", "wls"])
        >>> [row.method for row in compared.rows]
        ['ols', 'wls']
    """
    say = progress or (lambda _: None)
    wanted = list(methods or METHODS)
    wanted = [m for k, m in enumerate(wanted) if not (isinstance(m, str) and m in wanted[:k])]
    named = numbered([m if isinstance(m, str) else m.name for m in wanted], wanted)
    for each in wanted:
        method(each)
    common = replace(settings or Settings(), method=WITHOUT_POSITION, quick=True)
    inputs = read(robot, logs, validate, common, say)
    if not inputs.torque_only:
        inputs = replace(inputs, settings=replace(common, method=REFERENCE))
    with working_on(inputs):
        chosen = choose(check(inputs, say), say)
        reference = judge(near_standstill(assess(fit(chosen, chosen.estimator, say), say), say), say)
        rows = tuple(_row(name, chosen, each, say) for name, each in named.items())
    return Comparison(reference, rows)


def _row(name: str, chosen: Chosen, wanted: str | Estimator, say: Say) -> Row:
    estimator = prepared_method(wanted, chosen.description)
    try:
        fitted = near_standstill(fit(chosen, estimator, say), say)
        residuals = residuals_of(fitted, chosen.motions(fitted.estimate), say)
        stated = assess(fitted, say).estimate
    except (InerticaError, np.linalg.LinAlgError) as error:
        return Row(name, failure=str(error))
    labels = trust_labels(stated.base, stated.beta, stated.std)
    determined, e, seconds = list(labels.values()).count(DETERMINED), fitted.estimate, fitted.notes.time["fit"]
    return Row(name, residuals, e.condition, is_possible(fitted.parameters), determined, seconds, e.iterations)
