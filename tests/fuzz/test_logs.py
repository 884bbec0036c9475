"""Damaged and odd files, generated: always a sentence that names the file, or a log that says what is wrong with it."""

from __future__ import annotations

import gzip
import io
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from inertica.errors import FileError, InerticaError
from inertica.logs import Log, read_log
from logfiles import csv_text, motion, outcome


def fuzz(examples: int) -> settings:
    return settings(
        max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    )


def npz_bytes() -> bytes:
    t, x = motion(2, 6)
    file = io.BytesIO()
    np.savez(file, t=t, **x)
    return file.getvalue()


def mat_bytes(compressed: bool) -> bytes:
    t, x = motion(2, 6)
    file = io.BytesIO()
    scipy.io.savemat(
        file, {"run": {"t": t, **x, "note": "abc"}, "k": 2.0} if compressed else {"t": t, **x}, do_compression=compressed
    )
    return file.getvalue()


def mat73_bytes() -> bytes:
    h5py = pytest.importorskip("h5py")
    t, x = motion(2, 6)
    file = io.BytesIO()
    with h5py.File(file, "w") as archive:
        for name, values in {"t": t[:, None], **x}.items():
            archive[name] = values.T
    return file.getvalue()


def parquet_bytes() -> bytes:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    t, x = motion(2, 6)
    file = io.BytesIO()
    pq.write_table(pa.table({"t": t, **{f"{s}{j + 1}": x[s][:, j] for s in x for j in range(2)}}), file)
    return file.getvalue()


@st.composite
def damages(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    """Ways a file breaks: cut off, bytes changed, bytes lost, bytes too many."""
    where = draw(st.lists(st.floats(0.0, 1.0, exclude_max=True), min_size=1, max_size=4))
    how = draw(st.sampled_from(["cut", "change", "lose", "insert"]))
    data = draw(st.binary(min_size=1, max_size=8))

    def damage(raw: bytes) -> bytes:
        places = [int(x * len(raw)) for x in where]
        if how == "cut":
            return raw[: places[0]]
        if how == "change":
            out = bytearray(raw)
            for k, at in enumerate(places):
                out[at] = data[k % len(data)]
            return bytes(out)
        at = places[0]
        return raw[:at] + raw[at + len(data) :] if how == "lose" else raw[:at] + data + raw[at:]

    return damage


def check(path: Path) -> Log | None:
    """Read a doubtful file: no other error than ours, no log that hides a fault."""
    log = outcome(path)
    if isinstance(log, InerticaError):
        assert path.name in str(log)
        assert "\n" not in str(log)
        return None
    good = ~log.mask
    assert np.count_nonzero(good) >= 2
    assert np.all(np.diff(log.t[good]) > 0.0)
    assert bool(log.masks) <= bool(log.warnings or any("masked" in note for note in log.notes))
    for symbol in {"q", "dq", "tau"} & set(log.signals):
        values = log.signals[symbol]
        absent = ~np.isfinite(values).any(axis=0)
        assert np.isfinite(values[good][:, ~absent]).all()
        said = " ".join(log.warnings + log.notes)
        assert not absent.any() or "no value at all" in said or f"({symbol})" in said
    return log


CASES = {
    "a.csv": (lambda: csv_text().encode(), 300),
    "a.csv.gz": (lambda: gzip.compress(csv_text().encode(), mtime=0), 200),
    "a.npz": (npz_bytes, 300),
    "a.mat": (lambda: mat_bytes(False), 300),
    "packed.mat": (lambda: mat_bytes(True), 200),
    "v73.mat": (mat73_bytes, 150),
    "a.parquet": (parquet_bytes, 250),
}


@pytest.mark.parametrize("name", CASES)
def test_damaged_bytes(tmp_path: Path, name: str) -> None:
    make, examples = CASES[name]
    raw = make()
    path = tmp_path / name
    path.write_bytes(raw)
    assert check(path) is not None

    @fuzz(examples)
    @given(damages())
    def run(damage: Callable[[bytes], bytes]) -> None:
        path.write_bytes(damage(raw))
        check(path)

    run()


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz", "a.npz", "a.mat", "a.parquet"])
def test_arbitrary_bytes(tmp_path: Path, name: str) -> None:
    if name == "a.parquet":
        pytest.importorskip("pyarrow")

    @fuzz(40)
    @given(st.binary(max_size=200))
    def run(raw: bytes) -> None:
        (tmp_path / name).write_bytes(raw)
        check(tmp_path / name)

    run()


CELL = st.one_of(
    st.floats(-1e3, 1e3).map(repr),
    st.sampled_from(["nan", "inf", "-inf", "", "NaN", "1e999", "0", "-0.0", "1e-320"]),
    st.sampled_from(["x", "1.2.3", "0x10", "1_0", "1,5e", "--1", "\u0663", "1 2", '"']),
)
NUMBER = st.one_of(st.floats(-1e3, 1e3).map(repr), st.sampled_from(["nan", "inf", "", "1e999"]))


def parses(cell: str) -> bool:
    """Whether a cell is a number or a missing one, told independently of the reader."""
    text = cell.strip()
    if not text.isascii() or "_" in text:
        return False
    try:
        float(text or "nan")
    except ValueError:
        return False
    return True


@fuzz(350)
@given(st.data(), st.lists(st.integers(0, 40), min_size=2, max_size=8))
def test_contents_of_text_tables(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, clock: list[int]) -> None:
    """Cells of all sorts, wrong counts, clocks in disorder: the first fault is named by line, or every sample is accounted for."""
    path = tmp_path_factory.getbasetemp() / "contents.csv"
    cells = CELL if data.draw(st.booleans()) else NUMBER
    width = st.sampled_from([2, 2, 2, 2, 1, 3]) if data.draw(st.booleans()) else st.just(2)
    rows = [[repr(c / 8), *data.draw(st.lists(cells, min_size=(w := data.draw(width)), max_size=w))] for c in clock]
    path.write_text("t,q1,tau1\n" + "".join(",".join(row) + "\n" for row in rows), encoding="utf-8")
    plain = [",".join(row).split(",") for row in rows]
    faulty = [
        k
        for k, row in enumerate(plain)
        if not (len(row) == 3 or (len(row) == 4 and row[3] == "")) or not all(map(parses, row[:3]))
    ]
    log = outcome(path)
    if isinstance(log, InerticaError):
        if faulty:
            assert isinstance(log, FileError) and log.line == faulty[0] + 2
        else:
            assert "fewer than two" in str(log) or "cannot be seconds" in str(log)
        return
    assert not faulty
    assert len(log) == len(rows)
    wanted = np.array([[float(c or "nan") for c in row[1:3]] for row in plain])
    np.testing.assert_array_equal(np.column_stack([log.need("q"), log.need("tau")]), wanted)
    assert check(path) is not None


@fuzz(150)
@given(st.lists(st.one_of(st.floats(allow_nan=True, allow_infinity=True, width=32), st.integers(-5, 5)), min_size=2, max_size=30))
def test_clocks_of_all_sorts(tmp_path_factory: pytest.TempPathFactory, clock: list[float]) -> None:
    path = tmp_path_factory.getbasetemp() / "clock.csv"
    path.write_text("t,q1\n" + "".join(f"{t!r},1.0\n" for t in clock))
    log = check(path)
    if log is not None and not log.mask.any():
        assert all(math.isfinite(t) for t in clock)


ARRAYS = hnp.arrays(
    dtype=st.sampled_from(
        [np.float64, np.float32, np.int64, np.uint64, np.int8, np.bool_, np.complex128, np.dtype("S3"), np.dtype("M8[ms]")]
    ),
    shape=hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5),
)
NAMES = st.sampled_from(
    ["t", "time", "q", "q1", "q2", "dq", "tau", "tau1", "theta", "i", "note", "x", "stamp_ns", "q1 [deg]", "q1 [kg]"]
)


@pytest.mark.parametrize("name", ["a.npz", "a.mat"])
def test_arrays_of_all_sorts(tmp_path: Path, name: str) -> None:
    @fuzz(150)
    @given(st.dictionaries(NAMES, ARRAYS, max_size=5))
    def run(arrays: dict[str, np.ndarray]) -> None:
        if name == "a.npz":
            np.savez(tmp_path / name, **arrays)
        else:
            plain = {key: values for key, values in arrays.items() if values.dtype.kind not in "M" and key.isidentifier()}
            scipy.io.savemat(tmp_path / name, plain)
        check(tmp_path / name)

    run()


@fuzz(150)
@given(st.integers(0, 10_000))
def test_every_prefix_of_a_text_table(tmp_path_factory: pytest.TempPathFactory, at: int) -> None:
    """A file that was cut off: whole lines are kept as they are, the broken one is masked or may have lost digits at its end only."""
    text = csv_text(2, 12)
    part = text[: at % len(text)]
    path = tmp_path_factory.getbasetemp() / "prefix.csv"
    path.write_text(part)
    log = check(path)
    if log is None:
        assert part.count("\n") < 4 or "tau2\n" not in part
        return
    path.write_text(text)
    whole = read_log(path)
    lines = part.count("\n") - 1
    assert len(log) == lines + (not part.endswith("\n"))
    np.testing.assert_array_equal(log.need("tau")[:lines], whole.need("tau")[:lines])
    if len(log) > lines:
        assert log.mask[-1] or any("last number may be short" in note for note in log.notes)
