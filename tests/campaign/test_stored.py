"""Shipped tables: what documents and advice say is what they hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inertica.campaign.advice import Situation, advise
from inertica.campaign.pages import BLOCK, block, campaign_table, claims_table, filled, main, methods_table
from inertica.campaign.plan import fits
from inertica.campaign.sizes import LARGE, QUICK, Size, share, sizes
from inertica.campaign.specfile import read_spec, shipped
from inertica.campaign.stored import StoredClaim, claims, figures_of, measured, stored
from inertica.cli.main import main as inertica
from inertica.errors import InputError
from inertica.reproduce.shipped import found_on_lines
from inertica.reproduce.survey_claims import CLAIMS

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if BLOCK.search(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_numbers_of_documents_are_those_of_the_tables(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert filled(text) == text, f"write it anew: python -m inertica.campaign.pages {page}"


def test_the_pages_of_methods_have_numbers() -> None:
    names = {path.name for path in PAGES}
    methods = ("didim", "iv", "clie", "cloe", "ml", "neural", "frisch", "filters")
    assert {"campaigns.md", "methods.md", *(f"{name}.md" for name in methods)} <= names


def test_claims_follow_from_the_tables() -> None:
    found = {c.name: c for c in claims()}
    assert list(found) == [claim.name for claim in CLAIMS]
    for claim, now in found_on_lines():
        assert claim.single or now == found[claim.name]
    assert claims_table().count("\n") == len(CLAIMS) + 1


def test_every_table_is_of_a_shipped_campaign() -> None:
    assert {x.campaign for x in stored()} <= set(shipped())
    assert all(x.state for x in stored())


def test_figures_of_a_method() -> None:
    lines = figures_of("didim")
    assert {x.line.place.method for x in lines} == {"didim"} and len(lines) > 10
    assert {x.line.place.filter for x in figures_of("ols_f")} == {"butterworth"}
    with pytest.raises(InputError, match="did you mean 'didim'"):
        figures_of("didm")
    table = methods_table(["frisch", "ols"])
    first = next(x for x in figures_of("frisch") if x.line.place.label == "frisch")
    assert f"{100 * first.d_par:.2g}" in table.splitlines()[2]


def test_all_figures_of_a_campaign() -> None:
    table = campaign_table("frisch")
    found = [x for x in stored() if x.campaign == "frisch"]
    assert table.count("\n") == len(found) + 1 and "| planar2, velocity noise 0.002 | frisch box_f |" in table
    assert block("campaign frisch") == table
    with pytest.raises(InputError, match="no table of a campaign 'frish' is shipped; did you mean 'frisch'"):
        campaign_table("frish")


def test_what_failed_is_no_evidence() -> None:
    failed = [x for x in stored() if not x.rows and x.line.place.loop == "known"]
    assert failed and all(x.line.failure for x in failed)  # filters of the loop at the survey's second noise
    assert measured("ekf-ct", noise="row 1") is not None and measured("ekf-ct", noise="row 2") is None
    assert "failed" in methods_table(["ekf-ct"])


def test_advice_cites_the_tables() -> None:
    line = measured("didim")
    assert line is not None
    assert line.sentence in advise(Situation(loop="known", physical=False)).evidence
    assert any(sentence.startswith("ekf: parameters off by") for sentence in advise(Situation(online=True)).evidence)


def test_blocks_are_written_into_files(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- measured: frisch, ols -->\n| 1 | 2 |\n<!-- /measured -->\nafter\n")
    main([str(page)])
    assert (
        page.read_text()
        == f"before\n<!-- measured: frisch, ols -->\n{methods_table(['frisch', 'ols'])}\n<!-- /measured -->\nafter\n"
    )


def test_the_command_prints_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert inertica(["campaign", "shipped", "frisch", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert "frisch" in {row["campaign"] for row in rows} and {row["method"] for row in rows} == {"frisch"}


def test_the_command_prints_how_much_of_the_study_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert inertica(["campaign", "shipped", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    rows = found["experiments"]
    assert sum(row["full"] for row in rows) == fits(read_spec("survey"))
    assert found["share"] == pytest.approx(sum(min(r["fits"], r["full"]) for r in rows) / sum(r["full"] for r in rows))
    assert len({row["experiment"] for row in rows}) == 15
    assert len({(row["experiment"], row["method"]) for row in rows}) == len(rows)
    didim = next(r for r in rows if (r["experiment"], r["method"]) == ("tx40-1 row 1", "didim"))
    assert didim["full"] == 52 * 25
    assert didim["fits"] == max(
        x.line.rows[1]
        for x in figures_of("didim")
        if x.campaign in (*QUICK, *LARGE)
        and (x.line.place.robot, x.noise, x.line.place.decimate, x.line.place.loop) == ("tx40", "row 1", 1, "known")
    )
    assert inertica(["campaign", "shipped"]) == 0
    assert f"{100 * found['share']:.3g} % of the survey's" in capsys.readouterr().out


def test_shares_count_no_fit_twice() -> None:
    small = [Size("a", "wls", 52, 52), Size("a", "didim", 2600, 1300), Size("a", "ekf", 0, 1300)]
    assert share(small) == pytest.approx(1352 / 2652)
    assert all(x.fits == 0 for x in sizes([])) and share(sizes([])) == 0.0


def test_a_claim_depends_on_the_reading_where_it_mostly_holds_with_one_alone() -> None:
    assert StoredClaim("a", "", "", "holds in 1 of 6", "holds in 4 of 6").depends_on_reading
    assert not StoredClaim("a", "", "", "holds in 1 of 6", "holds in 2 of 6").depends_on_reading
    assert not StoredClaim("a", "", "", "holds in 6 of 6", "not tested").depends_on_reading
