"""Random constrained fits of catalog robots, and the same problem written down in cvxpy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import cvxpy as cp
import numpy as np

import inertica as ia
from inertica.dynamics.equations import plain_regressor
from inertica.identifiability.base import BaseModel, base_model
from inertica.physical.cone import Program
from inertica.physical.fit import Fit
from inertica.physical.priors import Quadratic
from inertica.physical.scales import Reference
from inertica.robot import inertia
from inertica.robot.description import Description

ROBOTS = ("tx40", "rv2sq", "jaco2", "scara4", "scara2", "panda7", "tx40_coupled")
NOISES = (0.01, 0.1, 0.5)
"""Of torque, relative to each joint's own."""


@dataclass(frozen=True)
class Case:
    description: Description
    base: BaseModel
    fit: Fit
    reference: Reference

    @property
    def truth(self) -> np.ndarray:
        return self.description.prior.values


@lru_cache
def robot(name: str) -> tuple[Description, BaseModel]:
    description = ia.load(name)
    return description, base_model(description.layout)


@lru_cache
def regressor(name: str, seed: int, samples: int) -> np.ndarray:
    description, base = robot(name)
    rng = np.random.default_rng([seed, 1])
    q, dq, ddq = rng.normal(size=(3, samples, description.robot.n)) * np.array([1.5, 1.0, 3.0])[:, None, None]
    return plain_regressor(description.layout, q, dq, ddq)[..., base.retained]


def case(name: str, noise: float, seed: int, samples: int = 150, truth: np.ndarray | None = None) -> Case:
    """Data of random states with torque noise, and a prior that is off by tens of percent; noise 0 gives exact data."""
    description, base = robot(name)
    rng = np.random.default_rng([seed, 2])
    Y = regressor(name, seed, samples)
    tau = Y @ base.beta(description.prior.values if truth is None else truth)
    sigma = max(noise, 1e-9) * tau.std(axis=0)
    y = tau + (sigma * rng.normal(size=tau.shape) if noise else 0.0)
    stack = np.column_stack([(Y / sigma[:, None]).reshape(-1, base.rank), (y / sigma).ravel()])
    R = np.linalg.qr(stack, mode="r")
    fit = Fit(R[: base.rank, : base.rank], R[: base.rank, base.rank], np.array(base.T))
    return Case(description, base, fit, Reference.of(description.layout, other_values(description, rng)))


def other_values(description: Description, rng: np.random.Generator) -> np.ndarray:
    """Consistent parameters some way from the description's."""
    values = description.prior.values * (1.0 + 0.3 * rng.uniform(-1, 1, description.layout.size))
    for _, where in description.layout.bodies:
        C = np.eye(4)
        C[:3] += 0.15 * rng.normal(size=(3, 4)) * [1, 1, 1, 0.1]
        C *= 1.0 + 0.15 * rng.normal()
        values[where] = inertia.from_pseudo_inertia(C @ inertia.pseudo_inertia(description.prior.values[where]) @ C.T)
    return values


def cvxpy_objective(program: Program, fit: Fit, penalty: Quadratic, **tolerances: float) -> tuple[float, np.ndarray]:
    """The same problem as a user of cvxpy would state it: matrices by their entries, no residual variables of ours."""
    reference = program.reference
    x = cp.Variable(len(program.scale))
    known = np.where(reference.free, 0.0, reference.values)
    lift = np.zeros((reference.layout.size, len(program.scale)))
    lift[program.free, np.arange(len(program.scale))] = program.scale
    constraints = []
    for block in program.blocks:
        v = block.F @ lift @ x + block.value(known)
        if block.cone == "zero":
            constraints.append(v == 0)
        elif block.cone == "nonnegative":
            constraints.append(v >= 0)
        elif block.cone == "second order":
            constraints.append(cp.SOC(v[0], v[1:]))
        else:
            d = round((np.sqrt(8 * len(block.f) + 1) - 1) / 2)
            basis, k = [], 0
            for j in range(d):
                for i in range(j + 1):
                    E = np.zeros((d, d))
                    E[i, j] = E[j, i] = 1.0 if i == j else np.sqrt(0.5)
                    basis.append(v[k] * E)
                    k += 1
            constraints.append(sum(basis) >> 0)
    data = cp.sum_squares(fit.A @ lift @ x - (fit.z - fit.A @ known))
    pull = cp.sum_squares(penalty.W @ lift @ x - penalty.W @ (penalty.centre - known))
    problem = cp.Problem(cp.Minimize(data + pull), constraints)
    problem.solve(solver=cp.CLARABEL, **tolerances)
    chi = known + lift @ x.value
    return fit.squares(chi) + penalty.value(chi), chi
