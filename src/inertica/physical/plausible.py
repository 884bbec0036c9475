"""Whether identified masses and centres of mass look like those of the robot: against the model's, and against the links' shapes.

A fit may be possible in every link and still be nothing to put on a robot: a link of ten times its mass beside one of a tenth, a
centre of mass metres away.  The summary lists masses and centres, and warns, with the statement that would settle it, when

    a link's mass is off the model's by more than a factor 3, unless its interval excludes a factor 3 (then the data say so),
    the total mass is off by more than a factor 1.5,
    a centre of mass lies outside the convex hull of the link's shape (by more than a tenth of its size), or, without a shape, further
    from the model's than the link is long.

Where the model says nothing about masses, links are held against their geometry alone: more than ten times the mass of a capsule from
joint to joint (`geometry_prior`), a centre of mass further from the line between its joints than the link is long.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from inertica.arrays import Array
from inertica.physical.geometry_prior import GEOMETRY_ORIGIN, link_ends
from inertica.robot import inertia
from inertica.robot.description import Source
from inertica.robot.layout import Parameters
from inertica.robot.natural import longest_link
from inertica.robot.outline import known_shapes

MASS_FACTOR, TOTAL_FACTOR = 3.0, 1.5
"""Ratios to the model beyond which a link's mass and the total are worth a word."""

HEAVY = 10.0
"""Times the mass of a capsule from joint to joint that a link may have; real ones have up to about as much."""

OUTSIDE = 0.1
"""Part of a shape's size by which a centre of mass may lie outside its hull."""

NEAR = 0.5
"""Lengths of the longest link; a link is taken to be at least this long."""


class Implausibility(StrEnum):
    """What of a link, or of all, does not look like the robot's."""

    LINK_MASS = "link mass"
    TOTAL_MASS = "total mass"
    HEAVY_LINK = "link heavier than its length suggests"
    CENTRE = "centre of mass"


@dataclass(frozen=True)
class MassDoubt:
    """One value that does not look like the robot's.

    Args:
        what: kind of value.
        links: 1-based; empty for the total.
        value: ratio to what it is held against: the model's mass, a capsule's, or the largest distance that is believed.
        limit: ratio up to which nothing is said; for masses its inverse is the lower one.
        sentence: with what would settle it.
    """

    what: Implausibility
    links: tuple[int, ...]
    value: float
    limit: float
    sentence: str


@dataclass(frozen=True, eq=False)
class LinkMass:
    """One link.

    Args:
        name: of the link, `link 3`.
        mass, prior: identified and in the model, kg; the latter NaN when the model says nothing.
        interval: (2,) of the mass; NaN when not known.
        com, prior_com: (3,) in m in the link's frame; NaN without mass.
        outside: m by which the centre lies outside the link's shape; 0 inside, NaN when no shape is known.
    """

    name: str
    mass: float
    prior: float
    interval: Array
    com: Array
    prior_com: Array
    outside: float

    @property
    def ratio(self) -> float:
        """To the model's mass; NaN when the model says nothing."""
        return self.mass / self.prior if self.prior > 0.0 else float("nan")


@dataclass(frozen=True, eq=False)
class MassSummary:
    """All links.

    Args:
        links: each.
        total: kg.
        prior_total: kg, of the links whose mass the model states; NaN when it states none.
        origin: of the prior, `from geometry` when the model says nothing about masses.
        doubts: values that do not look like the robot's.
    """

    links: tuple[LinkMass, ...]
    total: float
    prior_total: float
    origin: str
    doubts: tuple[MassDoubt, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """One sentence for every doubt, with what would settle it."""
        return tuple(doubt.sentence for doubt in self.doubts)

    @property
    def sentence(self) -> str:
        masses = ", ".join(f"{link.mass:.3g}" for link in self.links)
        sentence = f"masses {masses} kg, {self.total:.3g} kg in all"
        if self.origin == GEOMETRY_ORIGIN:
            return f"{sentence}; the model says nothing about masses, so what data do not decide is from geometry"
        worst = max((max(k.ratio, 1.0 / k.ratio) for k in self.links if k.ratio > 0.0), default=float("nan"))
        if not np.isfinite(worst):
            return sentence
        return f"{sentence} (model {self.prior_total:.3g} kg; the link furthest from the model by a factor {worst:.2g})"

    def document(self) -> Mapping[str, Any]:
        """As plain data for JSON."""
        return {
            "sentence": self.sentence,
            "total": self.total,
            "prior_total": self.prior_total,
            "origin": self.origin,
            "links": [
                {
                    "name": link.name,
                    "mass": link.mass,
                    "prior": _number(link.prior),
                    "ratio": _number(link.ratio),
                    "interval": [_number(x) for x in link.interval],
                    "com": [_number(x) for x in link.com],
                    "prior_com": [_number(x) for x in link.prior_com],
                    "outside": _number(link.outside),
                }
                for link in self.links
            ],
            "warnings": list(self.warnings),
        }


def mass_summary(
    parameters: Parameters,
    prior: Parameters,
    intervals: ArrayLike | None = None,
    source: Source | None = None,
    unstated: Collection[int] = (),
) -> MassSummary:
    """Masses and centres of mass of identified parameters beside those of the model.

    Args:
        parameters: identified.
        prior: of the model, on the same layout.
        intervals: (P, 2) of the parameters.
        source: the model file, whose shapes of links are used where it has any.
        unstated: 0-based links whose mass in the prior is not the model's: it says nothing usable of them.
    """
    layout = parameters.layout
    ends = np.full((layout.size, 2), np.nan) if intervals is None else np.asarray(intervals, float)
    hulls = _hulls(source, layout.robot.n)
    known = prior.origin != GEOMETRY_ORIGIN
    links = []
    for j in range(layout.robot.n):
        body, before = inertia.to_com(parameters.link(j)), inertia.to_com(prior.link(j))
        com, prior_com = (b.com if b.mass > 0.0 else np.full(3, np.nan) for b in (body, before))
        model = before.mass if known and before.mass > 0.0 and j not in unstated else float("nan")
        interval = ends[layout.link(j).start + 9] if j in layout.robot.links else np.full(2, np.nan)
        away = float("nan") if hulls.get(j) is None else _outside(hulls[j], com)
        links.append(LinkMass(f"link {layout.robot.number(j)}", body.mass, model, interval, com, prior_com, away))
    total, prior_total = sum(k.mass for k in links), sum(k.prior for k in links if k.prior > 0.0) or float("nan")
    guesses = None if known else [float(prior.link(j)[9]) for j in range(layout.robot.n)]
    doubts = [
        *(_mass_doubts(links, prior_total) if guesses is None else _heavy_links(links, guesses)),
        *_odd_centres(links, parameters, hulls, known),
    ]
    return MassSummary(tuple(links), total, prior_total, prior.origin, tuple(doubts))


def _key(link: LinkMass) -> str:
    """What a card calls a link under `constraints`."""
    return link.name.removeprefix("link ")


def _mass_doubts(links: list[LinkMass], prior_total: float) -> list[MassDoubt]:
    out = []
    for k, link in enumerate(links):
        if not link.ratio > 0.0 or 1.0 / MASS_FACTOR <= link.ratio <= MASS_FACTOR:
            continue
        low, high = link.interval
        if low > MASS_FACTOR * link.prior or high < link.prior / MASS_FACTOR:
            why = f"and the data exclude the model's ({low:.3g} to {high:.3g} kg): is the model of this robot?"
        else:
            settle = f"constraints: links: {{{_key(link)}: {{mass: [least, most]}}}}"
            why = f"and the data do not decide: state {settle}"
        sentence = f"{link.name} comes out at {link.mass:.3g} kg, the model has {link.prior:.3g} kg, {why}"
        out.append(MassDoubt(Implausibility.LINK_MASS, (k + 1,), link.ratio, MASS_FACTOR, sentence))
    total = sum(link.mass for link in links if link.prior > 0.0)
    if prior_total > 0.0 and not 1.0 / TOTAL_FACTOR <= total / prior_total <= TOTAL_FACTOR:
        sentence = (
            f"the links weigh {total:.3g} kg in all, in the model {prior_total:.3g} kg; weigh the arm and state constraints: "
            "total_mass: [least, most]"
        )
        out.append(MassDoubt(Implausibility.TOTAL_MASS, (), total / prior_total, TOTAL_FACTOR, sentence))
    return out


def _heavy_links(links: list[LinkMass], guesses: list[float]) -> list[MassDoubt]:
    """Of a model without masses: links far too heavy for their length, unless the data say so."""
    out = []
    for k, (link, guess) in enumerate(zip(links, guesses, strict=True)):
        if link.mass > HEAVY * guess > 0.0 and not link.interval[0] > HEAVY * guess:
            sentence = (
                f"{link.name} comes out at {link.mass:.3g} kg, by its length some {guess:.2g} kg would be usual, and the data do not "
                f"decide: state constraints: links: {{{_key(link)}: {{mass: [least, most]}}}}"
            )
            out.append(MassDoubt(Implausibility.HEAVY_LINK, (k + 1,), link.mass / guess, HEAVY, sentence))
    return out


def _odd_centres(links: list[LinkMass], parameters: Parameters, hulls: Mapping[int, Array], known: bool) -> list[MassDoubt]:
    ends, near = link_ends(parameters.layout.robot), NEAR * longest_link(parameters.layout.robot)
    out, spans = [], [float(np.linalg.norm(b - a)) for a, b in ends]

    def doubt(k: int, distance: float, most: float, sentence: str) -> MassDoubt:
        return MassDoubt(Implausibility.CENTRE, (k + 1,), distance / most, 1.0, sentence)

    for k, link in enumerate(links):
        settle = f"state constraints: links: {{{_key(link)}: {{com: {{box: ...}}}}}} or inside: geometry"
        if np.isfinite(link.outside):
            if link.outside > (most := OUTSIDE * float(np.ptp(hulls[k], axis=0).max())):
                sentence = f"the centre of mass of {link.name} lies {link.outside:.2g} m outside the link's shape; {settle}"
                out.append(doubt(k, link.outside, most, sentence))
            continue
        offset = float(np.linalg.norm(link.com - link.prior_com)) if known else _aside(ends[k], link.com)
        if offset > (most := max(spans[k], near)):
            which = "the model's" if known else "the line between its joints"
            sentence = f"the centre of mass of {link.name} is {offset:.2g} m from {which}, more than the link is long; {settle}"
            out.append(doubt(k, offset, most, sentence))
    return out


def _aside(ends: Array, point: Array) -> float:
    """Distance of a point from the line between two others, no longer than they are apart."""
    along = ends[1] - ends[0]
    share = float(np.clip((point - ends[0]) @ along / max(float(along @ along), 1e-300), 0.0, 1.0))
    return float(np.linalg.norm(point - ends[0] - share * along))


def _hulls(source: Source | None, n: int) -> dict[int, Array]:
    """(k, 3) points around the shape of every link that has one that can be read; none is no fault here."""
    if source is None:
        return {}
    return {j: np.vstack([s.points() for s in shapes]) for j, shapes in enumerate(known_shapes(source, n)) if shapes}


def _outside(points: Array, com: Array) -> float:
    """How far a point is outside the convex hull of others, along the face it is furthest beyond; 0 inside."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        faces = ConvexHull(points).equations
    except QhullError:  # a flat shape
        return float("nan")
    return max(float(np.max(faces[:, :3] @ com + faces[:, 3])), 0.0) if np.isfinite(com).all() else float("nan")


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
