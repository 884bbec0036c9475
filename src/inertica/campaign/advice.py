"""The survey's decision diagram (Figure 11, by its section 10) as code: situation -> method, with reasons and measured numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from inertica.campaign.stored import measured, percent, stored
from inertica.errors import InputError
from inertica.estimators.registry import METHODS
from inertica.logs.log import Log
from inertica.robot.description import Description

FAST, SLOW = 500.0, 100.0
"""Hz: above, samples say little beyond their neighbours; below, differences of positions are no accelerations."""

NOISY = 1e-4
"""rad; position noise from which the survey's IDIM-IV fails (its rows 3 and 5, in the toolbox's degrees)."""

Loop = Literal["known", "structure", "unknown"]
LOOPS: tuple[str, ...] = ("known", "structure", "unknown")


@dataclass(frozen=True)
class Situation:
    """What is known before a fit.

    Args:
        online: parameters are wanted while the robot moves.
        loop: control law with gains, its structure only, or nothing.
        rate: samples per second; None when not known.
        noise: standard deviation of positions in rad; None when not known.
        physical: links must be such that they could exist.
    """

    online: bool = False
    loop: Loop = "unknown"
    rate: float | None = None
    noise: float | None = None
    physical: bool = True

    def __post_init__(self) -> None:
        if self.loop not in LOOPS:
            raise InputError(f"the loop is {', '.join(LOOPS[:-1])} or {LOOPS[-1]}, not '{self.loop}'")
        if self.rate is not None and not self.rate > 0.0:
            raise InputError(f"the sampling rate should be positive, not {self.rate:g} Hz")

    @classmethod
    def of(cls, description: Description, log: Log | None = None, *, online: bool = False, physical: bool = True) -> Situation:
        """As a card and a log say."""
        loop: Loop = "known" if description.loop is not None else "unknown"
        if log is None:
            return cls(online, loop, physical=physical)
        noise = float(log.position_noise.max()) if "q" in log.signals else None
        return cls(online, loop, log.rate, noise, physical)


@dataclass(frozen=True)
class Advice:
    """What to do.

    Args:
        methods: the first one, then alternatives.
        preparation: of the data.
        reasons: one sentence each.
        evidence: what campaigns measured for these methods.
    """

    methods: tuple[str, ...]
    preparation: tuple[str, ...]
    reasons: tuple[str, ...]
    evidence: tuple[str, ...]


def advise(situation: Situation) -> Advice:
    """The way through the diagram.

    Examples:
        >>> advice = ia.advise(ia.Situation(loop="known"))
    """
    if situation.online:
        return _online(situation)
    if situation.loop == "unknown":
        methods, preparation, reasons = _advice_without_loop(situation)
    else:
        methods, preparation, reasons = _with_loop(situation)
    if situation.physical:
        methods = [f"pc-{m}" if f"pc-{m}" in METHODS else m for m in methods]
        reasons.append(
            "the pc- form keeps to links that could exist; with poor excitation add +entropic or another prior behind its name"
        )
    preparation += _sampling(situation)
    return Advice(tuple(methods), tuple(preparation), tuple(reasons), _evidence(situation, methods))


def _online(s: Situation) -> Advice:
    wanted = [name for name in ("rls", "rwls", "ekf", "srukf", "adann") if name in METHODS]
    reasons = [
        "parameters while the robot moves: recursive least squares, or Kalman filters where velocities are not to be trusted",
        "filters depend strongly on their tuning and on sampling near 1 kHz; AdaNN ends on the noise of its last samples",
    ]
    if not {"rls", "ekf"} & set(METHODS):
        reasons.append("this installation has no recursive method but AdaNN; refit the latest stretch by wls instead")
    preparation = ("positions behind a causal filter whose delay is compensated",)
    thinned = measured("ekf", noise=_row(s), decimate=4)
    evidence = [*_evidence(s, wanted), *([thinned.sentence] if thinned is not None else [])]
    return Advice(tuple(wanted), preparation, tuple(reasons), tuple(evidence))


def _with_loop(s: Situation) -> tuple[list[str], list[str], list[str]]:
    reasons = ["the control loop can be simulated, so that the regressor carries no noise of the positions"]
    preparation = ["no filter: simulate at the rate of the control loop"]
    methods = ["didim", "iv", "clie", "cloe"]
    if s.loop == "structure":
        reasons.append("the gains are not known: fit them first (inertica fit-loop), or let them be estimated (--estimate-gains)")
    if s.noise is not None and s.noise >= NOISY:
        methods.remove("iv")
        reasons.append(f"position noise of {s.noise:.1g} rad is where instruments become too weak for iv{_off('iv', 'didim')}")
    reasons.append(
        f"clie and cloe take {_longer('clie', 'cloe')} times as long as didim; with a loop that is known exactly cloe can be the "
        "most accurate, see below"
    )
    return methods, preparation, reasons


def _advice_without_loop(s: Situation) -> tuple[list[str], list[str], list[str]]:
    """Methods, preparation of the log and reasons for a robot whose control law is not known."""
    reasons = ["without the control law no loop can be simulated: least squares on the measured motion"]
    preparation = ["positions behind a zero-phase low-pass well above the bandwidth of the motion; forward-only filters bias"]
    methods = ["wls", "irls"]
    ml, wls = measured("ml", noise=_row(s)), measured("wls", noise=_row(s), filtered=True)
    if s.noise is not None and ml is not None and wls is not None:
        reasons.append("the noise of the positions is known, which ml weighs sample by sample, on unfiltered positions")
        if ml.d_par < wls.d_par:
            methods.append("ml")
        else:
            reasons.append(f"at this noise ml was {percent(ml.d_par)} off in campaigns, wls behind a filter {percent(wls.d_par)}")
    return methods, preparation, reasons


def _sampling(s: Situation) -> list[str]:
    if s.rate is None:
        return []
    if s.rate > FAST:
        return [f"decimate: at {s.rate:.4g} Hz neighbouring samples say the same"]
    if s.rate < SLOW:
        return [f"{s.rate:.4g} Hz is too slow for differences of positions: methods that simulate, or interpolate first"]
    return []


def _row(s: Situation) -> str:
    """The noise of the campaigns that is nearest."""
    return (
        "row 3" if s.noise is not None and s.noise >= NOISY else "row 2" if s.noise is not None and s.noise >= 1e-5 else "row 1"
    )


def _off(*methods: str) -> str:
    """What campaigns found for methods at that noise, in brackets."""
    measurements = [x for x in (measured(name, noise="row 3") for name in methods) if x is not None]
    return f" ({', '.join(f'{x.method} {percent(x.d_par)}' for x in measurements)} off in campaigns)" if measurements else ""


def _longer(*methods: str) -> str:
    """How many times as long as didim methods take, by the survey's conditions."""
    times = {(x.condition, x.method): x.line.mean["seconds"] for x in stored() if x.campaign == "survey-quick"}
    ratios = [taken / times[where, "didim"] for (where, name), taken in times.items() if name in methods]
    return f"{min(ratios):.0f} to {max(ratios):.0f}"


def _evidence(s: Situation, methods: Sequence[str]) -> tuple[str, ...]:
    """Measured numbers of the methods and of plain least squares, under the noise that is nearest."""
    row, out = _row(s), []
    for name in (*methods, "ols"):
        filtered = name.removeprefix("pc-") in ("ols", "wls", "irls")
        line = measured(name, noise=row, filtered=filtered) or measured(name.removeprefix("pc-"), noise=row, filtered=filtered)
        out += [line.sentence] if line is not None else []
    return tuple(out)
