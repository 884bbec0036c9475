"""A robot in its control loop, simulated along what the controller followed: the one place where closed loops are run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from inertica.arrays import Array
from inertica.dynamics.batching import BatchClient
from inertica.dynamics.engine import Engine
from inertica.dynamics.simulate import Noise, RunOptions, Simulation
from inertica.dynamics.tangents import simulate_tangents
from inertica.experiment.loop import ControlLoop
from inertica.experiment.track import Replay, Track

Gains = Mapping[str, Array]


@dataclass
class Count:
    """Simulated runs of records, those of tangents included."""

    simulations: int = 0


@dataclass(frozen=True, eq=False)
class LoopRun:
    """A robot in its control loop.

    Args:
        loop: law, gains, rate.
        engine: of the robot.
        shapes: values of nonlinear parameters; the layout's when not given.
        integrator: euler, rk2 or rk4, one step per control period, or `variable`.
        noisy: whether positions are measured with noise, on which the loop's `difference_velocity` may depend.
        count: of the simulations, shared by runs that are made of this one.
        batch: where replays are requested when several fits run concurrently; they are simulated at once when not given.
    """

    loop: ControlLoop
    engine: Engine
    shapes: Array | None = None
    integrator: str = "rk4"
    noisy: bool = True
    count: Count = field(default_factory=Count)
    batch: BatchClient | None = None

    def simulate(
        self, chi: ArrayLike, track: Track, gains: Gains | None = None, noise: Noise | None = None, runs: ArrayLike | None = None,
        on_device: bool = False,
    ) -> Simulation:  # fmt: skip
        """Runs at the recorded control steps of a track.

        Args:
            chi: (P,) or (B, P) standard parameters.
            track: what is followed.
            gains: name -> (n,) or (B, n); the loop's own where not given.
            noise: of measured positions and torques.
            runs: (B,) numbers of the runs, for the noise.
            on_device: signals stay in the memory of the GPU, if that computes them.
        """
        with np.errstate(all="ignore"):
            inputs, options = self._inputs(track, gains), self._options(track)
            options |= {"noise": noise, "runs": runs, "on_device": on_device}
            if self.batch is not None:
                return self.batch.simulate(self.engine, chi, *inputs, **options)
            return self.engine.simulate(chi, *inputs, **options)

    def replay(self, chi: ArrayLike, tracks: Sequence[Track], gains: Gains | None = None) -> Replay:
        """Runs at the samples of a record, whose stretches follow one another."""
        replays = [track.replay(self.simulate(chi, track, gains, on_device=True)) for track in tracks]
        self.count.simulations += len(replays[0].q)
        return _joined(replays)

    def tangents(
        self, chi: Array, directions: Array, tracks: Sequence[Track], gains: Gains | None = None, rates: Gains | None = None
    ) -> tuple[Replay, Replay]:
        """One run at the samples of a record, and its derivatives.

        Args:
            chi: (P,)
            directions: (D, P), each a rate of change of the parameters.
            tracks: stretches of the record.
            gains: name -> (n,); the loop's own where not given.
            rates: name -> (D, n), how fast gains change along the same directions.
        """
        pairs = [
            simulate_tangents(self.engine, chi, directions, *self._inputs(t, gains), RunOptions(**self._options(t)), rates)
            for t in tracks
        ]
        self.count.simulations += len(directions)
        run, rate = ([track.replay(pair[k]) for track, pair in zip(tracks, pairs, strict=True)] for k in (0, 1))
        return _joined(run), _joined(rate)

    def _inputs(self, track: Track, gains: Gains | None) -> tuple[Mapping[str, Array], Gains, float]:
        """Reference, gains and control period."""
        return track.reference, self.loop.all_gains | dict(gains or {}), track.dt

    def _options(self, track: Track) -> dict[str, Any]:
        stated = self.loop.difference_velocity
        return {
            "keep": track.keep, "start": track.start, "law": self.loop.compiled_law, "integrator": self.integrator,
            "shapes": self.shapes, "difference_velocity": self.noisy if stated is None else stated,
        }  # fmt: skip


def _joined(stretches: list[Replay]) -> Replay:
    if len(stretches) == 1:
        return stretches[0]
    return Replay(*(np.concatenate([getattr(s, name) for s in stretches], axis=1) for name in ("q", "dq", "ddq", "tau")))
