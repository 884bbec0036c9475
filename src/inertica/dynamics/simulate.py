"""Closed-loop simulation: many runs side by side, each with its own parameters, gains and noise.

One control step: measure (optionally with noise), control, forward dynamics, record, integrate with the torque held.  Each of these
is a kernel generated for the robot and the control law; the loop over steps is compiled too, so a block of runs stays in the
first-level cache from the first step to the last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.dynamics import native
from inertica.dynamics.lanes import Lanes, function, write_program
from inertica.dynamics.laws import PD, Law
from inertica.dynamics.noise import TORQUE_CALL, write_normals
from inertica.dynamics.rows import LANES, Rows, aligned
from inertica.dynamics.trace import Graph, Key, Symbol
from inertica.errors import InputError, nearest

if TYPE_CHECKING:
    from inertica.dynamics.engine import Engine

Array = NDArray[np.float64]

INTEGRATORS: dict[str, tuple[tuple[float, float], ...]] = {
    "euler": ((1.0, 0.0),),
    "rk2": ((0.0, 0.5), (1.0, 0.0)),
    "rk4": ((1 / 6, 0.5), (1 / 3, 0.5), (1 / 3, 1.0), (1 / 6, 0.0)),
}
"""Explicit Runge-Kutta methods whose stages build on the one before: (weight of this stage, where the next one stands)."""


@dataclass(frozen=True)
class Noise:
    """Sensor noise of a simulation.

    Args:
        q: standard deviation of measured positions, a number or one per joint.
        tau: of recorded torques.
        seed: with the run's number and the step it determines every sample.
    """

    q: ArrayLike = 0.0
    tau: ArrayLike = 0.0
    seed: int = 0


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


@dataclass(frozen=True)
class _Variant:
    """What the generated code depends on besides the layout."""

    law: Law
    integrator: str
    noisy: bool
    difference: bool  # measured velocity = backward difference of the measured position
    lanes: int


@dataclass
class _Program:
    """Generated kernels of one variant and where they expect things."""

    variant: _Variant
    rows: Rows
    kept: tuple[int, ...]
    recorded: int
    code: native.NativeCode = field(repr=False)
    stages: NDArray[np.int64] = field(repr=False)
    has_memory: bool = False


def simulate(
    engine: Engine,
    chi: ArrayLike,
    reference: Mapping[str, ArrayLike],
    gains: Mapping[str, ArrayLike],
    dt: float,
    *,
    law: Law | None = None,
    integrator: str = "rk4",
    shapes: ArrayLike | None = None,
    noise: Noise | None = None,
    difference_velocity: bool | None = None,
    runs: ArrayLike | None = None,
    keep: ArrayLike | int = 1,
    start: tuple[ArrayLike, ArrayLike] | None = None,
) -> Simulation:
    """Simulate the robot under its control law.

    Args:
        engine: the robot.
        chi: (P,) or (B, P) parameters, one row per run.
        reference: name -> (T, n) samples at the control rate, as the law asks for: q, dq, ...
        gains: name -> number, (n,) or (B, n), joint side.
        dt: control period in s.
        law: PD by default.
        integrator: euler, rk2 or rk4, one step per control period, torque held.
        shapes: (S,) or (B, S) values of nonlinear parameters.
        noise: sensor noise; none by default.
        difference_velocity: the law sees the backward difference of the measured position instead of the true velocity;
            default: exactly when there is noise, as on a robot.
        runs: (B,) numbers that identify the runs' noise; 0 .. B-1 by default.
        keep: record every k-th step, or an ascending list of steps.
        start: (q, dq) at the start, (n,) or (B, n); the reference's first sample by default.
    """
    law = law or PD()
    if integrator not in INTEGRATORS:
        raise InputError(f"unknown integrator '{integrator}'; {nearest(integrator, INTEGRATORS)}")
    table = _reference_table(engine, law, reference)
    values = np.atleast_2d(np.asarray(chi, float))
    if shapes is None and hasattr(chi, "shapes"):
        shapes = chi.shapes
    batch = _Batch(engine, law, values, gains, shapes, noise, runs, start, table)
    B = batch.size
    variant = _Variant(
        law,
        integrator,
        noise is not None,
        noise is not None if difference_velocity is None else difference_velocity,
        1 if B == 1 else LANES,
    )
    program = _program(engine, variant)
    steps = np.arange(0, len(table), keep) if isinstance(keep, int) else np.asarray(keep, np.int64)
    if len(steps) and (np.any(np.diff(steps) <= 0) or steps[0] < 0 or steps[-1] >= len(table)):
        raise InputError(f"steps to record must ascend within 0 .. {len(table) - 1}")
    blocks = [batch.lanes(b, variant.lanes) for b in range(-(-B // variant.lanes))]
    out = np.empty((len(blocks), len(steps), program.recorded * variant.lanes))

    def run(b: int) -> None:
        _run_block(program, batch, blocks[b], dt, table, steps, out[b])

    if len(blocks) == 1 or engine.threads == 1:
        for b in range(len(blocks)):
            run(b)
    else:
        with ThreadPoolExecutor(engine.threads) as pool:
            list(pool.map(run, range(len(blocks))))
    return _unpacked(out, steps, engine.n, variant, B)


class _Batch:
    """Inputs of all runs, checked and brought to one row per run."""

    def __init__(
        self, engine: Engine, law: Law, chi: Array, gains: Mapping[str, ArrayLike], shapes: ArrayLike | None, noise: Noise | None,
        runs: ArrayLike | None, start: tuple[ArrayLike, ArrayLike] | None, table: Array,
    ) -> None:  # fmt: skip
        n, robot = engine.n, engine.layout.robot.name
        if chi.shape[1] != engine.layout.size:
            raise InputError(f"chi has {chi.shape[1]} values; {robot} has {engine.layout.size} parameters")
        missing = [g for g in law.gains if g not in gains]
        if missing:
            raise InputError(f"the control law needs the gain '{missing[0]}'; given are {', '.join(gains) or 'none'}")
        default_shapes = np.array([s.value for s in engine.layout.shapes])
        wide: dict[str, Array] = {name: _wide(gains[name], n, name) for name in law.gains}
        wide["shapes"] = _wide(default_shapes if shapes is None else shapes, len(default_shapes), "shapes")
        first = (table[0, :n], table[0, n : 2 * n] if "dq" in law.references else np.zeros(n)) if start is None else start
        wide["q"], wide["dq"] = _wide(first[0], n, "start"), _wide(first[1], n, "start")
        if noise is not None:
            wide["sd_q"], wide["sd_tau"] = _wide(noise.q, n, "noise"), _wide(noise.tau, n, "noise")
        reduced = chi if engine.reduction is None else engine.reduction.apply(chi)
        wide["chi"] = reduced
        sizes = {len(v) for v in wide.values()} | ({len(np.atleast_1d(np.asarray(runs)))} if runs is not None else set())
        self.size = max(sizes)
        if sizes - {1, self.size}:
            raise InputError(f"inputs of the simulation have different numbers of runs: {sorted(sizes)}")
        self.values = {name: np.broadcast_to(v, (self.size, v.shape[1])) for name, v in wide.items()}
        numbers = np.arange(self.size) if runs is None else np.broadcast_to(np.atleast_1d(np.asarray(runs)), (self.size,))
        self.runs = numbers.astype(np.uint64)
        self.seed = np.uint64(noise.seed if noise is not None else 0)

    def lanes(self, block: int, lanes: int) -> NDArray[np.int64]:
        """Runs of a block; a short last block repeats the last run."""
        return np.minimum(np.arange(block * lanes, (block + 1) * lanes), self.size - 1)


def _reference_table(engine: Engine, law: Law, reference: Mapping[str, ArrayLike]) -> Array:
    parts: list[Array] = []
    for name in law.references:
        if name not in reference:
            raise InputError(f"the control law follows the reference '{name}'; given are {', '.join(reference) or 'none'}")
        part = np.asarray(reference[name], float)
        if part.ndim != 2 or part.shape[1] != engine.n or (parts and len(part) != len(parts[0])):
            raise InputError(f"reference '{name}' has shape {part.shape}; expected (samples, {engine.n}), all of equal length")
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


def _run_block(
    program: _Program, batch: _Batch, chosen: NDArray[np.int64], dt: float, table: Array, steps: NDArray[np.int64], out: Array
) -> None:
    from inertica.dynamics import loops

    rows, variant = program.rows, program.variant
    work = aligned(rows.count * rows.stride)
    for name, values in batch.values.items():
        if name in rows.start and values.shape[1]:
            rows.of(work, name, values.shape[1])[:] = values[chosen].T
    rows.of(work, "dt", 1)[:] = dt
    rows.of(work, "idt", 1)[:] = 1.0 / dt
    if variant.noisy:
        rows.of(work, "run", 1).view(np.uint64)[:] = batch.runs[chosen]
        rows.of(work, "seed", 1).view(np.uint64)[:] = batch.seed
    address = program.code.address
    finish = address("finish") if program.has_memory else 0
    output = address("output") if variant.noisy else 0
    if variant.noisy or variant.difference:  # a previous position such that the first measured velocity is the true one
        loops.first_measurement(address("measure"), work, variant.lanes, table)
        n = batch.values["q"].shape[1]
        rows.of(work, "q_before", n)[:] = rows.of(work, "q_measured", n) - dt * rows.of(work, "dq", n)
    loops.time_loop(
        work,
        variant.lanes,
        len(table),
        address("begin"),
        address("forward"),
        finish,
        program.stages,
        output,
        table,
        steps,
        program.recorded,
        out,
    )


def _unpacked(out: Array, steps: NDArray[np.int64], n: int, variant: _Variant, B: int) -> Simulation:
    signals = out.reshape(len(out), len(steps), -1, n, variant.lanes)

    def signal(k: int) -> Array:
        return np.ascontiguousarray(signals[:, :, k].transpose(0, 3, 1, 2)).reshape(-1, len(steps), n)[:B]

    q, dq, ddq, tau = (signal(k) for k in range(4))
    measured = (signal(4), signal(5)) if variant.noisy else (q, tau)
    return Simulation(steps, q, dq, ddq, tau, *measured)


def _program(engine: Engine, variant: _Variant) -> _Program:
    known = engine._simulators
    if variant not in known:
        known[variant] = _Writer(engine, variant).program()
    return known[variant]  # type: ignore[return-value]


class _Writer:
    """Traces and compiles the kernels of one variant."""

    def __init__(self, engine: Engine, variant: _Variant) -> None:
        self.engine, self.variant, self.n = engine, variant, engine.n
        layout, n = engine.layout, engine.n
        reduction = engine.reduction
        self.kept = tuple(range(layout.size)) if reduction is None else reduction.kept
        self.rows = rows = Rows(variant.lanes)
        for name in ("q", "dq", "ddq", "tau"):
            rows.add(name, n)
        self.recorded = 4 * n
        if variant.noisy or variant.difference:
            rows.add("q_measured", n)
        if variant.noisy:
            rows.add("tau_measured", n)
            self.recorded = 6 * n
        sizes = {"q_before": n, "run": 1, "seed": 1, "sd_q": n, "sd_tau": n, "dt": 1, "idt": 1, "chi": len(self.kept)}
        sizes |= {"shapes": len(layout.shapes), "friction": len(layout.memory), "q0": n, "dq0": n, "sum_q": n, "sum_dq": n}
        sizes |= dict.fromkeys(variant.law.gains, n) | {f"memory {m}": n for m in variant.law.memory}
        for name, size in sizes.items():
            rows.add(name, size)

    def program(self) -> _Program:
        text = self._begin() + self._forward()
        stage_names = []
        for s in range(len(INTEGRATORS[self.variant.integrator])):
            stage_names.append(f"{self.variant.integrator}_{s}")
            text += self._stage(s)
        if self.engine.layout.memory:
            text += self._finish()
        if self.variant.noisy or self.variant.difference:
            text += self._measure()
        if self.variant.noisy:
            text += self._output()
        code = native.compiled(Lanes(self.variant.lanes, native.has_fma()).declarations() + text)
        stages = np.array([code.address(name) for name in stage_names], np.int64)
        return _Program(self.variant, self.rows, self.kept, self.recorded, code, stages, bool(self.engine.layout.memory))

    def _lanes(self) -> Lanes:
        return Lanes(self.variant.lanes, native.has_fma())

    def _store(
        self, lanes: Lanes, graph: Graph, groups: Mapping[str, Sequence[object]], given: Mapping[Key, str] | None = None
    ) -> None:
        outputs = {
            self.rows.offset((name, i)): graph.symbol(s) for name, symbols in groups.items() for i, s in enumerate(symbols)
        }
        write_program(lanes, graph, outputs, self.rows.offset, given)

    def _bits(self, lanes: Lanes, name: str) -> str:
        return lanes.bits(lanes.load(self.rows.offset((name, 0))))

    def _noisy_position(self, lanes: Lanes, graph: Graph) -> tuple[list[Symbol], dict[Key, str]]:
        """Measured positions, and the normals they are made from."""
        q = graph.inputs("q", self.n)
        if not self.variant.noisy:
            return q, {}
        normals = write_normals(lanes, self.n, self._bits(lanes, "run"), self._bits(lanes, "seed"))
        z, sd = graph.inputs("normal", self.n), graph.inputs("sd_q", self.n)
        return [a + s * b for a, s, b in zip(q, sd, z, strict=True)], {("normal", i): name for i, name in enumerate(normals)}

    def _measure(self) -> str:
        lanes, graph = self._lanes(), Graph()
        measured, given = self._noisy_position(lanes, graph)
        self._store(lanes, graph, {"q_measured": measured}, given)
        return function("measure", lanes, _STEP)

    def _begin(self) -> str:
        """Measure and control."""
        lanes, graph, law, n = self._lanes(), Graph(), self.variant.law, self.n
        measured, given = self._noisy_position(lanes, graph)
        velocity = graph.inputs("dq", n)
        stored: dict[str, list[object]] = {}
        if self.variant.difference:
            before, (idt,) = graph.inputs("q_before", n), graph.inputs("idt", 1)
            velocity = [(a - b) * idt for a, b in zip(measured, before, strict=True)]
            stored["q_before"] = list(measured)
        if self.variant.noisy or self.variant.difference:
            stored["q_measured"] = list(measured)
        for k, name in enumerate(law.references):
            for i in range(n):
                address = lanes.put(f"getelementptr double, ptr %reference, i64 {k * n + i}")
                given[f"reference {name}", i] = lanes.spread(lanes.put(f"load double, ptr {address}, align 8"), "double")
        (dt,) = graph.inputs("dt", 1)
        stored |= {f"memory {m}": [] for m in law.memory} | {"tau": []}
        for i in range(n):
            reference = {name: graph.input((f"reference {name}", i)) for name in law.references}
            gain = {name: graph.input((name, i)) for name in law.gains}
            memory = {m: graph.input((f"memory {m}", i)) for m in law.memory}
            tau, memory = law.torque(reference, measured[i], velocity[i], gain, memory, dt)
            stored["tau"].append(tau)
            for m, value in memory.items():
                stored[f"memory {m}"].append(value)
        self._store(lanes, graph, stored, given)
        return function("begin", lanes, _STEP)

    def _forward(self) -> str:
        lanes, graph, n = self._lanes(), Graph(), self.n
        layout = self.engine.layout
        chi: list[object] = [0.0] * layout.size
        for row, k in enumerate(self.kept):
            chi[k] = graph.input(("chi", row))
        shapes, memory = graph.inputs("shapes", len(layout.shapes)), graph.inputs("friction", len(layout.memory))
        q, dq, tau = (graph.inputs(name, n) for name in ("q", "dq", "tau"))
        self._store(lanes, graph, {"ddq": self.engine.equations.forward_dynamics(q, dq, tau, chi, shapes, memory)})
        return function("forward", lanes)

    def _finish(self) -> str:
        lanes, graph, layout = self._lanes(), Graph(), self.engine.layout
        shapes, memory = graph.inputs("shapes", len(layout.shapes)), graph.inputs("friction", len(layout.memory))
        (dt,) = graph.inputs("dt", 1)
        after = self.engine.equations.advance_memory(graph.inputs("q", self.n), graph.inputs("dq", self.n), shapes, memory, dt)
        self._store(lanes, graph, {"friction": after})
        return function("finish", lanes)

    def _output(self) -> str:
        """Recorded torque = torque + noise."""
        lanes, graph, n = self._lanes(), Graph(), self.n
        normals = write_normals(lanes, n, self._bits(lanes, "run"), self._bits(lanes, "seed"), TORQUE_CALL)
        tau, sd, z = (graph.inputs(name, n) for name in ("tau", "sd_tau", "normal"))
        noisy = [t + s * x for t, s, x in zip(tau, sd, z, strict=True)]
        self._store(lanes, graph, {"tau_measured": noisy}, {("normal", i): name for i, name in enumerate(normals)})
        return function("output", lanes, _STEP)

    def _stage(self, s: int) -> str:
        """Add this stage to the sums, stand at the next one; the last stage completes the step."""
        tableau = INTEGRATORS[self.variant.integrator]
        weight, ahead = tableau[s]
        lanes, graph, n = self._lanes(), Graph(), self.n
        (dt,) = graph.inputs("dt", 1)
        now = {"q": graph.inputs("q", n), "dq": graph.inputs("dq", n)}
        rate = {"q": now["dq"], "dq": graph.inputs("ddq", n)}
        stored: dict[str, list[object]] = {}
        for x in ("q", "dq"):
            before = now[x] if s == 0 else graph.inputs(f"{x}0", n)
            total = (
                [weight * r for r in rate[x]]
                if s == 0
                else [a + weight * r for a, r in zip(graph.inputs(f"sum_{x}", n), rate[x], strict=True)]
            )
            if s == len(tableau) - 1:
                stored[x] = [b + dt * t for b, t in zip(before, total, strict=True)]
            else:
                stored[x] = [b + (ahead * dt) * r for b, r in zip(before, rate[x], strict=True)]
                stored[f"sum_{x}"] = list(total)
                if s == 0:
                    stored[f"{x}0"] = list(before)
        self._store(lanes, graph, stored)
        return function(f"{self.variant.integrator}_{s}", lanes)


_STEP = ", i64 %step, ptr %reference"
"""Further arguments of kernels that depend on the step."""
