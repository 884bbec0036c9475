"""Grouping relations as text: which standard parameters a base parameter gathers, and with which coefficients.

    beta_i = chi_i + sum_j K_ij chi_j        ->    ZZ1 + YY2 + 2*d3*MZ3 + (a3^2 + d3^2)*M3 + Ia1

The coefficients K_ij of robots with right angles are short polynomials in the named lengths of the geometry.  Which one cannot be
read off a single number when two lengths are equal, so K is computed again for copies of the robot whose lengths are changed by
independent factors; a polynomial counts only when it fits every copy.  What fits none is printed as a number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from inertica.robot.layout import Layout

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

COPIES = 3
"""Copies of the robot with other lengths, besides the robot itself."""

TOLERANCE = 1e-8
"""Relative agreement of a coefficient with its polynomial, in every copy."""

_FACTORS = ((1.0, ""), (2.0, "2"), (0.5, "0.5"))
_NOISE = 1e-12


@dataclass(frozen=True)
class Coefficient:
    """sign * magnitude, the magnitude as text; empty for one."""

    sign: int
    magnitude: str

    def times(self, name: str) -> str:
        return f"{self.magnitude}*{name}" if self.magnitude else name


def relations(layout: Layout, kept: Indices, eliminated: Indices, K: Array, regroup: Callable[[Layout], Array]) -> tuple[str, ...]:
    """One relation per base parameter with coefficients in the robot's lengths.

    Args:
        layout: robot and parameters.
        kept, eliminated: indices into the layout.
        K: (kept, eliminated) coefficients.
        regroup: K for the same kept parameters of another layout; called with copies of the robot.
    """
    lengths = {length.name: length.value for joint in layout.robot.joints for length in joint.lengths if length.value}
    if not lengths:
        return numeric_relations(layout, kept, eliminated, K)
    values, samples = [dict(lengths)], [K]
    rng = np.random.default_rng(20)
    for _ in range(COPIES):
        changed = {name: value * float(rng.uniform(0.7, 1.4)) for name, value in lengths.items()}
        values.append(changed)
        samples.append(regroup(replace(layout, robot=layout.robot.with_lengths(changed))))
    vocabulary = _Vocabulary(values)
    stacked = np.stack(samples)
    known: dict[bytes, Coefficient] = {}

    def coefficient(i: int, j: int) -> Coefficient:
        key = np.round(stacked[:, i, j], 10).tobytes()
        if key not in known:
            known[key] = vocabulary.spell(stacked[:, i, j])
        return known[key]

    return _texts(layout, kept, eliminated, K, coefficient)


def numeric_relations(layout: Layout, kept: Indices, eliminated: Indices, K: Array) -> tuple[str, ...]:
    """One relation per base parameter with coefficients as numbers of ten digits."""
    return _texts(layout, kept, eliminated, K, lambda i, j: _number(K[i, j]))


def _texts(
    layout: Layout, kept: Indices, eliminated: Indices, K: Array, coefficient: Callable[[int, int], Coefficient]
) -> tuple[str, ...]:
    bodies = {k for _, where in layout.bodies for k in range(where.start, where.stop)}
    order = sorted(range(len(eliminated)), key=lambda j: (eliminated[j] not in bodies, eliminated[j]))  # links before drives
    out = []
    for i, own in enumerate(kept):
        text = layout.names[own]
        for j in order:
            if K[i, j]:
                c = coefficient(i, j)
                text += (" + " if c.sign > 0 else " - ") + c.times(layout.names[eliminated[j]])
        out.append(text)
    return tuple(out)


def _number(value: float) -> Coefficient:
    text = f"{abs(value):.10g}"
    return Coefficient(1 if value > 0 else -1, "" if text == "1" else text)


class _Vocabulary:
    """The polynomials a coefficient may be, simplest first, with their values in the robot and its copies.

    Tried in this order: 1, 2 or 1/2 times a monomial of degree 0 to 2; a number times a monomial; two or three squares; any two of
    the monomials; two squares of which one is that of a sum, (d3 + d4)^2.
    """

    def __init__(self, lengths: Sequence[dict[str, float]]) -> None:
        names = tuple(lengths[0])
        value = {name: np.array([copy[name] for copy in lengths]) for name in names}
        one = [("", np.ones(len(lengths)))]
        linear = [(name, value[name]) for name in names]
        squares = [(f"{name}^2", value[name] ** 2) for name in names]
        pairs = combinations_with_replacement(names, 2)
        quadratic = [(f"{a}^2" if a == b else f"{a}*{b}", value[a] * value[b]) for a, b in pairs]
        sums = [
            (f"({a} {'+' if s > 0 else '-'} {b})^2", (value[a] + s * value[b]) ** 2)
            for a, b in combinations(names, 2)
            for s in (1.0, -1.0)
        ]
        self.monomials = one + linear + quadratic
        self.single = [(_join(f, m), factor * v) for group in (one, linear, quadratic) for factor, f in _FACTORS for m, v in group]
        self._single_values = np.array([v for _, v in self.single])
        self._squares = _Signed(squares)
        self._products = _Signed(self.single[len(_FACTORS) :])
        self._sums = _Signed(squares + sums)

    def spell(self, v: Array) -> Coefficient:
        """The simplest polynomial that has these values in the robot and its copies; the number when there is none."""
        return (
            self._one(v)
            or self._scaled(v)
            or _sum_of(v, [self._squares] * 2)
            or _sum_of(v, [self._squares] * 3)
            or _sum_of(v, [self._products] * 2)
            or _sum_of(v, [self._squares, self._sums])
            or _number(float(v[0]))
        )

    def _one(self, v: Array) -> Coefficient | None:
        for sign in (1, -1):
            hit = np.flatnonzero(_fits(self._single_values * sign, v))
            if hit.size:
                return Coefficient(sign, self.single[hit[0]][0])
        return None

    def _scaled(self, v: Array) -> Coefficient | None:
        """A constant that depends on no length, such as the cosine of an oblique angle, times a monomial."""
        for text, monomial in self.monomials:
            factor = float(v[0] / monomial[0])
            if _fits(factor * monomial, v):
                number = _number(factor)
                return Coefficient(number.sign, _join(number.magnitude, text))
        return None


class _Signed:
    """Terms with both signs, sorted by their value in the robot itself for quick lookup."""

    def __init__(self, terms: Sequence[tuple[str, Array]]) -> None:
        self.text = [text for text, _ in terms] * 2
        self.sign = [1] * len(terms) + [-1] * len(terms)
        plain = np.array([v for _, v in terms])
        self.value = np.concatenate([plain, -plain])
        self.order = np.argsort(self.value[:, 0], kind="stable")
        self.sorted = self.value[self.order, 0]

    def near(self, wanted: Array, tolerance: float) -> list[tuple[int, int]]:
        """Pairs (position in wanted, term) whose values agree in the robot itself."""
        low = np.searchsorted(self.sorted, wanted - tolerance)
        high = np.searchsorted(self.sorted, wanted + tolerance)
        return [(int(w), int(k)) for w in np.flatnonzero(high > low) for k in self.order[low[w] : high[w]]]


def _sum_of(v: Array, choices: Sequence[_Signed]) -> Coefficient | None:
    """v as a sum of one term of each choice, no term twice; the last term is looked up, the others are enumerated."""
    *first, last = choices
    heads = [(k,) for k in range(len(first[0].text))]
    if len(first) == 2:
        heads = [pair for pair in combinations(range(len(first[0].text)), 2)]  # type: ignore[misc]
    if not heads:
        return None
    taken = sum(first[0].value[np.array(heads)[:, k]] for k in range(len(first)))
    tolerance = TOLERANCE * abs(float(v[0])) + _NOISE
    for head, tail in last.near(v[0] - taken[:, 0], tolerance):
        terms = [(first[0].text[k], first[0].sign[k]) for k in heads[head]] + [(last.text[tail], last.sign[tail])]
        if len({text for text, _ in terms}) == len(terms) and _fits(taken[head] + last.value[tail], v):
            return _sum_text(terms)
    return None


def _sum_text(terms: Sequence[tuple[str, int]]) -> Coefficient:
    """a - b as `a - b`, -a - b as minus `a + b`: positive terms first, a common minus sign taken out."""
    overall = 1 if any(sign > 0 for _, sign in terms) else -1
    ordered = sorted(terms, key=lambda term: -term[1] * overall)
    text = ordered[0][0]
    for name, sign in ordered[1:]:
        text += (" + " if sign * overall > 0 else " - ") + name
    return Coefficient(overall, f"({text})")


def _fits(candidate: Array, v: Array) -> NDArray[np.bool_]:
    """Whether candidates (..., copies) agree with v in every copy."""
    fits: NDArray[np.bool_] = (np.abs(candidate - v) <= TOLERANCE * np.abs(v) + _NOISE).all(axis=-1)
    return fits


def _join(factor: str, monomial: str) -> str:
    return f"{factor}*{monomial}" if factor and monomial else factor or monomial
