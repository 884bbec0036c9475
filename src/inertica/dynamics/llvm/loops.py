"""Compiled loops that need no knowledge of a robot: the time loop of the simulation.

These are plain Numba functions, compiled once per installation.  The robot enters as the addresses of its generated kernels.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from inertica.compiled import njit

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


@intrinsic
def call_kernel(typing: Any, address: Any, work: Any, count: Any, step: Any, table: Any, first: Any) -> Any:
    """Call a kernel `void(double *work, int64 count, int64 step, double *reference)` with a row of the reference table."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[1])(context, builder, arguments[1]).data
        rows = context.make_array(signature.args[4])(context, builder, arguments[4]).data
        row = builder.gep(rows, [arguments[5]])
        whole = ir.IntType(64)
        kernel = ir.FunctionType(ir.VoidType(), [data.type, whole, whole, data.type])
        builder.call(builder.inttoptr(arguments[0], kernel.as_pointer()), [data, arguments[2], arguments[3], row])
        return context.get_dummy_value()

    return types.void(types.int64, work, types.int64, types.int64, table, types.int64), generate


@njit(**_OPTIONS)
def time_loop(kernels: Any, stages: Any, work: Any, lanes: int, reference: Any, keep: Any, out: Any) -> None:
    """Simulate one block of lanes.

    Args:
        kernels: addresses of start, begin, forward, finish and output as in `Loop`; 0 for none.
        stages: of the integrator; forward dynamics run between them.
        work: rows of lanes with state, parameters and gains set up.
        lanes: simulations in the block.
        reference: (steps, m) table.
        keep: steps to record, ascending.
        out: (signals, lanes, len(keep), n) the leading rows, in order.
    """
    start, begin, forward, finish, output = kernels
    recorded = 0
    width = reference.shape[1]
    if start:
        call_kernel(start, work, lanes, 0, reference, 0)
    for k in range(reference.shape[0]):
        row = k * width
        call_kernel(begin, work, lanes, k, reference, row)
        call_kernel(forward, work, lanes, k, reference, row)
        if recorded < keep.shape[0] and keep[recorded] == k:
            if output:
                call_kernel(output, work, lanes, k, reference, row)
            at = 0
            for signal in range(out.shape[0]):
                for i in range(out.shape[3]):
                    for lane in range(lanes):
                        out[signal, lane, recorded, i] = work[at + lane]
                    at += lanes
            recorded += 1
        if finish:
            call_kernel(finish, work, lanes, k, reference, row)
        for s in range(stages.shape[0] - 1):
            call_kernel(stages[s], work, lanes, k, reference, row)
            call_kernel(forward, work, lanes, k, reference, row)
        call_kernel(stages[stages.shape[0] - 1], work, lanes, k, reference, row)


@njit(**_OPTIONS)
def variable_loop(
    kernels: Any,
    stages: Any,
    work: Any,
    reference: Any,
    keep: Any,
    out: Any,
    state: Any,
    saved: Any,
    step: int,
    how: Any,
) -> int:
    """Simulate one run whose steps within a control period follow an estimate of their error.

    Args:
        kernels, stages, work, reference, keep, out: as for `time_loop`, of a single lane.
        state: (k, 3) where value, its rate and its error lie: the positions, then the velocities.
        saved: (k, 2) where what a refused step must bring back lies, and where its beginning is kept.
        step: where the step lies.
        how: control period, weight of the last rates, 1 / order, relative and absolute error, shortest step.

    Returns:
        How many steps were taken.
    """
    start, begin, forward, finish, output = kernels
    period, last, power, relative, absolute, finest = how
    width, recorded, taken = reference.shape[1], 0, 0
    wanted = period
    if start:
        call_kernel(start, work, 1, 0, reference, 0)
    for k in range(reference.shape[0]):
        row = k * width
        call_kernel(begin, work, 1, k, reference, row)
        call_kernel(forward, work, 1, k, reference, row)
        if recorded < keep.shape[0] and keep[recorded] == k:
            if output:
                call_kernel(output, work, 1, k, reference, row)
            at = 0
            for signal in range(out.shape[0]):
                for i in range(out.shape[3]):
                    out[signal, 0, recorded, i] = work[at]
                    at += 1
            recorded += 1
        if finish:
            call_kernel(finish, work, 1, k, reference, row)
        left = period
        while left > 1e-12 * period:
            h = min(wanted, left)
            work[step] = h
            for s in range(stages.shape[0]):
                if s:
                    call_kernel(forward, work, 1, k, reference, row)
                call_kernel(stages[s], work, 1, k, reference, row)
            call_kernel(forward, work, 1, k, reference, row)
            worst = 0.0
            for i in range(state.shape[0]):
                error = abs(h * (work[state[i, 2]] + last * work[state[i, 1]]))
                worst = max(worst, error / (absolute + relative * abs(work[state[i, 0]])))
            taken += 1
            good = worst <= 1.0 or h <= finest or not worst < 1e300  # what is lost is not found by smaller steps
            grown = 0.9 * max(worst, 1e-10) ** -power if worst < 1e300 else 1.0
            if good:
                left -= h
                if h >= wanted or worst > 1.0:
                    wanted = max(h * min(grown, 5.0), finest)
            else:
                wanted = max(h * max(grown, 0.2), finest)
                for i in range(saved.shape[0]):
                    work[saved[i, 0]] = work[saved[i, 1]]
    return taken


@njit(**_OPTIONS)
def advance(kernels: Any, stages: Any, work: Any, reference: Any, first: int, last: int) -> None:
    """Steps first .. last - 1 of a block of eight lanes, nothing recorded; the start kernel runs before the first of them.

    Args:
        kernels, stages, work, reference: as for `time_loop`.
        first, last: rows of the reference.
    """
    start, begin, forward, finish, _ = kernels
    width = reference.shape[1]
    if start:
        call_kernel(start, work, 8, first, reference, first * width)
    for k in range(first, last):
        row = k * width
        call_kernel(begin, work, 8, k, reference, row)
        for s in range(stages.shape[0]):
            call_kernel(forward, work, 8, k, reference, row)
            if s == 0 and finish:
                call_kernel(finish, work, 8, k, reference, row)
            call_kernel(stages[s], work, 8, k, reference, row)
