"""The main job: from recorded logs to parameters that can be trusted, with nothing to tune."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inertica.checks.gate import Report, admitted
from inertica.errors import InerticaError, InputError
from inertica.estimators.base import Capability, Estimate, Estimator, Need, Problem
from inertica.estimators.closed_loop.torque_only import torque_only
from inertica.estimators.consistent.strategy import Settled
from inertica.estimators.intervals import noise_intervals, standard_intervals, standard_parameters
from inertica.estimators.registry import able, method
from inertica.excitation.trajectory import Trajectory
from inertica.experiment.loop import ControlLoop
from inertica.identifiability.base import BaseModel, base_model
from inertica.identifiability.labels import DETERMINED, WEAK, trust_labels
from inertica.logs.log import Log
from inertica.logs.read import read_log
from inertica.physical.cone import SolveError
from inertica.physical.geometry_prior import usable_prior
from inertica.physical.stated import Stated, stated
from inertica.preprocessing.filters import Unfiltered
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description
from inertica.robot.friction import LoadDependent, Stribeck, check_laws, law
from inertica.robot.layout import Parameters
from inertica.robot.load import load
from inertica.robot.options import friction_terms
from inertica.robot.plain import assumed_friction
from inertica.threads import one_thread
from inertica.validation.closed_loop import position_error
from inertica.validation.lack_of_fit import lack_of_fit
from inertica.validation.misfit_words import spring
from inertica.validation.residuals import Residual
from inertica.workflow.choice import Choice, Say
from inertica.workflow.delay_choice import DelaySearch
from inertica.workflow.filter_choice import FilterSearch, recipe_for
from inertica.workflow.friction_choice import SLOWEST, FrictionSearch
from inertica.workflow.hold_out import HoldOut
from inertica.workflow.inputs import check_logs, check_references
from inertica.workflow.interval_choice import assessed
from inertica.workflow.method_choice import MethodSearch
from inertica.workflow.mount_choice import FAR, Mount, MountSearch
from inertica.workflow.prediction import judged
from inertica.workflow.replay import drive_found, driven_log, loop_gains, moved, own_reference
from inertica.workflow.representative import LONG, in_one_piece, representative
from inertica.workflow.result import Result
from inertica.workflow.self_application import Replicas
from inertica.workflow.settings import Settings, check_method, prepared_method

Array = NDArray[np.float64]
LogLike = str | Path | Log

FEWEST = 50
"""Usable samples below which nothing is fitted."""


def identify(
    robot: str | Path | Description,
    logs: Sequence[LogLike],
    *,
    validate: Sequence[LogLike] = (),
    settings: Settings | None = None,
    progress: Callable[[str], None] | None = None,
    **fixed: object,
) -> Result:
    """Identify a robot from logs.

    Args:
        robot: catalog name, model file, card, or a description.
        logs: files (with `@t0:t1` slices) or logs; all enter one fit.
        validate: further ones, only predicted.
        settings: what to fix; everything else is chosen by cross-validation on the logs.
        progress: receives one line per step.
        fixed: fields of `Settings` by name, instead of `settings`.
    """
    chosen = settings or Settings(**fixed)  # type: ignore[arg-type]
    with one_thread():  # factorisations are small throughout; a second BLAS thread would only get in their way
        work = _Identification(robot, logs, validate, chosen, progress or (lambda _: None))
        try:
            return work.run()
        except InerticaError as error:
            cause = spring(work.logs, work.description.robot)  # makes logs look noisy
            if cause and cause.partition(" (")[0] not in str(error):
                error.args = (f"{error}. What may be behind it: {cause}",)
            raise


class _Identification:
    def __init__(
        self, robot: str | Path | Description, logs: Sequence[LogLike], validate: Sequence[LogLike], settings: Settings, say: Say
    ) -> None:
        self.settings, self.say = settings, say
        self.time: dict[str, float] = {}
        self._last_base: BaseModel | None = None
        self.choices: list[Choice] = []
        self.warnings: list[str] = []
        self.stated, self.replicas = Stated(), Replicas()
        self.other_laws: list[dict[str, float]] = []
        self.motions: Sequence[Motion] = ()
        self.mount: Mount
        check_method(settings)
        if not logs:
            raise InputError("identify needs at least one log")
        with self._stage("read"):
            self.description = robot if isinstance(robot, Description) else load(robot)
            self.logs = [self._read(x) for x in logs]
            self.validation = _named([self._name(x) for x in validate], [self._read(x) for x in validate])
        check_references(len(settings.references), len(self.logs), len(self.validation))
        if not self.torque_only:
            check_logs(self.logs)
        self.part = representative(self.logs)
        for log in self.logs:
            self.warnings += [f"{log.origin}: {w}" for w in log.warnings]

    def run(self) -> Result:
        with self._stage("check"):
            report = self._admitted()
        with self._stage("choose"):
            recipe = self._without_position() if self.torque_only else self._preprocessing()
            seen = self._part(recipe)
            self._check_motion(seen)
            if self._mounted(seen) > FAR:  # filter and delay were chosen for a robot that stands otherwise
                self.choices = [c for c in self.choices if c.subject == "gravity"]
                recipe = self._preprocessing()
                seen = self._part(recipe)
            description = self._friction(seen)
            motions = seen if self.part.whole else self._all_of_long(recipe)
        prior, replaced = usable_prior(description)
        description = replace(description, prior=prior)
        base = self._base(description)
        self.warnings += [*base.warnings, *([replaced] if replaced else [])]
        self.stated = stated(description)
        problem = self._problem(base, motions, description)
        part = problem if self.part.whole else self._problem(base, seen, description, self.part.numbers)
        with self._stage("choose"):
            estimator = self._method(part)
        return self._finished(description, recipe, estimator, problem, part, report)

    def _finished(
        self, description: Description, recipe: Recipe, estimator: Estimator, problem: Problem, part: Problem, report: Report
    ) -> Result:
        """Fit and judgement after all choices; `part` is what the choices were made on."""
        motions = list(problem.motions)
        with self._stage("fit"):
            fitted = self._estimated(estimator, problem)
        with self._stage("intervals"):
            estimate = self._stated(estimator, fitted, problem, description, recipe, part)
        self.warnings += [*estimate.warnings, *self._about_constraints(estimator)]
        parameters = self._standard(estimate, description)
        if self.torque_only or drive_found(estimate):
            motions = [moved(description, estimate, recipe, log, self._reference(k)) for k, log in enumerate(self.logs)]
        with self._stage("validate"):
            residuals = self._residuals(problem, description, parameters, estimate, motions, estimator)
        with self._stage("intervals"):
            intervals = self._intervals(estimate, problem, description)
        with self._stage("lack of fit"):
            pairs = [(run.problem, run.estimate) for run in self.replicas.runs]
            own = fitted if self.part.whole or not pairs else estimator.estimate(part)
            misfit = lack_of_fit(part, own, pairs, self.replicas.reason)
        self.warnings += misfit.findings
        self.motions = motions
        result = self._result(description, estimate, parameters, recipe, residuals, intervals)
        self._judge(result)
        needed = any("q" not in log.signals for log in (*self.logs, *self.validation.values()))
        references = self.settings.references if needed else ()
        speeds = tuple(float(v) for v in np.max([np.abs(m.dq).max(axis=0) for m in motions], axis=0))
        return replace(
            result,
            warnings=tuple(self.warnings),
            time=dict(self.time),
            references=references,
            speeds=speeds,
            check=report.document(),
            lack_of_fit=misfit.document(),
        )

    def _result(
        self,
        description: Description,
        estimate: Estimate,
        parameters: Parameters,
        recipe: Recipe,
        residuals: dict[str, Residual],
        intervals: Array,
    ) -> Result:
        labels = trust_labels(estimate.base, estimate.beta, estimate.std, intervals=intervals)
        labels |= {name: WEAK for name in self._too_slow(description) if labels[name] == DETERMINED}
        logs = {"identification": ", ".join(str(log.origin) for log in self.logs)}
        logs |= {name: str(log.origin) for name, log in self.validation.items()}
        found = (description, estimate, parameters, intervals, labels, recipe, tuple(self.choices), residuals)
        return Result(*found, logs=logs, gravity=self.mount.document())

    def _admitted(self) -> Report:
        """What the check says of the logs; it raises where that forbids a fit."""
        self.say("check: is the log what it says it is")
        assumed = assumed_friction(self._with_fixed_friction())
        if isinstance(wanted := self.settings.gravity, tuple):
            assumed = replace(assumed.with_gravity(wanted), gravity_stated=True)
        elif wanted == "auto":
            assumed = replace(assumed, gravity_stated=False)
        base = None if self.torque_only else self._base(assumed)
        logs = self.logs if self.part.whole else in_one_piece(self.logs)
        report = admitted(assumed, logs, force=self.settings.force, base=base)
        self.warnings += [f"check, {f.name}: {f.text}" for f in report.problems]
        return report

    def _read(self, source: LogLike) -> Log:
        log = source if isinstance(source, Log) else read_log(source, self.description)
        if log.n != self.description.robot.n:
            raise InputError(f"{log.origin} has {log.n} joints, {self.description.name} has {self.description.robot.n}")
        for symbol in ("tau",) if self._simulates and "q" not in log.signals else ("q", "tau"):
            log.need(symbol)
        return log

    @property
    def _simulates(self) -> bool:
        """Whether the method asked for simulates the loop and does without a measured motion."""
        return self.settings.method != "auto" and Need.MOTION not in method(self.settings.method).needs

    @property
    def torque_only(self) -> bool:
        return any("q" not in log.signals for log in self.logs)

    def _without_position(self) -> Recipe:
        """Nothing is filtered, since there is nothing to filter."""
        why = "none: no position was recorded, and the simulated motion needs no filter"
        self.choices.append(Choice("filter", "none", why))
        return Recipe(filter=Unfiltered(), decimate=self.settings.decimate, delay=self.settings.delay or 0.0)

    def _prepared(self, log: Log, recipe: Recipe, k: int) -> Motion:
        """The k-th log, or a slice of it, for the fit."""
        return prepare(log, recipe) if "q" in log.signals else torque_only(log, recipe, self._reference(k))

    def _part(self, recipe: Recipe) -> list[Motion]:
        """What choices are made on, prepared."""
        return [self._prepared(log, recipe, k) for k, log in zip(self.part.numbers, self.part.logs, strict=True)]

    def _all_of_long(self, recipe: Recipe) -> list[Motion]:
        """All of logs of which only a part was looked at so far."""
        value = self.part.sentence
        why = f"{value}; everything above and the method were chosen on them, the fit and its residuals take all of the data"
        self.choices.append(Choice("long log", value, why))
        return [prepare(log, recipe) for log in self.logs]

    def _reference(self, k: int) -> Trajectory | None:
        """What the controller followed in the k-th log, validation logs counted after the others."""
        return own_reference(self.settings.references, k)

    def _references(self, numbers: Sequence[int]) -> tuple[Trajectory, ...]:
        """What the controller followed in logs or stretches of these numbers; none when the logs say it."""
        found = [self._reference(k) for k in numbers]
        return tuple(r for r in found if r is not None)

    def _validation_motion(self, k: int, log: Log, description: Description, estimate: Estimate, recipe: Recipe) -> Motion:
        """The k-th validation log; its own reference columns come before a trajectory stated for all."""
        given = None if "qr" in log.signals else self._reference(len(self.logs) + k)
        return moved(description, estimate, replace(recipe, rate=None).for_prediction, log, given)

    def _problem(
        self, base: BaseModel, motions: Sequence[Motion], description: Description, numbers: Sequence[int] = ()
    ) -> Problem:
        """With the control loop when the method asked for simulates it; `numbers` of the logs that the motions are stretches of."""
        needs = frozenset() if self.settings.method == "auto" else method(self.settings.method).needs
        loop = ControlLoop.of(description) if Need.LOOP in needs else None
        given = self._references(numbers) if numbers else self.settings.references[: len(motions)]
        return Problem(base, tuple(motions), description.prior, loop, references=given, constraints=self.stated.constraints)

    def _about_constraints(self, estimator: Estimator) -> list[str]:
        """What became of the constraints that the card states."""
        notes = list(self.stated.notes)
        if self.stated.constraints and Capability.TAKES_CONSTRAINTS not in estimator.capabilities:
            listed = ", ".join(able(Capability.TAKES_CONSTRAINTS))
            notes.append(f"the card's constraints are used by physically consistent methods only ({listed})")
        return notes

    def _name(self, source: LogLike) -> str:
        return str(source.origin) if isinstance(source, Log) else str(source)

    def _preprocessing(self) -> Recipe:
        s = self.settings
        assumed = assumed_friction(self._with_fixed_friction())
        recorded = all(log.dq is not None for log in self.logs)
        recipe = Recipe(velocity=s.velocity or ("recorded" if recorded else "differences"))  # type: ignore[arg-type]
        if s.cutoff is not None:
            recipe = recipe_for(s.cutoff, min(log.rate for log in self.logs), recipe)
            self._fixed("filter", f"fit and predictions up to {s.cutoff:g} Hz, velocity: {recipe.velocity}")
        else:
            velocities, base = (s.velocity,) if s.velocity else None, self._base(assumed)
            recipe, choice = FilterSearch(assumed, self.part.logs, recipe, self.say, velocities, base).run()  # type: ignore[arg-type]
            self.choices.append(choice)
        if s.decimate is not None:
            recipe = replace(recipe, decimate=s.decimate, ratio=None)
        return self._delay(assumed, recipe)

    def _base(self, description: Description) -> BaseModel:
        """Base parameters of a layout; the last ones are kept, since tracing their kernels takes a while."""
        if self._last_base is None or self._last_base.layout != description.layout:
            self._last_base = base_model(description.layout)
        return self._last_base

    def _delay(self, assumed: Description, recipe: Recipe) -> Recipe:
        if self.settings.delay is not None:
            self._fixed("delay", str(self.settings.delay))
            return replace(recipe, delay=self.settings.delay)
        held = self.settings.method_can(Capability.HOLDS_TORQUE)
        recipe, choice = DelaySearch(assumed, self.part.logs, recipe, self.say, self._base(assumed), held).run()
        self.choices.append(choice)
        return recipe

    def _with_fixed_friction(self) -> Description:
        if self.settings.friction is None:
            return self.description
        d = self.description
        dropped = set(friction_terms(d.layout.terms))
        laws = [law(name, j) for j in range(d.robot.n) for name in self.settings.friction]
        check_laws(laws)
        stated = d.with_terms((*(t for t in d.layout.terms if t not in dropped), *laws))
        return replace(stated.with_loads(), friction_stated=True)

    def _mounted(self, motions: list[Motion]) -> float:
        """How the robot is mounted, for all that follows; degrees by which the data have turned gravity."""
        wanted, d = self.settings.gravity, self.description
        if isinstance(wanted, tuple):
            self.mount = Mount.given(wanted, d.robot.gravity, "given, not chosen")
            self.description = d.with_gravity(wanted)
        elif wanted is None and d.gravity_given:
            self.mount = Mount.given(d.robot.gravity, d.robot.gravity, "as the card or model file states")
        elif self.torque_only:
            self.mount = Mount.given(
                d.robot.gravity, d.robot.gravity, "as in the model file; no position was recorded to test it on"
            )
        else:
            assumed = self._with_fixed_friction()
            base = self._base(assumed_friction(assumed))
            found, _, self.mount = MountSearch(assumed, motions, self.say, base).run()
            self.description = d.with_gravity(found.robot.gravity)
        self.choices.append(self.mount.choice)
        return self.mount.angle if self.mount.accepted else 0.0

    def _friction(self, motions: list[Motion]) -> Description:
        description = self._with_fixed_friction()
        if self.torque_only and not description.friction_stated:
            description = assumed_friction(description)
            why = "viscous and coulomb: assumed, since no position was recorded that laws could be compared on"
            self.choices.append(Choice("friction", "viscous and coulomb", why))
            return description
        if description.friction_stated:
            self._fixed("friction", "as the card or the command states")
            loaded = [t.at for t in description.layout.terms if isinstance(t, LoadDependent)]
            if loaded and not self.torque_only:
                return description.with_loads(FrictionSearch(description, motions, self.say).carried_by(loaded))
            return description
        search = FrictionSearch(description, motions, self.say)
        found, choice = search.run()
        self.choices.append(choice)
        self.other_laws = search.changes()
        return found

    def _method(self, problem: Problem) -> Estimator:
        if self.settings.method != "auto":
            options = self.settings.method_options
            listed = "".join(f", {name} {word}" for name, word in options.items())
            self._fixed("method", f"{method(self.settings.method).name}{listed}")
            return prepared_method(self.settings.method, self.description, options)
        self.say("method: comparing on data left out")
        estimator, choice = MethodSearch(problem, self.settings.quick).run()
        self.choices.append(choice)
        return estimator

    def _estimated(self, estimator: Estimator, problem: Problem) -> Estimate:
        self.say(f"fit: {estimator.name}")
        estimate = estimator.estimate(problem)
        if not estimate.iterations:  # the start itself
            raise InerticaError(f"{estimator.name}: {estimate.warnings[-1]}")
        strategy = None if estimate.evidence is None else estimate.evidence.strategy
        if isinstance(strategy, Settled) and strategy.mildness is not None:
            at = next(i for i, c in enumerate(self.choices) if c.subject == "method")
            self.choices[at] = replace(self.choices[at], sentence=f"{self.choices[at].sentence}; {strategy.mildness.sentence}")
        return estimate

    def _stated(
        self,
        estimator: Estimator,
        estimate: Estimate,
        problem: Problem,
        description: Description,
        recipe: Recipe,
        part: Problem,
    ) -> Estimate:
        """The estimate with the bias of the pipeline taken out where the loop is known, and with intervals that hold."""
        self.say("intervals: noise and blocks" + ("" if self.settings.quick else ", bias of filter and method"))
        stated, self.replicas = assessed(
            description, self._standard(estimate, description), estimate, self.part.logs, recipe, problem, estimator,
            references=self._references(self.part.numbers), quick=self.settings.quick, part=None if self.part.whole else part,
            alternatives=[estimate.beta + np.array([c.get(name, 0.0) for name in estimate.base.names]) for c in self.other_laws],
        )  # fmt: skip
        self.choices.append(stated.choice)
        return stated.estimate

    def _standard(self, estimate: Estimate, description: Description) -> Parameters:
        chi = standard_parameters(estimate, description.prior)
        return Parameters(description.layout, chi, description.prior.shapes, "identified")

    def _intervals(self, estimate: Estimate, problem: Problem, description: Description) -> Array:
        """(P, 2) of the standard parameters; where those with constraints are not found, those without, and a warning."""
        try:
            return standard_intervals(estimate, problem, description.prior)
        except SolveError as error:
            self.warnings.append(f"intervals leave the constraints out of account, those with them failed ({error})")
            return noise_intervals(estimate, description.prior)

    def _residuals(
        self,
        problem: Problem,
        description: Description,
        parameters: Parameters,
        estimate: Estimate,
        motions: list[Motion],
        estimator: Estimator,
    ) -> dict[str, Residual]:
        engine = estimate.base.engine
        seen = [
            prepare(driven_log(log, estimate), replace(m.recipe, rate=None).for_prediction) if "q" in log.signals else m
            for log, m in zip(self.logs, motions, strict=True)
        ]
        out = {"identification": judged(parameters, seen, engine)}
        if not self.validation:
            out["hold-out"] = self._hold_out(problem, description, estimate, motions, estimator, seen)
        for k, (name, log) in enumerate(self.validation.items()):
            motion = self._validation_motion(k, log, description, estimate, motions[0].recipe)
            out[name] = judged(parameters, [motion], engine)
            out[name] = replace(out[name], d_q=_position_error(description, parameters, log, estimate))
        if len(self.logs) == 1:
            out["identification"] = replace(
                out["identification"], d_q=_position_error(description, parameters, self.logs[0], estimate)
            )
        return out

    def _hold_out(
        self,
        problem: Problem,
        description: Description,
        estimate: Estimate,
        motions: list[Motion],
        estimator: Estimator,
        seen: list[Motion],
    ) -> Residual:
        """The same method fitted without a fifth of the moving data, in stretches spread over the logs, judged on those.

        `seen` are the logs prepared for predictions with the whole fit; the other one changes them only where it simulates.
        """
        self.say("validate: fitting without a fifth of the moving data")
        recipes = [replace(motion.recipe, rate=None) for motion in motions]
        listed = list(enumerate(zip(self.logs, recipes, strict=True)))
        simulated = self.torque_only or drive_found(estimate)
        own = [self._prepared(log, recipe, k) for k, (log, recipe) in listed] if simulated else motions
        left = HoldOut.of(own)
        rest = left.rest(own)
        without = estimator.estimate(replace(problem, motions=rest) if simulated else problem.masked(rest))
        parameters = self._standard(without, description)
        if simulated:
            seen = [
                prepare(driven_log(log, without), recipe.for_prediction)
                if "q" in log.signals
                else moved(description, without, recipe, log, self._reference(k))
                for k, (log, recipe) in listed
            ]
        return judged(parameters, seen, estimate.base.engine, left.masks)

    def _check_motion(self, motions: list[Motion]) -> None:
        used = sum(m.used for m in motions)
        if used < FEWEST:
            names = ", ".join(str(log.origin) for log in self.logs)
            raise InputError(f"{names}: only {used} samples show motion that can be used; the robot hardly moves in this log")

    def _too_slow(self, description: Description) -> list[str]:
        """Excess of static friction at speeds where filters leave what sticking does; it may be anything there."""
        speeds = [np.quantile(np.abs(m.dq), 0.95, axis=0) for m in self.motions]
        names = []
        for t in description.layout.terms:
            if isinstance(t, Stribeck) and speeds and t.vs < SLOWEST["Stribeck"] * max(s[t.at] for s in speeds):
                names.append(f"dFs{t.at + 1}")
        if names:
            self.warnings.append(
                f"{', '.join(names)}: the Stribeck velocity is below {100 * SLOWEST['Stribeck']:g} % of a joint's usual speed, where "
                "filtering leaves of sticking what looks like friction; record slower motion, or state a larger velocity (vs)"
            )
        return names

    def _judge(self, result: Result) -> None:
        """What the numbers must not hide."""
        if bad := result.parameters.inconsistent_links():
            self.warnings.append(
                f"no real body has the parameters found for {', '.join(bad)}; use a physically consistent method"
            )
        if negative := result.negative():
            self.warnings.append(f"negative where only positive values are possible: {', '.join(negative)}")
        self.warnings += result.masses.warnings
        moved = [log.signals["q"] for log in self.logs if "q" in log.signals]
        still = [j + 1 for j in range(self.description.robot.n) if moved and all(np.ptp(q[:, j]) < 1e-3 for q in moved)]
        if still:
            self.warnings.append(
                f"joint {', '.join(map(str, still))} does not move in the logs; its friction and inertia are not determined"
            )

    def _fixed(self, subject: str, value: str) -> None:
        self.choices.append(Choice(subject, value, f"{value}: given, not chosen", automatic=False))

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.time[name] = self.time.get(name, 0.0) + time.perf_counter() - start


def _named(names: Sequence[str], logs: Sequence[Log]) -> dict[str, Log]:
    """Logs by name; those that share one, as logs that never were files do, are numbered."""
    out: dict[str, Log] = {}
    for k, (name, log) in enumerate(zip(names, logs, strict=True)):
        number = names[: k + 1].count(name)
        key = f"{name} {number}" if names.count(name) > 1 else name
        while key in out or (key != name and key in names):
            number += 1
            key = f"{name} {number}"
        out[key] = log
    return out


def _position_error(description: Description, parameters: Parameters, log: Log, estimate: Estimate) -> float | None:
    """d_q of a log that has a position, of a long one where it moves most, with the gains of the loop found with the parameters."""
    if "q" not in log.signals:
        return None
    (seen,) = in_one_piece([log]) if len(log) > LONG else [log]
    return position_error(description, parameters, seen, loop_gains(estimate))
