"""Finished units in little space, to carry between machines: a campaign whose pieces are computed elsewhere, on several days.

`packed` writes a unit's rows with estimates and figures to seven digits and standard deviations to three; `unpacked` reads them.
Nothing but NumPy is needed where units are computed.
"""

from __future__ import annotations

import io
import json
import lzma
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertica.campaign.rows import NUMBER, NUMBERS, SCHEMA
from inertica.errors import FileError

HEADER = "header"
SHORT = np.uint32(0xFFFF0000)
"""Bits of a single-precision number that are left of a standard deviation: three digits."""


def packed(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> bytes:
    """A unit's rows, not compressed; `None` in a column of numbers becomes NaN, which tables take alike.

    Args:
        rows: of one unit.
        names: of its base parameters.
    """
    same: dict[str, Any] = {}
    each: dict[str, list[Any]] = {}
    numbers: dict[str, NDArray[Any]] = {}
    for column, kind in SCHEMA.items():
        values = [row[column] for row in rows]
        if all(value == values[0] for value in values):
            same[column] = values[0]
        elif kind == NUMBER:
            numbers[column] = _single([np.nan if x is None else x for x in values])
        elif kind == NUMBERS:
            numbers[column] = _single([[np.nan] * len(names) if x is None else x for x in values])
        else:
            each[column] = values
    if "std" in numbers:
        numbers["std"] = (numbers["std"].view(np.uint32) & SHORT).view(np.float32)
    header = json.dumps({"names": list(names), "rows": len(rows), "same": same, "each": each}).encode()
    out = io.BytesIO()
    arrays = {HEADER: np.frombuffer(header, np.uint8)} | {name: np.ascontiguousarray(v.T) for name, v in numbers.items()}
    np.savez(out, allow_pickle=False, **arrays)
    return out.getvalue()


def unpacked(content: bytes) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Rows and names of the base parameters of a unit that `packed` wrote."""
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        header = json.loads(archive[HEADER].tobytes())
        columns = {name: [value] * header["rows"] for name, value in header["same"].items()} | header["each"]
        for name in archive.files:
            if name != HEADER:
                columns[name] = archive[name].T.astype(np.float64).tolist()
    rows = [dict(zip(SCHEMA, values, strict=True)) for values in zip(*(columns[name] for name in SCHEMA), strict=True)]
    for row in rows:
        for name, kind in SCHEMA.items():
            missing = kind == NUMBERS and name != "truth" and not row["ok"]
            row[name] = None if missing or (kind == NUMBER and row[name] != row[name]) else row[name]
    return rows, tuple(header["names"])


def write_pieces(units: Iterable[bytes], folder: Path, most: int) -> list[Path]:
    """Packed units into compressed files of at most about `most` bytes each."""
    written: list[Path] = []
    for unit in units:
        if not written or written[-1].stat().st_size + len(unit) > most:  # as if this one did not compress
            written.append(folder / f"piece-{len(written)}.xz")
            written[-1].unlink(missing_ok=True)
        with lzma.open(written[-1], "ab") as file:
            file.write(len(unit).to_bytes(8, "little") + unit)
    return written


def read_pieces(files: Iterable[Path]) -> Iterator[bytes]:
    """Packed units of files that `write_pieces` wrote."""
    for path in files:
        try:
            with lzma.open(path, "rb") as file:
                while size := file.read(8):
                    yield file.read(int.from_bytes(size, "little"))
        except (OSError, EOFError, lzma.LZMAError) as error:
            raise FileError(path, f"is no whole file of packed units ({error})") from None


def _single(values: Sequence[Any]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):  # of a figure that is beyond single precision, infinite says enough
        return np.array(values, np.float64).astype(np.float32)
