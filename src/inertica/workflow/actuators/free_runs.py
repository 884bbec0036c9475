"""Free runs: simulated positions beside measured ones when the simulation sees nothing but commands and the first state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from inertica.arrays import Array
from inertica.estimators.actuators.fit import first_states, fit
from inertica.estimators.actuators.record import Record
from inertica.estimators.actuators.values import ActuatorValues
from inertica.workflow.actuators.groups import COARSE, QUICK, Group, Judged, longest_step, resolution
from inertica.workflow.actuators.known import FOUND_STD, Setup
from inertica.workflow.actuators.result import FreeRun, Trace

Before = Mapping[tuple[int, ...], ActuatorValues]


def before(setup: Setup, groups: Sequence[Group]) -> Before:
    """Values of the model that came in, no delay and no zero; gains are fitted where they are not stated."""
    out = {}
    for group in groups:
        stated, joints, runs = setup.known.of(group.joints), group.joints, group.fit.runs
        by_symbol = {
            symbol: np.array([setup.description.friction_value(symbol, j) for j in joints]) for symbol in ("Ia", "Fv", "Fc")
        }
        values = group.fit.values.changed(
            armature=by_symbol["Ia"],
            viscous=by_symbol["Fv"],
            coulomb=by_symbol["Fc"],
            delay=0.0,
            zero=0.0,
            torque_limit=stated.values.torque_limit,
        )
        free = [
            (name, k) for k in sorted({k for _, k in group.fit.free}) for name in ("kp", "kd") if (name, k) not in stated.known
        ]
        if free:
            step = longest_step(runs.robot, runs.links, runs.records, [group.fit.values], COARSE)
            coarse = runs.with_records(runs.records, finest=step)
            values = fit(coarse, free, values, resolution(runs.records), 0.0, QUICK).values
        out[joints] = values
    return out


def free_run(
    setup: Setup, groups: Sequence[Group], values: ActuatorValues, first: Before, parts: Sequence[Record], fitted: bool
) -> FreeRun:
    """RMS position errors of a log with the values found, and with those that came in."""
    n = setup.description.robot.n
    measured = [np.where(part.use, part.q, np.nan) for part in parts]
    simulations = [[np.full_like(q, np.nan) for q in measured] for _ in range(2)]
    for group in groups:
        joints = list(group.joints)
        runs = group.fit.runs.with_records([record.joints(group.joints) for record in parts])
        states, driven = first_states(runs), runs.with_links(_links_as_used(setup, group))
        for simulator, chosen, out in (
            (driven, values.joints(joints), simulations[1]),
            (runs, first[group.joints], simulations[0]),
        ):
            for k, start in enumerate(states):
                out[k][:, joints] = simulator.positions(k, chosen, start)
    came, after = (_rms(measured, simulation, n) for simulation in simulations)
    traces = tuple(Trace(part.t, q, *pair) for part, q, *pair in zip(parts, measured, *simulations, strict=True))
    return FreeRun(after, came, fitted, traces)


def _rms(measured: Sequence[Array], simulated: Sequence[Array], n: int) -> tuple[float, ...]:
    """Per joint; NaN of one that no group simulates."""
    r = np.concatenate([q - s for q, s in zip(measured, simulated, strict=True)])
    seen = [r[np.isfinite(r[:, j]) | np.isinf(r[:, j]), j] for j in range(n)]
    return tuple(float(np.sqrt(np.mean(x * x))) if len(x) else float("nan") for x in seen)


def _links_as_used(setup: Setup, group: Group) -> Array:
    """Links of the model file, but for those that were to be found."""
    rescaled, out = group.fit.errors.at(group.fit.links), group.fit.runs.links.copy()
    for k, j in enumerate(group.joints):
        if setup.links_std[j] >= FOUND_STD:
            out[10 * k : 10 * k + 10] = rescaled[10 * k : 10 * k + 10]
    return out


def links_found(setup: Setup, groups: Sequence[Group]) -> Array:
    """(n, 10) links that fit best within their uncertainty."""
    out = setup.links
    for group in groups:
        out[list(group.joints)] = group.fit.errors.at(group.fit.links).reshape(-1, 10)
    return out


def links_spread(setup: Setup, groups: Sequence[Judged]) -> Array:
    """(n, 10) standard deviations of these."""
    out = np.zeros_like(setup.links)
    for group in groups:
        rates = group.fit.errors.rates(group.fit.links)
        variances = np.einsum("ai,ab,bi->i", rates, group.evidence.links, rates)
        out[list(group.joints)] = np.sqrt(np.maximum(variances, 0.0)).reshape(-1, 10)
    return out
