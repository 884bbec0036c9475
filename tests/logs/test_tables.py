"""Parquet, NPZ, MAT and LeRobot: what the format's own library wrote is read back exactly."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pytest
import scipy.io

import pair
from inertica.cli.reading import add_reading, reading_options, with_reading
from inertica.errors import FileError, InputError, MissingDependencyError
from inertica.logs import Log, read_log
from inertica.logs.readers import guard
from inertica.logs.readers.options import ReadOptions
from inertica.logs.readers.table import nanoseconds
from inertica.robot.load import load
from logfiles import motion, write_lerobot

SYMBOLS = ("q", "dq", "tau")


def assert_is_motion(log: Log) -> None:
    t, x = motion()
    np.testing.assert_array_equal(log.t, t)
    for symbol in SYMBOLS:
        np.testing.assert_array_equal(log.signals[symbol], x[symbol])
    assert log.warnings == ()
    assert not log.mask.any()


@pytest.mark.parametrize("write", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("flip", [False, True])
def test_npz(tmp_path: Path, write, flip: bool) -> None:
    t, x = motion()
    write(tmp_path / "a.npz", t=t, **{s: v.T if flip else v for s, v in x.items()}, comment="made by hand", gains=np.ones(5))
    log = read_log(tmp_path / "a.npz")
    assert_is_motion(log)
    assert any("comment" in note for note in log.notes)
    assert any("gains" in note for note in log.notes)


def test_npz_with_dates(tmp_path: Path) -> None:
    t, x = motion()
    dates = np.datetime64("2026-01-02T03:04:05", "us") + np.rint(1e6 * t).astype("m8[us]")
    dates[3] = np.datetime64("NaT", "us")
    dates[7] = np.datetime64("3000-01-01")  # more nanoseconds since 1970 than int64 holds
    np.savez(tmp_path / "a.npz", t=dates, **x)
    log = read_log(tmp_path / "a.npz")
    timed = ~log.mask
    np.testing.assert_array_equal(np.flatnonzero(log.mask), [3, 7])
    np.testing.assert_allclose(log.t[timed], t[timed], atol=1e-6)


@pytest.mark.parametrize("kind", ["M8", "m8"])
@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "100ns", "ns", "ps", "as"])
def test_no_date_wraps_around(kind: str, unit: str) -> None:
    counts = np.array([-(2**63) + 1, -(2**62), -1, 0, 1, 200, 2**40, 2**62, 2**63 - 1])
    ns = nanoseconds(counts.view(f"{kind}[{unit}]"))
    assert np.isfinite(ns[2:5]).all()
    held = ns[np.isfinite(ns)].astype(float)
    assert (np.diff(held) >= 0.0).all()  # in order, as the counts are


def test_a_matrix_in_si_units_is_not_copied(tmp_path: Path) -> None:
    t, x = motion()
    np.savez(tmp_path / "a.npz", t=t, **x)
    log = read_log(tmp_path / "a.npz")
    samples = {c.name: c.samples for c in log.channels}
    assert np.shares_memory(log.need("q"), samples["q2"])
    turned = read_log(tmp_path / "a.npz", units={"q": "deg"})
    np.testing.assert_array_equal(turned.need("q"), x["q"] * (np.pi / 180.0))
    swapped = read_log(tmp_path / "a.npz", columns={"q": ["q2", "q1", *(f"q{k + 1}" for k in range(2, x["q"].shape[1]))]})
    np.testing.assert_array_equal(swapped.need("q")[:, :2], x["q"][:, 1::-1])


def test_npz_with_columns(tmp_path: Path) -> None:
    t, x = motion()
    np.savez(tmp_path / "a.npz", time=t, **{f"{s}_{j}": x[s][:, j] for s in SYMBOLS for j in range(3)})
    assert_is_motion(read_log(tmp_path / "a.npz"))


def test_npz_never_unpickles(tmp_path: Path) -> None:
    t, x = motion()
    np.savez(tmp_path / "a.npz", t=t, **x, config=np.array([{"a": 1}], dtype=object))
    log = read_log(tmp_path / "a.npz")
    assert_is_motion(log)
    assert any("objects" in note and "config" in note for note in log.notes)


def test_npz_shapes_that_do_not_fit(tmp_path: Path) -> None:
    t, x = motion()
    np.savez(tmp_path / "a.npz", t=t, q=x["q"][1:], tau=x["tau"])
    with pytest.raises(FileError, match=r"the array 'q' has the shape \(39, 3\), but the clock has 40 samples"):
        read_log(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", name="only text")
    with pytest.raises(FileError, match="holds no array of numbers"):
        read_log(tmp_path / "b.npz")


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("flip", [False, True])
def test_mat_v5(tmp_path: Path, compressed: bool, nested: bool, flip: bool) -> None:
    t, x = motion()
    data = {"t": t, **{s: v.T if flip else v for s, v in x.items()}, "comment": "by hand"}
    cells = np.array([1, "a"], dtype=object)
    content = {"run": {"data": data, "cells": cells}, "n": 3.0, "cells": cells} if nested else data
    scipy.io.savemat(tmp_path / "a.mat", content, do_compression=compressed)
    assert_is_motion(read_log(tmp_path / "a.mat"))


def test_mat_v4(tmp_path: Path) -> None:
    t, x = motion()
    scipy.io.savemat(tmp_path / "a.mat", {"t": t, **x}, format="4")
    assert_is_motion(read_log(tmp_path / "a.mat"))


def test_mat_one_joint(tmp_path: Path) -> None:
    t, x = motion(1)
    scipy.io.savemat(tmp_path / "a.mat", {"time": t, **x})
    assert_is_motion_of_one(read_log(tmp_path / "a.mat"))


def assert_is_motion_of_one(log: Log) -> None:
    t, x = motion(1)
    np.testing.assert_array_equal(log.t, t)
    for symbol in SYMBOLS:
        np.testing.assert_array_equal(log.signals[symbol], x[symbol])


def test_mat_leaves_out_what_is_no_array(tmp_path: Path) -> None:
    t, x = motion()
    import scipy.sparse

    scipy.io.savemat(tmp_path / "a.mat", {"t": t, **x, "sparse": scipy.sparse.eye(3), "text": "abc"})
    log = read_log(tmp_path / "a.mat")
    assert_is_motion(log)
    assert any("sparse" in note and "text" in note for note in log.notes)


@pytest.mark.parametrize("nested", [False, True])
def test_mat_v73(tmp_path: Path, nested: bool) -> None:
    h5py = pytest.importorskip("h5py")
    t, x = motion()
    with h5py.File(tmp_path / "a.mat", "w", userblock_size=512) as file:
        group = file.create_group("run") if nested else file
        for name, values in {"t": t[:, None], **x}.items():  # columns first, as MATLAB writes them
            group.create_dataset(name, data=values.T, compression="gzip").attrs["MATLAB_class"] = np.bytes_("double")
        file.create_group("#refs#")["a"] = np.zeros(7)
    with (tmp_path / "a.mat").open("r+b") as raw:
        raw.write(
            b"MATLAB 7.3 MAT-file, Platform: GLNXA64, Created on: Mon Jan  1 00:00:00 2024 HDF5 schema 1.00 .".ljust(124)
            + b"\x00\x02IM"
        )
    assert_is_motion(read_log(tmp_path / "a.mat"))


@pytest.mark.parametrize("lists", [False, True])
def test_parquet(tmp_path: Path, lists: bool) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    t, x = motion()
    columns = {"time": t, "label": ["run"] * len(t)}
    for symbol in SYMBOLS:
        if lists:
            columns[symbol] = pa.array(x[symbol].tolist())
        else:
            columns |= {f"{symbol}{j + 1}": x[symbol][:, j] for j in range(3)}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet", row_group_size=7)
    log = read_log(tmp_path / "a.parquet")
    assert_is_motion(log)
    assert any("label" in note for note in log.notes)


def test_parquet_timestamps_and_nulls(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    ns = 1_700_000_000_000_000_001 + np.arange(4) * 5_000_000
    table = pa.table({"stamp": pa.array(ns, pa.timestamp("ns")), "q1": pa.array([1.0, None, 3.0, 4.0])})
    pq.write_table(table, tmp_path / "a.parquet")
    log = read_log(tmp_path / "a.parquet")
    np.testing.assert_array_equal(log.t, [0.0, 0.005, 0.01, 0.015])
    np.testing.assert_array_equal(log.mask, [False, True, False, False])
    assert any("sample 2" in w for w in log.warnings)


@pytest.mark.parametrize("version", ["v2.0", "v2.1", "v3.0"])
@pytest.mark.parametrize("names", [None, ["a", "b", "c"], {"motors": ["a.pos", "b.pos", "c.pos"]}])
def test_lerobot(tmp_path: Path, version: str, names: object) -> None:
    pytest.importorskip("pyarrow")
    if isinstance(names, dict):  # names with a suffix belong to one kind of signal each
        write_lerobot(tmp_path / "set", version, names)
        info = json.loads((tmp_path / "set" / "meta" / "info.json").read_text())
        for feature, end in (("observation.velocity", "vel"), ("observation.effort", "effort")):
            info["features"][feature]["names"] = {"motors": [f"{j}.{end}" for j in "abc"]}
        (tmp_path / "set" / "meta" / "info.json").write_text(json.dumps(info))
    else:
        write_lerobot(tmp_path / "set", version, names)
    t, x = motion()
    for episode in (0, 1):
        log = read_log(tmp_path / "set", episode=episode)
        np.testing.assert_array_equal(log.t, t)
        for symbol, source in (("q", "q"), ("dq", "dq"), ("tau", "tau"), ("qr", "q")):
            np.testing.assert_array_equal(log.signals[symbol], (x[source] + episode).astype(np.float32))
    assert log.joints == (("a", "b", "c") if names else ("joint_1", "joint_2", "joint_3"))


def test_lerobot_selection(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    write_lerobot(tmp_path / "set", "v3.0", ["a", "b", "c"])
    with pytest.raises(InputError, match=r"holds 2 episodes \(0 to 1\); name one: --episode K"):
        read_log(tmp_path / "set")
    with pytest.raises(InputError, match="has no episode 5"):
        read_log(tmp_path / "set", episode=5)
    with pytest.raises(FileError, match="has no feature 'x'"):
        read_log(tmp_path / "set", episode=0, keys={"tau": "x"})
    log = read_log(tmp_path / "set", episode=0, keys={"i": "observation.effort"}, joints=("c", "a", "b"))
    np.testing.assert_array_equal(log.current, motion()[1]["tau"][:, [2, 0, 1]].astype(np.float32))


def test_lerobot_that_is_damaged(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    write_lerobot(tmp_path / "set", "v3.0", None)
    data = tmp_path / "set" / "data" / "chunk-000" / "file-000.parquet"
    data.write_bytes(data.read_bytes()[:500])
    with pytest.raises(FileError, match="no readable LeRobot dataset"):
        read_log(tmp_path / "set")
    (tmp_path / "set" / "meta" / "info.json").write_text('{"features": ')
    with pytest.raises(FileError, match=r"info.json:1: this is no JSON"):
        read_log(tmp_path / "set")


@pytest.mark.parametrize(("name", "extra"), [("a.parquet", "parquet"), ("a.bag", "ros"), ("a.mcap", "ros")])
def test_missing_package_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, extra: str) -> None:
    def missing(module: str) -> None:
        raise ImportError(module)

    monkeypatch.setattr(guard.importlib, "import_module", missing)
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(MissingDependencyError, match=rf"pip install -e \"\S*\[{extra}\]\""):
        read_log(tmp_path / name)


def test_a_card_and_the_command_line_name_topic_episode_and_features(tmp_path: Path) -> None:
    """The same three statements, by key and by option, reach the reader; those of the command line go first."""
    model, *_ = pair.files()
    card = tmp_path / "card.yaml"
    card.write_text(f"model: {model}\ntopic: /arm/states\nepisode: 1\nfeatures: {{tau: observation.load}}\n")
    by_card = ReadOptions().completed(load(card))
    assert (by_card.topic, by_card.episode, by_card.keys) == ("/arm/states", 1, {"tau": "observation.load"})
    parser = argparse.ArgumentParser()
    add_reading(parser)
    words = ["--topic", "/hand/states", "--episode", "2", "--feature", "i=observation.current"]
    options = ReadOptions().completed(with_reading(load(card), reading_options(parser.parse_args(words))))
    assert (options.topic, options.episode, options.keys) == ("/hand/states", 2, {"i": "observation.current"})
    with pytest.raises(InputError, match="--feature should be SIGNAL=NAME"):
        reading_options(parser.parse_args(["--feature", "tau"]))
