"""What logs determine: condition, weak directions named in parameters, parameters with their uncertainty, structured residuals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inertica.arrays import Array
from inertica.checks.findings import Finding, Verdict, joint_list
from inertica.checks.plainfit import Observed, PlainFit, joint_rows, solve_with
from inertica.estimators.evidence import ScaledSvd
from inertica.identifiability.base import BaseModel
from inertica.identifiability.labels import DETERMINED, RELATIVE_WIDTH, WEAK, well_determined

FAIR_CONDITION, POOR_CONDITION = 50.0, 100.0
"""Condition numbers of the base regressor with columns of equal norm: good designs reach 10 to 30."""

MISSED = 0.3
"""A plain fit that leaves more of a joint's torque than this misses something."""

NEGLIGIBLE = 0.03
"""A parameter that could not be more than this part of any joint's torque is negligible in these logs, whatever its value."""

HARDLY = 0.3
"""Relative standard deviation beyond which a parameter is hardly known (DIDIM paper: not essential)."""

MANY = 1.0 / 3.0
"""Parameters that are hardly known beyond this part of all are worth a note."""

SHOWN = 0.35
"""Parts of a direction smaller than this fraction of its largest are not named."""

LARGE_RESIDUAL, FOLLOWS = 0.1, 0.6
"""A residual above 10 % of the torque, 60 % of whose energy another joint's motion explains, looks like a coupling."""

ROWS_PER_COLUMN = 3
"""Fewer rows than this per column, and extra columns explain anything."""

LABELS = (DETERMINED, WEAK, "negligible", "not determined")
MOST_NAMED = 12


def excitation(fit: PlainFit, base: BaseModel) -> Finding:
    """Condition number and the directions of parameter space that the motion hardly moves along."""
    svd = ScaledSvd.of(fit.unweighted)
    singular, directions = svd.s, svd.Vt
    condition = float(singular[0] / singular[-1]) if singular[-1] > 0.0 else np.inf
    plain = np.linalg.svd(fit.unweighted, compute_uv=False)
    whole = float(plain[0] / plain[-1]) if plain[-1] > 0.0 else np.inf
    weak = [i for i in range(len(singular)) if singular[0] > FAIR_CONDITION * singular[i]]
    named = [
        (float(singular[i] / singular[0]), direction_text(directions[i], base.names))
        for i in reversed(weak or [len(singular) - 1])
    ]
    numbers = {
        "condition": whole, "condition_scaled": condition, "smallest": float(plain[-1]), "base_count": base.rank,
        "directions": [{"relative_singular_value": s, "direction": text} for s, text in named],
    }  # fmt: skip
    text = f"condition number of the base regressor {whole:.4g}, {condition:.3g} with scaled columns"
    if condition <= FAIR_CONDITION:
        return Finding("excitation", "fine", text, numbers=numbers)
    text += f"; hardly excited: {'; '.join(words for _, words in named[:3])}"
    verdict: Verdict = "warning" if condition > POOR_CONDITION else "note"
    designed = "" if base.layout.robot.floating else " (inertica excite designs one)"
    advice = f"add a log that moves these{designed}; a small residual on this log alone proves nothing"
    return Finding("excitation", verdict, text, advice, numbers=numbers)


def direction_text(v: Array, names: Sequence[str]) -> str:
    """`0.7*MX5 - 0.6*XX5`: the leading parts of a direction, weights for columns of equal norm; the first part is positive."""
    order = np.argsort(-np.abs(v), kind="stable")
    parts = [k for k in order if abs(v[k]) >= SHOWN * abs(v[order[0]])][:5]
    sign = 1.0 if v[parts[0]] > 0.0 else -1.0
    text = f"{abs(v[parts[0]]):.2g}*{names[parts[0]]}"
    for k in parts[1:]:
        text += f" {'+' if sign * v[k] > 0.0 else '-'} {abs(v[k]):.2g}*{names[k]}"
    return text


def parameters(fit: PlainFit, base: BaseModel) -> Finding:
    """Which base and standard parameters the logs determine, by relative standard deviation of the plain fit."""
    with np.errstate(divide="ignore"):
        relative = np.where(np.isfinite(fit.sd), fit.sd / np.maximum(np.abs(fit.beta), 1e-300), np.inf)
    well = well_determined(fit.beta, fit.sd)
    labels = [_label(bool(w), s, e) for w, s, e in zip(well, fit.sd, fit.effect, strict=True)]
    of_base = dict(zip(base.names, labels, strict=True))
    standard = {name: _standard_label(kind, name, of_base) for name, kind in base.classes().items()}
    unknown = zip(base.names, labels, relative, strict=True)
    lost = [name for name, label, r in unknown if label in (WEAK, "not determined") and r > HARDLY]
    rows = [
        {"name": name, "value": float(v), "std": float(s), "relative_std": float(r), "label": label, "relation": relation}
        for name, v, s, r, label, relation in zip(
            base.names, fit.beta, fit.sd, relative, labels, base.numeric_relations, strict=True
        )
    ]
    counts = {label: labels.count(label) for label in LABELS}
    numbers = {"base": rows, "standard": standard, **{key.replace(" ", "_"): value for key, value in counts.items()}}
    text = (
        f"of {base.rank} base parameters {counts['determined']} are determined (95 % interval within "
        f"{100 * RELATIVE_WIDTH:.0f} % of the value), {counts['weak']} are weak, {counts['negligible']} are negligible, "
        f"{counts['not determined']} are not determined"
    )
    if lost:
        more = f" and {len(lost) - MOST_NAMED} more" if len(lost) > MOST_NAMED else ""
        text += f"; hardly known: {', '.join(lost[:MOST_NAMED])}{more}"
    if len(lost) > MANY * base.rank:
        advice = "much of the model would rest on prior values; use a more exciting motion or keep to a prior"
        return Finding("parameters", "note", text, advice, numbers=numbers)
    return Finding("parameters", "fine", text, numbers=numbers)


def _label(well: bool, sd: float, effect: float) -> str:
    if well:
        return DETERMINED
    if effect <= NEGLIGIBLE:
        return "negligible"
    return WEAK if np.isfinite(sd) else "not determined"


def _standard_label(kind: str, name: str, of_base: dict[str, str]) -> str:
    """A standard parameter's label: that of its base parameter when it stands alone, else why it cannot be told."""
    if kind == "alone":
        return of_base[name]
    return {"combined": "in combination only", "none": "no effect", "fixed": "known"}[kind]


def residuals(fit: PlainFit, logs: Sequence[Observed]) -> Finding:
    """Relative residual of the plain fit, joint by joint."""
    moving = np.max([np.ptp(o.motion.q, axis=0) for o in logs], axis=0) > 0.0
    high = [j for j in range(len(fit.residual)) if fit.residual[j] > MISSED and moving[j]]
    numbers = {"per_joint": fit.residual, "all": fit.overall}
    percents = ", ".join(f"{100 * r:.2g}" for r in fit.residual)
    text = f"a plain fit leaves {100 * fit.overall:.2g} % of the torque, joint by joint {percents} %"
    if high:
        advice = f"the model misses something on {joint_list(high)}: friction law, offset, coupling, sign, gain or delay"
        return Finding("residual", "note", text, advice, numbers=numbers)
    return Finding("residual", "fine", text, numbers=numbers)


def couplings(fit: PlainFit, logs: Sequence[Observed]) -> Finding:
    """Residuals that follow the motion of another joint: a coupling that the model lacks."""
    n = len(fit.residual)
    explained = np.zeros((n, n))
    for j in range(n):
        W, y = joint_rows(logs, j)
        if len(y) < ROWS_PER_COLUMN * W.shape[1]:
            continue
        for k in range(n):
            if k == j or fit.residual[j] <= LARGE_RESIDUAL or np.ptp(y) < 1e-6 * np.abs(y).max(initial=0.0):
                continue
            extra = np.vstack([_joint_motion(o, j, k)[o.use] for o in logs])
            before, after = solve_with(W, y, extra)
            explained[j, k] = 1.0 - after / before if before > 0.0 else 0.0
    coupled = [(j, int(np.argmax(explained[j]))) for j in range(n) if explained[j].max() > FOLLOWS]
    pairs = sorted({(min(j, k), max(j, k)) for j, k in coupled})
    numbers = {"explained": explained, "pairs": [[a + 1, b + 1] for a, b in pairs]}
    if not pairs:
        return Finding("coupling", "fine", "no joint's residual follows the motion of another joint", numbers=numbers)
    sentences = [
        f"joint {j + 1} leaves {100 * fit.residual[j]:.2g} %, of whose energy the motion of joint {k + 1} explains "
        f"{100 * explained[j, k]:.0f} %"
        for j, k in coupled
    ]
    a, b = pairs[0]
    advice = (
        "a motor that turns with several joints looks like this; try the card's key "
        f"coupling: [{{motor: {b + 1}, joints: [{a + 1}, {b + 1}]}}]"
    )
    return Finding("coupling", "note", "; ".join(sentences), advice, numbers=numbers)


def _joint_motion(o: Observed, j: int, k: int) -> Array:
    """Columns that a drive shared by joints j and k would bring to joint j."""
    m = o.motion
    dj, dk = m.dq[:, j], m.dq[:, k]
    return o.reduced(np.column_stack([dk, m.ddq[:, k], np.sign(dk), np.sign(dj + dk), np.sign(dj - dk)]))
