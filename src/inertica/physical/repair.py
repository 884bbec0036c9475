"""Repair: the physically consistent parameters nearest to inconsistent ones.

What takes part in no broken statement, and shares none with what does, keeps its values to the last digit: links and drives that
are consistent.  Of the others the nearest point of the set is taken, a margin inside.  Links without any values stay so unless a
statement asks for some.  Near is measured in a metric:

    euclidean   changes of the ten parameters, each in units of the body's size
    frobenius   change of the pseudo-inertia matrix in these units: eigenvalues below the margin are lifted, nothing else
    pullback    the cone's own metric at the nearest positive definite pseudo-inertia: thin directions may change little

With `keep_dynamics` the base parameters, and with them all torques, stay exactly as they are; then all links may change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from inertica.arrays import Array, Mask
from inertica.errors import InputError, nearest
from inertica.identifiability.base import BaseModel
from inertica.physical.check import check_link, negative_names
from inertica.physical.cone import InfeasibleError, Program
from inertica.physical.constraints import PHYSICAL, Block, Constraint, Custom, Signs, assembled, slack
from inertica.physical.fit import Fit
from inertica.physical.priors import Quadratic
from inertica.physical.pseudo import PSEUDO, svec
from inertica.physical.scales import Reference
from inertica.robot import inertia
from inertica.robot.layout import Parameters

Metric = Literal["euclidean", "frobenius", "pullback"]

_FLAT = 1e-2
"""Eigenvalues of a pseudo-inertia (in the body's units) are lifted to this before it serves as a metric."""

_FINE = 1e-4
"""A solve may end within a hundredth of the root of this from the nearest point, in units of the parameters' sizes."""

_DUST = 1e-10
"""Changes below this share of a parameter's scale are rounding, far inside the margin."""

_TOLERANCE = 1e-8
"""A statement missed by less is kept, and a plain zero is no fault of a sign."""


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
        InfeasibleError: no parameters satisfy the constraints (and have the same dynamics).

    Examples:
        >>> prior = ia.load("scara2").prior
        >>> found = ia.repair(prior.replaced({"M2": -1.0}))
        >>> ia.check_model(found.parameters, configurations=20).consistent
        True
    """
    if metric not in get_args(Metric):
        raise InputError(f"unknown metric '{metric}'; {nearest(metric, get_args(Metric))}")
    try:
        return _nearest(parameters, metric, _affected(parameters, constraints, keep_dynamics), keep_dynamics, constraints)
    except InfeasibleError:
        if not _empty(parameters).any():
            raise
    everything = _affected(parameters, constraints, keep_dynamics, hold_empty=False)
    return _nearest(parameters, metric, everything, keep_dynamics, constraints)


def _nearest(
    parameters: Parameters, metric: str, free: Mask, keep_dynamics: BaseModel | None, constraints: tuple[Constraint, ...]
) -> Repair:
    """The nearest consistent parameters, those that are not free held."""
    layout = parameters.layout
    held = replace(layout, fixed=frozenset(n for n, f in zip(layout.names, free, strict=True) if not f) | layout.fixed)
    reference = Reference.of(held, parameters.values)
    if not reference.free.any():
        return Repair(parameters, (), 0.0, metric)
    penalty = Quadratic(_rows(reference, metric), parameters.values)
    extra = () if keep_dynamics is None else (Custom(_same_base(reference, keep_dynamics, parameters.values)),)
    program = Program(reference, (*constraints, *extra))
    nothing = Fit(np.zeros((0, 1)), np.zeros(0), np.zeros((1, layout.size)), noise=_FINE)
    outcome = program.solve(nothing, penalty)
    repaired_entries = reference.free & (np.abs(outcome.chi - parameters.values) > _DUST * reference.scale)
    values = _signs_kept(np.where(repaired_entries, outcome.chi, parameters.values), reference)
    changed = tuple(n for n, a, b in zip(layout.names, values, parameters.values, strict=True) if a != b)
    origin = f"{parameters.origin}, repaired"
    distance = float(np.sqrt(penalty.value(values)))
    return Repair(parameters.with_values(values, origin), changed, distance, metric)


def _affected(
    parameters: Parameters, constraints: tuple[Constraint, ...], keep_dynamics: BaseModel | None, *, hold_empty: bool = True
) -> Mask:
    """(P,) what takes part in a broken statement, or shares one with what does: metric and constraints tie nothing else to it."""
    layout, values, empty = parameters.layout, parameters.values, _empty(parameters)
    touches, broken = list[Mask](), list[Mask]()
    for block in assembled(constraints, Reference.of(replace(layout, fixed=frozenset()), values)):
        touch = np.asarray(np.any(block.F != 0.0, axis=0))
        touches.append(touch)
        no_body = block.cone == "semidefinite" and empty[touch].all()  # a link without values is no fault
        if slack(block, values) < (0.0 if block.cone == "semidefinite" else -_TOLERANCE) and not no_body:
            broken.append(touch)
    apart = empty & hold_empty
    for _, where in layout.bodies:  # unless something is said of this very link
        apart[where] &= not any(touch[where].any() for touch in broken if empty[touch].all())
    if keep_dynamics is not None:
        return ~apart
    out, grown = np.zeros(layout.size, bool), np.any(broken, axis=0) & ~apart
    while np.any(grown & ~out):
        out = grown
        grown = out | np.any([touch & ~apart for touch in touches if np.any(touch & out)], axis=0)
    return out


def _empty(parameters: Parameters) -> Mask:
    """(P,) parameters of links without any values."""
    out = np.zeros(parameters.layout.size, bool)
    for _, where in parameters.layout.bodies:
        out[where] = not np.any(parameters.values[where])
    return out


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


def inconsistent_names(parameters: Parameters) -> tuple[str, ...]:
    """Names of links and drives that no real robot has; empty for a consistent model."""
    links = [
        parameters.layout.robot.joints[b.link].link
        for b, w in parameters.layout.bodies
        if not check_link("", parameters.values[w]).consistent
    ]
    return (*links, *negative_names(parameters))
