"""Which target computes: the processor, the GPU, or whichever is faster for a batch of simulations."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from inertica.dynamics.kernels import (
    Array,
    FactorFunction,
    Kernel,
    Loop,
    LoopFunction,
    Runs,
    SampleFunction,
    ScanFunction,
    Target,
)
from inertica.errors import InerticaError, InputError, ModelWarning, nearest

Device = Literal["cpu", "cuda", "auto"]

BREAK_EVEN = 25
"""Simulations per processor thread from which on a large GPU is faster: it takes one as long as sixteen thousand."""


def target_for(device: str, threads: int) -> Target:
    """The target of a device by its name.

    Args:
        device: `cpu`, `cuda`, or `auto`: the GPU for batches of simulations that it computes faster, where there is one.
        threads: of the processor.
    """
    if device not in get_args(Device):
        raise InputError(f"unknown device '{device}'; {nearest(device, get_args(Device))}")
    if device == "cuda":
        from inertica.dynamics.cuda.target import Cuda

        return Cuda()
    from inertica.dynamics.llvm.target import Native  # imports a compiler, which machines for GPU work alone may lack

    native = Native(threads)
    return native if device == "cpu" else Either(native, BREAK_EVEN * threads)


def runs_on_gpu(target: Target) -> bool:
    """Whether functions of samples run on the GPU."""
    from inertica.dynamics.cuda.target import Cuda

    return isinstance(target, Cuda)


@dataclass(frozen=True)
class Either:
    """The processor, and the GPU for large batches of simulations.

    Args:
        native: the processor's target.
        from_runs: smallest batch for the GPU.
    """

    native: Target
    from_runs: int

    @cached_property
    def gpu(self) -> Target | None:
        """The GPU's target; None where no GPU can be used, with a warning that says why."""
        from inertica.dynamics.cuda.target import Cuda

        try:
            return Cuda()
        except InerticaError as error:
            warnings.warn(ModelWarning(f"{error}; the processor computes instead"), stacklevel=2)
            return None

    @property
    def memory(self) -> None:
        """Arrays are in the processor's memory."""
        return None

    @property
    def parallel_runs(self) -> int:
        return self.native.parallel_runs

    def samples(self, kernel: Kernel) -> SampleFunction:
        return self.native.samples(kernel)

    def factors(self, kernel: Kernel) -> FactorFunction:
        return self.native.factors(kernel)

    def scan(self, kernel: Kernel, columns: int) -> ScanFunction:
        return self.native.scan(kernel, columns)

    def loop(self, loop: Loop) -> LoopFunction:
        return _EitherLoop(self, loop)


class _EitherLoop:
    def __init__(self, both: Either, loop: Loop) -> None:
        self.both, self.loop = both, loop

    @cached_property
    def _native(self) -> LoopFunction:
        return self.both.native.loop(self.loop)

    @cached_property
    def _card(self) -> LoopFunction | None:
        return None if self.both.gpu is None else self.both.gpu.loop(self.loop)

    def __call__(self, runs: Runs) -> dict[str, Array]:
        # small batches leave a GPU idle; variable steps differ from run to run, for which it has no kernel
        few = len(runs.numbers) < self.both.from_runs
        if few or self.loop.variable is not None or self._card is None:
            return self._native(runs)
        try:
            return self._card(runs)
        except InerticaError as error:  # its memory
            warnings.warn(ModelWarning(f"{error}; the processor computes instead"), stacklevel=2)
            return self._native(runs)
