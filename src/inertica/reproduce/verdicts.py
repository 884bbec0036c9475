"""The verdict on one comparison, from the printed value, its spread, ours and our spread; and what several verdicts come to."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

AGREES, CONSISTENT, DIFFERS = "agrees", "consistent with the truth we simulated", "differs"
REFUTED, REPORTED, UNTESTED = "refuted", "reported", "not tested"
HOLDS = "holds in"

SIGMAS = 2.0
"""Standard deviations of a difference up to which two numbers agree; the sources print intervals of two."""


@dataclass(frozen=True)
class Words:
    """What a source says without a number, and the range of numbers that it allows.

    Args:
        text: as printed, or close to it.
        low, high: ends of the range.
    """

    text: str
    low: float = -math.inf
    high: float = math.inf

    def __str__(self) -> str:
        return self.text


Printed = float | str | Words | None
"""A number, an answer (yes, no, a list of names), words that allow a range, or nothing."""


@dataclass(frozen=True)
class Doubt:
    """How well two numbers beside each other are known.

    Args:
        printed, ours: one standard deviation of each; zero where a number is exact or no spread is known.
        rounding: half a unit of the last printed digit; read off the printed number when None.
    """

    printed: float = 0.0
    ours: float = 0.0
    rounding: float | None = None


UNKNOWN = Doubt()
"""No spread is known, and printed digits say how numbers were rounded."""


def verdict(
    printed: Printed,
    ours: float | str | None,
    doubt: Doubt = UNKNOWN,
    *,
    truth: float | None = None,
    claim: bool = False,
    why: str = "",
    remark: str = "",
) -> str:
    """One of the words above, and why.

    *agrees*: ours is the printed value to within two standard deviations of their difference and half a unit of its last digit, or
    in the range that the source's words allow.  *consistent with the truth we simulated*: it is not, but it is the value that our
    simulated robot has, so that the method works and the robots differ.  *refuted*: it is not, and the source says that it must
    be so on whatever robot.  *differs*: none of these.  *reported*: the source gives nothing to hold ours against.

    Args:
        printed: see `Printed`; None where the source is silent.
        ours: number or answer; None where we have none.
        doubt: spreads of both, and rounding.
        truth: value of the robot that we simulated.
        claim: the source states a law, which a single repetition can refute.
        why: of a difference.
        remark: said with any verdict.
    """
    if printed is None or (ours is None and not why):
        return _said(REPORTED, remark)
    if isinstance(ours, str) or isinstance(printed, str) or ours is None:
        agrees, apart = str(printed) == ours, ""
    else:
        low, high = (printed.low, printed.high) if isinstance(printed, Words) else (printed, printed)
        half = rounding_of(printed) if doubt.rounding is None and not isinstance(printed, Words) else doubt.rounding or 0.0
        gap = max(low - ours, ours - high, 0.0) - half if math.isfinite(ours) else math.inf
        spread = math.hypot(doubt.printed, doubt.ours)
        agrees = gap <= SIGMAS * spread + 1e-9 * half
        apart = f"{gap / spread:.2g} standard deviations apart" if spread > 0.0 else ""
        if not agrees and not claim and truth is not None and abs(ours - truth) <= SIGMAS * doubt.ours:
            return _said(CONSISTENT, why or remark)
    if agrees:
        return _said(AGREES, remark)
    return _said(REFUTED if claim else DIFFERS, why, remark) if why or remark else _said(REFUTED if claim else DIFFERS, apart)


def rounding_of(*printed: float | str | Words | None) -> float:
    """Half a unit of the last digit of the number that was printed to most digits; counts are exact."""
    exponents = [Decimal(repr(x)).as_tuple().exponent for x in printed if isinstance(x, float) and math.isfinite(x)]
    places = [e for e in exponents if isinstance(e, int)]
    return 0.5 * 10.0 ** min(places) if places and min(places) < 0 else 0.0


def counted(holding: int, of: int) -> str:
    """The verdict on a statement about several conditions."""
    return f"{HOLDS} {holding} of {of}" if of else UNTESTED


def word_of(claim: str) -> str:
    """The word of a verdict, without its reason."""
    return HOLDS if claim.startswith(HOLDS) else claim.split(":", 1)[0]


def tally(verdicts: Iterable[str]) -> str:
    """How many ended with which word; statements about several conditions as often as they hold in all, in some, in none."""
    verdicts = list(verdicts)
    words = [word_of(v) for v in verdicts]
    parts = []
    for word, plural in (
        (AGREES, "agree"),
        (CONSISTENT, "are consistent with the truth we simulated"),
        (DIFFERS, "differ"),
        (REFUTED, "refuted"),
        (REPORTED, "reported without a printed number"),
        (UNTESTED, "not tested"),
    ):
        if count := words.count(word):
            parts.append(f"{count} {plural}")
    if claims := [v.removeprefix(HOLDS).split(":", 1)[0].split(" of ") for v in verdicts if word_of(v) == HOLDS]:
        numbers = [(int(good), int(of)) for good, of in claims]
        everywhere, nowhere = sum(g == n for g, n in numbers), sum(g == 0 for g, _ in numbers)
        parts.append(
            f"claims: {everywhere} hold everywhere, {len(numbers) - everywhere - nowhere} in some conditions, {nowhere} in none"
        )
    return ", ".join(parts)


def _said(word: str, *remarks: str) -> str:
    remark = "; ".join(dict.fromkeys(r for r in remarks if r))
    return f"{word}: {remark}" if remark else word
