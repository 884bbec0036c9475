"""`Log`: immutable signals, masks, slices, saving."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from inertica.errors import FileError, InputError
from inertica.logs import Log, read_log
from inertica.logs.slices import split_slice
from logfiles import motion


@pytest.fixture
def log() -> Log:
    t, x = motion()
    return Log.from_arrays(t, x, truth={"q": x["q"] + 1e-3})


def test_arrays_are_read_only(log: Log) -> None:
    with pytest.raises(ValueError, match="read-only"):
        log.t[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        log.need("q")[0, 0] = 1.0


def test_the_callers_array_stays_writable() -> None:
    t, x = motion()
    Log.from_arrays(t, x)
    t[0] = -1.0
    x["q"][0, 0] = 3.0


def test_shapes_are_checked() -> None:
    t, x = motion()
    with pytest.raises(InputError, match=r"signal tau has the shape \(39, 3\), expected \(40, 3\)"):
        Log.from_arrays(t, {"q": x["q"], "tau": x["tau"][1:]})
    with pytest.raises(InputError, match="no signal 'torque'"):
        Log.from_arrays(t, {"torque": x["tau"]})


def test_masks_add_up(log: Log) -> None:
    first = np.arange(40) < 3
    masked = log.with_mask(first, "start").with_mask(np.arange(40) == 39, "end").with_mask(np.arange(40) == 3, "start")
    np.testing.assert_array_equal(np.flatnonzero(masked.mask), [0, 1, 2, 3, 39])
    assert masked.masks["start"].sum() == 4
    assert masked.duration == pytest.approx(34 / 128)
    assert masked.rate == pytest.approx(128.0)
    assert not log.mask.any()


def test_slice_keeps_both_ends(log: Log) -> None:
    part = log.with_mask(np.arange(40) == 9, "bad").sliced(8 / 128, 16 / 128)
    np.testing.assert_array_equal(part.t, np.arange(8, 17) / 128)
    np.testing.assert_array_equal(np.flatnonzero(part.mask), [1])
    np.testing.assert_array_equal(part.truth["q"], log.truth["q"][8:17])
    assert str(part.origin).endswith("@0.0625:0.125")


def test_a_slice_is_a_copy_also_where_the_clock_goes_back() -> None:
    t, x = motion()
    t[30] = t[12]  # lies in a slice that its neighbours do not lie in
    log = Log.from_arrays(t, x)
    for low, high, count in ((10, 20, 12), (21, 25, 5)):
        part = log.sliced(t[low], t[high])
        np.testing.assert_array_equal(part.need("q"), x["q"][(t >= t[low]) & (t <= t[high])])
        assert len(part) == count and not np.shares_memory(part.need("q"), log.need("q"))


def test_empty_slice_says_what_there_is(log: Log) -> None:
    with pytest.raises(InputError, match=r"fewer than two samples; it runs from 0 to 0\.304"):
        log.sliced(5.0, 6.0)


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.npz"])
def test_saved_and_read_back_exactly(log: Log, tmp_path: Path, name: str) -> None:
    log.save(tmp_path / name)
    back = read_log(tmp_path / name)
    np.testing.assert_array_equal(back.t, log.t)
    assert list(back.signals) == list(log.signals)
    for symbol, values in log.signals.items():
        np.testing.assert_array_equal(back.signals[symbol], values)


def test_npz_keeps_masks_truth_and_words(log: Log, tmp_path: Path) -> None:
    whole = log.with_mask(np.arange(40) < 2, "start/stop")
    whole.save(tmp_path / "a.npz")
    back = read_log(tmp_path / "a.npz")
    np.testing.assert_array_equal(back.masks["start/stop"], whole.mask)
    np.testing.assert_array_equal(back.truth["q"], log.truth["q"])
    assert back.joints == log.joints


def test_same_log_same_bytes(log: Log, tmp_path: Path) -> None:
    for name in ("a.csv.gz", "b.csv.gz"):
        log.write_csv(tmp_path / name)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


def test_saving_elsewhere(log: Log, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"logs are written as"):
        log.save(tmp_path / "a.xls")
    with pytest.raises(FileError, match="cannot be written"):
        log.save(tmp_path / "no" / "a.csv")


@pytest.mark.parametrize(
    ("spec", "file", "interval"),
    [
        ("a.csv", "a.csv", None), ("a.csv@1:2.5", "a.csv", (1.0, 2.5)), ("a.csv@:5", "a.csv", (-np.inf, 5.0)),
        ("a.csv@3:", "a.csv", (3.0, np.inf)), ("a.csv@-1e-1:.5", "a.csv", (-0.1, 0.5)),
        (r"C:\logs\a.csv@1:2", r"C:\logs\a.csv", (1.0, 2.0)),
        (r"C:\logs\a.csv", r"C:\logs\a.csv", None), ("me@home:4/a.csv", "me@home:4/a.csv", None), ("run@2.csv", "run@2.csv", None),
        ("a@1:2.csv@3:4", "a@1:2.csv", (3.0, 4.0)), ("a.csv@x:y", "a.csv@x:y", None),
    ],
)  # fmt: skip
def test_slices_in_names(spec: str, file: str, interval: tuple[float, float] | None) -> None:
    assert split_slice(spec) == (Path(file), interval)


def test_a_file_with_that_name_wins(tmp_path: Path) -> None:
    (tmp_path / "a@1:2").write_text("x")
    assert split_slice(str(tmp_path / "a@1:2")) == (tmp_path / "a@1:2", None)


def test_slice_the_wrong_way_round() -> None:
    with pytest.raises(InputError, match="ends before it begins"):
        split_slice("a.csv@3:1")


@pytest.mark.parametrize("name", ["none.csv", "a.xyz", "folder"])
def test_what_is_no_log(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.xyz").write_text("x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileError, match=r"no such file|no known format|neither a ROS 2 bag"):
        read_log(tmp_path / name)
