"""Every public function has an example in its docstring, and every example runs.

Examples take `import inertica as ia`, `import numpy as np` and the files of `tests/larder.py` for granted.
"""

from __future__ import annotations

import doctest
import inspect
import os
import warnings
from pathlib import Path

import numpy as np
import pytest

import inertica as ia
from larder import stock

FUNCTIONS = [name for name in ia.__all__ if inspect.isfunction(getattr(ia, name))]

LONG = (
    *("run_campaign", "payload_while_moving", "write_figure", "watch", "fit_friction", "add_bristles", "fit_loads", "payload"),
    *("examine", "estimator_checks"),
)
"""Whose examples take more than a few seconds."""


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples, so that logs are simulated once."""
    return tmp_path_factory.mktemp("examples")


def test_every_public_function_has_an_example() -> None:
    assert [name for name in FUNCTIONS if ">>>" not in (getattr(ia, name).__doc__ or "")] == []


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in FUNCTIONS])
def test_the_example_runs(name: str, shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = shelf / name if name == "drive_gains" else shelf  # its logs hold currents and have names of others
    shelf.mkdir(exist_ok=True)
    monkeypatch.chdir(shelf)
    (found,) = doctest.DocTestFinder(recurse=False).find(getattr(ia, name), name, globs={"ia": ia, "np": np})
    source = "".join(example.source for example in found.examples if doctest.SKIP not in example.options)
    stock(shelf, source.replace('"', " "), "drive-gains.md" if name == "drive_gains" else "")
    report: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ia.ModelWarning)
        failed, _ = doctest.DocTestRunner(verbose=False).run(found, out=report.append)
    assert not failed, "".join(report)
    assert Path(os.getcwd()) == shelf
