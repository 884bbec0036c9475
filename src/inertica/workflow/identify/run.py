"""The main job: from recorded logs to parameters that can be trusted, with nothing to tune."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from inertica.checks.gate import CheckError
from inertica.errors import InerticaError
from inertica.robot.description import Description
from inertica.threads import one_thread
from inertica.validation.misfit_words import elastic_drive
from inertica.workflow.identify.choice import Say
from inertica.workflow.identify.choose import check, choose
from inertica.workflow.identify.fit import assess, corrected, fit, near_standstill
from inertica.workflow.identify.inputs import Inputs, LogLike, read
from inertica.workflow.identify.judge import judge
from inertica.workflow.identify.result import Identification
from inertica.workflow.identify.settings import Settings


def identify(
    robot: str | Path | Description,
    logs: Sequence[LogLike],
    *,
    validate: Sequence[LogLike] = (),
    settings: Settings | None = None,
    progress: Callable[[str], None] | None = None,
    command: str = "",
    **fixed: object,
) -> Identification:
    """Identify a robot from logs.

    Args:
        robot: catalog name, model file, card, or a description.
        logs: files (with `@t0:t1` slices) or logs; all enter one fit.
        validate: further ones, only predicted.
        settings: what to fix; everything else is chosen by cross-validation on the logs.
        progress: receives one line per step.
        command: the command line that asked for it, kept with the result.
        fixed: fields of `Settings` by name, instead of `settings`.

    Examples:
        >>> result = ia.identify("card.yaml", ["run1.csv.gz"], validate=["run2.csv.gz"], quick=True)
        >>> result.physically_consistent
        True
        >>> folder = result.save("identified")
    """
    say = progress or (lambda _: None)
    inputs = read(robot, logs, validate, settings or Settings(**fixed), say)  # type: ignore[arg-type]
    return identification(replace(inputs, command=command), say)


def identification(inputs: Inputs, say: Say) -> Identification:
    """Check, choose, fit and judge what was read."""
    with working_on(inputs):
        chosen = choose(check(inputs, say), say)
        return judge(near_standstill(assess(corrected(fit(chosen, chosen.estimator, say), say), say), say), say)


@contextmanager
def working_on(inputs: Inputs) -> Iterator[None]:
    """Small factorisations throughout, which a second BLAS thread would only get in the way of; errors say what is behind them."""
    with one_thread():
        try:
            yield
        except InerticaError as error:
            drive = elastic_drive(inputs.logs, inputs.description.robot)  # makes logs look noisy
            stated = isinstance(error, CheckError) and any(f.name == "elasticity" for f in error.report.problems)
            if drive is not None and not stated:
                error.args = (f"{error}. What may be behind it: {drive.symptom}; {drive.remedy}",)
            raise
