"""Prior values that are wrong by a stated share: the start vectors of the survey's Monte Carlo study (its section 9.1)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from inertica.arrays import Array
from inertica.physical.pseudo import pseudo_inertias
from inertica.robot.layout import Parameters

SHARE = 0.15
"""Standard deviation of every standard parameter as a share of its value, as in the survey."""

DRAWS = 100_000
"""Of a link before it is given up on finding one that could exist; of the survey's robots a few hundred suffice."""


def distorted(parameters: Parameters, rng: np.random.Generator, share: float = SHARE) -> Parameters:
    """chi (1 + share z), z standard normal; links that could exist are drawn again until they still could.

    The survey draws whole vectors again; links are independent, so drawing them one by one gives the same distribution in a fraction
    of the draws.  Its toolbox also clips inertias to [0, 10], which sets negative products of inertia to zero; that is not done here.
    Fixed parameters keep their values.

    Args:
        parameters: the true ones, or a model's.
        rng: random numbers.
        share: standard deviation relative to each value.
    """
    layout, chi = parameters.layout, np.array(parameters.values, float)
    out = chi * (1.0 + share * rng.standard_normal(len(chi)))
    for where in [layout.link(j) for j in layout.robot.links]:
        if _possible(chi[where]):
            out[where] = _still_possible(chi[where], share, rng)
    fixed = [k for k, p in enumerate(layout.parameters) if p.fixed]
    out[fixed] = chi[fixed]
    return replace(parameters, values=out, origin=f"{parameters.origin}, distorted by {100 * share:g} %")


def _still_possible(link: Array, share: float, rng: np.random.Generator) -> Array:
    for _ in range(0, DRAWS, 256):
        draws = link * (1.0 + share * rng.standard_normal((256, len(link))))
        good = np.linalg.eigvalsh(pseudo_inertias(draws)).min(axis=1) > 0.0
        if good.any():
            return np.asarray(draws[int(np.argmax(good))])
    return link.copy()


def _possible(link: Array) -> bool:
    return bool(np.linalg.eigvalsh(pseudo_inertias(link)).min() > 0.0)
