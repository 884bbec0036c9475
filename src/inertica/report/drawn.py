"""The figures of the report, section by section."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inertica.arrays import Array
from inertica.identifiability.labels import INTERVAL
from inertica.numbers import number, percent
from inertica.report import html
from inertica.report.data import Record, friction_curves
from inertica.report.figures import Panel, Series, bars, dense, envelope, figure, key, thinned, zoom_bar
from inertica.robot.model import Joint
from inertica.validation.residuals import Whiteness
from inertica.workflow.identify.choice import Alternative
from inertica.workflow.identify.result import Result

MOST_POINTS = 500
"""Points of a scatter plot."""

BINS = 24

_COLOURS = ("points", "law", "other", "filtered")


def torque_figures(result: Result, record: Record, link: str) -> Sequence[str]:
    """Per joint: measured, filtered and predicted torque over time, and the filtered residual below; zoomed together."""
    t, joints, motion = record.motion.t, result.description.robot.joints, record.motion
    start, step, whole = float(t[0]), motion.dt, (float(t[0]), float(t[-1]))

    def series(colour: str, kind: str, name: str, y: Array) -> Series:
        return Series(*envelope(t, y), colour, kind, name, dense(start, step, y))

    figures = []
    for j, joint in enumerate(joints):
        drawn = [
            series("measured", "thin", "measured", motion.tau_raw[:, j]),
            series("filtered", "line", "filtered", record.smooth[:, j]),
            series("predicted", "line", "predicted", record.smooth_predicted[:, j]),
        ]
        if motion.decimator.ratio == 1:  # nothing was filtered
            drawn = [
                series("measured", "line", "measured", motion.tau_raw[:, j]),
                series("predicted", "line", "predicted", record.predicted[:, j]),
            ]
        error = record.smooth[:, j] - record.smooth_predicted[:, j]
        lower = Panel([series("residual", "line", "residual", error)], "residual", 55.0, zero=True)
        figures.append(figure([Panel(drawn, effort(joint)), lower], "time (s)", f"joint {j + 1}, {joint.name}", whole, link))
    names = {"measured": "measured", "filtered": "measured, filtered", "predicted": "predicted", "residual": "residual"}
    if motion.decimator.ratio == 1:
        names.pop("filtered")
    return [key(list(names.items())), zoom_bar(link), html.grid(figures)]


def fit_sections(result: Result, fitted: Sequence[Record]) -> Sequence[str]:
    """Residuals and friction of the identification data, joint by joint."""
    if not fitted or not sum(len(r.residual) for r in fitted):
        nothing = html.paragraph("No sample of the identification data is left to draw.")
        return [html.section("residuals", "Residuals", nothing), html.section("friction", "Friction", nothing)]
    q, dq, error, friction = (np.concatenate([getattr(r, name) for r in fitted]) for name in ("q", "dq", "residual", "friction"))
    return [
        html.section("residuals", "Residuals", *_residuals(result, fitted, q, error)),
        html.section("friction", "Friction", *_friction(result, fitted, (q, dq), error + friction)),
    ]


def _residuals(result: Result, fitted: Sequence[Record], q: Array, error: Array) -> Sequence[str]:
    joints = result.description.robot.joints
    lags = max(1, min(60, len(error) // 5))
    white = Whiteness.of(error, lags)
    spread = error.std(axis=0)
    rows = [
        [f"{j + 1} {joint.name}", number(float(spread[j]), 3), percent(white.outside[j]), f"{white.normal_p[j]:.2g}"]
        for j, joint in enumerate(joints)
    ]
    columns = ("joint", "standard deviation", "lags outside the band", "p of normality")
    treated = ": filtered and decimated" if any(r.motion.decimator.ratio > 1 for r in fitted) else ""
    about = (
        f"Residuals of the identification data as the fit sees them{treated}. White residuals would stay inside the "
        "grey band at 95 % of the lags; correlated ones mean that something of the robot is not in the model. The stated "
        "standard deviations account for the correlation."
    )
    return [
        html.paragraph(about + _where(fitted)),
        html.table("How white and how normal the residuals are", columns, rows, right=columns[1:]),
        "<h3>Autocorrelation</h3>" + html.grid(_correlations(joints, white, fitted[0].step, len(error))),
        "<h3>Distribution</h3>" + key([("points", "residuals"), ("law", "normal distribution of the same spread")]),
        html.grid(_histograms(joints, error)),
        "<h3>Against position</h3>" + key([("points", "samples"), ("law", "mean over a stretch")]),
        html.grid(_against_position(joints, q, error)),
    ]


def _where(fitted: Sequence[Record]) -> str:
    """Whose positions and velocities these are."""
    some = "where no position was recorded" if not all(r.simulated for r in fitted) else "since no position was recorded"
    return f" Positions and velocities are simulated ones, {some}." if any(r.simulated for r in fitted) else ""


def _correlations(joints: Sequence[Joint], white: Whiteness, step: float, count: int) -> Sequence[str]:
    rho = white.autocorrelation
    t = np.asarray(step * np.arange(rho.shape[1]), float)
    band = INTERVAL / np.sqrt(count)
    out = []
    for j, joint in enumerate(joints):
        limits = [Series(t[[0, -1]], np.full(2, s * band), "measured", "thin") for s in (-1.0, 1.0)]
        panel = Panel(
            [*limits, Series(t, rho[j], "points", "line", "correlation")], "correlation", 100.0, zero=True, y_range=(-1.0, 1.0)
        )
        out.append(figure([panel], "lag (s)", f"joint {j + 1}, {joint.name}"))
    return out


def _histograms(joints: Sequence[Joint], error: Array) -> Sequence[str]:
    out = []
    for j, joint in enumerate(joints):
        e = error[:, j]
        spread = float(e.std()) or 1.0
        reach = 4.0 * spread
        counts, edges = np.histogram(np.clip(e, -reach, reach), bins=33, range=(-reach, reach))
        density = counts / (len(e) * (edges[1] - edges[0]))
        x = np.linspace(-reach, reach, 121)
        normal = np.exp(-0.5 * ((x - e.mean()) / spread) ** 2) / (spread * np.sqrt(2.0 * np.pi))
        centres = (edges[1:] + edges[:-1]) / 2
        series = [Series(centres, density, "points", "bars"), Series(x, normal, "law")]
        panel = Panel(series, f"density (1/({joint.effort_unit}))", 100.0)
        out.append(figure([panel], f"residual ({joint.effort_unit})", f"joint {j + 1}, {joint.name}", (-reach, reach)))
    return out


def _against_position(joints: Sequence[Joint], q: Array, error: Array) -> Sequence[str]:
    take = thinned(len(q), MOST_POINTS)
    out = []
    for j, joint in enumerate(joints):
        series = [Series(q[take, j], error[take, j], "points", "points"), Series(*_means(q[:, j], error[:, j]), "law")]
        panel = Panel(series, f"residual ({joint.effort_unit})", 110.0, zero=True)
        out.append(figure([panel], f"position ({joint.unit})", f"joint {j + 1}, {joint.name}"))
    return out


def _means(x: Array, y: Array) -> tuple[Array, Array]:
    """Mean of y over stretches of x with equally many samples."""
    order = np.array_split(np.argsort(x), min(BINS, max(1, len(x) // 5)))
    return np.array([x[k].mean() for k in order]), np.array([y[k].mean() for k in order])


def _friction(result: Result, fitted: Sequence[Record], states: tuple[Array, Array], torque: Array) -> Sequence[str]:
    joints, (q, dq) = result.description.robot.joints, states
    curves = friction_curves(result, np.maximum(np.abs(dq).max(axis=0), 1e-6), q)
    take = thinned(len(dq), MOST_POINTS)
    figures, ends = [], (curves.low, curves.high)
    for j, joint in enumerate(joints):
        series = [Series(dq[take, j], torque[take, j], "points", "points")]
        series += [Series(curves.dq[:, j], y[:, j], "other", "thin", "bound") for y in ends if curves.varies(j)]
        series += [Series(curves.dq[:, j], curves.law[:, j], "law", name="law")]
        panel = Panel(series, f"friction ({joint.effort_unit})", 130.0, zero=True)
        figures.append(figure([panel], f"velocity ({joint.unit}/s)", f"joint {j + 1}, {joint.name}"))
    about = (
        "Measured torque less what the model says of everything but the joint's own friction, "
        "and the friction law that was fitted."
    )
    loaded = any(curves.varies(j) for j in range(len(joints)))
    if loaded:
        about += (
            " Where friction grows with what rests on the joint, thin lines are its least and largest over the poses of the log."
        )
    band = [("other", "least and largest over the poses")] if loaded else []
    return [
        html.paragraph(about + _where(fitted)),
        key([("points", "measured less rigid body"), ("law", "fitted law"), *band]),
        html.grid(figures),
    ]


def choice_figures(result: Result) -> Sequence[str]:
    """Scores in cross-validation: curves where candidates are numbers, bars where they are names."""
    out: list[str] = []
    for choice in result.choices:
        if len(choice.candidates) < 2:
            continue
        groups: dict[str, list[Alternative]] = {}
        for candidate in choice.candidates:
            groups.setdefault(candidate.group, []).append(candidate)
        figures = [_scores(choice.subject, group, members) for group, members in groups.items()]
        inside = html.grid(figures)
        out.append(html.details(f"{choice.subject}: scores of all candidates", inside, opened=len(figures) == 1))
    return out


def _scores(subject: str, group: str, candidates: Sequence[Alternative]) -> str:
    caption = f"{subject}{f', {group}' if group else ''}: relative error of raw torque on data left out"
    curves: dict[str, list[tuple[float, float]]] = {}
    for c in candidates:
        if c.number is None:
            best = min(candidates, key=lambda one: one.score)
            return bars([(one.name, one.score) for one in candidates], best.name, f"{caption}; the lowest in the other colour")
        curves.setdefault(c.series, []).append((c.number, 100.0 * c.score))
    series, names = [], []
    for colour, (name, points) in zip(_COLOURS, curves.items(), strict=False):
        x, y = np.array(sorted(points)).T
        series += [Series(x, y, colour, "line"), Series(x, y, colour, "marks")]
        names.append((colour, name))
    drawn = figure([Panel(series, "error (%)", 110.0)], f"candidate ({candidates[0].unit})", caption)
    return drawn if len(names) < 2 else html.Raw(f"<div>{key(names)}{drawn}</div>")


def effort(joint: Joint) -> str:
    """The quantity that drives a joint, with its unit."""
    return f"{'force' if joint.prismatic else 'torque'} ({joint.effort_unit})"
