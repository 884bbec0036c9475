"""`inertica actuators` on robots that MuJoCo simulated: coverage of its intervals, and other programs on the same logs.

    python benchmarks/actuators.py coverage [--robots quadruped arm] [--runs 100] [--first 0] [--store FILE]
    python benchmarks/actuators.py peers [--robot quadruped] [--joints 12] [--duration 20] [--generations 200] [--patience S]

Truth: tests/mujoco_servos.py (Runge-Kutta steps of 0.2 ms). Every run draws armature, friction, zeros and delays of 0 to 20 ms, links
that are off by 10 % (normal, every mass, coordinate and moment), position noise of 0.5 mrad, and a fresh motion for the free run; kp
and kd are stated. Logs are at 50, 200 and 500 Hz in turn.

`coverage`: how often intervals of 95 % hold, by quantity and label; errors of delays in samples; the RMS position error of free runs
on the fresh motion relative to that of the true actuators on the same wrong links.

`peers`: the same unknowns of the same log on the same wrong links, which are held (`links_std=0`: the peers cannot move them),
searched by CMA-ES (PyPI cmaes, 64 candidates a generation, at most
`--generations`, stopped when the error falls by less than 1 % over 20 of them) and by mujoco.sysid's least squares, both over MuJoCo
rollouts in steps of at most 2.5 ms. Free runs on a fresh motion, each by the simulation that the values were found with; ours with
links that may move is printed, too. Times are of the processor.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Sequence
from copy import copy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from bench import Row, say, show
from held_runs import HEAD, add_runs, made_runs, shares
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import inertica as ia
import mujoco_servos as truth
from inertica.estimators.actuators.values import QUANTITIES, ActuatorValues
from inertica.workflow.actuators.result import ActuatorsResult, JointActuator, Posterior, Quantity

Array = NDArray[np.float64]

ROBOTS = {"quadruped": (truth.quadruped, 0.4), "arm": (truth.arm, 1.0)}
"""Links, and the size of torques."""

RATES = (50.0, 200.0, 500.0)
NOISE = 5e-4
LINKS = 0.1
SOUGHT = ("armature", "viscous", "coulomb", "delay", "zero")
LONGEST = 2.5e-3
"""s, of the peers' steps."""


class Case:
    """A robot with true actuators, the links that a user has, a log to fit and one to predict."""

    def __init__(self, name: str, run: int, joints: int, duration: float, rate: float, folder: Path) -> None:
        rng = np.random.default_rng([run, 31])
        make, size = ROBOTS[name]
        self.stated = make()[:joints]
        self.n, self.rate, self.folder = len(self.stated), rate, folder
        self.servos = truth.random_servos(rng, self.n, size)
        true = truth.off_by(self.stated, LINKS, rng)
        self.model = truth.write_model(self.stated, folder / f"{name}.xml")
        self.fitted = self.log(true, rng, duration)
        self.fresh = self.log(true, rng, 0.5 * duration)

    def log(self, links: Sequence[truth.Link], rng: np.random.Generator, duration: float) -> ia.Log:
        u = truth.command(rng, self.n, duration, self.rate)
        q = truth.simulate(links, self.servos, u, self.rate) + NOISE * rng.normal(size=u.shape)
        return ia.Log.from_arrays(np.arange(len(u)) / self.rate, {"q": q, "qr": u}, [f"j{k + 1}" for k in range(self.n)])

    def ours(self, links_std: float | None = None) -> ActuatorsResult:
        return ia.actuators(self.model, [self.fitted], kp=self.servos.kp, kd=self.servos.kd, links_std=links_std, threads=1)

    def free_run(self, result: ActuatorsResult) -> float:
        """RMS position error on the fresh motion, all joints, on the stated links."""
        return float(np.sqrt(np.mean(ia.replay(self.model, self.fresh, result, threads=1).rms ** 2)))

    def with_truth(self, like: ActuatorsResult) -> ActuatorsResult:
        """A result with the true values."""
        true = ActuatorValues.of(self.n, **vars(self.servos))
        joints = tuple(
            JointActuator(f"j{j + 1}", **{q: Quantity(float(getattr(true, q)[j]), None, None, "stated") for q in QUANTITIES})
            for j in range(self.n)
        )
        empty = Posterior((), np.zeros(0), np.zeros((0, 0)), np.zeros(0))
        return ActuatorsResult("", "", joints, (), (), {}, {}, empty, hold="zero", impedance=like.impedance, rate=like.rate)


def covered(run: int, name: str) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Rows of one log: quantity and label."""
    rate = RATES[run // 2 % len(RATES)]
    with TemporaryDirectory() as folder:
        case = Case(name, run, len(ROBOTS[name][0]()), 20.0, rate, Path(folder))
        begin = time.process_time()
        try:
            result = case.ours()
        except ia.InerticaError as error:
            return {"rate": rate}, {"all": {"failed": str(error), "held": []}}
        seconds = time.process_time() - begin
        ratio = case.free_run(result) / case.free_run(case.with_truth(result))
    rows: dict[str, dict[str, Any]] = {}
    for quantity in SOUGHT:
        for j, joint in enumerate(result.joints):
            value, true = getattr(joint, quantity), float(getattr(case.servos, quantity)[j])
            row = rows.setdefault(f"{quantity}, {value.label}", {"held": [], "off": []})
            row["held"].append(None if value.interval is None else bool(value.interval[0] <= true <= value.interval[1]))
            row["off"].append(None if value.std is None else (value.value - true) / value.std)
    late = np.abs([j.delay.value - true for j, true in zip(result.joints, case.servos.delay, strict=True)]) * rate
    rows["all"] = {"held": [h for r in rows.values() for h in r["held"]]}
    rows["all determined"] = {"held": [h for label, r in rows.items() if label.endswith(", determined") for h in r["held"]]}
    return {"rate": rate, "seconds": seconds, "free run": ratio, "delays": late.tolist()}, rows


def coverage(options: argparse.Namespace) -> None:
    records = made_runs(options, covered)
    if options.json:
        print(json.dumps(records))
        return
    print(HEAD)
    for _, _, line in shares(records, "robot"):
        print(line)
    whole = [r for r in records if r["row"] == "all" and "failed" not in r]
    for name in options.robots:
        own = [r for r in whole if r["robot"] == name]
        if own:
            ratios, seconds = [r["free run"] for r in own], [r["seconds"] for r in own]
            late = np.concatenate([r["delays"] for r in own])
            print(
                f"{name}: free run {np.median(ratios):.2f} of the true values ({min(ratios):.2f} to {max(ratios):.2f}), "
                f"delay within 0.2 samples {100 * np.mean(late < 0.2):.1f} %, "
                f"{np.median(seconds):.1f} s of the processor a log (most {max(seconds):.1f})"
            )


RANGES = {"armature": (1e-4, 1.0), "viscous": (1e-3, 10.0), "coulomb": (1e-3, 10.0), "delay": (0.0, 0.04), "zero": (-0.1, 0.1)}
"""Of the peers' unknowns."""


class Rollouts:
    """MuJoCo with the unknowns of many candidates at once; an unknown lies in [0, 1]."""

    def __init__(self, case: Case, log: ia.Log) -> None:
        import mujoco

        self.case, self.mujoco = case, mujoco
        self.q, self.u, n = np.asarray(log.need("q")), np.asarray(log.need("qr")), case.n
        self.per_sample = int(np.ceil(1.0 / (case.rate * LONGEST) - 1e-9))
        self.step = 1.0 / (case.rate * self.per_sample)
        xml = truth.mjcf(case.stated, case.servos, self.step).replace('integrator="RK4"', 'integrator="implicitfast"')
        self.model = mujoco.MjModel.from_xml_string(xml)
        self.edges = self.step * np.arange(len(self.u) * self.per_sample + 1)
        self.whole = np.vstack([np.zeros(n), np.cumsum(self.u, axis=0) / case.rate])
        self.t = np.arange(len(self.u) + 1) / case.rate
        self.count = 0

    def values(self, x: Array) -> dict[str, Array]:
        """Unknowns (5 n,) by name: those that cannot be negative as logarithms."""
        out = {}
        for name, part in zip(SOUGHT, x.reshape(len(SOUGHT), -1), strict=True):
            low, high = RANGES[name]
            out[name] = low * (high / low) ** part if low > 0.0 else low + (high - low) * part
        return out

    def positions(self, candidates: Array) -> Array:
        """(B, N, n)."""
        from mujoco import rollout

        models, controls, n = [], [], self.case.n
        for x in candidates:
            v = self.values(x)
            model = copy(self.model)
            model.dof_armature[:], model.dof_damping[:], model.dof_frictionloss[:] = v["armature"], v["viscous"], v["coulomb"]
            gathered = np.stack(
                [np.interp(self.edges - late, self.t, self.whole[:, j]) for j, late in enumerate(v["delay"])], axis=1
            )
            before = np.minimum(self.edges[:, None] - v["delay"], 0.0) * self.u[0]
            controls.append(np.diff(gathered + before, axis=0) / self.step - v["zero"])
            models.append(model)
        state = np.concatenate([[0.0], self.q[0], np.zeros(n)])
        states = np.tile(state, (len(models), 1))
        data = [self.mujoco.MjData(models[0])]
        out, _ = rollout.rollout(models, data, states, np.array(controls))
        self.count += len(models)
        q = out[:, :, 1 : 1 + n][:, self.per_sample - 1 :: self.per_sample]
        return np.concatenate([np.broadcast_to(self.q[0], (len(models), 1, n)), q[:, :-1]], axis=1)

    def errors(self, candidates: Array) -> Array:
        """(B,) sums over joints of squared position errors, each joint's in units of its motion."""
        r = (self.positions(candidates) - self.q) / np.std(self.q, axis=0)
        return np.nan_to_num(np.sum(r * r, axis=(1, 2)), nan=1e12, posinf=1e12)

    def rms(self, x: Array) -> float:
        return float(np.sqrt(np.mean((self.positions(x[None])[0] - self.q) ** 2)))


def cma_es(rollouts: Rollouts, generations: int, patience: float) -> tuple[Array, float, int, str]:
    """Best unknowns, seconds of the processor, generations, and why it ended."""
    from cmaes import CMA

    size, begin = len(SOUGHT) * rollouts.case.n, time.process_time()
    search = CMA(mean=np.full(size, 0.5), sigma=0.25, bounds=np.tile([0.0, 1.0], (size, 1)), population_size=64, seed=0)
    best, lowest, history = np.full(size, 0.5), np.inf, []
    for generation in range(1, generations + 1):
        asked = np.array([search.ask() for _ in range(search.population_size)])
        scores = rollouts.errors(asked)
        search.tell(list(zip(asked, scores.tolist(), strict=True)))
        if scores.min() < lowest:
            best, lowest = asked[np.argmin(scores)], float(scores.min())
        history.append(lowest)
        if generation % 10 == 0:
            left = np.sqrt(lowest / rollouts.q.size)
            say(f"  CMA-ES, generation {generation}: {left:.4f} of the motion, {time.process_time() - begin:.0f} s")
        if generation > 20 and np.sqrt(lowest / history[-21]) > 0.99:
            return best, time.process_time() - begin, generation, "error falls by less than 1 % over 20 generations"
        if time.process_time() - begin > patience:
            return best, time.process_time() - begin, generation, "patience"
    return best, time.process_time() - begin, generations, "all generations"


def sysid(rollouts: Rollouts, patience: float) -> tuple[Array, float, str] | None:
    """The same by mujoco.sysid's least squares."""
    from mujoco import sysid as program

    if not hasattr(program, "optimize"):
        say("mujoco.sysid is not complete; pip install 'mujoco[sysid]'")
        return None
    size, begin = len(SOUGHT) * rollouts.case.n, time.process_time()
    parameters = program.ParameterDict()
    for k in range(size):
        parameters.add(program.Parameter(f"x{k}", 0.5, 0.0, 1.0))
    spread = np.std(rollouts.q, axis=0)
    best: list[Any] = [np.full(size, 0.5), np.inf]

    class Ended(Exception):  # noqa: N818  (ends the peer's loop, is no error)
        pass

    def residual(x: Array, _: object, **__: object) -> tuple[list[Array], None, None]:
        columns = x.reshape(size, -1).T
        r = ((rollouts.positions(columns) - rollouts.q) / spread).reshape(len(columns), -1)
        r = np.nan_to_num(r, nan=1e6, posinf=1e6, neginf=-1e6)
        for column, score in zip(columns, np.sum(r * r, axis=1), strict=True):
            if score < best[1]:
                best[:] = [column.copy(), float(score)]
        if time.process_time() - begin > patience:
            raise Ended
        return [r.T if x.ndim > 1 else r[0]], None, None

    try:
        program.optimize(parameters, residual, optimizer="mujoco", verbose=False, max_iters=200)
        why = "settled"
    except Ended:
        why = "patience"
    return best[0], time.process_time() - begin, why


def peers(options: argparse.Namespace) -> None:
    """Rows of one log."""
    warnings.simplefilter("ignore")
    with TemporaryDirectory() as folder:
        case = Case(options.robot, options.first, options.joints, options.duration, options.rate, Path(folder))
        loose = case.ours()  # compiles
        begin = time.process_time()
        result = case.ours(0.0)
        seconds = time.process_time() - begin
        fit, fresh = Rollouts(case, case.fitted), Rollouts(case, case.fresh)
        true = np.concatenate([_unit(name, getattr(case.servos, name)) for name in SOUGHT])
        ours, best = case.free_run(result), fresh.rms(true)
        say(
            f"free run on a fresh motion, mrad: ours {1e3 * ours:.3f}, with links that may move {1e3 * case.free_run(loose):.3f}, "
            f"true values, same links {1e3 * best:.3f}; {seconds:.1f} s"
        )
        x, spent, taken, why = cma_es(fit, options.generations, options.patience)
        what = f"CMA-ES, 64 x {taken} ({why})"
        rows = [
            Row("free run, fresh motion", 1e3 * ours, 1e3 * fresh.rms(x), "mrad", what),
            Row("processor", seconds, spent, "s", what),
            Row("free run, fresh motion", 1e3 * ours, 1e3 * best, "mrad", "true actuators on the same links"),
        ]
        other = sysid(fit, options.patience)
        if other is not None:
            x, spent, why = other
            what = f"mujoco.sysid ({why})"
            rows += [
                Row("free run, fresh motion", 1e3 * ours, 1e3 * fresh.rms(x), "mrad", what),
                Row("processor", seconds, spent, "s", what),
            ]
    show(rows, options.json)


def _unit(name: str, values: Array) -> Array:
    low, high = RANGES[name]
    return np.log(np.maximum(values, low) / low) / np.log(high / low) if low > 0.0 else (values - low) / (high - low)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    jobs = parser.add_subparsers(dest="job")
    cover = jobs.add_parser("coverage")
    add_runs(cover, list(ROBOTS), 100)
    against = jobs.add_parser("peers")
    against.add_argument("--robot", choices=list(ROBOTS), default="quadruped")
    against.add_argument("--joints", type=int, default=12)
    against.add_argument("--duration", type=float, default=20.0)
    against.add_argument("--rate", type=float, default=200.0)
    against.add_argument("--generations", type=int, default=200)
    against.add_argument("--patience", type=float, default=float("inf"), help="seconds of the processor that each peer is given")
    against.add_argument("--first", type=int, default=0, help="number of the log")
    for one in (cover, against):
        one.add_argument("--json", action="store_true")
    options = parser.parse_args(sys.argv[1:] or ["peers", "--patience", "120"])
    (coverage if options.job == "coverage" else peers)(options)


if __name__ == "__main__":
    main()
