"""Positions and torques of one time, where torques are measured later or earlier than positions."""

from __future__ import annotations

import numpy as np

from inertica.arrays import Array
from inertica.estimators.recursive.live import Sample


class LagBuffer:
    """Positions and torques brought to one time where torques are measured late: whichever comes first waits.

    Args:
        late: (n,) samples by which torque is late; may have fractions, and be negative.
    """

    def __init__(self, late: Array) -> None:
        most = max(float(late.max()), 0.0)
        waits = {"q": np.full(len(late), most), "dq": np.full(len(late), most), "tau": most - late}
        self._whole = {name: np.floor(w).astype(np.intp) for name, w in waits.items()}
        self._part = {name: w - np.floor(w) for name, w in waits.items()}
        size = int(max(w.max() for w in waits.values())) + 2
        self._kept = {name: np.zeros((size, len(late))) for name in waits}
        self._out = {name: np.zeros(len(late)) for name in waits}
        self._at, self._joints = -1, np.arange(len(late))

    def __call__(self, sample: Sample) -> Sample:
        first = self._at < 0
        self._at += 1
        for name, x in (("q", sample.q), ("dq", sample.dq), ("tau", sample.tau)):
            if x is None:
                continue
            ring, out = self._kept[name], self._out[name]
            if first:
                ring[:] = x
            size = len(ring)
            ring[self._at % size] = x
            near = ring[(self._at - self._whole[name]) % size, self._joints]
            far = ring[(self._at - self._whole[name] - 1) % size, self._joints]
            out[:] = near + self._part[name] * (far - near)
        return Sample(self._out["q"], self._out["tau"], None if sample.dq is None else self._out["dq"], sample.ddq)

    def many(self, q: Array, tau: Array, dq: Array | None = None) -> tuple[Array, Array, Array | None]:
        """The same of samples (m, n) that came together."""
        first, m = self._at < 0, len(q)
        self._at += m
        out: list[Array | None] = []
        for name, x in (("q", q), ("tau", tau), ("dq", dq)):
            if x is None or not m:
                out.append(x)
                continue
            ring = self._kept[name]
            size = len(ring)
            before = np.repeat(x[:1], size, axis=0) if first else ring[(self._at - m + 1 + np.arange(size)) % size]
            whole = np.vstack([before, x])
            at = size + np.arange(m)[:, None] - self._whole[name]
            near, far = whole[at, self._joints], whole[at - 1, self._joints]
            out.append(near + self._part[name] * (far - near))
            ring[(self._at - np.arange(size)) % size] = whole[-1 - np.arange(size)]
        return out[0], out[1], out[2]  # type: ignore[return-value]
