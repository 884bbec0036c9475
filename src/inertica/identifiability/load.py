"""What a load on a link adds to the base parameters, and what records with it have of their own."""

from __future__ import annotations

import numpy as np

from inertica.arrays import Array
from inertica.errors import InputError
from inertica.identifiability.base import BaseModel
from inertica.robot import inertia
from inertica.robot.terms import RigidBody

FRICTION = frozenset({"viscous", "coulomb", "offset", "stribeck", "saturating", "load"})
"""Kinds of parameters that are the loaded records' own."""


def load_columns(base: BaseModel, body: RigidBody) -> Array:
    """(b, 10) B: base parameters per parameter of a load."""
    link = base.layout.link(body.link)
    if fixed := [base.layout.names[k] for k in base.fixed if link.start <= k < link.stop]:
        raise InputError(
            f"{base.layout.robot.name}: {', '.join(fixed)} of the link that carries the load are fixed, so that nothing can be added "
            "to them; leave them out of `fixed:`"
        )
    return np.asarray(base.T[:, link] @ inertia.frame_change_matrix(body.rotation, body.position))


def own_friction(base: BaseModel) -> Array:
    """(b, f) E: one column for every base parameter of friction."""
    kinds = [base.layout.parameters[k].kind for k in base.retained]
    return np.eye(base.rank)[:, [k in FRICTION for k in kinds]]
