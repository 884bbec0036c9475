"""Figures of merit of a campaign: means and standard deviations over runs and starts, per condition, filter and method.

Three ways to average, each under its name:

    all         every run that gave an estimate, as the paper says
    converged   without estimates further than 50 times the start's distance from the truth, as the toolbox does
    mean-first  figures of the *averaged* parameters of the converged runs, which is what the published code computes
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.campaign.bench import Bench, bench
from inertica.campaign.plan import Cell, cells
from inertica.campaign.rows import names_of, read_rows
from inertica.campaign.store import Store
from inertica.errors import InputError

Average = Literal["all", "converged", "mean-first"]
AVERAGES: tuple[str, ...] = get_args(Average)

FIGURES = ("d_q", "d_tau", "d_par", "d_beta", "seconds", "iterations", "simulations")
"""Columns that are averaged.  d_par is |beta - true| / |true|; d_beta, the toolbox's mean of 2 |b - true| / (|b| + |true|), counts a
parameter whose true value is zero as 200 % wrong whatever is found.  The survey's d_t, d_Nit and d_Nsim are the last three."""


@dataclass(frozen=True)
class RowKey:
    """What a row of a table stands for."""

    robot: str
    loop: str
    noise: str
    distribution: str
    quantise: float
    decimate: int
    filter: str
    method: str

    @property
    def condition(self) -> tuple[Any, ...]:
        """All but filter and method: rows of one table."""
        return self.robot, self.loop, self.noise, self.distribution, self.quantise, self.decimate

    @property
    def label(self) -> str:
        """Like the survey's: `ols_f` is ols behind the Butterworth filter."""
        return self.method + {"none": "", "butterworth": "_f"}.get(self.filter, f" ({self.filter})")


PLACE = tuple(RowKey.__dataclass_fields__)


@dataclass(frozen=True, eq=False)
class Group:
    """All rows of one place.

    Args:
        place: which.
        runs: how many rows.
        columns: name -> (K,) of the rows that gave an estimate.
        beta, std: (K, b); std is NaN where a method states none.
        truth: (b,).
        starts, numbers: (K,) start and run of each.
        errors: sentences of the rows without an estimate.
    """

    place: RowKey
    runs: int
    columns: Mapping[str, Array]
    beta: Array
    std: Array
    truth: Array
    starts: Array
    numbers: Array
    errors: tuple[str, ...]

    def chosen(self, average: str) -> NDArray[np.bool_]:
        """(K,) rows that count."""
        return np.ones(len(self.beta), bool) if average == "all" else self.columns["converged"] > 0.0

    @property
    def convergence(self) -> float:
        """Share of all rows that gave an estimate near enough."""
        return float(np.count_nonzero(self.columns["converged"])) / max(self.runs, 1)

    @property
    def bias(self) -> Array:
        """(b,) mean error."""
        return np.asarray(self.beta.mean(axis=0) - self.truth) if len(self.beta) else np.full(len(self.truth), np.nan)

    @property
    def spread(self) -> Array:
        """(b,) standard deviation over rows."""
        return np.asarray(self.beta.std(axis=0)) if len(self.beta) else np.full(len(self.truth), np.nan)


@dataclass(frozen=True)
class Line:
    """One line of a table.

    Args:
        place: which.
        mean, sd: figure -> number; NaN where there is none.
        rows: that counted, of all.
        convergence, coverage, margin: shares of rows, of true values inside 95 % intervals, and the least margin of physical
            consistency, median over rows (negative: links that could not exist).
        rank: by the mean of d_par among the lines of its table, from 1.
        failure: the most common sentence of rows without an estimate.
    """

    place: RowKey
    mean: Mapping[str, float]
    sd: Mapping[str, float]
    rows: tuple[int, int]
    convergence: float
    coverage: float
    margin: float
    rank: int = 0
    failure: str = ""

    def pooled(self, other: Line) -> Line:
        """This line and another of other runs of the same place, as if their rows stood in one table.

        A median of the pooled rows does not follow from two medians: of the margins the smaller is taken.
        """
        more_failed = max((self, other), key=lambda x: x.rows[1] - x.rows[0])
        counts, totals = zip(self.rows, other.rows, strict=True)
        moments = {name: _pooled_moments(counts, (self, other), name) for name in FIGURES}
        return Line(
            self.place, {name: mean for name, (mean, _) in moments.items()}, {name: sd for name, (_, sd) in moments.items()},
            (sum(counts), sum(totals)), _weighted((self.convergence, other.convergence), totals),
            _weighted((self.coverage, other.coverage), counts), float(np.fmin(self.margin, other.margin)), failure=more_failed.failure,
        )  # fmt: skip


def _weighted(values: Sequence[float], counts: Sequence[int]) -> float:
    """Mean over rows; a line without rows, or without the value, does not count."""
    known = [(value, count) for value, count in zip(values, counts, strict=True) if count and not np.isnan(value)]
    return float(np.average([x for x, _ in known], weights=[c for _, c in known])) if known else np.nan


def _pooled_moments(counts: Sequence[int], lines: Sequence[Line], name: str) -> tuple[float, float]:
    """Mean and standard deviation of a figure over the rows of several lines."""
    mean = _weighted([line.mean[name] for line in lines], counts)
    if not np.isfinite(mean):
        return mean, np.nan
    squares = [line.sd[name] ** 2 + (line.mean[name] - mean) ** 2 for line in lines]
    return mean, float(np.sqrt(_weighted(squares, counts)))


def groups(store: Store) -> list[Group]:
    """Rows by place, in the order in which they were planned."""
    store.warn_of_damage(f"left out until it is computed again by: inertica campaign resume {store.path}")
    table = read_rows(store.files())
    if table.num_rows == 0:
        raise InputError(f"{store.path} holds no finished unit yet; go on with: inertica campaign resume {store.path}")
    places: dict[RowKey, list[int]] = {}
    columns = [table.column(name).to_pylist() for name in PLACE]
    for i, values in enumerate(zip(*columns, strict=True)):
        places.setdefault(RowKey(*values), []).append(i)
    return [_group(place, table.take(rows)) for place, rows in places.items()]


def _group(place: RowKey, table: Any) -> Group:
    ok = np.array(table.column("ok").to_pylist(), bool)
    errors = tuple(e for e in table.column("error").to_pylist() if e)
    truth = np.array(table.column("truth")[0].as_py(), float)
    good = table.filter(ok.tolist())

    def numbers(name: str) -> Array:
        return np.array([np.nan if x is None else float(x) for x in good.column(name).to_pylist()])

    def matrix(name: str) -> Array:
        return np.array(good.column(name).to_pylist(), float).reshape(len(good), len(truth))

    columns = {name: numbers(name) for name in (*FIGURES, "cpu", "converged", "covered", "margin", "distance", "start_distance")}
    return Group(place, table.num_rows, columns, matrix("beta"), matrix("std"), truth, numbers("start"), numbers("run"), errors)


def by_processor(all_groups: Sequence[Group]) -> list[Group]:
    """The groups with the processor's time in the place of the clock's: other work on the machine is not in it."""
    return [replace(group, columns={**group.columns, "seconds": group.columns["cpu"]}) for group in all_groups]


def lines(store: Store, average: str = "all", chosen_groups: Sequence[Group] | None = None) -> list[Line]:
    """One line per place, ranked within its conditions."""
    if average not in AVERAGES:
        raise InputError(f"unknown average '{average}'; there are {', '.join(AVERAGES)}")
    return ranked([_line(store, group, average) for group in (groups(store) if chosen_groups is None else chosen_groups)])


def ranked(made: Sequence[Line]) -> list[Line]:
    """The lines with ranks among those of their conditions: by d_par, since tracking errors of the loop are in d_tau."""
    out = []
    for line in made:
        rivals = [x.mean["d_par"] for x in made if x.place.condition == line.place.condition]
        error = line.mean["d_par"]
        rank = 1 + sum(other < error for other in rivals) if np.isfinite(error) else len(rivals)
        out.append(Line(**{**line.__dict__, "rank": rank}))
    return out


def _line(store: Store, group: Group, average: str) -> Line:
    use = group.chosen(average)
    with np.errstate(invalid="ignore"):
        mean = {name: float(np.mean(group.columns[name][use])) if use.any() else np.nan for name in FIGURES}
        sd = {name: float(np.std(group.columns[name][use])) if use.any() else np.nan for name in FIGURES}
    if average == "mean-first" and use.any():
        mean |= _of_the_mean(store, group, group.beta[use].mean(axis=0))
        sd |= dict.fromkeys(("d_q", "d_tau", "d_par", "d_beta"), np.nan)  # one estimate has no spread over runs
    covered = group.columns["covered"]
    margins = group.columns["margin"]
    failure = max(dict.fromkeys(group.errors), key=group.errors.count) if group.errors else ""
    return Line(
        group.place, mean, sd, (int(use.sum()), group.runs), group.convergence,
        float(np.nanmean(covered)) if np.isfinite(covered).any() else np.nan,
        float(np.nanmedian(margins)) if np.isfinite(margins).any() else np.nan, failure=failure,
    )  # fmt: skip


def _of_the_mean(store: Store, group: Group, beta: Array) -> dict[str, float]:
    seen = bench_of(store, group.place)
    d_q, d_tau = seen.figures(beta[None], seen.logs([0], validation=True)[0])
    error, size = np.abs(beta - group.truth), np.abs(beta) + np.abs(group.truth)
    d_beta = 2.0 / len(beta) * np.sum(np.divide(error, size, out=np.zeros_like(error), where=size > 0.0))
    d_par = np.linalg.norm(error) / max(float(np.linalg.norm(group.truth)), 1e-300)
    return {"d_q": float(d_q[0]), "d_tau": float(d_tau[0]), "d_par": float(d_par), "d_beta": float(d_beta)}


def bench_of(store: Store, place: RowKey) -> Bench:
    """The conditions of a place, ready to simulate."""
    return bench(store.spec, cell_of(store, place))


def cell_of(store: Store, place: RowKey) -> Cell:
    from inertica.robot.load import load

    for cell in cells(store.spec):
        same = (cell.loop.name, cell.noise.name, cell.distribution, cell.quantise)
        if same == (place.loop, place.noise, place.distribution, place.quantise) and load(cell.robot).name == place.robot:
            return cell
    raise InputError(f"the campaign has no conditions like those of {place.label}")


def conditions(all_lines: Sequence[Line]) -> Iterator[tuple[str, list[Line]]]:
    """Title and lines of every table."""
    for condition in dict.fromkeys(line.place.condition for line in all_lines):
        robot, loop, noise, distribution, quantise, ratio = condition
        more = [f"noise {noise}", f"decimation {ratio}"]
        more += [f"loop {loop}"] if loop != "known" else []
        more += [distribution] if distribution != "normal" else []
        more += [f"positions in steps of {quantise:g} rad"] if quantise else []
        yield f"{robot}, {', '.join(more)}", [line for line in all_lines if line.place.condition == condition]


def parameter_names(store: Store, robot: str) -> tuple[str, ...]:
    """Base parameters of a robot of the campaign."""
    for file in store.files():
        if read_rows([file], ["robot"]).column("robot")[0].as_py() == robot:
            return names_of(file)
    raise InputError(f"no finished unit of {robot}")
