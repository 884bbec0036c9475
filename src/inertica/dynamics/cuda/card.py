"""The card of this machine, through CuPy."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from inertica.dynamics.cuda.scan import CudaScan
from inertica.dynamics.kernels import Array, Kernel, ScanFunction
from inertica.errors import InputError, MissingDependencyError

T = TypeVar("T")


class _Code:
    def __init__(self, module: Any, cupy: Any) -> None:
        self._module, self._cupy = module, cupy

    def constant(self, name: str, values: Array) -> None:
        place = self._cupy.ndarray(values.shape, np.float64, memptr=self._module.get_global(name))
        place.set(np.ascontiguousarray(values))

    def launch(self, name: str, threads: int, block: int, shared: int, arguments: tuple[Any, ...]) -> None:
        function = self._module.get_function(name)
        if shared > 48 * 1024:  # what a block gets unasked
            function.max_dynamic_shared_size_bytes = shared
        function((-(-threads // block),), (block,), arguments, shared_mem=shared)


class Card:
    """The first CUDA device of this machine."""

    def __init__(self) -> None:
        try:
            import cupy
        except ImportError as error:
            raise MissingDependencyError("cupy", "computing on a graphics card", "cuda") from error
        try:
            count = cupy.cuda.runtime.getDeviceCount()
        except cupy.cuda.runtime.CUDARuntimeError as error:
            raise InputError(f"no graphics card can be used: {error}; use the processor (device cpu)") from error
        if not count:
            raise InputError("this machine has no CUDA graphics card; use the processor (device cpu)")
        self.arrays = cupy

    @cached_property
    def _properties(self) -> dict[str, Any]:
        return dict(self.arrays.cuda.runtime.getDeviceProperties(self.arrays.cuda.Device().id))

    @property
    def name(self) -> str:
        return str(self._properties["name"].decode())

    @property
    def free(self) -> int:
        pool = self.arrays.get_default_memory_pool()
        free = int(self.arrays.cuda.runtime.memGetInfo()[0]) + int(pool.free_bytes())
        limit = int(pool.get_limit())  # 0: none was set
        return min(free, limit - int(pool.used_bytes())) if limit else free

    @property
    def full(self) -> type[Exception]:
        return self.arrays.cuda.memory.OutOfMemoryError

    @property
    def shared(self) -> int:
        return int(self._properties["sharedMemPerMultiprocessor"])

    def compile(self, text: str) -> _Code:
        prelude = "#define SHARED_MEMORY(name) extern __shared__ __align__(16) double name[]\n"
        options = ("--std=c++17", "--fmad=false")  # products and sums are fused where the text says so
        return _Code(self.arrays.RawModule(code=prelude + text, options=options), self.arrays)

    def host(self, array: Any) -> Array:
        return np.asarray(self.arrays.asnumpy(array))

    def in_library_thread(self, work: Callable[[], T]) -> T:
        return self._thread.submit(work).result()

    @cached_property
    def _thread(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(1, thread_name_prefix="card")

    def scan(self, kernel: Kernel) -> ScanFunction:
        return CudaScan(kernel, self)
