"""The text of the CUDA target run by a C++ compiler: one thread after the other, NumPy arrays in the place of the card's."""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from inertica.dynamics.cuda.scan import CudaScan
from inertica.dynamics.kernels import Kernel

T = TypeVar("T")

COMPILER = shutil.which("g++")

PRELUDE = r"""
#include <cmath>
#include <cstdint>
#include <cstring>
using std::fma; using std::fabs; using std::sqrt; using std::exp; using std::log; using std::tanh;
#define __global__
#define __device__
#define __constant__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define SHARED_MEMORY(name) alignas(16) static double name[OWN * BLOCK + TABLES + STAGED * COLUMNS + 1]
struct Place { unsigned x; };
static Place threadIdx, blockIdx;
extern "C" void at(unsigned block, unsigned thread) { blockIdx.x = block; threadIdx.x = thread; }
static inline int __double2hiint(double x) { uint64_t b; memcpy(&b, &x, 8); return (int)(b >> 32); }
static inline int __double2loint(double x) { uint64_t b; memcpy(&b, &x, 8); return (int)(b & 0xffffffffu); }
static inline double __hiloint2double(int h, int l) {
  const uint64_t b = ((uint64_t)(uint32_t)h << 32) | (uint32_t)l; double x; memcpy(&x, &b, 8); return x; }
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((uint64_t)a * b) >> 32); }
"""


@dataclass
class HostModule:
    library: ctypes.CDLL

    def constant(self, name: str, values: np.ndarray) -> None:
        (ctypes.c_double * len(values)).in_dll(self.library, name)[:] = values.tolist()

    def launch(self, name: str, threads: int, block: int, shared: int, arguments: tuple[Any, ...]) -> None:
        function = getattr(self.library, name)
        kinds = {"int64": ctypes.c_int64, "uint64": ctypes.c_uint64, "int32": ctypes.c_int32}
        given = [ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else kinds[a.dtype.name](int(a)) for a in arguments]
        for thread in range(-(-threads // block) * block):
            self.library.at(thread // block, thread % block)
            function(*given)


@dataclass(eq=False)
class Host:
    """A device whose memory can be made small."""

    free: int = 1 << 32
    shared: int = 228 * 1024
    name: str = "g++"
    full: type[Exception] = MemoryError
    arrays: Any = np
    texts: list[str] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)
    thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="inertica-host-cuda-")))

    def compile(self, text: str) -> HostModule:
        assert COMPILER is not None
        self.texts.append(text)
        name = hashlib.sha256(text.encode()).hexdigest()[:16]
        source, library = self.folder / f"{name}.cpp", self.folder / f"{name}.so"
        source.write_text(PRELUDE + text)
        flags = ["-std=c++17", "-O1", "-march=native", "-ffp-contract=off", "-fPIC", "-shared", "-w"]
        subprocess.run([COMPILER, *flags, "-o", str(library), str(source)], check=True, capture_output=True)
        return HostModule(ctypes.CDLL(str(library)))

    def host(self, array: np.ndarray) -> np.ndarray:
        return np.array(array)

    def in_library_thread(self, work: Callable[[], T]) -> T:
        def counted() -> T:
            self.turns.append(threading.get_ident())
            return work()

        return self.thread.submit(counted).result()

    def scan(self, kernel: Kernel) -> CudaScan:
        return CudaScan(kernel, self)
