"""Lack of fit: how often errors of the model are found and named, and how often a right model is suspected.

    python benchmarks/lack_of_fit.py [--robot scara4 tx40 panda7] [--effect clean drift ...] [--runs 8] [--first 0] [--out runs.jsonl]
    python benchmarks/lack_of_fit.py --defaults ...        # every automatic choice of `identify`, which takes longer

Every run simulates an experiment with the catalog's noise, adds one error that the model does not have, identifies it with a prior
that is off by about 20 %, and asks `identify` what the residuals show.  Unless `--defaults` is given, friction law, cut-off, delay and
method (irls: the tests do not depend on the method, and this one is fast) are stated.  Runs alternate between the catalog's excitation
and its validation trajectory where there is one.  Where `identify` stops, elasticity counts as named when the sentence says so.
Finished runs are appended to `--out` and not repeated.

effects
    clean                  none
    drift                  viscous and Coulomb friction fall by 20 % over the record
    elastic                position measured beyond a spring that gives by 5 mrad (mm) at the largest torque; the loop holds the link
    ripple, ripple-small   torque ripples with position, 40 times a turn, by 5 % (1 %) of its standard deviation
    soft                   springs of 5 mrad (mm) inside the loop, which holds the motors
    hysteresis             of the torque sensor, 5 % of the range
    lean                   of the base, 1 degree
    length                 between two joints 3 % longer than stated
    stribeck, load         friction of the simulated robot follows another law than viscous and Coulomb, which the card states
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from effects import (
    stretched,
    tilted,
    with_elasticity,
    with_friction_drift,
    with_ripple,
    with_soft_drives,
)

import inertica as ia
from inertica.experiment import Experiment
from inertica.logs.log import Log
from inertica.robot.description import Description

CUTOFFS = {"tx40": 15.0, "scara4": 15.0, "panda7": 10.0, "rv2sq": 15.0}
NAMES = {
    "drift": "time", "elastic": "elasticity", "ripple": "position", "ripple-small": "position", "soft": "elasticity",
    "hysteresis": "reversal", "lean": "tilt", "length": "length", "stribeck": "velocity", "load": "load",
}  # fmt: skip
"""Effect -> the family that should name it."""

EFFECTS = ("clean", *NAMES)


@dataclass(frozen=True)
class Run:
    """One experiment: what was done, and the families that `identify` named, the likeliest first."""

    robot: str
    preset: str
    effect: str
    run: int
    defaults: bool
    named: tuple[str, ...]
    tested: int
    seconds: float
    p: dict[str, float]


def recorded(description: Description, preset: str, effect: str, run: int) -> Log:
    """The log of one run."""
    robot = {"lean": lambda d: tilted(d, 1.0), "length": lambda d: stretched(d, 0.03)}.get(effect, lambda d: d)(description)
    law = effect if effect in ("stribeck", "load") else None
    experiment = Experiment.of(robot, friction=law, noise=None if preset == "none" else preset, threads=1)
    if effect == "hysteresis":
        experiment = replace(experiment, sensors=replace(experiment.sensors, hysteresis=0.05))
    log = experiment.run(motion(description.name, run), seed=1000 * EFFECTS.index(effect) + run)[0]
    added: dict[str, Callable[[Log], Log]] = {
        "drift": lambda x: with_friction_drift(x, description.prior),
        "elastic": with_elasticity,
        "ripple": lambda x: with_ripple(x, 0.05),
        "ripple-small": lambda x: with_ripple(x, 0.01),
        "soft": lambda x: with_soft_drives(x, description.prior),
    }
    return added.get(effect, lambda x: x)(log)


def motion(robot: str, run: int) -> ia.Trajectory:
    """The catalog's trajectories in turn."""
    kind = "validation" if run % 2 and robot in ("tx40", "scara4", "panda7", "rv2sq") else None
    return (ia.catalog_trajectory(robot) if kind is None else ia.catalog_trajectory(robot, kind)).trajectory


def known_badly(description: Description, run: int) -> Description:
    """The robot with prior values off by about 20 %: every link and every drive by a factor of its own."""
    rng, values = np.random.default_rng([run, 20]), np.array(description.prior.values)
    for _, where in (*description.layout.bodies, *description.layout.drives):
        values[where] *= np.exp(0.2 * rng.standard_normal())
    return replace(description, prior=description.prior.with_values(values, origin="20 % off"))


def one_run(robot: str, preset: str, effect: str, run: int, defaults: bool) -> Run:
    description = ia.load(robot)
    log = recorded(description, preset, effect, run)
    stated = {} if defaults else {"method": "irls", "cutoff": CUTOFFS[robot], "delay": 0.0}
    try:
        result = ia.identify(known_badly(description, run), [log], **stated)  # type: ignore[arg-type]
    except ia.InerticaError as error:  # stopped by the check, or nothing left to fit; the sentence may name the cause
        return Run(robot, preset, effect, run, defaults, ("elasticity",) if "looks elastic" in str(error) else (), 0, 0.0, {})
    assert result.lack_of_fit is not None
    tests = [t for t in result.lack_of_fit.tests if t.tested]
    p = {t.family: float(f"{t.p:.3g}") for t in tests}
    return Run(robot, preset, effect, run, defaults, result.lack_of_fit.named, len(tests), result.time["lack of fit"], p)


def kept(path: Path | None) -> list[Run]:
    """Runs of earlier calls."""
    if path is None or not path.exists():
        return []
    lines = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return [Run(**{**line, "named": tuple(line["named"])}) for line in lines]


def rows(runs: list[Run]) -> list[dict[str, object]]:
    """A line for every robot, preset and effect, and one for each effect over all."""
    out: list[dict[str, object]] = []
    for effect in EFFECTS:
        mine = [r for r in runs if r.effect == effect]
        cells = sorted({(r.robot, r.preset) for r in mine})
        parts = [((robot, preset), [r for r in mine if (r.robot, r.preset) == (robot, preset)]) for robot, preset in cells]
        for (robot, preset), some in [*parts, *([(("all", ""), mine)] if mine else [])]:
            right = NAMES.get(effect)
            others: dict[str, int] = {}
            for name in (name for r in some for name in r.named if name != right):
                others[name] = others.get(name, 0) + 1
            out.append({
                "effect": effect, "robot": robot, "preset": preset, "runs": len(some),
                "tested": sum(r.tested > 1 for r in some),
                "flagged": sum(bool(r.named) for r in some),
                "named": sum(right in r.named for r in some) if right else None,
                "named_first": sum(bool(r.named) and r.named[0] == right for r in some) if right else None,
                "others": others,
            })  # fmt: skip
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robot", nargs="+", default=["scara4", "tx40", "panda7"])
    parser.add_argument("--preset", default="standard", help="noise preset of the catalog, or none")
    parser.add_argument("--effect", nargs="+", default=list(EFFECTS), choices=EFFECTS)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--first", type=int, default=0, help="number of the first run")
    parser.add_argument("--defaults", action="store_true")
    parser.add_argument("--out", type=Path, help="file of finished runs, one JSON object a line")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    done = kept(options.out)
    have = {(r.robot, r.preset, r.effect, r.run, r.defaults) for r in done}
    numbers = range(options.first, options.first + options.runs)
    for run in numbers:  # all effects advance together, so that a campaign that is cut short is even
        for effect in options.effect:
            for robot in options.robot:
                if (robot, options.preset, effect, run, options.defaults) in have:
                    continue
                done.append(one_run(robot, options.preset, effect, run, options.defaults))
                if options.out is not None:
                    with options.out.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(asdict(done[-1])) + "\n")
    table = rows(done)
    if options.json:
        print(json.dumps(table, indent=1))
        return
    print("effect        robot   preset         runs  tested  flagged  named  named first  others")
    for r in table:
        counts = " ".join(f"{'-' if r[k] is None else r[k]!s:>7}" for k in ("tested", "flagged", "named", "named_first"))
        print(f"{r['effect']!s:13} {r['robot']!s:7} {r['preset']!s:13} {r['runs']!s:>5} {counts}  {r['others'] or ''}")


if __name__ == "__main__":
    main()
