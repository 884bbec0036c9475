"""Wall time and memory of `inertica identify`: a recorded log beside FIGAROH, a million synthetic samples beside limits.

    python benchmarks/identify.py [--json] [--figaroh-python PATH]

The recorded log is that of a Staubli TX40 (26,000 samples at 5 kHz) from the folder of real data, INERTICA_REAL_DATA or shared/data
beside the repository; without it only the synthetic rows are measured.  Two times are compared with FIGAROH's:
whole processes, ours from the start of the interpreter to the written report, kernels cached, FIGAROH's to its weighted least
squares; and, without imports, reading and fitting alone.  FIGAROH is taken from the interpreter given, or from this one.

The million samples are a motion worked out by inverse dynamics, of whose loop nothing is known, and 1000 s that `inertica simulate`
makes of tx40 with its standard noise, whose intervals come from the loop.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import Row, arguments, best_of, say, show

CUTOFF = "40"
FIXED = ("--cutoff", CUTOFF, "--delay", "0", "--friction", "viscous,coulomb,offset", "--method", "wls")
FIT, VALIDATE = "@0:4.0", "@4.0:5.2"
SAMPLES, LIMIT = 1_000_000, 1500.0
SECONDS = {"fixed": 8.0, "auto": 30.0, "simulate": 12.0}
"""Limits for a million samples."""

_MEMORY = """
import json, resource, sys, time
import inertica as ia
start = time.perf_counter()
fixed = dict(cutoff=20.0, delay=0.0, friction=("viscous", "coulomb", "offset"), method="wls") if sys.argv[3] == "fixed" else {}
result = ia.identify(sys.argv[1], [sys.argv[2]], **fixed)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
print(json.dumps([peak, time.perf_counter() - start]))
"""

_SYNTHETIC = """
import sys
import numpy as np
import inertica as ia
robot, N = ia.load(sys.argv[1]), int(sys.argv[3])
engine, rng = ia.Engine(robot.layout), np.random.default_rng(0)
t = np.arange(N) / 1000.0
q, dq, ddq = np.zeros((3, N, engine.n))
for _ in range(5):
    w, a, phase = 2 * np.pi * rng.uniform(0.1, 0.8, engine.n), rng.uniform(0.1, 0.4, engine.n), rng.uniform(0, 2 * np.pi, engine.n)
    angle = w * t[:, None] + phase
    q += a * np.sin(angle)
    dq += a * w * np.cos(angle)
    ddq -= a * w**2 * np.sin(angle)
tau = engine.inverse_dynamics(q, dq, ddq, robot.prior)
tau += 0.05 * tau.std(axis=0) * rng.normal(size=tau.shape)
ia.Log.from_arrays(t, {"q": q + 1e-5 * rng.normal(size=q.shape), "tau": tau}).save(sys.argv[2])
"""


def recorded(repeats: int, figaroh: str, work: Path) -> list[Row]:
    """The whole command on the recorded log, its limits, and FIGAROH."""
    folder = Path(os.environ.get("INERTICA_REAL_DATA", Path(__file__).parents[2] / "shared" / "data")) / "tx40"
    log, model = folder / "tx40_joint_public.csv.gz", folder / "tx40.urdf"
    if not log.is_file():
        say(f"no recorded log at {log}; set INERTICA_REAL_DATA to the folder of real data to have its rows")
        return []
    card = work / "card.yaml"
    card.write_text(f"model: {model}\ncoupling: [{{motor: 6, joints: [5, 6]}}]\n", encoding="utf-8")

    def command(*options: str) -> dict:
        words = [sys.executable, "-m", "inertica.cli.main", "identify", str(card), *options, "-o", str(work / "result"), "--json"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr)
        return json.loads(done.stdout)

    stages: list[float] = []

    def fixed() -> None:
        seconds = command(str(log), *FIXED)["time"]
        stages.append(sum(seconds[stage] for stage in ("read", "choose", "fit")))

    jobs = {"auto": lambda: command(str(log)), "fixed": fixed}
    for job in jobs.values():
        job()  # kernels into the cache
    found: list[dict[str, float]] = []
    if importable(figaroh):
        jobs["peer"] = lambda: found.append(peer(figaroh, model, log))
    best = best_of(jobs, repeats)
    rows = [
        Row("identify_auto", best["auto"], 6.0, "s", "the limit of 6 s, choices automatic"),
        Row("identify_fixed", best["fixed"], 2.5, "s", "the limit of 2.5 s, choices fixed"),
    ]
    if not found:
        return rows
    ours = {name: command(f"{log}{FIT}", "--validate", f"{log}{VALIDATE}", *x) for name, x in (("auto", ()), ("fixed", FIXED))}
    score = {name: result["residual"][f"{log}{VALIDATE}"]["raw"]["all"] for name, result in ours.items()}
    residual = peer(figaroh, model, log, FIT.split(":")[1])["residual"]
    of, judged = "FIGAROH, the same file and cut-off", "FIGAROH, fit 0 to 4.0 s, raw torque of 4.0 to 5.2 s"
    return [
        *rows,
        Row("identify_fixed_figaroh", best["fixed"], best["peer"], "s", f"{of}, whole process, no report"),
        Row("identify_auto_figaroh", best["auto"], best["peer"], "s", f"{of}, whole process, no choices, no report"),
        Row("fit_fixed_figaroh", min(stages), min(x["seconds"] for x in found), "s", f"{of}, reading and fit without imports"),
        Row("residual_fixed_figaroh", score["fixed"], residual, "|error|/|tau|", judged),
        Row("residual_auto_figaroh", score["auto"], residual, "|error|/|tau|", judged),
    ]


def importable(python: str) -> bool:
    """Whether an interpreter has FIGAROH; says so when not."""
    there = subprocess.run([python, "-c", "import figaroh.tools.robot"], capture_output=True, check=False).returncode == 0
    if not there:
        say(f"{python} cannot import figaroh; its rows are left out (pip install figaroh, or --figaroh-python PATH)")
    return there


def peer(python: str, model: Path, log: Path, *fit_end: str) -> dict[str, float]:
    """FIGAROH's fit in its own process, and with `fit_end` one of the first part of the log, judged on the rest."""
    script = Path(__file__).parents[1] / "src" / "inertica" / "benchmark" / "figaroh.py"
    words = [python, str(script), str(model), str(log), CUTOFF, *fit_end]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def long_logs(work: Path) -> list[Row]:
    """Wall time, and peak resident memory of a process that identifies from a million samples."""
    rows, log, card = [], work / "long.npz", work / "any_friction.yaml"
    card.write_text("model: tx40\nfriction: auto\n", encoding="utf-8")
    subprocess.run([sys.executable, "-c", _SYNTHETIC, "tx40", str(log), str(SAMPLES)], check=True)
    for choices in ("fixed", "auto"):
        peak, seconds = _identified(card, log, choices)
        rows.append(Row(f"memory_1e6_{choices}", peak, LIMIT, "MiB", f"the limit of {LIMIT:g} MiB, tx40, six joints"))
        rows.append(_limited(f"identify_1e6_{choices}", seconds, choices, f"choices {choices}"))
    log.unlink()
    words = [sys.executable, "-m", "inertica.cli.main", "simulate", "tx40", "--noise", "standard", "--duration", "1000"]
    start = time.perf_counter()
    subprocess.run([*words, "-o", str(log)], check=True, capture_output=True)
    rows.append(_limited("simulate_1000s", time.perf_counter() - start, "simulate", "5 kHz, written, whole process"))
    _, seconds = _identified(card, log, "auto")
    return [*rows, _limited("identify_1000s_simulated", seconds, "auto", "choices auto, with the loop known")]


def _identified(card: Path, log: Path, choices: str) -> tuple[float, float]:
    """MiB at most, and seconds."""
    words = [sys.executable, "-c", _MEMORY, str(card), str(log), choices]
    usual = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}  # users have compiled modules
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=usual)
    if done.returncode:
        raise SystemExit(done.stderr)
    peak, seconds = json.loads(done.stdout)
    say(f"  {SAMPLES:,} samples, choices {choices}: {seconds:.1f} s, {peak:.0f} MiB at most")
    return peak, seconds


def _limited(name: str, seconds: float, limit: str, what: str) -> Row:
    return Row(name, seconds, SECONDS[limit], "s", f"the limit of {SECONDS[limit]:g} s, {what}")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--figaroh-python", metavar="PATH", default=sys.executable, help="interpreter that has FIGAROH installed")


def main() -> None:
    chosen = arguments(__doc__.splitlines()[0], options)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        say("recorded log ...")
        rows = recorded(chosen.repeats, chosen.figaroh_python, Path(folder))
        say(f"a million samples ... (load average {os.getloadavg()[0]:.1f})")
        rows += long_logs(Path(folder))
    say(f"{time.perf_counter() - start:.0f} s, load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    show(rows, chosen.json)


if __name__ == "__main__":
    main()
