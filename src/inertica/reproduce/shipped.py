"""Makes the tables that ship with the package from the folder of a study:

    inertica reproduce survey --quick --keep DIR
    inertica campaign didim -o DIR/didim
    python -m inertica.reproduce.shipped DIR STATE src/inertica/campaign/results [METHOD...]

Every campaign in the folder goes into the table of the shipped spec that it is of.  With methods only theirs are taken.  Lines that
the folder has take the place of the same ones in the tables, with STATE in their last column; the others stay unless all of a campaign
was computed, and ranks are counted anew.  Beside a table of a campaign that is not finished, `NAME.units.txt` has the units in it
(`campaign_pieces.py compute --skip` takes that file): what is computed later is pooled with its lines, so that large campaigns grow
bit by bit without their rows being carried along.  Times are those of the processor, so that other work on the machine is not in them.

The survey's claims are then found anew on all lines, each condition and method on the campaign with most fits; claims that compare
conditions or times on the short forms alone.  Claims that need single estimates are found on the folder's rows of `survey-spread`;
without them what was found before stays.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from pathlib import Path

from inertica.campaign import sizes
from inertica.campaign.plan import plan
from inertica.campaign.specfile import read_spec
from inertica.campaign.specfile import shipped as specs
from inertica.campaign.store import MANIFEST, Store
from inertica.campaign.stored import CLAIMS as FILE
from inertica.campaign.stored import UNITS, StoredClaim, claims, lines_of, units_of
from inertica.campaign.stored import stored as shipped
from inertica.campaign.summary import Group, by_processor, groups, lines, ranked
from inertica.campaign.written import as_csv
from inertica.errors import InputError, nearest
from inertica.escape import csv_text
from inertica.reproduce.survey_claims import CLAIMS, Claim, cases
from inertica.reproduce.verdicts import UNTESTED
from inertica.writing import write_whole

QUICK = ("survey-quick", "survey-loops-quick")
LARGE = sizes.LARGE
"""Campaigns of the survey's conditions in their short forms, and of some of them with more runs and starts."""

SINGLE = "survey-spread"
"""The campaign on whose rows claims about single estimates rest."""

TOOLBOX = ("survey-toolbox-quick", "survey-toolbox")
"""The same conditions with the smooth sign of friction that the survey's toolbox has."""


def found_on_lines(single: Sequence[Group] = ()) -> list[tuple[Claim, StoredClaim]]:
    """The claims on the shipped tables, and where single estimates are needed on rows."""
    whole, short, smooth = (cases(lines_of(names), ()) for names in ((*QUICK, *LARGE), QUICK, TOOLBOX))
    rows = cases(lines_of((SINGLE,)), single)
    out = []
    for claim in CLAIMS:
        verdict = claim.test(rows if claim.single else short if claim.one_campaign else whole)
        toolbox = claim.test(smooth).verdict
        out.append((claim, StoredClaim(claim.name, claim.published, verdict.ours, verdict.verdict, toolbox)))
    return out


def merged(campaign: str, store: Store, state: str, methods: Sequence[str] = ()) -> str:
    """The table of a campaign with the store's lines, or those of some methods.

    Lines of other runs than the table's are pooled with it, those of the same runs take its place.
    """
    whole = not methods and not store.pending()
    by_place = {} if whole else {x.line.place: (x.line, x.state) for x in shipped() if x.campaign == campaign}
    pool = continues(campaign, store) and not methods
    for line in lines(store, chosen_groups=by_processor(groups(store))):
        if methods and line.place.method not in methods:
            continue
        if pool and line.place in by_place:
            former, of = by_place[line.place]
            by_place[line.place] = former.pooled(line), of if state in of.split() else f"{of} {state}"
        else:
            by_place[line.place] = line, state
    conditions = list(dict.fromkeys(place.condition for place in by_place))
    ordered = sorted(by_place.values(), key=lambda x: conditions.index(x[0].place.condition))
    states = [state for _, state in ordered]
    head, *body = csv.reader(as_csv(ranked([line for line, _ in ordered])).splitlines())
    return _written([[*head, "state"], *([*row, of] for row, of in zip(body, states, strict=True))])


def continues(campaign: str, store: Store) -> bool:
    """Whether a store has other units than a table that records its own.

    Units of which the table has some only are refused: their rows would count twice, or be lost.
    """
    held, new = units_of(campaign), _units(store)
    if not held or held <= new:
        return False
    if shared := held & new:
        raise InputError(
            f"{store.path} shares {len(shared)} of its {len(new)} units with the table of {campaign}, which has {len(held)}; "
            f"compute others (campaign_pieces.py compute --skip), or all of these"
        )
    return True


def _units(store: Store) -> frozenset[str]:
    pending = {unit.id for unit in store.pending()}
    return frozenset(unit.id for unit in plan(store.spec) if unit.id not in pending)


def campaign_of(store: Store) -> str:
    """The shipped spec whose numbers a store has, whatever it is called; else, where sizes differ, the one that the folder names."""
    for name in specs():
        if read_spec(name).digest == store.spec.digest:
            return name
    name = store.path.name
    if name not in specs():
        raise InputError(f"{store.path} is of no shipped campaign; {nearest(name, specs())}")
    return name


def write(folder: Path, state: str, results: Path, methods: Sequence[str] = ()) -> None:
    """Tables and claims from the stores in a folder."""
    single: list[Group] = []
    for path in sorted(p.parent for p in folder.glob(f"*/{MANIFEST}")):
        if (store := Store.open(path)).files():
            name = campaign_of(store)
            units = _units(store) | (units_of(name) if continues(name, store) else frozenset())
            write_whole(results / f"{name}.csv", merged(name, store, state, methods))
            if store.pending() and not methods:  # a table that can be continued
                write_whole(results / f"{name}{UNITS}", "".join(f"{x}\n" for x in sorted(units)))
            single += groups(store) if name == SINGLE else []
    shipped.cache_clear()
    former = {c.name: c for c in claims()}
    table = [["name", "published", "ours", "verdict", "toolbox"]]
    for claim, now in found_on_lines(single):
        stays = claim.single and now.verdict == UNTESTED
        recorded = former.get(claim.name, now) if stays else now
        table.append([recorded.name, recorded.published, recorded.ours, recorded.verdict, recorded.toolbox])
    write_whole(results / FILE, _written(table))


def _written(rows: Sequence[Sequence[str]]) -> str:
    return csv_text(rows)


if __name__ == "__main__":
    write(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), sys.argv[4:])
