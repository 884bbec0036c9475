"""Writing logs: the plain form as CSV, everything as NPZ."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np

from inertica.errors import FileError
from inertica.logs.log import Log
from inertica.logs.tables import META


def save(log: Log, path: Path) -> None:
    """Write a log in the format of its suffix: .npz, .csv or .csv.gz."""
    name = path.name.lower()
    if name.endswith((".csv", ".csv.gz")):
        write_csv(log, path)
    elif name.endswith(".npz"):
        write_npz(log, path)
    else:
        raise FileError(path, "logs are written as .npz, .csv or .csv.gz")


def write_csv(log: Log, path: Path) -> None:
    """The plain form `t,q1..qn[,dq1..dqn][,qr1..qrn],tau1..taun`; numbers in the fewest digits that read back exactly."""
    header = ["t", *(f"{symbol}{j + 1}" for symbol in log.signals for j in range(log.n))]
    table = np.column_stack([log.t, *log.signals.values()]).tolist()
    text = ",".join(header) + "\n" + "".join(",".join(map(repr, row)) + "\n" for row in table)
    data = text.encode("ascii")
    # the time of writing is left out of the gzip header: the same log gives the same bytes
    _write(path, gzip.compress(data, 6, mtime=0) if path.name.lower().endswith(".gz") else data)


def write_npz(log: Log, path: Path) -> None:
    """Arrays t (N), each signal (N, n), masks and truth under names with a slash, and a JSON text with the rest."""
    words = {
        "joints": log.joints,
        "notes": log.notes,
        "warnings": log.warnings,
        "start": log.origin.start,
        "origin": str(log.origin),
    }
    arrays: dict[str, np.ndarray] = {"t": log.t, **log.signals}
    arrays |= {f"mask/{reason}": mask for reason, mask in log.masks.items()}
    arrays |= {f"truth/{key}": values for key, values in log.truth.items()}
    arrays[META] = np.array(json.dumps(words))
    try:
        with path.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)  # noise would hardly compress, and take long to
    except OSError as error:
        raise FileError(path, f"cannot be written: {error.strerror or error}") from None


def _write(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise FileError(path, f"cannot be written: {error.strerror or error}") from None
