"""Candidate motions judged on a graphics card: the same matrices as on the processor."""

from __future__ import annotations

import numpy as np
import pytest

from generators import states
from host_cuda import COMPILER, Host
from inertica.dynamics.cuda.target import Cuda
from inertica.dynamics.engine import Engine
from inertica.excitation.observation import Observation
from inertica.excitation.trajectory import Samples
from inertica.robot.load import load

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no g++ to run the card's text with")


@pytest.mark.parametrize("known", [False, True])
def test_the_same_matrices_of_candidates(known: bool) -> None:
    layout, motion = load("scara2").layout, Samples(*states(0, 60, 2))
    columns = tuple(range(1, layout.size))
    given = np.random.default_rng(0).normal(size=(4, len(columns))) if known else None
    engines = Engine(layout), Engine(layout, target=Cuda(device=Host()))
    theirs, ours = (Observation(e, columns, (1.0, 3.0), 0.5, given).grams(motion, 3) for e in engines)
    assert ours.shape == (3, len(columns), len(columns))
    assert np.abs(ours - theirs).max() < 1e-12 * np.abs(theirs).max()
