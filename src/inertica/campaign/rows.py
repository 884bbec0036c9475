"""Rows of a store: one per (unit, run, start, decimation, filter, method), and the Parquet files that hold them."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from inertica.logs.readers.guard import package
from inertica.logs.readers.parquet import read_columns

NUMBERS, WORD, NUMBER, WHOLE, YES = "numbers", "word", "number", "whole", "yes"

SCHEMA: dict[str, str] = {
    "unit": WORD, "robot": WORD, "loop": WORD, "noise": WORD, "distribution": WORD, "quantise": NUMBER, "decimate": WHOLE,
    "filter": WORD, "method": WORD, "run": WHOLE, "start": WHOLE, "ok": YES, "error": WORD, "beta": NUMBERS, "std": NUMBERS,
    "truth": NUMBERS, "d_q": NUMBER, "d_tau": NUMBER, "d_beta": NUMBER, "d_par": NUMBER, "distance": NUMBER, "start_distance": NUMBER,
    "iterations": WHOLE, "simulations": WHOLE, "stop_reason": WORD, "converged": YES, "covered": NUMBER, "margin": NUMBER,
    "seconds": NUMBER, "cpu": NUMBER, "device": WORD, "version": WORD, "code": WORD, "spec": WORD, "robot_hash": WORD,
}  # fmt: skip
"""Column -> kind."""

TIMING = ("seconds", "cpu")
"""Columns that differ from one execution to the next."""


def arrow() -> tuple[Any, Any]:
    """pyarrow and its Parquet part, or a sentence that says how to get them."""
    purpose = "campaigns keep their rows in Parquet files, which"
    return package("pyarrow", purpose, "parquet"), package("pyarrow.parquet", purpose, "parquet")


def schema(columns: Iterable[str] = tuple(SCHEMA)) -> Any:
    pa, _ = arrow()
    kinds = {WORD: pa.string(), NUMBER: pa.float64(), WHOLE: pa.int64(), YES: pa.bool_(), NUMBERS: pa.list_(pa.float64())}
    return pa.schema([(name, kinds[SCHEMA[name]]) for name in columns])


def parquet_bytes(rows: Sequence[Mapping[str, Any]], about: Mapping[str, Any], columns: Iterable[str] = tuple(SCHEMA)) -> bytes:
    """A Parquet file; the same rows give the same bytes."""
    pa, pq = arrow()
    made = schema(columns).with_metadata({k: json.dumps(v) for k, v in about.items()})
    table = pa.Table.from_pylist([dict(row) for row in rows], schema=made)
    out = io.BytesIO()
    pq.write_table(table, out, compression="zstd")
    return out.getvalue()


def read_rows(files: Iterable[Path], columns: Sequence[str] | None = None) -> Any:
    """All rows as one Arrow table, in the order of the files."""
    pa, _ = arrow()
    tables = [_read(file, columns) for file in files]
    return pa.concat_tables([t.replace_schema_metadata(None) for t in tables]) if tables else schema().empty_table()


def read_bytes(content: bytes) -> Any:
    """Rows of a file that is in memory."""
    pa, _ = arrow()
    return _read(pa.BufferReader(content))


def _read(source: Any, columns: Sequence[str] | None = None) -> Any:
    arrow()  # whose sentence says what rows of campaigns need
    return read_columns(source, columns)


def content_hash(files: Iterable[Path]) -> str:
    """Of all rows but for their times: two stores with the same hash hold the same numbers, bit for bit."""
    out = hashlib.sha256()
    for file in files:
        table = read_rows([file]).drop_columns(list(TIMING))
        out.update(parquet_bytes(table.to_pylist(), {}, [name for name in SCHEMA if name not in TIMING]))
    return out.hexdigest()[:16]


def names_of(file: Path) -> tuple[str, ...]:
    """Names of the base parameters in a unit's file."""
    _, pq = arrow()
    return tuple(json.loads(pq.read_schema(file).metadata[b"names"]))
