"""Repair: the physically consistent parameters nearest to inconsistent ones.

Links and drives that are consistent keep their values to the last digit; of the others the nearest point of the set is taken, a
margin inside.  Near is measured in a metric:

    euclidean   changes of the ten parameters, each in units of the body's size
    frobenius   change of the pseudo-inertia matrix in these units: eigenvalues below the margin are lifted, nothing else
    pullback    the cone's own metric at the nearest positive definite pseudo-inertia: thin directions may change little

With `keep_dynamics` the base parameters, and with them all torques, stay exactly as they are; then all links may change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from inertica.errors import InputError, nearest
from inertica.identifiability.base import BaseModel
from inertica.physical.check import check_link, negative_names
from inertica.physical.cone import Program
from inertica.physical.constraints import PHYSICAL, Block, Constraint, Custom, Signs, assembled, slack
from inertica.physical.fit import Fit
from inertica.physical.priors import Quadratic
from inertica.physical.pseudo import PSEUDO, svec
from inertica.physical.scales import Reference
from inertica.robot import inertia
from inertica.robot.layout import Parameters

Array = NDArray[np.float64]
Metric = Literal["euclidean", "frobenius", "pullback"]

_FLAT = 1e-2
"""Eigenvalues of a pseudo-inertia (in the body's units) are lifted to this before it serves as a metric."""

_DUST = 1e-10
"""Changes below this share of a parameter's scale are rounding, far inside the margin."""


@dataclass(frozen=True, eq=False)
class Repair:
    """Repaired parameters.

    Args:
        parameters: consistent.
        changed: names of parameters whose values changed.
        distance: in the metric.
        metric: which.
    """

    parameters: Parameters
    changed: tuple[str, ...]
    distance: float
    metric: str


def repair(
    parameters: Parameters,
    metric: str = "euclidean",
    *,
    keep_dynamics: BaseModel | None = None,
    constraints: tuple[Constraint, ...] = PHYSICAL,
) -> Repair:
    """The nearest consistent parameters.

    Args:
        parameters: any.
        metric: euclidean, frobenius or pullback.
        keep_dynamics: base model whose parameters must not change.
        constraints: what consistent means.

    Raises:
        InfeasibleError: no consistent parameters have the same dynamics.
    """
    if metric not in get_args(Metric):
        raise InputError(f"unknown metric '{metric}'; {nearest(metric, get_args(Metric))}")
    layout = parameters.layout
    kept = frozenset() if keep_dynamics is not None else _sound(parameters, constraints)
    empty = {n for _, w in layout.bodies if not np.any(parameters.values[w]) for n in layout.names[w]}
    held = replace(layout, fixed=frozenset(kept | empty) | layout.fixed)
    reference = Reference.of(held, parameters.values)
    if not reference.free.any():
        return Repair(parameters, (), 0.0, metric)
    penalty = Quadratic(_rows(reference, metric), parameters.values)
    extra = () if keep_dynamics is None else (Custom(_same_base(reference, keep_dynamics, parameters.values)),)
    program = Program(reference, (*constraints, *extra))
    nothing = Fit(np.zeros((0, 1)), np.zeros(0), np.zeros((1, layout.size)))
    outcome = program.solve(nothing, penalty)
    moved = reference.free & (np.abs(outcome.chi - parameters.values) > _DUST * reference.scale)
    values = _signs_kept(np.where(moved, outcome.chi, parameters.values), reference)
    changed = tuple(n for n, a, b in zip(layout.names, values, parameters.values, strict=True) if a != b)
    origin = f"{parameters.origin}, repaired"
    distance = float(np.sqrt(penalty.value(values)))
    return Repair(parameters.with_values(values, origin), changed, distance, metric)


def _sound(parameters: Parameters, constraints: tuple[Constraint, ...]) -> frozenset[str]:
    """Parameters that only take part in constraints that hold."""
    layout = parameters.layout
    reference = Reference.of(replace(layout, fixed=frozenset()), parameters.values)
    touched = np.zeros(layout.size, bool)
    for block in assembled(constraints, reference):
        broken = slack(block, parameters.values) < 0.0
        zero_sign = block.cone == "nonnegative" and slack(block, parameters.values) > -1e-8  # a plain zero is no fault
        if broken and not zero_sign:
            touched |= np.any(block.F != 0.0, axis=0)
    return frozenset(n for n, t in zip(layout.names, touched, strict=True) if not t)


def _signs_kept(values: Array, reference: Reference) -> Array:
    """What the solver left within its accuracy of a sign bound."""
    out = np.array(values)
    for block in Signs(margin=0.0).blocks(reference):
        k = int(np.flatnonzero(block.F[0])[0])
        if reference.free[k]:
            out[k] = max(out[k], reference.layout.parameters[k].lower)
    return out


def _rows(reference: Reference, metric: str) -> Array:
    W = np.diag(1.0 / reference.scale)
    if metric == "euclidean":
        return W
    for _, where, size in reference.bodies:
        root = size.pseudo
        if metric == "pullback":
            e, V = np.linalg.eigh(root @ inertia.pseudo_inertia(reference.values[where]) @ root)
            root = (V / np.sqrt(np.maximum(e, _FLAT)) @ V.T) @ root
        W[where, where] = svec(root @ PSEUDO @ root.T).T
    return W


def _same_base(reference: Reference, base: BaseModel, values: Array) -> list[Block]:
    T, beta = base.T, base.beta(values)
    size = np.linalg.norm(T * reference.scale, axis=1)
    return [
        Block(f"{name} unchanged", "zero", row[None] / s, np.array([-b / s]))
        for name, row, b, s in zip(base.names, T, beta, size, strict=True)
    ]


def inconsistent(parameters: Parameters) -> tuple[str, ...]:
    """Names of links and drives that no real robot has; empty for a consistent model."""
    links = [
        parameters.layout.robot.joints[b.link].link
        for b, w in parameters.layout.bodies
        if not check_link("", parameters.values[w]).consistent
    ]
    return (*links, *negative_names(parameters))
