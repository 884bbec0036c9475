"""A closed loop on the card: a thread takes a run from the first step to the last."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np

from inertica.dynamics.cuda.device import Device, Module
from inertica.dynamics.cuda.write import DOUBLE, FLOAT, body, c_struct, resource, word
from inertica.dynamics.kernels import Array, Kernel, Loop, Normals, Reference, Runs
from inertica.dynamics.noise import round_keys
from inertica.dynamics.resident import Resident
from inertica.dynamics.trace import Key
from inertica.errors import InputError

BLOCK = 128
"""Runs of a block; with half as many the shared memory of long parameter vectors suffices."""

WAVE = 132 * 256
"""Runs that a large card works on at the same time; larger batches are cut into multiples of it."""

TABLES = 2 * (512 + 256)
"""Numbers of the noise's tables in shared memory, as `shell.cu` has them."""

STAGED = 32
"""Rows of the reference that a block of runs holds in shared memory: from further away, every step would wait for its own."""

USED = 0.8
"""Share of the free memory that one launch may fill."""

_NO_ROOM = "the card's memory does not hold a single run of this length; record fewer steps, or use the processor"


@dataclass(frozen=True)
class _Layout:
    """Where the fields of a run lie; those not listed change, and are members of its state.

    Args:
        per_run: name -> first place, those that every run has for itself.
        common: name -> first place, those that are the same for all runs.
        block: runs of a block.
    """

    per_run: Mapping[str, int]
    common: Mapping[str, int]
    block: int

    def read(self, key: Key) -> str:
        name, number = key
        if name in self.per_run:
            return f"fixed[{self.per_run[name] + number} * {self.block}]"
        return f"common[{self.common[name] + number}]" if name in self.common else self.wrote(key)

    def wrote(self, key: Key) -> str:
        return f"s.{word(key[0])}[{key[1]}]"


class CudaLoop:
    """Compiled loop, one text for every way in which runs share their parameters.

    Args:
        loop: its kernels.
        device: where it runs.
        mixed: forward dynamics in single precision, everything else in double.
    """

    def __init__(self, loop: Loop, device: Device, mixed: bool) -> None:
        self.loop, self.device, self.mixed = loop, device, mixed
        written = {name for kernel in loop.kernels() for name in kernel.outputs}
        self.state = {name: size for name, size in loop.fields.items() if name in written or name in ("q", "dq")}
        self.fixed = {name: size for name, size in loop.fields.items() if size and name not in self.state}
        self.noisy = any(isinstance(kind, Normals) for kernel in loop.kernels() for kind in kernel.inputs.values())
        self._modules: dict[tuple[str, ...], tuple[_Layout, Module]] = {}
        self._turn = Lock()

    def __call__(self, runs: Runs) -> dict[str, Array]:
        with self._turn:  # what runs have in common has one place
            return self._computed(runs)

    def _computed(self, runs: Runs) -> dict[str, Array]:
        B, K = len(runs.numbers), len(runs.steps)
        layout, module = self.ready(runs)
        xp = self.device.arrays
        table, steps = xp.asarray(runs.table), xp.asarray(runs.steps)
        first, share = 0, self._share(B, K, layout)
        if runs.on_device and share == B:
            return self._staying(self._launched(layout, module, runs, slice(0, B), (table, steps)))
        out = {name: np.empty((B, K, self.state[name])) for name in self.loop.recorded}
        while first < B:
            part = slice(first, min(first + share, B))
            try:
                self._compute(layout, module, runs, part, (table, steps), out)
            except self.device.full as error:
                if share == 1:
                    raise InputError(_NO_ROOM) from error
                share = -(-share // 2)  # others use the card, too
            else:
                first = part.stop
        return out

    def _compute(
        self, layout: _Layout, module: Module, runs: Runs, part: slice, motion: tuple[Any, Any], out: Mapping[str, Array]
    ) -> None:
        """Some of the runs, into their places of the outcome."""
        signals = self._launched(layout, module, runs, part, motion)
        for name, where in self._signals().items():
            out[name][part] = self.device.host(self.device.arrays.ascontiguousarray(signals[:, where].transpose(2, 0, 1)))

    def _launched(self, layout: _Layout, module: Module, runs: Runs, part: slice, motion: tuple[Any, Any]) -> Any:
        """(K, recorded numbers, runs) on the device."""
        arguments = self.arguments(layout, runs, part, *motion)
        self.launch(layout, module, arguments)
        return arguments[-1]

    def _staying(self, signals: Any) -> dict[str, Array]:
        """The same, run by run and in each the numbers one after the other, on the device."""
        by_run = self.device.arrays.ascontiguousarray(signals.transpose(2, 1, 0))
        where = self._signals()
        return {name: Resident.signal(self.device, by_run[:, rows].transpose(0, 2, 1)) for name, rows in where.items()}

    def _signals(self) -> dict[str, slice]:
        """Where recorded signals lie among the numbers of a step."""
        places = _places({name: self.state[name] for name in self.loop.recorded})
        return {name: slice(first, first + self.state[name]) for name, first in places.items()}

    def ready(self, runs: Runs) -> tuple[_Layout, Module]:
        """Code for such runs, with what they have in common in its place."""
        layout, module = self._module(runs)
        common = np.zeros(max(1, sum(self.fixed[name] for name in layout.common)))
        for name, first in layout.common.items():
            if name in runs.fields:
                common[first : first + self.fixed[name]] = runs.fields[name][0]
        module.constant("common", common)
        if self.noisy:
            module.constant("KEYS", 2.0**52 + np.ravel(round_keys(runs.seed)).astype(np.float64))
        return layout, module

    def arguments(self, layout: _Layout, runs: Runs, part: slice, table: Any, steps: Any) -> tuple[Any, ...]:
        """Of a launch for some of the runs; the last one is its outcome, (K, recorded numbers, runs)."""
        xp, count = self.device.arrays, part.stop - part.start

        def columns(names: Mapping[str, int]) -> Any:
            rows = [runs.fields[name][part].T if name in runs.fields else np.zeros((size, count)) for name, size in names.items()]
            return xp.asarray(np.ascontiguousarray(np.vstack(rows) if rows else np.zeros((1, 1))))

        per_run, initial = columns({name: self.fixed[name] for name in layout.per_run}), columns(self.state)
        out = xp.empty((len(runs.steps), sum(self.state[name] for name in self.loop.recorded), count))
        sizes, recorded = (np.int64(count), np.int64(len(runs.table))), np.int64(len(runs.steps))
        return (*sizes, per_run, initial, xp.asarray(runs.numbers[part]), table, recorded, steps, out)

    def launch(self, layout: _Layout, module: Module, arguments: tuple[Any, ...]) -> None:
        module.launch("simulate", int(arguments[0]), layout.block, self._shared(layout.per_run, layout.block), arguments)

    @property
    def _tables(self) -> int:
        """Numbers of the noise's tables."""
        return TABLES if self.noisy else 0

    def _shared(self, per_run: Iterable[str], block: int) -> int:
        """Bytes of shared memory of a block."""
        staged = STAGED * _columns(self.loop) + self._tables
        return 8 * (block * sum(self.fixed[name] for name in per_run) + staged)

    def _share(self, B: int, K: int, layout: _Layout) -> int:
        """Runs of one launch: all, or as many as the memory holds."""
        recorded = sum(self.state[name] for name in self.loop.recorded)
        each = 8 * (2 * K * recorded + sum(self.state.values()) + sum(self.fixed.values()) + 1)
        fits = int(USED * self.device.free) // each
        if fits < 1:
            raise InputError(
                "the card's memory does not hold a single run of this length; record fewer steps, or compute on the device cpu"
            )
        return B if fits >= B else max(1, fits // WAVE) * WAVE if fits >= WAVE else fits

    def _module(self, runs: Runs) -> tuple[_Layout, Module]:
        """Code for runs that share the fields these runs share."""

        def differ(name: str) -> bool:
            values = runs.fields.get(name)
            return values is not None and len(values) > 1 and values.strides[0] != 0

        per_run = tuple(name for name in self.fixed if differ(name))
        if per_run not in self._modules:
            block = next((b for b in (BLOCK, 64, 32) if 2 * self._shared(per_run, b) <= self.device.shared), 0)
            if not block:
                size = sum(self.fixed[name] for name in per_run)
                raise InputError(f"{size} values of every run's own do not fit the card's shared memory")
            places = _places({name: self.fixed[name] for name in per_run})
            layout = _Layout(places, _places({k: v for k, v in self.fixed.items() if k not in per_run}), block)
            self._modules[per_run] = layout, self.device.compile(self._text(layout))
        return self._modules[per_run]

    def _text(self, layout: _Layout) -> str:
        loop, parts = self.loop, [resource("shell.cu"), c_struct("State", self.state)]
        common = sum(self.fixed[name] for name in layout.common)
        per_run = sum(self.fixed[name] for name in layout.per_run)
        sizes = {"BLOCK": layout.block, "OWN": per_run, "COLUMNS": _columns(loop), "STAGES": len(loop.stages)}
        sizes |= {"NOISY": self._tables, "STAGED": STAGED}
        parts += [f"__constant__ double common[{max(1, common)}];", *(f"#define {name} {size}" for name, size in sizes.items())]
        named = {"START": loop.start, "BEGIN": loop.begin, "FORWARD": loop.forward, "OUTPUT": loop.output, "FINISH": loop.finish}
        for name, kernel in named.items():
            parts.append(_function(name, kernel, layout, FLOAT if self.mixed and name == "FORWARD" else DOUBLE))
        parts += [_function(f"STAGE_{i}", stage, layout) for i, stage in enumerate(loop.stages)]
        choice = " else ".join(f"if (stage == {i}) STAGE_{i}(s, fixed, row, step, stream);" for i in range(len(loop.stages)))
        parts.append(_wrapped("STAGE", f"  {choice}", "int stage, "))
        loads, place = [], 0
        for name, size in self.state.items():
            loads += [f"  s.{word(name)}[{i}] = initial[{place + i} * runs];" for i in range(size)]
            place += size
        parts.append(_plain("INLINE void load_state(State &s, const double *initial, long long runs)", loads))
        stores = [f"  STORE(at, s.{word(name)}[{i}]); at += runs;" for name in loop.recorded for i in range(self.state[name])]
        parts.append(_plain("INLINE double *record(const State &s, double *at, long long runs)", [*stores, "  return at;"]))
        return "\n".join([*parts, resource("simulate.cu")])


def _places(sizes: Mapping[str, int]) -> dict[str, int]:
    """Name -> first place when they lie one after the other."""
    ends = np.cumsum([0, *sizes.values()])
    return {name: int(first) for name, first in zip(sizes, ends, strict=False)}


def _columns(loop: Loop) -> int:
    """Width of the reference table."""
    ends = [kind.column + kind.size for k in loop.kernels() for kind in k.inputs.values() if isinstance(kind, Reference)]
    return max(ends, default=0)


def _function(name: str, kernel: Kernel | None, layout: _Layout, real: str = DOUBLE) -> str:
    return _wrapped(name, "" if kernel is None else body(kernel, layout.read, layout.wrote, real))


def _wrapped(name: str, text: str, before: str = "") -> str:
    head = f"INLINE void {name}({before}State &s, const double *fixed, const double *__restrict__ row, u32 step, const Stream &stream)"
    return f"{head} {{\n{text}\n}}\n"


def _plain(head: str, lines: list[str]) -> str:
    return head + " {\n" + "\n".join(lines) + "\n}\n"
