"""Kernels as text: where each input comes from and each output goes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable

from inertica.dynamics.kernels import Kernel, Normals, Reference
from inertica.dynamics.llvm import native
from inertica.dynamics.llvm.lanes import Lanes, function
from inertica.dynamics.llvm.normals import write_normals
from inertica.dynamics.llvm.rows import LANES
from inertica.dynamics.plan import evaluate
from inertica.dynamics.trace import Key


def write(kernel: Kernel, count: int, offset: Callable[[Key], int]) -> str:
    """The function `void NAME(double *work, int64 count, int64 step, double *reference)`.

    Args:
        kernel: what to compute.
        count: lanes per vector.
        offset: where an input or output lies in the work array; normal numbers read the fields `run` and `seed`.
    """
    lanes = Lanes(count)
    shared_values = shared(lanes, kernel)
    for name, kind in kernel.inputs.items():
        if isinstance(kind, Normals):
            run, seed = (lanes.bits(lanes.load(offset((field, 0)))) for field in ("run", "seed"))
            normals = write_normals(lanes, kind.size, run, seed, kind.first_call)
            shared_values |= {(name, i): value for i, value in enumerate(normals)}
    places = kernel.places
    values = evaluate(lanes, kernel.graph, list(places.values()), lambda key: shared_values.get(key) or lanes.load(offset(key)))
    for key, value in zip(places, values, strict=True):
        lanes.store(value, offset(key))
    return function(kernel.name, lanes)


def shared(lanes: Lanes, kernel: Kernel) -> dict[Key, str]:
    """The references of a kernel, read from the argument %reference."""
    return {
        (name, i): lanes.load_shared(kind.column + i, "%reference")
        for name, kind in kernel.inputs.items()
        if isinstance(kind, Reference)
        for i in range(kind.size)
    }


def compiled(kernels: Iterable[Kernel], count: int, offset: Callable[[Key], int]) -> native.NativeCode:
    """Machine code of kernels that work on one array."""
    return native.compiled(Lanes(count).declarations() + "".join(write(k, count, offset) for k in kernels))


def on_lanes(kernel: Kernel, offset: Callable[[Key], int]) -> Callable[[int, int], None]:
    """The kernel as a function of a work array's address and the number of lanes to fill in it."""
    return callable_on_lanes(compiled([kernel], LANES, offset), kernel.name)


def callable_on_lanes(code: native.NativeCode, name: str) -> Callable[[int, int], None]:
    """The same of a kernel that is compiled."""
    whole, address = ctypes.c_int64, ctypes.c_void_p
    call = code.function(name, address, whole, whole, address)
    return lambda work, count: call(work, count, 0, None)
