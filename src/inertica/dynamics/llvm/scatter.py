"""Rows of lanes into wide arrays: what a kernel leaves, one row for every column, becomes one line per sample."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from inertica.dynamics.llvm import native
from inertica.dynamics.llvm.rows import LANES, Array

FEW = 16
"""Columns up to which NumPy transposes as quickly as compiled code."""


def scatter(rows: Array, out: Array, columns: NDArray[np.int64]) -> None:
    """Row j of (k, count or more) into column columns[j] of (count, ...)."""
    if len(columns) <= FEW:
        out[:, columns] = rows[:, : len(out)].T
        return
    assert rows.strides[1] == rows.itemsize and rows.shape[1] >= len(out) and len(rows) == len(columns)
    assert rows.dtype == out.dtype == np.float64 and columns.dtype == np.int64 and columns.flags.c_contiguous
    place = (rows.ctypes.data, rows.strides[0], out.ctypes.data, *out.strides)
    _compiled()(*place, len(out), columns.ctypes.data, len(columns))


@cache
def _compiled() -> Callable[..., None]:
    whole, address = ctypes.c_int64, ctypes.c_void_p
    return native.compiled(_text()).function("scatter", address, whole, address, whole, whole, whole, address, whole)


def _text() -> str:
    """LLVM text.  Arguments: rows and their distance, array and the distances of its lines and columns, samples, columns, how many.

    All distances are in bytes.  Whole vectors of samples come first, so that every cache line of the rows is read once.
    """
    stored = [
        f"  %x{i} = extractelement <{LANES} x double> %x, i64 {i}\n  store double %x{i}, ptr %to{i}\n"
        f"  %to{i + 1} = getelementptr i8, ptr %to{i}, i64 %line\n"
        for i in range(LANES)
    ]
    wide = _loop("wide", f"  %x = load <{LANES} x double>, ptr %wide.from, align 8\n", "%to0", "".join(stored))
    single = _loop("single", "  %y = load double, ptr %single.from\n", "%there", "  store double %y, ptr %there\n")
    return f"""
define void @scatter(ptr %rows, i64 %stride, ptr %out, i64 %line, i64 %step, i64 %count, ptr %columns, i64 %width) nounwind {{
entry:
  br label %next
next:
  %k = phi i64 [ 0, %entry ], [ %wide.next, %wide.done ], [ %single.next, %single.done ]
  %left = sub i64 %count, %k
  %first = getelementptr double, ptr %rows, i64 %k
  %down = mul i64 %k, %line
  %place = getelementptr i8, ptr %out, i64 %down
  %many = icmp sge i64 %left, {LANES}
  br i1 %many, label %wide, label %few
few:
  %some = icmp sgt i64 %left, 0
  br i1 %some, label %single, label %done
{wide}  %wide.next = add i64 %k, {LANES}
  br label %next
{single}  %single.next = add i64 %k, 1
  br label %next
done:
  ret void
}}
"""


def _loop(name: str, load: str, to: str, store: str) -> str:
    """Over the columns: from a row to a place in the lines."""
    before = "%next" if name == "wide" else "%few"
    return f"""{name}:
  %{name}.j = phi i64 [ 0, {before} ], [ %{name}.after, %{name} ]
  %{name}.from = phi ptr [ %first, {before} ], [ %{name}.further, %{name} ]
{load}  %{name}.where = getelementptr i64, ptr %columns, i64 %{name}.j
  %{name}.number = load i64, ptr %{name}.where
  %{name}.right = mul i64 %{name}.number, %step
  {to} = getelementptr i8, ptr %place, i64 %{name}.right
{store}  %{name}.further = getelementptr i8, ptr %{name}.from, i64 %stride
  %{name}.after = add i64 %{name}.j, 1
  %{name}.more = icmp slt i64 %{name}.after, %width
  br i1 %{name}.more, label %{name}, label %{name}.done
{name}.done:
"""
