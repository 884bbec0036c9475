"""A recursion over rows: the columns are the lanes of one vector, the states stay in registers from the first row to the last."""

from __future__ import annotations

import ctypes

from inertica.dynamics.kernels import Array, Kernel
from inertica.dynamics.llvm import native
from inertica.dynamics.llvm.lanes import Lanes
from inertica.dynamics.llvm.write import shared
from inertica.dynamics.plan import evaluate


class NativeScan:
    """Compiled recursion.

    Args:
        kernel: `row`, `state` and a reference -> next `row`, `state`.
        columns: of the rows.
    """

    def __init__(self, kernel: Kernel, columns: int) -> None:
        self.columns = columns
        whole, address = ctypes.c_int64, ctypes.c_void_p
        code = native.compiled(_text(kernel, columns))
        self._call = code.function(kernel.name, address, whole, whole, address, address)

    def __call__(self, rows: Array, state: Array, shared: Array, backward: bool) -> None:
        N = len(rows)
        assert rows.shape == (N, self.columns) and rows.flags.c_contiguous and rows.flags.writeable
        assert state.flags.c_contiguous and shared.flags.c_contiguous
        if N == 0:
            return
        first = rows.ctypes.data + (8 * self.columns * (N - 1) if backward else 0)
        self._call(first, -self.columns if backward else self.columns, N, state.ctypes.data, shared.ctypes.data)


def _text(kernel: Kernel, columns: int) -> str:
    """LLVM text of `void NAME(double *row, i64 step, i64 count, double *state, double *reference)`."""
    lanes = Lanes(columns)
    states = range(kernel.inputs["state"].size)
    shared_values = shared(lanes, kernel)
    before = [lanes.load(columns * i, "%state") for i in states]
    entry = len(lanes.lines)
    shared_values |= {("state", i): f"%z{i}" for i in states} | {("row", 0): lanes.load(0, "%row")}
    row, *after = evaluate(lanes, kernel.graph, [*kernel.outputs["row"], *kernel.outputs["state"]], shared_values.__getitem__)
    lanes.store(row, 0, "%row")
    loop = len(lanes.lines)
    for i in states:
        lanes.store(after[i], columns * i, "%state")
    carried = [f"  %z{i} = phi {lanes.real} [ {before[i]}, %entry ], [ {after[i]}, %loop ]" for i in states]
    lines = [
        lanes.declarations(),
        f"define void @{kernel.name}(ptr %first, i64 %step, i64 %count, ptr %state, ptr %reference) nounwind {{",
        "entry:", *lanes.lines[:entry], "  br label %loop",
        "loop:", "  %k = phi i64 [ 0, %entry ], [ %next, %loop ]", "  %row = phi ptr [ %first, %entry ], [ %after, %loop ]",
        *carried, *lanes.lines[entry:loop],
        "  %after = getelementptr double, ptr %row, i64 %step", "  %next = add i64 %k, 1",
        "  %more = icmp slt i64 %next, %count", "  br i1 %more, label %loop, label %done",
        "done:", *lanes.lines[loop:], "  ret void", "}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"
