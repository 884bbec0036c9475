"""Last stage: what the estimate is worth, on the data that were fitted, on those that were not, and by its residuals."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from inertica.arrays import Array
from inertica.estimators.intervals import noise_intervals, standard_intervals
from inertica.identifiability.labels import DETERMINED, WEAK, trust_labels
from inertica.logs.log import Log
from inertica.logs.noise import extremes
from inertica.physical.cone import SolveError
from inertica.preprocessing.motion import Motion
from inertica.robot.friction import friction_terms
from inertica.robot.layout import Parameters
from inertica.robot.model import Robot
from inertica.robot.natural import standstill
from inertica.validation.closed_loop import position_error
from inertica.validation.lack_of_fit import LackOfFit, lack_of_fit
from inertica.validation.residuals import Residual
from inertica.validation.survey import log_torque_difference
from inertica.workflow.decisions.standstill import RoundingErrors
from inertica.workflow.identify.before import Before, before, headline_set
from inertica.workflow.identify.choice import Say
from inertica.workflow.identify.drift import Drift, friction_drift
from inertica.workflow.identify.fit import Fitted, identified
from inertica.workflow.identify.hold_out import HoldOut
from inertica.workflow.identify.inputs import HOLD_OUT, IDENTIFICATION
from inertica.workflow.identify.prediction import engine_of, judged, with_correction
from inertica.workflow.identify.replay import driven_log, loop_gains
from inertica.workflow.identify.representative import LONG, in_one_piece
from inertica.workflow.identify.result import Identification, Motions, negative
from inertica.workflow.identify.start_values import PRIOR, TRUTH
from inertica.workflow.identify.transmission import transmission


def judge(fitted: Fitted, say: Say) -> Identification:
    """The whole record: residuals, intervals of the standard parameters, lack of fit, trust labels and what must be said of them."""
    chosen, estimate, start = fitted.chosen, fitted.estimate, time.perf_counter()
    inputs, description = chosen.inputs, chosen.description
    motions = chosen.motions(estimate)
    residuals = with_survey_figures(fitted, residuals_of(fitted, motions, say))
    came_in = _before(fitted, motions, headline_set(residuals))
    notes, start = fitted.notes.took("validate", start), time.perf_counter()
    intervals, failed = _intervals(fitted)
    notes, start = notes.warned(failed).took("intervals", start), time.perf_counter()
    misfit = _lack_of_fit(fitted)
    notes = notes.warned(misfit.findings).took("lack of fit", start)
    used = motions[IDENTIFICATION] if inputs.torque_only else chosen.problem.motions
    labels = trust_labels(estimate.base, estimate.beta, estimate.std, intervals=intervals)
    slow = _too_slow(fitted.parameters, used)
    labels |= {name: WEAK for name in slow if labels[name] == DETERMINED}
    logs = {IDENTIFICATION: tuple(str(log.origin) for log in inputs.logs)}
    logs |= {name: (str(log.origin),) for name, log in inputs.validation.items()}
    needed = any("q" not in log.signals for log in (*inputs.logs, *inputs.validation.values()))
    record = Identification(
        description, estimate, fitted.parameters, intervals, labels, chosen.recipe, notes.choices, residuals, notes.time, logs=logs,
        references=inputs.settings.references if needed else (), check=chosen.report, lack_of_fit=misfit, command=inputs.command,
        speeds=_fastest(used), gravity=chosen.mount, motions=motions,
        shape_std=chosen.shapes, before=came_in, correction=fitted.added, standstill=fitted.standstill,
        transmission=transmission(fitted.predictor, estimate.base, () if inputs.torque_only else used), drift=_drift(fitted),
    )  # fmt: skip
    warnings = (
        *notes.warnings,
        *_about_speeds(slow),
        *_about_values(record),
        *_about_motion(inputs.logs, inputs.description.robot),
    )
    return replace(record, warnings=warnings)


def residuals_of(fitted: Fitted, motions: Motions, say: Say) -> dict[str, Residual]:
    """Data set -> figures of merit; without validation logs, of stretches that a second fit leaves out, too."""
    engine = engine_of(fitted.predictor, fitted.estimate.base)
    out = {name: judged(fitted.predictor, seen, engine, standstill=fitted.standstill) for name, seen in motions.items()}
    return out if len(out) > 1 else out | {HOLD_OUT: _hold_out(fitted, say)}


def _hold_out(fitted: Fitted, say: Say) -> Residual:
    """The same method fitted without a fifth of the moving data, in stretches spread over the logs, judged on those."""
    say("validate: fitting without a fifth of the moving data")
    chosen, problem = fitted.chosen, fitted.problem
    left = HoldOut.of(problem.motions)
    rest = problem.masked(left.rest(problem.motions))
    without = fitted.estimator.estimate(rest)
    seen = chosen.motions(without)[IDENTIFICATION]
    predictor = identified(without, chosen.description)
    if fitted.correction is not None:
        predictor = with_correction(predictor, fitted.correction.of(rest, predictor))
    engine, standstill = engine_of(predictor, problem.base), fitted.standstill
    if standstill.rounded:  # the same joints, by widths that do not know what is left out
        data = RoundingErrors.of(predictor, seen, engine, left.masks)
        standstill = data.standstill(np.where([w is not None for w in standstill.widths], data.best, 0))
    return judged(predictor, seen, engine, left.masks, standstill)


def _before(fitted: Fitted, motions: Motions, data_set: str) -> Before:
    """What the model that came in leaves of a data set, mounted as the robot was found to be."""
    chosen, problem = fitted.chosen, fitted.problem
    model, held_out = chosen.inputs.description, data_set == HOLD_OUT
    return before(
        model.with_gravity(chosen.description.robot.gravity),
        chosen.description.layout,
        problem.engine,
        data_set,
        motions[IDENTIFICATION if held_out else data_set],
        HoldOut.of(problem.motions).masks if held_out else None,
        distorted=any(c.subject == PRIOR and c.value != TRUTH for c in fitted.notes.choices),
    )


def with_survey_figures(fitted: Fitted, residuals: Mapping[str, Residual]) -> dict[str, Residual]:
    """With d_q and d_tau of every data set that is one log."""
    inputs, out = fitted.chosen.inputs, dict(residuals)
    logs = ({IDENTIFICATION: inputs.logs[0]} if len(inputs.logs) == 1 else {}) | dict(inputs.validation)
    for name, log in logs.items():
        out[name] = _with_figures(out[name], fitted, log)
    return out


def _with_figures(residual: Residual, fitted: Fitted, log: Log) -> Residual:
    """d_tau, and d_q of a log that has a position, by the gains found with the parameters; of a long log where it moves most."""
    estimate, parameters = fitted.estimate, fitted.parameters
    (seen,) = in_one_piece([log]) if len(log) > LONG else [log]
    d_tau = log_torque_difference(parameters, driven_log(seen, estimate), estimate.base.engine)
    has_position = "q" in log.signals
    d_q = position_error(fitted.chosen.description, parameters, seen, loop_gains(estimate)) if has_position else None
    return replace(residual, d_tau=d_tau, d_q=d_q)


def _intervals(fitted: Fitted) -> tuple[Array, list[str]]:
    """(P, 2) of the standard parameters; where those with constraints are not found, those without, and a warning."""
    prior = fitted.chosen.description.prior
    try:
        return standard_intervals(fitted.estimate, fitted.problem, prior), []
    except SolveError as error:
        sentence = f"intervals leave the constraints out of account, those with them failed ({error})"
        return noise_intervals(fitted.estimate, prior), [sentence]


def _lack_of_fit(fitted: Fitted) -> LackOfFit:
    """Residuals of what choices were made on, held against those of the replicas."""
    pairs = [(run.problem, run.estimate) for run in fitted.replicas.runs]
    of_part = fitted.uncorrected if fitted.whole or not pairs else fitted.estimator.estimate(fitted.part)
    return lack_of_fit(fitted.part, of_part, pairs, fitted.replicas.reason)


def _drift(fitted: Fitted) -> Drift:
    """Friction that changes along the logs that choices were made on."""
    torques = fitted.part.motions[0].recipe.regressor == "torque" if fitted.part.motions else False
    usable = torques and not fitted.chosen.inputs.torque_only
    return friction_drift(fitted.part, fitted.parameters.values) if usable else Drift()


def _too_slow(parameters: Parameters, motions: Sequence[Motion]) -> dict[str, float]:
    """Excess of static friction at speeds where filters leave what sticking does; it may be anything there."""
    laws = [(t, t.candidate.column, t.candidate.slowest) for t in friction_terms(parameters.layout.terms) if t.candidate]
    laws = [(t, k, least) for t, k, least in laws if least]
    speeds = {t.at: max(float(np.quantile(np.abs(m.dq[:, t.at]), 0.95)) for m in motions) for t, _, _ in laws}
    return {t.parameters[k].name: least for t, k, least in laws if t.shapes[0].value < least * speeds[t.at]}


def _fastest(motions: Sequence[Motion]) -> tuple[float, ...]:
    """(n,) largest speed of each joint."""
    ends = [extremes(m.dq) for m in motions]
    return tuple(float(v) for v in np.max([np.maximum(high, -low) for low, high in ends], axis=0))


def _about_speeds(slow: Mapping[str, float]) -> list[str]:
    if not slow:
        return []
    return [
        f"{', '.join(slow)}: the Stribeck velocity is below {100 * max(slow.values()):g} % of a joint's usual speed, where "
        "filtering leaves of sticking what looks like friction; record slower motion, or state a larger velocity (vs)"
    ]


def _about_values(result: Identification) -> list[str]:
    """What the numbers must not hide."""
    out = []
    if bad := result.parameters.inconsistent_links():
        out.append(f"no real body has the parameters found for {', '.join(bad)}; use a physically consistent method")
    if wrong := negative(result.parameters):
        out.append(f"negative where only positive values are possible: {', '.join(wrong)}")
    return [*out, *result.masses.warnings]


def _about_motion(logs: Sequence[Log], robot: Robot) -> list[str]:
    ends = [extremes(log.signals["q"]) for log in logs if "q" in log.signals]
    within = standstill(robot)
    still = [str(j + 1) for j in range(logs[0].n) if ends and all(high[j] - low[j] < within[j] for low, high in ends)]
    return [f"joint {', '.join(still)} does not move in the logs; its friction and inertia are not determined"] if still else []
