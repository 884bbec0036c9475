"""A layout with its sharp friction signs made smooth: what gradient steps use in place of jumps."""

from __future__ import annotations

import dataclasses
import math

from inertica.robot.layout import Layout
from inertica.robot.terms import Term

OPEN_VELOCITY = 2.0
"""Velocity limit assumed where there is none, in rad/s or m/s."""


def softened(layout: Layout, share: float) -> Layout:
    """The same parameters, with sign(dq) replaced by tanh(dq/width), width = share of the joint's velocity limit."""
    velocity = [v if math.isfinite(v) else OPEN_VELOCITY for v in layout.robot.limits.velocity]
    return layout.with_terms(_soft(term, velocity, share) for term in layout.terms)


def _soft(term: Term, velocity: list[float], share: float) -> Term:
    if not dataclasses.is_dataclass(term) or getattr(term, "width", None) != 0.0:
        return term
    limit = min(velocity) if term.joint is None else velocity[term.joint]
    return dataclasses.replace(term, width=share * limit)
