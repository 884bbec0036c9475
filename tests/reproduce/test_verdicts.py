"""Every word of a verdict from numbers made up for it."""

from __future__ import annotations

import math

import pytest

from inertica.reproduce.verdicts import (
    AGREES,
    CONSISTENT,
    DIFFERS,
    REFUTED,
    REPORTED,
    UNTESTED,
    Doubt,
    Words,
    counted,
    rounding_of,
    tally,
    verdict,
    word_of,
)


@pytest.mark.parametrize(
    ("printed", "spread", "ours", "our_spread", "truth", "claim", "word"),
    [
        (3.45, 0.007, 3.462, 0.002, None, False, AGREES),  # 1.6 standard deviations
        (3.45, 0.0, 3.4549, 0.0, None, False, AGREES),  # as printed, to two digits
        (61, 0.0, 61, 0.0, None, False, AGREES),
        (
            0.05,
            0.0115,
            0.0202,
            0.0004,
            0.02,
            False,
            CONSISTENT,
        ),  # print is 2.2 of its standard deviations away, the truth half of one
        (0.05, 0.0115, 0.0202, 0.0004, None, False, DIFFERS),
        (0.05, 0.0115, 0.0202, 0.00001, 0.01, False, DIFFERS),  # neither print nor truth
        (61, 0.0, 60, 0.0, None, False, DIFFERS),
        (0.39, 0.0, 0.19, 0.0, None, False, DIFFERS),
        (1.0, 0.0, 0.0, 0.0, None, True, REFUTED),
        (1.0, 0.0, 0.7, 0.2, None, True, AGREES),  # too few runs to refute anything
        (1.0, 0.0, 0.0, 0.1, 0.0, True, REFUTED),  # a law is no property of one robot
        ("none", 0.0, "none", 0.0, None, False, AGREES),
        ("none", 0.0, "2 3", 0.0, None, False, DIFFERS),
        ("yes", 0.0, "no", 0.0, None, True, REFUTED),
        (Words("below 3 %", high=0.03), 0.0, 0.018, 0.0, None, False, AGREES),
        (Words("below 3 %", high=0.03), 0.0, 0.068, 0.0, None, False, DIFFERS),
        (Words("below 3 %", high=0.03), 0.0, 0.031, 0.001, None, False, AGREES),
        (Words("about ten", 5.0, 15.0), 0.0, math.nan, 0.0, None, False, DIFFERS),
        (Words("about ten", 5.0, 15.0), 0.0, math.inf, 0.0, None, False, DIFFERS),
        (3.45, 0.007, math.nan, 0.002, 3.45, False, DIFFERS),
        (None, 0.0, 4.0, 0.1, None, False, REPORTED),
    ],
)
def test_every_word(
    printed: float | str | Words | None,
    spread: float,
    ours: float | str,
    our_spread: float,
    truth: float | None,
    claim: bool,
    word: str,
) -> None:
    assert word_of(verdict(printed, ours, Doubt(spread, our_spread), truth=truth, claim=claim)) == word
    with_reason = verdict(printed, ours, Doubt(spread, our_spread), truth=truth, claim=claim, why="because", remark="by the way")
    assert word_of(with_reason) == word
    assert ("because" in with_reason) == (word in (DIFFERS, REFUTED, CONSISTENT))


def test_what_is_missing_here_differs_for_a_reason() -> None:
    assert verdict(0.02, None, why="converged before") == "differs: converged before"


def test_rounding_is_half_of_the_last_digit_printed() -> None:
    assert rounding_of(0.061) == pytest.approx(5e-4)
    assert rounding_of(0.06, 0.061) == pytest.approx(5e-4)  # a column is printed to the same digits, 0.060 is read as 0.06
    assert rounding_of(61) == 0.0
    assert rounding_of(None, Words("small")) == 0.0


def test_counts() -> None:
    assert counted(13, 15) == "holds in 13 of 15"
    assert counted(0, 0) == UNTESTED
    said = tally([counted(15, 15), counted(13, 15), counted(0, 6), f"{DIFFERS}: why", AGREES, AGREES, REFUTED, UNTESTED])
    assert said == "2 agree, 1 differ, 1 refuted, 1 not tested, claims: 1 hold everywhere, 1 in some conditions, 1 in none"
