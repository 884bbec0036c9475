"""The target for graphics cards."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from inertica.dynamics.cuda.card import Card
from inertica.dynamics.cuda.device import Device
from inertica.dynamics.cuda.samples import CudaFactors, CudaSamples
from inertica.dynamics.cuda.scan import CudaScan
from inertica.dynamics.cuda.simulation import WAVE, CudaLoop
from inertica.dynamics.kernels import Kernel, Loop
from inertica.errors import InputError


@dataclass(frozen=True)
class Cuda:
    """Kernels on a graphics card.

    Args:
        precision: `double`; or `mixed`: forward dynamics of simulations in single precision, state and control in double.
        device: the card.
    """

    precision: Literal["double", "mixed"] = "double"
    device: Device = field(default_factory=lambda: Card())

    @property
    def memory(self) -> Device:
        """Where its arrays lie, for what can follow a kernel there."""
        return self.device

    @property
    def parallel_runs(self) -> int:
        return WAVE

    def samples(self, kernel: Kernel) -> CudaSamples:
        return CudaSamples(kernel, self.device)

    def factors(self, kernel: Kernel) -> CudaFactors:
        return CudaFactors(kernel, self.device)

    def loop(self, loop: Loop) -> CudaLoop:
        if loop.variable is not None:
            raise InputError(
                "variable steps are simulated by the processor only; state device cpu or auto, or another integrator"
            )
        return CudaLoop(loop, self.device, self.precision == "mixed")

    def scan(self, kernel: Kernel, columns: int) -> CudaScan:
        return CudaScan(kernel, self.device)
