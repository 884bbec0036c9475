"""The whole way without input: a built-in robot follows an optimised trajectory under its own controller in simulation, the noisy
log is checked and identified, methods are compared, and what was found is held against the truth that a simulation knows.

The last lines are the verdict, the report to open and the command that identifies the same log again.  Logs, result and report are
written into the folder of -o, or into a new one among the temporary files.
"""

from __future__ import annotations

import argparse
import shlex
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from inertica.arrays import Array
from inertica.cli.console import Answer, progress_line, table
from inertica.cli.progress import by_stages
from inertica.documents import plain
from inertica.experiment import Experiment
from inertica.numbers import number
from inertica.robot.description import Description
from inertica.robot.load import load
from inertica.workflow.identify.choice import Say
from inertica.writing import make_folder

if TYPE_CHECKING:
    from rich.console import RenderableType

    from inertica.checks.quality import Quality
    from inertica.identifiability.base import BaseModel
    from inertica.logs.log import Log
    from inertica.workflow.identify.compare import Comparison
    from inertica.workflow.identify.result import Result


EXAMPLES = """\
inertica demo
inertica demo -o demo/ --robot rv2sq
inertica demo --robot scara4 --json
"""

ROBOT = "tx40"
STAGES = {"simulating": 2.0, "checking": 2.3, "reading": 2.9, "fit: ": 2.6}
"""Seconds that they usually take; those before, of the base parameters, go by unseen."""
METHOD = "pc-wls"
"""Of the result: every link of it could exist."""
METHODS = ("ols", "wls", "irls", "pc-wls", "didim")
SURE = 5.0
"""Percent; base parameters with a smaller relative standard deviation are held against the truth."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--robot", metavar="ROBOT", default=ROBOT, help="built-in robot (default: %(default)s)")
    parser.add_argument("--noise", metavar="PRESET", help="noise preset of the robot; its first one by default")
    parser.add_argument("--seed", type=int, default=0, help="of the noise (default 0)")
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, help="write logs, result and report there")


def run(arguments: argparse.Namespace) -> Answer:
    tour = Tour(load(arguments.robot))
    with progress_line(by_stages(STAGES)) as say:
        tour.take(arguments.noise, arguments.seed, say)
        folder = arguments.output
        if folder is None and not arguments.json:
            folder = Path(tempfile.mkdtemp(prefix="inertica-demo-"))
        files = tour.write(folder) if folder else ()
    return Answer(tour.document() | {"files": list(files)}, lambda: tour.text(files))


class Tour:
    """What the demo does and found."""

    base: BaseModel
    logs: tuple[Log, Log]
    quality: Quality
    result: Result
    comparison: Comparison
    errors: dict[str, float]
    motions: tuple[str, ...]

    def __init__(self, robot: Description) -> None:
        self.robot = robot
        self.preset: str | None = None
        self.seconds: dict[str, float] = {}

    def take(self, preset: str | None, seed: int, say: Say) -> None:
        from inertica.checks.gate import checked
        from inertica.excitation.default_motion import default_motion
        from inertica.identifiability.base import base_model
        from inertica.logs.simulated import marked
        from inertica.workflow.identify.compare import compare
        from inertica.workflow.identify.run import identify
        from inertica.workflow.identify.settings import Settings

        self.preset = preset or next(iter(self.robot.noise), None)
        with self._timed("model"):
            say(f"{self.robot.name}: base parameters")
            self.base = base_model(self.robot.layout)
        experiment = Experiment.of(self.robot, noise=self.preset)
        with self._timed("simulate"):
            say("simulating an identification and a validation run")
            kinds = [default_motion(self.robot, kind, say) for kind in ("identification", "validation")]
            self.motions = tuple(motion.note for motion in kinds if motion.note)
            first, second = (experiment.run(motion.trajectory, seed=seed, first_run=k)[0] for k, motion in enumerate(kinds))
            first, second = marked(first, self.robot), marked(second, self.robot)
            self.logs, self.control_rate = (first, second), experiment.loop.rate
        with self._timed("check"):
            say("checking the log")
            self.quality = checked(self.robot, [first])
        with self._timed("identify"):
            quick = Settings(method=METHOD, quick=True)
            self.result = identify(self.robot, [first], validate=[second], settings=quick, progress=say)
        with self._timed("compare"):
            self.comparison = compare(self.robot, [first], METHODS, validate=[second], progress=say)
        self.errors = self._errors()

    def _errors(self) -> dict[str, float]:
        """Relative error of base parameters the data determine well."""
        estimate = self.result.estimate
        truth = estimate.base.beta(self.robot.prior.on(estimate.base.layout).values)
        sure = (estimate.relative_std < SURE) & (truth != 0.0)
        parameters = zip(estimate.base.names, estimate.beta, truth, sure, strict=True)
        return {name: float(value / true - 1.0) for name, value, true, good in parameters if good}

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[stage] = time.perf_counter() - start

    def write(self, folder: Path) -> tuple[str, ...]:
        from inertica.report.report import write_report

        make_folder(folder)
        names = []
        for name, log in zip(("identification", "validation"), self.logs, strict=True):
            log.save(folder / f"{name}.csv.gz")
            names.append(str(folder / f"{name}.csv.gz"))
        result = self.result
        result.save(folder / "result")
        with self._timed("report"):
            write_report(result, result.motions, folder / "report.html")
        return (*names, str(folder / "result"), str(folder / "report.html"))

    def tracking(self) -> Array:
        """(n,) rms distance between the reference and where the robot really was."""
        log = self.logs[0]
        return np.sqrt(np.mean((log.truth["q"] - log.need("qr")) ** 2, axis=0))

    def document(self) -> dict[str, object]:
        result = self.result
        return {
            "name": self.robot.name,
            "joints": self.robot.robot.n,
            "parameter_count": self.robot.layout.size,
            "base_count": self.base.rank,
            "noise": self.preset,
            "rate": self.control_rate,
            "duration": self.logs[0].duration,
            "tracking_rms": self.tracking(),
            "motions": self.motions,
            "check": self.quality.verdict,
            "choices": {c.subject: c.value for c in result.choices},
            "residual": {
                name: plain(r) for name, r in zip(("identification", "validation"), result.residuals.values(), strict=True)
            },
            "methods": [
                {"method": r.method, "failure": r.failure, "time": r.seconds, "raw": [x.raw.all for x in r.residuals.values()]}
                for r in self.comparison.rows
            ],
            "base_errors": self.errors,
            "time": self.seconds,
        }

    def text(self, files: tuple[str, ...]) -> Iterator[RenderableType]:
        from rich.text import Text

        robot, result = self.robot, self.result
        counts = f"{robot.robot.n} joints, {robot.layout.size} standard and {self.base.rank} base parameters"
        yield Text(f"{robot.name}: {counts}", "bold")
        error = ", ".join(number(1e3 * x, 3) for x in self.tracking())
        noise = f"noise preset '{self.preset}'" if self.preset else "no noise"
        yield f"simulated {self.logs[0].duration:.3g} s under its controller at {self.control_rate:g} Hz, {noise}"
        yield from self.motions
        yield f"tracking error, rms: {error} (1e-3 rad or m)\n"
        yield f"check of the log: {self.quality.sentence}\n"
        yield table("chosen by cross-validation", ("what", "value"), [[c.subject, c.value] for c in result.choices])
        rows = []
        for row in self.comparison.rows:
            scores = [f"{100 * r.raw.all:.2f} / {100 * r.filtered.all:.2f}" for r in row.residuals.values()]
            rows.append([row.method, *(scores or (row.failure or "", "")), f"{1e3 * row.seconds:.0f} ms"])
        columns = ("method", "identification", "validation", "fit")
        yield table("torque residual in percent, raw / filtered", columns, rows, right=columns[1:])
        yield "time: " + ", ".join(f"{stage} {s:.2f} s" for stage, s in self.seconds.items()) + "\n"
        yield from self._conclusion(files)

    def _conclusion(self, files: tuple[str, ...]) -> Iterator[RenderableType]:
        """What it comes to, the page to open, and what to type next."""
        from rich.text import Text

        from inertica.report.verdict_words import verdict_words
        from inertica.workflow.identify.verdict import verdict

        judged = verdict(self.result)
        words = verdict_words(self.result, judged)
        yield Text(f"Verdict: {judged.level}. {words.headline}.", "bold")
        yield words.first_line
        if self.errors:
            size = 100 * np.abs(list(self.errors.values()))
            yield (
                f"The simulation knows the truth: the {len(self.errors)} base parameters that are known to {SURE:g} % (one standard "
                f"deviation) are off it by {np.median(size):.2g} % (median), {size.max():.2g} % (worst)."
            )
        identification, validation, _, report = files
        yield Text.assemble("Report: ", (report, f"link {Path(report).absolute().as_uri()}"))
        again = ["inertica", "identify", self.robot.name, identification, "--validate", validation, "-o", "result/"]
        yield f"Next: {shlex.join(again)}"
