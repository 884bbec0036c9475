"""State of the compiled row stream: three arrays, and named views of their parts.

A call with thirty arrays would take longer than the work on one sample (and one with a structured array longer still), so numbers
lie in one flat array, integers in another and counts in a third.  `state_views` and `counts_of` alone know what lies where, for
Python and, compiled, for the loop in `stream`.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Counts(NamedTuple):
    """Whole numbers that the loop reads, in the order in which they lie in their array; `samples` alone changes.

    Args:
        at_q, at_dq, at_ddq, at_out: where they begin in the work array of the kernel.
        every: samples per row.
        patience: samples of rest that are no mere reversal.
        settling, turning: samples for which rows take no part after rest, and after a reversal.
        filtered: whether rows are filtered; 0 or 1, like
        power: whether one row stands for all joints, and
        measured_velocity: whether velocity is measured.
        entries: of the regressor.
        order: of the low-pass G.
        samples: taken so far.
    """

    at_q: int
    at_dq: int
    at_ddq: int
    at_out: int
    every: int
    patience: int
    settling: int
    turning: int
    filtered: int
    power: int
    measured_velocity: int
    entries: int
    order: int
    samples: int


SAMPLES = Counts._fields.index("samples")


def counts_of(a: Any) -> Counts:
    """The counts in an array; field by field, since compiled code knows no star."""
    return Counts(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13])


class StreamState(NamedTuple):
    """Views of the flat arrays; n joints, r rows per sample, E entries, G of order m.

    Args:
        smooth, rate: (5,) sections of H and of its derivative; smooth is zero for no filter.
        leak: (3,) y' = leak0 y + leak1 (x + x before) for what flows through G, + leak2 (x - x before) for what is stored.
        still: (n,) velocities below which a joint rests.
        known: (E,) values of parameters that are known, 0 for others.
        zq, zd, zt: (n, 2) states of H for position, velocity and torque.
        levels: (m + 1, r) torque after each of the parts of G, and torque of the sample before.
        columns: (m, E) columns after each of the parts of G.
        stored, flow: (E,) of the sample before.
        resting: (n,) samples for which a joint has rested.
        blocked: (n,) samples for which its rows take no part any more.
        direction: (n,) sign of its velocity.
        row, column: (E,) of each entry; column -1 for parameters that are not in beta.
    """

    smooth: Any
    rate: Any
    leak: Any
    still: Any
    known: Any
    zq: Any
    zd: Any
    zt: Any
    levels: Any
    columns: Any
    stored: Any
    flow: Any
    resting: Any
    blocked: Any
    direction: Any
    row: Any
    column: Any


def sizes(n: int, rows: int, entries: int, order: int) -> tuple[int, int]:
    """Lengths of the arrays of numbers and of integers."""
    return 13 + 7 * n + (order + 1) * rows + (order + 3) * entries, 3 * n + 2 * entries


def state_views(numbers: Any, integers: Any, n: int, rows: int, entries: int, order: int) -> StreamState:
    """The parts of the flat arrays by name."""
    a = 13 + n  # behind the sections, the coefficients of G and the velocities of rest
    b = a + entries
    c = b + 6 * n
    d = c + (order + 1) * rows
    e = d + order * entries
    return StreamState(
        numbers[:5],
        numbers[5:10],
        numbers[10:13],
        numbers[13:a],
        numbers[a:b],
        numbers[b : b + 2 * n].reshape(n, 2),
        numbers[b + 2 * n : b + 4 * n].reshape(n, 2),
        numbers[b + 4 * n : c].reshape(n, 2),
        numbers[c:d].reshape(order + 1, rows),
        numbers[d:e].reshape(order, entries),
        numbers[e : e + entries],
        numbers[e + entries : e + 2 * entries],
        integers[:n],
        integers[n : 2 * n],
        integers[2 * n : 3 * n],
        integers[3 * n : 3 * n + entries],
        integers[3 * n + entries :],
    )
