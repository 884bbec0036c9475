"""A recursion over rows, on the card: a thread takes a column."""

from __future__ import annotations

from threading import Lock

import numpy as np

from inertica.dynamics.cuda.device import Device
from inertica.dynamics.cuda.write import body, c_struct, resource, word
from inertica.dynamics.kernels import Array, Kernel

BLOCK = 32


class CudaScan:
    """Compiled recursion.

    Args:
        kernel: `row`, `state` and a reference -> next `row`, `state`.
        device: where it runs.
    """

    def __init__(self, kernel: Kernel, device: Device) -> None:
        self.device, self.states = device, kernel.inputs["state"].size
        self.shared = sum(kind.size for name, kind in kernel.inputs.items() if name not in ("row", "state"))
        fields = body(kernel, lambda key: f"s.{word(key[0])}[{key[1]}]", lambda key: f"s.{word(key[0])}[{key[1]}]")
        head = f"#define BLOCK {BLOCK}\n#define STATES {self.states}\n__constant__ double row[{self.shared + 1}];\n"
        text = f"INLINE void STEP(State &s) {{\n{fields}\n}}\n"
        record = c_struct("State", {"row": 1, "state": self.states})
        self._turn = Lock()
        self.module = device.compile("\n".join([resource("shell.cu"), head, record, text, resource("scan.cu")]))

    def __call__(self, rows: Array, state: Array, shared: Array, backward: bool) -> None:
        """Arrays that lie on the device stay there."""
        xp, (N, columns) = self.device.arrays, rows.shape
        signal, carried = xp.ascontiguousarray(xp.asarray(rows)), xp.ascontiguousarray(xp.asarray(state.reshape(-1, columns)))
        sizes = np.int64(columns), np.int64(N), np.int32(backward)
        with self._turn:  # the constants have one place
            self.module.constant("row", np.concatenate([np.ravel(shared), [0.0]]))
            self.module.launch("scan", columns, BLOCK, 0, (*sizes, signal, carried))
        if isinstance(rows, np.ndarray):
            rows[:], state[:] = self.device.host(signal), self.device.host(carried).reshape(state.shape)
