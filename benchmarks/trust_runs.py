"""One run of trust.py: `inertica identify` on a simulated log, and what it states beside the truth.

The command runs inside this process, so that imports and kernels are paid once; its JSON document is what is judged.  The `Result`
behind the document is caught on its way through the command for what the document does not hold: the matrix that makes base parameters
of standard ones, shapes of friction laws, and the model that predicts.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from trust_experiments import Cache, Row, Truth
from trust_oracle import oracle_stds

from inertica.cli import identify as identify_command
from inertica.cli.main import main as command
from inertica.identifiability.labels import INTERVAL
from inertica.logs.read import read_log
from inertica.robot.friction import Offset, friction_terms
from inertica.robot.terms import State, Term
from inertica.workflow.identify.result import Result

Array = NDArray[np.float64]
Record = dict[str, Any]
Key = tuple[str, str, int, str, str]
"""Tag, row, run, loop, defect."""

EQUIVALENT = 0.02
"""A wrong law counts as good enough when its error on fresh motion exceeds the true law's by at most this share of the torque."""

DRIVING = 1e-9
"""Friction that drives by less, relative to the joint's largest friction, is rounding."""


@dataclass(frozen=True)
class Job:
    """What is to be run."""

    tag: str
    row: Row
    run: int
    loop: str
    defect: str = ""
    oracle: bool = False

    @property
    def key(self) -> Key:
        return self.tag, self.row.name, self.run, self.loop, self.defect


@dataclass(frozen=True)
class Answer:
    """What the command returned."""

    code: int
    document: dict[str, Any]
    said: str
    seconds: float
    result: Result | None


def identified(*words: str | Path) -> Answer:
    """`inertica identify ... --json`."""
    out, said = io.StringIO(), io.StringIO()
    start = time.perf_counter()
    with _caught() as results, contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
        code = command(["identify", *map(str, words), "--json"])
    seconds = time.perf_counter() - start
    document = json.loads(out.getvalue()) if out.getvalue() else {}
    return Answer(code, document, said.getvalue().strip(), seconds, results[-1] if results else None)


@contextlib.contextmanager
def _caught() -> Iterator[list[Result]]:
    """The results that pass through the command."""
    results: list[Result] = []
    original = identify_command.identify

    def passing(*arguments: Any, **options: Any) -> Result:
        results.append(original(*arguments, **options))
        return results[-1]

    identify_command.identify = passing
    try:
        yield results
    finally:
        identify_command.identify = original


def simulated(job: Job, folder: Path) -> None:
    """Make everything a job needs that is not on disk yet."""
    cache = Cache(folder)
    law, _, other = cache.world(job.row.robot).plan(job.run)
    cache.log(job.row, job.run, job.defect)
    cache.fresh(job.row.robot, law, other)


def run(job: Job, folder: Path) -> Record:
    """Identify, and compare with the truth."""
    cache = Cache(folder)
    world = cache.world(job.row.robot)
    law, motion, other = world.plan(job.run)
    truth, fresh = cache.truth(job.row.robot, law), cache.fresh(job.row.robot, law, other)
    answer = identified(cache.card(job.row, job.run, job.loop), cache.log(job.row, job.run, job.defect))
    record: Record = {
        "tag": job.tag, "row": job.row.name, "run": job.run, "loop": job.loop, "defect": job.defect, "law": law, "motion": motion,
        "code": answer.code, "seconds": round(answer.seconds, 3),
    }  # fmt: skip
    document, result = answer.document, answer.result
    if answer.code or result is None or "parameters" not in document:
        return record | {"said": answer.said[-500:]}
    record |= {
        "method": document["method"],
        "verdict": document["verdict"],
        "choices": {c["subject"]: c["value"] for c in document["choices"]},
        "warnings": document["warnings"],
        "stages": {stage: round(s, 3) for stage, s in document["time"].items()},
        "parameters": [_stated(p, truth.value(p["name"])) for p in document["parameters"]],
        "base": _base(document, result, truth),
        "drives": driving(result, np.abs(fresh["dq"]).max(axis=0)),
    }
    found = pieces(result)
    errors = fresh_errors(result, fresh)
    right = [set(a) == set(b) for a, b in zip(found, truth.pieces, strict=True)]
    best: list[float | None] = [None] * len(errors)
    if any(not r and e > EQUIVALENT for r, e in zip(right, errors, strict=True)):
        best = _true_law_errors(job, cache, truth.stated(world.vs), fresh)
    if job.oracle:
        card = cache.card(job.row, job.run, "known", truth.stated(world.vs))
        stds = oracle_stds(card, read_log(cache.log(job.row, job.run)), result.recipe, truth)
        record["oracle"] = {name: _short(std) for name, std in stds.items()}
    record["friction"] = [
        {"true": " ".join(t), "chosen": " ".join(c), "error": _short(e), "true_law_error": _short(b)}
        for t, c, e, b in zip(truth.pieces, found, errors, best, strict=True)
    ]
    return record


def good_enough(joint: dict[str, Any]) -> bool:
    """Whether the law of a joint is the true one, or predicts fresh motion nearly as well as the true one fitted to the same log."""
    return joint["true"] == joint["chosen"] or joint["error"] <= EQUIVALENT + (joint["true_law_error"] or 0.0)


def pieces(result: Result) -> list[tuple[str, ...]]:
    """Symbols of the friction of every joint, in the order Fv, Fc, off, dFs, others; Fcp and Fcn are Fc and off."""
    out: list[set[str]] = [set() for _ in result.description.robot.joints]
    shapes_only = {"mu"}  # a share of the load is a part of the law even where it is a shape
    for term in friction_terms(result.description.layout.terms):
        assert term.joint is not None
        names = [p.name for p in term.parameters] + [s.name for s in term.shapes]
        symbols = {name.rstrip("0123456789") for name in names[: len(term.parameters)]}
        symbols |= {name.rstrip("0123456789") for name in names} & shapes_only
        out[term.joint] |= symbols - {"Fcp", "Fcn"} | ({"Fc", "off"} if "Fcp" in symbols else set())
    order = {symbol: k for k, symbol in enumerate(("Fv", "Fc", "off", "dFs", "mu"))}
    return [tuple(sorted(own, key=lambda s: (order.get(s, 9), s))) for own in out]


def fresh_errors(result: Result | None, fresh: dict[str, Array]) -> list[float]:
    """Per joint |predicted - true torque| / |true torque| on a noise-free motion."""
    assert result is not None
    predicted = result.estimate.base.engine.inverse_dynamics(fresh["q"], fresh["dq"], fresh["ddq"], result.parameters)
    tau = fresh["tau"]
    return [float(x) for x in np.linalg.norm(predicted - tau, axis=0) / np.linalg.norm(tau, axis=0)]


def driving(result: Result, fastest: Array) -> list[int]:
    """1-based joints whose identified friction, offsets apart, drives at some speed up to the fastest of the motion.

    An offset is a constant torque (a sensor's, a cable's) that drives one way and brakes the other whatever friction is.
    """
    terms = [t for t in friction_terms(result.description.layout.terms) if not isinstance(t, Offset)]
    chi = dict(zip(result.parameters.layout.names, result.parameters.values, strict=True))
    shapes = dict(zip((s.name for s in result.parameters.layout.shapes), result.parameters.shapes, strict=True))
    out = []
    for j, top in enumerate(fastest):
        own = [t for t in terms if t.joint == j]
        v = np.concatenate([-np.geomspace(1e-4, 1.0, 200)[::-1], np.geomspace(1e-4, 1.0, 200)]) * top
        curves = [_friction(own, j, v, load, len(fastest), chi, shapes) for load in (0.0, 1.0, 100.0)]
        if any(np.any(F * np.sign(v) < -DRIVING * max(1e-12, np.abs(F).max())) for F in curves):
            out.append(j + 1)
    return out


def _friction(
    terms: Sequence[Term], j: int, v: Array, load: float, n: int, chi: dict[str, float], shapes: dict[str, float]
) -> Array:
    rest = np.zeros_like(v)
    state = State([rest] * n, [v if i == j else rest for i in range(n)], [rest] * n, shapes, (), [load + rest] * n)
    total = np.zeros_like(v)
    for term in terms:
        for parameter, column in zip(term.parameters, term.columns(state), strict=True):
            total = total + chi[parameter.name] * column.get(j, 0.0)
        total = total + term.torque(state).get(j, 0.0)
    return total


def _stated(p: dict[str, Any], truth: float) -> list[Any]:
    """name, truth, value, lower and upper end (None: infinite), label."""
    low, high = p["interval"]
    return [p["name"], _short(truth), _short(p["value"]), _short(low), _short(high), p["label"]]


def _base(document: dict[str, Any], result: Result, truth: Truth) -> list[list[Any]]:
    """name, truth, value, std, lower and upper end; those without a finite interval are left out."""
    base = result.estimate.base
    true = dict(zip(base.names, base.beta([truth.value(name) for name in base.layout.names]), strict=True))
    out = []
    for b in document["base"]:
        interval = b.get("interval")
        if interval is None and b["std"] is not None:
            interval = [b["value"] - INTERVAL * b["std"], b["value"] + INTERVAL * b["std"]]
        if interval is not None and None not in interval:
            out.append([b["name"], *map(_short, (true[b["name"]], b["value"], b["std"], *interval))])
    return out


def _true_law_errors(job: Job, cache: Cache, friction: dict[int, list[Any]], fresh: dict[str, Array]) -> list[float | None]:
    """What the true law, stated in the card, reaches on the same log; None where it cannot be fitted.

    Fitted without the loop, once for all records of a run and tag.
    """
    path = cache.kept(job.row, job.run, f"true_law_{job.tag}{job.defect}.json")
    if not path.is_file():
        card = cache.card(job.row, job.run, "unknown", friction)
        answer = identified(card, cache.log(job.row, job.run, job.defect), *(["--quick"] if _has_quick() else []))
        failed = answer.code or answer.result is None
        errors = [None] * fresh["q"].shape[1] if failed else fresh_errors(answer.result, fresh)
        path.write_text(json.dumps(errors))
    errors_kept: list[float | None] = json.loads(path.read_text())
    return errors_kept


def _has_quick() -> bool:
    parser = argparse.ArgumentParser()
    identify_command.add(parser)
    return "--quick" in parser.format_help()


def _short(x: float | None) -> float | None:
    return None if x is None or not math.isfinite(x) else float(f"{x:.10g}")
