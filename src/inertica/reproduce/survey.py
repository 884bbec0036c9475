"""The survey's Monte Carlo study (Leboutet and others 2021): its campaigns are run, and its conclusions are held against them."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from inertica.campaign.engines import Processes
from inertica.campaign.run import Progress, run
from inertica.campaign.spec import Spec
from inertica.campaign.specfile import read_spec
from inertica.campaign.store import Store
from inertica.campaign.summary import Group, Line, by_processor, groups, lines
from inertica.errors import InputError
from inertica.reproduce import survey_real_rows as real
from inertica.reproduce.rows import Options, Reproduction, Row, Sheet
from inertica.reproduce.survey_claims import CLAIMS, cases

CAMPAIGNS = ("survey", "survey-loops")
STARTS, QUICK = 25, 2
"""Start vectors, and those of the short form."""


def reproduce(options: Options) -> Reproduction:
    """The claims, unless no noise realisations are asked for, and section 9.5 where there is a record of the real robot."""
    if options.seeds == 0 and options.record is None:
        raise InputError("no noise realisations and no record: state --seeds, or a record of a real robot by --record")
    study = None if options.record is None else real.studied(options)  # first, so that a wrong file is told at once
    simulated = Reproduction((), ()) if options.seeds == 0 else _campaigns(options)
    if study is None:
        return replace(simulated, about=(*simulated.about, real.ABSENT))
    return Reproduction(
        (*simulated.rows, *real.rows(study)),
        (*simulated.about, *real.about(study)),
        (*simulated.sheets, real.sheet(study)),
        lambda folder: real.write_figures(study, folder),
    )


def _campaigns(options: Options) -> Reproduction:
    """Runs the campaigns with `seeds` noise realisations; rows stay in the folder `keep`, or are thrown away."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        stores = [_computed(_sized(read_spec(name), options), folder / name, options) for name in CAMPAIGNS]
        of_stores = [by_processor(groups(store)) for store in stores]
        rows: list[Group] = [g for of_store in of_stores for g in of_store]
        averages: list[Line] = [
            line for store, of_store in zip(stores, of_stores, strict=True) for line in lines(store, chosen_groups=of_store)
        ]
    conditions = cases(averages, rows)
    verdicts = [(claim, claim.test(conditions)) for claim in CLAIMS]
    size = f"{options.seeds} noise realisations and {_starts(options)} start vectors; the survey has 52 and 25"
    return Reproduction(
        tuple(Row(f"claims: {claim.name}", claim.published, v.ours, v.verdict) for claim, v in verdicts),
        (size, "position noise in degrees, as the survey's toolbox reads it; trajectories by its eq. 67; times of the processor"),
        (_sheet(averages),),
    )


def _sized(spec: Spec, options: Options) -> Spec:
    return replace(spec, runs=options.seeds, starts=_starts(options), seed=options.seed, block=1)


def _starts(options: Options) -> int:
    return QUICK if options.quick else STARTS


def _computed(spec: Spec, folder: Path, options: Options) -> Store:
    try:
        store = Store.begin(folder, spec)
    except InputError as error:
        raise InputError(f"{error}; with `reproduce` that is another folder by --keep, or this one removed") from None

    def told(p: Progress) -> None:
        left = "" if p.remaining is None else f", about {p.remaining / 60.0:.0f} min to go"
        options.say(f"{spec.name}: {p.done} of {p.total} units{left}")

    run(store, Processes(), progress=told)
    return store


def _sheet(averages: list[Line]) -> Sheet:
    """Parameter error of every method under every condition."""
    conditions = list(
        dict.fromkeys((x.place.robot, x.place.decimate, x.place.noise) for x in averages if x.place.loop == "known")
    )
    labels = list(dict.fromkeys(x.place.label for x in averages))
    known = [x for x in averages if x.place.loop == "known"]
    cells = {(x.place.robot, x.place.decimate, x.place.noise, x.place.label): x.mean["d_par"] for x in known}
    heads = tuple(f"{r} {d} {n.removeprefix('row ')}" for r, d, n in conditions)
    rows = tuple((label, *(_shown(cells.get((*c, label))) for c in conditions)) for label in labels)
    return Sheet("|beta - true| / |true| in %, by robot, decimation and row of Table 1", ("method", *heads), rows)


def _shown(value: float | None) -> str:
    return "-" if value is None or value != value else f"{100 * value:.3g}"
