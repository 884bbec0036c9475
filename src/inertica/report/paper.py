"""Figures for papers: vector drawings at the width of a column or a page, all in the look of `paper.mplstyle`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np

from inertica.arrays import Array
from inertica.errors import InputError, nearest
from inertica.escape import figure_text
from inertica.excitation.kinematics import frames
from inertica.excitation.trajectory import Trajectory
from inertica.identifiability.labels import INTERVAL, LABELS
from inertica.report.body import ellipsoid, view_extent
from inertica.report.data import Record, friction_curves, records
from inertica.report.drawn import effort
from inertica.report.figures import envelope, thinned
from inertica.report.style import LABEL_COLOURS, LABEL_LETTERS
from inertica.robot.inertia import NAMES
from inertica.robot.model import Joint
from inertica.workflow.identify.inputs import IDENTIFICATION
from inertica.workflow.identify.result import Motions, Result
from inertica.writing import whole_file

WIDTHS = {"column": 3.5, "page": 7.16}
"""Inches; of the columns and pages of IEEE journals."""

VECTOR = (".pdf", ".svg", ".eps")
GREY, BLACK, BLUE, ORANGE = "#9a9a9a", "#000000", "#0072B2", "#D55E00"
COLUMNS = 900
"""Stretches of a signal of which a line shows the extremes."""

POINTS = 700
"""Dots of a scatter plot."""


@dataclass(frozen=True, eq=False)
class Subject:
    """What is drawn.

    Args:
        result: whose.
        record: of the log that is drawn; None when the figure needs none.
        joints: 0-based, those that are drawn.
        width: of the figure in inches.
        tool: point of the last link in its frame, for paths.
        reference: what the controller followed, for paths; the log's own columns when not given.
    """

    result: Result
    record: Record | None
    joints: tuple[int, ...]
    width: float
    tool: tuple[float, float, float] = (0.0, 0.0, 0.0)
    reference: Trajectory | None = None

    @property
    def log(self) -> Record:
        if self.record is None:
            raise InputError("this figure draws a log, and the logs of the result are not there; --logs DIR says where they went")
        return self.record

    def joint(self, j: int) -> Joint:
        return self.result.description.robot.joints[j]


def write_figure(
    result: Result, motions: Motions, kind: str, target: str | Path, *, joints: Sequence[int] = (), log: str | None = None,
    width: str = "page", tool: tuple[float, float, float] = (0.0, 0.0, 0.0),
    reference: Trajectory | None = None,
) -> Path:  # fmt: skip
    """Draw one figure into a vector file.

    Args:
        result: what `identify` found.
        motions: what its predictions were made from, see `write_report`; may be empty for `parameters`, `map` and `ellipsoids`.
        kind: a name of `KINDS`.
        target: .pdf, .svg or .eps.
        joints: 1-based joints to draw; all by default.
        log: name of a data set, or a part of it; the last one that was not fitted by default.
        width: column or page.
        tool: point of the last link in its frame, for the path of the end-effector.
        reference: what the controller followed, for the same; the log's own columns when not given.

    Examples:
        >>> result = ia.Result.load("result")
        >>> motions, missing = ia.motions_again(result)
        >>> figure = ia.write_figure(result, motions, "torque", "torque.pdf")
    """
    path, n = Path(target), result.description.robot.n
    if path.suffix.lower() not in VECTOR:
        raise InputError(f"{path.name} is not a vector format; let the name end in {', '.join(VECTOR)}")
    if kind not in KINDS:
        raise InputError(f"there is no figure '{kind}'; {nearest(kind, KINDS)}")
    if width not in WIDTHS:
        raise InputError(f"there is no width '{width}'; {nearest(width, WIDTHS)}")
    if wrong := [j for j in joints if not 1 <= j <= n]:
        raise InputError(f"{result.description.name} has joints 1 to {n}, not {wrong[0]}")
    shown = tuple(j - 1 for j in joints) or tuple(range(n))
    subject = Subject(result, chosen_record(result, motions, log), shown, WIDTHS[width], tool, reference)
    with style():
        figure = KINDS[kind](subject)
        stamp = {".pdf": "CreationDate", ".svg": "Date"}.get(path.suffix.lower())
        with whole_file(path) as temporary:  # without the time, so that the same result gives the same bytes
            figure.savefig(temporary, metadata={stamp: None} if stamp else None)
    return path


def style() -> Any:
    """The house's look, for the block that it is entered for."""
    import matplotlib.style

    with as_file(files("inertica.report").joinpath("paper.mplstyle")) as path:
        return matplotlib.style.context(str(path))


def chosen_record(result: Result, motions: Motions, name: str | None) -> Record | None:
    """The first log of the data set that is asked for."""
    drawn = records(result, motions)
    if not drawn:
        return None
    if name is None:
        return next((r for r in reversed(drawn) if r.name != IDENTIFICATION), drawn[0])
    fitting = [r for r in drawn if name in (r.name, r.source)] or [r for r in drawn if name in r.name or name in r.source]
    if not fitting:
        raise InputError(f"the result has no log '{name}'; it has {', '.join(r.source for r in drawn)}")
    return fitting[0]


def torque(subject: Subject) -> Any:
    """Measured and predicted torque over time, and their difference."""
    record, columns = subject.log, _columns(subject)
    rows = -(-len(subject.joints) // columns)
    figure, axes = _figure(subject, 2 * rows, columns, 1.1 * rows, height_ratios=[2.4, 1.0] * rows, sharex=True)
    t = record.motion.t
    for k, j in enumerate(subject.joints):
        upper, lower = axes[2 * (k // columns), k % columns], axes[2 * (k // columns) + 1, k % columns]
        upper.plot(*envelope(t, record.motion.tau_raw[:, j], COLUMNS), color="#c4c4c4", lw=0.4, label="measured")
        upper.plot(*envelope(t, record.smooth[:, j], COLUMNS), color=BLACK, label="measured, low-passed")
        upper.plot(*envelope(t, record.smooth_predicted[:, j], COLUMNS), color=ORANGE, label="predicted")
        lower.axhline(0.0, color=GREY, lw=0.4)
        lower.plot(
            *envelope(t, record.smooth[:, j] - record.smooth_predicted[:, j], COLUMNS), color=BLUE, lw=0.6, label="residual"
        )
        upper.set_title(figure_text(subject.joint(j).name), loc="left")
        upper.set_ylabel(effort(subject.joint(j)))
        lower.set_ylabel("residual")
        lower.set_xlim(t[0], t[-1])
    _blank(
        axes, 2 * rows, columns, [(2 * (k // columns) + half, k % columns) for k in range(len(subject.joints)) for half in (0, 1)]
    )
    _time_labels(axes, columns, len(subject.joints), rows)
    lines = [*axes[0, 0].get_lines(), axes[1, 0].get_lines()[-1]]
    figure.legend(lines, [line.get_label() for line in lines], loc="outside upper center", ncols=4 if subject.width > 5 else 2)
    return figure


def residual(subject: Subject) -> Any:
    """Residuals as the fit sees them: distribution beside the normal one, and autocorrelation."""
    from inertica.validation.residuals import Whiteness

    error = subject.log.residual
    if len(error) < 10:
        raise InputError("too few samples of this log are left for a figure of its residuals")
    white = Whiteness.of(error, max(1, min(60, len(error) // 5)))
    figure, axes = _figure(subject, 2, len(subject.joints), 1.35)
    for k, j in enumerate(subject.joints):
        e, upper, lower = error[:, j], axes[0, k], axes[1, k]
        spread = float(e.std()) or 1.0
        upper.hist(np.clip(e, -4 * spread, 4 * spread), bins=33, density=True, color=BLUE, alpha=0.6)
        x = np.linspace(-4 * spread, 4 * spread, 121)
        upper.plot(x, np.exp(-0.5 * ((x - e.mean()) / spread) ** 2) / (spread * np.sqrt(2 * np.pi)), color=ORANGE)
        upper.set(title=figure_text(subject.joint(j).name), xlabel=f"residual ({subject.joint(j).effort_unit})", yticks=[])
        lags = subject.log.step * np.arange(white.autocorrelation.shape[1])
        band = INTERVAL / np.sqrt(len(e))
        lower.axhspan(-band, band, color="#dddddd", lw=0)
        lower.plot(lags, white.autocorrelation[j], color=BLUE)
        lower.set(xlabel="lag (s)", ylim=(-0.5, 1.02), xlim=(0, lags[-1]))
    axes[0, 0].set_ylabel("density")
    axes[1, 0].set_ylabel("autocorrelation")
    return figure


def parameters(subject: Subject) -> Any:
    """Values of parameters that are determined or weak, with intervals, beside the model's, in units of their intervals' scale."""
    result = subject.result
    layout = result.parameters.layout
    known = [
        k
        for k, p in enumerate(layout.parameters)
        if p.joint in subject.joints and np.isfinite(result.std[k]) and result.std[k] > 0
    ]
    if not known:
        raise InputError(
            "no standard parameter of these joints is determined by itself; figure `map` shows what is known of them"
        )
    columns = 2 if subject.width > 5 and len(known) > 12 else 1
    parts = np.array_split(np.array(known), columns)
    figure, axes = _figure(subject, 1, columns, 0.115 * len(parts[0]) + 0.35)
    for ax, part in zip(axes[0], parts, strict=True):
        scale = [
            max(abs(result.parameters.values[k]), abs(result.description.prior.values[k]), INTERVAL * result.std[k]) for k in part
        ]
        for row, (k, size) in enumerate(zip(part, scale, strict=True)):
            fill, _ = LABEL_COLOURS[result.labels[layout.names[k]]]
            low, high = np.clip(result.intervals[k] / size, -3.0, 3.0)
            ax.plot([low, high], [row, row], color=fill, lw=1.6, solid_capstyle="butt")
            ax.plot(result.parameters.values[k] / size, row, "o", color=fill)
            ax.plot(result.description.prior.values[k] / size, row, "x", color=BLACK, mew=0.6)
        ax.set(yticks=range(len(part)), ylim=(len(part) - 0.4, -0.6), xlabel="value / largest of value, model, uncertainty")
        ax.set_yticklabels([layout.names[k] for k in part])
        ax.axvline(0.0, color=GREY, lw=0.4)
    used = [word for word in LABELS if word in {result.labels[layout.names[k]] for k in known}]
    from matplotlib.lines import Line2D

    entries = [Line2D([], [], color=LABEL_COLOURS[word][0], marker="o", lw=1.6, label=word) for word in used]
    entries.append(Line2D([], [], color=BLACK, marker="x", lw=0, mew=0.6, label="model"))
    figure.legend(handles=entries, loc="outside upper center", ncols=len(entries))
    return figure


def trust_map(subject: Subject) -> Any:
    """Links as rows, kinds of parameters as columns, each cell coloured and lettered by its trust label."""
    from matplotlib.patches import Patch, Rectangle

    result = subject.result
    rows, _ = result.parameters.layout.cells()
    kinds = list(dict.fromkeys([*NAMES, *(kind for j in subject.joints for kind in rows[j])]))
    figure, axes = _figure(subject, 1, 1, 0.19 * len(subject.joints) + 0.45)
    ax = axes[0, 0]
    for i, j in enumerate(subject.joints):
        for k, kind in enumerate(kinds):
            if (name := rows[j].get(kind)) is not None:
                fill, ink = LABEL_COLOURS[result.labels[name]]
                ax.add_patch(Rectangle((k, i), 0.94, 0.9, fc=fill, ec=GREY if fill == "#ffffff" else fill, lw=0.4))
                word = LABEL_LETTERS[result.labels[name]]
                ax.text(k + 0.47, i + 0.45, word, color=ink, ha="center", va="center", fontsize=6.5)
    ax.set(xlim=(0, len(kinds)), ylim=(len(subject.joints), 0))
    ax.set_xticks(np.arange(len(kinds)) + 0.47, kinds)
    ax.set_yticks(np.arange(len(subject.joints)) + 0.45, [figure_text(subject.joint(j).link) for j in subject.joints])
    ax.tick_params(length=0, top=False, labeltop=True, bottom=False, labelbottom=False)
    ax.spines[:].set_visible(False)
    used = [word for word in LABELS if word in result.labels.values()]
    patches = [Patch(fc=LABEL_COLOURS[w][0], ec=GREY, lw=0.4, label=f"{LABEL_LETTERS[w]}  {w}") for w in used]
    figure.legend(handles=patches, loc="outside lower center", ncols=len(used))
    return figure


def friction(subject: Subject) -> Any:
    """Friction laws with the data behind them: measured torque less what the model says of everything else."""
    record, columns = subject.log, _columns(subject)
    if not len(record.dq):
        raise InputError("no sample of this log is left for a figure of friction")
    curves = friction_curves(subject.result, np.maximum(np.abs(record.dq).max(axis=0), 1e-6), record.q)
    data, take = record.residual + record.friction, thinned(len(record.dq), POINTS)
    rows = -(-len(subject.joints) // columns)
    figure, axes = _figure(subject, rows, columns, 1.35)
    for k, j in enumerate(subject.joints):
        ax, joint = axes[k // columns, k % columns], subject.joint(j)
        ax.plot(record.dq[take, j], data[take, j], ".", color=BLUE, ms=1.6, alpha=0.5, mew=0)
        ax.plot(curves.dq[:, j], curves.law[:, j], color=ORANGE)
        if curves.varies(j):  # with what rests on the joint
            ax.fill_between(curves.dq[:, j], curves.low[:, j], curves.high[:, j], color=ORANGE, alpha=0.25, lw=0)
        ax.set(title=figure_text(joint.name), xlabel=f"velocity ({joint.unit}/s)", ylabel=f"friction ({joint.effort_unit})")
    _blank(axes, rows, columns, [(k // columns, k % columns) for k in range(len(subject.joints))])
    return figure


def end_effector(subject: Subject) -> Any:
    """Desired and actual path of the end-effector, and the distance between them over time (survey, Figure 8)."""
    t, desired, actual = paths(subject)
    figure = _empty(subject, 0.42 * subject.width)
    space = figure.add_subplot(1, 2, 1, projection="3d", computed_zorder=False)
    for path, colour, name, line in ((desired, BLACK, "desired", "--"), (actual, ORANGE, "actual", "-")):
        take = thinned(len(path), 2000)
        space.plot(*path[take].T, color=colour, ls=line, lw=0.8, label=name)
    space.set(xlabel="x (m)", ylabel="y (m)", zlabel="z (m)")
    span = np.ptp(np.vstack([desired, actual]), axis=0)
    space.set_box_aspect(np.maximum(span, 0.05 * max(float(span.max()), 1e-9)), zoom=0.82)  # a metre is a metre along every axis
    space.locator_params(nbins=4)
    space.legend(loc="upper left")
    flat = figure.add_subplot(1, 2, 2)
    distance = 1e3 * np.linalg.norm(actual - desired, axis=1)
    flat.plot(*envelope(t, distance, COLUMNS), color=BLUE)
    flat.set(xlabel="time (s)", ylabel="distance (mm)", xlim=(t[0], t[-1]), ylim=(0.0, None))
    return figure


def paths(subject: Subject) -> tuple[Array, Array, Array]:
    """Times, and the points (N, 3) where the tool should be and where it was, at the samples of the log."""
    log, result = subject.log.motion.log, subject.result
    if "q" not in log.signals:
        raise InputError(f"{subject.log.source} holds no positions; the path of the end-effector needs them")
    reference = log.reference if subject.reference is None else subject.reference(log.t)[0]
    if reference is None:
        raise InputError(
            f"{subject.log.source} does not say what the controller followed (columns qr1..); give it with --reference"
        )
    q = log.need("q")
    good = np.isfinite(q).all(axis=1) & np.isfinite(reference).all(axis=1)
    robot = result.description.robot
    desired, actual = (frames(robot, x[good]).point(-1, subject.tool) for x in (reference, q))
    return log.t[good], desired, actual


def ellipsoids(subject: Subject) -> Any:
    """Mass and centre of mass of every link as inertia ellipsoids on the robot, in the model and identified (Jaco2, Figure 1)."""
    result = subject.result
    robot = result.description.robot
    q = np.zeros((1, robot.n)) if subject.record is None else subject.record.motion.q[:1]
    at = frames(robot, q)
    figure = _empty(subject, 0.5 * subject.width)
    whole = view_extent(result, q)
    centre, reach = (whole.min(0) + whole.max(0)) / 2, 0.55 * max(float(np.ptp(whole, axis=0).max()), 0.1)
    for place, (title, values, colour) in enumerate(
        (("model", result.description.prior, GREY), ("identified", result.parameters, BLUE)), 1
    ):
        ax = figure.add_subplot(1, 2, place, projection="3d")
        for j, joint in enumerate(robot.joints):
            start = at.origin[0, joint.parent] if joint.parent >= 0 else np.zeros(3)
            ax.plot(*np.vstack([start, at.pivot[0, j], at.origin[0, j]]).T, color="#444444", lw=1.6)
            body = ellipsoid(values, j)
            if body["mass"] > 0.0 and body["possible"]:
                _draw_ellipsoid(ax, at.origin[0, j] + at.rotation[0, j] @ body["com"], at.rotation[0, j] @ body["axes"].T, colour)
        ax.set_title(f"{title}, {sum(max(ellipsoid(values, j)['mass'], 0.0) for j in range(robot.n)):.3g} kg")
        ax.set(**{f"{c}lim": (centre[i] - reach, centre[i] + reach) for i, c in enumerate("xyz")})
        ax.set_box_aspect((1, 1, 1), zoom=1.5)
        ax.set_axis_off()
        _scale(ax, centre - [0.9 * reach, 0.9 * reach, 0.0], reach)
    return figure


def _scale(ax: Any, corner: Array, reach: float) -> None:
    """The directions of the base frame, and how long a round length is."""
    length = float(min((0.05, 0.1, 0.2, 0.5, 1.0), key=lambda x: abs(x - 0.4 * reach)))
    start = np.array([corner[0], corner[1], 0.0])
    for i, name in enumerate("xyz"):
        end = start + length * np.eye(3)[i]
        ax.plot(*np.vstack([start, end]).T, color=BLACK, lw=0.6)
        ax.text(*(start + 1.2 * (end - start)), name, fontsize=6, ha="center", va="center")
    ax.text2D(0.02, 0.02, f"axes are {length:g} m long", transform=ax.transAxes, fontsize=6)


def _draw_ellipsoid(ax: Any, centre: Array, axes: Array, colour: str) -> None:
    """Three rings and the centre; columns of `axes` are the half axes."""
    turn = np.linspace(0.0, 2.0 * np.pi, 49)
    for a, b in ((0, 1), (1, 2), (2, 0)):
        ring = centre + np.outer(np.cos(turn), axes[:, a]) + np.outer(np.sin(turn), axes[:, b])
        ax.plot(*ring.T, color=colour, lw=0.6)
    ax.plot(*centre[:, None], "o", color=colour, ms=2)


KINDS: dict[str, Callable[[Subject], Any]] = {
    "torque": torque, "residual": residual, "parameters": parameters, "map": trust_map, "friction": friction,
    "end-effector": end_effector, "ellipsoids": ellipsoids,
}  # fmt: skip
"""Name -> what draws it."""


def _columns(subject: Subject) -> int:
    return min(len(subject.joints), 3 if subject.width > 5 else 2)


def _empty(subject: Subject, height: float) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=(subject.width, height), layout="constrained")


def _figure(subject: Subject, rows: int, columns: int, height: float, **options: Any) -> tuple[Any, Any]:
    """Axes in a grid; `height` in inches is that of a row, or of all of them where rows have ratios."""
    ratios = options.pop("height_ratios", None)
    figure = _empty(subject, height * 1.6 + 0.3 if ratios else height * rows + 0.3)
    return figure, figure.subplots(rows, columns, squeeze=False, height_ratios=ratios, **options)


def _blank(axes: Any, rows: int, columns: int, used: Sequence[tuple[int, int]]) -> None:
    for place in {(r, c) for r in range(rows) for c in range(columns)} - set(used):
        axes[place].set_visible(False)


def _time_labels(axes: Any, columns: int, count: int, rows: int) -> None:
    """Under the lowest figure of every column."""
    for c in range(columns):
        last = max(r for r in range(rows) if r * columns + c < count)
        axes[2 * last + 1, c].set_xlabel("time (s)")
        axes[2 * last + 1, c].tick_params(labelbottom=True)
