"""R factors that take in further rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from inertica.threads import one_thread

Array = NDArray[np.float64]


def absorbed(R: Array, *rows: Array) -> Array:
    """(k, k) R factor of [R; rows]: what rows (m, k) make of the one that earlier rows have left."""
    k = R.shape[1]
    with one_thread():
        found = np.linalg.qr(np.vstack([R, *rows]), mode="r")
    out = np.zeros((k, k))
    out[: len(found)] = found
    return out
