"""The target for processors."""

from __future__ import annotations

from dataclasses import dataclass

from inertica.dynamics.kernels import Kernel, Loop
from inertica.dynamics.llvm.factors import Panels
from inertica.dynamics.llvm.rows import LANES
from inertica.dynamics.llvm.samples import Samples
from inertica.dynamics.llvm.scan import Scan
from inertica.dynamics.llvm.simulation import Simulation


@dataclass(frozen=True)
class Native:
    """Kernels as vectors of eight lanes on this machine's processor.

    Args:
        threads: blocks of samples or runs worked on at the same time.
    """

    threads: int = 1

    @property
    def abreast(self) -> int:
        return LANES * self.threads

    def samples(self, kernel: Kernel) -> Samples:
        return Samples(kernel, self.threads)

    def factors(self, kernel: Kernel) -> Panels:
        return Panels(kernel)

    def loop(self, loop: Loop) -> Simulation:
        return Simulation(loop, self.threads)

    def scan(self, kernel: Kernel, columns: int) -> Scan:
        return Scan(kernel, columns)
