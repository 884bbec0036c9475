"""Records of trust.py as tables: coverage, labels, friction laws, by row and by true law, and what must hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import numpy as np
from trust_runs import Record, good_enough

from inertica.identifiability.labels import INTERVAL

NOT_ZERO = 1e-12
FEW = 5.0
"""Labels a run below which a row may lose more of them."""


@dataclass(frozen=True)
class Summary:
    """What several runs have in common; shares of 1, None where there is nothing to divide by.

    Args:
        name: row or law.
        runs, failed: how many; those without a result.
        base, determined, weak: share of intervals that hold the truth.
        base_count, determined_count, weak_count: how many intervals.
        useful: labels `determined` of parameters whose truth is not zero, a run.
        width, widest: half-widths of base intervals over those of the oracle, median and 90 % quantile; None without an oracle.
        furthest: distance of the truth from a `determined` interval, in half-widths of it, at most; 0 when inside.
        worst: which run and parameter that is.
        law, law_or_close: share of joints with the true friction law; or one that predicts as well.
        plain, plain_or_close: the same on joints whose truth is viscous and Coulomb friction.
        drives: joints whose friction drives at some speed.
        seconds: median time of the command.
    """

    name: str
    runs: int
    failed: int
    base: float | None
    base_count: int
    determined: float | None
    determined_count: int
    weak: float | None
    weak_count: int
    useful: float
    width: float | None
    widest: float | None
    furthest: float
    worst: str
    law: float | None
    law_or_close: float | None
    plain: float | None
    plain_or_close: float | None
    drives: int
    seconds: float


def summary(name: str, records: Sequence[Record]) -> Summary:
    done = [r for r in records if not r["code"] and "parameters" in r]
    joints = [j for r in done for j in r["friction"]]
    plain = [j for j in joints if j["true"] == "Fv Fc"]
    base = [inside(b[1], b[4], b[5]) for r in done for b in r["base"]]
    labelled = {
        label: [inside(p[1], p[3], p[4]) for r in done for p in r["parameters"] if p[5] == label]
        for label in ("determined", "weak")
    }
    useful = [p for r in done for p in r["parameters"] if p[5] == "determined" and abs(p[1]) > NOT_ZERO]
    misses = [
        (miss(p[1], p[3], p[4]), f"{p[0]}, run {r['run']} of {r['row']}, loop {r['loop']}, {r['law']}")
        for r in done
        for p in r["parameters"]
        if p[5] == "determined"
    ]
    furthest, worst = max(misses, default=(0.0, ""))
    return Summary(
        name,
        len(records),
        len(records) - len(done),
        share(base),
        len(base),
        share(labelled["determined"]),
        len(labelled["determined"]),
        share(labelled["weak"]),
        len(labelled["weak"]),
        len(useful) / max(1, len(done)),
        *widths(done),
        furthest,
        worst if furthest > 0.0 else "",
        share(j["true"] == j["chosen"] for j in joints),
        share(good_enough(j) for j in joints),
        share(j["true"] == j["chosen"] for j in plain),
        share(good_enough(j) for j in plain),
        sum(len(r["drives"]) for r in done),
        median([r["seconds"] for r in records]) if records else 0.0,
    )


def inside(truth: float, low: float | None, high: float | None) -> bool:
    """Whether an interval holds the truth; an end that is None is infinite."""
    return (low is None or low <= truth) and (high is None or truth <= high)


def miss(truth: float, low: float | None, high: float | None) -> float:
    """How far the truth is outside, in half-widths."""
    if low is None or high is None or inside(truth, low, high):
        return 0.0
    outside = low - truth if truth < low else truth - high
    return outside / max(0.5 * (high - low), 1e-300)


def widths(records: Iterable[Record]) -> tuple[float | None, float | None]:
    """Median and 90 % quantile of the half-widths of base intervals over those of the oracle, where it has that parameter."""
    found = []
    for record in records:
        stds = record.get("oracle", {})
        found += [0.5 * (b[5] - b[4]) / (INTERVAL * stds[b[0]]) for b in record["base"] if stds.get(b[0])]
    return (float(np.median(found)), float(np.quantile(found, 0.9))) if found else (None, None)


def share(values: Iterable[bool]) -> float | None:
    listed = list(values)
    return sum(listed) / len(listed) if listed else None


def by(records: Sequence[Record], key: str, order: Sequence[str] = ()) -> list[Summary]:
    """One summary for every value of a key, and one for all."""
    names = [n for n in order if any(r[key] == n for r in records)] or sorted({r[key] for r in records})
    return [*(summary(n, [r for r in records if r[key] == n]) for n in names), summary("all", records)]


def kept_labels(now: Sequence[Record], before: Sequence[Record]) -> dict[str, tuple[float, float]]:
    """Useful labels a run, now and before, by row and pooled, over the runs that both have."""
    there = {(r["row"], r["run"]) for r in now} & {(r["row"], r["run"]) for r in before}
    both = [[r for r in records if (r["row"], r["run"]) in there] for records in (now, before)]
    out = {}
    for name in [*dict.fromkeys(r["row"] for r in both[0]), "all"]:
        pair = [summary(name, [r for r in records if name in (r["row"], "all")]).useful for records in both]
        out[name] = (pair[0], pair[1])
    return out


Column = tuple[str, Callable[[Summary], str]]


def percent(value: float | None, count: int | None = None) -> str:
    if value is None:
        return "-"
    return f"{100 * value:.1f}" + (f" ({count})" if count is not None else "")


def decimal(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


COLUMNS: tuple[Column, ...] = (
    ("", lambda s: s.name),
    ("runs", lambda s: f"{s.runs}" + (f", {s.failed} failed" if s.failed else "")),
    ("base %", lambda s: percent(s.base, s.base_count)),
    ("determined %", lambda s: percent(s.determined, s.determined_count)),
    ("weak %", lambda s: percent(s.weak, s.weak_count)),
    ("useful a run", lambda s: f"{s.useful:.1f}"),
    ("width", lambda s: decimal(s.width)),
    ("90 %", lambda s: decimal(s.widest)),
    ("furthest", lambda s: f"{s.furthest:.1f}"),
    ("law %", lambda s: percent(s.law)),
    ("or close %", lambda s: percent(s.law_or_close)),
    ("V+C %", lambda s: percent(s.plain)),
    ("or close %", lambda s: percent(s.plain_or_close)),
    ("drives", lambda s: str(s.drives)),
    ("s", lambda s: f"{s.seconds:.1f}"),
)


def lines(summaries: Sequence[Summary], markdown: bool) -> list[str]:
    """A table as text, or in Markdown."""
    cells = [[title for title, _ in COLUMNS], *([cell(s) for _, cell in COLUMNS] for s in summaries)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(COLUMNS))]
    padded = [[c.ljust(w) if k == 0 else c.rjust(w) for k, (c, w) in enumerate(zip(r, widths, strict=True))] for r in cells]
    if not markdown:
        return ["  ".join(row) for row in padded]
    rule = "| " + " | ".join("---" if k == 0 else "---:" for k in range(len(COLUMNS))) + " |"
    body = ["| " + " | ".join(row) + " |" for row in padded]
    return [body[0], rule, *body[1:]]


@dataclass(frozen=True)
class Demand:
    """Something that must hold."""

    name: str
    measured: float
    low: float
    high: float
    unit: str

    @property
    def held(self) -> bool:
        return self.low <= self.measured <= self.high

    def document(self) -> dict[str, Any]:
        return asdict(self) | {"held": self.held}


def demands(records: Sequence[Record], loop: str, rows: Sequence[str], before: Sequence[Record]) -> list[Demand]:
    """What must hold of the runs with the loop known, or without it."""
    *single, pooled = by(records, "row", rows)
    inf = float("inf")
    least = 0.92 if loop == "known" else 0.90
    out = [
        Demand("determined, pooled", _or_nan(pooled.determined), 0.92, 0.98, "share"),
        Demand("weak, pooled", _or_nan(pooled.weak), 0.92, 0.99, "share"),
        Demand("furthest determined", pooled.furthest, 0.0, 3.0, "half-widths"),
        Demand("law right or close", _or_nan(pooled.law_or_close), 0.90, 1.0, "share"),
        Demand("viscous and Coulomb right", _or_nan(pooled.plain), 0.97, 1.0, "share"),
        Demand("friction that drives", float(pooled.drives), 0.0, 0.0, "joints"),
        Demand("runs without a result", float(pooled.failed), 0.0, 0.0, "runs"),
    ]
    out += [Demand(f"determined, {s.name}", s.determined or 0.0, 0.88, 1.0, "share") for s in single if s.determined_count >= 100]
    out += [Demand(f"base, {s.name}", _or_nan(s.base), least, 1.0, "share") for s in single]
    if before:
        for name, (now, then) in kept_labels(records, before).items():
            if name == "all" or then >= FEW:
                allowed = 2.0 / 3.0 if name == "all" else 0.4
                out.append(Demand(f"useful labels kept, {name}", now / then if then else 1.0, allowed, inf, "share"))
    return [Demand(f"{d.name} (loop {loop})", d.measured, d.low, d.high, d.unit) for d in out]


def _or_nan(value: float | None) -> float:
    return float("nan") if value is None else value
