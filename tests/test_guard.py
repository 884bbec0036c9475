"""The one guard of automatic choices: what counts as better, worse and clear, on short parts and on long ones."""

from __future__ import annotations

import numpy as np
import pytest

from inertica.guard import Comparison, ShortAndLong, compare

SIZES = np.full(10, 100.0)


def of(score: float, t: float, parts: int) -> Comparison:
    return Comparison(score, 1.0, t, parts)


def test_a_difference_must_be_clear_and_matter() -> None:
    rng = np.random.default_rng(0)
    errors = 1.0 + 0.05 * rng.random(10)
    little, much = compare(0.99 * errors, errors, SIZES), compare(0.5 * errors, errors, SIZES)
    assert little.significantly_better and not little.clearly_better
    assert much.clearly_better and compare(errors, 0.5 * errors, SIZES).clearly_worse
    assert not compare(errors * rng.uniform(0.1, 1.9, 10), errors, SIZES).significantly_better


def test_units_of_errors_do_not_matter() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.random((2, 10))
    one, other = compare(a, b, SIZES), compare(1e12 * a, 1e12 * b, 1e12 * SIZES)
    assert other.t == pytest.approx(one.t) and other.score == pytest.approx(one.score)


def test_one_part_decides_nothing() -> None:
    alone = compare([1.0], [2.0], [10.0])
    assert alone.better and not alone.significantly_better and not compare([2.0], [1.0], [10.0]).clearly_worse


@pytest.mark.parametrize(
    ("short", "long", "pays"),
    [
        ((0.8, -5.0), (0.9, -0.5), True),  # better on both
        ((0.99, -0.1), (0.99, -0.1), True),
        ((0.8, -5.0), (1.05, 0.5), True),  # surely better on short parts, on long ones nothing is clear
        ((0.8, -5.0), (1.5, 6.0), False),  # clearly worse on long ones
        ((0.9, -1.0), (1.05, 0.5), False),
        ((1.1, 1.0), (0.5, -9.0), False),
    ],
)
def test_when_a_choice_pays(short: tuple[float, float], long: tuple[float, float], pays: bool) -> None:
    assert ShortAndLong(of(*short, 10), of(*long, 3)).pays is pays


def test_long_parts_may_contradict_short_ones() -> None:
    worse, better = of(1.5, 5.0, 10), of(0.9, -0.5, 3)
    assert ShortAndLong(worse, of(1.2, 0.5, 3)).harmful and not ShortAndLong(worse, better).harmful
    assert not ShortAndLong(of(1.05, 5.0, 10), of(1.2, 0.5, 3)).harmful  # clear, but too little to matter
