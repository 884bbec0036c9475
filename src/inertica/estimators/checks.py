"""What every method keeps to, also a user's own: `estimator_checks(make)`, as scikit-learn has `check_estimator` for its own.

A method says by `needs` what it asks of a problem and by `capabilities` what can be expected of it.  The checks hold it to both, on a
simulated two-joint arm or on a problem of one's own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from inertica.arrays import Array
from inertica.errors import InerticaError, InputError
from inertica.estimators.base import Capability, Estimate, Estimator, Need, Problem
from inertica.estimators.closed_loop.loop_gains import torque_gains
from inertica.excitation.files import catalog_trajectory
from inertica.experiment import ControlLoop, Experiment
from inertica.identifiability.base import base_model
from inertica.physical.check import check_model
from inertica.preprocessing.filters import Butterworth
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.layout import Parameters
from inertica.robot.load import load

ARM, GAINS = "scara2", {"kp": [25.0, 30.0], "kv": [375.9, 7.32]}
"""Robot of the example, and gains with which it follows its reference closely."""

VISCOUS = {"Fv1": 2.0, "Fv2": 0.1}
"""Its viscous friction in N m s/rad: enough for short logs to determine, so that no prior decides."""

OFF = 1.1
"""What the prior is wrong by."""

CUTOFF = 20.0
"""Hz."""

UNIT = 4.0
"""Factor on all torques; a power of two, so that numbers keep their digits."""

ROUNDING = 1e-6
"""Share of a parameter and of its standard deviation by which two ways of stating one problem may differ: sums in another order, and
solvers and iterations that stop a little earlier."""

HALF = 0.1
"""Share by which half the variance may be missed: parameters count as degrees of freedom once, however often a log is there."""


KNOWN = 0.3
"""Relative standard deviation up to which data determine a parameter; beyond, a prior may decide that only breaks ties."""


class ContractError(InerticaError):
    """A method is not what it says it is."""

    kind = "contract"


@dataclass(frozen=True, eq=False)
class MethodUnderTest:
    """A method under test.

    Args:
        make: gives it, the same one each time.
        problem: with all that it needs, and two logs.
    """

    make: Callable[[], Estimator]
    problem: Problem

    @cached_property
    def method(self) -> Estimator:
        return self.make()

    @cached_property
    def found(self) -> Estimate:
        return self.estimate(self.problem)

    def estimate(self, problem: Problem, method: Estimator | None = None) -> Estimate:
        return (method or self.make()).estimate(problem, np.random.default_rng(0))

    def can(self, *capabilities: Capability) -> bool:
        return all(c in self.method.capabilities for c in capabilities)

    def lacks(self, *capabilities: Capability) -> bool:
        return not self.method.capabilities & set(capabilities)

    def expect(self, holds: bool | np.bool_, sentence: str) -> None:
        if not holds:
            raise ContractError(f"method '{self.method.name}' {sentence}")

    def alike(self, one: Array, other: Array, sentence: str) -> None:
        """Whether two estimates of the same parameters agree."""
        # rounding is judged beside the value and beside its uncertainty: a value near zero has no digits of its own
        std = np.where(np.isfinite(self.found.std), self.found.std, 0.0)
        allowed = ROUNDING * (np.abs(self.found.beta) + std)
        worst = int(np.argmax(np.abs(one - other) - allowed))
        name = self.problem.base.names[worst]
        values = f"{name} is {one[worst]:.9g} and {other[worst]:.9g}"
        self.expect(np.all(np.abs(one - other) <= allowed), f"{sentence}: {values}")


def estimator_checks(make: Callable[[], Estimator], problem: Problem | None = None) -> tuple[str, ...]:
    """Hold a method to its contract; returns which checks applied, raises `ContractError` with a sentence where one fails.

    Args:
        make: gives the method, such as its class: `estimator_checks(Didim)`, `estimator_checks(lambda: Irls(weights="huber"))`.
        problem: with two logs and all that the method needs; a simulated two-joint arm when not given.

    Examples:
        >>> passed = ia.estimator_checks(ia.Wls)
        >>> len(passed) > 5
        True
    """
    subject = MethodUnderTest(make, problem or example_problem())
    return tuple(name for name, check in CHECKS.items() if check(subject))


@lru_cache(maxsize=1)
def example_problem() -> Problem:
    """Two short logs of a two-joint arm that follows its reference under a known control loop, with the usual noise."""
    description = load(ARM)
    true = description.prior.replaced(VISCOUS)
    description = replace(description, loop={**(description.loop or {}), **GAINS}, prior=true)
    experiment, trajectory = Experiment.of(description, noise="standard"), catalog_trajectory(ARM).trajectory
    logs = [experiment.run(trajectory, seed=3, first_run=k, duration=s)[0] for k, s in enumerate((3.0, 2.5))]
    motions = tuple(prepare(log, Recipe(filter=Butterworth(cutoff=CUTOFF))) for log in logs)
    prior = replace(true, values=OFF * true.values)
    return Problem(base_model(description.layout), motions, prior, ControlLoop.of(description))


def says_what_it_is(s: MethodUnderTest) -> bool:
    """Name, needs and capabilities are there, and the estimate has the shapes of its base parameters."""
    method, estimate, b = s.method, s.found, s.problem.base.rank
    s.expect(bool(method.name) and estimate.method == method.name, f"calls its estimate '{estimate.method}'")
    s.expect(all(isinstance(n, Need) for n in method.needs), "needs what is no `Need`")
    s.expect(all(isinstance(c, Capability) for c in method.capabilities), "can what is no `Capability`")
    s.expect(estimate.beta.shape == (b,) and np.isfinite(estimate.beta).all(), f"should find {b} base parameters")
    if s.can(Capability.COVARIANCE):
        C = estimate.covariance
        s.expect(C is not None, "should state a covariance")
        assert C is not None
        s.expect(C.shape == (b, b) and np.isfinite(C).all(), f"should state a covariance of {b} by {b} numbers")
        # as correlations, so that one tolerance holds for kg and for kg m^2
        scale = np.sqrt(np.maximum(np.diag(C), 1e-300))
        least = float(np.linalg.eigvalsh(C / np.outer(scale, scale))[0])
        s.expect(np.allclose(C, C.T, rtol=1e-6, atol=0.0) and least > -1e-9, "states a covariance that none can be")
    return True


def same_seed_same_bytes(s: MethodUnderTest) -> bool:
    """The same problem and generator give the same estimate, by the same object and by another one."""
    used = s.make()
    for again in (s.estimate(s.problem, used), s.estimate(s.problem, used)):
        s.expect(_bytes(again) == _bytes(s.found), "finds something else when it is asked again")
    return True


def _bytes(estimate: Estimate) -> bytes:
    return estimate.beta.tobytes() + (b"" if estimate.covariance is None else estimate.covariance.tobytes())


def leaves_the_problem_alone(s: MethodUnderTest) -> bool:
    """Nothing in the problem has changed afterwards."""
    before = _digest(s.problem)
    s.estimate(s.problem)
    s.expect(_digest(s.problem) == before, "changes the problem that it is given")
    return True


def keeps_units(s: MethodUnderTest) -> bool:
    """Torques, prior and gains in another unit give the same parameters in that unit; constraints would have units, too."""
    if s.problem.constraints or s.can(Capability.ABSOLUTE):
        return False
    scaled = s.estimate(in_other_unit(s.problem, UNIT))
    s.alike(scaled.beta / UNIT, s.found.beta, "finds something else when torques are in another unit")
    return True


def logs_in_any_order(s: MethodUnderTest) -> bool:
    """Which log comes first does not matter."""
    if not s.lacks(Capability.ORDER_IN_TIME, Capability.RECURSIVE, Capability.RANDOM):
        return False
    p = s.problem
    turned = replace(p, motions=p.motions[::-1], references=p.references[::-1])
    s.alike(s.estimate(turned).beta, s.found.beta, "finds something else when logs come in another order")
    return True


def twice_the_data(s: MethodUnderTest) -> bool:
    """A log given twice halves the variance of what it determines; not so with a prior, which is there once, or a choice."""
    if not s.can(Capability.COVARIANCE) or not s.lacks(Capability.PULLED, Capability.SELECTS, Capability.ORDER_IN_TIME):
        return False
    p = s.problem
    once = replace(p, motions=p.motions[:1], references=p.references[:1])
    twice = replace(once, motions=2 * once.motions, references=2 * once.references)
    estimates = [s.estimate(x) for x in (once, twice)]
    one, two = (e.std**2 for e in estimates)
    # variances of what data hardly determine are those of a prior or a regularisation, which do not halve
    known = (one > 0.0) & (np.sqrt(one) < KNOWN * np.abs(estimates[0].beta))
    s.expect(known.any(), "determines no parameter of this problem, so that its covariance cannot be checked")
    share = np.divide(two, one, out=np.full_like(one, 0.5), where=known)
    worst = int(np.argmax(np.abs(share - 0.5)))
    sentence = (
        f"the variance of {p.base.names[worst]} becomes {share[worst]:.3g} of what it was when a log is there twice, not half"
    )
    s.expect(np.all(np.abs(share - 0.5) <= 0.5 * HALF), f"does not count data: {sentence}")
    return True


def links_that_could_exist(s: MethodUnderTest) -> bool:
    """A consistent method is consistent."""
    if not s.can(Capability.CONSISTENT):
        return False
    chi, base = s.found.chi, s.problem.base
    s.expect(chi is not None, "says that it finds links that could exist, but finds no links")
    assert chi is not None
    bad = [link.name for link in check_model(Parameters(base.layout, chi)).links if not link.consistent]
    s.expect(not bad, f"finds parameters that no real body has for {', '.join(bad)}")
    return True


def says_what_is_missing(s: MethodUnderTest) -> bool:
    """Without what it needs a method refuses with a sentence that names it."""
    for need in s.method.needs:
        poorer = without(s.problem, need)
        try:
            s.estimate(poorer)
        except InputError as error:
            missing = [n.value for n in s.method.needs if not poorer.has(n)]
            named = s.method.name in str(error) and any(value in str(error) for value in missing)
            s.expect(named, f"should say that it needs {need.value}; it says: {error}")
        else:
            s.expect(False, f"says that it needs {need.value}, but does without")
    return bool(s.method.needs)


CHECKS: dict[str, Callable[[MethodUnderTest], bool]] = {
    check.__name__: check
    for check in (
        says_what_it_is,
        same_seed_same_bytes,
        leaves_the_problem_alone,
        keeps_units,
        logs_in_any_order,
        twice_the_data,
        links_that_could_exist,
        says_what_is_missing,
    )
}
"""Name -> check; False when it does not apply to the method."""


def without(problem: Problem, need: Need) -> Problem:
    """The problem without one thing that methods need."""
    match need:
        case Need.MOTION:
            return replace(problem, motions=tuple(_without_signal(m, "q") for m in problem.motions))
        case Need.TORQUE:
            return replace(problem, motions=(), references=problem.references[:1])
        case Need.LOOP:
            return replace(problem, loop=None)
        case Need.PRIOR:
            return replace(problem, prior=None)
        case Need.NOISE:
            return replace(problem, noise=None)
        case Need.REFERENCE:
            return replace(problem, motions=tuple(_without_signal(m, "qr") for m in problem.motions), references=())


def in_other_unit(problem: Problem, factor: float) -> Problem:
    """The same problem with all torques, and whatever goes with them, multiplied."""
    loop, prior, noise = problem.loop, problem.prior, problem.noise
    if loop is not None:
        most = None if loop.saturation is None else factor * loop.saturation
        gains = {name: factor * loop.gains[name] for name in torque_gains(loop)}
        inertia = None if loop.tuned_for is None else factor * loop.tuned_for
        loop = replace(loop.with_gains(**gains), saturation=most, tuned_for=inertia)
    if prior is not None:
        prior = replace(prior, values=factor * prior.values)
    if noise is not None:
        noise = replace(noise, tau=factor * noise.tau)
    return replace(problem, motions=tuple(_scaled(m, factor) for m in problem.motions), prior=prior, loop=loop, noise=noise)


def _scaled(motion: Motion, factor: float) -> Motion:
    log = replace(motion.log, signals={**motion.log.signals, "tau": factor * motion.log.signals["tau"]}, truth={})
    return replace(motion, tau=factor * motion.tau, tau_raw=factor * motion.tau_raw, log=log)


def _without_signal(motion: Motion, signal: str) -> Motion:
    return replace(
        motion, log=replace(motion.log, signals={k: v for k, v in motion.log.signals.items() if k != signal}, truth={})
    )


def _digest(value: object) -> str:
    """Of everything that a problem holds."""
    out = hashlib.sha256()
    for part in _parts(value):
        out.update(part)
    return out.hexdigest()


def _parts(value: object) -> Iterator[bytes]:
    inside: Iterable[object] = ()
    if isinstance(value, np.ndarray):
        yield value.tobytes()
    elif is_dataclass(value):
        inside = (getattr(value, f.name) for f in fields(value))
    elif isinstance(value, Mapping):
        inside = (x for item in value.items() for x in item)
    elif isinstance(value, tuple | list):
        inside = value
    else:
        yield repr(value).encode()
    for x in inside:
        yield from _parts(x)
