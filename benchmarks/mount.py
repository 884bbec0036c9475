"""How often `identify`'s search for gravity finds a robot that hangs, lies on its side or leans, and how often it is wrong.

    python benchmarks/mount.py [--robot tx40 panda7 ...] [--upright 17] [--side 4] [--hang 4] [--slow 1] [--lean 8]
                                [--records DIR] [--json]

Every run simulates closed-loop logs of a catalog robot with its standard noise, mounted as the row says, and gives them to
`choose_mount` with the catalog's upright description, whose inertial values are off by 30 % (log-normal).  Rows:

    upright   both catalog motions (22 s); in every second run with errors nobody models: encoder zeros off by 0.15 deg, torque
              gains by 2 %.  Found means a change of gravity, a false alarm.
    side      one catalog motion; gravity along x, y, -x, -y of the base.  Found: within 10 deg.
    hang      one catalog motion, each in turn.  Found: within 5 deg of the opposite.
    slow      a hanging robot, a motion eight times slower.  Found: hanging, or said to be ambiguous.
    lean 1, 2 both motions, base leaning by so many degrees to any side, encoder zeros and gains off as above in every second run.
              Found: a lean accepted.  `error` is the median angle between the found gravity and the true one.

Motions are prepared with a cut-off of 10 Hz.  `--records` looks at the public records in a folder, too: all of them stand upright.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import inertica as ia
from inertica.estimators.structure.tilt import between
from inertica.excitation import Fourier, Trajectory, catalog_trajectory
from inertica.experiment import Experiment
from inertica.identifiability.base import BaseModel, base_model
from inertica.logs.log import Log
from inertica.logs.read import read_log
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description
from inertica.robot.plain import assumed_friction
from inertica.workflow.decisions.filter import recipe_for
from inertica.workflow.decisions.mount import Mount, choose_mount, with_offsets

Array = NDArray[np.float64]

ROBOTS = ("tx40", "rv2sq", "panda7", "jaco2", "scara4", "scara2")
KINDS = ("identification", "validation")
G, CUTOFF, SLOWER = 9.81, 10.0, 8.0
ZERO_ERROR, GAIN_ERROR, PRIOR_ERROR = np.radians(0.15), 0.02, 0.3
UR10E = "torque: {from: current, gain: [11.976, 11.976, 9.839, 10.763, 10.763, 10.763]}\n"
RECORDS = {
    "tx40": ("", ("tx40_joint_public.csv.gz",)),
    "kuka_lwr4": ("", ("ident_slow_1.csv.gz@3:25",)),
    "kuka_lwr4 ": ("", ("ident_slow_2.csv.gz@3:25",)),
    "kuka_lwr4  ": ("", ("ident_slow_1.csv.gz@3:25", "ident_slow_2.csv.gz@3:25")),
    "ur10e": (UR10E, ("ident_unloaded_a.csv.gz@6.8:37.4", "ident_unloaded_b.csv.gz@2.0:52.1")),
    "ur10e ": (UR10E, ("ident_loaded.csv.gz@3.2:53.3",)),
    "ur10e  ": (UR10E, ("valid_ptp.csv.gz@7.5:44.9",)),
}
"""Folder -> what a card must add, and logs that are fitted together."""


@dataclass(frozen=True)
class Row:
    """One robot mounted in one way.

    Args:
        robot, case: which.
        runs, found: how many.
        said: in how many it was said that standing and hanging cannot be told apart.
        error: median angle to the true gravity in degrees.
        seconds: mean processor time of a search.
    """

    robot: str
    case: str
    runs: int
    found: int
    said: int
    error: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Bench:
    """A catalog robot with its upright description."""

    name: str
    description: Description
    base: BaseModel

    @classmethod
    def of(cls, name: str) -> Bench:
        description = ia.load(name)
        return cls(name, description, base_model(with_offsets(assumed_friction(description))[0].layout))

    def logs(self, gravity: Array, motions: list[Trajectory], seed: int, imperfect: bool) -> list[Log]:
        experiment = Experiment.of(self.description.with_gravity(gravity), noise="standard", threads=1)
        rng, n = np.random.default_rng([seed, 3]), self.description.robot.n
        out = [experiment.run(m, seed=seed * 10 + k)[0] for k, m in enumerate(motions)]
        if not imperfect:
            return out
        zero, gain = ZERO_ERROR * rng.normal(size=n), 1.0 + GAIN_ERROR * rng.normal(size=n)
        return [
            Log.from_arrays(log.t, {"q": log.need("q") + zero, "tau": log.need("tau") * gain}, log.joints, log.origin)
            for log in out
        ]

    def search(self, logs: list[Log], seed: int) -> tuple[Mount, float]:
        """With a prior that is off, and the processor time it took."""
        d, rng = self.description, np.random.default_rng([seed, 5])
        factor = np.ones(d.layout.size)
        for _, where in d.layout.bodies:
            factor[where] = np.exp(PRIOR_ERROR * rng.normal())
        doubted = replace(d, prior=d.prior.with_values(d.prior.values * factor))
        motions = [prepare(log, recipe_for(CUTOFF, log.rate, Recipe())) for log in logs]
        start = time.process_time()
        mount = choose_mount(doubted, motions, lambda _: None, self.base)
        return mount, time.process_time() - start


def slower(motion: Trajectory) -> Trajectory:
    """The same path in more time."""
    assert isinstance(motion, Fourier)
    return replace(motion, duration=SLOWER * motion.duration, A=motion.A / SLOWER, B=motion.B / SLOWER)


def tilted(degrees: float, around: float, up: float = -1.0) -> Array:
    a, b = np.radians([degrees, around])
    return G * np.array([np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), up * np.cos(a)])


def rows(name: str, counts: dict[str, int]) -> Iterator[Row]:
    bench = Bench.of(name)
    both = [catalog_trajectory(name, kind).trajectory for kind in KINDS]

    def row(case: str, runs: int) -> Row:
        found, said, errors, seconds = 0, 0, [], 0.0
        for k in range(runs):
            gravity, motions, imperfect = setting(case, k)
            mount, took = bench.search(bench.logs(gravity, motions, k, imperfect), k)
            error = between(mount.gravity, gravity)
            found += judged(case, mount, error)
            said += bool(mount.ambiguous)
            errors.append(error)
            seconds += took
        return Row(name, case, runs, found, said, float(np.median(errors)) if errors else np.nan, seconds / max(runs, 1))

    def setting(case: str, k: int) -> tuple[Array, list[Trajectory], bool]:
        around = float(np.random.default_rng([k, 7]).uniform(0.0, 360.0))
        match case:
            case "upright":
                return tilted(0.0, 0.0), both, k % 2 == 1
            case "side":
                return tilted(90.0, 90.0 * (k % 4)), [both[k // 4 % 2]], False
            case "hang":
                return tilted(0.0, 0.0, 1.0), [both[k % 2]], False
            case "slow":
                return tilted(0.0, 0.0, 1.0), [slower(both[0])], False
        return tilted(float(case.removeprefix("lean ")), around), both, k % 2 == 1

    cases = {"upright": "upright", "side": "side", "hang": "hang", "slow": "slow", "lean 1": "lean", "lean 2": "lean"}
    for case, count in cases.items():
        yield row(case, counts[count])


def judged(case: str, mount: Mount, error: float) -> bool:
    if case == "slow":
        return bool(mount.ambiguous) or error < 5.0
    if case == "side":
        return error < 10.0
    return error < 5.0 if case == "hang" else mount.accepted


def public(folder: Path) -> Iterator[tuple[str, Mount]]:
    """The public records, their windows and drive gains as their pages state them."""
    for key, (card, logs) in RECORDS.items():
        model = (folder / key.strip() / f"{key.strip()}.urdf").resolve()
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "card.yaml"
            path.write_text(f"model: {model}\n{card}")
            description = ia.load(path)
            records = [read_log(f"{model.parent / name}", description) for name in logs]
            motions = [prepare(r, recipe_for(min(CUTOFF, 0.2 * r.rate), r.rate, Recipe())) for r in records]
            yield f"{key.strip()} {', '.join(logs)}", choose_mount(description, motions, lambda _: None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robot", nargs="+", default=ROBOTS)
    for case, runs in {"upright": 17, "side": 4, "hang": 4, "slow": 1, "lean": 8}.items():
        parser.add_argument(f"--{case}", type=int, default=runs, help="runs for each robot")
    parser.add_argument("--records", type=Path)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    counts = {case: getattr(arguments, case) for case in ("upright", "side", "hang", "slow", "lean")}
    found = []
    for name in arguments.robot:
        for row in rows(name, counts):
            found.append(row)
            if not arguments.json:
                counted = f"{row.found:3d} of {row.runs:3d} (ambiguous {row.said})"
                print(f"{row.robot:8} {row.case:8} {counted}   error {row.error:6.2f} deg   {row.seconds:.2f} s", flush=True)
    records = (
        [{"record": name, "accepted": m.accepted, "why": m.choice.sentence} for name, m in public(arguments.records)]
        if arguments.records
        else []
    )
    if arguments.json:
        print(json.dumps({"rows": [asdict(r) for r in found], "records": records}, indent=1))
        return
    for case in dict.fromkeys(r.case for r in found):
        of = [r for r in found if r.case == case]
        print(f"all      {case:8} {sum(r.found for r in of):3d} of {sum(r.runs for r in of):3d}")
    for record in records:
        print(f"{record['record']}: {record['why']}")


if __name__ == "__main__":
    main()
