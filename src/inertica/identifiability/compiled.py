"""An engine whose simulations work on base parameters: fewer inputs, the same motion."""

from __future__ import annotations

import numpy as np

from inertica.dynamics.engine import Engine, Reduction
from inertica.dynamics.kernels import Target
from inertica.identifiability.base import BaseModel


def engine(base: BaseModel, threads: int | None = None, target: Target | None = None) -> Engine:
    """Compiled dynamics of a layout.

    Args:
        base: the layout with its base parameters; from random states, so that it holds for every motion.
        threads, target: as for `Model`.
    """
    kept = (*base.kept, *base.fixed)
    matrix = np.vstack([base.T, np.eye(base.layout.size)[list(base.fixed)]])
    order = np.argsort(kept)
    return Engine(base.layout, Reduction(tuple(int(kept[i]) for i in order), matrix[order]), threads, target)
