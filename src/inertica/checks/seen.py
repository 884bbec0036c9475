"""Logs for jobs without a check of their own: what no job can compute with is refused, what is left out or doubtful is said."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

from inertica.checks.signal_checks import beyond_numbers, spikes
from inertica.errors import InputError, ModelWarning
from inertica.logs.log import Log
from inertica.logs.read import read_log
from inertica.robot.description import Description


def seen(source: Log | str | Path, description: Description | None = None) -> Log:
    """A log, read where it is the name of one; warns of samples that its reader masked and of spikes.

    Raises:
        InputError: positions or torques of a size that cannot be computed with.
    """
    log = source if isinstance(source, Log) else read_log(source, description)
    refuse_sizes(log)
    for sentence in doubts(log):
        warnings.warn(ModelWarning(f"{log.origin}: {sentence}"), stacklevel=2)
    return log


def refuse_sizes(log: Log) -> None:
    """InputError for positions or torques of a size that cannot be computed with."""
    if (wild := beyond_numbers(log)) is not None:
        raise InputError(f"{log.origin}: {wild.text}; {wild.advice}")


def refuse_spikes(log: Log, *symbols: str) -> None:
    """InputError for signals that jump away for a single sample, which jobs that simulate cannot bear."""
    if (spike := spikes(log, symbols)) is not None:
        raise InputError(f"{log.origin}: {spike.text}; {spike.advice}")


def doubts(log: Log) -> Iterator[str]:
    """What its reader masked, and spikes."""
    yield from log.warnings
    if (spike := spikes(log)) is not None:
        yield f"{spike.text}; {spike.advice}"
