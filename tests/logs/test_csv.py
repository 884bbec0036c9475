"""Text tables: what spreadsheets and loggers write, what breaks, and what is said about it."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from inertica.errors import FileError
from inertica.logs import read_log
from logfiles import csv_text, motion

PLAIN = "t,q1,tau1\n0,1,2\n0.1,1.5,2.5\n0.2,2,3\n"


def read(path: Path, text: str | bytes, **options: object):
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_log(path, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        PLAIN, PLAIN.replace(",", ";"), PLAIN.replace(",", "\t"), PLAIN.replace(",", "  "), PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("\n", "\r"), "\ufeff" + PLAIN, "# made today\n\n" + PLAIN, "# " + PLAIN,
        PLAIN.replace(",", ";").replace(".", ","), PLAIN.replace("t,q1,tau1", '"t", "q1" ,"tau1"'), PLAIN.replace("\n", ",\n"),
        PLAIN.replace("\n0.2", "\n\n0.2"), PLAIN + "\n\n",
    ],
)  # fmt: skip
def test_ways_to_write_the_same(tmp_path: Path, text: str) -> None:
    log = read(tmp_path / "a.csv", text)
    np.testing.assert_array_equal(log.t, [0, 0.1, 0.2])
    np.testing.assert_array_equal(log.q, [[1], [1.5], [2]])
    np.testing.assert_array_equal(log.tau, [[2], [2.5], [3]])
    assert log.warnings == ()


def test_utf16_of_spreadsheets(tmp_path: Path) -> None:
    np.testing.assert_array_equal(read(tmp_path / "a.csv", PLAIN.encode("utf-16")).q, [[1], [1.5], [2]])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is empty"),
        (b"\n  \n", "is empty"),
        ("# only\n", "holds only comments"),
        ("t,q1,tau1\n", r"a.csv:1: ends after the header"),
        ("0,1,2\n3,4,5\n", r"a.csv:1:1: the header should name the columns"),
        ("t,q1,tau1\n0,1,2\n", "holds 1 sample; a log needs two"),
        ("t,q1,q1\n0,1,2\n1,1,2\n", r"a.csv:1:3: the column 'q1' appears twice"),
        ("t,q1,tau1\n0,1,2\n1,1\n2,1,2\n", r"a.csv:3:3: this line has 2 cells, the header has 3"),
        ("t,q1,tau1\n0,1,2\n1,1,2,9\n2,1,2\n", r"a.csv:3:4: this line has 4 cells, the header has 3"),
        ("t,q1,tau1\n0,1,2\n1,1_0,2\n2,1,2\n", r"a.csv:3:2: '1_0' in the column 'q1' is no number"),
        ("t,q1,tau1\n0,1,2\n1,1,x\n2,1,2\n", r"a.csv:3:3: 'x' in the column 'tau1' is no number"),
        (b"t,q1,tau1\n0,1,2\n1,\xb0,2\n", r"a.csv:3:3: the byte 0xb0 is no UTF-8 text"),
        (b"t,q1,tau1\n0,1,\0\n1,1,2\n", r"a.csv:2:5: holds a zero byte"),
        ("t,q1,tau1\nnan,1,2\nnan,1,2\n", "the clock 't' has fewer than two values"),
        ("t,q1,tau1\n1,1,2\n1,1,2\n1,1,2\n", "fewer than two of 3 samples are usable"),
        ("t,q1 [kg],tau1\n0,1,2\n1,1,2\n", r"the column 'q1 \[kg\]' is in 'kg', which is no known unit of angle"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str | bytes, sentence: str) -> None:
    with pytest.raises(FileError if "kg" not in sentence else Exception, match=sentence):
        read(tmp_path / "a.csv", text)


def test_missing_and_infinite_values_are_masked(tmp_path: Path) -> None:
    log = read(tmp_path / "a.csv", "t,q1,tau1\n0,1,2\n1,,2\n2,1,inf\n3,1,NaN\n4,1,2\n")
    np.testing.assert_array_equal(np.flatnonzero(log.mask), [1, 2, 3])
    assert list(log.masks) == ["missing value"]
    assert any("1 values of 'q1' are missing or not finite (the first at line 3)" in w for w in log.warnings)
    assert any("2 values of 'tau1'" in w and "line 4" in w for w in log.warnings)


def test_line_that_breaks_off(tmp_path: Path) -> None:
    log = read(tmp_path / "a.csv", "t,q1,tau1\n0,1,2\n1,1,2\n2,1")
    np.testing.assert_array_equal(log.masks["incomplete line"], [False, False, True])
    assert any("breaks off in line 4" in w for w in log.warnings)


def test_gzip_that_breaks_off(tmp_path: Path) -> None:
    t, x = motion(3, 400)
    text = "t,q1,q2,q3\n" + "".join(
        f"{time!r},{','.join(map(repr, row))}\n" for time, row in zip(t.tolist(), x["q"].tolist(), strict=True)
    )
    raw = gzip.compress(text.encode())
    log = read(tmp_path / "a.csv.gz", raw[: len(raw) // 2])
    assert 100 < len(log) < 300
    assert any("the gzip stream breaks off in line" in w for w in log.warnings)
    good = ~log.mask
    np.testing.assert_array_equal(log.need("q")[good], x["q"][: len(log)][good])
    assert log.mask.sum() == 1


def test_gzip_that_is_damaged(tmp_path: Path) -> None:
    raw = bytearray(gzip.compress(csv_text().encode()))
    raw[-6] ^= 0xFF  # its checksum
    with pytest.raises(FileError, match="gzip data are damaged"):
        read(tmp_path / "a.csv.gz", bytes(raw))


def test_gzip_of_several_members(tmp_path: Path) -> None:
    head, rest = PLAIN[:20], PLAIN[20:]
    raw = gzip.compress(head.encode()) + gzip.compress(rest.encode())
    np.testing.assert_array_equal(read(tmp_path / "a.csv.gz", raw).q, [[1], [1.5], [2]])


@pytest.mark.parametrize(
    ("clock", "reason", "masked"),
    [
        ([0, 1, 2, 2, 3, 4], "time repeated", [3]),
        ([0, 1, 2, 1.5, 3, 4], "clock goes back", [3]),
        ([0, 1, 900, 3, 4, 5], "clock goes back", [2]),
        ([0, 1, 2, 0, 1, 2, 3, 0, 1, 2, 0, 1], "clock restarts", [0, 1, 2, 7, 8, 9, 10, 11]),
        ([0, 1, float("nan"), 3, 4, 5], "no time", [2]),
    ],
)
def test_clock_faults(tmp_path: Path, clock: list[float], reason: str, masked: list[int]) -> None:
    log = read(tmp_path / "a.csv", "t,q1\n" + "".join(f"{t},1\n" for t in clock))
    assert list(log.masks) == [reason]
    np.testing.assert_array_equal(np.flatnonzero(log.mask), masked)
    assert len(log.warnings) == 1
    assert f"line {masked[0] + 2}" in log.warnings[0]
    assert np.all(np.diff(log.t[~log.mask]) > 0)


@pytest.mark.parametrize(
    ("header", "values", "t", "said"),
    [
        ("time_ms", [0, 5, 10], [0, 0.005, 0.01], ""),
        ("t [us]", [10, 20, 30], [1e-5, 2e-5, 3e-5], ""),
        (
            "stamp",
            [1_700_000_000_000_000_001, 1_700_000_000_005_000_001, 1_700_000_000_010_000_001],
            [0, 0.005, 0.01],
            "ns since 1970",
        ),
        ("stamp", [1_700_000_000_000, 1_700_000_000_005, 1_700_000_000_010], [0, 0.005, 0.01], "ms since 1970"),
        ("t", [0, 5_000_000, 10_000_000], [0, 0.005, 0.01], "is in ns"),
        ("t", [0, 5, 10], [0, 5, 10], "taken for seconds"),
    ],
)
def test_clock_units(tmp_path: Path, header: str, values: list[int], t: list[float], said: str) -> None:
    log = read(tmp_path / "a.csv", f"{header},q1\n" + "".join(f"{v},1\n" for v in values))
    np.testing.assert_array_equal(log.t, t)
    words = log.notes + log.warnings
    assert any(said in word for word in words) if said else not words


def test_clock_that_cannot_be_seconds(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"advances by 4000 per sample, which cannot be seconds; state the unit"):
        read(tmp_path / "a.csv", "t,q1\n0,1\n4000,1\n8000,1\n")
    assert read(tmp_path / "a.csv", "t,q1\n0,1\n4000,1\n8000,1\n", units={"t": "us"}).t[1] == 0.004


def test_absolute_and_relative_slices(tmp_path: Path) -> None:
    text = "stamp,q1\n" + "".join(f"{1_700_000_000 + k},{k}\n" for k in range(5))
    (tmp_path / "a.csv").write_text(text)
    for spec in ("@1:3", "@1700000001:1700000003"):
        np.testing.assert_array_equal(read_log(f"{tmp_path / 'a.csv'}{spec}").t, [1, 2, 3])


@pytest.mark.parametrize("mark", [",", ";"])
def test_the_last_number_of_a_file_without_a_last_line_end_is_not_trusted(tmp_path: Path, mark: str) -> None:
    text = PLAIN if mark == "," else PLAIN.replace(",", ";").replace(".", ",")
    for cut in (1, 2):  # the line end; the line end and a digit that nobody misses
        log = read(tmp_path / "a.csv", text.rstrip("\n") + "25"[: 2 - cut])
        assert log.mask.tolist() == [False, False, True]
        assert np.isnan(log.tau[-1, 0]) and np.array_equal(log.tau[:-1], [[2], [2.5]])
        assert any("line 4, the last one, has no line end" in note for note in log.notes)


def test_lists_are_cells_of_their_own(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"a\.csv:2: a cell of this line has a list and something beside it"):
        read(tmp_path / "a.csv", "t;q;tau\n0;x[0.1, 0.2];[1, 2]\n1;[0.1, 0.2];[1, 2]\n")
