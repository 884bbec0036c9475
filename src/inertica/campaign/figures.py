"""Pictures of a campaign as SVG: what methods get wrong, how long they take, from where they converge."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from inertica.campaign.store import Store
from inertica.campaign.summary import Group, Line, bench_of

MOST = 4
"""Methods whose parameters are drawn one by one, the best by rank."""

WIDTH = 7.2
"""Inches."""


def _axes(height: float, rows: int = 1, **more: Any) -> tuple[Any, Any]:
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    FigureCanvasSVG(figure)
    return figure, figure.subplots(rows, **more)


def _svg(figure: Any) -> str:
    import matplotlib as mpl

    out = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "inertica", "svg.fonttype": "none"}):
        figure.savefig(out, format="svg", metadata={"Date": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


def error_matrix(groups: Sequence[Group], names: Sequence[str]) -> str:
    """Methods x parameters: mean distance from the truth, as a share of the true value."""
    figure, axes = _axes(max(2.2, 0.9 + 0.22 * len(groups)))
    size = np.maximum(np.abs(groups[0].truth), 1e-3 * np.abs(groups[0].truth).max())
    share = np.array(
        [np.mean(np.abs(g.beta - g.truth), axis=0) / size if len(g.beta) else np.full(len(size), np.nan) for g in groups]
    )
    with np.errstate(divide="ignore"):
        image = axes.imshow(np.log10(100.0 * share), aspect="auto", cmap="cividis", vmin=-1.0, vmax=2.0)
    axes.set_yticks(range(len(groups)), [g.place.label for g in groups], fontsize=7)
    axes.set_xticks(range(len(names)), names, rotation=90, fontsize=6)
    bar = figure.colorbar(image, ax=axes)
    bar.set_label("mean error in % of the value")
    bar.set_ticks([-1, 0, 1, 2], labels=["0.1", "1", "10", "100"])
    return _svg(figure)


def error_against_time(lines: Sequence[Line]) -> str:
    figure, axes = _axes(3.6)
    for line in lines:
        x, y = line.mean["seconds"], 100.0 * line.mean["d_par"]
        if np.isfinite([x, y]).all():
            axes.plot(x, y, "o", color="C0", markersize=4)
            axes.annotate(line.place.label, (x, y), xytext=(3, 2), textcoords="offset points", fontsize=6)
    axes.set(xscale="log", yscale="log", xlabel="time of a fit in s", ylabel="d_par in %")
    return _svg(figure)


def convergence_map(group: Group) -> str:
    """Starts x runs: distance of the estimate over that of the start."""
    starts, runs = group.starts.astype(int), group.numbers.astype(int)
    grid = np.full((starts.max() + 1, runs.max() + 1), np.nan)
    away = group.columns["distance"] / np.maximum(group.columns["start_distance"], 1e-300)
    grid[starts, runs] = away
    figure, axes = _axes(max(2.2, 0.9 + 0.12 * len(grid)))
    with np.errstate(divide="ignore"):
        image = axes.imshow(np.log10(grid), aspect="auto", cmap="viridis_r", vmin=-2.0, vmax=2.0)
    axes.set(xlabel="run", ylabel="start")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.yaxis.get_major_locator().set_params(integer=True)
    bar = figure.colorbar(image, ax=axes)
    bar.set_label("error / start's error")
    bar.set_ticks([-2, -1, 0, 1, 2], labels=["0.01", "0.1", "1", "10", "100"])
    return _svg(figure)


def bias_and_spread(groups: Sequence[Group], names: Sequence[str]) -> str:
    """Bars per parameter: bias and standard deviation over runs, as shares of the true value."""
    figure, axes = _axes(1.6 * 2, rows=2, sharex=True)
    size = np.maximum(np.abs(groups[0].truth), 1e-3 * np.abs(groups[0].truth).max())
    width = 0.8 / len(groups)
    for k, group in enumerate(groups):
        x = np.arange(len(names)) + k * width - 0.4
        for panel, values in zip(axes, (group.bias, group.spread), strict=True):
            panel.bar(x, 100.0 * values / size, width, label=group.place.label)
    axes[0].set_ylabel("bias in %")
    axes[1].set_ylabel("sd in %")
    for panel in axes:
        panel.set_yscale("symlog", linthresh=0.1)
    axes[0].legend(fontsize=6, ncols=len(groups))
    axes[1].set_xticks(range(len(names)), names, rotation=90, fontsize=6)
    return _svg(figure)


def noise_sweep(lines: Sequence[Line]) -> str:
    """d_par over the rows of noise, a line per method."""
    rows = list(dict.fromkeys(line.place.noise for line in lines))
    figure, axes = _axes(3.6)
    for k, label in enumerate(dict.fromkeys(line.place.label for line in lines)):
        error_by_noise = {line.place.noise: 100.0 * line.mean["d_par"] for line in lines if line.place.label == label}
        style = ("-", "--", ":")[k // 10 % 3]
        axes.plot(
            range(len(rows)),
            [error_by_noise.get(row, np.nan) for row in rows],
            style,
            marker="o",
            label=label,
            markersize=3,
            linewidth=1,
        )
    axes.set_xticks(range(len(rows)), rows)
    axes.set(yscale="log", ylabel="d_par in %", xlabel="noise")
    axes.legend(fontsize=6, ncols=3)
    return _svg(figure)


def torque_overlay(store: Store, group: Group) -> str:
    """Torque of a validation log, and what the mean estimate says along the desired motion."""
    seen = bench_of(store, group.place)
    log = seen.logs([0], validation=True)[0]
    desired = seen.trajectories[1](log.t)
    free = np.zeros(seen.base.layout.size)
    free[seen.base.fixed] = seen.description.prior.values[seen.base.fixed]
    chi = seen.base.chi(group.beta.mean(axis=0), free)
    predicted = seen.base.engine.inverse_dynamics(desired.q, desired.dq, desired.ddq, chi)
    tau, n = log.need("tau"), log.n
    step = max(len(log.t) // 1000, 1)
    figure, axes = _axes(0.4 + 0.9 * n, rows=n, sharex=True, squeeze=False)
    for j, panel in enumerate(axes[:, 0]):
        panel.plot(log.t[::step], tau[::step, j], color="0.6", linewidth=0.8, label="measured")
        panel.plot(log.t[::step], predicted[::step, j], color="C0", linewidth=0.8, label=group.place.label)
        panel.set_ylabel(f"tau{j + 1}", fontsize=7)
    axes[0, 0].legend(fontsize=6, ncols=2)
    axes[-1, 0].set_xlabel("t in s")
    return _svg(figure)
