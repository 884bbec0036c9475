"""The compiled loop from measured samples to rows of a fit, causal, for one sample or many.

    q, tau  ->  H: low-pass of order 2, the same for motion and torque, so that both come late alike; dq is its derivative
            ->  columns of momentum (or energy) P and of the flow B at the filtered motion
            ->  G = (a / (s + a))^m: rows G (s P + B) and torque G tau, without an acceleration, a (P - G P) being G s P for m = 1
            ->  one row of some samples, but none of a joint that rests, or that has reversed while G remembers it: friction jumps
                there, and H makes other things of a jump than the model does of filtered motion

All filters are bilinear transforms, and all columns begin at rest at the first sample, so that W beta = y holds for the filtered rows
as it does for the unfiltered, from the first one on.
"""

from __future__ import annotations

from typing import Any

from inertica.compiled import njit
from inertica.dynamics.llvm.loops import call_kernel
from inertica.estimators.recursive.stream_state import SAMPLES, counts_of, state_views

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}

LANES = 8


@njit(**_OPTIONS)
def _biquad(x: float, c: Any, z: Any) -> float:
    """One step of a section b0 b1 b2 a1 a2 in the transposed direct form II."""
    y = c[0] * x + z[0]
    z[0] = c[1] * x - c[3] * y + z[1]
    z[1] = c[2] * x - c[4] * y
    return y


_views, _counts_of = njit(**_OPTIONS)(state_views), njit(**_OPTIONS)(counts_of)


@njit(**_OPTIONS)
def stream(
    address: int, work: Any, numbers: Any, integers: Any, counts: Any, q: Any, dq: Any, ddq: Any, tau: Any, out: Any, use: Any,
    taken: Any,
) -> int:  # fmt: skip
    """Samples in, rows out; returns how many.

    Args:
        address, work: of the kernel, see `inertica.dynamics.single`.
        numbers, integers, counts: filters and their states, see `stream_state`.
        q, dq, ddq, tau: (N, n) measured; dq and ddq are read when they are needed.
        out: (K, r, b+1) rows [w y].
        use: (K, r) which of them take part.
        taken: (K,) index of the sample each row belongs to.
    """
    n, rows, size = q.shape[1], out.shape[1], out.shape[2]
    c = _counts_of(counts)
    # unpacked once: reading a field of the tuple in the loop would count references of its array each time
    smooth, rate, leak, still, known, zq, zd, zt, levels, columns, stored, flow, resting, blocked, direction, row, column = (
        _views(numbers, integers, n, rows, c.entries, c.order)
    )
    filtered, power, measured, last = c.filtered == 1, c.power == 1, c.measured_velocity == 1, c.order - 1
    filled, samples = 0, c.samples
    for k in range(q.shape[0]):
        first = samples == 0
        energy = 0.0
        for j in range(n):
            position, velocity, torque = q[k, j], dq[k, j], tau[k, j]
            if smooth[0] != 0.0:
                if first:
                    _start_filters(smooth, rate, measured, zq[j], zd[j], zt[j], position, velocity, torque)
                velocity = _biquad(velocity, smooth, zd[j]) if measured else _biquad(position, rate, zd[j])
                position = _biquad(position, smooth, zq[j])
                torque = _biquad(torque, smooth, zt[j])
            work[c.at_q + LANES * j] = position
            work[c.at_dq + LANES * j] = velocity
            if not filtered:
                work[c.at_ddq + LANES * j] = ddq[k, j]
            if abs(velocity) <= still[j]:
                resting[j] += 1
                if resting[j] > c.patience:
                    blocked[j] = c.settling
                elif filtered:  # the sign of dry friction is not known
                    blocked[j] = max(blocked[j], c.turning)
            else:
                resting[j] = 0
                if blocked[j] > 0:
                    blocked[j] -= 1
                way = 1 if velocity > 0.0 else -1
                if filtered and direction[j] != way:  # the first sample too, which may be taken in the middle of a motion
                    blocked[j] = max(blocked[j], c.turning)
                direction[j] = way
            energy += velocity * torque
            if not power:
                _level(levels, j, torque, leak, filtered, first)
        if power:
            _level(levels, 0, energy, leak, filtered, first)
        call_kernel(address, work, LANES, 0, work, 0)
        if filtered:
            _filter_columns(columns, stored, flow, leak, work[c.at_out :], first)
        else:
            for e in range(c.entries):
                columns[last, e] = work[c.at_out + LANES * e]
        samples += 1
        if samples % c.every == 0:
            for r in range(rows):
                for i in range(size - 1):
                    out[filled, r, i] = 0.0
                out[filled, r, size - 1] = levels[last, r]
                use[filled, r] = blocked[r] == 0 if not power else True
            for e in range(c.entries):
                r, i = row[e], column[e]
                if i >= 0:
                    out[filled, r, i] = columns[last, e]
                elif known[e] != 0.0:
                    out[filled, r, size - 1] -= known[e] * columns[last, e]
            taken[filled] = k
            filled += 1
    counts[SAMPLES] = samples
    return filled


@njit(**_OPTIONS)
def _start_filters(
    smooth: Any, rate: Any, measured: bool, zq: Any, zd: Any, zt: Any, position: float, velocity: float, torque: float
) -> None:
    """States of H under constant signals, as if the first sample had always been there."""
    zq[0], zq[1] = (1.0 - smooth[0]) * position, (smooth[2] - smooth[4]) * position
    zt[0], zt[1] = (1.0 - smooth[0]) * torque, (smooth[2] - smooth[4]) * torque
    if measured:
        zd[0], zd[1] = (1.0 - smooth[0]) * velocity, (smooth[2] - smooth[4]) * velocity
    else:
        zd[0], zd[1] = -rate[0] * position, rate[2] * position


@njit(**_OPTIONS)
def _filter_columns(columns: Any, stored: Any, flow: Any, leak: Any, new: Any, first: bool) -> None:
    """Columns of what is stored and of what flows through G, which integrates from the first sample on."""
    entries = columns.shape[1]
    for e in range(entries):
        new_stored, new_flow = new[LANES * e], new[LANES * (entries + e)]
        if not first:
            was = columns[0, e]
            columns[0, e] = leak[0] * was + leak[1] * (new_flow + flow[e]) + leak[2] * (new_stored - stored[e])
            for i in range(1, columns.shape[0]):
                last = columns[i, e]
                columns[i, e] = leak[0] * last + leak[1] * (columns[i - 1, e] + was)
                was = last
        stored[e], flow[e] = new_stored, new_flow


@njit(**_OPTIONS)
def _level(levels: Any, r: int, torque: float, leak: Any, filtered: bool, first: bool) -> None:
    """Torque or power of a row through G."""
    m = len(levels) - 1
    if not filtered:
        levels[m - 1, r] = torque
    elif not first:
        was = levels[0, r]
        levels[0, r] = leak[0] * was + leak[1] * (torque + levels[m, r])
        for i in range(1, m):
            last = levels[i, r]
            levels[i, r] = leak[0] * last + leak[1] * (levels[i - 1, r] + was)
            was = last
    levels[m, r] = torque
