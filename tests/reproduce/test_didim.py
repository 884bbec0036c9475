"""The DIDIM paper repeated in simulation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from inertica.estimators.closed_loop.didim import Didim
from inertica.estimators.closed_loop.start import Regular
from inertica.estimators.linear.least_squares import Wls
from inertica.reproduce.didim import Study
from inertica.reproduce.didim_figures import write_figures
from inertica.reproduce.didim_setup import Setup
from inertica.robot.load import load


@pytest.fixture(scope="module")
def setup() -> Setup:
    return Setup.of(load("scara2"))


def test_regular_start_converges_in_three(setup: Setup) -> None:
    fast, _, slow = setup.problems(setup.log(5))
    tuned = {"retune": True, "tuned_for": tuple(setup.inertia)}
    e = Didim(start=Regular(), **tuned).estimate(fast)  # type: ignore[arg-type]
    assert abs(e.iterations - 3) <= 1 and e.stop_reason.startswith("converged")
    error = e.beta - setup.true_beta
    assert float(error @ np.linalg.solve(e.covariance, error)) < 30.0
    at_half_hertz = Didim(start=Regular(), **tuned).estimate(slow)  # type: ignore[arg-type]
    assert setup.inertia_error(at_half_hertz.beta) < 0.1 < setup.inertia_error(Wls().estimate(slow).beta)


@pytest.mark.slow
def test_study(tmp_path: Path) -> None:
    study = Study(seeds=100)
    outcome = study.run()
    differing = [row.quantity for row in outcome.rows if row.verdict.startswith("differs")]
    assert len(differing) <= 1, differing  # some 24 parameters at 3 standard deviations: one may miss
    by_name = {row.quantity: row for row in outcome.rows}
    share = next(row for name, row in by_name.items() if "NEES below" in name)
    assert isinstance(share.ours, float) and share.ours >= 0.95
    assert by_name["E half bandwidth: mismatch reported"].ours == "yes"
    files = write_figures(study.setup, outcome, tmp_path)
    assert len(files) == 6 and all(f.stat().st_size > 5000 for f in files)
