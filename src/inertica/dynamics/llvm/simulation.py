"""A closed loop in lanes: a block of runs stays in the first-level cache from the first step to the last."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from inertica.dynamics.kernels import Array, Loop, Normals, Runs
from inertica.dynamics.llvm.parallel import for_all
from inertica.dynamics.llvm.rows import LANES, RowLayout, aligned
from inertica.dynamics.llvm.write import compiled


class NativeLoop:
    """Compiled loop, for one run and for many at once on first use.

    Args:
        loop: its kernels.
        threads: blocks of runs worked on at the same time.
    """

    def __init__(self, loop: Loop, threads: int) -> None:
        self.loop, self.threads = loop, threads
        self._blocks: dict[int, RunBlock] = {}

    def __call__(self, runs: Runs) -> dict[str, Array]:
        B, recorded = len(runs.numbers), self.loop.recorded
        widths = self._widths(B)
        firsts = np.cumsum([0, *widths])
        for lanes in set(widths) - self._blocks.keys():
            self._blocks[lanes] = RunBlock(self.loop, lanes)
        some = self._blocks[widths[0]]
        out = np.empty((len(recorded), firsts[-1], len(runs.steps), some.recorded // len(recorded)))

        def block(number: int) -> None:
            first, last = firsts[number : number + 2]
            chosen = np.minimum(np.arange(first, last), B - 1)  # a short last block repeats the last run
            self._blocks[widths[number]](runs, chosen, out[:, first:last])

        for_all(range(len(widths)), block, self.threads)
        return {name: signal[:B] for name, signal in zip(recorded, out, strict=True)}

    def _widths(self, runs: int) -> list[int]:
        """Of the blocks, a last one of half the width where that is enough: many a processor takes half the time for it."""
        if runs == 1 or self.loop.variable is not None:  # with steps of its own, every run is alone
            return [1] * runs
        whole, rest = divmod(runs, LANES)
        return [LANES] * whole + ([LANES // 2 if rest <= LANES // 2 else LANES] if rest else [])


class RunBlock:
    """Code for a block of runs side by side."""

    def __init__(self, loop: Loop, lanes: int) -> None:
        self.noisy = any(isinstance(kind, Normals) for kernel in loop.kernels() for kind in kernel.inputs.values())
        self.lanes, self.rows = lanes, RowLayout(lanes, loop.fields | ({"run": 1, "seed": 1} if self.noisy else {}))
        self.recorded = self.rows.place[loop.recorded[-1]].stop
        code = self._code = compiled(loop.kernels(), lanes, self.rows.offset)  # must live as long as the addresses
        parts = (loop.start, loop.begin, loop.forward, loop.finish, loop.output)
        self.kernels = tuple(0 if kernel is None else code.address(kernel.name) for kernel in parts)
        self.stages = np.array([code.address(kernel.name) for kernel in loop.stages], np.int64)
        self.variable = loop.variable

    def __call__(self, runs: Runs, chosen: NDArray[np.int64], out: Array) -> None:
        from inertica.dynamics.llvm import loops  # imports Numba

        work = aligned(self.rows.count * self.lanes)
        for name, values in runs.fields.items():
            if name in self.rows.place:
                self.rows.of(work, name)[:] = values[chosen].T
        if self.noisy:
            self.rows.of(work, "run").view(np.uint64)[:] = runs.numbers[chosen]
            self.rows.of(work, "seed").view(np.uint64)[:] = runs.seed
        if self.variable is None:
            loops.time_loop(self.kernels, self.stages, work, self.lanes, runs.table, runs.steps, out)
            return
        period, v = float(self.rows.of(work, "dt")[0, 0]), self.variable
        how = (period, v.last, 1.0 / v.order, v.relative, v.absolute, v.finest * period)
        state, saved, step = self._places()
        loops.variable_loop(self.kernels, self.stages, work, runs.table, runs.steps, out, state, saved, step, how)

    def _places(self) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        """Where the time loop of variable steps finds what it compares and brings back; one lane, so rows are numbers."""
        place = {name: np.arange(where.start, where.stop) for name, where in self.rows.place.items()}
        state = [np.stack([place[x], place[rate], place[f"error_{x}"]], axis=1) for x, rate in (("q", "dq"), ("dq", "ddq"))]
        back = [(x, f"{x}0") for x in ("q", "dq", "ddq")]
        back += [(f"{x} rate", f"{back_to} rate") for x, back_to in back if f"{back_to} rate" in place]
        saved = [np.stack([place[x], place[back_to]], axis=1) for x, back_to in back]
        return np.concatenate(state), np.concatenate(saved), int(place["step"][0])
