"""How far simulated runs are from a record, and what that answers to small changes: sums that need no signal outside the target.

A target whose loops have `misfits` keeps signals where they are computed and gives back squares and products only; others have
nothing to gain.  Requests of several fits are answered at once (see `together`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from inertica.dynamics.closed_loop import ClosedLoop
from inertica.dynamics.kernels import Array, Runs
from inertica.dynamics.model import Model
from inertica.dynamics.simulate import checked_runs
from inertica.dynamics.sums import Compared, Misfit


class Misfits:
    """Of one loop along one reference.

    Args:
        model: the robot.
        loop: control law, integrator.
        compiled: the loop's function, of a target that has `misfits`.
        reference: name -> (T, n).
        signal: that is compared: q or tau.
        limits: lowest and highest positions and fastest rms velocity (n,) of a run that is fine.
        given: gains, dt, start and shapes, the same for all.
    """

    def __init__(
        self, model: Model, loop: ClosedLoop, compiled: Any, reference: Mapping[str, ArrayLike], signal: str,
        limits: tuple[Array, Array, Array],        given: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self.model, self.law, self.compiled, self.reference = model, loop.law, compiled, reference
        self.signal, self.limits, self.given = signal, limits, given

    def __call__(self, asked: Compared) -> Misfit:
        return self.many([(asked,)])[0]

    def many(self, given: Sequence[tuple[Compared]]) -> list[Misfit]:
        """Those with the same number of runs together."""
        out: dict[int, Misfit] = {}
        asked = [one for (one,) in given]
        for count in sorted({len(one.chi) for one in asked}):
            which = [k for k, one in enumerate(asked) if len(one.chi) == count]
            found = self._alike([asked[k] for k in which])
            out |= dict(zip(which, found, strict=True))
        return [out[k] for k in range(len(asked))]

    def _alike(self, asked: Sequence[Compared]) -> list[Misfit]:
        keep = asked[0].keep
        for one in asked[1:]:
            keep = keep if np.array_equal(keep, one.keep) else np.union1d(keep, one.keep)
        record, weights = (np.zeros((len(asked), len(keep), self.model.n)) for _ in range(2))
        for k, one in enumerate(asked):
            rows = np.searchsorted(keep, one.keep)
            record[k, rows], weights[k, rows] = one.record, one.weights
        chi, law = np.concatenate([one.chi for one in asked]), self.law
        gains, dt, start, shapes = (self.given[name] for name in ("gains", "dt", "start", "shapes"))
        runs: Runs = checked_runs(self.model, law, chi, self.reference, gains, dt, keep, start, shapes)
        steps = np.array([one.steps for one in asked])
        found: list[Misfit] = self.compiled.misfits(runs, self.signal, record, weights, steps, self.limits)
        return found
