"""One unit of work: its runs are simulated side by side, every method is fitted to each, estimates are judged on validation logs."""

from __future__ import annotations

import time
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import groupby
from typing import Any

import numpy as np

from inertica import __version__
from inertica.campaign.bench import Bench, bench
from inertica.campaign.memory import keep_memory, relaxed_gc
from inertica.campaign.plan import Cell, Unit, depends_on_start
from inertica.campaign.rows import SCHEMA, parquet_bytes
from inertica.campaign.spec import Entry, Spec, digest
from inertica.dynamics.batching import BatchClient, Duration, run_batched
from inertica.errors import InerticaError
from inertica.estimators.base import Estimate, Estimator, Need, Problem
from inertica.estimators.intervals import standard_parameters
from inertica.estimators.options import with_options
from inertica.estimators.registry import method
from inertica.identifiability.labels import INTERVAL
from inertica.logs.log import Log
from inertica.physical.check import smallest_margin
from inertica.robot.layout import Parameters
from inertica.threads import one_thread

MAX_CONCURRENT = 16
"""Fits that run concurrently on a processor: twice its 8 lanes, so that few lanes stay idle when some fits request several runs."""

MAX_CONCURRENT_GPU = 512
"""The same on a GPU, which takes as long for one simulation as for thousands."""

MAX_BYTES_GPU = 2**30
"""Bytes of signals of one batch on a GPU.  Later steps there take several times that, and other processes need memory, too."""

ALL = -1
"""Start of a method that does not depend on it: its row stands for all starts."""

FAR = 50.0
"""Times the distance of the start within which an estimate counts as converged (the toolbox's rule)."""

REPORTED = (InerticaError, np.linalg.LinAlgError, ArithmeticError, ValueError)
"""What a method may end with; it becomes a row with a sentence."""


@dataclass(frozen=True, eq=False)
class _Fit:
    """One estimate to come: where it belongs and what it is made of."""

    entry: Entry
    estimator: Estimator
    filter: str
    ratio: int
    run: int
    start: int


@dataclass(frozen=True, eq=False)
class _Outcome:
    """What a fit came to: an estimate, or a sentence that says why there is none; and the time it took."""

    estimate: Estimate | None = None
    error: str | None = None
    duration: Duration = field(default_factory=Duration)


def execute(spec: Mapping[str, Any], unit: Mapping[str, Any], code: str, device: str = "cpu") -> bytes:
    """A unit's rows as a Parquet file; everything plain, so that it can be sent to another process or machine.

    Args:
        spec, unit: their documents.
        code: hash of the program, for the rows.
        device: what simulations are computed on: cpu, cuda or auto.
    """
    rows, names = unit_rows(spec, unit, code, device)
    return parquet_bytes(rows, {"names": names})


def unit_rows(
    spec: Mapping[str, Any], unit: Mapping[str, Any], code: str, device: str = "cpu"
) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """A unit's rows, as `execute` has them, and the names of the base parameters."""
    keep_memory()
    made, work = Spec.of(spec), Unit.of(unit)
    with warnings.catch_warnings(), np.errstate(all="ignore"), one_thread(), relaxed_gc():
        warnings.simplefilter("ignore")
        seen = _bench(_Frozen(digest(spec), made), _Frozen(digest(unit["cell"]), work.cell), device)
        rows = list(_rows(seen, work, {"code": code, "device": device}))
    return rows, seen.base.names


@dataclass(frozen=True)
class _Frozen:
    """A value that is told apart by its hash, for caches."""

    key: str
    value: Any

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Frozen) and self.key == other.key


@lru_cache(maxsize=16)  # conditions come in turn
def _bench(spec: _Frozen, cell: _Frozen, device: str) -> Bench:
    return bench(spec.value, cell.value, device)


def _rows(seen: Bench, unit: Unit, made: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    logs, validation = seen.logs(unit.runs), seen.logs(unit.runs, validation=True)
    common, outcomes = {**_common(seen, unit), **made}, _estimates(seen, unit, logs, on_gpu=made["device"] != "cpu")
    for run, other in zip(unit.runs, validation, strict=True):
        run_outcomes = [(fit, outcome) for fit, outcome in outcomes if fit.run == run]
        good = [outcome.estimate.beta for _, outcome in run_outcomes if outcome.estimate is not None]
        d_q, d_tau = seen.figures(np.array(good), other) if good else (np.zeros(0), np.zeros(0))
        figures = iter(zip(d_q.tolist(), d_tau.tolist(), strict=True))
        for fit, outcome in run_outcomes:
            estimate, duration = outcome.estimate, outcome.duration
            row = {**common, **_place(fit), "seconds": duration.wall, "cpu": duration.cpu, "error": outcome.error}
            row["ok"] = estimate is not None
            if estimate is not None:
                row["d_q"], row["d_tau"] = next(figures)
                row |= _judged(seen, estimate, _prior(seen, fit.start))
            yield {name: row.get(name) for name in SCHEMA}


def _fits(spec: Spec, robot: str, run: int) -> Iterator[_Fit]:
    """Every fit that a unit's run calls for; those that share a prepared motion come one after the other."""
    made = [(entry, with_options(method(entry.method), entry.options)) for entry in spec.methods]
    for ratio in spec.ratios(robot):
        for chosen in dict.fromkeys(name for entry in spec.methods for name in entry.filters):  # these share a motion
            for entry, estimator in made:
                starts = range(max(spec.starts, 1)) if depends_on_start(estimator) else (ALL,)
                for start in starts if chosen in entry.filters else ():
                    yield _Fit(entry, estimator, chosen, ratio, run, start)


def _estimates(seen: Bench, unit: Unit, logs: Sequence[Log], on_gpu: bool) -> list[tuple[_Fit, _Outcome]]:
    """Every fit of a unit with what it came to; those that simulate go side by side, from all starts and runs."""
    outcomes: dict[_Fit, _Outcome] = {}
    simulating: list[tuple[_Fit, Problem]] = []
    for run, log in zip(unit.runs, logs, strict=True):
        fits = _fits(seen.spec, unit.cell.robot, run)
        for (chosen, ratio), members in groupby(fits, key=lambda fit: (fit.filter, fit.ratio)):
            try:
                motion = seen.motion(log, chosen, ratio)
                problem = Problem(seen.base, (motion,), noise=seen.levels(motion))
            except REPORTED as error:
                outcomes |= {fit: _Outcome(error=_sentence(error)) for fit in members}
                continue
            for fit in members:
                problem = problem.with_prior(_prior(seen, fit.start))
                outcomes[fit] = _Outcome()  # its place in the order
                if Need.LOOP in fit.estimator.needs:
                    simulating.append((fit, replace(problem, loop=seen.loop, references=(seen.trajectories[0],))))
                    continue
                begun = time.perf_counter(), time.process_time()
                outcome = _estimated(fit, problem, seen.spec)
                duration = Duration(time.perf_counter() - begun[0], time.process_time() - begun[1])
                outcomes[fit] = replace(outcome, duration=duration)
    jobs = (partial(_estimated_in_batch, fit, job_problem, seen.spec) for fit, job_problem in simulating)
    max_concurrent, max_bytes = (MAX_CONCURRENT_GPU, MAX_BYTES_GPU) if on_gpu else (MAX_CONCURRENT, np.inf)
    for number, outcome, duration in run_batched(jobs, max_concurrent, max_bytes=max_bytes):
        outcomes[simulating[number][0]] = replace(outcome, duration=duration)
    return list(outcomes.items())


def _estimated_in_batch(fit: _Fit, problem: Problem, spec: Spec, batch: BatchClient) -> _Outcome:
    return _estimated(fit, problem.with_batch(batch), spec)


def _estimated(fit: _Fit, problem: Problem, spec: Spec) -> _Outcome:
    try:
        estimate = fit.estimator.estimate(problem, _random(spec, fit))
    except REPORTED as error:
        return _Outcome(error=_sentence(error))
    if not np.isfinite(estimate.beta).all():
        return _Outcome(error="the method found parameters that are no numbers")
    if estimate.failed:
        return _Outcome(error=estimate.stop_reason)
    return _Outcome(replace(estimate, evidence=None))  # which would keep the rows of every fit until the unit ends


def _sentence(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _prior(seen: Bench, start: int) -> Parameters:
    return seen.starts[max(start, 0)]


def _random(spec: Spec, fit: _Fit) -> np.random.Generator:
    """Random numbers of a fit, whatever is fitted beside it."""
    word = zlib.crc32(f"{fit.entry.label}/{fit.filter}/{fit.ratio}".encode())
    return np.random.default_rng([spec.seed, fit.run, fit.start + 1, word])


def _place(fit: _Fit) -> dict[str, Any]:
    return {
        "decimate": fit.ratio,
        "filter": fit.filter,
        "method": fit.entry.label,
        "run": fit.run,
        "start": fit.start,
    }


def _common(seen: Bench, unit: Unit) -> dict[str, Any]:
    cell: Cell = unit.cell
    return {
        "unit": unit.id,
        "robot": seen.description.name,
        "loop": cell.loop.name,
        "noise": cell.noise.name,
        "distribution": cell.distribution,
        "quantise": cell.quantise,
        "truth": seen.truth.tolist(),
        "version": __version__,
        "spec": seen.spec.digest,
        "robot_hash": robot_hash(seen),
    }


def robot_hash(seen: Bench) -> str:
    """Of the robot as it is identified: parameters by name and value, geometry, loop."""
    d = seen.description
    joints = [repr(j) for j in d.robot.joints]
    loop = {k: np.asarray(v).tolist() for k, v in seen.loop.all_gains.items()}
    return digest([list(d.layout.names), d.prior.values.tolist(), joints, loop])


def _judged(seen: Bench, estimate: Estimate, prior: Parameters) -> dict[str, Any]:
    """What is known of an estimate when the truth is known."""
    beta, truth, std = estimate.beta, seen.truth, estimate.std
    error, size = np.abs(beta - truth), np.abs(beta) + np.abs(truth)
    away = float(np.linalg.norm(seen.base.beta(prior.values) - truth))
    known = np.isfinite(std) & (std > 0.0)
    chi = standard_parameters(estimate, replace(prior, values=np.array(prior.values)))
    distance = float(np.linalg.norm(error))
    return {
        "beta": beta.tolist(),
        "std": np.where(known, std, np.nan).tolist(),
        "d_beta": float(2.0 / len(beta) * np.sum(np.divide(error, size, out=np.zeros_like(error), where=size > 0.0))),
        "d_par": distance / max(float(np.linalg.norm(truth)), 1e-300),
        "distance": distance,
        "start_distance": away,
        "iterations": estimate.iterations,
        "simulations": estimate.simulations,
        "stop_reason": estimate.stop_reason,
        "converged": bool(distance <= FAR * away) if away > 0.0 else True,
        "covered": float(np.mean(error[known] <= INTERVAL * std[known])) if known.any() else None,
        "margin": smallest_margin(Parameters(estimate.base.layout, chi, prior.shapes)),
    }
