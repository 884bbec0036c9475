"""The model that came in, held against the same data as the identified one: what an identification has gained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from inertica.arrays import Mask
from inertica.documents import INLINE, ONE_BASED
from inertica.dynamics.engine import Engine
from inertica.physical.geometry_prior import without_placeholders
from inertica.preprocessing.motion import Motion
from inertica.robot.description import Description
from inertica.robot.layout import Layout, Parameters
from inertica.robot.natural import levers
from inertica.validation.residuals import Residual
from inertica.workflow.identify.inputs import IDENTIFICATION
from inertica.workflow.identify.prediction import friction_only, judged_torques, predicted_torque


@dataclass(frozen=True)
class Before:
    """What the model that came in leaves of the torque.

    Args:
        residual: of its own values, friction and offsets as far as it states them, mounted as the identified one is.
        data_set: on which; the one that the verdict rests on, see `headline_set`.
        friction: whether the model states any friction or offset other than zero.
        masses: whether it states any mass.
        placeholders: 0-based links about which it says nothing usable: no mass, or the same body on every link.
        distorted: whether its values were changed on purpose, because they are the truth of a simulated log.
    """

    residual: Residual = field(metadata=INLINE)
    data_set: str
    friction: bool
    masses: bool
    placeholders: tuple[int, ...] = field(default=(), metadata=ONE_BASED)
    distorted: bool = False


def headline_set(residuals: Mapping[str, Residual]) -> str:
    """The data set whose raw residual is stated first everywhere: the worst that was not fitted, else the fitted one."""
    others = {name: r.raw.all for name, r in residuals.items() if name != IDENTIFICATION}
    return max(others, key=lambda name: others[name] if np.isfinite(others[name]) else np.inf) if others else IDENTIFICATION


def before(
    stated: Description,
    layout: Layout,
    engine: Engine,
    data_set: str,
    motions: Sequence[Motion],
    keep: Sequence[Mask] | None = None,
    distorted: bool = False,
) -> Before:
    """Holds a model against motions.

    Args:
        stated: the model as it came, mounted as the robot is.
        layout, engine: of the identified model; they serve this one, too, where they hold all that it states.
        data_set: what the motions are called.
        motions: to predict.
        keep: (N,) per motion, samples to look at; all by default.
        distorted: see `Before`.
    """
    model = stated.prior
    used, kernels = (model.on(layout), engine) if _holds(layout, model) else (model, None)
    kernels = kernels or Engine(used.layout)
    torques = [predicted_torque(used, motion, kernels) for motion in motions]
    judged = judged_torques(torques, motions, levers(used.layout.robot), keep)
    usable = without_placeholders(model)
    links = model.layout.robot.links
    return Before(
        judged,
        data_set,
        friction=bool(np.any(friction_only(model).values)),
        masses=any(model.link(j)[9] > 0.0 for j in links),
        placeholders=tuple(j for j in links if not np.any(usable.link(j))),
        distorted=distorted,
    )


def _holds(layout: Layout, model: Parameters) -> bool:
    """Whether a layout has a place for every value of a model: the terms that are not zero in it, unchanged."""
    active = [t for t in model.layout.terms if any(model[p.name] for p in t.parameters)]
    return all(t in layout.terms for t in active) and layout.payloads == model.layout.payloads
