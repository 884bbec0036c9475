"""What the survey concludes (its sections 9.3.3, 10.1, 10.2), each claim held against the lines of a campaign.

The verdict counts the conditions in which a claim holds, among those that were computed.  One whose methods or conditions are not in
the campaign is not tested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from inertica.campaign.summary import Group, Line
from inertica.reproduce.verdicts import UNTESTED, counted

PLAIN = ("ols", "wls", "irls", "tls", "ml", "adann", "htrnn")
FILTERS = ("ekf", "srekf", "ukf", "srukf", "cdkf", "srcdkf")
MODERATE, HIGHEST = ("row 1", "row 2"), ("row 3", "row 5")
NEAR, WORSE = 1.5, 2.0
"""Times an error up to which another one is as good, and from which it is clearly worse."""

ABOUT, ORDER = 2.0, 10.0**0.5
"""Factors that "about" and "an order of magnitude" allow."""

SURE = 0.95
"""Level of tests on estimates of single runs."""

FEWEST = 10
"""Noise realisations from which a variance is looked at."""

SHOWN = 6
"""Conditions whose numbers are listed."""


@dataclass(frozen=True)
class CampaignCase:
    """One condition with all its lines and rows.

    Args:
        robot, decimate, noise, loop: which.
        lines: label -> line.
        groups: label -> rows.
    """

    robot: str
    decimate: int
    noise: str
    loop: str
    lines: dict[str, Line]
    groups: dict[str, Group]

    @property
    def name(self) -> str:
        return f"{self.robot}-{self.decimate} {self.noise}"

    def error(self, label: str) -> float:
        """d_par of a method; infinite when it gave nothing."""
        value = self.lines[label].mean["d_par"] if label in self.lines else np.nan
        return float(value) if np.isfinite(value) else np.inf

    def has(self, *labels: str) -> bool:
        return all(label in self.lines for label in labels)


@dataclass(frozen=True)
class Verdict:
    """What was measured, and what follows."""

    ours: str
    verdict: str


@dataclass(frozen=True)
class Answer:
    """Whether a claim holds in one condition.

    Args:
        case: which.
        holds: the answer.
        text: the numbers behind it.
        labels: methods that it rests on.
    """

    case: CampaignCase
    holds: bool
    text: str
    labels: tuple[str, ...]

    @property
    def fits(self) -> int:
        """Of the method with fewest."""
        return min(self.case.lines[label].rows[1] for label in self.labels)


@dataclass(frozen=True)
class Claim:
    """A sentence of the survey and how it is tested.

    Args:
        name, published: what it says.
        test: of the conditions.
        single: single estimates of many runs are needed, not their means.
        one_campaign: conditions or times are compared, which must have the same runs and starts, on one kind of device.
    """

    name: str
    published: str
    test: Callable[[Sequence[CampaignCase]], Verdict]
    single: bool = False
    one_campaign: bool = False


def cases(averages: Sequence[Line], groups: Sequence[Group]) -> list[CampaignCase]:
    """Lines and rows by condition."""
    out = []
    for condition in dict.fromkeys(line.place.condition for line in averages):
        by_label = {line.place.label: line for line in averages if line.place.condition == condition}
        rows = {g.place.label: g for g in groups if g.place.condition == condition}
        place = next(iter(by_label.values())).place
        out.append(CampaignCase(place.robot, place.decimate, place.noise, place.loop, by_label, rows))
    return out


def _counted(answers: Iterable[Answer]) -> Verdict:
    """How often a claim holds, on how many fits, and the numbers."""
    listed_answers = list(answers)
    if not listed_answers:
        return Verdict("no such conditions or methods in the campaign", UNTESTED)
    shown = "; ".join(f"{a.case.name}: {a.text}" for a in listed_answers[:SHOWN]) + (
        " ..." if len(listed_answers) > SHOWN else ""
    )
    low, high = (extreme(a.fits for a in listed_answers) for extreme in (min, max))
    fits = f"{low} fits a method" if low == high else f"{low} to {high} fits a method"
    return Verdict(f"{fits}; {shown}", counted(sum(a.holds for a in listed_answers), len(listed_answers)))


def _percent(*values: float) -> str:
    return " / ".join("unstable" if not np.isfinite(x) else f"{100 * x:.2g} %" for x in values)


def _most_accurate(all_cases: Sequence[CampaignCase]) -> Verdict:
    out = []
    for c in all_cases:
        if c.noise in MODERATE and c.has("iv", "didim"):
            best = min(c.error(label) for label in c.lines)
            both = c.error("didim"), c.error("iv")
            text = f"didim / iv / best {_percent(*both, best)}"
            out.append(Answer(c, max(both) <= NEAR * best, text, ("iv", "didim")))
    return _counted(out)


def _input_error(all_cases: Sequence[CampaignCase]) -> Verdict:
    both = ("clie", "cloe")
    return _counted(
        Answer(c, c.error("clie") <= c.error("cloe"), _percent(*map(c.error, both)), both) for c in all_cases if c.has(*both)
    )


def _filters_decimated(all_cases: Sequence[CampaignCase]) -> Verdict:
    """Filter by filter, beside itself without decimation."""
    return _filters_worse(all_cases, lambda c: _same(all_cases, c, c.noise, decimate=1) if c.decimate > 1 else None)


def _filters_slow(all_cases: Sequence[CampaignCase]) -> Verdict:
    """Filter by filter: RV2SQ, sampled at 140 Hz, beside the TX40 with every sample, at the least noise."""
    tx40 = next((c for c in all_cases if (c.robot, c.decimate, c.noise, c.loop) == ("tx40", 1, "row 1", "known")), None)
    return _filters_worse(all_cases, lambda c: tx40 if (c.robot, c.noise) == ("rv2sq", "row 1") else None)


def _filters_worse(all_cases: Sequence[CampaignCase], beside: Callable[[CampaignCase], CampaignCase | None]) -> Verdict:
    out = []
    for c in all_cases:
        before = beside(c)
        for name in FILTERS:
            if c.has(name) and before is not None and before.has(name):
                errors = before.error(name), c.error(name)
                text = f"{name} {' -> '.join(map(_percent, errors))}"
                out.append(Answer(c, errors[1] > WORSE * errors[0], text, (name,)))
    return _counted(out)


def _torque_noise(all_cases: Sequence[CampaignCase]) -> Verdict:
    """Twice the torque noise: bias as before within its standard errors, variance larger by the F test of the median parameter."""
    out = []
    for c in all_cases:
        other, label = _same(all_cases, c, "row 4"), "wls_f"
        if c.noise != "row 2" or other is None or label not in c.groups or label not in other.groups:
            continue
        a, b = c.groups[label], other.groups[label]
        if min(len(a.beta), len(b.beta)) < FEWEST:
            continue
        error = np.sqrt((a.spread**2 + b.spread**2) / min(len(a.beta), len(b.beta)))
        apart = np.abs(b.bias - a.bias) / np.maximum(error, 1e-300)
        level = 1.0 - (1.0 - SURE) / len(apart)  # of the largest of so many
        unmoved = float(apart.max()) <= float(stats.norm.ppf(0.5 + 0.5 * level))
        ratio = float(np.median((b.spread / np.maximum(a.spread, 1e-300)) ** 2))
        more = ratio > float(stats.f.ppf(SURE, len(b.beta) - 1, len(a.beta) - 1))
        text = f"bias moves by at most {apart.max():.2g} standard errors, variance times {ratio:.2g}"
        out.append(Answer(c, unmoved and more, text, (label,)))
    return _counted(out)


def _highest_noise(all_cases: Sequence[CampaignCase]) -> Verdict:
    out, labels = [], ("iv", "didim", "clie", "cloe")
    for c in all_cases:
        if c.noise in HIGHEST and c.has(*labels):
            iv, *others = (c.error(x) for x in labels)
            out.append(Answer(c, iv > WORSE * max(others), f"iv / didim / clie / cloe {_percent(iv, *others)}", labels))
    return _counted(out)


def _variance(all_cases: Sequence[CampaignCase]) -> Verdict:
    out = []
    for c in all_cases:
        if "adann_f" in c.groups and "ols_f" in c.groups and len(c.groups["ols_f"].beta) >= FEWEST:
            ratio = float(np.median(c.groups["adann_f"].spread / np.maximum(c.groups["ols_f"].spread, 1e-300))) ** 2
            out.append(Answer(c, ratio >= 10.0, f"variance times {ratio:.0f}", ("adann_f", "ols_f")))
    return _counted(out)


def _filtered(all_cases: Sequence[CampaignCase]) -> Verdict:
    out, labels = [], ("ols_f", "iv", "didim")
    for c in all_cases:
        if c.has(*labels) and c.noise in MODERATE:
            filtered, iv, didim = (c.error(x) for x in labels)
            text = f"ols_f / iv / didim {_percent(filtered, iv, didim)}"
            out.append(Answer(c, filtered <= NEAR * min(iv, didim), text, labels))
    return _counted(out)


def _others_filtered(all_cases: Sequence[CampaignCase]) -> Verdict:
    """Method by method, beside DIDIM."""
    out = []
    for c in all_cases:
        for label in ("wls_f", "irls_f", "ml_f", "adann_f", "htrnn_f"):
            if c.noise in MODERATE and c.has(label, "didim"):
                errors = c.error(label), c.error("didim")
                out.append(Answer(c, errors[0] <= NEAR * errors[1], f"{label} / didim {_percent(*errors)}", (label, "didim")))
    return _counted(out)


def _forward(all_cases: Sequence[CampaignCase]) -> Verdict:
    labels = ("ols (forward)", "ols_f")
    usable = [c for c in all_cases if c.has(*labels) and np.isfinite(c.error(labels[0]))]
    return _counted(
        Answer(c, c.error(labels[0]) > WORSE * c.error(labels[1]), _percent(*map(c.error, labels)), labels) for c in usable
    )


def _robust(all_cases: Sequence[CampaignCase]) -> Verdict:
    out = []
    for c in all_cases:
        if c.noise in HIGHEST and c.decimate == 1 and c.has(*PLAIN):
            robust = max(c.error(x) for x in ("ml", "wls", "irls"))
            others = min(c.error(x) for x in ("ols", "tls", "adann", "htrnn"))
            text = f"worst of ml, wls, irls {_percent(robust)}, best of the others {_percent(others)}"
            out.append(Answer(c, robust < others, text, PLAIN))
    return _counted(out)


def _equalised(all_cases: Sequence[CampaignCase]) -> Verdict:
    out = []
    for c in all_cases:
        other = _same(all_cases, c, c.noise, decimate=4)
        labels = tuple(x for x in (*PLAIN, "iv", "didim") if c.has(x) and other is not None and other.has(x))
        if c.decimate == 1 and other is not None and len(labels) > 3:
            spans = [_span([case.error(x) for x in labels]) for case in (c, other)]
            out.append(Answer(c, spans[1] < spans[0], f"worst over best method {spans[0]:.2g} -> {spans[1]:.2g}", labels))
    return _counted(out)


def _consistent_time(all_cases: Sequence[CampaignCase]) -> Verdict:
    """Not of ols: it comes first, and what all methods share (rows, R factors) is in its time."""
    return _times(all_cases, [(f"pc-{x}", x) for x in ("wls", "irls")], 3.0)


def _output_error_time(all_cases: Sequence[CampaignCase]) -> Verdict:
    return _times(all_cases, [("clie", "didim"), ("cloe", "didim")], 10.0, ORDER)


def _simulation_time(all_cases: Sequence[CampaignCase]) -> Verdict:
    """Beside ols with the time of its rows and R factors, which are most of it."""
    return _times(all_cases, [("didim", "ols")], 5.0)


def _sigma_point_time(all_cases: Sequence[CampaignCase]) -> Verdict:
    return _times(all_cases, [("ukf", "ekf")], 4.0)


def _iterations(all_cases: Sequence[CampaignCase]) -> Verdict:
    """As the toolbox counts them: from one on, so that two updates are three iterations."""
    out = []
    for c in all_cases:
        if c.noise in MODERATE and c.has("iv", "didim"):
            iv, didim = (c.lines[name].mean["iterations"] + 1.0 for name in ("iv", "didim"))
            holds = abs(iv - 3.0) <= 1.0 and abs(didim - 4.0) <= 1.0
            out.append(Answer(c, holds, f"iv {iv:.1f}, didim {didim:.1f}", ("iv", "didim")))
    return _counted(out)


def _consistent_iterations(all_cases: Sequence[CampaignCase]) -> Verdict:
    """Method by method, where both converge."""
    out = []
    for c in all_cases:
        for name in ("iv", "didim"):
            labels = (f"pc-{name}", name)
            if c.noise in MODERATE and c.has(*labels):
                consistent, plain = (c.lines[x].mean["iterations"] for x in labels)
                out.append(Answer(c, abs(consistent - plain) <= 1.0, f"pc-{name} {consistent:.1f}, {name} {plain:.1f}", labels))
    return _counted(out)


def _integrators(all_cases: Sequence[CampaignCase]) -> Verdict:
    """Errors with Euler and with Runge-Kutta steps differ by less than two standard errors, or by less than a tenth of themselves."""
    out = []
    for c in all_cases:
        for name in ("iv", "didim"):
            labels = (f"{name} (rk1)", f"{name} (rk4)")
            if c.loop == "known" and c.has(*labels):
                (a, b), lines = map(c.error, labels), [c.lines[x] for x in labels]
                error = float(np.hypot(*(x.sd["d_par"] / np.sqrt(max(x.rows[0], 1)) for x in lines)))
                holds = abs(a - b) <= max(2.0 * error, 0.1 * min(a, b))
                out.append(Answer(c, holds, f"{name}, rk1 / rk4 {_percent(a, b)}", labels))
    return _counted(out)


def _knowledge(all_cases: Sequence[CampaignCase]) -> Verdict:
    out = []
    for c in all_cases:
        known = _same(all_cases, c, c.noise, loop="known")
        didim, estimated = "didim to the end", "didim (gains estimated)"
        if c.loop != "known" and known is not None and c.has(didim, "wls_f", estimated):
            text = _percent(known.error(didim), c.error(didim), c.error(estimated), c.error("wls_f"))
            worse = c.error(didim) > WORSE * known.error(didim)
            recovers = c.error(estimated) < c.error(didim)
            text = f"{c.loop}: didim known / wrong / gains estimated / wls_f without any loop {text}"
            out.append(Answer(c, worse and recovers, text, (didim, estimated)))
    return _counted(out)


def _times(all_cases: Sequence[CampaignCase], pairs: Sequence[tuple[str, str]], factor: float, about: float = ABOUT) -> Verdict:
    """Whether one method takes about so many times as long as another."""
    low, high = factor / about, factor * about
    out = []
    for c in all_cases:
        for slow, quick in pairs:
            if c.has(slow, quick) and c.lines[quick].mean["seconds"] > 0.0:
                ratio = c.lines[slow].mean["seconds"] / c.lines[quick].mean["seconds"]
                out.append(Answer(c, low <= ratio <= high, f"{slow} takes {ratio:.2g} times {quick}", (slow, quick)))
    return _counted(out)


def _same(
    all_cases: Sequence[CampaignCase], case: CampaignCase, noise: str, *, decimate: int | None = None, loop: str | None = None
) -> CampaignCase | None:
    wanted = (case.robot, case.decimate if decimate is None else decimate, noise, case.loop if loop is None else loop)
    return next((c for c in all_cases if (c.robot, c.decimate, c.noise, c.loop) == wanted), None)


def _span(values: Sequence[float]) -> float:
    finite = [x for x in values if np.isfinite(x)]
    return max(finite) / max(min(finite), 1e-300) if finite else np.inf


CLAIMS: tuple[Claim, ...] = (
    Claim("accuracy", "DIDIM and IDIM-IV give the most accurate parameters at standard noise", _most_accurate),
    Claim("input error", "CLIE is better than CLOE", _input_error),
    Claim(
        "filters on decimated data", "Kalman filters deteriorate sharply on decimated data", _filters_decimated, one_campaign=True
    ),
    Claim("filters on the RV2SQ", "Kalman filters deteriorate sharply at 140 Hz, too", _filters_slow, one_campaign=True),
    Claim("torque noise", "torque noise does not bias, it only adds variance", _torque_noise, single=True),
    Claim("highest noise", "IDIM-IV fails at the highest position noise, where DIDIM, CLIE and CLOE hold", _highest_noise),
    Claim("variance of AdaNN", "at least one order of magnitude above that of IDIM-OLS", _variance, single=True),
    Claim("filtering", "filtered IDIM-OLS comes near IDIM-IV and DIDIM", _filtered),
    Claim("filtering of others", "so do filtered WLS, IRLS, ML, AdaNN and HTRNN", _others_filtered),
    Claim("forward filters", "forward low-pass filters lead to strongly biased estimates", _forward),
    Claim("robustness", "unfiltered, ML, WLS and IRLS are more robust than OLS, TLS, AdaNN and HTRNN", _robust),
    Claim("decimation", "decimation makes methods alike", _equalised),
    Claim(
        "time of PC-methods", "about 3 times that of the plain method at equal iterations", _consistent_time, one_campaign=True
    ),
    Claim("time of CLIE and CLOE", "about 10 times that of IDIM-IV and DIDIM", _output_error_time, one_campaign=True),
    Claim("time of DIDIM", "about 5 times that of IDIM-OLS", _simulation_time, one_campaign=True),
    Claim("time of UKF", "about 4 times that of EKF", _sigma_point_time, one_campaign=True),
    Claim("iterations", "IDIM-IV about 3, DIDIM about 4", _iterations),
    Claim("iterations of PC-methods", "PC-IDIM-IV and PC-DIDIM take as many as IDIM-IV and DIDIM", _consistent_iterations),
    Claim("integrator", "RK4 in place of RK1 makes no significant difference", _integrators),
    Claim("knowledge of the loop", "wrong gains bias DIDIM; with a known structure they can be identified", _knowledge),
)
