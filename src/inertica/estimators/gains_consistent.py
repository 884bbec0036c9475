"""Drive gains with links, drives and a load that can exist: the form `constrained` of `gains`.

Gauss-Newton as there, each step the nearest consistent point: the unknowns are all standard parameters of the robot, the ten of the
load, the friction of the loaded records and 1 / K of every joint.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from inertica.arrays import Array
from inertica.estimators.gains import (
    GainProblem,
    Gains,
    KnownLoad,
    found_loads,
    joint_covariance,
    linearised,
    total_least_squares,
)
from inertica.physical.cone import Program
from inertica.physical.constraints import PHYSICAL
from inertica.physical.fit import Fit
from inertica.physical.priors import Euclidean
from inertica.physical.scales import Reference
from inertica.robot.layout import Layout, Parameters
from inertica.robot.terms import RigidBody, State, UserTerm
from inertica.threads import one_thread

STEPS = 30
SETTLED = 1e-5
"""Relative change of the gains at which the iteration has arrived."""


def constrained(problem: GainProblem, prior: Parameters, body: RigidBody) -> Gains:
    """The form `constrained`.

    Args:
        problem: the records.
        prior: of the robot; decides only where data and constraints are silent.
        body: where the load is fixed.
    """
    free = total_least_squares(problem)
    space = _Unknowns(problem, prior, body, 1.0 / free.factors)
    g, theta = 1.0 / free.factors, free.theta
    iterations, change = 0, np.inf
    with one_thread():
        while iterations < STEPS and change > SETTLED:
            iterations += 1
            J, r = linearised(problem, g, theta, free.sigma)
            fit = Fit(J, J @ np.concatenate([g, theta]) - r, space.T, 1.0)
            x = space.T @ space.program.solve(fit, Euclidean().penalty(space.program.reference, fit)).chi
            change = float(np.max(np.abs(x[: problem.n] / g - 1.0)))
            g, theta = x[: problem.n], x[problem.n :]
        covariance = joint_covariance(problem, g, theta, free.sigma, np.arange(problem.n))
    # relative, since factors multiply: std of 1/g over 1/g is std of g over g to first order
    std = np.sqrt(np.diag(covariance)) / np.abs(g)
    return Gains(1.0 / g, std, theta, found_loads(problem, theta), free.sigma, iterations)


class _Unknowns:
    """The unknowns as a layout with a cone program, and the map from them to gains and theta."""

    def __init__(self, problem: GainProblem, prior: Parameters, body: RigidBody, g: Array) -> None:
        prior_layout, n, b = prior.layout, problem.n, len(problem.columns)
        first = problem.size - sum(load.unknown for load in problem.loads.values())
        gains = tuple(UserTerm(f"gain {j + 1}", _nothing) for j in range(n))
        changes = tuple(UserTerm(f"change {k + 1}", _nothing) for k in range(first - b))
        bodies = {name: replace(body, suffix=f" of {name}") for name in problem.loads}
        names = {name: [p.name for p in one.parameters] for name, one in bodies.items()}
        fixed = frozenset(
            word for name, load in problem.loads.items() for word, known in zip(names[name], load.known, strict=True) if known
        )
        layout = Layout(prior_layout.robot, (*prior_layout.terms, *gains, *changes), tuple(bodies.values()), fixed)
        values = dict(zip(prior_layout.names, prior.values, strict=True)) | {f"gain {j + 1}": float(g[j]) for j in range(n)}
        for name, load in problem.loads.items():
            values |= dict(zip(names[name], _guess(load), strict=True))
        self.program = Program(Reference.of(layout, [values.get(name, 0.0) for name in layout.names]), PHYSICAL)
        base = problem.sets[0].system.base
        place = {name: k for k, name in enumerate(layout.names)}
        unknown = [
            w for name, load in problem.loads.items() for w, known in zip(names[name], load.known, strict=True) if not known
        ]
        self.T = np.zeros((n + problem.size, layout.size))
        for row, term in enumerate(gains):
            self.T[row, place[term.name]] = 1.0
        self.T[n : n + b][:, [place[name] for name in base.layout.names]] = base.T
        for row, name in enumerate([*(t.name for t in changes), *unknown], n + b):
            self.T[row, place[name]] = 1.0


def _guess(load: KnownLoad) -> Array:
    """A load as far as it is known; a ball of 10 cm where it is not."""
    mass = float(load.values[9]) if load.known[9] else 1.0
    out = np.zeros(10)
    # of a solid sphere, 2/5 m r^2 about each axis
    out[[0, 3, 5]], out[9] = 0.4 * mass * 0.1**2, mass
    return np.where(load.known, load.values, out)


def _nothing(_: State) -> dict[int, float]:
    """Gains and changes act on no joint by a column of their own."""
    return {}
