"""Making the shipped tables: lines of a store take their places, others stay."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from inertica.campaign.engines import InProcess
from inertica.campaign.run import run_campaign
from inertica.campaign.spec import Entry, NoiseRow, Spec
from inertica.campaign.specfile import read_spec
from inertica.campaign.store import Store
from inertica.campaign.stored import stored
from inertica.campaign.summary import groups
from inertica.errors import InputError
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
