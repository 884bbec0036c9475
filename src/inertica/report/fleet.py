"""Several robots of one type in one table: what they share, and which parameters differ from robot to robot by more than chance.

For a base parameter with values x_i and standard deviations s_i of m robots, weights w = 1 / s^2 and their mean,

    Q = sum w (x - mean)^2    is chi-square distributed with m - 1 degrees of freedom when all robots are alike,
    between^2 = max(0, (Q - (m - 1)) / (sum w - sum w^2 / sum w))

is what robots differ by beyond their uncertainty (DerSimonian and Laird 1986), and the value of the type is the mean with weights
1 / (s^2 + between^2).  Single parameters are judged by p values after Holm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from inertica.arrays import Array
from inertica.errors import InputError
from inertica.escape import csv_text
from inertica.report.compared import LEVEL, holm, share_data
from inertica.report.names import short_names
from inertica.workflow.identify.result import Result


@dataclass(frozen=True, eq=False)
class Shared:
    """One base parameter of all robots.

    Args:
        name, relation: of the parameter, and what it stands for.
        values, std: (m,) of each robot.
        mean, mean_std: of the type.
        between: standard deviation from robot to robot, beyond what the results are unsure of.
        p: probability of such differences by chance when all robots are alike, of the whole list (Holm).
    """

    name: str
    relation: str
    values: Array
    std: Array
    mean: float
    mean_std: float
    between: float
    p: float

    @property
    def differs(self) -> bool:
        return self.p < LEVEL


@dataclass(frozen=True, eq=False)
class Fleet:
    """What `fleet` found.

    Args:
        robot: type of the robots.
        names: of the results.
        parameters: that all have with the same meaning and a known uncertainty.
        left_out: names of those that some result lacks.
        shared: pairs of results that were fitted to the same log.
    """

    robot: str
    names: tuple[str, ...]
    parameters: tuple[Shared, ...]
    left_out: tuple[str, ...]
    shared: tuple[tuple[str, str], ...]

    @property
    def differing(self) -> tuple[Shared, ...]:
        return tuple(p for p in self.parameters if p.differs)

    def document(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "robot": self.robot,
            "results": list(self.names),
            "parameters": [
                {
                    "name": p.name, "relation": p.relation, "mean": p.mean, "std": p.mean_std, "between": p.between, "p": p.p,
                    "differs": p.differs, "values": list(p.values), "stds": list(p.std),
                }
                for p in self.parameters
            ],
            "left_out": list(self.left_out),
            "share_logs": [list(pair) for pair in self.shared],
        }  # fmt: skip

    def table(self) -> str:
        """Comma-separated values, one line per parameter."""
        head = [
            "parameter",
            "mean",
            "std",
            "between",
            "p",
            *(f"{name} {what}" for name in self.names for what in ("value", "std")),
        ]
        rows: list[Sequence[object]] = [head]
        for p in self.parameters:
            each = [x for pair in zip(p.values, p.std, strict=True) for x in pair]
            rows.append([p.name, *(f"{x:.9g}" for x in (p.mean, p.mean_std, p.between, p.p, *each))])
        return csv_text(rows)


def fleet(results: Sequence[str | Path | Result], names: Sequence[str] | None = None) -> Fleet:
    """Results of several robots of one type in one table.

    Args:
        results: or their folders, one of each robot.
        names: what to call them; the folders by default.

    Examples:
        >>> robots = ia.fleet(["monday", "friday"])
        >>> len(robots.parameters) > 0
        True
    """
    if len(results) < 2:
        raise InputError("a table of several robots needs the results of at least two")
    read = [r if isinstance(r, Result) else Result.load(r) for r in results]
    if names is None:
        paths = [str(Path(r).resolve()) if isinstance(r, (str, Path)) else f"robot {k + 1}" for k, r in enumerate(results)]
        names = short_names(paths)
    if len(names) != len(read):
        raise InputError(f"{len(names)} names were given for {len(read)} results")
    joints = read[0].description.robot.joint_names
    for name, result in zip(names, read, strict=True):
        if result.description.robot.joint_names != joints:
            raise InputError(f"{name} is of a robot with other joints than {names[0]}; a table is of robots of one type")
    places = [{m: k for k, m in enumerate(zip(r.estimate.base.names, r.estimate.base.relations, strict=True))} for r in read]
    common = [m for m in places[0] if all(m in p and _known(r, p[m]) for r, p in zip(read, places, strict=True))]
    x = np.array([[r.estimate.beta[p[m]] for r, p in zip(read, places, strict=True)] for m in common]).reshape(-1, len(read))
    s = np.array([[r.estimate.std[p[m]] for r, p in zip(read, places, strict=True)] for m in common]).reshape(-1, len(read))
    pooled = [_pooled(a, b) for a, b in zip(x, s, strict=True)]
    adjusted = holm([f[3] for f in pooled]) if pooled else np.zeros(0)
    rows = zip(common, x, s, pooled, adjusted, strict=True)
    parameters = tuple(Shared(m[0], m[1], a, b, f[0], f[1], f[2], float(p)) for m, a, b, f, p in rows)
    every = dict.fromkeys(m[0] for p in places for m in p)
    pairs = tuple((names[i], names[j]) for i, j in combinations(range(len(read)), 2) if share_data(read[i], read[j]))
    left = tuple(name for name in every if name not in {m[0] for m in common})
    return Fleet(read[0].description.name, tuple(names), parameters, left, pairs)


def _known(result: Result, k: int) -> bool:
    return bool(np.isfinite(result.estimate.std[k]) and result.estimate.std[k] > 0.0)


def _pooled(x: Array, s: Array) -> tuple[float, float, float, float]:
    """Mean, its standard deviation, standard deviation between robots, p of no difference."""
    from scipy.special import chdtrc

    w = 1.0 / s**2
    Q = float(np.sum(w * (x - np.sum(w * x) / w.sum()) ** 2))
    free = len(x) - 1
    between = np.sqrt(max(0.0, (Q - free) / (w.sum() - np.sum(w**2) / w.sum())))
    v = 1.0 / (s**2 + between**2)
    return float(np.sum(v * x) / v.sum()), float(1.0 / np.sqrt(v.sum())), float(between), float(chdtrc(free, Q))
