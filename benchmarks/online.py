"""Online regression measured: time of an update, rows without accelerations under noise, loads picked up and dropped.

  update  one `rls` update in microseconds (filters, rows of all joints and their rotation into R), beside plain NumPy in the same run
  forms   error of the base parameters by rows of torque, momentum and power, each with the automatic cut-off, on a noisy preset
  loads   delay of the alarm after a load of 5 % of the arm's mass comes or goes, and false alarms in so many hours of motion
  intervals   share of the 95 % intervals of `watch` that hold the truth at the end of 30 s, and how far its values are from those of
          wls on the same log with the filter and delay that identify chooses

usage: python benchmarks/online.py [update] [forms] [loads] [intervals] [--robot tx40] [--preset P] [--runs 20] [--hours 1] [--seed S]
       [--cutoff HZ] [--picture FILE.svg]
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import inertica as ia
from inertica.estimators.base import Problem
from inertica.estimators.linear.least_squares import Wls
from inertica.estimators.recursive.live import OnlineFit, RowOptions, RowStream, Sample
from inertica.experiment import Experiment
from inertica.identifiability.base import BaseModel
from inertica.logs.lines import Block
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot import inertia
from inertica.robot.description import Description
from inertica.workflow.decisions.delay import choose_delay
from inertica.workflow.decisions.filter import choose_filter
from inertica.workflow.watch import PERIODS, SHARE, Snapshot, Watch, WatchSettings, begun, log_blocks, watched

FORMS = ("torque", "momentum", "power")
WARM_UP = 20.0
"""s of motion that a watch for loads learns from here."""

AWAY = ((-0.05, -0.05, 0.0), (0.05, 0.05, 0.2))
"""m: corners of the box in the frame of the last link in which the load sits, somewhere else in every run."""


def updates(robot: str, samples: int = 4000) -> None:
    description = ia.load(robot)
    base, trajectory = ia.base_model(description.layout), ia.catalog_trajectory(robot).trajectory
    s = trajectory(np.arange(samples) * 1e-3)
    q, dq, ddq = (np.array(x) for x in (s.q, s.dq, s.ddq))
    tau = base.engine.inverse_dynamics(q, dq, ddq, description.prior)
    given = [Sample(*row) for row in zip(q, tau, dq, ddq, strict=True)]
    print(f"\n{robot}: microseconds per update, {q.shape[1]} joints and {base.rank} parameters, median of {samples}")
    for form in FORMS:
        fit = OnlineFit(RowStream(base, 1000.0, form, RowOptions(every=1)), weighted=False)
        print(f"  {form + ', a row every sample':34} {median_time(given, fit.update):8.1f}")
    fit = OnlineFit(RowStream(base, 1000.0), weighted=False)
    print(f"  {'momentum, as watched':34} {median_time(given, fit.update):8.1f}")
    P, beta, kept = 1e6 * np.eye(base.rank), np.zeros(base.rank), base.retained

    def plain(sample: Sample) -> None:
        nonlocal P, beta
        Y = base.engine.regressor(sample.q, sample.dq, sample.ddq)[0][:, kept]
        for w, y in zip(Y, sample.tau, strict=True):
            gain = P @ w / (1.0 + w @ P @ w)
            beta = beta + gain * (y - w @ beta)
            P = P - np.outer(gain, w @ P)

    print(f"  {'torque, covariance form in NumPy':34} {median_time(given[:500], plain):8.1f}")


def median_time(given: list[Sample], update: object) -> float:
    took = []
    for sample in given:
        start = time.perf_counter()
        update(sample)  # type: ignore[operator]
        took.append(time.perf_counter() - start)
    return 1e6 * float(np.median(took))


def forms(robot: str, preset: str, runs: int) -> dict[str, np.ndarray]:
    """(runs,) relative error of beta by each form."""
    description = ia.load(robot)
    base, experiment = ia.base_model(description.layout), Experiment.of(description, noise=preset)
    true, errors = base.beta(experiment.truth.values), {form: [] for form in FORMS}
    for log in experiment.run(ia.catalog_trajectory(robot).trajectory, runs=runs, seed=20):
        recipe, _ = choose_filter(description, base, [log], Recipe(), lambda _: None)
        motion = prepare(log, recipe)
        for form in FORMS:
            as_form = replace(motion, recipe=replace(motion.recipe, regressor=form))
            found = Wls(hac=False).estimate(Problem(base, (as_form,), description.prior))
            errors[form].append(np.linalg.norm(found.beta - true) / np.linalg.norm(true))
    return {form: np.array(x) for form, x in errors.items()}


class Loaded:
    """A robot whose last link carries a load for part of a run."""

    def __init__(self, description: Description, preset: str) -> None:
        self.experiment = Experiment.of(description, noise=preset, threads=1)
        self.trajectory = ia.catalog_trajectory(description.name).trajectory
        self.empty = self.experiment.truth.values
        self.mass = SHARE * sum(description.prior.link(j)[9] for j in range(description.robot.n))
        self.link = description.layout.link(description.robot.n - 1)

    def full(self, place: np.ndarray) -> np.ndarray:
        """Parameters with the load at a place of the last link."""
        chi = self.empty.copy()
        chi[self.link] += inertia.from_com(self.mass, place, np.zeros((3, 3)))
        return chi

    def run(self, parts: list[tuple[np.ndarray, float]], seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """t, q, tau of a motion through parts with parameters and a duration each."""
        x, start, first = self.experiment, None, 0
        reference = x.reference(self.trajectory, sum(s for _, s in parts))
        every = round(x.loop.rate / (x.sensors.rate or x.loop.rate))
        q, tau = [], []
        for k, (chi, seconds) in enumerate(parts):
            steps = round(seconds * x.loop.rate)
            piece = {name: values[first : first + steps + 1] for name, values in reference.items()}
            found = x.engine.simulate(
                chi, piece, x.loop.all_gains, x.loop.dt, law=x.loop.compiled_law, shapes=x.truth.shapes,
                noise=replace(x.noise, seed=seed + 100_000 * k), difference_velocity=x.loop.difference_velocity,
                runs=[seed], keep=every, start=start,
            )  # fmt: skip
            q.append(found.q_measured[0, :-1])
            tau.append(found.tau_measured[0, :-1])
            start, first = (found.q[0, -1], found.dq[0, -1]), first + steps
        dt = every / x.loop.rate
        return dt * np.arange(sum(map(len, q))), np.concatenate(q), np.concatenate(tau)


def seen(description: Description, base: BaseModel, t: np.ndarray, q: np.ndarray, tau: np.ndarray) -> Watch:
    """A watch that has chosen its cut-off as `inertica watch` does, before any sample went into it."""
    whole = Block(t, q, tau)
    first, _ = begun((whole[k : k + 100] for k in range(0, len(t), 100)), PERIODS)
    return Watch.of(description, first, WatchSettings(warm_up=WARM_UP), base=base)


def intervals(robot: str, preset: str, runs: int, seed: int, cutoff: float | None, seconds: float = 30.0) -> None:
    """Watched to the end, against the truth and against a fit of the whole log."""
    description = ia.load(robot)
    base, experiment = ia.base_model(description.layout), Experiment.of(description, noise=preset)
    true, size, rows = base.beta(experiment.truth.values), np.linalg.norm(base.beta(experiment.truth.values)), []
    logs = experiment.run(ia.catalog_trajectory(robot).trajectory, runs=runs, seed=60_000 + seed, duration=seconds)
    for log in logs:
        recipe, _ = choose_filter(description, base, [log], Recipe(), lambda _: None)
        recipe, _ = choose_delay(description, base, [log], recipe, lambda _: None)
        batch = Wls().estimate(Problem(base, (prepare(log, recipe),), description.prior))
        *_, last = watched(description, log_blocks(log), WatchSettings(cutoff=cutoff), every=np.inf)
        assert isinstance(last, Snapshot)
        e, held = last.estimate, lambda x: np.mean(np.abs(x.beta - true) <= 1.96 * x.std)
        off = np.median(np.abs(e.beta - batch.beta) / np.hypot(e.std, batch.std))
        apart, wrong = (np.linalg.norm(e.beta - x) / size for x in (batch.beta, true))
        rows.append((last.cutoff, recipe.decimate or np.nan, held(e), held(batch), apart, off, wrong))
    x = np.array(rows)
    online, whole = (f"{', '.join(f'{f:g}' for f in np.unique(c))} Hz" for c in (x[:, 0], x[:, 1]))
    print(
        f"\n{robot}, {preset}, {runs} runs of {seconds:g} s, {len(true)} parameters: motion up to {online} (wls {whole})\n"
        f"  intervals hold {100 * x[:, 2].mean():.1f} % (wls {100 * x[:, 3].mean():.1f}); |beta - wls| / |beta*| median "
        f"{100 * np.median(x[:, 4]):.2f} %, |beta - beta*| / |beta*| {100 * np.median(x[:, 6]):.2f} %; "
        f"median parameter {np.median(x[:, 5]):.2f} standard deviations from wls",
        flush=True,
    )


def loads(robot: str, preset: str, runs: int, hours: float, seed: int) -> None:
    description = ia.load(robot)
    loaded, base = Loaded(description, preset), ia.base_model(description.layout)
    rng = np.random.default_rng(13 + seed)
    print(f"\n{robot}, {preset}: loads of {100 * SHARE:g} % of the arm's mass after {WARM_UP:g} s of motion")
    for word in ("picked up", "dropped") if runs else ():
        delays, early, missed, wrong = [], 0, 0, 0
        for k in range(runs):
            at = round(float(WARM_UP + rng.uniform(5.0, 15.0)), 2)
            before, after = loaded.empty, loaded.full(rng.uniform(*AWAY))
            before, after = (before, after) if word == "picked up" else (after, before)
            t, q, tau = loaded.run([(before, at), (after, 4.0)], seed=40_000 + 1_000_000 * seed + k)
            found = seen(description, base, t, q, tau).push(t, q, tau)
            early += sum(c.time < at for c in found)
            late = [c for c in found if c.time >= at]
            missed += not late
            delays += [c.time - at for c in late[:1]]
            wrong += any(c.kind != word for c in late[:1])
        d = np.array(delays)
        within = f"median {np.median(d):.3f} s, 95 % {np.quantile(d, 0.95):.3f} s, longest {d.max():.3f} s"
        within += f", {np.mean(d <= 0.5):.0%} within 0.5 s"
        print(f"  {word:10} {runs} runs: {within}; missed {missed}, wrong kind {wrong}, alarms before {early}", flush=True)
    alarms, watched, k = 0, 0.0, 0
    while watched < 3600.0 * hours:
        t, q, tau = loaded.run([(loaded.empty, 300.0)], seed=50_000 + 1_000_000 * seed + k)
        alarms += len(seen(description, base, t, q, tau).push(t, q, tau))
        watched, k = watched + 300.0 - WARM_UP, k + 1
    print(f"  nothing changes: {alarms} alarms in {watched / 3600.0:.2f} h of motion, {k} runs", flush=True)


def picture(robot: str, path: Path) -> None:
    """A run with a load that comes and goes: parameters over their true values, and the sums that give the alarms."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.hashsalt": "inertica", "svg.fonttype": "none"})
    description = ia.load(robot)
    base, loaded = ia.base_model(description.layout), Loaded(description, "standard")
    t, q, tau = loaded.run([(loaded.empty, 35.0), (loaded.full(np.array([0.0, 0.0, 0.1])), 10.0), (loaded.empty, 5.0)], seed=1)
    watch, true = seen(description, base, t, q, tau), base.beta(loaded.empty)
    times, values, spreads, sums = [], [], [], []
    for k in range(0, len(t), 100):
        part = slice(k, k + 100)
        watch.push(t[part], q[part], tau[part])
        snapshot = watch.snapshot()
        times.append(snapshot.time)
        values.append(snapshot.estimate.beta)
        spreads.append(snapshot.estimate.std)
        sums.append(np.full(2, np.nan) if watch._watch is None else watch._watch.sums.max(axis=1))
    figure, (above, below) = plt.subplots(2, 1, figsize=(6.0, 4.6), layout="constrained", sharex=True)
    for name in ("Fv1", "MX2", "ZZ1"):
        i = base.names.index(name)
        y, s = (np.array(x)[:, i] / true[i] for x in (values, spreads))
        (line,) = above.plot(times, y, label=name)
        above.fill_between(times, y - 1.96 * s, y + 1.96 * s, color=line.get_color(), alpha=0.2, linewidth=0)
    above.set(ylabel="estimate over unloaded truth", ylim=(0.6, 1.6))
    above.legend(fontsize=7)
    for row, word in zip(np.array(sums).T, ("picked up", "dropped"), strict=True):
        below.plot(times, row, label=word)
    if watch._watch is not None:
        below.axhline(watch._watch.threshold, color="0.5", linestyle=":")
    for height, change in zip((8.0, 10.0), watch.changes, strict=False):
        below.axvline(change.time, color="0.5", linewidth=0.8)
        below.text(change.time, height, f"{change.kind}, {abs(change.mass):.2g} kg ", fontsize=7, ha="right")
    below.set(xlabel="time in s", ylabel="sum of log-likelihood")
    below.legend(fontsize=7)
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["update", "forms", "loads"], metavar="PART")
    parser.add_argument("--robot", default="tx40")
    parser.add_argument("--preset")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0, help="another one: loads that no setting was chosen on")
    parser.add_argument("--cutoff", type=float, help="stated to the watch of `intervals`, in Hz")
    parser.add_argument("--picture", type=Path)
    given = parser.parse_args()
    if "update" in given.parts:
        updates(given.robot)
    if "forms" in given.parts:
        preset = given.preset or "high_position_torque"
        found = forms(given.robot, preset, given.runs)
        print(f"\n{given.robot}, {preset}: |beta - beta*| / |beta*| by wls, automatic cut-off, median of {given.runs} runs")
        for form, errors in found.items():
            print(
                f"  {form:10} {np.median(errors):.8f}   quartiles {np.quantile(errors, 0.25):.4f} {np.quantile(errors, 0.75):.4f}"
            )
    if "loads" in given.parts:
        loads(given.robot, given.preset or "standard", given.runs, given.hours, given.seed)
    if "intervals" in given.parts:
        intervals(given.robot, given.preset or "standard", given.runs, given.seed, given.cutoff)
    if given.picture is not None:
        picture(given.robot, given.picture)


if __name__ == "__main__":
    main()
