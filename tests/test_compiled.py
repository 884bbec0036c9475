"""Compiled functions outlive damage to the files that keep them."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inertica.errors import ModelWarning

SOURCE = """
from inertica.compiled import njit

@njit(nogil=True)
def double(x):
    return 2.0 * x
"""


def loaded(folder: Path) -> Any:
    """The module as another process would meet it."""
    spec = importlib.util.spec_from_file_location("doubling", folder / "doubling.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A folder with a module and its compiled function."""
    (tmp_path / "doubling.py").write_text(SOURCE)
    assert loaded(tmp_path).double(1.5) == 3.0
    return tmp_path


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 4
    file.write_bytes(content)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "a flipped bit": flip,
    "cut off": lambda f: f.write_bytes(f.read_bytes()[:-9]),
    "zeros": lambda f: f.write_bytes(bytes(f.stat().st_size)),
}


def test_kept_code_is_used(kept: Path) -> None:
    module = loaded(kept)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert module.double(1.5) == 3.0
    assert module.double.stats.cache_hits


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("kind", ["nbi", "nbc"])
def test_damaged_code_is_compiled_anew_with_a_note(kept: Path, kind: str, damage: str) -> None:
    (file,) = kept.glob(f"__pycache__/*.{kind}")
    DAMAGE[damage](file)
    module = loaded(kept)
    if (kind, damage) == ("nbi", "zeros"):  # as if of another version of Numba, whose index is not read
        assert module.double(1.5) == 3.0
    else:
        with pytest.warns(ModelWarning, match="was damaged; it is compiled anew"):
            assert module.double(1.5) == 3.0
    assert not module.double.stats.cache_hits
    test_kept_code_is_used(kept)


def test_a_full_disk_costs_the_next_start_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "doubling.py").write_text(SOURCE)
    module = loaded(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile._save_index", full)
    assert module.double(1.5) == 3.0


TUPLES = """
from typing import NamedTuple
from inertica.compiled import njit

class Pair(NamedTuple):
    a: float
    b: float

@njit(nogil=True)
def double(pair):
    return 2.0 * pair.a * pair.b

def product(a, b):
    return double(Pair(a, b))
"""


def test_an_argument_type_that_was_renamed_is_compiled_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index of the cache names the types of arguments; an update of the program may have renamed one."""

    def product(text: str) -> float:
        (tmp_path / "doubling.py").write_text(text)
        module = loaded(tmp_path)
        monkeypatch.setitem(sys.modules, "doubling", module)  # where the index looks for its types
        return float(module.product(1.5, 2.0))

    assert product(TUPLES) == 6.0
    assert product(TUPLES.replace("Pair", "Factors")) == 6.0
