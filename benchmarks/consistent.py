"""Physically consistent least squares of a six-joint arm: our cone data against cvxpy rebuilt for every solve, both on Clarabel.

    python benchmarks/consistent.py [--json] [--repeats 20]

All rows are milliseconds per solve in this run.  `log_det` has the entropic prior; cvxpy needs exponential cones for it.
`samples_100x` shows what a record a hundred times longer costs once its R factor exists: nothing (ratio 1).
"""

from __future__ import annotations

import warnings

import cvxpy as cp
import numpy as np
from bench import Row, arguments, best_of, say, show

import inertica as ia
from inertica.identifiability.base import base_model
from inertica.identifiability.states import random_states
from inertica.physical.cone import Program
from inertica.physical.fit import Fit
from inertica.physical.logdet import newton_solve
from inertica.physical.priors import ConePenalty, Entropic, Euclidean, Quadratic
from inertica.physical.pseudo import PSEUDO
from inertica.physical.scales import Reference

NOISE = 0.3
ROBOT = "tx40"


def problem(samples: int) -> tuple[Reference, Fit]:
    """Random states, torque noise that pushes plain least squares out of the feasible set, a prior that is 20 % off."""
    robot = ia.load(ROBOT)
    base = base_model(robot.layout)
    rng = np.random.default_rng(0)
    states = random_states(robot.layout, samples, seed=1)
    clean = base.engine.inverse_dynamics(states.q, states.dq, states.ddq, robot.prior.values)
    sigma = NOISE * clean.std(axis=0)
    tau = clean + sigma * rng.normal(size=clean.shape)
    factors = base.engine.factors(states.q, states.dq, states.ddq, tau, columns=[int(k) for k in base.retained])
    place = {int(k): i for i, k in enumerate(base.retained)}
    blocks = [np.zeros((base.rank + 1, base.rank + 1))]
    for factor, s in zip(factors.joints, sigma, strict=True):
        block = np.zeros((len(factor.columns), base.rank + 1))
        block[:, [place[c] for c in factor.columns]] = factor.R
        block[:, -1] = factor.z
        blocks.append(block / s)
    R = np.linalg.qr(np.vstack(blocks), mode="r")
    fit = Fit(R[: base.rank, : base.rank], R[: base.rank, -1], np.array(base.T))
    return Reference.of(robot.layout, 1.2 * robot.prior.values), fit


def cvxpy_quadratic(reference: Reference, fit: Fit, penalty: Quadratic) -> float:
    """The problem stated from scratch, as a script would."""
    x = cp.Variable(reference.layout.size)
    bodies = [where for _, where, _ in reference.bodies]
    constraints = [sum(x[w.start + k] * PSEUDO[k] for k in range(10)) >> 0 for w in bodies]
    signed = [k for k, p in enumerate(reference.layout.parameters) if p.lower == 0.0 and p.kind not in ("inertia", "mass")]
    constraints.append(x[signed] >= 0)
    data = cp.sum_squares(fit.A @ x - fit.z) + cp.sum_squares(penalty.W @ (x - penalty.centre))
    task = cp.Problem(cp.Minimize(data), constraints)
    task.solve(solver=cp.CLARABEL)
    return float(task.value)


def cvxpy_log_det(reference: Reference, fit: Fit, penalty: ConePenalty) -> float:
    x = cp.Variable(reference.layout.size)
    cost = []
    for where, maps in zip(penalty.where, penalty.maps, strict=True):
        K = sum(x[int(k)] * m for k, m in zip(where, maps, strict=True))
        cost.append(2.0 * (cp.trace(K) - cp.log_det(K) - 4.0))
    ratio = cp.multiply(1.0 / penalty.scalar_prior, x[penalty.scalars])
    cost.append(2.0 * cp.sum(ratio - cp.log(ratio) - 1.0))
    task = cp.Problem(cp.Minimize(cp.sum_squares(fit.A @ x - fit.z) + penalty.factor * sum(cost)))
    task.solve(solver=cp.CLARABEL)
    return float(task.value)


def main() -> None:
    warnings.simplefilter("ignore")
    options = arguments(__doc__ or "")
    say("building problems")
    reference, fit = problem(1000)
    _, long = problem(100_000)
    program = Program(reference)
    quadratic, entropic = Euclidean().penalty(reference, fit), Entropic().penalty(reference, fit)
    assert isinstance(entropic, ConePenalty)
    held = Euclidean().penalty(reference, long)
    jobs = {
        "ours": lambda: program.solve(fit, quadratic),
        "cvxpy": lambda: cvxpy_quadratic(reference, fit, quadratic),
        "ours log-det": lambda: newton_solve(program, fit, entropic),
        "cvxpy log-det": lambda: cvxpy_log_det(reference, fit, entropic),
        "long": lambda: program.solve(long, held),
        "built": lambda: Program(reference).solve(fit, quadratic),
    }
    say(f"objectives: {program.solve(fit, quadratic).objective:.9g} and {cvxpy_quadratic(reference, fit, quadratic):.9g} (cvxpy)")
    say(
        f"log-det:    {newton_solve(program, fit, entropic).objective:.9g} and {cvxpy_log_det(reference, fit, entropic):.9g} (cvxpy)"
    )
    say(f"active:     {', '.join(b.name for b in program.solve(fit, quadratic).active)}")
    t = {name: 1e3 * seconds for name, seconds in best_of(jobs, options.repeats).items()}
    rows = [
        Row("consistent", t["ours"], t["cvxpy"], "ms", "cvxpy rebuilt + Clarabel"),
        Row("consistent_first", t["built"], t["cvxpy"], "ms", "cvxpy rebuilt + Clarabel, our cone data built too"),
        Row("log_det", t["ours log-det"], t["cvxpy log-det"], "ms", "cvxpy rebuilt + Clarabel"),
        Row("samples_100x", t["long"], t["ours"], "ms", "the same with a hundredth of the samples"),
    ]
    show(rows, options.json)


if __name__ == "__main__":
    main()
