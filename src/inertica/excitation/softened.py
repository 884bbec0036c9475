"""A layout with its sharp friction signs made smooth: what gradient steps use in place of jumps."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from inertica.robot.layout import Layout
from inertica.robot.natural import NaturalUnits
from inertica.robot.terms import Term


def softened(layout: Layout, share: float) -> Layout:
    """The same parameters, with sign(dq) replaced by tanh(dq/width), width = share of the joint's velocity limit."""
    robot, units = layout.robot, NaturalUnits.of(layout, np.zeros(layout.size))
    usual = [(units.length if joint.prismatic else 1.0) / units.time for joint in robot.joints]  # where no limit is stated
    velocity = [v if math.isfinite(v) else u for v, u in zip(robot.limits.velocity, usual, strict=True)]
    return layout.with_terms(_soft(term, velocity, share) for term in layout.terms)


def _soft(term: Term, velocity: list[float], share: float) -> Term:
    if not dataclasses.is_dataclass(term) or getattr(term, "width", None) != 0.0:
        return term
    limit = min(velocity) if term.joint is None else velocity[term.joint]
    return dataclasses.replace(term, width=share * limit)
