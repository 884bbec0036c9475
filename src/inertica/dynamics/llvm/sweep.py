"""Chunks of records one after the other in compiled code: samples into rows of lanes, the kernel, what is made of its rows.

The same is done chunk by chunk in Python where a chunk needs more than that (weights on single rows, a short last one).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from inertica.dynamics.llvm import native
from inertica.dynamics.llvm.rows import LANES, Work


class Sweep:
    """Whole chunks of one record, or of several side by side.

    Args:
        works: one per record, each with the inputs it is filled from.
        kernel: address of what works on each.
        then: address of a function of `jobs`, how many there are, and the samples of a chunk, called when all have been worked on.
        jobs: its table, one line per job.
        chunk: samples of a chunk.
        stride: of the rows.
    """

    def __init__(self, works: Sequence[Work], kernel: int, then: int, jobs: NDArray[np.int64], chunk: int, stride: int) -> None:
        fills = list[tuple[int, int, int]]()
        self._kept: list[object] = [jobs, *works]
        for work in works:
            for name, values in work.varying.items():
                lines = np.ascontiguousarray(values, float)
                self._kept.append(lines)
                fills.append((lines.ctypes.data, lines.shape[1], work.rows.of(work.array, name).ctypes.data))
        self._fills, self._works = np.array(fills, np.int64), np.array([work.address for work in works], np.int64)
        self._call, self._chunk = _compiled(chunk, stride), chunk
        self._given = (
            kernel, then, self._works.ctypes.data, len(works), self._fills.ctypes.data, len(fills), jobs.ctypes.data, len(jobs)
        )  # fmt: skip

    def __call__(self, first: int, chunks: int) -> None:
        """So many whole chunks from a sample on."""
        self._call(*self._given, first, chunks)


@cache
def _compiled(chunk: int, stride: int) -> Callable[..., None]:
    assert chunk % LANES == 0
    whole, address = ctypes.c_int64, ctypes.c_void_p
    arguments = (address, address, address, whole, address, whole, address, whole, whole, whole)
    return native.compiled(_text(chunk, stride)).function("sweep", *arguments)


def _text(chunk: int, stride: int) -> str:
    """LLVM text.  A table of fills says where samples lie (line by line), how wide a line is, where the first row of lanes lies."""
    pointers = []
    for i in range(LANES):
        pointers += [f"%o{i} = mul i64 %width, {i}", f"%p{i} = getelementptr double, ptr %line, i64 %o{i}"]
        pointers += [f"%x{i} = load double, ptr %p{i}, align 8", f"%q{i} = getelementptr double, ptr %lane, i64 {i}"]
        pointers += [f"store double %x{i}, ptr %q{i}, align 8"]
    body = "\n  ".join(pointers)
    return f"""
define void @sweep(ptr %kernel, ptr %then, ptr %works, i64 %sides, ptr %fills, i64 %groups, ptr %jobs, i64 %many, i64 %first,
                   i64 %chunks) alignstack(64) nounwind {{
entry:
  %some = icmp sgt i64 %chunks, 0
  br i1 %some, label %next, label %done
next:
  %c = phi i64 [ 0, %entry ], [ %cnext, %worked ]
  %along = mul i64 %c, {chunk}
  %from = add i64 %first, %along
  br label %group
group:
  %g = phi i64 [ 0, %next ], [ %gnext, %filled ]
  %g0 = mul i64 %g, 3
  %g1 = add i64 %g0, 1
  %g2 = add i64 %g0, 2
  %at0 = getelementptr i64, ptr %fills, i64 %g0
  %at1 = getelementptr i64, ptr %fills, i64 %g1
  %at2 = getelementptr i64, ptr %fills, i64 %g2
  %source = load ptr, ptr %at0, align 8
  %width = load i64, ptr %at1, align 8
  %rows = load ptr, ptr %at2, align 8
  %skipped = mul i64 %from, %width
  %start = getelementptr double, ptr %source, i64 %skipped
  br label %column
column:
  %j = phi i64 [ 0, %group ], [ %jnext, %turned ]
  %top = getelementptr double, ptr %start, i64 %j
  %down = mul i64 %j, {stride}
  %row = getelementptr double, ptr %rows, i64 %down
  br label %turn
turn:
  %t = phi i64 [ 0, %column ], [ %tnext, %turn ]
  %over = mul i64 %t, %width
  %line = getelementptr double, ptr %top, i64 %over
  %lane = getelementptr double, ptr %row, i64 %t
  {body}
  %tnext = add i64 %t, {LANES}
  %tmore = icmp ult i64 %tnext, {chunk}
  br i1 %tmore, label %turn, label %turned
turned:
  %jnext = add i64 %j, 1
  %jmore = icmp ult i64 %jnext, %width
  br i1 %jmore, label %column, label %filled
filled:
  %gnext = add i64 %g, 1
  %gmore = icmp ult i64 %gnext, %groups
  br i1 %gmore, label %group, label %side
side:
  %s = phi i64 [ 0, %filled ], [ %snext, %side ]
  %place = getelementptr i64, ptr %works, i64 %s
  %work = load ptr, ptr %place, align 8
  call void %kernel(ptr %work, i64 {chunk}, i64 0, ptr null)
  %snext = add i64 %s, 1
  %smore = icmp ult i64 %snext, %sides
  br i1 %smore, label %side, label %worked
worked:
  call void %then(ptr %jobs, i64 %many, i64 {chunk})
  %cnext = add i64 %c, 1
  %cmore = icmp ult i64 %cnext, %chunks
  br i1 %cmore, label %next, label %done
done:
  ret void
}}
"""
