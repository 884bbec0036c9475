"""Rows of one sample at a time, for control loops: a compiled kernel, its work array, and where its numbers are in that array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.dynamics.engine import Engine
from inertica.dynamics.kernels import Array, Symbols, nonzero, traced
from inertica.dynamics.llvm.native import NativeCode
from inertica.dynamics.llvm.rows import LANES, RowLayout, aligned
from inertica.dynamics.llvm.write import compiled
from inertica.dynamics.momentum import balance_kernel
from inertica.dynamics.trace import Symbol


@dataclass(frozen=True, eq=False)
class Single:
    """A compiled function of one sample, called by its address from compiled loops.

    Args:
        entries: (row, parameter) of each column.
        stored: whether columns of momentum or energy come first, those of the flow behind them.
        address: of the kernel.
        work: the array it works on, one vector per number; only the first lane counts.
        places: (4,) where q, dq, ddq and the columns begin in it; -1 for what the kernel does not take.
        code: what the address belongs to.
    """

    entries: tuple[tuple[int, int], ...]
    stored: bool
    address: int
    work: Array
    places: NDArray[np.int64]
    code: NativeCode


def single(engine: Engine, form: Literal["torque", "momentum", "power"], shapes: ArrayLike | None = None) -> Single:
    """Rows of one sample of a robot.

    Args:
        engine: the robot.
        form: what the rows say, see `inertica.estimators.forms`.
        shapes: values of nonlinear parameters.
    """
    if form == "torque":
        nonzero_entries: dict[tuple[int, int], Symbol] = {}

        def rows(x: Symbols) -> dict[str, list[Symbol]]:
            matrix = engine.equations.regressor(x["q"], x["dq"], x["ddq"], x["shapes"])
            nonzero_entries.update(nonzero(x["q"][0].graph, matrix))
            return {"out": list(nonzero_entries.values())}

        n = engine.n
        kernel = traced("single_regressor", {"q": n, "dq": n, "ddq": n, "shapes": len(engine.layout.shapes)}, rows)
        entries = tuple(nonzero_entries)
    else:
        entries, kernel = balance_kernel(engine, "momentum" if form == "momentum" else "energy")
    layout = RowLayout(LANES, {**kernel.sizes, "out": len(kernel.outputs["out"])})
    code = compiled([kernel], LANES, layout.offset)
    work = aligned(layout.count * LANES)
    layout.of(work, "shapes")[:] = engine.shape_values(shapes)[:, None]
    places = [LANES * layout.place[name].start if name in layout.place else -1 for name in ("q", "dq", "ddq", "out")]
    return Single(entries, form != "torque", code.address(kernel.name), work, np.array(places, np.int64), code)
