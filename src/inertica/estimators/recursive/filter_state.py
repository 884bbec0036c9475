"""What a compiled filter is given, holds and records: tuples of arrays that Numba takes apart by name."""

from __future__ import annotations

from typing import Any, NamedTuple


class Points(NamedTuple):
    """Weights of sigma points; h = 0 for the extended filter."""

    h: float
    curve: float
    offset: float


class FilterNoise(NamedTuple):
    """Variances that a filter assumes.

    Args:
        state: (2n,) added at every sample.
        parameter: (b,) added at first, and
        shrink: factor on it at every sample, down to
        floor: (b,)
        measurement: (n,)
        reach: (2n,) no variance: by how much a state may differ from one point to another.
        torque: (K, 2n, n) what the noise of each torque adds to the state, along the way; or empty,
        thinned: samples between its rows,
        behind: samples before the first one that it begins with.
        jump: (2n, n) added to that of the state where a joint reverses, one column each,
        slow: (n,) or is slower than this.
    """

    state: Any
    parameter: Any
    shrink: float
    floor: Any
    measurement: Any
    reach: Any
    jump: Any
    slow: Any
    torque: Any
    thinned: int
    behind: int


class PassRecord(NamedTuple):
    """Arrays that a pass fills.

    Args:
        innovation: (N, n) low^-1 (y - q), low low' its covariance, by which it is white and of size one where variances are right;
            zero where nothing was measured.
        score: (N, 2): innovation squared by its covariance, and minus twice the logarithm of its likelihood.
        every: samples between the rows of z and std.
        z, std: (K, d) after the correction.
        P: (N, d, d) or empty, covariance after the correction, for the smoother; so are
        cross: (N, 2n, d), covariance of the next state with the present z, and
        ahead, before: (N, 2n, 2n) and (N, 2n), covariance and mean of the predicted state.
        all: (N, d) or empty, z after the correction.
    """

    innovation: Any
    score: Any
    every: int
    z: Any
    std: Any
    P: Any
    cross: Any
    ahead: Any
    before: Any
    all: Any


class Process(NamedTuple):
    """How the state gets from one sample to the next.

    Args:
        s, rates: steppers of the transition without and with tangents; the extended filter takes the second alone.
        drive: tables of the transition.
        steps: (N,) rows of the tables at the samples.
    """

    s: Any
    rates: Any
    drive: Any
    steps: Any


class Belief(NamedTuple):
    """What a filter holds at a sample; updated in place.

    Args:
        z: (d,) mean.
        P: (d, d) covariance, or the factor of a square-root form.
        added: (b,) variances that the next prediction adds to the parameters.
        memory: what the controller remembers.
    """

    z: Any
    P: Any
    added: Any
    memory: Any
