"""Parquet files, and the numbers of Arrow tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inertica.errors import FileError
from inertica.logs.readers.guard import Unpacked, package, reading
from inertica.logs.readers.options import ReadOptions
from inertica.logs.readers.table import Table, Values, columns_of, numeric

BATCH = 4096
"""Rows of a table with lists that are read at a time."""


def read(path: Path, options: ReadOptions) -> Table:
    """Columns of a Parquet file; lists of equal length count as several columns."""
    pa = package("pyarrow", "reading Parquet files", "parquet")
    with reading(path, "Parquet file", pa.ArrowException):
        table = read_columns(path, most=options.most_unpacked)
        arrays, skipped = arrow_arrays(path, table)
    if table.num_rows == 0:
        raise FileError(path, "holds no rows")
    columns, notes = columns_of(path, arrays)
    if skipped:
        notes.append(f"left out, being no numbers: {', '.join(skipped)}")
    return Table(path, "parquet", columns, notes=tuple(notes))


def read_columns(source: Any, columns: Sequence[str] | None = None, most: float | None = None) -> Any:
    """An Arrow table of a file or buffer, read in this thread: others may abort a process as it ends (apache/arrow 34314).

    Args:
        source: path or buffer.
        columns: to read; all by default.
        most: GiB that a file may unpack to, see `guard.Unpacked`; buffers are our own.
    """
    pq = package("pyarrow.parquet", "reading Parquet files", "parquet")
    with pq.ParquetFile(source) as file:
        wanted = None if columns is None else list(columns)
        if not isinstance(source, Path):
            return file.read(wanted, use_threads=False)
        packed = source.stat().st_size
        Unpacked(source, packed, most).take(_least_size(file, wanted))
        if not any(file.schema.column(c).max_repetition_level for c in range(len(file.schema))):
            return file.read(wanted, use_threads=False)
        budget, batches = Unpacked(source, packed, most), []
        for batch in file.iter_batches(BATCH, columns=wanted, use_threads=False):  # how long lists are shows here
            budget.take(batch.nbytes)
            batches.append(batch)
        pa = package("pyarrow", "reading Parquet files", "parquet")
        return pa.Table.from_batches(batches) if batches else file.read(wanted, use_threads=False)


def _least_size(file: Any, wanted: Sequence[str] | None) -> int:
    """Bytes of the columns in memory, by what the file says of itself: repeated numbers take none in it, and eight there.

    Sizes of single columns would say more, but Arrow ends the process where those of a damaged file are asked for.
    """
    metadata, schema = file.metadata, file.schema
    names = [schema.column(c).path.partition(".")[0] for c in range(len(schema))]
    numbers = 8 * int(metadata.num_rows) * sum(1 for name in names if wanted is None or name in wanted)
    if wanted is not None and not set(names) <= set(wanted):
        return numbers
    return max(numbers, sum(int(metadata.row_group(g).total_byte_size) for g in range(metadata.num_row_groups)))


def arrow_arrays(path: Path, table: Any) -> tuple[dict[str, Values], list[str]]:
    """Numeric columns of an Arrow table as numpy arrays, missing values NaN; the names of the others."""
    arrays: dict[str, Values] = {}
    skipped: list[str] = []
    for name in table.column_names:
        if name in arrays or name in skipped:
            raise FileError(path, f"has two columns '{name}'")
        column = table.column(name).combine_chunks()
        values = _arrow_values(path, name, column)
        if values is None:
            skipped.append(name)
        else:
            arrays[name] = values
    return arrays, skipped


def _arrow_values(path: Path, name: str, column: Any) -> Values | None:
    pa = package("pyarrow", "reading Parquet files", "parquet")
    pc = package("pyarrow.compute", "reading Parquet files", "parquet")
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        lengths = set(pc.list_value_length(column).to_pylist())
        if len(lengths) != 1 or None in lengths:
            raise FileError(path, f"the lists in the column '{name}' have different lengths: {sorted(map(str, lengths))[:5]}")
        flat = _arrow_values(path, name, pc.list_flatten(column))
        return None if flat is None or flat.ndim != 1 else flat.reshape(len(column), -1)
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        column = column.cast(pa.timestamp("ns") if pa.types.is_timestamp(kind) else pa.duration("ns")).cast(pa.int64())
        kind = column.type
    if pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        return None
    if column.null_count:
        column = column.cast(pa.float64(), safe=False)
    return numeric(column.to_numpy(zero_copy_only=False))
