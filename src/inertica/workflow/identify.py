"""The main job: from recorded logs to parameters that can be trusted, with nothing to tune."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from inertica.errors import InerticaError
from inertica.robot.description import Description
from inertica.threads import one_thread
from inertica.validation.misfit_words import spring
from inertica.workflow.choice import Say
from inertica.workflow.choose import check, choose
from inertica.workflow.fit import assess, corrected, fit, near_standstill
from inertica.workflow.inputs import Inputs, LogLike, read
from inertica.workflow.judge import Judged, judge
from inertica.workflow.result import Result
from inertica.workflow.settings import Settings


def identify(
    robot: str | Path | Description,
    logs: Sequence[LogLike],
    *,
    validate: Sequence[LogLike] = (),
    settings: Settings | None = None,
    progress: Callable[[str], None] | None = None,
    **fixed: object,
) -> Result:
    """Identify a robot from logs.

    Args:
        robot: catalog name, model file, card, or a description.
        logs: files (with `@t0:t1` slices) or logs; all enter one fit.
        validate: further ones, only predicted.
        settings: what to fix; everything else is chosen by cross-validation on the logs.
        progress: receives one line per step.
        fixed: fields of `Settings` by name, instead of `settings`.

    Examples:
        >>> result = ia.identify("card.yaml", ["run1.csv.gz"], validate=["run2.csv.gz"], quick=True)
        >>> result.physically_consistent
        True
        >>> folder = result.save("identified")
    """
    chosen = settings or Settings(**fixed)  # type: ignore[arg-type]
    say = progress or (lambda _: None)
    return identification(read(robot, logs, validate, chosen, say), say).result


def identification(inputs: Inputs, say: Say) -> Judged:
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
            cause = spring(inputs.logs, inputs.description.robot)  # makes logs look noisy
            if cause and cause.partition(" (")[0] not in str(error):
                error.args = (f"{error}. What may be behind it: {cause}",)
            raise
