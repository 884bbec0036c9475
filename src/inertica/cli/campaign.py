"""Runs a Monte Carlo study: robots, noise, filters and methods of a spec, every run judged on a validation trajectory.

inertica campaign SPEC computes what the folder does not hold yet; after a crash the same command goes on.  SPEC is a YAML file or
the name of a shipped one.  status, resume, tables and report take the folder; shipped takes a method and prints what campaigns that
ship with the program found for it; without one, how many fits of the survey's study they hold.  Rows are
Parquet files; the numbers are the same, bit for bit, with any number of workers.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from inertica.cli.console import Answer, progress_line, table
from inertica.cli.progress import by_remaining
from inertica.errors import InputError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from inertica.campaign.engines import CampaignEngine
    from inertica.campaign.run import Progress
    from inertica.campaign.spec import Spec
    from inertica.campaign.store import Store
    from inertica.campaign.summary import Line

EXAMPLES = """\
inertica campaign mcs-tx40-1-1-quick
inertica campaign study.yaml -o study --workers 2
inertica campaign study.yaml --plan
inertica campaign tables study --average converged --format latex
inertica campaign report study
inertica campaign shipped didim
"""

ACTIONS = ("run", "status", "resume", "tables", "report", "list", "shipped")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", metavar="SPEC|ACTION", help=f"a spec to run, or one of {', '.join(ACTIONS[1:])}")
    parser.add_argument("folder", metavar="DIR", nargs="?", help="the folder of the campaign, for actions; a method, for shipped")
    parser.add_argument("-o", "--output", metavar="DIR", help="folder of the rows; the spec's name by default")
    parser.add_argument("--plan", action="store_true", help="only show units, expected time and memory (runs a pilot)")
    parser.add_argument(
        "--workers", type=int, default=0, metavar="N", help="processes; all cores by default, 1 works in this one"
    )
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask cluster, such as tcp://host:8786")
    parser.add_argument("--dask-local", type=int, metavar="N", help="start a Dask cluster of N workers on this machine")
    parser.add_argument(
        "--device",
        default="cpu",
        choices=("cpu", "cuda", "auto"),
        help="what simulates: cpu (default), cuda, or auto",
    )
    parser.add_argument("--mix-devices", action="store_true", help="go on although other units were computed on another device")
    parser.add_argument(
        "--mix-versions", action="store_true", help="go on although other units were computed by another state of the program"
    )
    parser.add_argument("--retries", type=int, default=2, help="of a unit that fails (default 2)")
    parser.add_argument("--new", action="store_true", help="throw away what the folder holds")
    parser.add_argument("--average", default="all", help="all (default), converged or mean-first, for tables and report")
    parser.add_argument("--format", metavar="NAME", help="csv, latex or html instead of text, for tables")


def run(arguments: argparse.Namespace) -> Answer:
    if arguments.what == "list":
        return _list()
    if arguments.what == "shipped":
        return _shipped(arguments.folder)
    if arguments.what not in ACTIONS:
        return _begin(arguments)
    if arguments.folder is None:
        raise InputError(f"inertica campaign {arguments.what} needs the folder of a campaign")
    from inertica.campaign.store import Store

    store = Store.open(arguments.folder)
    if arguments.what == "resume":  # rows of another version of the program are not mixed with new ones
        store = Store.begin(arguments.folder, store.spec, new=arguments.new, mix_versions=arguments.mix_versions)
    return {"status": _status, "resume": _resume, "tables": _tables, "report": _report}[arguments.what](arguments, store)


def _list() -> Answer:
    from inertica.campaign.specfile import read_spec, shipped

    rows = [(name, read_spec(name).about) for name in shipped()]
    return Answer({"specs": [dict(zip(("name", "about"), row, strict=True)) for row in rows]}, lambda: [_listed(rows)])


def _listed(rows: list[tuple[str, str]]) -> RenderableType:
    return table("shipped campaigns", ("name", "about"), rows)


def _shipped(method: str | None) -> Answer:
    from inertica.campaign.stored import figures_of

    if method is None:
        return _sizes()
    figures = figures_of(method)
    document = {"method": method, "rows": [{"campaign": x.campaign, "state": x.state, **_document(x.line)} for x in figures]}

    def text() -> Iterator[RenderableType]:
        yield from _text([x.line for x in figures])
        campaigns, states = sorted({x.campaign for x in figures}), sorted({x.state for x in figures})
        yield f"campaigns: {', '.join(campaigns)}; computed: {', '.join(states)}"

    return Answer(document, text)


def _sizes() -> Answer:
    from inertica.campaign.sizes import STUDY, share, sizes

    entries = sizes()
    document = {"study": STUDY, "share": share(entries), "experiments": [x.document() for x in entries]}

    def text() -> Iterator[RenderableType]:
        names = list(dict.fromkeys(x.experiment for x in entries))
        cells = {(x.experiment, x.method): f"{x.fits}/{x.full}" for x in entries}
        for title, names_of_robot in _by_robot(names):
            columns = ("method", *(name.split(" ", 1)[1] for name in names_of_robot))
            rows = [[m, *(cells.get((e, m), "-") for e in names_of_robot)] for m in dict.fromkeys(x.method for x in entries)]
            yield table(f"{title}: fits in the shipped tables, of the survey's own number", columns, rows, right=columns[1:])
        yield f"{100 * share(entries):.3g} % of the survey's {sum(x.full for x in entries)} fits; state a method for its figures"

    return Answer(document, text)


def _by_robot(experiments: list[str]) -> Iterator[tuple[str, list[str]]]:
    for first in dict.fromkeys(name.split(" ", 1)[0] for name in experiments):
        yield first, [name for name in experiments if name.split(" ", 1)[0] == first]


def _begin(arguments: argparse.Namespace) -> Answer:
    from inertica.campaign.rows import arrow
    from inertica.campaign.specfile import read_spec
    from inertica.campaign.store import Store

    if arguments.folder is not None:
        likely = get_close_matches(arguments.what, ACTIONS[1:], n=1)
        raise InputError(
            f"'{arguments.what}' is no action; "
            + (f"did you mean '{likely[0]}'?" if likely else f"to write into {arguments.folder} state -o {arguments.folder}")
        )
    arrow()  # before anything is computed: without it no rows could be kept
    spec = read_spec(arguments.what)
    if arguments.plan:
        return _plan(arguments, spec)
    engine = _engine(arguments)  # before the folder: where it cannot work none is left behind
    store = Store.begin(arguments.output or spec.name, spec, new=arguments.new, mix_versions=arguments.mix_versions)
    return _computed(arguments, store, engine)


def _engine(arguments: argparse.Namespace) -> CampaignEngine:
    from inertica.campaign.engines import Dask, InProcess, Processes
    from inertica.dynamics.targets import target_for

    if arguments.retries < 0:
        raise InputError("--retries should not be negative")
    if arguments.scheduler is not None or arguments.dask_local is not None:
        if arguments.dask_local is not None and arguments.dask_local < 1:
            raise InputError("--dask-local takes at least one worker")
        return Dask(arguments.scheduler, arguments.dask_local or 0, arguments.device)
    if arguments.device != "cpu":
        target_for(arguments.device, 1)  # a machine without a card is told so at once
    return InProcess(arguments.device) if arguments.workers == 1 else Processes(arguments.workers, arguments.device)


def _plan(arguments: argparse.Namespace, spec: Spec) -> Answer:
    from inertica.campaign.pilot import cost
    from inertica.campaign.plan import cells, fits, plan

    with progress_line() as say:
        say("timing one run of every method")
        expected, units, workers = cost(spec), plan(spec), max(_engine(arguments).workers, 1)
    document = {
        "name": spec.name,
        "cells": len(cells(spec)),
        "units": [{"id": u.id, "runs": list(u.runs), "robot": u.cell.robot, "noise": u.cell.noise.name} for u in units],
        "fits": fits(spec),
        "workers": workers,
        "core_seconds": expected.seconds,
        "seconds": expected.seconds / workers,
        "memory": expected.memory * workers,
        "methods": expected.methods,
        "pilot_seconds": expected.pilot,
    }

    def text() -> Iterator[RenderableType]:
        yield f"{spec.name}: {len(cells(spec))} sets of conditions, {len(units)} units, {fits(spec)} fits"
        rows = [[label, f"{seconds:.1f}"] for label, seconds in sorted(expected.methods.items(), key=lambda x: -x[1])]
        yield table("expected seconds of one core", ("method", "seconds"), rows, right=("seconds",))
        many = f"{workers} worker{'' if workers == 1 else 's'}"
        yield f"about {_time(expected.seconds / workers)} with {many}, {expected.memory * workers / 1e6:.0f} MB"

    return Answer(document, text)


def _resume(arguments: argparse.Namespace, store: Store) -> Answer:
    return _computed(arguments, store, _engine(arguments))


def _computed(arguments: argparse.Namespace, store: Store, engine: CampaignEngine) -> Answer:
    from inertica.campaign.run import run as run_campaign

    states: list[Progress] = []
    with progress_line(by_remaining(lambda: states[-1].remaining if states else None)) as say:

        def told(p: Progress) -> None:
            states.append(p)
            say(f"{store.spec.name}: {_state(p)}")

        outcome = run_campaign(store, engine, retries=arguments.retries, mix_devices=arguments.mix_devices, progress=told)
    return _status(arguments, store, outcome)


def _status(arguments: argparse.Namespace, store: Store, outcome: Progress | None = None) -> Answer:
    from inertica.campaign.plan import plan
    from inertica.campaign.rows import content_hash

    store.warn_of_damage(f"computed again by: inertica campaign resume {store.path}")
    files, failures, total = store.files(), store.failures(), len(plan(store.spec))
    document = {
        "folder": str(store.path),
        "name": store.spec.name,
        "units": total,
        "finished": len(files),
        "damaged": store.damaged(),
        "failed": {unit: failure["error"] for unit, failure in failures.items()},
        "devices": list(store.devices),
        "content": content_hash(files) if files else None,
        "seconds": None if outcome is None else outcome.seconds,
    }

    def text() -> Iterator[RenderableType]:
        took = "" if outcome is None else f" in {_time(outcome.seconds)}"
        yield f"{store.path}: {len(files)} of {total} units finished{took}"
        for unit, failure in failures.items():
            yield f"failed {failure['attempts']} times: unit {unit}: {failure['error']}"
        if files:
            yield f"content {document['content']} (times left out); see: inertica campaign tables {store.path}"

    return Answer(document, text, code=1 if failures else 0)


def _tables(arguments: argparse.Namespace, store: Store) -> Answer:
    from inertica.campaign.summary import lines
    from inertica.campaign.written import FORMATS

    if arguments.format is not None and arguments.format not in FORMATS:
        raise InputError(f"unknown format '{arguments.format}'; there are {', '.join(FORMATS)}, and text")
    averages = lines(store, arguments.average)
    document = {"name": store.spec.name, "average": arguments.average, "rows": [_document(line) for line in averages]}
    if arguments.format is None:
        return Answer(document, lambda: _text(averages))

    def written() -> Iterator[RenderableType]:
        sys.stdout.write(FORMATS[arguments.format](averages))
        return iter(())

    return Answer(document, written)


def _document(line: Line) -> dict[str, object]:
    return {
        **vars(line.place),
        "mean": dict(line.mean),
        "sd": dict(line.sd),
        "counted": line.rows[0],
        "rows": line.rows[1],
        "convergence": line.convergence,
        "coverage": line.coverage,
        "margin": line.margin,
        "rank": line.rank,
        "failure": line.failure,
    }


def _text(averages: list[Line]) -> Iterator[RenderableType]:
    from inertica.campaign.summary import conditions
    from inertica.campaign.written import COLUMNS, cells, failures

    for title, members in conditions(averages):
        yield table(title, COLUMNS, [cells(line) for line in members], right=COLUMNS[1:])
        yield from failures(members)


def _report(arguments: argparse.Namespace, store: Store) -> Answer:
    from inertica.campaign.page import write_page

    path = write_page(store, Path(arguments.output or store.path / "report.html"), arguments.average)
    return Answer({"file": str(path)}, lambda: [f"wrote {path}"])


def _state(p: Progress) -> str:
    failed = f", {p.failed} failed" if p.failed else ""
    return f"{p.done} of {p.total} units{failed}"


def _time(seconds: float) -> str:
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 5400.0 else f"{seconds / 3600.0:.1f} h"
