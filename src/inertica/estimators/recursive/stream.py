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
from inertica.dynamics.llvm.loops import _call

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}

LANES = 8


@njit(**_OPTIONS)
def _biquad(x: float, c: Any, z: Any) -> float:
    """One step of a section b0 b1 b2 a1 a2 in the transposed direct form II."""
    y = c[0] * x + z[0]
    z[0] = c[1] * x - c[3] * y + z[1]
    z[1] = c[2] * x - c[4] * y
    return y


@njit(**_OPTIONS)
def stream(
    address: int, work: Any, numbers: Any, whole: Any, q: Any, dq: Any, ddq: Any, tau: Any, out: Any, use: Any, taken: Any
) -> int:  # fmt: skip
    """Samples in, rows out; returns how many.  A call with thirty arrays would take longer than its work, so they lie in two.

    Args:
        address, work: of the kernel, see `inertica.dynamics.single`.
        numbers: of the filters and their states, as `RowStream` lays them out:
            smooth, rate (5) each: sections of H and of its derivative; smooth is zero for no filter;
            leak (3): y' = leak0 y + leak1 (x + x before) for what flows through G, + leak2 (x - x before) for what is stored;
            still (n): velocities below which a joint rests;
            known (E): values of parameters that are known, 0 for others;
            zq, zd, zt (n, 2): states of H for position, velocity and torque;
            levels (m + 1, r): torque after each of the parts of G, and torque of the sample before;
            columns (m + 2, E): columns after each of the parts of G, then stored and flow of the sample before.
        whole: places (4) of q, dq, ddq and columns in the work array; every, patience, reach, turned: samples per row, of rest that
            is no mere reversal, and for which rows stay out after rest and after a reversal; stored, power, given: rows are filtered,
            one row for all joints, velocity is measured; clock: samples so far; rest (3, n): samples for which a joint has rested,
            for which its rows stay out, and the sign of its velocity; entries (2, E): row and column of beta of each entry, column
            -1 for parameters that have none.
        q, dq, ddq, tau: (m, n) measured; dq and ddq are read when they are needed.
        out: (K, r, b+1) rows [w y].
        use: (K, r) which of them take part.
        taken: (K,) index of the sample each row belongs to.
    """
    n, R, size = q.shape[1], out.shape[1], out.shape[2]
    at_q, at_dq, at_ddq, at_out, every, patience, reach, turned = whole[:8]
    stored, power, given = whole[8] == 1, whole[9] == 1, whole[10] == 1
    rest, entries = whole[12 : 12 + 3 * n].reshape(3, n), whole[12 + 3 * n :].reshape(2, -1)
    E = entries.shape[1]
    smooth, rate, leak, still = numbers[:5], numbers[5:10], numbers[10:13], numbers[13 : 13 + n]
    end = 13 + n
    known, end = numbers[end : end + E], end + E
    zq, end = numbers[end : end + 2 * n].reshape(n, 2), end + 2 * n
    zd, end = numbers[end : end + 2 * n].reshape(n, 2), end + 2 * n
    zt, end = numbers[end : end + 2 * n].reshape(n, 2), end + 2 * n
    m = (len(numbers) - end - R - 2 * E) // (R + E)
    levels, end = numbers[end : end + (m + 1) * R].reshape(m + 1, R), end + (m + 1) * R
    kept_columns = numbers[end:].reshape(m + 2, E)
    columns, before = kept_columns[:m], kept_columns[m:]
    filled, filtering = 0, smooth[0] != 0.0
    for k in range(q.shape[0]):
        first = whole[11] == 0
        energy = 0.0
        for j in range(n):
            position, velocity, torque = q[k, j], dq[k, j], tau[k, j]
            if filtering:
                if first:  # as if the first sample had always been there
                    zq[j, 0], zq[j, 1] = (1.0 - smooth[0]) * position, (smooth[2] - smooth[4]) * position
                    zt[j, 0], zt[j, 1] = (1.0 - smooth[0]) * torque, (smooth[2] - smooth[4]) * torque
                    if given:
                        zd[j, 0], zd[j, 1] = (1.0 - smooth[0]) * velocity, (smooth[2] - smooth[4]) * velocity
                    else:
                        zd[j, 0], zd[j, 1] = -rate[0] * position, rate[2] * position
                velocity = _biquad(velocity, smooth, zd[j]) if given else _biquad(position, rate, zd[j])
                position = _biquad(position, smooth, zq[j])
                torque = _biquad(torque, smooth, zt[j])
            work[at_q + LANES * j] = position
            work[at_dq + LANES * j] = velocity
            if not stored:
                work[at_ddq + LANES * j] = ddq[k, j]
            if abs(velocity) <= still[j]:
                rest[0, j] += 1
                if rest[0, j] > patience:
                    rest[1, j] = reach
                elif stored:  # which way it goes is not known
                    rest[1, j] = max(rest[1, j], turned)
            else:
                rest[0, j] = 0
                if rest[1, j] > 0:
                    rest[1, j] -= 1
                way = 1 if velocity > 0.0 else -1
                if stored and rest[2, j] != way:  # the first sample too, which may be taken in the middle of a motion
                    rest[1, j] = max(rest[1, j], turned)
                rest[2, j] = way
            energy += velocity * torque
            if not power:
                _level(levels, j, torque, leak, stored, first)
        if power:
            _level(levels, 0, energy, leak, stored, first)
        _call(address, work, LANES, 0, work, 0)
        if stored:
            for e in range(E):
                kept, flow = work[at_out + LANES * e], work[at_out + LANES * (E + e)]
                if not first:  # G integrates from the first sample on
                    was = columns[0, e]
                    columns[0, e] = leak[0] * was + leak[1] * (flow + before[1, e]) + leak[2] * (kept - before[0, e])
                    for i in range(1, m):
                        last = columns[i, e]
                        columns[i, e] = leak[0] * last + leak[1] * (columns[i - 1, e] + was)
                        was = last
                before[0, e], before[1, e] = kept, flow
        else:
            for e in range(E):
                columns[m - 1, e] = work[at_out + LANES * e]
        whole[11] += 1
        if whole[11] % every == 0:
            for r in range(R):
                for i in range(size - 1):
                    out[filled, r, i] = 0.0
                out[filled, r, size - 1] = levels[m - 1, r]
                use[filled, r] = rest[1, r] == 0 if not power else True
            for e in range(E):
                r, i = entries[0, e], entries[1, e]
                if i >= 0:
                    out[filled, r, i] = columns[m - 1, e]
                elif known[e] != 0.0:
                    out[filled, r, size - 1] -= known[e] * columns[m - 1, e]
            taken[filled] = k
            filled += 1
    return filled


@njit(**_OPTIONS)
def _level(levels: Any, r: int, torque: float, leak: Any, stored: bool, first: bool) -> None:
    """Torque or power of a row through G."""
    m = len(levels) - 1
    if not stored:
        levels[m - 1, r] = torque
    elif not first:
        was = levels[0, r]
        levels[0, r] = leak[0] * was + leak[1] * (torque + levels[m, r])
        for i in range(1, m):
            last = levels[i, r]
            levels[i, r] = leak[0] * last + leak[1] * (levels[i - 1, r] + was)
            was = last
    levels[m, r] = torque
