"""Filters by the names users type, through `identify`, too."""

from __future__ import annotations

import argparse

import numpy as np
import pytest

import inertica as ia
from estimators import closed
from inertica.cli.fitting import add_choices, settings
from inertica.errors import InputError
from inertica.preprocessing.filters import Butterworth, Equiripple, Fourier, Unfiltered, named_filter
from inertica.workflow.identify.settings import Settings


def test_names_make_filters() -> None:
    assert named_filter("none", None, 1000.0) == Unfiltered()
    assert named_filter("butterworth", 20.0, 1000.0) == Butterworth(cutoff=20.0)
    assert named_filter("fourier", 20.0, 1000.0) == Fourier(cutoff=20.0)
    assert named_filter("forward", None, 1000.0) == Equiripple(50.0, 110.0)  # the toolbox's edges
    slow = named_filter("forward", None, 140.0)
    assert isinstance(slow, Equiripple) and slow.stops < 70.0
    with pytest.raises(InputError, match="unknown filter 'forwards'; did you mean 'forward'"):
        named_filter("forwards", None, 1000.0)
    with pytest.raises(InputError, match="no filter has no cut-off"):
        named_filter("none", 20.0, 1000.0)


def test_identify_takes_them() -> None:
    description, _ = closed.robot("scara2")
    log = closed.experiment_log("scara2", None, 0)
    fixed = {"delay": 0.0, "friction": ("viscous", "coulomb"), "quick": True, "method": "wls"}
    kinds = {"forward": Equiripple, "fourier": Fourier}
    found = {name: ia.identify(description, [log], filter=name, **fixed) for name in kinds}
    for name, kind in kinds.items():
        assert isinstance(found[name].recipe.filter, kind)
    assert isinstance(ia.identify(description, [log], filter="none", **fixed).recipe.filter, Unfiltered)
    truth = closed.truth("scara2")
    off = {name: float(np.linalg.norm(r.estimate.beta - truth)) for name, r in found.items()}
    assert off["forward"] > 3.0 * off["fourier"]  # a delay of the motion against the torque is a bias


def test_what_contradicts_itself_is_refused() -> None:
    stated = argparse.ArgumentParser()
    add_choices(stated)
    assert settings(stated.parse_args(["--cutoff", "none"])).filter == "none"
    assert settings(stated.parse_args(["--filter", "forward", "--cutoff", "20"])).cutoff == 20.0
    with pytest.raises(InputError, match="--cutoff none means no filter"):
        settings(stated.parse_args(["--cutoff", "none", "--filter", "fourier"]))
    with pytest.raises(InputError, match="unknown filter"):
        Settings(filter="butterwort")
