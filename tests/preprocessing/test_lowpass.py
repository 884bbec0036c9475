"""Recursive low-pass filters against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal

from inertica.errors import InputError
from inertica.preprocessing.decimate import PIECE, Decimator
from inertica.preprocessing.lowpass import butterworth, chebyshev, filtered


def response(sos: np.ndarray) -> np.ndarray:
    return signal.sosfreqz(sos, worN=512)[1]


@pytest.mark.parametrize("order", range(1, 10))
@pytest.mark.parametrize("edge", [0.8, 0.3, 0.02])
def test_designs_are_scipys(order: int, edge: float) -> None:
    for ours, theirs in (
        (butterworth(order, edge), signal.butter(order, edge, output="sos")),
        (chebyshev(order, 0.05, edge), signal.cheby1(order, 0.05, edge, output="sos")),
    ):
        assert np.abs(response(ours.sections) - response(theirs)).max() < 1e-10
    b, a = signal.cheby1(order, 0.05, edge)
    numerator, denominator = chebyshev(order, 0.05, edge).polynomials
    assert np.allclose(numerator, b, rtol=1e-9) and np.allclose(denominator, a, rtol=1e-9)


@pytest.mark.parametrize(("samples", "columns"), [(26, 1), (300, 8), (4000, 19)])
@pytest.mark.parametrize("pad", [0, 12, 25])
def test_runs_are_scipys(samples: int, columns: int, pad: int) -> None:
    x = np.random.default_rng(samples).normal(size=(samples, columns)).cumsum(axis=0)
    for ours, theirs in (
        (butterworth(4, 0.05), signal.butter(4, 0.05, output="sos")),
        (chebyshev(7, 0.05, 0.1), signal.cheby1(7, 0.05, 0.1, output="sos")),
    ):
        expected = signal.sosfiltfilt(theirs, x, axis=0, padlen=pad)
        assert np.abs(filtered(ours, pad, x) - expected).max() < 1e-11 * np.abs(x).max()


def test_the_memory_of_a_filter_is_long_enough() -> None:
    design = chebyshev(8, 0.05, 0.04)
    x = np.zeros((2 * design.memory, 1))
    x[0] = 1.0
    assert np.abs(filtered(design, 0, x)[design.memory :]).max() < 1e-11


def test_an_edge_beyond_half_the_rate_is_refused() -> None:
    with pytest.raises(InputError, match="half the sampling rate"):
        butterworth(4, 1.2)


@pytest.mark.parametrize("ratio", [2, 7, 50])
@pytest.mark.parametrize("keep", ["last", "first"])
def test_pieces_of_a_long_record_give_what_the_whole_gives(ratio: int, keep: str) -> None:
    x = np.random.default_rng(ratio).normal(size=(3 * PIECE + 1001, 2)).cumsum(axis=0)
    decimator = Decimator(ratio, keep)  # type: ignore[arg-type]
    parts = [decimator.decimate(x[where], remaining) for where, remaining in decimator.pieces(len(x))]
    assert len(parts) >= 3
    assert np.abs(np.vstack(parts) - decimator.decimate(x)).max() < 1e-11 * np.abs(x).max()


def test_a_short_record_is_one_piece() -> None:
    ((where, remaining),) = Decimator(5).pieces(1000)
    assert (where.start, where.stop) == (0, 1000)
    assert np.array_equal(remaining, Decimator(5).kept(1000))
