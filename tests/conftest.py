"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder of real robots' logs and models; they are not part of the repository."""
    default = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("INERTICA_REAL_DATA", default))
    if not folder.is_dir():
        pytest.skip("no real data here; set INERTICA_REAL_DATA to their folder")
    return folder
