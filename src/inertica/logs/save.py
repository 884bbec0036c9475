"""Writing logs: the plain form as CSV, everything as NPZ."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from inertica.arrays import Array
from inertica.escape import csv_text, one_line
from inertica.logs.readers.npz import META
from inertica.logs.readers.table import Values
from inertica.writing import whole_file, write_whole


def write_csv(path: Path, t: Array, signals: Mapping[str, Array], comments: Sequence[str] = ()) -> None:
    """The plain form `t,q1..qn[,dq1..dqn][,qr1..qrn],tau1..taun`; numbers in the fewest digits that read back exactly."""
    header = ["t", *(f"{symbol}{j + 1}" for symbol, values in signals.items() for j in range(values.shape[1]))]
    table = np.column_stack([t, *signals.values()]).tolist()
    text = (
        "".join(f"# {one_line(c)}\n" for c in comments)
        + csv_text([header])
        + "".join(",".join(map(repr, row)) + "\n" for row in table)
    )
    write_whole(path, text)


def write_npz(path: Path, signals: Mapping[str, Array], saved: Mapping[str, Mapping[str, Values]], words: object) -> None:
    """Arrays t (N), each signal (N, n), masks and truth under names with a slash, and a JSON text with the rest."""
    beside = {f"{kind}/{name}": array for kind, named in saved.items() for name, array in named.items()}
    arrays = {**signals, **beside, META: np.array(json.dumps(words))}
    with whole_file(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)  # noise would hardly compress, and take long to
