"""Does `inertica identify` state what is true?  Simulated experiments with known truth, all defaults, through the command line.

    python benchmarks/trust.py --tag NAME [--runs 24] [--loop both] [--rows tx40 ...] [--workers 2] [--defect repeats]
                               [--oracle] [--store trust.jsonl] [--cache trust_cache] [--baseline before.jsonl]
                               [--markdown | --json]

A row is a catalog robot and a noise preset.  A run simulates one experiment (`inertica simulate`), draws a wrong model (every link's
pseudo-inertia L L' becomes L (1+E)(1+E)' L', entries of E with a standard deviation of 0.15; drive inertia and friction off by a
factor exp(0.3 n)), writes a card with `friction: auto`, with the control loop or without it, and calls
`inertica identify CARD LOG --json`.  trust_experiments.py says which friction laws, motions and defects there are; logs, cards and
priors stay in the cache and serve every version of the code.  Records go to the store as they come, keyed by tag, row, run, loop and
defect: what is there is not run again (`--tables` runs nothing).  `--defect` puts a recorder's defect into the logs before the command
reads them.  `--baseline` names the store of an earlier version, for the labels it gave.

Columns
    base         base parameters whose interval (or value +- 1.96 std where no interval is stated) holds the truth
    determined   standard parameters with that label whose interval holds the truth; weak: the same
    useful       labels `determined` a run of parameters whose truth is not zero
    width        half-widths of base parameters' intervals over 1.96 standard deviations of an oracle that knows structure and noise
                 (trust_oracle.py), median; 90 %: nine tenths are below
    furthest     the largest distance of a truth from a `determined` interval, in half-widths of that interval
    law          joints with exactly the true pieces of friction; V+C: of joints whose truth is viscous and Coulomb friction
    or close     or a law whose torque error on a fresh noise-free motion, |error| / |torque| of that joint, exceeds that of the true
                 law fitted to the same log (stated in the card; --quick where there is such an option) by at most 0.02
    drives       joints whose identified friction, offsets apart, has the sign of a motor at some speed up to the fastest (for laws
                 with load: at any of three loads)
    s            median time of a run

What is fair, and what is not
    * Truth by name.  What the chosen law has and the true one has not counts with the truth zero: a false dFs or off is a miss unless
      its interval holds zero.  What the true law has and the chosen one has not is no parameter of the result and is not counted, but
      the parameters that take its place are (Fc without its dFs is compared with the true Fc).  Directional friction is Fc, the mean,
      and off, half the difference, whichever way it is written.  A dFs found with another vs is still compared with the true dFs.
    * Laws a chosen parameter belongs to but no truth has (a saturating law, say) have the truth zero, though they may describe the
      friction well: that is on the strict side.
    * Where a constant torque cannot be told from weight (vertical slide of scara4) there is no offset in the truth.  scara2 and scara4
      have no load law, gravity does not vary there.
    * True Stribeck velocities are 0.12 of the 95 % speed, which is none of the velocities the program tried when this was written.
      The joint gets the same vs on every motion.
    * The prior is drawn anew for each run, but its spread is the same everywhere; runs of a row share one robot, so its parameters
      are few and the same in every run: shares of a row vary more than a binomial with as many trials.
    * Noise enters the loop and the record as in the catalog's presets; nothing else is wrong with these logs (no ripple, elasticity,
      clock errors).  The loop in the card is the true one, with its true gains.
    * `before` versions that knew no load law cannot fit it; the true law's error then counts as zero.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from bench import Row as Ratio
from bench import say
from trust_experiments import DEFECTS, ROWS, Row
from trust_runs import Job, Key, Record, run, simulated
from trust_tables import Demand, by, demands, lines

from inertica.documents import plain

LOOPS = {"known": ("known",), "unknown": ("unknown",), "both": ("known", "unknown")}
LAW_ORDER = ("none", "viscous_coulomb", "offset", "stribeck", "directional", "load")


def jobs(
    tag: str, rows: Sequence[Row], runs: Iterable[int], loops: Sequence[str], defect: str = "", oracle: bool = False
) -> list[Job]:
    """Run by run over all rows, so that an early end leaves every row with as many."""
    return [Job(tag, row, k, loop, defect, oracle) for k in runs for row in rows for loop in loops]


def stored(path: Path) -> list[Record]:
    """The records of a store; a last line that was cut off is left out."""
    if not path.is_file():
        return []
    out = []
    for line in path.read_text().splitlines():
        try:
            out.append(json.loads(line))
        except json.JSONDecodeError:
            say(f"{path}: a line that is no record is left out")
    return out


def key(record: Record) -> Key:
    return record["tag"], record["row"], record["run"], record["loop"], record.get("defect", "")


def work(todo: Sequence[Job], store: Path, cache: Path, workers: int) -> None:
    """Run what is to be run, and append it to the store."""
    store.parent.mkdir(parents=True, exist_ok=True)
    with store.open("a") as file:
        for k, record in enumerate(_records(todo, cache, workers)):
            file.write(json.dumps(record) + "\n")
            file.flush()
            end = "" if not record["code"] else f": {record['said']}"
            what = f"{record['row']}, run {record['run']}, loop {record['loop']}"
            say(f"{k + 1}/{len(todo)} {what}: {record['seconds']:.1f} s{end}")


def _records(todo: Sequence[Job], cache: Path, workers: int) -> Iterable[Record]:
    if workers == 1:
        yield from map(partial(run, folder=cache), todo)
        return
    for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):  # inherited by the workers, which are parallel enough
        os.environ.setdefault(threads, "1")
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        list(pool.map(partial(simulated, folder=cache), list({(j.row, j.run, j.defect): j for j in todo}.values())))
        for done in as_completed([pool.submit(run, job, cache) for job in todo]):
            yield done.result()


def tables(records: Sequence[Record], rows: Sequence[str], markdown: bool, defect: str = "") -> list[str]:
    """By row and by true law, with the loop known and without."""
    out, spoilt = [], f", logs with {defect}" if defect else ""
    for loop in ("known", "unknown"):
        own = [r for r in records if r["loop"] == loop]
        if not own:
            continue
        title = f"control loop {'in the card' if loop == 'known' else 'not stated'}{spoilt}"
        for what, order in (("row", rows), ("law", LAW_ORDER)):
            out += ["", f"{title}, by {'robot and noise' if what == 'row' else 'true friction law'}", ""]
            out += lines(by(own, what, order), markdown)
    return out


def ratio(demand: Demand) -> Ratio:
    """A demand in the form all benchmarks share: shares as the share that is missing, so that less is better."""
    if demand.unit == "share" and math.isfinite(demand.high):
        ours, limit = 1.0 - demand.measured, 1.0 - demand.low
    elif demand.unit == "share":
        return Ratio(demand.name, 1.0 / max(demand.measured, 1e-9), 1.0 / demand.low, "1/share", "the most that may be lost")
    else:
        ours, limit = demand.measured, demand.high
    return Ratio(demand.name, max(ours, 1e-9), limit, demand.unit, f"the limits {demand.low:g} to {demand.high:g}")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tag", default="now", help="name of the version of the code; part of a record's key (default now)")
    parser.add_argument("--runs", type=int, default=24, help="number after that of the last run of a row (default 24)")
    parser.add_argument("--first", type=int, default=0, help="number of the first run (default 0)")
    parser.add_argument("--loop", choices=LOOPS, default="both", help="control loop in the card: known, unknown, both (default)")
    parser.add_argument("--defect", choices=DEFECTS, default="", help="of the recorder, in every log; none by default")
    parser.add_argument("--oracle", action="store_true", help="compare widths with an oracle's; see trust_oracle.py")
    parser.add_argument("--rows", nargs="+", metavar="WORD", help="rows whose name holds one of these words; all by default")
    parser.add_argument("--workers", type=int, default=1, help="processes (default 1)")
    parser.add_argument("--store", type=Path, default=Path("trust.jsonl"), help="records, one a line (default trust.jsonl)")
    parser.add_argument("--cache", type=Path, default=Path("trust_cache"), help="logs, cards, priors (default trust_cache)")
    parser.add_argument("--baseline", type=Path, help="store of an earlier version, to compare labels with")
    parser.add_argument("--baseline-tag", help="its tag; the first in that store by default")
    parser.add_argument("--tables", action="store_true", help="run nothing, show what is in the store")
    parser.add_argument("--simulate", action="store_true", help="only fill the cache")
    parser.add_argument("--markdown", action="store_true", help="tables in Markdown")
    parser.add_argument("--json", action="store_true", help="rows as in the other benchmarks, and the whole table")
    return parser.parse_args()


def main() -> None:
    chosen = options()
    rows = [r for r in ROWS if r.has(chosen.defect) and (not chosen.rows or any(word in r.name for word in chosen.rows))]
    wanted = jobs(chosen.tag, rows, range(chosen.first, chosen.runs), LOOPS[chosen.loop], chosen.defect, chosen.oracle)
    if chosen.simulate:
        for job in wanted:
            simulated(job, chosen.cache)
        return
    if not chosen.tables:
        done = {key(r) for r in stored(chosen.store)}
        work([j for j in wanted if j.key not in done], chosen.store, chosen.cache, chosen.workers)
    keys = {j.key for j in wanted}
    records = list({key(r): r for r in stored(chosen.store) if key(r) in keys}.values())
    earlier = stored(chosen.baseline) if chosen.baseline else []
    tag = chosen.baseline_tag or (earlier[0]["tag"] if earlier else "")
    before = [r for r in earlier if r["tag"] == tag]
    report(records, [r.name for r in rows], before, chosen)


def report(records: Sequence[Record], rows: Sequence[str], before: Sequence[Record], chosen: argparse.Namespace) -> None:
    held = []
    for loop in LOOPS[chosen.loop]:
        own = [r for r in records if r["loop"] == loop]
        held += demands(own, loop, rows, before) if own else []
    if chosen.json:
        listed = [
            asdict(s) | {"loop": loop, "by": what}
            for loop in LOOPS[chosen.loop]
            for what in ("row", "law")
            for s in by([r for r in records if r["loop"] == loop], what, rows if what == "row" else LAW_ORDER)
        ]
        ratios = [ratio(d) for d in held]
        document = {
            "rows": [asdict(r) | {"ratio": r.ratio} for r in ratios],
            "demands": [d.document() for d in held],
            "table": listed,
        }
        print(json.dumps(plain(document), indent=1))  # no NaN or infinity in JSON
        return
    print("\n".join(tables(records, rows, chosen.markdown, chosen.defect)))
    print("\nmust hold")
    bullet = "* " if chosen.markdown else "  "
    for d in held:
        print(f"{bullet}{'yes' if d.held else 'NO ':3} {d.name}: {d.measured:.3g} {d.unit} ({d.low:.3g} to {d.high:.3g})")


if __name__ == "__main__":
    main()
