"""Whether links whose mass comes out implausible stay near the model's: where data left out are predicted as well, they do.

Motion tells sums of masses and first moments, so that a mass of its own may wander along what data do not decide.  A link that comes
out at more than three times the model's mass, or less than a third of it, is held within a factor two, or just within three, and the
fit repeated.  The data decide: where blocks left out are predicted worse beyond doubt, they know the mass, and it stays as it was.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from inertica.estimators.base import Estimate, Estimator, Problem
from inertica.estimators.consistent.correction import Extended, Part, errors_left_out
from inertica.estimators.consistent.strategy import PreparedStrategy
from inertica.guard import ShortAndLong, compare
from inertica.physical.conflict import InfeasibleError
from inertica.physical.constraints import Constraint, MassBounds
from inertica.physical.geometry_prior import GEOMETRY_ORIGIN, without_placeholders
from inertica.physical.plausible import MASS_FACTOR
from inertica.robot.layout import Parameters
from inertica.workflow.decisions.correction import BLOCKS, THIRDS
from inertica.workflow.identify import reasons
from inertica.workflow.identify.choice import WORTH, Choice, candidates

SUBJECT = "masses"

WITHIN = (2.0, 0.999 * MASS_FACTOR)
"""Factors to the model's mass within which such a link is held: well inside what is called implausible, else just inside."""

ROUNDS = 3
"""A mass that is held back may push another one out; what is not settled after as many fits is left as the data have it."""


@dataclass(frozen=True, eq=False)
class HeldMasses:
    """A fit with implausible masses held near the model's.

    Args:
        bounds: what was added to the problem.
        estimate: with it.
        links: 1-based, in words.
    """

    bounds: tuple[Constraint, ...]
    estimate: Estimate
    links: str


def implausible_links(parameters: Parameters, prior: Parameters) -> dict[int, float]:
    """1-based link -> the model's mass, of links whose mass is off by more than `MASS_FACTOR`; none where the model says nothing."""
    if prior.origin == GEOMETRY_ORIGIN:
        return {}
    known, out = without_placeholders(prior), {}
    for j in range(parameters.layout.robot.n):
        mass, model = float(parameters.link(j)[9]), float(known.link(j)[9])
        if model > 0.0 and not model / MASS_FACTOR <= mass <= MASS_FACTOR * model:
            out[j + 1] = model
    return out


def choose_masses(problem: Problem, estimator: Estimator, estimate: Estimate) -> tuple[HeldMasses | None, Choice | None]:
    """Implausible masses held near the model's, unless data left out speak against it; no choice where all are plausible.

    Args:
        problem: that was fitted.
        estimator: the method.
        estimate: what it found; estimates that are not of a consistent fit with a prior from the program are left alone.
    """
    free = _strategy(estimate)
    if free is None or free.mildness is None or problem.prior is None or estimate.chi is None:
        return None, None
    refused: Choice | None = None
    for factor in WITHIN:
        held = _held_within(factor, problem, estimator, estimate)
        if held is None or (bounded := _strategy(held.estimate)) is None:
            return None, refused
        both = _compared(problem, free, bounded)
        links, scores = held.links, {"as the data have them": both.short.score_without, "near the model": both.short.score}
        if not _speaks_against(both):
            value = f"link {links} within a factor {factor:.3g} of the model's mass"
            why, taken = reasons.HeldMasses(links, MASS_FACTOR, True, both.short), candidates(scores, "near the model")
            return held, Choice(SUBJECT, value, why, True, taken, both.short.score, both.short.score_without)
        why = reasons.HeldMasses(links, MASS_FACTOR, False, both.short)
        taken = candidates(scores, "as the data have them")
        refused = Choice(SUBJECT, "as the data have them", why, True, taken, both.short.score_without, both.short.score_without)
    return None, refused


def _held_within(factor: float, problem: Problem, estimator: Estimator, estimate: Estimate) -> HeldMasses | None:
    """The fit with implausible masses held within a factor of the model's; None where there are none, or no such fit exists."""
    assert problem.prior is not None
    held: dict[int, float] = {}
    bounds: tuple[Constraint, ...] = ()
    for _ in range(ROUNDS):
        assert estimate.chi is not None
        now = Parameters(problem.base.layout, estimate.chi, problem.prior.shapes, "identified")
        outside = implausible_links(now, problem.prior)
        if not outside.keys() - held.keys():
            break
        held |= outside
        bounds = (MassBounds({link: (mass / factor, mass * factor) for link, mass in held.items()}),)
        try:
            estimate = estimator.estimate(replace(problem, constraints=(*problem.constraints, *bounds)))
        except InfeasibleError:  # the card states another mass than the model file: what is stated counts
            return None
        if estimate.failed or estimate.chi is None:
            return None
    return HeldMasses(bounds, estimate, ", ".join(str(link) for link in sorted(held))) if held else None


def _speaks_against(both: ShortAndLong) -> bool:
    """Whether tenths left out are predicted worse beyond doubt and by an amount that counts, and thirds do not contradict."""
    short = both.short
    counts = short.score**2 > (1.0 + WORTH) * short.score_without**2
    return short.t > short.limit and counts and not both.long.better


def _strategy(estimate: Estimate) -> PreparedStrategy | None:
    strategy = None if estimate.evidence is None else estimate.evidence.strategy
    return strategy if isinstance(strategy, PreparedStrategy) else None


def _compared(problem: Problem, free: PreparedStrategy, bounded: PreparedStrategy) -> ShortAndLong:
    """Errors on tenths and thirds left out, with masses held against without."""
    data = Extended.of(problem, problem.base.layout)
    blocks, _ = data.blocks_and_motions(BLOCKS)
    thirds = [Part.joined(blocks[k]) for k in THIRDS]
    errors = [[errors_left_out(strategy, data, parts, ()) for strategy in (bounded, free)] for parts in (blocks, thirds)]
    return ShortAndLong(*(compare(held.consistent, loose.consistent, held.sizes) for held, loose in errors))
