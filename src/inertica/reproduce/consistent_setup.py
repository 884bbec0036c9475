"""Robot, data and solutions of the consistent-parameters study: what is fitted, to what, and what comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.dynamics.simulate import Noise
from inertica.dynamics.tsqr import Stacked
from inertica.errors import InputError
from inertica.estimators.base import Problem
from inertica.estimators.linear.essential import Essential
from inertica.estimators.linear.least_squares import Wls
from inertica.estimators.linear.svd import Svd, SvdEssential
from inertica.estimators.observe import Observations
from inertica.estimators.registry import method
from inertica.excitation.trapezoid import Trapezoid
from inertica.experiment import ControlLoop, Experiment, Sensors
from inertica.experiment.experiment import noise_preset
from inertica.identifiability.base import BaseModel, base_model
from inertica.logs import read_log
from inertica.logs.log import Log
from inertica.physical.check import LinkCheck, check_link
from inertica.preprocessing.filters import Butterworth
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description
from inertica.robot.drives import ToolboxCoupling
from inertica.robot.friction import law
from inertica.robot.layout import Parameters
from inertica.robot.load import load
from inertica.validation.residuals import Relative

ROBOT = "tx40_coupled"
LINKS = (2, 3, 4, 5, 6)
"""1-based links that the study looks at; of link 1 only ZZ1 acts on the torques."""

POINTS, SPEED, REACH = 11, 0.9, 0.7
"""Via points as in the paper; share of the velocity and acceleration limits, and of the joint ranges, that the motion uses (ours)."""

FIT_SEED, CHECK_SEED = 2013, 2014
"""Of the via points of the simulated motions."""

POSITION_NOISE = "old"
"""Preset that the robot's description always uses."""

TORQUE_NOISE = (0.14, 0.14, 0.14, 0.05, 0.05, 0.05)
"""Share of the rms torque: what the public record has above 50 Hz."""

CUTOFF, DECIMATE = 40.0, 40.0
"""Hz, for simulation and record alike."""

RATIOS = (30.0, 20.0, 10.0)
"""The paper stops the selection at a ratio of 10 to 30 and does not say where; the first is that of solution e."""

WITH_PRIOR = "pc-wls+entropic"

TINY = 1e-12
"""kg m^2; principal moments closer to zero than this are zero."""

TABLE_II, RETAINED, B, E, PC = "b listed", "b kept", "b", "e", "pc"
SOLUTIONS: Mapping[str, str] = {
    TABLE_II: "base parameters written among reference values, as Table II lists them",
    RETAINED: "the same fit as standard parameters, all change in the columns of the base parameters",
    B: "eq. 30: closest to the reference, all columns (method svd)",
    E: "eq. 32: essential parameters only, columns scaled (method svd-essential)",
    PC: "physically consistent least squares (method pc-wls)",
}


@dataclass(frozen=True, eq=False)
class Setup:
    """The robot of the study and the vectors it is about.

    Args:
        description: with offsets, 86 standard parameters.
        base: its base parameters.
        printed: columns ref, b and e of Table II; parameters it does not list are the catalog's and act on no torque.
        tabulated: (76,) positions of those it lists.
        reference: column ref with its likely misprints replaced.
        truth: of the simulated robot.
    """

    description: Description
    base: BaseModel
    printed: Mapping[str, Parameters]
    tabulated: NDArray[np.intp]
    reference: Parameters
    truth: Parameters

    @classmethod
    def of(cls, description: Description | None = None, rotor: bool = False) -> Setup:
        """The robot of the catalog, or a description of it.

        Args:
            description: with the coupling as its last term.
            rotor: Coulomb friction of the coupling as in eqs. 34-35, for robot and model alike; the toolbox's form otherwise.
        """
        plain = load(ROBOT) if description is None else description
        coupling = plain.layout.terms[-1]
        if rotor and isinstance(coupling, ToolboxCoupling):
            plain = plain.with_terms((*plain.layout.terms[:-1], replace(coupling, rotor=True)))
        offsets = tuple(law("offset", j) for j in range(plain.robot.n))
        whole = plain.with_terms((*plain.layout.terms[:-1], *offsets, plain.layout.terms[-1]))
        table, choices = whole.reference["table2"], whole.reference["repeated"]
        values = {name.replace("tau_off", "off"): row for name, row in table["parameters"].items()}
        printed = {
            column: whole.prior.replaced({name: row[i] for name, row in values.items()}, origin=f"Table II, {column}")
            for i, column in enumerate(table["columns"])
        }
        repaired = {name: whole.prior[name] for name in choices["replaced"]}
        printed_offsets = printed[choices["offsets_of_truth"]]
        by_name = {f"off{j + 1}": printed_offsets[f"off{j + 1}"] for j in range(whole.robot.n)}
        tabulated = np.array([whole.layout.index(name) for name in values], np.intp)
        reference = printed["ref"].replaced(repaired, origin="Table II, ref, misprints replaced")
        return cls(
            whole, base_model(whole.layout), printed, tabulated, reference, whole.prior.replaced(by_name, origin="catalog")
        )

    @property
    def published(self) -> Mapping[str, Any]:
        return self.description.reference

    def among_reference(self, beta: Array, reference: Parameters | None = None) -> Array:
        """Base parameters written over the reference: not standard parameters, the eliminated ones count twice."""
        chi = np.array((reference or self.reference).values)
        chi[self.base.retained] = beta
        return chi

    def on_kept(self, beta: Array, reference: Parameters | None = None) -> Array:
        """Standard parameters with these base parameters, the change to the reference in the kept columns alone."""
        ref = (reference or self.reference).values
        return self.among_reference(beta + ref[self.base.retained] - self.base.beta(ref), reference)

    def change(self, chi: Array, reference: Parameters | None = None) -> float:
        """norm(chi - ref) / norm(ref) over the parameters that Table II lists."""
        return _change(chi[self.tabulated], (reference or self.reference).values[self.tabulated])

    def change_of_links(self, chi: Array) -> float:
        """The same over the links' own parameters, without drives and friction."""
        where = np.concatenate([np.arange(self.base.layout.size)[self.base.layout.link(j - 1)] for j in LINKS])
        return _change(chi[where], self.reference.values[where])

    def links(self, chi: Array) -> dict[int, LinkCheck]:
        layout = self.description.layout
        return {j: check_link(f"link {j}", chi[layout.link(j - 1)]) for j in LINKS}

    @cached_property
    def fitted(self) -> Trapezoid:
        return self.motion(FIT_SEED)

    @cached_property
    def checked(self) -> Trapezoid:
        return self.motion(CHECK_SEED)

    def motion(self, seed: int) -> Trapezoid:
        """Through random points within the joint ranges, every segment as fast as the limits allow."""
        limits = self.description.robot.limits
        low, high = REACH * np.array(limits.lower), REACH * np.array(limits.upper)
        points = np.random.default_rng(seed).uniform(low, high, (POINTS, len(low)))
        points[0] = points[-1] = np.array(self.description.home)
        unit = Trapezoid(np.array([0.0, 1.0]), np.array([[0.0], [1.0]]))(np.linspace(0.0, 1.0, 1001))
        way = np.abs(np.diff(points, axis=0))
        by_speed = way * np.abs(unit.dq).max() / (SPEED * np.array(limits.velocity))
        by_push = np.sqrt(way * np.abs(unit.ddq).max() / (SPEED * np.array(limits.acceleration)))
        seconds = np.maximum(by_speed, by_push).max(axis=1)
        return Trapezoid(np.concatenate([[0.0], np.cumsum(seconds)]), points)

    def experiment(self) -> Experiment:
        """The loop of the catalog; torque noise as large as that of the record."""
        loop = ControlLoop.of(self.description)
        samples = self.fitted(np.arange(0.0, self.fitted.period, 0.01))
        torque = self.base.engine.inverse_dynamics(samples.q, samples.dq, samples.ddq, self.truth)
        noise = Noise(noise_preset(self.description, POSITION_NOISE).q, TORQUE_NOISE * np.sqrt(np.mean(torque**2, axis=0)))
        return Experiment(self.description, loop, self.truth, noise, Sensors(rate=self.published["sampling"]["rate"]))

    def simulated(self, experiment: Experiment, seed: int) -> Data:
        """Run 0 of a seed along the first motion, run 1 along the second."""
        fit = experiment.run(self.fitted, seed=seed)[0]
        return Data("simulation", _prepared(fit), _prepared(experiment.run(self.checked, seed=seed, first_run=1)[0]))

    def recorded(self, record: str) -> Data:
        """The public record of the real robot, its angles counted from our zeros."""
        log, choices = read_log(record), self.published["repeated"]["record"]
        if log.n != self.description.robot.n:
            raise InputError(f"{log.origin} has {log.n} joints, {self.description.name} has {self.description.robot.n}")
        (start, split), (_, end) = choices["fit"], choices["check"]
        if log.t[-1] < split + 0.5 * (end - split):
            raise InputError(f"{log.origin} ends at {log.t[-1]:g} s; the study fits {start:g} to {split:g} s and checks the rest")
        shifted = replace(log, signals={**log.signals, "q": log.need("q") + np.deg2rad(choices["zero"])})
        return Data("record", _prepared(shifted.sliced(start, split)), _prepared(shifted.sliced(split, end)))

    def problem(self, motion: Motion) -> Problem:
        return Problem(self.base, (motion,), self.reference)

    def solve(self, data: Data) -> Solved:
        problem = self.problem(data.fit)
        wls, b, e, pc = (m.estimate(problem) for m in (Wls(), Svd(), essential(RATIOS[0]), method("pc-wls")))
        assert b.chi is not None and e.chi is not None and pc.chi is not None
        chi = {
            TABLE_II: self.among_reference(wls.beta),
            RETAINED: self.on_kept(wls.beta),
            B: b.chi,
            E: e.chi,
            PC: pc.chi,
        }
        spread = np.zeros((self.base.layout.size, self.base.rank))
        spread[self.base.retained, np.arange(self.base.rank)] = (
            1.0  # the kept columns take all the change, one base parameter each
        )
        std = {TABLE_II: spread @ wls.std, E: spread @ e.std}
        return Solved(self, data, wls.beta, chi, std)


@dataclass(frozen=True, eq=False)
class Data:
    """A motion to fit and another one to predict."""

    name: str
    fit: Motion
    check: Motion


@dataclass(frozen=True, eq=False)
class Solved:
    """Solutions on one set of data.

    Args:
        setup, data: what was solved.
        beta: base parameters by weighted least squares.
        chi: solution -> (86,) standard parameters, as in `SOLUTIONS`.
        std: solution -> (86,) standard deviations, zero where nothing was estimated.
    """

    setup: Setup
    data: Data
    beta: Array
    chi: Mapping[str, Array]
    std: Mapping[str, Array]

    @cached_property
    def problem(self) -> Problem:
        return self.setup.problem(self.data.fit)

    @property
    def fit(self) -> Observations:
        """Rows of the motion that was fitted."""
        return self.problem.observations

    @cached_property
    def check(self) -> Observations:
        """Rows of the other motion."""
        return self.setup.problem(self.data.check).observations

    @cached_property
    def _weighted(self) -> Stacked:
        return self.fit.stacked(1.0 / self.fit.sigmas)

    def price(self, chi: Array) -> float:
        """Relative rise of the weighted residual above that of weighted least squares, the criterion that all solutions minimise."""
        w = self._weighted
        least, now = (np.hypot(np.linalg.norm(w.R @ b - w.z), w.rest) for b in (self.beta, self.setup.base.beta(chi)))
        return float(now / least - 1.0)

    def residual(self, chi: Array) -> float:
        """|y - W chi| / |y| of the filtered torque that was fitted."""
        return self.fit.relative_residual(self.setup.base.beta(chi))

    def validation(self, chi: Array) -> float:
        """The same on the other motion."""
        return self.check.relative_residual(self.setup.base.beta(chi))

    def raw(self, chi: Array) -> float:
        """The same for every sample of the unfiltered torque of the other motion."""
        m = self.data.check
        return Relative.of(m.tau_raw, self.setup.base.engine.inverse_dynamics(m.q, m.dq, m.ddq, chi)).all

    def with_prior(self) -> Array:
        """Consistent least squares that also stays near the reference."""
        estimate = method(WITH_PRIOR).estimate(self.problem)
        assert estimate.chi is not None
        return estimate.chi

    @cached_property
    def essential(self) -> Mapping[float, Essentials]:
        """Solution e for every end of the selection."""
        out = {}
        for ratio in RATIOS:
            chi = essential(ratio).estimate(self.problem).chi
            assert chi is not None
            changed = chi != self.setup.reference.values
            names = (name for name, differs in zip(self.setup.base.layout.names, changed, strict=True) if differs)
            out[ratio] = Essentials(chi, tuple(names))
        return out


@dataclass(frozen=True, eq=False)
class Essentials:
    """Solution e: chi, and the names of the parameters that were moved."""

    chi: Array
    names: tuple[str, ...]


def essential(ratio: float) -> SvdEssential:
    """The paper's rule to the letter: standard deviations of white residuals, nothing kept for being known well."""
    return SvdEssential(Essential(ratio=ratio, keep=0.0, hac=False))


def tolerance(links: Mapping[int, LinkCheck]) -> float:
    """The Cholesky tolerance with which every link passes."""
    return max(needed(link) for link in links.values())


def needed(link: LinkCheck) -> float:
    return link.cholesky_tolerance if link.mass > 0.0 else np.inf


def state(link: LinkCheck) -> str:
    """One word on a link."""
    if link.mass <= 0.0:
        return "no mass"
    if link.eigenvalues[0] < -TINY:
        return "not positive"
    if link.eigenvalues[0] <= TINY:
        return "singular"
    return "triangle" if link.triangle < 0.0 else "possible"


def in_state(links: Mapping[int, LinkCheck], *words: str) -> list[int]:
    return [j for j, link in links.items() if state(link) in words]


def _change(chi: Array, ref: Array) -> float:
    return float(np.linalg.norm(chi - ref) / np.linalg.norm(ref))


def _prepared(log: Log) -> Motion:
    return prepare(log, Recipe(filter=Butterworth(cutoff=CUTOFF), decimate=DECIMATE))
