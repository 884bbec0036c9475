"""Machine code from LLVM text, kept on disk.

Code is compiled for this machine's processor through llvmlite, the compiler layer of Numba, and kept as object files in the user's
cache folder (`INERTICA_CACHE` or the platform's), named by a hash of the text, the processor and the compiler's version.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from inertica.errors import FileError
from inertica.writing import note_damage, write_whole


class NativeCode:
    """Compiled functions.  `address(name)` for use in compiled loops, `function(name, ...)` for a call from Python."""

    def __init__(self, machine_code: bytes) -> None:
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _new_target_machine())  # the engine owns its machine
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(machine_code))
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        address = self._engine.get_function_address(name)
        assert address, f"compiled code has no function {name}"
        return int(address)

    def function(self, name: str, *argument_types: Any) -> Callable[..., None]:
        """A callable that releases the interpreter lock while it runs."""
        call = ctypes.CFUNCTYPE(None, *argument_types)(self.address(name))
        call.owner = self  # type: ignore[attr-defined]  # the code must live as long as the callable
        return call


def compiled(text: str) -> NativeCode:
    """Machine code of an LLVM text, from disk if it was made before."""
    name = hashlib.sha256(f"{text}|{_machine()}".encode()).hexdigest()[:32]
    path = cache_folder() / f"{name}.o"
    cached = _read_checked(path)
    if cached is not None:
        return NativeCode(cached)
    code = _target_machine().emit_object(_parsed(text))
    _keep(path, hashlib.sha256(code).digest() + code)
    return NativeCode(code)


def assembly(text: str) -> str:
    """The assembly that a text compiles to on this machine."""
    return str(_target_machine().emit_assembly(_parsed(text)))


def has_fma() -> bool:
    return bool(features().get("fma")) or "aarch64" in llvm.get_default_triple() or "arm64" in llvm.get_default_triple()


def processor() -> str:
    """The compiler's name for this machine's processor."""
    return str(llvm.get_host_cpu_name())


def cache_folder() -> Path:
    """Where compiled code is kept."""
    if chosen := os.environ.get("INERTICA_CACHE"):
        return Path(chosen)
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home()))
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "inertica"


@cache
def _target_machine() -> llvm.TargetMachine:
    return _new_target_machine()


def _new_target_machine() -> llvm.TargetMachine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    chosen = ",".join(f"{'+' if on else '-'}{name}" for name, on in sorted(features().items()))
    cpu = llvm.get_host_cpu_name()
    return target.create_target_machine(cpu=cpu, features=chosen, opt=3, codemodel="jitdefault", jit=True)


@cache
def features() -> dict[str, bool]:
    """Instruction sets of this machine's processor."""
    return dict(llvm.get_host_cpu_features())


@cache
def _machine() -> str:
    """What compiled code depends on besides its text: compiler and processor."""
    return f"llvmlite {llvmlite.__version__} {llvm.get_default_triple()} {llvm.get_host_cpu_name()} {sorted(features().items())}"


def _parsed(text: str) -> llvm.ModuleRef:
    _target_machine()
    module = llvm.parse_assembly(text)
    module.triple = llvm.get_default_triple()
    module.verify()
    return module


def _read_checked(path: Path) -> bytes | None:
    """The code in a cache file; None when there is none or it was damaged."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    digest, code = data[:32], data[32:]
    if hashlib.sha256(code).digest() == digest:
        return code
    note_damage(path.parent)
    return None


def _keep(path: Path, data: bytes) -> None:
    """Other processes may want the same file at the same time; a full disk or a read-only home only costs the next start."""
    with suppress(OSError, FileError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data)
