"""Methods that simulate, with simulations and what follows from them on the card: the same estimates as on the processor."""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from estimators.closed import experiment_log, problem
from host_cuda import COMPILER, Host
from inertica.dynamics.batching import BatchClient, run_batched
from inertica.dynamics.cuda.target import Cuda
from inertica.dynamics.resident import MemorySpace, Resident
from inertica.estimators.base import Estimator, Problem
from inertica.estimators.closed_loop.didim import Didim
from inertica.estimators.closed_loop.iv import Iv
from inertica.estimators.closed_loop.output_error import Clie, Cloe
from inertica.estimators.closed_loop.start import FromPrior
from inertica.estimators.registry import method as named
from inertica.preprocessing.decimate import Decimator

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no g++ to run the card's text with")

EULER = {"integrator": "euler", "check_loop": False, "start": FromPrior()}
METHODS = [Didim(**EULER), Iv(**EULER), Clie(**EULER), Cloe(**EULER)]  # type: ignore[arg-type]


def seconds(run: int = 0, **recipe: object) -> Problem:
    found = problem("scara2", [experiment_log("scara2", None, run, duration=3.0)], **recipe)  # type: ignore[arg-type]
    away = 1.0 + 0.1 * np.cos(np.arange(found.base.layout.size))
    assert found.prior is not None
    return replace(found, prior=replace(found.prior, values=found.prior.values * away))


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_the_same_estimate(method: Estimator) -> None:
    native = seconds()
    card = replace(native, base=native.base.computed(target=Cuda(device=Host())))
    ours, theirs = (method.estimate(p) for p in (card, native))
    assert ours.iterations == theirs.iterations and ours.simulations == theirs.simulations
    assert np.abs(ours.beta - theirs.beta).max() < 1e-8 * np.abs(theirs.beta).max()
    assert np.allclose(ours.std, theirs.std, rtol=1e-5)
    assert np.abs(ours.beta - native.prior_beta).max() > 1e-3 * np.abs(theirs.beta).max()  # it went somewhere


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_the_same_estimate_of_decimated_records(method: Estimator, monkeypatch: pytest.MonkeyPatch) -> None:
    native = seconds(decimate=20.0)
    assert native.motions[0].decimator.ratio > 1
    card = replace(native, base=native.base.computed(target=Cuda(device=Host())))
    theirs = method.estimate(native)
    there = []

    def on_the_card(self: Decimator, values: np.ndarray, *more: object) -> np.ndarray:
        there.append(values.shape)
        return decimate_on_device(self, values, *more)  # type: ignore[arg-type]

    decimate_on_device = Decimator.decimate_on_device
    monkeypatch.setattr(Decimator, "decimate_on_device", on_the_card)
    ours = method.estimate(card)
    assert len(there) >= ours.iterations  # what is simulated is decimated there
    assert ours.iterations == theirs.iterations and ours.simulations == theirs.simulations
    assert np.abs(ours.beta - theirs.beta).max() < 1e-8 * np.abs(theirs.beta).max()
    assert np.allclose(ours.std, theirs.std, rtol=1e-5)


@pytest.mark.parametrize("name", ["ekf", "ukf"])
def test_filters_go_from_sample_to_sample_on_the_processor(name: str) -> None:
    native = seconds()
    card = replace(native, base=native.base.computed(target=Cuda(device=Host())))
    ours, theirs = (named(name).estimate(p) for p in (card, native))
    assert ours.beta.tobytes() == theirs.beta.tobytes()


def test_several_fits_side_by_side_on_the_card() -> None:
    base = seconds().base.computed(target=Cuda(device=Host()))
    problems = [replace(seconds(run), base=base) for run in (0, 1, 2)]
    alone = [METHODS[0].estimate(p).beta for p in problems]
    together = {
        k: found.beta for k, found, _ in run_batched([lambda b, p=p: METHODS[0].estimate(p.with_batch(b)) for p in problems], 3)
    }
    assert all(np.array_equal(together[k], beta) for k, beta in enumerate(alone))


@pytest.mark.parametrize(("which", "recipe"), [(0, {"decimate": 20.0}), (1, {}), (1, {"decimate": 20.0}), (2, {}), (3, {})])
def test_fits_side_by_side_multiply_in_one_thread(which: int, recipe: dict[str, float]) -> None:
    """A card's libraries keep memory for every thread that calls them: hundreds of fits side by side filled one."""
    host, method, threads = Host(), METHODS[which], set()
    base = seconds().base.computed(target=Cuda(device=host))

    def fitted(batch: BatchClient, p: Problem) -> Problem:
        threads.add(threading.get_ident())
        method.estimate(p.with_batch(batch))
        return p

    problems = [replace(seconds(run, **recipe), base=base) for run in (0, 1, 2)]
    assert len(list(run_batched([partial(fitted, p=p) for p in problems], 3))) == 3
    assert len(host.turns) >= 3 and len(set(host.turns)) == 1
    assert len(threads) == 3 and not threads & set(host.turns)


class Elsewhere:
    """Memory that counts what is copied from it."""

    arrays = np

    def __init__(self) -> None:
        self.copied = 0

    def host(self, array: np.ndarray) -> np.ndarray:
        self.copied += 1
        return np.array(array)


def test_an_array_elsewhere_is_copied_when_looked_at() -> None:
    memory, values = Elsewhere(), np.arange(24.0).reshape(2, 4, 3)
    x = Resident(memory, values)
    part = x[:, ::2][1]
    assert (x.shape, x.ndim, len(x), part.shape, memory.copied) == ((2, 4, 3), 3, 2, (2, 3), 0)
    assert x[:, np.array([3, 0])].shape == (2, 2, 3) and memory.copied == 0
    assert np.array_equal(np.asarray(part), values[1, ::2]) and memory.copied == 1
    assert np.array_equal(2.0 * part - values[1, ::2], values[1, ::2]) and memory.copied == 1  # looked at already
    assert part.max() == values[1, ::2].max() and np.array_equal(part.T, values[1, ::2].T)
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(x)[0] = 1.0
    here = MemorySpace.of(values, x)
    assert here.memory is memory and here.to_device(x) is values
    assert isinstance(here.resident(values), Resident) and MemorySpace.of(values).resident(values) is values
