"""Constants of friction laws that enter nonlinearly (Stribeck velocity and exponent, ...), stated or chosen, found from the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from inertica.arrays import Array
from inertica.errors import InputError
from inertica.estimators.observe import Observations
from inertica.estimators.structure.shape_search import FoundShapes, ShapedColumns, found_shapes
from inertica.identifiability.base import base_model
from inertica.preprocessing.motion import Motion
from inertica.robot.description import Description
from inertica.robot.friction import FrictionLaw, friction_terms
from inertica.robot.layout import Parameters
from inertica.robot.plain import plain_friction, with_laws
from inertica.robot.terms import State
from inertica.workflow.identify import reasons
from inertica.workflow.identify.choice import Choice, Say

SPEEDS = (0.005, 1.0)
"""Bounds of a speed, in parts of the joint's 95th percentile speed."""

OTHERS = (0.2, 5.0)
"""Bounds of a constant of another unit, in parts of its stated value."""


@dataclass(frozen=True)
class RefinedShapes:
    """What was found.

    Args:
        description: the robot with these constants in its friction laws.
        choice: for people.
        std: shape -> standard deviation; infinite where the stated value was kept.
        changes: what the uncertain shapes change of other parameters, see `Chosen.other_laws`.
    """

    description: Description
    choice: Choice
    std: Mapping[str, float] = field(default_factory=dict)
    changes: Sequence[Mapping[str, float]] = ()


def refine_shapes(description: Description, motions: Sequence[Motion], say: Say) -> RefinedShapes:
    """The constants of friction laws that fit best, by separable least squares over all joints.

    Args:
        description: with the laws; their stated constants are where the search starts.
        motions: prepared for the fit.
        say: progress.
    """
    laws = [law for law in friction_terms(description.layout.terms) if law.shapes and not law.memory]
    if not laws:
        raise InputError(
            "refine_shapes: no friction law here has a constant that enters nonlinearly; state one, such as "
            "friction viscous,stribeck"
        )
    say("friction: constants of the laws")
    shapes = _searched(description, laws, motions)
    terms = tuple(t.with_shapes(shapes.values) if t in laws else t for t in description.layout.terms)
    refined = description.with_terms(terms)
    prior = Parameters(refined.layout, refined.prior.values, None, refined.prior.origin)  # type: ignore[arg-type]
    std = {name: shapes.values[name] * s for name, s in shapes.std.items()}
    changes = [{name: s for name, s in shapes.spread.items() if s > 0.0}]
    return RefinedShapes(replace(refined, prior=prior), _choice(laws, shapes), std, changes)


def _searched(description: Description, laws: Sequence[FrictionLaw], motions: Sequence[Motion]) -> FoundShapes:
    others = [law for law in friction_terms(description.layout.terms) if law not in laws]
    rest = with_laws(description, others)
    assumed = with_laws(description, plain_friction(description.robot.independent))
    noise = Observations(base_model(assumed.layout), motions, assumed.prior).sigmas
    system = Observations(base_model(rest.layout), motions, rest.prior)
    speeds = np.abs(np.concatenate([m.dq for m in motions]))
    fastest = np.maximum(np.quantile(speeds, 0.95, axis=0), 1e-9 * speeds.max(axis=0))
    return found_shapes(system, [_shaped(law, motions, float(fastest[law.at])) for law in laws], noise)


def _shaped(law: FrictionLaw, motions: Sequence[Motion], fastest: float) -> ShapedColumns:
    names = tuple(s.name for s in law.shapes)
    start = np.array([max(s.value, 1e-9) for s in law.shapes])
    speeds = np.array([s.unit in ("rad/s", "m/s") for s in law.shapes])
    lower, upper = (np.where(speeds, np.array(part) * fastest, other * start) for part, other in zip(SPEEDS, OTHERS, strict=True))
    start = np.where(speeds, np.clip(start, lower, upper), start)
    n = max(law.at + 1, 1)

    def columns(shapes: Array) -> Array:
        values = dict(zip(names, shapes, strict=True))
        blocks = []
        for motion in motions:
            dq = [motion.dq[:, law.at]] * n
            columns_of_law = law.columns(State([motion.q[:, law.at]] * n, dq, [motion.ddq[:, law.at]] * n, values))
            made = np.column_stack([np.broadcast_to(np.asarray(c[law.at], float), len(motion)) for c in columns_of_law])
            blocks.append(motion.decimator.decimate(made))
        return np.concatenate(blocks)

    return ShapedColumns(law.at, names, start, lower, upper, tuple(p.name for p in law.parameters), columns)


def _choice(laws: Sequence[FrictionLaw], shapes: FoundShapes) -> Choice:
    units = {s.name: "" if s.unit == "1" else f" {s.unit}" for law in laws for s in law.shapes}
    determined = [
        f"{name} {shapes.values[name]:.3g}{units[name]} ({low:.3g} to {high:.3g})"
        for name in shapes.told
        for low, high in [shapes.interval(name)]
    ]
    undetermined = [f"{name} {value:.3g}{units[name]}" for name, value in shapes.values.items() if name not in shapes.told]
    value = ", ".join([*determined, *(f"{text} as stated" for text in undetermined)])
    return Choice("friction constants", value, reasons.RefinedShapes(shapes.gain, bool(undetermined)))
