"""Samples per second of the filters, against plain NumPy implementations of the same filters in the same run.

    python benchmarks/filters.py [--json] [--nees RUNS]

Six joints, 52 parameters (TX40), one RK2 step per sample of 1 kHz.  The peer is the textbook filter on NumPy arrays, one sample at a
time: its dynamics are `Engine.forward_dynamics` on all points at once, which is compiled, its Jacobian one-sided differences as in the
survey, its linear algebra LAPACK.  What bounds ours: the transition in lanes (64 directions or 129 points of forward dynamics) for the
plain forms, and as well the rotations and reflections of a 64 x 64 factor for the square-root ones.

With --nees also the normalised error e' P^-1 e / 52 of so many simulated runs of 10 s, start 15 % off, first noise row.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time
from collections.abc import Callable

import numpy as np
from bench import Row, arguments, say, show

import inertica as ia
from inertica.estimators.base import Problem
from inertica.estimators.closed_loop.start import Random
from inertica.estimators.recursive.joint import ComputedTorqueFilter, JointFilter
from inertica.estimators.recursive.particles import marginal_particles, particles
from inertica.estimators.recursive.passes import kalman, weights
from inertica.estimators.recursive.records import Record, driven_by_torque, transition
from inertica.estimators.recursive.tuning import Variances, survey
from inertica.excitation.files import catalog_trajectory
from inertica.experiment import ControlLoop, Experiment
from inertica.preprocessing.filters import Unfiltered
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe

SECONDS, PEER_SAMPLES = 2.0, 60
SHAPES = {"ekf": (0.0, 0.0, 0.0), "ukf": (0.01, 2.0, 0.0), "cdkf": (3.0**0.5, 0.0, 0.0)}


def best_of(jobs: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Least processor time of each job in seconds; all run on one thread, so a busy machine matters little."""
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(repeats):
        for name, job in jobs.items():
            start = time.process_time()
            job()
            best[name] = min(best[name], time.process_time() - start)
    return best


def tx40(run: int = 0, seconds: float = SECONDS) -> Problem:
    description = ia.load("tx40")
    experiment = Experiment.of(description, noise="low_position")
    (log,) = experiment.run(catalog_trajectory("tx40").trajectory, seed=11, first_run=run, duration=seconds)
    motion = prepare(log, Recipe(filter=Unfiltered()))
    return Problem(ia.base_model(description.layout), (motion,), description.prior, ControlLoop.of(description))


class NumpyFilter:
    """The same filters in NumPy, sample by sample."""

    def __init__(self, p: Problem, record: Record, v: Variances, dt: float) -> None:
        self.p, self.record, self.v, self.dt, self.n = p, record, v, dt, p.base.layout.robot.n
        self.chi = np.zeros(p.base.layout.size)

    def step(self, Z: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """(L, 2n) states one RK2 step later."""
        n, h = self.n, self.dt
        chi = np.zeros((len(Z), len(self.chi)))
        chi[:, self.p.base.retained] = Z[:, 2 * n :]
        dq, q, torque = Z[:, :n], Z[:, n : 2 * n], np.tile(tau, (len(Z), 1))
        forward = self.p.engine.forward_dynamics
        a = forward(q, dq, torque, chi)
        middle = dq + 0.5 * h * a
        b = forward(q + 0.5 * h * dq, middle, torque, chi)
        return np.hstack([dq + h * b, q + h * middle])

    def run(self, kind: str, beta: np.ndarray, samples: int) -> np.ndarray:
        root, plain, n, v = kind.startswith("sr"), kind.removeprefix("sr"), self.n, self.v
        z = np.concatenate([self.record.start, beta])
        d = len(z)
        h, curve, offset = weights(plain, SHAPES[plain], d)
        P = np.diag(np.sqrt(v.first) if root else v.first)
        q, H = v.parameter.copy(), np.eye(d)[n : 2 * n]
        for k in range(samples):
            r = self.record.q[k] - z[n : 2 * n]
            if root:
                stack = np.block([[np.diag(np.sqrt(v.measurement)), H @ P], [np.zeros((d, n)), P]])
                low = np.linalg.qr(stack.T, mode="r").T
                z, P = z + low[n:, :n] @ np.linalg.solve(low[:n, :n], r), low[n:, n:]
            else:
                S = H @ P @ H.T + np.diag(v.measurement)
                gain = np.linalg.solve(S, H @ P).T
                z, P = z + gain @ r, P - gain @ S @ gain.T
            tau = self.record.table[k]
            noise = np.concatenate([v.state, q])
            if plain == "ekf":
                moved = self.step(np.vstack([z, z + 1e-7 * np.eye(d)]), tau)
                F = np.eye(d)
                F[: 2 * n] = (moved[1:] - moved[0]).T / 1e-7
                z = np.concatenate([moved[0], z[2 * n :]])
                P = (
                    np.linalg.qr(np.hstack([F @ P, np.diag(np.sqrt(noise))]).T, mode="r").T
                    if root
                    else F @ P @ F.T + np.diag(noise)
                )
            else:
                L = P if root else np.linalg.cholesky(P)
                Z = np.vstack([z, z + h * L.T, z - h * L.T])
                moved = np.hstack([self.step(Z, tau), Z[:, 2 * n :]])
                e, c = moved[1 : d + 1] - moved[d + 1 :], moved[1 : d + 1] + moved[d + 1 :] - 2.0 * moved[0]
                z = moved[0] + c.sum(axis=0) / (2.0 * h**2)
                m = z - moved[0]
                if root:
                    parts = [e.T / (2.0 * h), np.sqrt(curve) * c.T, np.sqrt(offset) * m[:, None], np.diag(np.sqrt(noise))]
                    P = np.linalg.qr(np.hstack(parts).T, mode="r").T
                else:
                    P = e.T @ e / (4.0 * h**2) + curve * c.T @ c + offset * np.outer(m, m) + np.diag(noise)
            q = np.maximum(v.shrink * q, v.floor)
        return z


def speed(repeats: int) -> list[Row]:
    p = tx40()
    beta = p.prior_beta
    records, dt = driven_by_torque(p, 1e-3, "interpolated")
    v, step, N = survey(p, records, beta), transition(p, beta, dt, "rk2"), len(records[0].t)
    peer, rows, times = NumpyFilter(p, records[0], v, dt), [], {}
    for kind in ("ekf", "srekf", "ukf", "srukf", "cdkf", "srcdkf"):
        shape = SHAPES[kind.removeprefix("sr")]
        jobs: dict[str, Callable[[], object]] = {
            "ours": lambda kind=kind, shape=shape: kalman(kind, shape, step, records, beta, v),  # type: ignore[misc]
            "peer": lambda kind=kind: peer.run(kind, beta, PEER_SAMPLES),  # type: ignore[misc]
        }
        jobs["ours"](), jobs["peer"]()
        took = best_of(jobs, repeats)
        times[kind] = took["ours"] / N
        rows.append(Row(kind, 1e6 * times[kind], 1e6 * took["peer"] / PEER_SAMPLES, "us per sample", "the same filter in NumPy"))
        say(f"{kind}: {1.0 / times[kind]:.0f} samples per second, {rows[-1].ratio:.1f} times NumPy")
    rows.append(Row("ukf_over_ekf", times["ukf"], 6.0 * times["ekf"], "s per sample", "six times the ekf"))
    for name, run, count in (("pf", marginal_particles, 100), ("pf_plain", particles, 1300)):

        def job(run=run, count=count) -> object:  # type: ignore[no-untyped-def]
            return run(step, [records[0].stretches(2, 0.3)[1]], beta, v, count, 0.5, np.random.default_rng(0))

        job()
        took = best_of({"ours": job}, max(1, repeats // 2))["ours"] / 300
        say(f"{name}, {count} particles: {1.0 / took:.0f} samples per second")
    return rows


def errors(runs: int) -> None:
    """Normalised errors of the parameters."""
    for method in (
        JointFilter(start=Random()), JointFilter(start=Random(), preset="relative", tune=True, longest_step=2e-4),
        ComputedTorqueFilter(start=Random(), preset="relative"),
    ):  # fmt: skip
        found = []
        for run in range(runs):
            p = tx40(run, 10.0)
            e = method.estimate(p, np.random.default_rng(run))
            r = e.beta - p.base.beta(ia.load("tx40").prior.values)
            found.append(float(r @ np.linalg.solve(e.covariance, r)) / len(r))
        words = f"{method.name} {method.preset}{', tuned' if method.tune else ''}"
        say(f"{words}: e' P^-1 e / 52 = {np.mean(found):.2f}, {np.round(found, 2)}")


def figure(path: str) -> None:
    """Four parameters of the TX40 over time, heavy to light, with twice their standard deviations."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    p = tx40(0, 10.0)
    e = JointFilter(start=Random(), preset="relative", tune=True, longest_step=2e-4).estimate(p, np.random.default_rng(0))
    true = dict(zip(p.base.names, p.base.beta(ia.load("tx40").prior.values), strict=True))
    chosen = sorted(true, key=lambda name: -abs(true[name]))[:31:10]
    axes = plt.subplots(2, 2, figsize=(7.0, 4.2), sharex=True)[1].ravel()
    assert e.trace is not None
    t = e.trace.t
    for axis, name in zip(axes, chosen, strict=False):
        k = p.base.names.index(name)
        value, std = e.trace.beta[:, k], e.trace.std[:, k]
        axis.fill_between(t, value - 2 * std, value + 2 * std, color="#0072B2", alpha=0.25, linewidth=0)
        axis.plot(t, value, color="#0072B2", linewidth=1)
        axis.axhline(true[name], color="black", linewidth=0.8, linestyle="--")
        axis.set_title(name, fontsize=9)
        axis.set_ylim(true[name] - 0.4 * abs(true[name]), true[name] + 0.4 * abs(true[name]))
        axis.set_xlabel("t in s")
    plt.tight_layout()
    plt.savefig(path, dpi=110)


def main() -> None:
    def more(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--nees", type=int, default=0, metavar="RUNS", help="also the normalised errors of so many runs")
        parser.add_argument("--figure", metavar="FILE", help="only draw parameters over time")

    options = arguments(__doc__ or "", more)
    if options.figure:
        return figure(options.figure)
    rows = speed(options.repeats)
    if options.nees:
        errors(options.nees)
    show(rows, options.json)
    return None


if __name__ == "__main__":
    main()
