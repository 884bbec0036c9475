"""Prior values of drives that no datasheet states: armature and friction from a first weighted least squares (consistent-parameters
paper, V.B)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from inertica.estimators.base import Problem
from inertica.estimators.linear.least_squares import Wls
from inertica.robot.layout import Parameters
from inertica.threads import one_thread

KINDS = ("armature", "viscous", "coulomb")
"""What datasheets and CAD leave out; a kind is missing when the prior has zeros for it on every joint."""


def missing_drives(prior: Parameters) -> NDArray[np.intp]:
    """Numbers of armature and friction parameters of kinds that the prior says nothing of; fixed ones are known."""
    drives = [(k, p.kind) for k, p in enumerate(prior.layout.parameters) if p.kind in KINDS and not p.fixed]
    absent = {kind for kind in KINDS if not any(prior.values[k] for k, drive_kind in drives if drive_kind == kind)}
    return np.array([k for k, kind in drives if kind in absent], np.intp)


def filled_prior(problem: Problem) -> tuple[Parameters, tuple[str, ...]]:
    """The prior with those parameters found, and their names; the prior itself where none is missing.

    A parameter that is a base parameter of its own takes its estimate.  One that the data tell together with others (armature of the
    first joints, part of ZZR) takes what the prior values of the others leave of the sum.  None that cannot be negative is.

    Args:
        problem: with a prior.
    """
    assert problem.prior is not None
    prior, base = problem.prior, problem.base
    missing = missing_drives(prior)
    if not len(missing):
        return prior, ()
    beta = Wls(hac=False).estimate(problem).beta
    T = base.T[:, missing]
    seen = np.abs(T).max(axis=1) > 0.0
    with one_thread():
        change = np.linalg.lstsq(T[seen], (beta - base.beta(prior.values))[seen], rcond=1e-9)[0]
    lower = np.array([prior.layout.parameters[k].lower for k in missing])
    values = prior.values.copy()
    values[missing] = np.maximum(change, lower)
    names = tuple(prior.layout.names[k] for k in missing)
    return prior.with_values(values, f"{prior.origin}, armature and friction of a first wls"), names
