"""Distorted start vectors: links stay possible, values are off by the stated share, the same seed gives the same bytes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import inertica as ia
from inertica.physical.check import check_links, check_model, smallest_margin
from inertica.physical.distort import distorted


def test_links_stay_possible_and_values_are_off_by_the_share() -> None:
    prior = ia.load("tx40").prior
    assert check_model(prior).consistent
    draws = [distorted(prior, np.random.default_rng([0, k])) for k in range(25)]
    assert all(check_model(d).consistent for d in draws)
    values = np.array([d.values for d in draws])
    drives = [k for k, p in enumerate(prior.layout.parameters) if p.kind not in ("inertia", "first_moment", "mass")]
    off = values[:, drives] / prior.values[drives] - 1.0
    off = off[np.isfinite(off)]
    assert 0.13 < off.std() < 0.17 and abs(off.mean()) < 4.0 * 0.15 / np.sqrt(len(off))  # about 450 normal numbers
    assert np.all(values[:, prior.values == 0.0] == 0.0)


def test_the_same_seed_gives_the_same_vector() -> None:
    prior = ia.load("tx40").prior
    one, other = (distorted(prior, np.random.default_rng(3)).values for _ in range(2))
    assert one.tobytes() == other.tobytes()


def test_models_of_links_that_cannot_exist_are_distorted_all_the_same() -> None:
    prior = ia.load("planar2").prior
    found = distorted(prior, np.random.default_rng(0))
    assert np.any(found.values != prior.values) and np.isfinite(found.values).all()


def test_smallest_margin_is_that_of_the_worst_link() -> None:
    parameters = distorted(ia.load("tx40").prior, np.random.default_rng(1))
    assert smallest_margin(parameters) == min(link.margin for link in check_links(parameters) if not link.empty)
    assert smallest_margin(replace(parameters, values=np.zeros(parameters.layout.size))) is None
