"""Making the shipped tables: lines of a store take their places, others stay."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from campaign import small
from inertica.campaign.engines import InProcess
from inertica.campaign.plan import plan
from inertica.campaign.run import run_campaign
from inertica.campaign.spec import Entry, NoiseRow, Spec
from inertica.campaign.specfile import read_spec
from inertica.campaign.store import Store
from inertica.campaign.stored import Stored, stored
from inertica.campaign.summary import groups, lines
from inertica.errors import InputError
from inertica.reproduce import shipped as making
from inertica.reproduce.shipped import campaign_of, merged

pytest.importorskip("pyarrow")


def test_lines_of_a_store_take_their_places(tmp_path: Path) -> None:
    methods = (Entry("wls", "wls"), Entry("ols", "ols"))
    spec = Spec("small", ("scara2",), methods, noise=(NoiseRow("row 1", 1e-6, 0.05),), duration=1.0, border=10)
    store = run_campaign(spec, tmp_path, engine=InProcess())
    before = [x for x in stored() if x.campaign == "frisch"]
    rows = list(csv.DictReader(merged("frisch", store, "now", ["wls"]).splitlines()))
    assert [row["method"] for row in rows if row["state"] == "now"] == ["wls"] and len(rows) == len(before) + 1
    kept = [row for row in rows if row["state"] != "now"]
    assert [float(row["d_par_mean"]) for row in kept] == [x.d_par for x in before]
    assert [int(row["rank"]) for row in kept] == [x.line.rank for x in before]  # other conditions, so ranks stay
    whole = list(csv.DictReader(merged("frisch", store, "now").splitlines()))
    assert {row["method"] for row in whole} == {"wls", "ols"}  # all was computed: nothing is left of another state
    first = next(g for g in groups(store) if g.place.method == "wls")
    assert float(whole[0]["seconds_mean"]) == first.columns["cpu"].mean()  # other work on the machine is not in it
    with pytest.raises(InputError, match="of no shipped campaign"):
        campaign_of(store)


def test_a_store_is_of_the_spec_that_gives_its_numbers(tmp_path: Path) -> None:
    spec = replace(read_spec("survey"), runs=2, starts=2, block=1)  # as `reproduce survey --quick` has it
    assert campaign_of(Store(tmp_path / "survey", spec)) == "survey-quick"
    assert campaign_of(Store(tmp_path / "jaco2", replace(read_spec("jaco2"), runs=1))) == "jaco2"


def _half(done: Store, folder: Path, first: int) -> Store:
    """A store with every second unit of another."""
    half = Store.begin(folder, done.spec)
    for unit, file in list(zip(plan(done.spec), done.files(), strict=True))[first::2]:
        half.finish(unit, file.read_bytes())
    return half


def test_a_table_is_continued_by_other_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = Entry("unstable", "didim", {"integrator": "euler", "start": "prior"})
    spec = replace(
        small.spec(tmp_path), methods=(Entry("wls", "wls"), failing), noise=small.spec(tmp_path).noise[:1], runs=5, block=1
    )
    done = run_campaign(spec, tmp_path / "done", engine=InProcess())
    parts = [_half(done, tmp_path / f"half{k}", k) for k in (0, 1)]
    whole, first, second = (lines(store) for store in (done, *parts))
    for of_all, a, b in zip(whole, first, second, strict=True):
        pooled = a.pooled(b)
        assert pooled.rows == of_all.rows and pooled.failure == of_all.failure and 3 * b.rows[1] == 2 * a.rows[1]
        assert [pooled.mean, pooled.sd] == [pytest.approx(x, rel=1e-9, nan_ok=True) for x in (of_all.mean, of_all.sd)]
        same = pooled.convergence, pooled.coverage
        assert same == pytest.approx((of_all.convergence, of_all.coverage), nan_ok=True)
    counts = {line.rows for line in whole}
    assert {counted for counted, _ in counts} > {0}  # one of the methods gives no estimate

    held = [Stored("frisch", line, "then") for line in first]
    monkeypatch.setattr(making, "shipped", lambda: held)
    units = [unit.id for unit in plan(spec)]
    monkeypatch.setattr(making, "units_of", lambda _: frozenset(units[0::2]))
    rows = list(csv.DictReader(merged("frisch", parts[1], "now").splitlines()))
    totals = {str(total) for _, total in counts}
    assert {row["state"] for row in rows} == {"then now"} and {row["rows"] for row in rows} == totals
    again = list(csv.DictReader(merged("frisch", done, "now").splitlines()))
    assert {row["state"] for row in again} == {"now"}  # all rows are at hand: nothing is pooled
    assert {row["rows"] for row in again} == totals
    monkeypatch.setattr(making, "units_of", lambda _: frozenset(units[:2]))
    with pytest.raises(InputError, match="shares 1 of its 2 units"):
        merged("frisch", parts[1], "now")
