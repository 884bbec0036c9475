"""Whether the consistent solve ever fails: random robots, motions, priors and statements, each solved and its result examined.

    python benchmarks/consistent_solve.py [--problems 300] [--first 0] [--intervals] [--json]

A problem is a robot of 2 to 7 joints (DH tables drawn at random, three in ten from the catalog), a motion of 20 to 500 samples that
may be poor (small, slow, joints at rest), torques of random bodies with noise, and a prior: a model tens of percent off or wholly
different, nothing at all, or the same placeholder on every link.  Distances are quadratic (euclidean, observability, pullback) or
on the cone (entropic, strengths 0.01 to 1000; a few Riemannian).  One problem in five states constraints (total mass, symmetric
links, centres of mass, equations), one in fifteen of them such that they contradict each other.

Asked of every result: does it keep every constraint (measured, to 1e-8 of a body's size), and is it proven to be within 0.1 standard
deviations of the optimum (`Outcome.gap` <= 0.01)?  Contradictions must be named.  `--intervals` asks for intervals of
every parameter, too: none may fail or leave out its estimate.  Rows: `ours` is the share in percent, `peer` the 100 that is asked for;
times are milliseconds of this run, against the median.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from bench import Row, arguments, say, show

import inertica as ia
from inertica.dynamics.equations import plain_regressor
from inertica.estimators.consistent.strategy import Consistent
from inertica.physical.cone import InfeasibleError, Program
from inertica.physical.conflict import HELD
from inertica.physical.constraints import PHYSICAL, Constraint, Equal, MassBounds, TotalMass, slack, symmetric
from inertica.physical.fit import Fit
from inertica.physical.priors import Entropic, Euclidean, Observability, Prior, Pullback, Riemannian
from inertica.physical.regions import Box, CentreInBox, CentreInEllipsoid, Ellipsoid
from inertica.physical.scales import Reference
from inertica.physical.uncertainty import profile_intervals
from inertica.robot import inertia
from inertica.robot.description import Description
from inertica.robot.drives import Armature
from inertica.robot.friction import law
from inertica.robot.layout import Layout

CATALOG = ("tx40", "rv2sq", "panda7", "scara4", "jaco2")
WITHIN = 0.1
"""Standard deviations of the optimum that are asked for."""


@dataclass(frozen=True)
class Drawn:
    """One problem."""

    layout: Layout
    reference: Reference
    fit: Fit
    prior: Prior
    constraints: tuple[Constraint, ...]
    contradictory: bool
    kind: str


@dataclass(frozen=True)
class Answer:
    """What became of it: inside the constraints, proven within `WITHIN`, contradiction named; None where that was not asked."""

    kind: str
    prior: str
    held: bool | None
    gap: float
    named: bool | None
    way: str
    seconds: float


def random_robot(rng: np.random.Generator, folder: Path) -> Description:
    if rng.random() < 0.3:
        return ia.load(str(rng.choice(CATALOG)))
    n = int(rng.integers(2, 8))
    alpha = rng.choice([0, 90, -90, 90, -90, rng.uniform(-60, 60)], n)
    a = rng.choice([0, 0, 0.3, 0.6], n) * rng.uniform(0.5, 1.2, n)
    d = rng.choice([0, 0.1, 0.35], n)
    path = folder / "robot.yaml"
    path.write_text(
        f"name: drawn\ntypes: [{', '.join('R' * n)}]\nangles: deg\ndh:\n  convention: distal\n  alpha: {alpha.round(3).tolist()}\n"
        f"  a: {a.round(3).tolist()}\n  d: {d.tolist()}\n  theta: {[0] * n}\ngravity: [0, 0, -9.81]\n"
    )
    return ia.load(str(path))


def random_bodies(layout: Layout, rng: np.random.Generator) -> np.ndarray:
    """A cloud of points on every link, positive drives and friction."""
    chi = np.zeros(layout.size)
    for k, p in enumerate(layout.parameters):
        chi[k] = rng.uniform(0.1, 3.0) if p.lower == 0.0 else rng.normal()
    for _, where in layout.bodies:
        mass = 10 ** rng.uniform(-0.5, 1.2)
        points = rng.normal(size=(3, 12)) * rng.uniform(0.02, 0.2, (3, 1)) + rng.normal(size=(3, 1)) * 0.1
        ones = np.vstack([points, np.ones(12)])
        chi[where] = inertia.from_pseudo_inertia(mass / 12 * ones @ ones.T)
    return chi


def random_prior(i: int, layout: Layout, truth: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, str]:
    kind = ("model", "zero", "placeholder")[i % 3]
    values = np.zeros(layout.size)
    if kind == "model":
        values = random_bodies(layout, rng) if rng.random() < 0.5 else truth * rng.uniform(0.5, 1.5)
    if kind == "placeholder":
        for _, where in layout.bodies:
            size = float(rng.choice([1.0, 1e-3]))
            values[where] = inertia.from_com(1.0, np.zeros(3), size * np.eye(3))
    return values, kind


def random_constraints(
    i: int, layout: Layout, truth: np.ndarray, rng: np.random.Generator
) -> tuple[tuple[Constraint, ...], bool]:
    """Statements that the truth keeps, or such that contradict each other."""
    masses = [truth[where][9] for _, where in layout.bodies]
    total, link = float(sum(masses)), int(rng.integers(len(masses)))
    if i % 15 == 7:
        return (TotalMass(0.5 * total, 0.6 * total), MassBounds({link + 1: (0.7 * total, np.inf)})), True
    if i % 5 != 2:
        return (), False
    com = inertia.to_com(truth[layout.bodies[link][1]]).com
    listed: list[Constraint] = [
        TotalMass(total, total) if rng.random() < 0.5 else TotalMass(0.9 * total, 1.1 * total),
        CentreInBox({link + 1: Box(com - 0.05, com + 0.05)}),
        CentreInEllipsoid({link + 1: Ellipsoid.of_axes(com, [0.05, 0.08, 0.05])}),
    ]
    if rng.random() < 0.3:
        listed += symmetric((link + 1) % len(masses) + 1, "xz")  # not the one whose centre is known to lie elsewhere
    if "Fv1" in layout.names and "Fv2" in layout.names:
        listed.append(Equal({"Fv1": 1.0, "Fv2": -1.0}))
    return tuple(listed), False


def drawn(i: int, folder: Path) -> Drawn:
    rng = np.random.default_rng([i, 20])
    description = random_robot(rng, folder)
    n = description.robot.n
    laws = ("viscous", "coulomb", "offset") if rng.random() < 0.5 else ("viscous", "coulomb")
    terms = tuple(law(name, j) for j in range(n) for name in laws)
    layout = description.with_terms(tuple(t for t in description.layout.terms if isinstance(t, Armature)) + terms).layout
    truth = random_bodies(layout, rng)
    samples = int(10 ** rng.uniform(1.3, 2.7))
    t = np.linspace(0, 10, samples)[:, None]
    rests = rng.random(n) < (0.3 if rng.random() < 0.4 else 0.0)
    size = rng.uniform(0, 1.5, n) * ~rests * (10 ** rng.uniform(-3, 0) if rng.random() < 0.3 else 1.0)
    speed, phase = rng.uniform(0.3, 3, n), rng.uniform(0, 6, n)
    q = size * np.sin(speed * t + phase) + phase / 3
    dq, ddq = size * speed * np.cos(speed * t + phase), -size * speed**2 * np.sin(speed * t + phase)
    Y = plain_regressor(layout, q, dq, ddq)
    tau = Y @ truth
    sigma = np.maximum(tau.std(axis=0), 1e-3) * 10 ** rng.uniform(-3, -0.5)
    y = tau + sigma * rng.normal(size=tau.shape)
    P = layout.size
    R = np.linalg.qr(np.column_stack([(Y / sigma[:, None]).reshape(-1, P), (y / sigma).ravel()]), mode="r")
    square = np.zeros((P + 1, P + 1))
    square[: min(len(R), P + 1)] = R[: P + 1]
    values, kind = random_prior(i, layout, truth, rng)
    constraints, contradictory = random_constraints(i, layout, truth, rng)
    strength = 10 ** rng.uniform(-2, 3)
    priors = (Euclidean(), Entropic(strength), Pullback(1.0), Entropic(strength), Observability(1.0), Entropic(strength))
    prior = Riemannian(strength) if i % 25 == 13 else priors[i % 6]
    fit = Fit(square[:P, :P], square[:P, P], np.eye(P), 1.0)
    return Drawn(layout, Reference.of(layout, values), fit, prior, constraints, contradictory, kind)


def answered(problem: Drawn, intervals: bool = False) -> Answer:
    program = Program(problem.reference, (*PHYSICAL, *problem.constraints))
    penalty = problem.prior.penalty(problem.reference, problem.fit)
    name, start = type(problem.prior).__name__.lower(), time.perf_counter()
    try:
        found = Consistent(prior=problem.prior).solve(program, problem.fit, penalty)
    except InfeasibleError as error:
        named = problem.contradictory and "total mass at most" in str(error) and "mass at least" in str(error)
        return Answer(problem.kind, name, None, 0.0, named, "contradiction", time.perf_counter() - start)
    seconds = time.perf_counter() - start
    held = min(slack(b, found.chi) for b in program.blocks) >= -HELD and bool(np.isfinite(found.chi).all())
    if intervals:
        ends = profile_intervals(program, problem.fit, penalty, found.chi)
        held &= bool(np.all(ends.lower <= found.chi) and np.all(found.chi <= ends.upper))
    named = False if problem.contradictory else None
    return Answer(problem.kind, name, held, found.gap, named, found.status, seconds)


def main() -> None:
    def more(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--problems", type=int, default=300)
        parser.add_argument("--first", type=int, default=0, help="number of the first problem (default 0)")
        parser.add_argument("--intervals", action="store_true", help="intervals of every parameter, too")

    options = arguments(__doc__ or "", more)
    answers = []
    with tempfile.TemporaryDirectory() as folder:
        for i in range(options.first, options.first + options.problems):
            answers.append(answered(drawn(i, Path(folder)), options.intervals))
            a = answers[-1]
            if a.held is False or a.gap > 1e-3 or a.named is False:
                say(f"problem {i}: {a}")
    solved = [a for a in answers if a.held is not None]
    conflicts = [a for a in answers if a.named is not None]
    ways = {way: sum(a.way == way for a in solved) for way in sorted({a.way for a in solved})}
    say(f"{len(solved)} solved, {len(conflicts)} contradictory; ways: {ways}")
    rows = [
        Row("all constraints kept", _share([bool(a.held) for a in solved]), 100.0, "%", f"{len(solved)} problems"),
        Row("contradictions named", _share([bool(a.named) for a in conflicts]), 100.0, "%", f"{len(conflicts)} problems"),
    ]
    for title, chosen in (
        ("quadratic priors", [a for a in solved if a.prior not in ("entropic", "riemannian")]),
        ("entropic priors", [a for a in solved if a.prior == "entropic"]),
        ("riemannian (local)", [a for a in solved if a.prior == "riemannian"]),
    ):
        good = [a.gap <= WITHIN**2 for a in chosen]
        worst = np.sqrt(max((a.gap for a in chosen), default=0.0))
        rows.append(Row(f"{title} within 0.1 sd", _share(good), 100.0, "%", f"{len(chosen)} problems, worst {worst:.2g} sd"))
        times = [1e3 * a.seconds for a in chosen]
        if times:
            rows.append(Row(f"{title}, longest", max(times), float(np.median(times)), "ms", "median of the same"))
    show(rows, options.json)


def _share(good: list[bool]) -> float:
    return 100.0 * float(np.mean(good)) if good else 100.0


if __name__ == "__main__":
    main()
