"""What the target asks of a card: arrays on it, and compiled text that runs on it.

The same text can be run by a C++ compiler where there is no card.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from inertica.arrays import Array
from inertica.dynamics.kernels import Kernel, ScanFunction

T = TypeVar("T")


class Module(Protocol):
    """Compiled text."""

    def constant(self, name: str, values: Array) -> None:
        """Fill an array of the text that is the same for all threads."""

    def launch(self, name: str, threads: int, block: int, shared: int, arguments: tuple[Any, ...]) -> None:
        """Run a function for at least so many threads, in blocks, with so many bytes of shared memory each."""


class Device(Protocol):
    """Where text is compiled and arrays lie."""

    @property
    def arrays(self) -> Any:
        """The module of array functions, as NumPy has them."""

    @property
    def name(self) -> str: ...

    @property
    def free(self) -> int:
        """Bytes that can be allocated."""

    @property
    def shared(self) -> int:
        """Bytes of shared memory of one multiprocessor."""

    @property
    def full(self) -> type[Exception]:
        """What an allocation raises for which there is no memory."""

    def compile(self, text: str) -> Module: ...

    def host(self, array: Any) -> Array:
        """A copy in the processor's memory."""

    def in_library_thread(self, work: Callable[[], T]) -> T:
        """What `work` returns, called in the one thread that uses the device's libraries (`resident.Memory`)."""

    def scan(self, kernel: Kernel) -> ScanFunction:
        """A recursion on arrays that lie there."""
