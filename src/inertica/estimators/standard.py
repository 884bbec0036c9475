"""Standard parameters from base parameters: among all that explain the data equally well, those nearest the prior."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from inertica.arrays import Array
from inertica.identifiability.base import BaseModel
from inertica.physical.scales import SMALLEST
from inertica.robot.layout import Parameters
from inertica.robot.natural import NaturalUnits
from inertica.threads import one_thread

_ROUNDING = 1e-12
"""Changes below this part of a parameter's size are none: what no data touch stays at the prior to the last digit."""


def nearest_prior(base: BaseModel, beta: ArrayLike, prior: Parameters) -> Array:
    """chi with T chi = beta that changes the prior least,

        chi = chi_0 + S T' (T S T')^+ (beta - T chi_0),   S = diag(scale^2),

    the change of each parameter measured against its own size.
    """
    change = _gain(base, prior) @ (np.asarray(beta, float) - base.beta(prior.values))
    return np.asarray(np.where(np.abs(change) > _ROUNDING * parameter_scales(prior), prior.values + change, prior.values))


def standard_covariance(base: BaseModel, covariance: ArrayLike, prior: Parameters) -> Array:
    """(P, P) covariance that the data's uncertainty causes in `nearest_prior`; what the prior itself does not know is not in it."""
    G = _gain(base, prior)
    return G @ np.asarray(covariance, float) @ G.T


def parameter_scales(prior: Parameters) -> Array:
    """(P,) by how much each parameter may be expected to differ from its prior: its size, or a share of the robot's natural unit."""
    out = np.abs(prior.values)
    natural = NaturalUnits.of(prior.layout, prior.values)
    for k, parameter in enumerate(prior.layout.parameters):
        out[k] = 0.0 if parameter.fixed else max(out[k], SMALLEST * natural.size(parameter.unit))
    return out


def _gain(base: BaseModel, prior: Parameters) -> Array:
    scale = parameter_scales(prior)
    with one_thread():
        return scale[:, None] * np.linalg.pinv(base.T * scale, rcond=1e-10)
