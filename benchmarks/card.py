"""Closed-loop simulations per second on a graphics card, and how near they come to the processor's.

    python benchmarks/card.py prepare FILE     # with the full installation: problems, and the processor's results for them
    python benchmarks/card.py measure FILE     # on the machine with the card; needs NumPy, SciPy and CuPy only
    python benchmarks/card.py small FILE [cpu] # times of what is no simulation, by size, on the card or the processor

A run is 10 s at 5 kHz; kernel times by events, the best of three after a warm-up.
"""

from __future__ import annotations

import pickle
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

RATE, SECONDS = 5000.0, 10.0

CHECKED = 32
"""Runs that are compared with the processor's."""

SIGNALS = ("q", "dq", "ddq", "tau", "q_measured", "tau_measured")
CASES = [(integrator, noisy) for integrator in ("euler", "rk4") for noisy in (False, True)]


def options(integrator: str, noisy: bool) -> dict[str, Any]:
    from inertica.dynamics.simulate import Noise

    return {"integrator": integrator, "noise": Noise(q=1e-6, tau=0.05, seed=5) if noisy else None}


def prepare(path: Path) -> None:
    from inertica.excitation.files import catalog_trajectory
    from inertica.experiment.loop import ControlLoop
    from inertica.identifiability.base import base_model
    from inertica.robot.load import load

    problems: dict[str, Any] = {}
    for name in ("tx40", "panda7"):
        description = load(name)
        base, loop = base_model(description.layout), ControlLoop.of(description)
        t = np.arange(int(SECONDS * RATE)) / RATE
        q, dq, _ = catalog_trajectory(name).trajectory(t)
        draw = np.random.default_rng(0).uniform(-1, 1, (CHECKED, base.layout.size))
        chi = description.prior.values * (1.0 + 0.05 * draw)
        problem = {
            "layout": base.layout, "reduction": base.engine.reduction, "chi": chi, "law": loop.compiled_law,
            "reference": {"q": q, "dq": dq}, "gains": loop.all_gains, "expected": {}, "seconds": {},
        }  # fmt: skip
        for case in CASES:
            given = (chi, problem["reference"], loop.all_gains, 1 / RATE)
            base.engine.simulate(chi[:1], *given[1:], law=loop.compiled_law, keep=500, **options(*case))  # compiled
            begun = time.process_time()
            out = base.engine.simulate(*given, law=loop.compiled_law, keep=500, **options(*case))
            problem["seconds"][case] = (time.process_time() - begun) / CHECKED
            problem["expected"][case] = {k: getattr(out, k) for k in SIGNALS}
        problems[name] = problem
    path.write_bytes(pickle.dumps(problems))


def measure(path: Path, batch: int, robots: tuple[str, ...] = ()) -> None:
    import cupy

    from inertica.dynamics.closed_loop import ClosedLoop
    from inertica.dynamics.cuda.target import Cuda
    from inertica.dynamics.engine import Engine
    from inertica.dynamics.simulate import RunOptions, checked_runs

    target, mixed = Cuda(), Cuda("mixed")
    print(f"{target.device.name}, CuPy {cupy.__version__}; {batch} runs of {SECONDS:g} s at {RATE:g} Hz")
    problems = pickle.loads(path.read_bytes())
    for name in robots or problems:
        problem = problems[name]
        engine = Engine(problem["layout"], problem["reduction"], target=target)
        for case in CASES:
            chosen = options(*case)
            given = (problem["chi"], problem["reference"], problem["gains"], 1 / RATE)
            begun = time.perf_counter()
            out = engine.simulate(*given, law=problem["law"], keep=500, **chosen)
            first = time.perf_counter() - begun
            off = {k: np.abs(getattr(out, k) - x).max() for k, x in problem["expected"][case].items()}
            many = np.resize(problem["chi"], (batch, problem["chi"].shape[1]))
            many[CHECKED:] *= 1.0 + 1e-3 * np.random.default_rng(1).uniform(-1, 1, (batch - CHECKED, many.shape[1]))
            loop = ClosedLoop(problem["law"], chosen["integrator"], case[1], case[1])
            compiled = target.loop(loop.described(engine.equations, engine.retained))
            for keep, word in ((len(problem["reference"]["q"]), "final"), (50, "every 50th")):
                recorded = RunOptions(law=problem["law"], keep=keep, noise=chosen["noise"])
                runs = checked_runs(engine, many, problem["reference"], problem["gains"], 1 / RATE, recorded)
                best, signals = timed(cupy, compiled, runs)
                same = bool(cupy.isfinite(signals).all())
                own = problem["seconds"][case] * batch / best
                print(
                    f"{name:7s} {case[0]:5s} noise {case[1]!s:5s} record {word:10s} {1e3 * best:8.1f} ms {batch / best:10.0f} runs/s"
                    f" {own:6.0f} x one core of the processor's, finite {same}"
                )
                del signals
                cupy.get_default_memory_pool().free_all_blocks()
            print(f"        first call {first:.2f} s, off " + ", ".join(f"{k} {v:.1e}" for k, v in off.items()))
            single = Engine(problem["layout"], problem["reduction"], target=mixed)
            out = single.simulate(*given, law=problem["law"], keep=500, **chosen)
            off = {k: np.abs(getattr(out, k) - x).max() for k, x in problem["expected"][case].items()}
            compiled = mixed.loop(loop.described(single.equations, single.retained))
            best, _ = timed(cupy, compiled, runs)
            print(f"        mixed {1e3 * best:.1f} ms, off " + ", ".join(f"{k} {v:.1e}" for k, v in off.items()))
            cupy.get_default_memory_pool().free_all_blocks()


def small(path: Path, device: str) -> None:
    """R factors of a motion (identification, excitation design), a sigma-point filter's sample, and decimation, by size."""
    from inertica.dynamics.closed_loop import ClosedLoop
    from inertica.dynamics.engine import Engine
    from inertica.dynamics.transition import Transition
    from inertica.excitation.observation import Observation
    from inertica.excitation.trajectory import Samples
    from inertica.preprocessing.decimate import Decimator

    problem = pickle.loads(path.read_bytes())["tx40"]
    engine = Engine(problem["layout"], problem["reduction"], threads=1, device=device)  # type: ignore[arg-type]
    rng, clock = np.random.default_rng(0), time.process_time if device == "cpu" else time.perf_counter
    for N in (1_000, 10_000, 100_000, 1_000_000):
        given = [rng.normal(size=(N, 6)) for _ in range(4)]
        print(f"{device}: R factors of {N} samples {1e3 * middle(lambda given=given: engine.factors(*given), clock):.2f} ms")
    for N in (1_000, 10_000, 100_000):
        given = [rng.normal(size=(N, 6)) for _ in range(3)]
        took = middle(lambda given=given: engine.regressor_entries(*given), clock)
        print(f"{device}: regressor of {N} samples {1e3 * took:.2f} ms")
    kept = [int(k) for k in engine.retained]
    observe = Observation(engine, tuple(kept))
    for count in (1, 10, 100, 1000):
        motion = Samples(*(rng.normal(size=(100 * count, 6)) for _ in range(3)))
        took = middle(lambda motion=motion, count=count: observe.grams(motion, count), clock)
        print(f"{device}: criterion's matrices of {count} candidate motions at 100 instants {1e3 * took:.2f} ms")
    chi = problem["chi"][0]
    step = Transition.of(engine, ClosedLoop(problem["law"], "euler"), 1 / RATE, chi, kept, problem["gains"])
    table = np.hstack([problem["reference"][name][:5] for name in problem["law"].references])
    for count in (2 * step.size + 1, 20 * step.size, 200 * step.size, 2000 * step.size):
        z = np.hstack([np.zeros((count, 6)), np.tile(problem["reference"]["q"][0], (count, 1)), np.tile(chi[kept], (count, 1))])
        print(
            f"{device}: {count} sigma points over one sample of five steps {1e3 * middle(lambda z=z: step(z, table), clock):.3f} ms"
        )
    columns, low = rng.normal(size=(10_000, 166)), Decimator(10)
    if device == "cpu":
        print(f"cpu: decimation of 166 columns of 10000 samples {1e3 * middle(lambda: low.decimate(columns), clock):.2f} ms")
        return
    memory = engine.target.device  # type: ignore[attr-defined]
    there = memory.arrays.asarray(columns)
    took = middle(lambda: memory.host(low.decimate_on_device(there, memory)), clock)
    off = np.abs(memory.host(low.decimate_on_device(there, memory)) - sos_decimated(low, columns)).max()
    print(f"{device}: decimation of 166 columns of 10000 samples {1e3 * took:.2f} ms, off {off:.1e}")


def sos_decimated(low: Any, columns: np.ndarray) -> np.ndarray:
    """By SciPy."""
    from scipy.signal import sosfiltfilt

    pad = 3 * low.design.order
    return sosfiltfilt(low.design.sections, columns, axis=0, padtype="odd", padlen=pad)[low.kept(len(columns))]


def middle(work: Any, clock: Any = time.perf_counter) -> float:
    """Median of five, after a first one."""
    work()
    times = []
    for _ in range(5):
        begun = clock()
        work()
        times.append(clock() - begun)
    return float(np.median(times))


def timed(cupy: Any, compiled: Any, runs: Any) -> tuple[float, Any]:
    """Seconds of the best of three launches, and its signals on the card."""
    layout, module = compiled.ready(runs)
    table, steps = cupy.asarray(runs.table), cupy.asarray(runs.steps)
    times = []
    for _ in range(4):
        arguments = compiled.arguments(layout, runs, slice(0, len(runs.numbers)), table, steps)
        begun, ended = cupy.cuda.Event(), cupy.cuda.Event()
        begun.record()
        compiled.launch(layout, module, arguments)
        ended.record()
        ended.synchronize()
        times.append(1e-3 * cupy.cuda.get_elapsed_time(begun, ended))
        signals = arguments[-1]
        del arguments
    return min(times[1:]), signals


if __name__ == "__main__":
    job, file = sys.argv[1], Path(sys.argv[2])
    if job == "prepare":
        prepare(file)
    elif job == "small":
        small(file, sys.argv[3] if len(sys.argv) > 3 else "cuda")
    else:
        measure(file, int(sys.argv[3]) if len(sys.argv) > 3 else 65536, tuple(sys.argv[4:]))
