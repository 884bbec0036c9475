"""False alarms of `inertica observe` on real motion that was not fitted: as rare as stated?

    python benchmarks/observe.py                      # every record, alarms once per 2 s and once per 10 s
    python benchmarks/observe.py --keep DIR           # identifications kept for the next time

Each split of benchmarks/real.py with 70 % of a motion or several motions fitted; thresholds learn from the fitted part alone, and
alarms are counted on the rest, in which nothing touches the robot.  Then all splits of a record, and all records, are pooled.  A
ratio is the stated period over the measured one: 1 holds, above 1 alarms are more frequent than stated.

"""

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from bench import say
from real_records import DATA, RECORDS, Record, Split

import inertica as ia
from inertica.workflow.identify.result import Result

PERIODS = (2.0, 10.0)


@dataclass(frozen=True)
class Count:
    """Alarms of one split at one stated period."""

    record: str
    split: str
    period: float
    alarms: int
    seconds: float
    bandwidth: float

    @property
    def ratio(self) -> float:
        return self.alarms * self.period / self.seconds


def identified(record: Record, split: Split, folder: Path) -> Result:
    kept = folder / f"{record.name}-{split.name}".replace(" ", "_").replace(",", "").replace("%", "")
    if (kept / "result.json").is_file():
        return Result.load(kept)
    result = ia.identify(record.card(folder), [w.path(record.folder) for w in split.fit])
    result.save(kept)
    return result


def counts(record: Record, split: Split, folder: Path, bandwidth: float | None) -> Iterator[Count]:
    result = identified(record, split, folder)
    fresh = ia.read_log(split.test.path(record.folder), result.description)
    for period in PERIODS:
        monitor = ia.observer(result, period=period, bandwidth=bandwidth)
        observed, events = monitor.observe(fresh)
        seconds = float(observed.settled.sum()) * float(observed.t[-1] - observed.t[0]) / max(len(observed.t) - 1, 1)
        yield Count(record.name, split.name, period, len(events), seconds, monitor.bandwidth)


def _counted(row: Count) -> str:
    return f"once per {row.period:g} s: {row.alarms} alarms in {row.seconds:.1f} s, ratio {row.ratio:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, metavar="DIR")
    parser.add_argument("--only", metavar="RECORD")
    parser.add_argument("--bandwidth", type=float, metavar="HZ")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: list[Count] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for record in RECORDS:
            if (chosen.only and record.name != chosen.only) or not (DATA / record.folder).is_dir():
                continue
            for split in record.splits():
                for row in counts(record, split, folder, chosen.bandwidth):
                    rows.append(row)
                    say(f"{row.record:14s} {row.split:26s} {_counted(row)} at {row.bandwidth:.3g} Hz")
    if chosen.json:
        print(json.dumps([asdict(row) | {"ratio": row.ratio} for row in rows], indent=1))
    for period in PERIODS:
        pooled: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for row in rows:
            if row.period == period:
                for name in (row.record, "all"):
                    pooled[name][0] += row.alarms
                    pooled[name][1] += row.seconds
        for name, (alarms, seconds) in pooled.items():
            say(f"{name:14s} once per {period:g} s: {alarms:g} alarms in {seconds:.0f} s, ratio {alarms * period / seconds:.2f}")


if __name__ == "__main__":
    main()
