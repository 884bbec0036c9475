"""Grouping relations as text: which standard parameters a base parameter gathers, and with which coefficients.

    beta_i = chi_i + sum_j K_ij chi_j        ->    ZZ1 + YY2 + 2*d3*MZ3 + (a3^2 + d3^2)*M3 + Ia1

The coefficients K_ij of robots with right angles are short polynomials in the named lengths of the geometry.  Which one cannot be
read off a single number when two lengths are equal, so K is computed again for copies of the robot whose lengths are changed by
independent factors; a polynomial counts only when it fits every copy.  What fits none is printed as a number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import combinations, combinations_with_replacement, product

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.robot.layout import Layout
from inertica.robot.model import Robot

Indices = NDArray[np.intp]

COPIES = 3
"""Copies of the robot with other lengths, besides the robot itself."""

TOLERANCE = 1e-8
"""Relative agreement of a coefficient with its polynomial, in every copy."""

_MANY = {2: 24, 3: 10}
"""Sums of two and three lengths or monomials are tried up to this many lengths; more would take long."""

_SQUARES = 36
"""Sums of three squares likewise."""

_VOCABULARIES = 256
"""Sums of different lengths that are in memory: those that one link of a chain needs."""

_FACTORS = ((1.0, ""), (2.0, "2"), (0.5, "0.5"))
_NOISE = 1e-12


@dataclass(frozen=True)
class Coefficient:
    """sign * magnitude, the magnitude as text; empty for one."""

    sign: int
    magnitude: str

    def times(self, name: str) -> str:
        return f"{self.magnitude}*{name}" if self.magnitude else name


def relations(
    layout: Layout, retained: Indices, eliminated: Indices, K: Array, regroup: Callable[[Layout], Array]
) -> tuple[str, ...]:
    """One relation per base parameter with coefficients in the robot's lengths.

    Args:
        layout: robot and parameters.
        kept, eliminated: indices into the layout.
        K: (kept, eliminated) coefficients.
        regroup: K for the same kept parameters of another layout; called with copies of the robot.
    """
    lengths = {length.name: length.value for joint in layout.robot.joints for length in joint.lengths if length.value}
    if not lengths:
        return numeric_relations(layout, retained, eliminated, K)
    values, samples = [dict(lengths)], [K]
    rng = np.random.default_rng(20)
    for _ in range(COPIES):
        changed = {name: value * float(rng.uniform(0.7, 1.4)) for name, value in lengths.items()}
        values.append(changed)
        samples.append(regroup(replace(layout, robot=layout.robot.with_lengths(changed))))
    stacked = np.stack(samples)
    lengths_everywhere = {name: np.array([copy[name] for copy in values]) for name in lengths}
    monomials = _Monomials(lengths_everywhere, len(values))
    known: dict[tuple[tuple[str, ...], bytes], Coefficient] = {}

    @lru_cache(maxsize=_VOCABULARIES)
    def vocabulary(names: tuple[str, ...]) -> _Sums:
        return _Sums({name: lengths_everywhere[name] for name in names}, len(values))

    @cache
    def lengths_between(a: int | None, b: int | None) -> tuple[str, ...]:
        return _lengths_between(layout.robot, a, b)

    def coefficient(i: int, j: int) -> Coefficient:
        names = lengths_between(layout.parameters[retained[i]].joint, layout.parameters[eliminated[j]].joint)
        key = names, np.round(stacked[:, i, j], 10).tobytes()
        if key not in known:
            v = stacked[:, i, j]
            known[key] = monomials.spell(v, names) or vocabulary(names).spell(v) or _number(float(v[0]))
        return known[key]

    return _texts(layout, retained, eliminated, K, coefficient)


def _lengths_between(robot: Robot, a: int | None, b: int | None) -> tuple[str, ...]:
    """Names of the non-zero lengths on the way between two links, the only ones a coefficient of their parameters can hold."""
    way = set(range(robot.n))
    if a is not None and b is not None:
        way = {a, b} | (set(robot.ancestors(a)) ^ set(robot.ancestors(b)))
    return tuple(dict.fromkeys(x.name for i in sorted(way) for x in robot.joints[i].lengths if x.value))


def numeric_relations(layout: Layout, retained: Indices, eliminated: Indices, K: Array) -> tuple[str, ...]:
    """One relation per base parameter with coefficients as numbers of ten digits."""
    return _texts(layout, retained, eliminated, K, lambda i, j: _number(K[i, j]))


def _texts(
    layout: Layout, retained: Indices, eliminated: Indices, K: Array, coefficient: Callable[[int, int], Coefficient]
) -> tuple[str, ...]:
    bodies = {k for _, where in layout.bodies for k in range(where.start, where.stop)}
    order = sorted(range(len(eliminated)), key=lambda j: (eliminated[j] not in bodies, eliminated[j]))  # links before drives
    out = []
    for i, parameter in enumerate(retained):
        text = layout.names[parameter]
        for j in order:
            if K[i, j]:
                c = coefficient(i, j)
                text += (" + " if c.sign > 0 else " - ") + c.times(layout.names[eliminated[j]])
        out.append(text)
    return tuple(out)


def _number(value: float) -> Coefficient:
    text = f"{abs(value):.10g}"
    return Coefficient(1 if value > 0 else -1, "" if text == "1" else text)


Term = tuple[str, Array]  # text, value in the robot and in each copy


class _Monomials:
    """Products of at most two lengths, of all lengths of the robot, sorted for quick lookup.

    They are looked up by their values in the first copy, where lengths that are equal in the robot differ.

    Args:
        value: lengths by name, each with its value in the robot and in every copy.
        copies: how many values that is.
    """

    def __init__(self, value: dict[str, Array], copies: int) -> None:
        self.names, count = list(value), len(value)
        lengths = np.array(list(value.values())).reshape(count, copies)
        a, b = np.triu_indices(count)
        none, one = np.full(count, -1), np.full(1, -1)
        self.factors = np.array(
            [np.concatenate([one, np.arange(count), a]), np.concatenate([one, none, b])]
        )  # numbers of lengths
        self.values = np.concatenate([np.ones((1, copies)), lengths, lengths[a] * lengths[b]])
        self._by_ratio = _Sorted(self.values[:, 1] / self.values[:, 0])
        numbers = np.arange(len(self.values))
        groups = (numbers[:1], numbers[1 : count + 1], numbers[count + 1 :])  # simplest first, each with all of its factors
        self._single = np.array([(k, f) for group in groups for f in range(len(_FACTORS)) for k in group])
        factor = np.array([f for f, _ in _FACTORS])
        self._single_values = factor[self._single[:, 1], None] * self.values[self._single[:, 0]]
        self._by_value = _Sorted(self._single_values[:, 1])

    def spell(self, v: Array, names: Sequence[str]) -> Coefficient | None:
        """The first of them, times a number, that has these values in the robot and its copies and uses these lengths only."""
        return self._one(v, names) or self._scaled(v, names)

    def _one(self, v: Array, names: Sequence[str]) -> Coefficient | None:
        """1, 2 or 1/2 times a monomial."""
        for sign in (1, -1):
            near = self._by_value.near(sign * float(v[1]), TOLERANCE * abs(float(v[1])) + _NOISE)
            for e in np.sort(near[_fits(self._single_values[near] * sign, v)]):
                k, f = self._single[e]
                if self._of(k, names):
                    return Coefficient(sign, _join(_FACTORS[f][1], self._text(k)))
        return None

    def _scaled(self, v: Array, names: Sequence[str]) -> Coefficient | None:
        """A constant that depends on no length, such as the cosine of an oblique angle, times a monomial."""
        near = self._by_ratio.near(float(v[1] / v[0]), (TOLERANCE * abs(float(v[1])) + _NOISE) / abs(float(v[0])))
        factors = v[0] / self.values[near, 0]
        fitting = _fits(factors[:, None] * self.values[near], v)
        for k, factor in sorted(zip(near[fitting].tolist(), factors[fitting].tolist(), strict=True)):
            if self._of(k, names):
                number = _number(factor)
                return Coefficient(number.sign, _join(number.magnitude, self._text(k)))
        return None

    def _of(self, k: int, names: Sequence[str]) -> bool:
        return all(i < 0 or self.names[i] in names for i in self.factors[:, k])

    def _text(self, k: int) -> str:
        a, b = self.factors[:, k]
        if a < 0 or b < 0:
            return "" if a < 0 else self.names[a]
        return f"{self.names[a]}^2" if a == b else f"{self.names[a]}*{self.names[b]}"


class _Sorted:
    """Values for quick lookup."""

    def __init__(self, values: Array) -> None:
        self.order = np.argsort(values, kind="stable")
        self.values = values[self.order]

    def near(self, wanted: float, tolerance: float) -> Indices:
        """Which lie this near, and perhaps a rounding farther."""
        reach = tolerance * (1.0 + 1e-6) + 1e-15 * abs(wanted)
        return self.order[np.searchsorted(self.values, wanted - reach) : np.searchsorted(self.values, wanted + reach, "right")]


class _Sums:
    """The sums of monomials a coefficient may be, simplest first, with their values in the robot and its copies.

    Sums of squares, one of which may be that of a sum, a3^2 + (d3 + d4)^2; sums of two or three monomials.

    Args:
        value: lengths by name, each with its value in the robot and in every copy.
        copies: how many values that is.
    """

    def __init__(self, value: dict[str, Array], copies: int) -> None:
        linear = list(value.items())
        few, fewer = len(linear) <= _MANY[2], len(linear) <= _MANY[3]
        squares = [(f"{name}^2", v**2) for name, v in linear]
        sums = [term for size in (2, 3) if len(linear) <= _MANY[size] for term in _squared_sums(value, size)]
        pairs = combinations_with_replacement(value, 2) if few else ()
        quadratic = [(f"{a}^2" if a == b else f"{a}*{b}", value[a] * value[b]) for a, b in pairs]
        products = [(_join(f, m), factor * v) for group in (linear, quadratic) for factor, f in _FACTORS for m, v in group]
        self._squares, self._sums = _Signed(squares, copies), _Signed(sums, copies)
        self._three_squares = _Signed(squares if len(linear) <= _SQUARES else [], copies)
        self._plain = _Signed(linear + quadratic if few else [], copies)
        self._few, self._few_squares = (_Signed(terms if fewer else [], copies) for terms in (linear + quadratic, squares))
        self._products = _Signed(products if few else [], copies)

    def spell(self, v: Array) -> Coefficient | None:
        """The simplest sum that has these values in the robot and its copies."""
        squares, sums, three = self._squares, self._sums, self._three_squares
        return (
            _sum_of(v, 2, squares, squares)
            or _sum_of(v, 1, sums, sums)
            or _sum_of(v, 2, self._plain, self._plain)
            or _doubled(_sum_of(0.5 * v, 2, self._plain, self._plain))
            or _sum_of(v, 3, three, three)
            or _sum_of(v, 2, squares, sums)
            or _sum_of(v, 3, squares, sums)
            or _sum_of(v, 4, self._few_squares, sums)
            or _sum_of(v, 3, self._few, self._few)
            or _doubled(_sum_of(0.5 * v, 3, self._few, self._few))
            or _sum_of(v, 2, self._products, self._products)
        )


def _squared_sums(value: dict[str, Array], size: int) -> list[Term]:
    """(d3 + d4)^2, (d3 - d4)^2, ... of so many lengths."""
    out = []
    for names in combinations(value, size):
        for signs in product((1, -1), repeat=size - 1):
            text = names[0] + "".join(f" {'+' if s > 0 else '-'} {name}" for s, name in zip(signs, names[1:], strict=True))
            total = value[names[0]] + sum(s * value[name] for s, name in zip(signs, names[1:], strict=True))
            out.append((f"({text})^2", total**2))
    return out


class _Signed:
    """Terms with both signs, sorted by their value in the robot itself for quick lookup."""

    def __init__(self, terms: Sequence[Term], copies: int) -> None:
        self.text = [text for text, _ in terms] * 2
        self.sign = [1] * len(terms) + [-1] * len(terms)
        plain = np.array([v for _, v in terms]).reshape(-1, copies)
        self.value = np.concatenate([plain, -plain])
        self.order = np.argsort(self.value[:, 0], kind="stable")
        self.sorted = self.value[self.order, 0]
        self._index_sets: dict[int, Indices] = {0: np.zeros((1, 0), np.intp)}

    def index_sets(self, count: int) -> Indices:
        """All choices of so many different terms, (choices, count)."""
        if count == 2 and count not in self._index_sets:
            self._index_sets[count] = np.stack(np.triu_indices(len(self.text), 1), axis=1)
        if count not in self._index_sets:
            self._index_sets[count] = np.array(list(combinations(range(len(self.text)), count)), np.intp).reshape(-1, count)
        return self._index_sets[count]

    def near(self, wanted: Array, tolerance: float) -> list[tuple[int, int]]:
        """Pairs (position in wanted, term) whose values agree in the robot itself."""
        low = np.searchsorted(self.sorted, wanted - tolerance)
        high = np.searchsorted(self.sorted, wanted + tolerance)
        return [(int(w), int(k)) for w in np.flatnonzero(high > low) for k in self.order[low[w] : high[w]]]


def _sum_of(v: Array, count: int, first: _Signed, last: _Signed) -> Coefficient | None:
    """v as a sum of `count` different terms; all but the last are enumerated from `first`, the last is looked up in `last`."""
    if len(first.text) < count - 1 or not last.text:
        return None
    heads = first.index_sets(count - 1)
    taken = first.value[heads].sum(axis=1)
    tolerance = TOLERANCE * abs(float(v[0])) + _NOISE
    for head, tail in last.near(v[0] - taken[:, 0], tolerance):
        terms = [(first.text[k], first.sign[k]) for k in heads[head]] + [(last.text[tail], last.sign[tail])]
        if len({text for text, _ in terms}) == len(terms) and _fits(taken[head] + last.value[tail], v):
            return _sum_text(terms)
    return None


def _doubled(half: Coefficient | None) -> Coefficient | None:
    return half and Coefficient(half.sign, f"2*{half.magnitude}")


def _sum_text(terms: Sequence[tuple[str, int]]) -> Coefficient:
    """a - b as `a - b`, -a - b as minus `a + b`: positive terms first, a common minus sign taken out."""
    overall = 1 if any(sign > 0 for _, sign in terms) else -1
    ordered = sorted(terms, key=lambda term: -term[1] * overall)
    text = ordered[0][0]
    for name, sign in ordered[1:]:
        text += (" + " if sign * overall > 0 else " - ") + name
    return Coefficient(overall, f"({text})" if len(terms) > 1 else text)


def _fits(candidate: Array, v: Array) -> NDArray[np.bool_]:
    """Whether candidates (..., copies) agree with v in every copy."""
    return np.asarray((np.abs(candidate - v) <= TOLERANCE * np.abs(v) + _NOISE).all(axis=-1))


def _join(factor: str, monomial: str) -> str:
    return f"{factor}*{monomial}" if factor and monomial else factor or monomial
