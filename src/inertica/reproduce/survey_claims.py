"""What the survey concludes (its sections 9.5, 10.1, 10.2), each claim held against the lines of a campaign.

A claim holds, does not hold, or depends: it holds under some of the conditions that were computed and not under others.  One
whose methods or conditions are not in the campaign is not tested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from inertica.campaign.summary import Group, Line

HOLDS, FAILS, DEPENDS, UNTESTED = "holds", "does not hold", "depends", "not tested"

PLAIN = ("ols", "wls", "irls", "tls", "ml", "adann", "htrnn")
FILTERS = ("ekf", "srekf", "ukf", "srukf", "cdkf", "srcdkf")
MODERATE, HIGHEST = ("row 1", "row 2"), ("row 3", "row 5")
NEAR, WORSE = 1.5, 2.0
"""Times an error up to which another one is as good, and from which it is clearly worse."""


SHOWN = 6
"""Conditions whose numbers are listed."""


@dataclass(frozen=True)
class Case:
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
        found = self.lines[label].mean["d_par"] if label in self.lines else np.nan
        return float(found) if np.isfinite(found) else np.inf

    def has(self, *labels: str) -> bool:
        return all(label in self.lines for label in labels)


@dataclass(frozen=True)
class Verdict:
    """What was measured, and what follows."""

    ours: str
    verdict: str


@dataclass(frozen=True)
class Claim:
    """A sentence of the survey and how it is tested.

    Args:
        name, published: what it says.
        test: of the conditions.
        single: single estimates are needed, not their means.
        one_campaign: conditions or times are compared, which must have the same runs and starts, on one kind of device.
    """

    name: str
    published: str
    test: Callable[[Sequence[Case]], Verdict]
    single: bool = False
    one_campaign: bool = False


def cases(found: Sequence[Line], groups: Sequence[Group]) -> list[Case]:
    """Lines and rows by condition."""
    out = []
    for condition in dict.fromkeys(line.place.condition for line in found):
        own = {line.place.label: line for line in found if line.place.condition == condition}
        rows = {g.place.label: g for g in groups if g.place.condition == condition}
        place = next(iter(own.values())).place
        out.append(Case(place.robot, place.decimate, place.noise, place.loop, own, rows))
    return out


def _counted(answers: Iterable[tuple[str, bool, str]]) -> Verdict:
    """From condition, whether the claim holds there, and the numbers."""
    listed = list(answers)
    if not listed:
        return Verdict("no such conditions or methods in the campaign", UNTESTED)
    good = sum(holds for _, holds, _ in listed)
    verdict = HOLDS if good == len(listed) else FAILS if good == 0 else DEPENDS
    shown = "; ".join(f"{name}: {text}" for name, _, text in listed[:SHOWN]) + (" ..." if len(listed) > SHOWN else "")
    return Verdict(f"{good} of {len(listed)} conditions; {shown}", verdict)


def _percent(*values: float) -> str:
    return " / ".join("unstable" if not np.isfinite(x) else f"{100 * x:.2g} %" for x in values)


def _most_accurate(found: Sequence[Case]) -> Verdict:
    out = []
    for c in found:
        if c.noise in MODERATE and c.has("iv", "didim"):
            best = min(c.error(label) for label in c.lines)
            both = c.error("didim"), c.error("iv")
            out.append((c.name, max(both) <= NEAR * best, f"didim / iv / best {_percent(*both, best)}"))
    return _counted(out)


def _input_error(found: Sequence[Case]) -> Verdict:
    own = [c for c in found if c.has("clie", "cloe")]
    return _counted((c.name, c.error("clie") <= c.error("cloe"), _percent(c.error("clie"), c.error("cloe"))) for c in own)


def _filters_decimated(found: Sequence[Case]) -> Verdict:
    """Filter by filter, beside itself without decimation."""
    out = []
    for c in found:
        before = _same(found, c, c.noise, decimate=1)
        for name in FILTERS:
            if c.decimate > 1 and c.has(name) and before is not None and before.has(name):
                errors = before.error(name), c.error(name)
                out.append((f"{c.name} {name}", errors[1] > WORSE * errors[0], " -> ".join(map(_percent, errors))))
    return _counted(out)


def _torque_noise(found: Sequence[Case]) -> Verdict:
    out = []
    for c in found:
        other = _same(found, c, "row 4")
        if c.noise == "row 2" and other is not None and "wls_f" in c.groups and "wls_f" in other.groups:
            a, b = c.groups["wls_f"], other.groups["wls_f"]
            shift = float(np.linalg.norm(b.bias - a.bias) / np.linalg.norm(a.truth))
            spread = float(np.linalg.norm(b.spread) / max(float(np.linalg.norm(a.spread)), 1e-300))
            out.append((c.name, shift < float(np.linalg.norm(b.spread) / np.linalg.norm(b.truth)) + 1e-3,
                        f"wls_f: bias moves by {_percent(shift)}, spread times {spread:.2g}"))  # fmt: skip
    return _counted(out)


def _highest_noise(found: Sequence[Case]) -> Verdict:
    out = []
    for c in found:
        if c.noise in HIGHEST and c.has("iv", "didim", "clie", "cloe"):
            others = [c.error(x) for x in ("didim", "clie", "cloe")]
            out.append(
                (c.name, c.error("iv") > 2.0 * max(others), f"iv / didim / clie / cloe {_percent(c.error('iv'), *others)}")
            )
    return _counted(out)


def _variance(found: Sequence[Case]) -> Verdict:
    out = []
    for c in found:
        if "adann_f" in c.groups and "ols_f" in c.groups and len(c.groups["ols_f"].beta) > 1:
            ratio = float(np.median(c.groups["adann_f"].spread / np.maximum(c.groups["ols_f"].spread, 1e-300))) ** 2
            out.append((c.name, ratio >= 10.0, f"variance times {ratio:.0f}"))
    return _counted(out)


def _filtered(found: Sequence[Case]) -> Verdict:
    out = []
    for c in found:
        if c.has("ols_f", "iv", "didim") and c.noise in MODERATE:
            filtered, iv, didim = (c.error(x) for x in ("ols_f", "iv", "didim"))
            out.append((c.name, filtered <= NEAR * min(iv, didim), f"ols_f / iv / didim {_percent(filtered, iv, didim)}"))
    return _counted(out)


def _forward(found: Sequence[Case]) -> Verdict:
    own = [c for c in found if c.has("ols (forward)", "ols_f") and np.isfinite(c.error("ols (forward)"))]
    return _counted(
        (c.name, c.error("ols (forward)") > 2.0 * c.error("ols_f"), _percent(c.error("ols (forward)"), c.error("ols_f")))
        for c in own
    )


def _robust(found: Sequence[Case]) -> Verdict:
    out = []
    for c in found:
        if c.noise in HIGHEST and c.decimate == 1 and c.has("ml", "wls", "irls", "ols", "tls", "adann", "htrnn"):
            robust = max(c.error(x) for x in ("ml", "wls", "irls"))
            others = min(c.error(x) for x in ("ols", "tls", "adann", "htrnn"))
            out.append(
                (c.name, robust < others, f"worst of ml, wls, irls {_percent(robust)}, best of the others {_percent(others)}")
            )
    return _counted(out)


def _equalised(found: Sequence[Case]) -> Verdict:
    out = []
    for c in found:
        other = _same(found, c, c.noise, decimate=4)
        labels = [x for x in (*PLAIN, "iv", "didim") if c.has(x)]
        if c.decimate == 1 and other is not None and len(labels) > 3:
            spans = [_span([case.error(x) for x in labels]) for case in (c, other)]
            out.append((c.name, spans[1] < spans[0], f"worst over best method {spans[0]:.2g} -> {spans[1]:.2g}"))
    return _counted(out)


def _consistent_time(found: Sequence[Case]) -> Verdict:
    """Not of ols: it comes first, and what all methods share (rows, R factors) is in its time."""
    return _times(found, [(f"pc-{x}", x) for x in ("wls", "irls")], 1.5, 6.0)


def _output_error_time(found: Sequence[Case]) -> Verdict:
    return _times(found, [("clie", "didim"), ("cloe", "didim")], 3.0, 30.0)


def _iterations(found: Sequence[Case]) -> Verdict:
    """As the toolbox counts them: from one on, so that two updates are three iterations."""
    out = []
    for c in found:
        if c.noise in MODERATE and c.has("iv", "didim"):
            iv, didim = (c.lines[name].mean["iterations"] + 1.0 for name in ("iv", "didim"))
            out.append((c.name, abs(iv - 3.0) <= 1.0 and abs(didim - 4.0) <= 1.0, f"iv {iv:.1f}, didim {didim:.1f}"))
    return _counted(out)


def _knowledge(found: Sequence[Case]) -> Verdict:
    out = []
    for c in found:
        known = _same(found, c, c.noise, loop="known")
        didim, estimated = "didim to the end", "didim (gains estimated)"
        if c.loop != "known" and known is not None and c.has(didim, "wls_f", estimated):
            text = _percent(known.error(didim), c.error(didim), c.error(estimated), c.error("wls_f"))
            worse = c.error(didim) > 2.0 * known.error(didim)
            recovers = c.error(estimated) < c.error(didim)
            out.append((c.loop, worse and recovers, f"didim known / wrong / gains estimated / wls_f without any loop {text}"))
    return _counted(out)


def _times(found: Sequence[Case], pairs: Sequence[tuple[str, str]], low: float, high: float) -> Verdict:
    out = []
    for c in found:
        for slow, quick in pairs:
            if c.has(slow, quick) and c.lines[quick].mean["seconds"] > 0.0:
                ratio = c.lines[slow].mean["seconds"] / c.lines[quick].mean["seconds"]
                out.append((c.name, low <= ratio <= high, f"{slow} takes {ratio:.2g} times {quick}"))
    return _counted(out)


def _same(found: Sequence[Case], case: Case, noise: str, *, decimate: int | None = None, loop: str | None = None) -> Case | None:
    wanted = (case.robot, case.decimate if decimate is None else decimate, noise, case.loop if loop is None else loop)
    return next((c for c in found if (c.robot, c.decimate, c.noise, c.loop) == wanted), None)


def _span(values: Sequence[float]) -> float:
    finite = [x for x in values if np.isfinite(x)]
    return max(finite) / max(min(finite), 1e-300) if finite else np.inf


CLAIMS: tuple[Claim, ...] = (
    Claim("accuracy", "DIDIM and IDIM-IV give the most accurate parameters at standard noise", _most_accurate),
    Claim("input error", "CLIE is better than CLOE", _input_error),
    Claim(
        "filters on decimated data", "Kalman filters deteriorate sharply on decimated data", _filters_decimated, one_campaign=True
    ),
    Claim("torque noise", "torque noise does not bias, it only adds variance", _torque_noise, single=True, one_campaign=True),
    Claim("highest noise", "IDIM-IV fails at the highest position noise, where DIDIM, CLIE and CLOE hold", _highest_noise),
    Claim("variance of AdaNN", "at least one order of magnitude above that of IDIM-OLS", _variance, single=True),
    Claim("filtering", "filtered IDIM-OLS comes near IDIM-IV and DIDIM", _filtered),
    Claim("forward filters", "forward low-pass filters lead to strongly biased estimates", _forward),
    Claim("robustness", "unfiltered, ML, WLS and IRLS are more robust than OLS, TLS, AdaNN and HTRNN", _robust),
    Claim("decimation", "decimation makes methods alike", _equalised),
    Claim(
        "time of PC-methods", "about 3 times that of the plain method at equal iterations", _consistent_time, one_campaign=True
    ),
    Claim("time of CLIE and CLOE", "about 10 times that of IDIM-IV and DIDIM", _output_error_time, one_campaign=True),
    Claim("iterations", "IDIM-IV about 3, DIDIM about 4", _iterations),
    Claim("knowledge of the loop", "wrong gains bias DIDIM; with a known structure they can be identified", _knowledge),
)
