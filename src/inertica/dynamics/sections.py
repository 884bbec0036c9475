"""Recursive filters as compiled steps: second-order sections run over eight columns at once.

Each section is the transposed direct form II,

    y = b0 x + z0,   z0' = b1 x - a1 y + z1,   z1' = b2 x - a2 y,

with the eight columns as the lanes of one vector and the states in registers from the first row to the last.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from inertica.dynamics import native

Array = NDArray[np.float64]

COLUMNS = 8
"""Columns that are filtered together."""

_V = f"<{COLUMNS} x double>"


def run_sections(sos: Array, rows: Array, state: Array, backward: bool = False) -> None:
    """Filter rows in place.

    Args:
        sos: (S, 6) sections as b0 b1 b2 1 a1 a2.
        rows: (N, 8) contiguous; every column is a signal.
        state: (S, 2, 8) z0 and z1 of every section before the first row; holds those after the last one on return.
        backward: from the last row to the first.
    """
    N = len(rows)
    assert rows.shape == (N, COLUMNS) and rows.flags.c_contiguous and rows.flags.writeable and state.flags.c_contiguous
    assert state.shape == (len(sos), 2, COLUMNS)
    if N == 0:
        return
    coefficients = np.ascontiguousarray(sos[:, [0, 1, 2, 4, 5]])
    first = rows.ctypes.data + (8 * COLUMNS * (N - 1) if backward else 0)
    _kernel(len(sos))(first, -COLUMNS if backward else COLUMNS, N, state.ctypes.data, coefficients.ctypes.data)


@cache
def _kernel(sections: int) -> Callable[..., None]:
    whole, address = ctypes.c_int64, ctypes.c_void_p
    return native.compiled(_text(sections)).function("sections", address, whole, whole, address, address)


def _text(sections: int) -> str:
    """LLVM text of `void sections(double *row, i64 step, i64 count, double *state, double *coefficients)`."""
    before, body, after, carried = [], [], [], []
    signal = "%x"
    for s in range(sections):
        for c, name in enumerate(("b0", "b1", "b2", "a1", "a2")):
            before += _broadcast(f"{name}_{s}", 5 * s + c)
        for i in range(2):
            at = f"getelementptr double, ptr %state, i64 {COLUMNS * (2 * s + i)}"
            before += [f"%p{s}{i} = {at}", f"%s{s}{i} = load {_V}, ptr %p{s}{i}, align 8"]
            carried.append(f"%z{s}{i} = phi {_V} [ %s{s}{i}, %entry ], [ %n{s}{i}, %loop ]")
            after.append(f"store {_V} %n{s}{i}, ptr %p{s}{i}, align 8")
        body += [
            f"%y{s} = {_multiply_add(f'%b0_{s}', signal, f'%z{s}0')}",
            f"%m{s} = fneg {_V} %y{s}",
            f"%u{s} = {_multiply_add(f'%b1_{s}', signal, f'%z{s}1')}",
            f"%n{s}0 = {_multiply_add(f'%a1_{s}', f'%m{s}', f'%u{s}')}",
            f"%v{s} = fmul {_V} %b2_{s}, {signal}",
            f"%n{s}1 = {_multiply_add(f'%a2_{s}', f'%m{s}', f'%v{s}')}",
        ]
        signal = f"%y{s}"
    lines = [
        f"declare {_V} @llvm.fmuladd.v{COLUMNS}f64({_V}, {_V}, {_V})",
        "define void @sections(ptr %first, i64 %step, i64 %count, ptr %state, ptr %coefficients) nounwind {",
        "entry:", *before, "br label %loop",
        "loop:", "%k = phi i64 [ 0, %entry ], [ %next, %loop ]", "%row = phi ptr [ %first, %entry ], [ %after, %loop ]", *carried,
        f"%x = load {_V}, ptr %row, align 8", *body, f"store {_V} {signal}, ptr %row, align 8",
        "%after = getelementptr double, ptr %row, i64 %step", "%next = add i64 %k, 1", "%more = icmp slt i64 %next, %count",
        "br i1 %more, label %loop, label %done",
        "done:", *after, "ret void", "}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _broadcast(name: str, index: int) -> list[str]:
    return [
        f"%q_{name} = getelementptr double, ptr %coefficients, i64 {index}",
        f"%c_{name} = load double, ptr %q_{name}",
        f"%i_{name} = insertelement {_V} poison, double %c_{name}, i32 0",
        f"%{name} = shufflevector {_V} %i_{name}, {_V} poison, <{COLUMNS} x i32> zeroinitializer",
    ]


def _multiply_add(a: str, b: str, c: str) -> str:
    return f"call {_V} @llvm.fmuladd.v{COLUMNS}f64({_V} {a}, {_V} {b}, {_V} {c})"
