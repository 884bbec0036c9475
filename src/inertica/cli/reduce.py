"""Reduces a robot's parameters to those that a motion can determine, by singular values and a search over what to eliminate
(Frisch paper, section 3.1), and estimates them.

The first LOG decides what is identifiable alone, in combination or not at all; of the parameters that act only together, those are
eliminated whose regrouping is best conditioned.  The other logs are for the estimate; a single log is used for both.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

from inertica.cli.console import Answer, progress, table
from inertica.cli.fitting import add_prior
from inertica.cli.reading import add_reading, loaded_robot
from inertica.errors import ModelWarning
from inertica.estimators.base import Estimate
from inertica.identifiability.svd_reduction import SvdReduction
from inertica.numbers import number
from inertica.robot.description import Description
from inertica.workflow.calls import reduce

if TYPE_CHECKING:
    from rich.console import RenderableType

EXAMPLES = """\
inertica reduce planar2 z1.npz z2.npz
inertica reduce card.yaml z1.csv.gz z2.csv.gz --method ols --cutoff 10
inertica reduce arm.urdf run.csv --json
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", metavar="ROBOT", help="built-in name or file")
    parser.add_argument("logs", metavar="LOG", nargs="+", help="the first is for the reduction, the others for the estimate")
    parser.add_argument("--method", default="frisch", help="of the estimate (default frisch)")
    parser.add_argument(
        "--cutoff", metavar="HZ", type=float, help="of the filter of positions (default 20 times the band of the motion)"
    )
    parser.add_argument("--alpha", metavar="A", type=float, default=1.0, help="weight of the condition number (default 1)")
    parser.add_argument("--alpha-det", metavar="A", type=float, default=1.0, help="weight of the inverse determinant (default 1)")
    add_prior(parser)
    add_reading(parser)


def run(arguments: argparse.Namespace) -> Answer:
    robot = loaded_robot(arguments)
    with progress(f"reducing the parameters of {robot.name}, estimating by {arguments.method}"):
        reduced = reduce(
            robot, arguments.logs, method=arguments.method, cutoff=arguments.cutoff, alpha=arguments.alpha,
            alpha_det=arguments.alpha_det, prior=arguments.prior,
        )  # fmt: skip
        reduction, estimate = reduced.reduction, reduced.estimate
    for sentence in (*reduction.base.warnings, *estimate.warnings):
        warnings.warn(ModelWarning(sentence), stacklevel=1)
    sentences = [c.sentence for c in reduced.choices]
    return Answer(
        _document(robot, reduction, estimate) | {"choices": sentences}, lambda: (*_text(robot, reduction, estimate), *sentences)
    )


def _document(robot: Description, reduction: SvdReduction, estimate: Estimate) -> dict[str, object]:
    base = reduction.base
    names = base.layout.names
    return {
        "robot": robot.name,
        "rank": base.rank,
        "no_effect": [names[k] for k in base.no_effect],
        "fixed": [names[k] for k in base.fixed],
        "alone": reduction.alone,
        "combined": reduction.combined,
        "permutations": reduction.permutations,
        "all_tried": reduction.exhaustive,
        "criterion": reduction.value,
        "eliminated": [names[k] for k in base.eliminated],
        "method": estimate.method,
        "base": [
            {"name": name, "relation": relation, "value": value, "std": std}
            for name, relation, value, std in zip(base.names, base.numeric_relations, estimate.beta, estimate.std, strict=True)
        ],
        "settings": estimate.record(),
    }


def _text(robot: Description, reduction: SvdReduction, estimate: Estimate) -> Iterator[RenderableType]:
    base = reduction.base
    names = base.layout.names
    unseen = len(base.no_effect) + len(base.fixed)
    yield (
        f"{robot.name}: rank {base.rank} of {base.layout.size} parameters; {unseen} without effect or known "
        f"({len(base.fixed)} of them known), {reduction.alone} identifiable alone, {reduction.combined} only in combination"
    )
    tried = "all tried" if reduction.exhaustive else "improved by single exchanges from a start by pivoting"
    gone = ", ".join(names[k] for k in base.eliminated)
    ways = f"{reduction.permutations} ways to choose what is eliminated, {tried}"
    yield f"{ways}; chosen: {gone or 'nothing'} (criterion {number(reduction.value)})"
    rows = [
        [name, relation, number(value), number(std)]
        for name, relation, value, std in zip(base.names, base.numeric_relations, estimate.beta, estimate.std, strict=True)
    ]
    yield table(f"base parameters by {estimate.method}", ("base", "stands for", "value", "std"), rows, right=("value", "std"))
