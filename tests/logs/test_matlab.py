"""MATLAB's cells, arrays of structs and tables: what can be read is read, and what cannot is said with what to do."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from inertica.cli.main import main
from inertica.errors import FileError
from inertica.logs import read_log
from logfiles import motion
from pair import files, refused


def cells(rows: list[list[object]]) -> np.ndarray:
    out = np.empty((len(rows), len(rows[0])), object)
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            out[i, j] = value
    return out


def assert_same(path: Path) -> None:
    t, x = motion()
    log = read_log(path)
    np.testing.assert_array_equal(log.t, t)
    for symbol in ("q", "tau"):
        np.testing.assert_array_equal(log.need(symbol), x[symbol])


def test_one_cell_per_joint(tmp_path: Path) -> None:
    t, x = motion()
    content = {"t": t, **{s: cells([[x[s][:, [j]] for j in range(3)]]) for s in ("q", "tau")}}
    scipy.io.savemat(tmp_path / "a.mat", content)
    assert_same(tmp_path / "a.mat")


def test_one_cell_per_sample_inside_a_struct(tmp_path: Path) -> None:
    t, x = motion()
    inner = {"t": cells([[v] for v in t]), **{s: cells([[row[None]] for row in x[s]]) for s in ("q", "tau")}}
    scipy.io.savemat(tmp_path / "a.mat", {"data": inner})
    assert_same(tmp_path / "a.mat")


def test_cells_under_their_names(tmp_path: Path) -> None:
    t, x = motion()
    names = ["t", *(f"{s}{j + 1}" for s in ("q", "tau") for j in range(3))]
    numbers = np.column_stack([t, x["q"], x["tau"]])
    scipy.io.savemat(tmp_path / "a.mat", {"raw": cells([list(names), *(list(map(float, row)) for row in numbers)])})
    assert_same(tmp_path / "a.mat")


def test_one_struct_per_sample(tmp_path: Path) -> None:
    t, x = motion()
    kinds = np.dtype([("t", object), ("q", object), ("tau", object)])
    samples = np.array([(t[k], x["q"][k], x["tau"][k]) for k in range(len(t))], kinds)
    scipy.io.savemat(tmp_path / "a.mat", {"sample": samples})
    assert_same(tmp_path / "a.mat")


def test_cells_of_version_73(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    t, x = motion()
    with h5py.File(tmp_path / "a.mat", "w", userblock_size=512) as file:
        refs = file.create_group("#refs#")
        file.create_dataset("t", data=t[None]).attrs["MATLAB_class"] = np.bytes_("double")
        file.create_dataset("name", data=np.array([[111, 110, 101]], np.uint16)).attrs["MATLAB_class"] = np.bytes_("char")
        for symbol in ("q", "tau"):
            parts = [refs.create_dataset(f"{symbol}{j}", data=x[symbol][:, j][None]) for j in range(3)]
            held = file.create_dataset(symbol, (3, 1), h5py.ref_dtype)
            held[:, 0] = [part.ref for part in parts]
            held.attrs["MATLAB_class"] = np.bytes_("cell")
    assert_same(tmp_path / "a.mat")


def table_v5(name: bytes) -> bytes:
    """A variable of class table as MATLAB writes it, its contents left out."""

    def element(kind: int, data: bytes) -> bytes:
        return struct.pack("<II", kind, len(data)) + data + b"\0" * (-len(data) % 8)

    body = element(6, struct.pack("<II", 17, 0)) + b"".join(element(1, text) for text in (name, b"MCOS", b"table"))
    return b"MATLAB 5.0 MAT-file".ljust(124) + b"\0\1IM" + element(14, body)


def test_a_table_of_version_5_is_told_what_to_do(tmp_path: Path, capsys) -> None:
    (tmp_path / "a.mat").write_bytes(table_v5(b"recorded"))
    sentence = refused(capsys, "check", files()[0], str(tmp_path / "a.mat"))
    assert "'recorded' (table) cannot be read" in sentence and "writetable(recorded, 'log.csv')" in sentence


def test_a_table_of_version_73_is_told_what_to_do(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.mat", "w", userblock_size=512) as file:
        held = file.create_dataset("T", data=np.array([[3707764736, 2, 1, 1, 1, 1]], np.uint32))
        held.attrs["MATLAB_class"], held.attrs["MATLAB_object_decode"] = np.bytes_("timetable"), np.int32(3)
    with pytest.raises(FileError, match=r"'T' \(timetable\) cannot be read.*writetimetable\(T, 'log.csv'\)"):
        read_log(tmp_path / "a.mat")


def test_a_struct_of_arrays_is_identified(tmp_path: Path, capsys) -> None:
    robot, fit, _ = files()
    x = np.loadtxt(fit, delimiter=",", skiprows=1)
    scipy.io.savemat(tmp_path / "a.mat", {"run": {"t": x[:, 0], "q": cells([[x[:, 1], x[:, 2]]]), "tau": x[:, 3:]}})
    assert main(["check", robot, str(tmp_path / "a.mat")]) == 0
    capsys.readouterr()
