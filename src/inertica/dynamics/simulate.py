"""Closed-loop simulation of many runs in one batch, each with its own parameters, gains and noise.

The kernels of `closed_loop` are compiled for the robot and the control law; a target runs them from the first step to the last.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.dynamics.closed_loop import INTEGRATORS, ClosedLoop
from inertica.dynamics.kernels import Array, Runs
from inertica.dynamics.laws import Law
from inertica.dynamics.model import Model
from inertica.dynamics.noise import NORMAL
from inertica.errors import InputError
from inertica.robot.control import PD

__all__ = ["INTEGRATORS", "Noise", "RunOptions", "Simulation", "simulate"]

MAX_TABLES = 4


@dataclass(frozen=True)
class Noise:
    """Sensor noise of a simulation.

    Args:
        q: standard deviation of measured positions, a number or one per joint.
        tau: of recorded torques.
        seed: with the run's number and the step it determines every sample.
        distribution: normal, uniform or laplace, of the same standard deviations.
    """

    q: ArrayLike = 0.0
    tau: ArrayLike = 0.0
    seed: int = 0
    distribution: str = NORMAL


@dataclass(frozen=True)
class Simulation:
    """Recorded runs: arrays (B, K, n), steps (K,).  All signals of one sample belong to the start of that control step.

    `q_measured` and `tau_measured` carry the noise; without noise they are the true signals.
    """

    steps: NDArray[np.int64]
    q: Array
    dq: Array
    ddq: Array
    tau: Array
    q_measured: Array
    tau_measured: Array

    @property
    def stable(self) -> NDArray[np.bool_]:
        """(B,) whether a run stayed finite."""
        return np.asarray(np.isfinite(self.q).all(axis=(1, 2)) & np.isfinite(self.ddq).all(axis=(1, 2)))


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How closed loops are simulated.

    Args:
        law: of control.
        integrator: euler, rk2 or rk4, one step per control period, torque held; `variable`: as many as its error asks for.
        shapes: (S,) or (B, S) values of nonlinear parameters; those that chi carries, or the layout's, when not given.
        noise: sensor noise; none by default.
        difference_velocity: the law sees the backward difference of the measured position instead of the true velocity;
            default: exactly when there is noise, as on a robot.
        runs: (B,) numbers that identify the runs' noise; 0 .. B-1 by default.
        keep: record every k-th step, or an ascending list of steps.
        start: (q, dq) at the start, (n,) or (B, n); the reference's first sample by default.
        on_device: signals stay in the memory of the GPU that computes them, until NumPy code reads them (`dynamics.resident`).
    """

    law: Law = field(default_factory=PD)
    integrator: str = "rk4"
    shapes: ArrayLike | None = None
    noise: Noise | None = None
    difference_velocity: bool | None = None
    runs: ArrayLike | None = None
    keep: ArrayLike | int = 1
    start: tuple[ArrayLike, ArrayLike] | None = None
    on_device: bool = False

    @property
    def loop(self) -> ClosedLoop:
        """What the kernels depend on."""
        noisy = self.noise is not None
        difference = noisy if self.difference_velocity is None else self.difference_velocity
        return ClosedLoop(self.law, self.integrator, noisy, difference, self.noise.distribution if self.noise else NORMAL)


def simulate(
    model: Model, chi: ArrayLike, reference: Mapping[str, ArrayLike], gains: Mapping[str, ArrayLike], dt: float,
    options: RunOptions,
) -> Simulation:  # fmt: skip
    """Simulate the robot under its control law.

    Args:
        model: the robot.
        chi: (P,) or (B, P) parameters, one row per run.
        reference: name -> (T, n) samples at the control rate, as the law asks for: q, dq, ...
        gains: name -> number, (n,) or (B, n), joint side.
        dt: control period in s.
        options: law, integrator, noise and what is recorded.
    """
    if options.shapes is None and hasattr(chi, "shapes"):
        options = replace(options, shapes=chi.shapes)
    loop, runs = options.loop, checked_runs(model, np.atleast_2d(np.asarray(chi, float)), reference, gains, dt, options)
    out = model.once(loop, lambda: model.target.loop(loop.described(model.equations, model.retained)))(runs)
    measured = (out["q_measured"], out["tau_measured"]) if loop.noisy else (out["q"], out["tau"])
    return Simulation(runs.steps, out["q"], out["dq"], out["ddq"], out["tau"], *measured)


def checked_runs(
    model: Model, chi: Array, reference: Mapping[str, ArrayLike], gains: Mapping[str, ArrayLike], dt: float, options: RunOptions
) -> Runs:
    """The inputs of a simulation as fields of its runs; an InputError says which of them does not fit.

    Args:
        model, reference, gains, dt, options: as for `simulate`.
        chi: (B, P) or (1, P).
    """
    law, noise, start, numbers, keep = options.law, options.noise, options.start, options.runs, options.keep
    n, robot = model.n, model.layout.robot.name
    table = _reference_table(n, law, reference)
    if chi.shape[1] != model.layout.size:
        raise InputError(f"chi has {chi.shape[1]} values; {robot} has {model.layout.size} parameters")
    missing = [g for g in law.gains if g not in gains]
    if missing:
        raise InputError(f"the control law needs the gain '{missing[0]}'; given are {', '.join(gains) or 'none'}")
    default_shapes = np.array([s.value for s in model.layout.shapes])
    wide: dict[str, Array] = {name: _wide(gains[name], n, name) for name in law.gains}
    wide["shapes"] = _wide(default_shapes if options.shapes is None else options.shapes, len(default_shapes), "shapes")
    start_state = (table[0, :n], table[0, n : 2 * n] if "dq" in law.references else np.zeros(n)) if start is None else start
    wide["q"], wide["dq"] = _wide(start_state[0], n, "start"), _wide(start_state[1], n, "start")
    if noise is not None:
        wide["sd_q"], wide["sd_tau"] = _wide(noise.q, n, "noise"), _wide(noise.tau, n, "noise")
    wide["chi"] = model.reduced(chi)
    # one row for all runs: fields with one row are broadcast
    wide["dt"], wide["idt"] = np.full((1, 1), dt), np.full((1, 1), 1.0 / dt)
    sizes = {len(v) for v in wide.values()} | (set() if numbers is None else {np.size(numbers)})
    B = max(sizes)
    if sizes - {1, B}:
        raise InputError(f"inputs of the simulation have different numbers of runs: {sorted(sizes)}")
    # views without a copy; the target copies what it changes
    fields = {name: np.broadcast_to(v, (B, v.shape[1])) for name, v in wide.items()}
    run_numbers = np.arange(B) if numbers is None else np.broadcast_to(np.atleast_1d(np.asarray(numbers)), (B,))
    steps = np.arange(0, len(table), keep) if isinstance(keep, int) else np.asarray(keep, np.int64)
    if len(steps) and (np.any(np.diff(steps) <= 0) or steps[0] < 0 or steps[-1] >= len(table)):
        raise InputError(f"steps to record must ascend within 0 .. {len(table) - 1}")
    seed = 0 if noise is None else noise.seed
    return Runs(fields, run_numbers.astype(np.uint64), seed, table, steps, options.on_device)


_TABLES: list[tuple[tuple[Array, ...], Array]] = []
"""References that cannot have changed since, with their tables; the latest last."""


def _reference_table(n: int, law: Law, reference: Mapping[str, ArrayLike]) -> Array:
    signals = tuple(reference.get(name) for name in law.references)
    for parts, table in _TABLES:
        if len(parts) == len(signals) and all(a is b for a, b in zip(parts, signals, strict=True)) and parts[0].shape[1] == n:
            return table
    table = _checked_table(n, law, reference)
    if all(isinstance(x, np.ndarray) and not x.flags.writeable and x.base is None for x in signals):
        _TABLES[:] = [*_TABLES[1 - MAX_TABLES :], (signals, table)]  # type: ignore[list-item]
    return table


def _checked_table(n: int, law: Law, reference: Mapping[str, ArrayLike]) -> Array:
    parts: list[Array] = []
    for name in law.references:
        if name not in reference:
            raise InputError(f"the control law follows the reference '{name}'; given are {', '.join(reference) or 'none'}")
        part = np.asarray(reference[name], float)
        if part.ndim != 2 or part.shape[1] != n or (parts and len(part) != len(parts[0])):
            raise InputError(f"reference '{name}' has shape {part.shape}; expected (samples, {n}), all of equal length")
        if not np.isfinite(part).all():
            raise InputError(f"reference '{name}' has values that are not finite")
        parts.append(part)
    return np.ascontiguousarray(np.hstack(parts))


def _wide(values: ArrayLike, count: int, name: str) -> Array:
    """A number, one value per joint or one row per run as (B or 1, count)."""
    array = np.asarray(values, float)
    if array.ndim == 0:
        array = np.full(count, float(array))
    array = np.atleast_2d(array)
    if array.shape[1] != count:
        raise InputError(f"'{name}' has {array.shape[1]} values; expected {count}")
    return array
