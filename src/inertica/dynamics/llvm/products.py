"""Products A'B of the rows that a kernel writes, chunk by chunk while they are in the cache; A and B are never stored.

A column of a matrix is a row of lanes here, so that a product of two columns is a sum of products of vectors: a tile of such sums
stays in registers while a chunk passes by, and nothing is copied or rearranged.  Lanes are added up in the end, in one order whatever
the tile, so that numbers do not depend on the number of registers.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise

import numpy as np

from inertica.dynamics.kernels import Array, Kernel
from inertica.dynamics.llvm import native
from inertica.dynamics.llvm.lanes import Lanes
from inertica.dynamics.llvm.rows import LANES, RowLayout, Work, aligned
from inertica.dynamics.llvm.sweep import Sweep
from inertica.dynamics.llvm.write import callable_on_lanes, compiled
from inertica.dynamics.trace import Key

CHUNK = 256
"""Samples at a time: the rows of two motions fit the second-level cache."""

STRIDE = CHUNK + LANES

MOST = 4
"""Rows of a tile, by which widths of matrices are rounded up."""


Job = tuple[int, int, int, Array, bool]
"""Of a product A B' the addresses of the rows of A and B, how many there are, the total (rows, rows, LANES), and whether only its
upper half is wanted."""


class Products:
    """A kernel each of whose outputs is one row per sample of a matrix of its own.

    Args:
        kernel: what writes them.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.rows, self.widths = RowLayout(STRIDE, kernel.sizes), [len(symbols) for symbols in kernel.outputs.values()]
        # rounded up to whole tiles; the rows that fill up stay zero
        self._high = [-(-width // MOST) * MOST for width in self.widths]
        starts = np.cumsum([self.rows.count, *self._high]) * STRIDE
        self._panels, self._end = list(pairwise(int(x) for x in starts)), int(starts[-1])
        place: dict[Key, int] = {}
        for (name, symbols), (first, _) in zip(kernel.outputs.items(), self._panels, strict=True):
            place |= {(name, t): first + t * STRIDE for t in range(len(symbols))}
        self._code = compiled([kernel], LANES, lambda key: place[key] if key in place else self.rows.offset(key))
        self._call, self._address = callable_on_lanes(self._code, kernel.name), self._code.address(kernel.name)

    def __call__(self, inputs: Mapping[str, Array], weights: Array | None) -> list[Array]:
        """(k, k) A'A of every output of size k.

        Args:
            inputs: (N, size), or (size,) for all samples alike.
            weights: (N, outputs) factors on the rows.
        """
        work, totals = Work(self.rows, inputs, self._end), self._totals()
        pointers = zip(self._places(work), self._high, totals, strict=True)
        self._add([work], weights, [(a, a, high, total, True) for a, high, total in pointers])
        return _added(totals, self.widths, half=True)

    def crossed(self, inputs: Mapping[str, Array], others: Mapping[str, Array], use: Array) -> list[tuple[Array, Array]]:
        """(k, k) A'A and A'B of every output, A of the first inputs and B of the others.

        Args:
            inputs, others: of the same samples.
            use: (N, outputs) 0 for rows that take no part, 1 for the others.
        """
        work, other = (Work(self.rows, x, self._end) for x in (inputs, others))
        grams, crossed = self._totals(), self._totals()
        places = list(zip(self._places(work), self._places(other), self._high, strict=True))
        jobs = [(a, a, high, total, True) for (a, _, high), total in zip(places, grams, strict=True)]
        jobs += [(a, b, high, total, False) for (a, b, high), total in zip(places, crossed, strict=True)]
        self._add([work, other], use, jobs)
        return list(zip(_added(grams, self.widths, half=True), _added(crossed, self.widths, half=False), strict=True))

    def _totals(self) -> list[Array]:
        return [aligned(high * high * LANES).reshape(high, high, LANES) for high in self._high]

    def _places(self, work: Work) -> list[int]:
        """Addresses of the matrices."""
        return [work.address + 8 * first for first, _ in self._panels]

    def _add(self, works: Sequence[Work], weights: Array | None, jobs: Sequence[Job]) -> None:
        """What jobs make of all chunks; weights are those of the first record.

        Whole chunks without weights go by one compiled call each stretch of them, the others one by one.
        """
        table = np.array([(a, b, rows, total.ctypes.data, half) for a, b, rows, total, half in jobs], np.int64)
        multiply, place = _multiply()
        sweep = Sweep(works, self._address, place, table, CHUNK, STRIDE)
        N, before = max(len(values) for values in works[0].varying.values()), 0
        for number in [*_special(N, weights), -(-N // CHUNK)]:
            sweep(before * CHUNK, number - before)
            first, before = number * CHUNK, number + 1
            if first < N:
                multiply(table.ctypes.data, len(table), self._one(works, first, min(CHUNK, N - first), weights))

    def _one(self, works: Sequence[Work], first: int, count: int, weights: Array | None) -> int:
        """The rows of one chunk in place, those of the first record weighted: the lanes they fill, those beyond the samples zero."""
        padded = 0
        for work in works:
            padded = work.fill(first, count)
            self._call(work.address, padded)
            if padded > count:
                # lanes beyond the last sample hold what the kernel made of padding; as zeros they add nothing
                work.array[self._panels[0][0] : self._end].reshape(-1, STRIDE)[:, count:padded] = 0.0
        if weights is not None and np.any(weights[first : first + count] != 1.0):
            for j, (a, b) in enumerate(self._panels):
                works[0].array[a:b].reshape(-1, STRIDE)[:, :count] *= weights[first : first + count, j]
        return padded


def _special(samples: int, weights: Array | None) -> list[int]:
    """Chunks that are not whole, or have rows with weights other than one."""
    # the last chunk is shorter, and chunks with weights are scaled before they are multiplied
    chunks = {samples // CHUNK} if samples % CHUNK else set()
    if weights is not None and (other := weights != 1.0).any():
        chunks.update(np.unique(np.flatnonzero(other.any(axis=1)) // CHUNK).tolist())
    return sorted(chunks)


def _added(totals: Sequence[Array], widths: Sequence[int], half: bool) -> list[Array]:
    """(k, k) sums over the lanes; of symmetric matrices the upper half is given."""
    sums = [_over_lanes(total[:k, :k]) for total, k in zip(totals, widths, strict=True)]
    return [np.where(np.tri(len(G), k=-1, dtype=bool), G.T, G) for G in sums] if half else sums


def _over_lanes(total: Array) -> Array:
    """Neighbouring lanes first, then pairs of them, then the two halves: one order of additions whatever the machine."""
    while total.shape[-1] > 1:
        total = total[..., 0::2] + total[..., 1::2]
    return total[..., 0]


@cache
def _multiply() -> tuple[Callable[..., None], int]:
    """A function of a table of jobs, how many there are, and the lanes that are filled, which adds A B' to totals; and its address."""
    code = native.compiled(_text(MOST if native.features().get("avx512f") else 2))
    return code.function("multiply", ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64), code.address("multiply")


def _text(tile: int) -> str:
    lanes, some, pairs = Lanes(LANES), range(tile), [(p, q) for p in range(tile) for q in range(tile)]
    real = lanes.real

    def rows(name: str, base: str, start: str) -> list[str]:
        out = []
        for p in some:
            out += [f"%{name}n{p} = add i64 {start}, {p}", f"%{name}o{p} = mul i64 %{name}n{p}, {STRIDE}"]
            out += [f"%{name}r{p} = getelementptr double, ptr {base}, i64 %{name}o{p}"]
        return out

    fields = []
    for number, (name, kind) in enumerate({"a": "ptr", "b": "ptr", "high": "i64", "out": "ptr", "symmetric": "i64"}.items()):
        fields += [f"%at_{name} = add i64 %place, {number}", f"%in_{name} = getelementptr i64, ptr %jobs, i64 %at_{name}"]
        fields += [f"%{name} = load {kind}, ptr %in_{name}, align 8"]
    zero = "zeroinitializer"
    sums = [f"%s{p}{q} = phi {real} [ {zero}, %across ], [ %t{p}{q}, %along ]" for p, q in pairs]
    loads = [f"%{x}p{p} = getelementptr double, ptr %{x}r{p}, i64 %l" for x in "ab" for p in some]
    loads += [f"%{x}{p} = load {real}, ptr %{x}p{p}, align 8" for x in "ab" for p in some]
    if lanes.fused:
        fma = f"@llvm.fma.v{LANES}f64"
        step = [f"%t{p}{q} = call {real} {fma}({real} %a{p}, {real} %b{q}, {real} %s{p}{q})" for p, q in pairs]
    else:
        step = [f"%m{p}{q} = fmul {real} %a{p}, %b{q}" for p, q in pairs]
        step += [f"%t{p}{q} = fadd {real} %s{p}{q}, %m{p}{q}" for p, q in pairs]
    ends: list[str] = []
    for p, q in pairs:
        ends += [
            f"%w{p}{q} = mul i64 %an{p}, %high",
            f"%x{p}{q} = add i64 %w{p}{q}, %bn{q}",
            f"%y{p}{q} = mul i64 %x{p}{q}, {LANES}",
            f"%z{p}{q} = getelementptr double, ptr %out, i64 %y{p}{q}",
            f"%u{p}{q} = load {real}, ptr %z{p}{q}, align 8",
            f"%v{p}{q} = fadd {real} %u{p}{q}, %t{p}{q}",
            f"store {real} %v{p}{q}, ptr %z{p}{q}, align 8",
        ]
    join: Callable[[Sequence[str]], str] = "\n  ".join
    return f"""{lanes.declarations()}
define void @multiply(ptr %jobs, i64 %many, i64 %count) alignstack(64) nounwind "prefer-vector-width"="512" {{
entry:
  br label %job
job:
  %k = phi i64 [ 0, %entry ], [ %knext, %ended ]
  %place = mul i64 %k, 5
  {join(fields)}
  %half = icmp ne i64 %symmetric, 0
  br label %down
down:
  %i = phi i64 [ 0, %job ], [ %inext, %below ]
  %from = select i1 %half, i64 %i, i64 0
  {join(rows("a", "%a", "%i"))}
  br label %across
across:
  %j = phi i64 [ %from, %down ], [ %jnext, %stored ]
  {join(rows("b", "%b", "%j"))}
  br label %along
along:
  %l = phi i64 [ 0, %across ], [ %lnext, %along ]
  {join(sums)}
  {join(loads)}
  {join(step)}
  %lnext = add i64 %l, {LANES}
  %lmore = icmp ult i64 %lnext, %count
  br i1 %lmore, label %along, label %stored
stored:
  {join(ends)}
  %jnext = add i64 %j, {tile}
  %jmore = icmp ult i64 %jnext, %high
  br i1 %jmore, label %across, label %below
below:
  %inext = add i64 %i, {tile}
  %imore = icmp ult i64 %inext, %high
  br i1 %imore, label %down, label %ended
ended:
  %knext = add i64 %k, 1
  %kmore = icmp ult i64 %knext, %many
  br i1 %kmore, label %job, label %done
done:
  ret void
}}
"""
