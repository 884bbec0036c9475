"""Records of real robots with all defaults, beside a plain textbook pipeline written with Pinocchio (inertica.benchmark.plain).

    python benchmarks/real.py [--only RECORD] [--short] [--json] [--table docs/real.md]
    python benchmarks/real.py --slices | --exports | --changes [--short] [--only RECORD] [--json]

Every record is split in two, first 70 % and last 30 %, and where there are several motions each is left out in turn.  Both programs
see the first part only and predict the torque of the second, which one function scores for both: as recorded, at the log's own
stamps (raw), and both sides through one zero-phase low-pass (low).  Nothing is stated to `inertica.identify` but what its user knows:
the model file, and where they apply gains of currents, a coupling or a transmission.  A log that it refuses counts as refused, and is
then forced to have numbers.

`--slices` counts problems that `inertica check` finds in slices of these logs and that they do not have; `--exports` loads the files
that are written of each result by Pinocchio and by MuJoCo; `--changes` writes the first motion of each record as other recorders
and drives would have (real_slices.py, real_exports.py, real_changes.py), with --short only a third of it.

The records are not part of the repository: INERTICA_REAL_DATA, or shared/data beside it.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from all_defaults import Masses, identified
from bench import say
from numpy.typing import NDArray
from real_changes import effects, harmful
from real_changes import table as change_table
from real_exports import FAILURES, FileScore, export_scores
from real_exports import table as export_table
from real_records import DATA, RECORDS, STATED, Record, Split, Window, read_window
from real_slices import check_slices, summary

import inertica as ia
from inertica.benchmark.plain import PlainPipeline, Score, score
from inertica.workflow.identify.verdict import verdict

Array = NDArray[np.float64]

BEGIN, END = "<!-- table of benchmarks/real.py: begin -->", "<!-- table of benchmarks/real.py: end -->"


# Both beside each other.


@dataclass(frozen=True)
class Line:
    """One split of one record: both programs' scores, and what else is said of ours."""

    record: Record
    split: Split
    ours: Score | None
    plain: Score
    refusal: str
    verdict: str
    masses: Masses | None
    seconds: float

    @property
    def name(self) -> str:
        return f"{self.record.name} {self.split.name}"

    def misses(self) -> Iterator[str]:
        """What does not hold, one phrase each."""
        if self.refusal:
            yield "refused"
        if self.ours is None:
            yield "no result"
            return
        for what, ours, plain in (("raw", self.ours.raw, self.plain.raw), ("low", self.ours.low, self.plain.low)):
            if not ours <= self.record.limit * plain:
                yield f"{what} {ours / plain:.3f} > {self.record.limit:g}"
        if self.masses is not None and self.record.real_masses and not self.masses.plausible:
            yield f"masses: total {self.masses.total:.2f}, link {self.masses.worst_link:.1f}"


def line(record: Record, split: Split, folder: Path) -> Line:
    """Both programs on one split."""
    say(f"{record.name}: {split.name}")
    test = read_window(record, split.test)
    pipeline = PlainPipeline(record.plain)
    pipeline.fit([read_window(record, w) for w in split.fit])
    plain = score(test, pipeline.predict(test), record.columns)
    ours = identified(record.card(folder), [w.path(record.folder) for w in split.fit])
    own, level = None, ""
    if ours.result is not None:
        own = score(test, predicted(ours.result, record, split.test), record.columns)
        level = verdict(ours.result).level
    out = Line(record, split, own, plain, ours.refusal, level, ours.masses, ours.seconds)
    say("  " + ", ".join(f"{name} {cell}" for name, cell in zip(HEADER[2:], cells(out)[2:], strict=True)))
    return out


def predicted(result: ia.Result, record: Record, window: Window) -> Array:
    """(N, n) torques of a result at the stamps of a window."""
    return np.asarray(result.predict(ia.read_log(window.path(record.folder), result.description)))


# Tables.

HEADER = (
    "record", "split", "ours raw", "ours low", "plain raw", "plain low", "raw ratio", "low ratio", "refused", "verdict", "total mass",
    "worst link", "s",
)  # fmt: skip


def cells(row: Line) -> list[str]:
    """Of one row of the table; residuals in percent, ratios over the plain pipeline's."""
    plain = [f"{100 * row.plain.raw:.2f}", f"{100 * row.plain.low:.2f}"]
    ours, ratios = ["-", "-"], ["-", "-"]
    if row.ours is not None:
        ours = [f"{100 * row.ours.raw:.2f}", f"{100 * row.ours.low:.2f}"]
        ratios = [f"{row.ours.raw / row.plain.raw:.3f}", f"{row.ours.low / row.plain.low:.3f}"]
    shown = row.masses if row.record.real_masses else None
    masses = ["-", "-"] if shown is None else [f"{shown.total:.2f}", f"{shown.worst_link:.2f}"]
    refused = "yes" if row.refusal else "no"
    return [row.record.name, row.split.name, *ours, *plain, *ratios, refused, row.verdict or "-", *masses, f"{row.seconds:.1f}"]


def table(rows: Sequence[Line]) -> str:
    """As Markdown."""
    lines = [HEADER, ["---"] * 2 + ["---:"] * 6 + ["---"] * 2 + ["---:"] * 3, *(cells(row) for row in rows)]
    return "\n".join(f"| {' | '.join(x)} |" for x in lines)


def misses(rows: Sequence[Line]) -> list[str]:
    """What does not hold, one sentence per split."""
    found = ((row, list(row.misses())) for row in rows)
    return [f"{row.name}: {', '.join(what)}" for row, what in found if what]


def document(rows: Sequence[Line]) -> list[dict[str, object]]:
    """Two entries per split, raw and low-passed; `ratio` > 1 means ours is better."""
    out: list[dict[str, object]] = []
    for row in rows:
        for what in ("raw", "low"):
            ours = float("nan") if row.ours is None else float(getattr(row.ours, what))
            peer = float(getattr(row.plain, what))
            out.append(
                {
                    "name": f"{row.name} {what}",
                    "ours": ours if row.ours is not None else None,
                    "peer": peer,
                    "unit": "|tau - prediction| / |tau|",
                    "ratio": peer / ours if row.ours is not None else None,
                    "of": "plain pipeline",
                    "record": row.record.name,
                    "split": row.split.name,
                    "score": what,
                    "limit": row.record.limit,
                    "stated": dict(zip(("raw", "low"), STATED.get((row.record.name, row.split.name), ()), strict=False)).get(
                        what
                    ),
                    "refusal": row.refusal,
                    "verdict": row.verdict,
                    "masses": None if row.masses is None else asdict(row.masses),
                    "masses_count": row.record.real_masses,
                    "seconds": row.seconds,
                    "misses": list(row.misses()),
                }
            )
    return out


def write_table(rows: Sequence[Line], page: Path) -> None:
    """Replaces what stands between the two markers of a page; lines of records that were not measured stay."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    former, marker, after = rest.partition(END)
    if not marker:
        raise SystemExit(f"{page} should hold the lines {BEGIN} and {END}; the table goes between them")
    new = [*table(rows).splitlines(), *(f"* {text}" for text in misses(rows))]
    lines = {}
    for record in RECORDS:
        source = new if record.name in {row.record.name for row in rows} else former.splitlines()
        for mark in ("| ", "* "):
            lines[record.name, mark] = [line for line in source if line.startswith(f"{mark}{record.name} ")]
    shown, listed = ([x for record in RECORDS for x in lines[record.name, mark]] for mark in ("| ", "* "))
    summary_line = "What does not hold:" if listed else "All of it holds."
    text = "\n".join([BEGIN, "", *new[:2], *shown, "", summary_line, "", *listed, "", END])
    page.write_text(f"{before}{text}{after}", encoding="utf-8")


def selected(only: Sequence[str] | None, short: bool) -> list[Record]:
    """Records by name; of the short form where none is named."""
    names = [r.name for r in RECORDS]
    if only:
        if unknown := [name for name in only if name not in names]:
            raise SystemExit(f"no record is called {', '.join(unknown)}; there are {', '.join(names)}")
        return [r for r in RECORDS if r.name in only]
    return [r for r in RECORDS if r.quick or not short]


def measured(records: Sequence[Record], short: bool, folder: Path) -> list[Line]:
    """All splits of the records; the short form has the first of each."""
    return [line(r, s, folder) for r in records for s in (list(r.splits())[:1] if short else r.splits())]


def exported(record: Record, folder: Path) -> list[FileScore]:
    """Files of the fit of the last split: of all motions but one where there are several, of 70 % of the only one else."""
    *_, split = record.splits()
    say(f"{record.name}: {split.name}")
    ours = identified(record.card(folder), [w.path(record.folder) for w in split.fit])
    return [] if ours.result is None else export_scores(record, split.test, ours.result, folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="RECORD", help="this record only; may be repeated")
    parser.add_argument("--short", action="store_true", help="one cheap split of each of a few records")
    parser.add_argument("--json", action="store_true", help="a list of {name, ours, peer, unit, ratio, of, ...} on stdout")
    parser.add_argument(
        "--table",
        type=Path,
        metavar="PAGE",
        help="write the table between the markers of this page; with --only, those lines of it",
    )
    other = parser.add_mutually_exclusive_group()
    other.add_argument("--slices", action="store_true", help="count problems that the check finds in slices of the records")
    other.add_argument("--exports", action="store_true", help="residuals of exported files in Pinocchio and MuJoCo")
    other.add_argument("--changes", action="store_true", help="what becomes of estimates when a log was recorded in another way")
    chosen = parser.parse_args()
    if not DATA.is_dir():
        say(f"no records at {DATA}; set INERTICA_REAL_DATA to their folder")
        return 0
    records = selected(chosen.only, chosen.short and not chosen.changes)
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as name:
        warnings.simplefilter("ignore", ia.ModelWarning)
        return run(chosen, records, Path(name))


def run(chosen: argparse.Namespace, records: Sequence[Record], folder: Path) -> int:
    """What was asked for; 1 where something does not hold."""
    if chosen.slices:
        checks = [c for r in records for c in check_slices(r, folder)]
        print(json.dumps([c.document() for c in checks], indent=1) if chosen.json else summary(checks))
        return int(any(any(c.sentences()) for c in checks))
    if chosen.exports:
        files = [f for r in records for f in exported(r, folder)]
        print(json.dumps([f.document() for f in files], indent=1) if chosen.json else export_table(files))
        return int(any(f.outcome in FAILURES for f in files))
    if chosen.changes:
        changes = [e for r in records for e in effects(r, folder, chosen.short)]
        print(json.dumps([e.document() for e in changes], indent=1) if chosen.json else change_table(changes))
        return int(any(map(harmful, changes)))
    rows = measured(records, chosen.short, folder)
    if chosen.table is not None:
        write_table(rows, chosen.table)
    failed = misses(rows)
    print(json.dumps(document(rows), indent=1) if chosen.json else "\n".join([table(rows), "", *failed]))
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
