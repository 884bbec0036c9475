"""What may be believed of a load: labels of its ten parameters, and the first moments that are known where the mass alone is not.

Gravity turns a joint by the weight of a load times its lever.  An arm that keeps some of its axes still or upright shows that product,
the first moment along a direction about a point, and leaves open which mass at which distance makes it: a combination
a . (MX, MY, MZ) + d M is known although M is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.identifiability.labels import COMBINED, DETERMINED, FIXED, INTERVAL, UNIDENTIFIABLE, WEAK, well_determined
from inertica.physical.body import PossibleBody, resolved_combinations

MASS, FIRST = 9, (6, 7, 8)
"""Places of M and of MX, MY, MZ among the ten parameters (`inertia.NAMES`)."""

NEGLIGIBLE = 1e-6
"""Share of a unit vector that counts as nothing."""


@dataclass(frozen=True, eq=False)
class FirstMoment:
    """A first moment that the records determine: integral of (direction . r + offset) dm.

    Args:
        direction: (3,) unit vector along which it is taken, in the frame of the load.
        offset: m; it is taken about the point -offset * direction of that frame, and so holds offset times the mass.
        value: kg m.
        lower, upper: 95 % interval.
    """

    direction: Array
    offset: float
    value: float
    lower: float
    upper: float

    @property
    def point(self) -> Array:
        """(3,) m, about which the moment is taken."""
        return -self.offset * self.direction

    @property
    def axis(self) -> str | None:
        """x, y or z where the moment is taken along that axis of the frame, -x, -y or -z against it; None elsewhere."""
        along = np.flatnonzero(np.abs(self.direction) > NEGLIGIBLE)
        sign = "" if self.direction[along].sum() > 0.0 else "-"
        return sign + "xyz"[along[0]] if len(along) == 1 else None


def load_labels(
    known: NDArray[np.bool_], silent: NDArray[np.bool_], values: Array, std: Array, body: PossibleBody
) -> tuple[str, ...]:
    """(10,) labels.

    A parameter is determined by what the records say, and only while a real body agrees with them: where constraints move it out of
    its own interval, or onto zero, either the records or the model are wrong, and neither value can be trusted.

    Args:
        known: (10,) parameters whose own value the records determine.
        silent: (10,) those that no torque depends on.
        values, std: (10,) what the records say.
        body: the nearest real body.
    """
    well = np.zeros(10, bool)
    well[known] = well_determined(values[known], std[known])
    agrees = (np.abs(body.values - values) <= INTERVAL * std) & (body.lower * body.upper > 0.0)
    words = np.where(well & agrees, DETERMINED, np.where(known, WEAK, np.where(silent, UNIDENTIFIABLE, COMBINED)))
    return tuple(str(w) for w in words)


def first_moments(
    values: Array, covariance: Array, body: PossibleBody, open_directions: Array, labels: Sequence[str]
) -> tuple[FirstMoment, ...]:
    """First moments that are determined: those along the axes, then combinations with others and the mass where that is not known.

    Args:
        values, covariance: (10,) and (10, 10) what the records say.
        body: the nearest real body.
        open_directions: (10, k) changes of the parameters that the records do not see.
        labels: (10,) of the parameters.
    """
    alone = [k for k in FIRST if labels[k] == DETERMINED]
    moments = [FirstMoment(np.eye(3)[k - FIRST[0]], 0.0, body.values[k], body.lower[k], body.upper[k]) for k in alone]
    if labels[MASS] not in (DETERMINED, FIXED):
        others = [k for k in FIRST if labels[k] not in (DETERMINED, FIXED)]
        moments += _combinations(values, covariance, body, open_directions, [MASS, *others])
    return tuple(moments)


def _combinations(
    values: Array, covariance: Array, body: PossibleBody, open_directions: Array, places: list[int]
) -> list[FirstMoment]:
    """Combinations of mass and first moments that are known well, uncorrelated with each other, the best known one first."""
    A = resolved_combinations(open_directions[places], body.scale[places])
    if not len(A):
        return []
    C = A @ covariance[np.ix_(places, places)] @ A.T
    variance, V = np.linalg.eigh(0.5 * (C + C.T))
    weights = V.T @ A  # one combination per row
    std, means = np.sqrt(np.maximum(variance, 0.0)), weights @ values[places]
    agrees = np.abs(weights @ body.values[places] - means) <= INTERVAL * std
    well = well_determined(means, std) & agrees & (std > 0.0)
    moments = [_moment(c, v, s, places) for c, v, s in zip(weights[well], means[well], std[well], strict=True)]
    return [m for m in moments if m is not None]


def _moment(weights: Array, value: float, std: float, places: list[int]) -> FirstMoment | None:
    """The combination as a first moment along a unit vector; None where it is the mass and hardly anything else."""
    ten = np.zeros(10)
    ten[places] = weights
    along = ten[list(FIRST)]
    length = float(np.linalg.norm(along))
    if length <= NEGLIGIBLE * float(np.abs(ten).max()):
        return None
    # the direction is told up to its sign: the one in which the load lies
    factor = np.sign(value) / length
    low, high = sorted((factor * (value - INTERVAL * std), factor * (value + INTERVAL * std)))
    return FirstMoment(factor * along, float(factor * ten[MASS]), float(factor * value), low, high)
