"""Is the default right on robots that nobody tuned for?  Simulated ones with real defects, all defaults, beside a plain pipeline.

    python benchmarks/strangers.py [--count 36] [--only NUMBER] [--seed 0] [--motion MOTION] [--split SPLIT] [--json] [--lines FILE]

Robots come from collections that others keep (strange_robots.py), their torque from Pinocchio, and model, friction, motion and
recorder have faults of real ones (strange_logs.py): number and seed say which.  Two splits of every scenario: all of a log is fitted
and a log of another motion predicted, and its first 70 % are fitted and its rest predicted.

Nothing but the model file, and the gain where torque is a current, is stated to `inertica.identify`.  The plain pipeline
(benchmark/plain.py) does what a competent user does: of CUTOFFS it takes the one that predicts the last fifth of the fitted rows best,
and it knows whether torque holds drive inertia.  No program knows of the error of the model.

Every log is good: a problem that the check finds is false.  Masses and intervals are held against the truth; coverage counts where
the model has no error and friction no memory.  What a perfect model would leave is `floor`.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import math
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import geometric_mean

import numpy as np
from all_defaults import Masses, Ours, identified
from bench import say
from numpy.typing import NDArray
from strange_logs import MOTIONS, RecordedLog, Scenario, Simulated, simulate
from strange_robots import STRANGERS

import inertica as ia
from inertica.benchmark.plain import PlainPipeline, PlainSettings, Recorded, Score, score
from inertica.identifiability.labels import DETERMINED, WEAK
from inertica.workflow.identify.verdict import verdict

Array = NDArray[np.float64]

CUTOFFS = (3.0, 5.0, 8.0, 12.0, 20.0)
"""Hz, of which the user of the plain pipeline tries all."""

LEFT_OUT, FIT_SHARE = 0.2, 0.7
"""Shares of the fitted rows by which that user decides, and of a log that is fitted where its rest is predicted."""

PLAIN, SHAPES = ("Fv", "Fc", "off"), ("Fw", "dFs", "mu")
"""Symbols of friction as robots have it here, and of pieces that take a part of it over where they were chosen."""

FAR = 3.0
"""Half-widths of an interval beyond which a truth should not lie."""


@dataclass(frozen=True)
class Part:
    """A stretch of a log as both programs read it, and what its torque is without sensor and recorder."""

    log: str
    recorded: Recorded
    clean: Array

    @classmethod
    def of(cls, log: RecordedLog, first: float = 0.0, last: float = 1.0) -> Part:
        """Between two shares of its duration."""
        t = log.recorded.t
        between = np.concatenate([[t[0] - 1e-3], (t[1:] + t[:-1]) / 2.0, [t[-1] + 1e-3]])  # so that rounding moves no row
        start, end = (float(between[round(share * len(t))]) for share in (first, last))
        inside = (t >= start) & (t <= end)
        return cls(f"{log.path}@{start:.9g}:{end:.9g}", rows(log.recorded, inside), log.clean[inside])


@dataclass(frozen=True)
class Coverage:
    """95 % intervals of one label beside the truth: how many hold it, of how many, and which is furthest off in half-widths."""

    held: int
    count: int
    furthest: str
    half_widths: float


@dataclass(frozen=True)
class SplitLine:
    """One split of one scenario.

    Args:
        ours, plain, floor: residuals of what is predicted; ours is None where there is no result.
        cutoff: of the plain pipeline, and of the low-passed score.
        problems: false ones of the check, name: text.
        masses, model_masses: found, and of the user's model file, beside the true ones.
        coverage: by label.
        chosen: subject -> value of every automatic choice.
    """

    split: str
    ours: Score | None
    plain: Score
    floor: Score
    cutoff: float
    refusal: str
    problems: tuple[str, ...]
    verdict: str
    masses: Masses | None
    model_masses: Masses | None
    coverage: Mapping[str, Coverage]
    chosen: Mapping[str, str]
    corrected: bool
    seconds: float

    @property
    def ratios(self) -> tuple[float, float]:
        """Ours over plain, raw and low-passed."""
        return (math.inf, math.inf) if self.ours is None else (self.ours.raw / self.plain.raw, self.ours.low / self.plain.low)


@dataclass(frozen=True)
class ScenarioLine:
    """Both splits of a scenario; `crash` is the traceback where the program ended in one."""

    scenario: Scenario
    splits: tuple[SplitLine, ...]
    crash: str = ""

    def document(self) -> dict[str, object]:
        splits = [{**asdict(s), "raw_ratio": s.ratios[0], "low_ratio": s.ratios[1]} for s in self.splits]
        return {**asdict(self.scenario), "description": self.scenario.description, "splits": splits, "crash": self.crash}


def rows(recorded: Recorded, inside: NDArray[np.bool_]) -> Recorded:
    return Recorded(recorded.t[inside], recorded.q[inside], recorded.tau[inside])


def plain_fit(model: Path, motor_side: bool, fit: Recorded) -> PlainPipeline:
    """With the cut-off that predicts rows best that it has not seen."""
    early = fit.t < fit.t[-1] - LEFT_OUT * (fit.t[-1] - fit.t[0])
    scores = {}
    for cutoff in (c for c in CUTOFFS if c < 0.4 * fit.rate):
        pipeline = PlainPipeline(PlainSettings(model, cutoff, cutoff, motor_side))
        pipeline.fit([rows(fit, early)])
        late = rows(fit, ~early)
        scores[cutoff] = score(late, pipeline.predict(late), cutoff).raw
    best = min(scores, key=lambda c: scores[c])
    pipeline = PlainPipeline(PlainSettings(model, best, best, motor_side))
    pipeline.fit([fit])
    return pipeline


def compared(name: str, simulated: Simulated, motor_side: bool, fit: Part, test: Part) -> SplitLine:
    """Both programs on one split."""
    pipeline = plain_fit(simulated.model, motor_side, fit.recorded)
    cutoff = pipeline.settings.columns
    plain, floor = (score(test.recorded, x, cutoff) for x in (pipeline.predict(test.recorded), test.clean))
    ours = identified(simulated.card, [fit.log])
    own, level, chosen = None, "", {}
    masses = model_masses = None
    if ours.result is not None:
        result = ours.result
        log = ia.read_log(test.log, result.description)
        # readers lay jittering stamps out anew, so that a stretch may hold a row more or less than its stamps say
        prediction = np.column_stack([np.interp(test.recorded.t, log.t, x) for x in np.asarray(result.predict(log)).T])
        own, level = score(test.recorded, prediction, cutoff), verdict(result).level
        chosen = {c.subject: c.value for c in result.choices if c.automatic}
        masses, model_masses = (Masses.of(x, simulated.truth) for x in (result.parameters, result.description.prior))
    out = SplitLine(
        name, own, plain, floor, cutoff, ours.refusal, problems(ours), level, masses, model_masses,
        coverage(ours.result, simulated.truth), chosen, ours.result is not None and ours.result.correction is not None, ours.seconds,
    )  # fmt: skip
    say(f"  {name}: {', '.join(f'{head} {cell}' for head, cell in zip(HEADER[2:], cells(out), strict=True))}")
    return out


def problems(ours: Ours) -> tuple[str, ...]:
    """Of the check; the refusal itself where that is all there is."""
    check = ours.result.check if ours.result is not None else None
    if check is None:
        return (ours.refusal,) if ours.refusal else ()
    return tuple(f"{f.name}: {f.text}" for f in check.problems)


def coverage(result: ia.Result | None, truth: Mapping[str, float]) -> dict[str, Coverage]:
    """By label, of the parameters that the true robot has under the same names."""
    if result is None:
        return {}
    ends = dict(zip(result.parameters.layout.names, result.intervals, strict=True))
    shared = {piece + n.removeprefix(shape) for n in ends for shape in SHAPES if n.startswith(shape) for piece in PLAIN}
    out = {}
    for label in (DETERMINED, WEAK):
        known = [n for n, own in result.labels.items() if own == label and n in truth and n not in shared]
        names = [n for n in known if np.isfinite(ends[n]).all()]
        off = {n: abs(truth[n] - (ends[n][0] + ends[n][1]) / 2.0) / max((ends[n][1] - ends[n][0]) / 2.0, 1e-300) for n in names}
        furthest = max(off, key=lambda n: off[n], default="")
        held = sum(bool(ends[n][0] <= truth[n] <= ends[n][1]) for n in names)
        out[label] = Coverage(held, len(names), furthest, off.get(furthest, 0.0))
    return out


SPLITS = ("second motion", "70 %")


def measured(scenario: Scenario, splits: Sequence[str], folder: Path) -> ScenarioLine | None:
    """None where the robot's collection is missing."""
    simulated = simulate(scenario, folder)
    if simulated is None:
        return None
    say(scenario.description)
    whole = Part.of(simulated.fit), Part.of(simulated.test)
    rest = Part.of(simulated.fit, 0.0, FIT_SHARE), Part.of(simulated.fit, FIT_SHARE, 1.0)
    pairs = dict(zip(SPLITS, (whole, rest), strict=True))
    try:
        return ScenarioLine(scenario, tuple(compared(name, simulated, scenario.motor_side, *pairs[name]) for name in splits))
    except Exception:  # a traceback is a result: it is kept, counted and makes this script fail
        crash = traceback.format_exc()
        say(crash)
        return ScenarioLine(scenario, (), crash)


# Tables.

HEADER = (
    "scenario", "split", "ours raw", "ours low", "plain raw", "plain low", "floor raw", "floor low", "raw ratio", "low ratio",
    "cut-off", "refused", "problems", "verdict", "total mass", "worst link", "determined", "weak", "s",
)  # fmt: skip


def cells(line: SplitLine) -> list[str]:
    """Of one row, but for scenario and split; residuals in percent."""
    ours = ["-", "-"] if line.ours is None else _percent(line.ours)
    ratios = [f"{x:.3f}" for x in line.ratios]
    masses = ["-", "-"] if line.masses is None else [f"{line.masses.total:.2f}", f"{line.masses.worst_link:.2f}"]
    held = [f"{c.held}/{c.count} ({c.half_widths:.1f})" for c in line.coverage.values()] or ["-", "-"]
    stopped = ["yes" if line.refusal else "no", str(len(line.problems)), line.verdict or "-"]
    scores = [*ours, *_percent(line.plain), *_percent(line.floor), *ratios]
    return [*scores, f"{line.cutoff:g}", *stopped, *masses, *held, f"{line.seconds:.1f}"]


def _percent(of: Score) -> list[str]:
    return [f"{100 * of.raw:.2f}", f"{100 * of.low:.2f}"]


def table(lines: Sequence[ScenarioLine]) -> str:
    """As Markdown."""
    listed = [[line.scenario.description, s.split, *cells(s)] for line in lines for s in line.splits]
    return "\n".join(f"| {' | '.join(x)} |" for x in (HEADER, ["---"] * len(HEADER), *listed))


def summary(lines: Sequence[ScenarioLine]) -> Iterator[str]:
    """Ratios, refusals, false problems, and how often intervals hold, one sentence each."""
    splits = [(line.scenario, s) for line in lines for s in line.splits]
    for k, what in enumerate(("raw", "low-passed")):
        ratios = {f"{a.number} {a.robot.name}, {s.split}": s.ratios[k] for a, s in splits if s.ours is not None}
        if ratios:
            worst = sorted(ratios, key=lambda name: -ratios[name])[:5]
            over = sum(r > 1.02 for r in ratios.values())
            yield (
                f"{what}: geometric mean {geometric_mean(ratios.values()):.3f} of the plain pipeline's residual, "
                f"above 1.02 in {over} of {len(ratios)}; worst: {'; '.join(f'{name} {ratios[name]:.3f}' for name in worst)}"
            )
    refused = [f"{a.number} {s.split}" for a, s in splits if s.refusal]
    yield f"{len(refused)} of {len(splits)} refused{': ' if refused else ''}{', '.join(refused)}"
    false = [f"{a.number} {s.split}: {p}" for a, s in splits for p in s.problems]
    yield f"{len(false)} false problems"
    yield from false
    for label in (DETERMINED, WEAK):
        covered = [(a, s.coverage[label]) for a, s in splits if a.modelled and label in s.coverage]
        if count := sum(c.count for _, c in covered):
            far = [f"{a.number} {c.furthest} {c.half_widths:.1f}" for a, c in covered if c.half_widths > FAR]
            share = 100 * sum(c.held for _, c in covered) / count
            yield f"{label}, models without error: {share:.1f} % of {count}; beyond {FAR:g} half-widths: {', '.join(far) or 'none'}"
    for line in lines:
        if line.crash:
            yield f"{line.scenario.number} ends in a traceback: {line.crash.strip().splitlines()[-1]}"


def fine(lines: Sequence[ScenarioLine]) -> bool:
    """Nothing refused, accused or crashed."""
    return not any(line.crash or any(s.refusal or s.problems for s in line.splits) for line in lines)


def run(scenarios: Sequence[Scenario], splits: Sequence[str], lines: Path | None) -> list[ScenarioLine]:
    out = []
    for scenario in scenarios:
        with tempfile.TemporaryDirectory() as name:
            line = measured(scenario, splits, Path(name))
        if line is None:
            wheel = scenario.robot.wheel
            say(f"{scenario.number}: no URDF of {scenario.robot.name}; INERTICA_URDF_WHEELS should have a wheel of {wheel}")
            continue
        out.append(line)
        if lines is not None:
            with lines.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line.document()) + "\n")
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=3 * len(STRANGERS), help="scenarios from number 0 on (default %(default)s)")
    parser.add_argument("--only", type=int, action="append", metavar="NUMBER", help="this scenario only; may be repeated")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other scenarios (default 0)")
    parser.add_argument(
        "--motion",
        choices=sorted(set(MOTIONS)),
        help="of every scenario, with models without error: do intervals hold there, too",
    )
    parser.add_argument("--split", choices=SPLITS, action="append", help="this split only")
    parser.add_argument("--json", action="store_true", help="a list of one object per scenario on stdout")
    parser.add_argument("--lines", type=Path, metavar="FILE", help="append these objects to a file as they come, one per line")
    chosen = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ia.ModelWarning)
        scenarios = [Scenario.drawn(number, chosen.seed) for number in chosen.only or range(chosen.count)]
        if chosen.motion:
            scenarios = [scenario.without_error(chosen.motion) for scenario in scenarios]
        out = run(scenarios, chosen.split or SPLITS, chosen.lines)
    print(json.dumps([x.document() for x in out], indent=1) if chosen.json else "\n".join([table(out), "", *summary(out)]))
    return int(not fine(out))


if __name__ == "__main__":
    sys.exit(main())
