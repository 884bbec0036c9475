"""Packed files that unpack to more than a log can have are refused before they do; damaged ones end in a sentence."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

from fuzz.test_logs import parquet_bytes
from inertica.errors import FileError, InputError
from inertica.logs import read_log
from inertica.logs.readers import guard
from inertica.logs.readers.table import numeric
from inertica.robot.load import load
from logfiles import write_lerobot, write_mcap

MIB = 2.0**20


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits as for files of gigabytes, for files of a test."""
    monkeypatch.setattr(guard, "FREELY", 2.0 / 1024.0)


def bomb(path: Path) -> None:
    """A file of some KiB that holds many MiB of one number."""
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(b"t,q1,tau1\n" + b"0,0,0\n" * 3_000_000))
    elif path.suffix == ".npz":
        np.savez_compressed(path, t=np.arange(10) / 10, q=np.zeros((10, 1)), tau=np.zeros((10, 1)), other=np.zeros(2_000_000))
    elif path.suffix == ".parquet":
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        zeros = {name: np.zeros(2_000_000) for name in ("t", "q1", "tau1")}
        if path.stem == "lists":  # whose length only reading shows
            short = np.arange(0, 2_000_001, 400, dtype="i4")
            zeros = {"t": np.arange(5_000) / 1e3, "q": pa.ListArray.from_arrays(pa.array(short), pa.array(np.zeros(2_000_000)))}
        pq.write_table(pa.table(zeros), path)
    else:
        writer = pytest.importorskip("mcap.writer")
        kind = writer.CompressionType.LZ4 if "lz4" in path.name else writer.CompressionType.ZSTD
        with path.open("wb") as file:
            made = writer.Writer(file, compression=kind, chunk_size=1 << 25)
            made.start()
            channel = made.register_channel("/other", "json", made.register_schema("x", "jsonschema", b"{}"))
            made.add_message(channel, log_time=0, publish_time=0, data=b" " * (1 << 24))
            made.finish()


@pytest.mark.parametrize("name", ["a.csv.gz", "a.npz", "a.parquet", "lists.parquet", "a.mcap", "lz4.mcap"])
def test_what_unpacks_to_hundreds_of_times_its_size_is_refused(tmp_path: Path, strict: None, name: str) -> None:
    path = tmp_path / name
    bomb(path)
    tracemalloc.start()
    with pytest.raises(FileError, match=r"unpacks to more than .* GiB .*--most-unpacked"):
        read_log(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * MIB + 3 * max(2 * MIB, 200 * path.stat().st_size)
    with pytest.raises(FileError, match="the stated limit"):
        read_log(path, most_unpacked=1.0 / 1024.0)
    if name in ("a.npz",):
        assert len(read_log(path, most_unpacked=1.0)) == 10


READ_EACH = """
import sys
from pathlib import Path
from inertica.errors import InerticaError
from inertica.logs.read import read_log
path, whole = Path(sys.argv[1]), Path(sys.argv[1]).read_bytes()
first = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
for at in range(first, min(first + 120, len(whole) - 8)):
    damaged = bytearray(whole)
    damaged[at] ^= 64
    path.write_bytes(damaged)
    try:
        read_log(path)
    except InerticaError:
        pass
"""


def test_no_damage_of_what_parquet_says_of_its_columns_ends_the_process(tmp_path: Path) -> None:
    """Arrow aborts where sizes of single columns of a damaged file are asked for."""
    (tmp_path / "a.parquet").write_bytes(parquet_bytes())
    done = subprocess.run([sys.executable, "-c", READ_EACH, str(tmp_path / "a.parquet")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_name_that_mcap_does_not_admit_is_a_sentence_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("mcap_ros2")
    write_mcap(tmp_path / "a.mcap", compressed=False)
    content = (tmp_path / "a.mcap").read_bytes()
    (tmp_path / "a.mcap").write_bytes(content.replace(b"float64[] position", b"float64[] po\x1bition"))
    with pytest.raises(FileError, match=r"a\.mcap: this is no readable MCAP file"):
        read_log(tmp_path / "a.mcap")
    assert capsys.readouterr() == ("", "")


def test_a_feature_that_no_file_has_is_named(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    write_lerobot(tmp_path / "d", "v2.1", ["x", "y", "z"], episodes=1)
    (file,) = (tmp_path / "d" / "data").rglob("*.parquet")
    pq.write_table(pq.read_table(file).drop_columns(["observation.effort"]), file)
    with pytest.raises(FileError, match=r"parquet: has no column 'observation\.effort', which meta/info\.json names"):
        read_log(tmp_path / "d")


@pytest.mark.parametrize("name", ["a.csv", "a.npz", "a.parquet", "a.mcap", "a.urdf", "a.yaml"])
def test_devices_and_pipes_are_refused_before_they_are_read(tmp_path: Path, name: str) -> None:
    (tmp_path / name).symlink_to("/dev/zero")
    os.mkfifo(tmp_path / f"pipe-{name}")
    for path in (tmp_path / name, tmp_path / f"pipe-{name}"):
        with pytest.raises(FileError, match="this is no file but a device or a pipe"):
            load(path) if path.suffix in (".urdf", ".yaml") else read_log(path)


def test_usual_files_are_far_from_the_limits(tmp_path: Path) -> None:
    t = np.arange(20_000) / 1000.0
    np.savez_compressed(tmp_path / "a.npz", t=t, q=np.zeros((len(t), 7)), tau=np.zeros((len(t), 7)))
    assert len(read_log(tmp_path / "a.npz")) == len(t)
    with pytest.raises(InputError, match="most_unpacked should be a number of GiB"):
        read_log(tmp_path / "a.npz", most_unpacked=-1.0)


def test_features_that_reuse_names_do_not_overwrite_each_other(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    write_lerobot(tmp_path / "d", "v2.1", ["shoulder.pos", "elbow.pos", "wrist_1.pos"], episodes=1)
    log = read_log(tmp_path / "d")
    assert {"q", "dq", "tau"} <= set(log.signals)
    assert not np.allclose(log.need("q"), log.need("tau")) and not np.allclose(log.need("q"), log.need("dq"))
    write_lerobot(tmp_path / "e", "v2.1", ["elbow.pos", "elbow.pos", "wrist_1.pos"], episodes=1)
    with pytest.raises(FileError, match=r"'observation.state' gives 'elbow/position', which is there already"):
        read_log(tmp_path / "e")


def test_numbers_of_thousands_of_digits_in_json(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    write_lerobot(tmp_path / "d", "v2.1", None, episodes=1)
    info = tmp_path / "d" / "meta" / "info.json"
    info.write_text('{"fps": ' + "1" * 5000 + "}")
    with pytest.raises(FileError, match="no JSON that can be read"):
        read_log(tmp_path / "d")


def test_headers_of_arrays_that_are_no_python(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", t=np.arange(5.0))
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        raw = archive.read("t.npy")
    with zipfile.ZipFile(tmp_path / "b.npz", "w") as archive:
        archive.writestr("t.npy", raw.replace(b"{'descr'", b"({[(('''"))
    with pytest.raises(FileError, match="no readable NPZ file"):
        read_log(tmp_path / "b.npz")
    np.savez(tmp_path / "c.npz", t=np.arange(5.0), inertica_log=np.array("[" * 100_000))
    with pytest.raises(FileError, match="does not hold what inertica writes"):
        read_log(tmp_path / "c.npz")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"float64[] position", b"float64[] posi!ion"),
        (b"string[] name", b"str\xffng[] name"),
        (b"builtin_interfaces/Time", b"b" * 23),
    ],
)
def test_garbled_schemas(tmp_path: Path, old: bytes, new: bytes) -> None:
    pytest.importorskip("mcap_ros2")
    write_mcap(tmp_path / "a.mcap", compressed=False)
    raw = (tmp_path / "a.mcap").read_bytes()
    assert old in raw
    (tmp_path / "a.mcap").write_bytes(raw.replace(old, new))
    with pytest.raises(FileError, match="no readable MCAP file"):
        read_log(tmp_path / "a.mcap")


def test_times_that_nanoseconds_cannot_count() -> None:
    times = np.array(["2026-01-01T00:00:00.001", "NaT"], "M8[ms]")
    found = numeric(times[:1])
    assert found is not None and found.tolist() == [1_767_225_600_001_000_000]
    with_gap = numeric(times)
    assert with_gap is not None and np.isnan(with_gap[1]) and with_gap[0] == 1_767_225_600_001_000_000
    for late in ("2300-01-01", "-10000-01-01"):
        assert np.isnan(numeric(np.array([late], "M8[ms]"))).all()
    assert np.isnan(numeric(np.array([2**62], "m8[s]"))).all()
    assert json.dumps(numeric(np.array([3], "m8[s]")).tolist()) == "[3000000000]"  # type: ignore[union-attr]
