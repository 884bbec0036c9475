"""Coverage of the intervals of `inertica payload`: how often they hold the ten parameters of a simulated load.

    python benchmarks/payload.py [--robots tx40 rv2sq panda7] [--runs 200] [--first 0] [--loop known unknown] [--store FILE]

Every run draws loads (mass, centre up to 12 cm from the flange, inertia of a box), simulates the robot without and with each in its
control loop with the catalog's standard noise, and hands the logs to `payload` with a model whose links, drives and friction are off
by tens of percent (15 % in the metric of each link) and whose friction laws are not stated.  Robots follow each other, then known and
unknown loops, then the same motion with and without load and different ones.  Rows:

    usual             load of 10 % of the arm's mass, records without and with load
    light             load of 2 % of the arm's mass, likewise
    usual, result     the same loaded records, the robot taken from a result of `identify` with all defaults
    light, result
    usual, online     the same result, the loaded record sample by sample (`payload --online`), at its end; only with --known online
    light, online

Rows of a run share the record without load and the model; what the same functions would work out again from the same logs is worked
out once, which gives the same numbers.  A row passes when 92 to 98 % of the ten times `runs` intervals hold the truth; runs that end
in an error are counted.  `mass` is the median error of the mass in percent.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from held_runs import HEAD, add_runs, made_runs, shares
from numpy.typing import NDArray

import inertica as ia
from inertica.checks.gate import Report
from inertica.dynamics.engine import Engine
from inertica.estimators.intervals import noise_intervals
from inertica.experiment import Experiment
from inertica.logs.log import Log
from inertica.robot import inertia
from inertica.robot.description import Description
from inertica.robot.layout import Parameters
from inertica.validation.lack_of_fit import LackOfFit
from inertica.workflow.identify import choose as stages
from inertica.workflow.identify import judge
from inertica.workflow.payload.online import payload_while_moving
from inertica.workflow.payload.payload import payload
from inertica.workflow.payload.payload import payload as job
from inertica.workflow.payload.result import Payload

Array = NDArray[np.float64]

SHARES = {"usual": 0.10, "light": 0.02}
SPREAD = 0.15
REACH = 0.12
FRAME = (0.0, 0.0, 0.0)
KNOWN = ("records", "result", "online")
CHECKED = True


def drawn_load(rng: np.random.Generator, mass: float) -> Array:
    """A box somewhere near the flange."""
    com = rng.uniform(-REACH, REACH, 3)
    sides = rng.uniform(0.04, 0.25, 3) ** 2
    box = np.diag(mass / 12.0 * (sides.sum() - sides))
    Q, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    return inertia.from_com(mass, com, Q @ box @ Q.T)


def wrong_model(description: Description, rng: np.random.Generator) -> Description:
    """Other values of links, drives and friction; friction laws are not stated."""
    values = np.array(description.prior.values)
    for _, where in description.layout.bodies:
        L = np.linalg.cholesky(inertia.pseudo_inertia(values[where]))
        A = L @ (np.eye(4) + SPREAD * rng.standard_normal((4, 4)))
        values[where] = inertia.from_pseudo_inertia(A @ A.T)
    for _, where in description.layout.drives:
        values[where] *= np.exp(2.0 * SPREAD * rng.standard_normal(where.stop - where.start))
    return replace(description, prior=description.prior.with_values(values), friction_stated=False)


@cache
def robot(name: str) -> tuple[Description, Experiment, tuple[str, ...]]:
    description = ia.load(name)
    kinds = tuple(k for k in ("identification", "validation", "comparison1", "comparison2") if _has(name, k))
    return description, Experiment.of(description, friction="viscous_coulomb", noise="standard", threads=1), kinds


def _has(name: str, kind: str) -> bool:
    try:
        ia.catalog_trajectory(name, kind)
    except ia.InputError:
        return False
    return True


def logs(name: str, loads: Sequence[Array], run: int, pair: int) -> tuple[Log, list[Log]]:
    """Without, and with each load; every other pair along another motion."""
    description, empty, kinds = robot(name)
    own = kinds[pair % len(kinds)]
    other = own if pair % 2 == 0 else kinds[(pair + 1) % len(kinds)]
    first = empty.run(ia.catalog_trajectory(name, own).trajectory, seed=7, first_run=3 * run)[0]
    carried = []
    for k, load in enumerate(loads, 1):
        values = np.array(empty.truth.values)
        values[empty.truth.layout.link(description.robot.n - 1)] += load
        full = replace(empty, truth=Parameters(empty.truth.layout, values, empty.truth.shapes, "with load"))
        carried.append(full.run(ia.catalog_trajectory(name, other).trajectory, seed=7, first_run=3 * run + k)[0])
    return first, carried


def one(
    name: str, run: int, loop: str, pair: int, kinds: Sequence[str], known: Sequence[str] = KNOWN
) -> dict[str, dict[str, Any]]:
    """Row -> which of the ten intervals hold, and the relative error of the mass; or the sentence that a run ended in."""
    rng = np.random.default_rng([run, 14])
    description, _, _ = robot(name)
    arm = sum(float(description.prior.values[where][9]) for _, where in description.layout.bodies)
    model = wrong_model(description, rng)
    loads = [drawn_load(rng, SHARES[kind] * arm) for kind in kinds]
    without, carried = logs(name, loads, run, pair)
    if loop == "unknown":
        model = replace(model, loop=None)
    out = {}
    with asked_once():
        for kind, load, with_load in zip(kinds, loads, carried, strict=True):
            if "records" in known:
                out[kind] = outcome(load, with_load, lambda: {"robot": model, "unloaded": [without]})
            if "result" in known:
                out[f"{kind}, result"] = outcome(load, with_load, lambda: {"robot_from": job.identify(model, [without])})
            if "online" in known:
                out[f"{kind}, online"] = outcome(load, with_load, lambda: {"robot_from": job.identify(model, [without])}, online)
    return out


def batch(log: Log, **known: Any) -> Payload:
    return payload(loaded=[log], frame=FRAME, **known)


def online(log: Log, **known: Any) -> Payload:
    *_, last = payload_while_moving(loaded=log, frame=FRAME, every=np.inf, **known)
    return last.payload


def outcome(load: Array, log: Log, known: Callable[[], dict[str, Any]], call: Callable[..., Payload] = batch) -> dict[str, Any]:
    """Of one call; `known` is what is known of the robot."""
    try:
        found = call(log, **known())
    except ia.InerticaError as error:
        return {"failed": str(error)}
    inside = [None if np.isnan(x) else bool(x) for x in held(found, load)]
    z = (found.values - load) / found.std
    return {"held": inside, "mass": float(found["M"] / load[9] - 1.0), "z": [float(x) for x in np.nan_to_num(z)]}


@contextmanager
def asked_once() -> Iterator[None]:
    """Whatever is asked again with the same robot about the same logs is answered from memory: `identify`, and inside it and
    `payload` the check of a log, and the choices made on the log without load."""
    known, kept = dict[Any, Any](), list[tuple[Any, str, Any]]()

    def remember(module: Any, name: str, key: Callable[..., Any]) -> None:
        asked = getattr(module, name)
        kept.append((module, name, asked))

        def answer(*given: Any, **named: Any) -> Any:
            own = (name, key(*given, **named))
            if own not in known:
                known[own] = asked(*given, **named)
            return known[own]

        setattr(module, name, answer)

    remember(job, "identify", lambda robot, logs, settings=None, progress=None: settings is not None and settings.quick)
    for module in (job, stages) if CHECKED else ():
        remember(module, "admitted", lambda d, logs, **named: (_same(d), *map(id, logs), named["force"]))
    for name in ("choose_filter", "choose_delay", "choose_mount"):
        remember(stages, name, lambda d, *rest, **named: _same(d))
    remember(stages, "_friction", lambda inputs, d, *rest: _same(d))
    try:
        yield
    finally:
        for module, name, asked in reversed(kept):
            setattr(module, name, asked)


def _same(d: Description) -> tuple[Any, ...]:
    """By which robots are told apart."""
    return d.layout, d.prior.values.tobytes(), tuple(d.prior.shapes), d.friction_stated, d.loop is None, d.gravity_given


def held(found: Payload, load: Array) -> Array:
    known = np.isfinite(found.std)
    inside = (found.intervals[:, 0] <= load) & (load <= found.intervals[:, 1])
    return np.where(known, inside, np.nan)


def kernels_kept() -> None:
    """Kernels of equal layouts are traced once in this process, not once for every call: the same functions, sooner."""
    entries, kernel, known = Engine._entries, Engine._kernel, dict[Any, Any]()

    def kept(make: Callable[..., Any]) -> Callable[..., Any]:
        def found(self: Engine, name: str, *rest: Any) -> Any:
            key = (make.__name__, name, self.layout, self.threads)
            if key not in known:
                known[key] = make(self, name, *rest)
            return known[key]

        return found

    Engine._entries, Engine._kernel = kept(entries), kept(kernel)  # type: ignore[method-assign]


def unchecked() -> None:
    """Leave the check of the logs out, which refuses logs or lets them through, and of `identify` what no load is worked out from:
    residuals, intervals of standard parameters and tests of the fit.  Neither changes a number."""
    global CHECKED
    CHECKED = False
    for module in (job, stages):
        module.admitted = lambda d, logs, **_: Report(d.name, tuple(str(x.origin) for x in logs), ())  # type: ignore[attr-defined]
    judge.residuals_of = lambda fitted, motions, say: {}
    judge.with_survey_figures = lambda fitted, residuals: {}
    judge._intervals = lambda fitted: (noise_intervals(fitted.estimate, fitted.chosen.description.prior), [])
    judge._lack_of_fit = lambda fitted: LackOfFit(())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_runs(parser, ["tx40", "rv2sq", "panda7"], 200)
    parser.add_argument("--kinds", nargs="+", default=list(SHARES), choices=list(SHARES))
    parser.add_argument("--known", nargs="+", default=["records", "result"], choices=KNOWN, help="what the robot is known by")
    parser.add_argument("--loop", nargs="+", default=["known", "unknown"], choices=["known", "unknown"], help="taken in turn")
    parser.add_argument("--unchecked", action="store_true", help="leave out what changes no number: check, residuals")
    arguments = parser.parse_args()
    kernels_kept()
    if arguments.unchecked:
        unchecked()
    several, loops = len(arguments.robots), arguments.loop

    def run_one(run: int, name: str) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        loop = loops[run // several % len(loops)]
        return {"loop": loop}, one(name, run, loop, run // (several * len(loops)), arguments.kinds, arguments.known)

    show(made_runs(arguments, run_one))


def show(records: list[dict[str, Any]]) -> None:
    """Tables of all records, and by robot and loop."""
    print(f"{HEAD} {'mass %':>7}  " + " ".join(f"{n:>4}" for n in inertia.NAMES))
    for _, own, line in shares(records, "robot", "loop"):
        x = np.array([[np.nan if v is None else float(v) for v in r["held"]] for r in own]).reshape(-1, 10)
        each = " ".join(f"{100 * v:4.0f}" for v in np.nanmean(x, axis=0))
        print(f"{line} {100 * np.median(np.abs([r['mass'] for r in own])):7.2f}  {each}")


if __name__ == "__main__":
    main()
