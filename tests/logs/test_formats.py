"""The table of formats: what a new one takes, and that every line of it leads to a reader."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from inertica.errors import FileError, InputError
from inertica.logs import ReadOptions, read_log, readers
from inertica.logs.readers import formats
from inertica.logs.readers.formats import FORMATS, Format
from inertica.robot.load import load

TOY = '''"""A toy format: one sample per line, the cells separated by bars, no header."""

from pathlib import Path

import numpy as np

from inertica.logs.readers.options import ReadOptions
from inertica.logs.readers.table import Table


def read(path: Path, options: ReadOptions) -> Table:
    rows = np.array([line.split("|") for line in path.read_text().splitlines()], float)
    names = ["t", *(f"{joint}/{word}" for joint in options.joints or ("a",) for word in ("position", "torque"))]
    return Table(path, "toy", dict(zip(names, rows.T, strict=True)))
'''
"""The one file."""

LINE = Format("toy", (".toy",))
"""The one line."""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The toy's file in the folder of readers, and its line in the table."""
    (tmp_path / "readers").mkdir()
    (tmp_path / "readers" / "toy.py").write_text(TOY)
    monkeypatch.setattr(readers, "__path__", [*readers.__path__, str(tmp_path / "readers")])
    monkeypatch.setattr(formats, "FORMATS", (*FORMATS, LINE))
    yield
    sys.modules.pop("inertica.logs.readers.toy", None)


@pytest.mark.usefixtures("toy")
def test_a_new_format_is_one_file_and_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a.toy"
    path.write_text("0.0|1.0|10.0|2.0|20.0\n0.5|1.5|15.0|2.5|25.0\n1.0|2.0|20.0|3.0|30.0\n")
    robot = load("planar2")
    log = read_log(f"{path}@0.25:", robot)
    assert log.origin.format == "toy" and log.joints == robot.robot.joint_names
    np.testing.assert_array_equal(log.t, [0.5, 1.0])
    np.testing.assert_array_equal(log.need("q"), [[1.5, 2.5], [2.0, 3.0]])
    np.testing.assert_array_equal(log.need("tau"), [[15.0, 25.0], [20.0, 30.0]])
    (tmp_path / "a.xyz").write_text("")
    with pytest.raises(FileError, match=r"the suffix '\.xyz' is no known format of a log; known are \.csv.*, \.toy, "):
        read_log(tmp_path / "a.xyz")


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.module)
def test_every_line_leads_to_a_reader(form: Format) -> None:
    assert list(inspect.signature(form.read).parameters) == ["path", "options"]
    assert all(suffix == suffix.lower() and suffix.startswith(".") for suffix in form.suffixes)
    assert bool(form.mark) == bool(form.name) and (form.suffixes or form.mark)


def test_no_suffix_has_two_readers() -> None:
    suffixes = [suffix for form in FORMATS for suffix in form.suffixes]
    assert len(set(suffixes)) == len(suffixes)


def test_options_as_an_object_or_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("q1,tau1\n90,1\n180,2\n")
    options = ReadOptions(rate=4.0, units={"q": "deg"})
    for log in (read_log(path, options=options), read_log(path, rate=4.0, units={"q": "deg"})):
        np.testing.assert_array_equal(log.t, [0.0, 0.25])
        np.testing.assert_allclose(log.need("q")[:, 0], [np.pi / 2, np.pi])
    np.testing.assert_array_equal(read_log(path, options=options, rate=2.0).t, [0.0, 0.5])


def test_options_that_cannot_be() -> None:
    with pytest.raises(InputError, match="stamps cannot be 'wrong'"):
        ReadOptions(stamps="wrong")
    with pytest.raises(InputError, match="units cannot be stated for 'x'"):
        ReadOptions(units={"x": "deg"})
    with pytest.raises(InputError, match="joints names 1 joints, but planar2 has 2"):
        ReadOptions(joints=("a",)).completed(load("planar2"))
