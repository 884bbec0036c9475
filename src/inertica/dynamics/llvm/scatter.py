"""Rows of lanes into wide arrays: what a kernel leaves becomes one line of an array per sample."""

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


def scatter(work: Array, offset: int, stride: int, out: Array, columns: NDArray[np.int64]) -> None:
    """An array (count, ...) from rows of lanes, row j into column columns[j]."""
    whole = 0 if len(columns) <= FEW else len(out) // LANES * LANES
    if whole:
        assert columns.flags.c_contiguous and columns.dtype == np.int64
        first = work.ctypes.data + work.itemsize * offset
        _compiled()(first, stride, out.ctypes.data, *out.strides, whole, columns.ctypes.data, len(columns))
    if whole < len(out):
        out[whole:, columns] = work[offset : offset + len(columns) * stride].reshape(-1, stride)[:, whole : len(out)].T


@cache
def _compiled() -> Callable[..., None]:
    whole, address = ctypes.c_int64, ctypes.c_void_p
    return native.compiled(_text()).function("scatter", address, whole, address, whole, whole, whole, address, whole)


def _text() -> str:
    """LLVM text for whole vectors of samples, one after the other: every cache line of the rows is read once.

    Arguments are the first row and the distance of rows in doubles, the array with the distances of lines and columns in bytes, the
    number of samples, the columns and their number.
    """
    lanes = [
        f"  %x{i} = extractelement <{LANES} x double> %x, i64 {i}\n"
        f"  store double %x{i}, ptr %to{i}\n"
        f"  %to{i + 1} = getelementptr i8, ptr %to{i}, i64 %line\n"
        for i in range(LANES)
    ]
    return f"""
define void @scatter(ptr %rows, i64 %stride, ptr %out, i64 %line, i64 %step, i64 %count, ptr %columns, i64 %width) nounwind {{
entry:
  br label %samples
samples:
  %k = phi i64 [ 0, %entry ], [ %k.next, %after ]
  %first = getelementptr double, ptr %rows, i64 %k
  %down = mul i64 %k, %line
  %place = getelementptr i8, ptr %out, i64 %down
  br label %column
column:
  %j = phi i64 [ 0, %samples ], [ %j.next, %column ]
  %from = phi ptr [ %first, %samples ], [ %from.next, %column ]
  %x = load <{LANES} x double>, ptr %from, align 8
  %where = getelementptr i64, ptr %columns, i64 %j
  %number = load i64, ptr %where
  %right = mul i64 %number, %step
  %to0 = getelementptr i8, ptr %place, i64 %right
{"".join(lanes)}  %from.next = getelementptr double, ptr %from, i64 %stride
  %j.next = add i64 %j, 1
  %j.more = icmp slt i64 %j.next, %width
  br i1 %j.more, label %column, label %after
after:
  %k.next = add i64 %k, {LANES}
  %k.more = icmp slt i64 %k.next, %count
  br i1 %k.more, label %samples, label %done
done:
  ret void
}}
"""
