"""The target for processors."""

from __future__ import annotations

from dataclasses import dataclass

from inertica.dynamics.kernels import Kernel, Loop
from inertica.dynamics.llvm.factors import NativeFactors
from inertica.dynamics.llvm.rows import LANES
from inertica.dynamics.llvm.samples import NativeSamples
from inertica.dynamics.llvm.scan import NativeScan
from inertica.dynamics.llvm.simulation import NativeLoop


@dataclass(frozen=True)
class Native:
    """Kernels as vectors of eight lanes on this machine's processor.

    Args:
        threads: blocks of samples or runs worked on at the same time.
    """

    threads: int = 1

    @property
    def memory(self) -> None:
        """Arrays are in the processor's memory."""
        return None

    @property
    def parallel_runs(self) -> int:
        return LANES * self.threads

    def samples(self, kernel: Kernel) -> NativeSamples:
        return NativeSamples(kernel, self.threads)

    def factors(self, kernel: Kernel) -> NativeFactors:
        return NativeFactors(kernel)

    def loop(self, loop: Loop) -> NativeLoop:
        return NativeLoop(loop, self.threads)

    def scan(self, kernel: Kernel, columns: int) -> NativeScan:
        return NativeScan(kernel, columns)
