"""A campaign computed in pieces: units are carried in little space, and a change of unrelated code leaves them what they are."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pieces import packed, read_pieces, unpacked, write_pieces

import inertica
from campaign import small
from inertica.campaign import store as stores
from inertica.campaign.engines import InProcess
from inertica.campaign.plan import plan
from inertica.campaign.program import sources
from inertica.campaign.rows import parquet_bytes, read_bytes, read_rows
from inertica.campaign.run import run
from inertica.campaign.spec import Entry
from inertica.campaign.store import Store
from inertica.campaign.summary import lines
from inertica.campaign.work import unit_rows
from inertica.errors import FileError, InputError

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "campaign_pieces.py"


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A campaign with a method that fails."""
    folder = tmp_path_factory.mktemp("pieces")
    study = small.spec(folder)
    failing = Entry("unstable", "didim", {"integrator": "euler", "start": "prior"})
    store = Store.begin(folder / "store", replace(study, methods=(*study.methods, failing), runs=2, block=1))
    run(store, InProcess())
    return store


def test_packed_units_give_the_same_tables(done: Store, tmp_path: Path) -> None:
    units = [unit_rows(done.spec.document(), unit.document(), "here") for unit in plan(done.spec)]
    contents = [packed(*unit) for unit in units]
    files = write_pieces(contents, tmp_path, 1)
    assert [f.name for f in files] == [f"piece-{k}.xz" for k in range(len(contents))]
    assert write_pieces(contents, tmp_path, 1 << 20) == files[:1]
    assert list(read_pieces(files[:1])) == contents
    other = Store.begin(tmp_path / "store", done.spec)
    for unit, content in zip(plan(done.spec), read_pieces(files[:1]), strict=True):
        rows, names = unpacked(content)
        other.finish(unit, parquet_bytes(rows, {"names": names}))
    before, after = (read_rows(s.files()).to_pylist() for s in (done, other))
    assert {row["ok"] for row in before} == {True, False}
    for a, b in zip(before, after, strict=True):
        for name in (
            "unit",
            "method",
            "filter",
            "run",
            "start",
            "ok",
            "error",
            "stop_reason",
            "iterations",
            "converged",
            "robot_hash",
        ):
            assert a[name] == b[name]
        if a["ok"]:
            np.testing.assert_allclose(b["beta"], a["beta"], rtol=1e-7)
            np.testing.assert_allclose(b["std"], a["std"], rtol=0.01)
            np.testing.assert_allclose([b["d_par"], b["d_q"], b["d_tau"]], [a["d_par"], a["d_q"], a["d_tau"]], rtol=1e-7)
        else:
            assert b["beta"] is b["std"] is b["d_par"] is None
    for line, again in zip(lines(done), lines(other), strict=True):
        assert (line.place, line.rows, line.failure) == (again.place, again.rows, again.failure)
        assert np.isclose(line.mean["d_par"], again.mean["d_par"], rtol=1e-6, equal_nan=True)
    with files[0].open("r+b") as file:
        file.truncate(files[0].stat().st_size - 20)
    with pytest.raises(FileError, match="no whole file of packed units"):
        list(read_pieces(files[:1]))


def test_pieces_of_two_days_make_a_campaign(done: Store, tmp_path: Path) -> None:
    """The script: a unit that the folder has is not computed again, one more piece completes it."""
    path, folder = small.written(tmp_path, small.TEXT.replace("runs: 4", "runs: 2")), tmp_path / "store"

    def script(*words: object) -> str:
        found = subprocess.run([sys.executable, SCRIPT, *map(str, words)], capture_output=True, text=True, check=False)
        assert found.returncode == 0, found.stderr
        return found.stdout

    assert "0 of 2 units collected" not in script("compute", path, tmp_path / "one", 300, "--workers", 1)
    pieces = sorted((tmp_path / "one").glob("*.xz"))
    assert "2 units collected" in script("collect", path, folder, *pieces)
    more = path.with_name("more.yaml")
    more.write_text("like: small\nruns: 4\n", encoding="utf-8")
    listed = tmp_path / "units.txt"
    listed.write_text(script("finished", folder), encoding="utf-8")
    assert listed.read_text() == (tmp_path / "one" / "units.txt").read_text()
    assert "2 units to compute" in script("compute", more, tmp_path / "two", 300, "--workers", 1, "--skip", listed)
    whole = tmp_path / "whole"
    script("collect", more, whole, *pieces, *sorted((tmp_path / "two").glob("*.xz")))
    assert len(Store.open(whole).files()) == 4 and not Store.open(whole).pending()
    assert {row["device"] for row in read_rows(Store.open(whole).files()).to_pylist()} == {"cpu"}


def test_the_hash_covers_what_a_unit_imports_and_nothing_above(done: Store) -> None:
    """What a process has imported after a unit of every kind of method is in the list."""
    root = Path(inertica.__file__).parent
    listed = {str(p.relative_to(root)) for p in sources()}
    assert not [p for p in listed if p.split("/")[0] in ("workflow", "checks", "report", "cli", "studio", "reproduce")]
    assert {"dynamics/cuda/shell.cu", "robot/catalog/tx40.yaml", "estimators/recursive/joint.py", "campaign/work.py"} <= listed
    code = (
        "import sys, json; from inertica.campaign.work import execute; given = json.load(sys.stdin); execute(*given, '');"
        "print(json.dumps([m.__file__ for n, m in sys.modules.items() if n.startswith('inertica.') and m.__file__]))"
    )
    given = json.dumps([done.spec.document(), plan(done.spec)[0].document()])
    found = subprocess.run([sys.executable, "-c", code], input=given, capture_output=True, text=True, check=True)
    imported = {str(Path(f).relative_to(root)) for f in json.loads(found.stdout)}
    assert len(imported) > 100 and imported <= listed


def test_rows_of_another_state_of_the_program_are_mixed_when_asked_for(
    done: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.begin(tmp_path / "a", done.spec)
    store.finish(plan(done.spec)[0], done.files()[0].read_bytes())
    monkeypatch.setattr(stores, "code_hash", lambda: "another")
    with pytest.raises(InputError, match=r"rows of another state of the program.*--mix-versions to go on"):
        Store.begin(tmp_path / "a", done.spec)
    assert len(Store.begin(tmp_path / "a", done.spec, mix_versions=True).files()) == 1
    assert len(Store.begin(tmp_path / "a", done.spec).files()) == 1  # it is the last one's now
    with pytest.raises(InputError, match="rows of another spec; state --new to throw them away, or"):
        Store.begin(tmp_path / "a", replace(done.spec, runs=3), mix_versions=True)
    assert read_bytes(done.files()[0].read_bytes()).column("code")[0].as_py() != "another"
