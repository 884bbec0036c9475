"""Coverage of the intervals of `identify` on robots with a floating base, simulated in MuJoCo.

    python benchmarks/floating.py [--mode crane sensor] [--legs 1] [--runs 30] [--first 10] [--seconds 10] [--json]

Every run draws a motion of joints and base (tests/mujoco_walker.py: legs of three joints on a trunk that a stiff spring moves about),
records it with noise and identifies by the command with all defaults; the card states viscous and Coulomb friction and drive inertia.
The links of the model file are off by tens of percent, as in trust.py.  `crane`: what
holds the trunk is unknown; `sensor`: the force on it is measured.  A row counts how many intervals of the parameters with each label
hold the truth; `residual` is the median, over runs, of the error of joint torques on a second record, over that of the true model with
the same filter.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

import inertica as ia
from inertica.cli.main import main as command

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from trust_experiments import wrong_body

from mujoco_walker import CRANE, SENSOR, card, model_text, record

LABELS = ("determined", "weak", "combined", "unidentifiable")


def run(folder: Path, mode: str, legs: int, seed: int, seconds: float) -> tuple[dict[str, tuple[int, int]], float]:
    """Per label how many intervals hold the truth and how many there are; error of joint torques over that of the true model."""
    stated = card(folder, mode, legs)
    walker, rng = ia.load(str(folder / "walker.xml")), np.random.default_rng([seed, 7])
    values = walker.prior.values.copy()
    for _, where in walker.layout.bodies:
        if np.any(values[where]):
            values[where] = wrong_body(values[where], rng)
    ia.save_model(walker, walker.prior.with_values(values), folder / "wrong.xml")
    stated.write_text(stated.read_text().replace("walker.xml", "wrong.xml"))
    (folder / "truth.xml").write_text(model_text(legs=legs))
    for name, number in (("fit", seed), ("other", seed + 500)):
        record(folder / f"{name}.csv", mode, number, seconds, legs)
    words = ["identify", str(stated), str(folder / "fit.csv"), "--validate", str(folder / "other.csv"), "-o", str(folder / "out")]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        if code := command(words):
            raise RuntimeError(f"seed {seed}: exit code {code}: {said.getvalue()}")
    result = ia.Result.load(folder / "out")
    layout = result.parameters.layout
    truth = ia.load(str(folder / "truth.xml")).prior.on(layout).values
    low, high = np.asarray(result.intervals).T
    # an interval that a constraint closed at the true value holds it
    holds = (low <= truth + 1e-12) & (truth - 1e-12 <= high)
    labels = np.array([result.labels[name] for name in layout.names])
    other, n = ia.read_log(folder / "other.csv", result.description), layout.robot.driven
    exact = replace(result, parameters=result.parameters.with_values(truth))
    inner = slice(200, -200)  # predictions at the ends of a record follow the ends of the filter
    errors = [np.linalg.norm((np.asarray(each.predict(other)) - other.need("tau"))[inner, :n]) for each in (result, exact)]
    counts = {label: (int(holds[labels == label].sum()), int((labels == label).sum())) for label in LABELS}
    return counts, float(errors[0] / errors[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", nargs="+", choices=(CRANE, SENSOR), default=[CRANE, SENSOR])
    parser.add_argument("--legs", type=int, default=1)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--first", type=int, default=10, help="seed of the first run")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows = []
    for mode in arguments.mode:
        totals, ratios = {label: np.zeros(2, int) for label in LABELS}, []
        for seed in range(arguments.first, arguments.first + arguments.runs):
            with tempfile.TemporaryDirectory() as folder:
                counts, ratio = run(Path(folder), mode, arguments.legs, seed, arguments.seconds)
            ratios.append(ratio)
            for label, count in counts.items():
                totals[label] += count
        rows.append({"mode": mode, **{k: v.tolist() for k, v in totals.items()}, "residual": float(np.median(ratios))})
        if not arguments.json:
            shares = ", ".join(f"{k} {a} of {b} ({100 * a / max(b, 1):.1f} %)" for k, (a, b) in totals.items())
            print(f"{mode}: {shares}; residual {np.median(ratios):.3f} of the true model's")
    if arguments.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
