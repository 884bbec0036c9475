"""What section 9.5 of the survey says of its real robots, beside what a record gives: rows, a table, Figure 9 or 10."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from inertica.physical.check import check_model
from inertica.reproduce.drawing import write_drawings
from inertica.reproduce.rows import REPORTED, Options, Row, Sheet, judged
from inertica.reproduce.survey_real import ARMS, LONG, METHODS, SIMULATED, SLOWER, Real, RecordFit
from inertica.robot.layout import Parameters

SHOWN = ("iv", "didim")
UNMOVED = "the loop follows the measured motion, which is its reference here, with any gains"
FILTERS = ("ekf", "srekf", "ukf", "srukf", "cdkf", "srcdkf")
NEAR = 1.05
"""Times a residual up to which another one is as good."""

UNKNOWN = (
    "the record has neither the reference nor the control law: the simulated loop is the toolbox's and follows the filtered "
    "positions, so positions say nothing about the loop; iterations begin at filtered least squares"
)

GREY, COLOURS = "#a8a8a8", {"iv": "#0072B2", "didim": "#D55E00"}

ABSENT = (
    "section 9.5 and Figures 9 and 10 were left out: they need records of a real TX40, which is not ours to ship, and of a real "
    "RV2SQ, which is not at hand here (state one by --record tx40=FILE or rv2sq=FILE)"
)


@dataclass(frozen=True, eq=False)
class RecordStudy:
    """What was found.

    Args:
        real: the record.
        fits: label -> outcome.
        uncoupled: filtered least squares without the coupling of joints 5 and 6, of the arm that has one.
        slower: method -> outcome with a loop whose gains are far too small.
    """

    real: Real
    fits: Mapping[str, RecordFit]
    uncoupled: RecordFit | None
    slower: Mapping[str, RecordFit]


def studied(options: Options) -> RecordStudy:
    """All methods on the record; the short form leaves out those that take longest."""
    assert options.record is not None
    real = Real.of(options.record)
    fits: dict[str, RecordFit] = {}
    for name, filters, method_options in (*METHODS, *(() if options.quick else LONG)):
        for chosen in filters:
            options.say(f"record: {name}, filter {chosen}")
            fit = real.fitted(name, chosen, method_options)
            fits[fit.label] = fit
    other = real.arm.uncoupled
    uncoupled = None if other is None else Real.of(options.record, other).fitted("ols", "butterworth", {})
    slower = {name: real.fitted(name, "none", SIMULATED, SLOWER) for name in SHOWN}
    return RecordStudy(real, fits, uncoupled, slower)


def about(study: RecordStudy) -> tuple[str, ...]:
    real = study.real
    return (
        f"section 9.5: {real.motions['none'].log.duration:.1f} s of a record of a {real.arm.case} are fitted, the next "
        f"{real.check.log.duration:.1f} s are predicted; samples at {real.check.rate:.0f} Hz, {real.cutoff:g} Hz filter, "
        f"{real.arm.robot}",
        f"torques are not filtered: {100 * real.fast:.0f} % of the measured one is above {real.cutoff:g} Hz and in every residual",
        UNKNOWN
        if real.unknown
        else "the simulated loop is the toolbox's and follows the reference of the record; iterations begin at "
        "filtered least squares",
    )


def rows(study: RecordStudy) -> Iterator[Row]:
    """Printed statements and ours."""
    real, fits, case = study.real, study.fits, study.real.arm.case
    coupled = fits["ols_f"]
    if study.uncoupled is not None:
        yield from _coupling_rows(real, coupled, study.uncoupled)
    for name in SHOWN:
        yield Row(
            f"{real.arm.figure}, {case}: residual per joint, {name}", "torques drawn, no number", _joints(fits[name]), REPORTED
        )
    both = [fits[name].size for name in SHOWN]
    yield Row(f"{case}: iv and didim beside filtered OLS", "worse than in simulation, torques satisfactory (RV2SQ)",
              _percent(*both, coupled.size), f"{REPORTED}: {'as good' if max(both) <= NEAR * coupled.size else 'worse'}")  # fmt: skip
    yield Row(f"{case}: clie and cloe", "clie better", _percent(fits["clie"].size, fits["cloe"].size),
              judged(fits["clie"].size < fits["cloe"].size))  # fmt: skip
    yield Row(f"{case}: OLS without and with the filter", "better with", _percent(fits["ols"].size, coupled.size),
              judged(coupled.size < fits["ols"].size))  # fmt: skip
    errors_slower = {name: study.slower[name].size for name in SHOWN}
    for name in SHOWN:
        worse = errors_slower[name] > NEAR * fits[name].size
        change = f"{_percent(fits[name].size)} -> {_percent(errors_slower[name])}"
        yield Row(f"{case}: {name} with gains of a tenth", "biased, may diverge", change, judged(worse, "" if worse else UNMOVED))
    for name in (*(f"{x}_f" for x in ("ml", "adann", "htrnn")), *FILTERS):
        if name in fits:
            size = _percent(fits[name].size)
            yield Row(
                f"{case}: residual of {name}", "in its supplement", size, f"{REPORTED}: filtered OLS {_percent(coupled.size)}"
            )
    steps = [e.iterations for e in (fits[name].estimate for name in SHOWN) if e is not None]
    yield Row(f"{case}: iterations of iv and didim", "3 and 4 (in simulation)", " and ".join(map(str, steps)), REPORTED)
    for arm in ARMS.values():
        if arm != real.arm:
            yield Row(f"{arm.figure}, {arm.case}: torques", "torques drawn, no number", None, f"{REPORTED}: no record was stated")


def _coupling_rows(real: Real, coupled: RecordFit, plain: RecordFit) -> Iterator[Row]:
    """What the coupling of joints 5 and 6 is worth."""
    assert coupled.residual is not None and plain.residual is not None and plain.estimate is not None
    case = real.arm.case
    yield Row(f"{case}: base parameters, joints 5 and 6 coupled", 54, real.base.rank, judged(real.base.rank == 54))
    yield Row(f"{case}: base parameters without coupling", 52, plain.estimate.base.rank, judged(plain.estimate.base.rank == 52))
    pairs = list(zip(plain.residual.relative.per_joint, coupled.residual.relative.per_joint, strict=True))
    last = [f"{100 * without:.0f} -> {100 * with_it:.0f} %" for without, with_it in pairs[4:]]
    remark = f"joints 5 and 6: {', '.join(last)}"
    yield Row(f"{case}: residual of filtered OLS without and with the coupling", "better with", _percent(plain.size, coupled.size),
              judged(coupled.size < plain.size, remark))  # fmt: skip


def sheet(study: RecordStudy) -> Sheet:
    """Figures of merit of every method on the part of the record that was not fitted."""
    heads = (
        "method",
        "|r|/|tau| %",
        "d_tau %",
        "d_q %",
        *(f"joint {j + 1} %" for j in range(study.real.check.n)),
        "N_it",
        "s",
        "real",
    )
    return Sheet(f"{study.real.arm.case}, part not fitted", heads, tuple(_line(study.real, fit) for fit in study.fits.values()))


def _line(real: Real, fit: RecordFit) -> tuple[str, ...]:
    if fit.residual is None or fit.estimate is None:
        return (fit.label, fit.error, *("" for _ in range(real.check.n + 5)))
    r = fit.residual
    numbers = (r.relative.all, r.d_tau, fit.d_q, *r.relative.per_joint)
    shown = ("unstable" if not np.isfinite(x) else f"{100 * x:.3g}" for x in numbers)
    return (fit.label, *shown, str(fit.estimate.iterations), f"{fit.seconds:.2g}", "yes" if _possible(real, fit) else "no")


def _possible(real: Real, fit: RecordFit) -> bool:
    """Whether links could exist: those of a consistent method, else the ones nearest the prior."""
    assert fit.estimate is not None
    chi, prior = fit.estimate.chi, real.description.prior
    if chi is None:
        chi = real.base.chi(fit.estimate.beta, np.array(prior.values))
    return all(
        link.margin >= 0.0 for link in check_model(Parameters(real.base.layout, chi, prior.shapes)).links if not link.empty
    )


def write_figures(study: RecordStudy, folder: Path) -> tuple[Path, ...]:
    """Figure 9 or 10; one panel per joint."""
    return write_drawings(folder, [(study.real.arm.drawing, (7.0, 8.0), lambda f: _torques(f, study))])


def _torques(figure: Any, study: RecordStudy) -> None:
    real = study.real
    use = ~real.check.mask
    t = real.check.t[use]
    axes = figure.subplots(real.check.n, 1, sharex=True)
    for j, ax in enumerate(axes):
        ax.plot(t, real.check.tau[use, j], color=GREY, lw=0.6, label="measured")
        for name in SHOWN:
            estimate = study.fits[name].estimate
            if estimate is not None:
                ax.plot(
                    t,
                    real.torque(estimate.beta)[use, j],
                    color=COLOURS[name],
                    lw=1.0,
                    ls="-" if name == "iv" else "--",
                    label=name,
                )
        ax.set_ylabel(f"joint {j + 1} / N m", fontsize="small")
    axes[-1].set_xlabel("time / s")
    axes[0].legend(ncols=3, fontsize="small")


def _percent(*sizes: float) -> str:
    return " / ".join("no estimate" if not np.isfinite(x) else f"{100 * x:.3g} %" for x in sizes)


def _joints(fit: RecordFit) -> str:
    values: Sequence[float] = () if fit.residual is None else fit.residual.relative.per_joint
    return " ".join(f"{100 * x:.3g}" for x in values) + " %"
