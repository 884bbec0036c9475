"""Long logs: which part of them choices are made on, and that the fit takes all of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import inertica as ia
from inertica.estimators.base import Problem
from inertica.estimators.registry import method
from inertica.excitation import catalog_trajectory
from inertica.experiment import Experiment, Sensors
from inertica.logs.log import Log
from inertica.workflow.identify import representative as subject
from inertica.workflow.identify.hold_out import HoldOut
from inertica.workflow.identify.representative import CROSSINGS, crossing_time, in_one_piece, representative
from inertica.workflow.identify.run import identify
from workflow.fitted import Fitted

CHOSEN = ("filter", "delay", "gravity", "friction")


def moving(seconds: float = 600.0, rate: float = 1000.0, seldom: tuple[float, float] = (290.0, 305.0)) -> Log:
    """The first joint moves all the time, the second one only for a while."""
    t = np.arange(round(seconds * rate)) / rate
    away = (t > seldom[0]) & (t < seldom[1])
    q = np.column_stack([np.sin(t), np.where(away, np.sin(2.0 * (t - seldom[0])), 0.0)])
    return Log.from_arrays(t, {"q": q, "tau": q})


def test_logs_that_are_not_long_are_looked_at_whole() -> None:
    log = moving(199.0)
    part = representative([log])
    assert part.whole and part.logs == (log,) and part.numbers == (0,) and not part.sentence
    fast = moving(100.0, 5000.0)  # many samples, but no longer than twice what would be taken
    assert representative([fast]).logs == (fast,)
    unseen = replace(moving(), signals={"tau": moving().need("tau")})
    assert representative([unseen]).whole


def test_stretches_are_spread_and_no_joint_is_missed() -> None:
    log = moving()
    part = representative([log])
    assert not part.whole and len(part.logs) == 5
    assert part.seconds == pytest.approx(CROSSINGS * np.pi, rel=0.01)  # a sine crosses its range in pi
    assert [int(p.t[0] // 120.0) for p in part.logs] == [0, 1, 2, 3, 4]  # one of every fifth
    for p in part.logs:
        assert np.allclose(np.diff(p.t), 1e-3) and np.array_equal(p.need("q"), log.need("q")[np.isin(log.t, p.t)])
    ways = [np.abs(np.diff(x, axis=0)).sum(axis=0) for x in (log.need("q"), *(p.need("q") for p in part.logs))]
    assert sum(ways[1:])[1] > 0.9 * ways[0][1]  # type: ignore[index]


def test_gaps_are_avoided_and_short_logs_beside_long_ones_are_kept() -> None:
    log = moving()
    lost = log.with_mask((log.t > 130.0) & (log.t < 230.0), "lost")
    assert all(p.t[-1] < 130.0 or p.t[0] > 230.0 for p in representative([lost]).logs)
    short = moving(15.0)
    part = representative([short, log])
    assert part.logs[0] is short and part.numbers[0] == 0 and set(part.numbers[1:]) == {1}
    assert part.sentence.startswith(f"{len(part.logs)} stretches")


@pytest.mark.parametrize("factor", [0.1, 10.0])
def test_stretches_do_not_depend_on_the_unit_of_time(factor: float) -> None:
    log = moving()
    scaled = Log.from_arrays(factor * log.t, dict(log.signals))
    assert crossing_time(scaled) == pytest.approx(factor * crossing_time(log))
    for one, other in (
        (representative([log]).logs, representative([scaled]).logs),
        (in_one_piece([log]), in_one_piece([scaled])),
    ):
        for a, b in zip(one, other, strict=True):
            assert b.t[[0, -1]] == pytest.approx(factor * a.t[[0, -1]], abs=2e-3 * factor)  # a sample more or less


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve seconds count as long."""
    monkeypatch.setattr(subject, "LONG", 3_000)
    monkeypatch.setattr(subject, "CROSSINGS", 2.0)
    monkeypatch.setattr(subject, "SHORTEST", 0.4)


def test_choices_are_those_of_the_part_and_the_fit_takes_all(small: None) -> None:
    experiment = Experiment.of(ia.load("scara4"), noise="standard", sensors=Sensors(rate=250.0), threads=1)
    (log,) = experiment.run(catalog_trajectory("scara4").trajectory, seed=2, duration=24.0)
    part = representative([log])
    assert len(part.logs) == 5
    result, of_part = (identify("scara4", logs, method="wls", force=True) for logs in ([log], list(part.logs)))
    own, theirs = ({c.subject: c.value for c in r.choices} for r in (result, of_part))
    assert {s: own[s] for s in CHOSEN} == {s: theirs[s] for s in CHOSEN}
    assert own["long log"] == part.sentence and "long log" not in theirs
    assert result.residuals["identification"].samples == len(log)
    intervals = next(c.sentence for c in result.choices if c.subject == "intervals")
    assert "on the stretches" in intervals and ("taken out" in intervals or "no bias" in intervals)
    beta = result.estimate.base.beta(ia.load("scara4").prior.on(result.parameters.layout).values)
    z = (result.estimate.beta - beta) / result.estimate.std
    assert np.sqrt(np.mean(z[np.isfinite(z)] ** 2)) < 2.0


def test_rows_are_shared_by_fits_with_other_masks() -> None:
    fitted = Fitted()
    problem = fitted.problem
    rest = HoldOut.of(problem.motions).rest(problem.motions)
    alone = [method("wls").estimate(p) for p in (replace(problem), replace(problem, motions=rest))]
    together = [method("wls").estimate(problem)]
    without = problem.masked(rest)
    together.append(method("wls").estimate(without))
    first, second, other = problem.observations, without.observations, _elsewhere(fitted).observations
    assert all(a.W[0] is b.W[0] for a, b in zip(first.rows(), second.rows(), strict=True))
    assert next(other.rows()).W[0] is not next(first.rows()).W[0]
    for a, b in zip(alone, together, strict=True):
        assert np.array_equal(a.beta, b.beta) and np.array_equal(a.covariance, b.covariance)
    assert not np.array_equal(alone[0].beta, alone[1].beta)


def _elsewhere(fitted: Fitted) -> Problem:
    """The same log prepared once more."""
    (motion,) = fitted.problem.motions
    return replace(fitted.problem, motions=(replace(motion, q=motion.q + 0.0),))
