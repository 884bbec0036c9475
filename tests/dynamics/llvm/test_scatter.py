"""What kernels leave becomes lines of an array, whatever its width and length."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from inertica.dynamics.llvm.scatter import FEW, scatter


@pytest.mark.parametrize("width", [1, FEW, FEW + 1, 130])
@pytest.mark.parametrize("count", [0, 1, 7, 8, 23, 512])
def test_rows_become_columns(width: int, count: int) -> None:
    rng = np.random.default_rng(width + count)
    rows, columns = rng.normal(size=(width, 520)), rng.permutation(width + 3)[:width].astype(np.int64)
    for out in (np.zeros((count, width + 3)), np.zeros((count, 2 * width + 9))[:, ::2][:, : width + 3]):  # any memory will do
        expected = np.zeros(out.shape)
        expected[:, columns] = rows[:, :count].T
        scatter(rows, out, columns)
        np.testing.assert_array_equal(out, expected)


def test_wide_outputs_need_no_second_compiler() -> None:
    code = (
        "import sys, numpy as np, inertica as ia\n"
        "ia.identify, ia.Engine(ia.load('tx40').layout).regressor(*np.ones((3, 20, 6)))\n"
        "print([name for name in ('numba', 'scipy.optimize', 'scipy.signal', 'scipy.stats') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
