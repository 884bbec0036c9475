"""What earlier motions already know, and several motions designed so that they complement each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from inertica.dynamics.engine import Engine
from inertica.excitation.constraints import MotionConstraint
from inertica.excitation.criteria import Criterion
from inertica.excitation.optimal import Design, DesignOptions, design
from inertica.excitation.trajectory import Array, Shaped, Trajectory
from inertica.identifiability.base import BaseModel


def information(
    engine: Engine, base: BaseModel, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, noise: Sequence[float] | None = None
) -> Array:
    """(b, b) R factor of a motion (N, n): what `DesignOptions(previous=[R])` takes; R'R is the information in its samples."""
    known = np.zeros_like(np.asarray(q, float))
    weights = None if noise is None else 1.0 / np.asarray(noise, float)
    return engine.factors(q, dq, ddq, known, columns=[int(k) for k in base.retained]).stacked(list(base.retained), weights).R


def information_of(
    engine: Engine, base: BaseModel, trajectory: Trajectory, rate: float, noise: Sequence[float] | None = None
) -> Array:
    """The same for a trajectory sampled at a rate in Hz."""
    count = max(2, round(trajectory.period * rate))
    return information(engine, base, *trajectory(np.arange(count) / rate), noise)


def design_several(
    count: int, engine: Engine, base: BaseModel, family: Shaped, criterion: Criterion | None = None,
    constraints: Sequence[MotionConstraint] = (), options: DesignOptions | None = None, rng: Generator | int = 0,
) -> list[Design]:  # fmt: skip
    """Motions one after the other, each adding most to all before it; the criterion's value is that of all together.

    Stops at the first design that fails, which is the last of the list then.

    Args:
        count: how many.
        engine, base, family, criterion, constraints, rng: as for `design`.
        options: likewise; 100 samples per second of each motion where no rate is stated.
    """
    options, generator, out = options or DesignOptions(), np.random.default_rng(rng), list[Design]()
    rate, known = options.rate or 100.0, list(options.previous)
    for _ in range(count):
        out.append(design(engine, base, family, criterion, constraints, replace(options, previous=known, rate=rate), generator))
        if not out[-1].feasible:
            break
        known = [*known, information_of(engine, base, out[-1].trajectory, rate, options.noise)]
    return out
