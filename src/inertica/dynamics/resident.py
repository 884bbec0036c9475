"""Arrays that stay where they were computed, and are copied to the processor's memory only when somebody there looks at them.

A simulation on a graphics card leaves its signals there.  What can follow on the card (`Place`) takes them as they are; NumPy, and
everything else, sees an array.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

if TYPE_CHECKING:
    from inertica.dynamics.kernels import Kernel, ScanFunction

Array = NDArray[np.float64]
T = TypeVar("T")


class Memory(Protocol):
    """Where arrays lie."""

    @property
    def arrays(self) -> Any:
        """The module of array functions, as NumPy has them."""

    def host(self, array: Any) -> Array:
        """A copy in the processor's memory."""

    def in_turn(self, work: Callable[[], T]) -> T:
        """What `work` returns, called in the one thread that uses the device's libraries of linear algebra.

        CuPy's keep a handle with its memory for every thread that does, and fits side by side have a thread each.
        """

    def scan(self, kernel: Kernel) -> ScanFunction:
        """A recursion on arrays that lie there."""


class Resident(NDArrayOperatorsMixin):
    """An array that is not to be written to.

    Args:
        memory: where it lies.
        array: there.
    """

    def __init__(self, memory: Memory, array: Any) -> None:
        self.memory, self.array = memory, array

    @classmethod
    def signal(cls, memory: Memory, array: Any) -> Array:
        """To those who take it for an array."""
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
        there = tuple(self.memory.arrays.asarray(k) if isinstance(k, np.ndarray) else k for k in keys)
        return Resident(self.memory, self.array[there])

    def copy(self) -> Resident:
        """Itself, since nobody writes to it."""
        return self

    def setflags(self, write: bool = False) -> None:
        """As it is."""

    @cached_property
    def _seen(self) -> Array:
        found = self.memory.host(self.array)
        found.setflags(write=False)
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self._seen, dtype) if copy or dtype not in (None, self._seen.dtype) else self._seen

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return getattr(ufunc, method)(*(np.asarray(x) if isinstance(x, Resident) else x for x in inputs), **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._seen, name)


@dataclass(frozen=True)
class Place:
    """Where arrays lie: on a device, or in the processor's memory."""

    memory: Memory | None = None

    @classmethod
    def of(cls, *arrays: Any) -> Place:
        """That of the first array which is resident somewhere."""
        return cls(next((x.memory for x in arrays if isinstance(x, Resident)), None))

    @property
    def xp(self) -> Any:
        """The module that computes there."""
        return np if self.memory is None else self.memory.arrays

    def take(self, array: Any) -> Any:
        """An array there, for `xp`."""
        return array.array if isinstance(array, Resident) and array.memory is self.memory else self.xp.asarray(array)

    def keep(self, array: Any) -> Any:
        """An array of `xp` as one that others can look at."""
        return array if self.memory is None else Resident(self.memory, array)

    def in_turn(self, work: Callable[[], T]) -> T:
        """What `work` returns, whose matrix products are of arrays that lie there (`Memory.in_turn`)."""
        return work() if self.memory is None else self.memory.in_turn(work)

    def back(self, array: Any) -> NDArray[Any]:
        """An array of `xp` in the processor's memory."""
        return np.asarray(array) if self.memory is None else self.memory.host(array)
