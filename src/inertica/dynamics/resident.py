"""Arrays that stay in GPU memory, and are copied to the processor's memory when NumPy code reads them.

A simulation on a GPU leaves its signals there.  What can be computed on the GPU (`MemorySpace`) takes them as they are; NumPy, and
everything else, sees an array.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.dynamics.kernels import DeviceMemory as DeviceMemory

T = TypeVar("T")


class Resident(NDArrayOperatorsMixin):
    """A read-only array in the memory of a device.

    Args:
        memory: of the device.
        array: the device's own array object.
    """

    def __init__(self, memory: DeviceMemory, array: Any) -> None:
        self.memory, self.array = memory, array

    @classmethod
    def signal(cls, memory: DeviceMemory, array: Any) -> Array:
        """The same, typed as a NumPy array, which it can be used as."""
        return cast(Array, cls(memory, array))

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self.array.dtype)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    @property
    def T(self) -> Resident:
        return Resident(self.memory, self.array.T)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Resident:
        keys = key if isinstance(key, tuple) else (key,)
        device_keys = tuple(self.memory.arrays.asarray(k) if isinstance(k, np.ndarray) else k for k in keys)
        return Resident(self.memory, self.array[device_keys])

    def copy(self) -> Resident:
        """Itself, since it is read-only."""
        return self

    def setflags(self, write: bool = False) -> None:
        """Does nothing: it is read-only already."""

    @cached_property
    def _host_copy(self) -> Array:
        copy = self.memory.host(self.array)
        copy.setflags(write=False)
        return copy

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self._host_copy, dtype) if copy or dtype not in (None, self._host_copy.dtype) else self._host_copy

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return getattr(ufunc, method)(*(np.asarray(x) if isinstance(x, Resident) else x for x in inputs), **options)

    def __getattr__(self, name: str) -> Any:
        # dunder attributes are looked for by copy, pickle and NumPy itself, and must not cause a copy from the device
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._host_copy, name)


@dataclass(frozen=True)
class MemorySpace:
    """The memory that arrays are in, a device's or the processor's, and the module that computes there."""

    memory: DeviceMemory | None = None

    @classmethod
    def of(cls, *arrays: Any) -> MemorySpace:
        """That of the first array which is in a device's memory; otherwise the processor's."""
        return cls(next((x.memory for x in arrays if isinstance(x, Resident)), None))

    @property
    def xp(self) -> Any:
        """The array module of this memory, NumPy or its counterpart."""
        return np if self.memory is None else self.memory.arrays

    def to_device(self, array: Any) -> Any:
        """An array of `xp` with these values."""
        return array.array if isinstance(array, Resident) and array.memory is self.memory else self.xp.asarray(array)

    def resident(self, array: Any) -> Any:
        """An array of `xp` wrapped so that NumPy code can read it."""
        return array if self.memory is None else Resident(self.memory, array)

    def in_library_thread(self, work: Callable[[], T]) -> T:
        """What `work` returns, whose matrix products are of arrays in this memory (`DeviceMemory.in_library_thread`)."""
        return work() if self.memory is None else self.memory.in_library_thread(work)

    def to_host(self, array: Any) -> NDArray[Any]:
        """An array of `xp` copied to the processor's memory."""
        return np.asarray(array) if self.memory is None else self.memory.host(array)
