"""Designs the identification and validation trajectories that are shipped for the catalog robots.

    python benchmarks/make_trajectories.py [ROBOT ...] [--seconds 60]

Identification: the best of three Fourier series of 10 s with 20 harmonics that minimise cond(W) of the base regressor.  Validation: a
series of another length with other harmonics, designed from another seed.  For the robots of the survey two more by its eq. 67
(k1 = 1, k2 = 100, 10 s, 20 harmonics), `survey` and `survey_validation`, which differ by their seeds.  For the arm of the
DIDIM paper one more, `torque`: for identification from torque alone with the printed loop,
random harmonics at which a loop that slow (1 rad/s) still follows and inertia outweighs dry friction.  Limits less a margin, 90 % of
the torque limits with the prior parameters, and the height that a catalog file asks for are kept on a grid ten times finer.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import inertica as ia
from inertica.excitation import (
    Condition,
    DesignOptions,
    Fourier,
    Search,
    Survey,
    design,
    evaluate,
    robot_constraints,
    save_trajectory,
)
from inertica.robot.description import Description

FOLDER = Path(__file__).parents[1] / "src" / "inertica" / "excitation" / "catalog"
KINDS = {
    "identification": {"period": 10.0, "harmonics": 20, "grid": 100, "criterion": Condition(), "seeds": (0, 1, 2)},
    "validation": {"period": 12.0, "harmonics": 12, "grid": 120, "criterion": Condition(), "seeds": (7,)},
    "survey": {"period": 10.0, "harmonics": 20, "grid": 100, "criterion": Survey(), "seeds": (0, 1, 2)},
    "survey_validation": {"period": 10.0, "harmonics": 20, "grid": 100, "criterion": Survey(), "seeds": (7,)},
}
SURVEYED = ("tx40", "rv2sq")
"""Robots of the survey's simulated study."""

SLOW = {"scara2": (100.0, (0.12, 0.10), 0.1, (2.1, 2.2))}
"""Robots controlled so slowly that a motion of their own is needed: period in s, per joint middle frequency in Hz; width of the band
as a share of it; largest excursion per joint in rad."""


def slow(name: str, seed: int = 1) -> None:
    """The motion `torque`: a band of harmonics with random phases around a middle frequency, from rest to rest."""
    period, middles, width, reach = SLOW[name]
    description = ia.load(name)
    k = np.arange(1, int(1.6 * period * max(middles)) + 1)
    size = np.stack([np.exp(-0.5 * ((k / period - f) / (width * f)) ** 2) for f in middles], axis=1)
    phase = np.random.default_rng(seed).uniform(0.0, 2.0 * np.pi, size.shape)
    raw = Fourier.at_rest(period, middle(description), size * np.cos(phase), size * np.sin(phase))
    far = np.abs(raw(np.linspace(0.0, period, 4001)).q - raw.start).max(axis=0)
    found = Fourier.at_rest(period, raw.start, *(np.round(c * np.array(reach) / far, 6) for c in (raw.A, raw.B)))
    about = {"purpose": "identification from torque alone", "seed": seed, "by": "benchmarks/make_trajectories.py"}
    save_trajectory(found, FOLDER / f"{name}_torque.yaml", robot=name, joints=description.robot.joint_names, about=about)


def margin_of(description: Description) -> tuple[float, float, float]:
    """0.1 as the source of the six-joint robots has it; a twentieth of the limit where that is less."""
    limits = description.robot.limits
    spans = (np.subtract(limits.upper, limits.lower).min(), min(limits.velocity), min(limits.acceleration))
    q, dq, ddq = (float(round(min(0.1, 0.05 * s), 6)) for s in spans)
    return q, dq, ddq


def make(name: str, kind: str, seconds: float) -> None:
    description = ia.load(name)
    base, engine = ia.base_model(description.layout), ia.Engine(description.layout)
    made = KINDS[kind]
    floor = description.reference.get("trajectory_design", {}).get("end_effector_min_z_m")
    margin, torque_margin = margin_of(description), 0.1
    constraints = robot_constraints(description, engine, margin=margin, torque_margin=torque_margin, floor=floor)
    start = middle(description)
    family = Fourier.still(made["period"], start, made["harmonics"], free_start=floor is None)
    began, best = time.perf_counter(), None
    for seed in made["seeds"]:
        search = Search(rounds=16, iterations=100, seconds=seconds)
        found = design(
            engine, base, family, made["criterion"], constraints, DesignOptions(grid=made["grid"], search=search), rng=seed
        )
        if found.feasible and (best is None or found.value < best[0].value):
            best = found, seed
    if best is None:
        raise SystemExit(f"{name}: no feasible {kind} trajectory; {found.violations[0] if found.violations else ''}")
    found, seed = best
    about = {
        "purpose": kind,
        "criterion": found.criterion,
        "value": float(f"{found.value:.6g}"),
        "condition": float(f"{found.condition:.6g}"),
        "grid": made["grid"],
        "margin": list(margin),
        "torque_margin": torque_margin,
        **({"floor": floor} if floor is not None else {}),
        "seed": seed,
        "by": "benchmarks/make_trajectories.py",
    }
    path = FOLDER / f"{name}_{kind}.yaml"
    save_trajectory(found.trajectory, path, robot=name, joints=description.robot.joint_names, about=about)
    scaled = evaluate(found.trajectory, engine, base, Condition(scaled=True), made["grid"])
    print(
        f"{name:14s} {kind:15s} cond {found.condition:8.2f} ({scaled:.1f} scaled), {time.perf_counter() - began:5.1f} s",
        flush=True,
    )


def middle(description: Description) -> tuple[float, ...]:
    """The home pose, moved off the ends of the joint ranges by at least a quarter of them."""
    limits = description.robot.limits
    low, high = np.array(limits.lower), np.array(limits.upper)
    if description.reference.get("trajectory_design"):
        return tuple(float(q) for q in description.reference["trajectory_design"]["q_initial"])
    return tuple(float(q) for q in np.clip(description.home, low + 0.25 * (high - low), high - 0.25 * (high - low)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("robots", nargs="*", help="catalog names; all when not given")
    parser.add_argument("--seconds", type=float, default=60.0, help="limit for each design")
    parser.add_argument("--only", choices=(*KINDS, "torque"), help="one kind of trajectory")
    arguments = parser.parse_args()
    for name in arguments.robots or ia.catalog():
        if name in SLOW and arguments.only in (None, "torque"):
            slow(name)
        for kind in (
            [k for k in [arguments.only] if k in KINDS]
            if arguments.only
            else [k for k in KINDS if "survey" not in k or name in SURVEYED]
        ):
            make(name, kind, arguments.seconds)


if __name__ == "__main__":
    main()
