"""What a campaign will cost: one run with one start of every method is timed, and counted up."""

from __future__ import annotations

import resource
import time
from collections import defaultdict
from dataclasses import dataclass, replace

from inertica.campaign.plan import depends_on_start, plan
from inertica.campaign.rows import read_bytes
from inertica.campaign.spec import Spec
from inertica.campaign.work import execute
from inertica.estimators.options import with_options
from inertica.estimators.registry import method


@dataclass(frozen=True)
class Cost:
    """Of a campaign.

    Args:
        seconds: of one core that has nothing else to do, for all of it.
        methods: label -> seconds of one core for all its fits.
        memory: bytes of one worker.
        pilot: seconds that finding out took.
    """

    seconds: float
    methods: dict[str, float]
    memory: int
    pilot: float


def cost(spec: Spec) -> Cost:
    """Expected cost; the first run of the last row of noise of every robot, the second time, when everything is compiled."""
    begun, methods, overhead = time.perf_counter(), defaultdict[str, float](float), 0.0
    per_robot = spec.runs * len(spec.loops) * len(spec.noise) * len(spec.distributions) * len(spec.quantise)
    for robot in spec.robots:
        small = replace(spec, robots=(robot,), loops=spec.loops[:1], noise=spec.noise[-1:], runs=1, starts=min(spec.starts, 1))
        (unit,) = plan(replace(small, distributions=spec.distributions[:1], quantise=spec.quantise[:1]))
        for _ in range(2):
            start = time.process_time()
            rows = read_bytes(execute(small.document(), unit.document(), "")).to_pylist()
            whole = time.process_time() - start
        overhead += per_robot * max(whole - sum(row["cpu"] for row in rows), 0.0)
        for row in rows:
            methods[row["method"]] += per_robot * _starts(spec, row["method"]) * row["cpu"]
    memory = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return Cost(sum(methods.values()) + overhead, dict(methods), memory, time.perf_counter() - begun)


def _starts(spec: Spec, label: str) -> int:
    (entry,) = (e for e in spec.methods if e.label == label)
    return max(spec.starts, 1) if depends_on_start(with_options(method(entry.method), entry.options)) else 1
